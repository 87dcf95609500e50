//! Runs a plan: prepares, evaluates, plans orphans, applies the rules over all instances, and drafts the graph.

use std::collections::{BTreeMap, BTreeSet};
use std::sync::Arc;

use weft_evaluator::config::reach::{configuring, excluded_providers, needs, refreshed};
use weft_evaluator::given_variables::GivenVariables;
use weft_evaluator::relevant::{Changed, relevant_attributes};
use weft_evaluator::selection::Selection;
use weft_evaluator::{Begun, Counters, Declared, Session, begin_evaluation};
use weft_graph_format::address::{ModuleInstance, ProviderSource, ResourceInstance};
use weft_graph_format::changes::{Changes, RelevantAttribute, ResourceChange};
use weft_graph_format::diagnostic::{
    Diagnostic, FAILED_CONDITION, IGNORED_ATTRIBUTE, READ_FOR_CHECK, REDUNDANT_IGNORED, has_errors,
};
use weft_graph_format::graph::{Action, Builder, ExecutionGraph, FinishError};
use weft_graph_format::schema::ProviderSchema;
use weft_providers::Builtin;

use crate::agenda::planned::{PlannedStep, Work};
use crate::agenda::{Agenda, ReadResults};
use crate::ask::Ask;
use crate::draft::{Drafted, Drafting, output};
use crate::evaluated::Evaluated;
use crate::facts::Facts;
use crate::memory::Memories;
use crate::planner::Planner;
use crate::prior_state::PriorState;
use crate::problems;
use crate::provider_meta::ProviderMetas;
use crate::report::{Report, sort};
use crate::rules::Rules;
use crate::whole::outputs::{Outputs, hidden_changes, last_outputs, output_changes};
use crate::whole::{applied_part, bare, checking, moved, orphans, protection, remembering, selecting};

pub use crate::inputs::{PlanInputs, PlanKind, PlanOptions};
pub use crate::outcome::{PlanOutcome, Planned};

pub use crate::problems::DEPRECATED_VARIABLE;

/// Makes a plan. The outcome has no plan if not even a partial plan can be made, for example because the configuration
/// is invalid.
pub async fn plan(inputs: PlanInputs) -> PlanOutcome {
    plan_open(inputs, false).await.0
}

/// Makes a plan, like [`plan`]. If `open` is set, also returns the session of the evaluation.
pub async fn plan_open(inputs: PlanInputs, open: bool) -> (PlanOutcome, Option<Session>) {
    let (root, environment, given) = (inputs.root.clone(), inputs.environment.clone(), inputs.given.clone());
    let planner = match prepare(inputs).await {
        Ok(planner) => planner,
        Err(outcome) => return (*outcome, None),
    };
    let begun = begin_evaluation(root, planner.clone(), environment, given).await;
    planner.report.keep_evaluated(false);
    let Ok(begun) = begun else {
        // The configuration cannot be evaluated as a whole.
        return (nothing(&planner), None);
    };
    let (failed, session) = evaluate(&planner, begun).await;
    let imports = session.import_targets().await;
    // Frees the evaluated values before the rest of the plan, unless the caller keeps the session.
    let partial = *planner.facts.selection() != Selection::All;
    let session = Some(session).filter(|_| open || partial);
    let outcome = conclude(&planner, failed, &imports, session.as_ref()).await;
    (outcome, session.filter(|_| open))
}

/// The first pass: evaluates the configuration, and plans each instance that evaluation reaches.
async fn evaluate(planner: &Planner, begun: Begun) -> (bool, Session) {
    let (outcome, session) = begun.finish().await;
    planner.report.keep_evaluated(!planner.facts.rules.reports_warnings);
    (outcome.is_err(), session)
}

