//! Runs that another process takes over, while the first process carries them out or after it has died.

use std::sync::Arc;
use std::time::Duration;

use tokio::sync::mpsc;
use tokio::time::sleep;
use weft_coordinator::term::{RunError, take_lease};
use weft_coordinator::{Cancel, FinishReason, InProcess, Notices, ReadPlan, RunOptions, pair, run_in_process, term};
use weft_state::{EmbeddedOptions, EmbeddedStore, Opaque, RunId, RunStore, TermEnding};

use crate::plan::Reader;
use crate::worker::work;
use crate::{habits, holder, run_plan, store};

#[tokio::test(flavor = "multi_thread")]
async fn a_term_that_a_later_one_follows_ends_as_taken_over() {
    let folder = std::env::temp_dir().join(format!("weft-taken-over-{}", std::process::id()));
    std::fs::create_dir_all(&folder).unwrap();
    let options = EmbeddedOptions::new(folder.join("terraform.tfstate"), holder());
    let store: Arc<dyn RunStore> = Arc::new(EmbeddedStore::open(options).unwrap());
    let run = RunId::parse("r").unwrap();
    let plan = Reader.read(b"2 3").unwrap();
    term::create(store.as_ref(), term::new_run(run.clone(), 5, &plan.outline, Opaque(b"2 3".to_vec()))).await.unwrap();
    let (ours, theirs) = pair();
    // The worker connects when the run has its claims and another process has begun a later journal.
    let (claimed, journal) = (Arc::clone(&store), folder.join(".weft/runs/r/journal.999"));
    let id = run.clone();
    tokio::spawn(async move {
        while !claimed.run(&id).await.unwrap().is_some_and(|view| view.header.claimed) {
            sleep(Duration::from_millis(5)).await;
        }
        std::fs::write(journal, []).unwrap();
        work(theirs, habits("me")).await;
    });
    let (notices, _heard) = Notices::channel();
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

/// Begins a run that stops right after its claims, then continues the run. The plan of the run is for a state of this
/// lineage.
async fn continued_after_the_claims(store: Arc<dyn RunStore>, lineage: &str) -> Result<FinishReason, RunError> {
    let run = RunId::parse("r").unwrap();
    let mut plan = Reader.read(b"1 2").unwrap();
    Arc::make_mut(&mut plan.outline).lineage = Some(lineage.to_owned());
    term::create(store.as_ref(), term::new_run(run.clone(), 5, &plan.outline, Opaque(b"1 2".to_vec()))).await.unwrap();
    let lease = take_lease(store.as_ref(), &run, &holder(), None).await.unwrap();
    store.claim(&lease, &[]).await.unwrap();
    store.release(&lease, TermEnding::Stopped).await.unwrap();
    let (ours, theirs) = pair();
    tokio::spawn(work(theirs, habits("me")));
    let (notices, _heard) = Notices::channel();
    let (_cancel, cancel) = mpsc::channel::<Cancel>(1);
    let (options, workers) = (RunOptions::in_process(), vec![ours]);
    let request = InProcess { store, run, plan, options, holder: holder(), workers, notices, cancel };
    Ok(run_in_process(request).await?.reason)
}

#[tokio::test]
async fn a_run_with_nothing_but_claims_is_not_continued_over_another_state() {
    let used = store();
    run_plan(&used, "earlier", "1 2", vec![habits("me")], RunOptions::in_process()).await;
    assert!(matches!(continued_after_the_claims(used, "of-another-state").await, Err(RunError::OtherState(_))));
    assert_eq!(continued_after_the_claims(store(), "of-no-state").await.unwrap(), FinishReason::Complete);
}
