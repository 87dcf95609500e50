//! `prevent_destroy`: protected objects.

use std::collections::BTreeSet;
use std::sync::Arc;

use weft_evaluator::glue::Protection;
use weft_expressions::convert::convert;
use weft_graph_format::address::{ConfigResource, ResourceInstance};
use weft_graph_format::changes::ResourceChange;
use weft_graph_format::diagnostic::Diagnostic;
use weft_graph_format::types::Type;
use weft_graph_format::value::Value;

use super::problems::{self, InvalidProtection, UnusableProtection};
use crate::evaluated::Evaluated;
use crate::facts::Facts;
use crate::prior_state::{Names, PriorState};
use crate::problems::Problems;

/// A refused change, with the reason.
pub(crate) type Refused = (ResourceInstance, Diagnostic);

/// The verdict on a change that removes an object.
#[derive(Debug, PartialEq)]
pub(crate) enum RemovalVerdict {
    /// The change is allowed.
    Allowed,
    /// The value of `prevent_destroy` is invalid.
    Unfit(Vec<Diagnostic>),
    /// The change is refused. It stays in the plan, so that the user sees it.
    Refused(Box<Diagnostic>),
}

impl RemovalVerdict {
    /// Fails if the change is not allowed.
    ///
    /// # Errors
    /// The problems of the change.
    pub(crate) fn allowed(self) -> Result<(), Problems> {
        match self {
            RemovalVerdict::Allowed => Ok(()),
            RemovalVerdict::Unfit(problems) => Err(problems),
            RemovalVerdict::Refused(problem) => Err(vec![*problem]),
        }
    }
}

/// The protection of an instance. If its module instance no longer exists, the value is computed without the names of
/// the module. If evaluation did not reach the module instance, only a value without such names counts.
pub(crate) fn protection(evaluated: &Evaluated, facts: &Facts, address: &ResourceInstance) -> Option<Protection> {
    if let Some(found) = evaluated.protection(address) {
        return Some(found.clone());
    }
    if evaluated.resources.contains_key(&address.all()) {
        return None;
    }
    let found = facts.declared.protection_without_module(&address.config(), &facts.environment, &facts.counters)?;
    let is_gone = evaluated.has_module(&address.module) == Some(false);
    (is_gone || found.value.is_wholly_known()).then_some(found)
}

/// Problems of a `prevent_destroy` that do not depend on changes.
pub(crate) fn problems_of(protection: &Protection) -> Vec<Diagnostic> {
    if let Some((name, at)) = &protection.of_instances {
        return vec![problems::prevent_destroy_of_instances(name, at)];
    }
    if !protection.wrong.is_empty() {
        return protection.wrong.clone();
    }
    let unfit = unfit(&protection.value).map(|why| problems::invalid_prevent_destroy(why, &protection.at));
    unfit.into_iter().collect()
}

/// Decides whether an object may be "destroyed" or "replaced" (`what`).
pub(crate) fn verdict(protection: Option<&Protection>, address: &ResourceInstance, what: &str) -> RemovalVerdict {
    let Some(protection) = protection else { return RemovalVerdict::Allowed };
    let found = problems_of(protection);
    if !found.is_empty() {
        return RemovalVerdict::Unfit(found);
    }
    match prevents(protection) {
        Ok(false) => RemovalVerdict::Allowed,
        Ok(true) => RemovalVerdict::Refused(Box::new(problems::protected(address, what, &protection.range))),
        Err(why) => {
            let problem = problems::unusable_prevent_destroy(address, what, why, &protection.at);
            RemovalVerdict::Refused(Box::new(problem))
        }
    }
}

/// Removes the deletes of the dependencies of protected objects from a destroy plan.
pub(crate) fn stop_at_protected(state: &PriorState, refused: &mut Vec<Refused>, changes: &mut Vec<ResourceChange>) {
    if refused.is_empty() {
        return;
    }
    let mut names = Names::default();
    let mut kept: BTreeSet<Arc<ConfigResource>> = BTreeSet::new();
    for (address, _) in refused.iter() {
        if let Some(stored) = state.get(address) {
            kept.extend(stored.instance.record.dependencies().into_iter().filter_map(|text| names.resource(text)));
        }
    }
    let goes_on = |address: &ResourceInstance| !kept.contains(&address.config());
    refused.retain(|(address, _)| goes_on(address));
    changes.retain(|change| goes_on(&change.address));
}

/// Removes from a normal plan the deletes of orphans whose blocks depend on protected objects. As in OpenTofu, the plan
/// does not reach the blocks that depend on a failed one.
pub(crate) fn stop_after_protected(
    state: &PriorState,
    refused: &[Refused],
    is_orphan: &dyn Fn(&ResourceInstance) -> bool,
    changes: &mut Vec<ResourceChange>,
) {
    if refused.is_empty() {
        return;
    }
    let failed: BTreeSet<ConfigResource> = refused.iter().map(|(address, _)| address.config()).collect();
    let mut names = Names::default();
    changes.retain(|change| {
        let stored = state.get(&change.address).filter(|_| is_orphan(&change.address));
        let mut needs = stored.into_iter().flat_map(|stored| stored.instance.record.dependencies());
        !needs.any(|text| names.resource(text).is_some_and(|name| failed.contains(&*name)))
    });
}

