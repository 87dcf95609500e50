//! Texts with errors: the first error of each kind is reported at its position, and the valid parts around it remain in
//! the tree.

use std::sync::Arc;

use weft_graph_format::diagnostic::Diagnostic;
use weft_graph_format::source::Position;
use weft_syntax::{Body, ExprKind, parse_bytes, parse_expression, parse_file};

/// `line:column-line:column summary`
fn lines(found: &[Diagnostic]) -> Vec<String> {
    let place = |diagnostic: &Diagnostic| match &diagnostic.subject {
        Some(at) => format!("{}:{}-{}:{}", at.start.line, at.start.column, at.end.line, at.end.column),
        None => "nowhere".to_owned(),
    };
    found.iter().map(|diagnostic| format!("{} {}", place(diagnostic), diagnostic.summary)).collect()
}

fn names(body: &Body) -> Vec<&str> {
    body.attributes.iter().map(|attribute| attribute.name.text.as_str()).collect()
}

#[test]
fn wrong_tokens_are_reported_once_and_items_are_kept() {
    let text = "a = [1 2]\nb = {x y}\nc = f(1,,2)\nd = \"${1 2}\"\ne = 1\nf\ng = ]\nh = 2\n";
    let (tree, found) = parse_file("x", Arc::from(text));
    assert_eq!(lines(&found), ["1:8-1:9 Missing item separator", "6:1-6:2 Argument or block definition required",]);
    assert_eq!(names(tree.root_body()), ["a", "b", "c", "d", "e", "g", "h"]);
}

#[test]
fn an_unclosed_bracket_extends_to_the_end() {
    let text = "blk {\n  a = [1, 2\n  b = 3\n}\nc = (1\nd = {\n x = 1\ne = 2\nf = [1 2]\n";
    let (tree, found) = parse_file("x", Arc::from(text));
    let summaries: Vec<_> = found.iter().map(|found| found.summary.as_str()).collect();
    assert_eq!(summaries, ["Missing item separator"]);
    let body = tree.root_body();
    assert!(names(body).is_empty());
    assert_eq!(names(tree.body(body.blocks[0].body)), ["a"]);
}

#[test]
fn blocks_survive_errors_inside() {
    let text = "a {\n  x = 1 2\n  y = }\nb \"${1}\" {\n  z = 1\n}\nc\n{\n  w = 1\n}\nd { u = 1, v = 2 }\ne {\n";
    let (tree, found) = parse_file("x", Arc::from(text));
    assert_eq!(
        lines(&found),
        [
            "2:9-2:10 Missing newline after argument",
            "4:4-4:6 Invalid string literal",
            "7:1-7:2 Argument or block definition required",
            "11:10-11:11 Invalid single-argument block definition",
        ]
    );
    let body = tree.root_body();
    let types: Vec<_> = body.blocks.iter().map(|block| block.block_type.text.as_str()).collect();
    assert_eq!(types, ["a", "d", "e"]);
    let first = tree.body(body.blocks[0].body);
    assert_eq!(names(first), ["x", "y"]);
    assert_eq!(names(tree.body(first.blocks[0].body)), ["z"]);
}

#[test]
fn equal_attributes_keep_the_first() {
    let (tree, found) = parse_file("x", Arc::from("a = 1\na = 2\nb = 3\n"));
    assert_eq!(lines(&found), ["2:1-2:2 Attribute redefined"]);
    assert_eq!(names(tree.root_body()), ["a", "b"]);
    assert_eq!(tree.text(tree.root_body().attributes[0].span), "a = 1");
}

#[test]
fn invalid_utf_8_is_reported() {
    let (_, found) = parse_bytes("x", b"a = 1\nb = \"\xff\"\n");
    assert_eq!(lines(&found), ["2:6-2:7 Invalid character encoding"]);
    assert!(parse_bytes("x", "a = \"é\"\n".as_bytes()).1.is_empty());
}

#[test]
fn a_byte_order_mark_takes_no_column() {
    let (tree, found) = parse_file("x", Arc::from("\u{feff}a = 1 2\n"));
    assert_eq!(lines(&found), ["1:7-1:8 Missing newline after argument"]);
    assert_eq!(tree.tokens().first().map(|token| token.span.len()), Some(3));
    assert_eq!(parse_file("x", Arc::from("a = \u{feff}1\n")).1.len(), 2);
}

#[test]
fn positions_are_relative_to_the_start_of_the_text() {
    let start = Position { byte: 50, line: 4, column: 9 };
    let (_, found) = parse_expression("x", Arc::from("1 +\n * 2"), start);
    assert_eq!(lines(&found), ["5:2-5:3 Invalid expression"]);
    let (_, found) = parse_expression("x", Arc::from("1 1"), start);
    assert_eq!(lines(&found), ["4:11-4:12 Extra characters after expression"]);
}

#[test]
fn holes_mark_missing_parts() {
    let (expression, found) = parse_expression("x", Arc::from("a ? b"), Position::START);
    assert_eq!(lines(&found), ["1:6-1:6 Missing false expression in conditional"]);
    let ExprKind::Conditional { otherwise, .. } = expression.kind() else { panic!("{:?}", expression.kind()) };
    assert!(matches!(expression.child(*otherwise).kind(), ExprKind::Error));
}
