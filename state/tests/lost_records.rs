//! A Redis that has lost records: it was restored from earlier files, keys were removed, or values are damaged.

#[path = "support/memory.rs"]
mod memory;
#[path = "support/redis_server.rs"]
mod redis_server;
mod support;

use std::path::Path;
use std::sync::Arc;

use memory::Memory;
use redis_server::Server;
use support::*;
use weft_state::*;

fn options(server: &Server, memory: Option<&Memory>, folder: &Path) -> SecondCopyOptions {
    server.options(memory.map(|memory| memory.options(folder)), folder)
}

/// A server, and a directory for write-ahead files.
struct Place {
    server: Server,
    folder: tempfile::TempDir,
}

impl Place {
    fn new() -> Option<Place> {
        Some(Place { server: Server::start()?, folder: tempfile::tempdir().unwrap() })
    }

    async fn open(&self) -> SecondCopyStore {
        SecondCopyStore::connect(options(&self.server, None, self.folder.path())).await.unwrap()
    }

    /// Opens the store again. Also returns the reported losses.
    async fn reopen(&self, memory: Option<&Memory>) -> (SecondCopyStore, Vec<LostStore>) {
        let options = options(&self.server, memory, self.folder.path());
        let notices = options.notices.clone();
        let store = SecondCopyStore::connect(options).await.unwrap();
        (store, notices.take())
    }

    async fn plain(&self) -> RedisStore {
        RedisStore::connect(&self.server.url("test"), "default", false, Arc::default()).await.unwrap()
    }
}

async fn started(store: &dyn RunStore, id: &str, operations: u32, indexes: &[u32]) -> Lease {
    store.create_run(new_run(id, operations, 1)).await.unwrap();
    begun(store, id, indexes).await
}

async fn begun(store: &dyn RunStore, id: &str, indexes: &[u32]) -> Lease {
    let lease = granted(store, id, 7).await;
    let wanted = claims(store, indexes.iter().copied()).await;
    assert_eq!(store.claim(&lease, &wanted).await.unwrap(), ClaimAnswer::Claimed);
    lease
}

async fn created(store: &dyn RunStore, lease: &Lease, index: u32) {
    assert_all_ok(&store.step_batch(lease, vec![intent(index, 1, index)]).await.unwrap());
    assert_all_ok(&store.step_batch(lease, vec![commit(index, 1, index, Some(5))]).await.unwrap());
}

async fn status(store: &dyn RunStore, run: &str, op: u32) -> OpStatus {
    store.run(&run_id(run)).await.unwrap().unwrap().ops.get(&OpIndex(op)).map(|op| op.status).unwrap_or_default()
}

#[tokio::test(flavor = "multi_thread")]
async fn a_term_that_goes_on_replays_what_the_store_has_lost() {
    let Some(mut place) = Place::new() else { return };
    let store = place.open().await;
    let lease = started(&store, "run-a", 3, &[0, 1, 2]).await;
    created(&store, &lease, 0).await;
    let backup = place.server.backup();
    created(&store, &lease, 1).await;
    let before = store.journal(&run_id("run-a")).await.unwrap();
    place.server.restore(&backup);
    created(&store, &lease, 2).await;
    assert_eq!(store.snapshot().await.unwrap().instances.len(), 3);
    let journal = store.journal(&run_id("run-a")).await.unwrap();
    assert_eq!(journal[..before.len()], before, "the same lines, with the same links");
    let ReleaseAnswer::Released(header) = store.release(&lease, TermEnding::Finished).await.unwrap() else { panic!() };
    assert_eq!(header.status, RunStatus::Done);
    assert_eq!(std::fs::read_dir(place.folder.path()).unwrap().count(), 0, "no write-ahead file stays");
}

