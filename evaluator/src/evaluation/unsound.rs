//! Blocks whose references are wrong. They are not evaluated; what is wrong with them is told only where nothing that they
//! need has failed too: mended, that may take the rest along.

use std::collections::BTreeSet;
use std::sync::Arc;

use smol_str::SmolStr;
use weft_graph_format::address::Module;
use weft_graph_format::diagnostic::Diagnostic;
use weft_graph_format::source::SourceRange;

use super::calls::ModuleNode;
use crate::glue::Failed;
use crate::reference::{Reference, Subject};

/// A block, or an argument of a call, and what is wrong with its references.
pub(super) struct Unsound {
    /// The module that it stands in.
    pub(super) module: Module,
    /// What it refers to.
    pub(super) references: Vec<Reference>,
    /// The configuration of its provider.
    pub(super) provider: Option<(SmolStr, Option<SmolStr>)>,
    /// What is wrong.
    pub(super) problems: Vec<Diagnostic>,
}

/// Where references stand that are wrong.
pub(super) fn places(unsound: &[Unsound]) -> BTreeSet<SourceRange> {
    let wrong = |one: &Unsound| {
        let at: BTreeSet<SourceRange> = one
            .problems
            .iter()
            .filter(|problem| problem.is_error())
            .filter_map(|problem| problem.subject.clone())
            .collect();
        let is_wrong = move |reference: &Reference| {
            at.contains(&reference.range) || reference.attribute_range.as_ref().is_some_and(|range| at.contains(range))
        };
        let ranges: Vec<SourceRange> =
            one.references.iter().filter(|reference| is_wrong(reference)).map(|found| found.range.clone()).collect();
        ranges
    };
    unsound.iter().flat_map(wrong).collect()
}

/// Tells what is wrong, once everything is evaluated.
pub(super) async fn report(root: &Arc<ModuleNode>, unsound: Vec<Unsound>) -> Result<(), Failed> {
    let mut failed = false;
    for one in unsound {
        failed |= one.problems.iter().any(Diagnostic::is_error);
        let follows = follows(root, &one).await;
        let told = one.problems.into_iter().filter(|problem| !follows || !problem.is_error());
        told.for_each(|problem| root.evaluation.glue.report(problem));
    }
    if failed { Err(Failed) } else { Ok(()) }
}

/// Whether something that it needs has failed.
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
    for reference in &one.references {
        let failed = match &reference.subject {
            Subject::Module(name, output) if node.config.children.contains_key(name) => {
                let outputs = &node.config.children[name].outputs;
                let named: BTreeSet<SmolStr> =
                    output.iter().filter(|output| outputs.contains_key(*output)).cloned().collect();
                node.call_value(name.clone(), Some(named)).await.is_err()
            }
            subject if node.declares(subject) => node.start(subject).await.is_err(),
            _ => false,
        };
        if failed {
            return true;
        }
    }
    false
}
