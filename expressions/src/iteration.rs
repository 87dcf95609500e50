//! What `for` and splat walk over, and what `for` collects.

use std::collections::BTreeMap;

use smol_str::SmolStr;
use weft_graph_format::marks::Marks;
use weft_graph_format::number::Number;
use weft_graph_format::types::Type;
use weft_graph_format::value::{Kind, Value};

use crate::access::Problem;
use crate::convert::convert;

/// The keys and values of a known collection without its outermost marks: indices, keys, or for sets the elements
/// themselves. Lazy, so that no copy of the collection is made. `None` if it cannot be iterated over.
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

/// Why a collection cannot be walked by `for`; nothing when it can, now or once it is known.
pub fn check_collection(collection: &Value) -> Result<(), Problem> {
    if collection.is_null() {
        return Err(Problem::new(
            "Iteration over null value",
            "A null value cannot be used as the collection in a 'for' expression.",
        ));
    }
    match collection.ty() {
        Type::Dynamic | Type::List(_) | Type::Set(_) | Type::Map(_) | Type::Tuple(_) | Type::Object(_) => Ok(()),
        ty => Err(Problem::new(
            "Iteration over non-iterable value",
            format!("A value of type {} cannot be used as the collection in a 'for' expression.", ty.friendly_name()),
        )),
    }
}

/// The types that key and value of each step have, as far as one type holds for all.
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

/// What became of a condition or key.
#[derive(Clone, Debug)]
pub enum Decided<T> {
    /// This.
    Known(T),
    /// Only apply can tell.
    Open,
}

/// Whether a condition can be one, when nothing is known of the elements.
pub fn possible(condition: &Value) -> Result<(), Problem> {
    if condition.is_null() {
        return Err(Problem::new("Condition is null", "The value of the 'if' clause must not be null."));
    }
    included(condition, &mut Marks::NONE.clone()).map(|_| ())
}

/// Whether an element takes part. The marks of the condition are added to `marks`.
pub fn included(condition: &Value, marks: &mut Marks) -> Result<Decided<bool>, Problem> {
    if condition.is_null() {
        return Err(Problem::new("Invalid 'for' condition", "The value of the 'if' clause must not be null."));
    }
    let condition = convert(condition, &Type::Bool)
        .map_err(|e| Problem::new("Invalid 'for' condition", format!("The 'if' clause value is invalid: {e}.")))?;
    *marks = marks.union(condition.marks());
    Ok(condition.as_bool().map_or(Decided::Open, Decided::Known))
}

/// The key of a result. The marks of the key are added to `marks`.
pub fn object_key(key: &Value, marks: &mut Marks) -> Result<Decided<SmolStr>, Problem> {
    if key.is_null() {
        return Err(Problem::new(
            "Invalid object key",
            "Key expression in 'for' expression must not produce a null value.",
        ));
    }
    let key = convert(key, &Type::String).map_err(|e| {
        Problem::new("Invalid object key", format!("The key expression produced an invalid result: {e}."))
    })?;
    *marks = marks.union(key.marks());
    Ok(key.as_str().map_or(Decided::Open, |text| Decided::Known(text.into())))
}

/// Gathers the results of a `for` with keys.
#[derive(Debug, Default)]
pub struct ObjectResults {
    grouping: bool,
    single: BTreeMap<SmolStr, Value>,
    grouped: BTreeMap<SmolStr, Vec<Value>>,
}

impl ObjectResults {
    /// Values of equal keys are gathered in tuples when `grouping`, otherwise equal keys are an error.
    pub fn new(grouping: bool) -> ObjectResults {
        ObjectResults { grouping, ..ObjectResults::default() }
    }

    /// One result more.
    pub fn add(&mut self, key: SmolStr, value: Value) -> Result<(), Problem> {
        if self.grouping {
            self.grouped.entry(key).or_default().push(value);
            return Ok(());
        }
        if self.single.contains_key(&key) {
            return Err(Problem::new(
                "Duplicate object key",
                format!(
                    "Two different items produced the key {:?} in this 'for' expression. If duplicates are \
                     expected, use the ellipsis (...) after the value expression to enable grouping by key.",
                    key.as_str()
                ),
            ));
        }
        self.single.insert(key, value);
        Ok(())
    }

    /// The object.
    pub fn finish(self) -> Value {
        if self.grouping {
            return Value::object(self.grouped.into_iter().map(|(key, values)| (key, Value::tuple(values))));
        }
        Value::object(self.single)
    }
}

/// The collection of a splat.
#[derive(Clone, Debug)]
pub enum SplatSource {
    /// These, and the result is a tuple.
    Tuple(Vec<Value>),
    /// These, and the result is a list.
    List(Vec<Value>),
    /// A single value that may turn out null: then there is nothing, else one element.
    Perhaps(Value),
    /// Unknown elements of this type; the result is a list.
    UnknownList(Type),
    /// Unknown elements of these types; the result is a tuple.
    UnknownTuple(Vec<Type>),
    /// Not even the type is known.
    Open,
}

/// The collection of a splat over `source`, whose outermost marks are removed.
pub fn splat_source(source: &Value) -> Result<SplatSource, Problem> {
    let ty = source.ty();
    let sequence = matches!(ty, Type::List(_) | Type::Set(_) | Type::Tuple(_));
    Ok(match source.open().1 {
        Kind::Null(_) if sequence => {
            return Err(Problem::new(
                "Splat of null value",
                "Splat expressions (with the * symbol) cannot be applied to null sequences.",
            ));
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
    // Elements of one type give results of one type, apart from nulls and unknowns whose type is open.
    convert(&tuple, &Type::list(Type::Dynamic)).unwrap_or(tuple)
}