#[tokio::test(flavor = "multi_thread")]
async fn the_next_process_replays_what_the_store_has_lost() {
    let Some(mut place) = Place::new() else { return };
    let store = place.open().await;
    store.create_run(new_run("run-a", 3, 1)).await.unwrap();
    let without_lease = place.server.backup();
    let lease = begun(&store, "run-a", &[0, 1, 2]).await;
    created(&store, &lease, 0).await;
    let backup = place.server.backup();
    created(&store, &lease, 1).await;
    assert_all_ok(&store.step_batch(&lease, vec![intent(2, 1, 2)]).await.unwrap());
    drop(store);
    for backup in [backup, without_lease] {
        place.server.restore(&backup);
        let (store, lost) = place.reopen(None).await;
        let [lost] = lost.try_into().unwrap();
        assert_eq!((lost.replayed.as_slice(), lost.emptied), (["run-a".to_owned()].as_slice(), false), "{lost:?}");
        assert_eq!(store.snapshot().await.unwrap().instances.len(), 2);
        assert_eq!(status(&store, "run-a", 2).await, OpStatus::Intended, "its call may have been made");
    }
    // The loss is reported only once.
    assert_eq!(place.reopen(None).await.1, []);
}

#[tokio::test(flavor = "multi_thread")]
async fn a_run_that_the_store_no_longer_knows_leaves_its_results() {
    let Some(mut place) = Place::new() else { return };
    let store = place.open().await;
    let first = started(&store, "run-0", 1, &[0]).await;
    created(&store, &first, 0).await;
    store.release(&first, TermEnding::Finished).await.unwrap();
    let backup = place.server.backup();
    let lease = started(&store, "run-a", 3, &[0, 1, 2]).await;
    let steps =
        vec![intent(0, 1, 0), commit(0, 1, 0, Some(6)), intent(1, 1, 1), commit(1, 1, 1, Some(5)), intent(2, 1, 2)];
    assert_all_ok(&store.step_batch(&lease, steps).await.unwrap());
    let wanted = store.snapshot().await.unwrap();
    drop(store);
    place.server.restore(&backup);
    let (store, lost) = place.reopen(None).await;
    let [lost] = lost.try_into().unwrap();
    assert_eq!((lost.recovered.len(), lost.uncertain.len(), lost.runs.len()), (2, 1, 1), "{lost:?}");
    let records = |state: Snapshot| -> Vec<_> { state.instances.into_values().map(|stored| stored.record).collect() };
    assert_eq!(records(store.snapshot().await.unwrap()), records(wanted));
    assert_eq!(place.reopen(None).await.1, [], "it is said once");
}

#[tokio::test(flavor = "multi_thread")]
async fn a_run_whose_records_cannot_be_replayed_is_frozen() {
    let Some(mut place) = Place::new() else { return };
    let store = place.open().await;
    let lease = started(&store, "run-a", 2, &[0, 1]).await;
    let backup = place.server.backup();
    created(&store, &lease, 0).await;
    place.server.restore(&backup);
    // Another coordinator takes over the run before the first coordinator notices the loss. The other coordinator does
    // not know that operation 0 has created its object, and is about to repeat the create.
    let other = place.plain().await;
    let AcquireAnswer::Held(seen) = other.acquire(acquire_request("run-a", 8)).await.unwrap() else { panic!() };
    let request = Acquire { unmoved: Some(seen), ..acquire_request("run-a", 8) };
    let AcquireAnswer::Granted(second) = other.acquire(request).await.unwrap() else { panic!() };
    let error = store.step_batch(&lease, vec![intent(1, 1, 1)]).await.unwrap_err();
    assert!(matches!(error, StoreError::LostWrites { .. }), "{error}");
    let answers = other.step_batch(&second, vec![intent(0, 1, 0)]).await.unwrap();
    assert!(matches!(answers[0], StoreAnswer::Fenced(_)), "{answers:?}");
    drop(store);
    // A new process finds the freeze in the store.
    for store in [&other as &dyn RunStore, &place.open().await] {
        let error = store.acquire(acquire_request("run-a", 9)).await.unwrap_err();
        assert!(matches!(&error, StoreError::Frozen { what, .. } if what.contains(&address(0))), "{error}");
    }
    // The user abandons the run.
    let store = place.open().await;
    assert!(store.thaw(&run_id("run-a")).await.unwrap().unwrap().contains(&address(0)));
    let lease = granted(&store, "run-a", 10).await;
    assert!(matches!(store.abandon(&lease).await.unwrap(), ReleaseAnswer::Released(_)));
    assert_eq!(store.thaw(&run_id("run-a")).await.unwrap(), None);
}

