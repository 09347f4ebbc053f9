//! A service with known truth: what the end-to-end tests measure.
fn main() {}
