//! Generated files: a test compares each with what the code makes, and writes it when told to.

use anyhow::Result;

use crate::shell;

/// Tells the tests of generated files to write them instead of comparing.
const VARIABLE: &str = "GAUGEBLOCK_GENERATE";

/// Writes every generated file.
pub fn run() -> Result<()> {
    // Of the whole workspace, as every build here: another selection of packages would compile
    // the dependencies once more, with other features.
    shell::run(shell::cargo(&["test", "--quiet", "--workspace", "--test", "definitions"]).env(VARIABLE, "1"))
}
