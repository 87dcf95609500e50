//! The JSON syntax: trees, errors, reading of bodies, size and depth, and malicious texts.

mod shape;

use std::sync::Arc;
use std::time::{Duration, Instant};

use proptest::prelude::*;
use weft_graph_format::diagnostic::Diagnostic;
use weft_syntax::{BodyId, BodyView, ExprKind, Expression, MAX_NESTING, NameRole, Syntax, Tree, parse_json_file};

use shape::shape_of;

/// The value of a whole text, which must be valid.
fn parsed(text: &str) -> Expression {
    let (tree, found) = parse_json_file("x.tf.json", Arc::from(text));
    assert!(found.is_empty(), "{text}: {found:?}");
    assert_eq!(tree.syntax(), Syntax::Json);
    tree.body_value(tree.root_id()).unwrap_or_else(|| panic!("{text} has a root"))
}

/// The value of the property `a`.
fn value(text: &str) -> Expression {
    let root = parsed(&format!("{{\"a\": {text}}}"));
    match root.as_map().as_deref() {
        Some([(_, value)]) => value.clone(),
        other => panic!("{text}: {other:?}"),
    }
}

/// `line:column-line:column` of a problem, with its summary.
fn described(problem: &Diagnostic) -> String {
    let range = problem.subject.as_ref().unwrap_or_else(|| panic!("{} has a place", problem.summary));
    let (start, end) = (range.start, range.end);
    format!("{}:{}-{}:{} {}", start.line, start.column, end.line, end.column, problem.summary)
}

fn all_described(problems: &[Diagnostic]) -> Vec<String> {
    problems.iter().map(described).collect()
}