#[tokio::test(flavor = "multi_thread")]
async fn a_store_that_is_older_than_its_copy_goes_on_from_the_copy() {
    let Some(mut place) = Place::new() else { return };
    let memory = Memory::default();
    let (store, _) = place.reopen(Some(&memory)).await;
    let lease = started(&store, "run-0", 1, &[0]).await;
    created(&store, &lease, 0).await;
    store.release(&lease, TermEnding::Finished).await.unwrap();
    let before = place.server.backup();
    let lease = started(&store, "run-a", 2, &[1, 2]).await;
    created(&store, &lease, 1).await;
    let middle = place.server.backup();
    created(&store, &lease, 2).await;
    store.release(&lease, TermEnding::Finished).await.unwrap();
    drop(store);
    for (backup, runs) in [(before, 0), (middle, 1)] {
        place.server.restore(&backup);
        let (store, lost) = place.reopen(Some(&memory)).await;
        let [lost] = lost.try_into().unwrap();
        assert_eq!((lost.emptied, lost.serial, lost.runs.len()), (false, Some(3), runs), "{lost:?}");
        let snapshot = store.snapshot().await.unwrap();
        assert_eq!((snapshot.instances.len(), snapshot.serial), (3, 3));
        let unfinished = store.runs().await.unwrap().iter().filter(|header| !header.status.is_final()).count();
        assert_eq!(unfinished, 0, "no process repeats the calls of the lost run");
        drop(store);
        assert_eq!(place.reopen(Some(&memory)).await.1, []);
    }
}

#[tokio::test(flavor = "multi_thread")]
async fn results_stay_on_the_machine_until_another_process_has_written_the_copy() {
    let Some(place) = Place::new() else { return };
    let (memory, elsewhere) = (Memory::default(), tempfile::tempdir().unwrap());
    // The command knows the backend, but the coordinator does not.
    let line = SecondCopyStore::connect(options(&place.server, Some(&memory), elsewhere.path())).await.unwrap();
    let store = place.open().await;
    let lease = started(&store, "run-a", 1, &[0]).await;
    created(&store, &lease, 0).await;
    store.release(&lease, TermEnding::Finished).await.unwrap();
    assert_eq!(std::fs::read_dir(place.folder.path()).unwrap().count(), 1);
    line.catch_up().await.unwrap();
    assert!(memory.text().contains("sim_thing"), "{}", memory.text());
    drop(store);
    let store = place.open().await;
    assert_eq!(std::fs::read_dir(place.folder.path()).unwrap().count(), 0);
    // The store is emptied while the coordinator continues. The coordinator then accepts runs in the new store, which
    // begins from the copy.
    place.server.command(&["FLUSHALL"]);
    drop(line);
    let (line, lost) = {
        let options = options(&place.server, Some(&memory), elsewhere.path());
        let notices = options.notices.clone();
        (SecondCopyStore::connect(options).await.unwrap(), notices.take())
    };
    assert!(lost.len() == 1 && lost[0].emptied, "{lost:?}");
    let lease = started(&store, "run-b", 1, &[1]).await;
    created(&store, &lease, 1).await;
    store.release(&lease, TermEnding::Finished).await.unwrap();
    line.catch_up().await.unwrap();
    assert_eq!(line.snapshot().await.unwrap().instances.len(), 2);
}

/// The files of a directory, without directories.
fn files(folder: &Path) -> Vec<String> {
    let entries = std::fs::read_dir(folder).unwrap();
    entries.map(|entry| entry.unwrap().file_name().to_string_lossy().into_owned()).collect()
}

