//! Replaces parts of values: for planned values that are made without a provider, and for values that may be stored.

use weft_graph_format::schema::{Block, NestedBlock, Nesting};
use weft_graph_format::value::{Kind, Transform, Value};

/// Makes attributes unknown if they are null in the configuration and the provider may set them. The result is a
/// planned object for a create, without a call of the provider.
pub fn all_unknown(schema: &Block, config: &Value) -> Value {
    let Some(fields) = config.as_fields() else { return Value::unknown(schema.implied_type()) };
    Value::object(fields.iter().map(|(name, value)| {
        let value = match schema.attributes.get(name) {
            Some(attribute) if attribute.computed && value.is_null() => Value::unknown(attribute.ty.clone()),
            _ => match schema.blocks.get(name) {
                Some(nested) => unknown_in_blocks(nested, value),
                None => value.clone(),
            },
        };
        (name.clone(), value)
    }))
}

fn unknown_in_blocks(nested: &NestedBlock, value: &Value) -> Value {
    let each = |v: &Value| if v.is_null() || !v.is_known() { v.clone() } else { all_unknown(&nested.block, v) };
    match value.open().1 {
        Kind::Object(_) if matches!(nested.nesting, Nesting::Single | Nesting::Group) => each(value),
        Kind::List(s) => Value::list(s.element_type(), s.items().iter().map(each).collect()),
        Kind::Tuple(s) => Value::tuple(s.items().iter().map(each).collect()),
        Kind::Set(s) => Value::set(s.element_type(), s.items().iter().map(each).collect()),
        Kind::Map(f) => Value::map(f.element_type(), f.iter().map(|(k, v)| (k.clone(), each(v))).collect()),
        Kind::Object(f) => Value::object(f.iter().map(|(k, v)| (k.clone(), each(v)))),
        _ => value.clone(),
    }
}

/// Whether a part of a value is an infinite number. Such a value has no JSON form, so it cannot be stored.
pub fn has_infinity(value: &Value) -> bool {
    match value.open().1 {
        Kind::Number(number) => number.is_infinite(),
        Kind::List(s) | Kind::Set(s) | Kind::Tuple(s) => s.items().iter().any(has_infinity),
        Kind::Map(f) | Kind::Object(f) => f.iter().any(|(_, part)| has_infinity(part)),
        _ => false,
    }
}

/// Makes write-only attributes null. The result may be stored.
pub fn without_write_only(schema: &Block, value: &Value) -> Value {
    let Some(fields) = value.as_fields() else { return value.clone() };
    let touched = schema.attributes.values().any(|a| a.write_only) || !schema.blocks.is_empty();
    if !touched {
        return value.clone();
    }
    let rebuilt = Value::object(fields.iter().map(|(name, part)| {
        let part = match (schema.attributes.get(name), schema.blocks.get(name)) {
            (Some(attribute), _) if attribute.write_only => Value::null(attribute.ty.clone()),
            (_, Some(nested)) => {
                let each = |v: &Value| without_write_only(&nested.block, v);
                match part.open().1 {
                    Kind::Object(_) if matches!(nested.nesting, Nesting::Single | Nesting::Group) => each(part),
                    Kind::List(s) => Value::list(s.element_type(), s.items().iter().map(each).collect()),
                    Kind::Set(s) => Value::set(s.element_type(), s.items().iter().map(each).collect()),
                    Kind::Map(f) => Value::map(f.element_type(), f.iter().map(|(k, v)| (k.clone(), each(v))).collect()),
                    _ => part.clone(),
                }
            }
            _ => part.clone(),
        };
        (name.clone(), part)
    }));
    value.carry_onto(&rebuilt)
}

/// Replaces unknown values with null. The result of an apply may still contain unknown values, but they cannot be
/// stored.
pub fn settle_unknowns(value: &Value) -> Value {
    value.transform(&mut |_, part| match part.open().1 {
        Kind::Unknown(unknown) => Transform::Replace(Value::null(unknown.ty.clone()).mark(part.marks())),
        _ => Transform::Descend,
    })
}
