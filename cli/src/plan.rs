//! Makes a plan file from configuration, variables and state.

pub mod configuration;
pub mod inputs;
mod placing;
pub mod prior_state;
mod problems;
mod reads;
mod wishes;

use std::collections::{BTreeMap, BTreeSet};
use std::sync::Arc;
use std::time::Duration;

use smol_str::SmolStr;
use tokio::sync::mpsc::UnboundedReceiver;
use weft_evaluator::config::{CompiledModule, SourceFiles};
use weft_evaluator::given_variables::GivenVariables;
use weft_executor::EphemeralStep;
use weft_graph_format::address::{
    ConfigResource, ProviderConfig, ProviderInstance, ProviderSource, ResourceInstance, ResourceMode,
};
use weft_graph_format::changes::Changes;
use weft_graph_format::diagnostic::{Diagnostic, has_errors};
use weft_graph_format::formula::FormulaOp;
use weft_graph_format::graph::{ExecutionGraph, Operation, OperationId};
use weft_graph_format::marks::Marks;
use weft_graph_format::plan_file::{EphemeralVariable, Manifest, PlanFile, SourceSnippets, UiMode};
use weft_graph_format::schema::ProviderSchema;
use weft_graph_format::source::SourceRange;
use weft_graph_format::value::{PlainValue, Value};
use weft_planner::planning::PlanInputs;
use weft_planner::{PlanOutcome, Planned, ProgressReport, ProgressSender, ProgressStep, ProviderSet, ReadGate, plan};
use weft_providers::ProviderPool;
use weft_state::Snapshot;

use crate::context::{Context, now};
use crate::packages::{InstalledPackages, pool_options};
use crate::render::events::{self, Hook, HookAction};
use crate::render::plan as lines;
use crate::signals::Attention;
use crate::variables;
use crate::view::View;
use inputs::{Inputs, encoded};
use placing::Placing;

pub use reads::ReadBudgets;
pub use wishes::{PARALLELISM, Wishes, negative_parallelism, selection};

/// How long reads may continue after planning was asked to stop.
const STOP_WITHIN: Duration = Duration::from_secs(5);

/// The inputs of a plan.
pub struct Basis<'a> {
    /// The context of the command.
    pub context: &'a Context,
    /// The workspace.
    pub workspace: SmolStr,
    /// The configuration.
    pub root: Arc<CompiledModule>,
    /// The diagnostics of loading the configuration. An apply of the plan reports them, too.
    pub warnings: &'a [Diagnostic],
    /// The values of the variables of the configuration.
    pub given: GivenVariables,
    /// The state.
    pub snapshot: Arc<Snapshot>,
    /// The record of the backend, for the plan.
    pub backend: String,
    /// The packages of the providers.
    pub packages: &'a InstalledPackages,
    /// The source files, for the lines that are stored in the plan.
    pub sources: SourceFiles,
    /// The output for progress.
    pub view: &'a View,
    /// The budgets that limit reads.
    pub reads: Option<Arc<dyn ReadGate>>,
}

/// The result of planning, which may be incomplete.
pub struct Made {
    /// The plan.
    pub file: Option<PlanFile>,
    /// The diagnostics of planning.
    pub diagnostics: Vec<Diagnostic>,
    /// The values that an apply needs and the plan does not contain.
    pub inputs: Inputs,
    /// Whether any output of a called module was evaluated.
    pub has_module_outputs: bool,
    /// Whether the refresh found differences that are not drift ([`Planned::differs_without_drift`]).
    pub differs_without_drift: bool,
}

impl Made {
    /// Whether the apply of a refresh-only plan stores something new. As in OpenTofu, an upgrade of a stored object to
    /// the current version of its schema does not count.
    pub fn records(&self, mode: UiMode, file: &PlanFile) -> bool {
        let differs = self.differs_without_drift || !file.changes.drift.is_empty();
        mode == UiMode::RefreshOnly && file.manifest.applyable && differs
    }
}

