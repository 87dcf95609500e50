//! The backend `gcs` with fake-gcs-server, an emulator of Cloud Storage.

#![cfg(feature = "gcs")]

mod checks;

use std::sync::Arc;

use bytes::Bytes;
use checks::{Server, held, id, info, locked};
use serde_json::{Value, json};
use weft_backends::catalog::connect;
use weft_backends::client::{ClientSettings, client};
use weft_state::remote::{Backend, Expected};

/// Starts a server with the bucket `states`.
async fn server() -> Option<Server> {
    let arguments = ["-backend", "memory", "-scheme", "http", "-host", "127.0.0.1", "-port", "{port}"];
    let server = Server::start("WEFT_FAKE_GCS_SERVER", "fake-gcs-server", &arguments, &[]).await?;
    let http = client(&ClientSettings::default()).unwrap();
    let bucket = http.post(format!("http://127.0.0.1:{}/storage/v1/b", server.port));
    let bucket = bucket.header("content-type", "application/json").body(json!({"name": "states"}).to_string());
    assert!(bucket.send().await.unwrap().status().is_success());
    Some(server)
}

fn backend(server: &Server, more: Value) -> Arc<dyn Backend> {
    let mut config = json!({"bucket": "states", "prefix": "team/a b"});
    for (name, value) in more.as_object().unwrap() {
        config[name] = value.clone();
    }
    let host = format!("127.0.0.1:{}", server.port);
    let environment = |name: &str| (name == "STORAGE_EMULATOR_HOST").then(|| host.clone());
    connect("gcs", config.as_object().unwrap(), &environment).unwrap().backend
}

#[tokio::test]
async fn states_are_written_if_they_are_as_expected() {
    let Some(server) = server().await else { return };
    let state = backend(&server, json!({})).state("default").unwrap();
    assert_eq!(state.place(), "gs://states/team/a b/default.tfstate");
    checks::documents(state.as_ref()).await;
    let state = backend(&server, json!({})).state("other").unwrap();
    checks::documents_under_locks(state.as_ref()).await;
}

#[tokio::test]
async fn a_lock_has_one_holder() {
    let Some(server) = server().await else { return };
    let state = backend(&server, json!({})).state("default").unwrap();
    // The emulator ignores the generation when it deletes a lock. So the tests cannot check that only a lock with the
    // right generation is deleted.
    checks::one_holder(state.as_ref()).await;
    checks::contended_locks(&state).await;
    // The ids of locks are numbers.
    let lock = locked(state.lock(&info(&id(1))).await.unwrap());
    assert!(lock.id.parse::<u64>().is_ok(), "{}", lock.id);
    assert_eq!(held(state.lock(&info(&id(2))).await.unwrap()).id, lock.id);
    let error = state.unlock(&id(1)).await.unwrap_err().to_string();
    assert!(error.contains("Lock ID should be numerical value"), "{error}");
}

#[tokio::test]
async fn workspaces_are_listed_and_deleted() {
    let Some(server) = server().await else { return };
    let backend = backend(&server, json!({}));
    checks::workspaces(backend.as_ref(), "cowardly refusing to delete the \"default\" state").await;
}

#[tokio::test]
async fn objects_are_created_once_and_listed_over_several_pages() {
    let Some(server) = server().await else { return };
    checks::objects(&backend(&server, json!({})).state("default").unwrap().objects().unwrap(), 1005).await;
}

#[tokio::test]
async fn a_missing_bucket_is_named_with_the_command_that_creates_it() {
    let Some(server) = server().await else { return };
    let backend = backend(&server, json!({"bucket": "missing"}));
    let error = backend.state("default").unwrap().write(Bytes::new(), &Expected::Absent, None).await.unwrap_err();
    assert!(error.to_string().contains("gcloud storage buckets create gs://missing"), "{error}");
}
