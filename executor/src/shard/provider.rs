//! The provider instances of a shard. An instance is started when a task first needs it, and shared by concurrent
//! tasks. An unused instance returns to the pool, which may end this instance to start another instance.

use std::sync::atomic::{AtomicBool, Ordering};
use std::sync::{Arc, Weak};

use parking_lot::Mutex;
use tokio::sync::Mutex as AsyncMutex;
use weft_graph_format::address::ProviderInstance;
use weft_graph_format::graph::FormulaIndex;
use weft_graph_format::placement::InstanceBound;
use weft_graph_format::run::Attempt;
use weft_graph_format::value::Value;
use weft_providers::{InstanceRequest, Plugin, Provider, SharedBound};

use super::Shard;
use crate::arguments::of_arguments;
use crate::host::Host;
use crate::problems;
use crate::subject::{DiagnosticSubject, Problems};

/// One `open_provider` of a shard.
pub(crate) struct ProviderSlot {
    pub(crate) instance: ProviderInstance,
    /// The instance as text.
    pub(crate) text: String,
    config: FormulaIndex,
    /// How to start the provider; `None` for a built-in provider.
    plugin: Option<Plugin>,
    /// The name of the instance in the pool. Instances of different runs have different names.
    key: String,
    /// The limit that the instance shares with other instances of the run.
    bound: Option<SharedBound>,
    current: Mutex<Weak<Provider>>,
    opening: AsyncMutex<Opening>,
    /// Whether the process was asked to end early. Such a process is not used for new work.
    stopped: AtomicBool,
    /// Whether the instance was open at some time, and whether the last try to open it failed.
    was_open: AtomicBool,
    failed: AtomicBool,
}

#[derive(Default)]
struct Opening {
    config: Option<Value>,
    /// Why the instance could not be opened. Other tasks fail with the same error, and do not try to open the instance
    /// again.
    failure: Option<Problems>,
    /// The highest attempt number that has cleared `failure`. Each higher number clears the failure again, so that the
    /// instance is opened once more.
    attempt: Attempt,
}

/// A provider in use. For the first task, with the warnings of its configuration.
pub(crate) struct Opened {
    pub(crate) provider: Arc<Provider>,
    pub(crate) warnings: Problems,
}

impl ProviderSlot {
    pub(crate) fn new(
        run: &str,
        instance: ProviderInstance,
        config: FormulaIndex,
        plugin: Option<Plugin>,
        bound: Option<InstanceBound>,
    ) -> ProviderSlot {
        let text = instance.to_string();
        ProviderSlot {
            key: format!("{run} {text}"),
            text,
            bound: bound.map(|InstanceBound { rule, most }| SharedBound {
                group: format!("{run} rule {rule}"),
                most: usize::try_from(most).unwrap_or(usize::MAX),
            }),
            instance,
            config,
            plugin,
            current: Mutex::new(Weak::new()),
            opening: AsyncMutex::default(),
            stopped: AtomicBool::new(false),
            was_open: AtomicBool::new(false),
            failed: AtomicBool::new(false),
        }
    }

    /// The configured provider. The caller must not hold another provider: two such callers could wait for each other
    /// forever.
    pub(crate) async fn acquire(&self, shard: &Arc<Shard>, host: &Arc<Host>) -> Result<Opened, Problems> {
        let Some(plugin) = &self.plugin else {
            let provider = Provider::Builtin(host.pool.builtin()).standing_in(&self.instance, host.pool.stand_ins());
            return Ok(Opened { provider: Arc::new(provider), warnings: Vec::new() });
        };
        if let Some(provider) = self.live() {
            return Ok(Opened { provider, warnings: Vec::new() });
        }
        let mut opening = self.opening.lock().await;
        if let Some(provider) = self.live() {
            return Ok(Opened { provider, warnings: Vec::new() });
        }
        if let Some(failure) = &opening.failure {
            return Err(failure.clone());
        }
        if self.stopped.swap(false, Ordering::AcqRel) {
            host.pool.close(&self.key).await;
        }
        let opened = self.open(&mut opening, plugin, shard, host).await;
        self.failed.store(opened.is_err(), Ordering::Release);
        self.was_open.fetch_or(opened.is_ok(), Ordering::AcqRel);
        match &opened {
            Ok(opened) => *self.current.lock() = Arc::downgrade(&opened.provider),
            Err(problems) => opening.failure = Some(problems.clone()),
        }
        opened
    }

    async fn open(
        &self,
        opening: &mut Opening,
        plugin: &Plugin,
        shard: &Arc<Shard>,
        host: &Arc<Host>,
    ) -> Result<Opened, Problems> {
        let subject = DiagnosticSubject { address: &self.text, config: shard.formula(self.config) };
        let config = match &opening.config {
            Some(config) => config.clone(),
            None => {
                let evaluated = shard.evaluate_in_part(host, self.config, &self.text).await;
                let config = evaluated.map_err(|problems| of_arguments(subject.config, None, problems))?;
                opening.config.insert(config.unmark_deep().0).clone()
            }
        };
        let config = Some(config).filter(|_| !host.pool.is_stood_in_for(&self.instance));
        let wanted =
            InstanceRequest { key: self.key.clone(), plugin: plugin.clone(), config, bound: self.bound.clone() };
        let lease = host.pool.open(wanted).await.map_err(|error| problems::open_failed(&subject, &error))?;
        let warnings = subject.said(&lease.warnings);
        let provider = Provider::Plugin(lease).standing_in(&self.instance, host.pool.stand_ins());
        Ok(Opened { provider: Arc::new(provider), warnings })
    }

    /// Whether this worker tried to open the instance, and never succeeded.
    pub(crate) fn could_not_open(&self) -> bool {
        self.failed.load(Ordering::Acquire) && !self.was_open.load(Ordering::Acquire)
    }

    /// The provider, if a task uses it and its process runs.
    fn live(&self) -> Option<Arc<Provider>> {
        self.current.lock().upgrade().filter(|provider| is_alive(provider))
    }

    /// Asks a provider in use to end its calls early.
    pub(crate) async fn stop(&self) {
        self.stopped.store(true, Ordering::Release);
        let Some(provider) = self.live() else { return };
        let Some(lease) = provider.plugin() else { return };
        match lease.stop().await {
            Ok(None) => {}
            Ok(Some(objection)) => tracing::warn!(provider = self.text, "the provider refused to stop: {objection}"),
            Err(error) => tracing::warn!(provider = self.text, %error, "the provider could not be stopped"),
        }
    }

    /// Forgets the failure of an earlier attempt. Retried operations open the provider once for each attempt.
    pub(crate) async fn forgive(&self, attempt: Attempt) {
        if attempt <= Attempt(1) {
            return;
        }
        let mut opening = self.opening.lock().await;
        if opening.attempt < attempt {
            opening.attempt = attempt;
            opening.failure = None;
        }
    }

    /// Forgets an earlier failure, because a new term of the run begins.
    pub(crate) async fn retry(&self) {
        *self.opening.lock().await = Opening::default();
    }

    /// Ends the process unless a task uses it.
    pub(crate) async fn close(&self, host: &Host) {
        if self.plugin.is_some() {
            host.pool.close(&self.key).await;
        }
    }
}

/// Whether the provider's process runs.
pub(crate) fn is_alive(provider: &Provider) -> bool {
    provider.plugin().is_none_or(|lease| lease.is_alive())
}
