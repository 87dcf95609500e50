//! The diagnostics of commands on runs, as constructors.

use std::fmt::Display;
use std::path::Path;

use weft_graph_format::diagnostic::Diagnostic;
use weft_graph_format::operation_kind::NamedAction;
use weft_state::{Choice, RunId};

use crate::problems::lines_of;

/// The text is not the id of a run.
pub fn invalid_run_id(text: &str) -> Diagnostic {
    Diagnostic::error(
        "Invalid run id",
        format!("{text:?} is not a valid run id. To see the ids of the runs: weft runs list"),
    )
}

/// The store has no runs.
pub fn no_runs() -> Diagnostic {
    Diagnostic::error("No such run", "The store of this state has no runs yet. \"weft apply\" begins a run.")
}

/// The command takes the id of a run.
pub fn run_id_expected() -> Diagnostic {
    Diagnostic::error(
        "Invalid number of arguments",
        "Expected the id of one run. To see the ids of the runs: weft runs list",
    )
}

/// The run cannot be abandoned while a process holds it.
pub fn run_is_held(run: &RunId, holder: &dyn Display) -> Diagnostic {
    Diagnostic::error("Run is being carried out", format!("Run {run} is held by {holder}. End that process first."))
}

/// Another process took over the run before this command could abandon it.
pub fn run_taken_over() -> Diagnostic {
    Diagnostic::error(
        "Run not given up",
        "Another process has taken over the run, so the run was not abandoned. End that process first: `weft runs \
         show RUN` says which process it is.",
    )
}

/// `runs resolve` takes a run and an address.
pub fn resolve_arguments() -> Diagnostic {
    Diagnostic::error(
        "Invalid number of arguments",
        format!("Expected a run and an address: weft runs resolve RUN ADDRESS {}.", Choice::options()),
    )
}

/// `runs resolve` takes exactly one decision.
pub fn decision_missing() -> Diagnostic {
    let options = Choice::options();
    Diagnostic::error("Decision missing", format!("Record the outcome with exactly one of these options: {options}."))
}

/// The decision did not settle the operation.
pub fn still_in_doubt(address: &str, reason: &str) -> Diagnostic {
    Diagnostic::error(
        "Still in doubt",
        format!(
            "{address} is still in doubt: {reason}. Try again, or make another decision with \"weft runs resolve\"."
        ),
    )
}

/// The decision does not fit the operation. `decisions` are the fitting ones.
pub fn decision_unfit(name: &str, action: &NamedAction, decision: &str, decisions: &[Choice]) -> Diagnostic {
    let words: Vec<&str> = decisions.iter().map(|choice| choice.word()).collect();
    Diagnostic::error(
        "Decision does not fit",
        format!(
            "{decision} does not fit {name}, because the operation in doubt is {action}. Use one of {}.",
            words.join(", ")
        ),
    )
    .about(name)
}

/// The object that was to be adopted belongs to another address.
pub fn id_taken(address: &str, id: &str, owner: &str) -> Diagnostic {
    Diagnostic::error(
        "Object belongs to another address",
        format!(
            "{address} cannot adopt {id}: the state has this object at {owner}. Look for the id of the object that the \
             operation in doubt created."
        ),
    )
    .about(address)
}

/// An object was to be adopted by something else than a resource instance.
pub fn cannot_adopt(address: &str) -> Diagnostic {
    Diagnostic::error(
        "Decision does not fit",
        format!("{address} cannot adopt an object, because it is not the address of a resource instance."),
    )
    .about(address)
}

/// The answer is not one of the offered decisions.
pub fn answer_unknown(answer: &str, decisions: &[Choice]) -> Diagnostic {
    let decisions: Vec<&str> = decisions.iter().map(|choice| choice.usage()).collect();
    Diagnostic::error(
        "Answer not understood",
        format!("The answer is {answer:?}. Answer with one of {}, skip, quit.", decisions.join(", ")),
    )
}

/// Some doubts are unsettled, and there is no terminal for questions.
pub fn nothing_settled(run: &RunId, left: usize) -> Diagnostic {
    let (noun, verb) = if left == 1 { ("operation", "is") } else { ("operations", "are") };
    Diagnostic::error(
        "Operations still in doubt",
        format!(
            "{left} {noun} of run {run} {verb} in doubt. Use one of the commands that \"weft runs settle {run}\" \
             lists, or write the decisions into a file and use \"weft runs settle -resolutions=FILE\"."
        ),
    )
}

/// The file of decisions cannot be read.
pub fn resolutions_unreadable(path: &str, error: &dyn Display) -> Diagnostic {
    Diagnostic::error("Cannot read resolutions", format!("{path} cannot be read: {error}."))
}

/// The file of decisions is invalid. Nothing was done.
pub fn resolutions_invalid<T: Display>(path: &str, wrong: &[T]) -> Diagnostic {
    /// The maximum number of listed entries. More would hide the first ones.
    const LISTED: usize = 50;
    let mut list: String = wrong.iter().take(LISTED).map(|why| format!("\n  - {why}")).collect();
    if wrong.len() > LISTED {
        list.push_str(&format!("\n  and {} more", wrong.len() - LISTED));
    }
    Diagnostic::error("Invalid resolutions", format!("{path} cannot be used:{list}\n\nNothing was settled."))
}

/// The run has no operation in doubt at this address. `names` are the objects in doubt.
pub fn nothing_in_doubt(address: &str, run: &RunId, names: &[String]) -> Diagnostic {
    if names.is_empty() {
        let detail = format!("No operation of run {run} is in doubt. To see the run: weft runs show {run}");
        return Diagnostic::error("Nothing in doubt", detail);
    }
    let list = lines_of(names);
    Diagnostic::error("Nothing in doubt", format!("{address} is not in doubt. Run {run} has these doubts:{list}"))
}

/// The address has several objects in doubt. `names` are these objects.
pub fn several_in_doubt(address: &str, names: &[String]) -> Diagnostic {
    Diagnostic::error(
        "Several objects in doubt",
        format!("Several objects of {address} are in doubt. Name one of them, in quotes:{}", lines_of(names)),
    )
}

/// The text of `-older-than` is not a number of days.
pub fn invalid_age(text: &str) -> Diagnostic {
    Diagnostic::error(
        "Invalid number of days",
        format!("-older-than is {text:?}. Give a number of days, for example 30."),
    )
}

/// The run was set aside, but it may have changed objects.
pub fn run_set_aside(objects: &[String], records: &Path) -> Diagnostic {
    /// The maximum number of listed names. The file has the rest.
    const LISTED: usize = 100;
    let mut list: String = objects.iter().take(LISTED).map(|name| format!("\n  - {name}")).collect();
    if objects.len() > LISTED {
        list.push_str(&format!("\n  and {} more", objects.len() - LISTED));
    }
    Diagnostic::warning(
        "Run set aside",
        format!(
            "The run may have changed these objects, but the state file has no record of these changes:{list}\n\nThe \
             records of the run are in {}. Look at each real object, then import the object, or remove it manually.",
            records.display()
        ),
    )
}

/// The abandoned run has lost records.
pub fn records_lost(what: &str) -> Diagnostic {
    Diagnostic::warning(
        "Records of the run were lost",
        format!(
            "The store has lost records of this run: {what}. Look at the real objects of this run before you apply \
             again: the run may have created or changed objects without a record in the state."
        ),
    )
}
