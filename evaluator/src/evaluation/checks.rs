//! `check` blocks.

use std::sync::Arc;

use smol_str::SmolStr;
use weft_graph_format::diagnostic::{Diagnostic, READ_FOR_CHECK};
use weft_graph_format::formula::{BinaryOperator, Formula, FormulaOp};
use weft_graph_format::graph::CheckKind;
use weft_graph_format::origin::Origin;
use weft_graph_format::plan_file::{CheckStatus, CheckedKind};
use weft_graph_format::source::SourceRange;
use weft_graph_format::types::Type;
use weft_graph_format::value::Value;

use super::condition_tally::ConditionTally;
use super::conditions::{ConditionContext, ConditionResult};
use super::module_node::ModuleNode;
use super::problems::conditions;
use super::repetition_data::RepetitionData;
use crate::config::CheckBlock;
use crate::glue::{Failed, OpenCheck};
use crate::reference::Referent;

/// The condition of an assertion, changed so that it passes if the data source of the block cannot be read. The failed
/// read is reported separately.
fn if_read(condition: &Value, data: &Formula) -> Value {
    let nothing = Formula::constant(Value::null(data.ty().clone()));
    let was_read = Formula::new(
        FormulaOp::Binary(BinaryOperator::NotEqual, data.clone(), nothing),
        Type::Bool,
        data.range().cloned(),
    );
    let formula = FormulaOp::Conditional {
        condition: was_read,
        yes: condition.to_formula(),
        no: Formula::constant(Value::bool(true)),
    };
    condition.with_formula(Some(Formula::new(formula, Type::Bool, None)))
}

impl ModuleNode {
    /// Whether a check block refers to something whose evaluation has failed. The data source of the block does not
    /// count.
    async fn is_stopped(self: &Arc<Self>, block: &CheckBlock) -> bool {
        let own = block.data.clone().map(Referent::Resource);
        let others = block.references.iter().filter(|reference| Some(&reference.subject) != own.as_ref());
        let others: Vec<_> = others.cloned().collect();
        self.scope(&others, &RepetitionData::default()).await.is_err()
    }

    /// Evaluates the assertions of a check block. Failures are warnings.
    pub(crate) async fn check(self: &Arc<Self>, block: &CheckBlock) -> Result<(), Failed> {
        let address = SmolStr::from(self.name_of(&format!("check.{}", block.name)));
        let data = match &block.data {
            Some(resource) => self.resource(resource).await.map(Some),
            None => Ok(None),
        };
        let read = data.is_ok();
        // The failed read has been reported. Apply reads the data source again.
        let unread = self.evaluation.glue.is_failed_check(&address);
        if unread && !read {
            return Ok(());
        }
        if self.evaluation.purpose().waits_for_references() && self.is_stopped(block).await {
            // As in OpenTofu, assertions are not evaluated if a dependency has failed.
            let tally = ConditionTally::new(CheckedKind::Check, address, block.asserts.len());
            self.evaluation.glue.checked(tally.result());
            return Err(Failed);
        }
        if !read {
            // As in OpenTofu, no assertion is evaluated without the data source, even if it does not name it.
            let tally = ConditionTally::new(CheckedKind::Check, address, block.asserts.len());
            if self.evaluation.purpose().decides_conditions() {
                self.evaluation.glue.checked(tally.result());
            }
            return Ok(());
        }
        let mut outcomes = Vec::with_capacity(block.asserts.len());
        for (index, assert) in block.asserts.iter().enumerate() {
            let condition = ConditionContext {
                block: assert,
                repeated: &RepetitionData::default(),
                own: None,
                kind: CheckKind::Assertion,
                of_resource: false,
            };
            outcomes.push((index, self.evaluate_condition(&condition).await));
        }
        let data = data.ok().flatten();
        let read = outcomes.iter().filter_map(|(_, outcome)| outcome.as_ref().ok()?.origin());
        let origin = Origin::union(read);
        let mut assertions = Assertions {
            node: self,
            block,
            data: data.as_ref().and_then(|data| data.whole.formula()),
            unread,
            again: unread
                || origin.is_some()
                || outcomes.iter().any(|(_, outcome)| outcome.as_ref().is_ok_and(ConditionResult::changes)),
            origin,
            tally: ConditionTally::new(CheckedKind::Check, address.clone(), block.asserts.len()),
            address,
            failed: false,
        };
        for (index, outcome) in outcomes {
            assertions.note(index, outcome);
        }
        let Assertions { tally, failed, .. } = assertions;
        if self.evaluation.purpose().decides_conditions() && !unread {
            self.evaluation.glue.checked(tally.result());
        }
        if failed { Err(Failed) } else { Ok(()) }
    }
}

