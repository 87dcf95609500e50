//! The connection: requirements on the server, resending after a broken connection, and the check for lost writes.

use std::collections::BTreeMap;
use std::sync::{Arc, Mutex, PoisonError};
use std::time::{Duration, Instant};

use redis::aio::MultiplexedConnection;
use redis::{Arg, Cmd, Pipeline, ServerError, Value};

use super::address::Address;
use super::check::ServerReport;
use super::codec::{Words, text};
use super::dial::{Dialer, Trouble};
use super::fitness::{self, Durability};
use super::keys::Keys;
use super::marks::Tip;
use super::problems::{self, LoginFault};
use super::replication::ServerFacts;
use super::scripts::Scripts;
use super::settings::RedisSettings;
use crate::error::StoreError;
use crate::run::RunId;

/// The time for which a broken connection is retried before the caller gets an error. A server with a large append-only
/// file takes seconds to restart, and half of a lease's TTL must remain for an orderly stop.
const RECONNECT_FOR: Duration = Duration::from_secs(10);
/// The pause between two attempts to connect.
const RECONNECT_PAUSE: Duration = Duration::from_millis(100);
/// The time after which settings and replicas are checked again. It is far shorter than the time after which Sentinels
/// consider a silent server dead (30 seconds by default). So the store counts a new replica before a failover could
/// promote it.
const LOOK_AGAIN: Duration = Duration::from_secs(3);
/// The maximum duration of one wait for replicas. After that, the server is checked again, because another server may
/// have replaced it.
const WAIT_FOR: Duration = Duration::from_secs(1);
/// The maximum number of commands in one batch. It bounds the memory on both sides, but one wait for durability still
/// covers many commands.
pub(super) const COMMANDS_AT_ONCE: usize = 512;
/// The maximum number of bytes of arguments in one batch, to bound the memory on both sides. A larger command is sent
/// alone.
const BYTES_AT_ONCE: usize = 8 * 1024 * 1024;
/// The commands that write and that replicas must therefore confirm. Scripts count as writing.
const WRITING: [&[u8]; 4] = [b"EVALSHA", b"HSET", b"HSETNX", b"HDEL"];

/// A connection that is re-established when it breaks.
pub(super) struct Connection {
    dialer: Dialer,
    keys: Keys,
    pub(super) scripts: Scripts,
    /// The open connection.
    line: tokio::sync::Mutex<Option<Line>>,
    tips: Mutex<BTreeMap<RunId, Tip>>,
    lost: Mutex<Option<StoreError>>,
}

/// An open connection.
#[derive(Clone)]
struct Line {
    number: u64,
    stream: MultiplexedConnection,
    watch: Arc<Mutex<Watch>>,
}

/// What is known about the server of a connection.
struct Watch {
    durability: Durability,
    looked: Instant,
}

impl Line {
    fn durability(&self) -> Durability {
        self.watch.lock().unwrap_or_else(PoisonError::into_inner).durability
    }

    /// Whether the server must be checked again. Only one caller gets `true`.
    fn is_due(&self) -> bool {
        let mut watch = self.watch.lock().unwrap_or_else(PoisonError::into_inner);
        let due = watch.looked.elapsed() >= LOOK_AGAIN;
        if due {
            watch.looked = Instant::now();
        }
        due
    }

    fn set(&self, durability: Durability) {
        self.watch.lock().unwrap_or_else(PoisonError::into_inner).durability = durability;
    }
}

impl Connection {
    /// Prepares a connection without sending anything.
    pub(super) fn new(address: Address, settings: RedisSettings, keys: Keys) -> Connection {
        Connection {
            dialer: Dialer::new(address, settings),
            keys,
            scripts: Scripts::new(),
            line: tokio::sync::Mutex::new(None),
            tips: Mutex::new(BTreeMap::new()),
            lost: Mutex::new(None),
        }
    }

    /// The server, for messages.
    pub(super) fn place(&self) -> String {
        self.dialer.place()
    }

    /// Records the last acknowledged line of a run. Calls may come in any order.
    pub(super) fn acknowledged(&self, run: &RunId, lines: u64, link: &str) {
        let mut tips = self.tips.lock().unwrap_or_else(PoisonError::into_inner);
        match tips.get_mut(run) {
            Some(known) if known.lines >= lines => {}
            _ => {
                tips.insert(run.clone(), Tip { lines, link: link.to_owned() });
            }
        }
    }

