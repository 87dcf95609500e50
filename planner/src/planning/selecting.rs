//! A part of the plan: what is wanted of it, and what stands for the rest.

use std::collections::{BTreeMap, BTreeSet};

use rustc_hash::FxHashSet;
use weft_evaluator::glue::Expansion;
use weft_evaluator::selection::Selection;
use weft_expressions::resource_rules::all_null;
use weft_graph_format::address::{AbsResource, InstanceKey, ModuleInstance, ResourceInstance};
use weft_graph_format::codec::json;
use weft_graph_format::diagnostic::Diagnostic;
use weft_graph_format::formula::Formula;
use weft_graph_format::schema::Schema;
use weft_graph_format::value::{Transform, Value};
use weft_state::{ResourceMode, Snapshot};

use super::Planning;
use super::order::is_of_module;
use crate::prior::with_schema_marks;

/// Which objects a plan to destroy is about.
///
/// What depends on a destroyed object goes with it; what an excluded object depends on stays with it. Both are told by
/// the dependencies that state has.
pub(crate) fn destroyed(snapshot: &Snapshot, selection: &Selection) -> BTreeSet<String> {
    let managed = snapshot.instances.iter().filter(|(_, stored)| stored.record.mode == ResourceMode::Managed);
    let all: BTreeMap<&String, ResourceInstance> =
        managed.filter_map(|(text, _)| Some((text, text.parse::<ResourceInstance>().ok()?))).collect();
    // By what is named: the resource as configured, and the module instance where it is of the same module. Instances
    // of one module have nothing to do with each other.
    let mut of_config: BTreeMap<(String, Option<&ModuleInstance>), Vec<&String>> = BTreeMap::new();
    let mut dependents: BTreeMap<(String, Option<&ModuleInstance>), Vec<&String>> = BTreeMap::new();
    let named_by = |name: &str, address: &ResourceInstance| is_of_module(name, &address.module.config());
    for (text, address) in &all {
        let config = address.config().to_string();
        of_config.entry((config.clone(), None)).or_default().push(text);
        of_config.entry((config, Some(&address.module))).or_default().push(text);
        for name in snapshot.instances[*text].record.dependencies() {
            let own = named_by(name, address).then_some(&address.module);
            dependents.entry((name.to_string(), own)).or_default().push(text);
        }
    }
    let keeps = matches!(selection, Selection::AllBut(_));
    let named = |address: &ResourceInstance| selection.covers(address) != keeps;
    let mut found: BTreeSet<&String> = BTreeSet::new();
    let mut pending: Vec<&String> = all.iter().filter(|(_, address)| named(address)).map(|(text, _)| *text).collect();
    while let Some(text) = pending.pop() {
        if !found.insert(text) {
            continue;
        }
        // What is taken out of an index is not needed there again.
        let address = &all[text];
        if keeps {
            for name in snapshot.instances[text].record.dependencies() {
                let own = named_by(name, address).then_some(&address.module);
                pending.extend(of_config.remove(&(name.to_string(), own)).into_iter().flatten());
            }
        } else {
            let config = address.config().to_string();
            for own in [None, Some(&address.module)] {
                pending.extend(dependents.remove(&(config.clone(), own)).into_iter().flatten());
            }
        }
    }
    all.keys().filter(|text| found.contains(*text) != keeps).map(|text| (*text).clone()).collect()
}

impl Planning {
    /// Says that the plan is about a part only.
    pub(crate) fn remark_selection(&self) {
        if self.options.selection != Selection::All {
            self.remark(Diagnostic::warning(
                "Resource targeting is in effect",
                "With -target or -exclude a part of the configuration is planned, so the result may not be what the \
                 configuration as a whole says. This is for getting out of trouble, not for every day.",
            ));
        }
    }

    /// Says where an option wants a resource replaced and names none of its instances.
    pub(crate) fn remark_replace_wishes(&self, resource: &AbsResource, expansion: &Expansion) {
        let plain = expansion.keys.as_slice() == [InstanceKey::None];
        let wishes =
            self.replace.iter().filter(|wish| wish.key == InstanceKey::None && wish.resource == resource.resource);
        for wish in wishes.filter(|_| !plain) {
            let instances: Vec<String> =
                expansion.keys.iter().map(|key| format!("-replace='{}'", resource.instance(key.clone()))).collect();
            let way_out = match instances.as_slice() {
                [] => "It has no instances now.".to_owned(),
                found => format!("Name the instance: {}.", found.join(", ")),
            };
            self.remark(Diagnostic::warning(
                "Incompletely-matched force-replace resource instance",
                format!(
                    "The option -replace={wish} names no instance of {resource}, so nothing is replaced. {way_out}"
                ),
            ));
        }
    }

    /// Whether an object that state has and nobody wants is planned to go.
    pub(crate) fn is_selected_orphan(&self, address: &ResourceInstance) -> bool {
        if self.options.destroy {
            return self.is_selected_to_go(address);
        }
        let selection = &self.options.selection;
        match (selection, self.blocks.contains_key(&address.config())) {
            (Selection::All, _) => true,
            // Of a resource that the selection keeps away nobody looked how many there are to be.
            (_, true) => self.resources.lock().contains_key(&address.all()) && !selection.leaves_out(address),
            (_, false) => selection.covers(address),
        }
    }

    /// Whether a plan to destroy is about an object.
    pub(crate) fn is_selected_to_go(&self, address: &ResourceInstance) -> bool {
        self.options.selection == Selection::All || self.going.contains(&address.to_string())
    }

    /// What stands for an instance that is left out: the object as state has it; none when there is none.
    pub(crate) fn stored_value(&self, address: &ResourceInstance, schema: &Schema) -> Option<Value> {
        let object = self.stored(address)?.record.current.as_ref()?;
        let value = json::decode(object.attributes.as_str().as_bytes(), &schema.block.implied_type()).ok()?;
        Some(with_schema_marks(&value, schema))
    }
}

/// What stands for an instance that is not there: something unknown that comes to nothing.
pub(crate) fn nothing(schema: &Schema) -> Value {
    let ty = schema.block.implied_type();
    Value::unknown(ty).with_formula(Some(Formula::constant(all_null(&schema.block))))
}

impl Planning {
    /// The value with null for what comes from instances that the selection leaves out and that are not there: apply
    /// cannot know it either.
    pub(crate) fn without_gaps(&self, value: &Value) -> Value {
        let gaps = self.gaps.lock();
        if gaps.is_empty() {
            return value.clone();
        }
        let mut clean = FxHashSet::default();
        value.transform(&mut |_, part| match part.formula() {
            Some(formula) if !part.is_known() && comes_from(formula, &gaps, &mut clean) => {
                Transform::Replace(Value::null(part.ty()))
            }
            _ => Transform::Descend,
        })
    }
}

/// Whether a formula is computed from any of these. `clean` keeps what is not, so that shared parts are walked once.
fn comes_from(formula: &Formula, gaps: &[Formula], clean: &mut FxHashSet<usize>) -> bool {
    let (mut pending, mut seen) = (vec![formula.clone()], FxHashSet::default());
    while let Some(next) = pending.pop() {
        if gaps.iter().any(|gap| gap.same(&next)) {
            return true;
        }
        if !clean.contains(&next.identity()) && seen.insert(next.identity()) {
            next.operands(|operand| pending.push(operand.clone()));
        }
    }
    clean.extend(seen);
    false
}
