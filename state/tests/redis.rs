//! The Redis store: required settings, broken connections, lost writes, full memory and many clients.

#[path = "support/redis_server.rs"]
mod redis_server;
mod support;
#[path = "support/sealing.rs"]
mod with_words;

use redis_server::{SAFE, Server};
use support::*;
use weft_state::*;

async fn connect(server: &Server) -> RedisStore {
    RedisStore::connect(&server.url("test"), "default", true, std::sync::Arc::default()).await.unwrap()
}

async fn started(store: &RedisStore, id: &str, operations: u32, indexes: &[u32]) -> Lease {
    assert_eq!(store.create_run(new_run(id, operations, 1)).await.unwrap(), CreateAnswer::Created);
    let lease = granted(store, id, 7).await;
    let wanted = claims(store, indexes.iter().copied()).await;
    assert_eq!(store.claim(&lease, &wanted).await.unwrap(), ClaimAnswer::Claimed);
    lease
}

#[tokio::test]
async fn each_required_setting_is_named() {
    for (name, bad) in [("appendonly", "no"), ("appendfsync", "everysec"), ("maxmemory-policy", "allkeys-lru")] {
        let settings = SAFE.map(|(known, good)| (known, if known == name { bad } else { good }));
        let Some(server) = Server::with(settings.to_vec()) else { return };
        let error =
            RedisStore::connect(&server.url("test"), "default", true, std::sync::Arc::default()).await.unwrap_err();
        let text = error.to_string();
        assert!(matches!(error, StoreError::Unfit(_)), "{text}");
        let good = SAFE.iter().find(|(known, _)| *known == name).unwrap().1;
        assert!(text.contains(&format!("CONFIG SET {name} {good}")), "{text}");
        // The setting that the message advises works.
        server.command(&["CONFIG", "SET", name, good]);
        RedisStore::connect(&server.url("test"), "default", true, std::sync::Arc::default()).await.unwrap();
    }
}

#[tokio::test]
async fn unsupported_addresses_are_refused() {
    for (url, expected) in [
        ("redis://localhost/0", "state=NAME is missing"),
        ("redis://192.0.2.1/0?state=a", "not on this machine"),
        ("rediss://192.0.2.1/0?state=a", "no password is given"),
    ] {
        let error = RedisStore::connect(url, "default", true, std::sync::Arc::default()).await.unwrap_err().to_string();
        assert!(error.contains(expected), "{error}");
    }
}

#[tokio::test]
async fn a_missing_meta_record_is_an_error() {
    let Some(server) = Server::start() else { return };
    let error =
        RedisStore::connect(&server.url("test"), "default", false, std::sync::Arc::default()).await.unwrap_err();
    assert!(matches!(error, StoreError::NoState(_)), "{error}");
    let store = connect(&server).await;
    let lease = started(&store, "run-a", 1, &[0]).await;
    RedisStore::connect(&server.url("test"), "default", false, std::sync::Arc::default()).await.unwrap();
    server.command(&["DEL", "weft:{test/default}:meta"]);
    let error = RedisStore::connect(&server.url("test"), "default", true, std::sync::Arc::default()).await.unwrap_err();
    assert!(matches!(error, StoreError::Damaged { .. }), "{error}");
    let answers = store.step_batch(&lease, vec![intent(0, 1, 0)]).await.unwrap();
    assert!(matches!(answers[0], StoreAnswer::Fenced(Fenced::Incarnation { .. })), "{answers:?}");
}

