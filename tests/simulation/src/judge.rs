//! What must be so at the end of a term and of the run.

use futures::executor::block_on;
use weft_coordinator::event::{Decision, Finish, FinishReason, UserResolution};
use weft_coordinator::{OperationKind, Outline};
use weft_state::{OpIndex, OpStatus, RunStore};

use crate::cloud::Cloud;
use crate::disk::Disk;
use crate::random::Random;

/// What a term says at its end is what the store says.
pub(crate) fn compare(disk: &mut Disk, finish: &Finish) {
    let view = disk.view();
    let doubtful = view.ops.iter().filter(|(_, record)| record.status == OpStatus::InDoubt);
    let doubtful: Vec<u32> = doubtful.map(|(op, _)| op.0).collect();
    // A term that leaves at once says what was known then; steps were under way.
    if finish.reason != FinishReason::Left {
        assert_eq!(finish.in_doubt, doubtful, "every doubt is named");
    }
    if finish.reason == FinishReason::Complete {
        assert_eq!(finish.unfinished, Vec::<u32>::new());
        // Operations that are computed anew in a term may fail there, and stay done in the store.
        assert_eq!(finish.counts.in_doubt, view.header.counts.in_doubt);
    }
}

/// What the user says of a doubt after a look at the cloud.
pub(crate) fn decision(operation: u32, cloud: &Cloud, random: &mut Random) -> UserResolution {
    let decision = match cloud.has(operation) {
        true => Decision::Adopt("id".to_owned()),
        false if random.chance(50) => Decision::Absent,
        false => Decision::Retry,
    };
    UserResolution { operation, decision }
}

/// The cloud's ledger against the store, when the run is done.
pub(crate) fn last(disk: &mut Disk, outline: &Outline, cloud: &Cloud) {
    let view = disk.view();
    let snapshot = block_on(disk.synced().snapshot()).expect("the model answers");
    assert!(snapshot.doubts.is_empty());
    for operation in &outline.operations {
        let status = view.ops.get(&OpIndex(operation.index)).map(|record| record.status);
        assert_eq!(status, Some(OpStatus::Done), "{}", operation.address);
        if operation.changes_world {
            assert_eq!(cloud.effects.get(&operation.index), Some(&1), "{}", operation.address);
            let there = snapshot.instances.contains_key(&operation.address);
            assert_eq!(there, operation.kind != OperationKind::Delete, "{}", operation.address);
        }
    }
}
