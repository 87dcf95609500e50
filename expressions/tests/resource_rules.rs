//! Tests the rules on resource values with a small schema.

use std::collections::BTreeMap;

use weft_expressions::resource_rules::{
    attribute_above, ignore_changes, plan_problems, prior_for_ignoring_all, proposed_new, replace_paths,
    result_problems,
};
use weft_graph_format::path::{Path, ValueStep};
use weft_graph_format::schema::{Attribute, Block, NestedAttributes, NestedBlock, Nesting};
use weft_graph_format::types::Type;
use weft_graph_format::value::{Entries, Refinement, Value};

fn attribute(ty: Type, flags: &str) -> Attribute {
    Attribute {
        required: flags.contains('r'),
        optional: flags.contains('o'),
        computed: flags.contains('c'),
        sensitive: flags.contains('s'),
        write_only: flags.contains('w'),
        ..Attribute::new(ty)
    }
}

fn nested_block() -> Block {
    Block {
        attributes: BTreeMap::from([
            ("port".into(), attribute(Type::Number, "r")),
            ("id".into(), attribute(Type::String, "c")),
        ]),
        ..Block::default()
    }
}

fn schema() -> Block {
    let nested = |nesting| NestedBlock { block: nested_block(), nesting, min_items: 0, max_items: 0 };
    let details = NestedAttributes {
        attributes: BTreeMap::from([
            ("size".into(), attribute(Type::Number, "o")),
            ("arn".into(), attribute(Type::String, "c")),
        ]),
        nesting: Nesting::Single,
    };
    let mut with_details = attribute(details.implied_type(), "oc");
    with_details.nested = Some(Box::new(details));
    Block {
        attributes: BTreeMap::from([
            ("id".into(), attribute(Type::String, "c")),
            ("name".into(), attribute(Type::String, "r")),
            ("zone".into(), attribute(Type::String, "oc")),
            ("tags".into(), attribute(Type::map(Type::String), "o")),
            ("password".into(), attribute(Type::String, "os")),
            ("token".into(), attribute(Type::String, "ow")),
            ("details".into(), with_details),
        ]),
        blocks: BTreeMap::from([("rule".into(), nested(Nesting::List)), ("peer".into(), nested(Nesting::Set))]),
        ..Block::default()
    }
}

fn element(port: i64, id: Option<&str>) -> Value {
    let id = id.map_or_else(|| Value::null(Type::String), Value::string);
    Value::object([("port", Value::int(port)), ("id", id)])
}

/// An object of the schema in which all other attributes are null.
fn object(given: &[(&str, Value)]) -> Value {
    let base = weft_expressions::resource_rules::all_null(&schema());
    let mut fields = base.as_fields().map(Entries::to_map).unwrap_or_default();
    for (name, value) in given {
        fields.insert((*name).into(), value.clone());
    }
    Value::object(fields)
}

fn elements(set: bool, items: Vec<Value>) -> Value {
    let ty = nested_block().implied_type();
    if set { Value::set(ty, items) } else { Value::list(ty, items) }
}

fn at(value: &Value, name: &str) -> Value {
    value.at_path(&Path::ROOT.attribute(name)).expect("an attribute")
}

fn null() -> Value {
    Value::null(schema().implied_type())
}

fn text(value: &str) -> Value {
    Value::string(value)
}

#[test]
fn unset_computed_attributes_keep_their_prior_values() {
    let prior = object(&[
        ("id", text("i-1")),
        ("name", text("a")),
        ("zone", text("z")),
        ("rule", elements(false, vec![element(1, Some("r-1")), element(2, Some("r-2"))])),
        ("peer", elements(true, vec![element(1, Some("p-1")), element(2, Some("p-2"))])),
    ]);
    let config = object(&[
        ("name", text("b")),
        ("rule", elements(false, vec![element(9, None)])),
        ("peer", elements(true, vec![element(2, None), element(3, None)])),
    ]);
    let proposed = proposed_new(&schema(), &prior, &config);
    assert_eq!(at(&proposed, "id"), text("i-1"));
    assert_eq!(at(&proposed, "name"), text("b"));
    assert_eq!(at(&proposed, "zone"), text("z"));
    assert_eq!(at(&proposed, "rule"), elements(false, vec![element(9, Some("r-1"))]));
    assert_eq!(at(&proposed, "peer"), elements(true, vec![element(2, Some("p-2")), element(3, None)]));
    assert_eq!(proposed_new(&schema(), &null(), &config), config);
}

#[test]
fn a_nested_attribute_removed_from_the_configuration_is_not_kept() {
    let details = |size: Option<i64>, arn: &str| {
        let size = size.map_or_else(|| Value::null(Type::Number), Value::int);
        Value::object([("size", size), ("arn", text(arn))])
    };
    let config = object(&[("name", text("a"))]);
    let configured = object(&[("name", text("a")), ("details", details(Some(1), "x"))]);
    assert!(at(&proposed_new(&schema(), &configured, &config), "details").is_null());
    let computed = object(&[("name", text("a")), ("details", details(None, "x"))]);
    assert_eq!(at(&proposed_new(&schema(), &computed, &config), "details"), details(None, "x"));
}

