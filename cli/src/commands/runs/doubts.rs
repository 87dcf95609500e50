//! The operations in doubt of a run: where the doubts are settled, and which decisions fit each operation.

use std::collections::BTreeMap;
use std::sync::Arc;

use weft_coordinator::doubts::KnownDoubt;
use weft_coordinator::event::{Decision, UserResolution};
use weft_coordinator::listing::{OperationListing, RunDetails};
use weft_coordinator::outline::outline;
use weft_coordinator::{Client, RunOptions};
use weft_graph_format::address::{NamedObject, ResourceInstance};
use weft_graph_format::diagnostic::Diagnostic;
use weft_graph_format::operation_kind::NamedAction;
use weft_protocol::Candidate;
use weft_state::{Choice, IdOwners, OpIndex, OpStatus, RunId, RunStatus, RunStore, StoreError};

use super::{go_on, load, place, problems, said};
use crate::apply;
use crate::command::Invocation;
use crate::identity;
use crate::store::Access;

/// An operation in doubt.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(super) struct OpenDoubt {
    /// The number of the operation in the plan.
    pub(super) operation: u32,
    /// The address of the object.
    pub(super) address: String,
    /// The address as a resource instance. `None` for an address of another version of Weft that this version does not
    /// understand.
    pub(super) instance: Option<ResourceInstance>,
    /// The key of the deposed object.
    pub(super) deposed: Option<String>,
    /// The action of the operation.
    pub(super) action: NamedAction,
    /// Why the outcome is unknown, or what a look-up has found. Empty if neither is known.
    pub(super) reason: String,
    /// An object that a look-up has found, and that the operation may have created. No other address has this object.
    pub(super) candidate: Option<Box<Candidate>>,
}

impl OpenDoubt {
    pub(super) fn new(operation: OperationListing) -> OpenDoubt {
        let OperationListing { operation, address, deposed, action, .. } = operation;
        let instance = address.parse().ok();
        OpenDoubt { operation, address, instance, deposed, action, reason: String::new(), candidate: None }
    }

    /// Whether a name that a user gave stands for the object.
    pub(super) fn is_named(&self, name: &NamedObject) -> bool {
        self.instance.as_ref().is_some_and(|address| name.matches(address, self.deposed.as_deref()))
    }

    /// Stores the result of a look-up.
    pub(super) fn learn(&mut self, known: KnownDoubt, owners: &IdOwners) {
        let KnownDoubt { reason, candidate } = known.without_owned(self.instance.as_ref(), owners);
        self.reason = reason;
        self.candidate = candidate;
    }

    /// The name of the object, in the form that `runs resolve` accepts.
    pub(super) fn name(&self) -> String {
        match &self.deposed {
            Some(key) => format!("{} (deposed object {key})", self.address),
            None => self.address.clone(),
        }
    }

    /// The decisions that fit the operation.
    pub(super) fn decisions(&self) -> &'static [Choice] {
        Choice::fitting(self.action.kind())
    }

    /// Checks a decision before anything is changed.
    ///
    /// # Errors
    /// Returns an error if the decision does not fit the operation, or if the id belongs to another address.
    pub(super) fn check(&self, decision: &Decision, owners: &IdOwners) -> Result<(), Diagnostic> {
        let decisions = self.decisions();
        if !decisions.contains(&decision.choice()) {
            return Err(problems::decision_unfit(&self.name(), &self.action, decision.name(), decisions));
        }
        let Decision::Adopt(id) = decision else { return Ok(()) };
        let instance = self.instance.as_ref().ok_or_else(|| problems::cannot_adopt(&self.address))?;
        match owners.other(instance, id) {
            Some(owner) => Err(problems::id_taken(&self.address, id, &owner)),
            None => Ok(()),
        }
    }
}

/// A decision and its result.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(super) struct Settled {
    /// The name of the object.
    pub(super) name: String,
    /// The decision.
    pub(super) decision: Decision,
    /// The status of the operation now.
    pub(super) status: String,
    /// Why the operation is still in doubt.
    pub(super) reason: String,
}

impl Settled {
    /// Whether the operation is no longer in doubt.
    pub(super) fn is_settled(&self) -> bool {
        self.status != OpStatus::InDoubt.word()
    }
}

