//! Redis in front of a backend: the second copy, and a Redis that comes back empty.

#[path = "support/memory.rs"]
mod memory;
#[path = "support/redis_server.rs"]
mod redis_server;
mod support;

use std::path::Path;
use std::time::Duration;

use memory::Memory;
use redis_server::Server;
use support::*;
use weft_state::tfstate::StateFile;
use weft_state::*;

/// A server, a backend, and a directory for one test.
struct Place {
    server: Server,
    memory: Memory,
    folder: tempfile::TempDir,
}

impl Place {
    fn new() -> Option<Place> {
        Some(Place { server: Server::start()?, memory: Memory::default(), folder: tempfile::tempdir().unwrap() })
    }

    fn options(&self) -> SecondCopyOptions {
        let folder = self.folder.path();
        self.server.options(Some(self.memory.options(folder)), folder)
    }

    async fn open(&self) -> SecondCopyStore {
        SecondCopyStore::connect(self.options()).await.unwrap()
    }

    /// The copy in the backend.
    fn copy(&self) -> StateFile {
        let text = self.memory.text();
        assert!(text.starts_with("{\n  \"version\": 4,\n"), "{text}");
        StateFile::parse(text.as_bytes(), "copy").unwrap()
    }

    /// Writes the copy as another tool would.
    fn write(&self, change: impl FnOnce(&mut StateFile)) {
        let mut file = match self.memory.text().as_str() {
            "" => StateFile::create(),
            text => StateFile::parse(text.as_bytes(), "copy").unwrap(),
        };
        change(&mut file);
        let mut held = self.memory.held();
        let version = held.objects.get("").map_or(1_000, |(_, version)| version + 1_000);
        held.objects.insert(String::new(), (file.to_bytes().into(), version));
    }
}

async fn started(store: &SecondCopyStore, id: &str, operations: u32, indexes: &[u32]) -> Lease {
    store.create_run(new_run(id, operations, 1)).await.unwrap();
    let lease = granted(store, id, 7).await;
    let wanted = claims(store, indexes.iter().copied()).await;
    assert_eq!(store.claim(&lease, &wanted).await.unwrap(), ClaimAnswer::Claimed);
    lease
}

async fn created(store: &SecondCopyStore, lease: &Lease, index: u32) {
    assert_all_ok(&store.step_batch(lease, vec![intent(index, 1, index)]).await.unwrap());
    assert_all_ok(&store.step_batch(lease, vec![commit(index, 1, index, Some(5))]).await.unwrap());
}

#[tokio::test(flavor = "multi_thread")]
async fn the_copy_has_caught_up_before_a_run_ends() {
    let Some(place) = Place::new() else { return };
    let store = place.open().await;
    let lease = started(&store, "run-a", 2, &[0, 1]).await;
    created(&store, &lease, 0).await;
    assert_eq!(place.memory.text(), "", "nothing before the interval");
    created(&store, &lease, 1).await;
    let ReleaseAnswer::Released(_) = store.release(&lease, TermEnding::Finished).await.unwrap() else { panic!() };
    let copy = place.copy();
    assert_eq!(copy.instances.len(), 2);
    assert_eq!(store.export().await.unwrap().unwrap(), copy.to_bytes());
    assert_eq!(place.memory.held().lock, None);
    assert_eq!(std::fs::read_dir(place.folder.path()).unwrap().count(), 0, "no write-ahead file stays");
}

#[tokio::test(flavor = "multi_thread")]
async fn the_copy_is_written_at_intervals() {
    let Some(place) = Place::new() else { return };
    let often = SecondCopyOptions { interval: Duration::from_millis(20), ..place.options() };
    let store = SecondCopyStore::connect(often).await.unwrap();
    let lease = started(&store, "run-a", 2, &[0, 1]).await;
    let mut serial = 0;
    for index in 0..2 {
        created(&store, &lease, index).await;
        while place.memory.text().is_empty() || place.copy().instances.len() <= index as usize {
            tokio::time::sleep(Duration::from_millis(5)).await;
        }
        assert!(place.copy().serial > serial, "the serial rises");
        serial = place.copy().serial;
    }
    store.release(&lease, TermEnding::Stopped).await.unwrap();
}

