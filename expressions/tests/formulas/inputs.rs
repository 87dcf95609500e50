//! The inputs of expressions: values that differ between plan and apply.

use std::collections::BTreeMap;

use weft_graph_format::formula::Formula;
use weft_graph_format::graph::OperationId;
use weft_graph_format::marks::Marks;
use weft_graph_format::origin::Origin;
use weft_graph_format::path::{Path, ValueStep};
use weft_graph_format::types::Type;
use weft_graph_format::value::{Refinement, Value};

use crate::generate::Choices;

/// Inputs by operation number: the name, and the value at apply. Inputs whose names start with `provisional.` are
/// provisional: known at plan, with a different value at apply.
pub type Inputs = BTreeMap<u32, (&'static str, Value)>;

/// Chooses the value of each input at apply.
pub fn results(c: &mut Choices<'_>) -> Inputs {
    let values = vec![
        ("text", word(c)),
        ("secret", word(c).mark(&Marks::SENSITIVE)),
        ("number", digit(c)),
        ("truth", Value::bool(c.of(2) == 1)),
        ("list", words(c)),
        ("secret_list", words(c).mark(&Marks::SENSITIVE)),
        ("set", Value::set(Type::String, words(c).as_items().unwrap_or_default().to_vec())),
        ("map", digits(c)),
        ("object", object(c)),
        ("objects", objects(c)),
        ("map_of_objects", Value::map(object_type(), [("k".into(), object(c))].into())),
        ("nested", nested(c)),
        ("tuple", Value::tuple(vec![word(c), digit(c)])),
        ("any", any(c)),
        ("nullable", if c.of(2) == 1 { Value::null(Type::String) } else { word(c) }),
        ("null_number", if c.of(2) == 1 { Value::null(Type::Number) } else { digit(c) }),
        ("range", Value::string(c.one(&["10.1.0.0/16", "192.168.1.7/32", "fd00::/64", "no range"]))),
        ("time", Value::string(c.one(&["2024-02-29T12:00:00Z", "1970-01-01T00:00:00+05:30", "no time"]))),
        ("json", Value::string(c.one(&["{\"name\": 1, \"a\": [true, null]}", "[]", "12", "\"s\"", "no: [json"]))),
        ("template", Value::string(c.one(&["<${name}>", "%{ if on }${name}%{ endif }", "${", "${upper(other)}"]))),
        ("provisional.text", word(c)),
        ("provisional.number", digit(c)),
        ("provisional.truth", Value::bool(c.of(2) == 1)),
        ("provisional.list", words(c)),
        ("provisional.map", digits(c)),
    ];
    values.into_iter().enumerate().map(|(at, (name, value))| (at as u32, (name, value))).collect()
}

fn word(c: &mut Choices<'_>) -> Value {
    Value::string(c.one(&["a", "b", "12", "a-b", "", "greet", "hello.txt", "true", "é/x"]))
}

fn digit(c: &mut Choices<'_>) -> Value {
    Value::int([1, 0, 2, -1, 30][c.of(5)])
}

fn words(c: &mut Choices<'_>) -> Value {
    let count = c.of(4);
    Value::list(Type::String, (0..count).map(|_| word(c)).collect())
}

fn digits(c: &mut Choices<'_>) -> Value {
    let entries = ["a", "b"].iter().filter(|_| c.of(3) > 0).map(|k| ((*k).into(), Value::int(3))).collect();
    Value::map(Type::Number, entries)
}

fn object(c: &mut Choices<'_>) -> Value {
    Value::object([("name", word(c)), ("size", digit(c))])
}

fn object_type() -> Type {
    Type::object([("name", Type::String), ("size", Type::Number)])
}

fn objects(c: &mut Choices<'_>) -> Value {
    let count = c.of(3);
    Value::list(object_type(), (0..count).map(|_| object(c)).collect())
}

fn nested(c: &mut Choices<'_>) -> Value {
    let sizes = Value::list(Type::Number, vec![digit(c)]);
    Value::object([("deep", object(c)), ("names", words(c)), ("sizes", sizes)])
}

fn any(c: &mut Choices<'_>) -> Value {
    match c.of(8) {
        0 => word(c),
        1 => digit(c),
        2 => words(c),
        3 => object(c),
        4 => Value::null(Type::Dynamic),
        5 => digits(c),
        6 => Value::tuple(vec![word(c), Value::bool(true)]),
        _ => Value::bool(false),
    }
}

/// The planned value of an input: its formula and origin, and for provisional inputs a different value.
pub fn planned(at: u32, name: &str, value: &Value) -> Value {
    let operation = OperationId(at);
    let (bare, marks) = value.unmark();
    let ty = if name == "any" { Type::Dynamic } else { bare.ty() };
    let formula = Formula::result(operation, Path::ROOT, ty.clone());
    let origin = Origin::after(operation);
    let part = |path: Path, ty: Type| {
        let formula = Formula::result(operation, path, ty.clone());
        Value::refined(ty, Refinement::not_null()).with_formula(Some(formula)).add_origin(Some(&origin))
    };
    let named = |path: &Path| {
        Value::object([
            ("name", part(path.attribute("name"), Type::String)),
            ("size", part(path.attribute("size"), Type::Number)),
        ])
    };
    let provisional = |here: Value| weft_expressions::symbolic::replace_formulas(&here, &formula);
    let here = match name {
        "provisional.text" => provisional(Value::string("a")),
        "provisional.number" => provisional(Value::int(1)),
        "provisional.truth" => provisional(Value::bool(true)),
        "provisional.list" => provisional(Value::list(Type::String, vec![Value::string("a")])),
        "provisional.map" => provisional(Value::map(Type::Number, [("a".into(), Value::int(1))].into())),
        // Partly known: only leaves have formulas.
        "object" => return named(&Path::ROOT),
        "tuple" => {
            return Value::tuple(vec![
                part(Path::ROOT.with(ValueStep::Index(0)), Type::String),
                part(Path::ROOT.with(ValueStep::Index(1)), Type::Number),
            ]);
        }
        "nested" => {
            return Value::object([
                ("deep", named(&Path::ROOT.attribute("deep"))),
                ("names", part(Path::ROOT.attribute("names"), Type::list(Type::String))),
                ("sizes", {
                    let sizes = Path::ROOT.attribute("sizes");
                    Value::list(Type::Number, vec![part(sizes.with(ValueStep::Index(0)), Type::Number)])
                }),
            ]);
        }
        "nullable" | "null_number" | "any" => Value::unknown(ty).with_formula(Some(formula)),
        _ => Value::refined(ty, Refinement::not_null()).with_formula(Some(formula)),
    };
    here.mark(&marks).add_origin(Some(&origin))
}
