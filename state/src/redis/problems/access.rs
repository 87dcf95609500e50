//! The errors of addresses, connections, permissions and replicas, as constructors.

use std::fmt::Display;

use crate::error::StoreError;

/// The fault of an address.
#[derive(Clone, Copy)]
pub(in crate::redis) enum AddressFault<'a> {
    /// The scheme is unknown.
    Scheme,
    /// There is no host.
    Host,
    /// The port is not a number.
    Port,
    /// The database is not a number.
    Database,
    /// There is no socket path, or there is also a host.
    Socket,
    /// There is no name of a master.
    Master,
    /// The number of replicas is not a number.
    Replicas,
    /// The name of the state has invalid percent-encoding.
    NameEncoding,
    /// The user or password has invalid percent-encoding.
    LoginEncoding,
    /// The parameter is unknown.
    Parameter(&'a str),
    /// There is no name of a state.
    NoState,
    /// The name of the state has invalid characters, or exceeds this length.
    Name(&'a str, usize),
}

/// The address of a store is not valid.
pub(in crate::redis) fn wrong_address(fault: AddressFault<'_>) -> StoreError {
    let what = match fault {
        AddressFault::Scheme => {
            "it does not begin with redis://, rediss:// (TLS), redis+unix://, redis+sentinel:// or \
             rediss+sentinel://"
                .to_owned()
        }
        AddressFault::Host => "it names no host".to_owned(),
        AddressFault::Port => "the port is not a number".to_owned(),
        AddressFault::Database => "DB is not a number".to_owned(),
        AddressFault::Socket => "the address of a socket has the form redis+unix:///PATH?state=NAME".to_owned(),
        AddressFault::Master => {
            "the name of the master is missing: redis+sentinel://HOST,HOST/MASTER/DB?state=NAME".to_owned()
        }
        AddressFault::Replicas => "replicas=N is not a number".to_owned(),
        AddressFault::NameEncoding => "NAME has an invalid percent-encoding".to_owned(),
        AddressFault::LoginEncoding => {
            "the user or password has an invalid percent-encoding, or a character that must be encoded: / is %2F, ? is \
             %3F, @ is %40"
                .to_owned()
        }
        AddressFault::Parameter(name) => format!("it has the unknown parameter {name:?}"),
        AddressFault::NoState => "state=NAME is missing".to_owned(),
        AddressFault::Name(name, limit) => wrong_name(name, limit),
    };
    StoreError::Address(format!("the store address must look like redis://HOST[:PORT]/DB?state=NAME: {what}"))
}

/// The name of a workspace is not valid.
pub(in crate::redis) fn wrong_workspace(name: &str, limit: usize) -> StoreError {
    StoreError::Address(wrong_name(name, limit))
}

fn wrong_name(name: &str, limit: usize) -> String {
    format!("the name {name:?} must have 1 to {limit} bytes, and only letters, digits and . _ - + @ :")
}

/// Why a connection over a network would not be protected.
#[derive(Clone, Copy)]
pub(in crate::redis) enum Unprotected {
    /// The connection would not be encrypted.
    NoTls,
    /// There is neither a password nor a certificate.
    NoPassword,
}

/// The server is on another machine, and the connection to it would not be protected.
pub(in crate::redis) fn unprotected(name: &str, why: Unprotected) -> StoreError {
    StoreError::Unfit(match why {
        Unprotected::NoTls => format!(
            "the Redis server {name} is not on this machine, and the connection to it would not be encrypted. Use TLS: \
             an address with rediss:// (or rediss+sentinel://), and set WEFT_REDIS_CA_FILE if the certificate is from \
             a private authority"
        ),
        Unprotected::NoPassword => format!(
            "the Redis server {name} is not on this machine, and no password is given. Name a file with the password \
             in WEFT_REDIS_PASSWORD_FILE and the user in the address (rediss://USER@{name}/...), or a client \
             certificate in WEFT_REDIS_CERT_FILE and WEFT_REDIS_KEY_FILE"
        ),
    })
}

/// A certificate is given without its key, or a key without its certificate.
pub(in crate::redis) fn half_certificate(has_certificate: bool) -> StoreError {
    let (there, missing) = match has_certificate {
        true => ("WEFT_REDIS_CERT_FILE", "WEFT_REDIS_KEY_FILE"),
        false => ("WEFT_REDIS_KEY_FILE", "WEFT_REDIS_CERT_FILE"),
    };
    StoreError::Unfit(format!("{there} is set, but {missing} is not: a client certificate needs both variables"))
}

/// Why there is no connection, although the server responds.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(in crate::redis) enum LoginFault {
    /// A file cannot be used.
    File {
        /// The file.
        path: String,
        /// What is wrong.
        error: String,
    },
    /// The server does not support TLS.
    NotTls,
    /// The server accepts only TLS.
    OnlyTls,
    /// The certificate of the server has expired.
    Expired,
    /// The certificate of the server is not valid yet.
    NotYetValid,
    /// The certificate of the server was issued by another authority.
    UnknownAuthority,
    /// The certificate of the server is not for this host.
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
    /// The server demands a password, but none is configured.
    NoPassword,
    /// The server refuses the password of this user.
    WrongPassword(String),
    /// The Sentinels refuse the password, or demand one.
    SentinelPassword,
    /// The Sentinels do not know this master.
    UnknownMaster(String),
    /// The server is a replica.
    Replica,
    /// Any other reason.
    Other(String),
}