/// Why a value is not a valid protection, even if it is unknown.
fn unfit(value: &Value) -> Option<InvalidProtection> {
    let (marks, _) = value.open();
    if !marks.is_empty() {
        return Some(InvalidProtection::Marked);
    }
    convert(value, &Type::Bool).err().map(|_| InvalidProtection::NotBoolean)
}

fn prevents(protection: &Protection) -> Result<bool, UnusableProtection> {
    if !protection.value.is_wholly_known() {
        return Err(UnusableProtection::Unknown);
    }
    let value = convert(&protection.value, &Type::Bool).map_err(|_| UnusableProtection::NotBoolean)?;
    value.as_bool().ok_or(UnusableProtection::Null)
}

#[cfg(test)]
mod tests {
    use super::*;
    use weft_graph_format::marks::Marks;
    use weft_graph_format::source::SourceRange;

    #[test]
    fn each_protection_has_its_verdict() {
        let address: ResourceInstance = "a.b".parse().unwrap();
        let of = |value: Value, of_instances| {
            let (at, range) = (SourceRange::default(), SourceRange::default());
            match verdict(
                Some(&Protection { value, at, range, of_instances, wrong: Vec::new() }),
                &address,
                "destroyed",
            ) {
                RemovalVerdict::Allowed => "allowed".to_owned(),
                RemovalVerdict::Unfit(problems) => format!("unfit: {}", problems[0].summary),
                RemovalVerdict::Refused(problem) => format!("refused: {}", problem.summary),
            }
        };
        let index = Some(("count.index", SourceRange::default()));
        for (value, of_instances, want) in [
            (Value::bool(false), None, "allowed"),
            (Value::string("false"), None, "allowed"),
            (Value::bool(true), None, "refused: Resource instance cannot be destroyed"),
            (Value::unknown(Type::Bool), None, "refused: Invalid value for prevent_destroy"),
            (Value::null(Type::Bool), None, "refused: Invalid value for prevent_destroy"),
            (Value::string("maybe"), None, "unfit: Invalid value for prevent_destroy"),
            (Value::bool(true).mark(&Marks::SENSITIVE), None, "unfit: Invalid value for prevent_destroy"),
            (Value::null(Type::Bool), index, "unfit: Invalid reference in prevent_destroy"),
        ] {
            assert_eq!(of(value.clone(), of_instances), want, "{value:?}");
        }
        assert_eq!(verdict(None, &address, "destroyed"), RemovalVerdict::Allowed);
    }

    fn delete(address: &str) -> ResourceChange {
        use weft_graph_format::changes::{ChangeAction, Reason};
        ResourceChange {
            address: address.parse().unwrap(),
            previous_address: None,
            deposed: None,
            provider: "provider[\"registry.opentofu.org/x/y\"]".parse().unwrap(),
            action: ChangeAction::Only(weft_graph_format::graph::Action::Delete),
            reason: Reason::None,
            before: Value::null(Type::Dynamic),
            after: Value::null(Type::Dynamic),
            replace_paths: Vec::new(),
            importing: None,
            before_record: None,
            schema_version: 0,
        }
    }

    /// A normal plan does not delete orphans that depend on a protected object. The block of `a.z` is gone.
    #[test]
    fn orphans_that_depend_on_a_protected_object_are_not_planned() {
        let state: &[(&str, &[&str])] =
            &[("a.x[0]", &[]), ("a.y[0]", &["a.x"]), ("a.y[1]", &["a.x"]), ("a.z", &["a.x"])];
        let options = crate::inputs::PlanOptions::of_kind(crate::inputs::PlanKind::Normal);
        let facts = crate::facts::Facts::for_tests("", state, options);
        let mut changes: Vec<_> = ["a.x[0]", "a.y[0]", "a.y[1]", "a.z"].map(delete).into();
        let refused = [("a.x[0]".parse().unwrap(), Diagnostic::error("kept", ""))];
        let is_orphan = |address: &ResourceInstance| address.to_string() == "a.y[1]";
        stop_after_protected(&facts.state, &refused, &is_orphan, &mut changes);
        let left: Vec<_> = changes.iter().map(|change| change.address.to_string()).collect();
        assert_eq!(left, ["a.x[0]", "a.y[0]", "a.z"]);
    }

    /// The dependencies of a protected object stay too, without a diagnostic.
    #[test]
    fn dependencies_of_a_protected_object_are_not_planned() {
        let state: &[(&str, &[&str])] = &[("a.x", &[]), ("a.y[0]", &["a.x"]), ("a.z", &["a.y"])];
        let options = crate::inputs::PlanOptions::of_kind(crate::inputs::PlanKind::Destroy);
        let facts = crate::facts::Facts::for_tests("", state, options);
        let mut changes: Vec<_> = ["a.x", "a.y[0]", "a.z"].map(delete).into();
        let problem = |address: &str| (address.parse().unwrap(), Diagnostic::error("kept", ""));
        let mut refused = vec![problem("a.y[0]"), problem("a.x")];
        stop_at_protected(&facts.state, &mut refused, &mut changes);
        let left: Vec<_> = changes.iter().map(|change| change.address.to_string()).collect();
        assert_eq!(left, ["a.y[0]", "a.z"]);
        assert_eq!(refused.len(), 1);
    }
}
