//! The line of every node of a YAML document, by its path.

use std::collections::BTreeMap;

use saphyr_parser::{Event, Parser};

/// Lines of one document, from 1, by path: `spec.targets[0].port`.
#[derive(Clone, Debug, Default)]
pub struct Lines(BTreeMap<String, usize>);

impl Lines {
    /// The line of a node, or of the closest one around it (what is missing has no line).
    pub fn of(&self, path: &str) -> Option<usize> {
        let mut path = path;
        loop {
            if let Some(line) = self.0.get(path) {
                return Some(*line);
            }
            path = &path[..path.rfind(['.', '['])?];
        }
    }
}

/// Where the parser stands inside a collection.
enum Frame {
    /// In a mapping: its path, and the key whose value comes next.
    Mapping(String, Option<String>),
    /// In a sequence: its path, and the index of the next item.
    Sequence(String, usize),
}

/// The lines of each document. Best effort: what the parser does not understand has no lines, and
/// the reader of the values says what is wrong with it.
pub fn of_documents(text: &str) -> Vec<Lines> {
    let mut documents = Vec::new();
    let mut frames: Vec<Frame> = Vec::new();
    for event in Parser::new_from_str(text) {
        let Ok((event, span)) = event else { break };
        let line = span.start.line();
        match event {
            Event::DocumentStart(_) => {
                documents.push(Lines::default());
                frames.clear();
            }
            Event::Scalar(value, ..) => {
                if let Some(Frame::Mapping(path, key @ None)) = frames.last_mut() {
                    let at = member(path, &value);
                    note(&mut documents, at, line);
                    *key = Some(value.into_owned());
                } else {
                    enter(&mut frames, &mut documents, line);
                }
            }
            Event::Alias(_) => {
                enter(&mut frames, &mut documents, line);
            }
            Event::MappingStart(..) => {
                let path = enter(&mut frames, &mut documents, line);
                frames.push(Frame::Mapping(path, None));
            }
            Event::SequenceStart(..) => {
                let path = enter(&mut frames, &mut documents, line);
                frames.push(Frame::Sequence(path, 0));
            }
            Event::MappingEnd | Event::SequenceEnd => {
                frames.pop();
            }
            Event::Nothing | Event::StreamStart | Event::StreamEnd | Event::DocumentEnd => {}
        }
    }
    documents
}

/// The path of the node that begins now.
fn enter(frames: &mut [Frame], documents: &mut [Lines], line: usize) -> String {
    match frames.last_mut() {
        None => String::new(),
        // The line of a member is that of its key, which was noted already.
        Some(Frame::Mapping(path, key)) => member(path, &key.take().unwrap_or_default()),
        Some(Frame::Sequence(path, index)) => {
            let item = format!("{path}[{index}]");
            *index += 1;
            note(documents, item.clone(), line);
            item
        }
    }
}

fn member(path: &str, key: &str) -> String {
    if path.is_empty() { key.to_owned() } else { format!("{path}.{key}") }
}

fn note(documents: &mut [Lines], path: String, line: usize) {
    if let Some(document) = documents.last_mut() {
        document.0.entry(path).or_insert(line);
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn every_node_has_its_line_in_its_document() {
        let text = "a: 1\n---\n# two\nspec:\n  targets:\n    - name: x\n      env: [{name: Y}]\n    - name: z\n";
        let documents = of_documents(text);
        assert_eq!(documents.len(), 2);
        assert_eq!(documents[0].of("a"), Some(1));
        let lines = &documents[1];
        assert_eq!(lines.of("spec.targets[0].name"), Some(6));
        assert_eq!(lines.of("spec.targets[0].env[0].name"), Some(7));
        assert_eq!(lines.of("spec.targets[1]"), Some(8));
    }

    #[test]
    fn what_is_missing_has_the_line_of_what_is_around_it() {
        let documents = of_documents("spec:\n  targets:\n    - name: x\n");
        assert_eq!(documents[0].of("spec.targets[0].image"), Some(3));
        assert_eq!(documents[0].of("nothing"), None);
    }
}