#[tokio::test(flavor = "multi_thread")]
async fn an_emptied_store_without_a_copy_gets_the_results_in_write_ahead_files() {
    for reading in [false, true] {
        let Some(place) = Place::new() else { return };
        let store = place.open().await;
        let lease = started(&store, "run-a", 3, &[0, 1, 2]).await;
        created(&store, &lease, 0).await;
        created(&store, &lease, 1).await;
        assert_all_ok(&store.step_batch(&lease, vec![intent(2, 1, 2)]).await.unwrap());
        let lineage = store.snapshot().await.unwrap().lineage;
        drop(store);
        place.server.command(&["FLUSHALL"]);
        // A command that only reads does the same as one that changes the state.
        let opened = SecondCopyOptions { change: !reading, ..options(&place.server, None, place.folder.path()) };
        let waiting = waiting_files(&opened).await.unwrap();
        assert_eq!((waiting.len(), waiting[0].serial, waiting[0].objects.len()), (1, 0, 2), "{waiting:?}");
        let notices = opened.notices.clone();
        let store = SecondCopyStore::connect(opened.clone()).await.unwrap();
        let [lost] = notices.take().try_into().unwrap();
        assert_eq!((lost.emptied, lost.recovered.len(), lost.uncertain.len(), lost.runs.len()), (true, 2, 1, 1));
        let snapshot = store.snapshot().await.unwrap();
        assert_eq!((snapshot.instances.len(), snapshot.lineage), (2, lineage));
        assert_eq!(files(place.folder.path()), Vec::<String>::new());
        assert_eq!(waiting_files(&opened).await.unwrap(), []);
    }
}

#[tokio::test(flavor = "multi_thread")]
async fn an_emptied_store_that_had_more_than_its_files_is_refused_until_the_user_declares_the_loss() {
    let Some(place) = Place::new() else { return };
    let store = place.open().await;
    let lease = started(&store, "run-0", 1, &[0]).await;
    created(&store, &lease, 0).await;
    store.release(&lease, TermEnding::Finished).await.unwrap();
    let lease = started(&store, "run-a", 2, &[1]).await;
    created(&store, &lease, 1).await;
    drop(store);
    place.server.command(&["FLUSHALL"]);
    let opened = options(&place.server, None, place.folder.path());
    for change in [false, true] {
        let error = SecondCopyStore::connect(SecondCopyOptions { change, ..opened.clone() }).await.unwrap_err();
        assert!(matches!(&error, StoreError::Damaged { way_out, .. } if way_out.contains("declare-lost")), "{error}");
    }
    let waiting = waiting_files(&opened).await.unwrap();
    assert_eq!((waiting[0].serial, waiting[0].missing), (1, Some(1)));
    let declared = SecondCopyOptions { declared_lost: true, ..opened };
    let store = SecondCopyStore::connect(declared).await.unwrap();
    assert_eq!(store.snapshot().await.unwrap().instances.len(), 1);
    drop(store);
    assert_eq!(place.open().await.snapshot().await.unwrap().instances.len(), 1);
}

#[tokio::test(flavor = "multi_thread")]
async fn a_process_whose_store_is_emptied_adds_its_results_when_its_runs_end() {
    for renewed in [false, true] {
        let Some(place) = Place::new() else { return };
        let store = place.open().await;
        let lease = started(&store, "run-a", 3, &[0, 1, 2]).await;
        let other = started(&store, "run-b", 1, &[3]).await;
        created(&store, &lease, 0).await;
        created(&store, &other, 3).await;
        assert_all_ok(&store.step_batch(&lease, vec![intent(1, 1, 1), intent(2, 1, 2)]).await.unwrap());
        place.server.command(&["FLUSHALL"]);
        // Another process must not take the store for a new one meanwhile.
        let error = SecondCopyStore::connect(options(&place.server, None, place.folder.path())).await.unwrap_err();
        assert!(matches!(&error, StoreError::Damaged { what, .. } if what.contains("still carries out")), "{error}");
        let result = commit(1, 1, 1, Some(5));
        let send = || store.step_batch(&lease, vec![result.clone()]);
        let error = match renewed {
            true => store.renew(&lease).await.unwrap_err(),
            false => send().await.unwrap_err(),
        };
        let StoreError::Emptied { run, what, .. } = &error else { panic!("{error}") };
        assert!(*run == run_id("run-a") && what.contains("ahead-"), "{error}");
        assert_eq!(send().await.unwrap_err(), error, "the run stays lost");
        // Calls may still return results, so nothing is restored yet, and no new run begins.
        assert_eq!(files(place.folder.path()).len(), 2);
        let error = store.create_run(new_run("run-c", 1, 1)).await.unwrap_err();
        assert!(matches!(&error, StoreError::Damaged { what, .. } if what.contains("still carries out")), "{error}");
        let salvaged = store.salvage(&run_id("run-a"), std::slice::from_ref(&result)).await.unwrap();
        let StoreError::Emptied { what, .. } = &salvaged.error else { panic!("{salvaged:?}") };
        assert!(salvaged.complete, "{what}");
        assert!((0..3).all(|index| what.contains(&address(index))) && what.contains("ahead-"), "{what}");
        // The other run has not noticed the loss yet.
        let error = store.create_run(new_run("run-c", 1, 1)).await.unwrap_err();
        assert!(matches!(&error, StoreError::Damaged { what, .. } if what.contains("run-b")), "{error}");
        assert!(matches!(store.renew(&other).await.unwrap_err(), StoreError::Emptied { .. }));
        let salvaged = store.salvage(&run_id("run-b"), &[]).await.unwrap();
        assert!(salvaged.complete, "{salvaged:?}");
        assert_eq!(store.snapshot().await.unwrap().instances.len(), 3);
        assert_eq!(files(place.folder.path()), Vec::<String>::new());
        // The process goes on with new runs.
        let lease = started(&store, "run-c", 1, &[2]).await;
        created(&store, &lease, 2).await;
        store.release(&lease, TermEnding::Finished).await.unwrap();
        assert_eq!(store.snapshot().await.unwrap().instances.len(), 4);
    }
}

