//! The changes so far. They determine whether a `replace_triggered_by` reference triggers a replacement, and whether a
//! data source waits.

use rustc_hash::{FxHashMap, FxHashSet};
use smol_str::SmolStr;
use weft_evaluator::glue::{NamedObjects, Trigger};
use weft_graph_format::address::{AbsResource, ResourceInstance};
use weft_graph_format::diagnostic::Diagnostic;
use weft_graph_format::path::Path;
use weft_graph_format::value::Value;

use super::problems;

/// The changed instances of a resource, with their values before and after.
type Alterations = FxHashMap<ResourceInstance, (Value, Value)>;

/// The planned changes.
#[derive(Debug, Default)]
pub(crate) struct Effects {
    /// Resources that change.
    pending: FxHashSet<AbsResource>,
    /// The changing resources by their configured addresses, which dependencies use.
    changing: FxHashSet<SmolStr>,
    /// The changes of instances. A resource with an empty entry is in the plan but triggers nothing.
    altered: FxHashMap<AbsResource, Alterations>,
    /// Cached answers of [`Effects::fires`] for whole resources. `None` if the resource is not in the plan.
    fired: FxHashMap<(AbsResource, Path), Option<bool>>,
}

impl Effects {
    /// Records that an instance changes.
    pub(crate) fn happens_to(&mut self, address: &ResourceInstance) {
        if self.pending.insert(address.all()) {
            self.changing.insert(SmolStr::from(address.config().to_string()));
        }
    }

    /// Records the values of a changed instance.
    pub(crate) fn alters(&mut self, address: &ResourceInstance, before: Value, after: Value) {
        self.altered.entry(address.all()).or_default().insert(address.clone(), (before, after));
    }

    /// Records that a resource is in the plan, changed or not.
    pub(crate) fn takes_part(&mut self, resource: AbsResource) {
        self.altered.entry(resource).or_default();
    }

    /// Whether the resource of any of these objects changes.
    pub(crate) fn is_any_pending(&self, named: &[NamedObjects]) -> bool {
        named.iter().any(|named| self.pending.contains(&named.resource))
    }

    /// Whether any of these configured resources changes.
    pub(crate) fn is_any_changing(&self, dependencies: &[SmolStr]) -> bool {
        dependencies.iter().any(|name| self.changing.contains(name))
    }

    /// Whether the resource of any of these objects is in the plan.
    pub(crate) fn is_any_in_plan(&self, named: &[NamedObjects]) -> bool {
        named.iter().any(|named| self.altered.contains_key(&named.resource))
    }

    /// Whether the target of a trigger changes. The target is already planned, so the answer for a whole resource is
    /// cached. `is_there` returns whether the target is managed, and is desired or in the state.
    ///
    /// # Errors
    /// Returns an error if the target is not in the plan: a missing instance, a resource without instances, or a data
    /// source that was already read.
    pub(crate) fn fires(&mut self, trigger: &Trigger, is_there: impl FnOnce() -> bool) -> Result<bool, Diagnostic> {
        let altered = self.altered.get(&trigger.resource);
        if let Some(key) = &trigger.key {
            let own = altered.and_then(|a| a.get(&trigger.resource.instance(key.clone())));
            let there = || is_there() || !is_managed(trigger) && altered.is_some();
            return match own {
                Some(found) => Ok(differs(&trigger.path, found)),
                None if there() => Ok(false),
                None => Err(problems::no_change_found(&trigger.resource, trigger.key.as_ref())),
            };
        }
        let question = (trigger.resource.clone(), trigger.path.clone());
        let answer = match self.fired.get(&question) {
            Some(answer) => *answer,
            None => {
                let fired = altered.map(|found| found.values().any(|pair| differs(&trigger.path, pair)));
                let answer = fired.or_else(|| is_there().then_some(false));
                self.fired.insert(question, answer);
                answer
            }
        };
        answer.ok_or_else(|| problems::no_change_found(&trigger.resource, trigger.key.as_ref()))
    }
}

fn is_managed(trigger: &Trigger) -> bool {
    trigger.resource.resource.mode == weft_graph_format::address::ResourceMode::Managed
}

fn differs(path: &Path, (before, after): &(Value, Value)) -> bool {
    if path.0.is_empty() {
        return true;
    }
    match (before.at_path(path), after.at_path(path)) {
        (Ok(before), Ok(after)) => !after.is_wholly_known() || !after.same_unmarked(&before),
        (Err(_), Err(_)) => false,
        _ => true,
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use weft_graph_format::address::InstanceKey;
    use weft_graph_format::types::Type;

    #[test]
    fn a_changed_trigger_fires() {
        let object = |n: Value| Value::object([("n", n), ("same", Value::int(1))]);
        let mut effects = Effects::default();
        let changed: ResourceInstance = "a.x[0]".parse().unwrap();
        effects.alters(&changed, object(Value::int(1)), object(Value::int(2)));
        let later: ResourceInstance = "a.y".parse().unwrap();
        effects.alters(&later, object(Value::int(1)), object(Value::unknown(Type::Number)));
        effects.takes_part("data.a.d".parse().unwrap());
        let path = |name: &str| if name.is_empty() { Path::ROOT } else { Path::ROOT.attribute(name) };
        for (resource, key, name, there, want) in [
            ("a.x", None, "", true, Some(true)),
            ("a.x", None, "n", true, Some(true)),
            ("a.x", None, "same", true, Some(false)),
            ("a.x", Some(0), "n", true, Some(true)),
            ("a.x", Some(1), "n", true, Some(false)),
            ("a.x", Some(2), "", false, None),
            ("a.y", None, "n", true, Some(true)),
            ("a.z", None, "", true, Some(false)),
            ("a.none", None, "", false, None),
            ("data.a.d", None, "", false, Some(false)),
            ("data.a.d", Some(0), "", false, Some(false)),
            ("data.a.read", None, "", false, None),
        ] {
            let resource: AbsResource = resource.parse().unwrap();
            let trigger = Trigger { resource, key: key.map(InstanceKey::Int), path: path(name) };
            // The second call uses the cached answer.
            for _ in 0..2 {
                assert_eq!(effects.fires(&trigger, || there).ok(), want, "{trigger:?}");
            }
        }
    }

    #[test]
    fn pending_changes_are_found_by_address() {
        let mut effects = Effects::default();
        effects.happens_to(&"module.m[0].a.x[1]".parse().unwrap());
        let of = |text: &str| [NamedObjects { resource: text.parse().unwrap(), key: None }];
        assert!(effects.is_any_pending(&of("module.m[0].a.x")) && !effects.is_any_pending(&of("module.m[1].a.x")));
        assert!(effects.is_any_changing(&[SmolStr::new("module.m.a.x")]) && !effects.is_any_changing(&["a.x".into()]));
        assert!(!effects.is_any_in_plan(&of("module.m[0].a.x")));
    }
}
