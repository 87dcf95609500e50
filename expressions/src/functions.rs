//! Functions: their definition, their calls, and the list of built-in functions.
//!
//! Each function is written once and has two sides. The *known* side is its [`Function::call`]; the rules around it
//! (conversion of arguments, null, unknown and marked arguments) are cty's, in [`Function::invoke`]. The *symbolic*
//! side needs no code: [`Symbolic`] says how a result gets its formula and origin.
//!
//! Files under `functions/` hold the functions by topic; each has `pub(super) fn functions() -> Vec<Function>` and is
//! named in the list at the end of this file.

use std::fmt;
use std::sync::LazyLock;

use rustc_hash::FxHashMap;
use smol_str::SmolStr;
use weft_graph_format::formula::Formula;
use weft_graph_format::marks::Marks;
use weft_graph_format::types::Type;
use weft_graph_format::value::{Extent, Kind, Refinement, Value};

pub use crate::call_context::{CallContext, DiskFiles, FileKind, Files, ForbiddenFiles, Impure};
pub use crate::call_error::{CountError, FunctionError, call_diagnostic};

use crate::convert;
use crate::refine;
use crate::symbolic::{self, Passing};

/// A parameter of a function.
#[derive(Clone, Debug)]
pub struct Parameter {
    /// Its name, for messages.
    pub name: &'static str,
    /// What arguments are converted to; [`Type::Dynamic`] takes anything.
    pub ty: Type,
    /// Null is passed on; otherwise it is an error.
    pub allow_null: bool,
    /// An unknown argument is passed on; otherwise the result is unknown. This concerns the outermost level only: an
    /// argument may always have unknown parts.
    pub allow_unknown: bool,
    /// An argument of unknown *type* is passed on; otherwise the result is unknown with unknown type.
    pub allow_dynamic: bool,
    /// Marks stay on the argument, at every level; otherwise they are taken off and put on the result.
    pub allow_marked: bool,
    /// A description.
    pub description: &'static str,
}

impl Parameter {
    /// A parameter that takes known, not null values of this type.
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

    /// Null may be passed.
    #[must_use]
    pub fn nullable(mut self) -> Parameter {
        self.allow_null = true;
        self
    }

    /// Unknown values may be passed.
    #[must_use]
    pub fn unknowns(mut self) -> Parameter {
        self.allow_unknown = true;
        self
    }

    /// Values of unknown type may be passed.
    #[must_use]
    pub fn dynamic(mut self) -> Parameter {
        self.allow_dynamic = true;
        self
    }

    /// Marked values may be passed.
    #[must_use]
    pub fn marked(mut self) -> Parameter {
        self.allow_marked = true;
        self
    }
}

/// How the result of a call gets its formula and origin when an argument is symbolic (unknown, or with a formula).
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Symbolic {
    /// The result consists of parts of the arguments (`merge`, `values`, `lookup`), which keep their formulas and
    /// origins.
    Structural,
    /// The result is something new (`join`, `upper`, and whatever looks at contents to decide: `contains`,
    /// `distinct`, `coalesce`): it waits for everything in the arguments.
    Opaque,
    /// The result is the argument with marks taken away (`nonsensitive`). As structural, except where the argument
    /// is marked.
    Unmarking,
    /// The result is the evaluation of a text with names (`templatefile`). It has its formulas and origins from there,
    /// unless the text itself, the first argument, is symbolic.
    Inlined,
    /// Every call has another result (`uuid`): nothing runs during planning, and an occurrence distinguishes calls.
    Impure,
}

/// Computes the type of the result from the arguments. They were converted and checked for null, and may be unknown.
pub type ResultTypeFn = fn(&[Value]) -> Result<Type, FunctionError>;

