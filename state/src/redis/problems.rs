//! The errors of the Redis store, as constructors. [`access`] has the errors of addresses and connections.

mod access;

use std::fmt::Display;

use crate::error::StoreError;
use crate::run::OpIndex;
use crate::subject::Revision;
pub(super) use access::*;

/// The server has no store of this name and workspace.
pub(super) fn no_store(place: &str, workspace: &str) -> StoreError {
    StoreError::NoState(format!("{place} (workspace {workspace})"))
}

/// The keys of a workspace exist without its meta record.
pub(super) fn no_meta_record(place: String) -> StoreError {
    StoreError::Damaged {
        place,
        what: "it has keys, but the record that describes it is missing".to_owned(),
        way_out: "Restore the server's data from a backup. To begin a new state instead, use a name (`?state=NAME`) \
                  under which the server has no keys"
            .to_owned(),
    }
}

/// The damage of a key of the store.
#[derive(Clone, Copy)]
pub(super) enum Damage<'a> {
    /// The identity in the meta record has changed since the start.
    OtherStore,
    /// The status of a run is unknown.
    Status,
    /// The lease of a run cannot be decoded.
    Lease,
    /// The heartbeat of a run cannot be decoded.
    Heartbeat,
    /// The header of a run cannot be decoded.
    Header,
    /// An operation cannot be decoded.
    Operation,
    /// An entry cannot be decoded.
    Entry,
    /// A claim cannot be decoded.
    Claim,
    /// A doubt cannot be decoded.
    Doubt,
    /// The record of a subject cannot be decoded.
    Record(&'a dyn Display),
    /// The record of a subject does not match its digest.
    Changed(&'a dyn Display),
    /// The revision of a subject cannot be decoded.
    Revision(&'a str),
    /// The answer to a step cannot be decoded.
    Answer(&'a str),
    /// The holder of a run cannot be decoded.
    Holder,
    /// A number of the meta record cannot be decoded.
    Meta(&'a str),
    /// The marks of copies cannot be decoded.
    Marks,
    /// The name of a run cannot be decoded.
    RunName(&'a str),
    /// A run is listed but has no header.
    NoHeader(&'a str),
    /// The number of records differs from the count in the meta record.
    Count {
        /// The kind of records.
        what: &'a str,
        /// The count in the meta record.
        counted: u64,
        /// The number of existing records.
        found: u64,
    },
    /// The plan is not the plan of the run.
    OtherPlan,
    /// A line of a journal does not follow from the previous line.
    BrokenChain(usize),
}

/// A key has damaged data.
pub(super) fn damaged(key: &str, place: &str, damage: Damage<'_>) -> StoreError {
    let what = match damage {
        Damage::OtherStore => "the store was replaced after Weft opened it".to_owned(),
        Damage::Status => "its status cannot be read".to_owned(),
        Damage::Lease => "its lease cannot be read".to_owned(),
        Damage::Heartbeat => "its heartbeat cannot be read".to_owned(),
        Damage::Header => "the header cannot be read".to_owned(),
        Damage::Operation => "an operation cannot be read".to_owned(),
        Damage::Entry => "an entry cannot be read".to_owned(),
        Damage::Claim => "a claim cannot be read".to_owned(),
        Damage::Doubt => "a doubt cannot be read".to_owned(),
        Damage::Record(subject) => format!("the record of {subject} cannot be read"),
        Damage::Changed(subject) => {
            format!("the record of {subject} was changed by another program: its digest does not match")
        }
        Damage::Revision(subject) => format!("the revision of {subject} cannot be read"),
        Damage::Answer(step) => format!("the answer to {step} cannot be read"),
        Damage::Holder => "its holder cannot be read".to_owned(),
        Damage::Meta(field) => format!("its field {field} cannot be read"),
        Damage::Marks => "the marks of copies cannot be read".to_owned(),
        Damage::RunName(name) => format!("{name:?} is not the name of a run"),
        Damage::NoHeader(run) => format!("the run {run} is listed, but has no header"),
        Damage::Count { what, counted, found } => format!("it has {found} {what}, but records that it has {counted}"),
        Damage::OtherPlan => "its digest is not the one in the run's header".to_owned(),
        Damage::BrokenChain(line) => {
            format!("line {line} was changed, or does not follow from the previous line")
        }
    };
    StoreError::Damaged {
        place: format!("{key} in {place}"),
        what,
        way_out: match damage {
            Damage::Count { .. } | Damage::Changed(_) | Damage::Record(_) => {
                "Restore the server's data from a backup, or give up the lost records with `weft store declare-lost`. \
                 `weft store check` names everything that is damaged"
            }
            _ => "Restore the server's data from a backup. If a newer version of Weft wrote the data, use that version",
        }
        .to_owned(),
    }
}

/// A problem that a check of a store finds.
pub(super) enum Misfit<'a> {
    /// The number of records differs from the count in the meta record.
    Count {
        /// The kind of records.
        what: &'a str,
        /// The count in the meta record.
        counted: u64,
        /// The number of existing records.
        found: u64,
    },
    /// A record cannot be decoded.
    Unreadable,
    /// A record does not match its digest.
    Changed,
    /// The revision of a record differs from the revision in the list of revisions.
    Revision {
        /// The revision in the record.
        record: Revision,
        /// The revision in the list.
        known: Option<Revision>,
    },
    /// A name is not the name of a run.
    RunName(&'a str),
    /// A run is listed but has no header.
    NoHeader,
    /// A run is frozen.
    Frozen(&'a str, &'a str),
    /// A run differs from its journal.
    Run(&'a RunDamage),
    /// A claim belongs to a run that has ended or does not exist.
    ClaimOfNoRun(&'a str),
    /// A run has lost a claim.
    LostClaim(&'a str),
    /// A doubt belongs to a run that does not exist.
    DoubtOfNoRun(&'a str),
    /// Any other problem.
    Other(&'a str),
}

/// A description of the problem, and the remedy.
pub(super) fn misfit(misfit: &Misfit<'_>) -> (String, String) {
    const DECLARE: &str =
        "Restore the server's data from a backup, or give up the lost records with `weft store declare-lost`";
    const RESTORE: &str = "Restore the server's data from a backup";
    let what = match misfit {
        Misfit::Count { what, counted, found } => format!("it has {found} {what}, but records that it has {counted}"),
        Misfit::Unreadable => "the record cannot be read".to_owned(),
        Misfit::Changed => "the record was changed by another program: its digest does not match".to_owned(),
        Misfit::Revision { record, known } => {
            let known = known.map_or("none".to_owned(), |known| known.0.to_string());
            format!("the record has revision {}, but the list of revisions has {known}", record.0)
        }
        Misfit::RunName(name) => format!("{name:?} is not the name of a run"),
        Misfit::NoHeader => "the run is listed, but has no header".to_owned(),
        Misfit::Frozen(_, why) => format!("the run is frozen: {why}"),
        Misfit::Run(damage) => run_damage(damage),
        Misfit::ClaimOfNoRun(run) => format!("the claim belongs to the run {run}, which has ended or does not exist"),
        Misfit::LostClaim(subject) => format!("the run has lost its claim of {subject}"),
        Misfit::DoubtOfNoRun(run) => format!("the doubt belongs to the run {run}, which does not exist"),
        Misfit::Other(what) => (*what).to_owned(),
    };
    let way_out = match misfit {
        Misfit::Count { .. } | Misfit::Unreadable | Misfit::Changed => DECLARE.to_owned(),
        Misfit::Frozen(run, _) => {
            format!("Check the real objects, then abandon the run with `weft runs abandon {run}` and make a new plan")
        }
        Misfit::Run(_) => "Use `weft runs resume`: it finds the damage and freezes the run, so that no call is \
                           repeated. Then check the real objects, and give up the run with `weft runs abandon`"
            .to_owned(),
        Misfit::Revision { .. }
        | Misfit::RunName(_)
        | Misfit::NoHeader
        | Misfit::ClaimOfNoRun(_)
        | Misfit::LostClaim(_)
        | Misfit::DoubtOfNoRun(_)
        | Misfit::Other(_) => RESTORE.to_owned(),
    };
    (what, way_out)
}

/// A difference between the records of a run and its journal.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(super) enum RunDamage {
    /// The last link of the journal differs from the link in the header.
    OtherTip,
    /// A line was changed, or does not follow from the previous line.
    Line(u64),
    /// The journal names an operation whose record is missing.
    NoRecord(OpIndex),
    /// The record of an operation differs from the record that the journal names. The address of the operation's object
    /// is known if the record can be read.
    OtherRecord(OpIndex, Option<String>),
    /// The objects of superseded attempts are not those that the journal names.
    Strays,
    /// A count in the header differs from the number of records.
    Count {
        /// The kind of records.
        what: &'static str,
        /// The number in the header.
        counted: u32,
        /// The number of records.
        found: u32,
    },
}

/// The reason for freezing a run.
pub(super) fn run_damage(damage: &RunDamage) -> String {
    match damage {
        RunDamage::OtherTip => "its journal does not end at the line that its header names".to_owned(),
        RunDamage::Line(line) => {
            format!("line {line} of its journal was changed, or does not follow from the previous line")
        }
        RunDamage::NoRecord(op) => format!("the record of operation {op} is missing"),
        RunDamage::OtherRecord(op, object) => {
            let object = object.as_ref().map(|object| format!(" ({object})")).unwrap_or_default();
            format!("the record of operation {op}{object} is not the one that its journal names")
        }
        RunDamage::Strays => "the objects of superseded attempts are not those that its journal names".to_owned(),
        RunDamage::Count { what, counted, found } => {
            format!("the number of operations that are {what} is {counted} in its header, but {found} in its records")
        }
    }
}

/// The store has too many runs.
pub(super) fn too_many_runs(place: &str, most: usize) -> StoreError {
    StoreError::TooManyRuns { store: place.to_owned(), most: most as u64 }
}

/// The workspace cannot be deleted: a run has not ended, or the state has changed.
pub(super) fn workspace_in_use(place: String, workspace: &str) -> StoreError {
    StoreError::InUse { store: place, workspace: workspace.to_owned() }
}

/// A value that exceeds the maximum size.
#[derive(Clone, Copy)]
pub(super) enum Large<'a> {
    /// The plan file.
    Plan,
    /// The result of an operation.
    Result(OpIndex),
    /// The failure of an operation.
    Failure(OpIndex),
    /// The record of an instance.
    Record(&'a str),
    /// An output.
    Output(&'a str),
    /// The object of a superseded attempt.
    Stray,
    /// The check results.
    Checks,
}

/// A value is too large for the store.
pub(super) fn too_large(value: Large<'_>, size: usize, limit: usize) -> StoreError {
    let what = match value {
        Large::Plan => "the plan file".to_owned(),
        Large::Result(op) => format!("the result of operation {op}"),
        Large::Failure(op) => format!("the failure of operation {op}"),
        Large::Record(name) => format!("the record of {name}"),
        Large::Output(name) => format!("output {name}"),
        Large::Stray => "the object of a superseded attempt".to_owned(),
        Large::Checks => "the check results".to_owned(),
    };
    StoreError::TooLarge { what, size: size as u64, limit: limit as u64 }
}

/// The server is too old.
pub(super) fn old_server(place: &str, version: &str) -> StoreError {
    StoreError::Unfit(format!("{place}: the server is Redis {version}, but 7.0 or later is required"))
}

/// A required setting cannot be read.
pub(super) fn setting_unreadable(place: &str, name: &str, value: &str, error: &dyn Display) -> StoreError {
    StoreError::Unfit(format!(
        "{place}: the setting {name} cannot be read ({error}). Allow the user to run `CONFIG GET`: state is only safe \
         if {name} is {value}"
    ))
}

/// A setting that the store requires.
#[derive(Clone, Copy)]
pub(super) struct Requirement {
    /// The name of the setting.
    pub(super) name: &'static str,
    /// The required value.
    pub(super) value: &'static str,
    /// The consequence of any other value.
    why: &'static str,
}

/// The settings without which an acknowledged write could be lost.
pub(super) const REQUIREMENTS: [Requirement; 3] = [
    Requirement {
        name: "maxmemory-policy",
        value: "noeviction",
        why: "with any other policy the server discards parts of the state when its memory is full",
    },
    Requirement { name: "appendonly", value: "yes", why: "without it a restart loses the state" },
    Requirement {
        name: "appendfsync",
        value: "always",
        why: "with any other value the server acknowledges writes before they are on the disk",
    },
];

/// A required setting has another value.
pub(super) fn wrong_setting(place: &str, required: Requirement, found: &str) -> StoreError {
    let Requirement { name, value, why } = required;
    StoreError::Unfit(format!(
        "{place}: the setting {name} is {found:?}, but must be {value:?}: {why}. Change it with `redis-cli CONFIG SET \
         {name} {value}` and in redis.conf (`{name} {value}`)"
    ))
}

/// The answer of the server has an unexpected form.
pub(super) fn unexpected_answer(answer: &str) -> String {
    format!("an unexpected response: {answer}")
}

/// The server has lost the scripts.
pub(super) fn scripts_flushed() -> String {
    "the server has lost the scripts that Weft loaded".to_owned()
}
