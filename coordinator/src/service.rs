//! Many concurrent runs on one store: submit, watch, resume, resolve and cancel runs, and take over runs of other
//! coordinators.

mod resolving;

pub use resolving::ResolveAnswer;

use std::collections::{BTreeMap, BTreeSet};
use std::sync::Arc;
use std::time::{SystemTime, UNIX_EPOCH};

use parking_lot::Mutex;
use tokio::sync::{broadcast, mpsc};
use tokio::time::{Instant, MissedTickBehavior, interval, sleep};
use tracing::{info, warn};
use weft_identity::signature::TrustedKeys;
use weft_state::{Digest, Holder, LeaseView, Opaque, RunHeader, RunId, RunStatus, RunStore, StoreError};

use crate::core::RunOptions;
use crate::doubts::KnownDoubts;
use crate::driver::{BegunTerm, RunEvent, TakenBy, begin_term};
use crate::event::{Cancel, Event};
use crate::figures::Figures;
use crate::hub::Hub;
use crate::lease::{Look, Looks};
use crate::listing::{RunDetails, RunListing, listings, resumable};
use crate::plan::{ReadPlan, RunPlan};
use crate::term::{self, RunError};
use crate::timing::{GATHER_CONNECTED, LABELS_WAIT, LEASE_TTL, RENEW_INTERVAL, TICK};

#[derive(Clone)]
struct Active {
    events: mpsc::Sender<Vec<Event>>,
    watchers: broadcast::Sender<RunEvent>,
    doubts: Arc<KnownDoubts>,
}

/// A term that has begun.
struct StartedTerm {
    /// All notices of the term.
    notices: broadcast::Receiver<RunEvent>,
    doubts: Arc<KnownDoubts>,
}

/// A coordinator process: its store, its workers, and the runs that it carries out.
pub struct Service {
    store: Arc<dyn RunStore>,
    reader: Arc<dyn ReadPlan>,
    holder: Holder,
    hub: Hub,
    /// Trusted keys. Each plan must be signed with one of these keys. `None` accepts every plan.
    signers: Option<TrustedKeys>,
    active: Mutex<BTreeMap<RunId, Active>>,
    /// Runs whose term is about to begin.
    beginning: Mutex<BTreeSet<RunId>>,
}

impl std::fmt::Debug for Service {
    fn fmt(&self, out: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        write!(out, "Service({}, {} runs)", self.store.place(), self.active.lock().len())
    }
}

/// A run to begin.
#[derive(Clone, Debug, Default)]
pub struct Submission {
    /// The whole plan file.
    pub plan: Vec<u8>,
    /// Inputs that the plan does not contain.
    pub inputs: BTreeMap<String, Vec<u8>>,
    /// The maximum number of concurrent operations.
    pub parallelism: Option<u32>,
    /// Whether the run has no watching command line, and so no worker at home.
    pub detach: bool,
    /// Whether the state and the run must be stored encrypted.
    pub sealed: bool,
    /// Whether the plan must be stored encrypted.
    pub sealed_plan: bool,
    /// The signature document of the plan; empty if there is none.
    pub signature: Vec<u8>,
}

/// A run to resume.
#[derive(Clone, Debug, Default)]
pub struct Resumption {
    /// Inputs that the plan does not contain.
    pub inputs: BTreeMap<String, Vec<u8>>,
    /// The maximum number of concurrent operations.
    pub parallelism: Option<u32>,
}

impl Service {
    /// A coordinator on this store.
    pub fn new(store: Arc<dyn RunStore>, reader: Arc<dyn ReadPlan>, holder: Holder) -> Arc<Service> {
        Service::with_signers(store, reader, holder, None)
    }

    /// A coordinator on this store that accepts only plans that one of these keys has signed.
    pub fn with_signers(
        store: Arc<dyn RunStore>,
        reader: Arc<dyn ReadPlan>,
        holder: Holder,
        signers: Option<TrustedKeys>,
    ) -> Arc<Service> {
        Arc::new(Service {
            hub: Hub::of_store(store.is_sealed()),
            store,
            reader,
            holder,
            signers,
            active: Mutex::default(),
            beginning: Mutex::default(),
        })
    }

