//! The backend `pg`: states as rows of a PostgreSQL table, locks as advisory locks of a session.
//!
//! The server releases a lock when its session ends, so the lock of a dead process disappears. The journals of runs are
//! rows of a second table beside the table of the states.

mod connection;
mod names;
mod refusals;
mod settings;
mod string;
mod tls;

use std::fmt;
use std::sync::Arc;

use async_trait::async_trait;
use bytes::Bytes;
use md5::{Digest as _, Md5};
use tokio::sync::{Mutex, MutexGuard};
use weft_state::remote::{
    Backend, BackendError, Expected, LockAnswer, LockInfo, Object, ObjectVersion, Objects, RemoteState, Written,
};

use crate::arguments::{BackendSettings, Environment};
use crate::connected::{Connected, Connecting};
use connection::Link;
use refusals::HeldLock;
use settings::PgSettings;
pub use settings::schema;

/// The workspace that always exists.
const DEFAULT: &str = "default";

/// Makes the backend from its settings.
///
/// # Errors
/// Returns an error if the settings are not valid.
pub fn connect(settings: &BackendSettings, environment: Environment<'_>) -> Connecting {
    let (settings, warnings) = PgSettings::read(settings, environment)?;
    Ok(Connected { backend: Arc::new(Pg { session: PgSession::new(Arc::new(settings)) }), warnings })
}

/// A connection that is opened at the first request.
struct PgSession {
    settings: Arc<PgSettings>,
    link: Mutex<Option<Link>>,
    /// The lock that the session holds, and its number.
    lock: Mutex<Option<(String, i64)>>,
}

impl fmt::Debug for PgSession {
    fn fmt(&self, out: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(out, "PgSession({})", self.settings.place())
    }
}

impl PgSession {
    fn new(settings: Arc<PgSettings>) -> PgSession {
        PgSession { settings, link: Mutex::default(), lock: Mutex::default() }
    }

    /// The connection. If the connection has ended while the session held a lock, returns an error, because the lock
    /// ended with the connection. If it has ended without a lock, opens a new connection.
    async fn link(&self) -> Result<MutexGuard<'_, Option<Link>>, BackendError> {
        let mut link = self.link.lock().await;
        if link.as_ref().is_none_or(|link| link.is_closed()) {
            if self.lock.lock().await.is_some() {
                return Err(self.settings.lost_lock());
            }
            *link = Some(connection::open(&self.settings).await?);
        }
        Ok(link)
    }

    /// The error of a failed request. If the connection has ended while the session held a lock, the error says that
    /// the lock is lost.
    async fn failed(&self, doing: &'static str, error: &tokio_postgres::Error) -> BackendError {
        match error.is_closed() && self.lock.lock().await.is_some() {
            true => self.settings.lost_lock(),
            false => self.settings.failed(doing, error),
        }
    }
}

/// The backend.
#[derive(Debug)]
struct Pg {
    session: PgSession,
}

/// Runs one statement. The result of `$session.link()` is the open connection.
macro_rules! ask {
    ($session:expr, $doing:expr, $method:ident, $statement:expr, $parameters:expr) => {{
        let mut guard = $session.link().await?;
        let answer = match guard.as_ref() {
            Some(link) => connection::within(link.$method($statement, $parameters)).await,
            None => return Err($session.settings.lost_lock()),
        };
        match answer {
            Some(Ok(answer)) => Ok(answer),
            Some(Err(error)) => Err($session.failed($doing, &error).await),
            None => {
                // Other statements would wait for this statement.
                if let Some(link) = guard.take() {
                    link.cancel().await;
                }
                Err($session.settings.silent($doing, connection::ANSWER))
            }
        }
    }};
}

#[async_trait]
impl Backend for Pg {
    async fn workspaces(&self) -> Result<Vec<String>, BackendError> {
        let table = self.session.settings.names.table();
        let statement = format!("SELECT name FROM {table} WHERE name <> 'default' ORDER BY name");
        let rows = ask!(self.session, "listing the workspaces", query, &statement, &[])?;
        let others = rows.iter().filter_map(|row| row.try_get::<_, String>(0).ok());
        Ok([DEFAULT.to_owned()].into_iter().chain(others).collect())
    }

    async fn delete_workspace(&self, workspace: &str) -> Result<(), BackendError> {
        if workspace == DEFAULT || workspace.is_empty() {
            return Err(BackendError::DefaultStays("can't delete default state"));
        }
        let (table, objects) = (self.session.settings.names.table(), self.session.settings.names.objects());
        let statement = format!("DELETE FROM {table} WHERE name = $1");
        ask!(self.session, "deleting the workspace", execute, &statement, &[&workspace])?;
        let statement = format!("DELETE FROM {objects} WHERE state = $1");
        ask!(self.session, "deleting the workspace", execute, &statement, &[&workspace])?;
        Ok(())
    }

    fn state(&self, workspace: &str) -> Result<Arc<dyn RemoteState>, BackendError> {
        let session = PgSession::new(Arc::clone(&self.session.settings));
        Ok(Arc::new(PgState(Arc::new(PgRow { session, workspace: workspace.to_owned() }))))
    }
}

