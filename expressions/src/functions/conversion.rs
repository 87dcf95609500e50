//! Conversion to a type by name.

use weft_graph_format::types::Type;
use weft_graph_format::value::Value;

use super::{Function, FunctionError, Parameter, Symbolic, problems};
use crate::convert::{Safety, can_convert, convert};
use crate::function::ResultTypeFn;

pub(super) fn functions() -> Vec<Function> {
    vec![
        conversion("tobool", "The value as a boolean.", |a| wanted(a, Type::Bool)),
        conversion("tonumber", "The value as a number.", |a| wanted(a, Type::Number)),
        conversion("tostring", "The value as a string.", |a| wanted(a, Type::String)),
        conversion("tolist", "The value as a list.", |a| wanted(a, Type::list(Type::Dynamic))),
        conversion("toset", "The value as a set.", |a| wanted(a, Type::set(Type::Dynamic))),
        conversion("tomap", "The value as a map.", |a| wanted(a, Type::map(Type::Dynamic))),
    ]
}

fn conversion(name: &'static str, description: &'static str, ty: ResultTypeFn) -> Function {
    Function::new(name, description, Symbolic::Structural)
        .parameter(Parameter::new("v", Type::Dynamic, "The value.").nullable().dynamic().marked())
        .returns_of(ty)
        .calls(|_, arguments, ty| convert(&arguments[0], ty).map_err(|e| FunctionError::argument(0, e.with_path())))
}

/// The name of a type in the errors of these functions.
fn described(ty: &Type) -> String {
    match ty {
        Type::List(element) if **element == Type::Dynamic => "list of any single type".into(),
        Type::Set(element) if **element == Type::Dynamic => "set of any single type".into(),
        Type::Map(element) if **element == Type::Dynamic => "map of any single type".into(),
        other => other.friendly_name(),
    }
}

fn wanted(arguments: &[Value], want: Type) -> Result<Type, FunctionError> {
    let have = arguments[0].ty();
    if have == want || can_convert(&have, &want, Safety::Unsafe) {
        return Ok(want);
    }
    Err(problems::choice::cannot_convert(&have, &described(&want)))
}
