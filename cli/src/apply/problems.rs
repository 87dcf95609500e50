//! The diagnostics of an apply, as constructors: why a run does not begin, and what is in doubt.

use weft_coordinator::RunError;
use weft_coordinator::client::ClientError;
use weft_graph_format::diagnostic::Diagnostic;
use weft_state::{Doubt, StoreError};

use super::unsaved::{ERRORED, Unsaved};
use crate::problems::lines_of;
use crate::store;

/// The reason why a run does not begin or resume.
pub fn run(error: RunError) -> Vec<Diagnostic> {
    match error {
        RunError::Store(error) => vec![store::problem(&error)],
        RunError::Plan(problems) => problems,
        RunError::OtherState(why) => vec![weft_coordinator::term::other_state(why)],
        RunError::Refused { stale, held, doubts } => {
            let mut problems = Vec::new();
            if !stale.is_empty() {
                let names: Vec<String> = stale.iter().map(|stale| stale.subject.to_string()).collect();
                problems.push(stale_plan(&names));
            }
            for held in held {
                problems.push(
                    Diagnostic::error(
                        "Resource instance held by another run",
                        format!(
                            "{} is held by run {} of {}. Wait until that run ends, resume it (weft runs resume {}), or \
                             inspect it first (weft runs show {}).",
                            held.subject, held.run, held.holder, held.run, held.run
                        ),
                    )
                    .about(held.subject.to_string()),
                );
            }
            problems.extend(doubts.iter().map(Doubt::problem));
            problems
        }
        RunError::Held { run, view } => vec![Diagnostic::error(
            "Run is being carried out",
            format!(
                "Run {run} is being carried out by {}. Wait until that run ends, or end that process.",
                view.holder
            ),
        )],
        other => vec![Diagnostic::error("Run not begun", format!("{other}."))],
    }
}

/// The reason why a coordinator refused a request.
pub fn client(error: ClientError) -> Vec<Diagnostic> {
    match error {
        ClientError::Refused { diagnostics, .. } if !diagnostics.is_empty() => diagnostics,
        ClientError::Refused { message, .. } => {
            vec![Diagnostic::error("Refused by the coordinator", format!("{message}."))]
        }
        ClientError::Unreachable { .. } => vec![Diagnostic::error("Coordinator does not respond", format!("{error}."))],
        ClientError::NeedsTls(_) | ClientError::Token => {
            vec![Diagnostic::error("Invalid TLS settings", format!("{error}."))]
        }
        ClientError::Tls { .. } => vec![Diagnostic::error("No secure connection", format!("{error}."))],
        ClientError::NotAllowed { .. } => {
            vec![Diagnostic::error("Not allowed by the coordinator", format!("{error}."))]
        }
        ClientError::Malformed { .. } => {
            vec![Diagnostic::error("Unreadable message", format!("{error}."))]
        }
        ClientError::Address(address) => vec![invalid_address(&address)],
    }
}

/// The address of a coordinator has another form.
fn invalid_address(address: &str) -> Diagnostic {
    Diagnostic::error(
        "Invalid coordinator address",
        format!(
            "{address:?} is not the address of a coordinator. Set -coordinator or WEFT_COORDINATOR to HOST:PORT, such as \
             127.0.0.1:7070, or to unix:PATH."
        ),
    )
}

/// The applied plan covered only a part of the configuration.
pub fn applied_a_part() -> Diagnostic {
    Diagnostic::warning(
        "Applied changes may be incomplete",
        "The plan was made with -target or -exclude, so the rest of the configuration may still differ from the real \
         objects. Plan again without these options to see the remaining changes.",
    )
}

/// Something else has changed objects since the plan was made.
pub fn stale_plan(instances: &[String]) -> Diagnostic {
    Diagnostic::error(
        "Saved plan is stale",
        format!(
            "Objects that this plan depends on have changed since the plan was made:{}\n\nNothing was done. Make a new \
             plan.",
            lines_of(instances)
        ),
    )
}

/// The run cannot continue in the background.
pub(super) fn worker_needed_here() -> Diagnostic {
    Diagnostic::error(
        "Run needs a worker here",
        "Some operations of this run need a worker on this machine, so it cannot continue in the background. Remove \
         -detach.",
    )
}

