//! The newest state that this process knows, for the case that the store no longer responds.

use std::sync::{MutexGuard, PoisonError};
use std::time::Duration;

use tokio::time::timeout;

use super::SecondCopyStore;
use super::term_file::TermFile;
use crate::content::prepare;
use crate::error::StoreError;
use crate::result::Writes;
use crate::snapshot::Snapshot;
use crate::step::StoreStep;
use crate::store::RunStore as _;
use crate::tfstate::StateFile;

/// How long the store may take to answer before the state comes from this process.
const ANSWER: Duration = Duration::from_secs(2);

/// The state at the beginning of the last term.
#[derive(Debug, Default)]
pub(super) struct Kept {
    wanted: bool,
    snapshot: Option<Snapshot>,
}

impl SecondCopyStore {
    fn kept(&self) -> MutexGuard<'_, Kept> {
        self.kept.lock().unwrap_or_else(PoisonError::into_inner)
    }

    pub(super) fn begin_to_keep(&self) {
        self.kept().wanted = true;
    }

    /// Remembers a state, if [`SecondCopyStore::begin_to_keep`] was called.
    pub(super) fn keep(&self, snapshot: &Snapshot) {
        let mut kept = self.kept();
        if kept.wanted {
            kept.snapshot = Some(snapshot.clone());
        }
    }

    /// The newest state, as [`crate::RunStore::newest`] describes it. If the store does not answer, the state at the
    /// beginning of the term, with the results in the write-ahead file and in `unrecorded`.
    ///
    /// # Errors
    /// Errors of the store, if this process does not know the state either.
    pub(super) async fn newest_known(&self, unrecorded: &[StoreStep]) -> Result<Option<StateFile>, StoreError> {
        let redis = self.redis();
        let asked = timeout(ANSWER, async {
            match redis.is_current().await {
                Ok(true) => redis.newest(unrecorded).await,
                // The state in another store lacks the results of this process.
                Ok(false) => Err(StoreError::NoState(redis.place())),
                Err(error) => Err(error),
            }
        });
        let error = match asked.await {
            Ok(Ok(found)) => return Ok(found),
            Ok(Err(error)) => error,
            Err(_) => StoreError::Unreachable { server: redis.place(), error: "it does not answer".to_owned() },
        };
        self.newest_here(unrecorded)?.map(Some).ok_or(error)
    }

    fn newest_here(&self, unrecorded: &[StoreStep]) -> Result<Option<StateFile>, StoreError> {
        let mut unrecorded = unrecorded.to_vec();
        prepare(&mut unrecorded)?;
        let Some(snapshot) = self.kept().snapshot.clone() else { return Ok(None) };
        let mut files = self.files.get().going_on()?;
        let others = self.files.get().of_others()?.dead;
        files.extend(others.into_iter().filter(|file| self.lost_runs().contains_key(&file.start.run)));
        let recorded = files.iter().flat_map(TermFile::writes);
        let writes: Vec<&Writes> = recorded.chain(unrecorded.iter().filter_map(StoreStep::writes)).collect();
        let mut file = snapshot.into_state_file();
        file.serial += writes.iter().filter(|writes| !writes.is_empty()).count() as u64;
        writes.into_iter().for_each(|writes| file.write(writes));
        Ok(Some(file))
    }
}