#[tokio::test]
async fn a_run_is_journalled_and_exported() {
    let Some(server) = Server::start() else { return };
    let store = connect(&server).await;
    assert_eq!(store.export().await.unwrap(), None);
    let lease = started(&store, "run-a", 3, &[0, 1]).await;
    let steps = vec![
        intent(0, 1, 0),
        intent(1, 1, 1),
        commit(0, 1, 0, Some(5)),
        commit(1, 1, 1, Some(6)),
        output_commit(2, 1, "o", Some("\"v\"")),
    ];
    let first = store.step_batch(&lease, steps.clone()).await.unwrap();
    assert_all_ok(&first);
    // The whole batch is sent again, as after a lost reply. The revisions are the same, and nothing is done twice.
    for (again, first) in store.step_batch(&lease, steps).await.unwrap().into_iter().zip(first) {
        let StoreAnswer::Ok { revisions: known, .. } = first else { panic!() };
        assert_eq!(again, StoreAnswer::Ok { revisions: known, repeated: true });
    }
    assert_eq!(store.snapshot().await.unwrap().serial, 3);
    // A second store on the same server sees the run, but cannot claim the same instances.
    let other = connect(&server).await;
    other.create_run(new_run("run-b", 1, 2)).await.unwrap();
    let second = granted(&other, "run-b", 9).await;
    let wanted = claims(&other, [0]).await;
    match other.claim(&second, &wanted).await.unwrap() {
        ClaimAnswer::Refused { held, stale, doubts } => {
            assert!(stale.is_empty() && doubts.is_empty());
            assert_eq!((held[0].run.as_str(), &held[0].holder), ("run-a", &holder()));
        }
        answer => panic!("{answer:?}"),
    }
    let ReleaseAnswer::Released(header) = store.release(&lease, TermEnding::Finished).await.unwrap() else { panic!() };
    assert_eq!((header.status, header.counts.done), (RunStatus::Done, 3));
    assert_eq!(other.claim(&second, &wanted).await.unwrap(), ClaimAnswer::Claimed);
    let text = store.export().await.unwrap().unwrap();
    let file = tfstate::StateFile::parse(&text, "export").unwrap();
    assert_eq!((file.instances.len(), file.outputs.len(), file.to_bytes() == text), (2, 1, true));
    assert_eq!(store.plan(&run_id("run-a")).await.unwrap().0, b"plan of run-a");
    let lines = store.journal(&run_id("run-a")).await.unwrap();
    let words: Vec<&str> = lines.iter().map(|line| line.event).collect();
    assert_eq!(words, ["began", "claimed", "intent", "intent", "commit", "commit", "commit", "ended"]);
    let tip = store.tip(&run_id("run-a")).await.unwrap();
    assert_eq!((tip.sequence, tip.hash), (8, lines[7].hash));
    let runs = store.runs().await.unwrap();
    assert_eq!(runs.iter().map(|run| run.id.as_str()).collect::<Vec<_>>(), ["run-b", "run-a"]);
    assert!(runs[0].lease.as_ref().unwrap().age_ms.is_some());
}

