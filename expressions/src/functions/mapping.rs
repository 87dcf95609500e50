//! Maps and objects.

use std::collections::BTreeMap;

use smol_str::SmolStr;
use weft_graph_format::marks::Marks;
use weft_graph_format::types::Type;
use weft_graph_format::value::{Kind, Value};

use super::arguments::items;
use super::{CallContext, Function, FunctionError, Parameter, Symbolic, problems};
use crate::convert::convert;

pub(super) fn functions() -> Vec<Function> {
    let anything =
        |name, description| Parameter::new(name, Type::Dynamic, description).nullable().unknowns().dynamic().marked();
    vec![
        Function::new("keys", "The keys of a map or attribute names of an object, in order.", Symbolic::Structural)
            .parameter(Parameter::new("inputMap", Type::Dynamic, "A map or object.").unknowns().marked())
            .returns_of(keys_type)
            .not_null()
            .calls(keys),
        Function::new("values", "The values of a map or object in the order of its keys.", Symbolic::Structural)
            .parameter(Parameter::new("mapping", Type::Dynamic, "A map or object.").marked())
            .returns_of(values_type)
            .not_null()
            .calls(values),
        Function::new("lookup", "The value of a key, or a default if the key does not exist.", Symbolic::Structural)
            .parameter(Parameter::new("inputMap", Type::Dynamic, "A map or object.").marked())
            .parameter(Parameter::new("key", Type::String, "The key.").marked())
            .variadic(anything("default", "The value to return if the key does not exist."))
            .returns_of(lookup_type)
            .calls(lookup),
        Function::new(
            "merge",
            "One map or object with the entries of all arguments. Later arguments override earlier ones.",
            Symbolic::Structural,
        )
        .variadic(Parameter::new("maps", Type::Dynamic, "Maps or objects.").nullable().dynamic().marked())
        .returns_of(merge_type)
        .not_null()
        .calls(merge),
        Function::new("transpose", "The map from each string in lists to the keys of those lists.", Symbolic::Opaque)
            .parameter(Parameter::new("values", Type::map(Type::list(Type::String)), "A map of lists of strings."))
            .returns(Type::map(Type::list(Type::String)))
            .not_null()
            .calls(transpose),
        Function::new("zipmap", "A map or object from a list of keys and a list of values.", Symbolic::Structural)
            .parameter(Parameter::new("keys", Type::list(Type::String), "The keys.").marked())
            .parameter(Parameter::new("values", Type::Dynamic, "A list or tuple with one value for each key.").marked())
            .returns_of(zipmap_type)
            .not_null()
            .calls(zipmap),
        Function::new("list", "Always an error that names tolist.", Symbolic::Opaque)
            .variadic(anything("vals", "Not used."))
            .returns_of(|_| Err(problems::mapping::gone("list", "tolist([ ... ]) syntax to write a literal list"))),
        Function::new("map", "Always an error that names tomap.", Symbolic::Opaque)
            .variadic(anything("vals", "Not used."))
            .returns_of(|_| Err(problems::mapping::gone("map", "tomap({ ... }) syntax to write a literal map"))),
    ]
}

fn keys_type(arguments: &[Value]) -> Result<Type, FunctionError> {
    match arguments[0].ty() {
        Type::Map(_) => Ok(Type::list(Type::String)),
        Type::Object(object) => Ok(Type::tuple(object.attributes.keys().map(|_| Type::String))),
        _ => Err(problems::mapping::has_no_keys()),
    }
}

fn keys(_: &CallContext<'_>, arguments: &[Value], ty: &Type) -> Result<Value, FunctionError> {
    let (marks, kind) = arguments[0].open();
    let result = match (kind, arguments[0].ty()) {
        (Kind::Map(map), _) => Value::list(Type::String, map.entries().keys().map(Value::string).collect()),
        (_, Type::Object(object)) => Value::tuple(object.attributes.keys().map(Value::string).collect()),
        _ => Value::unknown(ty.clone()),
    };
    Ok(result.mark(marks))
}

