//! What the machine is: its identity, and the environment that changes under it.

use std::collections::BTreeMap;

use serde::{Deserialize, Serialize};

/// A machine's fingerprint in two classes. A difference in `identity` makes stored results
/// incomparable; a difference in `environment` ends the stored sessions.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
pub struct Fingerprint {
    /// CPU model, topology, memory, virtualisation: key → value.
    pub identity: BTreeMap<String, String>,
    /// Kernel, microcode, mitigations, runtime versions: key → value.
    pub environment: BTreeMap<String, String>,
}
