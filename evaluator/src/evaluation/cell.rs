//! Cells: values that are computed once by a task of their own and handed to all who ask.

use std::future::Future;
use std::hash::Hash;

use futures::FutureExt;
use futures::future::{BoxFuture, Shared};
use parking_lot::Mutex;
use rustc_hash::FxHashMap;

use crate::glue::Failed;

type Outcome<V> = Result<V, Failed>;

/// Values by key, each computed once.
pub(crate) struct Cells<K, V: Clone> {
    started: Mutex<FxHashMap<K, Shared<BoxFuture<'static, Outcome<V>>>>>,
}

impl<K: Hash + Eq, V: Clone + Send + Sync + 'static> Default for Cells<K, V> {
    fn default() -> Self {
        Cells { started: Mutex::new(FxHashMap::default()) }
    }
}

impl<K: Hash + Eq, V: Clone + Send + Sync + 'static> Cells<K, V> {
    /// The value under `key`; the first to ask starts `compute` as a task.
    ///
    /// The future that comes back waits only; dropping it stops nothing. A task that panicked counts as failed.
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
        // What computing needs is put on the heap when it begins: thousands of cells are asked for before the first of
        // them is looked at, and many are filled in one go.
        let task = tokio::spawn(async move { Box::pin(compute()).await });
        let shared = async move { task.await.unwrap_or(Err(Failed)) }.boxed().shared();
        started.insert(key, shared.clone());
        shared
    }

    /// The value under `key` if it was asked for; the inner part is none while it is being computed.
    pub(crate) fn peek(&self, key: &K) -> Option<Option<Outcome<V>>> {
        self.started.lock().get(key).map(|shared| shared.peek().cloned())
    }

    /// Forgets all values. Cells of a module hold the modules that it calls, and those hold their caller: only this
    /// ends the circle.
    pub(crate) fn clear(&self) {
        let values = std::mem::take(&mut *self.started.lock());
        drop(values);
    }
}
