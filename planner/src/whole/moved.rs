//! Applies `moved` blocks to the state.

use std::collections::{BTreeMap, BTreeSet};
use std::sync::Arc;

use rustc_hash::FxHashMap;
use weft_evaluator::Declared;
use weft_evaluator::config::CompiledModule;
use weft_evaluator::glue::{Expansion, ExpansionKind};
use weft_evaluator::selection::Selection;
use weft_graph_format::address::{ConfigResource, Module, ModuleInstance, ResourceInstance};
use weft_graph_format::diagnostic::{Diagnostic, has_errors};
use weft_state::{InstanceRecord, StoredInstance};

use super::moves::{KeyKind, Moves, Shape, Statement, apply_statements, in_order, statement_problems};
use super::problems;
use crate::doubts::Doubts;
use crate::evaluated::Evaluated;
use crate::prior_state::PriorState;
use crate::problems::Problems;

/// The state after moves.
pub(crate) struct MovedState {
    pub(crate) state: PriorState,
    /// The stored addresses of moved objects, by new address.
    pub(crate) moved: BTreeMap<ResourceInstance, ResourceInstance>,
    /// The doubts, at their old and new addresses.
    pub(crate) doubts: Doubts,
    pub(crate) warnings: Problems,
}

impl Shape for Declared {
    fn resource(&self, config: &ConfigResource) -> KeyKind {
        Declared::resource(self, config).map_or(KeyKind::Otherwise, |block| repeated(block.repeats))
    }

    fn module(&self, module: &Module) -> KeyKind {
        Declared::module(self, module).map_or(KeyKind::Otherwise, repeated)
    }
}

fn repeated(kind: ExpansionKind) -> KeyKind {
    match kind {
        ExpansionKind::Single | ExpansionKind::Enabled => KeyKind::Once,
        ExpansionKind::Count => KeyKind::Count,
        ExpansionKind::ForEach => KeyKind::Otherwise,
    }
}

/// An error for each statement whose source is a whole resource or module call that is still declared. These errors are
/// known before planning.
fn declared_still(statements: &[Statement], declared: &Declared) -> Problems {
    let found = statements.iter().filter_map(|statement| {
        let (from, to) = (&statement.from, &statement.to);
        if statement.by_instance() || (from.module == to.module && from.resource == to.resource) {
            return None;
        }
        let module = from.module_from(&statement.base);
        let (there, name) = match &from.resource {
            Some((resource, _)) => {
                let config = ConfigResource { module, resource: resource.clone() };
                (declared.has(&config), config.to_string())
            }
            None => (Declared::module(declared, &module).is_some(), module.to_string()),
        };
        there.then(|| problems::moved_object_still_exists(&name, &statement.range))
    });
    found.collect()
}

fn statements(root: &Arc<CompiledModule>) -> Vec<Statement> {
    let all = root.all();
    all.iter().flat_map(|m| m.statements.moved.iter().map(|block| Statement::new(&m.path, block))).collect()
}

/// The state without any moves.
pub(crate) fn unmoved(state: PriorState) -> MovedState {
    let doubts = Doubts::of(state.snapshot(), |_| BTreeMap::new());
    MovedState { state, moved: BTreeMap::new(), doubts, warnings: Vec::new() }
}

