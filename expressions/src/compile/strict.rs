//! The closures of nodes that need all of their operands.

use std::sync::Arc;

use smol_str::SmolStr;
use weft_graph_format::address::FunctionProvider;
use weft_graph_format::diagnostic::Diagnostic;
use weft_graph_format::formula::{BinaryOperator, Formula, FormulaOp, Occurrence, TypeDefaults, UnaryOperator};
use weft_graph_format::graph::OperationId;
use weft_graph_format::marks::Marks;
use weft_graph_format::number::Number;
use weft_graph_format::path::{Path, ValueStep};
use weft_graph_format::source::SourceRange;
use weft_graph_format::types::Type;
use weft_graph_format::value::{Kind, Value};

use super::{Compute, Fault, ResultSource};
use crate::access::{self, Problem};
use crate::call_context::{CallContext, Impure};
use crate::call_error::FunctionError;
use crate::convert::{apply_defaults, convert};
use crate::evaluate::{constructor_key, join_parts};
use crate::functions;
use crate::operators;
use crate::problems;
use crate::provider_call;
use crate::resource_rules;

/// A source range that errors are attributed to.
#[derive(Clone)]
struct ErrorRange(Option<SourceRange>);

impl ErrorRange {
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

/// An operand of a node. It exists, because the formula determines the number of operands.
fn operand(values: &[Value], index: usize) -> &Value {
    values.get(index).expect("a node has the operands of its formula")
}

/// The closure for a formula that needs all operands.
pub(super) fn compute(formula: &Formula) -> Compute {
    let place = ErrorRange(formula.range().cloned());
    match formula.op() {
        FormulaOp::Constant(value) => constant(value.clone()),
        FormulaOp::Result(operation, path) => result(*operation, path.clone(), place),
        FormulaOp::Input(name) => input(name.clone()),
        FormulaOp::Unary(operator, _) => unary(*operator, place),
        FormulaOp::Binary(operator, _, _) => binary(*operator, place),
        FormulaOp::Attribute(_, name) => attribute(name.clone(), place),
        FormulaOp::Index(..) => index(place),
        FormulaOp::Template(_) => template(place),
        FormulaOp::Call { function, expand_final, occurrence, .. } => {
            function_call(formula.clone(), function.clone(), *expand_final, *occurrence, place)
        }
        FormulaOp::ProviderCall { provider, function, expand_final, .. } => {
            provider_function_call(provider.clone(), function.clone(), *expand_final, place)
        }
        FormulaOp::Tuple(_) => Box::new(|_, values| Ok(Value::tuple(values.to_vec()))),
        FormulaOp::List(element, _) => collection(Type::list(element.clone()), place),
        FormulaOp::Set(element, _) => collection(Type::set(element.clone()), place),
        FormulaOp::Map(element, entries) => map(Type::map(element.clone()), names(entries), place),
        FormulaOp::Object(entries) => object(names(entries)),
        FormulaOp::ObjectOf(_) => Box::new(move |_, values| object_of(values, &place)),
        FormulaOp::Convert(_, ty) => conversion(ty.clone(), place),
        FormulaOp::Defaults(_, defaults) => with_defaults(Arc::clone(defaults)),
        FormulaOp::Mark(_, marks) => marked(marks.clone()),
        FormulaOp::Nonsensitive(_) => nonsensitive(),
        FormulaOp::Ignore { paths, .. } => ignoring(paths.clone()),
        FormulaOp::Failure(problem) => failure((**problem).clone()),
        FormulaOp::Parameter(_)
        | FormulaOp::Conditional { .. }
        | FormulaOp::For { .. }
        | FormulaOp::Splat { .. }
        | FormulaOp::Try(_)
        | FormulaOp::Can(_) => unreachable!("the loop computes these nodes"),
    }
}

fn constant(value: Value) -> Compute {
    Box::new(move |_, _| Ok(value.clone()))
}

fn result(operation: OperationId, path: Path, place: ErrorRange) -> Compute {
    Box::new(move |results, _| follow(results.result(operation)?, &path, &place))
}

fn input(name: SmolStr) -> Compute {
    Box::new(move |results, _| results.input(&name))
}

fn failure(problem: Diagnostic) -> Compute {
    Box::new(move |_, _| Err(Fault::Failed(vec![problem.clone()])))
}

fn unary(operator: UnaryOperator, place: ErrorRange) -> Compute {
    Box::new(move |_, values| {
        let outcome = operators::unary(operator, operand(values, 0), place.0.as_ref());
        outcome.map_err(|error| place.fault(problems::operations::failed(&error)))
    })
}

fn binary(operator: BinaryOperator, place: ErrorRange) -> Compute {
    Box::new(move |_, values| {
        let outcome = operators::binary(operator, operand(values, 0), operand(values, 1), place.0.as_ref());
        outcome.map_err(|error| place.fault(problems::operations::failed(&error)))
    })
}

fn attribute(name: SmolStr, place: ErrorRange) -> Compute {
    Box::new(move |_, values| {
        access::attribute(operand(values, 0), &name, place.0.as_ref()).map_err(|p| place.problem(&p))
    })
}

fn index(place: ErrorRange) -> Compute {
    Box::new(move |_, values| {
        access::index(operand(values, 0), operand(values, 1), place.0.as_ref()).map_err(|p| place.problem(&p))
    })
}

fn template(place: ErrorRange) -> Compute {
    Box::new(move |_, values| {
        join_parts(values).map_err(|problems| {
            let placed = |problem: Diagnostic| match &place.0 {
                Some(range) => problem.at(range.clone()),
                None => problem,
            };
            Fault::Failed(problems.iter().map(|(_, problem)| placed(problem.diagnostic())).collect())
        })
    })
}

fn function_call(
    formula: Formula,
    name: SmolStr,
    expand: bool,
    occurrence: Option<Occurrence>,
    place: ErrorRange,
) -> Compute {
    Box::new(move |results, values| {
        if let Some(known) = occurrence.and_then(|o| results.impure(o)) {
            return Ok(known);
        }
        let arguments = spread(values, expand, &place)?;
        call(results, &name, &arguments, &place, &formula)
    })
}

fn provider_function_call(provider: FunctionProvider, name: SmolStr, expand: bool, place: ErrorRange) -> Compute {
    Box::new(move |results, values| {
        let arguments = spread(values, expand, &place)?;
        call_provider(results, &provider, &name, &arguments, &place)
    })
}

fn names(entries: &[(SmolStr, Formula)]) -> Vec<SmolStr> {
    entries.iter().map(|(name, _)| name.clone()).collect()
}

fn collection(want: Type, place: ErrorRange) -> Compute {
    Box::new(move |_, values| converted(&Value::tuple(values.to_vec()), &want, &place))
}

fn map(want: Type, names: Vec<SmolStr>, place: ErrorRange) -> Compute {
    Box::new(move |_, values| {
        let object = Value::object(names.iter().cloned().zip(values.iter().cloned()));
        converted(&object, &want, &place)
    })
}

fn object(names: Vec<SmolStr>) -> Compute {
    Box::new(move |_, values| Ok(Value::object(names.iter().cloned().zip(values.iter().cloned()))))
}

fn conversion(ty: Type, place: ErrorRange) -> Compute {
    Box::new(move |_, values| converted(operand(values, 0), &ty, &place))
}

fn with_defaults(defaults: Arc<TypeDefaults>) -> Compute {
    Box::new(move |_, values| Ok(apply_defaults(operand(values, 0), &defaults)))
}

fn marked(marks: Marks) -> Compute {
    Box::new(move |_, values| Ok(operand(values, 0).mark(&marks)))
}

fn nonsensitive() -> Compute {
    Box::new(|_, values| {
        let (bare, marks) = operand(values, 0).unmark();
        Ok(bare.mark(&marks.without_sensitive()))
    })
}

fn ignoring(paths: Option<Vec<Path>>) -> Compute {
    Box::new(move |_, values| {
        Ok(resource_rules::ignore_changes(operand(values, 0), operand(values, 1), paths.as_deref()))
    })
}

fn converted(value: &Value, ty: &Type, place: &ErrorRange) -> Result<Value, Fault> {
    convert(value, ty).map_err(|error| place.fault(problems::operations::unsuitable_value(&error)))
}

/// The part of a result at a path.
fn follow(result: Value, path: &Path, place: &ErrorRange) -> Result<Value, Fault> {
    let mut here = result;
    for step in &path.0 {
        let next = match step {
            ValueStep::Attribute(name) => access::attribute(&here, name, place.0.as_ref()),
            ValueStep::Key(key) => access::index(&here, &Value::string(key), place.0.as_ref()),
            ValueStep::Index(index) => access::index(&here, &Value::number(Number::from_u64(*index)), place.0.as_ref()),
        };
        here = next.map_err(|problem| place.problem(&problem))?;
    }
    Ok(here)
}

/// The arguments of a call. If `expand` is set, the last one is expanded.
fn spread(values: &[Value], expand: bool, place: &ErrorRange) -> Result<Vec<Value>, Fault> {
    let (true, Some((last, first))) = (expand, values.split_last()) else { return Ok(values.to_vec()) };
    let (bare, marks) = last.unmark();
    let mut arguments = first.to_vec();
    match bare.open().1 {
        Kind::Null(_) => Err(place.fault(problems::calls::null_expansion())),
        Kind::List(items) | Kind::Set(items) | Kind::Tuple(items) => {
            arguments.extend(items.items().iter().map(|item| item.mark(&marks)));
            Ok(arguments)
        }
        _ => Err(place.fault(problems::calls::unsuitable_expansion())),
    }
}

fn call(
    results: &dyn ResultSource,
    name: &str,
    arguments: &[Value],
    place: &ErrorRange,
    formula: &Formula,
) -> Result<Value, Fault> {
    let Some(function) = functions::lookup(name) else {
        return Err(place.fault(problems::calls::unknown_function(name, std::iter::empty())));
    };
    function.check_count(arguments.len()).map_err(|error| place.fault(problems::calls::wrong_count(&error)))?;
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

fn function_problem(name: &str, parameter: Option<&str>, error: &FunctionError, place: &ErrorRange) -> Diagnostic {
    let problem = problems::calls::failed(name, parameter, error);
    match &place.0 {
        Some(range) => problem.at(range.clone()),
        None => problem,
    }
}

fn call_provider(
    results: &dyn ResultSource,
    provider: &FunctionProvider,
    name: &str,
    arguments: &[Value],
    place: &ErrorRange,
) -> Result<Value, Fault> {
    let function = results.provider_function(provider, name).map_err(|problem| place.fault(problem))?;
    provider_call::check_count(name, &function.signature, arguments.len())
        .map_err(|error| place.fault(problems::calls::wrong_count(&error)))?;
    provider_call::invoke(&function.signature, arguments, &mut |bare| results.call_provider_function(&function, bare))
        .map_err(|error| {
            let parameter = error
                .argument
                .and_then(|index| provider_call::parameter_at(&function.signature, index))
                .map(|parameter| parameter.name.as_str());
            Fault::Failed(vec![function_problem(name, parameter, &error, place)])
        })
}

/// An object from alternating keys and values.
fn object_of(values: &[Value], place: &ErrorRange) -> Result<Value, Fault> {
    let mut attributes = Vec::with_capacity(values.len() / 2);
    let mut marks = weft_graph_format::marks::Marks::NONE;
    let mut open = false;
    for pair in values.chunks(2) {
        let [key, value] = pair else { unreachable!("keys and values alternate") };
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
