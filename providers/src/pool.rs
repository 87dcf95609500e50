//! Configured plugins, with a limit on the number of processes.
//!
//! One process serves one configured provider instance. The process is started and configured at the first use of the
//! instance, is kept while there is room, and is restarted if it has died. If there is no room, the instance that has
//! been idle longest is closed. If all instances are in use, the caller waits. An instance with a [`SharedBound`] also
//! needs room within this bound.
//!
//! A caller that holds a [`PooledProvider`] and asks for another instance may deadlock with another such caller. Take
//! one instance at a time.

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
use crate::states::StateBackends;

/// The default number of open instances. A large provider takes 100 MB or more.
pub const DEFAULT_MAX_OPEN: usize = 32;

/// A plugin, and how to start it.
#[derive(Clone, Debug)]
pub struct Plugin {
    /// How to start the plugin.
    pub spec: LaunchSpec,
    /// The package's checksum, the key of its schema in the cache; `None` for packages that may change (overrides).
    pub checksum: Option<String>,
}

/// A provider instance that a caller needs.
#[derive(Clone, Debug)]
pub struct InstanceRequest {
    /// The key of the instance. Two requests with the same key share a process, and must have the same plugin and
    /// configuration.
    pub key: String,
    /// The plugin of the instance.
    pub plugin: Plugin,
    /// The configuration of the instance; `None` for a process that only serves schemas, validation and functions.
    pub config: Option<Value>,
    /// A limit that the instance shares with other instances.
    pub bound: Option<SharedBound>,
}

/// The maximum number of open instances of a group.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct SharedBound {
    /// The name of the group. Requests with the same name must have the same maximum.
    pub group: String,
    /// The maximum; at least 1.
    pub most: usize,
}

