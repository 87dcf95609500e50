//! State with its objects under the addresses that they go by now.

use std::collections::{BTreeMap, BTreeSet};
use std::sync::Arc;

use rustc_hash::FxHashMap;
use weft_evaluator::config::{CompiledModule, Repetition};
use weft_evaluator::selection::Selection;
use weft_graph_format::address::{ConfigResource, InstanceKey, Module, ResourceInstance};
use weft_graph_format::diagnostic::{Diagnostic, has_errors};
use weft_state::{InstanceRecord, ResourceMode, Snapshot, StoredInstance};

use super::{Planning, Problems};
use crate::moves::{Moves, Repeated, Shape, Statement, carry_out, in_order, statement_problems};

/// State after moving.
pub(crate) struct MovedState {
    pub(crate) snapshot: Arc<Snapshot>,
    /// By the address that an object goes by now: the one that the store has.
    pub(crate) moved: BTreeMap<ResourceInstance, ResourceInstance>,
    pub(crate) warnings: Problems,
}

struct Configured {
    resources: FxHashMap<ConfigResource, Repeated>,
    modules: FxHashMap<Module, Repeated>,
}

impl Shape for Configured {
    fn resource(&self, config: &ConfigResource) -> Repeated {
        self.resources.get(config).copied().unwrap_or(Repeated::Otherwise)
    }

    fn module(&self, module: &Module) -> Repeated {
        self.modules.get(module).copied().unwrap_or(Repeated::Otherwise)
    }
}

fn repeated(repetition: &Repetition) -> Repeated {
    match repetition {
        Repetition::Single | Repetition::Enabled(_) => Repeated::Once,
        Repetition::Count(_) => Repeated::Count,
        Repetition::ForEach(_) => Repeated::Otherwise,
    }
}

fn configured(root: &Arc<CompiledModule>) -> Configured {
    let mut found = Configured { resources: FxHashMap::default(), modules: FxHashMap::default() };
    for module in root.all() {
        for (resource, block) in &module.resources {
            let config = ConfigResource { module: module.path.clone(), resource: resource.clone() };
            found.resources.insert(config, repeated(&block.repetition));
        }
        for (name, call) in &module.calls {
            found.modules.insert(module.path.child(name), repeated(&call.repetition));
        }
    }
    found
}

/// An error for each statement whose source, a resource as a whole, is still declared: that much is known before
/// anything is planned.
fn declared_still(statements: &[Statement], configured: &Configured) -> Problems {
    let found = statements.iter().filter_map(|statement| {
        let (resource, _) = statement.from.resource.as_ref()?;
        let module = statement.from.module_from(&statement.base);
        let config = ConfigResource { module, resource: resource.clone() };
        let (from, to) = (&statement.from, &statement.to);
        let moves = from.module != to.module || from.resource != to.resource;
        let there = moves && !statement.by_instance() && configured.resources.contains_key(&config);
        there.then(|| still_exists(&config.to_string(), statement))
    });
    found.collect()
}

fn still_exists(from: &str, statement: &Statement) -> Diagnostic {
    Diagnostic::error(
        "Moved object still exists",
        format!(
            "This block says that {from} goes by another address now, and the configuration still declares it. Take \
             the declaration out, or the block."
        ),
    )
    .at(statement.range.clone())
}

fn statements(root: &Arc<CompiledModule>) -> Vec<Statement> {
    let all = root.all();
    all.iter().flat_map(|m| m.moved.iter().map(|block| Statement::new(&m.path, block))).collect()
}

/// Moves what state has to where the configuration says that it belongs.
///
/// # Errors
/// Statements that contradict each other.
pub(crate) fn carry_out_moves(root: &Arc<CompiledModule>, snapshot: &Arc<Snapshot>) -> Result<MovedState, Problems> {
    let statements = statements(root);
    let mut problems = statement_problems(&statements);
    if has_errors(&problems) {
        problems.extend(declared_still(&statements, &configured(root)));
        return Err(problems);
    }
    // Where a mistake explains the circle, the mistake is reported.
    let order = in_order(&statements).map_err(|circle| {
        let mistakes = declared_still(&statements, &configured(root));
        if mistakes.is_empty() { vec![circle] } else { mistakes }
    })?;
    let managed = snapshot.instances.iter().filter(|(_, stored)| stored.record.mode == ResourceMode::Managed);
    let addresses = managed.filter_map(|(text, _)| text.parse::<ResourceInstance>().ok());
    let Moves { moved, blocked } = carry_out(&order, addresses, &configured(root));
    if !blocked.is_empty() {
        let pairs: Vec<String> = blocked.iter().map(|(from, to)| format!("\n  - {from} to {to}")).collect();
        problems.push(Diagnostic::warning(
            "Unresolved resource instance address changes",
            format!(
                "These objects could not be moved, since there is another one at the new address already:{}\n\nBoth are \
                 kept where they are. What is not wanted of them is planned to be destroyed; take it out of state or \
                 move it elsewhere if that is not what you want.",
                pairs.concat()
            ),
        ));
    }
    if moved.is_empty() {
        return Ok(MovedState { snapshot: snapshot.clone(), moved, warnings: problems });
    }
    let mut state = (**snapshot).clone();
    let taken: Vec<(ResourceInstance, StoredInstance)> =
        moved.iter().filter_map(|(new, old)| Some((new.clone(), state.instances.remove(&old.to_string())?))).collect();
    for (address, stored) in taken {
        let record = renamed(&address, stored.record);
        state.instances.insert(record.address.clone(), StoredInstance { record, ..stored });
    }
    Ok(MovedState { snapshot: Arc::new(state), moved, warnings: problems })
}