impl LoginFault {
    /// The fault of an unusable file.
    pub(in crate::redis) fn unreadable(path: &std::path::Path, error: &dyn Display) -> LoginFault {
        LoginFault::File { path: path.display().to_string(), error: error.to_string() }
    }
}

/// There is no connection, although the server responds.
pub(in crate::redis) fn no_connection(place: &str, fault: &LoginFault) -> StoreError {
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
            "the certificate of the server is not for {host}. Issue a certificate for this name, or use the name in \
             the certificate as the host of the address or as WEFT_REDIS_SERVER_NAME"
        ),
        LoginFault::BadCertificate(error) => format!("the certificate of the server was refused: {error}"),
        LoginFault::CertificateRequired => {
            "the server needs a client certificate. Name the certificate and its key in WEFT_REDIS_CERT_FILE and \
             WEFT_REDIS_KEY_FILE, or set `tls-auth-clients no` in redis.conf"
                .to_owned()
        }
        LoginFault::OwnRefused => "the server refused the certificate in WEFT_REDIS_CERT_FILE. Its authority must be \
                                   in `tls-ca-cert-file` of the server"
            .to_owned(),
        LoginFault::OwnExpired => "the certificate in WEFT_REDIS_CERT_FILE has expired. Renew it".to_owned(),
        LoginFault::HandshakeRefused => {
            "the client and the server have no TLS version or cipher in common. Weft supports TLS 1.2 and 1.3"
                .to_owned()
        }
        LoginFault::NoPassword => "the server needs a password. Name a file with the password in \
                                   WEFT_REDIS_PASSWORD_FILE, and the user in the address (redis://USER@HOST)"
            .to_owned(),
        LoginFault::WrongPassword(user) => format!(
            "the server refused the password of the user {user:?}, or has no such user. Check the user in the address, \
             and the password in WEFT_REDIS_PASSWORD_FILE or WEFT_REDIS_PASSWORD"
        ),
        LoginFault::SentinelPassword => "the Sentinel refused the password, or requires a password: set \
                                         WEFT_REDIS_SENTINEL_PASSWORD_FILE"
            .to_owned(),
        LoginFault::UnknownMaster(master) => {
            format!("the Sentinels do not know a master with the name {master:?} (`sentinel monitor`)")
        }
        LoginFault::Replica => "the server is a replica, which is read-only. Use the address of the master, or of the \
                                Sentinels: redis+sentinel://HOST,HOST/MASTER/DB?state=NAME"
            .to_owned(),
        LoginFault::Other(error) => error.clone(),
    };
    StoreError::NoConnection { server: place.to_owned(), error }
}

/// The user has no permission for some commands or keys that the store needs.
pub(in crate::redis) fn missing_permissions(
    place: &str,
    user: &str,
    commands: &[String],
    key: Option<&str>,
) -> StoreError {
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
        "{place}: the user {user:?} {}. Grant the permissions with `ACL SETUSER {user} {}`, and in the ACL file",
        what.join(" and "),
        rules.join(" ")
    ))
}

/// Why acknowledged writes could be lost at a failover of a server with replicas.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(in crate::redis) enum ReplicaFault {
    /// The server is a node of a cluster.
    Cluster,
    /// Sentinels watch the server, but the address does not name them.
    Watched,
    /// The server has this number of replicas, but the address does not say how many must confirm writes.
    Undeclared(u32),
}

/// A replica could take over without the last writes.
pub(in crate::redis) fn replicas(place: &str, fault: ReplicaFault) -> StoreError {
    StoreError::Unfit(match fault {
        ReplicaFault::Cluster => format!(
            "{place}: the server is a node of a Redis Cluster, whose replicas can take over without the last writes. \
             Use a server with `cluster-enabled no`"
        ),
        ReplicaFault::Watched => format!(
            "{place}: Sentinels watch this server, and can replace it by a replica that lacks the last writes. Name the \
             Sentinels in the address, so that each write waits for the replicas: \
             redis+sentinel://HOST,HOST/MASTER/DB?state=NAME"
        ),
        ReplicaFault::Undeclared(connected) => {
            let noun = if connected == 1 { "replica" } else { "replicas" };
            format!(
                "{place}: the server has {connected} {noun}. A replica that takes over automatically may lack the last \
                 writes. Add replicas={connected} to the address, so that each write waits for replicas. If no replica \
                 ever takes over automatically, add replicas=0"
            )
        }
    })
}

/// Replicas did not confirm the last writes.
pub(in crate::redis) fn unconfirmed(confirmed: u32, wanted: u32, files: bool) -> String {
    let (verb, hint) = match files {
        true => ("written the last changes to their files", " (a replica needs `appendonly yes`)"),
        false => ("confirmed the last changes", ""),
    };
    format!(
        "only {confirmed} of {wanted} replicas have {verb}{hint}. Changes that the other replicas lack do not count as \
         saved"
    )
}

/// A server does not respond in time.
pub(in crate::redis) fn silent() -> String {
    "the server does not respond".to_owned()
}

/// No Sentinel names the master. `reasons` has one entry for each Sentinel that does not respond.
pub(in crate::redis) fn no_sentinel(reasons: &[String]) -> String {
    format!("no Sentinel returned the address of the master: {}", reasons.join("; "))
}

/// A Sentinel names another server as the master.
pub(in crate::redis) fn no_master_there() -> String {
    "the server that the Sentinels name as the master is a replica. Try again".to_owned()
}
