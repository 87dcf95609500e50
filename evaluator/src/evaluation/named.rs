//! Variables, locals and outputs.

use std::sync::Arc;

use futures::future::{BoxFuture, Shared};
use smol_str::SmolStr;
use weft_expressions::convert::convert_with_defaults;
use weft_expressions::symbolic::replace_formulas;
use weft_graph_format::diagnostic::Diagnostic;
use weft_graph_format::formula::{Formula, FormulaOp};
use weft_graph_format::graph::CheckKind;
use weft_graph_format::marks::Marks;
use weft_graph_format::origin::Origin;
use weft_graph_format::plan_file::{CheckStatus, CheckedKind};
use weft_graph_format::source::SourceRange;
use weft_graph_format::value::Value;

use super::condition_tally::ConditionTally;
use super::conditions::{ConditionContext, ConditionResult, Conditions};
use super::module_node::ModuleNode;
use super::problems::values as problems;
use super::repetition_data::RepetitionData;
use crate::config::{Output, Variable};
use crate::glue::{Failed, NameKind, RootOutput, ValueName};
use crate::reference::{Reference, Referent, references_of};
use crate::selection::Selected;

type PendingValue = Shared<BoxFuture<'static, Result<Value, Failed>>>;

impl ModuleNode {
    pub(crate) fn name_of(&self, rest: &str) -> String {
        if self.address.is_root() { rest.to_string() } else { format!("{}.{rest}", self.address) }
    }

    /// The full name of a value that this module declares.
    fn value_name(&self, kind: NameKind, name: &SmolStr) -> ValueName {
        ValueName { module: self.address.clone(), kind, name: name.clone() }
    }

    /// The value of a local.
    pub(crate) fn local(self: &Arc<Self>, name: &SmolStr) -> PendingValue {
        let (node, key) = (self.clone(), name.clone());
        self.locals.get(name.clone(), move || async move {
            let local = node.config.locals.get(&key).ok_or(Failed)?.clone();
            let own = Referent::Local(key.clone());
            if local.references.iter().any(|reference| reference.subject == own) {
                let address = node.name_of(&format!("local.{key}"));
                return node.fail(super::problems::references::local_refers_to_itself(&address, &local.range));
            }
            let scope = node.scope(&local.references, &RepetitionData::default()).await?;
            let (value, problems) = weft_expressions::evaluate::evaluate(&local.value, &scope);
            if problems.iter().any(Diagnostic::is_error) {
                return node.report_all(problems);
            }
            problems.into_iter().for_each(|p| node.evaluation.glue.report(p));
            let value = node.tell_deprecated(value, &|| local.value.range());
            match node.evaluation.unused.locals.contains(&(node.config.path.clone(), key.clone())) {
                true => Ok(value),
                false => Ok(node.evaluation.glue.named(&node.value_name(NameKind::Local, &key), value)),
            }
        })
    }

    /// The value of an input variable, converted and validated.
    pub(crate) fn variable(self: &Arc<Self>, name: &SmolStr) -> PendingValue {
        let (node, key) = (self.clone(), name.clone());
        self.variables.get(name.clone(), move || async move {
            let variable = node.config.variables.get(&key).ok_or(Failed)?.clone();
            let value = match &node.caller {
                Some(_) => node.argument(&variable).await?,
                None => node.root_variable(&variable).await?,
            };
            // The user gives ephemeral values again at apply, and the values at apply may differ from those at plan.
            let value = if variable.ephemeral && node.caller.is_none() && node.evaluation.purpose().has_values() {
                let input = FormulaOp::Input(variable.name.clone());
                let formula = Formula::new(input, variable.ty.without_optional(), Some(variable.range.clone()));
                replace_formulas(&value, &formula)
            } else {
                value
            };
            let value = node.declared(&value, &variable.marks());
            // A variable with validations counts as used, because apply evaluates its validations.
            let place = (node.config.path.clone(), key.clone());
            let unused = variable.validations.is_empty() && node.evaluation.unused.variables.contains(&place);
            let value = match unused {
                true => value,
                false => node.evaluation.glue.named(&node.value_name(NameKind::Variable, &key), value),
            };
            let checked = node.validate_variable(&variable, &value).await?;
            Ok(value.add_origin(checked.as_ref()))
        })
    }

