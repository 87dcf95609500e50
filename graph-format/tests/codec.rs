//! Compares the codecs with bytes that cty wrote, and checks laws that hold for all values.

#[path = "codec/laws.rs"]
mod laws;

use std::collections::BTreeMap;

use proptest::collection::{btree_map, vec};
use proptest::prelude::*;
use smol_str::SmolStr;
use weft_graph_format::codec::{DecodeProblem, EncodeProblem, MAX_DEPTH, json, msgpack, type_json};
use weft_graph_format::marks::Marks;
use weft_graph_format::number::{Number, NumberError};
use weft_graph_format::path::{Path, ValueStep};
use weft_graph_format::types::{ObjectType, Type};
use weft_graph_format::value::{Refinement, Value};

fn number(text: &str) -> Value {
    Value::number(Number::parse(text).unwrap())
}

fn strings(items: &[&str]) -> Vec<Value> {
    items.iter().map(Value::string).collect()
}

fn hex(bytes: &[u8]) -> String {
    bytes.iter().map(|byte| format!("{byte:02x}")).collect()
}

/// Encodes, compares and decodes a value.
fn golden(value: Value, ty: Type, expected: &str) {
    let bytes = msgpack::encode(&value, &ty).unwrap();
    assert_eq!(hex(&bytes), expected.replace(' ', ""), "{value:?}");
    assert_eq!(msgpack::decode(&bytes, &ty).unwrap(), value, "{value:?}");
}

#[test]
fn primitives_are_encoded_as_msgpack() {
    golden(Value::string("hello"), Type::String, "a5 68656c6c6f");
    golden(Value::string(""), Type::String, "a0");
    golden(Value::string("x".repeat(32)), Type::String, &format!("d9 20 {}", "78".repeat(32)));
    golden(Value::string("x".repeat(256)), Type::String, &format!("da 0100 {}", "78".repeat(256)));
    golden(Value::null(Type::String), Type::String, "c0");
    golden(Value::bool(true), Type::Bool, "c3");
    golden(Value::bool(false), Type::Bool, "c2");
    for (text, expected) in [
        ("0", "00"),
        ("127", "7f"),
        ("128", "cc 80"),
        ("256", "cd 0100"),
        ("65536", "ce 00010000"),
        ("4294967296", "cf 0000000100000000"),
        ("9223372036854775807", "cf 7fffffffffffffff"),
        ("-1", "ff"),
        ("-32", "e0"),
        ("-33", "d0 df"),
        ("-129", "d1 ff7f"),
        ("-32769", "d2 ffff7fff"),
        ("-2147483649", "d3 ffffffff7fffffff"),
        ("-9223372036854775808", "d3 8000000000000000"),
        ("0.5", "cb 3fe0000000000000"),
        ("-1.5", "cb bff8000000000000"),
        ("0.8", "a3 302e38"),
        ("9223372036854775808", "b3 39323233333732303336383534373735383038"),
        ("Inf", "cb 7ff0000000000000"),
        ("-Inf", "cb fff0000000000000"),
    ] {
        golden(number(text), Type::Number, expected);
    }
    // The sign of zero is not encoded.
    assert_eq!(hex(&msgpack::encode(&number("-0"), &Type::Number).unwrap()), "00");
}