#[test]
fn values_are_expressions() {
    for (text, expected) in [
        ("1", "1"),
        ("-1.5e+3", "-(1.5e+3)"),
        ("true", "true"),
        ("null", "null"),
        (r#""""#, "(tmpl)"),
        (r#""text""#, r#"(tmpl "text")"#),
        (r#""a\n\"b\"\u00e9""#, r#"(tmpl "a\n\"b\"é")"#),
        (r#""${a.b[0]}""#, "wrap(a.b[0])"),
        (r#""x ${a} y""#, r#"(tmpl "x " a " y")"#),
        (r#""$${a} %%{b}""#, r#"(tmpl "${a} %{b}")"#),
        (r#""$5 and 10%""#, r#"(tmpl "$5 and 10%")"#),
        (r#""%{ if a }b%{ else }c%{ endif }""#, r#"(tmpl if(a (tmpl "b") (tmpl "c")))"#),
        (r#""${f(\"x\", [for v in l : v])}""#, r#"wrap(f((tmpl "x") fortuple::v(l v)))"#),
        (r#"[1, "${a}", []]"#, "tuple(1 wrap(a) tuple())"),
        (r#"{"k-${a}": {"//": 1}}"#, r#"object(:((tmpl "k-" a) object(:((tmpl "//") 1))))"#),
        (r#""${""#, "!"),
    ] {
        assert_eq!(shape_of(&value(text)), expected, "{text}");
    }
}

#[test]
fn positions_are_those_of_the_file() {
    let text = "{\n  \"é\": [\"x\\t\\u00e9${var.long}\", \"${a ||}\"]\n}";
    let root = parsed(text);
    let items = root.as_map().and_then(|entries| entries[0].1.as_list()).unwrap_or_default();
    assert_eq!(items[0].text(), "\"x\\t\\u00e9${var.long}\"");
    let traversal = weft_syntax::references(&items[0])[0].clone();
    assert_eq!(root.tree.text(traversal.root.span), "var");
    assert_eq!(root.tree.text(traversal.steps[0].span), ".long");
    let start = root.tree.range(traversal.root.span).start;
    assert_eq!((start.line, start.column), (2, 21));
    // An invalid template is an error only where a template is expected.
    assert!(matches!(items[1].kind(), ExprKind::Error));
    assert_eq!(all_described(&items[1].template_problems()), ["2:40-2:41 Invalid expression"]);
    assert_eq!(items[1].as_json_string().as_deref(), Some("${a ||}"));
}

#[test]
fn strings_can_be_references_and_types() {
    let reference = value(r#""aws_x.y[\"k\"].z""#);
    let traversal = reference.as_traversal().unwrap_or_else(|| panic!("a traversal"));
    assert_eq!((traversal.root.text.as_str(), traversal.steps.len()), ("aws_x", 3));
    assert_eq!(reference.tree.text(traversal.steps[1].span), r#"[\"k\"]"#);
    assert_eq!(reference.tree.native_text(traversal.steps[1].span), r#"["k"]"#);
    assert_eq!(value(r#""all""#).as_keyword(), Some("all"));
    assert_eq!(value(r#""a b""#).as_keyword(), None);
    assert_eq!(value(r#""a b""#).as_traversal(), None);
    let inner = value(r#""list(object({a = optional(string, \"x\")}))""#).unquoted();
    let inner = inner.unwrap_or_else(|problems| panic!("{problems:?}"));
    assert_eq!(inner.as_call().map(|call| call.name.as_str()), Some("list"));
    assert_eq!(inner.range().start.column, 8);
    let wrong = value(r#""a[""#).unquoted().map(|inner| shape_of(&inner));
    assert_eq!(wrong.map_err(|problems| problems.len()), Err(1));
    // Strings of the native syntax within JSON strings have their usual meaning.
    let ExprKind::TemplateWrap { inner } = value(r#""${\"all\"}""#).kind().clone() else { panic!("an interpolation") };
    let inner = value(r#""${\"all\"}""#).child(inner);
    assert_eq!((inner.as_keyword(), inner.as_string_literal().as_deref()), (None, Some("all")));
}

#[test]
fn literals_are_not_templates() {
    let plain = value(r#"{"${a}": ["x", "${b} %{c}", {"k": "$${d}"}, -2, null]}"#).without_templates();
    assert_eq!(
        shape_of(&plain),
        concat!(
            r#"object(:((tmpl "${a}") tuple((tmpl "x") (tmpl "${b} %{c}") "#,
            r#"object(:((tmpl "k") (tmpl "$${d}"))) -(2) null)))"#
        )
    );
    assert!(weft_syntax::references(&plain).is_empty());
    assert_eq!(plain.range().start.column, 7);
}

#[test]
fn mistakes_are_reported_with_their_positions() {
    let mut wrong = Vec::new();
    for (text, expected) in [
        ("", &["1:1-1:1 Missing value", "1:1-1:1 Root value must be object"][..]),
        ("\"text\"", &["1:1-1:7 Root value must be object"]),
        ("{} x", &["1:4-1:5 Extraneous data after value"]),
        ("{\"a\": tru}", &["1:7-1:10 Invalid JSON keyword"]),
        ("{\"a\": NaN, \"b\": 01}", &["1:7-1:10 Invalid JSON keyword", "1:17-1:19 Invalid JSON number"]),
        ("{\"a\": 1,}", &["1:8-1:9 Trailing comma in object", "1:1-1:2 Root value must be object"]),
        (
            "{\"a\": [1,]}",
            &["1:9-1:10 Trailing comma in array", "1:10-1:11 Mismatched braces", "1:1-1:2 Root value must be object"],
        ),
        (
            "{\n  \"a\": {\"b\": 1\n  \"c\": 2},\n  \"d\": }",
            &["3:10-3:11 Missing attribute seperator comma", "4:8-4:9 Missing JSON value"],
        ),
        ("{\"a\" = 1}", &["1:6-1:7 Missing property value colon", "1:1-1:2 Root value must be object"]),
        ("{\"a\"}", &["1:5-1:6 Missing object value", "1:1-1:2 Root value must be object"]),
        ("{\"a\" 1}", &["1:6-1:7 Missing property value colon", "1:1-1:2 Root value must be object"]),
        (
            "{a: 1}",
            &[
                "1:2-1:3 Invalid JSON keyword",
                "1:2-1:3 Invalid object property name",
                "1:1-1:2 Root value must be object",
            ],
        ),
        ("{\"a\": [1 2]}", &["1:12-1:13 Missing attribute seperator comma"]),
        ("{\"a\": [\"b\": 1]}", &["1:15-1:16 Invalid array value"]),
        (
            "{\"a\": [1}",
            &["1:9-1:10 Mismatched brackets", "1:1-1:2 Unclosed object", "1:1-1:2 Root value must be object"],
        ),
        ("{\"a\": 1]", &["1:8-1:9 Mismatched braces", "1:1-1:2 Root value must be object"]),
        (
            "{\"a\": {\"b\": [1",
            &[
                "1:13-1:14 Unclosed object",
                "1:7-1:8 Unclosed object",
                "1:1-1:2 Unclosed object",
                "1:1-1:2 Root value must be object",
            ],
        ),
        ("{\"a\": \"x\\q\"}", &["1:10-1:11 Invalid JSON string"]),
        ("{\"a\": \"x\n}", &["1:9-2:1 Invalid JSON string"]),
        (
            "{\"a\": 'x'}",
            &[
                "1:7-1:8 Invalid start of value",
                "1:8-1:8 Missing attribute seperator comma",
                "1:1-1:2 Root value must be object",
            ],
        ),
        ("[{}, 1]", &[]),
    ] {
        let (_, found) = parse_json_file("x", Arc::from(text));
        let found = all_described(&found);
        if found != expected {
            wrong.push(format!("{text}: {found:?}"));
        }
    }
    assert!(wrong.is_empty(), "{}", wrong.join("\n"));
}

/// A body as text: arguments, then blocks with their labels and bodies.
fn body(tree: &Arc<Tree>, id: BodyId, out: &mut Vec<String>) -> String {
    let role = |name: &str| match name {
        "x" | "y" => NameRole::Argument,
        "block" => NameRole::Block(&[]),
        "labelled" => NameRole::Block(&["type", "name"]),
        "hidden" => NameRole::Hidden,
        _ => NameRole::Unknown,
    };
    let BodyView { body: found, problems } = tree.content(id, &role);
    out.extend(all_described(&problems));
    let mut text = String::from("{");
    for attribute in &found.attributes {
        let value = shape_of(&tree.expression(attribute.expression));
        text.push_str(&format!(" {}={value}", attribute.name.text));
    }
    for block in &found.blocks {
        text.push_str(&format!(" {}", block.block_type.text));
        for label in &block.labels {
            text.push_str(&format!("[{}]", label.text));
        }
        text.push_str(&body(tree, block.body, out));
    }
    text + " }"
}

#[test]
fn bodies_are_read_by_their_schema() {
    for (text, expected, problems) in [
        (r#"{"//": 1, "x": 1, "z": 2, "hidden": 3}"#, "{ x=1 z=2 }", &[][..]),
        (r#"[{"x": 1}, {"y": 2}, null]"#, "{ x=1 y=2 }", &["1:22-1:26 Incorrect JSON value type"]),
        (r#"{"x": 1, "x": 2}"#, "{ x=1 }", &["1:10-1:13 Duplicate argument"]),
        (r#"{"block": {"x": 1}}"#, "{ block{ x=1 } }", &[]),
        (r#"{"block": [{"x": 1}, {"x": 2}], "block": {}}"#, "{ block{ x=1 } block{ x=2 } block{ } }", &[]),
        (r#"{"block": null, "labelled": {"a": {"b": null}}}"#, "{ }", &[]),
        (r#"{"block": []}"#, "{ }", &[]),
        (r#"{"block": 1}"#, "{ }", &["1:11-1:12 Incorrect JSON value type"]),
        (r#"{"block": [1]}"#, "{ block{ } }", &["1:12-1:13 Incorrect JSON value type"]),
        (
            r#"{"labelled": {"a": {"b": {"x": 1}, "c": [{}, {"y": 2}]}}}"#,
            "{ labelled[a][b]{ x=1 } labelled[a][c]{ } labelled[a][c]{ y=2 } }",
            &[],
        ),
        (
            r#"{"labelled": [{"a": [{"b": {}}, {"c": {}}]}, {"d": {"e": {}}}]}"#,
            "{ labelled[a][b]{ } labelled[a][c]{ } labelled[d][e]{ } }",
            &[],
        ),
        (r#"{"labelled": ["a"]}"#, "{ }", &["1:15-1:18 Incorrect JSON value type", "1:14-1:15 Missing block label"]),
        (r#"{"labelled": {"a": {}}}"#, "{ }", &["1:20-1:21 Missing block label"]),
    ] {
        let (tree, found) = parse_json_file("x", Arc::from(text));
        assert!(found.is_empty(), "{text}: {found:?}");
        let mut said = Vec::new();
        assert_eq!(body(&tree, tree.root_id(), &mut said), expected, "{text}");
        assert_eq!(said, problems, "{text}");
    }
}

#[test]
fn bodies_can_have_only_arguments() {
    let read = |text: &str| {
        let (tree, _) = parse_json_file("x", Arc::from(text));
        let BodyView { body, problems } = tree.arguments(tree.root_id(), &|name| name == "hidden");
        let names: Vec<String> = body.attributes.iter().map(|found| found.name.text.to_string()).collect();
        (names.join(" "), all_described(&problems))
    };
    assert_eq!(read(r#"{"a": 1, "//": 2, "hidden": 3, "b": {}}"#), ("a b".into(), vec![]));
    assert_eq!(read(r#"{"a": 1, "a": 2}"#), ("a".into(), vec!["1:10-1:13 Duplicate attribute definition".into()]));
    assert_eq!(read(r#"[{"a": 1}]"#), (String::new(), vec!["1:1-1:2 Incorrect JSON value type".into()]));
}

/// The number of repetitions in long texts.
const LINKS: usize = 100_000;

/// A time limit: far more time than any of these texts takes on a slow machine in a debug build, but far less than a
/// quadratic parser takes.
const PATIENCE: Duration = Duration::from_secs(20);

/// Runs `work` on a small stack, which overflows if something recurses along the text.
fn with_little_stack(work: impl FnOnce() + Send + 'static) {
    let start = Instant::now();
    let thread = std::thread::Builder::new().stack_size(256 * 1024).spawn(work).expect("a thread");
    assert!(thread.join().is_ok());
    assert!(start.elapsed() < PATIENCE, "took {:?}", start.elapsed());
}

#[test]
fn long_texts_take_linear_time() {
    let texts = [
        format!("{{\"a\": [{}0]}}", "1, ".repeat(LINKS)),
        format!("{{{}\"x\": 1}}", "\"block\": {\"x\": \"${a}\"}, ".repeat(LINKS)),
        format!("{{\"a\": \"{}\"}}", "\\u00e9${b}\\n".repeat(LINKS)),
        format!("{{\"a\": \"{}\"}}", "\\\\".repeat(LINKS)),
        format!("{{\"labelled\": {{\"a\": {{{}\"b\": {{}}}}}}}}", "\"b\": [{}, {}], ".repeat(LINKS)),
    ];
    with_little_stack(move || {
        for text in texts {
            let (tree, found) = parse_json_file("x", Arc::from(text.as_str()));
            assert!(found.is_empty(), "{:.40}: {:?}", text, found.first());
            body(&tree, tree.root_id(), &mut Vec::new());
            let root = tree.body_value(tree.root_id()).expect("a root");
            weft_syntax::references(&root);
            root.without_templates();
        }
        // Errors throughout the text.
        for text in ["[1 ".repeat(LINKS), "{\"a\" ".repeat(LINKS), "{\"a\": [1}, ".repeat(LINKS), "}]".repeat(LINKS)] {
            let (_, found) = parse_json_file("x", Arc::from(text.as_str()));
            assert!(!found.is_empty());
        }
    });
}

#[test]
fn deep_nesting_is_limited_and_needs_little_stack() {
    with_little_stack(|| {
        for (open, close) in [("[", "]"), ("{\"a\":", "}")] {
            let nested = |depth: usize| format!("{}1{}", open.repeat(depth), close.repeat(depth));
            let (tree, found) = parse_json_file("x", Arc::from(nested(MAX_NESTING).as_str()));
            assert!(found.is_empty(), "{open}: {:?}", found.first());
            tree.body_value(tree.root_id()).expect("a root").without_templates();
            for depth in [MAX_NESTING + 1, LINKS] {
                let (_, found) = parse_json_file("x", Arc::from(nested(depth).as_str()));
                assert_eq!(all_described(&found).len(), 1, "{open}");
                assert_eq!(found[0].summary, "Nesting too deep");
            }
        }
        // The nesting within a string adds to the nesting of the string.
        let inside = |depth: usize| format!("\"${{{}1{}}}\"", "(".repeat(depth), ")".repeat(depth));
        let text = format!("{}{}{}", "[".repeat(2_000), inside(100), "]".repeat(2_000));
        let (tree, found) = parse_json_file("x", Arc::from(text.as_str()));
        assert!(found.is_empty());
        let hole = tree.nodes().iter().any(|node| matches!(node.kind, ExprKind::Error));
        assert!(hole, "the string is too deep to be a template");
    });
}

fn check_everything(source: &str) {
    let (tree, found) = parse_json_file("x", Arc::from(source));
    for problem in &found {
        let subject = problem.subject.as_ref().expect("a subject");
        assert!(subject.start <= subject.end && subject.end.byte as usize <= source.len() + 1, "{problem:?}");
    }
    for (index, node) in tree.nodes().iter().enumerate() {
        assert!(node.span.start <= node.span.end && node.span.end as usize <= source.len());
        assert!(source.is_char_boundary(node.span.start as usize) && source.is_char_boundary(node.span.end as usize));
        node.kind.for_each_child(|child| assert!(child.index() < index, "children come first"));
        let here = tree.expression(weft_syntax::ExprId(u32::try_from(index).unwrap_or(u32::MAX)));
        let _ = (here.as_traversal(), here.as_keyword().is_some(), here.unquoted(), here.template_problems());
        here.without_templates();
        weft_syntax::references(&here);
    }
    body(&tree, tree.root_id(), &mut Vec::new());
    let _ = tree.arguments(tree.root_id(), &|_| false);
}

fn piece() -> impl Strategy<Value = String> {
    let words = prop::sample::select(vec![
        "{",
        "}",
        "[",
        "]",
        ",",
        ":",
        "=",
        "\"",
        "\\",
        "\\u12",
        "\\ud83d",
        "\\ude00",
        "\\n",
        "1",
        "-",
        "0.e",
        "true",
        "nul",
        "null",
        "\"a\"",
        "\"a\":",
        "\"block\":",
        "\"labelled\":",
        "\"x\":",
        "\"//\":",
        "${",
        "%{",
        "}\"",
        "\"${",
        "~",
        "é",
        "\u{301}",
        "\u{feff}",
        "👩‍👩‍👧",
        " ",
        "\n",
        "\r",
        "\u{0}",
        "'",
        "#",
        "%{ if a }",
        "%{ for a in b }",
        "%{ end",
    ]);
    prop_oneof![words.prop_map(str::to_owned), any::<char>().prop_map(String::from)]
}

proptest! {
    #![proptest_config(ProptestConfig::with_cases(2_000))]

    #[test]
    fn any_text_is_read(pieces in prop::collection::vec(piece(), 0..40)) {
        check_everything(&pieces.concat());
    }

    #[test]
    fn mutated_files_are_read(cut in 0usize..400, length in 0usize..12, added in prop::collection::vec(piece(), 0..3)) {
        let mut source = concat!(
            "{\n  \"//\": \"é\",\n",
            "  \"labelled\": {\"a\": {\"b\": [{\"x\": \"${f(\\\"k\\\", v...)}\"}, {\"y\": -1.5e3}]}},\n",
            "  \"block\": [{\"x\": [1, true, null, \"a\\u00e9\\n${var.b[\\\"c\\\"]} $${d}\"]}, {}],\n",
            "  \"x\": \"%{ for k, v in m ~}\\t${k}%{ endfor }\",\n",
            "  \"y\": {\"k-${a}\": \"\\ud83d\\ude00\", \"z\": {}}\n}\n",
        ).to_owned();
        let boundary = |source: &str, mut at: usize| {
            at = at.min(source.len());
            while !source.is_char_boundary(at) { at -= 1; }
            at
        };
        let (from, to) = (boundary(&source, cut), boundary(&source, cut + length));
        source.replace_range(from..to, &added.concat());
        check_everything(&source);
    }
}
