//! The beginning of a term: the lease, the claims, and the run's operations in the store.

use std::collections::BTreeMap;
use std::sync::Arc;
use std::time::Duration;

use tokio::time::{Instant, sleep};
use weft_graph_format::diagnostic::Diagnostic;
use weft_graph_format::graph::ClaimedSubject;
use weft_graph_format::operation_kind::OperationKind;
use weft_identity::signature::SignatureError;
use weft_state::{
    Acquire, AcquireAnswer, Claim, ClaimAnswer, ClaimMode, CreateAnswer, Doubt, HeldSubject, Holder, Lease, LeaseView,
    NewRun, Opaque, Revision, RunId, RunStatus, RunStore, RunView, Stale, StoreError, Subject, TermEnding, Unrelated,
};

use crate::core::Beginning;
use crate::lease::{Look, Looks};
use crate::listing::fitting;
use crate::outline::{Outline, OutlineError, RunClaim};
use crate::plan::Unfit;
use crate::problems::no_random_bytes;
pub use crate::problems::{defect, other_state};
use crate::timing::LEASE_TTL;

/// The interval at which the lease of another process is checked for renewals. The holder renews at longer intervals
/// (`RENEW_INTERVAL`), so a shorter interval here would only cost requests.
const LOOK_INTERVAL: Duration = Duration::from_millis(500);

/// Why a run cannot begin or be resumed.
#[derive(Debug, thiserror::Error)]
pub enum RunError {
    /// The store does not respond, or it refuses a step.
    #[error(transparent)]
    Store(#[from] StoreError),
    /// The plan is inconsistent.
    #[error(transparent)]
    Outline(#[from] OutlineError),
    /// The plan file cannot be read.
    #[error("the plan file of the run cannot be read")]
    Plan(Vec<Diagnostic>),
    /// The run does not exist.
    #[error("there is no run {0}")]
    NoRun(RunId),
    /// Another run already has the id.
    #[error("there is already a run {0} with another plan")]
    Exists(RunId),
    /// Another process has the lease of the run.
    #[error("run {run} is being carried out by {}", .view.holder)]
    Held {
        /// The run.
        run: RunId,
        /// The holder.
        view: Box<LeaseView>,
    },
    /// The claims are refused: a subject of the run has changed, is claimed by another run, or is in doubt.
    #[error(
        "the run cannot claim the parts of the state that its plan changes: {}",
        claims_refused(.stale, .held, .doubts)
    )]
    Refused {
        /// Subjects that have changed since the plan was made.
        stale: Vec<Stale>,
        /// Subjects that other runs have claimed.
        held: Vec<HeldSubject>,
        /// Subjects that are in doubt since an earlier run.
        doubts: Vec<Doubt>,
    },
    /// The plan was made for another state.
    #[error("{}", other_state(*.0).detail)]
    OtherState(Unrelated),
    /// The lease was lost before the run began.
    #[error("another process has taken over run {0}")]
    Fenced(RunId),
    /// A detached run has operations that need a worker at home.
    #[error(
        "a detached run has no worker on your machine, but these operations must run there: {}. Apply without -detach, \
         or assign these operations to a worker with the label home=NAME",
        .0.join(", ")
    )]
    NoWorkerAtHome(Vec<String>),
    /// Placement rules require labels that no connected worker has.
    #[error("{0}")]
    NoWorkerFits(Box<Unfit>),
    /// No operation at the address is in doubt.
    #[error("nothing at {address} is in doubt in run {run}")]
    NotInDoubt {
        /// The run.
        run: RunId,
        /// The address as given.
        address: String,
    },
    /// The address names several objects in doubt.
    #[error("several objects of {0} are in doubt: name one, `{0} (deposed object KEY)`")]
    Ambiguous(String),
    /// The decision does not fit the operation in doubt.
    #[error("{decision} does not fit {address}, because the operation in doubt is {action}: use {}", fitting(Some(*.action)).join(", "))]
    DecisionDoesNotFit {
        /// The address.
        address: String,
        /// The kind of the operation.
        action: OperationKind,
        /// The decision.
        decision: &'static str,
    },
    /// Another address has the object.
    #[error("{address} cannot adopt {id}: the state has this object at {owner}")]
    IdTaken {
        /// The id.
        id: String,
        /// The address for which the object was to be adopted.
        address: String,
        /// The address that has the object.
        owner: String,
    },
    /// The coordinator requires a signature of the plan, but the plan has no valid signature.
    #[error("the coordinator accepts only signed plans, but the signature of this plan is not valid: {0}")]
    NotSigned(SignatureError),
    /// The coordinator requires signatures, but a run has already used the signature of this plan.
    #[error(
        "a signature is valid for one run, and run {run} has already used the signature of this plan. {}",
        after_signed_run(.run, *.status)
    )]
    AlreadyUsed {
        /// The run.
        run: RunId,
        /// The status of the run.
        status: RunStatus,
    },
    /// Data that must be encrypted would be stored unencrypted.
    #[error(
        "the configuration requires encryption, but the coordinator would store its data unencrypted in {0}. Start the \
         coordinator with the same settings in its environment (TF_ENCRYPTION), or apply without a coordinator"
    )]
    NotSealed(String),
}