    /// The workers of the coordinator.
    pub fn hub(&self) -> &Hub {
        &self.hub
    }

    /// The figures of the coordinator, for metrics.
    pub fn figures(&self) -> Figures {
        self.hub.figures()
    }

    /// Stores a plan as a new run and begins it.
    ///
    /// # Errors
    /// Returns an error if the plan cannot be read, is not signed as required, needs workers that are not connected, or
    /// must be encrypted but the store does not encrypt. Also returns an error if the claims of the plan are refused,
    /// or if the store does not respond.
    pub async fn submit(self: &Arc<Self>, submission: Submission) -> Result<RunId, RunError> {
        if submission.sealed && !self.store.is_sealed() || submission.sealed_plan && !self.store.seals_plans() {
            return Err(RunError::NotSealed(self.store.place()));
        }
        self.check_signature(&submission).await?;
        let mut plan = self.reader.read(&submission.plan).map_err(RunError::Plan)?;
        plan.inputs = submission.inputs;
        self.wait_for_labels(&plan).await?;
        let homeless = plan.homeless();
        if submission.detach && !homeless.is_empty() {
            return Err(RunError::NoWorkerAtHome(homeless.into_iter().map(str::to_owned).collect()));
        }
        let run = weft_state::random_run_id().map_err(StoreError::from)?;
        let bytes = Opaque(submission.plan);
        term::create(self.store.as_ref(), term::new_run(run.clone(), unix_ms(), &plan.outline, bytes)).await?;
        let options = RunOptions {
            parallelism: submission.parallelism,
            gather_ms: GATHER_CONNECTED.as_millis() as u64,
            ..RunOptions::default()
        };
        self.start(&run, plan, options, None).await?;
        Ok(run)
    }

    /// Refuses a plan that is unsigned, or whose signature was used before, if signatures are required.
    async fn check_signature(&self, submission: &Submission) -> Result<(), RunError> {
        let Some(signers) = &self.signers else { return Ok(()) };
        let digest = Digest::of(&submission.plan);
        signers.verify(&submission.signature, &digest.hex(), SystemTime::now()).map_err(RunError::NotSigned)?;
        match self.store.runs().await?.iter().find(|run| run.plan == digest) {
            Some(run) => Err(RunError::AlreadyUsed { run: run.id.clone(), status: run.status }),
            None => Ok(()),
        }
    }

    /// Waits a short time for workers with the labels that a plan requires.
    async fn wait_for_labels(&self, plan: &RunPlan) -> Result<(), RunError> {
        let since = Instant::now();
        while let Some(unfit) = plan.unfit(&self.hub.labels()) {
            if since.elapsed() >= LABELS_WAIT {
                return Err(RunError::NoWorkerFits(Box::new(unfit)));
            }
            sleep(TICK).await;
        }
        Ok(())
    }

    /// Resumes a run. If `run` is `None`, resumes the run that [`resumable`] chooses. Returns `None` if there is no
    /// such run, or if the given run is done.
    ///
    /// # Errors
    /// Returns an error if the run cannot begin.
    pub async fn resume(self: &Arc<Self>, run: Option<RunId>, how: Resumption) -> Result<Option<RunId>, RunError> {
        let Some(run) = self.given_or_unfinished(run).await? else { return Ok(None) };
        if self.active.lock().contains_key(&run) {
            return Ok(Some(run));
        }
        if self.header(&run).await?.status == RunStatus::Done {
            return Ok(None);
        }
        let mut plan = self.plan(&run).await?;
        plan.inputs = how.inputs;
        let options = RunOptions { parallelism: how.parallelism, ..RunOptions::default() };
        self.start(&run, plan, options, None).await?;
        Ok(Some(run))
    }