/// The state of a workspace, and the objects beside the state.
#[derive(Clone, Debug)]
struct PgState(Arc<PgRow>);

#[derive(Debug)]
struct PgRow {
    session: PgSession,
    workspace: String,
}

fn version_of(content: &[u8]) -> ObjectVersion {
    ObjectVersion(Md5::digest(content).iter().map(|byte| format!("{byte:02x}")).collect())
}

impl PgState {
    /// The answer if another session has the lock with this number. The answer describes that session as far as the
    /// server reveals it.
    async fn held(&self, info: &LockInfo, what: HeldLock, number: i64) -> LockAnswer {
        let mut message = refusals::locked(what, &self.0.workspace);
        if let Some(holder) = self.holder(number).await {
            message.push_str(&holder);
        }
        LockAnswer::Held { holder: info.clone(), message }
    }

    /// The session that has the lock with this number. Users with few permissions see only a part of the information,
    /// or nothing.
    async fn holder(&self, number: i64) -> Option<String> {
        const STATEMENT: &str = "SELECT l.pid, a.application_name, a.usename::text, host(a.client_addr), \
            to_char(a.backend_start AT TIME ZONE 'UTC', 'YYYY-MM-DD\"T\"HH24:MI:SS\"Z\"') \
            FROM pg_locks l LEFT JOIN pg_stat_activity a ON a.pid = l.pid \
            WHERE l.locktype = 'advisory' AND l.granted AND l.objsubid = 1 \
            AND ((l.classid::bigint << 32) | l.objid::bigint) = $1 \
            AND l.database = (SELECT oid FROM pg_database WHERE datname = current_database())";
        let ask = async { ask!(self.0.session, "asking who holds the lock", query_opt, STATEMENT, &[&number]) };
        let row = ask.await.ok().flatten()?;
        let pid: i32 = row.try_get(0).ok()?;
        let text =
            |column: usize| row.try_get::<_, Option<String>>(column).ok().flatten().filter(|text| !text.is_empty());
        Some(refusals::session(pid, [text(1), text(2), text(3), text(4)]))
    }

    /// Stores the name of the holder in this session, so that other processes can look up the holder of the lock.
    async fn sign(&self, info: &LockInfo) -> Result<(), BackendError> {
        let PgRow { session, .. } = &*self.0;
        if session.settings.key("application_name").is_none() && !info.who.is_empty() {
            let name = format!("weft {}", info.who);
            ask!(session, "naming the session", execute, "SELECT set_config('application_name', $1, false)", &[&name])?;
        }
        Ok(())
    }

    async fn release(&self, number: i64) -> Result<(), BackendError> {
        ask!(self.0.session, "releasing the lock", execute, "SELECT pg_advisory_unlock($1)", &[&number])?;
        Ok(())
    }

    async fn locked(&self, info: &LockInfo, number: i64) -> LockAnswer {
        *self.0.session.lock.lock().await = Some((info.id.clone(), number));
        LockAnswer::Locked(LockInfo { path: number.to_string(), ..info.clone() })
    }
}

#[async_trait]
impl RemoteState for PgState {
    fn place(&self) -> String {
        let PgRow { session, workspace } = &*self.0;
        format!("{} {workspace}", session.settings.place())
    }

    async fn read(&self) -> Result<Option<Object>, BackendError> {
        let PgRow { session, workspace } = &*self.0;
        let statement = format!("SELECT data FROM {} WHERE name = $1", session.settings.names.table());
        let row = ask!(session, "reading the state", query_opt, &statement, &[workspace])?;
        let Some(row) = row else { return Ok(None) };
        let data = row.try_get::<_, Option<String>>(0).map_err(|_| session.settings.other_type("reading the state"))?;
        Ok(data.map(|data| Object { version: version_of(data.as_bytes()), content: data.into_bytes().into() }))
    }

    async fn write(&self, content: Bytes, expected: &Expected, _lock: Option<&str>) -> Result<Written, BackendError> {
        const DOING: &str = "writing the state";
        let PgRow { session, workspace } = &*self.0;
        let table = session.settings.names.table();
        let version = version_of(&content);
        let Ok(text) = std::str::from_utf8(&content) else { return Err(session.settings.not_text(DOING)) };
        let rows = match expected {
            Expected::Absent => {
                let statement =
                    format!("INSERT INTO {table} (name, data) VALUES ($1, $2) ON CONFLICT (name) DO NOTHING");
                ask!(session, DOING, execute, &statement, &[workspace, &text])?
            }
            Expected::Version(before) => {
                let statement = format!("UPDATE {table} SET data = $2 WHERE name = $1 AND md5(data) = $3");
                ask!(session, DOING, execute, &statement, &[workspace, &text, &before.0])?
            }
        };
        Ok(if rows > 0 { Written::Done(version) } else { Written::Conflict })
    }

