//! `provider` blocks.

use std::sync::Arc;

use smol_str::SmolStr;
use weft_graph_format::diagnostic::Diagnostic;
use weft_syntax::Role;

use super::ProviderBlock;
use super::body_references::references_of_body;
use super::compile::{Compiling, ESCAPE};
use super::content::{BlockRule, ContentRules, FoundBlock};
use super::literal::optional;

const PROVIDER: ContentRules = ContentRules {
    attributes: &[
        optional("alias"),
        optional("version"),
        optional("for_each"),
        optional("count"),
        optional("depends_on"),
        optional("source"),
    ],
    blocks: &[
        BlockRule { name: "lifecycle", labels: &[] },
        BlockRule { name: "locals", labels: &[] },
        BlockRule { name: "_", labels: &[] },
    ],
    open: true,
};

const ARGUMENTS: &[&str] = &["alias", "version", "for_each", "count", "depends_on", "source"];
const BLOCKS: &[&str] = &["lifecycle", "locals", "_"];

/// A `provider` block.
pub(super) fn provider(compiling: &mut Compiling<'_>, block: &FoundBlock) {
    let local_name = block.labels[0].0.clone();
    let content = compiling.content(block, &PROVIDER);
    if !compiling.normalised_provider(&local_name, &block.range) {
        return;
    }
    for reserved in ["count", "depends_on", "source"] {
        if let Some(found) = content.attributes.get(reserved) {
            let at = found.name_range.clone();
            compiling.error(
                "Reserved argument name in provider block",
                format!("The provider argument name {reserved:?} is kept for later use by the language."),
                &at,
            );
        }
    }
    for inner in content.blocks.iter().filter(|inner| inner.block_type != ESCAPE) {
        compiling.error(
            "Reserved block type name in provider block",
            format!("The block type name {:?} is kept for use by the language.", inner.block_type),
            &inner.range,
        );
    }
    let alias = match content.get("alias") {
        None => None,
        Some(expression) => {
            let text = compiling.text(Some(expression)).map(SmolStr::from);
            if !text.as_ref().is_some_and(|t| weft_syntax::is_identifier(t)) {
                compiling.diagnostics.push(Diagnostic::error(
                    "Invalid provider configuration alias",
                    format!(
                        "The alias of the provider {local_name:?} in {} must be a plain name: letters, digits, \
                         underscores and dashes.",
                        block.range.file
                    ),
                ));
            }
            text.filter(|text| !text.is_empty())
        }
    };
    let for_each = content.get("for_each").cloned();
    if let (Some(expression), None) = (&for_each, &alias) {
        let at = expression.range();
        compiling.error(
            "Alias required when using \"for_each\"",
            "A provider block with for_each needs an alias: instances are named ALIAS[KEY].",
            &at,
        );
    }
    let key = (local_name.clone(), alias.clone());
    if let Some(first) = compiling.module.providers.get(&key) {
        let place = format!("{}:{}", first.range.file, first.range.start.line);
        compiling.clash(
            "Duplicate provider configuration",
            match &alias {
                None => format!(
                    "The default configuration of provider {local_name:?} is at {place} already. Give this one an \
                     alias."
                ),
                Some(alias) => {
                    format!("A configuration of provider {local_name:?} with alias {alias:?} is at {place} already.")
                }
            },
            &block.range,
        );
        return;
    }
    let mut source = compiling.body_source(block, ARGUMENTS, BLOCKS);
    source.escaped = compiling.escaped(&content.blocks);
    // Without a schema any name may be an argument.
    let left = source.content(&|_| Role::Unknown);
    let is_empty = left.blocks.is_empty() && left.attributes.is_empty();
    let mut references = compiling.body_references(&source);
    if let Some(expression) = &for_each {
        references.extend(compiling.references(expression));
    }
    let version = content.get("version").and_then(|given| compiling.version_text(given));
    if let Some(found) = content.attributes.get("version") {
        compiling.diagnostics.push(
            Diagnostic::warning(
                "Version constraints inside provider configuration blocks are deprecated",
                "Say the version in required_providers in the terraform block: only there it is sure to count.",
            )
            .at(found.value.range()),
        );
    }
    let found = ProviderBlock {
        local_name,
        alias,
        for_each,
        version,
        body: source,
        is_empty,
        is_mock: false,
        references,
        range: block.range.clone(),
    };
    compiling.module.providers.insert(key, Arc::new(found));
}

impl Compiling<'_> {
    /// What expressions of a body refer to. What is no reference is noted for when references are checked.
    pub(super) fn body_references(&mut self, body: &super::BodySource) -> Vec<crate::reference::Reference> {
        references_of_body(body, &mut self.module.invalid_references)
    }
}
