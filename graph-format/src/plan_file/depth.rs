//! A limit on nesting while records are decoded, so that no input can overflow the stack.
//!
//! Types, values, schemas and defaults are recursive, and each of their levels is a struct or an enum. The guard sits
//! between `serde` and the decoder, and counts these levels.

use std::cell::Cell;
use std::fmt;

use serde::de::{DeserializeSeed, Deserializer, EnumAccess, Error, MapAccess, SeqAccess, VariantAccess, Visitor};

use crate::value::DEEPEST_VALUE;

/// The maximum depth of nested structs and enums in a record.
///
/// Each level of a value with marks takes two nested levels. So does each level of an object type, and each level of
/// the blocks of a schema. The remaining levels are for the record around the value. This many levels need a fraction
/// of the 2 MiB stack that threads have, as a test shows.
pub const DEEPEST_NESTING: u32 = 2 * DEEPEST_VALUE as u32 + 64;

/// A decoder that refuses more than `left` nested levels.
pub(super) struct Guard<'g, T> {
    inner: T,
    left: u32,
    exceeded: &'g Cell<bool>,
}

impl<'g, T> Guard<'g, T> {
    /// A guard for a whole record. Sets `exceeded` when it refuses.
    pub(super) fn new(inner: T, exceeded: &'g Cell<bool>) -> Guard<'g, T> {
        Guard { inner, left: DEEPEST_NESTING, exceeded }
    }

    fn around<U>(&self, inner: U) -> Guard<'g, U> {
        Guard { inner, left: self.left, exceeded: self.exceeded }
    }

    fn deeper<E: Error>(self) -> Result<Guard<'g, T>, E> {
        match self.left.checked_sub(1) {
            Some(left) => Ok(Guard { left, ..self }),
            None => {
                self.exceeded.set(true);
                Err(E::custom("nested too deeply"))
            }
        }
    }
}

macro_rules! plain {
    ($($method:ident)*) => {
        $(fn $method<V: Visitor<'de>>(self, visitor: V) -> Result<V::Value, D::Error> {
            self.inner.$method(visitor)
        })*
    };
}

impl<'de, D: Deserializer<'de>> Deserializer<'de> for Guard<'_, D> {
    type Error = D::Error;

    plain! {
        deserialize_any deserialize_bool deserialize_i8 deserialize_i16 deserialize_i32 deserialize_i64
        deserialize_i128 deserialize_u8 deserialize_u16 deserialize_u32 deserialize_u64 deserialize_u128
        deserialize_f32 deserialize_f64 deserialize_char deserialize_str deserialize_string deserialize_bytes
        deserialize_byte_buf deserialize_unit deserialize_identifier deserialize_ignored_any
    }

    fn deserialize_unit_struct<V: Visitor<'de>>(self, name: &'static str, visitor: V) -> Result<V::Value, D::Error> {
        self.inner.deserialize_unit_struct(name, visitor)
    }

    fn deserialize_option<V: Visitor<'de>>(self, visitor: V) -> Result<V::Value, D::Error> {
        let visitor = self.around(visitor);
        self.inner.deserialize_option(visitor)
    }

    fn deserialize_newtype_struct<V: Visitor<'de>>(self, name: &'static str, visitor: V) -> Result<V::Value, D::Error> {
        let visitor = self.around(visitor);
        self.inner.deserialize_newtype_struct(name, visitor)
    }

    fn deserialize_seq<V: Visitor<'de>>(self, visitor: V) -> Result<V::Value, D::Error> {
        let visitor = self.around(visitor);
        self.inner.deserialize_seq(visitor)
    }

    fn deserialize_tuple<V: Visitor<'de>>(self, len: usize, visitor: V) -> Result<V::Value, D::Error> {
        let visitor = self.around(visitor);
        self.inner.deserialize_tuple(len, visitor)
    }

    fn deserialize_tuple_struct<V: Visitor<'de>>(
        self,
        name: &'static str,
        len: usize,
        visitor: V,
    ) -> Result<V::Value, D::Error> {
        let visitor = self.around(visitor);
        self.inner.deserialize_tuple_struct(name, len, visitor)
    }

    fn deserialize_map<V: Visitor<'de>>(self, visitor: V) -> Result<V::Value, D::Error> {
        let visitor = self.around(visitor);
        self.inner.deserialize_map(visitor)
    }

    fn deserialize_struct<V: Visitor<'de>>(
        self,
        name: &'static str,
        fields: &'static [&'static str],
        visitor: V,
    ) -> Result<V::Value, D::Error> {
        let deeper = self.deeper()?;
        let visitor = deeper.around(visitor);
        deeper.inner.deserialize_struct(name, fields, visitor)
    }

    fn deserialize_enum<V: Visitor<'de>>(
        self,
        name: &'static str,
        variants: &'static [&'static str],
        visitor: V,
    ) -> Result<V::Value, D::Error> {
        let deeper = self.deeper()?;
        let visitor = deeper.around(visitor);
        deeper.inner.deserialize_enum(name, variants, visitor)
    }

    fn is_human_readable(&self) -> bool {
        self.inner.is_human_readable()
    }
}