/// The steps after evaluation: orphans, the rules over all instances, and the draft. `failed` means that a part of the
/// evaluation failed.
async fn conclude(
    planner: &Arc<Planner>,
    failed: bool,
    imports: &BTreeSet<ResourceInstance>,
    session: Option<&Session>,
) -> PlanOutcome {
    let (rules, unread) = (planner.facts.rules, planner.facts.destroys_unread());
    let aimless = aimless_imports(&planner.evaluated(), imports);
    if !aimless.is_empty() {
        planner.ask.providers.close_ephemerals().await;
        // As in OpenTofu, other problems are not reported.
        planner.report.replace(aimless);
        return nothing(planner);
    }
    if rules.plans_orphans && (!failed || rules.plans_orphans_after_failure || unread) {
        // If the plan evaluates nothing, it is certain that everything in the state is deleted.
        plan_orphans(planner, failed && !unread).await;
    }
    planner.name_other_doubts();
    planner.report.add(planner.ask.providers.close_ephemerals().await);
    if rules.needs_success && !planner.facts.needs_providers_only() && planner.report.has_errors() {
        // As in OpenTofu, the refused changes are dropped: OpenTofu makes a normal plan before a destroy plan. If the
        // normal plan fails, no destroy is planned, so none is refused.
        planner.report.take_refused();
        return nothing(planner);
    }
    let still_there = moved::still_declared(&planner.facts.root, &planner.facts.declared, &planner.evaluated());
    if !still_there.is_empty() {
        // Other problems may be consequences of these errors, so only these errors are reported.
        planner.report.replace(still_there);
        return nothing(planner);
    }
    if let Some(session) = session.filter(|_| !failed) {
        evaluate_late_outputs(planner, session).await;
    }
    finish(planner, failed)
}

/// Evaluates the outputs that only apply reaches. Apply reports the problems of these outputs, so the plan does not.
async fn evaluate_late_outputs(planner: &Planner, session: &Session) {
    let names = applied_part::late_outputs(&planner.facts, &planner.evaluated(), &planner.agenda().changes);
    for name in names {
        let said = planner.report.length();
        if session.late_output(&name).await.is_err() {
            planner.report.forget_evaluated(said);
        }
        let mut evaluated = planner.evaluated();
        let found = evaluated.outputs.remove(&name);
        evaluated.late.extend(found.map(|output| (name, output)));
    }
}

/// An error for each import of an instance that the configuration does not have.
fn aimless_imports(evaluated: &Evaluated, imports: &BTreeSet<ResourceInstance>) -> Vec<Diagnostic> {
    let absent = imports.iter().filter(|address| match evaluated.resources.get(&address.all()) {
        Some(expansion) => !expansion.has(&address.key),
        None => evaluated.has_module(&address.module) == Some(false),
    });
    absent.map(problems::import_without_instance).collect()
}

/// Prepares a plan. Returns the outcome if planning cannot begin.
async fn prepare(inputs: PlanInputs) -> Result<Arc<Planner>, Box<PlanOutcome>> {
    let PlanInputs { root, environment, given, snapshot, providers, options, progress } = inputs;
    let rules = Rules::of(options.kind);
    let mut options = options;
    options.replace.sort();
    let mut said = match rules.validates {
        true => crate::validate(root.clone(), environment.clone(), providers.clone()).await,
        false => Vec::new(),
    };
    if !has_errors(&said) && !options.replace.is_empty() && !rules.replaces {
        said.push(problems::replace_unsupported());
    }
    if has_errors(&said) {
        return Err(refused(said));
    }
    let metas = ProviderMetas::of(&root, &providers).await;
    let declared = Declared::of(&root);
    let state = PriorState::of(snapshot.clone());
    let moved = match options.kind {
        // The `import` command moves nothing.
        PlanKind::Import => Ok(moved::unmoved(state)),
        _ => moved::apply_moves(&root, &declared, state),
    };
    let state = match moved {
        Ok(state) => state,
        Err(problems) => {
            said.extend(problems);
            sort(&mut said);
            return Err(refused(said));
        }
    };
    let report = Arc::new(Report::default());
    // A diagnostic of a provider about a block as a whole is not repeated at apply.
    let (of_blocks, said): (Vec<_>, Vec<_>) = said.into_iter().partition(|told: &Diagnostic| told.address.is_some());
    of_blocks.into_iter().for_each(|told| report.remark(told));
    report.add(said);
    report.blocked_moves(state.warnings);
    let partial = rules.empties_state && options.selection != Selection::All;
    let facts = Facts {
        configuring: if rules.begins_with_found { configuring(&root) } else { BTreeSet::new() },
        refreshed: match options.kind {
            PlanKind::RefreshOnly => refreshed(&root, &options.selection),
            _ => BTreeSet::new(),
        },
        going: partial.then(|| {
            let excluded = excluded_providers(&root, &options.selection);
            selecting::destroyed(&selecting::dependents(&state.state, &excluded), &options.selection)
        }),
        root,
        declared,
        environment,
        counters: Counters::default(),
        memories: Memories::of(&state.state),
        doubts: state.doubts,
        original: snapshot,
        state: state.state,
        moved: state.moved,
        rules,
        options,
    };
    let ask = Ask { providers, metas, progress, refresh: facts.options.refresh, report: report.clone() };
    let planner = Arc::new(Planner::new(facts, ask, report));
    remark(&planner, &given);
    let unfit = unfit(&planner.facts);
    if unfit.is_empty() {
        return Ok(planner);
    }
    planner.report.add(unfit);
    Err(Box::new(nothing(&planner)))
}

