//! The connection: requirements on the server, resending after a broken connection, and the check for lost writes.

use std::collections::BTreeMap;
use std::sync::{Mutex, PoisonError};
use std::time::{Duration, Instant};

use redis::aio::MultiplexedConnection;
use redis::{
    Arg, AsyncConnectionConfig, Client, Cmd, ConnectionAddr, IntoConnectionInfo, Pipeline, RedisConnectionInfo,
    ServerError, Value,
};

use super::address::Address;
use super::codec::{Words, text};
use super::keys::Keys;
use super::problems::{self, REQUIREMENTS, Requirement};
use super::scripts::Scripts;
use crate::error::StoreError;
use crate::run::RunId;

/// The oldest server that refuses flagged scripts before their first write when memory is full.
const OLDEST_SERVER: (u32, u32) = (7, 0);

/// How long a broken connection is retried before the caller gets an error. A restart of a server with a large
/// append-only file takes seconds, and half of a lease's TTL must remain for an orderly stop.
const RECONNECT_FOR: Duration = Duration::from_secs(10);
/// The pause between two attempts to connect.
const RECONNECT_PAUSE: Duration = Duration::from_millis(100);
/// The time after which a server that does not accept a connection counts as unavailable.
const CONNECT_TIMEOUT: Duration = Duration::from_secs(3);
/// The longest wait for one answer. A batch of the largest records on a slow disk takes less.
const RESPONSE_TIMEOUT: Duration = Duration::from_secs(20);
/// The number of commands in one batch. It bounds the memory on both sides, and one wait for durability still covers
/// many commands.
pub(super) const COMMANDS_AT_ONCE: usize = 512;
/// The bytes of arguments in one batch, for the same reason. A larger command is sent alone.
const BYTES_AT_ONCE: usize = 8 * 1024 * 1024;

/// The last acknowledged journal line of a run: the number of lines and the link.
type Tip = (u64, String);

/// A connection that is re-established when it breaks.
pub(super) struct Connection {
    address: Address,
    keys: Keys,
    pub(super) scripts: Scripts,
    client: Client,
    /// The open connection and its number.
    line: tokio::sync::Mutex<Option<(u64, MultiplexedConnection)>>,
    tips: Mutex<BTreeMap<RunId, Tip>>,
    lost: Mutex<Option<StoreError>>,
}

/// The reason why a call failed.
enum Trouble {
    /// The connection is broken or the server is starting: retry.
    Again(String),
    /// Final.
    Final(StoreError),
}

impl Connection {
    /// Prepares a connection without sending anything.
    pub(super) fn new(address: Address, keys: Keys) -> Result<Connection, StoreError> {
        let mut login = RedisConnectionInfo::default().set_db(address.database);
        if let Some(user) = &address.user {
            login = login.set_username(user);
        }
        if let Some(password) = &address.password {
            login = login.set_password(password);
        }
        let tcp = ConnectionAddr::Tcp(address.host.clone(), address.port);
        let client = tcp.into_connection_info().map(|info| info.set_redis_settings(login)).and_then(Client::open);
        let client = client.map_err(|error| StoreError::Address(error.to_string()))?;
        Ok(Connection {
            address,
            keys,
            scripts: Scripts::new(),
            client,
            line: tokio::sync::Mutex::new(None),
            tips: Mutex::new(BTreeMap::new()),
            lost: Mutex::new(None),
        })
    }

    /// The server, for messages.
    pub(super) fn place(&self) -> String {
        self.address.place()
    }

    /// Records the last acknowledged line of a run. Answers may come in any order.
    pub(super) fn acknowledged(&self, run: &RunId, lines: u64, link: &str) {
        let mut tips = self.tips.lock().unwrap_or_else(PoisonError::into_inner);
        match tips.get_mut(run) {
            Some((known, _)) if *known >= lines => {}
            _ => {
                tips.insert(run.clone(), (lines, link.to_owned()));
            }
        }
    }

    /// The last acknowledged line of a run.
    pub(super) fn tip(&self, run: &RunId) -> Option<(u64, String)> {
        self.tips.lock().unwrap_or_else(PoisonError::into_inner).get(run).cloned()
    }

    /// Goes on after lost writes. The next connection checks again whether every acknowledged line is there.
    pub(super) fn forgive(&self) {
        *self.lost.lock().unwrap_or_else(PoisonError::into_inner) = None;
    }

    /// Forgets the run's journal.
    pub(super) fn forget(&self, run: &RunId) {
        self.tips.lock().unwrap_or_else(PoisonError::into_inner).remove(run);
    }

