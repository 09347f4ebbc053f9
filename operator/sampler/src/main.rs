//! `gaugeblock-sampler`: watches one target and prints its record.

use std::process::ExitCode;

fn main() -> ExitCode {
    gaugeblock_sampler::main()
}