    /// The value of a reference to a variable during validation: an unknown value of the variable's type, because a
    /// module must be valid for all arguments, not only for those of this call. The value that the call gives is
    /// evaluated only to check it.
    pub(crate) async fn variable_in_validation(self: &Arc<Self>, name: &SmolStr) -> Result<Value, Failed> {
        self.variable(name).await?;
        let variable = self.config.variables.get(name).ok_or(Failed)?;
        Ok(Value::unknown(variable.ty.without_optional()).mark(&variable.marks()))
    }

    /// The value that the caller gives to a variable.
    async fn argument(self: &Arc<Self>, variable: &Variable) -> Result<Value, Failed> {
        let caller = self.caller.as_ref().ok_or(Failed)?;
        let Some((expression, _)) = caller.call.arguments.get(&variable.name) else {
            return match self.default_of(variable).await? {
                Some(value) => Ok(value),
                // The missing argument has been reported with the call.
                None => Err(Failed),
            };
        };
        if !variable.validations.is_empty() {
            // Results list the instances of a variable only if everything that its argument refers to was evaluated.
            let references = references_of(expression, &mut Vec::new());
            if caller.parent.scope(&references, &caller.repeated).await.is_err() {
                self.evaluation.glue.not_reached(&self.config.path, &variable.name);
                return Err(Failed);
            }
        }
        let value = caller.parent.evaluate(expression, &caller.repeated).await?;
        self.warn_of_variable(variable, expression.range());
        if value.deep().ephemeral && !variable.ephemeral && self.tells_ephemeral(&value) {
            return self.fail(problems::ephemeral_argument(variable, expression.range()));
        }
        if value.is_null() && !variable.nullable {
            if let Some(default) = self.default_of(variable).await? {
                // As in OpenTofu, the default is not sensitive because of the null that it replaces.
                return Ok(default.add_origin(value.origin()));
            }
            return self.fail(problems::null_argument(variable, expression.range()));
        }
        match convert_with_defaults(&value, &variable.ty, &variable.defaults) {
            Ok(value) => self.not_null(variable, value, expression.range()).await,
            Err(problem) => {
                let name = self.name_of(&format!("var.{}", variable.name));
                self.fail(problems::unsuitable_argument(variable, &name, &problem.with_path()))
            }
        }
    }

    /// Whether to report an ephemeral value. As in OpenTofu, validation does not report ephemeral parts of unknown
    /// values. The plan reports them.
    fn tells_ephemeral(&self, value: &Value) -> bool {
        self.evaluation.purpose().has_values() || value.is_wholly_known() || value.marks() != &Marks::default()
    }

    async fn root_variable(self: &Arc<Self>, variable: &Variable) -> Result<Value, Failed> {
        let Some(given) = self.evaluation.given.get(&variable.name) else {
            if !self.evaluation.purpose().has_values() {
                return Ok(Value::unknown(variable.ty.without_optional()));
            }
            return match self.default_of(variable).await? {
                Some(value) => Ok(value),
                None if !self.evaluation.purpose().needs_variables() => {
                    Ok(Value::unknown(variable.ty.without_optional()))
                }
                None => self.fail(problems::no_value(variable)),
            };
        };
        if !self.evaluation.purpose().has_values() {
            return Ok(Value::unknown(variable.ty.without_optional()));
        }
        if given.value.is_null() && !variable.nullable {
            if let Some(default) = self.default_of(variable).await? {
                return Ok(default);
            }
            return self.fail(problems::null_given(variable, given));
        }
        match convert_with_defaults(&given.value, &variable.ty, &variable.defaults) {
            Ok(value) => Ok(value),
            Err(problem) => self.fail(problems::unsuitable_given(variable, given, &problem.with_path())),
        }
    }

    /// The converted default. `None` if the variable has no default.
    pub(super) async fn default_of(self: &Arc<Self>, variable: &Variable) -> Result<Option<Value>, Failed> {
        let Some(expression) = &variable.default else { return Ok(None) };
        let value = self.evaluate(expression, &RepetitionData::default()).await?;
        match convert_with_defaults(&value, &variable.ty, &variable.defaults) {
            Ok(value) if value.is_null() && !variable.nullable => self.fail(problems::null_default(expression.range())),
            Ok(value) => Ok(Some(value)),
            Err(problem) => self.fail(problems::unsuitable_default(&problem.with_path(), expression.range())),
        }
    }

