//! The embedded store of an encrypted state. No file ever contains values, results or the plan in plain text, and a
//! crash loses nothing. Without the key, nothing is accepted, dropped or overwritten.

#[path = "support/place.rs"]
mod place;
mod support;
#[path = "support/sealing.rs"]
mod with_words;

use std::path::PathBuf;
use std::sync::Arc;

use place::Place;
use support::*;
use weft_sealing::Sealing;
use weft_state::tfstate::StateFile;
use weft_state::*;
use with_words::sealing;

const RECORDED: &str = include_str!("golden/recorded.tfstate");
const WORDS: &str = "words that are long enough";

fn open(place: &Place, sealing: &Arc<Sealing>) -> Result<EmbeddedStore, StoreError> {
    EmbeddedStore::open(place.sealed(sealing))
}

/// The files of a place that contain one of these strings.
fn holding(place: &Place, texts: &[&str]) -> Vec<PathBuf> {
    let mut found = Vec::new();
    let mut pending = vec![place.path().to_owned()];
    while let Some(folder) = pending.pop() {
        for entry in std::fs::read_dir(folder).unwrap() {
            let path = entry.unwrap().path();
            if path.is_dir() {
                pending.push(path);
            } else {
                let content = std::fs::read(&path).unwrap();
                let has = |text: &&str| content.windows(text.len()).any(|part| part == text.as_bytes());
                found.extend(texts.iter().any(has).then_some(path));
            }
        }
    }
    found
}

async fn started(store: &EmbeddedStore, operations: u32) -> Lease {
    store.create_run(new_run("run-a", operations, 1)).await.unwrap();
    let lease = granted(store, "run-a", 7).await;
    let wanted = claims(store, 0..operations).await;
    assert_eq!(store.claim(&lease, &wanted).await.unwrap(), ClaimAnswer::Claimed);
    lease
}

/// Strings that must not be readable in files: an id, a resource type and the plan.
const OPEN: [&str; 3] = ["thing-", "sim_thing", "plan of run-a"];

#[tokio::test]
async fn no_file_is_ever_unencrypted() {
    let (place, sealing) = (Place::new(), sealing(WORDS, false));
    let store = open(&place, &sealing).unwrap();
    let lease = started(&store, 2).await;
    assert_all_ok(&store.step_batch(&lease, vec![intent(0, 1, 0), intent(1, 1, 1)]).await.unwrap());
    assert!(
        place.text().contains("\"encryption_version\":\"v9\"")
            || place.text().contains("\"encryption_version\": \"v9\"")
    );
    assert_eq!(holding(&place, &OPEN), [] as [PathBuf; 0]);
    assert_all_ok(&store.step_batch(&lease, vec![commit(0, 1, 0, Some(5)), commit(1, 1, 1, Some(6))]).await.unwrap());
    assert_eq!(holding(&place.copy(), &OPEN), [] as [PathBuf; 0]);
    assert_eq!(store.plan(&run_id("run-a")).await.unwrap(), Opaque(b"plan of run-a".to_vec()));
    let ReleaseAnswer::Released(header) = store.release(&lease, TermEnding::Finished).await.unwrap() else { panic!() };
    assert_eq!(header.status, RunStatus::Done);
    assert_eq!(holding(&place, &OPEN), [] as [PathBuf; 0]);
    assert!(weft_sealing::is_sealed_state(&place.bytes()));
    let opened = sealing.open_state(&place.bytes()).unwrap();
    assert_eq!(StateFile::parse(&opened.plain, "x").unwrap().instances.len(), 2);
    // An export is the unencrypted state.
    let exported = StateFile::parse(&store.export().await.unwrap().unwrap(), "x").unwrap();
    assert_eq!((exported.instances.len(), exported.serial), (2, 1));
    drop(store);
    let view = open(&place, &sealing).unwrap().run(&run_id("run-a")).await.unwrap().unwrap();
    assert_eq!(view.header.counts.done, 2);
}

