//! The store over a backend without objects: the state is saved during a run, and a crash makes no difference.

#[path = "support/memory.rs"]
mod memory;
mod support;

use std::collections::BTreeMap;
use std::os::unix::fs::MetadataExt as _;
use std::path::Path;
use std::time::Duration;

use memory::Memory;
use support::*;
use weft_state::tfstate::StateFile;
use weft_state::*;

/// A backend, and the directory of journals.
struct Place {
    memory: Memory,
    folder: tempfile::TempDir,
}

/// A fault of a save.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Fault {
    None,
    /// The document is not written.
    Refused,
    /// The document is written, but the response is lost.
    Lost,
}

impl Place {
    fn new() -> Place {
        let memory = Memory::default();
        memory.held().bare = true;
        Place { memory, folder: tempfile::tempdir().unwrap() }
    }

    fn options(&self, folder: &Path) -> RemoteOptions {
        // The state is saved at every step.
        RemoteOptions { save_interval: Some(Duration::ZERO), ..self.memory.options(folder) }
    }

    fn open(&self) -> EmbeddedStore {
        EmbeddedStore::open_remote(self.options(self.folder.path())).unwrap()
    }

    fn file(&self) -> StateFile {
        StateFile::parse(self.memory.text().as_bytes(), "x").unwrap()
    }

    fn is_guarded(&self) -> bool {
        self.memory.text().contains("\"version\": 9")
    }

    fn set(&self, fault: Fault) {
        let mut held = self.memory.held();
        (held.refusing, held.failing) = (fault == Fault::Refused, fault == Fault::Lost);
    }
}

async fn started(store: &EmbeddedStore, operations: u32) -> Lease {
    store.create_run(new_run("run-a", operations, 1)).await.unwrap();
    resumed(store, 7, operations).await
}

async fn resumed(store: &EmbeddedStore, term: u128, operations: u32) -> Lease {
    let lease = granted(store, "run-a", term).await;
    let wanted = claims(store, 0..operations).await;
    assert_eq!(store.claim(&lease, &wanted).await.unwrap(), ClaimAnswer::Claimed);
    lease
}

/// Runs one operation from its intent to its end. Waits for the save that follows.
async fn done(store: &EmbeddedStore, lease: &Lease, op: u32, index: u32, content: Option<u64>) -> Option<StateFile> {
    assert_all_ok(&store.step_batch(lease, vec![intent(op, 1, index)]).await.unwrap());
    store.newest(&[]).await.unwrap();
    assert_all_ok(&store.step_batch(lease, vec![commit(op, 1, index, content)]).await.unwrap());
    store.newest(&[]).await.unwrap()
}

/// The content of each instance, by its address.
fn contents(file: &StateFile) -> BTreeMap<String, u64> {
    let size = |record: &InstanceRecord| {
        let attributes = record.current.as_ref().unwrap().attributes.as_str();
        serde_json::from_str::<serde_json::Value>(attributes).unwrap()["size"].as_u64().unwrap()
    };
    file.instances.iter().map(|(address, record)| (address.clone(), size(record))).collect()
}

/// Simulates the death of the process: nothing ends the run or releases the lock.
async fn crash(store: EmbeddedStore) {
    store.newest(&[]).await.unwrap();
    std::mem::forget(store);
}

#[tokio::test(flavor = "multi_thread")]
async fn a_state_is_saved_while_its_run_goes_on() {
    let place = Place::new();
    let store = place.open();
    let lease = started(&store, 3).await;
    assert_eq!(done(&store, &lease, 0, 0, Some(5)).await, None, "the document has everything");
    assert_eq!((place.file().serial, place.file().instances.len(), place.is_guarded()), (1, 1, true));
    let before = place.memory.text();
    store.renew(&lease).await.unwrap();
    store.newest(&[]).await.unwrap();
    assert_eq!(place.memory.text(), before, "nothing changed, so nothing is written");
    assert_eq!(done(&store, &lease, 1, 1, Some(6)).await, None);
    assert_eq!((place.file().serial, place.file().instances.len()), (2, 2));
    assert_all_ok(&store.step_batch(&lease, vec![output_commit(2, 1, "o", Some("\"v\""))]).await.unwrap());
    let ReleaseAnswer::Released(header) = store.release(&lease, TermEnding::Finished).await.unwrap() else { panic!() };
    assert_eq!(header.status, RunStatus::Done);
    let file = place.file();
    assert_eq!((file.instances.len(), file.outputs.len(), place.is_guarded()), (2, 1, false));
    assert_eq!(file.serial, 3);
    let lines = store.journal(&run_id("run-a")).await.unwrap();
    assert!(lines.iter().filter(|line| line.event == "saving").count() >= 2, "{lines:?}");
}

