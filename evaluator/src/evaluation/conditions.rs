//! Preconditions and postconditions.

use std::sync::Arc;

use smol_str::SmolStr;
use weft_expressions::convert::convert;
use weft_graph_format::diagnostic::Diagnostic;
use weft_graph_format::graph::CheckKind;
use weft_graph_format::origin::Origin;
use weft_graph_format::types::Type;
use weft_graph_format::value::Value;

use super::calls::ModuleNode;
use super::scope::Repeated;
use crate::config::{Condition, references_of};
use crate::glue::{Failed, OpenCheck};

/// The text of a message; one that must not be shown is replaced by words.
pub(crate) fn message_text(message: &Value) -> String {
    let marks = message.marks();
    if marks.is_sensitive() {
        return String::from("The error message is made from sensitive values, so it is not shown.");
    }
    if marks.is_ephemeral() {
        return String::from("The error message is made from ephemeral values, so it is not shown.");
    }
    match convert(message, &Type::String) {
        Ok(text) => {
            text.as_str().map_or_else(|| String::from("The error message is not known yet."), |t| t.trim().to_string())
        }
        Err(_) => String::from("The error message is not a string."),
    }
}

impl ModuleNode {
    /// Checks conditions. Those that are not known yet become checks at apply, and the origin is what has to wait
    /// for them. `waits` is what such checks wait for beside what they read.
    pub(crate) async fn conditions(
        self: &Arc<Self>,
        conditions: &[Condition],
        address: &SmolStr,
        kind: CheckKind,
        summary: &str,
        repeated: &Repeated,
        waits: Option<Origin>,
    ) -> Result<Option<Origin>, Failed> {
        if self.evaluation.is_validation() && conditions.is_empty() {
            return Ok(None);
        }
        let mut failed = false;
        let mut origins = Vec::new();
        for condition in conditions {
            match self.condition(condition, address, kind, summary, repeated, &waits).await {
                Ok(origin) => origins.extend(origin),
                Err(Failed) => failed = true,
            }
        }
        if failed { Err(Failed) } else { Ok(Origin::union(origins)) }
    }

    async fn condition(
        self: &Arc<Self>,
        condition: &Condition,
        address: &SmolStr,
        kind: CheckKind,
        summary: &str,
        repeated: &Repeated,
        waits: &Option<Origin>,
    ) -> Result<Option<Origin>, Failed> {
        let mut problems = Vec::new();
        let mut references = references_of(&condition.condition, &mut problems);
        references.extend(references_of(&condition.error_message, &mut problems));
        if !problems.is_empty() {
            return self.report_all(problems);
        }
        let scope = self.scope(&references, repeated).await?;
        let (value, problems) = weft_expressions::evaluate::evaluate(&condition.condition, &scope);
        if problems.iter().any(Diagnostic::is_error) {
            return self.report_all(problems);
        }
        let (message, message_problems) = weft_expressions::evaluate::evaluate(&condition.error_message, &scope);
        let at = condition.condition.range();
        let value = match convert(&value, &Type::Bool) {
            Ok(value) if !value.is_null() => value,
            Ok(_) => {
                return self.fail(
                    Diagnostic::error("Invalid condition result", "The condition is null; it must be true or false.")
                        .at(at),
                );
            }
            Err(problem) => {
                return self.fail(
                    Diagnostic::error(
                        "Invalid condition result",
                        format!("The condition is unsuitable: {}.", problem.with_path()),
                    )
                    .at(at),
                );
            }
        };
        match value.as_bool() {
            Some(true) => Ok(value.deep_origin()),
            // Whether conditions of resources hold is not asked while validating.
            Some(false) if self.evaluation.is_validation() && !address.contains("output.") => Ok(None),
            Some(false) => {
                if message_problems.iter().any(Diagnostic::is_error) {
                    message_problems.into_iter().for_each(|p| self.evaluation.glue.report(p));
                }
                self.fail(Diagnostic::error(summary, message_text(&message)).at(at))
            }
            None if self.evaluation.is_validation() => Ok(None),
            None => Ok(self.evaluation.glue.open_check(OpenCheck {
                address: address.clone(),
                kind,
                condition: value,
                message,
                range: at,
                waits: waits.clone(),
            })),
        }
    }
}
