//! Status line and headers of a response: only what delimits the answer and the connection.

use super::Malformed;

/// What the head of a response says about what follows.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Head {
    /// Status code.
    pub status: u16,
    /// Whether the connection stays open.
    pub keep_alive: bool,
    /// `Content-Length`.
    pub length: Option<u64>,
    /// The last transfer coding is `chunked`; it overrides a length.
    pub chunked: bool,
    /// Another transfer coding is the last one: the body lasts until the connection closes.
    pub until_close: bool,
}

impl Head {
    /// Begins with the status line (RFC 9112, §4).
    pub fn from_status_line(line: &[u8]) -> Result<Self, Malformed> {
        let [b'H', b'T', b'T', b'P', b'/', b'1', b'.', minor @ (b'0' | b'1'), b' ', code @ ..] = line else {
            return Err(Malformed::StatusLine);
        };
        let (&[first @ b'1'..=b'9', second @ b'0'..=b'9', third @ b'0'..=b'9'], [] | [b' ', ..]) =
            code.split_first_chunk::<3>().ok_or(Malformed::StatusLine)?
        else {
            return Err(Malformed::StatusLine);
        };
        let digit = |byte: u8| u16::from(byte - b'0');
        Ok(Self {
            status: digit(first) * 100 + digit(second) * 10 + digit(third),
            keep_alive: *minor == b'1',
            ..Self::default()
        })
    }

    /// Adds a header line.
    pub fn header(&mut self, line: &[u8]) -> Result<(), Malformed> {
        let colon = memchr::memchr(b':', line).ok_or(Malformed::Header)?;
        let (name, value) = (&line[..colon], &line[colon + 1..]);
        match name {
            // No name, a folded line (obsolete since RFC 7230), or a blank before the colon.
            [] | [b' ' | b'\t', ..] | [.., b' ' | b'\t'] => Err(Malformed::Header),
            [b'c' | b'C', ..] if name.eq_ignore_ascii_case(b"content-length") => self.content_length(value),
            [b'c' | b'C', ..] if name.eq_ignore_ascii_case(b"connection") => {
                for option in tokens(value) {
                    if option.eq_ignore_ascii_case(b"close") {
                        self.keep_alive = false;
                    } else if option.eq_ignore_ascii_case(b"keep-alive") {
                        self.keep_alive = true;
                    }
                }
                Ok(())
            }
            [b't' | b'T', ..] if name.eq_ignore_ascii_case(b"transfer-encoding") => {
                for coding in tokens(value) {
                    self.chunked = coding.eq_ignore_ascii_case(b"chunked");
                    self.until_close = !self.chunked && !coding.eq_ignore_ascii_case(b"identity");
                }
                Ok(())
            }
            _ => Ok(()),
        }
    }

    /// One number, or the same one several times (RFC 9110, §8.6).
    fn content_length(&mut self, value: &[u8]) -> Result<(), Malformed> {
        for text in value.split(|byte| *byte == b',').map(<[u8]>::trim_ascii) {
            if text.is_empty() {
                return Err(Malformed::Length);
            }
            let mut length = 0_u64;
            for byte in text {
                if !byte.is_ascii_digit() {
                    return Err(Malformed::Length);
                }
                length = length
                    .checked_mul(10)
                    .and_then(|length| length.checked_add(u64::from(byte - b'0')))
                    .ok_or(Malformed::Length)?;
            }
            if self.length.is_some_and(|known| known != length) {
                return Err(Malformed::Length);
            }
            self.length = Some(length);
        }
        Ok(())
    }
}

fn tokens(value: &[u8]) -> impl Iterator<Item = &[u8]> {
    value.split(|byte| *byte == b',').map(<[u8]>::trim_ascii).filter(|token| !token.is_empty())
}
