//! The JSON that goes out and comes in.

use serde::Serialize;
use serde_json::Value;

use crate::http::answer::{Answer, Status};

/// What `GET /json` says: a small document of each kind of value, written anew for each request.
#[derive(Debug, Serialize)]
struct Greeting {
    message: &'static str,
    version: u32,
    stable: bool,
    tags: [&'static str; 3],
}

/// Answers `GET /json`.
pub fn greeting() -> Answer {
    Answer::json(&Greeting {
        message: "Hello, World!",
        version: 1,
        stable: true,
        tags: ["reference", "known", "truth"],
    })
}

/// What `POST /json` derives from the document it was sent.
#[derive(Debug, Default, PartialEq, Eq, Serialize)]
struct Summary {
    /// Nulls, booleans, numbers and strings.
    scalars: u64,
    /// Sum of the integers; wraps.
    sum: i64,
    /// Characters of all strings, keys not counted.
    characters: u64,
}

/// Answers `POST /json`: the document and what was derived from it; 400 when it is no JSON.
pub fn derived(body: &[u8]) -> Answer {
    #[derive(Serialize)]
    struct Derived<'a> {
        summary: Summary,
        received: &'a Value,
    }
    match serde_json::from_slice(body) {
        Ok(received) => {
            let mut summary = Summary::default();
            summary.add(&received);
            Answer::json(&Derived { summary, received: &received })
        }
        Err(_) => Answer::failure(Status::BadRequest, "failed to read the body: no JSON"),
    }
}

impl Summary {
    fn add(&mut self, value: &Value) {
        match value {
            Value::Array(values) => values.iter().for_each(|value| self.add(value)),
            Value::Object(fields) => fields.values().for_each(|value| self.add(value)),
            Value::Null | Value::Bool(_) => self.scalars += 1,
            Value::Number(number) => {
                self.scalars += 1;
                self.sum = self.sum.wrapping_add(number.as_i64().unwrap_or(0));
            }
            Value::String(text) => {
                self.scalars += 1;
                self.characters += text.chars().count() as u64;
            }
        }
    }
}

/// The change that `POST /rows/N` asks for: `title` and `body` may be left out, and so may the whole document.
#[derive(Debug, Default, PartialEq, Eq, serde::Deserialize)]
pub struct Change {
    /// The new title.
    pub title: Option<String>,
    /// The new body.
    pub body: Option<String>,
}

impl Change {
    /// Reads a change; nothing at all changes nothing, but is written all the same.
    pub fn read(body: &[u8]) -> Result<Self, serde_json::Error> {
        if body.is_empty() { Ok(Self::default()) } else { serde_json::from_slice(body) }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_answer_is_derived_from_the_document() {
        let answer = derived(br#"{"numbers": [1, 2, -5], "text": "na\u00efve", "nested": {"yes": true, "no": null}}"#);
        let document: Value = serde_json::from_slice(&answer.body).unwrap();
        assert_eq!(document["summary"], serde_json::json!({ "scalars": 6, "sum": -2, "characters": 5 }));
        assert_eq!(document["received"]["numbers"][2], -5);
        assert_eq!(derived(b"{").status, Status::BadRequest);
    }

    #[test]
    fn a_change_may_leave_everything_out() {
        assert_eq!(Change::read(b"").unwrap(), Change::default());
        let title = Change { title: Some("t".to_owned()), body: None };
        assert_eq!(Change::read(br#"{"title": "t"}"#).unwrap(), title);
        assert!(Change::read(b"[").is_err());
    }
}
