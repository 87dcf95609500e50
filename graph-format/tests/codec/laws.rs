//! Laws that hold for all values, types and bytes.

use super::*;

/// Types without dynamic parts in collections. All elements of such a collection would have to agree on their type.
fn any_type() -> impl Strategy<Value = Type> {
    let leaf = prop_oneof![Just(Type::Bool), Just(Type::Number), Just(Type::String)];
    let concrete = leaf.prop_recursive(3, 12, 3, |inner| {
        prop_oneof![
            inner.clone().prop_map(Type::list),
            inner.clone().prop_map(Type::set),
            inner.clone().prop_map(Type::map),
            vec(inner.clone(), 0..3).prop_map(Type::tuple),
            btree_map("[a-zé<]{1,3}", inner, 0..3).prop_map(Type::object),
        ]
    });
    prop_oneof![
        concrete.clone(),
        Just(Type::Dynamic),
        concrete.prop_map(|ty| Type::object([("d", Type::Dynamic), ("t", ty)])),
    ]
}

fn value_of(ty: &Type, unknowns: bool) -> BoxedStrategy<Value> {
    let known: BoxedStrategy<Value> = match ty {
        Type::Dynamic => {
            let of_type = any_type().prop_filter("has a type", |ty| !ty.has_dynamic());
            return of_type.prop_flat_map(move |ty| value_of(&ty, unknowns)).boxed();
        }
        // References to providers cannot be encoded.
        Type::Provider(_) => Just(Value::null(ty.clone())).boxed(),
        Type::Bool => any::<bool>().prop_map(Value::bool).boxed(),
        Type::Number => prop_oneof![
            any::<i64>().prop_map(Value::int),
            any::<u64>().prop_map(|n| Value::number(n.into())),
            "-?[1-9][0-9]{0,30}(\\.[0-9]{1,30})?(e-?[0-9]{1,2})?".prop_map(|text| number(&text)),
        ]
        .boxed(),
        Type::String => prop_oneof!["[a-z<>&]{0,40}", "\\PC{0,5}"].prop_map(Value::string).boxed(),
        Type::List(element) => {
            let element = (**element).clone();
            vec(value_of(&element, unknowns), 0..4).prop_map(move |items| Value::list(element.clone(), items)).boxed()
        }
        Type::Set(element) => {
            let element = (**element).clone();
            vec(value_of(&element, unknowns), 0..4).prop_map(move |items| Value::set(element.clone(), items)).boxed()
        }
        Type::Map(element) => {
            let element = (**element).clone();
            btree_map("[a-z]{0,3}", value_of(&element, unknowns), 0..4)
                .prop_map(move |m| Value::map(element.clone(), m.into_iter().map(|(k, v)| (k.into(), v)).collect()))
                .boxed()
        }
        Type::Tuple(types) => {
            let parts: Vec<_> = types.iter().map(|ty| value_of(ty, unknowns)).collect();
            parts.prop_map(Value::tuple).boxed()
        }
        Type::Object(object) => {
            let names: Vec<SmolStr> = object.attributes.keys().cloned().collect();
            let parts: Vec<_> = object.attributes.values().map(|ty| value_of(ty, unknowns)).collect();
            parts.prop_map(move |parts| Value::object(names.iter().cloned().zip(parts))).boxed()
        }
    };
    let null = Just(Value::null(ty.clone()));
    if !unknowns {
        return prop_oneof![8 => known, 1 => null].boxed();
    }
    let refined = {
        let ty = ty.clone();
        (any::<bool>(), 0u64..3, 0u64..300, "[a-z-]{0,9}").prop_map(move |(not_null, low, more, prefix)| {
            let mut refinement = Refinement { not_null, ..Refinement::default() };
            match &ty {
                Type::String => refinement.prefix = prefix.into(),
                Type::Number => refinement.min = Some((Number::from(low), more % 2 == 0)),
                Type::Set(_) | Type::Map(_) => {
                    refinement.length_min = low;
                    refinement.length_max = (more > 100).then_some(more);
                }
                _ => {}
            }
            Value::refined(ty.clone(), refinement)
        })
    };
    prop_oneof![8 => known, 1 => null, 1 => refined].boxed()
}

fn typed(unknowns: bool) -> impl Strategy<Value = (Type, Value)> {
    any_type().prop_flat_map(move |ty| {
        let value = value_of(&ty, unknowns);
        (Just(ty), value)
    })
}

proptest! {
    #![proptest_config(ProptestConfig { failure_persistence: None, ..ProptestConfig::default() })]

    #[test]
    fn msgpack_round_trips((ty, value) in typed(true)) {
        let bytes = msgpack::encode(&value, &ty).unwrap();
        let read = msgpack::decode(&bytes, &ty).unwrap();
        prop_assert_eq!(&read, &value);
        prop_assert_eq!(msgpack::encode(&read, &ty).unwrap(), bytes);
    }

    #[test]
    fn json_round_trips((ty, value) in typed(false)) {
        let text = json::encode(&value, &ty).unwrap();
        prop_assert_eq!(&json::decode(text.as_bytes(), &ty).unwrap(), &value);
        // Without a type, the result is JSON too, and decoding and encoding does not change it.
        let plain = json::encode_plain(&value).unwrap();
        let free = json::decode_implied(plain.as_bytes()).unwrap();
        prop_assert_eq!(json::encode_plain(&free).unwrap(), plain);
    }

    #[test]
    fn types_round_trip_as_json(ty in any_type()) {
        prop_assert_eq!(type_json::decode(type_json::encode(&ty).as_bytes()).unwrap(), ty);
    }

    #[test]
    fn json_agrees_with_serde_json(text in "[\\[\\]{}\",:0-9a-e\\\\. nul-]{0,24}") {
        let ours = json::decode_implied(text.as_bytes());
        let other = serde_json::from_str::<serde_json::Value>(&text);
        // This decoder also refuses equal keys with values of different types.
        match ours.as_ref().map_err(|error| &error.problem) {
            Err(DecodeProblem::DuplicateAttribute(_) | DecodeProblem::Number(_)) => {}
            ours => prop_assert_eq!(ours.is_ok(), other.is_ok(), "{}", text),
        }
    }

    #[test]
    fn damaged_msgpack_does_not_panic(
        (ty, value) in typed(true),
        changes in vec((any::<prop::sample::Index>(), any::<u8>()), 0..4),
        cut in any::<prop::sample::Index>(),
    ) {
        let mut bytes = msgpack::encode(&value, &ty).unwrap();
        for (at, byte) in changes {
            let at = at.index(bytes.len());
            bytes[at] = byte;
        }
        let _ = msgpack::decode(&bytes, &ty);
        let _ = msgpack::decode(&bytes[..cut.index(bytes.len() + 1)], &ty);
        let _ = msgpack::decode(&bytes, &Type::Dynamic);
    }

    #[test]
    fn any_bytes_do_not_panic(bytes in vec(any::<u8>(), 0..64), (ty, _) in typed(false)) {
        let _ = msgpack::decode(&bytes, &ty);
        let _ = json::decode(&bytes, &ty);
        let _ = json::decode_implied(&bytes);
        let _ = type_json::decode(&bytes);
    }
}