fn values_type(arguments: &[Value]) -> Result<Type, FunctionError> {
    match arguments[0].ty() {
        Type::Map(element) => Ok(Type::List(element)),
        Type::Object(object) => Ok(Type::tuple(object.attributes.values().cloned())),
        _ => Err(problems::mapping::has_no_values()),
    }
}

fn values(_: &CallContext<'_>, arguments: &[Value], ty: &Type) -> Result<Value, FunctionError> {
    let (marks, kind) = arguments[0].open();
    let result = match kind {
        Kind::Map(map) => Value::list(map.element_type(), map.entries().values().cloned().collect()),
        Kind::Object(object) => Value::tuple(object.entries().values().cloned().collect()),
        _ => Value::unknown(ty.clone()),
    };
    Ok(result.mark(marks))
}

/// The key for a message, unless it is sensitive.
fn shown(key: &Value) -> String {
    match key.as_str() {
        Some(text) if key.marks().is_empty() => format!("{text:?}"),
        _ => "(sensitive value)".into(),
    }
}

fn lookup_type(arguments: &[Value]) -> Result<Type, FunctionError> {
    if arguments.len() > 3 {
        return Err(problems::mapping::too_many_lookup_arguments(arguments.len()));
    }
    let default = arguments.get(2);
    match arguments[0].ty() {
        Type::Object(object) => {
            let Some(key) = arguments[1].as_str() else { return Ok(Type::Dynamic) };
            match (object.attributes.get(key), default) {
                (Some(ty), _) => Ok(ty.clone()),
                (None, Some(default)) => Ok(default.ty()),
                (None, None) => Err(problems::mapping::no_such_attribute(&shown(&arguments[1]))),
            }
        }
        Type::Map(element) => {
            if let Some(default) = default {
                convert(default, &element).map_err(|_| problems::mapping::default_of_other_type())?;
            }
            Ok((*element).clone())
        }
        _ => Err(problems::mapping::cannot_look_up()),
    }
}

fn lookup(_: &CallContext<'_>, arguments: &[Value], ty: &Type) -> Result<Value, FunctionError> {
    let marks = arguments[0].marks().union(arguments[1].marks());
    let (Some(fields), Some(key)) = (arguments[0].as_fields(), arguments[1].as_str()) else {
        return Ok(Value::unknown(ty.clone()).mark(&marks));
    };
    let found = match (fields.get(key), arguments.get(2)) {
        (Some(found), _) => found.clone(),
        (None, Some(default)) => convert(default, ty).map_err(|e| FunctionError::argument(2, e.to_string()))?,
        (None, None) => {
            return Err(problems::mapping::key_not_found(&shown(&arguments[1])));
        }
    };
    Ok(found.mark(&marks))
}

fn merge_type(arguments: &[Value]) -> Result<Type, FunctionError> {
    let Some(first) = arguments.first().map(Value::ty) else { return Ok(Type::object::<SmolStr>([])) };
    let mut attributes: BTreeMap<SmolStr, Type> = BTreeMap::new();
    let mut same = true;
    let mut all_known = true;
    for argument in arguments {
        let ty = argument.ty();
        match (&ty, argument.open().1) {
            (Type::Dynamic, _) => return Ok(Type::Dynamic),
            (Type::Object(_) | Type::Map(_), Kind::Null(_)) => {}
            (Type::Object(object), _) => {
                attributes.extend(object.attributes.iter().map(|(name, ty)| (name.clone(), ty.clone())));
            }
            (Type::Map(element), Kind::Map(map)) => {
                attributes.extend(map.entries().keys().map(|key| (key.clone(), (**element).clone())));
            }
            (Type::Map(_), _) => all_known = false,
            _ => return Err(problems::mapping::not_a_map(&ty)),
        }
        same &= ty == first;
    }
    if same {
        return Ok(first);
    }
    Ok(if all_known { Type::object(attributes) } else { Type::Dynamic })
}

