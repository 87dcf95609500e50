//! The errors of the Redis store, as constructors.

use std::fmt::Display;

use crate::error::StoreError;
use crate::run::OpIndex;

/// The server has no store of this name and workspace.
pub(super) fn no_store(place: &str, workspace: &str) -> StoreError {
    StoreError::NoState(format!("{place} (workspace {workspace})"))
}

/// The keys of a workspace exist without its meta record.
pub(super) fn no_meta_record(place: String) -> StoreError {
    StoreError::Damaged {
        place,
        what: "its meta record is missing".to_owned(),
        way_out: "Restore the server's data from a backup. A new state can only begin under a name without any keys"
            .to_owned(),
    }
}

/// What is wrong with a key of the store.
#[derive(Clone, Copy)]
pub(super) enum Damage<'a> {
    /// The meta record has another identity than at the start.
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
    /// A run is listed and has no header.
    NoHeader(&'a str),
    /// The store has another number of records than it counted.
    Count {
        /// What is counted.
        what: &'a str,
        /// The counted number.
        counted: u64,
        /// The number that is there.
        found: u64,
    },
    /// The plan is not the one of the run.
    OtherPlan,
    /// A line of a journal does not follow from the one before.
    BrokenChain(usize),
}

/// A key has damaged data.
pub(super) fn damaged(key: &str, place: &str, damage: Damage<'_>) -> StoreError {
    let what = match damage {
        Damage::OtherStore => "the store is another one than at the start".to_owned(),
        Damage::Status => "its status cannot be read".to_owned(),
        Damage::Lease => "its lease cannot be read".to_owned(),
        Damage::Heartbeat => "its heartbeat cannot be read".to_owned(),
        Damage::Header => "the header cannot be read".to_owned(),
        Damage::Operation => "an operation cannot be read".to_owned(),
        Damage::Entry => "an entry cannot be read".to_owned(),
        Damage::Claim => "a claim cannot be read".to_owned(),
        Damage::Doubt => "a doubt cannot be read".to_owned(),
        Damage::Record(subject) => format!("the record of {subject} cannot be read"),
        Damage::Revision(subject) => format!("the revision of {subject} cannot be read"),
        Damage::Answer(step) => format!("the answer to {step} cannot be read"),
        Damage::Holder => "its holder cannot be read".to_owned(),
        Damage::Meta(field) => format!("its field {field} cannot be read"),
        Damage::Marks => "the marks of copies cannot be read".to_owned(),
        Damage::RunName(name) => format!("{name:?} is not the name of a run"),
        Damage::NoHeader(run) => format!("the run {run} is listed and has no header"),
        Damage::Count { what, counted, found } => format!("it has {found} {what}, and there were {counted}"),
        Damage::OtherPlan => "its digest is not the one in the run's header".to_owned(),
        Damage::BrokenChain(line) => {
            format!("line {line} was changed, or does not follow from the one before")
        }
    };
    StoreError::Damaged {
        place: format!("{key} in {place}"),
        what,
        way_out: "Restore the server's data from a backup. A newer version of Weft may also have written it".to_owned(),
    }
}

/// What differs between the records of a run and its journal.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(super) enum RunDamage {
    /// The end of the journal is not the one in the header.
    OtherTip,
    /// A line was changed, or does not follow from the one before.
    Line(u64),
    /// The journal names an operation whose record is missing.
    NoRecord(OpIndex),
    /// The record of an operation is not the one that the journal names. Its object is known if the record can be read.
    OtherRecord(OpIndex, Option<String>),
    /// The objects of superseded attempts are not those that the journal names.
    Strays,
    /// A count of the header is another one than that of the records.
    Count {
        /// What is counted.
        what: &'static str,
        /// The number in the header.
        counted: u32,
        /// The number of records.
        found: u32,
    },
}

/// The reason for which a run is frozen.
pub(super) fn run_damage(damage: &RunDamage) -> String {
    match damage {
        RunDamage::OtherTip => "its journal does not end where its header says".to_owned(),
        RunDamage::Line(line) => {
            format!("line {line} of its journal was changed, or does not follow from the one before")
        }
        RunDamage::NoRecord(op) => format!("the record of operation {op} is missing"),
        RunDamage::OtherRecord(op, object) => {
            let object = object.as_ref().map(|object| format!(" ({object})")).unwrap_or_default();
            format!("the record of operation {op}{object} is not the one that its journal names")
        }
        RunDamage::Strays => "the objects of superseded attempts are not those that its journal names".to_owned(),
        RunDamage::Count { what, counted, found } => {
            format!("its header counts {counted} operations that are {what}, and there are {found}")
        }
    }
}

