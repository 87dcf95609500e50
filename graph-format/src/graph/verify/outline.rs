//! Checks of an outline without its operations.

use super::{Flaw, ascending};
use crate::graph::{OperationId, OutlineRow, Waits};

/// All flaws that are visible in an outline alone. For example, every operation that another one needs must be in the
/// outline, and before the other one. Takes time linear in the size of the outline, except for looking up operations.
///
/// `operations` is the number of operations of the whole graph, and `shards` the number of its shards.
pub fn verify_outline(operations: u32, shards: usize, waiters: &[Waits], rows: &[OutlineRow]) -> Vec<Flaw> {
    let mut flaws = Vec::new();
    let ordered = rows.windows(2).all(|pair| pair[0].id < pair[1].id);
    if !ordered || rows.last().is_some_and(|last| last.id.0 >= operations) {
        flaws.push(Flaw::Numbering { count: operations });
        return flaws;
    }
    let tracked = |id: &OperationId| rows.binary_search_by_key(id, |row| row.id).is_ok();
    // The latest operation that each waiter waits for.
    let mut latest: Vec<Option<OperationId>> = Vec::with_capacity(waiters.len());
    for (waiter, i) in waiters.iter().zip(0u32..) {
        let sound = waiter.waiters.iter().all(|below| below.0 < i)
            && waiter.operations.iter().all(tracked)
            && ascending(&waiter.operations)
            && ascending(&waiter.waiters);
        if !sound {
            flaws.push(Flaw::Waiter(i));
        }
        let below = waiter.waiters.iter().filter_map(|below| latest.get(below.0 as usize).copied().flatten());
        latest.push(waiter.operations.iter().copied().chain(below).max());
    }
    for row in rows {
        let early = |waiter: usize| latest.get(waiter).is_some_and(|l| l.is_none_or(|l| l < row.id));
        let sound = (row.shard as usize) < shards
            && row.needs.operations.iter().all(|need| *need < row.id && tracked(need))
            && row.needs.waiters.iter().all(|waiter| early(waiter.0 as usize))
            && ascending(&row.needs.operations)
            && ascending(&row.needs.waiters);
        if !sound {
            flaws.push(Flaw::Outline(row.id.0));
        }
    }
    flaws
}
