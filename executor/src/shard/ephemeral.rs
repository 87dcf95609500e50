//! Ephemeral objects of a run. An object is opened when an operation at this worker first needs it. All shards of the
//! run at this worker share the object. The object is renewed while it is open. It is closed after the last operation
//! at this worker that needs it.
//!
//! No value of these objects leaves the process. Another worker, or a later process, opens its own objects.

use std::collections::{BTreeMap, BTreeSet};
use std::sync::Arc;
use std::sync::atomic::{AtomicU64, Ordering};

use parking_lot::Mutex;
use tokio::sync::Mutex as AsyncMutex;
use weft_expressions::resource_rules::{opened_problem, sensitive_paths};
use weft_graph_format::address::{ResourceInstance, ResourceMode};
use weft_graph_format::graph::{Operation, OperationId};
use weft_graph_format::marks::Marks;
use weft_graph_format::value::Value;
use weft_providers::ephemeral::{ProviderAgain, RenewalHeard};
use weft_providers::{OpenObject, ProviderDiagnostic, Renewal};

use super::{LiveValues, Shard};
use crate::arguments::of_arguments;
use crate::host::Host;
use crate::options::{EphemeralStep, HostMessage};
use crate::problems::{self, damaged, no_schema};
use crate::resource::marked;
use crate::subject::{DiagnosticSubject, Problems, has_errors};

/// The ephemeral objects of one run at this worker.
#[derive(Default)]
pub(crate) struct LiveObjects {
    slots: Mutex<BTreeMap<String, Arc<ObjectSlot>>>,
    /// The number of openings and closings. A value computed from objects is valid while the number does not change.
    generation: AtomicU64,
}

impl std::fmt::Debug for LiveObjects {
    fn fmt(&self, out: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        write!(out, "LiveObjects({} slots)", self.slots.lock().len())
    }
}

impl LiveObjects {
    /// The slot of an object. All shards share the slot.
    pub(crate) fn slot(&self, address: &ResourceInstance) -> Arc<ObjectSlot> {
        let text = address.to_string();
        let slot = || ObjectSlot { text: text.clone(), users: Mutex::default(), state: AsyncMutex::default() };
        self.slots.lock().entry(text.clone()).or_insert_with(|| Arc::new(slot())).clone()
    }

    /// A number that changes whenever an object is opened or closed.
    pub(crate) fn generation(&self) -> u64 {
        self.generation.load(Ordering::Acquire)
    }

    /// Whether an open object was opened through this provider instance.
    pub(crate) fn need(&self, provider: &str) -> bool {
        self.slots.lock().values().any(|slot| match slot.state.try_lock() {
            Ok(state) => state.open.as_ref().is_some_and(|open| open.provider == provider),
            // The slot is locked: the object is being opened or closed, and may need the provider.
            Err(_) => true,
        })
    }

    /// Closes every open object.
    pub(crate) async fn close_all(&self, host: &Host) {
        let slots: Vec<_> = self.slots.lock().values().cloned().collect();
        futures::future::join_all(slots.iter().map(|slot| slot.close(self, host, true))).await;
    }
}

/// One ephemeral object.
pub(crate) struct ObjectSlot {
    text: String,
    users: Mutex<Users>,
    state: AsyncMutex<State>,
}

/// Users of an object.
#[derive(Default)]
struct Users {
    /// The number of users: operations, and shards whose provider is configured from the object.
    count: usize,
    /// The shards with this object that were opened at this worker. If there are fewer than `expected`, more of them
    /// may still be opened here.
    shards: BTreeSet<u32>,
    /// The number of shards with this object in the whole run.
    expected: usize,
}

impl Users {
    fn are_gone(&self) -> bool {
        self.count == 0 && self.shards.len() >= self.expected
    }
}

#[derive(Default)]
struct State {
    open: Option<OpenedObject>,
    /// Why the object could not be opened. Its other users fail with the same error, and do not try to open the object
    /// again.
    failure: Option<Problems>,
}

