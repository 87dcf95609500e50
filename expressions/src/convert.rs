//! Conversion of values to types, with cty's rules and messages.
//!
//! [`convert`] converts a value to a type constraint. [`unify`](crate::convert::unify) finds a common type. A
//! conversion is *safe* if it succeeds for every value (number to string), and *unsafe* otherwise (string to number).

mod defaults;
mod mismatch;
mod unify;

use std::collections::BTreeMap;

use thiserror::Error;
use weft_graph_format::formula::{Formula, FormulaOp};
use weft_graph_format::number::Number;
use weft_graph_format::path::{Path, ValueStep};
use weft_graph_format::types::{ObjectType, Type};
use weft_graph_format::value::{Entries, Kind, Refinement, Value};

pub use defaults::{apply_defaults, or_default};
pub use mismatch::mismatch_message;
pub use unify::{Safety, can_convert, unify};

use crate::stack;

/// Why a value cannot be converted to a type.
#[derive(Clone, Debug, PartialEq, Eq, Error)]
#[error("{message}")]
pub struct ConvertError {
    /// The path to the invalid part.
    pub path: Path,
    /// What is wrong, without a full stop.
    pub message: String,
}

impl ConvertError {
    fn new(path: &[ValueStep], message: impl Into<String>) -> ConvertError {
        ConvertError { path: Path(path.to_vec()), message: message.into() }
    }

    /// The message with its path: `.a["b"]: a number is required`.
    pub fn with_path(&self) -> String {
        if self.path.0.is_empty() { self.message.clone() } else { format!("{}: {}", self.path, self.message) }
    }
}

/// Converts a value to a type. Marks, formulas and origins stay. If the value changes, the conversion is added to its
/// formula. Attributes that the type does not have are removed. Missing optional attributes become null.
///
/// # Errors
///
/// Returns an error if there is no conversion between the types, or if this value cannot be converted.
pub fn convert(value: &Value, want: &Type) -> Result<Value, ConvertError> {
    if *want == Type::Dynamic {
        return Ok(value.clone());
    }
    if fits(value, want) {
        return Ok(kept_at_type(value, want));
    }
    let have = value.ty();
    if !can_convert(&have, want, Safety::Unsafe) {
        return Err(ConvertError::new(&[], mismatch_message(&have, want)));
    }
    convert_at(value, want, &mut Vec::new())
}

/// Fills in the defaults of optional attributes, and converts the value to the type.
pub fn convert_with_defaults(
    value: &Value,
    want: &Type,
    defaults: &weft_graph_format::formula::TypeDefaults,
) -> Result<Value, ConvertError> {
    if defaults.is_empty() || value.is_null() {
        return convert(value, want);
    }
    convert(&apply_defaults(value, defaults), want)
}

/// Whether the value already has exactly this type.
fn fits(value: &Value, want: &Type) -> bool {
    match (value.open().1, want) {
        (Kind::Bool(_), Type::Bool) | (Kind::Number(_), Type::Number) | (Kind::String(_), Type::String) => true,
        (Kind::Provider(instance), Type::Provider(source)) => instance.source == **source,
        (Kind::List(s), Type::List(element)) | (Kind::Set(s), Type::Set(element)) => s.element_type() == **element,
        (Kind::Map(f), Type::Map(element)) => f.element_type() == **element,
        (Kind::Tuple(_) | Kind::Object(_) | Kind::Null(_) | Kind::Unknown(_), want) => value.ty() == *want,
        _ => false,
    }
}

/// Keeps a value that already has the type. If its formula leaves the type open, the value may have a different type at
/// apply. In this case, the formula gets the conversion.
fn kept_at_type(value: &Value, want: &Type) -> Value {
    match value.formula() {
        Some(formula) if formula.ty() != want && formula.ty().has_dynamic() => {
            let op = FormulaOp::Convert(formula.clone(), want.clone());
            let converted = Formula::new(op, want.clone(), formula.range().cloned());
            value.with_formula(Some(converted))
        }
        _ => value.clone(),
    }
}