impl<'de, V: Visitor<'de>> Visitor<'de> for Guard<'_, V> {
    type Value = V::Value;

    fn expecting(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        self.inner.expecting(f)
    }

    fn visit_none<E: Error>(self) -> Result<V::Value, E> {
        self.inner.visit_none()
    }

    fn visit_unit<E: Error>(self) -> Result<V::Value, E> {
        self.inner.visit_unit()
    }

    fn visit_some<D: Deserializer<'de>>(self, inner: D) -> Result<V::Value, D::Error> {
        let inner = self.around(inner);
        self.inner.visit_some(inner)
    }

    fn visit_newtype_struct<D: Deserializer<'de>>(self, inner: D) -> Result<V::Value, D::Error> {
        let inner = self.around(inner);
        self.inner.visit_newtype_struct(inner)
    }

    fn visit_seq<A: SeqAccess<'de>>(self, inner: A) -> Result<V::Value, A::Error> {
        let inner = self.around(inner);
        self.inner.visit_seq(inner)
    }

    fn visit_map<A: MapAccess<'de>>(self, inner: A) -> Result<V::Value, A::Error> {
        let inner = self.around(inner);
        self.inner.visit_map(inner)
    }

    fn visit_enum<A: EnumAccess<'de>>(self, inner: A) -> Result<V::Value, A::Error> {
        let inner = self.around(inner);
        self.inner.visit_enum(inner)
    }
}

impl<'de, S: DeserializeSeed<'de>> DeserializeSeed<'de> for Guard<'_, S> {
    type Value = S::Value;

    fn deserialize<D: Deserializer<'de>>(self, inner: D) -> Result<S::Value, D::Error> {
        let inner = self.around(inner);
        self.inner.deserialize(inner)
    }
}

impl<'de, A: SeqAccess<'de>> SeqAccess<'de> for Guard<'_, A> {
    type Error = A::Error;

    fn next_element_seed<S: DeserializeSeed<'de>>(&mut self, seed: S) -> Result<Option<S::Value>, A::Error> {
        let seed = self.around(seed);
        self.inner.next_element_seed(seed)
    }

    fn size_hint(&self) -> Option<usize> {
        self.inner.size_hint()
    }
}

impl<'de, A: MapAccess<'de>> MapAccess<'de> for Guard<'_, A> {
    type Error = A::Error;

    fn next_key_seed<S: DeserializeSeed<'de>>(&mut self, seed: S) -> Result<Option<S::Value>, A::Error> {
        let seed = self.around(seed);
        self.inner.next_key_seed(seed)
    }

    fn next_value_seed<S: DeserializeSeed<'de>>(&mut self, seed: S) -> Result<S::Value, A::Error> {
        let seed = self.around(seed);
        self.inner.next_value_seed(seed)
    }

    fn size_hint(&self) -> Option<usize> {
        self.inner.size_hint()
    }
}

impl<'g, 'de, A: EnumAccess<'de>> EnumAccess<'de> for Guard<'g, A> {
    type Error = A::Error;
    type Variant = Guard<'g, A::Variant>;

    fn variant_seed<S: DeserializeSeed<'de>>(self, seed: S) -> Result<(S::Value, Guard<'g, A::Variant>), A::Error> {
        let seed = self.around(seed);
        let (left, exceeded) = (self.left, self.exceeded);
        let (value, inner) = self.inner.variant_seed(seed)?;
        Ok((value, Guard { inner, left, exceeded }))
    }
}

impl<'de, A: VariantAccess<'de>> VariantAccess<'de> for Guard<'_, A> {
    type Error = A::Error;