/// Why an instance is not available.
#[derive(Debug, thiserror::Error)]
pub enum ProviderOpenError {
    /// The plugin could not be started.
    #[error(transparent)]
    Launch(#[from] LaunchError),
    /// The call that configures the plugin failed.
    #[error(transparent)]
    Call(#[from] CallError),
    /// The provider refuses the configuration. The list includes warnings.
    #[error("the provider cannot be configured: {}", summaries(.0))]
    Configure(Vec<ProviderDiagnostic>),
    /// The pool was closed.
    #[error("the provider pool is closed")]
    Closed,
}

/// Settings of a pool.
#[derive(Clone, Debug)]
pub struct PoolOptions {
    /// The maximum number of processes; at least 1.
    pub max_open: usize,
    /// The deadlines for replies.
    pub deadlines: Deadlines,
    /// Deadlines of single providers, by the names of their [`LaunchSpec`]s.
    pub deadlines_of: BTreeMap<String, Deadlines>,
    /// The schema cache.
    pub schema_cache: Arc<SchemaCache>,
    /// The settings that decrypt the states that the built-in provider reads.
    pub sealing: Arc<Sealing>,
    /// The backends, other than `local`, whose states the built-in provider can read.
    pub states: Option<Arc<dyn StateBackends>>,
    /// The stand-ins for providers, while a configuration is tested.
    pub stand_ins: Option<Arc<dyn StandIns>>,
}

impl Default for PoolOptions {
    fn default() -> PoolOptions {
        PoolOptions {
            max_open: DEFAULT_MAX_OPEN,
            deadlines: Deadlines::default(),
            deadlines_of: BTreeMap::new(),
            schema_cache: Arc::new(SchemaCache::in_memory()),
            sealing: Arc::default(),
            states: None,
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
    /// The number of events so far, for `idle_since`.
    clock: u64,
    /// The number of callers that wait for room.
    waiting: usize,
    /// The groups that share a limit.
    groups: BTreeMap<String, Group>,
    closed: bool,
}

/// The instances that share a limit.
struct Group {
    room: Arc<Semaphore>,
    /// The number of callers that wait for room.
    waiting: usize,
}

#[derive(Default)]
struct Slot {
    /// The process. The slot is locked while the process starts, so that it is started only once.
    running: RunningSlot,
    leases: usize,
    /// The group of the instance.
    group: Option<String>,
    /// When the last lease of the instance ended, as the number of events until then.
    idle_since: u64,
}

type RunningSlot = Arc<AsyncMutex<Option<Running>>>;

struct Running {
    session: ProviderSession,
    /// The permit for one process.
    _room: OwnedSemaphorePermit,
    /// The permit for one process of its group.
    _room_of_group: Option<OwnedSemaphorePermit>,
}

/// A provider instance in use. The instance is not closed while this value exists.
pub struct PooledProvider {
    session: ProviderSession,
    /// The warnings from configuring the provider; empty if the instance was already running.
    pub warnings: Vec<ProviderDiagnostic>,
    _use: InUse,
}

impl Deref for PooledProvider {
    type Target = ProviderSession;

    fn deref(&self) -> &ProviderSession {
        &self.session
    }
}

/// Counts a lease of a slot.
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

    /// The built-in provider, which needs no process.
    pub fn builtin(&self) -> Builtin {
        let options = &self.shared.options;
        Builtin::new(options.sealing.clone(), options.states.clone())
    }

    /// The stand-ins.
    pub fn stand_ins(&self) -> Option<Arc<dyn StandIns>> {
        self.shared.options.stand_ins.clone()
    }

    /// Whether a stand-in replaces a whole provider instance, so that it is not configured.
    pub fn is_stood_in_for(&self, instance: &ProviderInstance) -> bool {
        let stand_ins = self.shared.options.stand_ins.as_ref();
        stand_ins.is_some_and(|answers| answers.extent(&instance.config()) == StandInExtent::Whole)
    }

    /// Returns the instance. Starts and configures it if it is not running.
    pub async fn open(&self, wanted: InstanceRequest) -> Result<PooledProvider, ProviderOpenError> {
        let (running, in_use) = self.reserve(&wanted)?;
        let mut running = running.lock().await;
        if let Some(found) = running.as_ref() {
            if found.session.is_alive() {
                return Ok(PooledProvider { session: found.session.clone(), warnings: Vec::new(), _use: in_use });
            }
            tracing::warn!(instance = %wanted.key, "the plugin has ended; restarting it");
            *running = None;
        }
        // The permit of the group comes first: a caller that waits for a permit of its group takes no room from others.
        let room_of_group = match &wanted.bound {
            Some(bound) => Some(self.room_of_group(bound).await?),
            None => None,
        };
        let room = self.room().await?;
        // On the heap, because most callers find the instance already running.
        let (session, warnings) = Box::pin(self.start(&wanted)).await?;
        *running = Some(Running { session: session.clone(), _room: room, _room_of_group: room_of_group });
        Ok(PooledProvider { session, warnings, _use: in_use })
    }

    /// The schema of a plugin, from the cache, or from a process that is started to read it.
    pub async fn schema(&self, plugin: &Plugin) -> Result<Arc<ProviderSchema>, ProviderOpenError> {
        if let Some(checksum) = &plugin.checksum
            && let Some(schema) = self.shared.options.schema_cache.load(checksum).await
        {
            return Ok(schema);
        }
        let key = format!("{} (not configured)", plugin.spec.name);
        let lease = self.open(InstanceRequest { key, plugin: plugin.clone(), config: None, bound: None }).await?;
        Ok(lease.schema().await?)
    }

    /// Ends the process of an instance after its last operation. Does nothing if the instance is in use.
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
                    tracing::warn!(plugin = session.name(), "the provider refused to stop: {objection}");
                }
                Err(error) => tracing::debug!(plugin = session.name(), %error, "the provider could not be stopped"),
            }
        }))
        .await;
    }

    /// Ends all processes, even if they are in use. No instance can be opened afterwards.
    pub async fn close_all(&self) {
        {
            let mut slots = self.shared.slots.lock();
            slots.closed = true;
            slots.groups.values().for_each(|group| group.room.close());
        }
        self.shared.room.close();
        let sessions = self.sessions().await;
        futures::future::join_all(sessions.iter().map(ProviderSession::close)).await;
        self.shared.slots.lock().by_key.clear();
    }

    /// The number of processes.
    pub fn open_count(&self) -> usize {
        self.shared.options.max_open.max(1).saturating_sub(self.shared.room.available_permits())
    }

    async fn sessions(&self) -> Vec<ProviderSession> {
        let slots: Vec<_> = self.shared.slots.lock().by_key.values().map(|slot| slot.running.clone()).collect();
        let mut sessions = Vec::new();
        for slot in slots {
            sessions.extend(slot.lock().await.as_ref().map(|running| running.session.clone()));
        }
        // Another caller that looked for an idle process may have found the slot locked.
        self.shared.make_room();
        sessions
    }

    fn reserve(&self, wanted: &InstanceRequest) -> Result<(RunningSlot, InUse), ProviderOpenError> {
        let mut slots = self.shared.slots.lock();
        if slots.closed {
            return Err(ProviderOpenError::Closed);
        }
        let slot = slots.by_key.entry(wanted.key.clone()).or_default();
        slot.leases += 1;
        slot.group = wanted.bound.as_ref().map(|bound| bound.group.clone());
        Ok((slot.running.clone(), InUse { shared: self.shared.clone(), key: wanted.key.clone() }))
    }

    /// Waits for room for one more process.
    async fn room(&self) -> Result<OwnedSemaphorePermit, ProviderOpenError> {
        if let Ok(room) = self.shared.room.clone().try_acquire_owned() {
            return Ok(room);
        }
        let _waiting = WaitingCaller::new(&self.shared, None);
        self.shared.make_room();
        self.shared.room.clone().acquire_owned().await.map_err(|_| ProviderOpenError::Closed)
    }

    /// Waits for room for one more process of a group.
    async fn room_of_group(&self, bound: &SharedBound) -> Result<OwnedSemaphorePermit, ProviderOpenError> {
        let room = {
            let mut slots = self.shared.slots.lock();
            // Remove the groups of runs that have ended. Nothing uses their permits, and nothing waits for them.
            slots.groups.retain(|_, group| group.waiting > 0 || Arc::strong_count(&group.room) > 1);
            let new = || Group { room: Arc::new(Semaphore::new(bound.most.max(1))), waiting: 0 };
            slots.groups.entry(bound.group.clone()).or_insert_with(new).room.clone()
        };
        if let Ok(room) = room.clone().try_acquire_owned() {
            return Ok(room);
        }
        let _waiting = WaitingCaller::new(&self.shared, Some(&bound.group));
        self.shared.make_room();
        room.acquire_owned().await.map_err(|_| ProviderOpenError::Closed)
    }

    async fn start(
        &self,
        wanted: &InstanceRequest,
    ) -> Result<(ProviderSession, Vec<ProviderDiagnostic>), ProviderOpenError> {
        let options = &self.shared.options;
        let cache = wanted.plugin.checksum.clone().map(|checksum| (options.schema_cache.clone(), checksum));
        let deadlines = options.deadlines_of.get(&wanted.plugin.spec.name).unwrap_or(&options.deadlines).clone();
        let session_options = SessionOptions { deadlines, schema_cache: cache };
        let session = ProviderSession::launch(&wanted.plugin.spec, session_options).await?;
        let Some(config) = &wanted.config else { return Ok((session, Vec::new())) };
        let diagnostics = session.configure(config).await?;
        if has_errors(&diagnostics) {
            session.close().await;
            return Err(ProviderOpenError::Configure(diagnostics));
        }
        Ok((session, diagnostics))
    }
}

