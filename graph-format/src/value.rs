//! Values: immutable, shared and cheap to clone. They have marks, and refinements if they are unknown.
//!
//! A [`Value`] is its content ([`Kind`]) and, if present, marks, a formula and an origin. The content is only
//! accessible through [`Value::open`], which also returns the marks, so that code cannot lose them by accident. The
//! framework that evaluates operators and functions attaches formulas and origins.

mod build;
mod container;
mod entries;
mod extent;
pub mod formula;
mod marking;
mod plain;
mod recent;
mod set_order;
mod walk;

use std::fmt;
use std::sync::Arc;

use smol_str::SmolStr;

pub use container::{Fields, Sequence};
pub use entries::{Entries, EntriesIter};
pub use extent::{DEEPEST, Excess, Extent, LONGEST_TEXT, MOST_PARTS, MOST_TEXT};
pub use marking::Reach;
pub use plain::{DEEPEST_VALUE, Unwritable};
pub use set_order::compare_for_set;
pub use walk::{PathError, Transform};

pub use crate::plain_value::PlainValue;
pub use crate::refinement::{Refinement, Unknown};

use self::formula::Formula;
use crate::address::ProviderInstance;
use crate::marks::Marks;
use crate::number::Number;
use crate::origin::Origin;
use crate::types::Type;

/// A value of the language, of a provider, or of state.
#[derive(Clone)]
pub struct Value {
    kind: Kind,
    tags: Option<Arc<Tags>>,
}

/// The content of a value.
#[derive(Clone)]
pub enum Kind {
    /// `null` of a type, which may be [`Type::Dynamic`].
    Null(Type),
    /// An unknown value.
    Unknown(Arc<Unknown>),
    /// A truth value.
    Bool(bool),
    /// A number.
    Number(Number),
    /// Text in Unicode normalisation form C.
    String(SmolStr),
    /// A list: elements of one type.
    List(Arc<Sequence>),
    /// A set: distinct elements of one type, in the order of [`compare_for_set`].
    Set(Arc<Sequence>),
    /// A tuple: elements of any types.
    Tuple(Arc<Sequence>),
    /// A map: string keys, and values of one type.
    Map(Arc<Fields>),
    /// An object: attributes of any types.
    Object(Arc<Fields>),
    /// A reference to a configured provider. It has no parts, and is only stored in plan files.
    Provider(Arc<ProviderInstance>),
}

#[derive(Clone, Default)]
struct Tags {
    marks: Marks,
    formula: Option<Formula>,
    origin: Option<Origin>,
}

/// Properties of a value and all its parts.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct Deep {
    /// Whether a part is unknown.
    pub unknown: bool,
    /// Whether a part has a mark.
    pub marked: bool,
    /// Whether a part has the ephemeral mark.
    pub ephemeral: bool,
    /// Whether a part has a deprecation mark.
    pub deprecated: bool,
    /// Whether a part has a formula.
    pub formula: bool,
    /// Whether a part has an origin.
    pub origin: bool,
    /// Whether a part is unknown and has no formula.
    pub unexplained: bool,
    /// Whether the value may change at apply although it is known during planning. This is the case if a known part has
    /// a formula, or if elements of a set may turn out to be equal.
    pub provisional: bool,
    /// Whether a part is a reference to a provider, or may become such a reference.
    pub provider: bool,
}

impl Deep {
    fn join(self, other: Deep) -> Deep {
        Deep {
            unknown: self.unknown || other.unknown,
            marked: self.marked || other.marked,
            ephemeral: self.ephemeral || other.ephemeral,
            deprecated: self.deprecated || other.deprecated,
            formula: self.formula || other.formula,
            origin: self.origin || other.origin,
            unexplained: self.unexplained || other.unexplained,
            provisional: self.provisional || other.provisional,
            provider: self.provider || other.provider,
        }
    }
}

static NO_MARKS: Marks = Marks::NONE;

impl Value {
    fn from_kind(kind: Kind) -> Value {
        Value { kind, tags: None }
    }

    /// The content, and the marks on its outermost level.
    #[must_use]
    pub fn open(&self) -> (&Marks, &Kind) {
        (self.marks(), &self.kind)
    }

    /// The marks on the outermost value.
    pub fn marks(&self) -> &Marks {
        self.tags.as_ref().map_or(&NO_MARKS, |t| &t.marks)
    }

    /// The value without the marks on its outermost level, and the removed marks.
    #[must_use]
    pub fn unmark(&self) -> (Value, Marks) {
        match &self.tags {
            Some(tags) if !tags.marks.is_empty() => {
                (self.with_tags(Tags { marks: Marks::NONE, ..(**tags).clone() }), tags.marks.clone())
            }
            _ => (self.clone(), Marks::NONE),
        }
    }

