//! Compares write-ahead files with the store, and replays the records that the store has lost.

use super::entry::Entry;
use super::problems::listed;
use super::term_file::TermFile;
use crate::error::StoreError;
use crate::redis::{RedisStore, Tip};
use crate::run::{Lease, LeaseView, RunHeader};
use crate::step::{Acquire, AcquireAnswer, ClaimAnswer, TermEnding};
use crate::store::RunStore as _;

/// The result of comparing a file with the store.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(super) enum Compared {
    /// The store has everything in the file.
    Whole(Option<RunHeader>),
    /// The store had lost records of the run, and they were replayed.
    Replayed(Option<RunHeader>),
    /// The store does not have the run.
    Missing,
    /// The store has lost records of the run, and they cannot be replayed. The text describes them.
    Diverged(String),
}

/// Compares a write-ahead file with the store, and replays the entries that the store has lost. After each replayed
/// entry, the journal must end with the same line as when the store first acknowledged the entry.
///
/// # Errors
/// Errors of the store.
pub(super) async fn restore(redis: &RedisStore, file: &TermFile) -> Result<Compared, StoreError> {
    let (run, tip) = (&file.start.run, file.tip());
    let header = redis.header(run).await?;
    let (lines, there) = redis.has_line(run, tip).await?;
    if there && lines >= tip.lines {
        return Ok(Compared::Whole(header));
    }
    let Some(header) = header else { return Ok(Compared::Missing) };
    let Some(lease) = lease(redis, file, header.lease, lines).await? else { return diverged(redis, file, lines).await };
    for entry in &file.entries {
        let reached = match entry {
            Entry::Claimed { claims, tip } if tip.lines > lines => {
                (redis.claim(&lease, claims).await? == ClaimAnswer::Claimed).then_some(tip)
            }
            Entry::Steps { steps, tip } if tip.lines > lines => {
                // If the store already has a part of the batch, it answers that the steps of that part are repeated or
                // illegal. These answers do not matter: the replay succeeded if the journal now ends with the expected
                // line.
                redis.step_batch(&lease, steps.clone()).await?;
                Some(tip)
            }
            Entry::Began(_) | Entry::Bases(_) | Entry::Claimed { .. } | Entry::Steps { .. } | Entry::Ended { .. } => {
                continue;
            }
        };
        if reached.is_none() || redis.known_tip(run).as_ref() != reached {
            return diverged(redis, file, lines).await;
        }
    }
    if let Some((_, stopped)) = file.ended() {
        let ending = if stopped { TermEnding::Stopped } else { TermEnding::Finished };
        redis.release(&lease, ending).await?;
    }
    Ok(Compared::Replayed(redis.header(run).await?))
}

/// The result for a run whose lost records cannot be replayed. `lines` is the number of lines in the store. Some of
/// these lines may not be in the file.
async fn diverged(redis: &RedisStore, file: &TermFile, lines: u64) -> Result<Compared, StoreError> {
    let tips: Vec<&Tip> = file.tips().collect();
    let (mut known, mut unknown) = (0, tips.len());
    while known < unknown {
        let middle = known.midpoint(unknown);
        match redis.has_line(&file.start.run, tips[middle]).await? {
            (_, true) => known = middle + 1,
            (_, false) => unknown = middle,
        }
    }
    let common = known.checked_sub(1).and_then(|last| tips.get(last)).map_or(0, |tip| tip.lines);
    Ok(Compared::Diverged(lost_words(file, common.min(lines))))
}

/// The lease of the term. If the store has lost the beginning of the term, and the lease with it, acquires the lease
/// again. `None` if another term keeps the lease, if the run is frozen, or if the journal in the store neither contains
/// the beginning of this term nor ends directly before it.
async fn lease(
    redis: &RedisStore,
    file: &TermFile,
    held: Option<LeaseView>,
    lines: u64,
) -> Result<Option<Lease>, StoreError> {
    let start = &file.start;
    let run = start.run.clone();
    if lines >= start.tip.lines {
        let (_, began) = redis.has_line(&run, &start.tip).await?;
        let same = held.is_some_and(|held| held.token == start.token);
        return Ok((began && same).then_some(Lease { run, incarnation: start.incarnation, token: start.token }));
    }
    if lines + 1 != start.tip.lines {
        return Ok(None);
    }
    // The store has returned to the moment before this term, so the lease in the store may be that of an earlier term.
    // The earlier term has lost the lease since, so this term may take the lease over.
    let request = Acquire { run, holder: start.holder.clone(), term: start.token.term, unmoved: held };
    let granted = match redis.acquire(request).await {
        Ok(AcquireAnswer::Granted(lease)) => lease,
        Ok(_) | Err(StoreError::Frozen { .. }) => return Ok(None),
        Err(error) => return Err(error),
    };
    let same = granted.token == start.token && redis.known_tip(&granted.run).as_ref() == Some(&start.tip);
    Ok(same.then_some(granted))
}

/// A description of the lost part of a run, for display.
pub(super) fn lost_words(file: &TermFile, lines: u64) -> String {
    let Tip { lines: known, .. } = file.tip();
    let objects = file.begun_after(lines);
    let mut words = format!("its journal had {known} lines, and the store still has {lines} of them");
    if !objects.is_empty() {
        words.push_str(&format!("; the lost lines include calls for these objects: {}", listed(objects)));
    }
    words
}