fn convert_at(value: &Value, want: &Type, path: &mut Vec<ValueStep>) -> Result<Value, ConvertError> {
    if *want == Type::Dynamic {
        return Ok(value.clone());
    }
    if fits(value, want) {
        return Ok(kept_at_type(value, want));
    }
    let result = stack::guarded(|| convert_content(value, want, path))?;
    // Marks and origin stay. If the value has a formula, the formula gets the conversion.
    let result = result.mark(value.marks()).add_origin(value.origin());
    Ok(match value.formula() {
        // The formula converts the whole set, because only a set removes elements that turn out to be equal at apply.
        None if matches!(value.open().1, Kind::Set(_)) && value.deep().provisional && !matches!(want, Type::Set(_)) => {
            let converted = Formula::new(FormulaOp::Convert(value.to_formula(), want.clone()), result.ty(), None);
            crate::symbolic::replace_formulas(&result, &converted).add_origin(value.deep_origin().as_ref())
        }
        // If some element types are unknown, apply computes the common type of the elements again.
        None if want.is_collection() && want.has_dynamic() && value.deep().formula && is_open(value) => {
            let ty = if result.ty().has_dynamic() { result.ty() } else { Type::Dynamic };
            let converted = Formula::new(FormulaOp::Convert(value.to_formula(), want.clone()), ty, None);
            crate::symbolic::replace_formulas(&result, &converted).add_origin(value.deep_origin().as_ref())
        }
        None => result,
        Some(formula) => {
            // If apply decides the type of the formula, it also decides what takes the place of `any`.
            let is_open = want.has_dynamic() && formula.ty().has_dynamic();
            let ty = if is_open { Type::Dynamic } else { result.ty() };
            let converted =
                Formula::new(FormulaOp::Convert(formula.clone(), want.clone()), ty, formula.range().cloned());
            if result.is_known() && !value.is_known() {
                crate::symbolic::explain(&result, &converted)
            } else {
                result.with_formula(Some(converted))
            }
        }
    })
}

/// Whether the type of the value, or of a part of it, is known only at apply.
pub(crate) fn is_open(value: &Value) -> bool {
    let deep = value.deep();
    deep.unknown && (deep.formula || value.ty().has_dynamic()) && has_open_part(value)
        || deep.provisional && value.to_formula().ty().has_dynamic()
}

/// Whether a part is unknown and its type is unknown now or at apply. The type of a null is never unknown.
fn has_open_part(value: &Value) -> bool {
    let is_open =
        |part: &Value| part.ty().has_dynamic() || part.formula().is_some_and(|formula| formula.ty().has_dynamic());
    let mut open = false;
    value.visit(&mut |_, part| open |= !part.is_known() && is_open(part));
    open
}

/// Converts the content, without the outermost marks, formula and origin.
fn convert_content(value: &Value, want: &Type, path: &mut Vec<ValueStep>) -> Result<Value, ConvertError> {
    let kind = value.open().1;
    match (kind, want) {
        (Kind::Null(have), _) => Ok(Value::null(replaced_dynamic(have, want))),
        (Kind::Unknown(_), _) => Ok(unknown_converted(value, want)),
        (Kind::Number(number), Type::String) => Ok(Value::string(number.to_string())),
        (Kind::Bool(flag), Type::String) => Ok(Value::string(if *flag { "true" } else { "false" })),
        (Kind::String(text), Type::Number) => match Number::parse(text) {
            Ok(number) => Ok(Value::number(number)),
            Err(_) => Err(ConvertError::new(path, "a number is required")),
        },
        (Kind::String(text), Type::Bool) => bool_of(text, path),
        (Kind::Set(s), Type::List(element)) if s.len() > 1 && !value.is_wholly_known() => {
            // Elements may turn out to be equal, so the list has no known length.
            let element = if element.has_dynamic() { s.element_type() } else { element.without_optional() };
            Ok(Value::unknown(Type::list(element)))
        }
        (Kind::List(s) | Kind::Set(s) | Kind::Tuple(s), Type::List(element) | Type::Set(element)) => {
            let mut items = Vec::with_capacity(s.len());
            for (index, item) in s.items().iter().enumerate() {
                let converted = if matches!(kind, Kind::Set(_)) {
                    convert_at(item, element, path)?
                } else {
                    path.push(ValueStep::Index(index as u64));
                    let converted = convert_at(item, element, path)?;
                    path.pop();
                    converted
                };
                let keeps = matches!((kind, want), (Kind::Tuple(_), Type::List(_)));
                items.push(if keeps { converted } else { null_unmarked(converted) });
            }
            let fallback = if items.is_empty() && matches!(kind, Kind::List(_) | Kind::Set(_)) {
                replaced_dynamic(&s.element_type(), element)
            } else {
                element.without_optional()
            };
            let target = if matches!(want, Type::Set(_)) { Target::Set } else { Target::List };
            let (element, items) = one_type(items, element, fallback, target, path)?;
            Ok(match want {
                Type::Set(_) => Value::set(element, items),
                _ => Value::list(element, items),
            })
        }
        (Kind::Map(f) | Kind::Object(f), Type::Map(element)) => {
            let mut names = Vec::with_capacity(f.len());
            let mut items = Vec::with_capacity(f.len());
            for (name, item) in f.iter() {
                path.push(ValueStep::Key(name.clone()));
                items.push(convert_at(item, element, path)?);
                path.pop();
                names.push(name.clone());
            }
            let fallback = match kind {
                // An empty map still has an element type.
                Kind::Map(_) if items.is_empty() => replaced_dynamic(&f.element_type(), element),
                _ => element.without_optional(),
            };
            let (element, items) = one_type(items, element, fallback, Target::Map, path)?;
            Ok(Value::map(element, names.into_iter().zip(items).collect()))
        }
        (Kind::Tuple(s), Type::Tuple(elements)) => {
            let mut items = Vec::with_capacity(s.len());
            for (index, (item, element)) in s.items().iter().zip(elements.iter()).enumerate() {
                path.push(ValueStep::Index(index as u64));
                items.push(convert_at(item, element, path)?);
                path.pop();
            }
            Ok(Value::tuple(items))
        }
        (Kind::Map(f), Type::Object(object)) => to_object(f.entries(), object, Some(&f.element_type()), path),
        (Kind::Object(f), Type::Object(object)) => to_object(f.entries(), object, None, path),
        _ => Err(ConvertError::new(path, mismatch_message(&value.ty(), want))),
    }
}

