//! Opens connections: over TCP, TLS or a Unix socket, to a server or to the master that Sentinels name.
//!
//! This module opens the streams itself, not through the client library, for two reasons. An error must name its cause,
//! and certificates and passwords are read from their files for each connection.

use std::collections::BTreeMap;
use std::io;
use std::path::Path;
use std::sync::Arc;
use std::sync::atomic::{AtomicUsize, Ordering};
use std::time::Duration;

use redis::aio::MultiplexedConnection;
use redis::{AsyncConnectionConfig, ErrorKind, RedisConnectionInfo, RedisError};
use tokio::io::{AsyncRead, AsyncReadExt as _, AsyncWrite, AsyncWriteExt as _};
use tokio::net::{TcpStream, UnixStream};
use tokio_rustls::TlsConnector;
use weft_sealing::Secret;

use super::address::{Address, Endpoint, Host};
use super::problems::{self, LoginFault};
use super::replication::{SeenReplica, SentinelView};
use super::settings::{PasswordSource, RedisSettings};
use super::tls;
use crate::error::StoreError;

/// The time after which a server that does not accept a connection counts as unavailable.
const CONNECT_TIMEOUT: Duration = Duration::from_secs(3);
/// The maximum wait for one answer. A batch of the largest records on a slow disk takes less.
const RESPONSE_TIMEOUT: Duration = Duration::from_secs(20);
/// The time for a server to show whether it supports TLS.
const PROBE_TIMEOUT: Duration = Duration::from_secs(1);

/// The reason why a call failed.
pub(super) enum Trouble {
    /// The connection is broken or the server is starting. The call may be retried.
    Again(String),
    /// The call failed, and a retry would not help.
    Final(StoreError),
}

/// Why a connection was not opened.
enum DialError {
    /// The server does not respond, or is starting.
    Again(String),
    /// The server responds, but the user must change something.
    Fault(LoginFault),
    /// The server refuses for another reason.
    Refused(String),
}

impl From<LoginFault> for DialError {
    fn from(fault: LoginFault) -> DialError {
        DialError::Fault(fault)
    }
}

impl From<io::Error> for DialError {
    fn from(error: io::Error) -> DialError {
        DialError::Again(error.to_string())
    }
}