    /// The last acknowledged line of a run.
    pub(super) fn tip(&self, run: &RunId) -> Option<Tip> {
        self.tips.lock().unwrap_or_else(PoisonError::into_inner).get(run).cloned()
    }

    /// Accepts connections again after writes were lost. The next connection checks that every acknowledged line
    /// exists.
    pub(super) fn forgive(&self) {
        *self.lost.lock().unwrap_or_else(PoisonError::into_inner) = None;
    }

    /// Forgets the last acknowledged line of a run.
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

    /// The answer of a script as words.
    pub(super) fn words(&self, value: Value) -> Result<Words, StoreError> {
        match value {
            Value::Array(values) => Ok(Words(values)),
            other => Err(self.refused(problems::unexpected_answer(&text(&other)))),
        }
    }

    /// Sends commands in order, pipelined. After a broken connection, all commands are sent again, so each command must
    /// be safe to repeat.
    ///
    /// # Errors
    /// Returns an error if the server is unreachable for [`RECONNECT_FOR`], refuses a command or does not meet the
    /// requirements, or if writes were lost.
    pub(super) async fn all(&self, commands: Vec<Cmd>) -> Result<Vec<Value>, StoreError> {
        self.parts(commands, false).await
    }

    /// Like [`Connection::all`], but each batch of commands is one transaction. For commands that write, this is
    /// faster: the server reads a pipeline in pieces of about 16 KiB and makes each piece durable separately. Without
    /// the transaction, a batch would wait for the disk dozens of times. With the transaction, the batch waits once.
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

    /// The properties of the server, for reports.
    ///
    /// # Errors
    /// See [`Connection::all`].
    pub(super) async fn report(&self) -> Result<ServerReport, StoreError> {
        let info = text(&self.one(redis::cmd("INFO")).await?);
        let replicas = self.line.lock().await.as_ref().map_or(0, |line| line.durability().replicas);
        let Address { tls, .. } = self.dialer.address;
        let user = self.dialer.address.user_name().to_owned();
        Ok(ServerReport { version: ServerFacts::read(&info).version_text, tls, user, replicas })
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
        let mut line = self.line().await?;
        if line.is_due() {
            self.look_again(&mut line).await?;
        }
        let answer: Result<Vec<Value>, _> = pipeline.query_async(&mut line.stream).await;
        let values = match answer {
            Ok(values) => values,
            Err(error) => {
                let words = error.to_string();
                // The server refused the transaction before it began.
                let refusals = error.into_server_errors();
                if let Some((_, first)) = refusals.as_deref().and_then(|errors| errors.first()) {
                    return Err(self.server_trouble(line.number, first).await);
                }
                self.hang_up(line.number).await;
                return Err(Trouble::Again(words));
            }
        };
        for value in &values {
            if let Value::ServerError(error) = value {
                return Err(self.server_trouble(line.number, error).await);
            }
        }
        if pipeline.cmd_iter().any(writes) {
            self.confirm(&mut line).await?;
        }
        Ok(values)
    }

