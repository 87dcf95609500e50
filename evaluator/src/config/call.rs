//! `module` blocks.

use std::collections::BTreeMap;
use std::sync::Arc;

use smol_str::SmolStr;
use weft_graph_format::source::SourceRange;
use weft_syntax::{ExprKind, Expression};

use super::compiling::{Compiling, ESCAPE};
use super::content::{BlockRule, ContentRules, FoundBlock};
use super::literal::{literal_string, optional, required};
use super::meta::{Unquoted, provider_name};
use super::{ModuleCall, PassedProvider, ProviderKey, ProviderReference, UnsourcedCall, problems};

const MODULE: ContentRules = ContentRules {
    attributes: &[
        required("source"),
        optional("version"),
        optional("count"),
        optional("for_each"),
        optional("providers"),
        optional("depends_on"),
    ],
    blocks: &[
        BlockRule { name: "lifecycle", labels: &[] },
        BlockRule { name: "_", labels: &[] },
        BlockRule { name: "locals", labels: &[] },
        BlockRule { name: "provider", labels: &["type"] },
    ],
    open: true,
};

/// Arguments of a call that are not variables of the module.
pub(super) const MODULE_ARGUMENTS: &[&str] = &["source", "version", "count", "for_each", "providers", "depends_on"];

/// The block type, as written in a configuration.
const MODULE_BLOCK: &str = "module";

const MODULE_BLOCKS: &[&str] = &["lifecycle", "_", "locals", "provider"];

/// Reads a `module` block.
pub(super) fn module_call(compiling: &mut Compiling<'_>, block: &FoundBlock) {
    let name = block.labels[0].0.clone();
    compiling.identifier(&block.labels[0], "module instance");
    let content = compiling.content(block, &MODULE);
    let mut source_body = compiling.body_source(block, MODULE_ARGUMENTS, MODULE_BLOCKS);
    source_body.escaped = compiling.escaped(&content.blocks);
    let mut enabled = None;
    for inner in &content.blocks {
        match inner.block_type {
            "lifecycle" => enabled = compiling.module_lifecycle(inner),
            ESCAPE => {}
            other => compiling.report(problems::call::reserved_block(other, &inner.range)),
        }
    }
    let mut arguments = BTreeMap::new();
    let read = source_body.arguments();
    compiling.diagnostics.extend(read.problems);
    for (tree, attribute) in read.attributes {
        let value = tree.expression(attribute.expression);
        arguments.insert(attribute.name.text.clone(), (value, tree.range(attribute.name.span)));
    }
    let unexpected =
        read.blocks.iter().map(|(tree, inner)| (inner.block_type.text.clone(), tree.range(inner.block_type.span)));
    let unexpected = unexpected.collect();
    let repetition = compiling.repetition(&content, enabled);
    let (providers, keyed_providers) =
        content.get("providers").map(|e| passed_providers(compiling, e)).unwrap_or_default();
    let depends_on = content.get("depends_on").map(|e| compiling.depends_on(e)).unwrap_or_default();
    let mut references = Vec::new();
    if let Some(expression) = repetition.expression() {
        references.extend(compiling.references(expression));
    }
    for passed in &providers {
        if let Some(expression) = &passed.value {
            references.extend(compiling.references(expression));
        }
        if let Some(key) = &passed.parent.key {
            references.extend(provider_key_references(compiling, key));
        }
    }
    for (value, _) in arguments.values() {
        references.extend(compiling.references(value));
    }
    let complete = compiling.module.calls.get(&name).map(|first| first.range.clone());
    if let Some(first) = complete.or_else(|| compiling.unfinished_before(MODULE_BLOCK, &name)) {
        // As in OpenTofu, the last call wins.
        compiling.duplicate("module call", &name, &first, &block.range);
    }
    let Some(source) = content.get("source").cloned() else {
        let version = content.get("version").cloned();
        let unsourced = UnsourcedCall { name: name.clone(), version, range: block.range.clone() };
        compiling.module.settings.unsourced_calls.push(unsourced);
        return compiling.unfinished(MODULE_BLOCK, name, &block.range);
    };
    let call = ModuleCall {
        name: name.clone(),
        source,
        version: content.get("version").cloned(),
        repetition,
        providers,
        keyed_providers,
        depends_on,
        arguments,
        unexpected_blocks: unexpected,
        references,
        range: block.range.clone(),
        missing: block.missing(),
    };
    compiling.module.calls.insert(name, Arc::new(call));
}

/// The references in the key of a provider instance. A literal key has no references: it is part of the provider's
/// name.
pub(super) fn provider_key_references(
    compiling: &mut Compiling<'_>,
    key: &ProviderKey,
) -> Vec<crate::reference::Reference> {
    match key {
        ProviderKey::Literal(..) => Vec::new(),
        ProviderKey::Computed(expression) => compiling.references(expression),
    }
}

/// The entries of `providers`, and the ranges of invalid keys on their left sides.
pub(super) fn passed_providers(
    compiling: &mut Compiling<'_>,
    expression: &Expression,
) -> (Vec<PassedProvider>, Vec<SourceRange>) {
    let Some(entries) = expression.as_map() else {
        compiling.report(problems::call::providers_not_an_object(expression.range()));
        return (Vec::new(), Vec::new());
    };
    let (mut passed, mut with_key) = (Vec::new(), Vec::new());
    let mut seen = BTreeMap::new();
    for (key, value) in entries {
        let bare = match compiling.unquoted(&key) {
            Unquoted::Broken => continue,
            Unquoted::Reference(parsed) => parsed,
            Unquoted::AsWritten => key.without_parentheses(),
        };
        let child = provider_name(&bare).or_else(|| {
            let text = key.as_string_literal()?;
            let mut parts = text.splitn(2, '.');
            Some((SmolStr::new(parts.next()?), parts.next().map(SmolStr::new), None))
        });
        let Some((child_name, child_alias, child_key)) = child else {
            compiling.report(problems::call::invalid_child_provider(key.range()));
            continue;
        };
        let keyed = bare.as_traversal().is_some_and(|traversal| {
            traversal.steps.iter().any(|step| !matches!(step.kind, weft_syntax::StepKind::Attribute(_)))
        });
        if keyed || child_key.is_some() || matches!(bare.kind(), ExprKind::Index { .. }) {
            with_key.push(key.range());
            continue;
        }
        let expression = compiling.provider_value(&value);
        let parent = match &expression {
            Some(_) => {
                let (local_name, range) = (child_name.clone(), value.range());
                Some(ProviderReference { local_name, alias: None, key: None, range })
            }
            None => compiling.provider_reference(&value),
        };
        if let Some(parent) = parent {
            if let Some(first) = seen.get(&(child_name.clone(), child_alias.clone())) {
                compiling.report(problems::call::duplicate_provider(*first, value.range()));
                continue;
            }
            seen.insert((child_name.clone(), child_alias.clone()), key.range().start.line);
            let child_range = key.range();
            passed.push(PassedProvider { child_name, child_alias, child_range, parent, value: expression });
        }
    }
    (passed, with_key)
}

impl ModuleCall {
    /// The source, if it is a literal.
    pub fn literal_source(&self) -> Option<SmolStr> {
        literal_string(&self.source)
    }
}
