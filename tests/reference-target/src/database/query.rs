//! The two queries of the service, as messages of Postgres's extended protocol.

use bytes::BytesMut;
use fallible_iterator::FallibleIterator;
use postgres_protocol::IsNull;
use postgres_protocol::message::backend::DataRowBody;
use postgres_protocol::message::frontend::{self, BindError};
use serde::Serialize;

/// Prepared statements, by name. Parameters and columns travel as text.
pub const STATEMENTS: [(&str, &str); 2] = [
    ("read", "SELECT id, title, body FROM items WHERE id = $1"),
    (
        "update",
        "UPDATE items SET title = coalesce($2, title), body = coalesce($3, body) WHERE id = $1 \
         RETURNING id, title, body",
    ),
];

/// What to ask of the database.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum Query {
    /// The row with this key.
    Read(i32),
    /// Change the row with this key; what is `None` is written back as it is.
    Update {
        /// The key.
        id: i32,
        /// The new title.
        title: Option<String>,
        /// The new body.
        body: Option<String>,
    },
}

/// One row of `items`.
#[derive(Debug, Clone, PartialEq, Eq, Serialize)]
pub struct Row {
    id: i32,
    title: Option<String>,
    body: Option<String>,
}

impl Query {
    /// Appends the messages that run this query.
    pub fn write(&self, out: &mut BytesMut) -> std::io::Result<()> {
        match self {
            Self::Read(id) => bind("read", &[Some(&id.to_string())], out)?,
            Self::Update { id, title, body } => {
                bind("update", &[Some(&id.to_string()), title.as_deref(), body.as_deref()], out)?;
            }
        }
        frontend::execute("", 0, out)?;
        frontend::sync(out);
        Ok(())
    }
}

fn bind(statement: &str, values: &[Option<&str>], out: &mut BytesMut) -> std::io::Result<()> {
    let write = |value: Option<&str>, out: &mut BytesMut| {
        let Some(text) = value else {
            return Ok(IsNull::Yes);
        };
        out.extend_from_slice(text.as_bytes());
        Ok(IsNull::No)
    };
    frontend::bind("", statement, [], values.iter().copied(), write, [], out).map_err(|error| match error {
        BindError::Serialization(error) => error,
        BindError::Conversion(error) => std::io::Error::other(error),
    })
}

impl Row {
    /// Reads a row's three columns; `None` when they are something else.
    pub fn read(message: &DataRowBody) -> Option<Self> {
        let mut columns = message.ranges().map(|range| Ok(range.map(|range| &message.buffer()[range])));
        let mut next = || columns.next().ok().flatten();
        let text = |column: Option<&[u8]>| column.map(|bytes| String::from_utf8_lossy(bytes).into_owned());
        let id = std::str::from_utf8(next()??).ok()?.parse().ok()?;
        Some(Self { id, title: text(next()?), body: text(next()?) })
    }
}
