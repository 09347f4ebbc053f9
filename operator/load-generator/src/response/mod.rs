//! An incremental parser of HTTP/1.1 responses (RFC 9112).
//!
//! It is fed whatever came from the socket, in whatever pieces, and gives the same result for every
//! way of cutting the bytes. It keeps at most one line: bodies are handed on and forgotten, so its
//! memory is bounded whatever the peer does.

mod head;

use memchr::memchr;

use head::Head;

/// Most bytes of status line, headers and trailers together.
pub const HEAD_LIMIT: usize = 64 << 10;
/// Most bytes of a chunk's size line, extensions included.
pub const CHUNK_LINE_LIMIT: usize = 4 << 10;
/// Most interim (1xx) responses before the final one.
pub const INTERIM_LIMIT: u32 = 32;

/// Why an answer is not HTTP/1.1.
#[derive(Clone, Copy, Debug, PartialEq, Eq, thiserror::Error)]
pub enum Malformed {
    /// The first line is no status line.
    #[error("the status line is malformed")]
    StatusLine,
    /// A header line without a name or a colon.
    #[error("a header line is malformed")]
    Header,
    /// More than [`HEAD_LIMIT`] or [`CHUNK_LINE_LIMIT`].
    #[error("the head or a chunk's size line is too large")]
    TooLarge,
    /// A length that is no number, or two that differ.
    #[error("the content length is malformed or contradictory")]
    Length,
    /// A chunk without size, or without its end.
    #[error("a chunk is malformed")]
    Chunk,
    /// More than [`INTERIM_LIMIT`] interim responses, or a switch of protocols.
    #[error("too many interim responses, or an unasked switch of protocols")]
    Interim,
    /// Bytes after the end of the answer, with no request that they could answer.
    #[error("bytes follow the answer")]
    Surplus,
    /// The peer closed before the answer was whole.
    #[error("the answer is cut")]
    Cut,
}

/// What feeding led to.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Fed {
    /// All bytes are used, the answer is not whole.
    More,
    /// The answer is whole; this many of the bytes lie beyond it.
    Complete {
        /// Bytes not used.
        rest: usize,
    },
}

#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum State {
    StatusLine,
    Header,
    Body(u64),
    UntilClose,
    ChunkSize,
    ChunkData(u64),
    ChunkEnd,
    Trailer,
    Complete,
}

/// Parses one response after another on one connection.
#[derive(Debug)]
pub struct Parser {
    state: State,
    /// The beginning of a line whose end has not come.
    line: Vec<u8>,
    head_bytes: usize,
    interim: u32,
    head: Head,
    bodiless: bool,
    bytes: u64,
}

impl Default for Parser {
    fn default() -> Self {
        Self {
            state: State::StatusLine,
            line: Vec::new(),
            head_bytes: 0,
            interim: 0,
            head: Head::default(),
            bodiless: false,
            bytes: 0,
        }
    }
}

impl Parser {
    /// Prepares for the answer to the next request; an answer to `HEAD` has no body.
    pub fn begin(&mut self, head_request: bool) {
        self.state = State::StatusLine;
        self.line.clear();
        self.head_bytes = 0;
        self.interim = 0;
        self.bodiless = head_request;
        self.bytes = 0;
    }

    /// Status code of the answer, once its head has come.
    pub fn status(&self) -> u16 {
        self.head.status
    }

    /// Whether another request may be sent on the connection after this answer.
    pub fn keeps_alive(&self) -> bool {
        self.head.keep_alive && self.state != State::UntilClose
    }

    /// Bytes used for this answer so far, interim responses included.
    pub fn bytes(&self) -> u64 {
        self.bytes
    }

    /// Whether nothing of the answer has come yet.
    pub fn is_untouched(&self) -> bool {
        self.bytes == 0
    }

    /// Bytes of the body that are still to come and need not be looked at one by one: 0 unless the
    /// length is known.
    pub fn body_left(&self) -> u64 {
        match self.state {
            State::Body(left) => left,
            _ => 0,
        }
    }

    /// Notes that `count` bytes of the body, at most [`Self::body_left`], came and were thrown away
    /// unseen.
    pub fn skip(&mut self, count: u64) -> Fed {
        if let State::Body(left) = self.state {
            let left = left.saturating_sub(count);
            self.bytes += count;
            self.state = if left == 0 { State::Complete } else { State::Body(left) };
        }
        match self.state {
            State::Complete => Fed::Complete { rest: 0 },
            _ => Fed::More,
        }
    }

