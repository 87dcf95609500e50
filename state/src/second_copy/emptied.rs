//! A store that loses its records while this process uses it.
//!
//! A run whose store was emptied goes on as a *lost* run until its term ends, because calls may still return results.
//! In this time its write-ahead file stays open, so no other process plans without these results.

use std::collections::BTreeMap;
use std::path::PathBuf;
use std::sync::{Arc, MutexGuard, PoisonError};

use super::copier::blocking;
use super::notice::LostStore;
use super::opening::{open, reach};
use super::problems::{emptied_in_use, in_its_file, kept_words, waits_for_copy};
use super::recovery::{Compared, lost_words, restore};
use super::term_file::UNUSED;
use super::{SecondCopyOptions, SecondCopyStore};
use crate::content::prepare;
use crate::error::StoreError;
use crate::redis::RedisStore;
use crate::run::RunId;
use crate::step::{Fenced, StoreStep};
use crate::store::{RunStore as _, Salvaged};

impl SecondCopyStore {
    /// Replays the lost records of the terms of this process. Freezes each run whose records cannot be replayed.
    ///
    /// # Errors
    /// Returns `lost` if the store is unreachable, or if the records of `run` cannot be replayed.
    /// [`StoreError::Emptied`] if the store was emptied or replaced.
    pub(super) async fn mend(&self, broken: &RedisStore, run: &RunId, lost: StoreError) -> Result<(), StoreError> {
        let _one = self.mending.lock().await;
        let SecondCopyOptions { server, workspace, sealing, .. } = &self.options;
        // The new connection does not check for lines that were acknowledged on earlier connections.
        let redis = match RedisStore::connect(server, workspace, false, Arc::clone(sealing)).await {
            Ok(redis) if redis.incarnation() == broken.incarnation() => redis,
            Ok(_) | Err(StoreError::NoState(_)) => return Err(self.emptied(run)),
            Err(_) => return Err(lost),
        };
        let mut left = false;
        let mut files = self.files.get().going_on()?;
        // The others belong to lost runs.
        files.retain(|file| file.start.incarnation == redis.incarnation());
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
    ///
    /// # Errors
    /// [`StoreError::Damaged`] while a lost run of this process has not ended, because its results are not in the state
    /// yet. Errors of the store.
    pub(super) async fn open_again(&self) -> Result<(), StoreError> {
        let _one = self.mending.lock().await;
        let redis = self.redis();
        let current = redis.is_current().await?.then(|| redis.incarnation());
        if let Some((run, path)) = self.files.get().lost(current) {
            return Err(emptied_in_use(redis.place(), &run, &path));
        }
        match current {
            Some(_) => Ok(()),
            None => self.reopened().await.map(drop),
        }
    }

    /// Makes the state agree with the copy and with the write-ahead files. Opens the store again first if it has been
    /// emptied. Returns what the store has lost.
    async fn reopened(&self) -> Result<LostStore, StoreError> {
        let redis = self.redis();
        let redis = match redis.is_current().await {
            Ok(true) => redis,
            _ => {
                tracing::warn!("the store was replaced; opening it again");
                reach(&self.options, &self.files).await?
            }
        };
        self.files.get().disown_ended(redis.incarnation());
        let (opened, lost) = open(&self.options, &self.files, redis).await?;
        *self.opened.write().unwrap_or_else(PoisonError::into_inner) = opened;
        Ok(lost)
    }

    /// Records that the store has lost a run.
    fn lose(&self, run: &RunId, what: String) -> StoreError {
        let error = StoreError::Emptied { store: self.redis().place(), run: run.clone(), what };
        tracing::error!(%run, "{error}");
        self.lost_runs().insert(run.clone(), error.clone());
        error
    }

    /// Checks why a lease is not current.
    ///
    /// # Errors
    /// [`StoreError::Emptied`] if the store was emptied or replaced.
    pub(super) fn still_has(&self, run: &RunId, fenced: &Fenced) -> Result<(), StoreError> {
        match fenced {
            Fenced::Incarnation { .. } => Err(self.emptied(run)),
            Fenced::NoRun | Fenced::Token { .. } => Ok(()),
        }
    }

    /// The error for a run of this process that the store has lost because it was emptied. The run stays lost. Nothing
    /// is restored before the term ends, because calls of the run may still return results.
    pub(super) fn emptied(&self, run: &RunId) -> StoreError {
        if let Some(known) = self.lost_runs().get(run) {
            return known.clone();
        }
        let path = self.files.get().shown(run);
        self.lose(run, in_its_file(&path))
    }

    /// Ends a term, as [`crate::RunStore::salvage`] describes. For a lost run, appends the results in `unrecorded` to
    /// its write-ahead file, and adds the results in this file to the state.
    pub(super) async fn salvaged(&self, run: &RunId, unrecorded: &[StoreStep]) -> Option<Salvaged> {
        let known = self.lost_runs().get(run).cloned();
        // The results are written first, so that a process that adds the file to the state finds them.
        let kept = match &known {
            Some(_) => self.keep_results(run, unrecorded).await,
            None => Ok(()),
        };
        self.files.get().rest(run);
        let known = known?;
        let _one = self.mending.lock().await;
        let (path, copied) = {
            let files = self.files.get();
            (files.shown(run), files.is_copied(run))
        };
        if path.is_empty() {
            // The term has ended before, or it has not begun.
            return Some(Salvaged { error: known, complete: false });
        }
        if let Err(error) = &kept {
            tracing::error!(%run, "the last results of a lost run could not be written to {path}: {error}");
        }
        self.files.get().disown(run);
        if self.options.copy.is_none() && copied {
            return Some(Salvaged { error: self.lose(run, waits_for_copy(&path)), complete: false });
        }
        let added = self.reopened().await;
        let files = [PathBuf::from(&path), PathBuf::from(format!("{path}{UNUSED}"))];
        // The file is removed as soon as the state has its results, and set aside if the state cannot have them.
        let left = blocking(move || Ok(files.iter().any(|file| file.exists()))).await.unwrap_or(true);
        let complete = kept.is_ok() && added.as_ref().is_ok_and(|lost| lost.unused.is_empty()) && !left;
        Some(Salvaged { error: self.lose(run, kept_words(&path, added.as_ref())), complete })
    }

    /// Appends the results in `steps` to the write-ahead file of a lost run. Intents are left out, because the store
    /// has not acknowledged them, so their calls have not begun.
    async fn keep_results(&self, run: &RunId, steps: &[StoreStep]) -> Result<(), StoreError> {
        let is_result = |step: &&StoreStep| {
            !matches!(step, StoreStep::Intent(_) | StoreStep::Skip { .. } | StoreStep::Reopen { .. })
        };
        let mut results: Vec<StoreStep> = steps.iter().filter(is_result).cloned().collect();
        if results.is_empty() {
            return Ok(());
        }
        prepare(&mut results)?;
        let (files, run) = (self.files.clone(), run.clone());
        blocking(move || files.get().append_last(&run, results)).await
    }

    pub(super) fn lost_runs(&self) -> MutexGuard<'_, BTreeMap<RunId, StoreError>> {
        self.lost_runs.lock().unwrap_or_else(PoisonError::into_inner)
    }
}