    /// Sends one command.
    pub(super) async fn one(&self, command: Cmd) -> Result<Value, StoreError> {
        Ok(self.all(vec![command]).await?.pop().unwrap_or(Value::Nil))
    }

    /// Calls one script and returns its answer as words.
    pub(super) async fn script(&self, command: Cmd) -> Result<Words, StoreError> {
        self.words(self.one(command).await?)
    }

    /// The words of a script's answer.
    pub(super) fn words(&self, value: Value) -> Result<Words, StoreError> {
        match value {
            Value::Array(values) => Ok(Words(values)),
            other => Err(self.refused(problems::unexpected_answer(&text(&other)))),
        }
    }

    /// Sends commands in order, pipelined. After a broken connection, all are sent again, so each one must allow that.
    ///
    /// # Errors
    /// The server is unreachable for [`RECONNECT_FOR`], refuses a command or does not meet the requirements; or writes
    /// were lost.
    pub(super) async fn all(&self, commands: Vec<Cmd>) -> Result<Vec<Value>, StoreError> {
        self.parts(commands, false).await
    }

    /// Like [`Connection::all`], for commands that write: each part is one transaction. The server reads a pipeline in
    /// pieces of some 16 KiB and makes each piece durable separately. Without the transaction, a batch would wait for
    /// the disk dozens of times. With it, a batch waits once.
    ///
    /// # Errors
    /// See [`Connection::all`].
    pub(super) async fn all_durable_at_once(&self, commands: Vec<Cmd>) -> Result<Vec<Value>, StoreError> {
        self.parts(commands, true).await
    }

    async fn parts(&self, commands: Vec<Cmd>, transaction: bool) -> Result<Vec<Value>, StoreError> {
        let mut answers = Vec::with_capacity(commands.len());
        let mut commands = commands.into_iter().peekable();
        while commands.peek().is_some() {
            let mut pipeline = Pipeline::with_capacity(commands.len().min(COMMANDS_AT_ONCE));
            let mut bytes = 0;
            while let Some(command) = commands.next_if(|command| {
                bytes += size(command);
                pipeline.is_empty() || (pipeline.len() < COMMANDS_AT_ONCE && bytes <= BYTES_AT_ONCE)
            }) {
                pipeline.add_command(command);
            }
            if transaction && pipeline.len() > 1 {
                pipeline.atomic();
            }
            pipeline.ignore_errors();
            answers.extend(self.pipeline(&pipeline).await?);
        }
        Ok(answers)
    }

    async fn pipeline(&self, pipeline: &Pipeline) -> Result<Vec<Value>, StoreError> {
        let start = Instant::now();
        loop {
            match self.attempt(pipeline).await {
                Ok(values) => return Ok(values),
                Err(Trouble::Final(error)) => return Err(error),
                Err(Trouble::Again(error)) if start.elapsed() > RECONNECT_FOR => {
                    return Err(StoreError::Unreachable { server: self.place(), error });
                }
                Err(Trouble::Again(_)) => tokio::time::sleep(RECONNECT_PAUSE).await,
            }
        }
    }

    async fn attempt(&self, pipeline: &Pipeline) -> Result<Vec<Value>, Trouble> {
        if let Some(lost) = self.lost.lock().unwrap_or_else(PoisonError::into_inner).clone() {
            return Err(Trouble::Final(lost));
        }
        let (number, mut line) = self.line().await?;
        let answer: Result<Vec<Value>, _> = pipeline.query_async(&mut line).await;
        let values = match answer {
            Ok(values) => values,
            Err(error) => {
                let words = error.to_string();
                // A transaction that was refused before it began.
                let refusals = error.into_server_errors();
                if let Some((_, first)) = refusals.as_deref().and_then(|errors| errors.first()) {
                    return Err(self.server_trouble(number, first).await);
                }
                self.hang_up(number).await;
                return Err(Trouble::Again(words));
            }
        };
        for value in &values {
            if let Value::ServerError(error) = value {
                return Err(self.server_trouble(number, error).await);
            }
        }
        Ok(values)
    }

    /// How to handle an error of the server.
    async fn server_trouble(&self, number: u64, error: &ServerError) -> Trouble {
        match error.code() {
            "NOSCRIPT" => {
                // The server was restarted or its scripts were flushed. A new connection loads them again.
                self.hang_up(number).await;
                Trouble::Again(problems::scripts_flushed())
            }
            "LOADING" | "BUSY" | "TRYAGAIN" | "MASTERDOWN" => Trouble::Again(error.to_string()),
            _ => Trouble::Final(self.refused(error.to_string())),
        }
    }

