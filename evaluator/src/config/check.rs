//! `check` blocks: assertions about the configuration. Failures are warnings.

use std::sync::Arc;

use smol_str::SmolStr;
use weft_graph_format::address::Resource;
use weft_graph_format::source::SourceRange;

use super::compiling::Compiling;
use super::content::{BlockRule, ContentRules, FoundBlock};
use super::resource::{Nested, resource_block};
use super::{Condition, problems};
use crate::reference::Reference;

const CHECK: ContentRules = ContentRules {
    attributes: &[],
    blocks: &[BlockRule { name: "data", labels: &["type", "name"] }, BlockRule { name: "assert", labels: &[] }],
    open: false,
};

/// A `check` block.
#[derive(Clone, Debug)]
pub struct CheckBlock {
    /// Its name.
    pub name: SmolStr,
    /// Its data source. It is also among the resources of the module, marked with this check.
    pub data: Option<Resource>,
    /// `assert` blocks.
    pub asserts: Vec<Condition>,
    /// The references of the assertions.
    pub references: Vec<Reference>,
    /// The header of the block.
    pub range: SourceRange,
}

/// Reads a `check` block.
pub(super) fn check(compiling: &mut Compiling<'_>, block: &FoundBlock) {
    let name = block.labels[0].0.clone();
    let valid = compiling.identifier(&block.labels[0], "check block");
    let content = compiling.content(block, &CHECK);
    let mut data: Option<(Resource, SourceRange)> = None;
    let mut asserts = Vec::new();
    for inner in &content.blocks {
        if inner.block_type == "assert" {
            let errors = compiling.errors();
            let found = compiling.condition(inner);
            if compiling.errors() == errors {
                asserts.extend(found);
            }
            continue;
        }
        if let Some((_, first)) = &data {
            compiling.report(problems::check::second_data(first, &inner.range));
            continue;
        }
        let errors = compiling.errors();
        let found = resource_block(compiling, inner, Nested::Check(name.clone()));
        // As in OpenTofu, a wrong block does not count.
        data = found.filter(|_| compiling.errors() == errors).map(|found| (found, inner.range.clone()));
    }
    if asserts.is_empty() {
        compiling.report(problems::check::no_assertion(&block.range));
    }
    let mut references = Vec::new();
    for condition in &asserts {
        references.extend(compiling.references(&condition.condition));
        references.extend(compiling.references(&condition.error_message));
    }
    if let Some(first) = compiling.module.checks.get(&name) {
        let problem = problems::check::duplicate(&name, &first.range, &block.range);
        compiling.report_together(problem);
        return;
    }
    if valid {
        let data = data.map(|(resource, _)| resource);
        let found = CheckBlock { name: name.clone(), data, asserts, references, range: block.range.clone() };
        compiling.module.checks.insert(name, Arc::new(found));
    }
}
