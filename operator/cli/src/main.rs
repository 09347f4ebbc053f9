//! gaugeblock: run a benchmark on this machine, and read what a cluster measured.
fn main() {}
