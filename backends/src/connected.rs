//! The result of connecting a backend with its settings.

use std::sync::Arc;

use weft_graph_format::diagnostic::Diagnostic;
use weft_state::remote::Backend;

/// A backend that is ready for requests.
#[derive(Debug)]
pub struct Connected {
    /// The backend.
    pub backend: Arc<dyn Backend>,
    /// Warnings about its settings.
    pub warnings: Vec<Diagnostic>,
}

/// A backend, or the problems of its settings. The diagnostics have no source range.
pub type Connecting = Result<Connected, Vec<Diagnostic>>;
