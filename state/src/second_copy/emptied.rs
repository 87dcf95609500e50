//! A store that loses its records while this process uses it.

use std::collections::BTreeMap;
use std::sync::{Arc, MutexGuard, PoisonError};

use super::notice::LostStore;
use super::problems::{kept_words, waits_for_copy};
use super::recovery::{Compared, lost_words, restore};
use super::{SecondCopyOptions, SecondCopyStore, open, reach};
use crate::error::StoreError;
use crate::redis::RedisStore;
use crate::run::RunId;
use crate::step::Fenced;
use crate::store::RunStore as _;

impl SecondCopyStore {
    /// Replays the lost records of the terms of this process. Freezes each run whose records cannot be replayed.
    ///
    /// # Errors
    /// Returns `lost` if the store is unreachable or was replaced, or if the records of `run` cannot be replayed.
    pub(super) async fn mend(&self, broken: &RedisStore, run: &RunId, lost: StoreError) -> Result<(), StoreError> {
        let one = self.mending.lock().await;
        let SecondCopyOptions { server, workspace, sealing, .. } = &self.options;
        // The new connection does not check for lines that were acknowledged on earlier connections.
        let redis = match RedisStore::connect(server, workspace, false, Arc::clone(sealing)).await {
            Ok(redis) if redis.incarnation() == broken.incarnation() => redis,
            Ok(_) | Err(StoreError::NoState(_)) => {
                drop(one);
                return Err(self.emptied(run).await);
            }
            Err(_) => return Err(lost),
        };
        let mut left = false;
        let files = self.files.get().going_on()?;
        for file in files {
            let of = file.start.run.clone();
            let words = match restore(&redis, &file).await? {
                Compared::Whole(_) => continue,
                Compared::Replayed(_) => {
                    tracing::warn!(run = %of, "the store had lost records of the run, and Weft restored these records");
                    redis.set_replayed().await?;
                    continue;
                }
                Compared::Missing => lost_words(&file, 0),
                Compared::Diverged(words) => words,
            };
            tracing::error!(run = %of, "the store has lost records of the run: {words}");
            redis.freeze(&of, &words).await?;
            broken.forget_tip(&of);
            left |= of == *run;
        }
        broken.forgive();
        if left { Err(lost) } else { Ok(()) }
    }

    /// Opens the store again if it has been emptied.
    pub(super) async fn open_again(&self) -> Result<(), StoreError> {
        if self.redis().is_current().await? {
            return Ok(());
        }
        let _one = self.mending.lock().await;
        if self.redis().is_current().await? {
            return Ok(());
        }
        self.reopened().await
    }

    /// Opens the store again. The runs of this process in the earlier store are lost, and their results are added to the
    /// state.
    async fn reopened(&self) -> Result<(), StoreError> {
        tracing::warn!("the store was replaced; opening it again");
        let redis = reach(&self.options, &self.files).await?;
        let disowned = self.files.get().disown(redis.incarnation());
        let opened = open(&self.options, &self.files, redis).await;
        for (run, path) in disowned {
            self.lose(&run, kept_words(&run, &path, opened.as_ref().map(|(_, lost)| lost)));
        }
        *self.opened.write().unwrap_or_else(PoisonError::into_inner) = opened?.0;
        Ok(())
    }

    /// Records that the store has lost a run.
    fn lose(&self, run: &RunId, what: String) -> StoreError {
        let error = StoreError::Emptied { store: self.redis().place(), run: run.clone(), what };
        tracing::error!(%run, "{error}");
        self.lost_runs().insert(run.clone(), error.clone());
        error
    }

    /// Checks why a lease is not current. If the store was emptied or replaced, the results of the run that are in its
    /// write-ahead file are added to the state, and the run ends with an error that says so.
    ///
    /// # Errors
    /// [`StoreError::Emptied`].
    pub(super) async fn still_has(&self, run: &RunId, fenced: &Fenced) -> Result<(), StoreError> {
        match fenced {
            Fenced::Incarnation { .. } => Err(self.emptied(run).await),
            Fenced::NoRun | Fenced::Token { .. } => Ok(()),
        }
    }

    /// The error for a run of this process that the store has lost because it was emptied.
    async fn emptied(&self, run: &RunId) -> StoreError {
        let _one = self.mending.lock().await;
        if let Some(known) = self.lost_runs().get(run) {
            return known.clone();
        }
        let path = self.files.get().shown(run);
        if self.options.copy.is_none() && self.files.get().is_copied(run) {
            return self.lose(run, waits_for_copy(&path));
        }
        let opened = self.reopened().await;
        if let Some(known) = self.lost_runs().get(run) {
            return known.clone();
        }
        let nothing = LostStore::default();
        self.lose(run, kept_words(run, &path, opened.as_ref().map(|()| &nothing)))
    }

    pub(super) fn lost_runs(&self) -> MutexGuard<'_, BTreeMap<RunId, StoreError>> {
        self.lost_runs.lock().unwrap_or_else(PoisonError::into_inner)
    }
}