fn refused(diagnostics: Vec<Diagnostic>) -> Box<PlanOutcome> {
    Box::new(PlanOutcome { diagnostics, ..PlanOutcome::default() })
}

/// Reports the warnings about the plan as a whole.
fn remark(planner: &Planner, given: &GivenVariables) {
    let (facts, report) = (&planner.facts, &planner.report);
    selecting::in_effect(facts.selection(), &facts.declared).into_iter().for_each(|warning| report.remark(warning));
    deprecated_variables(facts, given).into_iter().for_each(|warning| report.remark(warning));
}

/// Problems of the state that make a plan impossible.
fn unfit(facts: &Facts) -> Vec<Diagnostic> {
    match moved::left_out(&facts.moved, facts.selection()) {
        Some(problem) => vec![problem],
        None => orphans::absent_providers(facts),
    }
}

/// Warnings about given values of deprecated root variables.
fn deprecated_variables(facts: &Facts, given: &GivenVariables) -> Vec<Diagnostic> {
    let variables = facts.root.variables.values().filter(|variable| given.contains_key(&variable.name));
    let warning = |variable: &Arc<weft_evaluator::config::Variable>| {
        variable.deprecated.as_ref().map(|notice| problems::deprecated_variable(variable, notice))
    };
    variables.filter_map(warning).collect()
}

/// Plans the objects that are in the state but not in the configuration.
async fn plan_orphans(planner: &Arc<Planner>, failed: bool) {
    let (found, problems) = orphans::orphans(&planner.facts, &planner.evaluated(), failed);
    planner.report.add(problems);
    let spawn = |orphan| {
        let planner = planner.clone();
        tokio::spawn(async move { planner.plan_orphan(orphan).await })
    };
    let tasks: Vec<_> = found.into_iter().map(spawn).collect();
    for task in tasks {
        match task.await {
            Ok(Ok(())) => {}
            Ok(Err(problems)) => planner.report.add(problems),
            Err(_) => planner.report.add(vec![problems::task_ended()]),
        }
    }
}

/// The results of the rules over all instances.
struct Ruled {
    changes: Changes,
    outputs: Outputs,
    evaluated: Evaluated,
    schemas: BTreeMap<ProviderSource, Arc<ProviderSchema>>,
}