    /// Uses bytes from the socket; pieces of the body go to `body` as they come.
    pub fn feed(&mut self, input: &[u8], mut body: impl FnMut(&[u8])) -> Result<Fed, Malformed> {
        let mut at = 0;
        let fed = loop {
            let rest = &input[at..];
            match self.state {
                State::Complete => break Fed::Complete { rest: rest.len() },
                State::Body(left) | State::ChunkData(left) => {
                    let take = (rest.len() as u64).min(left) as usize;
                    if take > 0 {
                        body(&rest[..take]);
                        at += take;
                    }
                    let left = left - take as u64;
                    self.state = match self.state {
                        State::Body(_) if left == 0 => State::Complete,
                        State::Body(_) => State::Body(left),
                        _ if left == 0 => State::ChunkEnd,
                        _ => State::ChunkData(left),
                    };
                    if left > 0 {
                        break Fed::More;
                    }
                }
                State::UntilClose => {
                    if !rest.is_empty() {
                        body(rest);
                    }
                    break Fed::More;
                }
                State::StatusLine | State::Header | State::ChunkSize | State::ChunkEnd | State::Trailer => {
                    let Some(end) = memchr(b'\n', rest) else {
                        self.keep(rest)?;
                        break Fed::More;
                    };
                    at += end + 1;
                    self.whole_line(&rest[..end])?;
                }
            }
        };
        self.bytes += match fed {
            Fed::More => input.len(),
            Fed::Complete { rest } => input.len() - rest,
        } as u64;
        Ok(fed)
    }

    /// The peer closed its side: whole only if the body lasts until then.
    pub fn end(&mut self) -> Result<(), Malformed> {
        match self.state {
            State::UntilClose | State::Complete => Ok(()),
            _ => Err(Malformed::Cut),
        }
    }

    fn room(&self) -> usize {
        match self.state {
            State::ChunkSize | State::ChunkEnd => CHUNK_LINE_LIMIT,
            _ => HEAD_LIMIT - self.head_bytes,
        }
    }

    fn keep(&mut self, piece: &[u8]) -> Result<(), Malformed> {
        if self.line.len() + piece.len() > self.room() {
            return Err(Malformed::TooLarge);
        }
        self.line.extend_from_slice(piece);
        Ok(())
    }

    fn whole_line(&mut self, end: &[u8]) -> Result<(), Malformed> {
        if self.line.is_empty() {
            if end.len() > self.room() {
                return Err(Malformed::TooLarge);
            }
            return self.take(end);
        }
        self.keep(end)?;
        let line = std::mem::take(&mut self.line);
        let taken = self.take(&line);
        self.line = line;
        self.line.clear();
        taken
    }

    fn take(&mut self, line: &[u8]) -> Result<(), Malformed> {
        let line = line.strip_suffix(b"\r").unwrap_or(line);
        match self.state {
            State::StatusLine => {
                self.head = Head::from_status_line(line)?;
                self.count(line);
                self.state = State::Header;
            }
            State::Header if line.is_empty() => self.state = self.after_head()?,
            State::Header => {
                self.head.header(line)?;
                self.count(line);
            }
            State::ChunkSize => {
                self.state = match chunk_size(line)? {
                    0 => State::Trailer,
                    size => State::ChunkData(size),
                };
            }
            State::ChunkEnd if line.is_empty() => self.state = State::ChunkSize,
            State::ChunkEnd => return Err(Malformed::Chunk),
            State::Trailer if line.is_empty() => self.state = State::Complete,
            State::Trailer => self.count(line),
            // Only line states come here.
            State::Body(_) | State::UntilClose | State::ChunkData(_) | State::Complete => {}
        }
        Ok(())
    }

    fn count(&mut self, line: &[u8]) {
        self.head_bytes = (self.head_bytes + line.len() + 1).min(HEAD_LIMIT);
    }

    /// How the body is delimited (RFC 9112, §6.3).
    fn after_head(&mut self) -> Result<State, Malformed> {
        if self.head.status == 101 {
            return Err(Malformed::Interim);
        }
        if (100..200).contains(&self.head.status) {
            self.interim += 1;
            return if self.interim > INTERIM_LIMIT { Err(Malformed::Interim) } else { Ok(State::StatusLine) };
        }
        Ok(if self.bodiless || matches!(self.head.status, 204 | 304) {
            State::Complete
        } else if self.head.chunked {
            State::ChunkSize
        } else if self.head.until_close {
            State::UntilClose
        } else {
            match self.head.length {
                Some(0) => State::Complete,
                Some(length) => State::Body(length),
                None => State::UntilClose,
            }
        })
    }
}

/// The size at the beginning of a chunk (RFC 9112, §7.1); extensions are ignored.
fn chunk_size(line: &[u8]) -> Result<u64, Malformed> {
    let digits = line.iter().take_while(|byte| byte.is_ascii_hexdigit()).count();
    let rest = line[digits..].trim_ascii_start();
    if digits == 0 || digits > 16 || !(rest.is_empty() || rest.starts_with(b";")) {
        return Err(Malformed::Chunk);
    }
    Ok(line[..digits].iter().fold(0, |size, byte| (size << 4) | u64::from((*byte as char).to_digit(16).unwrap_or(0))))
}

#[cfg(test)]
mod tests;