/// What a user can do instead of applying a signed plan again that this run has used.
pub fn after_signed_run(run: &RunId, status: RunStatus) -> String {
    match status {
        RunStatus::Done => "That run is done. For other changes, make a new plan and sign it.".to_owned(),
        _ => format!("To continue that run: weft runs resume {run}. Otherwise make a new plan and sign it."),
    }
}

fn claims_refused(stale: &[Stale], held: &[HeldSubject], doubts: &[Doubt]) -> String {
    let stale = stale.iter().map(|stale| format!("{} changed since the plan was made", stale.subject));
    let held = held.iter().map(|held| format!("{} is held by run {} ({})", held.subject, held.run, held.holder));
    let doubts = doubts.iter().map(|doubt| format!("{} is in doubt since run {}", doubt.key, doubt.run));
    stale.chain(held).chain(doubts).collect::<Vec<_>>().join("; ")
}

/// Creates a run in the store.
///
/// # Errors
/// Returns an error if the store does not respond, or if another run has the id.
pub async fn create(store: &dyn RunStore, run: NewRun) -> Result<(), RunError> {
    let id = run.id.clone();
    match store.create_run(run).await? {
        CreateAnswer::Created => Ok(()),
        CreateAnswer::Exists(_) => Err(RunError::Exists(id)),
    }
}

/// A new run of a plan. The run becomes durable when [`create`] stores it.
pub fn new_run(id: RunId, started_unix_ms: u64, outline: &Outline, plan: Opaque) -> NewRun {
    let operations = u32::try_from(outline.operations.len()).unwrap_or(u32::MAX);
    NewRun { id, started_unix_ms, operations, plan, starts_now: false }
}

/// A lease, and the input of its term.
#[derive(Debug)]
pub(crate) struct Term {
    pub(crate) lease: Lease,
    pub(crate) beginning: Beginning,
}

/// Acquires the lease of a run, as [`take_lease`] describes, and claims the subjects of the run.
pub(crate) async fn begin(
    store: &Arc<dyn RunStore>,
    run: &RunId,
    outline: &Outline,
    holder: &Holder,
    unmoved: Option<LeaseView>,
) -> Result<Term, RunError> {
    let lease = take_lease(store.as_ref(), run, holder, unmoved).await?;
    match prepare(store.as_ref(), &lease, outline).await {
        Ok(beginning) => Ok(Term { lease, beginning }),
        Err((error, ending)) => {
            // Report why the claim failed. A lease that cannot be released expires.
            let _ = match ending {
                TermEnding::Finished => store.withdraw(&lease).await,
                TermEnding::Stopped => store.release(&lease, ending).await,
            };
            Err(store.salvage(run, &[]).await.map_or(error, |salvaged| RunError::Store(salvaged.error)))
        }
    }
}