#[test]
fn containers_are_encoded_as_msgpack() {
    let list = Type::list(Type::String);
    golden(Value::list(Type::String, strings(&["b", "a"])), list.clone(), "92 a162 a161");
    golden(Value::list(Type::String, Vec::new()), list.clone(), "90");
    golden(Value::null(list.clone()), list, "c0");
    golden(Value::set(Type::String, strings(&["b", "a", "b"])), Type::set(Type::String), "92 a161 a162");
    let numbers = ["10", "9", "-1"].map(number).to_vec();
    golden(Value::set(Type::Number, numbers), Type::set(Type::Number), "93 ff 09 0a");
    let map = BTreeMap::from([("z".into(), Value::bool(true)), ("a".into(), Value::null(Type::Bool))]);
    golden(Value::map(Type::Bool, map), Type::map(Type::Bool), "82 a161 c0 a17a c3");
    let object = Value::object([("b", Value::int(1)), ("a", Value::string("x"))]);
    golden(object, Type::object([("a", Type::String), ("b", Type::Number)]), "82 a161 a178 a162 01");
    golden(Value::empty_object(), Type::object::<SmolStr>([]), "80");
    let tuple = Value::tuple(vec![Value::int(1), Value::bool(true)]);
    golden(tuple, Type::tuple([Type::Number, Type::Bool]), "92 01 c3");
    let many = Value::list(Type::Number, (0..16).map(Value::int).collect());
    golden(many, Type::list(Type::Number), "dc 0010 000102030405060708090a0b0c0d0e0f");
}

#[test]
fn dynamic_values_are_encoded_as_msgpack() {
    golden(Value::string("a"), Type::Dynamic, "92 c408 22737472696e6722 a161");
    golden(Value::null(Type::Dynamic), Type::Dynamic, "c0");
    golden(Value::unknown(Type::Dynamic), Type::Dynamic, "d4 00 00");
    golden(Value::null(Type::Bool), Type::Dynamic, "92 c406 22626f6f6c22 c0");
    golden(Value::unknown(Type::Bool), Type::Dynamic, "92 c406 22626f6f6c22 d40000");
    let inside = Value::object([("a", Value::int(1))]);
    golden(inside, Type::object([("a", Type::Dynamic)]), "81 a161 92 c408 226e756d62657222 01");
    // If the element type is dynamic, the elements determine it. Nulls get the type of the others.
    let list = Type::list(Type::Dynamic);
    let items = vec![Value::string("a"), Value::null(Type::String)];
    let bytes = msgpack::encode(&Value::list(Type::String, items.clone()), &list).unwrap();
    assert_eq!(msgpack::decode(&bytes, &list).unwrap(), Value::list(Type::String, items));
    let mixed = [0x92, 0x92, 0xc4, 6, b'"', b'b', b'o', b'o', b'l', b'"', 0xc3, 0x92, 0xc4, 8];
    let mixed = [&mixed[..], b"\"string\"\xa1a"].concat();
    assert_eq!(msgpack::decode(&mixed, &list).unwrap_err().problem, DecodeProblem::MixedElements);
}

#[test]
fn unknown_values_are_encoded_as_msgpack() {
    let unknown = |ty: Type, refinement: Refinement| Value::refined(ty, refinement);
    golden(Value::unknown(Type::String), Type::String, "d4 00 00");
    golden(unknown(Type::String, Refinement::not_null()), Type::String, "c7 03 0c 81 01c2");
    let prefixed = Refinement::with_prefix("foo-");
    golden(unknown(Type::String, prefixed.clone()), Type::String, "c7 09 0c 82 01c2 02a4666f6f2d");
    let nullable = Refinement { not_null: false, ..prefixed };
    golden(unknown(Type::String, nullable), Type::String, "c7 07 0c 81 02a4666f6f2d");
    let bound = |text: &str, inclusive| Some((Number::parse(text).unwrap(), inclusive));
    let range = Refinement { not_null: true, min: bound("1", true), max: bound("2.5", false), ..Refinement::default() };
    golden(unknown(Type::Number, range), Type::Number, "c7 13 0c 83 01c2 03 92 01 c3 04 92 cb4004000000000000 c2");
    let lengths = Refinement { length_min: 200, ..Refinement::default() };
    golden(unknown(Type::set(Type::Bool), lengths), Type::set(Type::Bool), "d6 0c 81 05 ccc8");
    let lengths = Refinement { not_null: true, length_min: 1, length_max: Some(3), ..Refinement::default() };
    golden(unknown(Type::map(Type::Bool), lengths), Type::map(Type::Bool), "c7 07 0c 83 01c2 0501 0603");
    // An unknown value in a container, and an unknown value without a type where a type is expected.
    let list = Type::list(Type::String);
    golden(Value::list(Type::String, vec![Value::unknown(Type::String)]), list.clone(), "91 d40000");
    assert_eq!(hex(&msgpack::encode(&Value::unknown(Type::Dynamic), &list).unwrap()), "d40000");
    // As in cty, any short extension is an unknown value.
    assert_eq!(msgpack::decode(&[0xc7, 0, 5], &Type::Bool).unwrap(), Value::unknown(Type::Bool));
    // A refinement of a dynamic value is ignored.
    assert_eq!(msgpack::decode(&[0xc7, 3, 12, 0x81, 1, 0xc2], &Type::Dynamic).unwrap(), Value::unknown(Type::Dynamic));
    // Known to be null after all. Keys of later versions are skipped.
    assert_eq!(msgpack::decode(&[0xc7, 3, 12, 0x81, 1, 0xc3], &Type::Bool).unwrap(), Value::null(Type::Bool));
    let later = [0xc7, 9, 12, 0x82, 9, 0x93, 1, 0x81, 2, 3, 0xc0, 1];
    assert!(msgpack::decode(&later, &Type::Bool).is_err());
    let later = [0xc7, 10, 12, 0x82, 9, 0x93, 1, 0x81, 2, 3, 0xc0, 1, 0xc2];
    let not_null = Value::refined(Type::Bool, Refinement::not_null());
    assert_eq!(msgpack::decode(&later, &Type::Bool).unwrap(), not_null);
}