/// Makes a plan.
pub async fn make(basis: Basis<'_>, wishes: &Wishes) -> Made {
    let timestamp = now();
    let pool = ProviderPool::new(pool_options(basis.context));
    let providers =
        Arc::new(ProviderSet::new(basis.packages.plugins(), pool, wishes.parallelism).with_gate(basis.reads.clone()));
    let (progress, mut reports) = ProgressSender::new();
    let inputs = PlanInputs {
        root: basis.root.clone(),
        environment: basis.context.environment(basis.workspace.clone(), timestamp.clone()),
        given: basis.given.clone(),
        snapshot: basis.snapshot.clone(),
        providers: providers.clone(),
        options: wishes.options(&timestamp),
        progress,
    };
    let outcome = watched(inputs, &mut reports, &providers, basis.view, wishes.quiet).await;
    let configuration = match wishes.configuration {
        true => Some(configuration::text(&basis.root, &basis.sources, &providers).await),
        false => None,
    };
    providers.close().await;
    let PlanOutcome { planned, mut diagnostics, has_module_outputs } = outcome;
    let errored = has_errors(&diagnostics);
    let (inputs, problems) = ephemeral_inputs(&basis.root, planned.as_ref());
    diagnostics.extend(problems);
    let differs_without_drift = planned.as_ref().is_some_and(Planned::differs_without_drift);
    let mut file = planned.map(|planned| {
        let mut file = assemble(basis, wishes, planned, errored, timestamp);
        file.manifest.configuration = configuration;
        file
    });
    if let (Some(file), Some(placing)) = (&mut file, &wishes.placing) {
        match placing.place(file) {
            Ok(warnings) => diagnostics.extend(warnings),
            Err(problems) => {
                file.manifest.errored = true;
                file.manifest.complete = false;
                file.manifest.applyable = false;
                diagnostics.extend(problems);
            }
        }
    }
    Made { file, diagnostics, inputs, has_module_outputs, differs_without_drift }
}

/// Makes a plan, shows progress unless `quiet`, and handles interrupts.
async fn watched(
    inputs: PlanInputs,
    reports: &mut UnboundedReceiver<ProgressReport>,
    providers: &ProviderSet,
    view: &View,
    quiet: bool,
) -> PlanOutcome {
    let tell = |report: ProgressReport| {
        if !quiet {
            show_progress(view, report);
        }
    };
    let planning = async {
        let planning = plan(inputs);
        tokio::pin!(planning);
        let outcome = loop {
            tokio::select! {
                biased;
                Some(report) = reports.recv() => tell(report),
                outcome = &mut planning => break outcome,
            }
        };
        // The last reports arrive together with the outcome.
        while let Ok(report) = reports.try_recv() {
            tell(report);
        }
        outcome
    };
    tokio::pin!(planning);
    let mut attention = Attention::begin(1);
    tokio::select! {
        outcome = &mut planning => outcome,
        () = attention.next() => {
            view.aside("Interrupted. Planning stops when the current reads finish. Press Ctrl-C again to quit now.");
            let stopped = async {
                providers.stop().await;
                planning.await
            };
            interrupted(tokio::time::timeout(STOP_WITHIN, stopped).await.unwrap_or_default())
        }
    }
}

/// The encoded values of ephemeral variables. The plan does not contain them, so they must be given again for an apply.
fn ephemeral_inputs(root: &CompiledModule, planned: Option<&Planned>) -> (Inputs, Vec<Diagnostic>) {
    let mut inputs = Inputs::new();
    let mut problems = Vec::new();
    let Some(planned) = planned else { return (inputs, problems) };
    for (name, _) in variables::ephemeral(root) {
        let Some(value) = planned.variables.get(name) else { continue };
        match encoded(name, value) {
            Ok(bytes) => drop(inputs.insert(name.to_string(), bytes)),
            Err(found) => problems.extend(found),
        }
    }
    (inputs, problems)
}