#[tokio::test(flavor = "multi_thread")]
async fn a_process_that_dies_after_its_store_was_emptied_leaves_its_results() {
    let Some(place) = Place::new() else { return };
    let store = place.open().await;
    let lease = started(&store, "run-a", 2, &[0, 1]).await;
    created(&store, &lease, 0).await;
    assert_all_ok(&store.step_batch(&lease, vec![intent(1, 1, 1)]).await.unwrap());
    place.server.command(&["FLUSHALL"]);
    store.renew(&lease).await.unwrap_err();
    drop(store);
    let (store, lost) = place.reopen(None).await;
    let [lost] = lost.try_into().unwrap();
    assert_eq!((lost.recovered.len(), lost.uncertain.len()), (1, 1), "{lost:?}");
    assert_eq!(store.snapshot().await.unwrap().instances.len(), 1);
}

#[tokio::test(flavor = "multi_thread")]
async fn a_term_without_a_confirmed_end_does_not_keep_an_emptied_store_closed() {
    let Some(place) = Place::new() else { return };
    let store = place.open().await;
    let lease = started(&store, "run-a", 2, &[0]).await;
    created(&store, &lease, 0).await;
    assert_eq!(store.salvage(&run_id("run-a"), &[]).await, None, "the store has the run");
    assert_eq!(files(place.folder.path()).len(), 1);
    place.server.command(&["FLUSHALL"]);
    let lease = started(&store, "run-b", 1, &[1]).await;
    created(&store, &lease, 1).await;
    store.release(&lease, TermEnding::Finished).await.unwrap();
    assert_eq!(store.snapshot().await.unwrap().instances.len(), 2);
}

#[tokio::test(flavor = "multi_thread")]
async fn results_with_a_gap_between_them_are_not_the_whole_state() {
    let Some(place) = Place::new() else { return };
    let store = place.open().await;
    let lease = started(&store, "run-a", 2, &[0]).await;
    created(&store, &lease, 0).await;
    drop(store);
    let elsewhere = place.plain().await;
    let lease = started(&elsewhere, "run-x", 1, &[5]).await;
    created(&elsewhere, &lease, 5).await;
    elsewhere.release(&lease, TermEnding::Finished).await.unwrap();
    let store = place.open().await;
    let lease = started(&store, "run-b", 1, &[1]).await;
    created(&store, &lease, 1).await;
    drop(store);
    place.server.command(&["FLUSHALL"]);
    let opened = options(&place.server, None, place.folder.path());
    let waiting = waiting_files(&opened).await.unwrap();
    assert_eq!(
        waiting.iter().map(|file| (file.serial, file.missing)).collect::<Vec<_>>(),
        [(0, Some(2)), (2, Some(2))]
    );
    let error = SecondCopyStore::connect(opened).await.unwrap_err();
    assert!(matches!(&error, StoreError::Damaged { what, .. } if what.contains("serial 2")), "{error}");
}

