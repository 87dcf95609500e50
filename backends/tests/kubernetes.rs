//! The backend `kubernetes` with a cluster, if WEFT_KUBERNETES_CONFIG names a kubeconfig file, or else with the small
//! server in `tests/cases`.
#![cfg(feature = "kubernetes")]

use std::path::{Path, PathBuf};
use std::process::{Child, Command, Stdio};
use std::sync::Arc;
use std::sync::atomic::{AtomicU32, Ordering};
use std::time::{Duration, Instant};

use bytes::Bytes;
use serde_json::{Value, json};
use weft_backends::catalog::connect;
use weft_backends::client::{ClientSettings, client};
use weft_state::remote::{Backend, BackendError, Expected, LockAnswer, LockInfo, ObjectVersion, RemoteState, Written};

/// The token of the small server.
const TOKEN: &str = "very-secret";

struct Server {
    child: Option<Child>,
    folder: PathBuf,
    address: String,
    /// The kubeconfig file.
    config: PathBuf,
}

impl Drop for Server {
    fn drop(&mut self) {
        if let Some(child) = &mut self.child {
            let _ = child.kill();
            let _ = child.wait();
        }
        let _ = std::fs::remove_dir_all(&self.folder);
    }
}

/// The cluster or the small server. `None`, with a loud message, if neither is available.
async fn server() -> Option<Server> {
    static NUMBER: AtomicU32 = AtomicU32::new(0);
    let number = NUMBER.fetch_add(1, Ordering::Relaxed);
    let folder = std::env::temp_dir().join(format!("weft-kubernetes-{number}-{}", std::process::id()));
    std::fs::create_dir_all(&folder).unwrap();
    if let Some(config) = std::env::var_os("WEFT_KUBERNETES_CONFIG") {
        return Some(Server { child: None, folder, address: String::new(), config: config.into() });
    }
    let script = Path::new(env!("CARGO_MANIFEST_DIR")).join("../tests/cases/kubernetes_server.py");
    let port = folder.join("port");
    let mut command = Command::new("python3");
    command.arg(script).arg("--port-file").arg(&port).args(["--token", TOKEN]);
    let Ok(child) = command.stdout(Stdio::null()).spawn() else {
        eprintln!("\n*** SKIPPED: no python3, the backend kubernetes was NOT tested ***\n");
        return None;
    };
    let mut server = Server { child: Some(child), config: folder.join("config"), folder, address: String::new() };
    let begin = Instant::now();
    while !port.exists() {
        assert!(begin.elapsed() < Duration::from_secs(30), "the server does not start");
        tokio::time::sleep(Duration::from_millis(50)).await;
    }
    server.address = format!("http://127.0.0.1:{}", std::fs::read_to_string(&port).unwrap());
    let cluster = format!("- {{name: c, cluster: {{server: '{}'}}}}", server.address);
    let config =
        format!("clusters:\n{cluster}\ncontexts:\n- {{name: x, context: {{cluster: c}}}}\ncurrent-context: x\n");
    std::fs::write(&server.config, config).unwrap();
    Some(server)
}

/// A backend with a separate suffix for each name.
fn backend(server: &Server, name: &str, more: Value) -> Arc<dyn Backend> {
    let suffix = format!("{name}-{}", std::process::id());
    let mut config = json!({"secret_suffix": suffix, "config_path": server.config});
    if server.child.is_some() {
        config["token"] = json!(TOKEN);
    }
    for (name, value) in more.as_object().unwrap() {
        config[name] = value.clone();
    }
    let backend = connect("kubernetes", config.as_object().unwrap(), &|_| None).unwrap().backend;
    assert!(!format!("{backend:?}").contains(TOKEN));
    backend
}

