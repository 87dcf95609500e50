//! One planning: answers the evaluator, drafts operations, and makes a plan of it all.

mod absent;
mod changing;
mod checking;
mod claims;
mod data;
mod deleting;
mod drafts;
mod ephemeral;
mod evaluated;
mod glue;
mod importing;
mod managed;
mod moved;
mod order;
mod orphans;
mod outcome;
mod outputs;
mod proposal;
mod protection;
mod provisioning;
mod records;
mod refreshing;
mod rehearsal;
mod selecting;
mod triggers;

use std::collections::{BTreeMap, BTreeSet};
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, Ordering as Ordered};

use parking_lot::Mutex;
use rustc_hash::{FxHashMap, FxHashSet};
use smol_str::SmolStr;
use weft_evaluator::config::reach::needs;
use weft_evaluator::config::{CompiledModule, RemovedBlock, ResourceBlock};
use weft_evaluator::glue::{Expansion, GivenVariables, Protection};
use weft_evaluator::selection::Selection;
use weft_evaluator::{Counters, Environment, Session, evaluate_open};
use weft_graph_format::address::{
    AbsResource, ConfigResource, Module, ModuleInstance, ProviderInstance, ResourceInstance,
};
use weft_graph_format::changes::{Changes, ResourceChange};
use weft_graph_format::diagnostic::{Diagnostic, IGNORED_ATTRIBUTE, READ_FOR_CHECK, has_errors};
use weft_graph_format::formula::Formula;
use weft_graph_format::graph::{Applied, Builder, Claim, FinishError, OperationId, Provider, Ref};
use weft_graph_format::plan_file::{CheckResult, CheckedKind};
use weft_graph_format::value::Value;
use weft_state::Snapshot;

use crate::provider_meta::ProviderMetas;
use crate::providers::ProviderSet;
use crate::watch::Watch;

pub(crate) use order::{Delete, DeleteKind, Ordering};
pub use outcome::{PlanInputs, PlanOptions, PlanOutcome, Planned};
pub use rehearsal::rehearse;

/// A provider instance that operations are drafted for.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Opened {
    pub(crate) provider: Ref<Provider>,
}

/// Each instance of a resource that something happens to, before and after.
pub(crate) type Alterations = FxHashMap<ResourceInstance, (Value, Value)>;

