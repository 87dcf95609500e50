//! References in the content of `dynamic` blocks. They are checked when a block is generated.

use std::collections::BTreeMap;
use std::sync::Arc;

use weft_graph_format::diagnostic::Diagnostic;
use weft_graph_format::source::SourceRange;
use weft_syntax::Role;

use super::Evaluation;
use super::references::{ANYTHING, Checking, Schemas};
use super::schema_traversal::with_dynamic;
use crate::config::{BodySource, CompiledModule, ResourceBlock};
use crate::reference::Reference;

/// Problems of references in `dynamic` content, by the place of the reference. They are reported when a block is
/// generated: without elements the content is not used.
pub(super) async fn check(evaluation: &Evaluation, root: &Arc<CompiledModule>) -> BTreeMap<SourceRange, Diagnostic> {
    let mut found = BTreeMap::new();
    for module in root.all() {
        let mut inside: Vec<(&ResourceBlock, &Reference)> = Vec::new();
        for resource in module.resources.values() {
            let ranges = contents(&resource.body);
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
            found.extend(problem.map(|problem| (reference.range.clone(), problem)));
        }
    }
    found
}

/// The contents of `dynamic` blocks, also nested ones.
pub(super) fn contents(body: &BodySource) -> Vec<SourceRange> {
    let in_dynamic = |name: &str| if name == "content" { Role::Block(&[]) } else { Role::Argument };
    let mut found = Vec::new();
    let mut pending = body.content(&with_dynamic).blocks;
    while let Some((tree, block)) = pending.pop() {
        if block.block_type.text == "dynamic" {
            let inside = tree.content(block.body, &in_dynamic).body;
            let contents = inside.blocks_of("content");
            found.extend(contents.map(|content| tree.range(content.header_span.through(content.close_span))));
            continue;
        }
        let inner = tree.content(block.body, &with_dynamic).body;
        pending.extend(inner.blocks.iter().map(|block| (tree.clone(), block.clone())));
    }
    found
}
