//! The load generator as a program of its own.

use std::process::ExitCode;

fn main() -> ExitCode {
    gaugeblock_load_generator::main()
}