#[test]
fn long_prefixes_are_cut_at_a_safe_character() {
    for (text, kept) in [
        ("a".repeat(300), 254),
        (format!("{}/", "a".repeat(300)), 254),
        (format!("{}/{}", "a".repeat(254), "b".repeat(50)), 255),
        (format!("{}{}", "a".repeat(200), "é".repeat(100)), 199),
        ("é".repeat(300), 0),
        ("a".repeat(256), 256),
    ] {
        let value = Value::refined(Type::String, Refinement::with_prefix(text.as_str()));
        let bytes = msgpack::encode(&value, &Type::String).unwrap();
        let read = msgpack::decode(&bytes, &Type::String).unwrap();
        let prefix = read.refinement().unwrap().prefix.clone();
        assert!(text.starts_with(prefix.as_str()));
        assert_eq!(prefix.len(), kept, "{text}");
    }
}

#[test]
fn invalid_msgpack_is_refused() {
    let object = Type::object([("a", Type::Bool)]);
    let cases: Vec<(Vec<u8>, Type, DecodeProblem)> = vec![
        (vec![], Type::Bool, DecodeProblem::Truncated),
        (vec![0xc3, 0xc3], Type::Bool, DecodeProblem::Trailing),
        (vec![0xa1, b'a'], Type::Bool, DecodeProblem::Required("a bool")),
        (vec![0xc3], Type::Number, DecodeProblem::Required("a number")),
        (vec![0xa1, b'x'], Type::Number, DecodeProblem::Number(NumberError::NotANumber)),
        (vec![0xcb, 0x7f, 0xf8, 0, 0, 0, 0, 0, 0], Type::Number, DecodeProblem::Required("a number")),
        (b"\xab1e999999999".to_vec(), Type::Number, DecodeProblem::Number(NumberError::OutOfRange)),
        (vec![0xa1, 0xff], Type::String, DecodeProblem::NotUtf8),
        (vec![0xdd, 0xff, 0xff, 0xff, 0xff], Type::list(Type::Bool), DecodeProblem::Truncated),
        (vec![0xdf, 0xff, 0xff, 0xff, 0xff, 0xa0], Type::map(Type::Bool), DecodeProblem::Truncated),
        (vec![0xdb, 0xff, 0xff, 0xff, 0xff, 0xa0], Type::String, DecodeProblem::Truncated),
        (vec![0x91, 0xc3], Type::tuple([]), DecodeProblem::TupleLength { wanted: 0, found: 1 }),
        (vec![0x80], object.clone(), DecodeProblem::AttributeCount { wanted: 1, found: 0 }),
        (vec![0x81, 0xa1, b'b', 0xc3], object, DecodeProblem::UnsupportedAttribute("b".into())),
        (vec![0xd5, 7, 0, 0], Type::Bool, DecodeProblem::Refinement("unknown extension")),
        (vec![0xc7, 4, 12, 0x81, 2, 0xa1, b'x'], Type::Bool, DecodeProblem::Refinement("unsuitable for the type")),
        (
            vec![0xc7, 5, 12, 0x82, 5, 3, 6, 2],
            Type::list(Type::Bool),
            DecodeProblem::Refinement("no length within the bounds"),
        ),
    ];
    for (bytes, ty, problem) in cases {
        assert_eq!(msgpack::decode(&bytes, &ty).unwrap_err().problem, problem, "{}", hex(&bytes));
    }
    let error = msgpack::decode(&[0x92, 0xc3, 0x05], &Type::list(Type::Bool)).unwrap_err();
    assert_eq!(error.path, Path(vec![ValueStep::Index(1)]));
    assert_eq!(error.to_string(), "at [1]: a bool is required");
}