    /// Adds marks to the outermost level of the value, and to its formula.
    #[must_use]
    pub fn mark(&self, marks: &Marks) -> Value {
        let all = self.marks().union(marks);
        if all == *self.marks() && self.formula().is_none() {
            return self.clone();
        }
        let mut tags = self.tags();
        tags.marks = all;
        tags.formula = tags.formula.map(|formula| formula.marked(marks));
        self.with_tags(tags)
    }

    /// The formula of the outermost level (for a container: of its shape); `None` if that level is final.
    pub fn formula(&self) -> Option<&Formula> {
        self.tags.as_ref().and_then(|t| t.formula.as_ref())
    }

    /// Replaces the formula of the outermost level.
    #[must_use]
    pub fn with_formula(&self, formula: Option<Formula>) -> Value {
        self.with_tags(Tags { formula, ..self.tags() })
    }

    /// What must have happened before the outermost level may be used.
    pub fn origin(&self) -> Option<&Origin> {
        self.tags.as_ref().and_then(|t| t.origin.as_ref())
    }

    /// Adds an origin to the outermost level.
    #[must_use]
    pub fn add_origin(&self, origin: Option<&Origin>) -> Value {
        match origin {
            None => self.clone(),
            Some(o) => {
                let tags = self.tags();
                self.with_tags(Tags { origin: Origin::join(tags.origin.as_ref(), Some(o)), ..tags })
            }
        }
    }

    /// Removes formula and origin from the outermost level. Marks stay.
    #[must_use]
    pub fn without_provenance(&self) -> Value {
        self.with_tags(Tags { marks: self.marks().clone(), formula: None, origin: None })
    }

    /// Adds marks, formula and origin of the outermost level of `self` to `content`. If `content` already has a
    /// formula, that formula stays.
    #[must_use]
    pub fn carry_onto(&self, content: &Value) -> Value {
        let Some(mine) = &self.tags else { return content.clone() };
        let theirs = content.tags();
        content.with_tags(Tags {
            marks: theirs.marks.union(&mine.marks),
            formula: theirs.formula.map(|f| f.marked(&mine.marks)).or_else(|| mine.formula.clone()),
            origin: Origin::join(theirs.origin.as_ref(), mine.origin.as_ref()),
        })
    }

    fn tags(&self) -> Tags {
        self.tags.as_ref().map(|t| (**t).clone()).unwrap_or_default()
    }

    fn with_tags(&self, tags: Tags) -> Value {
        let empty = tags.marks.is_empty() && tags.formula.is_none() && tags.origin.is_none();
        Value { kind: self.kind.clone(), tags: (!empty).then(|| Arc::new(tags)) }
    }

    /// The type of the value.
    pub fn ty(&self) -> Type {
        match &self.kind {
            Kind::Null(t) => t.clone(),
            Kind::Unknown(u) => u.ty.clone(),
            Kind::Bool(_) => Type::Bool,
            Kind::Number(_) => Type::Number,
            Kind::String(_) => Type::String,
            Kind::List(s) => Type::list(s.element_type()),
            Kind::Set(s) => Type::set(s.element_type()),
            Kind::Tuple(s) => s.tuple_type(),
            Kind::Map(f) => Type::map(f.element_type()),
            Kind::Object(f) => f.object_type(),
            Kind::Provider(instance) => Type::provider(instance.source.clone()),
        }
    }

    /// Whether `ty` is the type of the value. Does not create the value's own type.
    pub(crate) fn has_type(&self, ty: &Type) -> bool {
        let kept = |kept: &std::sync::OnceLock<Type>| kept.get().map(|known| known == ty);
        match (&self.kind, ty) {
            (Kind::Null(own), _) => own == ty,
            (Kind::Unknown(unknown), _) => unknown.ty == *ty,
            (Kind::Bool(_), Type::Bool) | (Kind::Number(_), Type::Number) | (Kind::String(_), Type::String) => true,
            (Kind::List(s), Type::List(element)) | (Kind::Set(s), Type::Set(element)) => s.has_element(element),
            (Kind::Map(f), Type::Map(element)) => f.has_element(element),
            (Kind::Tuple(s), Type::Tuple(types)) => kept(&s.kept.ty).unwrap_or_else(|| {
                s.len() == types.len() && s.items().iter().zip(types.iter()).all(|(item, ty)| item.has_type(ty))
            }),
            (Kind::Object(f), Type::Object(_)) => kept(&f.kept.ty).unwrap_or_else(|| f.has_object_type(ty)),
            _ => false,
        }
    }

    /// Uses `ty` as the value's type if both types are equal, so that values share one type in memory. A separate copy
    /// could be larger than the value.
    pub(crate) fn share_type(&self, ty: &Type) {
        if self.has_type(ty) {
            self.keep_type(ty);
        }
    }

