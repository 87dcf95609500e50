//! Random plans.

use weft_coordinator::{
    Need, OperationKind, Outline, OutlineExport, OutlineOperation, OutlineShard, RunClaim, ShardIndex, ShardKey, Waiter,
};
use weft_graph_format::path::Path;
use weft_state::{ClaimMode, Revision};

use crate::random::Random;

/// Numbers of operations have gaps, as in a graph with operations that are not tracked.
const STRIDE: u32 = 3;

pub(crate) fn random_plan(random: &mut Random) -> Outline {
    let shards = 1 + random.index(4);
    let count = 1 + random.index(24);
    let keys = (0..shards).map(|shard| ShardKey::Provider(format!("p{shard}"))).chain([ShardKey::Unplaced]);
    let mut outline = Outline { shards: keys.map(OutlineShard::new).collect(), ..Outline::default() };
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
        let mut operation = OutlineOperation::new(index, kind, format!("a.b{position}"), "act", 0);
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
