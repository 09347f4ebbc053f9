//! The names of the rules and notes, as statuses and reports show them.

use serde::{Deserialize, Serialize};
use std::fmt;

/// Which rule speaks. The first that applies gives the verdict; those after the line only add.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash, Serialize, Deserialize)]
pub enum Rule {
    /// The numbers cannot be believed.
    Invalid,
    /// Another machine or definition.
    NotComparable,
    /// Fewer than four pairs.
    TooFewPairs,
    /// One arm's trials became void more often than the other's.
    ValidityDependsOnArm,
    /// More than a fifth of the blocks were void.
    TooManyVoidBlocks,
    /// More failures than in the baseline.
    ErrorsIncreased,
    /// Worse by at least δ.
    Regression,
    /// Better by at least δ.
    Improvement,
    /// Within ± δ.
    NoChange,
    /// Too noisy for δ, even with the whole budget.
    NoiseTooLarge,
    /// Neither shown (yet).
    NotDecided,
    // Notes: they never change a verdict.
    /// The metric was asked to gate, and may not.
    GateRefused,
    /// An early stop overstates the size.
    SizeApproximate,
    /// One build per arm cannot exclude code layout.
    CodeLayout,
    /// Outliers: rank intervals instead of t.
    OutlierMode,
    /// Pairs after the decision point the other way.
    LaterPairsDisagree,
    /// The history's noise was used, or dropped.
    HistoryPrior,
    /// A metric called exact varied inside an arm.
    NotExact,
    // About the run as a whole.
    /// Nothing in this run gates.
    NothingGates,
    /// Some blocks were void and repeated.
    VoidBlocks,
}

impl Rule {
    /// Its name, as the API spells it.
    pub fn as_str(self) -> &'static str {
        match self {
            Self::Invalid => "Invalid",
            Self::NotComparable => "NotComparable",
            Self::TooFewPairs => "TooFewPairs",
            Self::ValidityDependsOnArm => "ValidityDependsOnArm",
            Self::TooManyVoidBlocks => "TooManyVoidBlocks",
            Self::ErrorsIncreased => "ErrorsIncreased",
            Self::Regression => "Regression",
            Self::Improvement => "Improvement",
            Self::NoChange => "NoChange",
            Self::NoiseTooLarge => "NoiseTooLarge",
            Self::NotDecided => "NotDecided",
            Self::GateRefused => "GateRefused",
            Self::SizeApproximate => "SizeApproximate",
            Self::CodeLayout => "CodeLayout",
            Self::OutlierMode => "OutlierMode",
            Self::LaterPairsDisagree => "LaterPairsDisagree",
            Self::HistoryPrior => "HistoryPrior",
            Self::NotExact => "NotExact",
            Self::NothingGates => "NothingGates",
            Self::VoidBlocks => "VoidBlocks",
        }
    }
}

impl fmt::Display for Rule {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(self.as_str())
    }
}