#[test]
fn nesting_is_limited() {
    let text = |depth: usize| format!("{}{}", "[".repeat(depth), "]".repeat(depth));
    assert!(json::decode_implied(text(MAX_DEPTH).as_bytes()).is_ok());
    for depth in [MAX_DEPTH + 1, 1_000_000] {
        let error = json::decode_implied(text(depth).as_bytes()).unwrap_err();
        assert_eq!(error.problem, DecodeProblem::TooDeep);
    }
    let lists = format!("{}\"string\"{}", "[\"list\",".repeat(100_000), "]".repeat(100_000));
    assert_eq!(type_json::decode(lists.as_bytes()).unwrap_err().problem, DecodeProblem::TooDeep);
    // A dynamic value in a dynamic value, and so on.
    let step: &[u8] = b"\x92\xc4\x09\"dynamic\"";
    assert_eq!(msgpack::decode(&step.repeat(100_000), &Type::Dynamic).unwrap_err().problem, DecodeProblem::TooDeep);
    // A refinement that must be skipped.
    let mut deep = vec![0xc8, 3, 0xf2, 12, 0x81, 9];
    deep.extend([0x91; 1007]);
    deep.push(0xc0);
    assert_eq!(msgpack::decode(&deep, &Type::Bool).unwrap_err().problem, DecodeProblem::TooDeep);
    let mut value = Value::bool(true);
    for _ in 0..MAX_DEPTH {
        value = Value::tuple(vec![value]);
    }
    assert_eq!(json::encode_plain(&value).unwrap_err().problem, EncodeProblem::TooDeep);
    assert_eq!(msgpack::encode(&value, &value.ty()).unwrap_err().problem, EncodeProblem::TooDeep);
}

#[test]
fn encoders_refuse_marked_and_unsuitable_values() {
    let list = Type::list(Type::String);
    let marked = Value::list(Type::String, vec![Value::string("a").mark(&Marks::SENSITIVE)]);
    for error in [
        msgpack::encode(&marked, &list).unwrap_err(),
        json::encode(&marked, &list).unwrap_err(),
        json::encode_plain(&marked).unwrap_err(),
    ] {
        assert_eq!((error.problem, error.path), (EncodeProblem::Marked, Path(vec![ValueStep::Index(0)])));
    }
    let error = json::encode(&Value::unknown(Type::Bool), &Type::Bool).unwrap_err();
    assert_eq!(error.problem, EncodeProblem::Unknown);
    let error = json::encode_plain(&number("Inf")).unwrap_err();
    assert_eq!(error.problem, EncodeProblem::Infinity);
    for (value, ty) in [
        (Value::int(1), Type::String),
        (Value::set(Type::Bool, Vec::new()), Type::list(Type::Bool)),
        (Value::tuple(vec![]), Type::tuple([Type::Bool])),
        (Value::empty_object(), Type::object([("a", Type::Bool)])),
        (Value::object([("b", Value::bool(true))]), Type::object([("a", Type::Bool)])),
    ] {
        for error in [msgpack::encode(&value, &ty).unwrap_err(), json::encode(&value, &ty).unwrap_err()] {
            assert!(matches!(error.problem, EncodeProblem::WrongType { .. }), "{value:?}");
        }
    }
    assert!(msgpack::encode(&Value::unknown(Type::Bool), &Type::String).is_err());
}

