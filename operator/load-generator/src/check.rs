//! Whether an answer is the right one: a fast wrong answer is an error.

use gaugeblock_measurement::plan::Expect;
use memchr::memmem::Finder;
use sha2::{Digest as _, Sha256};

use crate::tally::Outcome;

/// What a correct answer is, ready to be compared with.
#[derive(Clone, Debug)]
pub struct Expectation {
    statuses: Vec<u16>,
    length: Option<u64>,
    sha256: Option<[u8; 32]>,
    contains: Option<Finder<'static>>,
}

/// An expectation that no answer could meet.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
pub enum ExpectationError {
    /// Not 64 hexadecimal digits.
    #[error("the SHA-256 {0:?} is not 64 hexadecimal digits")]
    Digest(String),
    /// Not a final status.
    #[error("{0} is not a final status code (200 to 999)")]
    Status(u16),
}

impl Expectation {
    /// Prepares what the plan expects.
    pub fn new(expect: &Expect) -> Result<Self, ExpectationError> {
        if let Some(&status) = expect.statuses.iter().find(|status| !(200..=999).contains(*status)) {
            return Err(ExpectationError::Status(status));
        }
        let sha256 = match &expect.sha256 {
            None => None,
            Some(text) => Some(digest(text).ok_or_else(|| ExpectationError::Digest(text.clone()))?),
        };
        Ok(Self {
            statuses: expect.statuses.clone(),
            length: expect.length,
            sha256,
            contains: expect
                .contains
                .as_ref()
                .filter(|text| !text.is_empty())
                .map(|text| Finder::new(text.as_bytes()).into_owned()),
        })
    }

    /// Whether the status is an accepted one.
    pub fn accepts(&self, status: u16) -> bool {
        if self.statuses.is_empty() { (200..300).contains(&status) } else { self.statuses.contains(&status) }
    }

    /// Whether the content of the body matters, and not its length only.
    pub fn reads_body(&self) -> bool {
        self.sha256.is_some() || self.contains.is_some()
    }
}

fn digest(text: &str) -> Option<[u8; 32]> {
    let digits = text.as_bytes();
    if digits.len() != 64 {
        return None;
    }
    let mut out = [0; 32];
    for (byte, pair) in out.iter_mut().zip(digits.chunks_exact(2)) {
        let high = (pair[0] as char).to_digit(16)?;
        let low = (pair[1] as char).to_digit(16)?;
        *byte = (high * 16 + low) as u8;
    }
    Some(out)
}

/// Compares one answer as its body comes, with memory bounded by the text looked for.
#[derive(Debug, Default)]
pub struct Checker {
    length: u64,
    hasher: Option<Sha256>,
    found: bool,
    /// The end of what was seen, one byte shorter than the text looked for.
    tail: Vec<u8>,
}

impl Checker {
    /// Prepares for the next answer.
    pub fn begin(&mut self) {
        self.length = 0;
        self.hasher = None;
        self.found = false;
        self.tail.clear();
    }

    /// Takes a piece of the body.
    pub fn feed(&mut self, expectation: &Expectation, piece: &[u8]) {
        self.length += piece.len() as u64;
        if expectation.sha256.is_some() {
            self.hasher.get_or_insert_with(Sha256::new).update(piece);
        }
        if let Some(finder) = &expectation.contains
            && !self.found
        {
            self.look(finder, piece);
        }
    }

    /// Notes bytes of the body that were thrown away unseen.
    pub fn skip(&mut self, count: u64) {
        self.length += count;
    }