/// Where the doubts of a run are settled: in this process, or by a coordinator.
enum SettlementSite {
    Here(Arc<dyn RunStore>),
    Elsewhere(Box<Client>),
}

/// Settles the doubts of one run.
pub(super) struct Desk<'i, 'a> {
    invocation: &'i Invocation<'a>,
    site: SettlementSite,
    /// The run.
    pub(super) run: RunId,
}

impl<'i, 'a> Desk<'i, 'a> {
    /// Opens the run with this name. Without a name, the function opens the newest run with doubts, or returns `None`
    /// if no run has doubts. Also returns `None` if there is no store yet. Does not check that a named run exists.
    ///
    /// # Errors
    /// Returns an error if the coordinator does not respond, or if the store cannot be opened.
    pub(super) async fn open(
        invocation: &'i Invocation<'a>,
        named: Option<RunId>,
        access: Access,
    ) -> Result<Option<Desk<'i, 'a>>, Vec<Diagnostic>> {
        let arguments = &invocation.arguments;
        if let Some(address) = apply::coordinator(arguments) {
            let mut client =
                Client::connect(&identity::dialer(arguments)?, &address).await.map_err(apply::client_problem)?;
            let run = match named {
                Some(run) => run,
                None => {
                    let runs = client.list().await.map_err(apply::client_problem)?;
                    let found = runs.iter().find(|run| run.counts.in_doubt > 0);
                    let Some(run) = found.and_then(|run| RunId::parse(&run.id)) else { return Ok(None) };
                    run
                }
            };
            return Ok(Some(Desk { invocation, site: SettlementSite::Elsewhere(Box::new(client)), run }));
        }
        let place = place(invocation)?;
        let Some(looked) = place.open_existing().await.map_err(|problem| vec![problem])? else { return Ok(None) };
        let headers = looked.runs().await.map_err(said)?;
        let run = match named {
            Some(run) => run,
            None => {
                let open = |counts: &weft_state::OpCounts| counts.in_doubt + counts.running > 0;
                let found = headers.iter().find(|run| run.status != RunStatus::Running && open(&run.counts));
                let Some(found) = found else { return Ok(None) };
                found.id.clone()
            }
        };
        let store = match access {
            Access::Read => looked,
            Access::Change => {
                drop(looked);
                place.open(Access::Change).await.map_err(|problem| vec![problem])?
            }
        };
        Ok(Some(Desk { invocation, site: SettlementSite::Here(store), run }))
    }

    /// Prints a line.
    pub(super) fn say(&self, line: &str) {
        self.invocation.view.line(line);
    }

    /// Reports a problem that does not end the command.
    pub(super) fn report(&self, problem: &Diagnostic) {
        self.invocation.view.diagnostics(std::slice::from_ref(problem));
    }

    /// The operations in doubt, in the order of the plan.
    ///
    /// # Errors
    /// Returns an error if the run cannot be read.
    pub(super) async fn doubts(&mut self) -> Result<Vec<OpenDoubt>, Vec<Diagnostic>> {
        let (details, recorded) = match &mut self.site {
            SettlementSite::Here(store) => {
                let (view, plan, _) = load(store.as_ref(), &self.run).await?;
                let snapshot = store.snapshot().await.map_err(said)?;
                let of_run = snapshot.doubts.values().filter(|doubt| doubt.run == self.run);
                let reasons: BTreeMap<u32, String> = of_run.map(|doubt| (doubt.op.0, doubt.reason.clone())).collect();
                (RunDetails::new(&view, &outline(&plan)), reasons)
            }
            SettlementSite::Elsewhere(client) => {
                (client.show(Some(self.run.as_str())).await.map_err(apply::client_problem)?, BTreeMap::new())
            }
        };
        // Without a coordinator, an intent is also a doubt, because the process that wrote the intent was killed. On a
        // coordinator, the operation of an intent may still be running.
        let here = matches!(self.site, SettlementSite::Here(_));
        let is_open = |operation: &OperationListing| {
            operation.status == OpStatus::InDoubt.word() || here && operation.status == OpStatus::Intended.word()
        };
        let open = details.operations.into_iter().filter(is_open).map(OpenDoubt::new);
        let known = |doubt: OpenDoubt| match recorded.get(&doubt.operation) {
            Some(reason) => OpenDoubt { reason: reason.clone(), ..doubt },
            None => doubt,
        };
        Ok(open.map(known).collect())
    }