/// The second pass: applies the rules over all instances.
fn rule(planner: &Planner, changes: Vec<ResourceChange>, found: &mut ReadResults) -> Ruled {
    let facts = &planner.facts;
    let mut evaluated = std::mem::take(&mut *planner.evaluated());
    let outputs = Outputs::of(facts, std::mem::take(&mut evaluated.outputs));
    let mut changes = Changes {
        resources: changes,
        drift: std::mem::take(&mut found.drift),
        outputs: output_changes(facts, &outputs),
        relevant: Vec::new(),
    };
    let mut refused = planner.report.take_refused();
    if facts.rules.needs_success {
        protection::stop_at_protected(&facts.state, &mut refused, &mut changes.resources);
    } else {
        let is_orphan =
            |address: &ResourceInstance| !evaluated.desired.contains(address) && facts.is_configured(&address.config());
        protection::stop_after_protected(&facts.state, &refused, &is_orphan, &mut changes.resources);
    }
    refused.into_iter().for_each(|(address, problem)| planner.report.refuse(&address, problem));
    for list in [&mut changes.resources, &mut changes.drift] {
        list.sort_by(|a, b| (a.address.in_lists(), &a.deposed).cmp(&(b.address.in_lists(), &b.deposed)));
    }
    let schemas = planner.ask.providers.schemas();
    let mut all = schemas.clone();
    all.insert(ProviderSource::builtin("terraform"), Builtin::schema());
    changes.relevant = relevant(facts, &evaluated, &changes, &all);
    Ruled { changes, outputs, evaluated, schemas }
}

/// The attributes that a plan depends on, by the configuration.
fn relevant(
    facts: &Facts,
    evaluated: &Evaluated,
    changes: &Changes,
    schemas: &BTreeMap<ProviderSource, Arc<ProviderSchema>>,
) -> Vec<RelevantAttribute> {
    if !facts.rules.rests_on_attributes {
        return Vec::new();
    }
    let resources = changes.resources.iter().filter(|change| !change.action.is_no_op());
    let root = changes.outputs.iter().filter(|(_, change)| change.action != Action::NoOp);
    let mut outputs = match facts.rules.empties_state {
        true => BTreeSet::new(),
        false => evaluated.module_outputs.clone(),
    };
    outputs.extend(root.map(|(name, _)| (ModuleInstance::root(), name.clone())));
    let changed = Changed { resources: resources.map(|change| change.address.all()).collect(), outputs };
    let found = relevant_attributes(&facts.root, schemas, &changed);
    found.into_iter().map(|(resource, path)| RelevantAttribute { resource, path }).collect()
}

/// Objects that are created first only because dependents require this order.
fn forced(work: &[Work]) -> BTreeSet<ResourceInstance> {
    let forced = work.iter().filter(|work| matches!(&work.step, PlannedStep::Change(change) if change.is_forced));
    forced.map(|work| work.address.clone()).collect()
}

/// Applies the rules over all instances, drafts the graph, and assembles the plan.
fn finish(planner: &Planner, failed: bool) -> PlanOutcome {
    let facts = &planner.facts;
    let mut agenda: Agenda = std::mem::take(&mut *planner.agenda());
    let mut found: ReadResults = std::mem::take(&mut *planner.found());
    let Ruled { changes, mut outputs, mut evaluated, schemas } =
        rule(planner, std::mem::take(&mut agenda.changes), &mut found);
    let mut gaps = std::mem::take(&mut evaluated.gaps);
    let checks = checking::check_results(facts, &evaluated, &changes.resources);
    let destroys_first = checking::stored_as_destroy_first(facts, &evaluated, forced(&agenda.work), &changes.resources);
    let configured = |instance: &_| planner.ask.providers.registered(instance);
    let active = checking::active(facts, &evaluated, &changes.resources);
    let mut applied = applied_part::leave_out(facts, &mut agenda, &changes.outputs, &active);
    // Outputs that only apply evaluates, and outputs that a partial destroy keeps.
    let mut hidden = std::mem::take(&mut evaluated.late);
    hidden.extend(outputs.kept_by_destroy(facts));
    applied.extend(hidden_changes(facts, &outputs, &hidden));
    outputs.wanted.extend(hidden);
    agenda.memories = remembering::memory_changes(facts, &evaluated, &mut gaps, &configured, &schemas, &agenda);
    let Drafted { builder, claims, records } = Drafting::of(facts, &configured, agenda, destroys_first);
    output::outputs(&builder, planner.kind(), &outputs.wanted, &applied, &mut gaps);
    let (mut diagnostics, remarks) = planner.report.take();
    let mut warnings: Vec<Diagnostic> =
        diagnostics.iter().filter(|d| !d.is_error() && is_kept(facts, d)).cloned().collect();
    checking::drop_unreached(facts, &evaluated, &mut warnings, &changes);
    checking::drop_unchanged(&evaluated, &mut warnings, &changes);
    sort(&mut warnings);
    diagnostics.extend(remarks);
    let finished = finished_graph(builder, &mut diagnostics);
    sort(&mut diagnostics);
    if failed && !has_errors(&diagnostics) {
        diagnostics.push(problems::failed_without_error());
    }
    let Some(graph) = finished else { return PlanOutcome { diagnostics, ..PlanOutcome::default() } };
    let check_needs = match checks.is_empty() {
        true => BTreeMap::new(),
        false => needs(&facts.root, &checking::evaluated_instances(facts, &evaluated, &changes.resources)),
    };
    let planned = Planned {
        last_outputs: last_outputs(facts, &outputs),
        claims: claims.settled(facts, &changes, &graph),
        applyable: records || !changes.is_empty(),
        changes,
        graph,
        schemas,
        provider_metas: planner.ask.metas.values().clone(),
        snapshot: bare::with_bare(facts, &evaluated, &found.bare),
        variables: evaluated.variables,
        refreshed: found.refreshed,
        deposed: found.deposed,
        found: found.read.into_iter().chain(found.imported).collect(),
        warnings,
        check_needs,
        checks,
    };
    PlanOutcome { planned: Some(planned), diagnostics, has_module_outputs: evaluated.has_module_outputs }
}

