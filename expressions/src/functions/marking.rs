//! Functions that add, remove and query marks.

use weft_graph_format::marks::Marks;
use weft_graph_format::types::Type;
use weft_graph_format::value::{Transform, Value};

use super::{CallContext, Function, FunctionError, Parameter, Symbolic};

pub(super) fn functions() -> Vec<Function> {
    let value = || Parameter::new("value", Type::Dynamic, "The value.").nullable().unknowns().dynamic().marked();
    let same_type = |arguments: &[Value]| Ok(arguments[0].ty());
    vec![
        Function::new("sensitive", "The value, marked as sensitive.", Symbolic::Structural)
            .parameter(value())
            .returns_of(same_type)
            .calls(|_, arguments, _| Ok(arguments[0].mark(&Marks::SENSITIVE))),
        Function::new(
            "nonsensitive",
            "The value without its sensitive mark. The marks of its parts are kept.",
            Symbolic::Unmarking,
        )
        .parameter(value())
        .returns_of(same_type)
        .calls(|_, arguments, _| {
            let (bare, marks) = arguments[0].unmark();
            Ok(bare.mark(&marks.without_sensitive()))
        }),
        Function::new("issensitive", "Whether the value is sensitive.", Symbolic::Opaque)
            .parameter(value())
            .returns(Type::Bool)
            .not_null()
            .calls(issensitive),
        Function::new("ephemeralasnull", "The value with its ephemeral parts replaced by null.", Symbolic::Unmarking)
            .parameter(value())
            .returns_of(same_type)
            .calls(ephemeralasnull),
    ]
}

fn issensitive(_: &CallContext<'_>, arguments: &[Value], _: &Type) -> Result<Value, FunctionError> {
    if !arguments[0].is_known() {
        return Ok(Value::unknown(Type::Bool));
    }
    Ok(Value::bool(arguments[0].marks().is_sensitive()))
}

fn ephemeralasnull(_: &CallContext<'_>, arguments: &[Value], _: &Type) -> Result<Value, FunctionError> {
    let deep = arguments[0].deep();
    if !deep.ephemeral && !deep.unknown {
        return Ok(arguments[0].clone());
    }
    Ok(arguments[0].transform(&mut |_, part| {
        if !part.is_known() {
            // Whether an unknown value is ephemeral is known only at apply.
            Transform::Replace(Value::unknown(part.ty()).mark(&part.marks().without_ephemeral()))
        } else if part.marks().is_ephemeral() {
            Transform::Replace(Value::null(part.ty()).mark(&part.marks().without_ephemeral()))
        } else {
            Transform::Descend
        }
    }))
}