/// Shows progress of planning.
fn show_progress(view: &View, report: ProgressReport) {
    let ProgressReport { address, deposed, what, id, elapsed } = report;
    if let Some(step) = ephemeral_step(what) {
        return tell_ephemeral(view, &address, step, elapsed);
    }
    if what == ProgressStep::ImportStarted {
        if view.shows_progress() {
            view.line(&lines::import_line(&address, "Preparing import...", id.as_ref()));
        }
        return;
    }
    let action = match what {
        ProgressStep::ReadStarted | ProgressStep::ReadDone => HookAction::Read,
        _ => HookAction::Refresh,
    };
    let hook = Hook { address, deposed, action, id, elapsed_seconds: elapsed.as_secs() };
    let (event, line) = match what {
        ProgressStep::RefreshStarted => (events::refresh_start(&hook), Some(lines::started_line(&hook))),
        ProgressStep::RefreshDone => (events::refresh_complete(&hook), None),
        ProgressStep::ReadStarted => (events::apply_start(&hook), Some(lines::started_line(&hook))),
        _ => (events::apply_complete(&hook), Some(lines::done_line(&hook))),
    };
    view.event(event);
    if let Some(line) = line.filter(|_| view.shows_progress()) {
        view.line(&line);
    }
}

fn ephemeral_step(what: ProgressStep) -> Option<EphemeralStep> {
    Some(match what {
        ProgressStep::OpenStarted => EphemeralStep::OpenStarted,
        ProgressStep::OpenDone => EphemeralStep::OpenDone,
        ProgressStep::RenewStarted => EphemeralStep::RenewStarted,
        ProgressStep::RenewDone => EphemeralStep::RenewDone,
        ProgressStep::CloseStarted => EphemeralStep::CloseStarted,
        ProgressStep::CloseDone => EphemeralStep::CloseDone,
        ProgressStep::ImportStarted
        | ProgressStep::RefreshStarted
        | ProgressStep::RefreshDone
        | ProgressStep::ReadStarted
        | ProgressStep::ReadDone => return None,
    })
}

/// Shows a step of an ephemeral object. `elapsed` is the duration of a completed step.
pub fn tell_ephemeral(view: &View, address: &ResourceInstance, step: EphemeralStep, elapsed: Duration) {
    let complete = matches!(step, EphemeralStep::OpenDone | EphemeralStep::RenewDone | EphemeralStep::CloseDone);
    let after = if complete { format!(" after {}", lines::duration(elapsed.as_secs())) } else { String::new() };
    let words = format!("{}{after}", lines::ephemeral_words(step));
    view.event(events::ephemeral_action(address, complete, &words));
    if view.shows_progress() {
        view.line(&format!("{address}: {words}"));
    }
}

/// Drops the plan file, because an interrupted plan is incomplete.
fn interrupted(outcome: PlanOutcome) -> PlanOutcome {
    let mut diagnostics = outcome.diagnostics;
    diagnostics.push(problems::interrupted());
    PlanOutcome { diagnostics, ..PlanOutcome::default() }
}

/// Assembles the plan file of a plan.
pub fn assemble(basis: Basis<'_>, wishes: &Wishes, planned: Planned, errored: bool, timestamp: String) -> PlanFile {
    let Planned {
        changes,
        last_outputs,
        graph,
        claims,
        schemas,
        provider_metas,
        variables,
        refreshed,
        deposed,
        snapshot,
        found,
        warnings,
        checks,
        check_needs,
        applyable,
    } = planned;
    let all_schemas = schemas;
    let mut schemas = restricted(&all_schemas, &changes, &graph, found.iter());
    let places = places(&basis.root, &changes);
    let sources_used: BTreeSet<ProviderSource> = schemas.keys().cloned().chain(called(&graph)).collect();
    let used = |source: &ProviderSource| sources_used.contains(source);
    if wishes.prior_state {
        add_stored(&mut schemas, &all_schemas, &snapshot);
    }
    let settles = wishes.mode != UiMode::RefreshOnly || wishes.importing;
    let mut outputs = last_outputs;
    outputs.extend(changes.outputs.iter().filter(|_| settles).map(|(name, change)| (name.clone(), change.clone())));
    let chosen = |option: &str| -> Vec<String> {
        let texts = wishes.selected.iter().filter(|(name, _)| *name == option);
        texts.map(|(_, text)| text.clone()).collect()
    };
    let manifest = Manifest {
        created: now(),
        lineage: basis.snapshot.lineage.clone(),
        serial: basis.snapshot.serial,
        workspace: basis.workspace.to_string(),
        ui_mode: wishes.mode,
        errored,
        complete: !errored,
        applyable: applyable && !errored,
        providers: basis.packages.of_plan(&used),
        variables: kept_variables(&basis, &variables),
        ephemeral_variables: ephemeral_variables(&basis.root),
        replacements: wishes.replace.iter().map(ToString::to_string).collect(),
        targets: chosen("target"),
        excludes: chosen("exclude"),
        backend: basis.backend.clone(),
        claims,
        checks,
        check_needs,
        warnings: basis.warnings.iter().cloned().chain(warnings).collect(),
        timestamp,
        provider_metas,
        places,
        prior_state: wishes
            .prior_state
            .then(|| {
                let objects = prior_state::ObjectsAsRead { current: &refreshed, deposed: &deposed };
                prior_state::text(&snapshot, &objects, &found, &schemas, (&changes.resources, &outputs))
            })
            .flatten(),
        ..Manifest::default()
    };
    let sources = kept_lines(&basis, &graph, &manifest);
    PlanFile { manifest, changes, schemas, sources, graph }
}

