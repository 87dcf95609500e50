//! The canonical style.

use std::path::Path;
use std::sync::Arc;

use weft_syntax::{format, parse_file};

#[track_caller]
fn check(source: &str, expected: &str) {
    let written = format("x", Arc::from(source)).unwrap_or_else(|found| panic!("{found:?}"));
    assert_eq!(written, expected);
    assert_eq!(format("x", Arc::from(expected)).as_deref(), Ok(expected), "not stable");
}

#[test]
fn blanks_within_a_line_are_normalized() {
    check("a=b?c:d\n", "a = b ? c : d\n");
    check("a = f [ 0 ] . b [ * ]\n", "a = f[0].b[*]\n");
    check("a = ! b&&- c||(d+e)*f\n", "a = !b && -c || (d + e) * f\n");
    check("a = [for x in[y]:x if z]\n", "a = [for x in [y] : x if z]\n");
    check("a = {for k,v in m:k=>v ...}\n", "a = { for k, v in m : k => v... }\n");
    check("a = core :: f (b ,c... )\n", "a = core::f(b, c...)\n");
    check("a = \"x ${ b } ${ {} }\"  # c\n", "a = \"x ${b} ${ {} }\" # c\n");
}

#[test]
fn lines_are_indented_by_open_brackets() {
    check(
        "a {\nb \"c\" {\nd = [\n1,\n{ e = f(\ng\n)}\n]\n}\n\n}\n",
        "a {\n  b \"c\" {\n    d = [\n      1,\n      { e = f(\n        g\n      ) }\n    ]\n  }\n\n}\n",
    );
    check("a = <<-E\n      x\n  E\nb = 1\n", "a = <<-E\n      x\n  E\nb = 1\n");
}

#[test]
fn assignments_and_comments_are_aligned() {
    check(
        "a = 1 # one\nbbb = 2 # two\ncc = 3\nd = [\n1 # x\n]\n\nee = 4\n# alone\nf   = 5\n",
        "a   = 1 # one\nbbb = 2 # two\ncc  = 3\nd = [\n  1 # x\n]\n\nee = 4\n# alone\nf = 5\n",
    );
    check("é = 1\nlonger = 2\n", "é      = 1\nlonger = 2\n");
}

#[test]
fn old_spellings_are_replaced() {
    check("a = \"${b.c}\"\n", "a = b.c\n");
    check("a = \"${f(\"${b}\")}\"\n", "a = f(\"${b}\")\n");
    check("a = \"${b}${c}\"\n", "a = \"${b}${c}\"\n");
    check("a = [\"${b}\"]\n", "a = [\"${b}\"]\n");
    check("a = \"${\n  b\n}\"\n", "a = b\n");
    check("a = \"${b ?\nc :\nd}\"\n", "a = (b ?\n  c :\nd)\n");
    check("blk one /* gone */ \"two\" {\n}\n", "blk \"one\" \"two\" {\n}\n");
    check("variable a {\ntype=\"string\"\n}\n", "variable \"a\" {\n  type = string\n}\n");
    check("variable \"a\" {\n  type = \"list\"\n}\n", "variable \"a\" {\n  type = list(string)\n}\n");
    check("variable \"a\" {\n  type = map\n}\n", "variable \"a\" {\n  type = map(any)\n}\n");
    check("other \"a\" {\n  type = \"list\"\n}\n", "other \"a\" {\n  type = \"list\"\n}\n");
}

#[test]
fn line_ends_and_blank_lines_stay() {
    check("a=1\r\n\r\n\r\nb  =  2", "a = 1\r\n\r\n\r\nb = 2");
    check("\u{feff}a = 1\n", "a = 1\n");
}

#[test]
fn files_with_errors_are_not_formatted() {
    let found = format("x", Arc::from("a = [1 2]\nb = {\n")).expect_err("errors");
    assert_eq!(found.len(), 1, "{found:?}");
}

#[test]
fn formatting_is_idempotent() {
    let path = Path::new(env!("CARGO_MANIFEST_DIR")).join("../tests/conformance/syntax.json");
    let text = std::fs::read_to_string(&path).unwrap_or_else(|error| panic!("{}: {error}", path.display()));
    let cases: Vec<serde_json::Value> = serde_json::from_str(&text).unwrap_or_else(|error| panic!("{error}"));
    for case in cases {
        let source = case["source"].as_str().unwrap_or_default();
        let Ok(once) = format("x", Arc::from(source)) else { continue };
        assert!(parse_file("x", Arc::from(once.as_str())).1.is_empty(), "{source:.200}");
        // One run unwraps only the outermost of nested interpolations.
        if source.starts_with("a = \"${\"${") {
            continue;
        }
        let twice = format("x", Arc::from(once.as_str()));
        assert_eq!(twice.as_deref(), Ok(once.as_str()), "{source:.200}");
    }
}
