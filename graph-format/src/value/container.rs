//! The shared content of containers, with cached properties.

use std::sync::OnceLock;

use smol_str::SmolStr;

use super::entries::Entries;
use super::extent::Extent;
use super::formula::Formula;
use super::{Deep, Value, recent};
use crate::origin::Origin;
use crate::types::Type;

/// Properties of a container's parts, each computed at most once.
#[derive(Default)]
pub(super) struct CachedProperties {
    pub(super) deep: Deep,
    extent: Extent,
    pub(super) ty: OnceLock<Type>,
    pub(super) formula: OnceLock<Formula>,
    pub(super) origin: OnceLock<Option<Origin>>,
}

/// The elements of a list, set or tuple.
pub struct Sequence {
    /// The element type of a list or set; `None` for a tuple.
    element: Option<Type>,
    items: Vec<Value>,
    pub(super) kept: CachedProperties,
}

/// The entries of a map or object, in key order.
pub struct Fields {
    /// The element type of a map; `None` for an object.
    element: Option<Type>,
    entries: Entries,
    pub(super) kept: CachedProperties,
}

fn deep_of<'a>(parts: impl Iterator<Item = &'a Value>) -> Deep {
    parts.fold(Deep::default(), |all, part| all.join(part.deep()))
}

impl Sequence {
    pub(super) fn new(element: Option<Type>, items: Vec<Value>) -> Sequence {
        let extent = Extent::around(items.iter().map(Value::extent));
        let kept = CachedProperties { deep: deep_of(items.iter()), extent, ..CachedProperties::default() };
        Sequence { element, items, kept }
    }

    /// The elements in order.
    pub fn items(&self) -> &[Value] {
        &self.items
    }

    /// Number of elements.
    pub fn len(&self) -> usize {
        self.items.len()
    }

    /// Whether there are no elements.
    pub fn is_empty(&self) -> bool {
        self.items.is_empty()
    }

    /// The element type of a list or set; dynamic for a tuple.
    pub fn element_type(&self) -> Type {
        self.element.clone().unwrap_or(Type::Dynamic)
    }

    pub(super) fn has_element(&self, ty: &Type) -> bool {
        self.element.as_ref() == Some(ty)
    }

    /// The type of a tuple. Neighbouring elements of equal types share one type in memory, because types can be larger
    /// than elements. For example, the rows of a decoded document share their type.
    pub(super) fn tuple_type(&self) -> Type {
        if let Some(found) = self.kept.ty.get() {
            return found.clone();
        }
        // Not computed inside the initialisation of the cell, which would take several times the stack for each level
        // of nesting.
        let mut types: Vec<Type> = Vec::with_capacity(self.items.len());
        for item in &self.items {
            let shared = types.last().filter(|before| item.has_type(before)).cloned();
            types.push(match shared {
                Some(shared) => {
                    item.keep_type(&shared);
                    shared
                }
                None => item.ty(),
            });
        }
        let found = Type::tuple(types);
        // A type that another thread has stored in the meantime is equal to this type.
        let _ = self.kept.ty.set(found.clone());
        found
    }

    pub(super) fn deep(&self) -> Deep {
        self.kept.deep
    }

    pub(super) fn extent(&self) -> Extent {
        self.kept.extent
    }

    pub(super) fn origin(&self) -> Option<Origin> {
        self.kept.origin.get_or_init(|| Origin::union(self.items.iter().filter_map(Value::deep_origin))).clone()
    }
}

impl Fields {
    pub(super) fn new(element: Option<Type>, entries: Entries) -> Fields {
        let extent = Extent::around(entries.iter().map(|(key, value)| value.extent().keyed(key)));
        let kept = CachedProperties { deep: deep_of(entries.values()), extent, ..CachedProperties::default() };
        Fields { element, entries, kept }
    }

    /// The entry under `key`.
    pub fn get(&self, key: &str) -> Option<&Value> {
        self.entries.get(key)
    }

    /// All entries in key order.
    pub fn entries(&self) -> &Entries {
        &self.entries
    }

    /// All entries in key order.
    pub fn iter(&self) -> impl ExactSizeIterator<Item = (&SmolStr, &Value)> {
        self.entries.iter()
    }

    /// Number of entries.
    pub fn len(&self) -> usize {
        self.entries.len()
    }

    /// Whether there are no entries.
    pub fn is_empty(&self) -> bool {
        self.entries.is_empty()
    }

    /// The element type of a map; dynamic for an object.
    pub fn element_type(&self) -> Type {
        self.element.clone().unwrap_or(Type::Dynamic)
    }

    pub(super) fn has_element(&self, ty: &Type) -> bool {
        self.element.as_ref() == Some(ty)
    }

    pub(super) fn object_type(&self) -> Type {
        if let Some(found) = self.kept.ty.get() {
            return found.clone();
        }
        let make = || Type::object(self.entries.iter().map(|(name, value)| (name.clone(), value.ty())));
        let found = recent::object_type(self.extent().depth, |ty| self.has_object_type(ty), make);
        let _ = self.kept.ty.set(found.clone());
        found
    }

    /// Whether this is the type of an object with these attributes. Does not create that type.
    pub(super) fn has_object_type(&self, ty: &Type) -> bool {
        let Type::Object(object) = ty else { return false };
        let mut attributes = object.attributes.iter();
        self.len() == object.attributes.len()
            && object.optional.is_empty()
            && self
                .iter()
                .all(|(name, value)| attributes.next().is_some_and(|(known, ty)| known == name && value.has_type(ty)))
    }

    pub(super) fn deep(&self) -> Deep {
        self.kept.deep
    }

    pub(super) fn extent(&self) -> Extent {
        self.kept.extent
    }

    pub(super) fn origin(&self) -> Option<Origin> {
        self.kept.origin.get_or_init(|| Origin::union(self.entries.values().filter_map(Value::deep_origin))).clone()
    }
}
