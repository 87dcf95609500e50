//! The backend `consul` with Consul, or with the small server in `tests/cases`.
#![cfg(feature = "consul")]

use std::path::Path;
use std::process::{Child, Command, Stdio};
use std::sync::Arc;
use std::time::{Duration, Instant};

use bytes::Bytes;
use serde_json::{Value, json};
use weft_backends::catalog::connect;
use weft_backends::client::{ClientSettings, client};
use weft_state::remote::{Backend, BackendError, Expected, LockAnswer, LockInfo, ObjectVersion, RemoteState, Written};

struct Server {
    child: Child,
    folder: std::path::PathBuf,
    address: String,
}

impl Drop for Server {
    fn drop(&mut self) {
        let _ = self.child.kill();
        let _ = self.child.wait();
        let _ = std::fs::remove_dir_all(&self.folder);
    }
}

/// Starts the small server, with a Unix socket. `None`, with a loud message, if it cannot be started.
async fn server(name: &str, more: &[&str]) -> Option<Server> {
    let folder = std::env::temp_dir().join(format!("weft-consul-{name}-{}", std::process::id()));
    std::fs::create_dir_all(&folder).unwrap();
    let script = Path::new(env!("CARGO_MANIFEST_DIR")).join("../tests/cases/consul_server.py");
    let port = folder.join("port");
    let mut command = Command::new("python3");
    command.arg(script).arg("--port-file").arg(&port).arg("--socket").arg(folder.join("socket")).args(more);
    let Ok(child) = command.stdout(Stdio::null()).spawn() else {
        eprintln!("\n*** SKIPPED: no python3, the backend consul was NOT tested ***\n");
        return None;
    };
    let mut server = Server { child, folder, address: String::new() };
    let begin = Instant::now();
    while !port.exists() {
        assert!(begin.elapsed() < Duration::from_secs(30), "the server does not start");
        tokio::time::sleep(Duration::from_millis(50)).await;
    }
    server.address = format!("127.0.0.1:{}", std::fs::read_to_string(&port).unwrap());
    Some(server)
}

fn backend(address: &str, more: Value) -> Arc<dyn Backend> {
    let mut config = json!({"path": "team/app", "address": address, "access_token": "very-secret"});
    for (name, value) in more.as_object().unwrap() {
        config[name] = value.clone();
    }
    let backend = connect("consul", config.as_object().unwrap(), &|_| None).unwrap().backend;
    assert!(!format!("{backend:?}").contains("very-secret"));
    backend
}

async fn ask(server: &Server, method: reqwest::Method, path: &str) -> Value {
    let http = client(&ClientSettings::default()).unwrap();
    let answer = http.request(method, format!("http://{}/{path}", server.address)).send().await.unwrap();
    serde_json::from_slice(&answer.bytes().await.unwrap()).unwrap_or_default()
}

async fn keys(server: &Server) -> Vec<String> {
    let keys = ask(server, reqwest::Method::GET, "v1/kv/?keys").await;
    keys.as_array().into_iter().flatten().map(|key| key.as_str().unwrap().to_owned()).collect()
}

fn info(id: &str) -> LockInfo {
    let (operation, who) = ("OperationTypeApply".to_owned(), "ann@host".to_owned());
    LockInfo { id: id.to_owned(), operation, who, ..LockInfo::default() }
}

fn done(written: Written) -> ObjectVersion {
    match written {
        Written::Done(version) => version,
        Written::Conflict => panic!("a conflict"),
    }
}

async fn locked(state: &Arc<dyn RemoteState>, id: &str) -> LockInfo {
    match state.lock(&info(id)).await.unwrap() {
        LockAnswer::Locked(info) => info,
        LockAnswer::Held { holder, message } => panic!("{message}: {holder:?}"),
    }
}

async fn holder(state: &Arc<dyn RemoteState>, id: &str) -> LockInfo {
    match state.lock(&info(id)).await.unwrap() {
        LockAnswer::Held { holder, .. } => holder,
        LockAnswer::Locked(_) => panic!("locked twice"),
    }
}

