//! Tests of attributes that are written as blocks, as providers of the older SDK allow.

use std::sync::Arc;

use super::is_legacy;
use crate::config::BodySource;
use crate::decode::decode;
use weft_expressions::console::BareScope;
use weft_graph_format::diagnostic::Diagnostic;
use weft_graph_format::schema::{Attribute, Block, NestedBlock, Nesting};
use weft_graph_format::types::Type;
use weft_graph_format::value::Value;

/// A rule with a port, addresses and nested notes, like the `ingress` of a security group.
fn schema(required: bool) -> Block {
    let note = Type::object([("text", Type::String)]);
    let rule = Type::object([("port", Type::Number), ("from", Type::list(Type::String)), ("notes", Type::set(note))]);
    let rules = Attribute { optional: !required, required, computed: !required, ..Attribute::new(Type::set(rule)) };
    let name = Attribute { optional: true, ..Attribute::new(Type::String) };
    Block { attributes: [("rules".into(), rules), ("name".into(), name)].into(), ..Block::default() }
}

fn decoded(text: &str, schema: &Block) -> (Value, Vec<Diagnostic>) {
    let (tree, problems) = weft_syntax::parse_file("main.tf", text.into());
    assert_eq!(problems, Vec::new());
    let Some(block) = tree.root_body().blocks.first() else { panic!("a block is wanted") };
    let source = BodySource {
        tree: tree.clone(),
        body: block.body,
        layers: Vec::new(),
        escaped: Vec::new(),
        taken_attributes: &[],
        taken_blocks: &[],
        range: tree.range(block.header_span),
    };
    decode(&source, schema, &BareScope::new())
}

fn same(blocks: &str, attribute: &str) {
    let (left, problems) = decoded(blocks, &schema(false));
    assert_eq!(problems, Vec::new(), "{blocks}");
    let (right, problems) = decoded(attribute, &schema(false));
    assert_eq!(problems, Vec::new(), "{attribute}");
    assert_eq!(left, right, "{blocks}");
    assert_eq!(left.ty(), schema(false).implied_type(), "{blocks}");
}

#[test]
fn blocks_are_elements_of_the_attribute() {
    same(
        "r {\n rules {\n port = 80\n }\n rules {\n port = \"443\"\n from = [\"x\"]\n }\n}",
        "r {\n rules = [{ port = 80, from = null, notes = null }, { port = 443, from = [\"x\"], notes = null }]\n}",
    );
}

#[test]
fn dynamic_blocks_are_elements_of_the_attribute() {
    same(
        "r {\n name = \"n\"\n dynamic \"rules\" {\n for_each = [1, 2]\n content {\n port = rules.value\n }\n }\n \
         rules {\n port = 3\n }\n}",
        "r {\n name = \"n\"\n rules = [for p in [1, 2, 3] : { port = p, from = null, notes = null }]\n}",
    );
}

#[test]
fn an_empty_dynamic_block_leaves_the_attribute_unset() {
    let none = "dynamic \"rules\" {\n for_each = []\n content {\n port = rules.value\n }\n }";
    same(&format!("r {{\n {none}\n}}"), "r {\n}");
    same(&format!("r {{\n {none}\n rules {{\n port = 3\n }}\n}}"), "r {\n rules {\n port = 3\n }\n}");
    assert_eq!(decoded(&format!("r {{\n {none}\n}}"), &schema(true)).1, Vec::new());
}

#[test]
fn nested_blocks_are_elements_of_the_nested_attribute() {
    same(
        "r {\n rules {\n port = 1\n notes {\n text = \"a\"\n }\n }\n}",
        "r {\n rules = [{ port = 1, from = null, notes = [{ text = \"a\" }] }]\n}",
    );
}

#[test]
fn blocks_satisfy_a_required_attribute() {
    assert_eq!(decoded("r {\n rules {\n port = 1\n }\n}", &schema(true)).1, Vec::new());
    let problems = decoded("r {\n}", &schema(true)).1;
    assert_eq!(problems.iter().map(|p| p.summary.as_str()).collect::<Vec<_>>(), ["Missing required argument"]);
}

#[test]
fn an_attribute_and_blocks_cannot_be_mixed() {
    let problems = decoded("r {\n rules = []\n rules {\n port = 1\n }\n}", &schema(false)).1;
    assert_eq!(problems.iter().map(|p| p.summary.as_str()).collect::<Vec<_>>(), ["Unsupported block type"]);
    let problems = decoded("r {\n rules {\n ports = 1\n }\n}", &schema(false)).1;
    assert_eq!(problems.iter().map(|p| p.summary.as_str()).collect::<Vec<_>>(), ["Unsupported argument"]);
}

#[test]
fn only_schemas_of_the_older_sdk_have_attributes_as_blocks() {
    let of = |ty: Type| {
        let mut schema = schema(false);
        schema.attributes.insert("extra".into(), Attribute { optional: true, ..Attribute::new(ty) });
        schema
    };
    let object = || Type::object([("text", Type::String)]);
    for (ty, want) in [
        (Type::String, true),
        (Type::list(object()), true),
        (Type::map(Type::list(Type::String)), true),
        (object(), false),
        (Type::Tuple(Arc::from([])), false),
        (Type::map(object()), false),
        (Type::list(Type::list(object())), false),
    ] {
        let schema = of(ty.clone());
        let inner = NestedBlock { block: schema.clone(), nesting: Nesting::List, min_items: 0, max_items: 0 };
        let outer = Block { blocks: [("inner".into(), inner)].into(), ..Block::default() };
        assert_eq!((is_legacy(&schema), is_legacy(&outer)), (want, want), "{ty:?}");
        let (_, problems) = decoded("r {\n rules {\n port = 80\n }\n}", &schema);
        assert_eq!(problems.is_empty(), want, "{ty:?}");
    }
}