fn merge(_: &CallContext<'_>, arguments: &[Value], ty: &Type) -> Result<Value, FunctionError> {
    let mut marks = Marks::NONE;
    let mut entries: BTreeMap<SmolStr, Value> = BTreeMap::new();
    for argument in arguments {
        let (own, kind) = argument.open();
        if let Kind::Null(_) = kind {
            // As in OpenTofu, the marks of a null do not count.
            continue;
        }
        marks = marks.union(own);
        match kind {
            Kind::Map(f) | Kind::Object(f) => entries.extend(f.iter().map(|(k, v)| (k.clone(), v.clone()))),
            Kind::Unknown(_) => return Ok(Value::unknown(ty.clone()).mark(&marks)),
            _ => return Err(problems::mapping::not_a_map(&argument.ty())),
        }
    }
    let result = match ty {
        Type::Map(element) => Value::map((**element).clone(), entries),
        _ => Value::object(entries),
    };
    Ok(result.mark(&marks))
}

fn transpose(_: &CallContext<'_>, arguments: &[Value], ty: &Type) -> Result<Value, FunctionError> {
    if !arguments[0].is_wholly_known() {
        return Ok(Value::unknown(ty.clone()));
    }
    let mut turned: BTreeMap<SmolStr, Vec<Value>> = BTreeMap::new();
    for (key, list) in arguments[0].as_fields().into_iter().flatten() {
        let Some(list) = list.as_items() else {
            return Err(problems::mapping::null_list(key));
        };
        for (place, item) in list.iter().enumerate() {
            let Some(item) = item.as_str() else {
                return Err(problems::mapping::null_string(key, place));
            };
            turned.entry(item.into()).or_default().push(Value::string(key));
        }
    }
    let entries = turned.into_iter().map(|(name, keys)| (name, Value::list(Type::String, keys))).collect();
    Ok(Value::map(Type::list(Type::String), entries))
}

fn zipmap_key(place: usize, key: &Value) -> Result<SmolStr, FunctionError> {
    key.as_str().map(SmolStr::new).ok_or_else(|| problems::mapping::null_key(place))
}

fn zipmap_type(arguments: &[Value]) -> Result<Type, FunctionError> {
    match arguments[1].ty() {
        Type::List(element) => Ok(Type::Map(element)),
        Type::Tuple(elements) => {
            if !arguments[0].is_wholly_known() {
                return Ok(Type::Dynamic);
            }
            let keys = items(arguments, 0)?;
            if keys.len() != elements.len() {
                return Err(problems::mapping::counts_differ(keys.len(), elements.len()));
            }
            let mut attributes = BTreeMap::new();
            for (place, (key, ty)) in keys.iter().zip(elements.iter()).enumerate() {
                attributes.insert(zipmap_key(place, key)?, ty.clone());
            }
            Ok(Type::object(attributes))
        }
        _ => Err(problems::mapping::values_not_a_list()),
    }
}

fn zipmap(_: &CallContext<'_>, arguments: &[Value], ty: &Type) -> Result<Value, FunctionError> {
    // Each key affects the shape of the result, so the result depends on the origins of all keys.
    let origin = arguments[0].deep_origin();
    let (keys, key_marks) = arguments[0].unmark_deep();
    let marks = key_marks.union(arguments[1].marks());
    if !keys.is_wholly_known() {
        return Ok(Value::unknown(ty.clone()).mark(&marks));
    }
    let (keys, values) = (keys.as_items().unwrap_or_default(), items(arguments, 1)?);
    if keys.len() != values.len() {
        return Err(problems::mapping::counts_differ(keys.len(), values.len()));
    }
    let mut entries = BTreeMap::new();
    for (place, (key, value)) in keys.iter().zip(values).enumerate() {
        entries.insert(zipmap_key(place, key)?, value.clone());
    }
    let result = match ty {
        Type::Map(element) => Value::map((**element).clone(), entries),
        _ => Value::object(entries),
    };
    Ok(result.mark(&marks).add_origin(origin.as_ref()))
}