    async fn lock(&self, info: &LockInfo) -> Result<LockAnswer, BackendError> {
        const DOING: &str = "taking the lock";
        let PgRow { session, workspace } = &*self.0;
        let creation = session.settings.names.creation_lock();
        self.sign(info).await?;
        let statement = format!(
            "SELECT id, pg_try_advisory_lock(id), pg_try_advisory_lock($2) FROM {} WHERE name = $1",
            session.settings.names.table()
        );
        let Some(row) = ask!(session, DOING, query_opt, &statement, &[workspace, &creation])? else {
            let statement = "SELECT pg_try_advisory_lock($1)";
            let taken = ask!(session, DOING, query_one, statement, &[&creation])?.try_get(0).unwrap_or(false);
            return Ok(match taken {
                true => self.locked(info, creation).await,
                false => self.held(info, HeldLock::Creation, creation).await,
            });
        };
        let number: i64 = row.try_get(0).unwrap_or_default();
        let (own, both): (bool, bool) = (row.try_get(1).unwrap_or(false), row.try_get(2).unwrap_or(false));
        if both {
            self.release(creation).await?;
        }
        match (own, both) {
            (true, true) => Ok(self.locked(info, number).await),
            (true, false) => {
                self.release(number).await?;
                Ok(self.held(info, HeldLock::CreationAgain, creation).await)
            }
            (false, _) => Ok(self.held(info, HeldLock::Workspace, number).await),
        }
    }

    /// The lock of a dead process ended with its session. So an existing lock belongs to a living process, and is never
    /// taken over.
    async fn take_over(&self, dead: &LockInfo, _info: &LockInfo) -> Result<LockAnswer, BackendError> {
        let message = refusals::locked(HeldLock::Workspace, &self.0.workspace);
        Ok(LockAnswer::Held { holder: dead.clone(), message })
    }

    /// Releases the lock of this session. Does nothing if this session does not have the lock with this id. The lock of
    /// another session can be released only by ending that session.
    async fn unlock(&self, id: &str) -> Result<(), BackendError> {
        let mut lock = self.0.session.lock.lock().await;
        let Some((_, number)) = lock.take_if(|(held, _)| held == id) else { return Ok(()) };
        drop(lock);
        self.release(number).await
    }

    fn locks(&self) -> bool {
        true
    }

    fn objects(&self) -> Option<Arc<dyn Objects>> {
        Some(Arc::new(self.clone()))
    }
}

#[async_trait]
impl Objects for PgState {
    async fn read(&self, name: &str) -> Result<Option<Object>, BackendError> {
        let PgRow { session, workspace } = &*self.0;
        let statement =
            format!("SELECT data, version FROM {} WHERE state = $1 AND name = $2", session.settings.names.objects());
        let row = ask!(session, "reading a journal", query_opt, &statement, &[workspace, &name])?;
        let Some(row) = row else { return Ok(None) };
        let (content, version) = (row.try_get::<_, Vec<u8>>(0), row.try_get::<_, i64>(1));
        let (Ok(content), Ok(version)) = (content, version) else {
            return Err(session.settings.other_type("reading a journal"));
        };
        Ok(Some(Object { content: content.into(), version: ObjectVersion(version.to_string()) }))
    }

    async fn create(&self, name: &str, content: Bytes) -> Result<Written, BackendError> {
        let PgRow { session, workspace } = &*self.0;
        let statement = format!(
            "INSERT INTO {} (state, name, data) VALUES ($1, $2, $3) ON CONFLICT (state, name) DO NOTHING",
            session.settings.names.objects()
        );
        let rows = ask!(session, "writing a journal", execute, &statement, &[workspace, &name, &content.as_ref()])?;
        Ok(if rows > 0 { Written::Done(ObjectVersion(1.to_string())) } else { Written::Conflict })
    }

    async fn put(&self, name: &str, content: Bytes) -> Result<ObjectVersion, BackendError> {
        let PgRow { session, workspace } = &*self.0;
        let objects = session.settings.names.objects();
        let statement = format!(
            "INSERT INTO {objects} AS o (state, name, data) VALUES ($1, $2, $3) ON CONFLICT (state, name) DO UPDATE \
             SET data = $3, version = o.version + 1 RETURNING version"
        );
        let row = ask!(session, "writing a journal", query_one, &statement, &[workspace, &name, &content.as_ref()])?;
        Ok(ObjectVersion(row.try_get::<_, i64>(0).unwrap_or_default().to_string()))
    }

    async fn list(&self, prefix: &str) -> Result<Vec<String>, BackendError> {
        let PgRow { session, workspace } = &*self.0;
        let statement = format!(
            "SELECT name FROM {} WHERE state = $1 AND starts_with(name, $2) ORDER BY name COLLATE \"C\"",
            session.settings.names.objects()
        );
        let rows = ask!(session, "listing the journals", query, &statement, &[workspace, &prefix])?;
        Ok(rows.iter().filter_map(|row| row.try_get(0).ok()).collect())
    }

    async fn remove(&self, names: &[String]) -> Result<(), BackendError> {
        let PgRow { session, workspace } = &*self.0;
        let statement = format!("DELETE FROM {} WHERE state = $1 AND name = ANY($2)", session.settings.names.objects());
        ask!(session, "removing a journal", execute, &statement, &[workspace, &names])?;
        Ok(())
    }
}
