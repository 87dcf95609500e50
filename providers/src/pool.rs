//! Configured plugins, as many at a time as the machine may bear.
//!
//! One process serves one configured provider instance. It is started and configured when somebody first asks for the
//! instance, kept while there is room, and started anew when it died. When there is no room, an idle instance makes
//! place, the one longest idle first; when all are in use, the one who asks waits.
//!
//! Whoever holds a [`Lease`] and asks for another instance may wait for one that waits for it: take one at a time.

use std::collections::BTreeMap;
use std::ops::Deref;
use std::sync::Arc;

use parking_lot::Mutex;
use tokio::sync::{Mutex as AsyncMutex, OwnedSemaphorePermit, Semaphore};
use weft_graph_format::address::ProviderInstance;
use weft_graph_format::schema::ProviderSchema;
use weft_graph_format::value::Value;
use weft_sealing::Sealing;

use crate::builtin::Builtin;
use crate::call::{CallError, Deadlines, summaries};
use crate::diagnostic::{ProviderDiagnostic, has_errors};
use crate::launch::{LaunchError, LaunchSpec};
use crate::schema_cache::SchemaCache;
use crate::session::{ProviderSession, SessionOptions};
use crate::stand_in::{StandInExtent, StandIns};

/// Open instances unless configured otherwise. A large provider takes 100 MB and more for each.
pub const DEFAULT_MAX_OPEN: usize = 32;

/// Which plugin, and how to start it.
#[derive(Clone, Debug)]
pub struct Plugin {
    /// How to start it.
    pub spec: LaunchSpec,
    /// The package's checksum, under which its schema is kept; none for packages that may change (overrides).
    pub checksum: Option<String>,
}

/// A provider instance that somebody wants to call.
#[derive(Clone, Debug)]
pub struct Wanted {
    /// Its address; two wishes with the same key share a process and must have the same plugin and configuration.
    pub key: String,
    /// Its plugin.
    pub plugin: Plugin,
    /// Its configuration; none for a process that is only asked for schemas, validation and functions.
    pub config: Option<Value>,
}