#[test]
fn values_have_the_json_text_of_go() {
    let object = Value::object([
        ("b", Value::string("<>&\u{2028}\u{2029}\"\\/\u{8}\u{c}\n\r\t\u{0}\u{1f}\u{7f}é😀")),
        ("a", Value::null(Type::Bool)),
        ("<", number("1e21")),
    ]);
    assert_eq!(
        json::encode_plain(&object).unwrap(),
        "{\"\\u003c\":1000000000000000000000,\"a\":null,\"b\":\"\\u003c\\u003e\\u0026\\u2028\\u2029\\\"\\\\/\
         \\b\\f\\n\\r\\t\\u0000\\u001f\u{7f}é😀\"}"
    );
    assert_eq!(json::encode_plain(&number("-0")).unwrap(), "-0");
    let dynamic = Type::map(Type::Dynamic);
    let map = Value::map(Type::Number, BTreeMap::from([("k".into(), Value::int(1))]));
    let text = json::encode(&map, &dynamic).unwrap();
    assert_eq!(text, "{\"k\":{\"value\":1,\"type\":\"number\"}}");
    assert_eq!(json::decode(text.as_bytes(), &dynamic).unwrap(), map);
    assert_eq!(json::encode(&Value::null(Type::Dynamic), &Type::Dynamic).unwrap(), "null");
    assert_eq!(json::encode(&Value::null(Type::Bool), &Type::Dynamic).unwrap(), "{\"value\":null,\"type\":\"bool\"}");
}

#[test]
fn json_is_decoded_by_its_type() {
    let read = |text: &str, ty: &Type| json::decode(text.as_bytes(), ty);
    let object = Type::object([("a", Type::Bool), ("b", Type::String)]);
    let half = Value::object([("a", Value::bool(true)), ("b", Value::null(Type::String))]);
    assert_eq!(read("{\"a\":\"1\"}", &object).unwrap(), half);
    assert_eq!(read("\"1.50\"", &Type::Number).unwrap(), number("1.5"));
    assert_eq!(read("1.50", &Type::String).unwrap(), Value::string("1.50"));
    assert_eq!(read("true", &Type::String).unwrap(), Value::string("true"));
    assert_eq!(read("null", &Type::list(Type::Bool)).unwrap(), Value::null(Type::list(Type::Bool)));
    let third = number("1").as_number().unwrap().div(&Number::from_i64(3)).unwrap();
    assert_eq!(read(&third.to_string(), &Type::Number).unwrap(), Value::number(third));
    for (text, ty, problem) in [
        ("{\"c\":1}", &object, DecodeProblem::UnsupportedAttribute("c".into())),
        ("[1]", &Type::Bool, DecodeProblem::Required("a bool")),
        ("\"yes\"", &Type::Bool, DecodeProblem::Required("a bool")),
        ("[]", &Type::tuple([Type::Bool]), DecodeProblem::TupleLength { wanted: 1, found: 0 }),
        ("{\"value\":1}", &Type::Dynamic, DecodeProblem::Required("the type of a dynamically-typed value")),
        ("{\"type\":\"bool\"}", &Type::Dynamic, DecodeProblem::Required("the value of a dynamically-typed value")),
        ("{\"type\":\"boo\"}", &Type::Dynamic, DecodeProblem::Type("no such primitive type")),
        ("1e99999999", &Type::Number, DecodeProblem::Number(NumberError::OutOfRange)),
    ] {
        assert_eq!(read(text, ty).unwrap_err().problem, problem, "{text}");
    }
}