#[tokio::test]
async fn states_are_written_if_they_are_as_expected() {
    let Some(server) = server("states", &[]).await else { return };
    for (path, settings) in [("plain", json!({})), ("small/", json!({"gzip": true}))] {
        let mut settings = settings;
        settings["path"] = json!(path);
        let state = backend(&server.address, settings).state("default").unwrap();
        assert_eq!(state.place(), format!("consul://{}/{path}", server.address));
        assert_eq!(state.read().await.unwrap(), None);
        let first = done(state.write(Bytes::from("{}"), &Expected::Absent, None).await.unwrap());
        assert_eq!(state.write(Bytes::from("[]"), &Expected::Absent, None).await.unwrap(), Written::Conflict);
        let read = state.read().await.unwrap().unwrap();
        assert_eq!((read.content, read.version), (Bytes::from("{}"), first.clone()));
        let expected = Expected::Version(first.clone());
        let second = done(state.write(Bytes::from("{2}"), &expected, None).await.unwrap());
        assert_ne!(first, second);
        assert_eq!(state.write(Bytes::from("{3}"), &expected, None).await.unwrap(), Written::Conflict);
        // The service performs the request, but its response is lost.
        ask(&server, reqwest::Method::GET, "-/txn?times=1&status=0").await;
        done(state.write(Bytes::from("{4}"), &Expected::Version(second), None).await.unwrap());
        assert_eq!(state.read().await.unwrap().unwrap().content, Bytes::from("{4}"));
    }
}

#[tokio::test]
async fn large_states_are_chunks_that_are_cleaned_up() {
    let Some(server) = server("chunks", &[]).await else { return };
    let state = backend(&server.address, json!({})).state("default").unwrap();
    let large = |byte: u8| Bytes::from(vec![byte; 1_200_000]);
    let first = done(state.write(large(b'1'), &Expected::Absent, None).await.unwrap());
    assert_eq!(keys(&server).await.len(), 4);
    let read = state.read().await.unwrap().unwrap();
    assert!(read.content == large(b'1') && read.version == first);
    let second = done(state.write(large(b'2'), &Expected::Version(first.clone()), None).await.unwrap());
    assert_eq!(keys(&server).await.len(), 4, "the chunks of the state before are gone");
    let late = state.write(large(b'3'), &Expected::Version(first), None).await.unwrap();
    assert_eq!((late, keys(&server).await.len()), (Written::Conflict, 4));
    let third = done(state.write(Bytes::from("{}"), &Expected::Version(second), None).await.unwrap());
    assert_eq!(keys(&server).await, ["team/app"]);
    done(state.write(large(b'4'), &Expected::Version(third), None).await.unwrap());
    let chunk = keys(&server).await.into_iter().find(|key| key.ends_with("/0")).unwrap();
    ask(&server, reqwest::Method::PUT, &format!("v1/kv/{chunk}")).await;
    let damaged = state.read().await.unwrap_err();
    assert!(damaged.to_string().contains("does not match the expected hash"), "{damaged}");
}

#[tokio::test]
async fn a_lock_has_one_session() {
    let Some(server) = server("locks", &[]).await else { return };
    let state = backend(&server.address, json!({})).state("default").unwrap();
    let other = backend(&server.address, json!({})).state("default").unwrap();
    assert!(state.locks());
    let held = locked(&state, "1").await;
    assert_eq!((held.asked(), held.path.as_str()), ("1", "team/app"));
    assert_eq!(held.info, format!("consul session: {}", held.id));
    assert_eq!(holder(&other, "2").await, held);
    assert!(other.unlock("2").await.unwrap_err().to_string().contains("does not match existing lock"));
    // Only the lock of the dead holder is taken over.
    let LockAnswer::Held { holder: same, .. } = other.take_over(&info("x"), &info("3")).await.unwrap() else {
        panic!("taken")
    };
    assert_eq!(same.id, held.id);
    let LockAnswer::Locked(taken) = other.take_over(&held, &info("3")).await.unwrap() else { panic!("held") };
    assert!(state.unlock(&held.id).await.unwrap_err().to_string().contains("consul lock was lost"));
    other.unlock(&taken.id).await.unwrap();
    assert_eq!(keys(&server).await, [""; 0]);
    assert_eq!(ask(&server, reqwest::Method::GET, "v1/session/list").await, json!([]));
    // Another process releases the lock by force.
    let held = locked(&state, "4").await;
    other.unlock(&held.id).await.unwrap();
    assert!(other.unlock(&held.id).await.unwrap_err().to_string().contains("the state is not locked"));
    let unlocked = backend(&server.address, json!({"lock": false})).state("default").unwrap();
    assert!(!unlocked.locks());
}

