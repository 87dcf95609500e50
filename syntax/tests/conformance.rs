//! The recorded conformance cases: which texts parse, and the first error of those that do not.

use std::path::Path;
use std::sync::Arc;

use serde_json::Value;
use unicode_normalization::UnicodeNormalization;
use weft_graph_format::source::Position;
use weft_syntax::{Tree, parse_expression, parse_file};

/// The summaries of errors that are found without evaluation.
const SYNTAX_ERRORS: [&str; 27] = [
    "Extra characters after expression",
    "Extra characters after interpolation expression",
    "Extra characters in else marker",
    "Extra characters in for marker",
    "Extra characters in if marker",
    "Invalid 'for' directive",
    "Invalid 'for' expression",
    "Invalid character",
    "Invalid escape sequence",
    "Invalid expression",
    "Invalid legacy index syntax",
    "Invalid multi-line string",
    "Invalid number literal",
    "Missing argument separator",
    "Missing attribute separator",
    "Missing closing parenthesis",
    "Missing expression",
    "Missing function name",
    "Missing item separator",
    "Missing key/value separator",
    "Unbalanced parentheses",
    "Unclosed template interpolation sequence",
    "Unexpected else directive",
    "Unexpected end of template",
    "Unexpected endfor directive",
    "Unexpected endif directive",
    "Unsupported operator",
];

fn cases(file: &str) -> Vec<Value> {
    let path = Path::new(env!("CARGO_MANIFEST_DIR")).join("../tests/conformance").join(file);
    let text = std::fs::read_to_string(&path).unwrap_or_else(|error| panic!("{}: {error}", path.display()));
    serde_json::from_str(&text).unwrap_or_else(|error| panic!("{}: {error}", path.display()))
}

fn text(tree: &Tree) -> String {
    tree.tokens().iter().map(|token| tree.text(token.span)).collect()
}

#[test]
fn recorded_files_parse_as_recorded() {
    let mut wrong = Vec::new();
    let cases = cases("syntax.json");
    assert!(cases.len() >= 175);
    for case in &cases {
        let source = case["source"].as_str().unwrap_or_default();
        let (tree, found) = parse_file("case.tf", Arc::from(source));
        assert_eq!(text(&tree), source);
        let first = found.first().map(|diagnostic| diagnostic.summary.as_str());
        let expected = case["first_error"].as_str();
        let count = case["errors"].as_u64().unwrap_or_default();
        if found.is_empty() != case["valid"].as_bool().unwrap_or_default()
            || found.len() as u64 != count
            || first != expected
        {
            let summaries: Vec<_> = found.iter().map(|diagnostic| &diagnostic.summary).collect();
            wrong.push(format!("{}: {source:.100?}: {count} {expected:?}, found {summaries:?}", case["name"]));
        }
    }
    assert!(wrong.is_empty(), "{} wrong:\n{}", wrong.len(), wrong.join("\n"));
}

#[test]
fn recorded_expressions_parse_as_recorded() {
    let mut wrong = Vec::new();
    let mut syntax_errors = 0;
    let mut literals = 0;
    for case in cases("expressions.json") {
        let source = case["expr"].as_str().unwrap_or_default();
        let (expression, found) = parse_expression("case", Arc::from(source), Position::START);
        assert_eq!(text(&expression.tree), source);
        if let (Some(literal), Some(json)) = (expression.as_string_literal(), case["json"].as_str()) {
            let value: Value = serde_json::from_str(json).unwrap_or_default();
            assert_eq!(value.as_str(), Some(literal.nfc().collect::<String>().as_str()), "{source:?}");
            literals += 1;
        }
        let recorded = case["error"]["summary"].as_str();
        let template = matches!(case["topic"].as_str(), Some("fn:templatefile" | "fn:templatestring"));
        // These functions parse texts of their own at run time.
        let expected = recorded.filter(|summary| SYNTAX_ERRORS.contains(summary) && !template);
        syntax_errors += usize::from(expected.is_some());
        if found.first().map(|diagnostic| diagnostic.summary.as_str()) != expected {
            let summaries: Vec<_> = found.iter().map(|diagnostic| &diagnostic.summary).collect();
            wrong.push(format!("{source:?}: {recorded:?}, found {summaries:?}"));
        }
    }
    assert!(wrong.is_empty(), "{} wrong:\n{}", wrong.len(), wrong.join("\n"));
    assert!(syntax_errors > 100, "only {syntax_errors} cases with syntax errors");
    assert!(literals > 70, "only {literals} string literals");
}
