//! The closures of nodes that need all of their operands.

use std::sync::Arc;

use weft_graph_format::diagnostic::Diagnostic;
use weft_graph_format::formula::{Formula, FormulaOp};
use weft_graph_format::number::Number;
use weft_graph_format::path::{Path, Step};
use weft_graph_format::source::SourceRange;
use weft_graph_format::types::Type;
use weft_graph_format::value::{Kind, Value};

use super::{Compute, Fault, Results};
use crate::access::{self, Problem};
use crate::convert::{apply_defaults, convert};
use crate::evaluate::{constructor_key, join_parts};
use crate::functions::{self, CallContext, FunctionError, Impure};
use crate::operators;
use crate::provider_call;
use crate::resource_rules;

/// Makes errors of one place.
#[derive(Clone)]
struct Place(Option<SourceRange>);

impl Place {
    fn fault(&self, problem: Diagnostic) -> Fault {
        Fault::Failed(vec![match &self.0 {
            Some(range) => problem.at(range.clone()),
            None => problem,
        }])
    }

    fn problem(&self, problem: &Problem) -> Fault {
        self.fault(problem.diagnostic())
    }
}

/// An operand that the formula's form guarantees.
fn operand(values: &[Value], index: usize) -> Result<&Value, Fault> {
    values.get(index).ok_or(Fault::Skipped)
}

/// The closure for a formula whose operands are all needed.
pub(super) fn compute(formula: &Formula) -> Compute {
    let place = Place(formula.range().cloned());
    match formula.op() {
        FormulaOp::Constant(value) => {
            let value = value.clone();
            Box::new(move |_, _| Ok(value.clone()))
        }
        FormulaOp::Result(operation, path) => {
            let (operation, path) = (*operation, path.clone());
            Box::new(move |results, _| follow(results.result(operation)?, &path, &place))
        }
        FormulaOp::Input(name) => {
            let name = name.clone();
            Box::new(move |results, _| results.input(&name))
        }
        FormulaOp::Unary(operator, _) => {
            let operator = *operator;
            Box::new(move |_, values| {
                operators::unary(operator, operand(values, 0)?, place.0.as_ref())
                    .map_err(|error| place.fault(error.diagnostic()))
            })
        }
        FormulaOp::Binary(operator, _, _) => {
            let operator = *operator;
            Box::new(move |_, values| {
                operators::binary(operator, operand(values, 0)?, operand(values, 1)?, place.0.as_ref())
                    .map_err(|error| place.fault(error.diagnostic()))
            })
        }
        FormulaOp::Attribute(_, name) => {
            let name = name.clone();
            Box::new(move |_, values| {
                access::attribute(operand(values, 0)?, &name, place.0.as_ref()).map_err(|p| place.problem(&p))
            })
        }
        FormulaOp::Index(..) => Box::new(move |_, values| {
            access::index(operand(values, 0)?, operand(values, 1)?, place.0.as_ref()).map_err(|p| place.problem(&p))
        }),
        FormulaOp::Template(_) => Box::new(move |_, values| {
            join_parts(values).map_err(|problems| {
                Fault::Failed(
                    problems
                        .iter()
                        .map(|(_, problem)| match &place.0 {
                            Some(range) => problem.diagnostic().at(range.clone()),
                            None => problem.diagnostic(),
                        })
                        .collect(),
                )
            })
        }),
        FormulaOp::Call { function, expand_final, occurrence, .. } => {
            let (name, expand, occurrence) = (function.clone(), *expand_final, *occurrence);
            let formula = formula.clone();
            Box::new(move |results, values| {
                if let Some(known) = occurrence.and_then(|o| results.impure(o)) {
                    return Ok(known);
                }
                let arguments = spread(values, expand, &place)?;
                call(results, &name, &arguments, &place, &formula)
            })
        }
        FormulaOp::ProviderCall { provider, function, expand_final, .. } => {
            let (provider, name, expand) = (provider.clone(), function.clone(), *expand_final);
            Box::new(move |results, values| {
                let arguments = spread(values, expand, &place)?;
                call_provider(results, &provider, &name, &arguments, &place)
            })
        }
        FormulaOp::Tuple(_) => Box::new(|_, values| Ok(Value::tuple(values.to_vec()))),
        FormulaOp::List(element, _) => {
            let want = Type::list(element.clone());
            Box::new(move |_, values| converted(&Value::tuple(values.to_vec()), &want, &place))
        }
        FormulaOp::Set(element, _) => {
            let want = Type::set(element.clone());
            Box::new(move |_, values| converted(&Value::tuple(values.to_vec()), &want, &place))
        }
        FormulaOp::Map(element, entries) => {
            let want = Type::map(element.clone());
            let names: Vec<_> = entries.iter().map(|(name, _)| name.clone()).collect();
            Box::new(move |_, values| {
                let object = Value::object(names.iter().cloned().zip(values.iter().cloned()));
                converted(&object, &want, &place)
            })
        }
        FormulaOp::Object(entries) => {
            let names: Vec<_> = entries.iter().map(|(name, _)| name.clone()).collect();
            Box::new(move |_, values| Ok(Value::object(names.iter().cloned().zip(values.iter().cloned()))))
        }
        FormulaOp::ObjectOf(_) => Box::new(move |_, values| object_of(values, &place)),
        FormulaOp::Convert(_, ty) => {
            let ty = ty.clone();
            Box::new(move |_, values| converted(operand(values, 0)?, &ty, &place))
        }
        FormulaOp::Defaults(_, defaults) => {
            let defaults = Arc::clone(defaults);
            Box::new(move |_, values| Ok(apply_defaults(operand(values, 0)?, &defaults)))
        }
        FormulaOp::Mark(_, marks) => {
            let marks = marks.clone();
            Box::new(move |_, values| Ok(operand(values, 0)?.mark(&marks)))
        }
        FormulaOp::Nonsensitive(_) => Box::new(|_, values| {
            let (bare, marks) = operand(values, 0)?.unmark();
            Ok(bare.mark(&marks.without_sensitive()))
        }),
        FormulaOp::Ignore { paths, .. } => {
            let paths = paths.clone();
            Box::new(move |_, values| {
                Ok(resource_rules::ignore_changes(operand(values, 0)?, operand(values, 1)?, paths.as_deref()))
            })
        }
        FormulaOp::Failure(problem) => {
            let problem = (**problem).clone();
            Box::new(move |_, _| Err(Fault::Failed(vec![problem.clone()])))
        }
        // These are run by the loop.
        FormulaOp::Parameter(_)
        | FormulaOp::Conditional { .. }
        | FormulaOp::For { .. }
        | FormulaOp::Splat { .. }
        | FormulaOp::Try(_)
        | FormulaOp::Can(_) => Box::new(|_, _| Err(Fault::Skipped)),
    }
}

