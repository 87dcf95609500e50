//! Cells: values that a task computes once for all readers.

use std::future::Future;
use std::hash::Hash;

use futures::FutureExt;
use futures::future::{BoxFuture, Shared};
use parking_lot::Mutex;
use rustc_hash::FxHashMap;

use crate::glue::Failed;

type Outcome<V> = Result<V, Failed>;

/// Values by key. Each is computed once.
pub(crate) struct Cells<K, V: Clone> {
    started: Mutex<FxHashMap<K, Shared<BoxFuture<'static, Outcome<V>>>>>,
}

impl<K: Hash + Eq, V: Clone + Send + Sync + 'static> Default for Cells<K, V> {
    fn default() -> Self {
        Cells { started: Mutex::new(FxHashMap::default()) }
    }
}

impl<K: Hash + Eq, V: Clone + Send + Sync + 'static> Cells<K, V> {
    /// The value of `key`. The first caller starts `compute` as a task.
    ///
    /// The returned future only waits for the task. Dropping the future does not stop the task. A panic in the task
    /// counts as a failure.
    pub(crate) fn get<F>(
        &self,
        key: K,
        compute: impl FnOnce() -> F + Send + 'static,
    ) -> Shared<BoxFuture<'static, Outcome<V>>>
    where
        F: Future<Output = Outcome<V>> + Send + 'static,
    {
        let mut started = self.started.lock();
        if let Some(found) = started.get(&key) {
            return found.clone();
        }
        // The future is boxed only when the task starts. Thousands of cells may be requested before the first is
        // polled, and many finish in one poll.
        let task = tokio::spawn(async move { Box::pin(compute()).await });
        let shared = async move { task.await.unwrap_or(Err(Failed)) }.boxed().shared();
        started.insert(key, shared.clone());
        shared
    }

    /// The value of `key`, if the key was requested. The inner `Option` is `None` until the value is computed.
    pub(crate) fn peek(&self, key: &K) -> Option<Option<Outcome<V>>> {
        self.started.lock().get(key).map(|shared| shared.peek().cloned())
    }

    /// Drops all values. This breaks a cycle of owners: the cells of a module own the called modules, which own their
    /// caller.
    pub(crate) fn clear(&self) {
        let values = std::mem::take(&mut *self.started.lock());
        drop(values);
    }
}
