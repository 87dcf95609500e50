//! The backends `cos` and `oss` with the servers in `tests/cases`, which check every signature.

use std::path::PathBuf;
use std::process::{Child, Command, Stdio};
use std::sync::Arc;
use std::time::{Duration, Instant};

use bytes::Bytes;
use serde_json::{Value, json};
use weft_backends::catalog::connect;
use weft_backends::client::{ClientSettings, client};
use weft_state::remote::{Backend, Expected, LockAnswer, LockInfo, ObjectVersion, RemoteState, Written};

/// A server, with the variables of the environment that make clients use it.
struct Server {
    child: Child,
    folder: PathBuf,
    port: u16,
}

impl Drop for Server {
    fn drop(&mut self) {
        let _ = self.child.kill();
        let _ = self.child.wait();
        let _ = std::fs::remove_dir_all(&self.folder);
    }
}

/// Starts the server for a backend. `None`, with a loud message, if it cannot be started.
async fn server(name: &str) -> Option<Server> {
    let folder = std::env::temp_dir().join(format!("weft-{name}-{}", std::process::id()));
    std::fs::create_dir_all(&folder).unwrap();
    let program = PathBuf::from(env!("CARGO_MANIFEST_DIR")).join(format!("../tests/cases/{name}_server.py"));
    let mut command = Command::new("python3");
    command.arg(program).arg("--ca").arg(folder.join("ca.pem")).arg("--port-file").arg(folder.join("port"));
    let openssl = Command::new("openssl").arg("version").stdout(Stdio::null()).status();
    let child = command.env("PYTHONDONTWRITEBYTECODE", "1").stdout(Stdio::null()).spawn();
    let (Ok(child), Ok(_)) = (child, openssl) else {
        eprintln!("\n*** SKIPPED: no python3 or no openssl, the backend {name} was NOT tested ***\n");
        return None;
    };
    let mut server = Server { child, folder, port: 0 };
    let begin = Instant::now();
    while server.port == 0 {
        assert!(begin.elapsed() < Duration::from_secs(60), "the server does not start");
        tokio::time::sleep(Duration::from_millis(50)).await;
        let text = std::fs::read_to_string(server.folder.join("port")).unwrap_or_default();
        server.port = text.parse().unwrap_or_default();
    }
    Some(server)
}

impl Server {
    fn backend(&self, kind: &str, settings: &Value) -> Arc<dyn Backend> {
        let (address, ca) = (self.address(), self.folder.join("ca.pem").display().to_string());
        let variable = |name: &str| match name {
            "HTTPS_PROXY" | "ALICLOUD_OSS_ENDPOINT" | "ALICLOUD_TABLESTORE_ENDPOINT" => Some(address.clone()),
            "SSL_CERT_FILE" => Some(ca.clone()),
            "TENCENTCLOUD_SECRET_ID" | "ALICLOUD_ACCESS_KEY" => Some("id".to_owned()),
            "TENCENTCLOUD_SECRET_KEY" | "ALICLOUD_SECRET_KEY" => Some("secret".to_owned()),
            _ => None,
        };
        let backend = connect(kind, settings.as_object().unwrap(), &variable).unwrap().backend;
        assert!(!format!("{backend:?}").contains("secret"));
        backend
    }

    fn address(&self) -> String {
        format!("http://127.0.0.1:{}", self.port)
    }

    /// Sends a control request to the server.
    async fn ask(&self, word: &str) -> Value {
        let http = client(&ClientSettings::default()).unwrap();
        let answer = http.get(format!("{}/-/{word}", self.address())).send().await.unwrap();
        serde_json::from_slice(&answer.bytes().await.unwrap()).unwrap_or_default()
    }
}

fn info(id: &str) -> LockInfo {
    LockInfo { id: id.to_owned(), operation: "OperationTypeApply".to_owned(), ..LockInfo::default() }
}

fn done(written: Written) -> ObjectVersion {
    match written {
        Written::Done(version) => version,
        Written::Conflict => panic!("a conflict"),
    }
}