fn converted(value: &Value, ty: &Type, place: &Place) -> Result<Value, Fault> {
    convert(value, ty).map_err(|error| {
        place.fault(Diagnostic::error("Unsuitable value type", format!("Unsuitable value: {}.", error.with_path())))
    })
}

/// The part of a result at a path.
fn follow(result: Value, path: &Path, place: &Place) -> Result<Value, Fault> {
    let mut here = result;
    for step in &path.0 {
        let next = match step {
            Step::Attribute(name) => access::attribute(&here, name, place.0.as_ref()),
            Step::Key(key) => access::index(&here, &Value::string(key), place.0.as_ref()),
            Step::Index(index) => access::index(&here, &Value::number(Number::from_u64(*index)), place.0.as_ref()),
        };
        here = next.map_err(|problem| place.problem(&problem))?;
    }
    Ok(here)
}

/// The arguments of a call, the last one taken apart when `expand`.
fn spread(values: &[Value], expand: bool, place: &Place) -> Result<Vec<Value>, Fault> {
    let (true, Some((last, first))) = (expand, values.split_last()) else { return Ok(values.to_vec()) };
    let invalid = |detail: &str| place.fault(Diagnostic::error("Invalid expanding argument value", detail));
    let (bare, marks) = last.unmark();
    let mut arguments = first.to_vec();
    match bare.open().1 {
        Kind::Null(_) => Err(invalid("The expanding argument (indicated by ...) must not be null.")),
        Kind::List(items) | Kind::Set(items) | Kind::Tuple(items) => {
            arguments.extend(items.items().iter().map(|item| item.mark(&marks)));
            Ok(arguments)
        }
        _ => Err(invalid("The expanding argument (indicated by ...) must be of a tuple, list, or set type.")),
    }
}

fn call(
    results: &dyn Results,
    name: &str,
    arguments: &[Value],
    place: &Place,
    formula: &Formula,
) -> Result<Value, Fault> {
    let Some(function) = functions::lookup(name) else {
        let problem = Diagnostic::error("Call to unknown function", format!("There is no function named {name:?}."));
        return Err(place.fault(problem));
    };
    function.check_count(arguments.len()).map_err(|error| place.fault(error.diagnostic()))?;
    let mut problems = Vec::new();
    for (index, argument) in arguments.iter().enumerate() {
        if let Err(error) = function.convert_argument(index, argument) {
            problems.push(function_problem(name, function.parameter_at(index).map(|p| p.name), &error, place));
        }
    }
    if !problems.is_empty() {
        return Err(Fault::Failed(problems));
    }
    let context = CallContext { impure: Impure::Run, ..results.context() };
    function.invoke(&context, arguments, &|_| formula.clone()).map_err(|error| {
        let parameter = error.argument.and_then(|i| function.parameter_at(i)).map(|p| p.name);
        Fault::Failed(vec![function_problem(name, parameter, &error, place)])
    })
}

fn function_problem(name: &str, parameter: Option<&str>, error: &FunctionError, place: &Place) -> Diagnostic {
    let problem = functions::call_diagnostic(name, parameter, error);
    match &place.0 {
        Some(range) => problem.at(range.clone()),
        None => problem,
    }
}

fn call_provider(
    results: &dyn Results,
    provider: &str,
    name: &str,
    arguments: &[Value],
    place: &Place,
) -> Result<Value, Fault> {
    let function = results.provider_function(provider, name).map_err(|problem| place.fault(problem))?;
    provider_call::check_count(name, &function.signature, arguments.len())
        .map_err(|error| place.fault(error.diagnostic()))?;
    provider_call::invoke(&function.signature, arguments, &mut |bare| results.call_provider_function(&function, bare))
        .map_err(|error| {
            let parameter = error
                .argument
                .and_then(|index| provider_call::parameter_at(&function.signature, index))
                .map(|parameter| parameter.name.as_str());
            Fault::Failed(vec![function_problem(name, parameter, &error, place)])
        })
}

/// An object of keys and values in turn.
fn object_of(values: &[Value], place: &Place) -> Result<Value, Fault> {
    let mut attributes = Vec::with_capacity(values.len() / 2);
    let mut marks = weft_graph_format::marks::Marks::NONE;
    let mut open = false;
    for pair in values.chunks(2) {
        let [key, value] = pair else { continue };
        let (name, key_marks) = constructor_key(key).map_err(|problem| place.fault(problem))?;
        marks = marks.union(&key_marks);
        match name {
            Some(name) => attributes.push((name, value.clone())),
            None => open = true,
        }
    }
    let object = if open { Value::unknown(Type::Dynamic) } else { Value::object(attributes) };
    Ok(object.mark(&marks))
}
