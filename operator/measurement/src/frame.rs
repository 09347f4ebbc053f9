//! Framing of a record on standard output, between lines of others.
//!
//! A record is compressed JSON in base64, cut into lines short enough that no container runtime
//! splits them. Each line carries its place, its length and its CRC-32; the whole carries a
//! SHA-256. The reader finds the lines behind any prefix (a time stamp, a colour), ignores all
//! others, and answers [`ResultUnreadable`] rather than guess.
//!
//! ```text
//! @gaugeblock:1:generator:0123456789abcdef:0/3:7000:1a2b3c4d:<base64>@
//! ```

use std::{collections::BTreeMap, fmt::Write as _, io::Read as _};

use base64::{Engine as _, engine::general_purpose::STANDARD};
use flate2::{Compression, read::ZlibDecoder, read::ZlibEncoder};
use serde::{Deserialize, Serialize, de::DeserializeOwned};
use sha2::{Digest as _, Sha256};

use crate::{GeneratorRecord, RECORD_VERSION, SamplerRecord};

/// Marks the beginning of a line.
const MARK: &str = "@gaugeblock:";
/// Version of the framing.
const FRAME_VERSION: u32 = 1;
/// Longest payload of a line. Container runtimes split lines at 16 KiB.
const PAYLOAD: usize = 7_000;
/// Most bytes a record may unpack to: a hostile line cannot fill memory.
const UNPACKED_LIMIT: u64 = 64 << 20;

/// The kinds of records that may stand in one log.
const KINDS: [&str; 2] = [GeneratorRecord::KIND, SamplerRecord::KIND];

/// A record that can be framed.
pub trait Record: Serialize + DeserializeOwned {
    /// Word in the frame that tells the kinds apart.
    const KIND: &'static str;
    /// Version of the record's shape.
    fn version(&self) -> u32;
}

impl Record for GeneratorRecord {
    const KIND: &'static str = "generator";
    fn version(&self) -> u32 {
        self.version
    }
}

impl Record for SamplerRecord {
    const KIND: &'static str = "sampler";
    fn version(&self) -> u32 {
        self.version
    }
}

/// Why no record could be had from a log.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error, Serialize, Deserialize)]
pub enum ResultUnreadable {
    /// Not one line of a record.
    #[error("the log holds no {kind} record; it may have been cut or rotated away")]
    Missing {
        /// Kind of record looked for.
        kind: String,
    },
    /// Some lines are missing.
    #[error("the {kind} record is cut: {found} of {expected} lines were found")]
    Cut {
        /// Kind of record looked for.
        kind: String,
        /// Lines found whole.
        found: usize,
        /// Lines that the record has.
        expected: usize,
    },
    /// The content is not what was written.
    #[error("the {kind} record is damaged: {what}")]
    Damaged {
        /// Kind of record looked for.
        kind: String,
        /// What does not hold.
        what: String,
    },
    /// Another version of the record or of its frame.
    #[error(
        "the {kind} record has version {found}, this program reads version {known}; use the measuring image of the same release"
    )]
    Version {
        /// Kind of record looked for.
        kind: String,
        /// Version found.
        found: u32,
        /// Version known.
        known: u32,
    },
}

/// Packs a value as compressed JSON in base64, without a frame: for storage in an object.
pub fn pack<T: Serialize>(value: &T) -> Result<String, serde_json::Error> {
    let json = serde_json::to_vec(value)?;
    let mut packed = Vec::new();
    ZlibEncoder::new(json.as_slice(), Compression::best()).read_to_end(&mut packed).map_err(serde_json::Error::io)?;
    Ok(STANDARD.encode(packed))
}

/// Undoes [`pack`].
pub fn unpack<T: DeserializeOwned>(text: &str) -> Result<T, String> {
    let packed = STANDARD.decode(text.trim()).map_err(|e| e.to_string())?;
    let mut json = Vec::new();
    ZlibDecoder::new(packed.as_slice()).take(UNPACKED_LIMIT).read_to_end(&mut json).map_err(|e| e.to_string())?;
    serde_json::from_slice(&json).map_err(|e| e.to_string())
}

/// The lines to print for a record, each ended by a newline.
pub fn encode<R: Record>(record: &R) -> Result<String, serde_json::Error> {
    let payload = pack(record)?;
    let digest = digest(&payload);
    let chunks: Vec<&str> = split(&payload);
    let mut lines = String::with_capacity(payload.len() + chunks.len() * 80);
    for (index, chunk) in chunks.iter().enumerate() {
        let _ = writeln!(
            lines,
            "{MARK}{FRAME_VERSION}:{}:{digest}:{index}/{}:{}:{:08x}:{chunk}@",
            R::KIND,
            chunks.len(),
            chunk.len(),
            crc32fast::hash(chunk.as_bytes()),
        );
    }
    Ok(lines)
}

