//! Function calls, including `try` and `can`.

use std::sync::atomic::AtomicU64;

use weft_graph_format::diagnostic::Diagnostic;
use weft_graph_format::formula::{Formula, FormulaOp};
use weft_graph_format::marks::Marks;
use weft_graph_format::types::Type;
use weft_graph_format::value::{Kind, Value};
use weft_syntax::{Call, ExprId, Span};

use super::{Evaluator, certain_failure, failed, failed_value, fails_for_certain};
use crate::call_context::CallContext;
use crate::call_error::{CountError, FunctionError};
use crate::function::{Function, Symbolic};
use crate::limits;
use crate::problems::calls as problems;
use crate::provider_call;
use crate::scope::ProviderFunction;
use crate::symbolic::{self, Passing};

/// One argument of a call. Elements of a sequence that `...` expands are already evaluated.
enum Argument {
    Expression(ExprId),
    Value(Value, ExprId),
}

impl Argument {
    fn place(&self) -> ExprId {
        match self {
            Argument::Expression(id) | Argument::Value(_, id) => *id,
        }
    }
}

/// The arguments of a call, as far as they are known.
enum Arguments {
    /// All arguments. A provisional sequence before `...` is included for the formula.
    Known(Vec<Argument>, Option<Value>),
    /// The sequence before `...` is unknown, and so is the number of arguments.
    Open(Value),
    /// An argument has an error.
    Failed(Value),
}

