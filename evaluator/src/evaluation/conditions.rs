//! Preconditions, postconditions, validations and assertions.

use std::sync::Arc;

use smol_str::SmolStr;
use weft_expressions::convert::convert;
use weft_expressions::error_message::{MessageFault, message_text};
use weft_expressions::scope::Scope;
use weft_graph_format::diagnostic::{Diagnostic, FAILED_CONDITION, InvolvedValue, Severity};
use weft_graph_format::graph::CheckKind;
use weft_graph_format::origin::Origin;
use weft_graph_format::plan_file::{CheckStatus, CheckedKind};
use weft_graph_format::types::Type;
use weft_graph_format::value::Value;

use super::condition_tally::ConditionTally;
use super::module_node::ModuleNode;
use super::problems::conditions as problems;
use super::repetition_data::RepetitionData;
use crate::config;
use crate::glue::{Failed, OpenCheck};
use crate::reference::{Referent, references_of};

/// The text of a message that can be recorded. `None` for messages that cannot be shown, and for empty messages.
fn shown_text(message: &Value) -> Option<String> {
    let marks = message.marks();
    let text = convert(message, &Type::String).ok().filter(|_| !marks.is_sensitive() && !marks.is_ephemeral())?;
    text.as_str().map(|text| text.trim().to_string()).filter(|text| !text.is_empty())
}

/// Whether apply computes the value again.
fn is_computed(value: &Value) -> bool {
    value.formula().is_some() && !value.deep().ephemeral
}

/// The context of a condition.
pub(crate) struct ConditionContext<'a> {
    pub(crate) block: &'a config::Condition,
    pub(crate) repeated: &'a RepetitionData,
    /// The value that is being checked, with its name.
    pub(crate) own: Option<(Referent, &'a Value)>,
    /// The kind of the condition.
    pub(crate) kind: CheckKind,
    /// Whether the condition belongs to a resource. Validation does not evaluate such conditions.
    pub(crate) of_resource: bool,
}

/// The result of a condition.
pub(crate) enum ConditionResult {
    /// The condition is true.
    Holds {
        /// The operations that the condition depends on.
        origin: Option<Origin>,
        /// Whether apply must evaluate the condition again, because the values that it reads may differ at apply.
        again: bool,
        /// The values of the condition and the error message.
        made_from: (Value, Value),
    },
    /// The condition is false.
    Fails {
        /// The error message.
        message: String,
        /// The error message, if it can be shown.
        recorded: Option<String>,
        /// The values that the condition refers to.
        values: Vec<InvolvedValue>,
        /// The values of the condition and the error message.
        made_from: (Value, Value),
    },
    /// The condition is unknown until apply.
    Open {
        /// The condition, with its formula.
        condition: Value,
        /// The message.
        message: Value,
    },
    /// A dependency failed. The failure has been reported.
    Missing,
}

impl ConditionResult {
    /// Whether the result may differ at apply.
    pub(crate) fn changes(&self) -> bool {
        match self {
            ConditionResult::Holds { made_from: (condition, _), .. } => is_computed(condition),
            // Even if the condition stays false, its error message may differ at apply.
            ConditionResult::Fails { made_from: (condition, message), .. } => {
                is_computed(condition) || is_computed(message)
            }
            ConditionResult::Open { .. } => true,
            ConditionResult::Missing => false,
        }
    }

    /// The operations that the condition and its error message depend on.
    pub(crate) fn origin(&self) -> Option<Origin> {
        let (condition, message) = match self {
            ConditionResult::Holds { made_from, .. } | ConditionResult::Fails { made_from, .. } => {
                (&made_from.0, &made_from.1)
            }
            ConditionResult::Open { condition, message } => (condition, message),
            ConditionResult::Missing => return None,
        };
        Origin::union([condition.deep_origin(), message.deep_origin()].into_iter().flatten())
    }

    /// The values of the condition and the error message.
    pub(crate) fn made_from(self) -> Option<(Value, Value)> {
        match self {
            ConditionResult::Holds { made_from, .. } | ConditionResult::Fails { made_from, .. } => Some(made_from),
            ConditionResult::Open { condition, message } => Some((condition, message)),
            ConditionResult::Missing => None,
        }
    }
}

/// The origins of the evaluated conditions of an object.
#[derive(Default)]
pub(crate) struct Checked {
    /// The origins of the results, including checks at apply.
    pub(crate) results: Option<Origin>,
    /// The origins of the values that the conditions read, without checks at apply.
    pub(crate) reads: Option<Origin>,
}

impl Checked {
    /// The origins of a condition that needs no check at apply.
    fn now(origin: Option<Origin>) -> Checked {
        Checked { results: origin.clone(), reads: origin }
    }

