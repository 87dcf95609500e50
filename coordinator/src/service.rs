//! Many runs at a time on one store: submit, watch, resume, resolve, cancel, and take over runs that others left.

use std::collections::{BTreeMap, BTreeSet};
use std::sync::Arc;
use std::time::{Duration, SystemTime, UNIX_EPOCH};

use parking_lot::Mutex;
use tokio::sync::{broadcast, mpsc};
use tokio::time::{Instant, MissedTickBehavior, interval, sleep, timeout};
use tracing::{info, warn};
use weft_identity::signature::TrustedKeys;
use weft_state::{
    Digest, Holder, IdOwners, LeaseView, OpIndex, OpStatus, Opaque, RunHeader, RunId, RunStatus, RunStore, StoreError,
};

use crate::core::RunOptions;
use crate::doubts::{KnownDoubt, KnownDoubts};
use crate::driver::{BegunTerm, RunEvent, RunOutcome, TakenBy, begin_term};
use crate::event::{Cancel, Decision, Event, UserResolution};
use crate::figures::Figures;
use crate::hub::Hub;
use crate::lease::{Look, Looks};
use crate::listing::{RunDetails, RunListing, doubtful, fitting, listings, resumable};
use crate::plan::{ReadPlan, RunPlan};
use crate::term::{self, RunError};
use crate::timing::{GATHER_CONNECTED, LABELS_WAIT, LEASE_TTL, RENEW_INTERVAL, TICK};

/// How long `resolve` waits for the outcome. Adopting an object reads from a provider.
const RESOLVE_WAIT: Duration = Duration::from_secs(60);
/// How long `look_up` waits. Each object in doubt is read or looked up, many at the same time.
const LOOK_UP_WAIT: Duration = Duration::from_secs(180);

#[derive(Clone)]
struct Active {
    events: mpsc::Sender<Vec<Event>>,
    watchers: broadcast::Sender<RunEvent>,
    doubts: Arc<KnownDoubts>,
}

/// A term that has begun.
struct StartedTerm {
    /// All its notices.
    notices: broadcast::Receiver<RunEvent>,
    doubts: Arc<KnownDoubts>,
}

/// A coordinator process: its store, its workers, and the runs that it carries out.
pub struct Service {
    store: Arc<dyn RunStore>,
    reader: Arc<dyn ReadPlan>,
    holder: Holder,
    hub: Hub,
    /// The keys, one of which must have signed each plan. `None` accepts every plan.
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
    /// No command watches the run, so there is no worker at home.
    pub detach: bool,
    /// State and run must be stored encrypted.
    pub sealed: bool,
    /// The plan must be stored encrypted.
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

/// The outcome of a user's resolution.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct ResolveAnswer {
    /// The status of the operation now.
    pub status: OpStatus,
    /// Why it is still in doubt; empty otherwise.
    pub reason: String,
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

    /// What there is to show of the coordinator in metrics.
    pub fn figures(&self) -> Figures {
        self.hub.figures()
    }