/// The assertions of a check block, with their results so far.
struct Assertions<'a> {
    node: &'a Arc<ModuleNode>,
    block: &'a CheckBlock,
    address: SmolStr,
    /// The formula of the block's data source, if apply reads it.
    data: Option<&'a Formula>,
    /// Whether the plan could not read the data source. In this case, apply evaluates the assertions.
    unread: bool,
    /// Whether apply evaluates the failed assertions again, because the result of at least one assertion may differ at
    /// apply, or because operations of the plan come first. The result at apply replaces the result of the plan.
    again: bool,
    /// The operations that the assertions depend on. As in OpenTofu, if one of these operations fails, apply evaluates
    /// no assertion of the block.
    origin: Option<Origin>,
    tally: ConditionTally,
    failed: bool,
}

impl Assertions<'_> {
    /// Records the result of an assertion. Reports a failure, or leaves the assertion to apply.
    fn note(&mut self, index: usize, outcome: Result<ConditionResult, Failed>) {
        let glue = &self.node.evaluation.glue;
        match outcome {
            Ok(outcome) if self.unread => {
                if let Some((condition, message)) = outcome.made_from() {
                    self.at_apply(index, condition, message);
                }
            }
            Ok(outcome @ ConditionResult::Holds { .. }) => {
                self.tally.note(CheckStatus::Pass, None);
                // Assertions with ephemeral values are evaluated again at apply.
                if let (true, Some((condition, message))) = (outcome.changes(), outcome.made_from()) {
                    self.at_apply(index, condition, message);
                }
            }
            Ok(ConditionResult::Fails { message, recorded, values, made_from }) => {
                if self.node.evaluation.purpose().decides_conditions() {
                    let problem = conditions::failed_assertion(&message, self.range(index));
                    let mut problem = problem.checking(&self.address);
                    if self.again {
                        problem = problem.code(READ_FOR_CHECK);
                        self.at_apply(index, made_from.0, made_from.1);
                    }
                    glue.report(Diagnostic { values, ..problem });
                }
                self.tally.note(CheckStatus::Fail, recorded);
            }
            Ok(ConditionResult::Open { condition, message }) => {
                self.tally.note(CheckStatus::Unknown, None);
                if self.node.evaluation.purpose().decides_conditions() {
                    let problem = conditions::open_assertion(self.range(index));
                    glue.report(problem.checking(&self.address));
                    self.at_apply(index, condition, message);
                }
            }
            Ok(ConditionResult::Missing) => self.failed = true,
            Err(Failed) => {
                self.failed = true;
                self.tally.note(CheckStatus::Error, None);
            }
        }
    }

    fn range(&self, index: usize) -> SourceRange {
        self.block.asserts[index].condition.range()
    }

    /// Leaves an assertion to apply.
    fn at_apply(&self, index: usize, condition: Value, message: Value) {
        // A condition that cannot be a Boolean must fail at apply even if the data source cannot be read.
        let fits = matches!(condition.ty(), Type::Bool | Type::Dynamic);
        let condition = match self.data.filter(|_| fits) {
            Some(data) => if_read(&condition, data),
            None => condition,
        };
        self.node.evaluation.glue.open_check(OpenCheck {
            address: SmolStr::from(format!("{}[{index}]", self.address)),
            kind: CheckKind::Assertion,
            condition,
            message,
            message_range: Some(self.block.asserts[index].error_message.range()),
            range: self.range(index),
            rule: None,
            waits: Origin::union(self.node.waits().into_iter().chain(self.origin.clone())),
            again: false,
        });
    }
}