    /// The origins of a condition that apply checks. `results` is the origin of the check, and `reads` are the origins
    /// of the values that the condition reads.
    fn at_apply(results: Option<Origin>, reads: impl IntoIterator<Item = Option<Origin>>) -> Checked {
        Checked { results, reads: Origin::union(reads.into_iter().flatten()) }
    }
}

/// The conditions of one kind that an object has.
pub(crate) struct Conditions<'a> {
    pub(crate) blocks: &'a [config::Condition],
    pub(crate) kind: CheckKind,
    pub(crate) repeated: &'a RepetitionData,
    /// The origins that checks at apply wait for, in addition to the origins of the values that the checks read.
    pub(crate) waits: Option<Origin>,
}

impl ModuleNode {
    /// Evaluates conditions. Each condition that is unknown becomes a check at apply.
    pub(crate) async fn conditions(
        self: &Arc<Self>,
        conditions: Conditions<'_>,
        tally: &mut ConditionTally,
    ) -> Result<Checked, Failed> {
        let mut failed = false;
        let (mut results, mut reads) = (Vec::new(), Vec::new());
        for block in conditions.blocks {
            match self.condition(block, &conditions, tally).await {
                Ok(checked) => {
                    results.extend(checked.results);
                    reads.extend(checked.reads);
                }
                Err(Failed) => failed = true,
            }
        }
        if failed {
            return Err(Failed);
        }
        Ok(Checked { results: Origin::union(results), reads: Origin::union(reads) })
    }

    async fn condition(
        self: &Arc<Self>,
        block: &config::Condition,
        conditions: &Conditions<'_>,
        tally: &mut ConditionTally,
    ) -> Result<Checked, Failed> {
        let decides = self.evaluation.purpose().decides_conditions();
        let condition = ConditionContext {
            block,
            repeated: conditions.repeated,
            own: None,
            kind: conditions.kind,
            of_resource: tally.kind == CheckedKind::Resource,
        };
        let at_apply = |address: &SmolStr, condition, message, again| {
            self.evaluation.glue.open_check(OpenCheck {
                address: address.clone(),
                kind: conditions.kind,
                condition,
                message,
                message_range: Some(block.error_message.range()),
                range: block.condition.range(),
                rule: None,
                waits: conditions.waits.clone(),
                again,
            })
        };
        match self.evaluate_condition(&condition).await {
            Ok(ConditionResult::Holds { origin, again: false, .. }) => {
                tally.note(CheckStatus::Pass, None);
                Ok(Checked::now(origin))
            }
            Ok(ConditionResult::Holds { origin, .. }) if !decides => Ok(Checked::now(origin)),
            Ok(ConditionResult::Holds { origin, made_from: (condition, message), .. }) => {
                tally.note(CheckStatus::Pass, None);
                let again = at_apply(&tally.address, condition, message, true);
                let results = Origin::union(origin.iter().cloned().chain(again));
                Ok(Checked::at_apply(results, [origin]))
            }
            // Validation ignores failed conditions of resources. The plan reports them.
            Ok(ConditionResult::Fails { .. }) if !decides && condition.of_resource => Ok(Checked::default()),
            Ok(ConditionResult::Fails { message, recorded, values, made_from: (_, text) }) => {
                tally.note(CheckStatus::Fail, recorded);
                let problem =
                    problems::failed_condition(tally.kind, conditions.kind, &message, block.condition.range())
                        .checking(&tally.address);
                if self.evaluation.purpose().warns_of_failed_conditions() {
                    if tally.kind == CheckedKind::Output {
                        // The plan only warns of the failed condition, but apply must report it as an error. A plan
                        // must not contain ephemeral values, so it stores the finished text of a message that is made
                        // from them.
                        let text = if text.deep().ephemeral { Value::string(&message) } else { text };
                        at_apply(&tally.address, Value::bool(false), text, false);
                    }
                    let severity = Severity::Warning;
                    let problem = problem.code(FAILED_CONDITION);
                    self.evaluation.glue.report(Diagnostic { severity, values, ..problem });
                    return Ok(Checked::default());
                }
                self.fail(Diagnostic { values, ..problem })
            }
            Ok(ConditionResult::Open { .. }) if !decides => Ok(Checked::default()),
            // Apply does not evaluate an unused output.
            Ok(ConditionResult::Open { .. }) if tally.kind == CheckedKind::UnusedOutput => {
                tally.note(CheckStatus::Unknown, None);
                Ok(Checked::default())
            }
            Ok(ConditionResult::Open { condition, message }) => {
                tally.note(CheckStatus::Unknown, None);
                let reads = [condition.deep_origin(), message.deep_origin()];
                Ok(Checked::at_apply(at_apply(&tally.address, condition, message, false), reads))
            }
            Ok(ConditionResult::Missing) => Err(Failed),
            Err(Failed) => {
                tally.note(CheckStatus::Error, None);
                Err(Failed)
            }
        }
    }