/// The state of one planning.
pub(crate) struct Planning {
    pub(crate) root: Arc<CompiledModule>,
    /// The objects that a plan to destroy a part is about.
    pub(crate) going: BTreeSet<String>,
    /// The blocks of all resources.
    pub(crate) blocks: FxHashMap<ConfigResource, Arc<ResourceBlock>>,
    /// All `removed` blocks.
    pub(crate) removed: Vec<RemovedBlock>,
    /// State, its objects under the addresses that they go by now.
    pub(crate) snapshot: Arc<Snapshot>,
    /// State as the store has it.
    pub(crate) original: Arc<Snapshot>,
    /// Objects that go by another address now: that and the one that the store has.
    pub(crate) moved: BTreeMap<ResourceInstance, ResourceInstance>,
    pub(crate) environment: Environment,
    /// Directories of modules, relative to that of the root module.
    pub(crate) directories: FxHashMap<Module, String>,
    /// For the formulas of provisioners.
    pub(crate) counters: Counters,
    /// What is created and provisioned.
    pub(crate) created: Mutex<FxHashMap<ResourceInstance, provisioning::Created>>,
    pub(crate) providers: Arc<ProviderSet>,
    /// What modules tell their providers of themselves, by module and provider (`Manifest::meta_key`).
    pub(crate) metas: ProviderMetas,
    pub(crate) options: PlanOptions,
    pub(crate) replace: BTreeSet<ResourceInstance>,
    pub(crate) builder: Builder,
    pub(crate) diagnostics: Mutex<Vec<Diagnostic>>,
    /// Warnings about this plan alone, not about the configuration.
    pub(crate) remarks: Mutex<Vec<Diagnostic>>,
    /// Changes that were planned and must not be carried out.
    pub(crate) refused: Mutex<Vec<(ResourceInstance, Diagnostic)>>,
    pub(crate) resources: Mutex<FxHashMap<AbsResource, Expansion>>,
    /// Resources whose objects must stay.
    pub(crate) protected: Mutex<FxHashMap<AbsResource, Protection>>,
    pub(crate) modules: Mutex<FxHashMap<(ModuleInstance, SmolStr), Expansion>>,
    pub(crate) desired: Mutex<FxHashSet<ResourceInstance>>,
    /// Resources that something happens to.
    pub(crate) pending: Mutex<FxHashMap<AbsResource, ()>>,
    /// The same as configured, as text.
    pub(crate) changing: Mutex<FxHashSet<String>>,
    /// What changed of each instance that something happens to, for triggers: before and after.
    pub(crate) altered: Mutex<FxHashMap<AbsResource, Alterations>>,
    /// Whether anything at a path of a resource changes, for triggers: answers given before, none where the resource
    /// has no part in the plan.
    pub(crate) fired: Mutex<FxHashMap<(AbsResource, weft_graph_format::path::Path), Option<bool>>>,
    pub(crate) changes: Mutex<Vec<ResourceChange>>,
    pub(crate) drift: Mutex<Vec<ResourceChange>>,
    pub(crate) refreshed: Mutex<BTreeMap<ResourceInstance, crate::prior::Prior>>,
    pub(crate) read: Mutex<BTreeMap<ResourceInstance, ProviderInstance>>,
    /// Objects that are taken over, with the provider that found them.
    pub(crate) imported: Mutex<BTreeMap<ResourceInstance, ProviderInstance>>,
    pub(crate) records: Mutex<Vec<records::PendingRecord>>,
    /// The operations that move objects which something else happens to as well.
    pub(crate) move_operations: Mutex<FxHashMap<ResourceInstance, OperationId>>,
    /// What came of conditions, by object.
    pub(crate) checks: Mutex<BTreeMap<(CheckedKind, String), CheckResult>>,
    /// Whether anything was evaluated.
    began: AtomicBool,
    /// Final plans of objects that are to be created before they are destroyed only since others ask for it.
    pub(crate) forced: Mutex<BTreeMap<ResourceInstance, OperationId>>,
    pub(crate) claims: Mutex<BTreeMap<String, Claim>>,
    pub(crate) opened: Mutex<BTreeMap<ProviderInstance, Opened>>,
    pub(crate) in_shard: Mutex<BTreeMap<ProviderInstance, Vec<OperationId>>>,
    pub(crate) ordering: Mutex<Ordering>,
    pub(crate) outputs: Mutex<BTreeMap<SmolStr, weft_evaluator::glue::RootOutput>>,
    /// The formulas of what stands for instances that the selection leaves out and that are not there.
    pub(crate) gaps: Mutex<Vec<Formula>>,
    /// Outputs of called modules whose value is not null.
    pub(crate) module_outputs: Mutex<BTreeSet<(ModuleInstance, SmolStr)>>,
    /// What outputs would be, where a plan to destroy takes them away.
    pub(crate) last_outputs: Mutex<BTreeMap<SmolStr, weft_evaluator::glue::RootOutput>>,
    pub(crate) watch: Watch,
    pub(crate) variables: Mutex<BTreeMap<SmolStr, Value>>,
}

/// The summary of the warning about a value for a variable of the root module that is deprecated.
pub const DEPRECATED_VARIABLE: &str = "Deprecated variable used from the root module";

type Problems = Vec<Diagnostic>;

/// Plans. A configuration that is not valid whatever its variables are is not planned at all, nor is one without the
/// providers that state needs.
pub async fn plan(inputs: PlanInputs) -> PlanOutcome {
    plan_open(inputs, false).await.0
}