#[tokio::test]
async fn a_crash_loses_no_acknowledged_commit() {
    let (place, sealing) = (Place::new(), sealing(WORDS, false));
    let store = open(&place, &sealing).unwrap();
    let lease = started(&store, 3).await;
    let begun = std::fs::metadata(place.journal("run-a", 1)).unwrap().len();
    let mut acknowledged = Vec::new();
    for op in 0..3 {
        assert_all_ok(&store.step_batch(&lease, vec![intent(op, 1, op)]).await.unwrap());
        assert_all_ok(&store.step_batch(&lease, vec![commit(op, 1, op, Some(1))]).await.unwrap());
        acknowledged.push(std::fs::metadata(place.journal("run-a", 1)).unwrap().len());
    }
    let length = std::fs::metadata(place.journal("run-a", 1)).unwrap().len();
    for cut in (begun..=length).rev().step_by(101) {
        let crashed = place.copy();
        let file = std::fs::OpenOptions::new().write(true).open(crashed.journal("run-a", 1)).unwrap();
        file.set_len(cut).unwrap();
        let kept = acknowledged.iter().filter(|end| **end <= cut).count();
        let again = open(&crashed, &sealing).unwrap();
        let seen = again.snapshot().await.unwrap().instances.len();
        assert!(seen >= kept, "cut at {cut}: {seen} of {kept}");
        drop(again);
        // The file has everything that was recovered.
        let again = open(&crashed, &sealing).unwrap();
        assert_eq!(again.snapshot().await.unwrap().instances.len(), seen, "cut at {cut}");
        assert_eq!(holding(&crashed, &OPEN), [] as [PathBuf; 0]);
    }
}

#[tokio::test]
async fn a_torn_write_of_the_state_file_is_redone() {
    let (place, sealing) = (Place::new(), sealing(WORDS, true));
    std::fs::write(place.state(), RECORDED).unwrap();
    let store = open(&place, &sealing).unwrap();
    let lease = started(&store, 1).await;
    assert_all_ok(&store.step_batch(&lease, vec![intent(0, 1, 0), commit(0, 1, 0, Some(1))]).await.unwrap());
    let guarded = place.bytes();
    store.release(&lease, TermEnding::Finished).await.unwrap();
    let whole = place.text();
    drop(store);
    let journal = std::fs::read(place.journal("run-a", 1)).unwrap();
    let marks: Vec<usize> = journal.windows(4).enumerate().filter(|(_, w)| w == b"WFJ2").map(|(at, _)| at).collect();
    // The last frame says that the file was written.
    let upto = marks[marks.len() - 1];
    let new = whole.replacen("\"v0\"", "\"v9\"", 1).into_bytes();
    for torn_at in (0..new.len()).step_by(811) {
        let crashed = place.copy();
        std::fs::remove_file(crashed.path().join(".weft/runs/run-a/summary")).unwrap();
        std::fs::write(crashed.journal("run-a", 1), &journal[..upto]).unwrap();
        let mut torn = new[..torn_at].to_vec();
        torn.extend_from_slice(guarded.get(torn_at..).unwrap_or_default());
        std::fs::write(crashed.state(), torn).unwrap();
        let store = open(&crashed, &sealing).unwrap();
        assert_eq!(store.snapshot().await.unwrap().instances.len(), 5, "torn at {torn_at}");
    }
}

#[tokio::test]
async fn a_store_without_the_key_changes_nothing() {
    let (place, ours) = (Place::new(), sealing(WORDS, false));
    let store = open(&place, &ours).unwrap();
    let lease = started(&store, 1).await;
    assert_all_ok(&store.step_batch(&lease, vec![intent(0, 1, 0), commit(0, 1, 0, Some(1))]).await.unwrap());
    let crashed = place.copy();
    store.release(&lease, TermEnding::Finished).await.unwrap();
    drop(store);
    let none = Arc::new(Sealing::default());
    for place in [&place, &crashed] {
        let (state, journal) = (place.bytes(), std::fs::read(place.journal("run-a", 1)).unwrap());
        for other in [&none, &sealing("other words, as long as those", true)] {
            for error in [open(place, other).unwrap_err(), {
                let reading = EmbeddedStore::open_read_only(place.sealed(other)).unwrap();
                reading.snapshot().await.unwrap_err()
            }] {
                assert!(matches!(error, StoreError::Unopened { .. }), "{error}");
            }
            assert_eq!(
                (place.bytes(), std::fs::read(place.journal("run-a", 1)).unwrap()),
                (state.clone(), journal.clone())
            );
        }
        assert_eq!(open(place, &ours).unwrap().snapshot().await.unwrap().instances.len(), 1);
    }
}

