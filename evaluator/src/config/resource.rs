//! `resource`, `data` and `ephemeral` blocks.

use std::sync::Arc;

use smol_str::SmolStr;
use weft_graph_format::address::{Resource, ResourceMode};

use super::call::provider_key_references;
use super::compiling::Compiling;
use super::content::{BlockContent, BlockRule, ContentRules, FoundBlock};
use super::literal::optional;
use super::provisioner::provisioner;
use super::{BodySource, Lifecycle, ProviderReference, Repetition, ResourceBlock, problems};
use crate::reference::{Reference, Referent};

const RESOURCE: ContentRules = ContentRules {
    attributes: &[optional("count"), optional("for_each"), optional("provider"), optional("depends_on")],
    blocks: &[
        BlockRule { name: "lifecycle", labels: &[] },
        BlockRule { name: "connection", labels: &[] },
        BlockRule { name: "provisioner", labels: &["type"] },
        BlockRule { name: "locals", labels: &[] },
        BlockRule { name: "_", labels: &[] },
    ],
    open: true,
};

/// The rules for modes whose resources have no provisioners.
const WITHOUT_PROVISIONERS: ContentRules = ContentRules {
    blocks: &[
        BlockRule { name: "lifecycle", labels: &[] },
        BlockRule { name: "locals", labels: &[] },
        BlockRule { name: "_", labels: &[] },
    ],
    ..RESOURCE
};

const ARGUMENTS: &[&str] = &["count", "for_each", "provider", "depends_on"];
const BLOCKS: &[&str] = &["lifecycle", "connection", "provisioner", "locals", "_"];
const BLOCKS_WITHOUT_PROVISIONERS: &[&str] = &["lifecycle", "locals", "_"];

/// The location of a resource block.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(super) enum Nested {
    /// At the top level of a file.
    No,
    /// In the check block of this name.
    Check(SmolStr),
}

/// The names that messages use for blocks of a mode.
struct Words {
    /// The description of the first label, the type of the resource.
    type_name: &'static str,
    /// The description of the second label, the name of the resource.
    name: &'static str,
}

fn kind(block: &FoundBlock) -> (ResourceMode, Words) {
    match block.block_type {
        "resource" => (ResourceMode::Managed, Words { type_name: "resource type", name: "resource" }),
        "data" => (ResourceMode::Data, Words { type_name: "data source", name: "data resource" }),
        _ => (ResourceMode::Ephemeral, Words { type_name: "ephemeral resource type", name: "ephemeral resource" }),
    }
}

/// Reads a `resource`, `data` or `ephemeral` block at the top level of a file.
pub(super) fn resource(compiling: &mut Compiling<'_>, block: &FoundBlock) {
    resource_block(compiling, block, Nested::No);
}

/// Reads a block. Returns its type and name if the type and the name are valid.
pub(super) fn resource_block(compiling: &mut Compiling<'_>, block: &FoundBlock, nested: Nested) -> Option<Resource> {
    let (mode, words) = kind(block);
    let resource = Resource { mode, type_name: block.labels[0].0.clone(), name: block.labels[1].0.clone() };
    let valid =
        compiling.identifier(&block.labels[0], words.type_name) & compiling.identifier(&block.labels[1], words.name);
    let managed = mode == ResourceMode::Managed;
    let content = compiling.content(block, if mode == ResourceMode::Data { &WITHOUT_PROVISIONERS } else { &RESOURCE });
    if nested != Nested::No {
        refuse_repetition(compiling, &content);
    }
    let read = inner_blocks(compiling, &content.blocks, &resource, &nested);
    let InnerBlocks { lifecycle, enabled, connection, provisioners } = read;
    let repetition = compiling.repetition(&content, enabled);
    let provider_value = content.get("provider").and_then(|e| compiling.provider_value(e));
    let named = content.get("provider").filter(|_| provider_value.is_none());
    let provider = named.and_then(|e| compiling.provider_reference(e));
    let depends_on = content.get("depends_on").map(|e| compiling.depends_on(e)).unwrap_or_default();
    let taken = if managed { BLOCKS } else { BLOCKS_WITHOUT_PROVISIONERS };
    let mut body = compiling.body_source(block, ARGUMENTS, taken);
    body.escaped = compiling.escaped(&content.blocks);
    let mut found = ResourceBlock {
        resource: resource.clone(),
        repetition,
        provider,
        provider_value,
        depends_on,
        lifecycle,
        provisioners,
        connection,
        check: match nested {
            Nested::Check(name) => Some(name),
            Nested::No => None,
        },
        body,
        references: Vec::new(),
        trigger_references: Vec::new(),
        range: block.range.clone(),
    };
    found.references = references(compiling, &found);
    found.trigger_references =
        found.lifecycle.replace_triggered_by.iter().flat_map(|trigger| compiling.references(trigger)).collect();
    if !valid {
        return None;
    }
    if let Some(first) = compiling.module.resources.get(&resource) {
        let problem = problems::resource::duplicate(&resource, &first.range, &block.range);
        compiling.report_together(problem);
        return None;
    }
    compiling.module.resources.insert(resource.clone(), Arc::new(found));
    Some(resource)
}

