//! The block types of a module, one function each.

use std::collections::BTreeMap;
use std::sync::Arc;

use smol_str::SmolStr;
use weft_expressions::constant::evaluate_constant;
use weft_expressions::convert::convert_with_defaults;
use weft_expressions::type_constraint::variable_type;
use weft_graph_format::address::{Resource, ResourceMode};
use weft_graph_format::diagnostic::{Diagnostic, has_errors};
use weft_graph_format::formula::TypeDefaults;
use weft_graph_format::types::Type;
use weft_syntax::{ExprKind, Expression, Literal};

use super::compile::Compiling;
use super::content::{AttributeRule, BlockRule, ContentRules, FoundBlock};
use super::meta::{literal_string, provider_name, references_of_body};
use super::{
    Lifecycle, ModuleCall, Output, PassedProvider, ProviderBlock, ProviderReference, Repetition, ResourceBlock,
    Variable,
};

const fn optional(name: &'static str) -> AttributeRule {
    AttributeRule { name, required: false }
}

const VARIABLE: ContentRules = ContentRules {
    attributes: &[
        optional("type"),
        optional("default"),
        optional("description"),
        optional("sensitive"),
        optional("ephemeral"),
        optional("nullable"),
        optional("deprecated"),
        optional("const"),
    ],
    blocks: &[BlockRule { name: "validation", labels: &[] }],
    open: false,
};

const OUTPUT: ContentRules = ContentRules {
    attributes: &[
        AttributeRule { name: "value", required: true },
        optional("description"),
        optional("sensitive"),
        optional("ephemeral"),
        optional("deprecated"),
        optional("depends_on"),
    ],
    blocks: &[BlockRule { name: "precondition", labels: &[] }],
    open: false,
};

const MODULE: ContentRules = ContentRules {
    attributes: &[
        AttributeRule { name: "source", required: true },
        optional("version"),
        optional("count"),
        optional("for_each"),
        optional("providers"),
        optional("depends_on"),
    ],
    blocks: &[BlockRule { name: "lifecycle", labels: &[] }, BlockRule { name: "_", labels: &[] }],
    open: true,
};

/// Arguments of a call that are not variables of the module.
pub(super) const MODULE_ARGUMENTS: &[&str] = &["source", "version", "count", "for_each", "providers", "depends_on"];

const RESOURCE: ContentRules = ContentRules {
    attributes: &[optional("count"), optional("for_each"), optional("provider"), optional("depends_on")],
    blocks: &[
        BlockRule { name: "lifecycle", labels: &[] },
        BlockRule { name: "connection", labels: &[] },
        BlockRule { name: "provisioner", labels: &["type"] },
        BlockRule { name: "_", labels: &[] },
    ],
    open: true,
};

const RESOURCE_ARGUMENTS: &[&str] = &["count", "for_each", "provider", "depends_on"];
const RESOURCE_BLOCKS: &[&str] = &["lifecycle", "connection", "provisioner", "_"];

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

const PROVIDER_ARGUMENTS: &[&str] = &["alias", "version", "for_each", "count", "depends_on", "source"];
const PROVIDER_BLOCKS: &[&str] = &["lifecycle", "locals", "_"];

/// Names that a variable cannot have, since module calls use them.
const RESERVED_VARIABLES: &[&str] =
    &["source", "version", "providers", "count", "for_each", "lifecycle", "depends_on", "locals"];

fn flag(compiling: &mut Compiling<'_>, expression: Option<&Expression>, default: bool) -> bool {
    let Some(expression) = expression else { return default };
    match expression.without_parentheses().kind() {
        ExprKind::Literal(Literal::Bool(value)) => *value,
        _ => match literal_string(expression).as_deref() {
            Some("true") => true,
            Some("false") => false,
            _ => {
                compiling.error(
                    "Unsuitable value type",
                    "This must be true or false, written out: it is read before anything is evaluated.",
                    &expression.range(),
                );
                default
            }
        },
    }
}

fn text(compiling: &mut Compiling<'_>, expression: Option<&Expression>) -> Option<String> {
    let expression = expression?;
    match literal_string(expression) {
        Some(text) => Some(text.to_string()),
        None => {
            compiling.error(
                "Unsuitable value type",
                "This must be a plain string without references: it is read before anything is evaluated.",
                &expression.range(),
            );
            None
        }
    }
}

