//! Crashes at every point, and damaged or replaced files.

use super::*;

#[tokio::test]
async fn a_crash_at_every_byte_of_the_journal_loses_no_acknowledged_commit() {
    let place = Place::new();
    let store = place.open();
    let lease = started(&store, "run-a", 4, &[0, 1, 2, 3]).await;
    let journal = place.journal("run-a", 1);
    let begun = std::fs::metadata(&journal).unwrap().len();
    let mut acknowledged = Vec::new();
    for op in 0..4 {
        assert_all_ok(&store.step_batch(&lease, vec![intent(op, 1, op)]).await.unwrap());
        if op < 3 {
            assert_all_ok(&store.step_batch(&lease, vec![commit(op, 1, op, Some(1))]).await.unwrap());
        }
        acknowledged.push(std::fs::metadata(&journal).unwrap().len());
    }
    let length = std::fs::metadata(&journal).unwrap().len();
    for cut in (begun..=length).rev().step_by(37) {
        let crashed = place.copy();
        let file = std::fs::OpenOptions::new().write(true).open(crashed.journal("run-a", 1)).unwrap();
        file.set_len(cut).unwrap();
        let kept = acknowledged.iter().take(3).filter(|end| **end <= cut).count();
        let seen = crashed.read().snapshot().await.unwrap().instances.len();
        assert!(seen >= kept, "cut at {cut}: {seen} of {kept}");
        let again = crashed.open();
        assert_eq!(again.snapshot().await.unwrap().instances.len(), seen, "cut at {cut}");
        drop(again);
        // The file has everything that was recovered. It is still guarded if the run had begun an operation.
        let file = StateFile::parse(&std::fs::read(crashed.state()).unwrap(), "x").unwrap();
        assert_eq!((file.instances.len(), file.serial), (seen, u64::from(seen > 0)), "cut at {cut}");
        let again = crashed.open();
        let view = again.run(&run_id("run-a")).await.unwrap().unwrap();
        assert_eq!(view.header.status, RunStatus::Stopped);
        let open = view.ops.values().filter(|op| op.status == OpStatus::Intended).count();
        if cut == length {
            assert_eq!((seen, open), (3, 1));
            assert!(std::fs::read_to_string(crashed.state()).unwrap().contains("\"version\": 9"));
            let lease = granted(&again, "run-a", 8).await;
            let doubt = StoreStep::Doubt { op: OpIndex(3), attempt: Attempt(1), reason: "gone".to_owned() };
            assert_all_ok(&again.step_batch(&lease, vec![doubt]).await.unwrap());
            let ReleaseAnswer::Released(header) = again.release(&lease, TermEnding::Finished).await.unwrap() else {
                panic!()
            };
            assert_eq!(header.status, RunStatus::InDoubt);
            assert!(std::fs::read_to_string(crashed.state()).unwrap().contains("\"version\": 9"));
            assert_eq!(again.snapshot().await.unwrap().doubts.len(), 1);
            settle_doubt(&crashed, again).await;
        }
    }
}

/// Resolves the doubt: the user confirms that the object exists. The run is done and the file is no longer guarded.
async fn settle_doubt(crashed: &Place, store: EmbeddedStore) {
    drop(store);
    let store = crashed.open();
    assert_eq!(store.snapshot().await.unwrap().doubts.len(), 1);
    let lease = granted(&store, "run-a", 9).await;
    let resolution = Resolution {
        op: OpIndex(3),
        attempt: Attempt(1),
        evidence: Evidence::User("-adopt thing-3".to_owned()),
        outcome: DoubtOutcome::Done(commit_record(3, 1, 3, Some(3))),
    };
    assert_all_ok(&store.step_batch(&lease, vec![StoreStep::Resolve(resolution)]).await.unwrap());
    let ReleaseAnswer::Released(header) = store.release(&lease, TermEnding::Finished).await.unwrap() else { panic!() };
    assert_eq!(header.status, RunStatus::Done);
    assert!(crashed.text().contains("\"version\": 4"));
    assert_eq!(store.snapshot().await.unwrap().instances.len(), 4);
}

#[tokio::test]
async fn damage_before_the_end_freezes() {
    let place = Place::new();
    let store = place.open();
    let lease = started(&store, "run-a", 4, &[0, 1]).await;
    for op in 0..2 {
        assert_all_ok(&store.step_batch(&lease, vec![intent(op, 1, op)]).await.unwrap());
        assert_all_ok(&store.step_batch(&lease, vec![commit(op, 1, op, Some(1))]).await.unwrap());
    }
    let crashed = place.copy();
    let path = crashed.journal("run-a", 1);
    let mut bytes = std::fs::read(&path).unwrap();
    let middle = bytes.len() / 2;
    bytes[middle] ^= 1;
    std::fs::write(&path, bytes).unwrap();
    let before = crashed.text();
    let error = EmbeddedStore::open(crashed.options()).unwrap_err();
    assert!(matches!(&error, StoreError::Damaged { place, .. } if place.contains("journal.1")), "{error}");
    assert_eq!(crashed.text(), before);
    // The remedy is to set the run aside. `set_aside` returns the objects that the run touched, as far as its journal
    // can be read, and sets the format version of the state file back to 4, so that other tools can use the file.
    let (touched, _) = EmbeddedStore::set_aside(&crashed.options(), &run_id("run-a")).unwrap();
    assert_eq!(touched, [address(0)]);
    assert!(crashed.path().join(".weft/set-aside/run-a/journal.1").exists());
    assert!(crashed.text().contains("\"version\": 4"));
    assert!(crashed.open().runs().await.unwrap().is_empty());
}

