//! The embedded store: existing state files, crashes at every point, locks and the guard.

#[path = "embedded/damage.rs"]
mod damage;
#[path = "support/place.rs"]
mod place;
mod support;

use std::process::Command;

use place::Place;
use support::*;
use weft_state::tfstate::StateFile;
use weft_state::*;

const RECORDED: &str = include_str!("golden/recorded.tfstate");

async fn started(store: &EmbeddedStore, id: &str, operations: u32, indexes: &[u32]) -> Lease {
    store.create_run(new_run(id, operations, 1)).await.unwrap();
    let lease = granted(store, id, 7).await;
    let wanted = claims(store, indexes.iter().copied()).await;
    assert_eq!(store.claim(&lease, &wanted).await.unwrap(), ClaimAnswer::Claimed);
    lease
}

#[tokio::test]
async fn a_run_is_journalled_and_written_to_the_state() {
    let place = Place::new();
    let store = place.open();
    assert_eq!(store.export().await.unwrap(), None);
    let lease = started(&store, "run-a", 3, &[0, 1]).await;
    assert_all_ok(&store.step_batch(&lease, vec![intent(0, 1, 0), intent(1, 1, 1)]).await.unwrap());
    assert!(place.text().contains("\"version\": 9"));
    let steps = vec![commit(0, 1, 0, Some(5)), commit(1, 1, 1, Some(6)), output_commit(2, 1, "o", Some("\"v\""))];
    assert_all_ok(&store.step_batch(&lease, steps.clone()).await.unwrap());
    let again = store.step_batch(&lease, steps).await.unwrap();
    assert!(again.iter().all(|answer| matches!(answer, StoreAnswer::Ok { repeated: true, .. })), "{again:?}");
    let view = store.run(&run_id("run-a")).await.unwrap().unwrap();
    assert_eq!(view.ops[&OpIndex(0)].result, Some(Opaque(vec![1, 2, 3])));
    assert_eq!((view.header.counts.done, view.header.counts.pending), (3, 0));
    let ReleaseAnswer::Released(header) = store.release(&lease, TermEnding::Finished).await.unwrap() else { panic!() };
    assert_eq!(header.status, RunStatus::Done);
    let file = StateFile::parse(place.text().as_bytes(), "x").unwrap();
    assert_eq!((file.serial, file.instances.len(), file.outputs.len()), (1, 2, 1));
    assert!(place.text().starts_with("{\n  \"version\": 4,\n"));
    assert_eq!(store.export().await.unwrap().unwrap(), place.text().into_bytes());
    assert!(matches!(store.step_batch(&lease, vec![intent(0, 2, 0)]).await.unwrap()[0], StoreAnswer::Fenced(_)));
    drop(store);
    assert!(!place.path().join(".terraform.tfstate.lock.info").exists());
    let runs = place.read().runs().await.unwrap();
    assert_eq!((runs.len(), runs[0].status, runs[0].counts.done), (1, RunStatus::Done, 3));
    let past = &runs[0].past;
    assert_eq!(past.totals, Some(ChangeTotals::of(view.ops.values())), "the summary has them");
    assert_eq!(past.totals.map(|totals| totals.added + totals.changed + totals.destroyed), Some(2), "two had intents");
    assert!(past.ended_unix_ms.is_some() && !past.holder.user.is_empty(), "{past:?}");
    let shown = place.read().run(&run_id("run-a")).await.unwrap().unwrap();
    assert_eq!(shown.header.past, *past, "also where the whole run is read");
    // The next run destroys one instance: the serial grows by one, and the backup has the old file.
    let before = place.text();
    let store = place.open();
    let lease = started(&store, "run-b", 1, &[1]).await;
    assert_all_ok(&store.step_batch(&lease, vec![intent(0, 1, 1), commit(0, 1, 1, None)]).await.unwrap());
    store.release(&lease, TermEnding::Finished).await.unwrap();
    assert_eq!(StateFile::parse(place.text().as_bytes(), "x").unwrap().serial, 2);
    assert_eq!(std::fs::read_to_string(place.path().join("terraform.tfstate.backup")).unwrap(), before);
}

