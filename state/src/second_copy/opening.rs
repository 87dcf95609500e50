//! Opens a store: makes the state, its copy and the write-ahead files agree.

use std::sync::Arc;

use super::ahead::{AheadFiles, SharedFiles};
use super::copier::Copier;
use super::notice::LostStore;
use super::settle::{self, Adopted};
use super::{Opened, SecondCopyOptions};
use crate::error::StoreError;
use crate::redis::RedisStore;
use crate::store::RunStore as _;

/// The write-ahead files of a store.
pub(super) fn files_of(options: &SecondCopyOptions) -> Result<SharedFiles, StoreError> {
    let place = format!("{}\0{}", options.server.place()?, options.workspace);
    Ok(SharedFiles::new(AheadFiles::new(&options.folder, &place, Arc::clone(&options.sealing))))
}

/// Connects to Redis. Creates the store only if it is opened for changes, or if the backend or a write-ahead file has a
/// state to read.
pub(super) async fn reach(options: &SecondCopyOptions, files: &SharedFiles) -> Result<RedisStore, StoreError> {
    let SecondCopyOptions { server, workspace, sealing, copy, change, .. } = options;
    let connected = RedisStore::connect(server, workspace, *change, Arc::clone(sealing)).await;
    match (connected, copy) {
        (Err(StoreError::NoState(_)), Some(copy)) if copy.state.read().await?.is_some() => {
            RedisStore::connect(server, workspace, true, Arc::clone(sealing)).await
        }
        (Err(StoreError::NoState(_)), _) if files.get().of_others()?.has_results(copy.is_some()) => {
            RedisStore::connect(server, workspace, true, Arc::clone(sealing)).await
        }
        (connected, _) => connected,
    }
}

/// Makes the state, the copy and the write-ahead files agree. Also returns what the store has lost.
pub(super) async fn open(
    options: &SecondCopyOptions,
    files: &SharedFiles,
    redis: RedisStore,
) -> Result<(Opened, LostStore), StoreError> {
    let mut lost = LostStore { store: redis.place(), ..LostStore::default() };
    let settled = settle(options, files, &redis, &mut lost).await;
    let lost = lost.ordered();
    if lost.says_something() {
        options.notices.add(lost.clone());
    }
    Ok((Opened { redis, copier: settled? }, lost))
}

async fn settle(
    options: &SecondCopyOptions,
    files: &SharedFiles,
    redis: &RedisStore,
    lost: &mut LostStore,
) -> Result<Option<Arc<Copier>>, StoreError> {
    let declared = options.declared_lost;
    let Some(copy) = &options.copy else {
        settle::left_behind(redis, files, Adopted::Uncopied { declared }, lost).await?;
        return Ok(None);
    };
    settle::left_behind(redis, files, Adopted::None, lost).await?;
    let copier = Copier::new(redis.clone(), copy.clone(), Arc::clone(&options.sealing), files.clone())?;
    if copier.begin(options.change, lost).await?
        && settle::left_behind(redis, files, Adopted::All { declared }, lost).await?
    {
        copier.catch_up().await?;
    }
    Ok(Some(Arc::new(copier)))
}