#[tokio::test(flavor = "multi_thread")]
async fn a_backend_with_objects_is_written_at_the_end_only() {
    let place = Place::new();
    place.memory.held().bare = false;
    let store = place.open();
    let lease = started(&store, 1).await;
    assert!(done(&store, &lease, 0, 0, Some(5)).await.is_some());
    assert_eq!(place.file().instances.len(), 0);
}

/// After a crash at any moment, the state is that of the journal, and the resumed run ends as if nothing had happened.
#[tokio::test(flavor = "multi_thread")]
async fn a_crash_around_a_save_loses_nothing_and_applies_nothing_twice() {
    for first in [Fault::None, Fault::Refused, Fault::Lost] {
        for second in [Fault::None, Fault::Refused, Fault::Lost] {
            let place = Place::new();
            let store = place.open();
            let lease = started(&store, 4).await;
            place.set(Fault::None);
            done(&store, &lease, 0, 0, Some(5)).await;
            place.set(first);
            done(&store, &lease, 1, 1, Some(6)).await;
            place.set(second);
            // This step changes the object of the first operation again. The document already contains an earlier
            // version of this object.
            done(&store, &lease, 2, 0, Some(7)).await;
            crash(store).await;
            place.set(Fault::None);
            let store = place.open();
            let names = format!("{first:?}, {second:?}");
            let view = store.run(&run_id("run-a")).await.unwrap().unwrap();
            assert_eq!((view.header.status, view.header.counts.done), (RunStatus::Stopped, 3), "{names}");
            let recovered = store.snapshot().await.unwrap().into_state_file();
            assert_eq!(contents(&recovered), BTreeMap::from([(address(0), 7), (address(1), 6)]), "{names}");
            assert!(place.is_guarded(), "the run can go on");
            let lease = resumed(&store, 8, 4).await;
            done(&store, &lease, 3, 1, None).await;
            store.release(&lease, TermEnding::Finished).await.unwrap();
            assert!(!place.is_guarded(), "{names}");
            assert_eq!(contents(&place.file()), BTreeMap::from([(address(0), 7)]), "{names}");
        }
    }
}

/// A term reserves room for its journal. When the next term begins, the unused room of a dead term is free again. So a
/// run that is resumed many times needs no more disk space than another run.
#[tokio::test(flavor = "multi_thread")]
async fn the_room_of_a_dead_term_is_freed() {
    let place = Place::new();
    let allocated = |term: u32| {
        let journal = place.folder.path().join(format!("runs/run-a/journal.{term}"));
        let file = std::fs::metadata(journal).unwrap();
        (file.blocks() * 512, file.len())
    };
    let store = place.open();
    let lease = started(&store, 2).await;
    done(&store, &lease, 0, 0, Some(5)).await;
    let (before, length) = allocated(1);
    crash(store).await;
    resumed(&place.open(), 8, 2).await;
    if before < length + 1024 * 1024 {
        return println!("SKIPPED: this file system reserves no room");
    }
    let (after, same) = allocated(1);
    assert_eq!(same, length);
    assert!(after < length + 64 * 1024, "{after} of {before} bytes are allocated for {length}");
}

/// A generator of repeatable numbers.
struct Numbers(u64);

impl Numbers {
    fn below(&mut self, most: u64) -> u64 {
        self.0 = self.0.wrapping_mul(6_364_136_223_846_793_005).wrapping_add(1_442_695_040_888_963_407);
        (self.0 >> 33) % most
    }
}

#[tokio::test(flavor = "multi_thread")]
async fn any_history_ends_in_the_state_without_crashes() {
    const OPERATIONS: u32 = 12;
    for seed in 0..40 {
        let mut numbers = Numbers(seed);
        let place = Place::new();
        let mut store = place.open();
        let mut lease = started(&store, OPERATIONS).await;
        let mut expected = BTreeMap::new();
        for op in 0..OPERATIONS {
            let faults = [Fault::None, Fault::None, Fault::Refused, Fault::Lost];
            // Without the guard, no operation begins, so the first save must succeed.
            place.set(if op == 0 { Fault::None } else { faults[numbers.below(4) as usize] });
            let (index, content) = (numbers.below(4) as u32, numbers.below(5));
            let content = (content > 0).then_some(content);
            done(&store, &lease, op, index, content).await;
            match content {
                Some(content) => expected.insert(address(index), content),
                None => expected.remove(&address(index)),
            };
            if numbers.below(4) == 0 {
                crash(store).await;
                place.set(Fault::None);
                store = place.open();
                lease = resumed(&store, u128::from(op) + 100, OPERATIONS).await;
            }
        }
        place.set(Fault::None);
        store.release(&lease, TermEnding::Finished).await.unwrap();
        assert_eq!(contents(&place.file()), expected, "seed {seed}");
        assert!(!place.is_guarded(), "seed {seed}");
    }
}

