//! Attributes and indexes: `a.b`, `a[b]`.

use weft_graph_format::formula::{Formula, FormulaOp};
use weft_graph_format::marks::Marks;
use weft_graph_format::number::Number;
use weft_graph_format::path::ValueStep;
use weft_graph_format::source::SourceRange;
use weft_graph_format::types::Type;
use weft_graph_format::value::{Kind, Value};

use crate::convert::convert;
pub use crate::problems::Problem;
use crate::problems::access as problems;
use crate::symbolic;

/// The part of a container found at `step`, with the container's marks and origin. If the container has a formula, the
/// part gets a formula too, which computes the part from the container. This formula has the source range `range`, so
/// that errors at apply refer to this range.
fn part_of(container: &Value, found: &Value, step: &ValueStep, range: Option<&SourceRange>) -> Value {
    let explained = match container.formula() {
        Some(formula) => {
            let part = symbolic::part(formula, step, found.ty());
            let own = match (part.op(), found.formula().map(Formula::op)) {
                (FormulaOp::Result(a, p), Some(FormulaOp::Result(b, q))) => a == b && p == q,
                _ => false,
            };
            if own {
                found.clone()
            } else {
                let placed = Formula::new(reopened(part, formula, step), found.ty(), range.cloned());
                symbolic::replace_formulas(found, &placed)
            }
        }
        None => found.clone(),
    };
    explained.mark(container.marks()).add_origin(container.origin())
}

/// The part of an unknown container, which is unknown too.
fn unknown_part(container: &Value, ty: Type, op: impl FnOnce(Formula) -> Formula) -> Value {
    let part = Value::unknown(ty);
    let part = match container.formula() {
        Some(formula) => part.with_formula(Some(op(formula.clone()))),
        None => part,
    };
    // The formula is set after the marks are added, because the formula of a marked container yields the marks itself.
    let marked = match part.formula().cloned() {
        Some(formula) => part.with_formula(None).mark(container.marks()).with_formula(Some(formula)),
        None => part.mark(container.marks()),
    };
    marked.add_origin(container.origin())
}

/// Evaluates `object.name`. The object may also be a map. `range` is the source range of the expression, for the
/// formula.
pub fn attribute(object: &Value, name: &str, range: Option<&SourceRange>) -> Result<Value, Problem> {
    let step = ValueStep::Attribute(name.into());
    let unknown = |ty: Type| {
        Ok(unknown_part(object, ty.clone(), |formula| {
            let part = symbolic::part(&formula, &step, ty.clone());
            Formula::new(reopened(part, &formula, &step), ty, range.cloned())
        }))
    };
    match object.open().1 {
        Kind::Null(_) => Err(problems::attribute_of_null()),
        Kind::Object(fields) => match fields.get(name) {
            Some(found) => Ok(part_of(object, found, &step, range)),
            None => Err(problems::missing_attribute(name)),
        },
        Kind::Map(fields) => match fields.get(name) {
            Some(found) => Ok(part_of(object, found, &step, range)),
            None => Err(problems::missing_element(name)),
        },
        Kind::Unknown(u) => match &u.ty {
            Type::Dynamic => unknown(Type::Dynamic),
            Type::Map(element) => unknown((**element).clone()),
            Type::Object(o) => match o.attributes.get(name) {
                Some(ty) => unknown(ty.clone()),
                None => Err(problems::missing_attribute(name)),
            },
            ty => Err(problems::no_attributes(ty, name)),
        },
        _ => Err(problems::no_attributes(&object.ty(), name)),
    }
}

/// The computation of a part: a longer path into the result of an operation if possible, otherwise an attribute access.
fn reopened(part: Formula, container: &Formula, step: &ValueStep) -> FormulaOp {
    match (part.op(), step) {
        (FormulaOp::Result(operation, path), _) => FormulaOp::Result(*operation, path.clone()),
        (_, ValueStep::Attribute(name)) => FormulaOp::Attribute(container.clone(), name.clone()),
        (_, ValueStep::Key(key)) => FormulaOp::Index(container.clone(), Formula::constant(Value::string(key))),
        (_, ValueStep::Index(index)) => {
            FormulaOp::Index(container.clone(), Formula::constant(Value::number(Number::from_u64(*index))))
        }
    }
}

/// Evaluates `collection[key]`. `range` is the source range of the expression, for the formula.
pub fn index(collection: &Value, key: &Value, range: Option<&SourceRange>) -> Result<Value, Problem> {
    Indexing { collection, key, range }.value()
}

/// An index operation: the collection, the key, and their source range.
struct Indexing<'a> {
    collection: &'a Value,
    key: &'a Value,
    range: Option<&'a SourceRange>,
}

