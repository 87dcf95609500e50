//! The errors of the Redis store, as constructors.

use std::fmt::Display;

use super::address::Host;
use crate::error::StoreError;
use crate::run::OpIndex;
use crate::subject::Revision;

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
    /// The record of a subject has another digest than when it was written.
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
        Damage::Changed(subject) => {
            format!("the record of {subject} was changed, and not by Weft: its digest is another one")
        }
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
        way_out: match damage {
            Damage::Count { .. } | Damage::Changed(_) | Damage::Record(_) => {
                "Restore the server's data from a backup, or give up what is lost with `weft store declare-lost`. `weft \
                 store check` names everything that is damaged"
            }
            _ => "Restore the server's data from a backup. A newer version of Weft may also have written it",
        }
        .to_owned(),
    }
}

/// What does not fit in a store.
pub(super) enum Misfit<'a> {
    /// The store has another number of records than it counted.
    Count {
        /// What is counted.
        what: &'a str,
        /// The counted number.
        counted: u64,
        /// The number that is there.
        found: u64,
    },
    /// A record cannot be decoded.
    Unreadable,
    /// A record has another digest.
    Changed,
    /// A record has another revision than the list of revisions.
    Revision {
        /// The one of the record.
        record: Revision,
        /// The one of the list.
        known: Option<Revision>,
    },
    /// A name is not that of a run.
    RunName(&'a str),
    /// A run is listed and has no header.
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
    /// Anything else.
    Other(&'a str),
}

/// What does not fit, and the way out.
pub(super) fn misfit(misfit: &Misfit<'_>) -> (String, String) {
    const DECLARE: &str =
        "Restore the server's data from a backup, or give up what is lost with `weft store declare-lost`";
    const RESTORE: &str = "Restore the server's data from a backup";
    let what = match misfit {
        Misfit::Count { what, counted, found } => format!("it has {found} {what}, and there were {counted}"),
        Misfit::Unreadable => "the record cannot be read".to_owned(),
        Misfit::Changed => "the record was changed, and not by Weft: its digest is another one".to_owned(),
        Misfit::Revision { record, known } => {
            let known = known.map_or("none".to_owned(), |known| known.0.to_string());
            format!("the record has revision {}, and the list of revisions says {known}", record.0)
        }
        Misfit::RunName(name) => format!("{name:?} is not the name of a run"),
        Misfit::NoHeader => "the run is listed and has no header".to_owned(),
        Misfit::Frozen(_, why) => format!("the run is frozen: {why}"),
        Misfit::Run(damage) => run_damage(damage),
        Misfit::ClaimOfNoRun(run) => format!("the run {run} claims it, and has ended or does not exist"),
        Misfit::LostClaim(subject) => format!("the run has lost its claim of {subject}"),
        Misfit::DoubtOfNoRun(run) => format!("the doubt belongs to the run {run}, which does not exist"),
        Misfit::Other(what) => (*what).to_owned(),
    };
    let way_out = match misfit {
        Misfit::Count { .. } | Misfit::Unreadable | Misfit::Changed => DECLARE.to_owned(),
        Misfit::Frozen(run, _) => {
            format!("Look at these objects, then give the run up with `weft runs abandon {run}` and make a new plan")
        }
        Misfit::Run(_) => "The run is frozen when it is resumed. Then give it up with `weft runs abandon`".to_owned(),
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
    /// No path of a socket, or a host beside it.
    Socket,
    /// No name of a master.
    Master,
    /// A number of replicas that is not a number.
    Replicas,
    /// Bad percent-encoding in the name of the state.
    NameEncoding,
    /// Bad percent-encoding in the user or password.
    LoginEncoding,
    /// An unknown parameter.
    Parameter(&'a str),
    /// No name of a state.
    NoState,
    /// A name of a state with other characters.
    Name(&'a str, usize),
}

/// The address of a store is not valid.
pub(super) fn wrong_address(fault: AddressFault<'_>) -> StoreError {
    let what = match fault {
        AddressFault::Scheme => {
            "it does not begin with redis://, rediss:// (TLS), redis+unix://, redis+sentinel:// or \
             rediss+sentinel://"
                .to_owned()
        }
        AddressFault::Host => "it names no host".to_owned(),
        AddressFault::Port => "the port is not a number".to_owned(),
        AddressFault::Database => "DB is not a number".to_owned(),
        AddressFault::Socket => "a socket is named as redis+unix:///PATH?state=NAME".to_owned(),
        AddressFault::Master => {
            "the name of the master is missing: redis+sentinel://HOST,HOST/MASTER/DB?state=NAME".to_owned()
        }
        AddressFault::Replicas => "replicas=N is not a number".to_owned(),
        AddressFault::NameEncoding => "bad % in NAME".to_owned(),
        AddressFault::LoginEncoding => {
            "bad % in user or password, or a character that must be encoded: / is %2F, ? is %3F, @ is %40".to_owned()
        }
        AddressFault::Parameter(name) => format!("it has the unknown parameter {name:?}"),
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

/// Why a connection over a network would not be protected.
#[derive(Clone, Copy)]
pub(super) enum Unprotected {
    /// It would not be encrypted.
    NoTls,
    /// Neither a password nor a certificate.
    NoPassword,
}

/// The server is on another machine, and the connection to it would not be protected.
pub(super) fn unprotected(host: &Host, why: Unprotected) -> StoreError {
    let name = &host.name;
    StoreError::Unfit(match why {
        Unprotected::NoTls => format!(
            "the Redis server {name} is not on this machine, and the connection to it would not be encrypted. Use TLS: \
             an address with rediss:// (or rediss+sentinel://), and WEFT_REDIS_CA_FILE for an authority of your own"
        ),
        Unprotected::NoPassword => format!(
            "the Redis server {name} is not on this machine, and no password is given. Name a file with the password \
             in WEFT_REDIS_PASSWORD_FILE and the user in the address (rediss://USER@{name}/...), or a client \
             certificate in WEFT_REDIS_CERT_FILE and WEFT_REDIS_KEY_FILE"
        ),
    })
}

/// A certificate is given without its key, or a key without its certificate.
pub(super) fn half_certificate(has_certificate: bool) -> StoreError {
    let (there, missing) = match has_certificate {
        true => ("WEFT_REDIS_CERT_FILE", "WEFT_REDIS_KEY_FILE"),
        false => ("WEFT_REDIS_KEY_FILE", "WEFT_REDIS_CERT_FILE"),
    };
    StoreError::Unfit(format!("{there} is set, and {missing} is not: a client certificate needs both"))
}

/// Why there is no connection, although the server is there.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(super) enum LoginFault {
    /// A file cannot be used.
    File {
        /// The file.
        path: String,
        /// What is wrong.
        error: String,
    },
    /// The server does not speak TLS.
    NotTls,
    /// The server speaks TLS only.
    OnlyTls,
    /// The certificate of the server has expired.
    Expired,
    /// The certificate of the server is not valid yet.
    NotYetValid,
    /// The certificate of the server was issued by another authority.
    UnknownAuthority,
    /// The certificate of the server is for another host than this one.
    WrongHost(String),
    /// The certificate of the server is refused for another reason.
    BadCertificate(String),
    /// The server demands a certificate.
    CertificateRequired,
    /// The server refuses the certificate of the client.
    OwnRefused,
    /// The certificate of the client has expired.
    OwnExpired,
    /// The server has no protocol or cipher in common with the client.
    HandshakeRefused,
    /// The server demands a password, and none is given.
    NoPassword,
    /// The server refuses the password of this user.
    WrongPassword(String),
    /// The Sentinels refuse the password, or demand one.
    SentinelPassword,
    /// The Sentinels do not know this master.
    UnknownMaster(String),
    /// The server is a replica.
    Replica,
    /// Anything else.
    Other(String),
}

impl LoginFault {
    /// A file that cannot be used.
    pub(super) fn unreadable(path: &std::path::Path, error: &dyn Display) -> LoginFault {
        LoginFault::File { path: path.display().to_string(), error: error.to_string() }
    }
}

/// There is no connection, although the server is there.
pub(super) fn no_connection(place: &str, fault: &LoginFault) -> StoreError {
    let error = match fault {
        LoginFault::File { path, error } => format!("{path} cannot be used: {error}"),
        LoginFault::NotTls => {
            "the server does not speak TLS on this port. Use the port of `tls-port`, or turn TLS on in \
                               redis.conf. Without TLS (redis://), the server must be on this machine"
                .to_owned()
        }
        LoginFault::OnlyTls => "the server speaks TLS on this port. Use rediss:// (or rediss+sentinel://)".to_owned(),
        LoginFault::Expired => "the certificate of the server has expired. Renew it".to_owned(),
        LoginFault::NotYetValid => {
            "the certificate of the server is not valid yet. Compare the clocks of both machines".to_owned()
        }
        LoginFault::UnknownAuthority => {
            "the certificate of the server was not issued by a trusted authority. Name the \
                                         file with the certificate of its authority in WEFT_REDIS_CA_FILE"
                .to_owned()
        }
        LoginFault::WrongHost(host) => format!(
            "the certificate of the server is not for {host}. Issue one with this name, use the name of the certificate \
             in the address, or set WEFT_REDIS_SERVER_NAME to it"
        ),
        LoginFault::BadCertificate(error) => format!("the certificate of the server was refused: {error}"),
        LoginFault::CertificateRequired => {
            "the server needs a client certificate. Name it in WEFT_REDIS_CERT_FILE and \
                                            WEFT_REDIS_KEY_FILE, or set `tls-auth-clients no` in redis.conf"
                .to_owned()
        }
        LoginFault::OwnRefused => "the server refused the certificate in WEFT_REDIS_CERT_FILE. Its authority must be \
                                   in `tls-ca-cert-file` of the server"
            .to_owned(),
        LoginFault::OwnExpired => "the certificate in WEFT_REDIS_CERT_FILE has expired. Renew it".to_owned(),
        LoginFault::HandshakeRefused => {
            "client and server have no version or cipher of TLS in common. TLS 1.2 and 1.3 are supported".to_owned()
        }
        LoginFault::NoPassword => "the server needs a password. Name a file with it in WEFT_REDIS_PASSWORD_FILE, and \
                                   the user in the address (redis://USER@HOST)"
            .to_owned(),
        LoginFault::WrongPassword(user) => format!(
            "the server refused the password of the user {user:?}, or has no such user. Check the user in the address, \
             and the password in WEFT_REDIS_PASSWORD_FILE or WEFT_REDIS_PASSWORD"
        ),
        LoginFault::SentinelPassword => "the Sentinel refused the password, or needs one: set \
                                         WEFT_REDIS_SENTINEL_PASSWORD_FILE"
            .to_owned(),
        LoginFault::UnknownMaster(master) => {
            format!("the Sentinels do not know a master with the name {master:?} (`sentinel monitor`)")
        }
        LoginFault::Replica => "the server is a replica, and cannot be written to. Name the master, or the Sentinels: \
                                redis+sentinel://HOST,HOST/MASTER/DB?state=NAME"
            .to_owned(),
        LoginFault::Other(error) => error.clone(),
    };
    StoreError::NoConnection { server: place.to_owned(), error }
}

/// The user may not run commands, or not use keys, that the store needs.
pub(super) fn missing_permissions(place: &str, user: &str, commands: &[String], key: Option<&str>) -> StoreError {
    let mut what = Vec::new();
    let mut rules = Vec::new();
    if !commands.is_empty() {
        what.push(format!("may not run {}", commands.join(", ")));
        rules.extend(commands.iter().map(|command| format!("+{command}")));
    }
    if let Some(key) = key {
        what.push(format!("may not use the key {key}"));
        rules.push("~weft:*".to_owned());
    }
    StoreError::Unfit(format!(
        "{place}: the user {user:?} {}. Allow it with `ACL SETUSER {user} {}`, and in the ACL file",
        what.join(" and "),
        rules.join(" ")
    ))
}

/// Why a server with replicas could lose acknowledged writes at a failover.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum ReplicaFault {
    /// It is a node of a cluster.
    Cluster,
    /// Sentinels watch it, and the address does not name them.
    Watched,
    /// It has replicas, and the address does not say how many count.
    Undeclared(u32),
}

/// A replica could take over without the last writes.
pub(super) fn replicas(place: &str, fault: ReplicaFault) -> StoreError {
    StoreError::Unfit(match fault {
        ReplicaFault::Cluster => format!(
            "{place}: the server is a node of a Redis Cluster, whose replicas take over without the last writes. Use a \
             server with `cluster-enabled no`"
        ),
        ReplicaFault::Watched => format!(
            "{place}: Sentinels watch this server, and can replace it by a replica that lacks the last writes. Name the \
             Sentinels in the address, so that each write waits for the replicas: \
             redis+sentinel://HOST,HOST/MASTER/DB?state=NAME"
        ),
        ReplicaFault::Undeclared(connected) => format!(
            "{place}: the server has {connected} replicas. If one of them can take over by itself, it may lack the last \
             writes. Add replicas={connected} to the address, and each write waits for so many replicas; or replicas=0, \
             if none of them ever takes over by itself"
        ),
    })
}

/// Replicas did not confirm the last writes.
pub(super) fn unconfirmed(confirmed: u32, wanted: u32, files: bool) -> String {
    let (verb, hint) = match files {
        true => ("written the last changes to their files", " (a replica needs `appendonly yes`)"),
        false => ("confirmed the last changes", ""),
    };
    format!("{confirmed} of {wanted} replicas have {verb}{hint}. Nothing that they lack counts as done")
}

/// A server does not answer in time.
pub(super) fn silent() -> String {
    "the server does not answer".to_owned()
}

/// No Sentinel says where the master is. `reasons` has one for each that does not answer.
pub(super) fn no_sentinel(reasons: &[String]) -> String {
    format!("no Sentinel says where the master is: {}", reasons.join("; "))
}

/// A Sentinel says that another server is the master.
pub(super) fn no_master_there() -> String {
    "the server that the Sentinels name is not the master any more, or not yet".to_owned()
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