    /// Stores the type of the value, which another value has created.
    fn keep_type(&self, ty: &Type) {
        // A type that is already stored is equal to this type.
        let _ = match &self.kind {
            Kind::Tuple(s) => s.kept.ty.set(ty.clone()),
            Kind::Object(f) => f.kept.ty.set(ty.clone()),
            _ => Ok(()),
        };
    }

    /// Whether the value is null.
    pub fn is_null(&self) -> bool {
        matches!(self.kind, Kind::Null(_))
    }

    /// Whether the outermost level is known. Elements of a container may still be unknown.
    pub fn is_known(&self) -> bool {
        !matches!(self.kind, Kind::Unknown(_))
    }

    /// Whether no part is unknown.
    pub fn is_wholly_known(&self) -> bool {
        !self.deep().unknown
    }

    /// Whether any part is marked sensitive.
    pub fn contains_sensitive(&self) -> bool {
        self.deep().marked && walk::any_marks(self, &|m| m.is_sensitive())
    }

    /// The properties of the value and all its parts.
    pub fn deep(&self) -> Deep {
        let mut deep = match &self.kind {
            Kind::Null(_) | Kind::Bool(_) | Kind::Number(_) | Kind::String(_) => Deep::default(),
            Kind::Unknown(u) => Deep {
                unknown: true,
                unexplained: self.formula().is_none(),
                provider: u.ty.holds_providers(),
                ..Deep::default()
            },
            Kind::Provider(_) => Deep { provider: true, ..Deep::default() },
            Kind::List(s) | Kind::Tuple(s) => s.deep(),
            Kind::Set(s) => {
                let parts = s.deep();
                Deep { provisional: parts.provisional || parts.unknown || parts.formula, ..parts }
            }
            Kind::Map(f) | Kind::Object(f) => f.deep(),
        };
        if let Some(tags) = &self.tags {
            deep.marked |= !tags.marks.is_empty();
            deep.ephemeral |= tags.marks.is_ephemeral();
            deep.deprecated |= tags.marks.deprecations().next().is_some();
            deep.formula |= tags.formula.is_some();
            deep.provisional |= tags.formula.is_some() && self.is_known();
            deep.origin |= tags.origin.is_some();
            if tags.formula.is_some() {
                deep.unexplained = false;
            }
        }
        deep
    }

    /// Everything that must have happened before the whole value may be used.
    pub fn deep_origin(&self) -> Option<Origin> {
        if !self.deep().origin {
            return None;
        }
        let inner = match &self.kind {
            Kind::List(s) | Kind::Set(s) | Kind::Tuple(s) => s.origin(),
            Kind::Map(f) | Kind::Object(f) => f.origin(),
            _ => None,
        };
        Origin::join(self.origin(), inner.as_ref())
    }

    /// The formula that computes the whole value: the value's own formula, a constructor over the formulas of its
    /// parts, or a constant.
    ///
    /// Shared containers store the formula, so that it is created only once for all readers of a container. An unknown
    /// value without a formula gives a [`formula::FormulaOp::Failure`].
    pub fn to_formula(&self) -> Formula {
        walk::to_formula(self)
    }

    /// Whether content and marks are equal at every level. Formulas and origins are ignored. Unknown values are equal
    /// if their types and refinements are equal.
    pub fn same_content(&self, other: &Value) -> bool {
        walk::same_content(self, other, true)
    }

    /// Whether the content is equal at every level. Marks, formulas and origins are ignored.
    pub fn same_unmarked(&self, other: &Value) -> bool {
        walk::same_content(self, other, false)
    }
}

impl PartialEq for Value {
    fn eq(&self, other: &Value) -> bool {
        self.same_content(other)
    }
}

/// For tests and logs. Sensitive and ephemeral content is never shown.
impl fmt::Debug for Value {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let marks = self.marks();
        if marks.is_sensitive() || marks.is_ephemeral() {
            return write!(f, "({marks:?})");
        }
        match &self.kind {
            Kind::Null(Type::Dynamic) => f.write_str("null"),
            Kind::Null(t) => write!(f, "null:{t}"),
            Kind::Unknown(u) => write!(f, "unknown:{}", u.ty),
            Kind::Bool(b) => write!(f, "{b}"),
            Kind::Number(n) => write!(f, "{n}"),
            Kind::String(s) => write!(f, "{s:?}"),
            Kind::List(s) => f.debug_list().entries(s.items()).finish(),
            Kind::Tuple(s) => f.debug_list().entries(s.items()).finish(),
            Kind::Set(s) => f.debug_set().entries(s.items()).finish(),
            Kind::Map(m) | Kind::Object(m) => f.debug_map().entries(m.iter()).finish(),
            Kind::Provider(instance) => write!(f, "{instance}"),
        }
    }
}