    /// How to handle an error of the server.
    async fn server_trouble(&self, number: u64, error: &ServerError) -> Trouble {
        match error.code() {
            "NOSCRIPT" => {
                // The server was restarted or its scripts were flushed. A new connection loads the scripts again.
                self.hang_up(number).await;
                Trouble::Again(problems::scripts_flushed())
            }
            // Another server has become the master, or the permissions were changed. A new connection finds out which
            // of the two happened.
            "READONLY" | "NOPERM" | "NOAUTH" => {
                self.hang_up(number).await;
                Trouble::Again(error.to_string())
            }
            _ if error.details().is_some_and(|details| SCRIPT_DENIED.iter().any(|text| details.contains(text))) => {
                self.hang_up(number).await;
                Trouble::Again(error.to_string())
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
        if line.as_ref().is_some_and(|open| open.number == number) {
            *line = None;
        }
    }

    /// The open connection. A new one is checked before its first use.
    async fn line(&self) -> Result<Line, Trouble> {
        let mut held = self.line.lock().await;
        if let Some(line) = held.as_ref() {
            return Ok(line.clone());
        }
        let (mut stream, durability) = match self.opened().await {
            // A server that closes the connection without an answer may expect TLS.
            Err(Trouble::Again(_)) if self.dialer.needs_tls().await => {
                return Err(Trouble::Final(problems::no_connection(&self.place(), &LoginFault::OnlyTls)));
            }
            opened => opened?,
        };
        let mut load = Pipeline::new();
        for command in self.scripts.loading() {
            load.add_command(command);
        }
        let _: Vec<String> = load.query_async(&mut stream).await.map_err(|error| self.dialer.trouble(&error))?;
        self.check_tips(&mut stream).await?;
        /// The number of the next connection. Numbers distinguish an old connection from its successor.
        static NUMBER: std::sync::atomic::AtomicU64 = std::sync::atomic::AtomicU64::new(1);
        let number = NUMBER.fetch_add(1, std::sync::atomic::Ordering::Relaxed);
        let watch = Arc::new(Mutex::new(Watch { durability, looked: Instant::now() }));
        let line = Line { number, stream, watch };
        *held = Some(line.clone());
        Ok(line)
    }

    /// A new connection to a server that is fit.
    async fn opened(&self) -> Result<(MultiplexedConnection, Durability), Trouble> {
        let (mut stream, sentinels) = self.dialer.server().await?;
        let durability = fitness::check(&self.dialer, &mut stream, sentinels.as_ref(), &self.keys.meta()).await?;
        Ok((stream, durability))
    }

    /// Checks settings and replicas again, because they may have changed.
    async fn look_again(&self, line: &mut Line) -> Result<(), Trouble> {
        let seen = match fitness::again(&self.dialer, &mut line.stream).await {
            Ok(seen) => seen,
            Err(trouble) => {
                self.hang_up(line.number).await;
                return Err(trouble);
            }
        };
        // If no Sentinel responds, the last answer of a Sentinel stays valid.
        if let Ok(sentinels) = self.dialer.sentinel_view().await {
            line.set(seen.durability(&self.dialer, sentinels.as_ref()).map_err(Trouble::Final)?);
        }
        Ok(())
    }

    /// Waits until the last writes have reached all replicas that must confirm them.
    async fn confirm(&self, line: &mut Line) -> Result<(), Trouble> {
        let start = Instant::now();
        let wait = u64::try_from(WAIT_FOR.as_millis()).unwrap_or(u64::MAX);
        loop {
            let durability = line.durability();
            if durability.replicas == 0 {
                return Ok(());
            }
            let confirmed = match fitness::confirmed(&mut line.stream, durability, wait).await {
                Ok(confirmed) => confirmed,
                Err(error) => {
                    self.hang_up(line.number).await;
                    return Err(self.dialer.trouble(&error));
                }
            };
            if confirmed >= durability.replicas {
                return Ok(());
            }
            self.look_again(line).await?;
            if start.elapsed() > RECONNECT_FOR {
                let error = problems::unconfirmed(confirmed, durability.replicas, durability.files);
                return Err(Trouble::Final(StoreError::Unreachable { server: self.place(), error }));
            }
        }
    }

    /// Checks that every acknowledged line still exists.
    async fn check_tips(&self, line: &mut MultiplexedConnection) -> Result<(), Trouble> {
        let tips = self.tips.lock().unwrap_or_else(PoisonError::into_inner).clone();
        for (run, Tip { lines, link }) in tips {
            let found: Option<Vec<u8>> = redis::cmd("LINDEX")
                .arg(self.keys.journal(&run))
                .arg(lines.saturating_sub(1))
                .query_async(line)
                .await
                .map_err(|error| self.dialer.trouble(&error))?;
            if !found.is_some_and(|found| found.starts_with(link.as_bytes())) {
                let error = StoreError::LostWrites { run, sequence: lines.saturating_sub(1) };
                *self.lost.lock().unwrap_or_else(PoisonError::into_inner) = Some(error.clone());
                return Err(Trouble::Final(error));
            }
        }
        Ok(())
    }
}

/// The server's messages when a script calls a command that the user may not run: before Redis 7.2, and since then.
const SCRIPT_DENIED: [&str; 2] = ["The user executing the script can't", "ACL failure in script"];

/// Whether replicas must confirm a command.
fn writes(command: &Cmd) -> bool {
    let name = command.args_iter().next();
    name.is_some_and(|name| matches!(name, Arg::Simple(name) if WRITING.contains(&name)))
}

/// The number of bytes of a command's arguments.
fn size(command: &Cmd) -> usize {
    let length = |arg: Arg<&[u8]>| if let Arg::Simple(bytes) = arg { bytes.len() } else { 0 };
    command.args_iter().map(length).sum()
}