#[tokio::test]
async fn a_state_that_changed_under_a_journal_is_reported() {
    let place = Place::with(RECORDED);
    let store = place.open();
    let lease = started(&store, "run-a", 4, &[0]).await;
    assert_all_ok(&store.step_batch(&lease, vec![intent(0, 1, 0), commit(0, 1, 0, Some(1))]).await.unwrap());
    let crashed = place.copy();
    let altered = crashed.text().replace("b299b961", "b299b962");
    std::fs::write(crashed.state(), &altered).unwrap();
    match EmbeddedStore::open(crashed.options()).unwrap_err() {
        StoreError::StateMismatch { instances, .. } => assert_eq!(instances, ["terraform_data.a[1]"]),
        error => panic!("{error}"),
    }
    assert_eq!(crashed.text(), altered);
}

#[tokio::test]
async fn a_torn_write_of_the_state_file_is_redone() {
    let place = Place::with(RECORDED);
    let store = place.open();
    let lease = started(&store, "run-a", 1, &[0]).await;
    assert_all_ok(&store.step_batch(&lease, vec![intent(0, 1, 0), commit(0, 1, 0, Some(1))]).await.unwrap());
    let guarded = place.text();
    store.release(&lease, TermEnding::Finished).await.unwrap();
    let whole = place.text();
    drop(store);
    // The journal up to the image, without everything after it.
    let journal = std::fs::read(place.journal("run-a", 1)).unwrap();
    let marks: Vec<usize> = journal.windows(4).enumerate().filter(|(_, w)| w == b"WFJ1").map(|(at, _)| at).collect();
    let upto = marks[marks.len() - 1];
    for torn_at in (0..whole.len()).step_by(613) {
        let crashed = place.copy();
        std::fs::remove_file(crashed.path().join(".weft/runs/run-a/summary")).unwrap();
        std::fs::write(crashed.journal("run-a", 1), &journal[..upto]).unwrap();
        let new = whole.replacen("\"version\": 4", "\"version\": 9", 1);
        let mut torn = new.as_bytes()[..torn_at].to_vec();
        torn.extend_from_slice(guarded.as_bytes().get(torn_at..).unwrap_or_default());
        std::fs::write(crashed.state(), torn).unwrap();
        let store = crashed.open();
        assert_eq!(store.snapshot().await.unwrap().instances.len(), 5, "torn at {torn_at}");
        let lease = granted(&store, "run-a", 8).await;
        store.release(&lease, TermEnding::Finished).await.unwrap();
        drop(store);
        assert_eq!(crashed.text(), whole, "torn at {torn_at}");
    }
}

#[tokio::test]
async fn a_replaced_state_file_is_not_written() {
    let place = Place::with(RECORDED);
    let store = place.open();
    let lease = started(&store, "run-a", 1, &[0]).await;
    assert_all_ok(&store.step_batch(&lease, vec![intent(0, 1, 0), commit(0, 1, 0, Some(1))]).await.unwrap());
    let copy = place.path().join("copy");
    std::fs::write(&copy, RECORDED).unwrap();
    std::fs::rename(&copy, place.state()).unwrap();
    let error = store.release(&lease, TermEnding::Finished).await.unwrap_err();
    let StoreError::Replaced { kept, .. } = &error else { panic!("{error}") };
    assert_eq!(place.text(), RECORDED);
    assert_eq!(StateFile::parse(&std::fs::read(kept).unwrap(), "kept").unwrap().instances.len(), 5);
    drop(store);
    // The run began from this file, so the journal is folded into the file.
    let store = place.open();
    assert_eq!(store.snapshot().await.unwrap().instances.len(), 5);
    assert_eq!(store.runs().await.unwrap()[0].status, RunStatus::Stopped);
}

#[tokio::test]
async fn a_torn_edit_is_redone() {
    let place = Place::with(RECORDED);
    let pending = place.path().join(".terraform.tfstate.edit");
    let new = RECORDED.replace("b299b961", "b299b962");
    let kept = |content: &str| format!("{}\n{content}", Digest::of(content.as_bytes()).hex());
    // The file was torn while it was being overwritten.
    let half = new.len() / 2;
    std::fs::write(place.state(), format!("{}{}", &new[..half], &RECORDED[half + 3..])).unwrap();
    std::fs::write(&pending, kept(&new)).unwrap();
    drop(place.open());
    assert_eq!((place.text(), pending.exists()), (new.clone(), false));
    // A valid file stays as it is, whether the file of the pending edit is complete or not.
    for left in [kept(RECORDED), kept(RECORDED)[..100].to_owned()] {
        std::fs::write(&pending, left).unwrap();
        drop(place.open());
        assert_eq!((place.text(), pending.exists()), (new.clone(), false));
    }
}