impl Indexing<'_> {
    fn value(&self) -> Result<Value, Problem> {
        let Indexing { collection, key, .. } = *self;
        if collection.is_null() {
            return Err(problems::index_of_null());
        }
        if key.is_null() {
            return Err(problems::null_key());
        }
        if key.ty() == Type::Dynamic {
            // As in OpenTofu, this is not an error yet, whatever the collection is.
            return Ok(self.undecided(Type::Dynamic));
        }
        let ty = collection.ty();
        let Some(wanted) = key_type(&ty)? else {
            return Ok(self.undecided(Type::Dynamic));
        };
        let converted = convert(key, &wanted).map_err(|error| problems::unsuitable_key(&error))?;
        if !converted.is_known() {
            return Ok(self.undecided(self.open_type(&ty, &converted)));
        }
        if !collection.is_known() {
            check_against_type(&ty, &converted)?;
            return Ok(self.undecided(self.open_type(&ty, &converted)));
        }
        let Some(found) = self.element(&converted)? else {
            return Err(problems::missing_key(&ty, key.ty() == Type::Number));
        };
        let key_marks = if matches!(ty, Type::Object(_)) { &Marks::NONE } else { key.marks() };
        if key.deep().formula {
            // The key may be different at apply, so every part of the result is computed by this index operation.
            let whole = self.formula(found.ty());
            let found = symbolic::replace_formulas(&found, &whole);
            return Ok(found.mark(key_marks).add_origin(collection.deep_origin().as_ref()).add_origin(key.origin()));
        }
        Ok(found.mark(key_marks).add_origin(key.origin()))
    }

    fn formula(&self, ty: Type) -> Formula {
        Formula::new(FormulaOp::Index(self.collection.to_formula(), self.key.to_formula()), ty, self.range.cloned())
    }

    /// An element whose value is unknown but whose type is known.
    fn undecided(&self, ty: Type) -> Value {
        let Indexing { collection, key, .. } = *self;
        let both = [collection.clone(), key.clone()];
        // As in OpenTofu, a sensitive attribute name does not mark the result.
        let named = matches!(collection.ty(), Type::Object(_));
        let marks = if named { collection.marks().clone() } else { collection.marks().union(key.marks()) };
        let symbolic = collection.formula().is_some() || key.formula().is_some() || collection.is_known();
        let formula = symbolic.then(|| self.formula(ty.clone()));
        Value::unknown(ty).mark(&marks).with_formula(formula).add_origin(symbolic::joined_origin(&both).as_ref())
    }

    /// The type of the element at a converted key, as far as the collection's type determines it. Dynamic otherwise.
    /// As in OpenTofu, the type of an unknown object does not determine it.
    fn open_type(&self, ty: &Type, key: &Value) -> Type {
        let found = match ty {
            Type::List(element) | Type::Map(element) => Some((**element).clone()),
            Type::Tuple(items) if !self.collection.is_known() => {
                key.as_number().and_then(Number::to_usize).and_then(|i| items.get(i).cloned())
            }
            _ => None,
        };
        found.unwrap_or(Type::Dynamic)
    }

    /// The element at a converted, known key of a known collection. Returns `None` if the collection has no such name.
    fn element(&self, key: &Value) -> Result<Option<Value>, Problem> {
        let Indexing { collection, range, .. } = *self;
        Ok(match (collection.open().1, key.as_number(), key.as_str()) {
            (Kind::List(s) | Kind::Tuple(s), Some(number), _) => {
                let place = number.to_usize().filter(|place| *place < s.len());
                let Some(place) = place else { return Err(problems::missing_position(number, s.len())) };
                s.items().get(place).map(|item| part_of(collection, item, &ValueStep::Index(place as u64), range))
            }
            (Kind::Map(f) | Kind::Object(f), _, Some(name)) => {
                f.get(name).map(|item| part_of(collection, item, &ValueStep::Key(name.into()), range))
            }
            _ => None,
        })
    }
}

/// The type of the keys of a collection, or `None` if the collection's type is unknown.
fn key_type(ty: &Type) -> Result<Option<Type>, Problem> {
    match ty {
        Type::Dynamic => Ok(None),
        Type::List(_) | Type::Tuple(_) => Ok(Some(Type::Number)),
        Type::Map(_) | Type::Object(_) => Ok(Some(Type::String)),
        Type::Set(_) => Err(problems::index_of_set()),
        _ => Err(problems::no_indices()),
    }
}

/// Checks a key against a collection whose type is known but whose value is not. Reports keys that no value of the type
/// can have. As in OpenTofu, a missing attribute of an object and an index that no list has are not reported until the
/// collection is known.
fn check_against_type(ty: &Type, key: &Value) -> Result<(), Problem> {
    match (ty, key.as_number()) {
        (Type::Tuple(items), Some(number)) if number.to_usize().is_none_or(|i| i >= items.len()) => {
            Err(problems::missing_position(number, items.len()))
        }
        _ => Ok(()),
    }
}
