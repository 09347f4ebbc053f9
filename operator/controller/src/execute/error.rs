//! Why an action could not be executed.

use gaugeblock_planner::pods::PodError;

use crate::call::CallError;

/// Why an action could not be executed.
#[derive(Debug, thiserror::Error)]
pub enum ExecuteError {
    /// The API server refused to create something, and would refuse again.
    #[error("the API server refused to create {object}: {message}")]
    Refused {
        /// Kind and name.
        object: String,
        /// The server's words.
        message: String,
    },
    /// Something of this name is there, and not of this run.
    #[error("{object} exists already and is not of this run, but {found}")]
    Foreign {
        /// Kind and name.
        object: String,
        /// Whose it is instead.
        found: String,
    },
    /// A pod cannot be built from the run.
    #[error("failed to build {object}")]
    Build {
        /// Kind and name.
        object: String,
        /// Why.
        #[source]
        source: PodError,
    },
    /// A call failed; it is made again later.
    #[error("failed to {verb} {object}")]
    Call {
        /// What was done.
        verb: &'static str,
        /// Kind and name.
        object: String,
        /// Why it failed.
        #[source]
        source: CallError,
    },
    /// Something could not be written as text.
    #[error("failed to write {what} as text")]
    Text {
        /// What.
        what: &'static str,
        /// Why.
        #[source]
        source: serde_json::Error,
    },
    /// The machine gives no random numbers.
    #[error("failed to make a password: {0}")]
    Random(String),
    /// The plan wants something that needs the frozen plan, and there is none.
    #[error("the plan is not frozen yet")]
    NotFrozen,
}

impl ExecuteError {
    /// A failed call.
    pub(super) fn call(verb: &'static str, object: String) -> impl FnOnce(CallError) -> Self {
        move |source| Self::Call { verb, object, source }
    }

    /// Object and words, when trying again would end the same: the run has to be told.
    pub fn final_words(&self) -> Option<(String, String)> {
        match self {
            Self::Refused { object, message } => Some((object.clone(), message.clone())),
            Self::Foreign { object, found } => Some((
                object.clone(),
                format!("one of this name exists and is not of this run, but {found}; delete it"),
            )),
            Self::Build { object, source } => Some((object.clone(), source.to_string())),
            Self::Call { .. } | Self::Text { .. } | Self::Random(_) | Self::NotFrozen => None,
        }
    }
}