/// The boolean that a string stands for.
fn bool_of(text: &str, path: &[ValueStep]) -> Result<Value, ConvertError> {
    match text {
        "true" | "1" => Ok(Value::bool(true)),
        "false" | "0" => Ok(Value::bool(false)),
        text => {
            let lower = text.to_ascii_lowercase();
            let hint = if lower == "true" || lower == "false" {
                format!("; to convert from string, use lowercase \"{lower}\"")
            } else {
                String::new()
            };
            Err(ConvertError::new(path, format!("a bool is required{hint}")))
        }
    }
}

/// As in OpenTofu, a null loses its marks if the object, list or set that contains it is converted, or if a tuple
/// becomes a set.
fn null_unmarked(value: Value) -> Value {
    if value.is_null() { value.unmark().0 } else { value }
}

/// Converts `entries` to an object of this type. `of_map` is the type of the entries if they are elements of a map.
fn to_object(
    entries: &Entries,
    object: &ObjectType,
    of_map: Option<&Type>,
    path: &mut Vec<ValueStep>,
) -> Result<Value, ConvertError> {
    let mut attributes = BTreeMap::new();
    for (name, ty) in &object.attributes {
        let converted = match entries.get(name) {
            Some(_) if let Some(have) = of_map.filter(|have| !can_convert(have, ty, Safety::Unsafe)) => {
                let why = mismatch_message(have, ty);
                let message = format!("map element type is incompatible with attribute {name:?}: {why}");
                return Err(ConvertError::new(path, message));
            }
            Some(found) => {
                path.push(if of_map.is_some() {
                    ValueStep::Key(name.clone())
                } else {
                    ValueStep::Attribute(name.clone())
                });
                let converted = convert_at(found, ty, path)?;
                path.pop();
                null_unmarked(converted)
            }
            None if object.optional.contains(name) => Value::null(ty.without_optional()),
            None if of_map.is_some() => {
                return Err(ConvertError::new(path, format!("map has no element for required attribute {name:?}")));
            }
            None => return Err(ConvertError::new(path, format!("attribute {name:?} is required"))),
        };
        attributes.insert(name.clone(), converted);
    }
    Ok(Value::object(attributes))
}

/// The kind of a new collection.
#[derive(Clone, Copy, PartialEq, Eq)]
enum Target {
    List,
    Set,
    Map,
}

impl Target {
    fn name(self) -> &'static str {
        match self {
            Target::List => "list",
            Target::Set => "set",
            Target::Map => "map",
        }
    }

    /// Whether elements that were converted to `element` are unified if their types still differ.
    fn unifies(self, element: &Type) -> bool {
        match self {
            Target::List => true,
            Target::Set => false,
            Target::Map => element.is_collection() || matches!(element, Type::Object(_)),
        }
    }
}