impl Evaluator<'_> {
    pub(super) fn call(&mut self, call: &Call, id: ExprId) -> Value {
        let Some(functions) = self.scope.functions() else {
            return self.fail(problems::not_allowed(), call.name_span, id);
        };
        if let Some(function) = functions.lookup(&call.name) {
            return self.built_in_call(function, call, id);
        }
        if call.name.starts_with("provider::") {
            if call.name.split("::").count() > 4 || call.name.split("::").count() < 3 {
                return self.fail(problems::invalid_provider_function(&call.name), call.name_span, id);
            }
            return match self.scope.provider_function(&call.name) {
                Ok(function) => self.provider_call(&function, call, id),
                Err(problem) => self.fail(problem, call.name_span, id),
            };
        }
        if let Some((namespace, _)) = call.name.split_once("::")
            && namespace != "core"
        {
            return self.fail(problems::unknown_namespace(&call.name), call.name_span, id);
        }
        let names = functions.all().iter().map(|function| function.name);
        self.fail(problems::unknown_function(&call.name, names), call.name_span, id)
    }

    fn arguments(&mut self, call: &Call, id: ExprId) -> Arguments {
        let mut arguments: Vec<Argument> = call.arguments.iter().map(|id| Argument::Expression(*id)).collect();
        if !call.expand_final {
            return Arguments::Known(arguments, None);
        }
        let Some(Argument::Expression(last)) = arguments.pop() else { return Arguments::Known(arguments, None) };
        let (sequence, sequence_failed) = self.checked(last);
        if sequence_failed {
            return Arguments::Failed(sequence);
        }
        let invalid = |evaluator: &mut Self, problem: Diagnostic| {
            Arguments::Failed(evaluator.fail(problem, evaluator.span(last), id))
        };
        let (bare, marks) = sequence.unmark();
        match bare.open().1 {
            Kind::Null(_) => invalid(self, problems::null_expansion()),
            Kind::List(items) | Kind::Set(items) | Kind::Tuple(items) => {
                let spread = |item: &Value| Argument::Value(item.mark(&marks).add_origin(bare.origin()), last);
                arguments.extend(items.items().iter().map(spread));
                let unsettled = bare.formula().is_some()
                    || (matches!(bare.open().1, Kind::Set(_)) && (bare.deep().unknown || bare.deep().formula));
                Arguments::Known(arguments, unsettled.then_some(sequence))
            }
            Kind::Unknown(u) if matches!(u.ty, Type::Dynamic | Type::List(_) | Type::Set(_) | Type::Tuple(_)) => {
                Arguments::Open(sequence)
            }
            _ => invalid(self, problems::unsuitable_expansion()),
        }
    }

    fn count_problem(&mut self, error: &CountError, arguments: &[Argument], call: &Call, id: ExprId) -> Value {
        let subject = match error {
            CountError::NotEnough { .. } => Span::new(call.parentheses.end.saturating_sub(1), call.parentheses.end),
            CountError::TooMany { expected, .. } => {
                arguments.get(*expected).map_or(call.name_span, |argument| self.span(argument.place()))
            }
        };
        self.fail(problems::wrong_count(error), subject, id)
    }

    fn call_problem(
        &mut self,
        name: &str,
        parameter: Option<&str>,
        error: &FunctionError,
        arguments: &[Argument],
        id: ExprId,
    ) -> Value {
        let place = error.argument.and_then(|index| arguments.get(index)).map(Argument::place);
        let (parameter, subject) = match place {
            Some(place) => (parameter, self.span(place)),
            None => (None, self.span(id)),
        };
        self.fail(problems::failed(name, parameter, error), subject, id)
    }

    fn built_in_call(&mut self, function: &'static Function, call: &Call, id: ExprId) -> Value {
        let (arguments, provisional_sequence) = match self.arguments(call, id) {
            Arguments::Failed(value) => return value,
            Arguments::Open(sequence) => return self.open_call(Some(function), None, &sequence, call, id),
            Arguments::Known(arguments, sequence) => (arguments, sequence),
        };
        if let Err(error) = function.check_count(arguments.len()) {
            return self.count_problem(&error, &arguments, call, id);
        }
        if function.lazy {
            return if function.name == "can" { self.can(&arguments, id) } else { self.try_each(&arguments, id) };
        }
        let check = |index: usize, value: &Value| {
            let error = function.convert_argument(index, value).err()?;
            let parameter = function.parameter_at(index).map(|p| p.name);
            Some(problems::failed(function.name, parameter, &error))
        };
        let (values, failure) = self.argument_values(&arguments, check, id);
        let looked_at = if function.looks_at_all() { values.iter().map(limits::steps_over).sum() } else { 1 };
        if self.spend(looked_at, id) {
            return failure.unwrap_or_else(|| Value::unknown(Type::Dynamic));
        }
        let steps = AtomicU64::new(self.steps);
        let context = CallContext { steps: Some(&steps), ..self.scope.context() };
        let occurrence = (function.symbolic == Symbolic::Impure).then(|| context.next_occurrence());
        let op = |evaluator: &Self| {
            let (arguments, expand_final) = evaluator.formula_arguments(&values, provisional_sequence.as_ref(), call);
            FormulaOp::Call { function: function.name.into(), arguments, expand_final, occurrence }
        };
        if let Some(failure) = failure {
            return self.failed_arguments(failure, &values, id, op);
        }
        let formula = |ty: Type| Formula::new(op(self), ty, Some(self.range(id)));
        let invoked = function.invoke(&context, &values, &formula);
        self.steps = steps.into_inner();
        let formula = |ty: Type| Formula::new(op(self), ty, Some(self.range(id)));
        match invoked {
            Ok(value) => match &provisional_sequence {
                // At apply, the number of arguments and the arguments themselves may differ.
                Some(sequence) if !value.deep().provisional => {
                    let whole = formula(value.ty());
                    symbolic::replace_formulas(&value, &whole).add_origin(sequence.deep_origin().as_ref())
                }
                _ => value,
            },
            Err(error) => {
                let parameter = error.argument.and_then(|i| function.parameter_at(i)).map(|p| p.name);
                let failure = self.call_problem(function.name, parameter, &error, &arguments, id);
                self.failed_arguments(failure, &values, id, op)
            }
        }
    }

    /// The value of a call that failed with the value `failure`. The first case that applies decides:
    ///
    /// - A part of an argument is an error: the call also fails at apply. That error replaces the call.
    /// - An argument is provisional, its type is open, or no part of `failure` is an error: the call may succeed at
    ///   apply. The value has the formula of the call.
    /// - In all other cases, the value is `failure`.
    fn failed_arguments(
        &self,
        failure: Value,
        values: &[Value],
        id: ExprId,
        op: impl FnOnce(&Self) -> FormulaOp,
    ) -> Value {
        let open = values.iter().any(|value| value.deep().provisional || crate::convert::is_open(value))
            || !fails_for_certain(&failure);
        match values.iter().find_map(certain_failure) {
            Some(certain) => certain,
            None if open => self.open_failure(id, values, || op(self)),
            None => failure,
        }
    }

    /// The values of the arguments, or the value that replaces the call if an argument fails. Errors are recorded.
    fn argument_values(
        &mut self,
        arguments: &[Argument],
        check: impl Fn(usize, &Value) -> Option<Diagnostic>,
        id: ExprId,
    ) -> (Vec<Value>, Option<Value>) {
        let mut values = Vec::with_capacity(arguments.len());
        let mut failure = None;
        for (index, argument) in arguments.iter().enumerate() {
            let value = match argument {
                Argument::Value(value, _) => value.clone(),
                Argument::Expression(at) => {
                    let (value, value_failed) = self.checked(*at);
                    if value_failed {
                        failure.get_or_insert_with(|| value.clone());
                        values.push(value);
                        continue;
                    }
                    value
                }
            };
            if let Some(problem) = check(index, &value) {
                let value = self.fail(problem, self.span(argument.place()), id);
                failure.get_or_insert(value);
            }
            values.push(value);
        }
        (values, failure)
    }

    fn formula_arguments(&self, values: &[Value], sequence: Option<&Value>, call: &Call) -> (Vec<Formula>, bool) {
        match sequence {
            None => (values.iter().map(Value::to_formula).collect(), false),
            Some(sequence) => {
                let written = call.arguments.len().saturating_sub(1);
                let mut arguments: Vec<Formula> = values.iter().take(written).map(Value::to_formula).collect();
                arguments.push(sequence.to_formula());
                (arguments, true)
            }
        }
    }

    /// A call with an unknown number of arguments. Its result is unknown. As in OpenTofu, errors of the other arguments
    /// are not reported before apply.
    fn open_call(
        &mut self,
        function: Option<&'static Function>,
        provider: Option<&ProviderFunction>,
        sequence: &Value,
        call: &Call,
        id: ExprId,
    ) -> Value {
        let written = call.arguments.len().saturating_sub(1);
        let mut values = Vec::with_capacity(call.arguments.len());
        for at in call.arguments.iter().take(written) {
            values.push(self.apart(|e| e.value(*at)).0);
        }
        values.push(sequence.clone());
        let marks = values.iter().fold(Marks::NONE, |marks, value| marks.union(value.marks()));
        let arguments: Vec<Formula> = values.iter().map(Value::to_formula).collect();
        let occurrence =
            function.filter(|f| f.symbolic == Symbolic::Impure).map(|_| self.scope.context().next_occurrence());
        let op = match (function, provider) {
            (Some(function), _) => {
                FormulaOp::Call { function: function.name.into(), arguments, expand_final: true, occurrence }
            }
            (None, Some(provider)) => FormulaOp::ProviderCall {
                provider: provider.provider.clone(),
                function: provider.function.clone(),
                arguments,
                expand_final: true,
            },
            (None, None) => return Value::unknown(Type::Dynamic),
        };
        let formula = Formula::new(op, Type::Dynamic, Some(self.range(id)));
        Value::unknown(Type::Dynamic)
            .mark(&marks)
            .with_formula(Some(formula))
            .add_origin(symbolic::joined_origin(&values).as_ref())
    }

    fn provider_call(&mut self, function: &ProviderFunction, call: &Call, id: ExprId) -> Value {
        let (arguments, provisional_sequence) = match self.arguments(call, id) {
            Arguments::Failed(value) => return value,
            Arguments::Open(sequence) => return self.open_call(None, Some(function), &sequence, call, id),
            Arguments::Known(arguments, sequence) => (arguments, sequence),
        };
        let signature = &function.signature;
        if let Err(error) = provider_call::check_count(&call.name, signature, arguments.len()) {
            return self.count_problem(&error, &arguments, call, id);
        }
        let name = |index: usize| provider_call::parameter_at(signature, index).map(|p| p.name.clone());
        let check = |index: usize, value: &Value| {
            let parameter = provider_call::parameter_at(signature, index)?;
            let error = crate::convert::convert(value, &parameter.ty).err()?;
            let error = problems::unsuitable_argument(index, &error);
            Some(problems::failed(&call.name, Some(&parameter.name), &error))
        };
        let (values, failure) = self.argument_values(&arguments, check, id);
        let op = |evaluator: &Self| {
            let (arguments, expand_final) = evaluator.formula_arguments(&values, provisional_sequence.as_ref(), call);
            FormulaOp::ProviderCall {
                provider: function.provider.clone(),
                function: function.function.clone(),
                arguments,
                expand_final,
            }
        };
        if let Some(failure) = failure {
            return self.failed_arguments(failure, &values, id, op);
        }
        let formula = |ty: Type| Formula::new(op(self), ty, Some(self.range(id)));
        let called =
            provider_call::invoke(signature, &values, &mut |bare| self.scope.call_provider_function(function, bare));
        match called {
            Ok(value) => symbolic::attach(value, &values, Passing::Nothing, &formula),
            Err(error) => {
                let parameter = error.argument.and_then(name);
                let failure = self.call_problem(&call.name, parameter.as_deref(), &error, &arguments, id);
                self.failed_arguments(failure, &values, id, op)
            }
        }
    }

    fn argument_apart(&mut self, argument: &Argument) -> (Value, Vec<Diagnostic>) {
        match argument {
            Argument::Value(value, _) => (value.clone(), Vec::new()),
            Argument::Expression(id) => self.apart(|e| e.value(*id)),
        }
    }

    /// `can`. An error is final in the plan. If the argument may succeed at apply, the result has a formula.
    fn can(&mut self, arguments: &[Argument], id: ExprId) -> Value {
        let Some(argument) = arguments.first() else { return Value::bool(false) };
        let (value, problems) = self.argument_apart(argument);
        let deep = value.deep();
        let (result, settled) = match failed(&problems) {
            true => (Value::bool(false), fails_for_certain(&value)),
            false if deep.unknown => (Value::unknown(Type::Bool), false),
            false => (Value::bool(true), !deep.provisional),
        };
        if settled {
            return result;
        }
        let formula = Formula::new(FormulaOp::Can(value.to_formula()), Type::Bool, Some(self.range(id)));
        result.with_formula(Some(formula)).add_origin(value.deep_origin().as_ref())
    }

    /// `try`. As in OpenTofu, an error is final in the plan, and the next argument is taken. If an argument that failed
    /// may succeed at apply, the result has a formula.
    fn try_each(&mut self, arguments: &[Argument], id: ExprId) -> Value {
        let mut told: Vec<Diagnostic> = Vec::new();
        // Arguments that failed but may succeed at apply.
        let mut values: Vec<Value> = Vec::new();
        for (index, argument) in arguments.iter().enumerate() {
            let (value, problems) = self.argument_apart(argument);
            if failed(&problems) {
                told.extend(problems);
                if !fails_for_certain(&value) {
                    values.push(value);
                }
                continue;
            }
            let deep = value.deep();
            if !deep.unknown && !deep.provisional && values.is_empty() {
                return value;
            }
            // This argument may fail once it is known. In this case, a later argument is chosen.
            values.push(value.clone());
            for later in arguments.get(index.saturating_add(1)..).unwrap_or_default() {
                let (value, problems) = self.argument_apart(later);
                let value = match problems.iter().find(|p| p.is_error()) {
                    Some(problem) if fails_for_certain(&value) => failed_value(problem),
                    _ => value,
                };
                values.push(value);
            }
            let formulas = values.iter().map(Value::to_formula).collect();
            let result = if deep.unknown { Value::unknown(Type::Dynamic) } else { value };
            // The argument that is chosen at apply may have a different type.
            let one_type = values.iter().all(|value| value.ty() == result.ty());
            let ty = if one_type { result.ty() } else { Type::Dynamic };
            let formula = Formula::new(FormulaOp::Try(formulas), ty, Some(self.range(id)));
            return symbolic::replace_formulas(&result, &formula).add_origin(symbolic::joined_origin(&values).as_ref());
        }
        let error = if arguments.is_empty() { problems::nothing_to_try() } else { problems::no_success(&told) };
        let failure = self.fail(problems::failed("try", None, &error), self.span(id), id);
        if values.is_empty() {
            return failure;
        }
        let formulas = values.iter().map(Value::to_formula).collect();
        self.open_failure(id, &values, || FormulaOp::Try(formulas))
    }
}
