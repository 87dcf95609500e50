//! The content of `weft runs list` and `weft runs show`, with the names that scripts rely on.

mod waits;

use serde::Serialize;
use weft_graph_format::address::NamedObject;
use weft_graph_format::diagnostic::Diagnostic;
use weft_graph_format::operation_kind::{NamedAction, OperationKind};
use weft_state::{
    ChangeTotals, Choice, FailureKind, OpCounts, OpStatus, Opaque, RunHeader, RunStatus, RunStore, RunView, StoreError,
};

use crate::outline::Outline;
use crate::problems;
use crate::process::worker_name;
pub use waits::WAITS_LISTED;
use waits::Waits;

/// The number of operations by status. The sum of the fields is the number of all operations.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Serialize)]
pub struct OperationCounts {
    /// Operations that have not begun or are leased.
    pub pending: u32,
    /// Operations with an open intent.
    pub running: u32,
    /// Committed operations.
    pub done: u32,
    /// Failed operations.
    pub failed: u32,
    /// Operations that were skipped, because an input failed or is in doubt.
    pub skipped: u32,
    /// Operations in doubt.
    pub in_doubt: u32,
}

impl From<OpCounts> for OperationCounts {
    fn from(counts: OpCounts) -> OperationCounts {
        let OpCounts { pending, running, done, failed, skipped, in_doubt } = counts;
        OperationCounts { pending, running, done, failed, skipped, in_doubt }
    }
}

/// A run in a list.
#[derive(Clone, Debug, PartialEq, Eq, Serialize)]
pub struct RunListing {
    /// The id of the run.
    pub id: String,
    /// `running stopped done failed in-doubt`.
    pub status: String,
    /// blake3 of the plan file, in hex.
    pub plan: String,
    /// The start in RFC 3339, UTC.
    pub started: String,
    /// The number of operations by status.
    pub counts: OperationCounts,
    /// The user of the process that carried out the run last; empty if the store does not know this user.
    #[serde(skip_serializing_if = "String::is_empty")]
    pub user: String,
    /// The machine of the process that carried out the run last; empty if the store does not know this machine.
    #[serde(skip_serializing_if = "String::is_empty")]
    pub host: String,
    /// The end in RFC 3339, UTC; empty while the run is unfinished, or if the store does not know the end.
    #[serde(skip_serializing_if = "String::is_empty")]
    pub ended: String,
    /// The numbers of changes that the run has made; `None` if they are not known.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub changes: Option<ChangeTotals>,
    /// The end of the run in milliseconds since 1970; `None` if the store does not know the end.
    #[serde(skip)]
    pub ended_unix_ms: Option<u64>,
    /// The process that has the lease, as text.
    #[serde(skip)]
    pub holder: String,
    /// The start of the run in milliseconds since 1970.
    #[serde(skip)]
    pub started_unix_ms: u64,
}

impl RunListing {
    /// Builds the entry of a run from the header that the store has for the run.
    pub fn new(header: &RunHeader) -> RunListing {
        RunListing {
            id: header.id.to_string(),
            status: header.status.word().to_owned(),
            plan: header.plan.hex(),
            started: rfc3339(header.started_unix_ms),
            counts: header.counts.into(),
            user: header.past.holder.user.clone(),
            host: header.past.holder.machine.clone(),
            ended: header.past.ended_unix_ms.map(rfc3339).unwrap_or_default(),
            changes: header.past.totals,
            ended_unix_ms: header.past.ended_unix_ms,
            holder: header.lease.as_ref().map(|lease| lease.holder.to_string()).unwrap_or_default(),
            started_unix_ms: header.started_unix_ms,
        }
    }
}

/// The number of newest runs in a list whose changes are counted if the store does not have their totals. Counting the
/// changes of a run means reading its operations.
const COUNTED_RUNS: usize = 20;
/// The changes of a run are counted only if the run has at most this number of finished operations. Reading more
/// operations would make the list slow.
const COUNTED_OPERATIONS: u32 = 10_000;

/// All runs of a store, newest first. The numbers of changes of a run are included if they are stored, or if they can
/// be counted quickly.
///
/// # Errors
/// Returns an error if the store does not respond.
pub async fn listings(store: &dyn RunStore) -> Result<Vec<RunListing>, StoreError> {
    let mut runs = store.runs().await?;
    let uncounted = |header: &&mut RunHeader| header.past.totals.is_none() && header.counts.done <= COUNTED_OPERATIONS;
    for header in runs.iter_mut().take(COUNTED_RUNS).filter(uncounted) {
        if let Some(run) = store.run(&header.id).await? {
            header.past.totals = Some(ChangeTotals::of(run.ops.values()));
        }
    }
    Ok(runs.iter().map(RunListing::new).collect())
}