/// The values of variables as given, before conversion. A variable that was not given has its evaluated value. A plan
/// of a part of the configuration may not have evaluated the variable: then its default is used. An apply compares the
/// values on its own command line with these values, and `show -json` prints them.
fn kept_variables(basis: &Basis<'_>, evaluated: &BTreeMap<SmolStr, Value>) -> BTreeMap<SmolStr, PlainValue> {
    let kept = basis.root.variables.iter().filter(|(_, variable)| !variable.ephemeral);
    let kept = kept.filter_map(|(name, variable)| {
        let given = basis.given.get(name).map(|given| given.value.clone());
        let value = given.or_else(|| evaluated.get(name).cloned()).or_else(|| variable.default_value())?;
        let value = if variable.sensitive { value.mark(&Marks::SENSITIVE) } else { value };
        Some((name.clone(), PlainValue::from(&value)))
    });
    kept.collect()
}

/// What an apply must know about ephemeral variables to accept their values.
fn ephemeral_variables(root: &CompiledModule) -> BTreeMap<SmolStr, EphemeralVariable> {
    let kept = variables::ephemeral(root).map(|(name, variable)| {
        let kept = EphemeralVariable {
            ty: variable.ty.clone(),
            defaults: variable.defaults.clone(),
            default: variable.default_value().as_ref().map(PlainValue::from),
            nullable: variable.nullable,
            sensitive: variable.sensitive,
        };
        (name.clone(), kept)
    });
    kept.collect()
}

/// The source lines that problems during an apply may show.
fn kept_lines(basis: &Basis<'_>, graph: &ExecutionGraph, manifest: &Manifest) -> SourceSnippets {
    let mut sources = SourceSnippets::of_graph(graph, |file| basis.sources.text(file));
    let told = manifest.warnings.iter().filter_map(|warning| warning.subject.as_ref());
    for place in manifest.places.values().chain(told) {
        let number = place.start.line;
        if let Some(line) = basis.sources.line(&place.file, number) {
            let lines = sources.files.entry(place.file.clone()).or_default();
            lines.insert(number, line.to_owned());
        }
    }
    sources
}

/// The positions of provider blocks, of the blocks of changed resources, and of variables that must be given again for
/// an apply.
fn places(root: &Arc<CompiledModule>, changes: &Changes) -> BTreeMap<String, SourceRange> {
    let pending = changes.resources.iter().filter(|change| !change.action.is_no_op());
    let pending: BTreeSet<String> = pending.map(|change| change.address.config().to_string()).collect();
    let mut places: BTreeMap<String, SourceRange> =
        variables::ephemeral(root).map(|(name, variable)| (format!("var.{name}"), variable.range.clone())).collect();
    for module in root.all() {
        for block in module.providers.values() {
            let (source, alias) = (module.provider_source(&block.local_name), block.alias.clone());
            let address = ProviderConfig { module: module.path.clone(), source, alias }.to_string();
            places.insert(address, block.body.missing());
        }
        for (resource, block) in &module.resources {
            let address = ConfigResource { module: module.path.clone(), resource: resource.clone() }.to_string();
            if pending.contains(&address) {
                places.insert(address, block.body.missing());
            }
        }
    }
    places
}

