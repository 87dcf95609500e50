//! Functions: their definition, and how they are called.
//!
//! Each function is written once, and has two sides. [`Function::call`] is the *known* side, which computes a result.
//! [`Function::invoke`] first applies cty's rules: it converts arguments, and handles null, unknown and marked
//! arguments. The *symbolic* side needs no code in the function: [`Symbolic`] determines how a result gets its formula
//! and origin.

use std::fmt;

use smol_str::SmolStr;
use weft_graph_format::formula::Formula;
use weft_graph_format::marks::Marks;
use weft_graph_format::types::Type;
use weft_graph_format::value::{Extent, Kind, Refinement, Value};

use crate::call_context::{CallContext, Impure};
use crate::call_error::{CountError, FunctionError};
use crate::convert;
use crate::problems::calls as problems;
use crate::refine;
use crate::symbolic::{self, Passing};

/// A parameter of a function.
#[derive(Clone, Debug)]
pub struct Parameter {
    /// The name, for messages.
    pub name: &'static str,
    /// The type that arguments are converted to. [`Type::Dynamic`] accepts anything.
    pub ty: Type,
    /// Whether null arguments are passed to the function. Otherwise they are an error.
    pub allow_null: bool,
    /// Whether unknown arguments are passed to the function. Otherwise the result is unknown. Only the outermost level
    /// counts: an argument may always contain unknown parts.
    pub allow_unknown: bool,
    /// Whether arguments of unknown *type* are passed to the function. Otherwise the result and its type are unknown.
    pub allow_dynamic: bool,
    /// Whether arguments keep their marks, at every level. Otherwise marks are removed from the argument and added to
    /// the result.
    pub allow_marked: bool,
    /// A description for users.
    pub description: &'static str,
}

impl Parameter {
    /// Creates a parameter that accepts known, non-null values of this type.
    pub fn new(name: &'static str, ty: Type, description: &'static str) -> Parameter {
        Parameter {
            name,
            ty,
            allow_null: false,
            allow_unknown: false,
            allow_dynamic: false,
            allow_marked: false,
            description,
        }
    }

    /// Lets the parameter accept null.
    #[must_use]
    pub fn nullable(mut self) -> Parameter {
        self.allow_null = true;
        self
    }

    /// Lets the parameter accept unknown values.
    #[must_use]
    pub fn unknowns(mut self) -> Parameter {
        self.allow_unknown = true;
        self
    }

    /// Lets the parameter accept values of unknown type.
    #[must_use]
    pub fn dynamic(mut self) -> Parameter {
        self.allow_dynamic = true;
        self
    }

    /// Lets the parameter accept marked values.
    #[must_use]
    pub fn marked(mut self) -> Parameter {
        self.allow_marked = true;
        self
    }
}

/// How the result of a call gets its formula and origin when an argument is symbolic (unknown, or with a formula).
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Symbolic {
    /// The result consists of parts of the arguments (`merge`, `values`, `lookup`). Parts keep their formulas and
    /// origins.
    Structural,
    /// The result is a new value (`join`, `upper`), or depends on the content of the arguments (`contains`, `distinct`,
    /// `coalesce`). In both cases, the result gets the origins of everything in the arguments.
    Opaque,
    /// The result is the argument with marks removed (`nonsensitive`). Like `Structural`, unless the argument is
    /// marked.
    Unmarking,
    /// The result comes from evaluating a template with variables (`templatefile`, `templatestring`). The formulas and
    /// origins of the result come from this evaluation. Exception: if the first argument (the path or the text of the
    /// template) is symbolic, the result gets the formula of the call.
    Inlined,
    /// Each call has a different result (`uuid`). The plan does not run the call. An occurrence number identifies the
    /// call.
    Impure,
}

/// Computes the type of the result. The arguments are converted and checked for null, and may be unknown.
pub type ResultTypeFn = fn(&[Value]) -> Result<Type, FunctionError>;

/// Computes the result of a call from the arguments of the call, which fit the parameters, and from the type of the
/// result, which was computed before.
pub type CallFn = fn(&CallContext<'_>, &[Value], &Type) -> Result<Value, FunctionError>;

/// Computes the refinement of an unknown result of this type.
pub type RefineFn = fn(&[Value], &Type) -> Refinement;

/// The type of the result of a function.
#[derive(Clone)]
pub enum ResultType {
    /// Always this type.
    Fixed(Type),
    /// The type depends on the arguments.
    Of(ResultTypeFn),
}

/// A built-in function.
#[derive(Clone)]
pub struct Function {
    /// The name, without `core::`.
    pub name: &'static str,
    /// A one-sentence description for users.
    pub description: &'static str,
    /// The parameters, in order.
    pub parameters: Vec<Parameter>,
    /// The parameter that accepts all remaining arguments.
    pub variadic: Option<Parameter>,
    /// The type of the result.
    pub result_type: ResultType,
    /// The known side: computes the result.
    pub call: CallFn,
    /// The refinement of an unknown result whose type is known.
    pub refine: Option<RefineFn>,
    /// The symbolic side: how a result gets its formula and origin.
    pub symbolic: Symbolic,
    /// Whether evaluation handles the arguments, including errors in them (`try`, `can`).
    pub lazy: bool,
}

impl fmt::Debug for Function {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "function {}", self.name)
    }
}