/// The finished graph. If operations wait for each other, the graph is empty, so that a plan that cannot be applied
/// still shows its changes.
fn finished_graph(builder: Builder, diagnostics: &mut Vec<Diagnostic>) -> Option<ExecutionGraph> {
    let error = match builder.finish() {
        Ok(graph) => return Some(graph),
        Err(error) => error,
    };
    diagnostics.push(match &error {
        FinishError::Cycle(members) => problems::cycle(members),
        other => problems::plan_unwritable(other),
    });
    match error {
        FinishError::Cycle(_) => Builder::new().finish().ok(),
        _ => None,
    }
}

/// Whether apply repeats a warning. Apply does not repeat warnings that are only about planning, or warnings about
/// failed conditions and about failed reads for check blocks. If an assertion can be decided only at apply, the plan
/// warns of this. Apply repeats this warning only if `rules.looks_again` is set.
fn is_kept(facts: &Facts, warning: &Diagnostic) -> bool {
    let open_until_apply = warning.is_open_check() && !facts.rules.looks_again;
    let of_plan = [READ_FOR_CHECK, FAILED_CONDITION, IGNORED_ATTRIBUTE, REDUNDANT_IGNORED];
    !open_until_apply && !of_plan.contains(&warning.code.as_str())
}

/// An outcome without a plan, with diagnostics only.
pub(crate) fn nothing(planner: &Planner) -> PlanOutcome {
    let (mut diagnostics, remarks) = planner.report.take();
    diagnostics.extend(remarks);
    sort(&mut diagnostics);
    PlanOutcome { diagnostics, ..PlanOutcome::default() }
}

/// Plans values only, and keeps the session open for queries. The session is `None` if nothing can be evaluated, for
/// example because references form a cycle. Other problems do not prevent queries.
pub async fn rehearse(inputs: PlanInputs) -> (Option<Session>, Vec<Diagnostic>) {
    let (root, environment, given) = (inputs.root.clone(), inputs.environment.clone(), inputs.given.clone());
    let planner = match prepare(inputs).await {
        Ok(planner) => planner,
        Err(outcome) => return (None, outcome.diagnostics),
    };
    let session = Session::begin(root, planner.clone(), environment, given).ok();
    if let Some(session) = &session {
        // A failure needs no handling here: its cause is among the reported problems.
        let _ = session.everything().await;
    }
    (session, nothing(&planner).diagnostics)
}
