//! Walking through values: comparing, unmarking, following paths, transforming, collecting formulas.

use smol_str::SmolStr;
use thiserror::Error;

use super::formula::{Formula, FormulaOp};
use super::{Kind, Value};
use crate::diagnostic::Diagnostic;
use crate::marks::Marks;
use crate::path::{Path, ValueStep};
use crate::types::Type;

/// Why a path does not lead to a part of a value.
#[derive(Clone, Debug, PartialEq, Eq, Error)]
pub enum PathError {
    /// The value has no part at this step.
    #[error("a value of type {found} has no {step}")]
    NoSuchStep {
        /// The step, as text.
        step: String,
        /// The type of the value in which the step has no part.
        found: String,
    },
}

/// What [`Value::transform`] does with a part, as its callback decides.
pub enum Transform {
    /// Replaces the part, and does not visit its parts.
    Replace(Value),
    /// Keeps the part, and visits its parts.
    Descend,
}

pub(super) fn any_marks(value: &Value, test: &dyn Fn(&Marks) -> bool) -> bool {
    if !value.deep().marked {
        return false;
    }
    let (marks, kind) = value.open();
    test(marks)
        || match kind {
            Kind::List(s) | Kind::Set(s) | Kind::Tuple(s) => s.items().iter().any(|v| any_marks(v, test)),
            Kind::Map(f) | Kind::Object(f) => f.entries().values().any(|v| any_marks(v, test)),
            _ => false,
        }
}

pub(super) fn same_content(a: &Value, b: &Value, with_marks: bool) -> bool {
    if with_marks && a.marks() != b.marks() {
        return false;
    }
    let items =
        |x: &[Value], y: &[Value]| x.len() == y.len() && x.iter().zip(y).all(|(v, w)| same_content(v, w, with_marks));
    match (&a.kind, &b.kind) {
        (Kind::Null(x), Kind::Null(y)) => x == y,
        (Kind::Unknown(x), Kind::Unknown(y)) => x == y,
        (Kind::Bool(x), Kind::Bool(y)) => x == y,
        (Kind::Number(x), Kind::Number(y)) => x == y,
        (Kind::String(x), Kind::String(y)) => x == y,
        (Kind::Provider(x), Kind::Provider(y)) => x == y,
        (Kind::List(x), Kind::List(y)) | (Kind::Set(x), Kind::Set(y)) => {
            std::sync::Arc::ptr_eq(x, y) || (x.element_type() == y.element_type() && items(x.items(), y.items()))
        }
        (Kind::Tuple(x), Kind::Tuple(y)) => std::sync::Arc::ptr_eq(x, y) || items(x.items(), y.items()),
        (Kind::Map(x), Kind::Map(y)) | (Kind::Object(x), Kind::Object(y)) => {
            std::sync::Arc::ptr_eq(x, y)
                || (x.len() == y.len()
                    && x.element_type() == y.element_type()
                    && x.iter().zip(y.iter()).all(|((m, v), (n, w))| m == n && same_content(v, w, with_marks)))
        }
        _ => false,
    }
}

pub(super) fn to_formula(value: &Value) -> Formula {
    if let Some(formula) = value.formula() {
        return formula.clone();
    }
    let deep = value.deep();
    if !deep.formula && !deep.unknown {
        return Formula::constant(value.without_provenance());
    }
    let marks = value.marks().clone();
    let bare = match &value.kind {
        Kind::Unknown(u) => {
            let problem = Diagnostic::error(
                "Value not known",
                "This value was not known when the plan was made, and the plan does not record how to compute the \
                 value.",
            );
            Formula::new(FormulaOp::Failure(Box::new(problem)), u.ty.clone(), None)
        }
        Kind::List(s) | Kind::Set(s) | Kind::Tuple(s) => {
            let kept = s.kept.formula.get_or_init(|| {
                let parts: Vec<Formula> = s.items().iter().map(to_formula).collect();
                if let Some(want) = collection_of_any(&value.kind)
                    && parts.iter().any(|part| part.ty().has_dynamic())
                {
                    let ty = Type::tuple(parts.iter().map(|part| part.ty().clone()));
                    return converted(Formula::new(FormulaOp::Tuple(parts), ty, None), want);
                }
                let op = match &value.kind {
                    Kind::List(_) => FormulaOp::List(s.element_type(), parts),
                    Kind::Set(_) => FormulaOp::Set(s.element_type(), parts),
                    _ => FormulaOp::Tuple(parts),
                };
                let ty = match &op {
                    FormulaOp::Tuple(parts) => {
                        honest(value, parts.iter(), || Type::tuple(parts.iter().map(|p| p.ty().clone())))
                    }
                    _ => value.ty(),
                };
                Formula::new(op, ty, None)
            });
            kept.clone()
        }
        Kind::Map(f) | Kind::Object(f) => {
            let kept = f.kept.formula.get_or_init(|| {
                let parts: Vec<(SmolStr, Formula)> =
                    f.iter().map(|(name, part)| (name.clone(), to_formula(part))).collect();
                if let Some(want) = collection_of_any(&value.kind)
                    && parts.iter().any(|(_, part)| part.ty().has_dynamic())
                {
                    let ty = Type::object(parts.iter().map(|(name, part)| (name.clone(), part.ty().clone())));
                    return converted(Formula::new(FormulaOp::Object(parts), ty, None), want);
                }
                let op = match &value.kind {
                    Kind::Map(_) => FormulaOp::Map(f.element_type(), parts),
                    _ => FormulaOp::Object(parts),
                };
                let ty = match &op {
                    FormulaOp::Object(parts) => honest(value, parts.iter().map(|(_, part)| part), || {
                        Type::object(parts.iter().map(|(name, part)| (name.clone(), part.ty().clone())))
                    }),
                    _ => value.ty(),
                };
                Formula::new(op, ty, None)
            });
            kept.clone()
        }
        _ => Formula::constant(value.without_provenance()),
    };
    if marks.is_empty() || matches!(bare.op(), FormulaOp::Constant(_)) {
        return bare;
    }
    let ty = bare.ty().clone();
    Formula::new(FormulaOp::Mark(bare, marks), ty, None)
}

