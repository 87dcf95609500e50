//! Blocks with invalid references. These blocks are not evaluated. The errors of a block are reported only if none of
//! its dependencies has failed, because fixing a dependency may resolve the errors. Warnings are always reported. If a
//! block has [`Unsound::after`], its problems are reported only if the arguments of that resource are valid.

use std::collections::BTreeSet;
use std::sync::{Arc, OnceLock};

use parking_lot::Mutex;
use smol_str::SmolStr;
use weft_graph_format::address::{ConfigResource, Module};
use weft_graph_format::diagnostic::Diagnostic;
use weft_graph_format::source::SourceRange;

use super::module_node::ModuleNode;
use crate::glue::Failed;
use crate::reference::Reference;

/// What validation has found to be invalid.
#[derive(Default)]
pub(crate) struct Invalid {
    /// The source ranges of invalid references. Blocks with invalid references are not evaluated.
    pub(super) references: OnceLock<BTreeSet<SourceRange>>,
    /// The resources whose arguments are invalid.
    pub(super) arguments: Mutex<BTreeSet<ConfigResource>>,
}

/// A block or an argument of a call, with the problems of its references.
pub(super) struct Unsound {
    /// Its module.
    pub(super) module: Module,
    /// Its references.
    pub(super) references: Vec<Reference>,
    /// The local name and alias of its provider configuration.
    pub(super) provider: Option<(SmolStr, Option<SmolStr>)>,
    /// The resource whose arguments must be valid. Otherwise, the problems are not reported.
    pub(super) after: Option<ConfigResource>,
    /// The problems.
    pub(super) problems: Vec<Diagnostic>,
}

impl ModuleNode {
    /// Whether the reference at this source range is invalid.
    pub(super) fn is_unsound(&self, at: &SourceRange) -> bool {
        self.evaluation.invalid.references.get().is_some_and(|unsound| unsound.contains(at))
    }
}

/// The source ranges of invalid references.
pub(super) fn places(unsound: &[Unsound]) -> BTreeSet<SourceRange> {
    let wrong = |one: &Unsound| {
        let at: BTreeSet<SourceRange> = one
            .problems
            .iter()
            .filter(|problem| problem.is_error())
            .filter_map(|problem| problem.subject.clone())
            .collect();
        let is_wrong = move |reference: &Reference| {
            at.contains(&reference.range)
                || reference.attribute_range.as_ref().is_some_and(|range| at.contains(range))
                || reference.rest.iter().any(|(_, range)| at.contains(range))
        };
        let ranges: Vec<SourceRange> =
            one.references.iter().filter(|reference| is_wrong(reference)).map(|found| found.range.clone()).collect();
        ranges
    };
    unsound.iter().flat_map(wrong).collect()
}

/// Reports the problems. Called after evaluation.
pub(super) async fn report(root: &Arc<ModuleNode>, unsound: Vec<Unsound>) -> Result<(), Failed> {
    let mut failed = false;
    for one in unsound {
        if one.after.as_ref().is_some_and(|resource| root.evaluation.invalid.arguments.lock().contains(resource)) {
            failed = true;
            continue;
        }
        failed |= one.problems.iter().any(Diagnostic::is_error);
        let follows = follows(root, &one).await;
        let told = one.problems.into_iter().filter(|problem| !follows || !problem.is_error());
        told.for_each(|problem| root.evaluation.glue.report(problem));
    }
    if failed { Err(Failed) } else { Ok(()) }
}

/// Whether a dependency of the block has failed, so that its problems may follow from this failure.
async fn follows(root: &Arc<ModuleNode>, one: &Unsound) -> bool {
    let mut node = root.clone();
    for name in one.module.0.iter() {
        let Ok(instances) = node.call(name).await else { return true };
        let Some(child) = instances.nodes.values().next() else { return false };
        node = child.clone();
    }
    if let Some((name, alias)) = &one.provider
        && node.config.providers.contains_key(&(name.clone(), alias.clone()))
        && node.provider(name, alias.as_ref()).await.is_err()
    {
        return true;
    }
    let references: Vec<&Reference> = one.references.iter().collect();
    node.any_failed(&references).await
}