    fn refused(&self, error: String) -> StoreError {
        StoreError::Refused { server: self.place(), error }
    }

    async fn hang_up(&self, number: u64) {
        let mut line = self.line.lock().await;
        if let Some((open, _)) = line.as_ref()
            && *open == number
        {
            *line = None;
        }
    }

    /// The open connection. A new one is checked before its first use.
    async fn line(&self) -> Result<(u64, MultiplexedConnection), Trouble> {
        let mut held = self.line.lock().await;
        if let Some(line) = held.as_ref() {
            return Ok(line.clone());
        }
        let config = AsyncConnectionConfig::new()
            .set_connection_timeout(Some(CONNECT_TIMEOUT))
            .set_response_timeout(Some(RESPONSE_TIMEOUT));
        let opened = self.client.get_multiplexed_async_connection_with_config(&config).await;
        let mut line = opened.map_err(|error| match error.kind() {
            redis::ErrorKind::AuthenticationFailed => Trouble::Final(self.refused(error.to_string())),
            _ => Trouble::Again(error.to_string()),
        })?;
        self.check_server(&mut line).await?;
        let mut load = Pipeline::new();
        for command in self.scripts.loading() {
            load.add_command(command);
        }
        let _: Vec<String> = load.query_async(&mut line).await.map_err(|error| self.trouble(error))?;
        self.check_tips(&mut line).await?;
        /// Numbers of connections, to distinguish an old one from its successor.
        static NUMBER: std::sync::atomic::AtomicU64 = std::sync::atomic::AtomicU64::new(1);
        let number = NUMBER.fetch_add(1, std::sync::atomic::Ordering::Relaxed);
        *held = Some((number, line.clone()));
        Ok((number, line))
    }

    fn trouble(&self, error: redis::RedisError) -> Trouble {
        if error.is_io_error() || error.is_timeout() || error.is_connection_dropped() || error.code() == Some("LOADING")
        {
            Trouble::Again(error.to_string())
        } else {
            Trouble::Final(self.refused(error.to_string()))
        }
    }

    /// Checks the version and the settings without which an acknowledged write could be lost.
    async fn check_server(&self, line: &mut MultiplexedConnection) -> Result<(), Trouble> {
        let place = self.place();
        let info: String =
            redis::cmd("INFO").arg("server").query_async(line).await.map_err(|error| self.trouble(error))?;
        let version = info.lines().find_map(|line| line.strip_prefix("redis_version:")).unwrap_or("unknown").trim();
        let mut parts = version.split('.').map_while(|part| part.parse::<u32>().ok());
        if (parts.next().unwrap_or_default(), parts.next().unwrap_or_default()) < OLDEST_SERVER {
            return Err(Trouble::Final(problems::old_server(&place, version)));
        }
        for required in REQUIREMENTS {
            let Requirement { name, value, .. } = required;
            let answer: Result<Vec<String>, _> = redis::cmd("CONFIG").arg("GET").arg(name).query_async(line).await;
            let found = match answer {
                Ok(pair) => pair.into_iter().nth(1).unwrap_or_default(),
                Err(error) if error.code() == Some("NOPERM") || error.code() == Some("ERR") => {
                    return Err(Trouble::Final(problems::setting_unreadable(&place, name, value, &error)));
                }
                Err(error) => return Err(self.trouble(error)),
            };
            if found != value {
                return Err(Trouble::Final(problems::wrong_setting(&place, required, &found)));
            }
        }
        Ok(())
    }

    /// Checks that every acknowledged line is still there.
    async fn check_tips(&self, line: &mut MultiplexedConnection) -> Result<(), Trouble> {
        let tips = self.tips.lock().unwrap_or_else(PoisonError::into_inner).clone();
        for (run, (lines, link)) in tips {
            let found: Option<Vec<u8>> = redis::cmd("LINDEX")
                .arg(self.keys.journal(&run))
                .arg(lines.saturating_sub(1))
                .query_async(line)
                .await
                .map_err(|error| self.trouble(error))?;
            if !found.is_some_and(|found| found.starts_with(link.as_bytes())) {
                let error = StoreError::LostWrites { run, sequence: lines.saturating_sub(1) };
                *self.lost.lock().unwrap_or_else(PoisonError::into_inner) = Some(error.clone());
                return Err(Trouble::Final(error));
            }
        }
        Ok(())
    }
}

/// The number of bytes of a command's arguments.
fn size(command: &Cmd) -> usize {
    let length = |arg: Arg<&[u8]>| if let Arg::Simple(bytes) = arg { bytes.len() } else { 0 };
    command.args_iter().map(length).sum()
}
