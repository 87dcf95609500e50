//! The store: SQLite on a thread of its own, which writes many effects in one transaction.
//!
//! An effect is first applied to the world in memory. It is queued while the world is still locked, so the queue has
//! the order of the sequence numbers. Every request, even a read, gets its response only after the data in the response
//! is durable. If a write fails, the store refuses everything until a restart, which begins from the stored data.

use std::path::Path;
use std::sync::mpsc::{Receiver, Sender, channel};
use std::thread;

use rusqlite::{Connection, params};
use tokio::sync::{oneshot, watch};

use super::config::Durability;
use super::object::{Kind, Object};
use super::world::{Change, Effect, World};

/// The maximum number of effects in one transaction: enough to share an fsync among all waiting effects, and few enough
/// for quick responses.
pub const MAX_GROUP: usize = 2048;

/// The number of ledger lines that are read at a time.
pub const LEDGER_PAGE: usize = 2000;

/// A mark in the header of the file, "wsim", so that another file is not mistaken for a cloud's database.
const APPLICATION_ID: i32 = 0x7773_696d;

const SCHEMA: &str = "
    CREATE TABLE IF NOT EXISTS objects (
        id TEXT PRIMARY KEY, region TEXT NOT NULL, type TEXT NOT NULL, token TEXT, attributes TEXT NOT NULL
    ) WITHOUT ROWID;
    CREATE TABLE IF NOT EXISTS ledger (seq INTEGER PRIMARY KEY, line TEXT NOT NULL);
";