/// The last whole record of its kind in a log. An older one never stands in for a newer one that is
/// cut or damaged.
pub fn decode<R: Record>(log: &str) -> Result<R, ResultUnreadable> {
    let kind = || R::KIND.to_owned();
    let mut last: Option<String> = None;
    let mut found: BTreeMap<(String, usize), BTreeMap<usize, &str>> = BTreeMap::new();
    // What came after the last good line and may have been a newer record.
    let mut doubt = None;
    for line in log.lines().flat_map(Line::find) {
        match line {
            Some(line) if line.kind == R::KIND && line.version == FRAME_VERSION => {
                doubt = None;
                last = Some(line.digest.to_owned());
                found.entry((line.digest.to_owned(), line.of)).or_default().insert(line.index, line.chunk);
            }
            Some(line) if line.kind == R::KIND => {
                doubt = Some(ResultUnreadable::Version { kind: kind(), found: line.version, known: FRAME_VERSION });
            }
            Some(line) if KINDS.contains(&line.kind) => {}
            Some(_) | None => {
                doubt = Some(ResultUnreadable::Damaged { kind: kind(), what: "its last line does not hold".into() });
            }
        }
    }
    if let Some(doubt) = doubt {
        return Err(doubt);
    }
    let Some(last) = last else {
        return Err(ResultUnreadable::Missing { kind: kind() });
    };
    // The record whose line came last is the answer: an older one must not stand in for it.
    let Some(((_, expected), chunks)) = found.into_iter().find(|((digest, _), _)| *digest == last) else {
        return Err(ResultUnreadable::Missing { kind: kind() });
    };
    if chunks.len() != expected {
        return Err(ResultUnreadable::Cut { kind: kind(), found: chunks.len(), expected });
    }
    let payload: String = chunks.into_values().collect();
    if digest(&payload) != last {
        return Err(ResultUnreadable::Damaged { kind: kind(), what: "its SHA-256 differs".into() });
    }
    let versioned: Versioned = unpack(&payload).map_err(|what| ResultUnreadable::Damaged { kind: kind(), what })?;
    if versioned.version != RECORD_VERSION {
        return Err(ResultUnreadable::Version { kind: kind(), found: versioned.version, known: RECORD_VERSION });
    }
    unpack(&payload).map_err(|what| ResultUnreadable::Damaged { kind: kind(), what })
}

#[derive(Deserialize)]
struct Versioned {
    version: u32,
}

struct Line<'a> {
    version: u32,
    kind: &'a str,
    digest: &'a str,
    index: usize,
    of: usize,
    chunk: &'a str,
}

impl<'a> Line<'a> {
    /// Reads what a line of the log carries, whatever stands before, between or behind: a whole
    /// chunk, or `None` for a mark without one.
    fn find(text: &'a str) -> impl Iterator<Item = Option<Self>> {
        text.match_indices(MARK).map(move |(at, mark)| Self::parse(&text[at + mark.len()..]))
    }

    fn parse(text: &'a str) -> Option<Self> {
        let mut parts = text.splitn(7, ':');
        let version = parts.next()?.parse().ok()?;
        let kind = parts.next()?;
        let digest = parts.next()?;
        let (index, of) = parts.next()?.split_once('/')?;
        let length: usize = parts.next()?.parse().ok()?;
        let crc = u32::from_str_radix(parts.next()?, 16).ok()?;
        let rest = parts.next()?;
        let chunk = rest.get(..length)?;
        if rest.get(length..)?.as_bytes().first() != Some(&b'@') || crc32fast::hash(chunk.as_bytes()) != crc {
            return None;
        }
        let (index, of) = (index.parse().ok()?, of.parse().ok()?);
        (index < of).then_some(Self { version, kind, digest, index, of, chunk })
    }
}

fn split(text: &str) -> Vec<&str> {
    // Base64 is ASCII, so every byte offset is a boundary.
    (0..text.len()).step_by(PAYLOAD).map(|at| &text[at..text.len().min(at + PAYLOAD)]).collect()
}

fn digest(text: &str) -> String {
    let sum = Sha256::digest(text.as_bytes());
    sum.iter().take(16).fold(String::with_capacity(32), |mut out, byte| {
        let _ = write!(out, "{byte:02x}");
        out
    })
}