/// If the type of a part of a collection is only known at apply, apply constructs the parts and then converts them to
/// this type. `None` for tuples and objects, which need no conversion.
fn collection_of_any(kind: &Kind) -> Option<Type> {
    match kind {
        Kind::List(_) => Some(Type::list(Type::Dynamic)),
        Kind::Set(_) => Some(Type::set(Type::Dynamic)),
        Kind::Map(_) => Some(Type::map(Type::Dynamic)),
        _ => None,
    }
}

fn converted(parts: Formula, want: Type) -> Formula {
    Formula::new(FormulaOp::Convert(parts, want), Type::Dynamic, None)
}

/// The type of a tuple or object whose parts the formulas in `parts` compute: the type of `value`, or the result of
/// `made` if the type of a part is only known at apply.
fn honest<'a>(value: &Value, mut parts: impl Iterator<Item = &'a Formula>, made: impl Fn() -> Type) -> Type {
    if parts.any(|part| part.ty().has_dynamic()) { made() } else { value.ty() }
}

impl Value {
    /// Removes formulas and origins at all levels. Marks stay. Parts that have neither stay shared.
    #[must_use]
    pub fn bare(&self) -> Value {
        let deep = self.deep();
        if !deep.formula && !deep.origin {
            return self.clone();
        }
        let here = self.without_provenance();
        let parts: Vec<Value> = here.parts().into_iter().map(|(_, part)| part.bare()).collect();
        if parts.is_empty() { here } else { here.retagged(parts) }
    }

    /// The part at the end of the path, with the marks and origins of all containers along the path.
    pub fn at_path(&self, path: &Path) -> Result<Value, PathError> {
        let mut here = self.clone();
        for step in &path.0 {
            let Some(next) = here.step(step) else {
                return Err(PathError::NoSuchStep {
                    step: Path(vec![step.clone()]).to_string(),
                    found: here.ty().friendly_name(),
                });
            };
            here = next;
        }
        Ok(here)
    }

    /// The part at one step, with the marks and origin of `self`; `None` if there is no such part. The part of an
    /// unknown value is unknown, and null has no parts.
    pub fn step(&self, step: &ValueStep) -> Option<Value> {
        let found = match (&self.kind, step) {
            (Kind::Object(f) | Kind::Map(f), ValueStep::Attribute(name) | ValueStep::Key(name)) => f.get(name)?.clone(),
            (Kind::List(s) | Kind::Tuple(s), ValueStep::Index(i)) => s.items().get(usize::try_from(*i).ok()?)?.clone(),
            (Kind::Unknown(u), step) => Value::unknown(step_type(&u.ty, step)?),
            _ => return None,
        };
        Some(found.mark(self.marks()).add_origin(self.origin()))
    }

    /// Rebuilds the value from the outside in. `enter` may replace any part; the parts of this part and of its
    /// replacement are then not visited. Unchanged parts stay shared. If no replacement changes a type, the types of
    /// lists, sets and maps stay the same.
    #[must_use]
    pub fn transform(&self, enter: &mut dyn FnMut(&Path, &Value) -> Transform) -> Value {
        transform_into(self, enter, &mut Path(Vec::new()))
    }

    /// Replaces each unknown part with null.
    #[must_use]
    pub fn unknown_as_null(&self) -> Value {
        self.transform(&mut |_, part| match part.is_known() {
            true => Transform::Descend,
            false => Transform::Replace(Value::null(part.ty())),
        })
    }

    /// Visits the value and all its parts, from the outside in.
    pub fn visit(&self, visitor: &mut dyn FnMut(&Path, &Value)) {
        visit_into(self, visitor, &mut Path(Vec::new()));
    }

