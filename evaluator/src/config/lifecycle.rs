//! `lifecycle` blocks of resources and module calls.

use weft_expressions::constant::evaluate_constant;
use weft_graph_format::address::{Resource, ResourceMode};
use weft_graph_format::diagnostic::{Diagnostic, has_errors};
use weft_graph_format::path::{Path, ValueStep};
use weft_syntax::{ExprKind, Expression, StepKind, Traversal, references};

use super::compiling::Compiling;
use super::content::{AttributeRule, BlockRule, ContentRules, FoundBlock};
use super::meta::Unquoted;
use super::{Condition, Lifecycle, problems};
use crate::problems::invalid_trigger;
use crate::reference::{Referent, references_of, resolve, value_step};

const LIFECYCLE: ContentRules = ContentRules {
    attributes: &[
        AttributeRule { name: "create_before_destroy", required: false },
        AttributeRule { name: "prevent_destroy", required: false },
        AttributeRule { name: "destroy", required: false },
        AttributeRule { name: "ignore_changes", required: false },
        AttributeRule { name: "replace_triggered_by", required: false },
        AttributeRule { name: "enabled", required: false },
    ],
    blocks: &[BlockRule { name: "precondition", labels: &[] }, BlockRule { name: "postcondition", labels: &[] }],
    open: false,
};

const MODULE_LIFECYCLE: ContentRules =
    ContentRules { attributes: &[AttributeRule { name: "enabled", required: false }], blocks: &[], open: false };

impl Compiling<'_> {
    /// Reads the `lifecycle` block of a module call. Returns its `enabled` argument.
    pub(super) fn module_lifecycle(&mut self, block: &FoundBlock) -> Option<Expression> {
        self.content(block, &MODULE_LIFECYCLE).get("enabled").cloned()
    }

    /// Reads a `lifecycle` block of a resource. Returns it with its `enabled` argument.
    pub(super) fn lifecycle(&mut self, block: &FoundBlock, resource: &Resource) -> (Lifecycle, Option<Expression>) {
        let mode = resource.mode;
        let content = self.content(block, &LIFECYCLE);
        let mut lifecycle = Lifecycle::default();
        if mode != ResourceMode::Managed {
            for (name, found) in content.attributes.iter().filter(|(name, _)| *name != "enabled") {
                self.report(problems::lifecycle::argument_of_managed(name, mode, &found.name_range, &block.range));
            }
        }
        lifecycle.create_before_destroy = self.literal_bool(content.get("create_before_destroy"));
        if let Some(destroy) = content.get("destroy") {
            let (value, problems) = evaluate_constant(destroy);
            lifecycle.destroy = value.as_bool().filter(|_| !has_errors(&problems));
            // An invalid `destroy` is reported only when the resource is planned.
            lifecycle.unclear_destroy = lifecycle.destroy.is_none().then(|| destroy.clone());
        }
        lifecycle.prevent_destroy = content.get("prevent_destroy").cloned();
        if let Some(expression) = content.get("ignore_changes") {
            self.ignore_changes(expression, &mut lifecycle);
        }
        if let Some(expression) = content.get("replace_triggered_by") {
            match expression.as_list() {
                Some(items) => {
                    for item in items {
                        match item.unquoted() {
                            Ok(item) => self.trigger(item, &mut lifecycle),
                            Err(problems) => self.diagnostics.extend(problems),
                        }
                    }
                }
                None => self.report(problems::lifecycle::triggers_not_a_list(expression.range())),
            }
        }
        for inner in &content.blocks {
            if let Some(condition) = self.condition(inner) {
                self.not_of_itself(inner, &condition, resource);
                match inner.block_type {
                    "precondition" => lifecycle.preconditions.push(condition),
                    _ => lifecycle.postconditions.push(condition),
                }
            }
        }
        (lifecycle, content.get("enabled").cloned())
    }

    /// Reports conditions that refer to their own resource by its address instead of `self`.
    fn not_of_itself(&mut self, block: &FoundBlock, condition: &Condition, resource: &Resource) {
        for part in [&condition.condition, &condition.error_message] {
            let itself = references(part).into_iter().any(|traversal| {
                resolve(&part.tree, traversal)
                    .is_ok_and(|found| matches!(&found.subject, Referent::Resource(named) if named == resource))
            });
            if itself {
                self.report(problems::lifecycle::reference_to_itself(block.block_type, resource, part.range()));
            }
        }
    }

    /// Reads an entry of `replace_triggered_by`. An entry must refer to exactly one resource. The only other names that
    /// it can refer to are `count.index` and `each.key`.
    fn trigger(&mut self, item: Expression, lifecycle: &mut Lifecycle) {
        let at = item.range();
        let mut problems = Vec::new();
        let references = references_of(&item, &mut problems);
        let wrong = wrong_repetition(&item);
        if !wrong.is_empty() {
            problems = wrong;
        }
        let mut resources = 0;
        if problems.is_empty() {
            for reference in &references {
                match reference.subject {
                    Referent::Resource(_) => resources += 1,
                    Referent::CountIndex | Referent::EachKey => {}
                    _ => problems.push(problems::lifecycle::name_in_trigger()),
                }
            }
            match resources {
                1 => {}
                0 => problems.push(problems::lifecycle::trigger_without_resource()),
                _ => problems.push(problems::lifecycle::trigger_with_resources()),
            }
        }
        match problems.is_empty() {
            true => lifecycle.replace_triggered_by.push(item),
            false => self.diagnostics.extend(problems.into_iter().map(|problem| problem.at(at.clone()))),
        }
    }

    fn ignore_changes(&mut self, expression: &Expression, lifecycle: &mut Lifecycle) {
        if expression.as_keyword() == Some("all") {
            lifecycle.ignore_all = true;
            return;
        }
        let Some(items) = expression.as_list() else {
            self.report(problems::lifecycle::ignored_not_a_list(expression.range()));
            return;
        };
        let mut star = None;
        for item in items {
            if item.as_string_literal().is_some_and(|text| text == "*") {
                self.report(problems::lifecycle::ignored_star(expression.range()));
                star = Some(item.range());
                continue;
            }
            let traversal = match self.unquoted(&item) {
                Unquoted::Broken => continue,
                Unquoted::Reference(parsed) => parsed.as_traversal(),
                Unquoted::AsWritten => item.as_traversal(),
            };
            let Some(traversal) = traversal else {
                self.report(problems::lifecycle::ignored_not_an_attribute(item.range()));
                continue;
            };
            let mut steps = vec![ValueStep::Attribute(traversal.root.text.clone())];
            for step in &traversal.steps {
                steps.push(value_step(&step.kind));
            }
            lifecycle.ignore_changes.push((Path(steps), item.range()));
        }
        if let Some(star) = star.filter(|_| !lifecycle.ignore_changes.is_empty()) {
            self.report(problems::lifecycle::ignored_star_beside_others(&star));
        }
    }
}