/// Reports `count` and `for_each` in the data block of a check.
fn refuse_repetition(compiling: &mut Compiling<'_>, content: &BlockContent) {
    for name in ["count", "for_each"] {
        if let Some(found) = content.attributes.get(name) {
            compiling.report(problems::resource::repeated_in_check(name, found.name_range.clone()));
        }
    }
}

/// The references of a block, without those of `replace_triggered_by`.
fn references(compiling: &mut Compiling<'_>, block: &ResourceBlock) -> Vec<Reference> {
    let mut references = compiling.body_references(&block.body);
    if let Some(expression) = block.repetition.expression() {
        references.extend(compiling.references(expression));
    }
    if let Some(expression) = &block.provider_value {
        references.extend(compiling.references(expression));
    }
    if let Some(ProviderReference { key: Some(key), .. }) = &block.provider {
        references.extend(provider_key_references(compiling, key));
    }
    for condition in block.lifecycle.preconditions.iter().chain(&block.lifecycle.postconditions) {
        references.extend(compiling.references(&condition.condition));
        references.extend(compiling.references(&condition.error_message));
    }
    if let Some(expression) = &block.lifecycle.prevent_destroy {
        // Planning reports names that exist only inside instances, such as `each.key`.
        let of_instance = |reference: &Reference| {
            matches!(reference.subject, Referent::CountIndex | Referent::EachKey | Referent::EachValue)
        };
        references.extend(compiling.references(expression).into_iter().filter(|found| !of_instance(found)));
    }
    references
}

/// The nested blocks that the language reads.
#[derive(Default)]
struct InnerBlocks {
    lifecycle: Lifecycle,
    enabled: Option<weft_syntax::Expression>,
    connection: Option<Connection>,
    provisioners: Vec<super::Provisioner>,
}

/// A `connection` block of a resource.
#[derive(Clone, Debug)]
pub struct Connection {
    /// Its arguments.
    pub body: BodySource,
    /// Its references.
    pub references: Vec<Reference>,
}

fn inner_blocks(
    compiling: &mut Compiling<'_>,
    blocks: &[FoundBlock],
    resource: &Resource,
    nested: &Nested,
) -> InnerBlocks {
    let mut read = InnerBlocks::default();
    let mut first_lifecycle = None;
    let mut first_connection = None;
    for inner in blocks {
        match inner.block_type {
            "lifecycle" if *nested != Nested::No => {
                compiling.report(problems::resource::lifecycle_in_check(&inner.range))
            }
            "lifecycle" => match &first_lifecycle {
                Some(first) => compiling.report(problems::resource::second_lifecycle(first, &inner.range)),
                None => {
                    first_lifecycle = Some(inner.range.clone());
                    (read.lifecycle, read.enabled) = compiling.lifecycle(inner, resource);
                }
            },
            kind @ ("connection" | "provisioner") if resource.mode == ResourceMode::Ephemeral => {
                compiling.report(problems::resource::block_of_ephemeral(kind, &inner.range));
            }
            "connection" => match &first_connection {
                Some(first) => compiling.report(problems::resource::second_connection(first, &inner.range)),
                None => {
                    first_connection = Some(inner.range.clone());
                    let body = compiling.body_source(inner, &[], &[]);
                    let references = compiling.body_references(&body);
                    read.connection = Some(Connection { body, references });
                }
            },
            "provisioner" => read.provisioners.extend(provisioner(compiling, inner)),
            "locals" => compiling.report(problems::resource::reserved_locals(resource.mode, &inner.range)),
            _ => {}
        }
    }
    let destroys = read.provisioners.iter().any(|found| found.on_destroy);
    if destroys && let Some(connection) = &read.connection {
        let references = connection.references.clone();
        super::provisioner::only_own(compiling, &references);
    }
    read
}

impl Repetition {
    /// Whether instances have integer keys.
    pub fn is_count(&self) -> bool {
        matches!(self, Repetition::Count(_))
    }
}