/// Why an instance is not to be had.
#[derive(Debug, thiserror::Error)]
pub enum OpenError {
    /// Its plugin does not start.
    #[error(transparent)]
    Launch(#[from] LaunchError),
    /// It could not be asked to configure itself.
    #[error(transparent)]
    Call(#[from] CallError),
    /// The provider refuses its configuration. Warnings are among these too.
    #[error("the provider cannot be configured: {}", summaries(.0))]
    Configure(Vec<ProviderDiagnostic>),
    /// The pool was closed.
    #[error("no provider is opened any more")]
    Closed,
}

/// Settings of a pool.
#[derive(Clone, Debug)]
pub struct PoolOptions {
    /// How many processes may run at a time; at least 1.
    pub max_open: usize,
    /// How long to wait for replies.
    pub deadlines: Deadlines,
    /// Where schemas are kept.
    pub schema_cache: Arc<SchemaCache>,
    /// What opens the states that the built-in provider reads.
    pub sealing: Arc<Sealing>,
    /// What answers in place of providers, where a configuration is tested.
    pub stand_ins: Option<Arc<dyn StandIns>>,
}

impl Default for PoolOptions {
    fn default() -> PoolOptions {
        PoolOptions {
            max_open: DEFAULT_MAX_OPEN,
            deadlines: Deadlines::default(),
            schema_cache: Arc::new(SchemaCache::in_memory()),
            sealing: Arc::default(),
            stand_ins: None,
        }
    }
}

/// Configured plugins by the key of their instance. Cheap to clone.
#[derive(Clone)]
pub struct ProviderPool {
    shared: Arc<Shared>,
}

struct Shared {
    options: PoolOptions,
    room: Arc<Semaphore>,
    slots: Mutex<Slots>,
}

#[derive(Default)]
struct Slots {
    by_key: BTreeMap<String, Slot>,
    /// Counts the events that `idle_since` speaks of.
    clock: u64,
    /// How many wait for room.
    waiting: usize,
    closed: bool,
}

#[derive(Default)]
struct Slot {
    /// Holds the process. Locked while one is started, so that it is started once.
    running: RunningSlot,
    leases: usize,
    /// When the last lease ended, in the order of such events.
    idle_since: u64,
}

type RunningSlot = Arc<AsyncMutex<Option<Running>>>;

struct Running {
    session: ProviderSession,
    /// Room for one process.
    _room: OwnedSemaphorePermit,
}

/// A provider instance in use: it is not closed as long as this is held.
pub struct Lease {
    session: ProviderSession,
    /// What the provider said when it was configured, once: empty for those who find it running.
    pub warnings: Vec<ProviderDiagnostic>,
    _use: InUse,
}

impl Deref for Lease {
    type Target = ProviderSession;

    fn deref(&self) -> &ProviderSession {
        &self.session
    }
}

/// Counts one lease of a slot.
struct InUse {
    shared: Arc<Shared>,
    key: String,
}

impl Drop for InUse {
    fn drop(&mut self) {
        let mut slots = self.shared.slots.lock();
        slots.clock += 1;
        let now = slots.clock;
        if let Some(slot) = slots.by_key.get_mut(&self.key) {
            slot.leases = slot.leases.saturating_sub(1);
            slot.idle_since = now;
        }
        drop(slots);
        self.shared.make_room();
    }
}

impl ProviderPool {
    /// A pool without any process.
    pub fn new(options: PoolOptions) -> ProviderPool {
        let room = Arc::new(Semaphore::new(options.max_open.max(1)));
        ProviderPool { shared: Arc::new(Shared { options, room, slots: Mutex::default() }) }
    }

    /// The provider that needs no process.
    pub fn builtin(&self) -> Builtin {
        Builtin::new(self.shared.options.sealing.clone())
    }

    /// What answers in place of providers.
    pub fn stand_ins(&self) -> Option<Arc<dyn StandIns>> {
        self.shared.options.stand_ins.clone()
    }

    /// Whether something stands in for the whole of a provider instance, so that it is not configured.
    pub fn is_stood_in_for(&self, instance: &ProviderInstance) -> bool {
        let stand_ins = self.shared.options.stand_ins.as_ref();
        stand_ins.is_some_and(|answers| answers.extent(&instance.config()) == StandInExtent::Whole)
    }

    /// The instance, started and configured if it does not run.
    pub async fn open(&self, wanted: Wanted) -> Result<Lease, OpenError> {
        let (running, in_use) = self.reserve(&wanted.key)?;
        let mut running = running.lock().await;
        if let Some(found) = running.as_ref() {
            if found.session.is_alive() {
                return Ok(Lease { session: found.session.clone(), warnings: Vec::new(), _use: in_use });
            }
            tracing::warn!(instance = %wanted.key, "the plugin has ended; it is started anew");
            *running = None;
        }
        let room = self.room().await?;
        // On the heap: whoever waits for an instance mostly finds it started.
        let (session, warnings) = Box::pin(self.start(&wanted)).await?;
        *running = Some(Running { session: session.clone(), _room: room });
        Ok(Lease { session, warnings, _use: in_use })
    }

    /// What a plugin has: from the cache, or from a process started for this question.
    pub async fn schema(&self, plugin: &Plugin) -> Result<Arc<ProviderSchema>, OpenError> {
        if let Some(checksum) = &plugin.checksum
            && let Some(schema) = self.shared.options.schema_cache.load(checksum).await
        {
            return Ok(schema);
        }
        let key = format!("{} (not configured)", plugin.spec.name);
        let lease = self.open(Wanted { key, plugin: plugin.clone(), config: None }).await?;
        Ok(lease.schema().await?)
    }

    /// Ends the process of an instance that nobody uses, after its last operation. Does nothing otherwise.
    pub async fn close(&self, key: &str) {
        let slot = {
            let mut slots = self.shared.slots.lock();
            if slots.by_key.get(key).is_none_or(|slot| slot.leases > 0) {
                return;
            }
            slots.by_key.remove(key)
        };
        let Some(slot) = slot else { return };
        let taken = slot.running.lock().await.take();
        if let Some(running) = taken {
            running.session.close().await;
        }
    }

    /// Asks all running providers to end their calls early.
    pub async fn stop_all(&self) {
        let sessions = self.sessions().await;
        futures::future::join_all(sessions.iter().map(|session| async {
            match session.stop().await {
                Ok(None) => {}
                Ok(Some(objection)) => {
                    tracing::warn!(plugin = session.name(), "the provider does not stop: {objection}");
                }
                Err(error) => tracing::debug!(plugin = session.name(), %error, "the provider could not be stopped"),
            }
        }))
        .await;
    }

    /// Ends all processes, used or not. Nothing can be opened any more.
    pub async fn close_all(&self) {
        self.shared.slots.lock().closed = true;
        self.shared.room.close();
        let sessions = self.sessions().await;
        futures::future::join_all(sessions.iter().map(ProviderSession::close)).await;
        self.shared.slots.lock().by_key.clear();
    }

    /// How many processes there are.
    pub fn open_count(&self) -> usize {
        self.shared.options.max_open.max(1).saturating_sub(self.shared.room.available_permits())
    }

    async fn sessions(&self) -> Vec<ProviderSession> {
        let slots: Vec<_> = self.shared.slots.lock().by_key.values().map(|slot| slot.running.clone()).collect();
        let mut sessions = Vec::new();
        for slot in slots {
            sessions.extend(slot.lock().await.as_ref().map(|running| running.session.clone()));
        }
        // Whoever looked for an idle process meanwhile may have found its slot locked.
        self.shared.make_room();
        sessions
    }

    fn reserve(&self, key: &str) -> Result<(RunningSlot, InUse), OpenError> {
        let mut slots = self.shared.slots.lock();
        if slots.closed {
            return Err(OpenError::Closed);
        }
        let slot = slots.by_key.entry(key.to_owned()).or_default();
        slot.leases += 1;
        Ok((slot.running.clone(), InUse { shared: self.shared.clone(), key: key.to_owned() }))
    }

    /// Waits for room for one more process.
    async fn room(&self) -> Result<OwnedSemaphorePermit, OpenError> {
        if let Ok(room) = self.shared.room.clone().try_acquire_owned() {
            return Ok(room);
        }
        let _waiting = Waiting::new(&self.shared);
        self.shared.make_room();
        self.shared.room.clone().acquire_owned().await.map_err(|_| OpenError::Closed)
    }

    async fn start(&self, wanted: &Wanted) -> Result<(ProviderSession, Vec<ProviderDiagnostic>), OpenError> {
        let options = &self.shared.options;
        let cache = wanted.plugin.checksum.clone().map(|checksum| (options.schema_cache.clone(), checksum));
        let session_options = SessionOptions { deadlines: options.deadlines.clone(), schema_cache: cache };
        let session = ProviderSession::launch(&wanted.plugin.spec, session_options).await?;
        let Some(config) = &wanted.config else { return Ok((session, Vec::new())) };
        let diagnostics = session.configure(config).await?;
        if has_errors(&diagnostics) {
            session.close().await;
            return Err(OpenError::Configure(diagnostics));
        }
        Ok((session, diagnostics))
    }
}

impl Shared {
    /// If somebody waits for room, ends the process that was idle longest.
    fn make_room(&self) {
        let taken = {
            let mut slots = self.slots.lock();
            if slots.waiting == 0 {
                return;
            }
            let idle = slots.by_key.iter().filter(|(_, slot)| slot.leases == 0);
            let Some(key) = idle.min_by_key(|(_, slot)| slot.idle_since).map(|(key, _)| key.clone()) else { return };
            slots
                .by_key
                .remove(&key)
                .and_then(|slot| slot.running.try_lock().ok().and_then(|mut running| running.take()))
        };
        let Some(running) = taken else { return };
        match tokio::runtime::Handle::try_current() {
            Ok(runtime) => {
                runtime.spawn(async move {
                    running.session.close().await;
                    drop(running);
                });
            }
            // The last lease ended outside of the runtime: the process is killed.
            Err(_) => drop(running),
        }
    }
}

/// Counts one who waits for room.
struct Waiting<'a>(&'a Shared);

impl<'a> Waiting<'a> {
    fn new(shared: &'a Shared) -> Waiting<'a> {
        shared.slots.lock().waiting += 1;
        Waiting(shared)
    }
}

impl Drop for Waiting<'_> {
    fn drop(&mut self) {
        let mut slots = self.0.slots.lock();
        slots.waiting = slots.waiting.saturating_sub(1);
    }
}
