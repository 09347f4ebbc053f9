//! The words by which epoll tells who is ready.

/// A connection's place and how often that place was used before, so that an answer never reaches a later
/// connection in the same place.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct ConnectionToken {
    /// Index in the worker's table.
    pub place: u32,
    /// How many connections had the place before; wraps.
    pub generation: u16,
}

/// Who is ready.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Token {
    /// The listening socket.
    Listener,
    /// The worker's inbox.
    Inbox,
    /// The database session at this place.
    Session(u32),
    /// A client's connection.
    Connection(ConnectionToken),
}

impl Token {
    /// The 64 bits that epoll keeps.
    pub fn encode(self) -> u64 {
        match self {
            Self::Listener => 0,
            Self::Inbox => 1 << 48,
            Self::Session(place) => 2 << 48 | u64::from(place),
            Self::Connection(ConnectionToken { place, generation }) => {
                3 << 48 | u64::from(generation) << 32 | u64::from(place)
            }
        }
    }

    /// The token that `bits` came from; `None` for bits that no token gives.
    pub fn decode(bits: u64) -> Option<Self> {
        let place = bits as u32;
        match bits >> 48 {
            0 => Some(Self::Listener),
            1 => Some(Self::Inbox),
            2 => Some(Self::Session(place)),
            3 => Some(Self::Connection(ConnectionToken { place, generation: (bits >> 32) as u16 })),
            _ => None,
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn tokens_survive_the_kernel() {
        let connection = |place, generation| Token::Connection(ConnectionToken { place, generation });
        for token in
            [Token::Listener, Token::Inbox, Token::Session(7), connection(0, 0), connection(u32::MAX, u16::MAX)]
        {
            assert_eq!(Token::decode(token.encode()), Some(token));
        }
        assert_eq!(Token::decode(u64::MAX), None);
    }
}