/// Makes the small server perform its next change, and then drop the response.
async fn lose_answer(server: &Server, kind: &str) {
    if server.child.is_some() {
        let http = client(&ClientSettings::default()).unwrap();
        http.get(format!("{}/-/{kind}?times=1&status=0", server.address)).send().await.unwrap();
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

async fn holder(state: &Arc<dyn RemoteState>, id: &str) -> LockInfo {
    match state.lock(&info(id)).await.unwrap() {
        LockAnswer::Held { holder, .. } => holder,
        LockAnswer::Locked(_) => panic!("locked twice"),
    }
}

#[tokio::test]
async fn states_are_written_if_they_are_as_expected() {
    let Some(server) = server().await else { return };
    let all = backend(&server, "states", json!({"labels": {"team": "x"}}));
    let state = all.state("first").unwrap();
    assert!(state.place().ends_with(&format!("/default/tfstate-first-states-{}", std::process::id())));
    assert_eq!(state.read().await.unwrap(), None);
    lose_answer(&server, "secrets").await;
    let first = done(state.write(Bytes::from("{}"), &Expected::Absent, None).await.unwrap());
    assert_eq!(state.write(Bytes::from("[]"), &Expected::Absent, None).await.unwrap(), Written::Conflict);
    let read = state.read().await.unwrap().unwrap();
    assert_eq!((read.content, read.version), (Bytes::from("{}"), first.clone()));
    let expected = Expected::Version(first);
    lose_answer(&server, "secrets").await;
    let second = done(state.write(Bytes::from("{2}"), &expected, None).await.unwrap());
    assert_eq!(state.read().await.unwrap().unwrap().version, second);
    assert_eq!(state.write(Bytes::from("{3}"), &expected, None).await.unwrap(), Written::Conflict);
    let mut random = vec![0; 1_200_000];
    getrandom::fill(&mut random).unwrap();
    let large = state.write(random.into(), &Expected::Version(second), None).await.unwrap_err().to_string();
    assert!(large.contains("Too long") && large.contains("1048576"), "{large}");
    all.delete_workspace("first").await.unwrap();
}

#[tokio::test]
async fn a_lease_has_one_holder() {
    let Some(server) = server().await else { return };
    let all = backend(&server, "locks", json!({}));
    let (state, other) = (all.state("first").unwrap(), all.state("first").unwrap());
    done(state.write(Bytes::from("{}"), &Expected::Absent, None).await.unwrap());
    lose_answer(&server, "leases").await;
    assert_eq!(state.lock(&info("1")).await.unwrap(), LockAnswer::Locked(info("1")));
    assert_eq!(holder(&other, "2").await, info("1"));
    assert!(other.unlock("2").await.unwrap_err().to_string().contains("does not match existing lock"));
    // Only the lock of the dead holder is taken over.
    let LockAnswer::Held { .. } = other.take_over(&info("x"), &info("3")).await.unwrap() else { panic!("taken") };
    assert_eq!(other.take_over(&info("1"), &info("3")).await.unwrap(), LockAnswer::Locked(info("3")));
    assert!(state.unlock("1").await.is_err());
    lose_answer(&server, "leases").await;
    other.unlock("3").await.unwrap();
    assert!(other.unlock("3").await.unwrap_err().to_string().contains("already unlocked"));
    lose_answer(&server, "leases").await;
    assert_eq!(other.lock(&info("4")).await.unwrap(), LockAnswer::Locked(info("4")));
    all.delete_workspace("first").await.unwrap();
    assert_eq!(other.lock(&info("5")).await.unwrap(), LockAnswer::Locked(info("5")), "the lease is gone");
    done(state.write(Bytes::from("{}"), &Expected::Absent, None).await.unwrap());
    all.delete_workspace("first").await.unwrap();
}

#[tokio::test]
async fn objects_are_created_once() {
    let Some(server) = server().await else { return };
    let all = backend(&server, "objects", json!({}));
    let state = all.state("first").unwrap();
    let objects = state.objects().unwrap();
    let (small, large) = (Bytes::from("{}"), Bytes::from(vec![7; 2_500_000]));
    for (name, content) in [("runs/A_a/1", small), ("runs/A_a/2", large.clone()), ("runs/A_a/3", Bytes::new())] {
        assert_eq!(objects.read(name).await.unwrap(), None);
        let version = done(objects.create(name, content.clone()).await.unwrap());
        assert_eq!(objects.create(name, content.clone()).await.unwrap(), Written::Conflict);
        let read = objects.read(name).await.unwrap().unwrap();
        assert!(read.content == content && read.version == version, "{name}");
    }
    assert_eq!(objects.list("runs/A_a/").await.unwrap(), ["runs/A_a/1", "runs/A_a/2", "runs/A_a/3"]);
    let again = objects.put("runs/A_a/1", large.clone()).await.unwrap();
    let read = objects.read("runs/A_a/1").await.unwrap().unwrap();
    assert!(read.content == large && read.version == again);
    let third = objects.put("runs/A_a/1", Bytes::from("{3}")).await.unwrap();
    assert_ne!(again, third);
    lose_answer(&server, "secrets").await;
    done(objects.create("runs/b", Bytes::from("{}")).await.unwrap());
    objects.remove(&["runs/A_a/2".to_owned(), "absent".to_owned()]).await.unwrap();
    assert_eq!(objects.list("").await.unwrap(), ["runs/A_a/1", "runs/A_a/3", "runs/b"]);
    all.delete_workspace("first").await.unwrap();
    assert_eq!(objects.list("").await.unwrap(), [""; 0]);
}

#[tokio::test]
async fn workspaces_are_labels() {
    let Some(server) = server().await else { return };
    let all = backend(&server, "workspaces", json!({}));
    assert_eq!(all.workspaces().await.unwrap(), ["default"]);
    for name in ["zoo", "a-b"] {
        let state = all.state(name).unwrap();
        done(state.write(Bytes::from("{}"), &Expected::Absent, None).await.unwrap());
        done(state.objects().unwrap().create("runs/a", Bytes::from("{}")).await.unwrap());
    }
    assert_eq!(all.workspaces().await.unwrap(), ["default", "a-b", "zoo"]);
    for name in ["zoo", "a-b"] {
        all.delete_workspace(name).await.unwrap();
    }
    assert_eq!(all.workspaces().await.unwrap(), ["default"]);
    assert!(matches!(all.delete_workspace("default").await, Err(BackendError::DefaultStays(_))));
    let refused = all.state("Big").unwrap_err().to_string();
    assert!(refused.contains("the secret name tfstate-Big-"), "{refused}");
}

#[tokio::test]
async fn credentials_are_renewed() {
    let Some(server) = server().await else { return };
    if server.child.is_none() {
        return;
    }
    // The first credentials of the plugin are refused.
    let plugin = format!(
        "test -e {0}/asked && token={TOKEN} || token=old; touch {0}/asked; echo '{{\"kind\": \"ExecCredential\", \
         \"apiVersion\": \"client.authentication.k8s.io/v1\", \"status\": {{\"token\": \"'$token'\"}}}}'",
        server.folder.display()
    );
    let exec = json!([{"api_version": "client.authentication.k8s.io/v1", "command": "sh", "args": ["-c", plugin],
        "env": null}]);
    let settings = json!({"token": null, "exec": exec, "config_path": "/absent", "host": server.address});
    let state = backend(&server, "plugin", settings).state("default").unwrap();
    assert_eq!(state.read().await.unwrap(), None);
    let other = backend(&server, "plugin", json!({"token": "other"})).state("default").unwrap();
    let refused = other.read().await.unwrap_err().to_string();
    assert!(refused.contains("Unauthorized"), "{refused}");
}
