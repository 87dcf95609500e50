//! Values of any shape, often awkward values.

use std::collections::BTreeMap;

use smol_str::SmolStr;
use unicode_normalization::UnicodeNormalization;
use weft_graph_format::marks::Marks;
use weft_graph_format::number::Number;
use weft_graph_format::types::Type;
use weft_graph_format::value::{Refinement, Value};

use crate::random::Random;

const TEXTS: &[&str] = &[
    "",
    "a",
    "b",
    "key",
    "é",
    "e\u{301}",
    "\u{0}",
    "\n",
    "a\nb\n",
    "true",
    "null",
    "1",
    "-1.5",
    "0x",
    "1e400",
    "%s",
    "%d%v",
    "%5.2f",
    "%[9]s",
    "%*d",
    "[1, 2]",
    "{\"a\": [1, {\"b\": null}]}",
    "a: [1, &x b, *x]\n",
    "- a\n- b\n",
    "a,b\n1,2\n",
    "${a}",
    "%{ for x in a }${x}%{ endfor }",
    "10.0.0.0/8",
    "10.1.2.3",
    "::1/64",
    "fd00::/8",
    "255.255.255.255/32",
    "2020-01-31T23:59:59Z",
    "2020-01-31T23:59:60+14:00",
    "YYYY-MM-DD'x'",
    "1h2m",
    "-99999h",
    "(a)(?P<n>b)?",
    "/a(b)*/",
    "[[:alpha:]]+",
    "a{1,1000}",
    "\\pL",
    "aGVsbG8=",
    "H4sIAAAAAAAA/8tIzcnJBwCGphA2BQAAAA==",
    "%zz%41+",
    "utf-8",
    "UTF-16LE",
    "shift_jis",
    "dns",
    "../x",
    "~/x",
    "/",
    "a/b/../c",
    "🦀",
    "\u{1f468}\u{200d}\u{1f469}\u{200d}\u{1f467}",
    "ǆ",
    "ß",
    "\u{feff}",
    "  a  ",
];

const NUMBERS: &[&str] = &[
    "0",
    "1",
    "-1",
    "2",
    "10",
    "0.1",
    "-0.5",
    "255",
    "256",
    "1e3",
    "1e30",
    "-1e30",
    "1e-30",
    "1e19000",
    "1e-19000",
    "9223372036854775807",
    "9223372036854775808",
    "-9223372036854775808",
    "18446744073709551615",
    "0.30000000000000004",
    "1e400",
    "3.999999999999999999999999999999",
];

fn scalar(random: &mut Random) -> Value {
    match random.below(10) {
        0 => Value::null(Type::Dynamic),
        1 => Value::bool(random.once_in(2)),
        2 => Value::null(random.one(&[Type::String, Type::Number, Type::Bool, Type::list(Type::String)]).clone()),
        3..=5 => Number::parse(random.pick(NUMBERS)).map_or_else(|_| Value::int(7), Value::number),
        6 if random.once_in(4) => Value::number(Number::infinity(random.once_in(2))),
        _ => Value::string(random.pick(TEXTS)),
    }
}

/// Any value. With `unknowns`, its parts may be unknown or marked.
pub fn any(random: &mut Random, depth: usize, unknowns: bool) -> Value {
    let value = if depth == 0 || random.once_in(2) {
        scalar(random)
    } else {
        let count = random.below(4);
        let items: Vec<Value> = match random.below(2) {
            // Elements of one type, so that they can form a list.
            0 => (0..count).map(|_| Value::string(random.pick(TEXTS))).collect(),
            _ => (0..count).map(|_| any(random, depth - 1, unknowns)).collect(),
        };
        // Names are in Unicode normal form everywhere.
        let keys: Vec<SmolStr> = items.iter().map(|_| random.pick(TEXTS).nfc().collect()).collect();
        let first = items.first().map_or(Type::Dynamic, Value::ty);
        let alike = items.iter().all(|item| item.ty() == first);
        match random.below(5) {
            0 => Value::tuple(items),
            1 if alike => Value::list(first, items),
            2 if alike => Value::set(first, items),
            3 if alike => {
                let entries: BTreeMap<_, _> = keys.into_iter().zip(items).collect();
                Value::map(first, entries)
            }
            _ => Value::object(keys.into_iter().zip(items)),
        }
    };
    if !unknowns {
        return value;
    }
    match random.below(24) {
        0 => Value::unknown(value.ty()),
        1 => Value::refined(value.ty(), Refinement::not_null()),
        2 => Value::unknown(Type::Dynamic),
        3 => value.mark(&Marks::SENSITIVE),
        _ => value,
    }
}
