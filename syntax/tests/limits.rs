//! Size and depth: long texts and long chains take linear time and no stack. Nesting that is too deep is reported as a
//! single error.

use std::sync::Arc;
use std::time::{Duration, Instant};

use proptest::prelude::*;
use weft_graph_format::source::Position;
use weft_syntax::{MAX_NESTING, Tree, parse_expression, parse_file, parse_template, parse_traversal, references};

/// The number of links of the chains.
const LINKS: usize = 100_000;

/// A time limit: far more time than any of these texts takes on a slow machine in a debug build, but far less than a
/// quadratic parser takes.
const PATIENCE: Duration = Duration::from_secs(20);

fn text(tree: &Tree) -> String {
    tree.tokens().iter().map(|token| tree.text(token.span)).collect()
}

/// Runs `work` on a small stack, which overflows if something recurses along the text.
fn with_little_stack(work: impl FnOnce() + Send + 'static) {
    let start = Instant::now();
    let thread = std::thread::Builder::new().stack_size(256 * 1024).spawn(work).expect("a thread");
    assert!(thread.join().is_ok());
    assert!(start.elapsed() < PATIENCE, "took {:?}", start.elapsed());
}

#[test]
fn chains_have_any_length() {
    let chains: Vec<String> = vec![
        vec!["a"; LINKS].join(" + "),
        vec!["a"; LINKS].join(" || b && "),
        format!("a{}", ".b".repeat(LINKS)),
        format!("a{}", "[0]".repeat(LINKS)),
        format!("a{}", "[b]".repeat(LINKS)),
        format!("a{}", ".*.b[0]".repeat(LINKS)),
        format!("{}z", "c ? a : ".repeat(LINKS)),
        format!("[{}]", "x,".repeat(LINKS)),
        format!("{{{}}}", "x = 1\n".repeat(LINKS)),
        format!("f({})", "x,".repeat(LINKS)),
        format!("\"{}\"", "${x} y $${".repeat(LINKS)),
        format!("\"{}\"", "%{ if a }b%{ endif }".repeat(LINKS)),
    ];
    with_little_stack(move || {
        for chain in chains {
            let (expression, found) = parse_expression("x", Arc::from(chain.as_str()), Position::START);
            assert!(found.is_empty(), "{:.40}: {:?}", chain, found.first());
            assert_eq!(text(&expression.tree), chain);
            assert!(references(&expression).len() <= 3 * LINKS);
            let _ = expression.as_traversal();
        }
    });
}

#[test]
fn deep_nesting_is_limited_and_needs_little_stack() {
    let forms: [(&str, &str, usize); 10] = [
        ("(", ")", 1),
        ("[", "]", 1),
        ("{a=", "}", 1),
        ("f(", ")", 1),
        ("a[x + ", "]", 1),
        ("[for x in ", " : x]", 1),
        ("\"${", "}\"", 1),
        ("-", "", 1),
        ("a ? ", " : b", 1),
        ("a[*][b + ", "]", 2),
    ];
    with_little_stack(move || {
        for (open, close, levels) in forms {
            let nested = |depth: usize| format!("{}1{}", open.repeat(depth), close.repeat(depth));
            let fits = MAX_NESTING / levels;
            let (_, found) = parse_expression("x", Arc::from(nested(fits).as_str()), Position::START);
            assert!(found.is_empty(), "{open}: {:?}", found.first());
            for depth in [fits + 1, LINKS] {
                let source = nested(depth);
                let (expression, found) = parse_expression("x", Arc::from(source.as_str()), Position::START);
                assert_eq!(found.first().map(|found| found.summary.as_str()), Some("Nesting too deep"), "{open}");
                assert!(found.len() <= 2, "{open}: {} errors", found.len());
                assert_eq!(text(&expression.tree), source);
            }
        }
        let blocks = |depth: usize| format!("{}{}", "b {\n".repeat(depth), "}\n".repeat(depth));
        assert!(parse_file("x", Arc::from(blocks(MAX_NESTING).as_str())).1.is_empty());
        let (_, found) = parse_file("x", Arc::from(blocks(LINKS).as_str()));
        assert_eq!(found.iter().map(|found| found.summary.as_str()).collect::<Vec<_>>(), ["Nesting too deep"]);
    });
}