    /// The objects of the state by their ids. With them, the adoption of an object that belongs to another address is
    /// refused. Empty if a coordinator settles the doubts, because the coordinator makes this check itself.
    ///
    /// # Errors
    /// Returns an error if the state cannot be read.
    pub(super) async fn owners(&self) -> Result<IdOwners, Vec<Diagnostic>> {
        match &self.site {
            SettlementSite::Here(store) => Ok(IdOwners::of(&store.snapshot().await.map_err(said)?)),
            SettlementSite::Elsewhere(_) => Ok(IdOwners::default()),
        }
    }

    /// Looks up the objects in doubt. A doubt whose outcome can be proven is settled. Returns the remaining doubts with
    /// the results of their look-ups.
    ///
    /// # Errors
    /// Returns an error if the run cannot be resumed, if the coordinator refuses the request, or if the doubts or the
    /// state cannot be read.
    pub(super) async fn look_up(&mut self) -> Result<Vec<OpenDoubt>, Vec<Diagnostic>> {
        let (mut by_name, mut by_number) = (BTreeMap::new(), BTreeMap::new());
        match &mut self.site {
            SettlementSite::Here(store) => {
                let options = RunOptions { only_resolve: true, look_up: true, ..RunOptions::in_process() };
                by_name = go_on(self.invocation, Arc::clone(store), &self.run, options, None).await?.doubts;
            }
            SettlementSite::Elsewhere(client) => {
                by_number = client.look_up(self.run.as_str()).await.map_err(apply::client_problem)?;
            }
        }
        let mut left = self.doubts().await?;
        let owners = self.owners().await?;
        for doubt in &mut left {
            let known = by_number.remove(&doubt.operation);
            if let Some(known) = known.or_else(|| by_name.remove(&doubt.name()).map(|found| found.known)) {
                doubt.learn(known, &owners);
            }
        }
        Ok(left)
    }

    /// Carries out decisions that have been checked.
    ///
    /// # Errors
    /// Returns an error if the run cannot be resumed, or if the coordinator refuses a decision.
    pub(super) async fn settle(
        &mut self,
        decisions: Vec<(OpenDoubt, Decision)>,
    ) -> Result<Vec<Settled>, Vec<Diagnostic>> {
        match &mut self.site {
            SettlementSite::Here(store) => {
                let resolution = |(doubt, decision): &(OpenDoubt, Decision)| UserResolution {
                    operation: doubt.operation,
                    decision: decision.clone(),
                };
                let resolutions = decisions.iter().map(resolution).collect();
                let options = RunOptions { resolutions, only_resolve: true, ..RunOptions::in_process() };
                let ending = go_on(self.invocation, Arc::clone(store), &self.run, options, None).await?;
                let view = store.run(&self.run).await.map_err(said)?;
                let view = view.ok_or_else(|| said(StoreError::NoRun(self.run.clone())))?;
                let settled = decisions.into_iter().map(|(doubt, decision)| {
                    let status = view.ops.get(&OpIndex(doubt.operation)).map(|record| record.status);
                    let (name, status) = (doubt.name(), status.unwrap_or_default().word().to_owned());
                    let reason = ending.doubts.get(&name).map(|found| found.known.reason.clone());
                    let reason = reason.unwrap_or_else(|| "no evidence was found".to_owned());
                    Settled { name, decision, status, reason }
                });
                Ok(settled.collect())
            }
            SettlementSite::Elsewhere(client) => {
                let mut settled = Vec::new();
                for (doubt, decision) in decisions {
                    let (name, run) = (doubt.name(), self.run.as_str());
                    let answer = client.resolve(run, &name, decision.clone()).await;
                    let (status, reason) = answer.map_err(apply::client_problem)?;
                    settled.push(Settled { name, decision, status, reason });
                }
                Ok(settled)
            }
        }
    }
}

/// Describes the result of a decision.
pub(super) fn outcome(settled: &Settled) -> String {
    match &settled.decision {
        Decision::Adopt(id) => format!("the object {id} was read and stored"),
        Decision::Absent => "it does not exist, so the operation is pending again".to_owned(),
        Decision::Retry => "it will be carried out again".to_owned(),
        Decision::Forget => format!("the operation was given up ({})", settled.status),
    }
}