/// Computes the result from arguments that fit the parameters; the type is the one that was computed before.
pub type CallFn = fn(&CallContext<'_>, &[Value], &Type) -> Result<Value, FunctionError>;

/// Additional known facts about an unknown result of this type.
pub type RefineFn = fn(&[Value], &Type) -> Refinement;

/// The type of the result of a function.
#[derive(Clone)]
pub enum ResultType {
    /// Always this one.
    Fixed(Type),
    /// It depends on the arguments.
    Of(ResultTypeFn),
}

/// A built-in function.
#[derive(Clone)]
pub struct Function {
    /// Its name without `core::`.
    pub name: &'static str,
    /// A description in one sentence.
    pub description: &'static str,
    /// The parameters in order.
    pub parameters: Vec<Parameter>,
    /// The parameter that the remaining arguments belong to.
    pub variadic: Option<Parameter>,
    /// The type of the result.
    pub result_type: ResultType,
    /// The known side.
    pub call: CallFn,
    /// Added to an unknown result whose type is known.
    pub refine: Option<RefineFn>,
    /// The symbolic side.
    pub symbolic: Symbolic,
    /// Evaluation treats its arguments itself and takes errors in them for an answer (`try`, `can`).
    pub lazy: bool,
}

impl fmt::Debug for Function {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "function {}", self.name)
    }
}

fn no_call(_: &CallContext<'_>, _: &[Value], _: &Type) -> Result<Value, FunctionError> {
    Err(FunctionError::new("this function has no implementation"))
}

/// For [`Function::refine`]: the result is never null.
fn never_null(_: &[Value], _: &Type) -> Refinement {
    Refinement::not_null()
}

impl Function {
    /// A function without parameters and of dynamic result; the methods below add to it.
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

    /// One more parameter.
    #[must_use]
    pub fn parameter(mut self, parameter: Parameter) -> Function {
        self.parameters.push(parameter);
        self
    }

    /// The parameter of the remaining arguments.
    #[must_use]
    pub fn variadic(mut self, parameter: Parameter) -> Function {
        self.variadic = Some(parameter);
        self
    }

    /// The result always has this type.
    #[must_use]
    pub fn returns(mut self, ty: Type) -> Function {
        self.result_type = ResultType::Fixed(ty);
        self
    }

    /// The type of the result depends on the arguments.
    #[must_use]
    pub fn returns_of(mut self, ty: ResultTypeFn) -> Function {
        self.result_type = ResultType::Of(ty);
        self
    }

    /// The known side.
    #[must_use]
    pub fn calls(mut self, call: CallFn) -> Function {
        self.call = call;
        self
    }

    /// The result is never null.
    #[must_use]
    pub fn not_null(mut self) -> Function {
        self.refine = Some(never_null);
        self
    }

    /// Evaluation treats its arguments itself.
    #[must_use]
    pub fn lazy(mut self) -> Function {
        self.lazy = true;
        self
    }

    /// The parameter that argument `index` belongs to.
    pub fn parameter_at(&self, index: usize) -> Option<&Parameter> {
        self.parameters.get(index).or(self.variadic.as_ref())
    }

    /// Whether `count` arguments are enough and not too many.
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

    /// Whether the time of a call is proportional to the content of its arguments rather than to their number.
    pub fn looks_at_all(&self) -> bool {
        !matches!(self.name, "lookup" | "element" | "length" | "one")
    }

    /// Argument `index` converted to the type of its parameter.
    pub fn convert_argument(&self, index: usize, argument: &Value) -> Result<Value, FunctionError> {
        match self.parameter_at(index) {
            None => Err(FunctionError::argument(index, "there is no such parameter")),
            Some(parameter) => {
                convert::convert(argument, &parameter.ty).map_err(|e| FunctionError::argument(index, e.to_string()))
            }
        }
    }

