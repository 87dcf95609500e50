//! Edits outside of any run behave the same in every store.

#[path = "support/redis_server.rs"]
mod redis_server;
mod support;

use support::*;
use weft_state::*;

fn edit(seen: u64, index: u32, content: Option<u64>) -> Edit {
    Edit { seen, writes: writes(index, content), identity: None }
}

/// A history on a store without runs, with one claim at the end.
async fn history(store: &dyn RunStore) {
    let serial = store.snapshot().await.unwrap().serial;
    assert_eq!(store.edit(edit(serial, 0, Some(7))).await.unwrap(), EditAnswer::Edited);
    let snapshot = store.snapshot().await.unwrap();
    assert_eq!(snapshot.serial, serial + 1);
    assert!(snapshot.instance(&address(0)).is_some());
    // The edit is based on an older state.
    let stale = store.edit(edit(serial, 1, Some(7))).await.unwrap();
    assert_eq!(stale, EditAnswer::Changed { serial: serial + 1 });
    // The edit also replaces the lineage and the serial.
    let identity = Some(("11111111-2222-3333-4444-555555555555".to_owned(), 40));
    let whole = Edit { identity, ..edit(serial + 1, 1, Some(8)) };
    assert_eq!(store.edit(whole).await.unwrap(), EditAnswer::Edited);
    let snapshot = store.snapshot().await.unwrap();
    assert_eq!((snapshot.serial, snapshot.lineage.as_str()), (41, "11111111-2222-3333-4444-555555555555"));
    // An edit of a subject of a run is refused. All other subjects may change.
    store.create_run(new_run("run-a", 1, 1)).await.unwrap();
    let lease = granted(store, "run-a", 1).await;
    let claim = |index: u32| Claim {
        subject: Subject::Instance(address(index)),
        mode: ClaimMode::Shared,
        expected: snapshot.revision(&Subject::Instance(address(index))),
    };
    assert_eq!(store.claim(&lease, &[claim(0)]).await.unwrap(), ClaimAnswer::Claimed);
    store.release(&lease, TermEnding::Stopped).await.unwrap();
    let seen = store.snapshot().await.unwrap().serial;
    match store.edit(edit(seen, 0, None)).await.unwrap() {
        EditAnswer::Refused { held, doubts } => {
            assert_eq!((held.len(), doubts.len()), (1, 0));
            assert_eq!((held[0].run.as_str(), &held[0].subject), ("run-a", &Subject::Instance(address(0))));
        }
        other => panic!("{other:?}"),
    }
    assert_eq!(store.edit(edit(seen, 1, None)).await.unwrap(), EditAnswer::Edited);
    let snapshot = store.snapshot().await.unwrap();
    assert!(snapshot.instance(&address(0)).is_some() && snapshot.instance(&address(1)).is_none());
}

#[tokio::test]
async fn the_model_store_applies_edits() {
    history(&ModelStore::new(RevisionRule::Sequence, 1)).await;
}

#[tokio::test]
async fn the_redis_store_applies_edits() {
    let Some(server) = redis_server::Server::start() else { return };
    history(&RedisStore::connect(&server.url("edits"), "default", true, std::sync::Arc::default()).await.unwrap())
        .await;
}

#[tokio::test]
async fn edits_back_up_the_previous_state() {
    let place = tempfile::tempdir().unwrap();
    let path = place.path().join("terraform.tfstate");
    let options = EmbeddedOptions { backup: Backup::Dated, ..EmbeddedOptions::new(&path, holder()) };
    history(&EmbeddedStore::open(options).unwrap()).await;
    // The run has no intent, so it does not guard the file against OpenTofu.
    assert!(std::fs::read_to_string(&path).unwrap().contains("\"version\": 4"));
    let again = EmbeddedOptions { backup: Backup::Dated, ..EmbeddedOptions::new(&path, holder()) };
    let store = EmbeddedStore::open(again).unwrap();
    let seen = store.snapshot().await.unwrap().serial;
    assert_eq!(store.edit(edit(seen, 2, Some(3))).await.unwrap(), EditAnswer::Edited);
    drop(store);
    let backups = std::fs::read_dir(place.path()).unwrap().flatten();
    let backups = backups.filter(|entry| entry.file_name().to_string_lossy().ends_with(".backup"));
    assert_eq!(backups.count(), 1);
}