/// A `variable` block.
pub(super) fn variable(compiling: &mut Compiling<'_>, block: &FoundBlock) {
    let name = block.labels[0].0.clone();
    let valid = compiling.identifier(&block.labels[0], "variable");
    if RESERVED_VARIABLES.contains(&name.as_str()) {
        compiling.error(
            "Invalid variable name",
            format!("The variable name {name:?} is reserved: module calls use it for something else."),
            &block.labels[0].1,
        );
    }
    if let Some(first) = compiling.module.variables.get(&name) {
        let first = first.range.clone();
        compiling.duplicate("variable declaration", &name, &first, &block.range);
        return;
    }
    let content = compiling.content(block, &VARIABLE);
    let (ty, defaults, typed) = match content.get("type") {
        Some(expression) => match variable_type(expression) {
            Ok(constraint) => (constraint.ty, constraint.defaults, true),
            Err(problems) => {
                compiling.diagnostics.extend(problems);
                (Type::Dynamic, TypeDefaults::default(), true)
            }
        },
        None => (Type::Dynamic, TypeDefaults::default(), false),
    };
    if let Some(default) = content.get("default") {
        check_default(compiling, default, &ty, &defaults);
    }
    let validations: Vec<_> = content.blocks.iter().filter_map(|b| compiling.condition(b)).collect();
    let mut references = Vec::new();
    for validation in &validations {
        references.extend(compiling.references(&validation.condition));
        references.extend(compiling.references(&validation.error_message));
    }
    let variable = Variable {
        name: name.clone(),
        ty,
        typed,
        defaults,
        default: content.get("default").cloned(),
        description: text(compiling, content.get("description")),
        sensitive: flag(compiling, content.get("sensitive"), false),
        ephemeral: flag(compiling, content.get("ephemeral"), false),
        nullable: flag(compiling, content.get("nullable"), true),
        deprecated: text(compiling, content.get("deprecated")),
        validations,
        references,
        range: block.range.clone(),
    };
    if valid {
        compiling.module.variables.insert(name, Arc::new(variable));
    }
}

/// A default is written out and fits its type.
fn check_default(compiling: &mut Compiling<'_>, default: &Expression, ty: &Type, defaults: &TypeDefaults) {
    let (value, problems) = evaluate_constant(default);
    if has_errors(&problems) {
        compiling.diagnostics.extend(problems);
        return;
    }
    if let Err(problem) = convert_with_defaults(&value, ty, defaults) {
        compiling.error(
            "Invalid default value for variable",
            format!("This default value is not compatible with the type of the variable: {}.", problem.with_path()),
            &default.range(),
        );
    }
}

/// An `output` block.
pub(super) fn output(compiling: &mut Compiling<'_>, block: &FoundBlock) {
    let name = block.labels[0].0.clone();
    compiling.identifier(&block.labels[0], "output");
    if let Some(first) = compiling.module.outputs.get(&name) {
        let first = first.range.clone();
        compiling.duplicate("output definition", &name, &first, &block.range);
        return;
    }
    let content = compiling.content(block, &OUTPUT);
    let Some(value) = content.get("value").cloned() else { return };
    let preconditions: Vec<_> = content.blocks.iter().filter_map(|b| compiling.condition(b)).collect();
    let depends_on = content.get("depends_on").map(|e| compiling.depends_on(e)).unwrap_or_default();
    let mut references = compiling.references(&value);
    for condition in &preconditions {
        references.extend(compiling.references(&condition.condition));
        references.extend(compiling.references(&condition.error_message));
    }
    let output = Output {
        name: name.clone(),
        value,
        description: text(compiling, content.get("description")),
        sensitive: flag(compiling, content.get("sensitive"), false),
        ephemeral: flag(compiling, content.get("ephemeral"), false),
        deprecated: text(compiling, content.get("deprecated")),
        depends_on,
        preconditions,
        references,
        range: block.range.clone(),
    };
    compiling.module.outputs.insert(name, Arc::new(output));
}

