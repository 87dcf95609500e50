//! Arguments of `lifecycle` blocks that are evaluated when a resource is planned.

use std::sync::Arc;

use weft_expressions::convert::convert;
use weft_graph_format::diagnostic::has_errors;
use weft_graph_format::source::SourceRange;
use weft_graph_format::types::Type;
use weft_graph_format::value::Value;

use super::module_node::ModuleNode;
use super::references::check_loose;
use super::repetition_data::RepetitionData;
use crate::config::ResourceBlock;
use crate::evaluation::problems::blocks as problems;
use crate::glue::{Failed, Protection};
use crate::reference::{Reference, Referent, references_of};

impl ModuleNode {
    /// Evaluates `prevent_destroy`. Validation checks it only if it is a constant.
    pub(super) async fn protection(self: &Arc<Self>, block: &ResourceBlock) -> Result<Option<Protection>, Failed> {
        let Some(expression) = &block.lifecycle.prevent_destroy else { return Ok(None) };
        if !self.evaluation.purpose().has_values() {
            let (value, found) = weft_expressions::constant::evaluate_constant(expression);
            let unfit = convert(&value, &Type::Bool).err().filter(|_| !has_errors(&found));
            return match unfit {
                Some(problem) => {
                    self.fail(problems::unsuitable_prevent_destroy(&problem.with_path(), expression.range()))
                }
                None => Ok(None),
            };
        }
        let references = references_of(expression, &mut Vec::new());
        let of_instances = name_of_instances(&references);
        let wrong = check_loose(&self.evaluation, &self.config, &references).await;
        let value = match of_instances {
            None if wrong.is_empty() => self.evaluate(expression, &RepetitionData::default()).await?,
            _ => Value::null(Type::Bool),
        };
        Ok(Some(Protection { value, at: expression.range(), range: block.range.clone(), of_instances, wrong }))
    }

    /// Records the protection of a resource that is not evaluated otherwise.
    pub(super) async fn note_protection(self: Arc<Self>, block: Arc<ResourceBlock>) -> Result<(), Failed> {
        if let Some(protection) = self.protection(&block).await? {
            self.evaluation.glue.protected(&self.absolute(&block.resource), protection);
        }
        Ok(())
    }

    /// Reports a `destroy` argument that is not a literal, which validation accepts.
    pub(super) fn clear_destroy(&self, block: &ResourceBlock) -> Result<(), Failed> {
        let Some(expression) = &block.lifecycle.unclear_destroy else { return Ok(()) };
        if !self.evaluation.purpose().has_values() {
            return Ok(());
        }
        self.fail(problems::unclear_destroy(expression.range()))
    }
}

/// The first name that only exists in instances, such as `count.index`, with its range.
pub(crate) fn name_of_instances(references: &[Reference]) -> Option<(&'static str, SourceRange)> {
    references.iter().find_map(|reference| {
        let name = match reference.subject {
            Referent::CountIndex => "count.index",
            Referent::EachKey => "each.key",
            Referent::EachValue => "each.value",
            _ => return None,
        };
        Some((name, reference.range.clone()))
    })
}
