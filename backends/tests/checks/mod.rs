//! Checks that every backend with objects and locks must pass. The integration tests of the backends share them.

// Each test uses only some of these functions.
#![allow(dead_code)]

use std::process::{Child, Command, Stdio};
use std::sync::Arc;
use std::sync::atomic::{AtomicU16, Ordering};
use std::time::{Duration, Instant};

use bytes::Bytes;
use weft_state::remote::{Backend, Expected, LockAnswer, LockInfo, ObjectVersion, Objects, RemoteState, Written};

/// A server for a test. It is stopped when dropped.
pub struct Server {
    child: Child,
    pub port: u16,
}

impl Drop for Server {
    fn drop(&mut self) {
        let _ = self.child.kill();
        let _ = self.child.wait();
    }
}

impl Server {
    /// Starts the program that the environment variable `variable` names, or `name` if the variable is not set.
    /// `{port}` in the arguments is replaced by the port. `None`, with a loud message, if the program does not exist.
    pub async fn start(variable: &str, name: &str, arguments: &[&str], variables: &[(&str, &str)]) -> Option<Server> {
        let program = std::env::var(variable).unwrap_or_else(|_| name.to_owned());
        // Another process may take the port before the server does. The test must not mistake the responses of that
        // process for responses of the server.
        for _ in 0..PORTS_TRIED {
            let port = free_port();
            let mut command = Command::new(&program);
            command.args(arguments.iter().map(|argument| argument.replace("{port}", &port.to_string())));
            command.envs(variables.iter().copied()).stdout(Stdio::null()).stderr(Stdio::null());
            let Ok(child) = command.spawn() else {
                eprintln!("\n*** SKIPPED: no {name} on PATH and no {variable}, this was NOT tested ***\n");
                return None;
            };
            let mut server = Server { child, port };
            if server.listens().await {
                return Some(server);
            }
        }
        panic!("{name} does not start");
    }

    /// Waits until the server listens. Returns false if the server ends before that.
    async fn listens(&mut self) -> bool {
        let begin = Instant::now();
        while tokio::net::TcpStream::connect(("127.0.0.1", self.port)).await.is_err() {
            assert!(begin.elapsed() < START_WITHIN, "the server does not listen");
            if self.child.try_wait().unwrap().is_some() {
                return false;
            }
            tokio::time::sleep(Duration::from_millis(100)).await;
        }
        // If another process already listens on the port, the server ends after a short time.
        tokio::time::sleep(Duration::from_millis(100)).await;
        let listens = tokio::net::TcpStream::connect(("127.0.0.1", self.port)).await.is_ok();
        listens && self.child.try_wait().unwrap().is_none()
    }
}

const PORTS_TRIED: usize = 5;
const START_WITHIN: Duration = Duration::from_secs(60);

/// The ports of servers. They are below the range for outgoing connections (from 32768 on Linux). In that range, a
/// client may take a port before the server does. A client that connects to a free port in that range can even reach
/// itself.
const PORTS: std::ops::Range<u16> = 12_000..20_000;

/// A free port that no other test of this process has used. Tests run concurrently, so a server that starts late could
/// find another server on its port.
pub fn free_port() -> u16 {
    static NEXT: AtomicU16 = AtomicU16::new(0);
    loop {
        // Each process begins at a different port.
        let at = NEXT.fetch_add(1, Ordering::Relaxed).wrapping_add((std::process::id() as u16).wrapping_mul(31));
        let port = PORTS.start + at % (PORTS.end - PORTS.start);
        if std::net::TcpListener::bind(("127.0.0.1", port)).is_ok() {
            return port;
        }
    }
}

/// The id of a lock. Some services accept only ids of this form.
pub fn id(number: u32) -> String {
    format!("00000000-0000-4000-8000-{number:012}")
}

/// The information about a lock with this id.
pub fn info(id: &str) -> LockInfo {
    LockInfo { id: id.to_owned(), operation: "OperationTypeApply".to_owned(), ..LockInfo::default() }
}

/// The version that a write created. Panics if the write failed.
pub fn done(written: Written) -> ObjectVersion {
    match written {
        Written::Done(version) => version,
        Written::Conflict => panic!("a conflict"),
    }
}

