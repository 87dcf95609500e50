//! Types of values and type constraints, as in cty.

use std::collections::{BTreeMap, BTreeSet};
use std::fmt;
use std::sync::Arc;

use serde::{Deserialize, Serialize};
use smol_str::SmolStr;

use crate::address::ProviderSource;

/// The type of a value, or a constraint on types. A constraint may contain [`Type::Dynamic`] and optional attributes.
///
/// Cheap to clone: everything nested is shared.
#[derive(Clone, Debug, PartialEq, Eq, PartialOrd, Ord, Hash, Serialize, Deserialize)]
pub enum Type {
    /// As the type of a value: not known yet. As a constraint: any type.
    Dynamic,
    /// `true` or `false`.
    Bool,
    /// A number of any size; see [`crate::number::Number`].
    Number,
    /// Text in Unicode normalisation form C.
    String,
    /// A list, whose elements have this type.
    List(Arc<Type>),
    /// A set, whose elements have this type.
    Set(Arc<Type>),
    /// A map with string keys, whose values have this type.
    Map(Arc<Type>),
    /// A tuple with a type for each element.
    Tuple(Arc<[Type]>),
    /// An object with a type for each attribute.
    Object(Arc<ObjectType>),
    /// A reference to a configured provider with this source.
    Provider(Arc<ProviderSource>),
}

/// The attributes of an object type.
#[derive(Clone, Debug, Default, PartialEq, Eq, PartialOrd, Ord, Hash, Serialize, Deserialize)]
pub struct ObjectType {
    /// The types of the attributes, by name.
    pub attributes: BTreeMap<SmolStr, Type>,
    /// The attributes that may be missing before a conversion. Empty in the type of a value.
    pub optional: BTreeSet<SmolStr>,
}

impl Type {
    /// `list(element)`
    pub fn list(element: Type) -> Type {
        Type::List(Arc::new(element))
    }

    /// `set(element)`
    pub fn set(element: Type) -> Type {
        Type::Set(Arc::new(element))
    }

    /// `map(element)`
    pub fn map(element: Type) -> Type {
        Type::Map(Arc::new(element))
    }

    /// `tuple([...])`
    pub fn tuple(elements: impl IntoIterator<Item = Type>) -> Type {
        Type::Tuple(elements.into_iter().collect())
    }

    /// `object({...})` without optional attributes.
    pub fn object<N: Into<SmolStr>>(attributes: impl IntoIterator<Item = (N, Type)>) -> Type {
        Type::Object(Arc::new(ObjectType {
            attributes: attributes.into_iter().map(|(n, t)| (n.into(), t)).collect(),
            optional: BTreeSet::new(),
        }))
    }

    /// The type of references to configured providers with this source.
    pub fn provider(source: ProviderSource) -> Type {
        Type::Provider(Arc::new(source))
    }

    /// Whether this is the type of references to providers, or of collections of such references.
    pub fn holds_providers(&self) -> bool {
        let mut here = self;
        while let Some(element) = here.element() {
            here = element;
        }
        matches!(here, Type::Provider(_))
    }

    /// Whether this is bool, number or string.
    pub fn is_primitive(&self) -> bool {
        matches!(self, Type::Bool | Type::Number | Type::String)
    }

    /// Whether this is a list, set or map.
    pub fn is_collection(&self) -> bool {
        matches!(self, Type::List(_) | Type::Set(_) | Type::Map(_))
    }

    /// The element type of a list, set or map.
    pub fn element(&self) -> Option<&Type> {
        match self {
            Type::List(t) | Type::Set(t) | Type::Map(t) => Some(t),
            _ => None,
        }
    }

    /// Whether [`Type::Dynamic`] occurs anywhere in the type.
    pub fn has_dynamic(&self) -> bool {
        match self {
            Type::Dynamic => true,
            Type::Bool | Type::Number | Type::String | Type::Provider(_) => false,
            Type::List(t) | Type::Set(t) | Type::Map(t) => t.has_dynamic(),
            Type::Tuple(ts) => ts.iter().any(Type::has_dynamic),
            Type::Object(o) => o.attributes.values().any(Type::has_dynamic),
        }
    }

    /// The same type without optional attributes: the type that values have after conversion.
    pub fn without_optional(&self) -> Type {
        match self {
            Type::Dynamic | Type::Bool | Type::Number | Type::String | Type::Provider(_) => self.clone(),
            Type::List(t) => Type::list(t.without_optional()),
            Type::Set(t) => Type::set(t.without_optional()),
            Type::Map(t) => Type::map(t.without_optional()),
            Type::Tuple(ts) => Type::tuple(ts.iter().map(Type::without_optional)),
            Type::Object(o) => Type::object(o.attributes.iter().map(|(name, t)| (name.clone(), t.without_optional()))),
        }
    }

    /// The name in messages, as in cty: `string`, `list of number`, `object`.
    pub fn friendly_name(&self) -> String {
        match self {
            Type::Dynamic => "dynamic".into(),
            Type::Bool => "bool".into(),
            Type::Number => "number".into(),
            Type::String => "string".into(),
            Type::List(t) => format!("list of {}", t.friendly_name()),
            Type::Set(t) => format!("set of {}", t.friendly_name()),
            Type::Map(t) => format!("map of {}", t.friendly_name()),
            Type::Tuple(_) => "tuple".into(),
            Type::Object(_) => "object".into(),
            Type::Provider(source) => format!("provider configuration of {}", source.for_display()),
        }
    }
}

/// Displays a type constraint as the language writes it: `list(object({a=string}))`.
impl fmt::Display for Type {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Type::Dynamic => f.write_str("dynamic"),
            Type::Bool => f.write_str("bool"),
            Type::Number => f.write_str("number"),
            Type::String => f.write_str("string"),
            Type::List(t) => write!(f, "list({t})"),
            Type::Set(t) => write!(f, "set({t})"),
            Type::Map(t) => write!(f, "map({t})"),
            Type::Tuple(ts) => {
                f.write_str("tuple([")?;
                for (i, t) in ts.iter().enumerate() {
                    write!(f, "{}{t}", if i == 0 { "" } else { "," })?;
                }
                f.write_str("])")
            }
            Type::Object(o) => {
                f.write_str("object({")?;
                for (i, (name, t)) in o.attributes.iter().enumerate() {
                    let comma = if i == 0 { "" } else { "," };
                    if o.optional.contains(name) {
                        write!(f, "{comma}{name}=optional({t})")?;
                    } else {
                        write!(f, "{comma}{name}={t}")?;
                    }
                }
                f.write_str("})")
            }
            Type::Provider(source) => write!(f, "providerconfig({source})"),
        }
    }
}