/// The problems of `each` and `count` in an entry of `replace_triggered_by`.
fn wrong_repetition(entry: &Expression) -> Vec<Diagnostic> {
    let wrong = |traversal: &Traversal| {
        let root = traversal.root.text.as_str();
        let allowed = match root {
            "each" => "key",
            "count" => "index",
            _ => return None,
        };
        match traversal.steps.first().map(|step| &step.kind) {
            Some(StepKind::Attribute(name)) if name != allowed => {
                Some(problems::lifecycle::repetition_in_trigger(root, allowed))
            }
            _ => None,
        }
    };
    references(entry).into_iter().filter_map(wrong).collect()
}

/// A part of an entry of `replace_triggered_by`.
pub(crate) enum TriggerPart {
    /// A literal step.
    Step(StepKind),
    /// An index: `count.index` or `each.key`.
    Key(Expression),
}

/// The reference that an entry of `replace_triggered_by` begins with, and the parts behind it. `a.b[each.key].c` is a
/// relative traversal from an index into a traversal.
///
/// # Errors
/// Returns an error if the entry is not a reference, or if an index is neither a literal nor `count.index` nor
/// `each.key`.
pub(crate) fn trigger_parts(entry: &Expression) -> Result<(Traversal, Vec<TriggerPart>), Diagnostic> {
    let mut parts = Vec::new();
    let mut here = entry.clone();
    let start = loop {
        if let Some(traversal) = here.as_traversal() {
            break traversal;
        }
        here = match here.kind() {
            ExprKind::RelativeTraversal { source, steps } => {
                parts.extend(steps.iter().rev().map(|step| TriggerPart::Step(step.kind.clone())));
                here.child(*source)
            }
            ExprKind::Index { collection, key, .. } => {
                parts.push(TriggerPart::Key(here.child(*key)));
                here.child(*collection)
            }
            _ => return Err(invalid_trigger(here.range())),
        };
    };
    parts.reverse();
    let wrong = parts.iter().find_map(|part| match part {
        TriggerPart::Key(key) => key_problem(key),
        TriggerPart::Step(_) => None,
    });
    wrong.map_or(Ok((start, parts)), Err)
}

fn key_problem(key: &Expression) -> Option<Diagnostic> {
    let Some(traversal) = key.as_traversal() else {
        return Some(problems::lifecycle::computed_key_in_trigger(key.range()));
    };
    let steps: Vec<_> = traversal.steps.iter().map(|step| &step.kind).collect();
    match (traversal.root.text.as_str(), steps.as_slice()) {
        ("count", [StepKind::Attribute(name)]) if name == "index" => None,
        ("each", [StepKind::Attribute(name)]) if name == "key" => None,
        _ => Some(problems::lifecycle::wrong_key_in_trigger(key.range())),
    }
}
