//! The elements that `for` and splat iterate over, and the results that `for` collects.

use std::collections::BTreeMap;

use smol_str::SmolStr;
use weft_graph_format::marks::Marks;
use weft_graph_format::number::Number;
use weft_graph_format::types::Type;
use weft_graph_format::value::{Kind, Value};

use crate::access::Problem;
use crate::convert::convert;
use crate::problems::iteration as problems;

/// The keys and values of a known collection, without its outermost marks. Keys are positions or names; for a set, they
/// are the elements themselves. The iterator does not copy the collection. `None` if the value cannot be iterated.
pub fn entries(collection: &Value) -> Option<Box<dyn Iterator<Item = (Value, Value)> + '_>> {
    Some(match collection.open().1 {
        Kind::List(s) | Kind::Tuple(s) => {
            let numbered = s.items().iter().enumerate();
            Box::new(numbered.map(|(i, item)| (Value::number(Number::from_u64(i as u64)), item.clone())))
        }
        Kind::Set(s) => Box::new(s.items().iter().map(|item| (item.clone(), item.clone()))),
        Kind::Map(f) | Kind::Object(f) => Box::new(f.iter().map(|(key, item)| (Value::string(key), item.clone()))),
        _ => return None,
    })
}

/// Checks whether `for` can iterate over the collection, now or once the collection is known.
pub fn check_collection(collection: &Value) -> Result<(), Problem> {
    if collection.is_null() {
        return Err(problems::null_collection());
    }
    match collection.ty() {
        Type::Dynamic | Type::List(_) | Type::Set(_) | Type::Map(_) | Type::Tuple(_) | Type::Object(_) => Ok(()),
        ty => Err(problems::no_collection(&ty)),
    }
}

/// The key and value types of each round, if they are the same for all rounds.
pub fn entry_types(collection: &Type) -> (Type, Type) {
    match collection {
        Type::List(element) => (Type::Number, (**element).clone()),
        Type::Set(element) => ((**element).clone(), (**element).clone()),
        Type::Map(element) => (Type::String, (**element).clone()),
        Type::Tuple(items) => (Type::Number, one_type(items.iter())),
        Type::Object(object) => (Type::String, one_type(object.attributes.values())),
        _ => (Type::Dynamic, Type::Dynamic),
    }
}

fn one_type<'a>(mut types: impl Iterator<Item = &'a Type>) -> Type {
    match types.next() {
        Some(first) if types.all(|t| t == first) => first.clone(),
        _ => Type::Dynamic,
    }
}

/// The outcome of a condition or key.
#[derive(Clone, Debug)]
pub enum Decided<T> {
    /// The outcome is known.
    Known(T),
    /// The outcome is known only at apply.
    Open,
}

/// Checks a condition that was evaluated for an unknown element, with the result `condition`. Reports a condition that
/// is invalid for every element.
pub fn possible(condition: &Value) -> Result<(), Problem> {
    if condition.is_null() {
        return Err(problems::always_null());
    }
    included(condition, &mut Marks::NONE.clone()).map(|_| ())
}

/// Whether a condition includes an element. Adds the marks of the condition to `marks`.
pub fn included(condition: &Value, marks: &mut Marks) -> Result<Decided<bool>, Problem> {
    if condition.is_null() {
        return Err(problems::null_condition());
    }
    let condition = convert(condition, &Type::Bool).map_err(|error| problems::unsuitable_condition(&error))?;
    *marks = marks.union(condition.marks());
    Ok(condition.as_bool().map_or(Decided::Open, Decided::Known))
}

/// The key of a result as text. Adds the marks of the key to `marks`. As in OpenTofu, the type of an unknown key is not
/// checked.
pub fn object_key(key: &Value, marks: &mut Marks) -> Result<Decided<SmolStr>, Problem> {
    if key.is_null() {
        return Err(problems::null_key());
    }
    if !key.is_known() {
        *marks = marks.union(key.marks());
        return Ok(Decided::Open);
    }
    let key = convert(key, &Type::String).map_err(|error| problems::unsuitable_key(&error))?;
    *marks = marks.union(key.marks());
    Ok(key.as_str().map_or(Decided::Open, |text| Decided::Known(text.into())))
}

/// Collects the results of a `for` with keys.
#[derive(Debug, Default)]
pub struct ObjectResults {
    grouping: bool,
    single: BTreeMap<SmolStr, Value>,
    grouped: BTreeMap<SmolStr, Vec<Value>>,
}

impl ObjectResults {
    /// Creates an empty collection of results. If `grouping` is set, values with equal keys are collected in tuples.
    /// Otherwise, equal keys are an error.
    pub fn new(grouping: bool) -> ObjectResults {
        ObjectResults { grouping, ..ObjectResults::default() }
    }

    /// Adds a result.
    pub fn add(&mut self, key: SmolStr, value: Value) -> Result<(), Problem> {
        if self.grouping {
            self.grouped.entry(key).or_default().push(value);
            return Ok(());
        }
        if self.single.contains_key(&key) {
            return Err(problems::duplicate_key(&key));
        }
        self.single.insert(key, value);
        Ok(())
    }

    /// Returns the object.
    pub fn finish(self) -> Value {
        if self.grouping {
            return Value::object(self.grouped.into_iter().map(|(key, values)| (key, Value::tuple(values))));
        }
        Value::object(self.single)
    }
}

/// The elements that a splat iterates over.
#[derive(Clone, Debug)]
pub enum SplatSource {
    /// The elements. The result is a tuple.
    Tuple(Vec<Value>),
    /// The elements. The result is a list.
    List(Vec<Value>),
    /// A single value that may turn out to be null. The result has no elements if the value is null, and one element
    /// otherwise.
    Perhaps(Value),
    /// Unknown elements of this type. The result is a list.
    UnknownList(Type),
    /// Unknown elements of these types. The result is a tuple.
    UnknownTuple(Vec<Type>),
    /// The type is unknown.
    Open,
}

/// The elements that a splat over `source` iterates over. The caller removes the outermost marks.
pub fn splat_source(source: &Value) -> Result<SplatSource, Problem> {
    let ty = source.ty();
    let sequence = matches!(ty, Type::List(_) | Type::Set(_) | Type::Tuple(_));
    Ok(match source.open().1 {
        Kind::Null(_) if sequence => {
            return Err(problems::splat_of_null());
        }
        Kind::Null(_) => SplatSource::Tuple(Vec::new()),
        Kind::Unknown(u) => match &u.ty {
            Type::Dynamic => SplatSource::Open,
            Type::List(element) | Type::Set(element) => SplatSource::UnknownList((**element).clone()),
            Type::Tuple(items) => SplatSource::UnknownTuple(items.to_vec()),
            _ if u.refinement.not_null => SplatSource::Tuple(vec![source.clone()]),
            _ => SplatSource::Perhaps(source.clone()),
        },
        Kind::List(s) | Kind::Set(s) => SplatSource::List(s.items().to_vec()),
        Kind::Tuple(s) => SplatSource::Tuple(s.items().to_vec()),
        _ => SplatSource::Tuple(vec![source.clone()]),
    })
}

/// The results of a splat over a list or set, as a list.
pub fn splat_list(items: Vec<Value>, element: Type) -> Value {
    let Some(first) = items.first() else { return Value::list(element, items) };
    let ty = first.ty();
    if ty != Type::Dynamic && items.iter().all(|item| item.ty() == ty) {
        return Value::list(ty, items);
    }
    let tuple = Value::tuple(items);
    // Elements of one type give results of one type, except for nulls and for unknown values of unknown type.
    convert(&tuple, &Type::list(Type::Dynamic)).unwrap_or(tuple)
}
