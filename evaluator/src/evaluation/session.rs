//! An open evaluation that answers questions about the root module, as in the console.

use std::collections::BTreeSet;
use std::sync::Arc;
use std::sync::atomic::Ordering;

use smol_str::SmolStr;
use weft_expressions::console::INPUT_NAME;
use weft_expressions::type_text::type_text;
use weft_graph_format::address::{ConfigResource, ResourceInstance};
use weft_graph_format::diagnostic::{Diagnostic, has_errors};
use weft_graph_format::source::Position;
use weft_graph_format::value::Value;
use weft_syntax::{ExprKind, Expression};

use super::module_node::ModuleNode;
use super::problems::values as problems;
use super::repetition_data::RepetitionData;
use crate::Environment;
use crate::config::{CompiledModule, SourceFiles};
use crate::given_variables::GivenVariables;
use crate::glue::{Failed, Glue};
use crate::reference::references_of;

/// A function that only questions can call. It returns the type of its argument as text.
const TYPE: &str = "type";
/// A function that questions cannot call, because there is no plan whose time it could return.
const PLAN_TIME: &str = "plantimestamp";

/// An open evaluation. Dropping the session ends the evaluation.
pub struct Session {
    pub(super) root: Arc<ModuleNode>,
}

/// The result of a question.
#[derive(Debug)]
pub struct Answer {
    /// The answer. `None` after an error.
    pub said: Option<SessionAnswer>,
    /// The diagnostics of the question.
    pub problems: Vec<Diagnostic>,
    /// The source text of the question, for diagnostics.
    pub sources: SourceFiles,
}

/// An answer.
#[derive(Clone, Debug, PartialEq)]
pub enum SessionAnswer {
    /// A value, with its marks.
    Value(Value),
    /// A type, as text.
    Type(String),
}

impl Session {
    /// The targets of the import blocks whose resources are selected. Empty if the plan imports nothing. Targets of
    /// blocks with errors are left out.
    pub async fn import_targets(&self) -> BTreeSet<ResourceInstance> {
        let evaluation = &self.root.evaluation;
        let mut found = BTreeSet::new();
        if !evaluation.purpose().needs_import_targets() {
            return found;
        }
        for block in &self.root.config.statements.imports {
            let config = ConfigResource { module: block.to.module_config(), resource: block.to.resource.clone() };
            if evaluation.selected.as_ref().is_some_and(|selected| !selected.resources.contains(&config)) {
                continue;
            }
            if let Ok(imports) = self.root.imports_of(&config.to_string()).await {
                found.extend(imports.keys().cloned());
            }
        }
        found
    }

    /// Starts a session without evaluating anything. Problems are reported to `glue`.
    ///
    /// # Errors
    /// Returns an error if the configuration is invalid as a whole.
    pub fn begin(
        root: Arc<CompiledModule>,
        glue: Arc<dyn Glue>,
        environment: Environment,
        given: GivenVariables,
    ) -> Result<Session, Failed> {
        super::begin(root, glue, environment, given).map(|root| Session { root })
    }

    /// Evaluates everything that the purpose requires, so that problems are known before the first question.
    ///
    /// # Errors
    /// Returns an error if something failed. Questions can still be asked.
    pub async fn everything(&self) -> Result<(), Failed> {
        self.root.everything().await
    }

    /// Evaluates an output of the root module that a partial plan omits although apply evaluates it. Resources outside
    /// the selection have the values that the state contains.
    ///
    /// # Errors
    /// Returns an error if the evaluation of the output failed. The cause has been reported.
    pub async fn late_output(&self, name: &SmolStr) -> Result<(), Failed> {
        self.root.evaluation.late.store(true, Ordering::Relaxed);
        self.root.output(name).await.map(|_| ())
    }

