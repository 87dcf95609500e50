//! References in the content of `dynamic` blocks. They are checked when a block is generated.

use std::collections::BTreeMap;
use std::sync::Arc;

use weft_graph_format::diagnostic::Diagnostic;
use weft_graph_format::source::SourceRange;

use super::Evaluation;
use super::references::{ANYTHING, Checking, Schemas};
use super::schema_traversal::dynamic_contents;
use super::scope::is_out_of_scope;
use crate::config::{CompiledModule, ResourceBlock};
use crate::reference::{Reference, Referent};

/// Wrong references in `dynamic` content, by their places.
pub(crate) type InElements = BTreeMap<SourceRange, WrongReference>;

/// A wrong reference in `dynamic` content.
pub(crate) struct WrongReference {
    /// The problem.
    pub(super) problem: Diagnostic,
    /// It is about an object, not about a value. Problems with objects come first, and hide the others.
    of_object: bool,
}

impl Evaluation {
    /// Reduces the problems of a body to those with wrong references, if it has any: such a body is not decoded.
    pub(super) fn wrong_references_first(&self, problems: &mut Vec<Diagnostic>) {
        let wrong = |problem: &Diagnostic| {
            let same = |one: &&WrongReference| {
                one.problem.subject == problem.subject && one.problem.summary == problem.summary
            };
            self.in_elements.get().and_then(|found| found.values().find(same))
        };
        if problems.iter().any(|problem| is_out_of_scope(problem) || wrong(problem).is_some_and(|one| one.of_object)) {
            problems.retain(|problem| is_out_of_scope(problem) || wrong(problem).is_some_and(|one| one.of_object));
        } else if problems.iter().any(|problem| wrong(problem).is_some()) {
            problems.retain(|problem| wrong(problem).is_some());
        }
    }
}

/// Problems of references in `dynamic` content, by the place of the reference. They are reported when a block is
/// generated: without elements the content is not used.
pub(super) async fn check(evaluation: &Evaluation, root: &Arc<CompiledModule>) -> InElements {
    let mut found = BTreeMap::new();
    for module in root.all() {
        let mut inside: Vec<(&ResourceBlock, &Reference)> = Vec::new();
        for resource in module.resources.values() {
            let ranges = dynamic_contents(&resource.body);
            let is_inside = |reference: &&Reference| ranges.iter().any(|range| range.holds(&reference.range));
            inside.extend(resource.references.iter().filter(is_inside).map(|reference| (&**resource, reference)));
        }
        if inside.is_empty() {
            continue;
        }
        let references = inside.iter().map(|(_, reference)| *reference);
        let schemas = Schemas::of_references(evaluation, &module, references).await;
        let mut unsound = Vec::new();
        let mut checking = Checking::new(&module, schemas, &mut unsound);
        for (resource, reference) in inside {
            checking.one(reference, ANYTHING);
            let own = checking.no_own_attribute(resource, reference);
            let problem = checking.found.drain(..).chain(own).find(Diagnostic::is_error);
            let of_object =
                matches!(reference.subject, Referent::Resource(_) | Referent::Module(..) | Referent::SelfObject);
            found.extend(problem.map(|problem| (reference.range.clone(), WrongReference { problem, of_object })));
        }
    }
    found
}