/// The target of a stream.
enum Target<'a> {
    Host(&'a Host),
    Socket(&'a Path),
}

/// Opens connections to one store.
pub(super) struct Dialer {
    pub(super) address: Address,
    settings: RedisSettings,
    /// The index of the Sentinel that is asked first.
    first: AtomicUsize,
}

impl Dialer {
    pub(super) fn new(address: Address, settings: RedisSettings) -> Dialer {
        Dialer { address, settings, first: AtomicUsize::new(0) }
    }

    /// The server, for messages.
    pub(super) fn place(&self) -> String {
        self.address.place()
    }

    /// Connects to the server. With Sentinels, connects to the master that the Sentinels name, and also returns what
    /// they know about its replicas.
    pub(super) async fn server(&self) -> Result<(MultiplexedConnection, Option<SentinelView>), Trouble> {
        let login = self.login(self.address.user.as_deref(), self.address.database);
        let login = login.map_err(|fault| self.told(DialError::Fault(fault)))?;
        let (master, view);
        let target = match &self.address.endpoint {
            Endpoint::Host(host) => {
                view = None;
                Target::Host(host)
            }
            Endpoint::Socket(path) => {
                view = None;
                Target::Socket(path)
            }
            Endpoint::Sentinels { .. } => {
                let (named, seen) = self.ask_sentinels().await?;
                if !named.is_loopback() {
                    self.address.check_far(&named, &self.settings).map_err(Trouble::Final)?;
                }
                (master, view) = (named, Some(seen));
                Target::Host(&master)
            }
        };
        let line = self.open(&target, login).await.map_err(|error| self.told(error))?;
        Ok((line, view))
    }

    /// What the first Sentinel that responds knows now, or `None` if the address has no Sentinels. Waits at most
    /// [`PROBE_TIMEOUT`] for all of them together, so that a failure is quick. After a timeout, the next call begins
    /// with another Sentinel.
    pub(super) async fn sentinel_view(&self) -> Result<Option<SentinelView>, Trouble> {
        if !self.has_sentinels() {
            return Ok(None);
        }
        match tokio::time::timeout(PROBE_TIMEOUT, self.ask_sentinels()).await {
            Ok(answer) => answer.map(|(_, view)| Some(view)),
            Err(_) => {
                self.distrust();
                Err(Trouble::Again(problems::silent()))
            }
        }
    }

    /// Whether Sentinels name the server.
    pub(super) fn has_sentinels(&self) -> bool {
        matches!(self.address.endpoint, Endpoint::Sentinels { .. })
    }

    /// After this call, another Sentinel is asked first.
    pub(super) fn distrust(&self) {
        self.first.fetch_add(1, Ordering::Relaxed);
    }

    /// Whether a connection that broke without an answer went to a TLS port.
    pub(super) async fn needs_tls(&self) -> bool {
        let Endpoint::Host(host) = &self.address.endpoint else { return false };
        if self.address.tls {
            return false;
        }
        let spoken = async {
            let stream = TcpStream::connect((host.name.as_str(), host.port)).await.ok()?;
            let connector = TlsConnector::from(tls::trustless().ok()?);
            Some(tls::is_spoken(&connector.connect(tls::server_name(&host.name).ok()?, stream).await))
        };
        tokio::time::timeout(PROBE_TIMEOUT, spoken).await.ok().flatten().unwrap_or_default()
    }

    fn told(&self, error: DialError) -> Trouble {
        match error {
            DialError::Again(error) => Trouble::Again(error),
            DialError::Fault(fault) => Trouble::Final(problems::no_connection(&self.place(), &fault)),
            DialError::Refused(error) => Trouble::Final(StoreError::Refused { server: self.place(), error }),
        }
    }

    fn login(&self, user: Option<&str>, database: i64) -> Result<RedisConnectionInfo, LoginFault> {
        let password = match &self.address.password {
            Some(password) => Some(password.clone()),
            None => password(self.settings.password.as_ref())?,
        };
        let mut login = RedisConnectionInfo::default().set_db(database).set_skip_set_lib_name();
        if let Some(user) = user {
            // If no password is configured, the user may be one that needs no password.
            login = login.set_username(user).set_password("");
        }
        if let Some(password) = password {
            login = login.set_password(text(&password));
        }
        Ok(login)
    }

    async fn open(&self, target: &Target<'_>, login: RedisConnectionInfo) -> Result<MultiplexedConnection, DialError> {
        match tokio::time::timeout(CONNECT_TIMEOUT, self.opened(target, login)).await {
            Ok(opened) => opened,
            Err(_) => match target {
                // A server without TLS may wait for the end of a line instead of answering.
                Target::Host(host) if self.address.tls && speaks_plainly(host).await => Err(LoginFault::NotTls.into()),
                _ => Err(DialError::Again(problems::silent())),
            },
        }
    }

    async fn opened(
        &self,
        target: &Target<'_>,
        login: RedisConnectionInfo,
    ) -> Result<MultiplexedConnection, DialError> {
        let host = match target {
            Target::Socket(path) => return self.logged_in(UnixStream::connect(path).await?, login).await,
            Target::Host(host) => host,
        };
        let stream = TcpStream::connect((host.name.as_str(), host.port)).await?;
        stream.set_nodelay(true)?;
        if !self.address.tls {
            return self.logged_in(stream, login).await;
        }
        let config = tls::client(&self.settings)?;
        let name = self.settings.server_name.as_deref().unwrap_or(&host.name);
        let stream = TlsConnector::from(config).connect(tls::server_name(name)?, stream).await;
        let stream = stream.map_err(|error| tls::fault(&error, name).map_or(error.into(), DialError::Fault))?;
        self.logged_in(stream, login).await
    }

    async fn logged_in<Stream>(
        &self,
        stream: Stream,
        login: RedisConnectionInfo,
    ) -> Result<MultiplexedConnection, DialError>
    where
        Stream: AsyncRead + AsyncWrite + Send + Unpin + 'static,
    {
        let config = AsyncConnectionConfig::new().set_response_timeout(Some(RESPONSE_TIMEOUT));
        let opened = MultiplexedConnection::new_with_config(&login, stream, config).await;
        let (line, driver) = opened.map_err(|error| self.dial_error(&error))?;
        // The task ends with the last clone of the connection.
        tokio::spawn(driver);
        Ok(line)
    }

    fn dial_error(&self, error: &RedisError) -> DialError {
        if let Some(fault) = stream_error(error).and_then(|error| tls::fault(error, "")) {
            return fault.into();
        }
        let wrong_password = || LoginFault::WrongPassword(self.address.user_name().to_owned()).into();
        match error.code().unwrap_or_default() {
            "NOAUTH" => LoginFault::NoPassword.into(),
            "WRONGPASS" => wrong_password(),
            "LOADING" | "BUSY" | "MASTERDOWN" | "TRYAGAIN" => DialError::Again(error.to_string()),
            _ if error.kind() == ErrorKind::AuthenticationFailed => wrong_password(),
            _ if error.is_io_error() || error.is_timeout() || error.is_connection_dropped() => {
                DialError::Again(error.to_string())
            }
            _ => DialError::Refused(error.to_string()),
        }
    }

    /// How to handle an error before the first batch.
    pub(super) fn trouble(&self, error: &RedisError) -> Trouble {
        self.told(self.dial_error(error))
    }

    /// The master, and what the first Sentinel that responds knows about its replicas.
    async fn ask_sentinels(&self) -> Result<(Host, SentinelView), Trouble> {
        let Endpoint::Sentinels { hosts, master } = &self.address.endpoint else {
            return Err(Trouble::Again(problems::silent()));
        };
        let first = self.first.load(Ordering::Relaxed) % hosts.len().max(1);
        let (mut silent, mut wrong) = (Vec::new(), None);
        for host in hosts[first..].iter().chain(&hosts[..first]) {
            match self.ask_sentinel(host, master).await {
                Ok(answer) => return Ok(answer),
                Err(DialError::Again(error)) => silent.push(format!("{host}: {error}")),
                Err(error) => wrong = Some(error),
            }
        }
        match wrong {
            Some(error) if silent.is_empty() => Err(self.told(error)),
            // A Sentinel that does not respond may be the one that knows the master.
            _ => Err(Trouble::Again(problems::no_sentinel(&silent))),
        }
    }

    async fn ask_sentinel(&self, host: &Host, master: &str) -> Result<(Host, SentinelView), DialError> {
        let mut login = RedisConnectionInfo::default().set_skip_set_lib_name();
        if let Some(password) = password(self.settings.sentinel_password.as_ref())? {
            login = login.set_password(text(&password));
        }
        let refused = |error: DialError| match error {
            DialError::Fault(LoginFault::NoPassword | LoginFault::WrongPassword(_)) => {
                LoginFault::SentinelPassword.into()
            }
            error => error,
        };
        let mut line = self.open(&Target::Host(host), login).await.map_err(refused)?;
        let ask = |subcommand: &str| {
            let mut command = redis::cmd("SENTINEL");
            command.arg(subcommand).arg(master);
            command
        };
        let named: Result<Option<(String, u16)>, RedisError> =
            ask("GET-MASTER-ADDR-BY-NAME").query_async(&mut line).await;
        let named = named.map_err(|error| refused(self.dial_error(&error)))?;
        let (name, port) = named.ok_or_else(|| LoginFault::UnknownMaster(master.to_owned()))?;
        let replicas: Result<Vec<BTreeMap<String, String>>, RedisError> = ask("REPLICAS").query_async(&mut line).await;
        let replicas = replicas.map_err(|error| self.dial_error(&error))?;
        // An error means that the Sentinels cannot agree on a failover now.
        let quorum: Result<String, RedisError> = ask("CKQUORUM").query_async(&mut line).await;
        let replicas = replicas.iter().map(SeenReplica::read).collect();
        Ok((Host { name, port }, SentinelView { quorum: quorum.is_ok(), replicas }))
    }
}

/// A password as text, as the client library needs it. Passwords are read from text, so the conversion loses nothing.
fn text(password: &Secret) -> String {
    String::from_utf8_lossy(password.expose()).into_owned()
}

/// The password from its source.
fn password(source: Option<&PasswordSource>) -> Result<Option<Secret>, LoginFault> {
    match source {
        None => Ok(None),
        Some(PasswordSource::Text(password)) => Ok(Some(password.clone())),
        Some(PasswordSource::File(path)) => {
            let text = std::fs::read_to_string(path).map_err(|error| LoginFault::unreadable(path, &error))?;
            Ok(Some(Secret::new(text.trim_end_matches(['\r', '\n']))))
        }
    }
}

/// The I/O error that caused an error of the client library, if there is one.
fn stream_error(error: &RedisError) -> Option<&io::Error> {
    let source = std::error::Error::source(error)?;
    match source.downcast_ref::<Arc<dyn std::error::Error + Send + Sync>>() {
        Some(shared) => shared.downcast_ref::<io::Error>(),
        None => source.downcast_ref::<io::Error>(),
    }
}

/// Whether a server responds to plain text.
async fn speaks_plainly(host: &Host) -> bool {
    let answered = async {
        let mut stream = TcpStream::connect((host.name.as_str(), host.port)).await.ok()?;
        stream.write_all(b"PING\r\n").await.ok()?;
        let first = stream.read_u8().await.ok()?;
        Some(matches!(first, b'+' | b'-'))
    };
    tokio::time::timeout(PROBE_TIMEOUT, answered).await.ok().flatten().unwrap_or_default()
}
