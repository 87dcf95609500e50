//! Diagnostics of runs.

use std::fmt::Display;

use weft_graph_format::diagnostic::Diagnostic;
use weft_graph_format::graph::Shard;
use weft_state::{RunId, RunStore, StoreAnswer, StoreError, Unrelated};

use crate::event::Defect;
use crate::rule_name::RuleName;

/// A part of the plan that cannot be encoded for a worker.
pub(crate) fn plan_not_encoded(error: impl Display) -> Diagnostic {
    Diagnostic::error("Plan cannot be carried out", format!("{error}."))
}

/// A plan file that cannot be read.
pub(crate) fn plan_refused(error: impl Display) -> Diagnostic {
    Diagnostic::error("Plan file refused", format!("{error}."))
}

/// A plan whose planning failed.
pub(crate) fn incomplete_plan() -> Diagnostic {
    Diagnostic::error(
        "Cannot apply incomplete plan",
        "Planning failed, so this plan is incomplete and cannot be applied. Fix the errors that planning reported, and \
         make a new plan.",
    )
}

/// A plan that was not made for the state to which it is applied.
pub fn other_state(why: Unrelated) -> Diagnostic {
    match why {
        Unrelated::OtherState => Diagnostic::error(
            "Saved plan does not match the given state",
            "The plan was made from a state with another lineage, so it does not describe the objects in the current \
             state. Nothing was changed. Apply the plan to the state that it was made from, or make a new plan.",
        ),
        Unrelated::NoLongerNew => Diagnostic::error(
            "Saved plan is stale",
            "The plan was made when there was no state, but now there is one. Nothing was changed. Make a new plan.",
        ),
    }
}

/// A create that a resumed run does not repeat, because an earlier attempt left an object.
pub(crate) fn object_kept(address: &str) -> Diagnostic {
    let detail = format!(
        "An earlier attempt of this run to create {address} returned an object together with an error. The object is \
         in the state and marked as tainted, and the run does not create a second object. Make a new plan, which \
         replaces the tainted object."
    );
    Diagnostic::error("Object of a failed create", detail).about(address)
}

/// An error of the store that ended a run. `journal` is the place of the journal on the machine of the coordinator.
pub(crate) fn store_failed(run: &RunId, error: &StoreError, journal: &str) -> Diagnostic {
    let mut detail = error.to_string();
    if let StoreError::Unreachable { .. } = error {
        detail.push_str(&format!(
            ". The recorded results are also in {journal} on the machine of the coordinator. A coordinator that starts \
             there again adds results that the store has lost. When the store responds again, continue with `weft runs \
             resume {run}`"
        ));
    }
    Diagnostic::error("The store failed the run", detail)
}

/// An illegal transition that ended a term.
pub fn defect(defect: &Defect) -> Diagnostic {
    let detail = format!(
        "Weft stopped before it recorded an impossible state: {defect}. To continue, use `weft runs resume`. This is a \
         defect of Weft; please report it."
    );
    Diagnostic::error("Run stopped by a defect", detail)
}

/// An operation that a worker abandoned before it called the provider.
pub(crate) fn no_answer(reason: String) -> Diagnostic {
    Diagnostic::error("The provider did not answer", reason)
}

/// A result that cannot be recorded.
pub(crate) fn result_not_recorded(address: &str, error: impl Display) -> Diagnostic {
    Diagnostic::error("The result cannot be recorded", error.to_string()).about(address)
}

/// A step that the store refused.
pub(crate) fn refusal(answer: &StoreAnswer) -> Diagnostic {
    match answer {
        StoreAnswer::Stale(stale) => {
            let names: Vec<String> = stale.iter().map(|stale| stale.subject.to_string()).collect();
            let detail = format!(
                "These parts of the state have changed since the plan was made: {}. Make a new plan.",
                names.join(", ")
            );
            Diagnostic::error("The plan is stale", detail)
        }
        StoreAnswer::NotClaimed(subjects) => {
            let names: Vec<String> = subjects.iter().map(ToString::to_string).collect();
            let detail = format!(
                "The run would write {}, which its plan does not change. This is a bug in Weft.",
                names.join(", ")
            );
            Diagnostic::error("Write without a claim", detail)
        }
        StoreAnswer::Doubtful(doubt) => {
            let detail = format!(
                "It is unknown whether the {} of {} in run {} took effect: {}. Look at the real object, then record \
                 the outcome with `weft runs resolve {} '{}'` and one of -adopt ID, -absent, -retry, -forget.",
                doubt.action, doubt.key, doubt.run, doubt.reason, doubt.run, doubt.key.address
            );
            Diagnostic::error("The object is in doubt", detail)
        }
        StoreAnswer::Illegal { status, attempt, worker } => {
            let detail = format!(
                "The store records the operation as {} (attempt {}, worker {worker}), which this coordinator did not \
                 expect. Continue with `weft runs resume`.",
                status.word(),
                attempt.0
            );
            Diagnostic::error("The store and the coordinator disagree", detail)
        }
        StoreAnswer::Ok { .. } | StoreAnswer::Fenced(_) => {
            let detail = "Another process has taken over the run, so this process records nothing more. To see the \
                          run: weft runs list";
            Diagnostic::error("The store refused", detail)
        }
    }
}

/// The reason of a doubt that this coordinator did not handle.
pub(crate) fn no_evidence() -> String {
    "no evidence was found".to_owned()
}

/// An addition to the reason of a doubt: another address of the state has the object that was found.
pub(crate) fn owned_candidate(owner: &str) -> String {
    format!("; the state has that object at {owner}")
}

/// The store has not answered a batch before the end of the term.
pub(crate) fn unanswered(store: &dyn RunStore) -> StoreError {
    StoreError::Unreachable { server: store.place(), error: "it did not answer before the run ended".to_owned() }
}

/// The operating system gives no random bytes for the token of a term.
pub(crate) fn no_random_bytes(error: &getrandom::Error) -> StoreError {
    StoreError::Io { doing: "asking the operating system for random bytes".to_owned(), error: error.to_string() }
}

/// A label with a placeholder for which a provider instance has no value.
pub(crate) fn label_not_known(file: &str, rule: RuleName, shard: &Shard, name: &str) -> Diagnostic {
    let subject = match shard {
        Shard::Provider(instance) => instance.to_string(),
        Shard::Home | Shard::Unplaced => "operations that must run on your machine".to_owned(),
    };
    Diagnostic::error(
        "Label of a placement rule is not known",
        format!(
            "{rule} of {file} matches {subject}, and a label of this rule refers to {{{name}}}. There is no key, alias \
             or string argument of this name, or its value is unknown in the plan or sensitive. Write a fixed value \
             into the label, or make the patterns of the rule narrower."
        ),
    )
}

/// A rule that matches no provider instance of the plan.
pub(crate) fn idle_placement_rule(file: &str, rule: RuleName) -> Diagnostic {
    Diagnostic::warning(
        "Placement rule matches nothing",
        format!(
            "{rule} of {file} matches no provider instance of this plan. Correct the patterns of the rule, or remove \
             the rule."
        ),
    )
}
