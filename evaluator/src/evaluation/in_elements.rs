//! References in the content of `dynamic` blocks. Their problems are reported only when a block is generated.

use std::collections::BTreeMap;
use std::sync::Arc;

use weft_graph_format::diagnostic::{Cause, Diagnostic};
use weft_graph_format::source::SourceRange;

use super::Evaluation;
use super::allowed_names::AllowedNames;
use super::references::{Checking, Schemas};
use super::schema_traversal::dynamic_contents;
use crate::config::{CompiledModule, ResourceBlock};
use crate::reference::{Reference, Referent};

/// If references are wrong, drops all other problems, because a body with wrong references is not decoded. If some of
/// the wrong references have the cause [`Cause::WrongObject`], only the problems of these references remain.
pub(super) fn wrong_references_first(problems: &mut Vec<Diagnostic>) {
    for cause in [Cause::WrongObject, Cause::WrongValue] {
        if problems.iter().any(|problem| problem.cause == cause) {
            problems.retain(|problem| problem.cause == cause);
            return;
        }
    }
}

/// Problems of references in the content of `dynamic` blocks, by the source range of the reference. The problems are
/// reported when a block is generated, because the content of a `dynamic` block without elements is not used.
pub(super) async fn check(evaluation: &Evaluation, root: &Arc<CompiledModule>) -> BTreeMap<SourceRange, Diagnostic> {
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
            checking.one(reference, AllowedNames::ALL);
            let own = checking.no_own_attribute(resource, reference);
            let problem = checking.found.drain(..).chain(own).find(Diagnostic::is_error);
            let cause = match reference.subject {
                Referent::Resource(_) | Referent::Module(..) | Referent::SelfObject => Cause::WrongObject,
                _ => Cause::WrongValue,
            };
            found.extend(problem.map(|problem| (reference.range.clone(), problem.cause(cause))));
        }
    }
    found
}