    /// Calls the function: converts the arguments, follows the rules for null, unknown and marked ones, and gives the
    /// result its formula and origin. The caller has checked the number of arguments. `formula` makes the formula of
    /// the call, for a result of the given type; it is called only if an argument is symbolic.
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
            return Err(FunctionError::new(format!("the arguments are too large together: {excess}")));
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
                // Names with their own formulas do not make the whole call symbolic.
                let text = converted.get(..1).unwrap_or_default();
                let result = symbolic::attach(result, text, Passing::Parts, formula);
                return Ok(converted.iter().fold(result, |result, argument| result.add_origin(argument.origin())));
            }
            Symbolic::Structural | Symbolic::Inlined => Passing::Parts,
            // A value that is unknown as a whole may turn out marked.
            Symbolic::Unmarking if converted.iter().all(|a| a.is_known() && !a.deep().marked) => Passing::Parts,
            Symbolic::Unmarking => Passing::Whole,
            Symbolic::Opaque | Symbolic::Impure => Passing::Nothing,
        };
        // Where a type is open, so is the one that arguments or elements are brought to.
        let unified = passing == Passing::Nothing || result.ty().is_collection();
        // A result that is independent of an unknown argument is an error if that argument turns out null.
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
                return Err(FunctionError::argument(index, NULL_ARGUMENT));
            }
        }
        let (bare, marks) = unmark_all(self, arguments);
        let ty = self.type_of_result(&bare)?;
        Ok((self.refined(Value::unknown(ty), &bare), marks))
    }

    /// The known side with cty's rules around it.
    fn evaluate(&self, context: &CallContext<'_>, arguments: &[Value]) -> Result<Value, FunctionError> {
        for (index, argument) in arguments.iter().enumerate() {
            let Some(parameter) = self.parameter_at(index) else { continue };
            if argument.is_null() && !parameter.allow_null {
                return Err(FunctionError::argument(index, NULL_ARGUMENT));
            }
        }
        let (bare, marks) = unmark_all(self, arguments);
        let open_type = bare.iter().enumerate().any(|(index, argument)| {
            !argument.is_null()
                && argument.ty() == Type::Dynamic
                && !self.parameter_at(index).is_some_and(|p| p.allow_dynamic)
        });
        if open_type {
            return Ok(Value::unknown(Type::Dynamic).mark(&marks));
        }
        let ty = self.type_of_result(&bare)?;
        let unknown = bare.iter().enumerate().any(|(index, argument)| {
            !argument.is_known() && !self.parameter_at(index).is_some_and(|p| p.allow_unknown)
        });
        if unknown {
            // Parameters that take marks leave them on the arguments; they must not be lost with the content.
            let all = bare.iter().fold(marks, |all, argument| all.union(argument.marks()));
            return Ok(self.refined(Value::unknown(ty), &bare).mark(&all));
        }
        let result = (self.call)(context, &bare, &ty)?;
        if let Some(excess) = result.excess() {
            return Err(FunctionError::new(format!("the result is too large: {excess}")));
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

/// The message for a null argument where none is allowed.
const NULL_ARGUMENT: &str = "argument must not be null";

/// The arguments with marks taken off where the parameter does not take them, and all marks taken off.
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

/// The function of this name, with or without `core::` before it.
pub fn lookup(name: &str) -> Option<&'static Function> {
    let name = name.strip_prefix("core::").unwrap_or(name);
    REGISTRY.by_name.get(name).and_then(|index| REGISTRY.functions.get(*index))
}

/// All built-in functions in the order of their names.
pub fn all() -> &'static [Function] {
    &REGISTRY.functions
}

struct Registry {
    functions: Vec<Function>,
    by_name: FxHashMap<&'static str, usize>,
}

static REGISTRY: LazyLock<Registry> = LazyLock::new(|| {
    let mut functions: Vec<Function> = TOPICS.iter().flat_map(|topic| topic()).collect();
    functions.sort_by_key(|f| f.name);
    let by_name = functions.iter().enumerate().map(|(index, f)| (f.name, index)).collect();
    Registry { functions, by_name }
});

// One line a file, in both lists.
mod charset;
mod choice;
mod control;
mod conversion;
mod crypto;
mod csv;
mod encoding;
mod files;
mod format;
mod hash;
mod json;
mod mapping;
mod marking;
mod network;
mod numeric;
mod regex;
mod search;
mod sequence;
mod set;
mod string;
mod template;
mod time;
mod yaml_reading;
mod yaml_writing;

const TOPICS: &[fn() -> Vec<Function>] = &[
    charset::functions,
    choice::functions,
    control::functions,
    conversion::functions,
    crypto::functions,
    csv::functions,
    encoding::functions,
    files::functions,
    format::functions,
    hash::functions,
    json::functions,
    mapping::functions,
    marking::functions,
    network::functions,
    numeric::functions,
    regex::functions,
    search::functions,
    sequence::functions,
    set::functions,
    string::functions,
    template::functions,
    time::functions,
    yaml_reading::functions,
    yaml_writing::functions,
];

// The building blocks of the functions.
mod arguments;
mod clusters;
mod equality;
mod glob;
mod re2;
mod rsa_key;
