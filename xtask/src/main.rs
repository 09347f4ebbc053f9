//! Every chore of the house.
fn main() {}