#[tokio::test]
async fn a_file_of_another_tool_is_not_changed() {
    let place = Place::with(RECORDED);
    let store = place.open();
    assert_eq!(store.snapshot().await.unwrap().instances.len(), 4);
    // This run records intents, but changes nothing.
    let lease = started(&store, "run-a", 1, &[0]).await;
    assert_all_ok(&store.step_batch(&lease, vec![intent(0, 1, 0)]).await.unwrap());
    assert_ne!(place.text(), RECORDED);
    assert_eq!(store.export().await.unwrap().unwrap(), RECORDED.as_bytes());
    assert_all_ok(&store.step_batch(&lease, vec![StoreStep::Fail(failure_record(0, 1))]).await.unwrap());
    let ReleaseAnswer::Released(header) = store.release(&lease, TermEnding::Finished).await.unwrap() else { panic!() };
    assert_eq!(header.status, RunStatus::Failed);
    drop(store);
    assert_eq!(place.text(), RECORDED);
    assert!(!place.path().join("terraform.tfstate.backup").exists());
}

#[tokio::test]
async fn a_run_without_changes_leaves_no_file() {
    let place = Place::new();
    drop(place.open());
    assert!(!place.state().exists());
    let store = place.open();
    let lease = started(&store, "run-a", 1, &[0]).await;
    assert_all_ok(&store.step_batch(&lease, vec![intent(0, 1, 0)]).await.unwrap());
    assert_all_ok(&store.step_batch(&lease, vec![StoreStep::Fail(failure_record(0, 1))]).await.unwrap());
    store.release(&lease, TermEnding::Finished).await.unwrap();
    drop(store);
    assert!(!place.state().exists());
}

#[tokio::test]
async fn one_process_and_one_run_at_a_time() {
    let place = Place::new();
    let store = place.open();
    let error = EmbeddedStore::open(place.options()).unwrap_err();
    assert!(matches!(error, StoreError::Locked { .. }), "{error}");
    let lease = started(&store, "run-a", 1, &[0]).await;
    store.create_run(new_run("run-b", 1, 2)).await.unwrap();
    let held = store.acquire(acquire_request("run-b", 9)).await.unwrap();
    assert!(matches!(held, AcquireAnswer::Held(view) if view.holder == holder()));
    assert_eq!(granted(&store, "run-a", 7).await, lease);
    assert_eq!(store.acquire(acquire_request("run-x", 9)).await.unwrap(), AcquireAnswer::NoRun);
    store.release(&lease, TermEnding::Stopped).await.unwrap();
    // The stopped run keeps its claims, and the refusal names it.
    let other = granted(&store, "run-b", 9).await;
    let wanted = claims(&store, [0, 1]).await;
    match store.claim(&other, &wanted).await.unwrap() {
        ClaimAnswer::Refused { held, .. } => {
            assert_eq!(held.len(), 1);
            assert_eq!((held[0].run.as_str(), held[0].holder.machine.as_str()), ("run-a", "loom"));
            assert_eq!(held[0].subject, Subject::Instance(address(0)));
        }
        other => panic!("{other:?}"),
    }
    assert_eq!(store.claim(&other, &wanted[1..]).await.unwrap(), ClaimAnswer::Claimed);
}

#[tokio::test]
async fn readers_see_a_running_run_without_the_lock() {
    let place = Place::with(RECORDED);
    let store = place.open();
    let lease = started(&store, "run-a", 2, &[0]).await;
    assert_all_ok(&store.step_batch(&lease, vec![intent(0, 1, 0), commit(0, 1, 0, Some(1))]).await.unwrap());
    // A second descriptor would release the lock of this process, so it is refused.
    assert!(matches!(place.read().snapshot().await.unwrap_err(), StoreError::Locked { .. }));
    let copied = place.copy();
    let seen = copied.read();
    assert_eq!(seen.snapshot().await.unwrap().instances.len(), 5);
    let view = seen.run(&run_id("run-a")).await.unwrap().unwrap();
    assert_eq!((view.header.counts.done, view.header.counts.pending), (1, 1));
    let error = seen.step_batch(&lease, vec![intent(1, 1, 0)]).await.unwrap_err();
    assert_eq!(error, StoreError::ReadOnly);
    let exported = tfstate::StateFile::parse(&seen.export().await.unwrap().unwrap(), "x").unwrap();
    assert_eq!((exported.instances.len(), exported.serial), (5, 6));
}

