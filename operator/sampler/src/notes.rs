//! What could not be read, in words, each once.

/// The notes of a record.
#[derive(Debug, Default)]
pub struct Notes(Vec<String>);

impl Notes {
    /// Most notes: a target that changes with every look must not fill the record.
    const MOST: usize = 64;

    /// Adds a note unless it is there already.
    pub fn add(&mut self, note: impl Into<String>) {
        let note = note.into();
        if self.0.len() < Self::MOST && !self.0.contains(&note) {
            self.0.push(note);
        }
    }

    /// All of them.
    pub fn into_vec(self) -> Vec<String> {
        self.0
    }
}
