//! The `connection` blocks of provisioners, each combined with the `connection` block of its resource.
//!
//! The arguments of a provisioner's connection replace those of the resource's connection. If both connections exist,
//! names that the schema does not have are not reported, as in OpenTofu. The resource's connection must have all
//! required arguments itself.

use std::collections::BTreeSet;
use std::sync::Arc;

use weft_graph_format::diagnostic::Diagnostic;
use weft_graph_format::schema::Block;
use weft_graph_format::source::SourceRange;
use weft_graph_format::value::Value;

use super::module_node::ModuleNode;
use super::provisioner_schemas::connection_schema;
use super::repetition_data::RepetitionData;
use super::schema_traversal::unknown_parts;
use crate::config::{BodySource, ResourceBlock};
use crate::decode::decode;
use crate::evaluation::problems::blocks as problems;
use crate::glue::Failed;
use crate::reference::Reference;

/// The type of connections that OpenTofu deprecates.
const WINRM: &str = "winrm";

/// The arguments and blocks of a body.
fn parts(body: &BodySource) -> Vec<SourceRange> {
    unknown_parts(body, &Block::default())
}

/// Combines the connection of a resource with the connection of one of its provisioners. The second part of the result
/// says whether both connections exist.
pub(super) fn effective(base: Option<&BodySource>, own: Option<&BodySource>) -> Option<(BodySource, bool)> {
    match (base, own) {
        (Some(base), Some(own)) => Some((base.below(own), true)),
        (Some(only), None) | (None, Some(only)) => Some((only.clone(), false)),
        (None, None) => None,
    }
}

/// The parts of a pair of connections that the schema has.
fn used_parts(pair: &BodySource) -> Vec<SourceRange> {
    let unknown = unknown_parts(pair, &connection_schema());
    parts(pair).into_iter().filter(|range| !unknown.contains(range)).collect()
}

/// The parts of the connections of a resource and its provisioners that no provisioner uses.
pub(super) fn unused_parts(resource: &ResourceBlock) -> Vec<SourceRange> {
    let base = resource.connection.as_ref().map(|connection| &connection.body);
    let own = resource.provisioners.iter().map(|provisioner| provisioner.connection.as_ref());
    let used = own.clone().flat_map(|own| match (base, own) {
        (Some(base), Some(own)) => used_parts(&base.below(own)),
        (Some(only), None) | (None, Some(only)) => parts(only),
        (None, None) => Vec::new(),
    });
    let used: BTreeSet<SourceRange> = used.collect();
    base.into_iter().chain(own.flatten()).flat_map(parts).filter(|range| !used.contains(range)).collect()
}

/// The schema of the required arguments that the connection `own` has but the connection `base` lacks. `own` belongs to
/// the provisioner, and `base` to its resource.
fn lacking(base: &BodySource, own: &BodySource) -> Block {
    let has = |body: &BodySource, name: &str| {
        body.arguments().attributes.iter().any(|(_, attribute)| attribute.name.text == name)
    };
    let mut schema = connection_schema();
    schema.attributes.retain(|name, attribute| attribute.required && has(own, name) && !has(base, name));
    schema
}

impl ModuleNode {
    /// Validates the connections of a resource and its provisioners.
    pub(super) async fn validate_connections(
        self: &Arc<Self>,
        block: &ResourceBlock,
        repeated: &RepetitionData,
    ) -> Result<(), Failed> {
        let schema = connection_schema();
        let mut failed = false;
        if let Some(base) = &block.connection
            && block.provisioners.iter().any(|provisioner| provisioner.connection.is_none())
        {
            let decoded = self.decoded(block, (&base.body, &schema), &base.references, repeated).await;
            failed |= self.unconnectable(&base.body, decoded.as_ref().ok()) || decoded.is_err();
        }
        for provisioner in &block.provisioners {
            let Some(own) = &provisioner.connection else { continue };
            let result = match &block.connection {
                Some(base) => {
                    let unused = unused_parts(block);
                    let all = base.references.iter().chain(&provisioner.references);
                    let used = all.filter(|reference| !unused.iter().any(|range| range.holds(&reference.range)));
                    let used: Vec<Reference> = used.cloned().collect();
                    self.validate_pair(block, (&base.body, own), &used, repeated).await
                }
                None => {
                    let decoded = self.decoded(block, (own, &schema), &provisioner.references, repeated).await;
                    match self.unconnectable(own, decoded.as_ref().ok()) {
                        true => Err(Failed),
                        false => decoded.map(drop).map_err(|_| Failed),
                    }
                }
            };
            failed |= result.is_err();
        }
        if failed { Err(Failed) } else { Ok(()) }
    }

    /// Reports a connection over WinRM, which OpenTofu supports but Weft does not. Without this check, the failure
    /// would only appear after objects are created.
    fn unconnectable(&self, body: &BodySource, connection: Option<&Value>) -> bool {
        let ty = connection.and_then(Value::as_fields).and_then(|fields| fields.get("type"));
        let refused = ty.and_then(Value::as_str) == Some(WINRM);
        if refused {
            self.evaluation.glue.report(problems::unsupported_connection(WINRM, body.missing()));
        }
        refused
    }

    async fn validate_pair(
        self: &Arc<Self>,
        block: &ResourceBlock,
        (base, own): (&BodySource, &BodySource),
        references: &[Reference],
        repeated: &RepetitionData,
    ) -> Result<(), Failed> {
        let scope = self.scope_in_block(block, references, repeated).await?;
        let mut failed = false;
        for (body, schema) in [(base.clone(), lacking(base, own)), (base.below(own), connection_schema())] {
            let unknown = unknown_parts(&body, &schema);
            let is_of_unknown = |problem: &Diagnostic| {
                problem.subject.as_ref().is_some_and(|at| unknown.iter().any(|range| range.holds(at)))
            };
            let (value, problems) = decode(&body, &schema, &scope);
            failed |= self.unconnectable(&body, Some(&value));
            for problem in problems.into_iter().filter(|problem| !is_of_unknown(problem)) {
                failed |= problem.is_error();
                self.evaluation.glue.report(problem);
            }
        }
        if failed { Err(Failed) } else { Ok(()) }
    }
}