/// The information about the new lock. Panics if the lock was not taken.
pub fn locked(answer: LockAnswer) -> LockInfo {
    match answer {
        LockAnswer::Locked(info) => info,
        LockAnswer::Held { message, .. } => panic!("{message}"),
    }
}

/// The holder of the lock. Panics if the lock was taken.
pub fn held(answer: LockAnswer) -> LockInfo {
    match answer {
        LockAnswer::Held { holder, .. } => holder,
        LockAnswer::Locked(_) => panic!("locked twice"),
    }
}

/// Checks writes of a document that does not exist at first. A write takes effect only if the version of the document
/// is the expected version.
pub async fn documents(state: &dyn RemoteState) {
    let write = async |content: &'static str, expected: &Expected| {
        state.write(Bytes::from(content), expected, None).await.unwrap()
    };
    assert_eq!(state.read().await.unwrap(), None);
    let other = Expected::Version(ObjectVersion("1".to_owned()));
    assert_eq!(write("{}", &other).await, Written::Conflict);
    let first = done(write("{}", &Expected::Absent).await);
    assert_eq!(write("[]", &Expected::Absent).await, Written::Conflict);
    let read = state.read().await.unwrap().unwrap();
    assert_eq!((read.content, read.version), (Bytes::from("{}"), first.clone()));
    let second = done(write("{2}", &Expected::Version(first.clone())).await);
    assert_ne!(first, second);
    assert_eq!(write("{3}", &Expected::Version(first)).await, Written::Conflict);
    assert_eq!(state.read().await.unwrap().unwrap().content, Bytes::from("{2}"));
}

/// Checks writes of a document under its lock, both for a new and for an existing document. A version that was read
/// without the lock stays valid.
pub async fn documents_under_locks(state: &dyn RemoteState) {
    let lock = locked(state.lock(&info(&id(1))).await.unwrap());
    assert_eq!(state.read().await.unwrap(), None);
    let first = done(state.write(Bytes::from("{}"), &Expected::Absent, Some(&lock.id)).await.unwrap());
    state.unlock(&lock.id).await.unwrap();
    let read = state.read().await.unwrap().unwrap();
    assert_eq!(read.version, first);
    let lock = locked(state.lock(&info(&id(2))).await.unwrap());
    let expected = Expected::Version(first);
    done(state.write(Bytes::from("{2}"), &expected, Some(&lock.id)).await.unwrap());
    assert_eq!(state.write(Bytes::from("{3}"), &expected, Some(&lock.id)).await.unwrap(), Written::Conflict);
    assert_eq!(held(state.lock(&info(&id(3))).await.unwrap()).asked(), id(2));
    state.unlock(&lock.id).await.unwrap();
}

/// Checks that a lock has one holder, and that the holder can release it.
pub async fn one_holder(state: &dyn RemoteState) {
    let first = locked(state.lock(&info(&id(1))).await.unwrap());
    assert_eq!(held(state.lock(&info(&id(2))).await.unwrap()).id, first.id);
    let second = locked(state.take_over(&first, &info(&id(3))).await.unwrap());
    assert_eq!(held(state.lock(&info(&id(2))).await.unwrap()).id, second.id);
    state.unlock(&second.id).await.unwrap();
    assert!(state.unlock(&second.id).await.is_err());
}

/// Checks locks. A lock has one holder. Only the lock of a dead holder is taken over, and a lock is released only with
/// its own id.
pub async fn locks(state: &dyn RemoteState) {
    assert!(state.locks());
    let first = locked(state.lock(&info(&id(1))).await.unwrap());
    assert_eq!(first.asked(), id(1));
    assert!(!first.path.is_empty());
    let holder = held(state.lock(&info(&id(2))).await.unwrap());
    assert_eq!((&holder.id, &holder.operation, &holder.path), (&first.id, &first.operation, &first.path));
    assert!(state.unlock(&id(2)).await.is_err());
    let absent = LockInfo { id: "1234".to_owned(), ..info("") };
    assert_eq!(held(state.take_over(&absent, &info(&id(3))).await.unwrap()).id, first.id);
    let second = locked(state.take_over(&first, &info(&id(3))).await.unwrap());
    assert!(state.unlock(&first.id).await.is_err());
    assert_eq!(held(state.take_over(&first, &info(&id(4))).await.unwrap()).id, second.id);
    state.unlock(&second.id).await.unwrap();
    assert!(state.unlock(&second.id).await.is_err());
    // `take_over` also succeeds if the dead holder no longer has the lock, and the lock is free.
    let third = locked(state.take_over(&second, &info(&id(4))).await.unwrap());
    state.unlock(&third.id).await.unwrap();
}