/// Why the store cannot be used.
#[derive(Debug, thiserror::Error)]
pub enum StoreError {
    /// An error of SQLite.
    #[error("database: {0}")]
    Database(#[from] rusqlite::Error),
    /// The file is the database of another application.
    #[error("the file is a database, but not one of a simulated cloud")]
    Foreign,
    /// A stored object cannot be read.
    #[error("stored object {id}: {what}")]
    Object {
        /// The id of the object.
        id: String,
        /// What is wrong with the object.
        what: String,
    },
    /// The writing thread has ended.
    #[error("the store is shut after a failed write")]
    Shut,
    /// The writing thread cannot be started.
    #[error("starting the writing thread: {0}")]
    Thread(#[from] std::io::Error),
}

enum Command {
    Write(Box<Effect>),
    Ledger { after: u64, reply: oneshot::Sender<Result<Vec<(u64, String)>, StoreError>> },
}

/// A handle of the store. Dropping it ends the thread after all queued effects are written.
#[derive(Debug)]
pub struct Store {
    queue: Option<Sender<Command>>,
    /// The number of the last durable effect, or `None` after a failed write.
    written: watch::Receiver<Option<u64>>,
    thread: Option<thread::JoinHandle<()>>,
}

impl Store {
    /// Opens a file, or a database in memory, and reads the world from it.
    pub fn open(path: Option<&Path>, durability: Durability) -> Result<(Store, World), StoreError> {
        let connection = match path {
            Some(path) => Connection::open(path)?,
            None => Connection::open_in_memory()?,
        };
        prepare(&connection, durability)?;
        let world = load(&connection)?;
        let (queue, commands) = channel();
        let (report, written) = watch::channel(Some(world.seq()));
        let thread = thread::Builder::new()
            .name("simcloud-store".to_owned())
            .spawn(move || serve(connection, &commands, &report))?;
        Ok((Store { queue: Some(queue), written, thread: Some(thread) }, world))
    }

    /// Queues an effect. Call this while the world is locked. The queue needs no limit: each request waits until its
    /// effects are written, and the server limits the number of requests.
    pub fn write(&self, effect: Effect) -> Result<(), StoreError> {
        self.send(Command::Write(Box::new(effect)))
    }

    /// Waits until the effect with this number, and thus every earlier effect, is durable.
    pub async fn durable(&self, seq: u64) -> Result<(), StoreError> {
        let mut written = self.written.clone();
        let reached = written.wait_for(|state| state.is_none_or(|done| done >= seq));
        match reached.await.as_deref() {
            Ok(Some(_)) => Ok(()),
            Ok(None) | Err(_) => Err(StoreError::Shut),
        }
    }

    /// Up to [`LEDGER_PAGE`] ledger lines after a number, each a JSON object without a line end.
    pub async fn ledger(&self, after: u64) -> Result<Vec<(u64, String)>, StoreError> {
        let (reply, answer) = oneshot::channel();
        self.send(Command::Ledger { after, reply })?;
        answer.await.map_err(|_| StoreError::Shut)?
    }

    fn send(&self, command: Command) -> Result<(), StoreError> {
        let queue = self.queue.as_ref().ok_or(StoreError::Shut)?;
        queue.send(command).map_err(|_| StoreError::Shut)
    }
}

impl Drop for Store {
    fn drop(&mut self) {
        self.queue = None;
        if let Some(thread) = self.thread.take() {
            // The thread has already reported its panic.
            let _ = thread.join();
        }
    }
}

fn prepare(connection: &Connection, durability: Durability) -> Result<(), StoreError> {
    // Only one server may use a file, because each server has its own world.
    connection.pragma_update(None, "locking_mode", "EXCLUSIVE")?;
    let id: i32 = connection.pragma_query_value(None, "application_id", |row| row.get(0))?;
    let tables: i64 = connection.query_row("SELECT count(*) FROM sqlite_master", [], |row| row.get(0))?;
    if tables > 0 && id != APPLICATION_ID {
        return Err(StoreError::Foreign);
    }
    connection.pragma_update(None, "application_id", APPLICATION_ID)?;
    connection.pragma_update(None, "journal_mode", "WAL")?;
    // In WAL mode, a commit without fsync is in the cache of the operating system, so it survives the process.
    let synchronous = match durability {
        Durability::Machine => "FULL",
        Durability::Process => "OFF",
    };
    connection.pragma_update(None, "synchronous", synchronous)?;
    connection.execute_batch(SCHEMA)?;
    Ok(())
}

fn load(connection: &Connection) -> Result<World, StoreError> {
    let seq: i64 = connection.query_row("SELECT coalesce(max(seq), 0) FROM ledger", [], |row| row.get(0))?;
    let mut objects = Vec::new();
    let mut statement = connection.prepare("SELECT id, region, type, token, attributes FROM objects")?;
    let mut rows = statement.query([])?;
    while let Some(row) = rows.next()? {
        let (id, kind, attributes): (String, String, String) = (row.get(0)?, row.get(2)?, row.get(4)?);
        let broken = |what: String| StoreError::Object { id: id.clone(), what };
        let kind = Kind::named(&kind).ok_or_else(|| broken(format!("unknown type {kind:?}")))?;
        let attributes = serde_json::from_str(&attributes).map_err(|error| broken(error.to_string()))?;
        objects.push(Object { kind, region: row.get(1)?, token: row.get(3)?, attributes, id });
    }
    World::restore(seq.max(0) as u64, objects)
        .map_err(|refusal| StoreError::Object { id: "(any)".to_owned(), what: refusal.to_string() })
}

/// The thread: writes queued effects in one transaction, and reports the last durable one.
fn serve(mut connection: Connection, commands: &Receiver<Command>, report: &watch::Sender<Option<u64>>) {
    while let Ok(first) = commands.recv() {
        let mut group = Vec::new();
        let mut next = Some(first);
        while let Some(command) = next {
            match command {
                Command::Write(effect) => group.push(effect),
                Command::Ledger { after, reply } => {
                    // The reader does not wait for the current group, because everything that the caller may read is
                    // already durable.
                    let _ = reply.send(read_ledger(&connection, after));
                }
            }
            next = if group.len() < MAX_GROUP { commands.try_recv().ok() } else { None };
        }
        let Some(last) = group.last().map(|effect| effect.entry.seq) else { continue };
        if let Err(error) = write_group(&mut connection, &group) {
            eprintln!("simcloud: the store is shut: {error}");
            report.send_replace(None);
            return;
        }
        report.send_replace(Some(last));
    }
}

fn write_group(connection: &mut Connection, group: &[Box<Effect>]) -> Result<(), StoreError> {
    let transaction = connection.transaction()?;
    {
        let mut put = transaction.prepare_cached(
            "INSERT OR REPLACE INTO objects (id, region, type, token, attributes) VALUES (?, ?, ?, ?, ?)",
        )?;
        let mut remove = transaction.prepare_cached("DELETE FROM objects WHERE id = ?")?;
        let mut line = transaction.prepare_cached("INSERT INTO ledger (seq, line) VALUES (?, ?)")?;
        for effect in group {
            let (object, entry) = (&effect.object, &effect.entry);
            let broken =
                |error: serde_json::Error| StoreError::Object { id: object.id.clone(), what: error.to_string() };
            match effect.change {
                Change::Put => {
                    let attributes = serde_json::to_string(&object.attributes).map_err(broken)?;
                    put.execute(params![object.id, object.region, object.kind.name(), object.token, attributes])?
                }
                Change::Remove => remove.execute(params![object.id])?,
                Change::Keep => 0,
            };
            line.execute(params![entry.seq as i64, serde_json::to_string(entry).map_err(broken)?])?;
        }
    }
    transaction.commit()?;
    Ok(())
}

fn read_ledger(connection: &Connection, after: u64) -> Result<Vec<(u64, String)>, StoreError> {
    let mut statement = connection.prepare_cached("SELECT seq, line FROM ledger WHERE seq > ? ORDER BY seq LIMIT ?")?;
    let after = i64::try_from(after).unwrap_or(i64::MAX);
    let rows = statement
        .query_map(params![after, LEDGER_PAGE as i64], |row| Ok((row.get::<_, i64>(0)?.max(0) as u64, row.get(1)?)))?;
    Ok(rows.collect::<Result<_, _>>()?)
}