/// Applies the moves of the configuration to the state.
///
/// # Errors
/// Returns an error if a `moved` block is invalid, or if the blocks contradict each other.
pub(crate) fn apply_moves(
    root: &Arc<CompiledModule>,
    declared: &Declared,
    state: PriorState,
) -> Result<MovedState, Problems> {
    let statements = statements(root);
    let mut problems = statement_problems(&statements);
    if has_errors(&problems) {
        problems.extend(declared_still(&statements, declared));
        return Err(problems);
    }
    // If an invalid statement explains the cycle, only that statement is reported.
    let order = in_order(&statements).map_err(|circle| {
        let mistakes = declared_still(&statements, declared);
        if mistakes.is_empty() { vec![circle] } else { mistakes }
    })?;
    let addresses = state.managed().map(|(address, _)| address.clone());
    let Moves { moved, blocked } = apply_statements(&order, addresses, declared);
    if !blocked.is_empty() {
        problems.push(problems::moves_blocked(&blocked));
    }
    let doubts = Doubts::of(state.snapshot(), |found| apply_statements(&order, found.into_iter(), declared).moved);
    if moved.is_empty() {
        return Ok(MovedState { state, moved, doubts, warnings: problems });
    }
    let mut snapshot = (**state.snapshot()).clone();
    let mut taken: Vec<(ResourceInstance, StoredInstance)> = Vec::new();
    for (new, old) in &moved {
        let found = snapshot.instances.remove(old);
        taken.extend(found.map(|stored| (new.clone(), stored)));
    }
    for (address, stored) in taken {
        let record = InstanceRecord { address: address.clone(), ..stored.record };
        snapshot.instances.insert(address, StoredInstance { record, ..stored });
    }
    Ok(MovedState { state: PriorState::of(Arc::new(snapshot)), moved, doubts, warnings: problems })
}

/// An error if the selection leaves out moved objects, because the plan would lose track of such objects.
pub(crate) fn left_out(
    moved: &BTreeMap<ResourceInstance, ResourceInstance>,
    selection: &Selection,
) -> Option<Diagnostic> {
    let away = |address: &&ResourceInstance| !selection.covers(address);
    let left_out: BTreeSet<String> =
        moved.iter().flat_map(|(to, from)| [from, to]).filter(away).map(|found| found.all().to_string()).collect();
    if left_out.is_empty() {
        return None;
    }
    let way_out = match selection {
        Selection::Only(_) => "add a -target option for each of them",
        _ => "remove the -exclude options that name them",
    };
    let names: Vec<&str> = left_out.iter().map(String::as_str).collect();
    Some(problems::moves_left_out(&names, way_out))
}

/// An error for each statement whose source is still declared, by the expansions of evaluation.
pub(crate) fn still_declared(root: &Arc<CompiledModule>, declared: &Declared, evaluated: &Evaluated) -> Problems {
    let statements = statements(root);
    if statements.is_empty() {
        return Vec::new();
    }
    let expanded = Expanded::of(evaluated);
    let wrong = statements
        .iter()
        .filter_map(|s| Some(problems::moved_object_still_exists(&still_there(s, declared, &expanded)?, &s.range)));
    wrong.collect()
}

/// Answers queries about expansions, from evaluation and the configuration.
struct Expanded<'a> {
    resources: FxHashMap<ConfigResource, Vec<(&'a ModuleInstance, &'a Expansion)>>,
    modules: FxHashMap<Module, Vec<&'a Expansion>>,
}

impl Expanded<'_> {
    fn of(evaluated: &Evaluated) -> Expanded<'_> {
        let mut found = Expanded { resources: FxHashMap::default(), modules: FxHashMap::default() };
        for (resource, expansion) in &evaluated.resources {
            found.resources.entry(resource.config()).or_default().push((&resource.module, expansion));
        }
        for ((parent, name), expansion) in &evaluated.modules {
            found.modules.entry(parent.config().child(name)).or_default().push(expansion);
        }
        found
    }
}

/// The source of a statement, if an instance of the containing module declares it.
fn still_there(statement: &Statement, declared: &Declared, expanded: &Expanded<'_>) -> Option<String> {
    let module = statement.from.module_from(&statement.base);
    if let Some((resource, key)) = &statement.from.resource {
        let config = ConfigResource { module, resource: resource.clone() };
        if !declared.has(&config) {
            return None;
        }
        let whole = !statement.by_instance();
        let declares = expanded
            .resources
            .get(&config)?
            .iter()
            .any(|(found, expansion)| found.0.ends_with(&statement.from.module.0) && (whole || expansion.has(key)));
        return declares.then(|| config.to_string());
    }
    let step = statement.from.module.0.last()?;
    let found = expanded.modules.get(&module)?;
    let declares = found.iter().any(|expansion| !statement.by_instance() || expansion.has(&step.key));
    declares.then(|| module.to_string())
}
