//! The store over a backend: whole runs, crashes, fencing, and locks of dead holders.

#[path = "support/memory.rs"]
mod memory;
mod support;

use std::sync::Arc;
use std::time::Duration;

use memory::Memory;
use support::*;
use weft_state::tfstate::StateFile;
use weft_state::*;

fn options(memory: &Memory) -> RemoteOptions {
    memory.options("unused")
}

fn open(memory: &Memory) -> EmbeddedStore {
    EmbeddedStore::open_remote(options(memory)).unwrap()
}

async fn started(store: &EmbeddedStore, id: &str, operations: u32, indexes: &[u32]) -> Lease {
    store.create_run(new_run(id, operations, 1)).await.unwrap();
    let lease = granted(store, id, 7).await;
    let wanted = claims(store, indexes.iter().copied()).await;
    assert_eq!(store.claim(&lease, &wanted).await.unwrap(), ClaimAnswer::Claimed);
    lease
}

/// Makes the holder of the lock look dead: its process number now belongs to another process.
fn kill_holder(memory: &Memory) {
    let mut held = memory.held();
    let (_, (content, _)) = held.objects.iter_mut().find(|(name, _)| name.starts_with("holder/")).unwrap();
    let mut record: serde_json::Value = serde_json::from_slice(content).unwrap();
    record["scope"]["started"] = 1.into();
    *content = serde_json::to_vec(&record).unwrap().into();
}

#[tokio::test(flavor = "multi_thread")]
async fn a_whole_run() {
    let memory = Memory::default();
    let store = open(&memory);
    assert_eq!(store.export().await.unwrap(), None);
    let lease = started(&store, "run-a", 3, &[0, 1]).await;
    assert_all_ok(&store.step_batch(&lease, vec![intent(0, 1, 0), intent(1, 1, 1)]).await.unwrap());
    assert!(memory.text().contains("\"version\": 9"), "OpenTofu refuses the state now");
    let steps = vec![commit(0, 1, 0, Some(5)), commit(1, 1, 1, Some(6)), output_commit(2, 1, "o", Some("\"v\""))];
    assert_all_ok(&store.step_batch(&lease, steps).await.unwrap());
    assert!(memory.names("journal").len() >= 3, "{:?}", memory.names(""));
    let ReleaseAnswer::Released(header) = store.release(&lease, TermEnding::Finished).await.unwrap() else { panic!() };
    assert_eq!(header.status, RunStatus::Done);
    let file = StateFile::parse(memory.text().as_bytes(), "x").unwrap();
    assert_eq!((file.serial, file.instances.len(), file.outputs.len()), (1, 2, 1));
    assert!(memory.text().starts_with("{\n  \"version\": 4,\n"));
    drop(store);
    assert_eq!(memory.held().lock, None);
    assert_eq!(memory.names("holder/"), Vec::<String>::new());
    assert_eq!(memory.names("journal").len(), 1, "the journal of a finished run is one object");
    let store = EmbeddedStore::read_remote(options(&memory)).unwrap();
    let view = store.run(&run_id("run-a")).await.unwrap().unwrap();
    assert_eq!(view.ops[&OpIndex(0)].result, Some(Opaque(vec![1, 2, 3])));
    assert_eq!((view.header.status, view.header.counts.done), (RunStatus::Done, 3));
}

#[tokio::test(flavor = "multi_thread")]
async fn a_lock_that_stays_is_reported_and_taken_over() {
    let memory = Memory::default();
    let store = open(&memory);
    memory.held().stuck = true;
    drop(store);
    let unreleased = memory.held().unreleased.take();
    let [lock] = unreleased.as_slice() else { panic!("{unreleased:?}") };
    assert_eq!(lock.place, "memory://state");
    assert_eq!(Some(&lock.id), memory.held().lock.as_ref().map(|lock| &lock.id));
    assert!(lock.error.contains("the answer was lost"), "{}", lock.error);
    memory.held().stuck = false;
    // The process of the test is alive, so its lock is respected until the process has ended.
    assert!(matches!(EmbeddedStore::open_remote(options(&memory)), Err(StoreError::Locked { .. })));
    kill_holder(&memory);
    drop(open(&memory));
    assert_eq!(memory.held().lock, None);
    assert_eq!(memory.held().unreleased.take(), []);
}

#[tokio::test(flavor = "multi_thread")]
async fn a_holder_that_was_cut_off_learns_that_its_lock_was_taken_over() {
    let memory = Memory::default();
    let cut_off = open(&memory);
    kill_holder(&memory);
    let next = open(&memory);
    while !cut_off.is_superseded() {
        tokio::time::sleep(Duration::from_millis(100)).await;
    }
    assert!(!next.is_superseded());
    drop(cut_off);
    assert!(memory.held().lock.is_some(), "the lock belongs to the next holder");
    drop(next);
    assert_eq!(memory.names(""), Vec::<String>::new(), "no records and no notes are left");
}