    fn look(&mut self, finder: &Finder<'static>, piece: &[u8]) {
        let overlap = finder.needle().len() - 1;
        if finder.find(piece).is_some() {
            self.found = true;
            return;
        }
        if overlap == 0 {
            return;
        }
        // Across the seam: the kept tail and the beginning of this piece.
        self.tail.extend_from_slice(&piece[..piece.len().min(overlap)]);
        self.found = finder.find(&self.tail).is_some();
        if piece.len() >= overlap {
            self.tail.clear();
            self.tail.extend_from_slice(&piece[piece.len() - overlap..]);
        } else if self.tail.len() > overlap {
            let surplus = self.tail.len() - overlap;
            self.tail.drain(..surplus);
        }
    }

    /// The judgement, once the answer is whole.
    pub fn judge(&mut self, expectation: &Expectation, status: u16) -> Outcome {
        if !expectation.accepts(status) {
            return Outcome::WrongStatus(status);
        }
        let length_differs = expectation.length.is_some_and(|length| length != self.length);
        let text_is_missing = expectation.contains.is_some() && !self.found;
        let digest_differs = expectation.sha256.is_some_and(|expected| {
            let seen = self.hasher.take().unwrap_or_default().finalize();
            seen.as_slice() != expected
        });
        if length_differs || text_is_missing || digest_differs {
            return Outcome::WrongContent;
        }
        Outcome::Correct
    }
}

#[cfg(test)]
mod tests {
    use proptest::prelude::*;

    use super::*;

    fn judge(expect: &Expect, status: u16, pieces: &[&[u8]]) -> Outcome {
        let expectation = Expectation::new(expect).unwrap();
        let mut checker = Checker::default();
        checker.begin();
        for piece in pieces {
            checker.feed(&expectation, piece);
        }
        checker.judge(&expectation, status)
    }

    #[test]
    fn any_success_is_right_unless_statuses_are_named() {
        let any = Expect::default();
        assert_eq!(judge(&any, 200, &[]), Outcome::Correct);
        assert_eq!(judge(&any, 299, &[]), Outcome::Correct);
        assert_eq!(judge(&any, 304, &[]), Outcome::WrongStatus(304));
        let only = Expect { statuses: vec![404], ..Expect::default() };
        assert_eq!(judge(&only, 404, &[]), Outcome::Correct);
        assert_eq!(judge(&only, 200, &[]), Outcome::WrongStatus(200));
    }

    #[test]
    fn length_and_digest_are_compared() {
        let expect = Expect {
            length: Some(3),
            sha256: Some("ba7816bf8f01cfea414140de5dae2223b00361a396177a9cb410ff61f20015ad".into()),
            ..Expect::default()
        };
        assert_eq!(judge(&expect, 200, &[b"a", b"bc"]), Outcome::Correct);
        assert_eq!(judge(&expect, 200, &[b"abd"]), Outcome::WrongContent);
        assert_eq!(judge(&expect, 200, &[b"ab"]), Outcome::WrongContent);
        let empty = Expect {
            sha256: Some("e3b0c44298fc1c149afbf4c8996fb92427ae41e4649b934ca495991b7852b855".into()),
            ..Expect::default()
        };
        assert_eq!(judge(&empty, 200, &[]), Outcome::Correct);
    }

    #[test]
    fn impossible_expectations_are_refused() {
        let short = Expect { sha256: Some("ab".into()), ..Expect::default() };
        assert_eq!(Expectation::new(&short).unwrap_err(), ExpectationError::Digest("ab".into()));
        let interim = Expect { statuses: vec![100], ..Expect::default() };
        assert_eq!(Expectation::new(&interim).unwrap_err(), ExpectationError::Status(100));
    }

    proptest! {
        #[test]
        fn a_text_is_found_however_the_body_is_cut(
            body in "[ab]{0,30}",
            needle in "[ab]{1,6}",
            size in 1_usize..9,
        ) {
            let expect = Expect { contains: Some(needle.clone()), ..Expect::default() };
            let pieces: Vec<&[u8]> = body.as_bytes().chunks(size).collect();
            let found = judge(&expect, 200, &pieces) == Outcome::Correct;
            prop_assert_eq!(found, body.contains(&needle));
        }
    }
}