#[tokio::test(flavor = "multi_thread")]
async fn an_empty_store_begins_from_the_copy() {
    let Some(place) = Place::new() else { return };
    place.write(|file| file.serial = 41);
    let reading = SecondCopyOptions { change: false, ..place.options() };
    let notices = reading.notices.clone();
    let store = SecondCopyStore::connect(reading).await.unwrap();
    let snapshot = store.snapshot().await.unwrap();
    assert_eq!((snapshot.serial, snapshot.lineage), (41, place.copy().lineage));
    assert_eq!(notices.take(), [], "this is the first use");
}

#[tokio::test(flavor = "multi_thread")]
async fn reading_makes_no_store() {
    let Some(place) = Place::new() else { return };
    let reading = SecondCopyOptions { change: false, ..place.options() };
    assert!(matches!(SecondCopyStore::connect(reading).await, Err(StoreError::NoState(_))));
}

#[tokio::test(flavor = "multi_thread")]
async fn what_another_tool_wrote_is_read() {
    let Some(place) = Place::new() else { return };
    let store = place.open().await;
    let lease = started(&store, "run-a", 2, &[0, 1]).await;
    created(&store, &lease, 0).await;
    created(&store, &lease, 1).await;
    store.release(&lease, TermEnding::Finished).await.unwrap();
    drop(store);
    place.write(|file| {
        file.serial += 1;
        file.instances.pop_first();
    });
    let store = place.open().await;
    let snapshot = store.snapshot().await.unwrap();
    assert_eq!((snapshot.instances.len(), snapshot.serial), (1, place.copy().serial));
    // Both the state and the copy change.
    let lease = started(&store, "run-b", 1, &[5]).await;
    created(&store, &lease, 5).await;
    place.write(|file| file.serial += 1);
    let error = store.release(&lease, TermEnding::Finished).await.unwrap_err();
    assert!(matches!(error, StoreError::CopyDiffers { .. }), "{error}");
    drop(store);
    let error = SecondCopyStore::connect(place.options()).await.unwrap_err();
    assert!(matches!(error, StoreError::CopyDiffers { .. }), "{error}");
    // The remedy: the copy is moved away.
    place.memory.held().objects.remove("");
    drop(place.open().await);
    assert_eq!(place.copy().instances.len(), 2);
}

#[tokio::test(flavor = "multi_thread")]
async fn a_copy_that_failed_is_written_by_the_next_process() {
    let Some(place) = Place::new() else { return };
    let store = place.open().await;
    let lease = started(&store, "run-a", 1, &[0]).await;
    created(&store, &lease, 0).await;
    // The write takes effect, but its response is lost.
    place.memory.held().failing = true;
    store.release(&lease, TermEnding::Finished).await.unwrap_err();
    drop(store);
    place.memory.held().failing = false;
    place.memory.held().lock = None;
    let store = place.open().await;
    assert_eq!(store.export().await.unwrap().unwrap(), place.copy().to_bytes());
}

#[tokio::test(flavor = "multi_thread")]
async fn a_store_that_came_back_empty_goes_on() {
    let Some(place) = Place::new() else { return };
    let often = SecondCopyOptions { interval: Duration::from_millis(20), ..place.options() };
    let store = SecondCopyStore::connect(often).await.unwrap();
    let lease = started(&store, "run-a", 4, &[0, 1, 2, 3]).await;
    created(&store, &lease, 0).await;
    while place.memory.text().is_empty() {
        tokio::time::sleep(Duration::from_millis(5)).await;
    }
    // The copy can no longer be written, so only the write-ahead file has the rest.
    place.memory.held().failing = true;
    let before = place.memory.text();
    place.memory.held().lock = Some(remote::LockInfo { id: "other".to_owned(), ..Default::default() });
    created(&store, &lease, 1).await;
    assert_all_ok(&store.step_batch(&lease, vec![intent(2, 1, 2)]).await.unwrap());
    drop(store);
    assert_eq!(place.memory.text(), before);
    place.server.command(&["FLUSHALL"]);
    place.memory.held().failing = false;
    place.memory.held().lock = None;
    let options = place.options();
    let notices = options.notices.clone();
    let store = SecondCopyStore::connect(options).await.unwrap();
    let snapshot = store.snapshot().await.unwrap();
    assert_eq!(snapshot.instances.len(), 2, "one from the copy, and one from the write-ahead file");
    assert_eq!(place.copy().instances.len(), 2, "the copy has both");
    let [lost] = notices.take().try_into().unwrap();
    assert_eq!(lost.runs, ["run-a"]);
    assert_eq!(lost.recovered.len(), 1, "{lost:?}");
    assert_eq!(lost.uncertain.len(), 1, "{lost:?}");
    assert_eq!(lost.unused, Vec::<String>::new());
    assert!(!lost.since.is_empty());
    // The loss is reported only once.
    drop(store);
    let options = place.options();
    let notices = options.notices.clone();
    SecondCopyStore::connect(options).await.unwrap();
    assert_eq!(notices.take(), []);
}