/// A `module` block.
pub(super) fn module_call(compiling: &mut Compiling<'_>, block: &FoundBlock) {
    let name = block.labels[0].0.clone();
    compiling.identifier(&block.labels[0], "module instance");
    if let Some(first) = compiling.module.calls.get(&name) {
        let first = first.range.clone();
        compiling.duplicate("module call", &name, &first, &block.range);
        return;
    }
    let content = compiling.content(block, &MODULE);
    let tree = compiling.tree.clone();
    let body = tree.body(block.body);
    let mut enabled = None;
    for inner in &content.blocks {
        match inner.block_type {
            "lifecycle" => enabled = compiling.lifecycle(inner, false).1,
            _ => compiling.error(
                "Block not supported yet",
                "Escaping blocks (\"_\") are part of the language, but this version of Weft does not read them yet.",
                &inner.range,
            ),
        }
    }
    for inner in &body.blocks {
        if !matches!(inner.block_type.text.as_str(), "lifecycle" | "_") {
            compiling.error(
                "Unsupported block type",
                format!("Blocks of type {:?} are not expected here.", inner.block_type.text.as_str()),
                &tree.range(inner.block_type.span),
            );
        }
    }
    let mut arguments = BTreeMap::new();
    for attribute in &body.attributes {
        if !MODULE_ARGUMENTS.contains(&attribute.name.text.as_str()) {
            let value = tree.expression(attribute.expression);
            arguments.insert(attribute.name.text.clone(), (value, tree.range(attribute.name.span)));
        }
    }
    let Some(source_expression) = content.get("source") else { return };
    let Some(source) = literal_string(source_expression) else {
        compiling.error(
            "Module source not supported yet",
            "The source of a module must be a plain string in this version of Weft: sources that are computed are not read yet.",
            &source_expression.range(),
        );
        return;
    };
    let repetition = compiling.repetition(&content, enabled);
    let providers = content.get("providers").map(|e| passed_providers(compiling, e)).unwrap_or_default();
    let depends_on = content.get("depends_on").map(|e| compiling.depends_on(e)).unwrap_or_default();
    let mut references = Vec::new();
    if let Some(expression) = repetition.expression() {
        references.extend(compiling.references(expression));
    }
    for passed in &providers {
        if let Some(key) = &passed.parent.key {
            references.extend(provider_key_references(compiling, key));
        }
    }
    for (value, _) in arguments.values() {
        references.extend(compiling.references(value));
    }
    let call = ModuleCall {
        name: name.clone(),
        source,
        source_range: source_expression.range(),
        version: content.get("version").and_then(literal_string),
        repetition,
        providers,
        depends_on,
        arguments,
        references,
        range: block.range.clone(),
    };
    compiling.module.calls.insert(name, Arc::new(call));
}

/// What the key of a provider instance refers to. A literal key is part of the provider's own name.
fn provider_key_references(compiling: &mut Compiling<'_>, key: &Expression) -> Vec<crate::reference::Reference> {
    if key
        .as_traversal()
        .is_some_and(|t| matches!(t.steps.last().map(|s| &s.kind), Some(weft_syntax::StepKind::Index(_))))
    {
        return Vec::new();
    }
    compiling.references(key)
}

fn passed_providers(compiling: &mut Compiling<'_>, expression: &Expression) -> Vec<PassedProvider> {
    let Some(entries) = expression.as_map() else {
        compiling.error(
            "Invalid providers argument",
            "The providers argument is an object: the child's provider names on the left, ours on the right.",
            &expression.range(),
        );
        return Vec::new();
    };
    let mut passed = Vec::new();
    for (key, value) in entries {
        let child = provider_name(&key.without_parentheses()).or_else(|| {
            let text = key.as_string_literal()?;
            let mut parts = text.splitn(2, '.');
            Some((SmolStr::new(parts.next()?), parts.next().map(SmolStr::new), None))
        });
        let Some((child_name, child_alias, None)) = child else {
            compiling.error(
                "Invalid module provider configuration",
                "The left side is a provider's local name in the child module, and perhaps an alias; it has no keys.",
                &key.range(),
            );
            continue;
        };
        if let Some(parent) = compiling.provider_reference(&value) {
            passed.push(PassedProvider { child_name, child_alias, child_range: key.range(), parent });
        }
    }
    passed
}