/// Formats a time in milliseconds since 1970 as RFC 3339.
pub(crate) fn rfc3339(unix_ms: u64) -> String {
    let time = i64::try_from(unix_ms).ok().and_then(|ms| jiff::Timestamp::from_millisecond(ms).ok());
    time.map(|time| time.to_string()).unwrap_or_default()
}

/// Warnings about creates that a resumed run does not retry, because an earlier attempt left an object.
pub fn kept_objects(details: &RunDetails) -> Vec<Diagnostic> {
    let kept = details.operations.iter().filter(|operation| operation.object_kept);
    kept.map(|operation| problems::object_kept(&operation.address)).collect()
}

/// An operation of a run.
#[derive(Clone, Debug, PartialEq, Eq, Serialize)]
pub struct OperationListing {
    /// The address of the operation.
    pub address: String,
    /// The action of the operation.
    pub action: NamedAction,
    /// `pending intended done failed skipped in-doubt`.
    pub status: String,
    /// The provider instance as text; empty if there is none.
    pub provider_instance: String,
    /// The name of the worker that made the last attempt; empty before the first attempt.
    pub worker: String,
    /// The number of the last attempt; 0 before the first attempt.
    pub attempt: u32,
    /// The key of the deposed object.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub deposed: Option<String>,
    /// Whether this is a create that failed but may have created an object.
    #[serde(skip_serializing_if = "std::ops::Not::not")]
    pub absence_unproven: bool,
    /// Whether this is a create that failed and left an object in the state. The run does not retry such a create.
    #[serde(skip_serializing_if = "std::ops::Not::not")]
    pub object_kept: bool,
    /// The addresses of the first unfinished operations that this operation waits for. At most [`WAITS_LISTED`].
    #[serde(skip_serializing_if = "Vec::is_empty")]
    pub waits_for: Vec<String>,
    /// Whether an attempt had an intent, so that a real object may have changed.
    #[serde(skip)]
    pub intended: bool,
    /// The number of the operation in the plan.
    #[serde(skip)]
    pub operation: u32,
    /// Encoded diagnostics of a failure.
    #[serde(skip)]
    pub diagnostics: Opaque,
}

/// A run with its operations.
#[derive(Clone, Debug, PartialEq, Eq, Serialize)]
pub struct RunDetails {
    /// The run.
    #[serde(flatten)]
    pub run: RunListing,
    /// The operations of the run, in the plan's order.
    pub operations: Vec<OperationListing>,
}

impl RunDetails {
    /// Builds the details from the store's view and the plan's outline.
    pub fn new(view: &RunView, outline: &Outline) -> RunDetails {
        let mut waits = Waits::new(view, outline);
        let operations = outline.operations.iter().map(|operation| {
            let record = view.ops.get(&weft_state::OpIndex(operation.index));
            let failure = record.and_then(|record| record.failure.as_ref());
            let status = record.map(|record| record.status).unwrap_or(OpStatus::Pending);
            let provider_instance = outline.shard(operation.shard).map(|shard| shard.key.provider_instance());
            OperationListing {
                address: operation.address.clone(),
                action: operation.action(),
                status: status.word().to_owned(),
                provider_instance: provider_instance.unwrap_or_default().to_owned(),
                worker: record.map(|record| worker_name(&record.worker).to_owned()).unwrap_or_default(),
                attempt: record.map(|record| record.attempt.0).unwrap_or_default(),
                deposed: operation.deposed.clone(),
                object_kept: failure.is_some_and(|failure| failure.kind == FailureKind::ObjectKept),
                absence_unproven: failure.is_some_and(|failure| failure.kind == FailureKind::AbsenceUnproven),
                waits_for: waits.of(operation, status),
                intended: record.is_some_and(|record| record.target.is_some()),
                operation: operation.index,
                diagnostics: failure.map(|failure| failure.diagnostics.clone()).unwrap_or_default(),
            }
        });
        RunDetails { operations: operations.collect(), run: RunListing::new(&view.header) }
    }
}

/// The run that `weft runs resume` resumes; `runs` is newest first. The first choice is the newest run that still has
/// claims: until this run ends, no other run can change the claimed instances. The second choice is the newest run that
/// is not done. A run that ended with failures has no claims. As soon as a later run is done, the plan of the failed
/// run is outdated, so the failed run cannot be resumed. A run that the user abandoned is resumed only by name.
pub fn resumable(runs: &[RunHeader]) -> Option<&RunHeader> {
    let newer = runs.iter().position(|run| run.status == RunStatus::Done).unwrap_or(runs.len());
    let holds = |run: &RunHeader| match run.status {
        RunStatus::InDoubt => true,
        RunStatus::Running | RunStatus::Stopped => run.claimed,
        RunStatus::Done | RunStatus::Failed => false,
    };
    let unfinished = |(place, run): &(usize, &RunHeader)| match run.status {
        RunStatus::Done => false,
        RunStatus::Failed => *place < newer,
        RunStatus::Running | RunStatus::Stopped | RunStatus::InDoubt => true,
    };
    let wanted = || runs.iter().enumerate().filter(|(_, run)| !run.abandoned);
    wanted().find(|(_, run)| holds(run)).or_else(|| wanted().find(unfinished)).map(|(_, run)| run)
}

