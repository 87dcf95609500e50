//! States in backends, which the built-in provider reads for `terraform_remote_state`.

use std::fmt;

use async_trait::async_trait;
use weft_graph_format::value::Value;

/// Reads states in backends other than `local`. The settings are an object or null, and known.
#[async_trait]
pub trait StateBackends: fmt::Debug + Send + Sync {
    /// Whether the backend can be read.
    fn has(&self, backend: &str) -> bool;

    /// Checks settings without a request to the service.
    ///
    /// # Errors
    /// Returns the text of a message about the invalid setting.
    fn check(&self, backend: &str, settings: &Value) -> Result<(), String>;

    /// The state of a workspace, or `None` if there is none.
    ///
    /// # Errors
    /// Returns a description of the error, without secrets.
    async fn read(&self, backend: &str, settings: &Value, workspace: &str) -> Result<Option<Vec<u8>>, String>;
}