/// A `provider` block.
pub(super) fn provider(compiling: &mut Compiling<'_>, block: &FoundBlock) {
    let local_name = block.labels[0].0.clone();
    let content = compiling.content(block, &PROVIDER);
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
    for inner in &content.blocks {
        compiling.error(
            "Reserved block type name in provider block",
            format!(
                "The block type name {:?} is kept for use by the language, or not supported yet.",
                inner.block_type
            ),
            &inner.range,
        );
    }
    let alias = match content.get("alias") {
        None => None,
        Some(expression) => {
            let text = literal_string(expression).or_else(|| expression.as_keyword().map(SmolStr::new));
            if !text.as_ref().is_some_and(|t| weft_syntax::is_identifier(t)) {
                compiling.error(
                    "Invalid provider configuration alias",
                    "An alias must be a plain name: letters, digits, underscores and dashes.",
                    &expression.range(),
                );
            }
            text
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
        compiling.error(
            "Duplicate provider configuration",
            match &alias {
                None => format!("The default configuration of provider {local_name:?} is at {place} already. Give this one an alias."),
                Some(alias) => format!("A configuration of provider {local_name:?} with alias {alias:?} is at {place} already."),
            },
            &block.range,
        );
        return;
    }
    let tree = compiling.tree.clone();
    let body = tree.body(block.body);
    let is_empty =
        body.blocks.is_empty() && body.attributes.iter().all(|a| PROVIDER_ARGUMENTS.contains(&a.name.text.as_str()));
    let mut references =
        references_of_body(&tree, block.body, PROVIDER_ARGUMENTS, PROVIDER_BLOCKS, compiling.diagnostics);
    if let Some(expression) = &for_each {
        references.extend(compiling.references(expression));
    }
    let version = content.get("version").and_then(literal_string);
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
        body: compiling.body_source(block, PROVIDER_ARGUMENTS, PROVIDER_BLOCKS),
        is_empty,
        references,
        range: block.range.clone(),
    };
    compiling.module.providers.insert(key, Arc::new(found));
}

/// A `resource` or `data` block.
pub(super) fn resource(compiling: &mut Compiling<'_>, block: &FoundBlock) {
    let managed = block.block_type == "resource";
    let resource = Resource {
        mode: if managed { ResourceMode::Managed } else { ResourceMode::Data },
        type_name: block.labels[0].0.clone(),
        name: block.labels[1].0.clone(),
    };
    let what = if managed { "resource" } else { "data resource" };
    let valid =
        compiling.identifier(&block.labels[0], &format!("{what} type")) & compiling.identifier(&block.labels[1], what);
    if let Some(first) = compiling.module.resources.get(&resource) {
        let place = format!("{}:{}", first.range.file, first.range.start.line);
        compiling.error(
            &format!(
                "Duplicate {} {:?} configuration",
                if managed { "resource" } else { "data" },
                resource.type_name.as_str()
            ),
            format!("{resource} is declared at {place} already. Names are unique for each type in a module."),
            &block.range,
        );
        return;
    }
    let content = compiling.content(block, &RESOURCE);
    let mut lifecycle = Lifecycle::default();
    let mut enabled = None;
    let mut seen_lifecycle = false;
    for inner in &content.blocks {
        match inner.block_type {
            "lifecycle" if seen_lifecycle => {
                compiling.error("Duplicate lifecycle block", "A resource has one lifecycle block.", &inner.range);
            }
            "lifecycle" => {
                seen_lifecycle = true;
                (lifecycle, enabled) = compiling.lifecycle(inner, managed);
            }
            other => compiling.error(
                "Block not supported yet",
                format!("A {other:?} block in a resource is part of the language, but this version of Weft cannot carry it out yet."),
                &inner.range,
            ),
        }
    }
    let repetition = compiling.repetition(&content, enabled);
    let provider = content.get("provider").and_then(|e| compiling.provider_reference(e));
    let depends_on = content.get("depends_on").map(|e| compiling.depends_on(e)).unwrap_or_default();
    let tree = compiling.tree.clone();
    let mut references =
        references_of_body(&tree, block.body, RESOURCE_ARGUMENTS, RESOURCE_BLOCKS, compiling.diagnostics);
    if let Some(expression) = repetition.expression() {
        references.extend(compiling.references(expression));
    }
    if let Some(ProviderReference { key: Some(key), .. }) = &provider {
        references.extend(provider_key_references(compiling, key));
    }
    for condition in lifecycle.preconditions.iter().chain(&lifecycle.postconditions) {
        references.extend(compiling.references(&condition.condition));
        references.extend(compiling.references(&condition.error_message));
    }
    let mut trigger_references = Vec::new();
    for trigger in &lifecycle.replace_triggered_by {
        trigger_references.extend(compiling.references(trigger));
    }
    if let Some(expression) = &lifecycle.prevent_destroy {
        references.extend(compiling.references(expression));
    }
    let found = ResourceBlock {
        resource: resource.clone(),
        repetition,
        provider,
        depends_on,
        lifecycle,
        body: compiling.body_source(block, RESOURCE_ARGUMENTS, RESOURCE_BLOCKS),
        references,
        trigger_references,
        range: block.range.clone(),
    };
    if valid {
        compiling.module.resources.insert(resource, Arc::new(found));
    }
}

impl Repetition {
    /// Whether instances carry numbers.
    pub fn is_count(&self) -> bool {
        matches!(self, Repetition::Count(_))
    }
}