struct OpenedObject {
    value: Value,
    object: OpenObject,
    /// The provider instance through which the object was opened.
    provider: String,
}

impl ObjectSlot {
    /// Adds users.
    pub(crate) fn used(&self, more: usize) {
        self.users.lock().count += more;
    }

    /// Adds a shard of this worker that may need the object. `of` is the number of shards in the whole run that may
    /// need it.
    pub(crate) fn wanted_by(&self, shard: u32, of: u32) {
        let mut users = self.users.lock();
        users.shards.insert(shard);
        users.expected = of as usize;
    }

    /// Whether the object has no users.
    pub(crate) fn is_unused(&self) -> bool {
        self.users.lock().are_gone()
    }

    /// Removes a user. Returns whether this was the last user.
    pub(crate) fn released(&self) -> bool {
        let mut users = self.users.lock();
        users.count = users.count.saturating_sub(1);
        users.are_gone()
    }

    /// Forgets an earlier failure, because a new term of the run begins.
    pub(crate) async fn retry(&self) {
        self.state.lock().await.failure = None;
    }

    /// The value of the object. If the object is not open, this method opens it. `live` has the values that the
    /// configuration of the object reads.
    pub(crate) async fn value(
        &self,
        shard: &Arc<Shard>,
        host: &Arc<Host>,
        id: OperationId,
        live: &LiveValues,
    ) -> Result<Value, Problems> {
        let mut state = self.state.lock().await;
        if let Some(open) = &state.open {
            return Ok(open.value.clone());
        }
        if let Some(failure) = &state.failure {
            return Err(failure.clone());
        }
        match self.open(shard, host, id, live).await {
            Ok(open) => {
                shard.objects.generation.fetch_add(1, Ordering::AcqRel);
                Ok(state.open.insert(open).value.clone())
            }
            Err(problems) => {
                state.failure = Some(problems.clone());
                Err(problems)
            }
        }
    }

    async fn open(
        &self,
        shard: &Arc<Shard>,
        host: &Arc<Host>,
        id: OperationId,
        live: &LiveValues,
    ) -> Result<OpenedObject, Problems> {
        let Some(Operation::OpenEphemeral { address, provider, config, .. }) = shard.operation(id) else {
            return Err(vec![damaged(id, "ephemeral object")]);
        };
        let slot = shard.provider(*provider).ok_or_else(|| vec![damaged(id, "provider")])?;
        let subject = DiagnosticSubject { address: &self.text, config: shard.formula(*config) };
        let type_name = &address.resource.type_name;
        let Some(schema) = shard.ephemeral_type(&slot.instance.source, type_name) else {
            return Err(vec![no_schema(&subject, type_name)]);
        };
        let value = shard.run(host, *config, &self.text, live.clone()).await;
        let (config, marks) =
            value.map_err(|found| of_arguments(subject.config, Some(&schema.block), found))?.unmark_with_paths();
        let opened = slot.acquire(shard, host).await?;
        let mut said = opened.warnings;
        let validated = opened.provider.validate_config(ResourceMode::Ephemeral, type_name, &config).await;
        said.extend(subject.said(&validated.map_err(|error| vec![problems::call_failed(&subject, &error)])?));
        if has_errors(&said) {
            return Err(said);
        }
        tell(host, &self.text, EphemeralStep::OpenStarted).await;
        let reply = opened.provider.open_ephemeral(type_name, &config).await;
        let reply = reply.map_err(|error| vec![problems::call_failed(&subject, &error)])?;
        said.extend(subject.said(&reply.diagnostics));
        if has_errors(&said) {
            return Err(said);
        }
        tell(host, &self.text, EphemeralStep::OpenDone).await;
        tell_problems(host, said).await;
        let object = self.kept(shard, host, *provider, address, &reply.value);
        let found = reply.value.result.unmark_deep().0;
        if let Some(what) = opened_problem(&schema.block, &config, &found) {
            let source = slot.instance.source.for_display();
            close(&self.text, object, host).await;
            return Err(vec![problems::invalid_object(&subject, &source, address, &what)]);
        }
        let given = marks.into_iter().filter(|(_, m)| m.is_sensitive()).map(|(path, _)| path);
        let sensitive: Vec<_> = given.chain(sensitive_paths(&found, &schema.block)).collect();
        let value = marked(&found, &sensitive).mark(&Marks::EPHEMERAL);
        Ok(OpenedObject { value, object, provider: slot.text.clone() })
    }