#[tokio::test(flavor = "multi_thread")]
async fn a_dead_run_is_taken_over_where_it_stopped() {
    let memory = Memory::default();
    let store = open(&memory);
    let lease = started(&store, "run-a", 3, &[0, 1]).await;
    assert_all_ok(&store.step_batch(&lease, vec![intent(0, 1, 0), intent(1, 1, 1)]).await.unwrap());
    assert_all_ok(&store.step_batch(&lease, vec![commit(0, 1, 0, Some(5))]).await.unwrap());
    // Simulates the death of the process: nothing releases the lock.
    std::mem::forget(store);
    match EmbeddedStore::open_remote(options(&memory)) {
        Err(StoreError::Locked { holder, .. }) => assert!(holder.contains("ann@loom"), "{holder}"),
        other => panic!("a living holder keeps its lock: {other:?}"),
    }
    kill_holder(&memory);
    let store = open(&memory);
    assert_eq!(store.interrupted(), [run_id("run-a")]);
    let view = store.run(&run_id("run-a")).await.unwrap().unwrap();
    assert_eq!((view.header.status, view.header.counts.done, view.header.counts.running), (RunStatus::Stopped, 1, 1));
    let snapshot = store.snapshot().await.unwrap();
    assert!(snapshot.instances.contains_key(&address(0).parse().unwrap()), "the commit is not lost");
    let again = granted(&store, "run-a", 8).await;
    assert!(again.token.epoch > lease.token.epoch);
    // A run that was stopped regularly is not interrupted.
    assert_all_ok(&store.step_batch(&again, vec![commit(1, 1, 1, Some(6))]).await.unwrap());
    store.release(&again, TermEnding::Stopped).await.unwrap();
    drop(store);
    assert_eq!(open(&memory).interrupted(), []);
}

#[tokio::test(flavor = "multi_thread")]
async fn a_slow_writer_is_fenced_by_the_journal() {
    let memory = Memory::default();
    let slow = open(&memory);
    let lease = started(&slow, "run-a", 3, &[0, 1]).await;
    assert_all_ok(&slow.step_batch(&lease, vec![intent(0, 1, 0)]).await.unwrap());
    // A user removes the lock by force, and another process continues.
    memory.held().lock = None;
    let next = open(&memory);
    let error = slow.step_batch(&lease, vec![intent(1, 1, 1)]).await.unwrap_err();
    assert!(matches!(&error, StoreError::Superseded(_)), "{error}");
    let view = next.run(&run_id("run-a")).await.unwrap().unwrap();
    assert_eq!(view.header.counts.running, 1, "the second intent never happened");
    // The state document is fenced, too.
    let again = granted(&next, "run-a", 8).await;
    let wanted = claims(&next, [0, 1]).await;
    assert_eq!(next.claim(&again, &wanted).await.unwrap(), ClaimAnswer::Claimed);
    assert_all_ok(&next.step_batch(&again, vec![commit(0, 1, 0, Some(5))]).await.unwrap());
    next.release(&again, TermEnding::Stopped).await.unwrap();
    let released = slow.release(&lease, TermEnding::Stopped).await;
    assert!(!matches!(released, Ok(ReleaseAnswer::Released(_))), "{released:?}");
    memory.held().stuck = true;
    drop(slow);
    memory.held().stuck = false;
    assert_eq!(memory.held().unreleased.take(), [], "the lock was no longer ours");
    let file = StateFile::parse(memory.text().as_bytes(), "x").unwrap();
    assert_eq!(file.instances.len(), 1);
}

#[tokio::test(flavor = "multi_thread")]
async fn a_write_without_an_answer_is_never_acknowledged() {
    let memory = Memory::default();
    let store = open(&memory);
    let lease = started(&store, "run-a", 3, &[0]).await;
    assert_all_ok(&store.step_batch(&lease, vec![intent(0, 1, 0)]).await.unwrap());
    memory.held().failing = true;
    assert!(store.step_batch(&lease, vec![commit(0, 1, 0, Some(5))]).await.is_err());
    memory.held().failing = false;
    assert!(store.step_batch(&lease, vec![intent(1, 1, 1)]).await.is_err(), "the journal is closed");
    std::mem::forget(store);
    kill_holder(&memory);
    let store = open(&memory);
    let view = store.run(&run_id("run-a")).await.unwrap().unwrap();
    assert_eq!(view.header.counts.done, 1, "what was written counts");
}

