//! Finds dependencies that failed. If a dependency failed, validation reports no problems of its dependents, because
//! these problems may change when the dependency is fixed.

use std::collections::BTreeSet;
use std::sync::Arc;

use weft_graph_format::schema::Schema;
use weft_graph_format::source::SourceRange;

use super::module_node::ModuleNode;
use super::references::provisioner_references;
use super::schema_traversal::unread_parts;
use crate::config::ResourceBlock;
use crate::reference::{Reference, Referent};

impl ModuleNode {
    /// Whether the target of any of these references has failed. Undeclared targets do not count.
    pub(super) async fn any_failed(self: &Arc<Self>, references: &[&Reference]) -> bool {
        for reference in references {
            let failed = match &reference.subject {
                Referent::Module(name, output) if self.config.has_output(name, output.as_ref()) => {
                    let named = output.clone().map(|output| BTreeSet::from([output]));
                    self.call_value(name.clone(), named).await.is_err()
                }
                subject if self.declares(subject) => self.start(subject).await.is_err(),
                _ => false,
            };
            if failed {
                return true;
            }
        }
        false
    }

    /// Whether a dependency of a resource has failed. Dependencies are the references in arguments, conditions,
    /// triggers, provisioners, connections and `depends_on`. Arguments that the resource type does not have are
    /// ignored.
    pub(super) async fn has_failed_dependency(self: &Arc<Self>, block: &ResourceBlock) -> bool {
        let schema = self.schema_if_known(block).await;
        let unread: Vec<SourceRange> =
            schema.map(|schema| unread_parts(&block.body, &schema.block)).unwrap_or_default();
        let own = Referent::Resource(block.resource.clone());
        let is_dependency = |reference: &&Reference| {
            reference.subject != own && !unread.iter().any(|range| range.holds(&reference.range))
        };
        let mut references: Vec<&Reference> = block.references.iter().chain(&block.trigger_references).collect();
        references.extend(provisioner_references(block));
        references.retain(is_dependency);
        if self.any_failed(&references).await {
            return true;
        }
        let own_problem = block.depends_on.iter().any(|reference| self.is_unsound(&reference.range));
        !own_problem && self.depends_on_origin(&block.depends_on, Some(&block.resource)).await.is_err()
    }

    /// The schema of a resource, if its provider is available and has the type. Reports nothing.
    async fn schema_if_known(&self, block: &ResourceBlock) -> Option<Arc<Schema>> {
        let source = self.config.provider_source(&block.provider_local_name());
        let schema = self.evaluation.glue.provider_schema(&source).await.ok()?;
        schema.types(block.resource.mode).get(&block.resource.type_name).cloned()
    }
}