fn renamed(address: &ResourceInstance, record: InstanceRecord) -> InstanceRecord {
    let key = match &address.key {
        InstanceKey::None => weft_state::InstanceKey::None,
        InstanceKey::Int(i) => weft_state::InstanceKey::Int(i64::try_from(*i).unwrap_or(i64::MAX)),
        InstanceKey::String(key) => weft_state::InstanceKey::Str(key.to_string()),
    };
    let (type_name, name) = (address.resource.type_name.as_str(), address.resource.name.as_str());
    let empty =
        InstanceRecord::new(address.module.to_string(), record.mode, type_name, name, key, record.provider.clone());
    InstanceRecord { current: record.current, deposed: record.deposed, ..empty }
}

impl Planning {
    /// The address under which the store has an object, when it is another one.
    pub(crate) fn previous(&self, address: &ResourceInstance) -> Option<&ResourceInstance> {
        self.moved.get(address)
    }

    /// The address that the plan says an object had before. A plan to destroy that looks at everything first begins with
    /// the objects where they are by then.
    pub(crate) fn shown_previous(&self, address: &ResourceInstance) -> Option<ResourceInstance> {
        match self.options.destroy && self.options.refresh {
            true => None,
            false => self.previous(address).cloned(),
        }
    }

    /// An error when the selection leaves out objects that go by another address now: the plan would lose sight of them.
    pub(crate) fn moves_left_out(&self) -> Vec<Diagnostic> {
        let selection = &self.options.selection;
        let away = |address: &&ResourceInstance| !selection.covers(address);
        let left_out: BTreeSet<String> = self
            .moved
            .iter()
            .flat_map(|(to, from)| [from, to])
            .filter(away)
            .map(|found| found.all().to_string())
            .collect();
        if left_out.is_empty() {
            return Vec::new();
        }
        let way_out = match selection {
            Selection::Only(_) => "add -target options for them",
            _ => "take the -exclude options for them away",
        };
        let names: Vec<&str> = left_out.iter().map(String::as_str).collect();
        vec![Diagnostic::error(
            "Moved resource instances excluded by targeting",
            format!(
                "The configuration has other addresses for objects of the state, and the options leave these out: {}. \
                 Either {way_out}, or plan everything.",
                names.join(", ")
            ),
        )]
    }

    /// An error for each statement whose source is still declared.
    pub(crate) fn check_moves(&self) -> Problems {
        let statements = statements(&self.root);
        let wrong = statements.iter().filter_map(|s| Some(still_exists(&self.still_there(s)?, s)));
        wrong.collect()
    }

    /// The source of a statement, when an instance of the containing module declares it.
    fn still_there(&self, statement: &Statement) -> Option<String> {
        let module = statement.from.module_from(&statement.base);
        if let Some((resource, key)) = &statement.from.resource {
            let config = ConfigResource { module, resource: resource.clone() };
            if !self.blocks.contains_key(&config) {
                return None;
            }
            let whole = !statement.by_instance();
            let resources = self.resources.lock();
            let declares = resources.iter().any(|(found, expansion)| {
                found.config() == config
                    && found.module.0.ends_with(&statement.from.module.0)
                    && (whole || expansion.keys.contains(key))
            });
            return declares.then(|| config.to_string());
        }
        let step = statement.from.module.0.last()?;
        let parent = module.parent()?;
        let modules = self.modules.lock();
        let declares = modules.iter().any(|((found, name), expansion)| {
            *name == step.name
                && found.config() == parent
                && (!statement.by_instance() || expansion.keys.contains(&step.key))
        });
        declares.then(|| module.to_string())
    }
}
