//! One call to the API server: with a limit in time, and an error that can be told apart.
//!
//! The client is made without its default retries: those would repeat even a creation for minutes
//! before anybody hears of it. The next reconciliation is the retry.

use std::{future::Future, time::Duration};

use kube::core::Status;

/// Time for one call. An API server answers in milliseconds; one that does not in this time has
/// something else on its mind, and a run must not wait for it in silence.
pub const LIMIT: Duration = Duration::from_secs(10);

/// Why a call failed.
#[derive(Debug, thiserror::Error)]
pub enum CallError {
    /// No answer.
    #[error("the API server gave no answer within {} s", .0.as_secs())]
    TimedOut(Duration),
    /// The API server said no.
    #[error("the API server answered {}: {}", .0.code, .0.message)]
    Api(#[source] Box<Status>),
    /// Anything before or after that.
    #[error("failed to talk to the API server")]
    Client(#[source] kube::Error),
}

impl CallError {
    fn status(&self) -> Option<&Status> {
        match self {
            Self::Api(status) => Some(status),
            Self::TimedOut(_) | Self::Client(_) => None,
        }
    }

    /// There is no such object.
    pub fn is_not_found(&self) -> bool {
        self.status().is_some_and(Status::is_not_found)
    }

    /// There is one of this name.
    pub fn is_already_exists(&self) -> bool {
        self.status().is_some_and(Status::is_already_exists)
    }

    /// It is not the one that was meant, by UID or version.
    pub fn is_conflict(&self) -> bool {
        self.status().is_some_and(Status::is_conflict)
    }

    /// The server's words, when asking again would get the same answer: quota, Pod Security,
    /// policies and webhooks (403, 400), validation (422), size (413), no such namespace (404).
    pub fn refusal(&self) -> Option<&str> {
        let status = self.status()?;
        matches!(status.code, 400 | 403 | 404 | 413 | 422).then_some(status.message.as_str())
    }
}

impl From<kube::Error> for CallError {
    fn from(error: kube::Error) -> Self {
        match error {
            kube::Error::Api(status) => Self::Api(status),
            error => Self::Client(error),
        }
    }
}

/// Waits for a call, but not for ever.
pub async fn within<T>(limit: Duration, call: impl Future<Output = kube::Result<T>>) -> Result<T, CallError> {
    match tokio::time::timeout(limit, call).await {
        Ok(answer) => Ok(answer?),
        Err(_) => Err(CallError::TimedOut(limit)),
    }
}

/// Waits for a call for the ordinary time.
pub async fn call<T>(call: impl Future<Output = kube::Result<T>>) -> Result<T, CallError> {
    within(LIMIT, call).await
}