/// The store has too many runs.
pub(super) fn too_many_runs(place: &str, most: usize) -> StoreError {
    StoreError::TooManyRuns { store: place.to_owned(), most: most as u64 }
}

/// The plan of a run with more records than the store has is at hand, and others hold the workspace.
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
        Large::Stray => "a stray".to_owned(),
        Large::Checks => "the check results".to_owned(),
    };
    StoreError::TooLarge { what, size: size as u64, limit: limit as u64 }
}

/// What is wrong with the address of a store.
#[derive(Clone, Copy)]
pub(super) enum AddressFault<'a> {
    /// Another scheme.
    Scheme,
    /// No host.
    Host,
    /// A port that is not a number.
    Port,
    /// A database that is not a number.
    Database,
    /// Bad percent-encoding in the name of the state.
    NameEncoding,
    /// Bad percent-encoding in the user or password.
    LoginEncoding,
    /// A parameter other than `state`.
    Parameter(&'a str),
    /// No name of a state.
    NoState,
    /// A name of a state with other characters.
    Name(&'a str, usize),
}

/// The address of a store is not valid.
pub(super) fn wrong_address(fault: AddressFault<'_>) -> StoreError {
    let what = match fault {
        AddressFault::Scheme => "it does not begin with redis://".to_owned(),
        AddressFault::Host => "it names no host".to_owned(),
        AddressFault::Port => "the port is not a number".to_owned(),
        AddressFault::Database => "DB is not a number".to_owned(),
        AddressFault::NameEncoding => "bad % in NAME".to_owned(),
        AddressFault::LoginEncoding => "bad % in user or password".to_owned(),
        AddressFault::Parameter(pair) => format!("it has the unknown parameter {pair:?}"),
        AddressFault::NoState => "state=NAME is missing".to_owned(),
        AddressFault::Name(name, limit) => wrong_name(name, limit),
    };
    StoreError::Address(format!("the store address must look like redis://HOST[:PORT]/DB?state=NAME: {what}"))
}

/// The name of a workspace is not valid.
pub(super) fn wrong_workspace(name: &str, limit: usize) -> StoreError {
    StoreError::Address(wrong_name(name, limit))
}

fn wrong_name(name: &str, limit: usize) -> String {
    format!("the name {name:?} may only have letters, digits and . _ - + @ :, at most {limit}")
}

/// The address asks for TLS.
pub(super) fn no_tls() -> StoreError {
    StoreError::Unfit("Redis over TLS is not supported yet: use redis:// with a server on this machine".to_owned())
}

/// The server is on another machine.
pub(super) fn remote_server(host: &str) -> StoreError {
    StoreError::Unfit(format!(
        "the Redis server {host} is not on this machine, and the connection to it would not be encrypted: TLS is not \
         supported yet. Use a server on localhost, or a tunnel to one"
    ))
}

/// The server is too old.
pub(super) fn old_server(place: &str, version: &str) -> StoreError {
    StoreError::Unfit(format!("{place}: the server is Redis {version}, but 7.0 or later is required"))
}

/// A required setting cannot be read.
pub(super) fn setting_unreadable(place: &str, name: &str, value: &str, error: &dyn Display) -> StoreError {
    StoreError::Unfit(format!(
        "{place}: the setting {name} cannot be read ({error}); allow the user `CONFIG GET`, since state is only safe \
         with {name} {value}"
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
        "{place}: the setting {name} is {found:?} and must be {value:?}: {why}. Change it with `redis-cli CONFIG SET \
         {name} {value}` and in redis.conf (`{name} {value}`)"
    ))
}

/// The answer of the server has a form that the store does not know.
pub(super) fn unexpected_answer(answer: &str) -> String {
    format!("an answer of an unexpected kind: {answer}")
}

/// The server has lost the scripts.
pub(super) fn scripts_flushed() -> String {
    "scripts were flushed".to_owned()
}