/// Finds the common type of elements that were converted to `element`, which may contain dynamic parts, and converts
/// the elements to that type. It is an error if the converted elements still have several types. For example, `[{ e = 1
/// }, { e = [] }]` cannot be converted to `list(object({ e = any }))`.
fn one_type(
    mut items: Vec<Value>,
    element: &Type,
    fallback: Type,
    target: Target,
    path: &mut Vec<ValueStep>,
) -> Result<(Type, Vec<Value>), ConvertError> {
    if items.is_empty() || !element.has_dynamic() {
        return Ok((fallback, items));
    }
    let mut common = element.clone();
    if common == Type::Dynamic {
        let Some(shared) = shared(&items, path)? else { return Ok((Type::Dynamic, items)) };
        items = all_at(items, &shared, path)?;
        common = shared;
    }
    // Other elements may determine a part of the type that was open before. For example, a set of strings determines
    // the element type of an empty set. So a second round may find more than the first.
    let mut rounds = if target.unifies(&common) { 2 } else { 0 };
    while rounds > 0 && common.has_dynamic() {
        let Some(shared) = shared(&items, path)? else { break };
        items = all_at(items, &shared, path)?;
        common = shared;
        rounds -= 1;
    }
    if !common.has_dynamic() {
        return Ok((common, items));
    }
    let mut types = items.iter().map(Value::ty).filter(|ty| *ty != Type::Dynamic);
    let Some(first) = types.next() else { return Ok((Type::Dynamic, items)) };
    if types.any(|ty| ty != first) {
        return Err(ConvertError::new(path, format!("a {} needs elements of one type", target.name())));
    }
    let items = all_at(items, &first, path)?;
    Ok((first, items))
}

fn all_at(items: Vec<Value>, want: &Type, path: &mut Vec<ValueStep>) -> Result<Vec<Value>, ConvertError> {
    items.into_iter().map(|item| convert_at(&item, want, path)).collect()
}

/// The common type of all values, or `None` if each is an untyped null, which fits any type.
fn shared(items: &[Value], path: &[ValueStep]) -> Result<Option<Type>, ConvertError> {
    let mut types: Vec<Type> = Vec::new();
    for item in items {
        let ty = item.ty();
        if !(item.is_null() && ty == Type::Dynamic) && types.last() != Some(&ty) {
            types.push(ty);
        }
    }
    if types.is_empty() {
        return Ok(None);
    }
    let found = unify(&types, Safety::Unsafe);
    found.map(Some).ok_or_else(|| ConvertError::new(path, "collection elements cannot be unified"))
}

/// The type of a null or unknown value of type `have` after conversion to `want`. Dynamic parts of `want` are replaced
/// by the parts of `have`, if `have` has them.
fn replaced_dynamic(have: &Type, want: &Type) -> Type {
    match (have, want) {
        (have, Type::Dynamic) => have.clone(),
        (Type::Dynamic, want) => want.without_optional(),
        (Type::List(h) | Type::Set(h), Type::List(w)) => Type::list(replaced_dynamic(h, w)),
        (Type::List(h) | Type::Set(h), Type::Set(w)) => Type::set(replaced_dynamic(h, w)),
        (Type::Map(h), Type::Map(w)) => Type::map(replaced_dynamic(h, w)),
        (Type::Tuple(h), Type::List(w) | Type::Set(w)) => {
            let element = shared_type(h.iter(), w);
            if matches!(want, Type::List(_)) { Type::list(element) } else { Type::set(element) }
        }
        (Type::Object(h), Type::Map(w)) => Type::map(shared_type(h.attributes.values(), w)),
        (Type::Tuple(h), Type::Tuple(w)) => Type::tuple(h.iter().zip(w.iter()).map(|(h, w)| replaced_dynamic(h, w))),
        (Type::Object(h), Type::Object(w)) => Type::object(w.attributes.iter().map(|(name, w)| {
            (name.clone(), h.attributes.get(name).map_or_else(|| w.without_optional(), |h| replaced_dynamic(h, w)))
        })),
        (_, want) => want.without_optional(),
    }
}

fn shared_type<'a>(parts: impl Iterator<Item = &'a Type>, want: &Type) -> Type {
    if !want.has_dynamic() {
        return want.without_optional();
    }
    let types: Vec<Type> = parts.map(|have| replaced_dynamic(have, want)).collect();
    if types.is_empty() {
        return want.without_optional();
    }
    unify(&types, Safety::Unsafe).unwrap_or(Type::Dynamic)
}

/// Converts an unknown value to another type. Its refinement stays if it still applies.
fn unknown_converted(value: &Value, want: &Type) -> Value {
    let have = value.ty();
    let ty = replaced_dynamic(&have, want);
    if ty == Type::Dynamic {
        return Value::unknown(Type::Dynamic);
    }
    let source = value.refinement().cloned().unwrap_or_default();
    let mut known = Refinement { not_null: source.not_null, ..Refinement::default() };
    let (low, high) = crate::refine::length_bounds(value);
    match (&have, &ty) {
        (Type::Object(_), Type::Map(_)) | (Type::Tuple(_), Type::List(_)) => {
            known.length_min = low;
            known.length_max = high;
        }
        (Type::Tuple(_) | Type::List(_), Type::Set(_)) => {
            known.length_min = low.min(1);
            known.length_max = high;
        }
        (have, want) if have.is_collection() && want.is_collection() => {
            known.length_min = low;
            known.length_max = high;
        }
        _ => {}
    }
    Value::refined(ty, known)
}