#[tokio::test(flavor = "multi_thread")]
async fn a_save_that_fails_is_reported_once_and_stops_nothing() {
    let place = Place::new();
    let store = place.open();
    let lease = started(&store, 3).await;
    assert_all_ok(&store.step_batch(&lease, vec![intent(0, 1, 0), intent(1, 1, 1), intent(2, 1, 2)]).await.unwrap());
    place.set(Fault::Refused);
    for op in 0..2 {
        assert_all_ok(&store.step_batch(&lease, vec![commit(op, 1, op, Some(5))]).await.unwrap());
        assert!(store.newest(&[]).await.unwrap().is_some());
    }
    let trouble = store.take_trouble();
    assert!(matches!(trouble, Some(StoreError::Backend(_))), "{trouble:?}");
    place.set(Fault::None);
    assert_all_ok(&store.step_batch(&lease, vec![commit(2, 1, 2, Some(5))]).await.unwrap());
    assert_eq!(store.newest(&[]).await.unwrap(), None);
    assert_eq!((place.file().instances.len(), store.take_trouble()), (3, None));
    store.release(&lease, TermEnding::Finished).await.unwrap();
    assert!(!place.is_guarded());
}

#[tokio::test(flavor = "multi_thread")]
async fn the_newest_state_is_known_when_the_last_write_fails() {
    let place = Place::new();
    let store = place.open();
    let lease = started(&store, 2).await;
    place.set(Fault::Refused);
    // The guard cannot be written, so no call begins.
    assert!(store.step_batch(&lease, vec![intent(0, 1, 0)]).await.is_err());
    assert_eq!(store.newest(&[]).await.unwrap(), None, "there is nothing to lose");
    place.set(Fault::None);
    done(&store, &lease, 0, 0, Some(5)).await;
    place.set(Fault::Refused);
    done(&store, &lease, 1, 1, Some(6)).await;
    assert!(store.release(&lease, TermEnding::Finished).await.is_err());
    let newest = store.newest(&[]).await.unwrap().unwrap();
    assert_eq!(newest.instances.len(), 2);
    // If a result is not in the journal, the newest state is later than the saved one.
    let later = store.newest(&[commit(1, 1, 1, Some(8))]).await.unwrap().unwrap();
    assert_eq!((later.serial, contents(&later)[&address(1)]), (newest.serial + 1, 8));
    drop(store);
    place.set(Fault::None);
    let store = place.open();
    let view = store.run(&run_id("run-a")).await.unwrap().unwrap();
    assert_eq!((view.header.status, view.header.counts.done), (RunStatus::Stopped, 2));
    assert_eq!(place.file(), newest, "the recovered state is the newest");
    let lease = resumed(&store, 8, 2).await;
    store.release(&lease, TermEnding::Finished).await.unwrap();
    assert_eq!((place.file(), place.is_guarded()), (newest, false));
}

#[tokio::test(flavor = "multi_thread")]
async fn the_state_of_a_lost_journal_is_replaced() {
    let place = Place::new();
    let store = place.open();
    let lease = started(&store, 2).await;
    done(&store, &lease, 0, 0, Some(5)).await;
    place.set(Fault::Refused);
    done(&store, &lease, 1, 1, Some(6)).await;
    let newest = store.newest(&[]).await.unwrap().unwrap();
    place.set(Fault::None);
    let here = place.options(place.folder.path());
    crash(store).await;
    let replace = |options: RemoteOptions| {
        let newest = newest.clone();
        EmbeddedStore::replace_orphan_remote(options, |held| match held.serial < newest.serial {
            true => Ok(newest),
            false => Err("older"),
        })
    };
    assert_eq!(replace(here).unwrap(), None, "this machine has the journal");
    let elsewhere = tempfile::tempdir().unwrap();
    let options = place.options(elsewhere.path());
    let error = EmbeddedStore::open_remote(options.clone()).unwrap_err();
    assert!(matches!(&error, StoreError::Damaged { way_out, .. } if way_out.contains("weft state push")), "{error}");
    assert_eq!(replace(options.clone()).unwrap(), Some(Ok(())));
    assert_eq!((place.file(), place.is_guarded()), (newest.clone(), false));
    assert_eq!(replace(options.clone()).unwrap(), None, "no run guards it now");
    assert_eq!(EmbeddedStore::open_remote(options).unwrap().snapshot().await.unwrap().into_state_file(), newest);
}
