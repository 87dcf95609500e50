//! The asynchronous runtime. Commands start it if they need it.

use std::future::Future;

use tokio::runtime::Builder;
use weft_graph_format::diagnostic::Diagnostic;

use crate::problems;

/// How long blocking threads (file locks, prompts) may delay the end of the process.
const SHUTDOWN: std::time::Duration = std::time::Duration::from_millis(200);

/// Runs a future until it completes.
///
/// # Errors
/// Returns an error if the runtime cannot start.
pub fn block_on<T>(future: impl Future<Output = T>) -> Result<T, Diagnostic> {
    let runtime = Builder::new_multi_thread().enable_all().build().map_err(|error| problems::no_threads(&error))?;
    let result = runtime.block_on(future);
    runtime.shutdown_timeout(SHUTDOWN);
    Ok(result)
}