    /// Stores a plan as a new run and begins it.
    ///
    /// # Errors
    /// When the plan cannot be read, needs workers that cannot connect, or its claims are refused; when it must be
    /// stored encrypted and the store does not encrypt.
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
        term::create(self.store.as_ref(), run.clone(), unix_ms(), &plan.outline, bytes).await?;
        let options = RunOptions {
            parallelism: submission.parallelism,
            gather_ms: GATHER_CONNECTED.as_millis() as u64,
            ..RunOptions::default()
        };
        self.start(&run, plan, options, None).await?;
        Ok(run)
    }

    /// Refuses a plan that is not signed, or whose signature was used, if signatures are required.
    async fn check_signature(&self, submission: &Submission) -> Result<(), RunError> {
        let Some(signers) = &self.signers else { return Ok(()) };
        let digest = Digest::of(&submission.plan);
        signers.verify(&submission.signature, &digest.hex(), SystemTime::now()).map_err(RunError::NotSigned)?;
        match self.store.runs().await?.iter().find(|run| run.plan == digest) {
            Some(run) => Err(RunError::AlreadyUsed(run.id.clone())),
            None => Ok(()),
        }
    }

    /// Waits a moment for workers with the labels that a plan demands.
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

    /// Resumes a run, or the newest unfinished one; `None` when there is none.
    ///
    /// # Errors
    /// When the run cannot begin.
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

    /// Begins a term in the background, and returns it. A term of this run that is already about to begin continues
    /// instead.
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

    /// All runs, newest first.
    ///
    /// # Errors
    /// When the store does not answer.
    pub async fn list(&self) -> Result<Vec<RunListing>, RunError> {
        Ok(listings(self.store.as_ref()).await?)
    }

    /// One run with its operations; the newest without a name.
    ///
    /// # Errors
    /// When the run does not exist, or its plan cannot be read.
    pub async fn show(&self, run: Option<RunId>) -> Result<Option<RunDetails>, RunError> {
        let Some(run) = self.named(run).await? else { return Ok(None) };
        let view = self.store.run(&run).await?.ok_or_else(|| RunError::NoRun(run.clone()))?;
        Ok(Some(RunDetails::new(&view, &self.plan(&run).await?.outline)))
    }

    /// Subscribes to the notices of a run; `None` when this coordinator does not carry it out.
    pub fn watch(&self, run: &RunId) -> Option<broadcast::Receiver<RunEvent>> {
        self.active.lock().get(run).map(|active| active.watchers.subscribe())
    }

    /// The id of this run, or of the newest one.
    ///
    /// # Errors
    /// When the store does not answer.
    pub async fn named(&self, run: Option<RunId>) -> Result<Option<RunId>, RunError> {
        match run {
            Some(run) => Ok(Some(run)),
            None => Ok(self.store.runs().await?.first().map(|header| header.id.clone())),
        }
    }

    /// The store's header of a run.
    ///
    /// # Errors
    /// When the run does not exist.
    pub async fn header(&self, run: &RunId) -> Result<RunHeader, RunError> {
        self.store.header(run).await?.ok_or_else(|| RunError::NoRun(run.clone()))
    }

    /// The plan file of a run, or of the newest unfinished one; `None` when there is none.
    ///
    /// # Errors
    /// When the store does not answer, or the run does not exist.
    pub async fn plan_file(&self, run: Option<RunId>) -> Result<Option<(RunId, Vec<u8>)>, RunError> {
        let Some(run) = self.given_or_unfinished(run).await? else { return Ok(None) };
        let bytes = self.store.plan(&run).await?;
        Ok(Some((run, bytes.0)))
    }

    /// The given run, or the newest unfinished one.
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

    /// Drains a run, or leaves it at once. Does nothing for a run that this coordinator does not carry out.
    pub async fn cancel(&self, run: &RunId, how: Cancel) {
        let active = self.active.lock().get(run).cloned();
        if let Some(active) = active {
            let _ = active.events.send(vec![Event::Cancel(how)]).await;
        }
    }

    /// Carries out the user's decision on an operation in doubt, in the running term or in a term of its own.
    ///
    /// # Errors
    /// When the run does not exist, nothing at the address is in doubt, or the store does not answer.
    pub async fn resolve(
        self: &Arc<Self>,
        run: &RunId,
        address: &str,
        decision: Decision,
    ) -> Result<ResolveAnswer, RunError> {
        let view = self.store.run(run).await?.ok_or_else(|| RunError::NoRun(run.clone()))?;
        let plan = self.plan(run).await?;
        let operations = doubtful(&view, &plan.outline, address);
        let operation = match operations.as_slice() {
            [operation] => *operation,
            [] => return Err(RunError::NotInDoubt { run: run.clone(), address: address.to_owned() }),
            _ => return Err(RunError::Ambiguous(address.to_owned())),
        };
        self.check_decision(&plan, operation, &decision).await?;
        let resolution = UserResolution { operation, decision };
        let mut started = None;
        if !self.active.lock().contains_key(run) {
            let options =
                RunOptions { resolutions: vec![resolution.clone()], only_resolve: true, ..RunOptions::default() };
            started = self.start(run, plan, options, None).await?;
        }
        let active = self.active.lock().get(run).cloned();
        if let Some(active) = &active {
            let watch = active.watchers.subscribe();
            let _ = active.events.send(vec![Event::Resolve(resolution)]).await;
            let outcome = async {
                settled(watch, operation).await;
                // A resume must not find a term that only resolves.
                if let Some(started) = started {
                    ended(started.notices).await;
                }
            };
            let _ = timeout(RESOLVE_WAIT, outcome).await;
        }
        let view = self.store.run(run).await?.ok_or_else(|| RunError::NoRun(run.clone()))?;
        let status = view.ops.get(&OpIndex(operation)).map(|record| record.status).unwrap_or_default();
        let known = active.and_then(|active| active.doubts.get(operation));
        let reason = match (status, known) {
            (OpStatus::InDoubt, Some(known)) => known.reason,
            (OpStatus::InDoubt, None) => "no evidence was found".to_owned(),
            _ => String::new(),
        };
        Ok(ResolveAnswer { status, reason })
    }

    /// Looks for evidence about the operations in doubt of a run. A term that is under way has done so; otherwise a term
    /// of its own does, and starts nothing else. Returns what is known about the doubts that are left, by the numbers of
    /// their operations.
    ///
    /// # Errors
    /// When the run does not exist, or the store does not answer.
    pub async fn look_up(self: &Arc<Self>, run: &RunId) -> Result<BTreeMap<u32, KnownDoubt>, RunError> {
        let plan = self.plan(run).await?;
        let outline = Arc::clone(&plan.outline);
        let mut doubts = self.active.lock().get(run).map(|active| Arc::clone(&active.doubts));
        if doubts.is_none() {
            let options = RunOptions { only_resolve: true, look_up: true, ..RunOptions::default() };
            if let Some(started) = self.start(run, plan, options, None).await? {
                doubts = Some(started.doubts);
                if timeout(LOOK_UP_WAIT, ended(started.notices)).await.is_err() {
                    // No worker fits, or a provider does not answer.
                    self.cancel(run, Cancel::Drain).await;
                }
            }
        }
        let view = self.store.run(run).await?.ok_or_else(|| RunError::NoRun(run.clone()))?;
        let snapshot = self.store.snapshot().await?;
        let mut known: BTreeMap<u32, KnownDoubt> = BTreeMap::new();
        for doubt in snapshot.doubts.values().filter(|doubt| doubt.run == *run) {
            let reason = doubt.reason.clone();
            known.insert(doubt.op.0, KnownDoubt { reason, candidate: None });
        }
        known.retain(|operation, _| {
            view.ops.get(&OpIndex(*operation)).is_some_and(|record| record.status == OpStatus::InDoubt)
        });
        let owners = IdOwners::of(&snapshot);
        for (operation, doubt) in &mut known {
            let noted = doubts.as_ref().and_then(|doubts| doubts.get(*operation));
            if let (Some(noted), Some(listed)) = (noted, outline.operation(*operation)) {
                *doubt = noted.without_owned(&listed.address, &owners);
            }
        }
        Ok(known)
    }

    /// Refuses a decision that does not fit the operation, and an id that belongs to another address.
    async fn check_decision(&self, plan: &RunPlan, operation: u32, decision: &Decision) -> Result<(), RunError> {
        let Some(position) = plan.outline.position(operation) else { return Ok(()) };
        let operation = plan.outline.at(position);
        if !fitting(&operation.action).contains(&decision.name()) {
            return Err(RunError::DecisionDoesNotFit {
                address: operation.address.clone(),
                action: operation.action.clone(),
                decision: decision.name(),
            });
        }
        if let Decision::Adopt(id) = decision
            && let Some(owner) = IdOwners::of(&self.store.snapshot().await?).other(&operation.address, id)
        {
            return Err(RunError::IdTaken { id: id.clone(), address: operation.address.clone(), owner });
        }
        Ok(())
    }

    /// Looks for runs whose coordinator is gone, until the process ends. A lease that has not moved for a TTL is taken
    /// over. Where only one process has the store, the runs of the last one are continued at once.
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

    /// Inputs that a plan does not contain are never stored, so they are lost with the coordinator that had them. Such
    /// a run is stopped in good order, and `weft runs resume` provides them again.
    async fn take_over(self: &Arc<Self>, run: &RunId, view: Option<LeaseView>) {
        let holder = view.as_ref().map(|view| view.holder.to_string()).unwrap_or_default();
        info!(%run, holder, "taking the run over: its coordinator is gone");
        let begun = match self.plan(run).await {
            Ok(plan) => {
                let missing = plan.missing_inputs().join(", ");
                if !missing.is_empty() {
                    warn!(%run, "the run is stopped: it wants values that are not stored ({missing})");
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

    /// Ends all runs here: drains them for a moment, then leaves them for other coordinators.
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

/// Waits for the outcome of a resolution.
async fn settled(mut watch: broadcast::Receiver<RunEvent>, operation: u32) -> Option<RunOutcome> {
    use crate::operation_event::OperationEventKind as K;
    loop {
        match watch.recv().await {
            Ok(RunEvent::Progress(progress)) if progress.operation == operation => {
                if matches!(progress.what, K::Done { .. } | K::Failed | K::InDoubt { .. } | K::Returned | K::Started) {
                    return None;
                }
            }
            Ok(RunEvent::Ended(outcome)) => return Some(*outcome),
            Ok(_) | Err(broadcast::error::RecvError::Lagged(_)) => {}
            Err(broadcast::error::RecvError::Closed) => return None,
        }
    }
}

/// Waits for the end of a term.
async fn ended(mut watch: broadcast::Receiver<RunEvent>) {
    loop {
        match watch.recv().await {
            Ok(RunEvent::Ended(_)) | Err(broadcast::error::RecvError::Closed) => return,
            Ok(_) | Err(broadcast::error::RecvError::Lagged(_)) => {}
        }
    }
}

fn unix_ms() -> u64 {
    let since = SystemTime::now().duration_since(UNIX_EPOCH).unwrap_or_default();
    u64::try_from(since.as_millis()).unwrap_or(u64::MAX)
}