/// Acquires the lease of a run. If another process has the lease and is not known to be dead, watches the lease for a
/// TTL, and takes it over if it is not renewed in this time. If the lease is renewed, the holder is alive, and the
/// function returns an error. `unmoved` is a lease that the caller has already watched for a TTL without a renewal.
///
/// # Errors
/// Returns an error if the run does not exist, its holder is alive, or the store does not respond.
pub async fn take_lease(
    store: &dyn RunStore,
    run: &RunId,
    holder: &Holder,
    mut unmoved: Option<LeaseView>,
) -> Result<Lease, RunError> {
    let (began, mut looks) = (Instant::now(), Looks::default());
    loop {
        let asked = unmoved.is_some();
        let term = random_term()?;
        let request = Acquire { run: run.clone(), holder: holder.clone(), term, unmoved: unmoved.take() };
        let view = match store.acquire(request).await? {
            AcquireAnswer::Granted(lease) => return Ok(lease),
            AcquireAnswer::NoRun => return Err(RunError::NoRun(run.clone())),
            AcquireAnswer::Held(view) => view,
        };
        match looks.look(&view, LEASE_TTL, began.elapsed()) {
            Look::Unmoved if !asked => {
                unmoved = Some(view);
                continue;
            }
            // The holder is alive: it renewed the lease, or the store refused the takeover.
            Look::Moved | Look::Unmoved => return Err(RunError::Held { run: run.clone(), view: Box::new(view) }),
            Look::First | Look::Waits => {}
        }
        sleep(LOOK_INTERVAL).await;
    }
}

fn random_term() -> Result<u128, StoreError> {
    let mut bytes = [0; 16];
    getrandom::fill(&mut bytes).map_err(|error| no_random_bytes(&error))?;
    Ok(u128::from_le_bytes(bytes))
}

pub(crate) async fn prepare(
    store: &dyn RunStore,
    lease: &Lease,
    outline: &Outline,
) -> Result<Beginning, (RunError, TermEnding)> {
    let stopped = |error: StoreError| (RunError::Store(error), TermEnding::Stopped);
    let missing = || (RunError::NoRun(lease.run.clone()), TermEnding::Stopped);
    let mut view = store.run(&lease.run).await.map_err(stopped)?.ok_or_else(missing)?;
    let had_claims = view.header.claimed;
    if !view.header.claimed {
        claim(store, lease, outline, &view).await?;
        view = store.run(&lease.run).await.map_err(stopped)?.ok_or_else(missing)?;
    }
    let mut snapshot = store.snapshot().await.map_err(stopped)?;
    // The lineage of the state is not compared with the plan in two cases. A run that has begun operations may have
    // created the state itself. While nothing has been written, the lineage of the state is not final, so a resumed run
    // that was killed before its first call may find another lineage.
    let is_settled = view.ops.is_empty() && !(had_claims && snapshot.is_new());
    let planned = outline.lineage.as_deref().filter(|_| is_settled);
    if let Some(why) = planned.and_then(|lineage| snapshot.unrelated(lineage)) {
        return Err((RunError::OtherState(why), TermEnding::Finished));
    }
    let bare = snapshot.bare_resources().collect();
    let mut revisions: BTreeMap<Subject, Revision> = BTreeMap::new();
    let mut records = Vec::new();
    for claim in &outline.claims {
        if claim.mode != ClaimMode::Exclusive {
            continue;
        }
        if let ClaimedSubject::Instance(address) = &claim.subject {
            let subject = claim.stored_subject();
            match snapshot.instances.remove(address) {
                Some(stored) => {
                    revisions.insert(subject, stored.revision);
                    records.push(stored.record);
                }
                None => {
                    let revision = snapshot.other_revisions.get(&subject).copied().unwrap_or_default();
                    revisions.insert(subject, revision);
                }
            }
        }
    }
    Ok(Beginning { view, records, revisions, checks: snapshot.checks, bare })
}

async fn claim(
    store: &dyn RunStore,
    lease: &Lease,
    outline: &Outline,
    view: &RunView,
) -> Result<(), (RunError, TermEnding)> {
    let stored = |claim: &RunClaim| {
        let subject = claim.stored_subject();
        let expected = view.written.get(&subject).copied().unwrap_or(claim.expected);
        Claim { subject, mode: claim.mode, expected }
    };
    let claims: Vec<Claim> = outline.claims.iter().map(stored).collect();
    match store.claim(lease, &claims).await {
        Ok(ClaimAnswer::Claimed) => Ok(()),
        Ok(ClaimAnswer::Fenced(_)) | Err(StoreError::Superseded(_)) => {
            Err((RunError::Fenced(lease.run.clone()), TermEnding::Stopped))
        }
        Ok(ClaimAnswer::Refused { stale, held, doubts }) => {
            // The run got no claims, so it is finished and need not be resumed.
            Err((RunError::Refused { stale, held, doubts }, TermEnding::Finished))
        }
        Err(error) => Err((error.into(), TermEnding::Stopped)),
    }
}