    /// The value of an output.
    pub(crate) fn output(self: &Arc<Self>, name: &SmolStr) -> PendingValue {
        let (node, key) = (self.clone(), name.clone());
        self.outputs.get(name.clone(), move || async move {
            let output = node.config.outputs.get(&key).ok_or(Failed)?.clone();
            let address = SmolStr::from(node.name_of(&format!("output.{key}")));
            let place = (node.config.path.clone(), key.clone());
            let unused = node.evaluation.unused.outputs.contains(&place);
            let kind = if unused { CheckedKind::UnusedOutput } else { CheckedKind::Output };
            let mut tally = ConditionTally::new(kind, address, output.preconditions.len());
            let own: Vec<&Reference> = output.references.iter().chain(&output.depends_on).collect();
            let is_refused = output.ephemeral && node.address.is_root();
            if is_refused && !node.any_failed(&own).await {
                node.evaluation.glue.report(problems::ephemeral_root_output(&output));
            }
            let outcome = node.output_value(&output, &mut tally).await;
            if !output.preconditions.is_empty() && node.evaluation.purpose().decides_conditions() {
                node.evaluation.glue.checked(tally.result());
            }
            outcome
        })
    }

    async fn output_value(self: &Arc<Self>, output: &Output, tally: &mut ConditionTally) -> Result<Value, Failed> {
        let waits = self.depends_on_origin(&output.depends_on, None).await?;
        if self.evaluation.purpose().waits_for_references() {
            self.scope(&output.references, &RepetitionData::default()).await?;
        }
        let conditions = Conditions {
            blocks: &output.preconditions,
            kind: CheckKind::Precondition,
            repeated: &RepetitionData::default(),
            waits: None,
        };
        let checked = self.conditions(conditions, tally).await?.results;
        let mut problems = Vec::new();
        let references = references_of(&output.value, &mut problems);
        if !problems.is_empty() {
            return self.report_all(problems);
        }
        let scope = self.scope(&references, &RepetitionData::default()).await?;
        let (value, problems) = weft_expressions::evaluate::evaluate(&output.value, &scope);
        if problems.iter().any(Diagnostic::is_error) {
            return self.report_all(problems);
        }
        problems.into_iter().for_each(|p| self.evaluation.glue.report(p));
        let value = self.tell_deprecated(value, &|| output.value.range());
        let waits = weft_graph_format::origin::Origin::union([waits, checked].into_iter().flatten());
        self.finished_output(output, value, waits, tally.kind == CheckedKind::UnusedOutput)
    }

    fn finished_output(
        self: &Arc<Self>,
        output: &Output,
        value: Value,
        waits: Option<weft_graph_format::origin::Origin>,
        unused: bool,
    ) -> Result<Value, Failed> {
        let is_root = self.address.is_root();
        if is_root && output.ephemeral {
            return Err(Failed);
        }
        let is_ephemeral = value.deep().ephemeral && !output.ephemeral;
        // As in OpenTofu, sensitive parts are reported before ephemeral parts, unless the whole value has a mark.
        let is_marked = is_ephemeral && !value.marks().is_empty();
        if is_root && !output.sensitive && !is_marked && value.contains_sensitive() {
            return self.fail(problems::sensitive_output(output));
        }
        if is_ephemeral && self.tells_ephemeral(&value) {
            return self.fail(problems::ephemeral_output(output));
        }
        if is_root && value.deep().provider {
            return self.fail(problems::provider_output(output));
        }
        let value = if output.sensitive { value.mark(&Marks::SENSITIVE) } else { value };
        let value = if output.ephemeral { self.declared(&value, &Marks::EPHEMERAL) } else { value };
        if is_root {
            let reported = RootOutput {
                name: output.name.clone(),
                value: value.clone(),
                sensitive: output.sensitive,
                deprecated: output.deprecated.clone(),
                waits,
            };
            self.evaluation.glue.root_output(reported);
            return Ok(value);
        }
        self.evaluation.glue.module_output(&self.address, &output.name, value.is_null());
        let value = value.add_origin(waits.as_ref());
        // Apply does not evaluate an unused output.
        let value = match unused {
            true => value,
            false => self.evaluation.glue.named(&self.value_name(NameKind::Output, &output.name), value),
        };
        Ok(match self.deprecation(output) {
            Some(marks) => value.mark(&marks),
            None => value,
        })
    }