/// The same, and where `open` is said, what was evaluated stays open for questions.
pub async fn plan_open(inputs: PlanInputs, open: bool) -> (PlanOutcome, Option<Session>) {
    let (root, environment, given) = (inputs.root.clone(), inputs.environment.clone(), inputs.given.clone());
    let providers = inputs.providers.clone();
    let planning = match prepare(inputs).await {
        Ok(planning) => planning,
        Err(outcome) => return (*outcome, None),
    };
    // Where there is nothing to destroy, nothing of the configuration matters either.
    let idle =
        planning.options.destroy && planning.snapshot.instances.is_empty() && planning.snapshot.outputs.is_empty();
    let (failed, session) = match idle {
        true => (false, None),
        false => {
            let (outcome, session) = evaluate_open(root, planning.clone(), environment, given).await;
            (outcome.is_err(), session.filter(|_| open))
        }
    };
    // A plan to destroy begins with looking at everything, and only then decides.
    if !failed || planning.began.load(Ordered::Relaxed) && !planning.options.destroy {
        planning.clone().orphans(failed).await;
    }
    let said = providers.close_ephemerals().await;
    planning.report_all(said);
    if failed && !planning.began.load(Ordered::Relaxed) {
        // The configuration was refused as a whole.
        return (planning.nothing(), session);
    }
    if planning.options.destroy && has_errors(&planning.diagnostics.lock()) {
        return (planning.nothing(), session);
    }
    let still_there = planning.check_moves();
    if !still_there.is_empty() {
        // What else went wrong may follow from these.
        *planning.diagnostics.lock() = still_there;
        return (planning.nothing(), session);
    }
    planning.plan_outputs();
    (finish(&planning, &providers, failed), session)
}

/// A planning that is about to begin, or what keeps it from beginning.
async fn prepare(inputs: PlanInputs) -> Result<Arc<Planning>, Box<PlanOutcome>> {
    let PlanInputs { root, environment, given, snapshot, providers, options, watch } = inputs;
    let mut said = match options.importing {
        // Whoever takes an object over may have the rest of the configuration unfinished.
        true => Vec::new(),
        false => crate::validate(root.clone(), environment.clone(), providers.clone()).await,
    };
    if !has_errors(&said) && !options.replace.is_empty() && (options.destroy || options.refresh_only) {
        let detail =
            "-replace=ADDRESS works in the normal planning mode only. Leave it out, or -destroy or -refresh-only.";
        said.push(Diagnostic::error("Unsupported plan mode", detail));
    }
    if has_errors(&said) {
        return Err(Box::new(PlanOutcome { planned: None, diagnostics: said }));
    }
    let metas = ProviderMetas::of(&root, &providers).await;
    let moved = match moved::carry_out_moves(&root, &snapshot) {
        Ok(moved) => moved,
        Err(mut problems) => {
            said.append(&mut problems);
            sort(&mut said);
            return Err(Box::new(PlanOutcome { planned: None, diagnostics: said }));
        }
    };
    let planning = Arc::new(Planning {
        going: match options.destroy && options.selection != Selection::All {
            true => selecting::destroyed(&moved.snapshot, &options.selection),
            false => BTreeSet::new(),
        },
        blocks: blocks(&root),
        directories: root.all().iter().map(|module| (module.path.clone(), module.dir.clone())).collect(),
        environment,
        counters: Counters::default(),
        created: Mutex::default(),
        removed: root.all().iter().flat_map(|module| module.removed.iter().cloned()).collect(),
        root,
        snapshot: moved.snapshot,
        original: snapshot,
        moved: moved.moved,
        metas,
        providers,
        replace: options.replace.iter().cloned().collect(),
        options,
        builder: Builder::new(),
        diagnostics: Mutex::new(said),
        remarks: Mutex::new(moved.warnings),
        refused: Mutex::default(),
        resources: Mutex::default(),
        protected: Mutex::default(),
        modules: Mutex::default(),
        desired: Mutex::default(),
        pending: Mutex::default(),
        changing: Mutex::default(),
        altered: Mutex::default(),
        fired: Mutex::default(),
        changes: Mutex::default(),
        drift: Mutex::default(),
        refreshed: Mutex::default(),
        read: Mutex::default(),
        imported: Mutex::default(),
        records: Mutex::default(),
        move_operations: Mutex::default(),
        checks: Mutex::default(),
        began: AtomicBool::new(false),
        forced: Mutex::default(),
        claims: Mutex::default(),
        opened: Mutex::default(),
        in_shard: Mutex::default(),
        ordering: Mutex::default(),
        outputs: Mutex::default(),
        gaps: Mutex::default(),
        module_outputs: Mutex::default(),
        last_outputs: Mutex::default(),
        watch,
        variables: Mutex::default(),
    });
    planning.remark_selection();
    planning.remark_deprecated_variables(&given);
    planning.refuse_doubts();
    let mut unfit = planning.moves_left_out();
    if unfit.is_empty() {
        unfit = planning.absent_providers();
    }
    if !unfit.is_empty() {
        planning.report_all(unfit);
        return Err(Box::new(planning.nothing()));
    }
    Ok(planning)
}

