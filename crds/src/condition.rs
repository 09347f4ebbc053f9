//! Conditions and reasons of a run: closed sets, never free text.

use std::fmt;

use schemars::JsonSchema;
use serde::{Deserialize, Serialize};

macro_rules! words {
    ($(#[$doc:meta])* $name:ident { $($(#[$variant_doc:meta])* $variant:ident = $text:literal,)* }) => {
        $(#[$doc])*
        #[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Hash, Serialize, Deserialize, JsonSchema)]
        pub enum $name {
            $($(#[$variant_doc])* #[serde(rename = $text)] $variant,)*
        }

        impl $name {
            /// All of them.
            pub const ALL: &'static [Self] = &[$(Self::$variant,)*];

            /// As in the API.
            pub const fn name(self) -> &'static str {
                match self { $(Self::$variant => $text,)* }
            }
        }

        impl fmt::Display for $name {
            fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
                f.write_str(self.name())
            }
        }
    };
}

words! {
    /// Conditions of a run, as `metav1.Condition`.
    ConditionType {
        /// The run has its nodes.
        Admitted = "Admitted",
        /// What the run will use is frozen and checked.
        Prepared = "Prepared",
        /// The target had its CPUs for itself in every trial.
        CpuPinned = "CPUPinned",
        /// All that was planned was measured and compared.
        Complete = "Complete",
        /// The run could not give a verdict.
        Failed = "Failed",
        /// The run has ended, well or not. The reason is the verdict or the failure.
        Finished = "Finished",
    }
}

words! {
    /// Why a run is where it is. Those of failures are also reasons of `Failed` and `Finished`.
    Reason {
        /// Waiting for a node.
        WaitingForNode = "WaitingForNode",
        /// Suspended by its owner.
        Suspended = "Suspended",
        /// A node is held for it.
        NodeClaimed = "NodeClaimed",
        /// The plan is frozen.
        PlanFrozen = "PlanFrozen",
        /// Trials are under way.
        Measuring = "Measuring",
        /// The kernel's CPU sets show it.
        ExclusiveCpus = "ExclusiveCPUs",
        /// Another container may use the target's CPUs.
        SharedCpus = "SharedCPUs",
        /// All gates are decided, or all blocks are done.
        Compared = "Compared",

        /// Verdict: a gate is worse.
        Regressed = "Regressed",
        /// Verdict: a gate is better, none worse.
        Improved = "Improved",
        /// Verdict: all gates are the same within the smallest effect that matters.
        NoChange = "NoChange",
        /// Verdict: not decided within the blocks allowed.
        Inconclusive = "Inconclusive",
        /// Verdict: what was measured cannot be compared.
        NotComparable = "NotComparable",
        /// Verdict: what was measured is not valid.
        Invalid = "Invalid",
        /// A study ended: there is a table, but nothing to judge.
        Measured = "Measured",

        /// The spec contradicts itself in a way that the schema cannot see.
        InvalidSpec = "InvalidSpec",
        /// There is no such pool.
        PoolNotFound = "PoolNotFound",
        /// The pool is not for this namespace.
        PoolNotAllowed = "PoolNotAllowed",
        /// An image cannot be had.
        ImagePullError = "ImagePullError",
        /// A container could not be made from its pod's spec.
        ContainerConfigError = "ContainerConfigError",
        /// A container's command could not be started.
        StartError = "StartError",
        /// No node can take a pod.
        Unschedulable = "Unschedulable",
        /// The node refused a pod.
        AdmissionRefused = "AdmissionRefused",
        /// The API server refused to create an object.
        CreationRefused = "CreationRefused",
        /// The target was killed for memory.
        TargetOomKilled = "TargetOOMKilled",
        /// The target ended by itself.
        TargetExited = "TargetExited",
        /// The target gave no correct answer in time.
        TargetNotReady = "TargetNotReady",
        /// A dependency ended or never served.
        DependencyFailed = "DependencyFailed",
        /// The generator ended without a record.
        GeneratorFailed = "GeneratorFailed",
        /// The sampler ended without a record.
        SamplerFailed = "SamplerFailed",
        /// A record was cut, damaged or missing.
        ResultUnreadable = "ResultUnreadable",
        /// Too many blocks were void.
        TooManyVoidBlocks = "TooManyVoidBlocks",
        /// The target did not have its CPUs for itself, and isolation is required.
        CpusNotExclusive = "CPUsNotExclusive",
        /// The run's deadline passed.
        DeadlineExceeded = "DeadlineExceeded",
        /// A pod did not start in time.
        StartTimeout = "StartTimeout",
        /// Its owner cancelled it.
        Cancelled = "Cancelled",
    }
}

impl Reason {
    /// Whether a run that ends for this reason has failed (as opposed to having a result).
    pub const fn is_failure(self) -> bool {
        !matches!(
            self,
            Self::WaitingForNode
                | Self::Suspended
                | Self::NodeClaimed
                | Self::PlanFrozen
                | Self::Measuring
                | Self::ExclusiveCpus
                | Self::SharedCpus
                | Self::Compared
                | Self::Regressed
                | Self::Improved
                | Self::NoChange
                | Self::Inconclusive
                | Self::NotComparable
                | Self::Invalid
                | Self::Measured
        )
    }
}
