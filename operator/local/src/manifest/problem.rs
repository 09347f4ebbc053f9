//! What is wrong with a manifest, and where.

use std::{fmt, io, path::PathBuf};

/// Why a manifest cannot be run.
#[derive(Debug)]
pub enum ManifestError {
    /// The file cannot be read.
    Unreadable {
        /// The file.
        path: PathBuf,
        /// Why.
        source: io::Error,
    },
    /// It was read, and is wrong.
    Wrong {
        /// The file.
        path: PathBuf,
        /// Everything that is wrong.
        problems: Vec<Problem>,
    },
}

/// One thing that is wrong.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Problem {
    /// Line in the file, from 1.
    pub line: Option<usize>,
    /// Where in the object, such as `spec.targets[0].port`; empty for the object as a whole.
    pub path: String,
    /// What, with what would be right.
    pub message: String,
}

impl fmt::Display for ManifestError {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::Unreadable { path, .. } => write!(f, "failed to read {}", path.display()),
            Self::Wrong { path, problems } => {
                for (index, problem) in problems.iter().enumerate() {
                    let Problem { line, path: field, message } = problem;
                    if index > 0 {
                        writeln!(f)?;
                    }
                    write!(f, "{}", path.display())?;
                    if let Some(line) = line {
                        write!(f, ":{line}")?;
                    }
                    if field.is_empty() {
                        write!(f, ": {message}")?;
                    } else {
                        write!(f, ": {field}: {message}")?;
                    }
                }
                Ok(())
            }
        }
    }
}

impl std::error::Error for ManifestError {
    fn source(&self) -> Option<&(dyn std::error::Error + 'static)> {
        match self {
            Self::Unreadable { source, .. } => Some(source),
            Self::Wrong { .. } => None,
        }
    }
}