#[tokio::test]
async fn the_next_write_seals_an_unencrypted_state() {
    let place = Place::new();
    std::fs::write(place.state(), RECORDED).unwrap();
    let error = open(&place, &sealing(WORDS, false)).unwrap_err();
    assert!(error.to_string().contains("unencrypted"), "{error}");
    assert_eq!(place.text(), RECORDED);
    let migrating = sealing(WORDS, true);
    let store = open(&place, &migrating).unwrap();
    let before = store.snapshot().await.unwrap().instances.len();
    assert_eq!(place.text(), RECORDED, "reading alone changes nothing");
    let recorded = StateFile::parse(RECORDED.as_bytes(), "x").unwrap();
    assert_eq!(StateFile::parse(&store.export().await.unwrap().unwrap(), "x").unwrap().serial, recorded.serial);
    let lease = started(&store, 0).await;
    store.release(&lease, TermEnding::Finished).await.unwrap();
    drop(store);
    assert!(weft_sealing::is_sealed_state(&place.bytes()));
    let store = open(&place, &sealing(WORDS, false)).unwrap();
    assert_eq!(store.snapshot().await.unwrap().instances.len(), before);
    assert_eq!(holding(&place, &["terraform_data"]), [] as [PathBuf; 0]);
}

#[tokio::test]
async fn a_new_state_file_is_sealed() {
    let (place, migrating) = (Place::new(), sealing(WORDS, true));
    std::fs::write(place.state(), RECORDED).unwrap();
    let out = place.path().join("out.tfstate");
    let options = EmbeddedOptions { state_out: Some(out.clone()), ..place.sealed(&migrating) };
    let store = EmbeddedStore::open(options).unwrap();
    let lease = started(&store, 1).await;
    assert_all_ok(&store.step_batch(&lease, vec![intent(0, 1, 0)]).await.unwrap());
    assert_eq!(holding(&place.copy(), &["terraform_data"]).len(), 1, "the file that was read");
    assert_all_ok(&store.step_batch(&lease, vec![commit(0, 1, 0, Some(1))]).await.unwrap());
    store.release(&lease, TermEnding::Finished).await.unwrap();
    assert!(weft_sealing::is_sealed_state(&std::fs::read(out).unwrap()));
    assert_eq!(holding(&place, &["terraform_data"]), [place.state()]);
}

/// Unencrypted files of earlier runs are removed when the state is encrypted.
#[tokio::test]
async fn unencrypted_files_of_earlier_runs_are_removed() {
    let (place, none) = (Place::new(), Arc::new(Sealing::default()));
    let store = open(&place, &none).unwrap();
    let lease = started(&store, 1).await;
    assert_all_ok(&store.step_batch(&lease, vec![intent(0, 1, 0), commit(0, 1, 0, Some(1))]).await.unwrap());
    store.release(&lease, TermEnding::Finished).await.unwrap();
    drop(store);
    assert!(holding(&place, &OPEN).len() >= 3, "{:?}", holding(&place, &OPEN));
    let store = open(&place, &sealing(WORDS, true)).unwrap();
    store.reseal().await.unwrap();
    assert_eq!(holding(&place, &OPEN), [] as [PathBuf; 0]);
    assert_eq!(store.run(&run_id("run-a")).await.unwrap().unwrap().header.counts.done, 1);
    store.reseal().await.unwrap();
    assert_eq!(store.snapshot().await.unwrap().instances.len(), 1);
}
