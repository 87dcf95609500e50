//! `provisioner` and `connection` blocks.

use smol_str::SmolStr;
use weft_graph_format::source::SourceRange;

use super::compiling::Compiling;
use super::content::{BlockRule, ContentRules, FoundBlock};
use super::literal::optional;
use super::{BodySource, problems};
use crate::reference::{Reference, Referent};

const PROVISIONER: ContentRules = ContentRules {
    attributes: &[optional("when"), optional("on_failure")],
    blocks: &[
        BlockRule { name: "connection", labels: &[] },
        BlockRule { name: "lifecycle", labels: &[] },
        BlockRule { name: "_", labels: &[] },
    ],
    open: true,
};

const ARGUMENTS: &[&str] = &["when", "on_failure"];
const BLOCKS: &[&str] = &["connection", "lifecycle", "_"];

/// Provisioners that OpenTofu no longer has.
const GONE: &[&str] = &["chef", "habitat", "puppet", "salt-masterless"];

/// A `provisioner` block.
#[derive(Clone, Debug)]
pub struct Provisioner {
    /// The type, such as `local-exec`.
    pub kind: SmolStr,
    /// Whether the provisioner runs before the object is destroyed, instead of after its creation.
    pub on_destroy: bool,
    /// Whether a failure is ignored.
    pub continues: bool,
    /// Its arguments.
    pub body: BodySource,
    /// Its `connection` block.
    pub connection: Option<BodySource>,
    /// The references of the arguments and of the connection.
    pub references: Vec<Reference>,
    /// The header of the block.
    pub range: SourceRange,
}

/// Reads a `provisioner` block; `None` for a removed type.
pub(super) fn provisioner(compiling: &mut Compiling<'_>, block: &FoundBlock) -> Option<Provisioner> {
    let kind = block.labels[0].0.clone();
    if GONE.contains(&kind.as_str()) {
        compiling.report(problems::provisioner::gone(&kind, &block.range));
        return None;
    }
    let content = compiling.content(block, &PROVISIONER);
    let when = content.get("when").map(|e| compiling.keyword("when", e, ["create", "destroy"]));
    let failing = content.get("on_failure").map(|e| compiling.keyword("on_failure", e, ["continue", "fail"]));
    let mut connection = None;
    for inner in &content.blocks {
        match inner.block_type {
            "connection" if connection.is_some() => {
                compiling.report(problems::provisioner::second_connection(&inner.range));
            }
            "connection" => connection = Some(inner.clone()),
            "lifecycle" => compiling.report(problems::provisioner::reserved_lifecycle(&inner.range)),
            _ => {}
        }
    }
    let mut body = compiling.body_source(block, ARGUMENTS, BLOCKS);
    body.escaped = compiling.escaped(&content.blocks);
    let mut references = compiling.body_references(&body);
    let connection = connection.map(|inner| compiling.body_source(&inner, &[], &[]));
    if let Some(inner) = &connection {
        references.extend(compiling.body_references(inner));
    }
    let on_destroy = when.flatten() == Some("destroy");
    if on_destroy {
        only_own(compiling, &references);
    }
    Some(Provisioner {
        kind,
        on_destroy,
        continues: failing.flatten() == Some("continue"),
        body,
        connection,
        references,
        range: block.range.clone(),
    })
}

/// Reports references to other objects. When a destroy-time provisioner runs, these objects may already be destroyed.
pub(super) fn only_own(compiling: &mut Compiling<'_>, references: &[Reference]) {
    for reference in references {
        let own = matches!(
            reference.subject,
            Referent::SelfObject
                | Referent::EachKey
                | Referent::CountIndex
                | Referent::Path(_)
                | Referent::Terraform(..)
        );
        if !own {
            compiling.report(problems::provisioner::reference_on_destroy(reference.range.clone()));
        }
    }
}