#[tokio::test]
async fn terraform_refuses_a_guarded_file() {
    let place = Place::with(RECORDED);
    let store = place.open();
    let lease = started(&store, "run-a", 1, &[0]).await;
    assert_all_ok(&store.step_batch(&lease, vec![intent(0, 1, 0)]).await.unwrap());
    let crashed = place.copy();
    let Ok(answer) = Command::new("terraform").args(["state", "list"]).current_dir(crashed.path()).output() else {
        eprintln!("SKIPPED: no terraform on PATH, so that it refuses a guarded file was not tried");
        return;
    };
    assert!(!answer.status.success());
    drop(store);
    let freed = Place::with(RECORDED);
    let answer = Command::new("terraform").args(["state", "list"]).current_dir(freed.path()).output().unwrap();
    assert!(answer.status.success(), "{}", String::from_utf8_lossy(&answer.stderr));
}

#[tokio::test]
async fn state_out_and_backup_are_written() {
    let place = Place::with(RECORDED);
    let options =
        EmbeddedOptions { state_out: Some(place.path().join("out.tfstate")), backup: Backup::Never, ..place.options() };
    let store = EmbeddedStore::open(options.clone()).unwrap();
    assert_eq!(store.snapshot().await.unwrap().instances.len(), 4);
    let lease = started(&store, "run-a", 1, &[0]).await;
    assert_all_ok(&store.step_batch(&lease, vec![intent(0, 1, 0), commit(0, 1, 0, Some(1))]).await.unwrap());
    store.release(&lease, TermEnding::Finished).await.unwrap();
    drop(store);
    assert_eq!(place.text(), RECORDED);
    let out = std::fs::read(place.path().join("out.tfstate")).unwrap();
    let file = StateFile::parse(&out, "out").unwrap();
    assert_eq!((file.serial, file.instances.len()), (6, 5));
    assert_eq!(file.lineage, StateFile::parse(RECORDED.as_bytes(), "x").unwrap().lineage);
    assert!(!place.path().join("out.tfstate.backup").exists());
}

#[tokio::test]
async fn only_the_last_twenty_finished_runs_are_kept() {
    let place = Place::new();
    let store = place.open();
    for number in 0..23 {
        let id = format!("run-{number:02}");
        store.create_run(new_run(&id, 0, number)).await.unwrap();
        let lease = granted(&store, &id, 1).await;
        store.release(&lease, TermEnding::Finished).await.unwrap();
    }
    let runs = store.runs().await.unwrap();
    assert_eq!((runs.len(), runs[0].id.as_str(), runs[19].id.as_str()), (20, "run-22", "run-03"));
    drop(store);
    assert_eq!(place.read().runs().await.unwrap(), runs);
}

#[tokio::test]
async fn a_failed_run_is_resumed() {
    let place = Place::new();
    let store = place.open();
    let lease = started(&store, "run-a", 2, &[0, 1]).await;
    assert_all_ok(&store.step_batch(&lease, vec![intent(0, 1, 0), commit(0, 1, 0, Some(4))]).await.unwrap());
    assert_all_ok(
        &store.step_batch(&lease, vec![intent(1, 1, 1), StoreStep::Fail(failure_record(1, 1))]).await.unwrap(),
    );
    store.release(&lease, TermEnding::Finished).await.unwrap();
    drop(store);
    let store = place.open();
    let view = store.run(&run_id("run-a")).await.unwrap().unwrap();
    assert_eq!(view.header.status, RunStatus::Failed);
    assert!(view.claims.is_empty());
    let lease = granted(&store, "run-a", 2).await;
    let wanted = [0, 1].map(|index| {
        let subject = Subject::Instance(address(index));
        let expected = view.written.get(&subject).copied().unwrap_or_default();
        Claim { subject, mode: ClaimMode::Exclusive, expected }
    });
    assert_eq!(store.claim(&lease, &wanted).await.unwrap(), ClaimAnswer::Claimed);
    assert!(!store.step_batch(&lease, vec![intent(1, 1, 1)]).await.unwrap()[0].is_ok());
    assert_all_ok(&store.step_batch(&lease, vec![intent(1, 2, 1), commit(1, 2, 1, Some(5))]).await.unwrap());
    let ReleaseAnswer::Released(header) = store.release(&lease, TermEnding::Finished).await.unwrap() else { panic!() };
    assert_eq!(header.status, RunStatus::Done);
    let words: Vec<&str> = store.journal(&run_id("run-a")).await.unwrap().iter().map(|line| line.event).collect();
    assert_eq!(words.iter().filter(|word| **word == "began").count(), 2);
}

