//! Lifecycle arguments whose values are looked at when a resource is planned.

use std::sync::Arc;

use weft_expressions::convert::convert;
use weft_graph_format::diagnostic::Diagnostic;
use weft_graph_format::types::Type;

use super::calls::ModuleNode;
use super::scope::Repeated;
use crate::config::ResourceBlock;
use crate::glue::{Failed, Protection};

impl ModuleNode {
    /// What `prevent_destroy` says. A value that can never be true or false is refused at once; null and unknown values
    /// matter only when something is to be destroyed.
    pub(super) async fn protection(self: &Arc<Self>, block: &ResourceBlock) -> Result<Option<Protection>, Failed> {
        let Some(expression) = &block.lifecycle.prevent_destroy else { return Ok(None) };
        let value = self.evaluate(expression, &Repeated::default()).await?;
        if let Err(problem) = convert(&value, &Type::Bool) {
            let detail = format!("prevent_destroy must be true or false: {}.", problem.with_path());
            return self.fail(Diagnostic::error("Invalid value for prevent_destroy", detail).at(expression.range()));
        }
        Ok(Some(Protection { value, range: block.range.clone() }))
    }

    /// Refuses a `destroy` that is not written out. Validation says nothing of it.
    pub(super) fn clear_destroy(&self, block: &ResourceBlock) -> Result<(), Failed> {
        let Some(expression) = &block.lifecycle.unclear_destroy else { return Ok(()) };
        if self.evaluation.is_validation() {
            return Ok(());
        }
        let detail = "The lifecycle argument destroy is true or false, written out.";
        self.fail(Diagnostic::error("Invalid lifecycle destroy expression", detail).at(expression.range()))
    }
}
