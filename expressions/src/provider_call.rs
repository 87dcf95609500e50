//! The rules for calls of provider functions. They decide which calls reach the provider.

use weft_graph_format::marks::Marks;
use weft_graph_format::schema::{FunctionParameter, FunctionSignature};
use weft_graph_format::types::Type;
use weft_graph_format::value::Value;

use crate::call_error::{CountError, FunctionError};
use crate::convert::convert;
use crate::problems::calls as problems;

/// The parameter that accepts argument `index`.
pub fn parameter_at(signature: &FunctionSignature, index: usize) -> Option<&FunctionParameter> {
    signature.parameters.get(index).or(signature.variadic.as_ref())
}

/// Checks the number of arguments.
pub fn check_count(name: &str, signature: &FunctionSignature, count: usize) -> Result<(), CountError> {
    if let Some(missing) = signature.parameters.get(count) {
        return Err(CountError::NotEnough {
            function: name.into(),
            at_least: signature.variadic.is_some(),
            expected: signature.parameters.len(),
            missing: missing.name.as_str().into(),
        });
    }
    if signature.variadic.is_none() && count > signature.parameters.len() {
        return Err(CountError::TooMany { function: name.into(), expected: signature.parameters.len() });
    }
    Ok(())
}

/// Calls a provider function through `call`. Converts the arguments and moves their marks to the result. Rejects a null
/// argument, unless the signature allows null and the null has no type. If an argument or a part of it is unknown and
/// the signature does not allow this, the result is unknown and the provider is not called.
pub fn invoke(
    signature: &FunctionSignature,
    arguments: &[Value],
    call: &mut dyn FnMut(&[Value]) -> Result<Value, FunctionError>,
) -> Result<Value, FunctionError> {
    let mut marks = Marks::NONE;
    let mut bare = Vec::with_capacity(arguments.len());
    let mut unknown = false;
    for (index, argument) in arguments.iter().enumerate() {
        let Some(parameter) = parameter_at(signature, index) else {
            return Err(problems::no_parameter(index));
        };
        let argument =
            convert(argument, &parameter.ty).map_err(|error| problems::unsuitable_argument(index, &error))?;
        let (argument, found) = argument.unmark_deep();
        marks = marks.union(&found);
        // As in OpenTofu, a null of a known type is rejected even if the signature allows null.
        if argument.is_null() && (!parameter.allow_null || argument.ty() != Type::Dynamic) {
            return Err(problems::null_argument(index));
        }
        unknown |= argument.deep().unknown && !parameter.allow_unknown;
        bare.push(argument);
    }
    if unknown {
        return Ok(Value::unknown(signature.result.clone()).mark(&marks));
    }
    let result = call(&bare)?;
    let result = if signature.result == Type::Dynamic {
        result
    } else {
        convert(&result, &signature.result).map_err(|error| problems::unsuitable_result(&error))?
    };
    Ok(result.mark(&marks))
}