impl Shared {
    /// If a caller waits for room within the total limit, ends the process that has been idle longest. In each group in
    /// which a caller waits for room within the limit of the group, ends the process of the group that has been idle
    /// longest.
    fn make_room(&self) {
        let taken: Vec<Running> = {
            let mut slots = self.slots.lock();
            let waiting = |group: &&Group| group.waiting > 0;
            let groups: Vec<String> =
                slots.groups.iter().filter(|(_, group)| waiting(group)).map(|(name, _)| name.clone()).collect();
            let anywhere = (slots.waiting > 0).then_some(None);
            let wanted: Vec<Option<String>> = anywhere.into_iter().chain(groups.into_iter().map(Some)).collect();
            wanted.iter().filter_map(|group| slots.take_idle(group.as_deref())).collect()
        };
        taken.into_iter().for_each(end);
    }
}

impl Slots {
    /// Removes and returns the process that has been idle longest, in a group or, if `group` is `None`, among all
    /// processes.
    fn take_idle(&mut self, group: Option<&str>) -> Option<Running> {
        let fits = |slot: &Slot| slot.leases == 0 && (group.is_none() || slot.group.as_deref() == group);
        let idle = self.by_key.iter().filter(|(_, slot)| fits(slot));
        let key = idle.min_by_key(|(_, slot)| slot.idle_since).map(|(key, _)| key.clone())?;
        let slot = self.by_key.remove(&key)?;
        slot.running.try_lock().ok().and_then(|mut running| running.take())
    }
}

/// Ends a process that nothing uses.
fn end(running: Running) {
    match tokio::runtime::Handle::try_current() {
        Ok(runtime) => {
            runtime.spawn(async move {
                running.session.close().await;
                drop(running);
            });
        }
        // The last lease ended outside of the runtime, so the process is killed.
        Err(_) => drop(running),
    }
}

/// Counts a caller that waits for room.
struct WaitingCaller<'a> {
    shared: &'a Shared,
    /// The group in which the caller waits; `None` if the caller waits for room among all processes.
    group: Option<&'a str>,
}

impl<'a> WaitingCaller<'a> {
    fn new(shared: &'a Shared, group: Option<&'a str>) -> WaitingCaller<'a> {
        if let Some(waiting) = shared.slots.lock().waiting(group) {
            *waiting += 1;
        }
        WaitingCaller { shared, group }
    }
}

impl Slots {
    /// The number of callers that wait in a group or, if `group` is `None`, for room among all processes.
    fn waiting(&mut self, group: Option<&str>) -> Option<&mut usize> {
        match group {
            Some(group) => self.groups.get_mut(group).map(|group| &mut group.waiting),
            None => Some(&mut self.waiting),
        }
    }
}

impl Drop for WaitingCaller<'_> {
    fn drop(&mut self) {
        if let Some(waiting) = self.shared.slots.lock().waiting(self.group) {
            *waiting = waiting.saturating_sub(1);
        }
    }
}