fn no_call(_: &CallContext<'_>, _: &[Value], _: &Type) -> Result<Value, FunctionError> {
    Err(problems::no_implementation())
}

/// A [`Function::refine`] for results that are never null.
fn never_null(_: &[Value], _: &Type) -> Refinement {
    Refinement::not_null()
}

impl Function {
    /// Creates a function without parameters and with a dynamic result type. Extend it with the methods below.
    pub fn new(name: &'static str, description: &'static str, symbolic: Symbolic) -> Function {
        Function {
            name,
            description,
            parameters: Vec::new(),
            variadic: None,
            result_type: ResultType::Fixed(Type::Dynamic),
            call: no_call,
            refine: None,
            symbolic,
            lazy: false,
        }
    }

    /// Adds a parameter.
    #[must_use]
    pub fn parameter(mut self, parameter: Parameter) -> Function {
        self.parameters.push(parameter);
        self
    }

    /// Sets the parameter that accepts all remaining arguments.
    #[must_use]
    pub fn variadic(mut self, parameter: Parameter) -> Function {
        self.variadic = Some(parameter);
        self
    }

    /// Sets a fixed result type.
    #[must_use]
    pub fn returns(mut self, ty: Type) -> Function {
        self.result_type = ResultType::Fixed(ty);
        self
    }

    /// Sets a result type that is computed from the arguments.
    #[must_use]
    pub fn returns_of(mut self, ty: ResultTypeFn) -> Function {
        self.result_type = ResultType::Of(ty);
        self
    }

    /// Sets the known side: the code that computes the result.
    #[must_use]
    pub fn calls(mut self, call: CallFn) -> Function {
        self.call = call;
        self
    }

    /// Declares that the result is never null.
    #[must_use]
    pub fn not_null(mut self) -> Function {
        self.refine = Some(never_null);
        self
    }

    /// Lets evaluation handle the arguments.
    #[must_use]
    pub fn lazy(mut self) -> Function {
        self.lazy = true;
        self
    }

    /// The parameter that accepts argument `index`.
    pub fn parameter_at(&self, index: usize) -> Option<&Parameter> {
        self.parameters.get(index).or(self.variadic.as_ref())
    }

    /// Checks the number of arguments.
    pub fn check_count(&self, count: usize) -> Result<(), CountError> {
        if let Some(missing) = self.parameters.get(count) {
            return Err(CountError::NotEnough {
                function: SmolStr::new(self.name),
                at_least: self.variadic.is_some(),
                expected: self.parameters.len(),
                missing: missing.name.into(),
            });
        }
        if self.variadic.is_none() && count > self.parameters.len() {
            return Err(CountError::TooMany { function: self.name.into(), expected: self.parameters.len() });
        }
        Ok(())
    }

    /// Whether the cost of a call depends on the total size of its arguments, rather than on their number.
    pub fn looks_at_all(&self) -> bool {
        !matches!(self.name, "lookup" | "element" | "length" | "one")
    }

    /// Converts argument `index` to the type of its parameter.
    pub fn convert_argument(&self, index: usize, argument: &Value) -> Result<Value, FunctionError> {
        match self.parameter_at(index) {
            None => Err(problems::no_such_parameter(index)),
            Some(parameter) => {
                convert::convert(argument, &parameter.ty).map_err(|error| problems::unsuitable_argument(index, &error))
            }
        }
    }