#[tokio::test]
async fn a_lost_lock_is_taken_again() {
    let Some(server) = server("lost", &[]).await else { return };
    let state = backend(&server.address, json!({})).state("default").unwrap();
    let held = locked(&state, "1").await;
    ask(&server, reqwest::Method::PUT, &format!("v1/session/destroy/{}", held.id)).await;
    // The task that renews the session detects the loss after half of the session's lifetime. Then the task retries
    // until it has taken the lock again.
    let begin = Instant::now();
    loop {
        let pair = ask(&server, reqwest::Method::GET, "v1/kv/team/app/.lock").await;
        let session = pair[0]["Session"].as_str().unwrap_or_default().to_owned();
        if !session.is_empty() && session != held.id {
            break;
        }
        assert!(begin.elapsed() < Duration::from_secs(40), "{pair}");
        tokio::time::sleep(Duration::from_millis(200)).await;
    }
    state.unlock(&held.id).await.unwrap();
    assert_eq!(keys(&server).await, [""; 0]);
}

#[tokio::test]
async fn the_lock_of_a_dead_process_ends_with_its_session() {
    let Some(server) = server("dead", &[]).await else { return };
    let state = backend(&server.address, json!({})).state("default").unwrap();
    locked(&state, "1").await;
    // The state is dropped without releasing the lock, so nothing renews the session.
    drop(state);
    let other = backend(&server.address, json!({})).state("default").unwrap();
    assert_eq!(holder(&other, "2").await.asked(), "1");
    let begin = Instant::now();
    while let LockAnswer::Held { .. } = other.lock(&info("2")).await.unwrap() {
        assert!(begin.elapsed() < Duration::from_secs(60));
    }
}

#[tokio::test]
async fn objects_are_created_once() {
    let Some(server) = server("objects", &[]).await else { return };
    let state = backend(&server.address, json!({})).state("default").unwrap();
    let objects = state.objects().unwrap();
    let (small, large) = (Bytes::from("{}"), Bytes::from(vec![7; 1_500_000]));
    for (name, content) in [("runs/a/1", small), ("runs/a/2", large.clone()), ("runs/a/3", Bytes::new())] {
        assert_eq!(objects.read(name).await.unwrap(), None);
        let version = done(objects.create(name, content.clone()).await.unwrap());
        assert_eq!(objects.create(name, content.clone()).await.unwrap(), Written::Conflict);
        let read = objects.read(name).await.unwrap().unwrap();
        assert!(read.content == content && read.version == version, "{name}");
    }
    assert_eq!(objects.list("runs/a/").await.unwrap(), ["runs/a/1", "runs/a/2", "runs/a/3"]);
    let again = objects.put("runs/a/1", large.clone()).await.unwrap();
    let read = objects.read("runs/a/1").await.unwrap().unwrap();
    assert!(read.content == large && read.version == again);
    ask(&server, reqwest::Method::GET, "-/txn?times=1&status=0").await;
    done(objects.create("runs/b", Bytes::from("{}")).await.unwrap());
    let names = ["runs/a/1", "runs/a/2", "runs/a/3", "runs/b", "absent"].map(str::to_owned);
    objects.remove(&names).await.unwrap();
    assert_eq!(keys(&server).await, [""; 0]);
}

#[tokio::test]
async fn workspaces_are_keys() {
    let Some(server) = server("workspaces", &[]).await else { return };
    let socket = format!("unix://{}", server.folder.join("socket").display());
    for address in [server.address.clone(), socket] {
        let all = backend(&address, json!({}));
        assert_eq!(all.workspaces().await.unwrap(), ["default"]);
        for name in ["zoo", "a-b"] {
            let state = all.state(name).unwrap();
            done(state.write(Bytes::from(vec![b'1'; 1_000_000]), &Expected::Absent, None).await.unwrap());
            done(state.objects().unwrap().create("runs/a", Bytes::from("{}")).await.unwrap());
        }
        assert_eq!(all.workspaces().await.unwrap(), ["default", "a-b", "zoo"]);
        for name in ["zoo", "a-b"] {
            all.delete_workspace(name).await.unwrap();
        }
        assert_eq!(keys(&server).await, [""; 0]);
        assert!(matches!(all.delete_workspace("default").await, Err(BackendError::DefaultStays(_))));
    }
}

#[tokio::test]
async fn a_token_is_wanted() {
    let Some(server) = server("token", &["--token", "very-secret"]).await else { return };
    let state = backend(&server.address, json!({})).state("default").unwrap();
    assert_eq!(state.read().await.unwrap(), None);
    let other = backend(&server.address, json!({"access_token": "other"})).state("default").unwrap();
    let refused = other.read().await.unwrap_err().to_string();
    assert!(refused.contains("Permission denied") && refused.contains("CONSUL_HTTP_TOKEN"), "{refused}");
}