#[tokio::test]
async fn plans_are_returned_and_checked() {
    let place = Place::new();
    let store = place.open();
    store.create_run(new_run("run-a", 1, 1)).await.unwrap();
    assert_eq!(store.plan(&run_id("run-a")).await.unwrap().0, b"plan of run-a");
    assert!(matches!(store.create_run(new_run("run-a", 2, 1)).await.unwrap(), CreateAnswer::Exists(_)));
    std::fs::write(place.path().join(".weft/runs/run-a/plan"), "other").unwrap();
    assert!(matches!(store.plan(&run_id("run-a")).await.unwrap_err(), StoreError::Damaged { .. }));
}

#[tokio::test]
async fn a_batch_with_an_invalid_record_is_refused() {
    let place = Place::new();
    let store = place.open();
    let lease = started(&store, "run-a", 2, &[0, 1]).await;
    let mut bad = commit_record(0, 1, 0, Some(1));
    if let Some(record) = &mut bad.writes.instances[0].record {
        record.current = Some(InstanceObject::new(0, RawJson::new("{")));
    }
    let error = store.step_batch(&lease, vec![intent(0, 1, 0), StoreStep::Commit(bad)]).await.unwrap_err();
    assert!(matches!(error, StoreError::Record { .. }), "{error}");
    assert!(store.run(&run_id("run-a")).await.unwrap().unwrap().ops.is_empty());
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn a_batch_shares_one_group() {
    const OPERATIONS: u32 = 20_000;
    const BATCH: u32 = 64;
    const CLIENTS: u32 = 4;
    let place = Place::new();
    let store = place.open();
    let all: Vec<u32> = (0..OPERATIONS).collect();
    let lease = started(&store, "run-a", OPERATIONS, &all).await;
    let before = frames(&std::fs::read(place.journal("run-a", 1)).unwrap());
    let mut clients = Vec::new();
    for client in 0..CLIENTS {
        let (store, lease) = (store.clone(), lease.clone());
        clients.push(tokio::spawn(async move {
            let mine: Vec<u32> = (0..OPERATIONS).filter(|op| op % CLIENTS == client).collect();
            for batch in mine.chunks(BATCH as usize) {
                let intents = batch.iter().map(|op| intent(*op, 1, *op)).collect();
                assert_all_ok(&store.step_batch(&lease, intents).await.unwrap());
                let commits = batch.iter().map(|op| commit(*op, 1, *op, Some(1))).collect();
                assert_all_ok(&store.step_batch(&lease, commits).await.unwrap());
            }
        }));
    }
    for client in clients {
        client.await.unwrap();
    }
    // Each frame is one fsync. Batches that wait for the same fsync may share a frame as well.
    let written = frames(&std::fs::read(place.journal("run-a", 1)).unwrap()) - before;
    let batches = (CLIENTS * 2 * (OPERATIONS / CLIENTS).div_ceil(BATCH)) as usize;
    assert!((1..=batches).contains(&written), "{written} frames for {batches} batches");
    store.release(&lease, TermEnding::Finished).await.unwrap();
}

/// The number of frames in a journal. After the frames, the file has only reserved room.
fn frames(journal: &[u8]) -> usize {
    const HEAD: usize = 20;
    let (mut rest, mut count) = (journal, 0);
    while rest.starts_with(b"WFJ1") {
        let length = u32::from_le_bytes(rest[4..8].try_into().unwrap()) as usize;
        rest = &rest[HEAD + length..];
        count += 1;
    }
    count
}

#[tokio::test]
async fn a_withdrawn_run_leaves_nothing() {
    let place = Place::with(RECORDED);
    let store = place.open();
    let lease = started(&store, "run-a", 1, &[0]).await;
    store.release(&lease, TermEnding::Stopped).await.unwrap();
    store.create_run(new_run("run-b", 1, 2)).await.unwrap();
    let other = granted(&store, "run-b", 9).await;
    let wanted = claims(&store, [0]).await;
    assert!(matches!(store.claim(&other, &wanted).await.unwrap(), ClaimAnswer::Refused { .. }));
    assert!(matches!(store.withdraw(&other).await.unwrap(), ReleaseAnswer::Released(_)));
    assert_eq!(store.runs().await.unwrap().iter().map(|run| run.id.as_str()).collect::<Vec<_>>(), ["run-a"]);
    drop(store);
    assert!(!place.path().join(".weft/runs/run-b").exists());
    assert_eq!(place.read().runs().await.unwrap().len(), 1);
    // A run that has begun an operation stays.
    let store = place.open();
    let lease = granted(&store, "run-a", 11).await;
    let steps = vec![intent(0, 1, 0), StoreStep::Fail(failure_record(0, 1))];
    assert_all_ok(&store.step_batch(&lease, steps).await.unwrap());
    let ReleaseAnswer::Released(header) = store.withdraw(&lease).await.unwrap() else { panic!() };
    assert_eq!((header.status, store.runs().await.unwrap().len()), (RunStatus::Failed, 1));
}

#[tokio::test]
async fn an_abandoned_run_is_marked_until_it_is_resumed() {
    let place = Place::new();
    let store = place.open();
    let lease = started(&store, "run-a", 2, &[0]).await;
    assert_all_ok(&store.step_batch(&lease, vec![intent(0, 1, 0)]).await.unwrap());
    let ReleaseAnswer::Released(header) = store.abandon(&lease).await.unwrap() else { panic!() };
    assert!(header.abandoned);
    drop(store);
    let store = place.open();
    assert!(store.runs().await.unwrap()[0].abandoned);
    granted(&store, "run-a", 9).await;
    assert!(!store.runs().await.unwrap()[0].abandoned);
}

#[tokio::test]
async fn old_finished_runs_are_pruned() {
    let place = Place::new();
    let store = place.open();
    for (id, started_at) in [("run-a", 100), ("run-b", 200)] {
        store.create_run(new_run(id, 0, started_at)).await.unwrap();
        let lease = granted(&store, id, started_at.into()).await;
        store.release(&lease, TermEnding::Finished).await.unwrap();
    }
    let stopped = started(&store, "run-c", 1, &[0]).await;
    store.release(&stopped, TermEnding::Stopped).await.unwrap();
    assert_eq!(store.prune(150).await.unwrap(), [run_id("run-a")]);
    assert_eq!(store.prune(1000).await.unwrap(), [run_id("run-b")]);
    assert_eq!(store.runs().await.unwrap().iter().map(|run| run.id.as_str()).collect::<Vec<_>>(), ["run-c"]);
    assert!(!place.path().join(".weft/runs/run-a").exists());
}

#[tokio::test]
async fn only_the_owner_may_read_the_files() {
    use std::os::unix::fs::PermissionsExt as _;
    let place = Place::new();
    let mode = |path: &str| std::fs::metadata(place.path().join(path)).unwrap().permissions().mode() & 0o777;
    for id in ["run-a", "run-b"] {
        let store = place.open();
        let lease = started(&store, id, 1, &[0]).await;
        let value = if id == "run-a" { 1 } else { 2 };
        assert_all_ok(&store.step_batch(&lease, vec![intent(0, 1, 0), commit(0, 1, 0, Some(value))]).await.unwrap());
        store.release(&lease, TermEnding::Finished).await.unwrap();
    }
    let files =
        ["terraform.tfstate", "terraform.tfstate.backup", ".weft/runs/run-a/plan", ".weft/runs/run-a/journal.1"];
    assert_eq!(files.map(mode), [0o600; 4]);
    assert_eq!(mode(".weft/runs"), 0o700);
    assert_eq!(std::fs::read_to_string(place.path().join(".weft/.gitignore")).unwrap(), "*\n");
}