#[test]
fn json_without_a_type_is_decoded() {
    for (text, expected) in [
        ("-1.5", "-1.5"),
        ("1E+2", "100"),
        ("\"\\ud83d\"", "\"\u{fffd}\""),
        ("\"\\ud83d\\ude00\"", "\"😀\""),
        ("\"\\ud83d\\u0041\"", "\"\u{fffd}A\""),
        ("\"\\n\\t\\\"\\\\\\/\"", "\"\\n\\t\\\"\\\\/\""),
        ("[[],[[]]]", "[[],[[]]]"),
        ("{\"a\":1,\"a\":2}", "{\"a\":2}"),
        ("{\"b\":1,\"a\":null}", "{\"a\":null,\"b\":1}"),
        ("\"e\u{301}\"", "\"é\""),
        ("\n1\n", "1"),
        ("0e0", "0"),
        ("-0.0", "-0"),
        ("123456789012345678901234567890", "123456789012345678901234567890"),
    ] {
        let value = json::decode_implied(text.as_bytes()).unwrap();
        assert_eq!(json::encode_plain(&value).unwrap(), expected, "{text}");
    }
    let ty = json::implied_type(b"{\"a\":[1,null],\"b\":\"\"}").unwrap();
    assert_eq!(ty.to_string(), "object({a=tuple([number,dynamic]),b=string})");
    // The recorded messages.
    for (text, message) in [
        ("", "EOF"),
        ("zz", "invalid character 'z' looking for beginning of value"),
        ("[1 2]", "invalid character '2' after array element"),
        ("01", "extraneous data after JSON object"),
        (".5", "invalid character '.' looking for beginning of value"),
        ("1.", "unexpected EOF"),
        ("\"\\x41\"", "invalid character 'x' in string escape code"),
        ("\"\t\"", "invalid character '\\t' in string literal"),
        ("{\"a\":}", "invalid character '}' looking for beginning of value"),
        ("1 2", "extraneous data after JSON object"),
        ("[1,]", "invalid character ']' looking for beginning of value"),
    ] {
        assert_eq!(json::decode_implied(text.as_bytes()).unwrap_err().to_string(), message, "{text}");
    }
    let error = json::decode_implied(b"{\"a\":1,\"a\":\"x\"}").unwrap_err();
    assert_eq!(error.problem, DecodeProblem::DuplicateAttribute("a".into()));
    assert!(json::decode_implied(b"\xef\xbb\xbf1").is_err());
}

#[test]
fn types_are_encoded_as_json() {
    let mut optional =
        ObjectType { attributes: [("b".into(), Type::Bool), ("a".into(), Type::Dynamic)].into(), ..Default::default() };
    optional.optional.insert("b".into());
    for (ty, text) in [
        (Type::Dynamic, "\"dynamic\""),
        (Type::list(Type::set(Type::map(Type::Number))), "[\"list\",[\"set\",[\"map\",\"number\"]]]"),
        (Type::tuple([Type::String, Type::Bool]), "[\"tuple\",[\"string\",\"bool\"]]"),
        (Type::tuple([]), "[\"tuple\",[]]"),
        (Type::object([("b", Type::Bool), ("<", Type::Bool)]), "[\"object\",{\"\\u003c\":\"bool\",\"b\":\"bool\"}]"),
        (Type::Object(optional.into()), "[\"object\",{\"a\":\"dynamic\",\"b\":\"bool\"},[\"b\"]]"),
    ] {
        assert_eq!(type_json::encode(&ty), text);
        assert_eq!(type_json::decode(text.as_bytes()).unwrap(), ty);
    }
    for text in
        ["", "1", "\"int\"", "[]", "[\"list\"]", "[\"list\",\"bool\",1]", "[\"object\",{},[\"a\"]]", "[\"tuple\",{}]"]
    {
        assert!(type_json::decode(text.as_bytes()).is_err(), "{text}");
    }
}