/// Adds the schemas of the objects in the state. They are needed to show the prior state.
fn add_stored(
    schemas: &mut BTreeMap<ProviderSource, ProviderSchema>,
    all: &BTreeMap<ProviderSource, Arc<ProviderSchema>>,
    snapshot: &Snapshot,
) {
    for stored in snapshot.instances.values() {
        let record = &stored.record;
        let Some(source) = record.provider.source() else { continue };
        let Some(whole) = all.get(source) else { continue };
        let name = record.address.resource.type_name.as_str();
        let part = schemas.entry(source.clone()).or_default();
        let (known, kept) = match record.mode() {
            ResourceMode::Managed => (&whole.resources, &mut part.resources),
            ResourceMode::Data => (&whole.data_sources, &mut part.data_sources),
            // The state contains no ephemeral objects.
            ResourceMode::Ephemeral => continue,
        };
        if let (Some((name, schema)), false) = (known.get_key_value(name), kept.contains_key(name)) {
            kept.insert(name.clone(), schema.clone());
        }
    }
}

/// The providers whose functions a graph calls.
fn called(graph: &ExecutionGraph) -> BTreeSet<ProviderSource> {
    let rows = graph.fragments.iter().flat_map(|fragment| &fragment.formulas.rows);
    rows.filter_map(|row| match &row.op {
        FormulaOp::ProviderCall { provider, .. } => Some(provider.source().clone()),
        _ => None,
    })
    .collect()
}

/// The schemas of the providers that changes and operations refer to, with only the types in use.
fn restricted<'a>(
    schemas: &BTreeMap<ProviderSource, Arc<ProviderSchema>>,
    changes: &Changes,
    graph: &ExecutionGraph,
    read: impl Iterator<Item = (&'a ResourceInstance, &'a ProviderInstance)>,
) -> BTreeMap<ProviderSource, ProviderSchema> {
    let mut kept: BTreeMap<ProviderSource, ProviderSchema> = BTreeMap::new();
    let mut keep = |source: &ProviderSource, address: Option<&ResourceInstance>| {
        let Some(whole) = schemas.get(source) else { return };
        let part = kept.entry(source.clone()).or_insert_with(|| ProviderSchema {
            provider: whole.provider.clone(),
            provider_meta: whole.provider_meta.clone(),
            functions: whole.functions.clone(),
            plan_destroy: whole.plan_destroy,
            schema_optional: whole.schema_optional,
            move_resource_state: whole.move_resource_state,
            ..ProviderSchema::default()
        });
        let Some(address) = address else { return };
        let name = &address.resource.type_name;
        match address.resource.mode {
            ResourceMode::Managed if !part.resources.contains_key(name) => {
                part.resources.extend(whole.resources.get(name).map(|schema| (name.clone(), schema.clone())));
                part.identities.extend(whole.identities.get(name).map(|schema| (name.clone(), schema.clone())));
            }
            ResourceMode::Data if !part.data_sources.contains_key(name) => {
                part.data_sources.extend(whole.data_sources.get(name).map(|schema| (name.clone(), schema.clone())));
            }
            ResourceMode::Ephemeral if !part.ephemeral.contains_key(name) => {
                part.ephemeral.extend(whole.ephemeral.get(name).map(|schema| (name.clone(), schema.clone())));
            }
            _ => {}
        }
    };
    for change in changes.resources.iter().chain(&changes.drift) {
        keep(&change.provider.source, Some(&change.address));
    }
    for (address, provider) in read {
        keep(&provider.source, Some(address));
    }
    for fragment in &graph.fragments {
        let mut opened: BTreeMap<OperationId, &ProviderSource> = BTreeMap::new();
        for row in &fragment.rows {
            match &row.operation {
                Operation::OpenProvider { instance, .. } => {
                    opened.insert(row.id, &instance.source);
                    keep(&instance.source, None);
                }
                Operation::OpenEphemeral { address, provider, .. } => {
                    opened.get(provider).into_iter().for_each(|source| keep(source, Some(address)));
                }
                Operation::Record { provider, address, .. } => keep(&provider.source, Some(address)),
                _ => {}
            }
        }
    }
    kept
}