    /// Begins a term, carries it out in the background, and returns its notices and doubts. Returns `None` if another
    /// call is already beginning a term of this run. `unmoved` is a lease that the caller has already watched for a TTL
    /// without a renewal.
    async fn start(
        self: &Arc<Self>,
        run: &RunId,
        mut plan: RunPlan,
        options: RunOptions,
        unmoved: Option<LeaseView>,
    ) -> Result<Option<StartedTerm>, RunError> {
        if !self.beginning.lock().insert(run.clone()) {
            return Ok(None);
        }
        plan.keep_home(run.as_str());
        let by = TakenBy { holder: &self.holder, unmoved };
        let begun = begin_term(&self.store, run, plan, options, by, self.hub.clone()).await;
        self.beginning.lock().remove(run);
        let BegunTerm { driver, inbox, events, watchers, doubts } = begun?;
        let started = StartedTerm { notices: watchers.subscribe(), doubts: Arc::clone(&doubts) };
        self.active.lock().insert(run.clone(), Active { events, watchers, doubts });
        let (service, run) = (Arc::clone(self), run.clone());
        tokio::spawn(async move {
            driver.run(inbox).await;
            service.active.lock().remove(&run);
        });
        Ok(Some(started))
    }

    /// The place of the journal of a run, for display.
    pub fn journal_place(&self, run: &RunId) -> String {
        self.store.journal_place(run)
    }

    /// All runs, newest first.
    ///
    /// # Errors
    /// Returns an error if the store does not respond.
    pub async fn list(&self) -> Result<Vec<RunListing>, RunError> {
        Ok(listings(self.store.as_ref()).await?)
    }

    /// One run with its operations. If `run` is `None`, the newest run.
    ///
    /// # Errors
    /// Returns an error if the run does not exist, its plan cannot be read, or the store does not respond.
    pub async fn show(&self, run: Option<RunId>) -> Result<Option<RunDetails>, RunError> {
        let Some(run) = self.named(run).await? else { return Ok(None) };
        let view = self.store.run(&run).await?.ok_or_else(|| RunError::NoRun(run.clone()))?;
        Ok(Some(RunDetails::new(&view, &self.plan(&run).await?.outline)))
    }

    /// Subscribes to the notices of a run. `None` if this coordinator does not carry out the run.
    pub fn watch(&self, run: &RunId) -> Option<broadcast::Receiver<RunEvent>> {
        self.active.lock().get(run).map(|active| active.watchers.subscribe())
    }

    /// The id of the given run, or of the newest run if `run` is `None`.
    ///
    /// # Errors
    /// Returns an error if the store does not respond.
    pub async fn named(&self, run: Option<RunId>) -> Result<Option<RunId>, RunError> {
        match run {
            Some(run) => Ok(Some(run)),
            None => Ok(self.store.runs().await?.first().map(|header| header.id.clone())),
        }
    }

    /// The store's header of a run.
    ///
    /// # Errors
    /// Returns an error if the run does not exist, or the store does not respond.
    pub async fn header(&self, run: &RunId) -> Result<RunHeader, RunError> {
        self.store.header(run).await?.ok_or_else(|| RunError::NoRun(run.clone()))
    }

    /// The plan file of the given run, or of the run that [`resumable`] chooses if `run` is `None`. Returns `None` if
    /// `run` is `None` and there is no such run.
    ///
    /// # Errors
    /// Returns an error if the store does not respond, or the given run does not exist.
    pub async fn plan_file(&self, run: Option<RunId>) -> Result<Option<(RunId, Vec<u8>)>, RunError> {
        let Some(run) = self.given_or_unfinished(run).await? else { return Ok(None) };
        let bytes = self.store.plan(&run).await?;
        Ok(Some((run, bytes.0)))
    }