    /// Evaluates the `validation` blocks of a variable. They can refer to the variable, although the cell of the
    /// variable is still being computed. Conditions that are unknown, or whose result may change, become checks at
    /// apply, in order. Returns the origin of these checks, which readers of the variable wait for.
    async fn validate_variable(self: &Arc<Self>, variable: &Variable, value: &Value) -> Result<Option<Origin>, Failed> {
        let validating = !self.evaluation.purpose().decides_conditions();
        if variable.validations.is_empty() || (validating && self.caller.is_none()) {
            return Ok(None);
        }
        let place = (self.config.path.clone(), variable.name.clone());
        let left_out = |selected: &Selected| !selected.variables.contains(&place);
        if self.evaluation.selected.as_ref().is_some_and(left_out) {
            return Ok(None);
        }
        let mut checks = Vec::new();
        let name = SmolStr::from(self.name_of(&format!("var.{}", variable.name)));
        let mut tally = ConditionTally::new(CheckedKind::Variable, name.clone(), variable.validations.len());
        let mut failed = false;
        for validation in &variable.validations {
            let own = Some((Referent::Variable(variable.name.clone()), value));
            let condition = ConditionContext {
                block: validation,
                repeated: &RepetitionData::default(),
                own,
                kind: CheckKind::Validation,
                of_resource: false,
            };
            // Later validations may rely on the success of earlier validations.
            let waits = Origin::union(checks.iter().cloned());
            let at_apply = |condition, message, again| {
                self.evaluation.glue.open_check(crate::glue::OpenCheck {
                    address: name.clone(),
                    kind: CheckKind::Validation,
                    condition,
                    message,
                    message_range: Some(validation.error_message.range()),
                    range: self.given_at(variable),
                    rule: Some(validation.range.clone()),
                    waits,
                    again,
                })
            };
            match self.evaluate_condition(&condition).await {
                Ok(ConditionResult::Holds { again: false, .. }) => tally.note(CheckStatus::Pass, None),
                Ok(ConditionResult::Holds { .. }) if validating => {}
                Ok(ConditionResult::Holds { made_from: (condition, message), .. }) => {
                    tally.note(CheckStatus::Pass, None);
                    checks.extend(at_apply(condition, message, true));
                }
                Ok(ConditionResult::Fails { message, recorded, values, .. }) => {
                    failed = true;
                    let at = self.given_at(variable);
                    let problem = problems::validation_failed(&message, &validation.range, at).checking(&name);
                    self.evaluation.glue.report(Diagnostic { values, ..problem });
                    tally.note(CheckStatus::Fail, recorded);
                }
                Ok(ConditionResult::Open { .. }) if validating => {}
                Ok(ConditionResult::Open { condition, message }) => {
                    tally.note(CheckStatus::Unknown, None);
                    checks.extend(at_apply(condition, message, false));
                }
                Ok(ConditionResult::Missing) => failed = true,
                Err(Failed) => {
                    failed = true;
                    tally.note(CheckStatus::Error, None);
                }
            }
            if failed {
                // Later validations may rely on the success of this validation, so they are not evaluated.
                break;
            }
        }
        if !validating {
            self.evaluation.glue.checked(tally.result());
        }
        if failed { Err(Failed) } else { Ok(Origin::union(checks)) }
    }

    /// Adds the marks of a declaration to a value.
    ///
    /// If only the declaration makes a value ephemeral, the value itself comes from the configuration or from state, so
    /// a plan may contain it. But a plan cannot store constants with an ephemeral mark. So the value gets a formula
    /// that is made before the mark is added. The constants in this formula have no mark.
    fn declared(&self, value: &Value, marks: &Marks) -> Value {
        let yielded = marks.is_ephemeral() && !value.deep().ephemeral && self.evaluation.purpose().has_values();
        let value = if yielded { value.with_formula(Some(value.to_formula())) } else { value.clone() };
        value.mark(marks)
    }

    /// The source range of the argument for a variable, or the header of the variable's block if there is no argument.
    fn given_at(&self, variable: &Variable) -> SourceRange {
        let argument = self.caller.as_ref().and_then(|caller| caller.call.arguments.get(&variable.name));
        argument.map_or_else(|| variable.range.clone(), |(value, _)| value.range())
    }
}