/// The blocks of all resources of a tree of modules.
fn blocks(root: &Arc<CompiledModule>) -> FxHashMap<ConfigResource, Arc<ResourceBlock>> {
    let all = root.all();
    let of = |module: &Arc<CompiledModule>| {
        let module = module.clone();
        let names: Vec<_> = module.resources.iter().map(|(r, b)| (r.clone(), b.clone())).collect();
        names
            .into_iter()
            .map(move |(resource, block)| (ConfigResource { module: module.path.clone(), resource }, block))
    };
    all.iter().flat_map(of).collect()
}

fn finish(planning: &Planning, providers: &ProviderSet, failed: bool) -> PlanOutcome {
    planning.order_deletes();
    let mut changes = Changes {
        resources: std::mem::take(&mut planning.changes.lock()),
        drift: std::mem::take(&mut planning.drift.lock()),
        outputs: planning.output_changes(),
        relevant: Vec::new(),
    };
    planning.stop_at_protected(&mut changes.resources);
    for list in [&mut changes.resources, &mut changes.drift] {
        list.sort_by(|a, b| (a.address.in_lists(), &a.deposed).cmp(&(b.address.in_lists(), &b.deposed)));
    }
    let schemas = providers.schemas();
    changes.relevant = planning.relevant_attributes(&changes, &schemas);
    let checks = planning.check_results(&changes.resources);
    planning.settle_create_first(&changes.resources);
    let recorded = planning.draft_records();
    let applyable = recorded || !changes.is_empty();
    planning.draft_outputs(&changes.outputs);
    planning.close_providers();
    let mut diagnostics = std::mem::take(&mut *planning.diagnostics.lock());
    let mut warnings: Vec<Diagnostic> =
        diagnostics.iter().filter(|d| !d.is_error() && !planning.is_not_kept(d)).cloned().collect();
    planning.drop_unreached(&mut warnings, &changes);
    sort(&mut warnings);
    diagnostics.extend(planning.refused.lock().drain(..).map(|(_, problem)| problem));
    diagnostics.append(&mut planning.remarks.lock());
    let refreshed = std::mem::take(&mut *planning.refreshed.lock());
    let read = std::mem::take(&mut *planning.read.lock());
    let variables = std::mem::take(&mut *planning.variables.lock());
    let finished = planning.builder.take().finish().or_else(|error| {
        diagnostics.push(graph_problem(&error));
        match error {
            // A plan that cannot be carried out still shows what it would do.
            FinishError::Cycle(_) => Builder::new().finish(),
            other => Err(other),
        }
    });
    let Ok(graph) = finished else {
        sort(&mut diagnostics);
        return PlanOutcome { planned: None, diagnostics };
    };
    let claims = planning.final_claims(&changes, &graph);
    sort(&mut diagnostics);
    if failed && !has_errors(&diagnostics) {
        diagnostics.push(Diagnostic::error(
            "Planning failed",
            "Planning ended early without saying why. This is a defect of Weft; please report it.",
        ));
    }
    let planned = Planned {
        changes,
        graph,
        claims,
        schemas,
        provider_metas: planning.metas.values().clone(),
        variables,
        refreshed,
        snapshot: planning.snapshot.clone(),
        read,
        imported: std::mem::take(&mut *planning.imported.lock()),
        warnings,
        check_needs: if checks.is_empty() { BTreeMap::new() } else { needs(&planning.root) },
        checks,
        applyable,
    };
    PlanOutcome { planned: Some(planned), diagnostics }
}

