//! What limited a window, with the evidence for it.

use serde::{Deserialize, Serialize};

/// The part that kept a window from doing more.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Hash, Serialize, Deserialize)]
pub enum LimitedBy {
    /// The target's CPU was used up.
    Target,
    /// A dependency's CPU was used up.
    Dependency,
    /// The generator could not keep its schedule or had no CPU left.
    Generator,
    /// All connections were busy all the time while every CPU had room.
    Connections,
    /// Nothing: the asked rate was held with room to spare.
    None,
    /// The evidence does not tell.
    Unknown,
}

/// A window's limit and why it is thought to be that.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
pub struct Limit {
    /// What limited the window.
    pub by: LimitedBy,
    /// One sentence per piece of evidence, each with its number and unit.
    pub evidence: Vec<String>,
}
