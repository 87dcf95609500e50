//! Runs, records and steps for the tests of stores.

#![allow(dead_code)]

use weft_state::*;

pub const PROVIDER: &str = "provider[\"weft.test/sim/cloud\"].by_region[\"eu\"]";

pub fn holder() -> Holder {
    Holder { machine: "loom".to_owned(), process: 42, user: "ann".to_owned() }
}

pub fn run_id(text: &str) -> RunId {
    RunId::parse(text).unwrap()
}

pub fn new_run(id: &str, operations: u32, started: u64) -> NewRun {
    let plan = Opaque(format!("plan of {id}").into_bytes());
    NewRun { id: run_id(id), started_unix_ms: started, operations, plan, starts_now: false }
}

pub fn acquire_request(id: &str, term: u128) -> Acquire {
    Acquire { run: run_id(id), holder: holder(), term, unmoved: None }
}

pub async fn granted(store: &dyn RunStore, id: &str, term: u128) -> Lease {
    match store.acquire(acquire_request(id, term)).await.unwrap() {
        AcquireAnswer::Granted(lease) => lease,
        other => panic!("{other:?}"),
    }
}

pub fn address(index: u32) -> String {
    format!("sim_thing.x[{index}]")
}

/// A record of instance `index`. `content` is a number that distinguishes records.
pub fn record(index: u32, content: u64) -> InstanceRecord {
    let mut record = InstanceRecord::new(address(index).parse().unwrap(), StoredProvider::read(PROVIDER));
    let attributes = format!("{{\"id\": \"thing-{index}\", \"size\": {content}}}");
    record.current = Some(InstanceObject::new(1, RawJson::new(attributes)));
    record
}

pub fn worker() -> WorkerId {
    WorkerId("w1".to_owned())
}

pub fn intent(op: u32, attempt: u32, index: u32) -> StoreStep {
    StoreStep::Intent(Intent {
        op: OpIndex(op),
        attempt: Attempt(attempt),
        worker: worker(),
        target: DoubtKey::current(address(index)),
        action: "create".into(),
        base: None,
        planned: Digest::of(b"planned"),
    })
}

pub fn writes(index: u32, content: Option<u64>) -> Writes {
    let record = content.map(|content| record(index, content));
    Writes { instances: vec![InstanceWrite { address: address(index), record }], ..Writes::default() }
}

pub fn commit_record(op: u32, attempt: u32, index: u32, content: Option<u64>) -> CommitRecord {
    CommitRecord {
        op: OpIndex(op),
        attempt: Attempt(attempt),
        worker: worker(),
        intended: true,
        writes: writes(index, content),
        result: Opaque(vec![1, 2, 3]),
    }
}

pub fn commit(op: u32, attempt: u32, index: u32, content: Option<u64>) -> StoreStep {
    StoreStep::Commit(commit_record(op, attempt, index, content))
}

pub fn failure_record(op: u32, attempt: u32) -> Failure {
    Failure {
        op: OpIndex(op),
        attempt: Attempt(attempt),
        worker: worker(),
        intended: true,
        writes: Writes::default(),
        diagnostics: Opaque(b"no".to_vec()),
        kind: FailureKind::Error,
    }
}

pub fn output_commit(op: u32, attempt: u32, name: &str, value: Option<&str>) -> StoreStep {
    let record = value.map(|value| OutputRecord {
        value: RawJson::new(value),
        value_type: RawJson::new("\"string\""),
        sensitive: false,
        deprecated: None,
    });
    StoreStep::Commit(CommitRecord {
        op: OpIndex(op),
        attempt: Attempt(attempt),
        worker: worker(),
        intended: false,
        writes: Writes { outputs: vec![OutputWrite { name: name.to_owned(), record }], ..Writes::default() },
        result: Opaque::default(),
    })
}

/// Exclusive claims of instances at their current revisions.
pub async fn claims(store: &dyn RunStore, indexes: impl IntoIterator<Item = u32>) -> Vec<Claim> {
    let snapshot = store.snapshot().await.unwrap();
    indexes
        .into_iter()
        .map(|index| {
            let subject = Subject::Instance(address(index));
            Claim { expected: snapshot.revision(&subject), subject, mode: ClaimMode::Exclusive }
        })
        .collect()
}

pub fn assert_all_ok(answers: &[StoreAnswer]) {
    for answer in answers {
        assert!(answer.is_ok(), "{answer:?}");
    }
}