/// A superseded attempt has created an object.
pub(super) fn stray(address: &str, run: &str) -> Diagnostic {
    Diagnostic::error(
        "Object of a superseded attempt",
        format!(
            "The result of an earlier attempt of the operation on {address} arrived after a later attempt had begun. \
             The object in this result differs from the object in the state, and is recorded in the journal of run \
             {run}. Compare the real objects with the state, and remove an object that is not needed."
        ),
    )
    .about(address)
}

/// Another process has taken over the run.
pub(super) fn taken_over(run: &str) -> Diagnostic {
    let detail = format!(
        "Another process has taken over the run. This process has recorded nothing since then, and the other process \
         continues the run.\nTo see the progress of the run: weft runs show {run}"
    );
    Diagnostic::error("Run not finished", detail)
}

/// The store of a run has failed before the newest state was written to it.
pub(super) fn not_saved(unsaved: &Unsaved<'_>) -> Diagnostic {
    let Unsaved { run, error, journal, unrecorded, unwritten } = unsaved;
    let kept = match unwritten {
        None => format!("The newest state of run {run} is in {ERRORED}, because the store did not accept it."),
        Some(why) => format!(
            "The store did not accept the newest state of run {run}, and {ERRORED} could not be written: {why}. Skip the \
             steps below that use {ERRORED}."
        ),
    };
    let push = format!("weft state push {ERRORED}");
    let way_out = if matches!(error, StoreError::Emptied { .. }) {
        format!(
            "The store has lost the run, so its state may lack results that are in {ERRORED}. Compare both: `weft state \
             pull` prints the state in the store. To replace this state with the state in {ERRORED}, use `{push}`."
        )
    } else if matches!(error, StoreError::Overtaken(_)) {
        format!(
            "Another program has changed the stored state. The journal in {journal} has every result of the run. Compare \
             {ERRORED} with the stored state, which `weft state pull` prints. Then give up the run with `weft runs \
             abandon {run}`, which keeps the stored state. To replace the stored state with the state in {ERRORED}, \
             use `{push} -force` after that."
        )
    } else if unrecorded.is_empty() {
        format!(
            "The journal in {journal} has every result. When the store responds again, use `weft runs resume {run}` in \
             this directory: it writes the state and completes the run. If the journal is lost, use `{push}` instead."
        )
    } else {
        let list = lines_of(unrecorded);
        format!(
            "The journal in {journal} may lack these results:{list}\n\nWhen the store responds again, use `weft runs \
             resume {run}` in this directory: it writes the state and completes the run. If it reports an object in \
             doubt, take the id of the object from {ERRORED}, and use `weft runs resolve {run} ADDRESS -adopt ID`. If \
             the journal is lost, use `{push}` instead."
        )
    };
    Diagnostic::error("State not saved", format!("{kept}\n\n{way_out}"))
}

/// The state could not be saved during a run, which continues.
pub(super) fn not_saved_yet(error: &StoreError, journal: &str) -> Diagnostic {
    Diagnostic::warning(
        "State not saved yet",
        format!(
            "The state could not be saved: {error}. The run continues: the journal in {journal} has every result. The \
             state is written again later, and at the end of the run."
        ),
    )
}

/// Some operations have not finished. `why` is the reason.
pub(super) fn unfinished(run: &str, why: &str, addresses: &[String]) -> Diagnostic {
    let left = not_finished(addresses);
    Diagnostic::error("Run not finished", format!("{why}{left}\nTo continue: weft runs resume {run}"))
}

/// Some operations of a run that the store has lost have not finished. `None` if all have.
pub(super) fn not_resumable(addresses: &[String]) -> Option<Diagnostic> {
    if addresses.is_empty() {
        return None;
    }
    let left = not_finished(addresses);
    let detail = format!("The store has lost the run.{left}\nTo continue, make a new plan.");
    Some(Diagnostic::error("Run not finished", detail))
}

fn not_finished(addresses: &[String]) -> String {
    let list = lines_of(addresses);
    if list.is_empty() { String::new() } else { format!(" Not finished:{list}\n") }
}