    /// A container with the same tags (marks, formula and origin) and the same keys, but with these parts.
    fn rebuilt(&self, mut parts: Vec<Value>) -> Value {
        let kind = match &self.kind {
            Kind::List(s) => {
                let element = match parts.first() {
                    Some(first) if s.element_type() == Type::Dynamic => first.ty(),
                    _ => s.element_type(),
                };
                Value::list(element, parts).kind
            }
            Kind::Set(s) => {
                let set = Value::set(s.element_type(), parts);
                return self.carry_onto(&set);
            }
            Kind::Tuple(_) => Value::tuple(parts).kind,
            Kind::Map(f) => {
                let entries = f.entries().keys().cloned().zip(parts.drain(..)).collect();
                Value::map_of(f.element_type(), entries).kind
            }
            Kind::Object(f) => Value::object(f.entries().keys().cloned().zip(parts.drain(..))).kind,
            other => other.clone(),
        };
        Value { kind, tags: self.tags.clone() }
    }

    /// A container with the same tags. The new parts may differ from the present parts only in their tags.
    pub(super) fn retagged(&self, parts: Vec<Value>) -> Value {
        let rebuilt = self.rebuilt(parts);
        let kept = match &self.kind {
            Kind::Tuple(s) => s.kept.ty.get(),
            Kind::Object(f) => f.kept.ty.get(),
            _ => None,
        };
        if let Some(ty) = kept {
            rebuilt.keep_type(ty);
        }
        rebuilt
    }

    pub(super) fn parts(&self) -> Vec<(Option<ValueStep>, &Value)> {
        match &self.kind {
            Kind::List(s) | Kind::Tuple(s) => {
                s.items().iter().enumerate().map(|(i, v)| (Some(ValueStep::Index(i as u64)), v)).collect()
            }
            Kind::Set(s) => s.items().iter().map(|v| (None, v)).collect(),
            Kind::Map(f) => f.iter().map(|(k, v)| (Some(ValueStep::Key(k.clone())), v)).collect(),
            Kind::Object(f) => f.iter().map(|(k, v)| (Some(ValueStep::Attribute(k.clone())), v)).collect(),
            _ => Vec::new(),
        }
    }
}

/// The type of the part at one step into a value of type `ty`; `None` if there is no such part.
pub fn step_type(ty: &Type, step: &ValueStep) -> Option<Type> {
    match (ty, step) {
        (Type::Dynamic, _) => Some(Type::Dynamic),
        (Type::Object(o), ValueStep::Attribute(name) | ValueStep::Key(name)) => o.attributes.get(name).cloned(),
        (Type::Map(t), ValueStep::Attribute(_) | ValueStep::Key(_)) => Some((**t).clone()),
        (Type::List(t), ValueStep::Index(_)) => Some((**t).clone()),
        (Type::Tuple(ts), ValueStep::Index(i)) => ts.get(usize::try_from(*i).ok()?).cloned(),
        _ => None,
    }
}

fn transform_into(value: &Value, enter: &mut dyn FnMut(&Path, &Value) -> Transform, path: &mut Path) -> Value {
    match enter(path, value) {
        Transform::Replace(other) => return other,
        Transform::Descend => {}
    }
    let mut changed = false;
    let mut parts = Vec::new();
    for (step, part) in value.parts() {
        if let Some(step) = &step {
            path.0.push(step.clone());
        }
        let next = transform_into(part, enter, path);
        changed |= !next.is_same_object(part);
        parts.push(next);
        if step.is_some() {
            path.0.pop();
        }
    }
    if changed { value.rebuilt(parts) } else { value.clone() }
}

fn visit_into(value: &Value, visitor: &mut dyn FnMut(&Path, &Value), path: &mut Path) {
    visitor(path, value);
    for (step, part) in value.parts() {
        if let Some(step) = &step {
            path.0.push(step.clone());
        }
        visit_into(part, visitor, path);
        if step.is_some() {
            path.0.pop();
        }
    }
}

impl Value {
    /// Whether both values are the same object in memory. Small values count as the same object if they are equal. The
    /// tags of both values must also be the same object, or absent.
    pub(super) fn is_same_object(&self, other: &Value) -> bool {
        let tags = match (&self.tags, &other.tags) {
            (None, None) => true,
            (Some(a), Some(b)) => std::sync::Arc::ptr_eq(a, b),
            _ => false,
        };
        tags && match (&self.kind, &other.kind) {
            (Kind::List(a), Kind::List(b)) | (Kind::Set(a), Kind::Set(b)) | (Kind::Tuple(a), Kind::Tuple(b)) => {
                std::sync::Arc::ptr_eq(a, b)
            }
            (Kind::Map(a), Kind::Map(b)) | (Kind::Object(a), Kind::Object(b)) => std::sync::Arc::ptr_eq(a, b),
            _ => same_content(self, other, true),
        }
    }
}
