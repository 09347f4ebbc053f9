//! The documents of a YAML file, each with the lines of its parts.

use serde::Deserialize as _;
use serde_json::Value;

use super::{
    lines::{self, Lines},
    problem::Problem,
};

/// One document.
#[derive(Clone, Debug)]
pub struct Document {
    /// What it says.
    pub value: Value,
    /// Where it says it.
    lines: Lines,
}

impl Document {
    /// Its kind; empty where it has none.
    pub fn kind(&self) -> &str {
        self.value["kind"].as_str().unwrap_or_default()
    }

    /// A problem at a path such as `spec.targets[0].port`.
    pub fn problem(&self, path: &str, message: &str) -> Problem {
        Problem { line: self.lines.of(path), path: path.to_owned(), message: message.to_owned() }
    }
}

/// All documents that are not empty.
pub fn split(text: &str) -> Result<Vec<Document>, Problem> {
    let mut lines = lines::of_documents(text).into_iter();
    let mut documents = Vec::new();
    for document in serde_norway::Deserializer::from_str(text) {
        let lines = lines.next().unwrap_or_default();
        let value = Value::deserialize(document).map_err(|error| Problem {
            line: error.location().map(|location| location.line()),
            path: String::new(),
            message: format!("is not YAML: {error}"),
        })?;
        if !value.is_null() {
            documents.push(Document { value, lines });
        }
    }
    Ok(documents)
}