#[test]
fn a_plan_may_only_set_computed_attributes() {
    let config = object(&[("name", text("a")), ("password", text("p"))]);
    let fine = object(&[("name", text("a")), ("password", text("p")), ("id", Value::unknown(Type::String))]);
    assert_eq!(plan_problems(&schema(), &null(), &config, &fine), []);
    for (bad, message) in [
        (
            object(&[("name", text("b")), ("password", text("p"))]),
            ".name: planned value \"b\" does not match config value \"a\"",
        ),
        (
            object(&[("name", text("a")), ("password", text("q"))]),
            ".password: sensitive planned value does not match config value",
        ),
        (
            object(&[("name", text("a")), ("password", text("p")), ("token", text("t"))]),
            ".token: planned value for a write-only attribute must be null",
        ),
        (
            object(&[("name", text("a")), ("password", text("p")), ("rule", elements(false, vec![element(1, None)]))]),
            ".rule: block count in plan (1) disagrees with count in config (0)",
        ),
        (null(), "planned for absence but config wants existence"),
    ] {
        let problems = plan_problems(&schema(), &null(), &config, &bad);
        assert_eq!(problems.iter().map(ToString::to_string).collect::<Vec<_>>(), [message]);
    }
    // The provider considers both values equivalent.
    let prior = object(&[("name", text("A")), ("password", text("p"))]);
    assert_eq!(plan_problems(&schema(), &prior, &config, &prior), []);
}

#[test]
fn a_result_keeps_the_planned_values() {
    let planned = object(&[
        ("name", text("a")),
        ("id", Value::refined(Type::String, Refinement::with_prefix("i-"))),
        ("password", text("p")),
        ("peer", elements(true, vec![element(1, None)])),
    ]);
    let result = |id: &str, password: &str| {
        object(&[
            ("name", text("a")),
            ("id", text(id)),
            ("password", text(password)),
            ("peer", elements(true, vec![element(1, None)])),
        ])
    };
    let told = |actual: &Value| {
        result_problems(&schema(), &planned, actual).iter().map(ToString::to_string).collect::<Vec<_>>()
    };
    assert!(told(&result("i-7", "p")).is_empty());
    assert_eq!(told(&result("x-7", "p")), [".id: final value does not conform to the planning placeholder"]);
    assert_eq!(told(&result("i-7", "q")), [".password: inconsistent values for sensitive attribute"]);
    assert_eq!(told(&null()), ["Root object was present, but now absent"]);
    let more = object(&[
        ("name", text("a")),
        ("id", text("i-1")),
        ("password", text("p")),
        ("peer", elements(true, vec![element(1, None), element(2, None)])),
    ]);
    assert_eq!(told(&more).len(), 2);
}

#[test]
fn replacement_needs_a_real_change() {
    let path = |name: &str| Path::ROOT.attribute(name);
    let prior = object(&[("name", text("a")), ("zone", text("z"))]);
    let planned = object(&[("name", text("b")), ("zone", text("z")), ("id", Value::unknown(Type::String))]);
    let found = replace_paths(&prior, &planned, &[path("name"), path("zone"), path("id"), path("none")]);
    assert_eq!(found.paths, [path("name"), path("id")]);
    assert_eq!(found.problems.len(), 1);
    assert!(replace_paths(&null(), &planned, &[path("name")]).paths.is_empty());
}

#[test]
fn ignored_changes_keep_the_prior_value() {
    let tags = |entries: &[(&str, &str)]| {
        Value::map(Type::String, entries.iter().map(|(k, v)| ((*k).into(), text(v))).collect())
    };
    let prior = object(&[("id", text("i")), ("name", text("a")), ("tags", tags(&[("x", "1"), ("y", "2")]))]);
    let config = object(&[("name", text("b")), ("tags", tags(&[("x", "9"), ("z", "3")]))]);
    let name = Path::ROOT.attribute("name");
    let tag = |key: &str| Path::ROOT.attribute("tags").with(ValueStep::Key(key.into()));
    let ignored = ignore_changes(&config, &prior, Some(&[name.clone(), tag("x"), tag("z")]));
    assert_eq!(at(&ignored, "name"), text("a"));
    assert_eq!(at(&ignored, "tags"), tags(&[("x", "1")]));
    assert_eq!(ignore_changes(&config, &null(), Some(&[name])), config);
    let all = ignore_changes(&config, &prior_for_ignoring_all(&schema(), &prior), None);
    assert!(at(&all, "id").is_null());
    assert_eq!(at(&all, "name"), text("a"));
}

#[test]
fn the_attribute_above_a_path_is_the_longest_prefix_in_the_schema() {
    let tags = attribute(Type::map(Type::String), "o");
    let rules = NestedBlock { block: nested_block(), nesting: Nesting::List, min_items: 0, max_items: 0 };
    let block = Block {
        attributes: BTreeMap::from([("any".into(), attribute(Type::Dynamic, "o")), ("tags".into(), tags)]),
        blocks: BTreeMap::from([("rule".into(), rules)]),
        ..Block::default()
    };
    let name = |name: &str| ValueStep::Attribute(name.into());
    let rule = || vec![name("rule"), ValueStep::Index(0)];
    for (path, want) in [
        (vec![name("any")], Some(1)),
        (vec![name("any"), ValueStep::Index(1), name("k")], Some(1)),
        (vec![name("tags"), ValueStep::Key("k".into())], Some(1)),
        (rule(), None),
        ([rule(), vec![name("port")]].concat(), Some(3)),
        ([rule(), vec![name("port"), name("x")]].concat(), Some(3)),
        (vec![name("none")], None),
    ] {
        let found = attribute_above(&block, &Path(path.clone())).map(|(_, path)| path.0.len());
        assert_eq!(found, want, "{path:?}");
    }
}