fn locked(answer: LockAnswer) -> LockInfo {
    match answer {
        LockAnswer::Locked(info) => info,
        LockAnswer::Held { holder, .. } => panic!("held by {}", holder.id),
    }
}

async fn locks_work(state: &Arc<dyn RemoteState>, other_id: &str) {
    assert!(state.locks());
    let first = locked(state.lock(&info("1")).await.unwrap());
    assert_eq!(first.asked(), "1");
    let LockAnswer::Held { holder, .. } = state.lock(&info("2")).await.unwrap() else { panic!("locked twice") };
    assert_eq!((&holder.id, &holder.path), (&first.id, &first.path));
    assert!(state.unlock("2").await.unwrap_err().to_string().contains(other_id));
    // Only the lock of the dead holder is taken over.
    let taken = state.take_over(&info("x"), &info("3")).await.unwrap();
    assert!(matches!(taken, LockAnswer::Held { .. }));
    let third = locked(state.take_over(&first, &info("3")).await.unwrap());
    assert!(state.unlock(&first.id).await.is_err());
    state.unlock(&third.id).await.unwrap();
    assert!(state.unlock(&third.id).await.is_err());
    let fourth = locked(state.take_over(&third, &info("4")).await.unwrap());
    state.unlock(&fourth.id).await.unwrap();
}

async fn documents_work(server: &Server, state: &Arc<dyn RemoteState>) {
    assert_eq!(state.read().await.unwrap(), None);
    // The response to a write is lost, so the write is retried.
    server.ask("drop?times=1").await;
    let first = done(state.write(Bytes::from("{1}"), &Expected::Absent, None).await.unwrap());
    assert_eq!(state.write(Bytes::from("{}"), &Expected::Absent, None).await.unwrap(), Written::Conflict);
    let second = done(state.write(Bytes::from("{2}"), &Expected::Version(first.clone()), None).await.unwrap());
    let late = state.write(Bytes::from("{3}"), &Expected::Version(first), None).await.unwrap();
    assert_eq!(late, Written::Conflict);
    let read = state.read().await.unwrap().unwrap();
    assert_eq!((read.content, read.version), (Bytes::from("{2}"), second));
}

async fn objects_work(server: &Server, state: &Arc<dyn RemoteState>) {
    let objects = state.objects().unwrap();
    done(objects.create("runs/a b", "1".into()).await.unwrap());
    assert_eq!(objects.create("runs/a b", "2".into()).await.unwrap(), Written::Conflict);
    // A bucket with versioning ignores the condition.
    server.ask("versions").await;
    assert_eq!(objects.create("runs/a b", "2".into()).await.unwrap(), Written::Conflict);
    server.ask("drop?times=1").await;
    done(objects.create("runs/c", "3".into()).await.unwrap());
    let made = futures(&objects).await;
    assert_eq!(made.iter().filter(|written| matches!(written, Written::Done(_))).count(), 1, "{made:?}");
    assert_eq!(objects.list("runs/").await.unwrap(), ["runs/a b", "runs/c", "runs/race"]);
    assert_eq!(objects.read("runs/c").await.unwrap().unwrap().content, "3");
    objects.remove(&["runs/c".to_owned()]).await.unwrap();
    assert_eq!(objects.read("runs/c").await.unwrap(), None);
    done(objects.create("runs/c", "4".into()).await.unwrap());
}

/// The outcomes of several tasks that create the same object concurrently.
async fn futures(objects: &Arc<dyn weft_state::remote::Objects>) -> Vec<Written> {
    let tasks: Vec<_> = (0..4)
        .map(|number| {
            let objects = Arc::clone(objects);
            tokio::spawn(async move { objects.create("runs/race", number.to_string().into()).await.unwrap() })
        })
        .collect();
    let mut made = Vec::new();
    for task in tasks {
        made.push(task.await.unwrap());
    }
    made
}

