//! Requests in the background: the packing of journals, and writes of files whose absence does no harm.

use std::sync::{Arc, Mutex, MutexGuard, PoisonError};

use bytes::Bytes;
use tokio::task::JoinHandle;

use super::bridge::Bridge;
use crate::remote::{BackendError, Objects};

/// The requests in the background for the files of one state.
pub(super) struct Background {
    objects: Arc<dyn Objects>,
    bridge: Arc<Bridge>,
    under_way: Mutex<UnderWay>,
}

#[derive(Default)]
struct UnderWay {
    /// Tasks that pack journals. Each result lists the segments that are no longer needed.
    packing: Vec<JoinHandle<Result<Vec<String>, BackendError>>>,
    /// Writes of files whose absence does no harm.
    writing: Vec<JoinHandle<Result<(), BackendError>>>,
    /// Writes that the next journal needs.
    needed: Vec<JoinHandle<Result<(), BackendError>>>,
}

/// A removal in the background. Dropping this value waits for the end of the removal.
pub(super) struct Removal {
    removing: Option<JoinHandle<Result<(), BackendError>>>,
    bridge: Arc<Bridge>,
}

impl Background {
    /// A new value without any requests.
    pub(super) fn new(objects: Arc<dyn Objects>, bridge: Arc<Bridge>) -> Background {
        Background { objects, bridge, under_way: Mutex::default() }
    }

    fn under_way(&self) -> MutexGuard<'_, UnderWay> {
        self.under_way.lock().unwrap_or_else(PoisonError::into_inner)
    }

    fn put(&self, name: String, content: Bytes) -> JoinHandle<Result<(), BackendError>> {
        let objects = Arc::clone(&self.objects);
        self.bridge.handle().spawn(async move { objects.put(&name, content).await.map(drop) })
    }

    /// Writes a file whose absence does no harm.
    pub(super) fn write(&self, name: String, content: Bytes) {
        let writing = self.put(name, content);
        self.under_way().writing.push(writing);
    }

    /// Writes a file that the next journal needs.
    pub(super) fn write_needed(&self, name: String, content: Bytes) {
        let writing = self.put(name, content);
        self.under_way().needed.push(writing);
    }

    /// Takes the writes that the next journal needs. The start of the journal waits for the returned future.
    pub(super) fn take_needed(&self) -> impl Future<Output = Result<(), BackendError>> + Send + 'static {
        let needed = std::mem::take(&mut self.under_way().needed);
        async move {
            for written in futures::future::join_all(needed).await {
                // A task ends without a result only if its runtime ends. In that case, the caller ends, too.
                written.unwrap_or(Ok(()))?;
            }
            Ok(())
        }
    }

    /// Waits for the writes in progress.
    pub(super) fn finish_writing(&self) {
        let writing = {
            let mut under_way = self.under_way();
            let mut writing = std::mem::take(&mut under_way.writing);
            writing.append(&mut under_way.needed);
            writing
        };
        for error in self.join(writing).into_iter().filter_map(Result::err) {
            tracing::warn!("a file of a run could not be written: {error}");
        }
    }

    /// Writes a whole journal, which replaces these segments.
    pub(super) fn pack(&self, whole: String, content: Bytes, segments: Vec<String>) {
        let objects = Arc::clone(&self.objects);
        let packing = self.bridge.handle().spawn(async move {
            objects.put(&whole, content).await?;
            Ok(segments)
        });
        self.under_way().packing.push(packing);
    }

    /// Waits until all writes have ended and the journals of finished runs are packed. Returns the segments that are no
    /// longer needed. Failures are ignored, because readers accept unpacked journals, too.
    pub(super) fn finish_packing(&self) -> Vec<String> {
        self.finish_writing();
        let packing = std::mem::take(&mut self.under_way().packing);
        let mut segments = Vec::new();
        for packed in self.join(packing) {
            match packed {
                Ok(packed) => segments.extend(packed),
                Err(error) => tracing::warn!("the journal of a finished run could not be packed: {error}"),
            }
        }
        segments
    }

    /// Removes the segments of packed journals. Readers ignore the ones that remain.
    pub(super) fn remove_packed(&self, segments: Vec<String>) -> Removal {
        let objects = Arc::clone(&self.objects);
        let removing =
            (!segments.is_empty()).then(|| self.bridge.handle().spawn(async move { objects.remove(&segments).await }));
        Removal { removing, bridge: Arc::clone(&self.bridge) }
    }

    /// The results of tasks. Tasks that ended with the process have no result.
    fn join<Answer: Send + 'static>(&self, tasks: Vec<JoinHandle<Answer>>) -> Vec<Answer> {
        if tasks.is_empty() {
            return Vec::new();
        }
        let joined = self.bridge.wait(async move { futures::future::join_all(tasks).await });
        joined.into_iter().flatten().flatten().collect()
    }
}

impl Drop for Removal {
    fn drop(&mut self) {
        let Some(removing) = self.removing.take() else { return };
        if let Ok(Ok(Err(error))) = self.bridge.wait(removing) {
            tracing::warn!("the segments of a packed journal could not be removed: {error}");
        }
    }
}