    /// The opened object, renewed through the shard that opened it.
    fn kept(
        &self,
        shard: &Arc<Shard>,
        host: &Arc<Host>,
        provider: OperationId,
        address: &ResourceInstance,
        opened: &weft_providers::call::OpenedEphemeral,
    ) -> OpenObject {
        let (of, at) = (shard.clone(), host.clone());
        let again: ProviderAgain = Arc::new(move || {
            let (shard, host) = (of.clone(), at.clone());
            Box::pin(async move {
                let slot = shard.provider(provider).ok_or_else(problems::reasons::no_provider_of_object)?;
                let opened = slot.acquire(&shard, &host).await;
                let opened = opened.map_err(|problems| {
                    problems.into_iter().map(|problem| problem.summary).collect::<Vec<_>>().join("; ")
                })?;
                Ok(opened.provider)
            })
        });
        let (text, at) = (self.text.clone(), host.clone());
        let heard: RenewalHeard = Arc::new(move |renewal| {
            let (text, host) = (text.clone(), at.clone());
            Box::pin(async move { renewed(&text, &host, renewal).await })
        });
        OpenObject::new(address.resource.type_name.clone(), opened, again, heard)
    }

    /// Closes the object if it has no users, or regardless of users if `anyway` is set.
    pub(crate) async fn close(&self, objects: &LiveObjects, host: &Host, anyway: bool) {
        let mut state = self.state.lock().await;
        if !anyway && !self.is_unused() {
            return;
        }
        let Some(open) = state.open.take() else { return };
        objects.generation.fetch_add(1, Ordering::AcqRel);
        close(&self.text, open.object, host).await;
    }
}

async fn close(text: &str, object: OpenObject, host: &Host) {
    tell(host, text, EphemeralStep::CloseStarted).await;
    match object.close().await {
        Ok(said) => tell_problems(host, about(text, &said)).await,
        Err(why) => tell_problems(host, vec![problems::ephemeral_not_closed(text, &why)]).await,
    }
    tell(host, text, EphemeralStep::CloseDone).await;
}

async fn renewed(text: &str, host: &Host, renewal: Renewal) {
    let said = match renewal {
        Renewal::Started => return tell(host, text, EphemeralStep::RenewStarted).await,
        Renewal::Done(said) | Renewal::Refused(said) => about(text, &said),
        Renewal::Failed(why) => vec![problems::ephemeral_not_renewed(text, &why)],
    };
    tell_problems(host, said).await;
    tell(host, text, EphemeralStep::RenewDone).await;
}

fn about(text: &str, said: &[ProviderDiagnostic]) -> Problems {
    DiagnosticSubject { address: text, config: None }.said(said)
}

async fn tell(host: &Host, text: &str, step: EphemeralStep) {
    if let Some(to) = &host.options.said {
        // The receiver may have been dropped.
        let _ = to.send(HostMessage::Ephemeral { address: text.to_owned(), step }).await;
    }
}

async fn tell_problems(host: &Host, problems: Problems) {
    for problem in problems {
        match &host.options.said {
            Some(to) => drop(to.send(HostMessage::Problem(Box::new(problem))).await),
            None => tracing::warn!("{}: {}", problem.summary, problem.detail),
        }
    }
}