#[tokio::test]
async fn cos_keeps_states_and_locks() {
    let Some(server) = server("cos").await else { return };
    let settings = json!({"bucket": "states-125", "region": "ap-guangzhou", "prefix": "p", "key": "k.tfstate"});
    let backend = server.backend("cos", &settings);
    let state = backend.state("default").unwrap();
    assert_eq!(state.place(), "cos://states-125/p/k.tfstate");
    locks_work(&state, "lock id mismatch").await;
    assert_eq!(server.ask("tags").await, json!([]));
    documents_work(&server, &state).await;
    backend.state("b").unwrap().write(Bytes::from("{}"), &Expected::Absent, None).await.unwrap();
    assert_eq!(backend.workspaces().await.unwrap(), ["default", "b"]);
    assert_eq!(server.ask("objects").await, json!(["p/b/k.tfstate", "p/k.tfstate"]));
    backend.delete_workspace("b").await.unwrap();
    objects_work(&server, &state).await;
    assert_eq!(backend.workspaces().await.unwrap(), ["default"]);
    // A tag that belongs to another lock does not affect this lock.
    let tag = "5d1d9ad1b1e1a4a5a9a3b2c1d0e0f0a0";
    server.ask(&format!("tag?value={tag}")).await;
    assert_eq!(server.ask("tags").await[0][1], tag);
    locked(state.lock(&info("1")).await.unwrap());
}

#[tokio::test]
async fn oss_keeps_states_and_locks() {
    let Some(server) = server("oss").await else { return };
    let settings = json!({"bucket": "states", "region": "cn-beijing", "tablestore_table": "locks", "encrypt": true});
    let backend = server.backend("oss", &settings);
    let state = backend.state("default").unwrap();
    assert_eq!(state.place(), "oss://states/env:/terraform.tfstate");
    locks_work(&state, "does not match existing lock").await;
    assert_eq!(server.ask("rows").await, json!({}));
    documents_work(&server, &state).await;
    backend.state("b").unwrap().write(Bytes::from("{}"), &Expected::Absent, None).await.unwrap();
    assert_eq!(backend.workspaces().await.unwrap(), ["default", "b"]);
    assert_eq!(server.ask("rows").await.as_object().unwrap().len(), 2);
    backend.delete_workspace("b").await.unwrap();
    assert_eq!(server.ask("rows").await.as_object().unwrap().len(), 1);
    objects_work(&server, &state).await;
    assert_eq!(backend.workspaces().await.unwrap(), ["default"]);
}

#[tokio::test]
async fn a_write_to_oss_that_did_not_end_leaves_a_state_that_can_be_read() {
    let Some(server) = server("oss").await else { return };
    let settings = json!({"bucket": "states", "region": "cn-beijing", "tablestore_table": "locks"});
    let state = server.backend("oss", &settings).state("default").unwrap();
    let digests = || async {
        let rows = server.ask("rows").await;
        let columns = rows.as_object().unwrap().values().next().unwrap().as_array().unwrap().clone();
        columns.iter().map(|column| column[0].as_str().unwrap().to_owned()).collect::<Vec<_>>()
    };
    done(state.write(Bytes::from("{}"), &Expected::Absent, None).await.unwrap());
    assert_eq!(digests().await, ["Digest"]);
    // Simulates a process that dies before it writes the state: the write fails because the expected state does not
    // match.
    assert_eq!(state.write(Bytes::from("[1]"), &Expected::Absent, None).await.unwrap(), Written::Conflict);
    assert_eq!(digests().await, ["Digest", "WeftNext"]);
    assert_eq!(state.read().await.unwrap().unwrap().content, "{}");
    // Simulates a process that dies after writing the state, but before writing the digest.
    let without_table = json!({"bucket": "states", "region": "cn-beijing"});
    let without_table = server.backend("oss", &without_table).state("default").unwrap();
    let before = Expected::Version(without_table.read().await.unwrap().unwrap().version);
    done(without_table.write(Bytes::from("[1]"), &before, None).await.unwrap());
    let read = state.read().await.unwrap().unwrap();
    assert_eq!(read.content, "[1]");
    done(state.write(Bytes::from("[2]"), &Expected::Version(read.version), None).await.unwrap());
    assert_eq!(digests().await, ["Digest"]);
}