    /// The given run, or the run that [`resumable`] chooses if `run` is `None`.
    async fn given_or_unfinished(&self, run: Option<RunId>) -> Result<Option<RunId>, RunError> {
        match run {
            Some(run) => Ok(Some(run)),
            None => Ok(resumable(&self.store.runs().await?).map(|header| header.id.clone())),
        }
    }

    async fn plan(&self, run: &RunId) -> Result<RunPlan, RunError> {
        let bytes = self.store.plan(run).await?;
        self.reader.read(&bytes.0).map_err(RunError::Plan)
    }

    /// Drains a run, or leaves it at once. Does nothing if this coordinator does not carry out the run.
    pub async fn cancel(&self, run: &RunId, how: Cancel) {
        let active = self.active.lock().get(run).cloned();
        if let Some(active) = active {
            let _ = active.events.send(vec![Event::Cancel(how)]).await;
        }
    }

    /// Takes over runs whose coordinator has died. Continues until this process ends. A lease that was not renewed for
    /// a TTL is taken over. If only one process at a time can use the store, the runs of the previous process are
    /// continued at once.
    pub async fn take_over_runs(self: Arc<Self>) {
        for run in self.store.interrupted() {
            self.take_over(&run, None).await;
        }
        let mut looks = interval(RENEW_INTERVAL);
        looks.set_missed_tick_behavior(MissedTickBehavior::Delay);
        let (began, mut seen): (Instant, BTreeMap<RunId, Looks>) = (Instant::now(), BTreeMap::new());
        loop {
            looks.tick().await;
            let runs = match self.store.runs().await {
                Ok(runs) => runs,
                Err(error) => {
                    warn!("the store does not list its runs: {error}");
                    continue;
                }
            };
            self.hub.meters().note_statuses(runs.iter().map(|header| header.status));
            let mut known = BTreeMap::new();
            for header in runs {
                let Some(view) = header.lease.filter(|_| header.status == RunStatus::Running) else { continue };
                if self.active.lock().contains_key(&header.id) {
                    continue;
                }
                let mut looks = seen.remove(&header.id).unwrap_or_default();
                if looks.look(&view, LEASE_TTL, began.elapsed()) == Look::Unmoved {
                    self.take_over(&header.id, Some(view)).await;
                } else {
                    known.insert(header.id, looks);
                }
            }
            seen = known;
        }
    }

    /// Takes over a run. Inputs that a plan does not contain are never stored, so these inputs are lost when the
    /// coordinator of the run dies. A run that needs such inputs is stopped cleanly, and `weft runs resume` provides
    /// the inputs again.
    async fn take_over(self: &Arc<Self>, run: &RunId, view: Option<LeaseView>) {
        let holder = view.as_ref().map(|view| view.holder.to_string()).unwrap_or_default();
        info!(%run, holder, "taking over the run, because its coordinator no longer renews the lease");
        let begun = match self.plan(run).await {
            Ok(plan) => {
                let missing = plan.missing_inputs().join(", ");
                if !missing.is_empty() {
                    warn!(%run, "the run is stopped: it needs values that are not stored ({missing})");
                }
                let options = RunOptions { only_resolve: !missing.is_empty(), ..RunOptions::default() };
                self.start(run, plan, options, view).await.map(drop)
            }
            Err(error) => Err(error),
        };
        if let Err(error) = begun {
            warn!(%run, "the run was not taken over: {error}");
        }
    }

    /// Ends all runs of this coordinator: drains them for a short time, then leaves them to other coordinators.
    pub async fn stop(&self) {
        let active: Vec<Active> = self.active.lock().values().cloned().collect();
        for run in &active {
            let _ = run.events.send(vec![Event::Cancel(Cancel::Drain)]).await;
        }
    }

    /// Whether this coordinator carries out no run.
    pub fn is_idle(&self) -> bool {
        self.active.lock().is_empty()
    }
}

fn unix_ms() -> u64 {
    let since = SystemTime::now().duration_since(UNIX_EPOCH).unwrap_or_default();
    u64::try_from(since.as_millis()).unwrap_or(u64::MAX)
}