#[tokio::test(flavor = "multi_thread")]
async fn a_store_that_comes_back_empty_is_noticed_by_the_next_step() {
    let Some(mut place) = Place::new() else { return };
    let empty = place.server.backup();
    let store = place.open().await;
    let lease = started(&store, "run-a", 2, &[0, 1]).await;
    created(&store, &lease, 0).await;
    place.server.restore(&empty);
    let error = store.step_batch(&lease, vec![intent(1, 1, 1)]).await.unwrap_err();
    assert!(matches!(error, StoreError::Emptied { .. }), "{error}");
    let salvaged = store.salvage(&run_id("run-a"), &[intent(1, 1, 1)]).await.unwrap();
    assert!(salvaged.complete && !salvaged.error.to_string().contains(&address(1)), "{salvaged:?}");
    assert_eq!(store.snapshot().await.unwrap().instances.len(), 1);
}

#[tokio::test(flavor = "multi_thread")]
async fn the_newest_state_of_a_lost_run_is_not_that_of_the_new_store() {
    let Some(place) = Place::new() else { return };
    let store = place.open().await;
    store.keep_newest();
    let lease = started(&store, "run-a", 3, &[0, 1]).await;
    store.snapshot().await.unwrap();
    created(&store, &lease, 0).await;
    place.server.command(&["FLUSHALL"]);
    RedisStore::connect(&place.server.url("test"), "default", true, Arc::default()).await.unwrap();
    assert_eq!(store.newest(&[]).await.unwrap().unwrap().instances.len(), 1);
}

#[tokio::test(flavor = "multi_thread")]
async fn the_newest_state_is_known_without_the_store() {
    let Some(mut place) = Place::new() else { return };
    let store = place.open().await;
    store.keep_newest();
    let lease = started(&store, "run-a", 3, &[0, 1]).await;
    store.snapshot().await.unwrap();
    created(&store, &lease, 0).await;
    assert_all_ok(&store.step_batch(&lease, vec![intent(1, 1, 1)]).await.unwrap());
    assert_eq!(store.newest(&[]).await.unwrap(), None, "everything is in the store");
    place.server.kill();
    assert_eq!(store.newest(&[]).await.unwrap().unwrap().instances.len(), 1);
    let newest = store.newest(&[commit(1, 1, 1, Some(5))]).await.unwrap().unwrap();
    assert_eq!((newest.instances.len(), newest.serial), (2, 2));
    assert!(store.journal_place(&run_id("run-a")).contains("ahead-"));
}

#[tokio::test(flavor = "multi_thread")]
async fn removed_keys_are_noticed() {
    for key in ["records", "outputs"] {
        let Some(place) = Place::new() else { return };
        let store = place.open().await;
        let lease = started(&store, "run-a", 2, &[0]).await;
        created(&store, &lease, 0).await;
        assert_all_ok(&store.step_batch(&lease, vec![output_commit(1, 1, "o", Some("\"v\""))]).await.unwrap());
        assert_eq!(store.snapshot().await.unwrap().instances.len(), 1);
        place.server.command(&["DEL", &format!("weft:{{test/default}}:{key}")]);
        let error = store.snapshot().await.unwrap_err();
        assert!(matches!(&error, StoreError::Damaged { place, .. } if place.contains(key)), "{error}");
    }
    let Some(place) = Place::new() else { return };
    let store = place.plain_after_a_run().await;
    place.server.command(&["DEL", "weft:{test/default}:run:run-a:journal"]);
    let error = store.acquire(acquire_request("run-a", 8)).await.unwrap_err();
    let reason = "its journal does not end at the line that its header names";
    assert!(matches!(&error, StoreError::Frozen { what, .. } if what == reason), "{error}");
    place.server.command(&["DEL", "weft:{test/default}:run:run-a"]);
    let error = store.runs().await.unwrap_err();
    assert!(matches!(error, StoreError::Damaged { .. }), "{error}");
}

impl Place {
    /// A store with a stopped run that has an open doubt.
    async fn plain_after_a_run(&self) -> RedisStore {
        let store = RedisStore::connect(&self.server.url("test"), "default", true, Arc::default()).await.unwrap();
        let lease = started(&store, "run-a", 3, &[0, 1]).await;
        created(&store, &lease, 0).await;
        let reason = "why".to_owned();
        let doubt = StoreStep::Doubt { op: OpIndex(1), attempt: Attempt(1), reason };
        assert_all_ok(&store.step_batch(&lease, vec![intent(1, 1, 1), doubt]).await.unwrap());
        store.release(&lease, TermEnding::Stopped).await.unwrap();
        store
    }
}

