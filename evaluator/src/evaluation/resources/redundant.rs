//! Entries of `ignore_changes` that have no effect.

use weft_expressions::resource_rules::attribute_at;
use weft_graph_format::address::ResourceMode;
use weft_graph_format::diagnostic::Diagnostic;
use weft_graph_format::path::ValueStep;
use weft_graph_format::schema::Attribute;

use super::Common;
use crate::evaluation::ModuleNode;
use crate::evaluation::problems::references as problems;
use crate::evaluation::schema_traversal::wrong_path;

impl ModuleNode {
    /// The warnings about entries of `ignore_changes` that no configuration can set. As in OpenTofu, nothing is
    /// reported after the first error of the block.
    pub(super) fn redundant_ignored(&self, common: &Common) -> Vec<Diagnostic> {
        let (block, schema) = (&common.block, &common.schema.block);
        let wrong = !common.is_expanded || block.depends_on.iter().any(|reference| self.is_unsound(&reference.range));
        if wrong || block.resource.mode != ResourceMode::Managed {
            return Vec::new();
        }
        let is_computed = |found: &Attribute| found.computed && !found.optional && !found.required;
        let entries = block.lifecycle.ignore_changes.iter();
        let sound = entries.take_while(|(path, range)| wrong_path(schema, path, range).is_none());
        sound
            .filter_map(|(path, _)| match path.0.last() {
                Some(ValueStep::Attribute(name)) if attribute_at(schema, path).is_some_and(is_computed) => {
                    Some(problems::ignored_computed(name, &block.range))
                }
                _ => None,
            })
            .collect()
    }
}