#[tokio::test(flavor = "multi_thread")]
async fn a_state_that_another_program_changed_is_not_overwritten() {
    let memory = Memory::default();
    let store = open(&memory);
    let lease = started(&store, "run-a", 1, &[0]).await;
    assert_all_ok(&store.step_batch(&lease, vec![intent(0, 1, 0), commit(0, 1, 0, Some(5))]).await.unwrap());
    let foreign = bytes::Bytes::from_static(b"{\"version\": 4, \"serial\": 9, \"lineage\": \"other\"}");
    memory.held().objects.insert(String::new(), (foreign.clone(), 1_000_000));
    match store.release(&lease, TermEnding::Finished).await {
        Err(StoreError::Overtaken(place)) => assert_eq!(place, "memory://state"),
        other => panic!("{other:?}"),
    }
    drop(store);
    assert_eq!(memory.held().objects[""].0, foreign);
}

/// Executes a run whose process ends after this number of changes in the backend. Returns the number of acknowledged
/// commits, and whether the run was completed.
async fn cut_off(memory: &Memory, changes: u64, starts_now: bool) -> (usize, bool) {
    memory.held().changes_left = Some(changes);
    let mut acknowledged = 0;
    let Ok(store) = EmbeddedStore::open_remote(options(memory)) else { return (0, false) };
    let ended = async {
        store.create_run(NewRun { starts_now, ..new_run("run-a", 2, 1) }).await?;
        let AcquireAnswer::Granted(lease) = store.acquire(acquire_request("run-a", 7)).await? else {
            panic!("it is free")
        };
        store.claim(&lease, &claims(&store, [0, 1]).await).await?;
        for index in 0..2 {
            assert_all_ok(&store.step_batch(&lease, vec![intent(index, 1, index)]).await?);
            assert_all_ok(&store.step_batch(&lease, vec![commit(index, 1, index, Some(5))]).await?);
            acknowledged += 1;
        }
        store.release(&lease, TermEnding::Finished).await
    };
    let ended = ended.await.is_ok();
    if ended {
        drop(store);
    } else {
        std::mem::forget(store);
    }
    (acknowledged, ended && memory.held().changes_left != Some(0))
}

#[tokio::test(flavor = "multi_thread")]
async fn a_process_that_ends_at_any_request_loses_nothing() {
    end_at_each_request(false).await;
}

#[tokio::test(flavor = "multi_thread")]
async fn nor_does_one_that_starts_its_run_at_once() {
    end_at_each_request(true).await;
}

async fn end_at_each_request(starts_now: bool) {
    for changes in 0.. {
        let memory = Memory::default();
        let (acknowledged, ended) = cut_off(&memory, changes, starts_now).await;
        memory.held().changes_left = None;
        if memory.names("holder/").is_empty() {
            assert_eq!(memory.held().lock, None, "after {changes} changes");
        } else {
            kill_holder(&memory);
        }
        let store = open(&memory);
        let instances = store.snapshot().await.unwrap().instances.len();
        assert!(instances >= acknowledged, "{acknowledged} commits, {instances} instances after {changes} changes");
        let guarded = memory.text().contains("\"version\": 9");
        let runs = store.runs().await.unwrap();
        let unfinished = runs.iter().any(|run| !run.status.is_final());
        assert!(!guarded || unfinished, "{runs:?} after {changes} changes");
        drop(store);
        assert_eq!(memory.held().lock, None);
        if ended {
            assert!(changes > 15, "{changes}");
            return;
        }
    }
}

#[tokio::test(flavor = "multi_thread")]
async fn many_steps_share_a_segment() {
    const OPERATIONS: u32 = 500;
    let memory = Memory::default();
    let store = Arc::new(open(&memory));
    let indexes: Vec<u32> = (0..OPERATIONS).collect();
    let lease = started(&store, "run-a", OPERATIONS, &indexes).await;
    let before = memory.requests();
    let intents = indexes.iter().map(|index| intent(*index, 1, *index)).collect();
    assert_all_ok(&store.step_batch(&lease, intents).await.unwrap());
    let commits = indexes.iter().map(|index| commit(*index, 1, *index, Some(1))).collect();
    assert_all_ok(&store.step_batch(&lease, commits).await.unwrap());
    let requests = memory.requests() - before;
    assert!(requests <= u64::from(OPERATIONS / 10), "{requests} requests for {OPERATIONS} operations");
}

#[tokio::test(flavor = "multi_thread")]
async fn edits_change_the_document() {
    let memory = Memory::default();
    let store = open(&memory);
    let edit = Edit { seen: 0, writes: writes(0, Some(5)), identity: None };
    assert_eq!(store.edit(edit).await.unwrap(), EditAnswer::Edited);
    drop(store);
    let file = StateFile::parse(memory.text().as_bytes(), "x").unwrap();
    assert_eq!((file.serial, file.instances.len()), (1, 1));
    assert_eq!(memory.held().lock, None);
}
