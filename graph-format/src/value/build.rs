//! Constructors of values, and access to their content.

use std::collections::BTreeMap;
use std::sync::Arc;

use smol_str::SmolStr;
use unicode_normalization::{UnicodeNormalization, is_nfc};

use super::container::{Fields, Sequence};
use super::{Entries, Kind, Refinement, Unknown, Value};
use crate::address::ProviderInstance;
use crate::marks::Marks;
use crate::number::Number;
use crate::origin::Origin;
use crate::types::Type;

impl Value {
    /// `null` of this type.
    pub fn null(ty: Type) -> Value {
        Value::from_kind(Kind::Null(ty))
    }

    /// An unknown value of this type, without a refinement.
    pub fn unknown(ty: Type) -> Value {
        Value::refined(ty, Refinement::default())
    }

    /// An unknown value with a refinement. As in cty's refinement builder, some refinements that exclude null give
    /// another value:
    ///
    /// - A length of zero gives an empty collection.
    /// - Equal inclusive bounds give a number.
    /// - The known length of a list gives a list of unknown elements, unless the list would be too long.
    /// - A length of one gives a set of one unknown element.
    pub fn refined(ty: Type, refinement: Refinement) -> Value {
        if refinement.leaves_one_value(&ty) {
            match (&ty, &refinement.min) {
                (Type::Number, Some((only, _))) => return Value::number(only.clone()),
                (Type::List(element), _) => {
                    let length = if refinement.length_max == Some(0) { 0 } else { refinement.length_min };
                    let items = (0..length).map(|_| Value::unknown((**element).clone())).collect();
                    return Value::list((**element).clone(), items);
                }
                (Type::Set(element), _) => {
                    let items = (0..refinement.length_min).map(|_| Value::unknown((**element).clone())).collect();
                    return Value::set((**element).clone(), items);
                }
                (Type::Map(element), _) => return Value::map((**element).clone(), BTreeMap::new()),
                _ => {}
            }
        }
        Value::from_kind(Kind::Unknown(Arc::new(Unknown { ty, refinement })))
    }

    /// A reference to a configured provider.
    pub fn provider(instance: ProviderInstance) -> Value {
        Value::from_kind(Kind::Provider(Arc::new(instance)))
    }

    /// A truth value.
    pub fn bool(value: bool) -> Value {
        Value::from_kind(Kind::Bool(value))
    }

    /// A number.
    pub fn number(value: Number) -> Value {
        Value::from_kind(Kind::Number(value))
    }

    /// A whole number.
    pub fn int(value: i64) -> Value {
        Value::number(Number::from_i64(value))
    }

    /// Text. It is normalized to form C.
    pub fn string(text: impl AsRef<str>) -> Value {
        let text = text.as_ref();
        let text = if text.is_ascii() || is_nfc(text) { SmolStr::new(text) } else { text.nfc().collect() };
        Value::from_kind(Kind::String(text))
    }

    /// A list. Every item must have the element type (the caller converts).
    pub fn list(element: Type, items: Vec<Value>) -> Value {
        Value::from_kind(Kind::List(Arc::new(Sequence::new(Some(element), items))))
    }

    /// A tuple.
    pub fn tuple(items: Vec<Value>) -> Value {
        Value::from_kind(Kind::Tuple(Arc::new(Sequence::new(None, items))))
    }

    /// A set. The items are sorted, and equal items without unknown parts become one, with the origins of all. Marks of
    /// items move to the set, because a set cannot keep them apart.
    pub fn set(element: Type, items: Vec<Value>) -> Value {
        let mut marks = Marks::NONE;
        let bare: Vec<Value> = items
            .into_iter()
            .map(|item| {
                let (item, found) = item.unmark_deep();
                marks = marks.union(&found);
                item
            })
            .collect();
        let bare = super::set_order::sort_for_set(bare);
        let mut distinct: Vec<Value> = Vec::with_capacity(bare.len());
        for item in bare {
            match distinct.last_mut() {
                Some(last) if last.is_wholly_known() && last.same_unmarked(&item) => {
                    if item.deep().origin {
                        *last = last.add_origin(Origin::join(None, item.deep_origin().as_ref()).as_ref());
                    }
                }
                _ => distinct.push(item),
            }
        }
        Value::from_kind(Kind::Set(Arc::new(Sequence::new(Some(element), distinct)))).mark(&marks)
    }

    /// A map. Every value must have the element type (the caller converts).
    pub fn map(element: Type, entries: BTreeMap<SmolStr, Value>) -> Value {
        Value::map_of(element, entries.into())
    }

    /// Like [`Value::map`], for entries that are already sorted.
    pub fn map_of(element: Type, entries: Entries) -> Value {
        Value::from_kind(Kind::Map(Arc::new(Fields::new(Some(element), entries))))
    }

    /// An object.
    pub fn object<N: Into<SmolStr>>(entries: impl IntoIterator<Item = (N, Value)>) -> Value {
        let entries = entries.into_iter().map(|(n, v)| (n.into(), v)).collect();
        Value::from_kind(Kind::Object(Arc::new(Fields::new(None, entries))))
    }

    /// The object without attributes.
    pub fn empty_object() -> Value {
        Value::object::<SmolStr>([])
    }

    /// The text, if this is a known string. Marks are ignored.
    pub fn as_str(&self) -> Option<&str> {
        match &self.kind {
            Kind::String(s) => Some(s),
            _ => None,
        }
    }

    /// The truth value, if this is a known bool. Marks are ignored.
    pub fn as_bool(&self) -> Option<bool> {
        match self.kind {
            Kind::Bool(b) => Some(b),
            _ => None,
        }
    }

    /// The number, if this is a known number. Marks are ignored.
    pub fn as_number(&self) -> Option<&Number> {
        match &self.kind {
            Kind::Number(n) => Some(n),
            _ => None,
        }
    }

    /// The elements, if this is a known list, set or tuple. Marks are ignored.
    pub fn as_items(&self) -> Option<&[Value]> {
        match &self.kind {
            Kind::List(s) | Kind::Set(s) | Kind::Tuple(s) => Some(s.items()),
            _ => None,
        }
    }

    /// The entries, if this is a known map or object. Marks are ignored.
    pub fn as_fields(&self) -> Option<&Entries> {
        match &self.kind {
            Kind::Map(f) | Kind::Object(f) => Some(f.entries()),
            _ => None,
        }
    }

    /// The refinement of an unknown value.
    pub fn refinement(&self) -> Option<&Refinement> {
        match &self.kind {
            Kind::Unknown(u) => Some(&u.refinement),
            _ => None,
        }
    }
}
