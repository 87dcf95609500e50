//! Random plans.

use std::sync::Arc;

use weft_coordinator::retry::RetryRule;
use weft_coordinator::{
    BudgetIndex, Need, OperationKind, Outline, OutlineExport, OutlineOperation, OutlineShard, RunClaim, ShardIndex,
    ShardKey, Waiter,
};
use weft_graph_format::limits::{CallBudget, CallRetry};
use weft_graph_format::path::Path;
use weft_state::{ClaimMode, Revision};

use crate::random::Random;

/// The numbers of operations have gaps, as in a graph with operations that are not tracked.
const STRIDE: u32 = 3;

/// The error of a cloud that temporarily refuses a call.
pub(crate) const TRY_AGAIN: &str = "try again later";

pub(crate) fn random_plan(random: &mut Random) -> Outline {
    let shards = 1 + random.index(4);
    let count = 1 + random.index(24);
    let keys = (0..shards).map(|shard| ShardKey::Provider(format!("p{shard}"))).chain([ShardKey::Unplaced]);
    let mut outline = Outline { shards: keys.map(OutlineShard::new).collect(), ..Outline::default() };
    pace(&mut outline, shards, random);
    for position in 0..count {
        let kind = match random.below(10) {
            0..=3 => OperationKind::Create,
            4..=5 => OperationKind::Update,
            6 => OperationKind::Delete,
            7 => OperationKind::Read,
            8 => OperationKind::Evaluate,
            _ => OperationKind::Output,
        };
        let index = position as u32 * STRIDE + 1;
        let mut operation = OutlineOperation::new(index, kind, format!("a.b{position}"), 0);
        operation.shard = match kind {
            OperationKind::Output | OperationKind::Evaluate => ShardIndex(shards as u32),
            _ => ShardIndex(random.index(shards) as u32),
        };
        operation.probe_by_identity = kind == OperationKind::Create && random.chance(60);
        operation.journalled = !(kind == OperationKind::Evaluate && random.chance(40));
        for _ in 0..random.below(3) {
            if position == 0 {
                break;
            }
            if random.chance(25) && !outline.waiters.is_empty() {
                operation.needs.push(Need::Waiter(random.index(outline.waiters.len()) as u32));
            } else {
                let need = random.index(position);
                operation.needs.push(Need::Operation(outline.operations[need].index));
                export(&mut outline, need, operation.shard);
            }
        }
        if operation.changes_world {
            outline.claims.push(RunClaim {
                subject: operation.address.parse().expect("an address"),
                mode: ClaimMode::Exclusive,
                expected: Revision::NEVER,
            });
        }
        outline.operations.push(operation);
        if random.chance(15) {
            let members = (0..1 + random.index(3)).map(|_| random.index(outline.operations.len()));
            let mut needs: Vec<Need> =
                members.map(|member| Need::Operation(outline.operations[member].index)).collect();
            if !outline.waiters.is_empty() && random.chance(30) {
                needs.push(Need::Waiter(random.index(outline.waiters.len()) as u32));
            }
            outline.waiters.push(Waiter { needs });
        }
    }
    outline
}

/// Gives some shards a budget for their calls. Lets some shards retry calls that the cloud temporarily refused.
fn pace(outline: &mut Outline, shards: usize, random: &Random) {
    // A separate random sequence, so that the rest of a plan stays as it is.
    let mut random = Random(random.0 ^ 0x0070_6163_6500);
    for shard in 0..shards {
        if random.chance(50) {
            let patterns = vec![TRY_AGAIN.to_owned()];
            let rule = CallRetry { attempts: 3, seconds: 60, patterns };
            outline.shards[shard].retry = Some(Arc::new(RetryRule::new("a/b", Some(&rule))));
        }
        if random.chance(40) {
            let interval_us = 1_000 + random.below(40_000);
            outline.shards[shard].budgets = vec![BudgetIndex(outline.budgets.len() as u32)];
            let name = format!("b{shard}");
            outline.budgets.push(CallBudget { name, interval_us, burst: 2, tokens_per_call: 1 });
        }
    }
}

/// Makes a shard read the result of an operation.
fn export(outline: &mut Outline, source: usize, reader: ShardIndex) {
    let operation = &mut outline.operations[source];
    if operation.shard == reader || operation.exports.iter().any(|export| export.readers.contains(&reader)) {
        return;
    }
    match operation.exports.first_mut() {
        Some(export) if reader.0.is_multiple_of(2) => {
            export.readers.push(reader);
            export.readers.sort_unstable();
        }
        _ => operation.exports.push(OutlineExport { paths: vec![Path::ROOT], readers: vec![reader] }),
    }
}