    /// Evaluates an expression in the root module.
    pub async fn ask(&self, text: &str) -> Answer {
        let (expression, problems) = weft_syntax::parse_expression(INPUT_NAME, Arc::from(text), Position::START);
        let sources = SourceFiles::of(INPUT_NAME, &expression.tree);
        if has_errors(&problems) {
            return Answer { said: None, problems, sources };
        }
        let (said, problems) = match self.evaluated(&expression).await {
            Ok((said, problems)) => (Some(said), problems),
            Err(problems) => (None, problems),
        };
        Answer { said, problems, sources }
    }

    async fn evaluated(&self, expression: &Expression) -> Result<(SessionAnswer, Vec<Diagnostic>), Vec<Diagnostic>> {
        let asked = type_question(expression);
        let inner = asked.as_ref().unwrap_or(expression);
        let misplaced = misplaced_calls(inner);
        if !misplaced.is_empty() {
            return Err(misplaced);
        }
        let mut problems = Vec::new();
        let references = references_of(inner, &mut problems);
        problems.extend(super::references::check_loose(&self.root.evaluation, &self.root.config, &references).await);
        if has_errors(&problems) {
            return Err(problems);
        }
        let Ok(scope) = self.root.scope(&references, &RepetitionData::default()).await else {
            return Err(vec![problems::expression_without_value(inner.range())]);
        };
        let (value, found) = weft_expressions::evaluate::evaluate(inner, &scope);
        problems.extend(found);
        if has_errors(&problems) {
            return Err(problems);
        }
        let said = if asked.is_some() {
            SessionAnswer::Type(type_text(&value.unmark_deep().0))
        } else {
            SessionAnswer::Value(value)
        };
        Ok((said, problems))
    }
}

impl Drop for Session {
    fn drop(&mut self) {
        self.root.release();
    }
}

/// The argument of `type(...)`, if the expression is only this call. The call may be in parentheses, or the only part
/// of a template.
fn type_question(expression: &Expression) -> Option<Expression> {
    let mut here = expression.clone();
    loop {
        let next = match here.kind() {
            ExprKind::Parentheses { inner } => *inner,
            ExprKind::TemplateWrap { inner, .. } => *inner,
            ExprKind::Call(call) if is(&call.name, TYPE) && call.arguments.len() == 1 && !call.expand_final => {
                return call.arguments.first().map(|argument| here.child(*argument));
            }
            _ => return None,
        };
        here = here.child(next);
    }
}

fn is(name: &str, function: &str) -> bool {
    name.strip_prefix("core::").unwrap_or(name) == function
}

/// Reports calls that are not allowed in a question, or not at their position in the question.
fn misplaced_calls(expression: &Expression) -> Vec<Diagnostic> {
    let mut found = Vec::new();
    let mut pending = vec![expression.id];
    while let Some(id) = pending.pop() {
        let node = expression.tree.node(id);
        if let ExprKind::Call(call) = &node.kind {
            let at = expression.tree.range(call.name_span);
            if is(&call.name, TYPE) {
                found.push(match call.arguments.len() {
                    0 => problems::no_type_argument(at),
                    1 => problems::type_in_expression(at),
                    _ => problems::type_arguments(at),
                });
            } else if is(&call.name, PLAN_TIME) {
                found.push(problems::no_plan_time(at));
            }
        }
        node.kind.for_each_child(|child| pending.push(child));
    }
    found
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_call_of_type_asks_for_the_type_of_its_argument() {
        let asked = |text: &str| {
            let (expression, _) = weft_syntax::parse_expression("x", Arc::from(text), Position::START);
            (type_question(&expression).map(|inner| inner.text().to_owned()), misplaced_calls(&expression).len())
        };
        assert_eq!(asked("type(1)").0.as_deref(), Some("1"));
        assert_eq!(asked("(core::type([1]))").0.as_deref(), Some("[1]"));
        assert_eq!(asked("\"${type(x)}\"").0.as_deref(), Some("x"));
        assert_eq!(asked("[type(1)]"), (None, 1));
        assert_eq!(asked("type()"), (None, 1));
        assert_eq!(asked("\"a${type(1)}\""), (None, 1));
        assert_eq!(asked("plantimestamp()"), (None, 1));
    }
}