/// The numbers of the operations on an object that are in doubt, or that have an intent without an outcome. Without the
/// key of a deposed object, all objects of the instance match.
pub fn doubtful(view: &RunView, outline: &Outline, object: &NamedObject) -> Vec<u32> {
    let matches = |operation: &&crate::outline::OutlineOperation| {
        let record = view.ops.get(&weft_state::OpIndex(operation.index));
        let open = record.is_some_and(|record| matches!(record.status, OpStatus::InDoubt | OpStatus::Intended));
        open && operation.instance().is_some_and(|address| object.matches(address, operation.deposed.as_deref()))
    };
    outline.operations.iter().filter(matches).map(|operation| operation.index).collect()
}

/// The words of the decisions that fit an operation in doubt of this kind. `None` is an unknown kind.
pub fn fitting(kind: Option<OperationKind>) -> Vec<&'static str> {
    Choice::fitting(kind).iter().map(|choice| choice.word()).collect()
}

#[cfg(test)]
mod tests {
    use weft_state::{Digest, OpIndex, OpRecord, RunId, RunPast};

    use super::*;

    fn runs(statuses: &[RunStatus]) -> Vec<RunHeader> {
        let header = |(place, status): (usize, &RunStatus)| RunHeader {
            id: RunId::parse(&format!("run-{place}")).unwrap(),
            plan: Digest::default(),
            started_unix_ms: 0,
            status: *status,
            counts: OpCounts::default(),
            claimed: false,
            abandoned: false,
            lease: None,
            past: RunPast::default(),
        };
        statuses.iter().enumerate().map(header).collect()
    }

    #[test]
    fn an_object_in_doubt_is_found_by_its_name() {
        use crate::outline::{OperationKind, OutlineOperation};
        let operation = |index: u32, deposed: Option<&str>| OutlineOperation {
            deposed: deposed.map(str::to_owned),
            ..OutlineOperation::new(index, OperationKind::Delete, "a.b[\"x 0badcafe\"]", 0)
        };
        let operations = vec![
            operation(0, None),
            operation(1, Some("0badcafe")),
            operation(2, Some("12345678")),
            operation(3, None),
        ];
        let outline = Outline { operations, ..Outline::default() };
        let doubt = OpRecord { status: OpStatus::InDoubt, ..OpRecord::default() };
        let ops = (0..3).map(|index| (OpIndex(index), doubt.clone())).collect();
        let header = runs(&[RunStatus::InDoubt]).remove(0);
        let view = RunView { ops, ..RunView::of(header) };
        let found = |name: &str| doubtful(&view, &outline, &name.parse().unwrap());
        assert_eq!(found("a.b[\"x 0badcafe\"]"), [0, 1, 2]);
        assert_eq!(found("a.b[\"x 0badcafe\"] 0badcafe"), [1]);
        assert_eq!(found("a.b[\"x 0badcafe\"] (deposed object 12345678)"), [2]);
        assert_eq!(found("a.b[\"x 0badcafe\"] (deposed object 87654321)"), [0; 0]);
        assert_eq!(found("a.b"), [0; 0]);
        for wrong in ["a.b 1234", "a.b (deposed object )", "a 0badcafe", "a.b 0badcafe 0badcafe"] {
            assert!(wrong.parse::<NamedObject>().is_err(), "{wrong}");
        }
    }

    #[test]
    fn a_failed_run_is_resumable_until_a_later_run_succeeds() {
        use RunStatus::{Done, Failed, InDoubt, Stopped};
        let newest = |statuses: &[RunStatus]| {
            let runs = runs(statuses);
            resumable(&runs).map(|run| run.id.as_str().to_owned())
        };
        assert_eq!(newest(&[]), None);
        assert_eq!(newest(&[Done, Failed]), None);
        assert_eq!(newest(&[Failed, Done, Failed]).as_deref(), Some("run-0"));
        assert_eq!(newest(&[Done, Stopped]).as_deref(), Some("run-1"));
        assert_eq!(newest(&[Done, Failed, InDoubt]).as_deref(), Some("run-2"));
        assert_eq!(newest(&[Failed, InDoubt]).as_deref(), Some("run-1"));
        let mut held = runs(&[Failed, Stopped, Stopped]);
        held[2].claimed = true;
        assert_eq!(resumable(&held).map(|run| run.id.as_str()), Some("run-2"));
        held[2].abandoned = true;
        assert_eq!(resumable(&held).map(|run| run.id.as_str()), Some("run-0"));
        held[0].abandoned = true;
        assert_eq!(resumable(&held).map(|run| run.id.as_str()), Some("run-1"));
    }
}