#[test]
fn unclosed_brackets_take_linear_time() {
    let pieces = [
        "(",
        "[",
        "{",
        "\"",
        "\"${",
        "<<E\n",
        "%{",
        "/*",
        "a = [\n",
        "a = \"\n",
        "b {\n",
        "f(",
        "a::",
        "${",
        "x ? ",
        "[for x in ",
        "a = {\n",
        "a = (1\n",
        "b \"${\n",
        "}\n",
        "]\n",
        "'",
        "\"%{ if x }",
        "é = \"é\n",
        "a.*.",
        "a[*].",
    ];
    with_little_stack(move || {
        for piece in pieces {
            let source = piece.repeat(LINKS / 2);
            let (tree, _) = parse_file("x", Arc::from(source.as_str()));
            assert_eq!(text(&tree), source);
            let start = Instant::now();
            parse_expression("x", Arc::from(source.as_str()), Position::START);
            parse_template("x", Arc::from(source.as_str()), Position::START);
            assert!(start.elapsed() < PATIENCE / 4, "{piece:?} took {:?}", start.elapsed());
        }
    });
}

#[test]
fn a_million_lines_are_parsed_quickly() {
    let source = "resource \"a\" \"b\" {\n  name = \"x-${var.y[0]}\"\n  n    = 1 + 2\n}\n".repeat(250_000);
    let start = Instant::now();
    let (tree, found) = parse_file("x", Arc::from(source.as_str()));
    assert!(found.is_empty());
    assert_eq!(tree.root_body().blocks.len(), 250_000);
    drop(tree);
    assert!(start.elapsed() < PATIENCE, "took {:?}", start.elapsed());
}

/// Pieces of the language, valid and invalid.
fn piece() -> impl Strategy<Value = String> {
    let words = prop::sample::select(vec![
        "a",
        "b.c",
        "x[0]",
        "x[*]",
        ".*",
        "f(",
        ")",
        "[",
        "]",
        "{",
        "}",
        "(",
        "\"",
        "${",
        "${~",
        "%{",
        "~}",
        "%{ if x }",
        "%{ else }",
        "%{ endif }",
        "%{ for v in x }",
        "%{ endfor }",
        "for",
        "in",
        "if",
        "=",
        "=>",
        ":",
        "::",
        "...",
        "?",
        ",",
        "\n",
        "\r\n",
        "\r",
        "\t",
        "<<E\n",
        "<<-E\n",
        "\nE\n",
        "E",
        "#",
        "//",
        "/*",
        "*/",
        "1",
        "1.5e3",
        "1.2.3",
        "\\",
        "\\n",
        "\\u12",
        "$",
        "%",
        "$${",
        "&",
        "'",
        "`",
        ";",
        "é",
        "\u{301}",
        "\u{feff}",
        "👩‍👩‍👧",
        "blk {",
        "a = ",
        "-",
        "!",
        "&&",
        "true",
        "null",
        " ",
        "\u{0}",
    ]);
    prop_oneof![words.prop_map(str::to_owned), any::<char>().prop_map(String::from)]
}

fn check_everything(source: &str) {
    let shared: Arc<str> = Arc::from(source);
    let (tree, found) = parse_file("x", Arc::clone(&shared));
    assert_eq!(text(&tree), source);
    let mut ends = 0;
    for token in tree.tokens() {
        assert_eq!(token.span.start, ends);
        ends = token.span.end;
    }
    for diagnostic in &found {
        let subject = diagnostic.subject.as_ref().expect("a subject");
        assert!(subject.start <= subject.end && subject.end.byte as usize <= source.len());
    }
    for (index, node) in tree.nodes().iter().enumerate() {
        assert!(node.span.start <= node.span.end && node.span.end as usize <= source.len());
        assert!(source.is_char_boundary(node.span.start as usize) && source.is_char_boundary(node.span.end as usize));
        node.kind.for_each_child(|child| assert!(child.index() < index, "children come first"));
    }
    for parse in [parse_expression, parse_template, parse_traversal] {
        let (expression, found) = parse("x", Arc::clone(&shared), Position::START);
        assert_eq!(text(&expression.tree), source);
        let has_hole = expression.tree.nodes().iter().any(|node| matches!(node.kind, weft_syntax::ExprKind::Error));
        assert!(!has_hole || !found.is_empty(), "a hole without an error");
        references(&expression);
    }
}

proptest! {
    #![proptest_config(ProptestConfig::with_cases(2_000))]

    #[test]
    fn any_text_is_kept(pieces in prop::collection::vec(piece(), 0..40)) {
        check_everything(&pieces.concat());
    }

    #[test]
    fn mutated_files_are_kept(cut in 0usize..400, length in 0usize..12, added in prop::collection::vec(piece(), 0..3)) {
        let mut source = concat!(
            "resource \"a\" \"b\" {\n  for_each = { for k, v in var.m : k => v... if v != null }\n  x = [1, -2.5e3, ",
            "\"a${upper(b[\"c\"])}$${d}\\n\", null]\n  y = c ? a.*.b[0] : d[*].e\n  inner { z = <<-EOT\n    text ",
            "${x ~}\n",
            "    %{ if a }b%{ else }c%{ endif }\n  EOT\n  }\n  // comment\n  w = f(a, xs...) /* é */ # end\n}\n",
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