fn graph_problem(error: &FinishError) -> Diagnostic {
    match error {
        FinishError::Cycle(members) => Diagnostic::error(
            format!("Cycle: {}", members.join(", ")),
            "These changes wait for each other, so none of them can be the first.",
        ),
        other => Diagnostic::error("Plan cannot be written", format!("{other}.")),
    }
}

/// By file and place, then as they came; equal ones once.
fn sort(diagnostics: &mut Vec<Diagnostic>) {
    diagnostics.sort_by(|a, b| {
        (a.is_error(), &a.subject, &a.address, &a.summary).cmp(&(b.is_error(), &b.subject, &b.address, &b.summary))
    });
    diagnostics.dedup();
}

/// The value without formulas and origins at any level.
pub(crate) fn without_provenance(value: &Value) -> Value {
    let deep = value.deep();
    if !deep.formula && !deep.origin {
        return value.clone();
    }
    value.bare()
}

impl Planning {
    /// Whether whoever carries the plan out need not hear a warning from it: what it is about is looked at again, or
    /// concerns planning alone.
    fn is_not_kept(&self, warning: &Diagnostic) -> bool {
        let open_until_apply = warning.is_open_check() && !self.options.refresh_only;
        open_until_apply || warning.code == READ_FOR_CHECK || warning.code == IGNORED_ATTRIBUTE
    }

    /// Notes that something happens to an instance.
    pub(crate) fn note_pending(&self, address: &ResourceInstance) {
        if self.pending.lock().insert(address.all(), ()).is_none() {
            self.changing.lock().insert(address.config().to_string());
        }
    }

    /// Takes a warning about this plan alone.
    pub(crate) fn remark(&self, warning: Diagnostic) {
        self.remarks.lock().push(warning);
    }

    /// Says which deprecated variables of the root module were given a value.
    fn remark_deprecated_variables(&self, given: &GivenVariables) {
        for variable in self.root.variables.values().filter(|variable| given.contains_key(&variable.name)) {
            if let Some(notice) = &variable.deprecated {
                self.remark(
                    Diagnostic::warning(
                        DEPRECATED_VARIABLE,
                        format!(
                            "The variable {:?} is given a value although it is deprecated. Its author says: {notice}",
                            variable.name.as_str()
                        ),
                    )
                    .at(variable.range.clone()),
                );
            }
        }
    }

    /// No plan, only what there is to say.
    fn nothing(&self) -> PlanOutcome {
        let mut diagnostics = std::mem::take(&mut *self.diagnostics.lock());
        diagnostics.extend(self.refused.lock().drain(..).map(|(_, problem)| problem));
        diagnostics.append(&mut self.remarks.lock());
        sort(&mut diagnostics);
        PlanOutcome { planned: None, diagnostics }
    }

    pub(crate) fn report_all(&self, problems: Vec<Diagnostic>) {
        self.diagnostics.lock().extend(problems);
    }

    /// Nothing is planned for what nobody knows the truth about.
    fn refuse_doubts(&self) {
        for doubt in self.snapshot.doubts.values() {
            self.report_all(vec![
                Diagnostic::error(
                    "Resource instance in doubt",
                    format!(
                        "Run {} began to {} {} and nobody knows whether it took place. Look at the real object, then say \
                         what happened: weft runs resolve {} '{}' -adopt ID | -absent | -retry | -forget.",
                        doubt.run, doubt.action, doubt.key, doubt.run, doubt.key.address
                    ),
                )
                .about(doubt.key.address.as_str()),
            ]);
        }
    }

    /// The instance's record in state.
    pub(crate) fn stored(&self, address: &ResourceInstance) -> Option<&weft_state::StoredInstance> {
        self.snapshot.instances.get(&address.to_string())
    }

    /// Notes an operation of a provider's shard, and an operation reference for what comes after.
    pub(crate) fn in_shard(&self, instance: &ProviderInstance, operation: OperationId) {
        self.in_shard.lock().entry(instance.clone()).or_default().push(operation);
    }

    pub(crate) fn applied(&self, instance: &ProviderInstance, operation: Ref<Applied>) -> OperationId {
        self.in_shard(instance, operation.id());
        operation.id()
    }
}