/// Checks that only one of several concurrent processes gets the lock.
pub async fn contended_locks(state: &Arc<dyn RemoteState>) {
    let mut tasks = tokio::task::JoinSet::new();
    for number in 1..=6 {
        let state = Arc::clone(state);
        tasks.spawn(async move { state.lock(&info(&id(number))).await.unwrap() });
    }
    let mut winners = Vec::new();
    while let Some(answer) = tasks.join_next().await {
        if let LockAnswer::Locked(info) = answer.unwrap() {
            winners.push(info);
        }
    }
    assert_eq!(winners.len(), 1, "{winners:?}");
    let holder = held(state.lock(&info(&id(9))).await.unwrap());
    assert_eq!(holder.id, winners[0].id);
    state.unlock(&holder.id).await.unwrap();
}

/// Checks that workspaces are listed. Deleting a workspace must also delete its lock and the objects beside its state.
/// `deletes_default` is the expected error when the workspace `default` is deleted.
pub async fn workspaces(backend: &dyn Backend, deletes_default: &str) {
    assert_eq!(backend.workspaces().await.unwrap(), ["default"]);
    for name in ["default", "b", "a & b"] {
        let state = backend.state(name).unwrap();
        let lock = locked(state.lock(&info(&id(1))).await.unwrap());
        done(state.write(Bytes::from("{}"), &Expected::Absent, Some(&lock.id)).await.unwrap());
        done(state.objects().unwrap().create("journal/1", Bytes::from("x")).await.unwrap());
        state.unlock(&lock.id).await.unwrap();
    }
    assert_eq!(backend.workspaces().await.unwrap(), ["default", "a & b", "b"]);
    backend.delete_workspace("b").await.unwrap();
    let deleted = backend.state("b").unwrap();
    assert_eq!(deleted.read().await.unwrap(), None);
    assert_eq!(deleted.objects().unwrap().list("").await.unwrap(), Vec::<String>::new());
    assert_eq!(backend.workspaces().await.unwrap(), ["default", "a & b"]);
    let error = backend.delete_workspace("default").await.unwrap_err();
    assert_eq!(error.to_string(), deletes_default);
}

/// Checks that an object is created only once, and that listings are complete. `many` is more than the service lists in
/// one response.
pub async fn objects(objects: &Arc<dyn Objects>, many: usize) {
    done(objects.create("lease", Bytes::from("1")).await.unwrap());
    assert_eq!(objects.create("lease", Bytes::from("1")).await.unwrap(), Written::Conflict);
    assert_eq!(objects.read("lease").await.unwrap().unwrap().content, Bytes::from("1"));
    let names: Vec<String> = (0..many).map(|number| format!("run/{number:05}")).collect();
    for part in names.chunks(20) {
        let mut tasks = tokio::task::JoinSet::new();
        for name in part {
            let (objects, name) = (Arc::clone(objects), name.clone());
            tasks.spawn(async move { objects.put(&name, Bytes::from("x")).await.unwrap() });
        }
        tasks.join_all().await;
    }
    assert_eq!(objects.list("run/").await.unwrap(), names);
    assert_eq!(objects.list("run/0000").await.unwrap().len(), many.min(10));
    objects.remove(&names).await.unwrap();
    objects.remove(&names[..2]).await.unwrap();
    assert_eq!(objects.list("").await.unwrap(), ["lease"]);
    assert_eq!(objects.read("run/00001").await.unwrap(), None);
}