#[tokio::test(flavor = "multi_thread")]
async fn results_that_do_not_follow_the_copy_are_named_and_set_aside() {
    let Some(place) = Place::new() else { return };
    let store = place.open().await;
    let lease = started(&store, "run-a", 2, &[0, 1]).await;
    created(&store, &lease, 0).await;
    assert_all_ok(&store.step_batch(&lease, vec![intent(1, 1, 1)]).await.unwrap());
    drop(store);
    place.server.command(&["FLUSHALL"]);
    place.write(|file| file.serial = 3);
    let options = place.options();
    let notices = options.notices.clone();
    let store = SecondCopyStore::connect(options).await.unwrap();
    assert_eq!(store.snapshot().await.unwrap().instances.len(), 0);
    let [lost] = notices.take().try_into().unwrap();
    assert_eq!((lost.recovered.len(), lost.unused.len(), lost.uncertain.len()), (0, 1, 1), "{lost:?}");
    assert!(lost.emptied, "{lost:?}");
    assert!(Path::new(&lost.unused[0]).exists());
}

/// A store with a copy, and a run that has created a second object since the copy was written.
async fn ahead_of_its_copy(place: &Place) -> (SecondCopyStore, Lease) {
    let store = place.open().await;
    let lease = started(&store, "run-a", 1, &[0]).await;
    created(&store, &lease, 0).await;
    store.release(&lease, TermEnding::Finished).await.unwrap();
    let lease = started(&store, "run-b", 1, &[1]).await;
    created(&store, &lease, 1).await;
    assert_eq!(place.copy().instances.len(), 1);
    (store, lease)
}

#[tokio::test(flavor = "multi_thread")]
async fn a_live_process_adds_its_results_before_another_goes_on_from_the_copy() {
    let Some(place) = Place::new() else { return };
    let (store, lease) = ahead_of_its_copy(&place).await;
    place.server.command(&["FLUSHALL"]);
    let error = SecondCopyStore::connect(place.options()).await.unwrap_err();
    assert!(matches!(&error, StoreError::Damaged { what, .. } if what.contains("still carries out")), "{error}");
    assert!(matches!(store.release(&lease, TermEnding::Finished).await, Err(StoreError::Emptied { .. })));
    let salvaged = store.salvage(&run_id("run-b"), &[]).await.unwrap();
    assert!(salvaged.complete, "{salvaged:?}");
    assert_eq!(store.snapshot().await.unwrap().instances.len(), 2);
    assert_eq!(place.copy().instances.len(), 2);
}

#[tokio::test(flavor = "multi_thread")]
async fn files_without_their_copy_are_not_the_whole_state() {
    let Some(place) = Place::new() else { return };
    drop(ahead_of_its_copy(&place).await);
    place.server.command(&["FLUSHALL"]);
    place.memory.held().objects.remove("");
    let error = SecondCopyStore::connect(place.options()).await.unwrap_err();
    assert!(matches!(&error, StoreError::Damaged { what, .. } if what.contains("serial 1")), "{error}");
    let declared = SecondCopyOptions { declared_lost: true, ..place.options() };
    let store = SecondCopyStore::connect(declared).await.unwrap();
    assert_eq!(store.snapshot().await.unwrap().instances.len(), 1);
}

#[tokio::test(flavor = "multi_thread")]
async fn a_copy_is_not_written_from_an_emptied_store() {
    let Some(place) = Place::new() else { return };
    let (store, lease) = ahead_of_its_copy(&place).await;
    store.release(&lease, TermEnding::Finished).await.unwrap();
    place.server.command(&["FLUSHALL"]);
    store.catch_up().await.unwrap();
    assert_eq!(store.snapshot().await.unwrap().instances.len(), 2);
    assert_eq!(place.copy().instances.len(), 2);
}