#[tokio::test(flavor = "multi_thread")]
async fn damaged_values_are_errors() {
    let Some(place) = Place::new() else { return };
    let store = place.plain_after_a_run().await;
    let address = address(0);
    for (key, field) in [
        ("meta", "serial"),
        ("records", address.as_str()),
        ("revisions", format!("i:{address}").as_str()),
        ("doubts", ""),
        ("run:run-a", "status"),
        ("run:run-a", "plan"),
        ("run:run-a", "holder"),
        ("run:run-a", "running"),
        ("run:run-a", "done"),
        ("run:run-a", "op:0"),
        ("run:run-a", "own:i:nothing"),
        ("runs", "not a run"),
    ] {
        let key = format!("weft:{{test/default}}:{key}");
        let fields = place.server.ask(&["HKEYS", &key]);
        let field = if field.is_empty() { fields.lines().next().unwrap() } else { field };
        let kept = "weft:{test/default}:kept";
        place.server.command(&["COPY", &key, kept, "REPLACE"]);
        let bad = if field.starts_with("own:") { "own:nothing" } else { field };
        if key.ends_with("run-a") && field == "holder" {
            // The heartbeat is shown only while a lease is held.
            place.server.command(&["HSET", &key, "token", "1:0a"]);
        }
        place.server.command(&["HSET", &key, bad, "{damaged"]);
        let mut errors = Vec::new();
        errors.extend(store.snapshot().await.err());
        errors.extend(store.runs().await.err());
        errors.extend(store.run(&run_id("run-a")).await.err());
        assert!(!errors.is_empty(), "{key} {field}");
        for error in errors {
            assert!(matches!(error, StoreError::Damaged { .. }), "{key} {field}: {error}");
        }
        place.server.command(&["COPY", kept, &key, "REPLACE"]);
    }
}

#[tokio::test(flavor = "multi_thread")]
async fn the_number_of_runs_is_bounded() {
    let Some(place) = Place::new() else { return };
    let store = place.plain_after_a_run().await;
    let script = "for at = 1, 10000 do redis.call('HSET', KEYS[1], 'run-' .. at, '1') end";
    place.server.command(&["EVAL", script, "1", "weft:{test/default}:runs"]);
    let error = store.create_run(new_run("run-b", 1, 2)).await.unwrap_err();
    assert!(matches!(error, StoreError::TooManyRuns { .. }), "{error}");
    let error = store.runs().await.unwrap_err();
    assert!(matches!(error, StoreError::TooManyRuns { .. }), "{error}");
}

#[tokio::test(flavor = "multi_thread")]
async fn workspaces_are_listed_and_removed() {
    let Some(place) = Place::new() else { return };
    let url = place.server.url("test");
    assert_eq!(RedisStore::workspaces(&url).await.unwrap(), Vec::<String>::new());
    for workspace in ["blue", "a:b", "default"] {
        RedisStore::connect(&url, workspace, true, Arc::default()).await.unwrap();
    }
    RedisStore::connect(&place.server.url("tes"), "other", true, Arc::default()).await.unwrap();
    assert_eq!(RedisStore::workspaces(&url).await.unwrap(), ["a:b", "blue", "default"]);
    let store = RedisStore::connect(&url, "blue", true, Arc::default()).await.unwrap();
    let lease = started(&store, "run-a", 1, &[0]).await;
    created(&store, &lease, 0).await;
    assert!(matches!(store.remove(1, "blue").await, Err(StoreError::InUse { .. })), "a run has not ended");
    store.release(&lease, TermEnding::Finished).await.unwrap();
    assert!(matches!(store.remove(0, "blue").await, Err(StoreError::InUse { .. })), "the state has changed");
    store.remove(1, "blue").await.unwrap();
    assert_eq!(RedisStore::workspaces(&url).await.unwrap(), ["a:b", "default"]);
    assert_eq!(place.server.ask(&["KEYS", "weft:{test/blue}*"]), "");
}