    fn unit_variant(self) -> Result<(), A::Error> {
        self.inner.unit_variant()
    }

    fn newtype_variant_seed<S: DeserializeSeed<'de>>(self, seed: S) -> Result<S::Value, A::Error> {
        let seed = self.around(seed);
        self.inner.newtype_variant_seed(seed)
    }

    fn tuple_variant<V: Visitor<'de>>(self, len: usize, visitor: V) -> Result<V::Value, A::Error> {
        let visitor = self.around(visitor);
        self.inner.tuple_variant(len, visitor)
    }

    fn struct_variant<V: Visitor<'de>>(
        self,
        fields: &'static [&'static str],
        visitor: V,
    ) -> Result<V::Value, A::Error> {
        let visitor = self.around(visitor);
        self.inner.struct_variant(fields, visitor)
    }
}

#[cfg(test)]
mod tests {
    use std::collections::BTreeMap;

    use serde::Serialize;
    use serde::de::DeserializeOwned;

    use super::*;
    use crate::plan_file::SectionKind;
    use crate::plan_file::error::Damage;
    use crate::plan_file::record::{decode, encode};
    use crate::schema::{Block, NestedBlock, Nesting};
    use crate::types::Type;
    use crate::value::formula::TypeDefaults;
    use crate::value::{PlainValue, Value};

    /// The default stack size of a thread, which tests use too.
    const STACK: usize = 2 << 20;

    fn on_a_usual_stack(work: impl FnOnce() + Send + 'static) {
        let thread = std::thread::Builder::new().stack_size(STACK).spawn(work).expect("a thread");
        thread.join().expect("no panic");
    }

    /// The bytes of `count` levels that each begin with `level`, around `inner`.
    fn nested(level: &[u8], count: usize, inner: &[u8]) -> Vec<u8> {
        level.iter().copied().cycle().take(level.len() * count).chain(inner.iter().copied()).collect()
    }

    fn refused<T: DeserializeOwned>(bytes: &[u8]) {
        let found = decode::<T>(SectionKind::Changes, bytes).map(drop);
        assert_eq!(found, Err(Damage::TooDeep(SectionKind::Changes)));
    }

    #[test]
    fn nesting_beyond_the_limit_is_refused() {
        on_a_usual_stack(|| {
            let value = encode(SectionKind::Changes, &PlainValue::Tuple(vec![PlainValue::Bool(true)])).expect("bytes");
            let [tuple, one, inner @ ..] = value.as_slice() else { panic!("{value:?}") };
            refused::<Value>(&nested(&[*tuple, *one], 1_000_000, inner));
            let list = encode(SectionKind::Changes, &Type::list(Type::Bool)).expect("bytes");
            refused::<Type>(&nested(&list[..1], 1_000_000, &list[1..]));
        });
    }

    #[test]
    fn records_at_the_limit_fit_the_stack() {
        fn both_ways<T: Serialize + DeserializeOwned + PartialEq + fmt::Debug>(record: &T) {
            let bytes = encode(SectionKind::Changes, record).expect("bytes");
            let read: T = decode(SectionKind::Changes, &bytes).expect("a record");
            assert!(read == *record);
            // Formatting must not overflow the stack either.
            assert!(!format!("{read:?}").is_empty());
        }
        on_a_usual_stack(|| {
            let deepest = DEEPEST_NESTING as usize - 1;
            let value = (0..crate::value::DEEPEST_VALUE - 1).fold(Value::bool(true), |v, _| Value::tuple(vec![v]));
            both_ways(&value);
            assert!(encode(SectionKind::Changes, &Value::tuple(vec![value])).is_err());
            both_ways(&(0..deepest).fold(Type::Bool, |t, _| Type::list(t)));
            both_ways(&(0..deepest / 2).fold(Type::Bool, |t, _| Type::object([("a", t)])));
            both_ways(&(0..deepest / 2).fold(Block::default(), |block, _| {
                let block = NestedBlock { block, nesting: Nesting::Single, min_items: 0, max_items: 0 };
                Block { blocks: BTreeMap::from([("a".into(), block)]), ..Block::default() }
            }));
            both_ways(&(0..deepest).fold(TypeDefaults::default(), |defaults, _| TypeDefaults {
                children: BTreeMap::from([("a".into(), defaults)]),
                ..TypeDefaults::default()
            }));
        });
    }
}
