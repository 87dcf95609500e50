//! Checks the conditions at the end of a term and at the end of the run.

use futures::executor::block_on;
use weft_coordinator::event::{Decision, Finish, FinishReason, UserResolution};
use weft_coordinator::{OperationKind, Outline};
use weft_state::{OpIndex, OpStatus, RunStore};

use crate::cloud::Cloud;
use crate::disk::Disk;
use crate::random::Random;

/// Checks that the end of a term agrees with the store.
pub(crate) fn compare(disk: &mut Disk, finish: &Finish) {
    let view = disk.view();
    let doubtful = view.ops.iter().filter(|(_, record)| record.status == OpStatus::InDoubt);
    let doubtful: Vec<u32> = doubtful.map(|(op, _)| op.0).collect();
    // A term that leaves at once reports what it knew last, while steps were still in progress.
    if finish.reason != FinishReason::Left {
        assert_eq!(finish.in_doubt, doubtful, "every doubt is named");
    }
    if finish.reason == FinishReason::Complete {
        assert_eq!(finish.unfinished, Vec::<u32>::new());
        // Operations that a term computes again may fail in this term, although they stay done in the store.
        assert_eq!(finish.counts.in_doubt, view.header.counts.in_doubt);
    }
}

/// The user's decision about a doubt, after inspecting the cloud.
pub(crate) fn decision(operation: u32, cloud: &Cloud, random: &mut Random) -> UserResolution {
    let decision = match cloud.has(operation) {
        true => Decision::Adopt("id".to_owned()),
        false if random.chance(50) => Decision::Absent,
        false => Decision::Retry,
    };
    UserResolution { operation, decision }
}

/// Compares the cloud's ledger with the store after the run is done.
pub(crate) fn last(disk: &mut Disk, outline: &Outline, cloud: &Cloud) {
    let view = disk.view();
    let snapshot = block_on(disk.synced().snapshot()).expect("the model answers");
    assert!(snapshot.doubts.is_empty());
    for operation in &outline.operations {
        let status = view.ops.get(&OpIndex(operation.index)).map(|record| record.status);
        assert_eq!(status, Some(OpStatus::Done), "{}", operation.address);
        if operation.changes_world {
            assert_eq!(cloud.effects.get(&operation.index), Some(&1), "{}", operation.address);
            let there = snapshot.instance(&operation.address).is_some();
            assert_eq!(there, operation.kind != OperationKind::Delete, "{}", operation.address);
        }
    }
}
