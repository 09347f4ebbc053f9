//! Bodies in chunks (RFC 9112, section 7.1).

use super::request::Malformed;

/// Longest line of a chunk's size with its extensions, or of a trailer.
const LONGEST_LINE: usize = 1024;

/// Reads a whole body in chunks from the start of `bytes`: the body, and how many bytes it took; `None` when
/// more must arrive.
pub fn read(bytes: &[u8], most: usize) -> Result<Option<(Vec<u8>, usize)>, Malformed> {
    let mut body = Vec::new();
    let mut at = 0;
    loop {
        let Some(line) = line(&bytes[at..])? else {
            return Ok(None);
        };
        at += line.len() + 2;
        let size = size(line)?;
        if size == 0 {
            return Ok(end_of_trailers(&bytes[at..])?.map(|taken| (body, at + taken)));
        }
        if body.len() + size > most {
            return Err(Malformed::TooLarge);
        }
        let Some(chunk) = bytes.get(at..at + size + 2) else {
            return Ok(None);
        };
        let Some(data) = chunk.strip_suffix(b"\r\n") else {
            return Err(Malformed::Syntax);
        };
        body.extend_from_slice(data);
        at += size + 2;
    }
}

/// The bytes that the trailers take, with the empty line that ends them.
fn end_of_trailers(bytes: &[u8]) -> Result<Option<usize>, Malformed> {
    let mut at = 0;
    loop {
        let Some(line) = line(&bytes[at..])? else {
            return Ok(None);
        };
        at += line.len() + 2;
        if line.is_empty() {
            return Ok(Some(at));
        }
    }
}

/// The first line without its end.
fn line(bytes: &[u8]) -> Result<Option<&[u8]>, Malformed> {
    match bytes.windows(2).take(LONGEST_LINE).position(|pair| pair == b"\r\n") {
        Some(end) => Ok(Some(&bytes[..end])),
        None if bytes.len() > LONGEST_LINE => Err(Malformed::Syntax),
        None => Ok(None),
    }
}

/// A chunk's size in hexadecimal; extensions are ignored.
fn size(line: &[u8]) -> Result<usize, Malformed> {
    let digits = line.split(|&byte| byte == b';').next().unwrap_or_default().trim_ascii();
    if digits.is_empty() || digits.len() > 8 {
        return Err(Malformed::Syntax);
    }
    digits.iter().try_fold(0, |size, &digit| {
        let value = (digit as char).to_digit(16).ok_or(Malformed::Syntax)?;
        Ok(size * 16 + value as usize)
    })
}

#[cfg(test)]
mod tests {
    use super::*;

    const BODY: &[u8] = b"4\r\nWiki\r\n6;name=value\r\npedia \r\nE\r\nin \r\n\r\nchunks.\r\n0\r\nTrailer: x\r\n\r\nGET";

    #[test]
    fn chunks_are_joined_and_what_follows_is_left() {
        let (body, taken) = read(BODY, 100).unwrap().unwrap();
        assert_eq!(body, b"Wikipedia in \r\n\r\nchunks.");
        assert_eq!(&BODY[taken..], b"GET");
    }

    #[test]
    fn a_body_cut_anywhere_waits_for_more() {
        for end in 0..BODY.len() - 3 {
            assert_eq!(read(&BODY[..end], 100).unwrap(), None, "cut at {end}");
        }
    }

    #[test]
    fn what_is_no_chunk_is_refused() {
        for body in ["x\r\n", "\r\n", "-1\r\n", "2\r\nabcd", "FFFFFFFFF\r\n"] {
            assert_eq!(read(body.as_bytes(), 100).unwrap_err(), Malformed::Syntax, "{body:?}");
        }
        assert_eq!(read(b"65\r\n", 100).unwrap_err(), Malformed::TooLarge);
    }
}