    /// Evaluates a condition. Returns `Failed` if the evaluation has errors, which have been reported.
    pub(crate) async fn evaluate_condition(
        self: &Arc<Self>,
        condition: &ConditionContext<'_>,
    ) -> Result<ConditionResult, Failed> {
        let block = condition.block;
        let mut problems = Vec::new();
        let mut references = references_of(&block.condition, &mut problems);
        references.extend(references_of(&block.error_message, &mut problems));
        if !problems.is_empty() {
            return self.report_all(problems);
        }
        if let Some((own, _)) = &condition.own {
            references.retain(|reference| reference.subject != *own);
        }
        let Ok(mut scope) = self.scope(&references, condition.repeated).await else {
            return Ok(ConditionResult::Missing);
        };
        if let Some((own, value)) = &condition.own {
            scope.insert(own.clone(), (*value).clone());
        }
        let (value, mut problems) = weft_expressions::evaluate::evaluate(&block.condition, &scope);
        let (message, message_problems) = weft_expressions::evaluate::evaluate(&block.error_message, &scope);
        let validating = !self.evaluation.purpose().decides_conditions();
        // Validation does not report errors in assertions, but the plan does.
        if validating && condition.kind == CheckKind::Assertion {
            problems.clear();
        }
        problems.extend(message_problems);
        if problems.iter().any(Diagnostic::is_error) {
            return self.report_all(problems);
        }
        let value = self.tell_deprecated(value, &|| block.condition.range());
        let message = self.tell_deprecated(message, &|| block.error_message.range());
        let early = condition.kind != CheckKind::Validation && !(validating && condition.of_resource);
        if early && self.unfit_message(&message, block, &scope, Severity::Warning) {
            return Err(Failed);
        }
        if validating && (condition.of_resource || condition.kind == CheckKind::Assertion) {
            return Ok(ConditionResult::Holds { origin: None, again: false, made_from: (value, message) });
        }
        let at = block.condition.range();
        let values = || weft_expressions::involved::values(&block.condition, &[], &scope);
        // The type of an unknown value is checked when the value is known.
        let value = match if value.is_known() { convert(&value, &Type::Bool) } else { Ok(value) } {
            Ok(value) if !value.is_null() => value,
            Ok(_) => {
                let problem = problems::null_condition(condition.kind, at);
                return self.fail(Diagnostic { values: values(), ..problem });
            }
            Err(problem) => {
                let problem = problems::unsuitable_condition(condition.kind, &problem.with_path(), at);
                return self.fail(Diagnostic { values: values(), ..problem });
            }
        };
        Ok(match value.as_bool() {
            Some(true) => {
                let again = value.formula().is_some() && value.deep().ephemeral;
                ConditionResult::Holds { origin: value.deep_origin(), again, made_from: (value, message) }
            }
            Some(false) => {
                let is_reported = |fault: MessageFault| fault.concerns_validation();
                if condition.kind == CheckKind::Validation && MessageFault::of(&message).is_some_and(is_reported) {
                    self.unfit_message(&message, block, &scope, Severity::Error);
                }
                let (text, recorded) = (message_text(&message), shown_text(&message));
                ConditionResult::Fails { message: text, recorded, values: values(), made_from: (value, message) }
            }
            None => ConditionResult::Open { condition: value, message },
        })
    }

    /// Whether a message is invalid. An invalid message is reported. A valid message that cannot be shown is reported
    /// with the severity `hidden`.
    fn unfit_message(&self, message: &Value, block: &config::Condition, scope: &dyn Scope, hidden: Severity) -> bool {
        let (unfit, problem) = message_problem(message, block, scope, hidden);
        problem.into_iter().for_each(|problem| self.evaluation.glue.report(problem));
        unfit
    }
}

/// Whether a message is invalid, and its diagnostic. The parameter `hidden` is the severity of the diagnostic for a
/// valid message that cannot be shown.
pub(super) fn message_problem(
    message: &Value,
    block: &config::Condition,
    scope: &dyn Scope,
    hidden: Severity,
) -> (bool, Option<Diagnostic>) {
    let made = |severity, problem: Diagnostic| {
        let values = weft_expressions::involved::values(&block.error_message, &[], scope);
        Some(Diagnostic { severity, values, ..problem })
    };
    let Some(fault) = MessageFault::of(message) else { return (false, None) };
    let severity = if fault.is_invalid() { Severity::Error } else { hidden };
    (fault.is_invalid(), made(severity, fault.error().at(block.error_message.range())))
}
