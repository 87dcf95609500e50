//! `output` blocks.

use std::sync::Arc;

use super::compiling::Compiling;
use super::content::{BlockRule, ContentRules, FoundBlock};
use super::literal::{optional, required};
use super::{Output, problems};

const OUTPUT: ContentRules = ContentRules {
    attributes: &[
        required("value"),
        optional("description"),
        optional("sensitive"),
        optional("ephemeral"),
        optional("deprecated"),
        optional("depends_on"),
    ],
    blocks: &[BlockRule { name: "precondition", labels: &[] }, BlockRule { name: "postcondition", labels: &[] }],
    open: false,
};

/// The block type, as written in a configuration.
const OUTPUT_BLOCK: &str = "output";

/// Reads an `output` block.
pub(super) fn output(compiling: &mut Compiling<'_>, block: &FoundBlock) {
    let name = block.labels[0].0.clone();
    compiling.identifier(&block.labels[0], "output");
    let content = compiling.content(block, &OUTPUT);
    let mut preconditions = Vec::new();
    for inner in &content.blocks {
        match inner.block_type {
            "precondition" => preconditions.extend(compiling.condition(inner)),
            _ => compiling.report(problems::output::postcondition(&inner.range)),
        }
    }
    let depends_on = content.get("depends_on").map(|e| compiling.depends_on(e)).unwrap_or_default();
    let complete = compiling.module.outputs.get(&name).map(|first| first.range.clone());
    let first = complete.or_else(|| compiling.unfinished_before(OUTPUT_BLOCK, &name));
    if let Some(first) = &first {
        compiling.duplicate("output definition", &name, first, &block.range);
    }
    let description = compiling.text(content.get("description"));
    let sensitive = compiling.flag(content.get("sensitive"), false);
    let ephemeral = compiling.flag(content.get("ephemeral"), false);
    let deprecated = compiling.deprecation(content.get("deprecated"), "Invalid `deprecated` attribute", None);
    let Some(value) = content.get("value").cloned() else {
        return compiling.unfinished(OUTPUT_BLOCK, name, &block.range);
    };
    let mut references = compiling.references(&value);
    for condition in &preconditions {
        references.extend(compiling.references(&condition.condition));
        references.extend(compiling.references(&condition.error_message));
    }
    let output = Output {
        name: name.clone(),
        value,
        description,
        sensitive,
        ephemeral,
        deprecated,
        depends_on,
        preconditions,
        references,
        range: block.range.clone(),
    };
    if first.is_none() {
        compiling.module.outputs.insert(name, Arc::new(output));
    }
}
