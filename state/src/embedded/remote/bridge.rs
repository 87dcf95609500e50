//! Sends requests to a backend on behalf of synchronous code.
//!
//! The callers wait for the result. Some of them are on threads of an async runtime, where `Runtime::block_on` would
//! panic. Therefore the bridge runs the requests on its own runtime, and its callers wait on a channel.

use std::future::Future;
use std::sync::Arc;
use std::sync::mpsc::sync_channel;

use tokio::runtime::{Builder, Handle, Runtime};

use crate::error::StoreError;

/// A runtime for requests.
pub(super) struct Bridge {
    runtime: Option<Runtime>,
    handle: Handle,
}

impl Bridge {
    /// Starts the runtime.
    ///
    /// # Errors
    /// [`StoreError::Io`].
    pub(super) fn start() -> Result<Arc<Bridge>, StoreError> {
        let runtime = Builder::new_multi_thread().worker_threads(1).thread_name("weft-backend").enable_all().build();
        let runtime = runtime.map_err(|error| StoreError::Io {
            doing: "starting the threads for requests".to_owned(),
            error: error.to_string(),
        })?;
        let handle = runtime.handle().clone();
        Ok(Arc::new(Bridge { runtime: Some(runtime), handle }))
    }

    /// Runs work on the runtime and waits for its result.
    ///
    /// # Errors
    /// [`StoreError::Closed`] if the runtime ends first.
    pub(super) fn wait<Answer: Send + 'static>(
        &self,
        work: impl Future<Output = Answer> + Send + 'static,
    ) -> Result<Answer, StoreError> {
        let (sender, receiver) = sync_channel(1);
        self.handle.spawn(async move {
            // The receiver is waiting, so this can only fail if its thread has ended.
            let _ = sender.send(work.await);
        });
        receiver.recv().map_err(|_| crate::problems::process_ending())
    }

    /// The runtime, for tasks in the background.
    pub(super) fn handle(&self) -> &Handle {
        &self.handle
    }
}

impl Drop for Bridge {
    fn drop(&mut self) {
        if let Some(runtime) = self.runtime.take() {
            // Dropping a runtime normally may block, which is not allowed on every thread.
            runtime.shutdown_background();
        }
    }
}