#[tokio::test]
async fn only_a_lease_without_heartbeats_is_taken_over() {
    let Some(server) = Server::start() else { return };
    let store = connect(&server).await;
    let lease = started(&store, "run-a", 1, &[0]).await;
    let AcquireAnswer::Held(seen) = store.acquire(acquire_request("run-a", 8)).await.unwrap() else { panic!() };
    assert_eq!(store.renew(&lease).await.unwrap(), RenewAnswer::Renewed { heartbeat: 1 });
    let late = Acquire { unmoved: Some(seen), ..acquire_request("run-a", 8) };
    let AcquireAnswer::Held(seen) = store.acquire(late).await.unwrap() else { panic!() };
    let now = Acquire { unmoved: Some(seen), ..acquire_request("run-a", 8) };
    assert!(matches!(store.acquire(now).await.unwrap(), AcquireAnswer::Granted(_)));
    assert!(matches!(store.renew(&lease).await.unwrap(), RenewAnswer::Fenced(Fenced::Token { now: Some(_) })));
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn a_server_killed_at_random_moments_loses_nothing_acknowledged() {
    let Some(mut server) = Server::start() else { return };
    let store = connect(&server).await;
    let all: Vec<u32> = (0..400).collect();
    let lease = started(&store, "run-a", 400, &all).await;
    let worker = {
        let (store, lease) = (store.clone(), lease.clone());
        tokio::spawn(async move {
            for op in 0..400 {
                let steps = vec![intent(op, 1, op), commit(op, 1, op, Some(u64::from(op)))];
                assert_all_ok(&store.step_batch(&lease, steps).await.unwrap());
            }
        })
    };
    for _ in 0..4 {
        tokio::time::sleep(std::time::Duration::from_millis(60)).await;
        tokio::task::block_in_place(|| server.restart());
    }
    worker.await.unwrap();
    let snapshot = store.snapshot().await.unwrap();
    assert_eq!(snapshot.instances.len(), 400);
    assert_eq!(snapshot.serial, 400);
    let lines = store.journal(&run_id("run-a")).await.unwrap();
    assert_eq!(lines.iter().filter(|line| line.event == "commit").count(), 400);
}

#[tokio::test]
async fn lost_writes_freeze_the_store() {
    let Some(mut server) = Server::start() else { return };
    let store = connect(&server).await;
    let lease = started(&store, "run-a", 2, &[0, 1]).await;
    assert_all_ok(&store.step_batch(&lease, vec![intent(0, 1, 0), commit(0, 1, 0, Some(1))]).await.unwrap());
    server.command(&["RPOP", "weft:{test/default}:run:run-a:journal"]);
    server.restart();
    let error = store.step_batch(&lease, vec![intent(1, 1, 1)]).await.unwrap_err();
    assert!(matches!(error, StoreError::LostWrites { sequence: 3, .. }), "{error}");
    assert!(store.snapshot().await.is_err());
}

#[tokio::test]
async fn full_memory_refuses_before_writing() {
    let Some(server) = Server::start() else { return };
    let store = connect(&server).await;
    let lease = started(&store, "run-a", 2, &[0]).await;
    server.command(&["CONFIG", "SET", "maxmemory", "1"]);
    let error = store.step_batch(&lease, vec![intent(0, 1, 0)]).await.unwrap_err();
    assert!(matches!(&error, StoreError::Refused { error, .. } if error.contains("OOM")), "{error}");
    server.command(&["CONFIG", "SET", "maxmemory", "0"]);
    assert!(store.run(&run_id("run-a")).await.unwrap().unwrap().ops.is_empty());
    assert_all_ok(&store.step_batch(&lease, vec![intent(0, 1, 0)]).await.unwrap());
}

#[tokio::test]
async fn an_unreachable_server_is_reported() {
    let Some(mut server) = Server::start() else { return };
    let url = server.url("test");
    server.kill();
    let error = RedisStore::connect(&url, "default", true, std::sync::Arc::default()).await.unwrap_err();
    assert!(matches!(error, StoreError::Unreachable { .. }), "{error}");
}

#[tokio::test]
async fn many_claims_and_runs_are_bounded() {
    let Some(server) = Server::start() else { return };
    let store = connect(&server).await;
    let all: Vec<u32> = (0..5_000).collect();
    let lease = started(&store, "run-a", 0, &all).await;
    assert_eq!(store.run(&run_id("run-a")).await.unwrap().unwrap().claims.len(), 5_000);
    store.release(&lease, TermEnding::Finished).await.unwrap();
    assert!(store.run(&run_id("run-a")).await.unwrap().unwrap().claims.is_empty());
    for number in 0..22 {
        let id = format!("run-{number:02}");
        store.create_run(new_run(&id, 0, 10 + number)).await.unwrap();
        let lease = granted(&store, &id, 1).await;
        store.release(&lease, TermEnding::Finished).await.unwrap();
    }
    let runs = store.runs().await.unwrap();
    assert_eq!((runs.len(), runs[0].id.as_str(), runs[19].id.as_str()), (20, "run-21", "run-02"));
    assert!(matches!(store.plan(&run_id("run-a")).await.unwrap_err(), StoreError::NoRun(_)));
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn pipelined_steps_of_many_clients_are_all_committed() {
    const OPERATIONS: u32 = 10_000;
    let Some(server) = Server::start() else { return };
    let store = connect(&server).await;
    let all: Vec<u32> = (0..OPERATIONS).collect();
    let lease = started(&store, "run-a", OPERATIONS, &all).await;
    let mut clients = Vec::new();
    for client in 0..4 {
        let (store, lease) = (store.clone(), lease.clone());
        clients.push(tokio::spawn(async move {
            let mine: Vec<u32> = (0..OPERATIONS).filter(|op| op % 4 == client).collect();
            for batch in mine.chunks(64) {
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
    let run = store.run(&run_id("run-a")).await.unwrap().unwrap();
    let done = run.ops.values().filter(|op| op.status == OpStatus::Done).count();
    assert_eq!(done, OPERATIONS as usize);
}

#[tokio::test]
async fn a_state_that_moves_to_encryption_leaves_nothing_unencrypted() {
    let Some(server) = Server::start() else { return };
    let open = connect(&server).await;
    open.create_run(new_run("run-a", 2, 1)).await.unwrap();
    let lease = granted(&open, "run-a", 7).await;
    let wanted = claims(&open, 0..2).await;
    assert_eq!(open.claim(&lease, &wanted).await.unwrap(), ClaimAnswer::Claimed);
    let steps = vec![intent(0, 1, 0), intent(1, 1, 1), commit(0, 1, 0, Some(5)), commit(1, 1, 1, Some(6))];
    assert_all_ok(&open.step_batch(&lease, steps).await.unwrap());
    open.release(&lease, TermEnding::Finished).await.unwrap();
    let url = server.url("test");
    let with = async |sealing| RedisStore::connect(&url, "default", true, sealing).await.unwrap();
    let error = with(with_words::sealing("words for the server", false)).await.snapshot().await.unwrap_err();
    assert!(matches!(error, StoreError::Unopened { .. }), "{error}");
    let migrating = with(with_words::sealing("words for the server", true)).await;
    migrating.reseal().await.unwrap();
    let before = open.snapshot().await.unwrap_err();
    assert!(matches!(before, StoreError::Unopened { .. }), "{before}");
    let sealed = with(with_words::sealing("words for the server", false)).await;
    let snapshot = sealed.snapshot().await.unwrap();
    assert_eq!(snapshot.instances.len(), 2);
    sealed.reseal().await.unwrap();
    assert_eq!(sealed.snapshot().await.unwrap().serial, snapshot.serial, "once is enough");
}

/// A run that is stopped after two results, an intent in doubt and a failure, ready to be taken over.
async fn stopped(server: &Server) -> RedisStore {
    let store = connect(server).await;
    let lease = started(&store, "run-a", 5, &[0, 1, 2]).await;
    let steps = vec![
        intent(0, 1, 0),
        intent(1, 1, 1),
        commit(0, 1, 0, Some(5)),
        commit(1, 1, 1, Some(6)),
        intent(2, 1, 2),
        StoreStep::Doubt { op: OpIndex(2), attempt: Attempt(1), reason: "its worker is gone".to_owned() },
        StoreStep::Skip { op: OpIndex(3), because: OpIndex(2) },
        StoreStep::Reopen { op: OpIndex(3) },
        output_commit(4, 1, "o", Some("\"v\"")),
        StoreStep::Checks(Writes { checks: Some(Some(Vec::new())), ..Writes::default() }),
    ];
    assert_all_ok(&store.step_batch(&lease, steps).await.unwrap());
    assert!(matches!(store.release(&lease, TermEnding::Stopped).await.unwrap(), ReleaseAnswer::Released(_)));
    store
}

const RUN: &str = "weft:{test/default}:run:run-a";
const JOURNAL: &str = "weft:{test/default}:run:run-a:journal";

#[tokio::test]
async fn a_run_whose_records_were_changed_is_frozen() {
    let other_op = "is not the one that its journal names";
    type Change = fn(&Server);
    let cases: [(Change, &str); 9] = [
        (|server| drop(server.ask(&["HDEL", RUN, "op:1"])), "the record of operation 1 is missing"),
        (
            |server| {
                // Two results are exchanged.
                let [first, second] = ["op:0", "op:1"].map(|op| server.ask(&["HGET", RUN, op]));
                server.command(&["HSET", RUN, "op:0", &second, "op:1", &first]);
            },
            other_op,
        ),
        (
            |server| {
                let value = server.ask(&["HGET", RUN, "op:2"]);
                server.command(&["HSET", RUN, "op:2", &format!("{}\n", value.replacen('Q', "D", 1))]);
            },
            "operation 2 (sim_thing.x[2]) is not the one that its journal names",
        ),
        (
            |server| {
                let value = server.ask(&["HGET", RUN, "op:2"]);
                server.command(&["HSET", RUN, "op:2", &format!("{}\n", value.replacen("x[2]", "x[1]", 1))]);
            },
            other_op,
        ),
        (|server| drop(server.ask(&["HSET", RUN, "op:9", "P 0 - - - - -"])), "operation 9"),
        (|server| drop(server.ask(&["HSET", RUN, "done", "2"])), "operations that are done is 2 in its header, but 3"),
        (
            |server| {
                // A line is removed from the middle.
                let line = server.ask(&["LINDEX", JOURNAL, "3"]);
                server.command(&["LREM", JOURNAL, "1", &line]);
            },
            "line 4 of its journal was changed, or does not follow from the previous line",
        ),
        (
            |server| {
                let line = server.ask(&["LINDEX", JOURNAL, "2"]);
                server.command(&["LSET", JOURNAL, "2", &line.replacen(" intent 0 ", " intent 3 ", 1)]);
            },
            "line 3 of its journal was changed",
        ),
        (|server| drop(server.ask(&["RPOP", JOURNAL])), "its journal does not end at the line that its header names"),
    ];
    for (change, reason) in cases {
        let Some(server) = Server::start() else { return };
        stopped(&server).await;
        change(&server);
        let store = connect(&server).await;
        for term in [8, 9] {
            // The run stays frozen, for every holder.
            let error = store.acquire(acquire_request("run-a", term)).await.unwrap_err();
            let StoreError::Frozen { what, .. } = &error else { panic!("{reason}: {error}") };
            assert!(what.contains(reason), "{what}");
        }
        // The user abandons the run.
        assert!(store.thaw(&run_id("run-a")).await.unwrap().unwrap().contains(reason));
        granted(&store, "run-a", 10).await;
    }
}

#[tokio::test]
async fn a_run_with_its_records_is_taken_over() {
    let Some(server) = Server::start() else { return };
    let store = stopped(&server).await;
    let lease = granted(&store, "run-a", 8).await;
    let strays = (0..2).map(|number| {
        StoreStep::Stray(Stray {
            op: OpIndex(0),
            attempt: Attempt(number),
            key: DoubtKey::current(address(0)),
            worker: worker(),
            object: record(0, 5).current,
        })
    });
    assert_all_ok(&store.step_batch(&lease, strays.collect()).await.unwrap());
    assert!(matches!(store.release(&lease, TermEnding::Stopped).await.unwrap(), ReleaseAnswer::Released(_)));
    granted(&store, "run-a", 9).await;
    // One of the strays is removed.
    let second = connect(&server).await;
    let names = server.ask(&["HKEYS", &format!("{RUN}:strays")]);
    server.command(&["HDEL", &format!("{RUN}:strays"), names.lines().next().unwrap()]);
    let AcquireAnswer::Held(seen) = second.acquire(acquire_request("run-a", 10)).await.unwrap() else { panic!() };
    let request = Acquire { unmoved: Some(seen), ..acquire_request("run-a", 10) };
    let error = second.acquire(request).await.unwrap_err();
    assert!(error.to_string().contains("the objects of superseded attempts are not those"), "{error}");
}

#[tokio::test]
async fn runs_of_earlier_versions_are_taken_over() {
    let Some(server) = Server::start() else { return };
    stopped(&server).await;
    // Earlier versions wrote lines without the last two words.
    let lines: usize = server.ask(&["LLEN", JOURNAL]).parse().unwrap();
    for number in 0..lines {
        let line = server.ask(&["LINDEX", JOURNAL, &number.to_string()]);
        let short = line.rsplitn(3, ' ').last().unwrap().to_owned();
        server.command(&["LSET", JOURNAL, &number.to_string(), &short]);
    }
    let store = connect(&server).await;
    granted(&store, "run-a", 8).await;
    assert_eq!(store.journal(&run_id("run-a")).await.unwrap().len(), lines + 1);
    // A missing record is detected without digests, too.
    server.command(&["HDEL", RUN, "op:1"]);
    let second = connect(&server).await;
    let AcquireAnswer::Held(seen) = second.acquire(acquire_request("run-a", 10)).await.unwrap() else { panic!() };
    let request = Acquire { unmoved: Some(seen), ..acquire_request("run-a", 10) };
    assert!(matches!(second.acquire(request).await.unwrap_err(), StoreError::Frozen { .. }));
}
