//! A run that another process takes over while this one carries it out.

use std::sync::Arc;
use std::time::Duration;

use tokio::sync::mpsc;
use tokio::time::sleep;
use weft_coordinator::{Cancel, FinishReason, InProcess, ReadPlan, RunOptions, pair, run_in_process, term};
use weft_state::{EmbeddedOptions, EmbeddedStore, Opaque, RunId, RunStore};

use crate::plan::Reader;
use crate::worker::work;
use crate::{habits, holder};

#[tokio::test(flavor = "multi_thread")]
async fn a_term_that_a_later_one_follows_ends_as_taken_over() {
    let folder = std::env::temp_dir().join(format!("weft-taken-over-{}", std::process::id()));
    std::fs::create_dir_all(&folder).unwrap();
    let options = EmbeddedOptions::new(folder.join("terraform.tfstate"), holder());
    let store: Arc<dyn RunStore> = Arc::new(EmbeddedStore::open(options).unwrap());
    let run = RunId::parse("r").unwrap();
    let plan = Reader.read(b"2 3").unwrap();
    term::create(store.as_ref(), run.clone(), 5, &plan.outline, Opaque(b"2 3".to_vec())).await.unwrap();
    let (ours, theirs) = pair();
    // The worker connects when the run has its claims, and another process has begun a later journal.
    let (claimed, journal) = (Arc::clone(&store), folder.join(".weft/runs/r/journal.999"));
    let id = run.clone();
    tokio::spawn(async move {
        while !claimed.run(&id).await.unwrap().is_some_and(|view| view.header.claimed) {
            sleep(Duration::from_millis(5)).await;
        }
        std::fs::write(journal, []).unwrap();
        work(theirs, habits("me")).await;
    });
    let (notices, _heard) = mpsc::channel(1024);
    let (_cancel, cancel) = mpsc::channel::<Cancel>(1);
    let request = InProcess {
        store: Arc::clone(&store),
        run: run.clone(),
        plan,
        options: RunOptions::in_process(),
        holder: holder(),
        workers: vec![ours],
        notices,
        cancel,
    };
    let outcome = run_in_process(request).await.unwrap();
    assert_eq!((outcome.reason, outcome.status), (FinishReason::Fenced, None));
    assert_eq!((outcome.store_error, outcome.counts.done), (None, 0), "it is no error of the store");
    drop(store);
    std::fs::remove_dir_all(&folder).unwrap();
}
