//! Templates: text with interpolations and directives.

use smol_str::SmolStr;
use weft_graph_format::formula::{Formula, FormulaOp};
use weft_graph_format::marks::Marks;
use weft_graph_format::types::Type;
use weft_graph_format::value::{Excess, LONGEST_TEXT, Refinement, Value};
use weft_syntax::{ExprId, Template, TemplatePart};

use super::operations::Branch;
use super::{Evaluator, loops};
use crate::access::Problem;
use crate::convert::convert;
use crate::problems;
use crate::refine;
use crate::symbolic::{self, Passing};

/// The text of one part of a template, or `None` while it is unknown.
pub(crate) fn part_text(part: &Value) -> Result<Option<SmolStr>, Problem> {
    if part.is_null() {
        return Err(problems::templates::null_part());
    }
    if !part.is_known() {
        return Ok(None);
    }
    let text = convert(part, &Type::String).map_err(|error| problems::templates::unsuitable_part(&error))?;
    Ok(text.as_str().map(SmolStr::new))
}

/// The value of a template of these parts: their joined text, with their marks, formulas and origins.
///
/// # Errors
/// The first problem, for example if a part is null or has no text.
pub fn joined(parts: &[Value]) -> Result<Value, Problem> {
    let text = join_parts(parts).map_err(|mut problems| problems.swap_remove(0).1)?;
    let formula = |ty: Type| Formula::new(FormulaOp::Template(parts.iter().map(Value::to_formula).collect()), ty, None);
    Ok(symbolic::attach(text, parts, Passing::Nothing, &formula))
}

/// Joins the parts of a template. Each problem comes with the index of the part that has it.
pub(crate) fn join_parts(parts: &[Value]) -> Result<Value, Vec<(usize, Problem)>> {
    let mut text = String::new();
    let mut known = true;
    let mut marks = Marks::NONE;
    let mut problems = Vec::new();
    for (index, part) in parts.iter().enumerate() {
        marks = marks.union(part.marks());
        match part_text(part) {
            Err(problem) => problems.push((index, problem)),
            Ok(None) => known = false,
            Ok(Some(found)) if known => {
                if text.len().saturating_add(found.len()) > LONGEST_TEXT {
                    problems.push((index, problems::limits::too_large(Excess::OneText)));
                    break;
                }
                text.push_str(&found);
            }
            Ok(Some(_)) => {}
        }
    }
    if !problems.is_empty() {
        return Err(problems);
    }
    let result = if known {
        Value::string(text)
    } else {
        let prefix = Value::string(text);
        let prefix = refine::safe_prefix(prefix.as_str().unwrap_or_default());
        Value::refined(Type::String, Refinement::with_prefix(prefix))
    };
    Ok(result.mark(&marks))
}

impl Evaluator<'_> {
    /// Evaluates a template that is not a single interpolation. The result is always a string that is not null.
    pub(super) fn template(&mut self, template: &Template, id: ExprId) -> Value {
        if let [TemplatePart::Literal { text, .. }] = template.parts.as_slice() {
            return Value::string(text);
        }
        let before = self.diagnostics.len();
        let mut parts = Vec::with_capacity(template.parts.len());
        for part in &template.parts {
            parts.push(self.template_part(part, id));
        }
        let op = || FormulaOp::Template(parts.iter().map(Value::to_formula).collect());
        let failure = |evaluator: &Self| {
            let new = evaluator.diagnostics.get(before..).expect("evaluation only adds diagnostics");
            let problem = new.iter().find(|d| d.is_error())?;
            let open = parts.iter().any(|part| part.deep().formula) && !parts.iter().any(super::fails_for_certain);
            let may_change = parts.iter().any(|part| part.deep().provisional || !part.is_known());
            Some(if open && may_change { evaluator.open_failure(id, &parts, op) } else { super::failed_value(problem) })
        };
        let joined = match join_parts(&parts) {
            Ok(joined) => joined,
            Err(problems) => {
                for (index, problem) in problems {
                    let subject = match template.parts.get(index) {
                        Some(TemplatePart::Interpolation { expression, .. }) => self.span(*expression),
                        Some(part) => part.span(),
                        None => self.span(id),
                    };
                    self.problem(&problem, subject, id);
                }
                Value::unknown(Type::String)
            }
        };
        if let Some(failure) = failure(self) {
            return failure;
        }
        let formula = |ty: Type| Formula::new(op(), ty, Some(self.range(id)));
        symbolic::attach(joined, &parts, Passing::Nothing, &formula)
    }

    fn template_part(&mut self, part: &TemplatePart, id: ExprId) -> Value {
        match part {
            TemplatePart::Literal { text, .. } => Value::string(text),
            TemplatePart::Interpolation { expression, .. } => self.value(*expression),
            TemplatePart::If { condition, then, otherwise, .. } => {
                let yes = self.branch(*then);
                let no = match otherwise {
                    Some(otherwise) => self.branch(*otherwise),
                    None => Branch { id: *then, value: Value::string(""), problems: Vec::new() },
                };
                self.conditional(*condition, yes, no, id)
            }
            TemplatePart::For { key_variable, value_variable, collection, body, .. } => {
                let parts = loops::ForParts {
                    key_variable: key_variable.as_ref().map(|name| &name.text),
                    value_variable: &value_variable.text,
                    collection: *collection,
                    key: None,
                    value: *body,
                    condition: None,
                    grouping: false,
                };
                let results = self.for_expression(&parts, id);
                super::certain_failure(&results).unwrap_or_else(|| self.joined_results(&results, id))
            }
        }
    }

    /// Joins the results of a `for` directive, each of which is a string.
    fn joined_results(&mut self, results: &Value, id: ExprId) -> Value {
        let (bare, marks) = results.unmark();
        let joined = match bare.as_items() {
            Some(items) => match join_parts(items) {
                Ok(joined) => joined,
                Err(found) => {
                    // A problem of a part was reported when the part was evaluated.
                    for (_, problem) in found.iter().filter(|(_, problem)| !problems::templates::concerns_part(problem))
                    {
                        self.problem(problem, self.span(id), id);
                    }
                    Value::refined(Type::String, Refinement::not_null())
                }
            },
            None => Value::refined(Type::String, Refinement::not_null()),
        };
        // As in HCL, a directive adds nothing to the known prefix of an unknown string.
        let joined = if joined.is_known() {
            joined
        } else {
            Value::refined(Type::String, Refinement::not_null()).mark(joined.marks())
        };
        let formula = |ty: Type| {
            let list = Formula::new(
                FormulaOp::Convert(results.to_formula(), Type::list(Type::String)),
                Type::list(Type::String),
                None,
            );
            let arguments = vec![Formula::constant(Value::string("")), list];
            let op = FormulaOp::Call { function: "join".into(), arguments, expand_final: false, occurrence: None };
            Formula::new(op, ty, Some(self.range(id)))
        };
        let arguments = std::slice::from_ref(results);
        symbolic::attach(joined.mark(&marks), arguments, Passing::Nothing, &formula)
    }
}
