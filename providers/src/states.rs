//! States in backends, which the built-in provider reads for `terraform_remote_state`.

use std::fmt;

use async_trait::async_trait;
use weft_graph_format::value::Value;

/// Why settings do not fit a backend. The message is the rest of a sentence about the settings.
#[derive(Debug, thiserror::Error)]
pub enum SettingsMismatch {
    /// The settings are not an object.
    #[error("an object is needed")]
    NotAnObject,
    /// The backend has no such argument.
    #[error("it has no argument {0:?}")]
    UnknownArgument(String),
    /// The value of an argument is not a string.
    #[error("{0} must be a string")]
    NotAString(&'static str),
    /// The value of an argument has another type.
    #[error("{name}: {reason}")]
    Type {
        /// The argument.
        name: String,
        /// Why the value does not convert to the type of the argument.
        reason: String,
    },
}

/// Why a state in a backend cannot be read. The message contains no secrets.
pub type StateReadError = Box<dyn std::error::Error + Send + Sync>;

/// Reads states in backends other than `local`. The settings are an object or null, and known.
#[async_trait]
pub trait StateBackends: fmt::Debug + Send + Sync {
    /// Whether the backend can be read.
    fn has(&self, backend: &str) -> bool;

    /// Checks settings without a request to the service.
    ///
    /// # Errors
    /// Returns an error about the first invalid setting.
    fn check(&self, backend: &str, settings: &Value) -> Result<(), SettingsMismatch>;

    /// The state of a workspace, or `None` if there is none.
    ///
    /// # Errors
    /// Returns an error if the settings are not valid, or the service does not return the state.
    async fn read(&self, backend: &str, settings: &Value, workspace: &str) -> Result<Option<Vec<u8>>, StateReadError>;
}
