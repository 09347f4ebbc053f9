//! The command line and the plan.

use std::{ffi::OsString, path::PathBuf};

use clap::Parser;
use gaugeblock_measurement::{
    SamplerPlan,
    plan::{PLAN_VARIABLE, PLAN_VERSION},
};

/// Watches one target, read from the kernel, and prints what it used as a framed record.
///
/// Needs no privilege but to see the target's processes (hostPID) and the node's cgroup tree. SIGTERM and SIGINT
/// end it with a record of what there is; SIGUSR1 says that the windows are over, and makes it read private
/// memory once, where that is permitted.
#[derive(Debug, Parser)]
#[command(name = "gaugeblock-sampler", version)]
pub struct Arguments {
    /// File with the plan as JSON; without it, the environment variable GAUGEBLOCK_PLAN holds the plan itself.
    #[arg(long, value_name = "FILE")]
    plan: Option<PathBuf>,
    /// Where the node's cgroup tree is mounted.
    #[arg(long, value_name = "FOLDER", env = "GAUGEBLOCK_CGROUP_ROOT", default_value = "/sys/fs/cgroup")]
    pub cgroup_root: PathBuf,
    /// Where the node's /proc is mounted.
    #[arg(long, value_name = "FOLDER", default_value = "/proc")]
    pub proc_root: PathBuf,
    /// Where the node's /sys is mounted.
    #[arg(long, value_name = "FOLDER", default_value = "/sys")]
    pub sys_root: PathBuf,
    /// Name of the node, for the record.
    #[arg(long, value_name = "NAME", env = "GAUGEBLOCK_NODE")]
    pub node: Option<String>,
}

/// The plan could not be had.
#[derive(Debug, thiserror::Error)]
pub enum PlanError {
    /// Neither a file nor the variable.
    #[error("there is no plan: name a file with --plan, or set {PLAN_VARIABLE}")]
    Missing,
    /// The file could not be read.
    #[error("failed to read the plan {0}")]
    Unreadable(PathBuf, #[source] std::io::Error),
    /// Not a plan.
    #[error("failed to parse the plan: {0}")]
    Malformed(serde_json::Error),
    /// Of another release.
    #[error(
        "the plan has version {0}, this sampler knows version {PLAN_VERSION}; use the measuring image of the operator's release"
    )]
    Version(u32),
    /// An interval of zero.
    #[error("the plan's {0} must be more than zero")]
    Zero(&'static str),
}

impl Arguments {
    /// Parses a command line; its first word is the program's name.
    pub fn parse_words(words: impl IntoIterator<Item = OsString>) -> Result<Self, clap::Error> {
        Self::try_parse_from(words)
    }

    /// Reads and checks the plan.
    pub fn read_plan(&self) -> Result<SamplerPlan, PlanError> {
        let text = match &self.plan {
            Some(path) => std::fs::read_to_string(path).map_err(|error| PlanError::Unreadable(path.clone(), error))?,
            None => std::env::var(PLAN_VARIABLE).map_err(|_| PlanError::Missing)?,
        };
        check(&text)
    }
}

fn check(text: &str) -> Result<SamplerPlan, PlanError> {
    // The version first: a plan of another version need not have this one's fields.
    let value: serde_json::Value = serde_json::from_str(text).map_err(PlanError::Malformed)?;
    let version = value.get("version").and_then(serde_json::Value::as_u64).unwrap_or(0) as u32;
    if version != PLAN_VERSION {
        return Err(PlanError::Version(version));
    }
    let plan: SamplerPlan = serde_json::from_value(value).map_err(PlanError::Malformed)?;
    if plan.interval == 0 {
        return Err(PlanError::Zero("interval"));
    }
    if plan.start_poll == 0 {
        return Err(PlanError::Zero("start_poll"));
    }
    Ok(plan)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_plan_of_another_version_is_named() {
        let error = check(r#"{"version": 7, "new": true}"#).unwrap_err();
        assert!(matches!(error, PlanError::Version(7)), "{error}");
        assert!(matches!(check("{"), Err(PlanError::Malformed(_))));
    }
}