    /// Calls the function. Converts the arguments, applies the rules for null, unknown and marked arguments, and adds
    /// the formula and origin to the result. The caller has checked the number of arguments. `formula` creates the
    /// formula of the call for a given result type. `formula` is called only if an argument is symbolic, or if the call
    /// is impure and deferred to apply.
    pub fn invoke(
        &self,
        context: &CallContext<'_>,
        arguments: &[Value],
        formula: &dyn Fn(Type) -> Formula,
    ) -> Result<Value, FunctionError> {
        let mut converted = Vec::with_capacity(arguments.len());
        for (index, argument) in arguments.iter().enumerate() {
            converted.push(self.convert_argument(index, argument)?);
        }
        let all = converted.iter().map(Value::extent).reduce(Extent::and).unwrap_or_default();
        if let Some(excess) = all.excess() {
            return Err(problems::arguments_too_large(excess));
        }
        if self.symbolic == Symbolic::Impure && context.impure == Impure::Defer {
            let (result, marks) = self.deferred_impure(&converted)?;
            let ty = result.ty();
            let result = result.mark(&marks).with_formula(Some(formula(ty)));
            return Ok(result.add_origin(symbolic::joined_origin(&converted).as_ref()));
        }
        let result = self.evaluate(context, &converted)?;
        let passing = match self.symbolic {
            Symbolic::Inlined if !result.deep().unexplained => {
                // Only the text of a template can make the whole call symbolic. Formulas of its variables do not.
                let text = converted.get(..1).unwrap_or_default();
                let result = symbolic::attach(result, text, Passing::Parts, formula);
                return Ok(converted.iter().fold(result, |result, argument| result.add_origin(argument.origin())));
            }
            Symbolic::Structural | Symbolic::Inlined => Passing::Parts,
            // A value that is unknown as a whole may turn out to be marked.
            Symbolic::Unmarking if converted.iter().all(|a| a.is_known() && !a.deep().marked) => Passing::Parts,
            Symbolic::Unmarking => Passing::Whole,
            Symbolic::Opaque | Symbolic::Impure => Passing::Nothing,
        };
        // If the type of an argument or element is unknown, the common type is unknown too.
        let unified = passing == Passing::Nothing || result.ty().is_collection();
        // The result may be known although an argument is unknown, if the result does not depend on this argument. But
        // if the argument is null at apply and the parameter does not allow null, the call is an error.
        let refused = result.is_known()
            && converted.iter().enumerate().any(|(index, argument)| {
                let allowed = self.parameter_at(index).is_some_and(|p| p.allow_null);
                !allowed && !argument.is_known() && !refine::definitely_not_null(argument)
            });
        let whole = refused || (unified && arguments.iter().any(convert::is_open));
        let passing = if whole { Passing::Whole } else { passing };
        Ok(symbolic::attach(result, &converted, passing, formula))
    }

    fn deferred_impure(&self, arguments: &[Value]) -> Result<(Value, Marks), FunctionError> {
        for (index, argument) in arguments.iter().enumerate() {
            if argument.is_null() && !self.parameter_at(index).is_some_and(|p| p.allow_null) {
                return Err(problems::null_argument(index));
            }
        }
        let (bare, marks) = unmark_all(self, arguments);
        let ty = self.type_of_result(&bare)?;
        Ok((self.refined(Value::unknown(ty), &bare), marks))
    }

    /// The known side, with cty's rules around it.
    fn evaluate(&self, context: &CallContext<'_>, arguments: &[Value]) -> Result<Value, FunctionError> {
        let mut open_type = false;
        for (index, argument) in arguments.iter().enumerate() {
            let parameter = self.parameter_at(index);
            if !argument.is_null() {
                open_type |= argument.ty() == Type::Dynamic && !parameter.is_some_and(|p| p.allow_dynamic);
            } else if parameter.is_some_and(|p| !p.allow_null) {
                return Err(problems::null_argument(index));
            }
            if open_type {
                // As in OpenTofu, the arguments after one of unknown type are not checked.
                break;
            }
        }
        let (bare, marks) = unmark_all(self, arguments);
        if open_type {
            return Ok(Value::unknown(Type::Dynamic).mark(&marks));
        }
        let ty = self.type_of_result(&bare)?;
        let unknown = bare.iter().enumerate().any(|(index, argument)| {
            !argument.is_known() && !self.parameter_at(index).is_some_and(|p| p.allow_unknown)
        });
        if unknown {
            // Parameters that accept marks leave them on the arguments. These marks must not be lost together with the
            // content.
            let all = bare.iter().fold(marks, |all, argument| all.union(argument.marks()));
            return Ok(self.refined(Value::unknown(ty), &bare).mark(&all));
        }
        let result = (self.call)(context, &bare, &ty)?;
        if let Some(excess) = result.excess() {
            return Err(problems::result_too_large(excess));
        }
        Ok(self.refined(result, &bare).mark(&marks))
    }

    fn type_of_result(&self, arguments: &[Value]) -> Result<Type, FunctionError> {
        match &self.result_type {
            ResultType::Fixed(ty) => Ok(ty.clone()),
            ResultType::Of(of) => of(arguments),
        }
    }

    fn refined(&self, result: Value, arguments: &[Value]) -> Value {
        match (self.refine, result.open().1) {
            (Some(add), Kind::Unknown(u)) if u.ty != Type::Dynamic => {
                let extra = add(arguments, &u.ty);
                refine::refine(&result, &extra)
            }
            _ => result,
        }
    }
}

/// The arguments without the marks that their parameters do not accept, and the removed marks.
fn unmark_all(function: &Function, arguments: &[Value]) -> (Vec<Value>, Marks) {
    let mut marks = Marks::NONE;
    let bare = arguments
        .iter()
        .enumerate()
        .map(|(index, argument)| {
            if !argument.deep().marked || function.parameter_at(index).is_some_and(|p| p.allow_marked) {
                return argument.clone();
            }
            let (bare, found) = argument.unmark_deep();
            marks = marks.union(&found);
            bare
        })
        .collect();
    (bare, marks)
}
