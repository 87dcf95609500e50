//! Functions that choose the first suitable argument.

use weft_graph_format::types::Type;
use weft_graph_format::value::Value;

use super::{CallContext, Function, FunctionError, Parameter, Symbolic, problems};
use crate::convert::{Safety, convert, unify};

pub(super) fn functions() -> Vec<Function> {
    vec![
        Function::new("coalesce", "The first argument that is neither null nor an empty string.", Symbolic::Opaque)
            .variadic(Parameter::new("vals", Type::Dynamic, "Values of one type.").nullable().unknowns().dynamic())
            .returns_of(coalesce_type)
            .not_null()
            .calls(coalesce),
        Function::new("coalescelist", "The first list or tuple that is not empty.", Symbolic::Structural)
            .variadic(Parameter::new("vals", Type::Dynamic, "Lists or tuples.").nullable().unknowns().dynamic())
            .returns_of(coalescelist_type)
            .not_null()
            .calls(coalescelist),
    ]
}

fn coalesce_type(arguments: &[Value]) -> Result<Type, FunctionError> {
    let types: Vec<Type> = arguments.iter().map(Value::ty).collect();
    let common = if types.is_empty() { None } else { unify(&types, Safety::Unsafe) };
    common.ok_or_else(problems::choice::types_differ)
}

fn coalesce(_: &CallContext<'_>, arguments: &[Value], ty: &Type) -> Result<Value, FunctionError> {
    for (index, argument) in arguments.iter().enumerate() {
        let converted = convert(argument, ty).map_err(|e| FunctionError::argument(index, e.to_string()))?;
        if !converted.is_known() {
            return Ok(Value::unknown(ty.clone()));
        }
        if converted.is_null() || converted.as_str() == Some("") {
            continue;
        }
        return Ok(converted);
    }
    Err(problems::choice::all_null_or_empty())
}

fn coalescelist_type(arguments: &[Value]) -> Result<Type, FunctionError> {
    let Some(first) = arguments.first() else {
        return Err(problems::no_arguments());
    };
    let mut same = true;
    for argument in arguments {
        if !argument.is_known() {
            return Ok(Type::Dynamic);
        }
        if !matches!(argument.ty(), Type::List(_) | Type::Tuple(_)) {
            return Err(problems::choice::cannot_choose_list());
        }
        same &= argument.ty() == first.ty();
    }
    Ok(if same { first.ty() } else { Type::Dynamic })
}

fn coalescelist(_: &CallContext<'_>, arguments: &[Value], ty: &Type) -> Result<Value, FunctionError> {
    for argument in arguments {
        if !argument.is_known() {
            return Ok(Value::unknown(ty.clone()));
        }
        if argument.as_items().is_some_and(|items| !items.is_empty()) {
            return Ok(argument.clone());
        }
    }
    Err(problems::choice::all_null())
}
