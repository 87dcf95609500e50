//! The results of parsing: shapes of trees, values of literals, spans.

mod shape;

use std::sync::Arc;

use weft_graph_format::source::Position;
use weft_syntax::*;

use shape::shape_of;

/// Parses a text that must be valid.
fn parsed(text: &str) -> Expression {
    let (expression, found) = parse_expression("test", Arc::from(text), Position::START);
    assert!(found.is_empty(), "{text}: {found:?}");
    expression
}

fn template(text: &str) -> Expression {
    let (expression, found) = parse_template("test", Arc::from(text), Position::START);
    assert!(found.is_empty(), "{text}: {found:?}");
    expression
}

#[track_caller]
fn check(text: &str, expected: &str) {
    assert_eq!(shape_of(&parsed(text)), expected, "{text}");
}

#[test]
fn operators_group_by_precedence_and_to_the_left() {
    check("1 - 2 - 3", "-(-(1 2) 3)");
    check("1 + 2 * 3 - 4 % 5", "-(+(1 *(2 3)) %(4 5))");
    check("a || b && c == d < e + f * g", "||(a &&(b ==(c <(d +(e *(f g))))))");
    check("!a.b && -c[0] > 1", "&&(!(a.b) >(-(c[0]) 1))");
    check("- -1 + !!x", "+(-(-(1)) !(!(x)))");
    check("a ? b : c ? d : e", "cond(a b cond(c d e))");
    check("a ? b ? c : d : e || f", "cond(a cond(b c d) ||(e f))");
    check("(a + b) * c", "*(paren(+(a b)) c)");
    check("(-1).x", "rel(paren(-(1))).x");
    check("-f(x).y", "-(rel(f(x)).y)");
}

#[test]
fn steps_make_traversals() {
    check("a.b[0].c[\"k\"].0.d", "a.b[0].c[\"k\"].[0].d");
    check("a[b].c", "rel(index(a b)).c");
    check("a[-1]", "index(a -(1))");
    check("a[\"${k}\"]", "index(a wrap(k))");
    check("a[\"x${k}\"][1]", "rel(index(a (tmpl \"x\" k)))[1]");
    check("f(x)[0].y", "rel(f(x))[0].y");
    check("a[\"\"]", "a[\"\"]");
    check("a[true]", "a[true]");
    check("a[null].b", "a[null].b");
    check("null.x", "rel(null).x");
    check("x.for.if.null.true", "x.for.if.null.true");
}

#[test]
fn splats_take_what_follows() {
    check("a[*].b[0].c", "splat(a rel(_).b[0].c)");
    check("a[*]", "splat(a _)");
    check("a[*].b[*].c", "splat(a splat(rel(_).b rel(_).c))");
    check("a[*][k].c", "splat(a rel(index(_ k)).c)");
    check("a.*.b.0.c[0].d", "rel(attrs(a rel(_).b.[0].c))[0].d");
    check("a.*", "attrs(a _)");
    check("a.*.b[*].c", "splat(attrs(a rel(_).b) rel(_).c)");
    check("-a[*].b + 1", "+(-(splat(a rel(_).b)) 1)");
}

#[test]
fn collections_are_parsed() {
    check("[]", "tuple()");
    check("[1, a.b, [2],]", "tuple(1 a.b tuple(2))");
    check(
        "{a = 1, \"b\": 2\n (c) = 3\nd.e = 4\n f(x) = 5\n 1 = 6, null = 7}",
        "object(a:(a 1):((tmpl \"b\") 2)p:(paren(c) 3)?:(d.e 4):(f(x) 5):(1 6)null:(null 7))",
    );
    check("{}", "object()");
    check("[for v in c: v]", "fortuple::v(c v)");
    check("[\nfor i,\nv\nin\nc\n:\nv\nif\ni > 0\n]", "fortuple:i:v(c v >(i 0))");
    check("{\nfor k, v in c : k => v... if v}", "forobject:k:v...(c k v v)");
    check("f(1, xs...)", "f...(1 xs)");
    check("provider::a::b(\n1\n,\n)", "provider::a::b(1)");
    check("[for for in in : for]", "fortuple::for(in for)");
}

#[test]
fn strings_are_unescaped_and_wrapped() {
    check(r#""""#, "(tmpl)");
    check(r#""a\n\t\"\\é$${x}%%{y}$$$""#, "(tmpl \"a\\n\\t\\\"\\\\é${x}%{y}$$$\")");
    check(r#""\U0001F600\r""#, "(tmpl \"😀\\r\")");
    check(r#""${a}""#, "wrap(a)");
    check(r#""${a}b${ {c=1}["c"] }""#, "(tmpl a \"b\" rel(object(c:(c 1)))[\"c\"])");
    check(r#""$${a}$$${b}""#, "(tmpl \"${a}$${b}\")");
    check(r#""a  ${~ b ~}  c""#, "(tmpl \"a\" b \"c\")");
    check(r#""${"${"${x}"}"}""#, "wrap(wrap(wrap(x)))");
    assert_eq!(parsed(r#""a\tb""#).as_string_literal().as_deref(), Some("a\tb"));
    assert_eq!(parsed(r#""a${b}""#).as_string_literal(), None);
}

#[test]
fn directives_nest() {
    check(r#""%{ if a }x${b}%{ else }y%{ endif }z""#, "(tmpl if(a (tmpl \"x\" b) (tmpl \"y\")) \"z\")");
    check(r#""%{ if a }%{ endif }""#, "(tmpl if(a (tmpl)))");
    check(
        r#""%{ for k, v in m ~} ${k}%{ if v }!%{ endif }%{ endfor }""#,
        "(tmpl for:k:v(m (tmpl k if(v (tmpl \"!\")))))",
    );
}

#[test]
fn heredocs_lose_common_indentation() {
    check("<<E\n  a\n b\nE\n", "(tmpl \"  a\\n b\\n\")");
    check("<<-E\n    a\n\n      b\n   \n    ${c}\n  E\n", "(tmpl \"a\\n\\n  b\\n   \\n\" c \"\\n\")");
    check("<<-E\n  ${a}\n b\n  E\n", "(tmpl \" \" a \"\\nb\\n\")");
    check("<<E\n\\n $${a} \"q\"\r\nE\n", "(tmpl \"\\\\n ${a} \\\"q\\\"\\r\\n\")");
    check("<<E\n%{ if a ~}\n  x\n%{ endif ~}\nE\n", "(tmpl if(a (tmpl \"  x\\n\")))");
    check("[<<A\n1\nA\n, <<B\n2\nB\n]", "tuple((tmpl \"1\\n\") (tmpl \"2\\n\"))");
    check("<<E\n${x}E\nE\n", "(tmpl x \"E\\n\")");
}

#[test]
fn template_files_are_parsed() {
    assert_eq!(shape_of(&template("a ${b}\n\"c\" \\n")), "(tmpl \"a \" b \"\\n\\\"c\\\" \\\\n\")");
    assert_eq!(shape_of(&template("\u{feff}${b}")), "wrap(b)");
    assert_eq!(shape_of(&template("")), "(tmpl)");
    assert_eq!(shape_of(&template("100% $")), "(tmpl \"100% $\")");
}

#[test]
fn files_keep_order_and_spans() {
    let text = "a = 1 # one\nblk \"l\" m {\n  b = [\n    2\n  ]\n  inner { c = 3 }\n}\n";
    let (tree, found) = parse_file("main.tf", Arc::from(text));
    assert!(found.is_empty(), "{found:?}");
    let body = tree.root_body();
    let attribute = body.attribute("a").expect("a");
    assert_eq!((tree.text(attribute.span), tree.text(attribute.name.span)), ("a = 1", "a"));
    assert_eq!(tree.text(attribute.equals_span), "=");
    let block = &body.blocks[0];
    let labels: Vec<_> = block.labels.iter().map(|label| (label.text.as_str(), label.quoted)).collect();
    assert_eq!(labels, [("l", true), ("m", false)]);
    assert_eq!(tree.text(block.header_span), "blk \"l\" m");
    assert_eq!(tree.text(block.labels[0].span), "\"l\"");
    let inner = tree.body(block.body);
    assert_eq!(tree.text(inner.span), &text[22..text.len() - 1]);
    assert_eq!(tree.text(inner.attributes[0].span), "b = [\n    2\n  ]");
    let single = &inner.blocks[0];
    assert_eq!(tree.text(single.span()), "inner { c = 3 }");
    assert_eq!(tree.text(tree.node(tree.body(single.body).attributes[0].expression).span), "3");
    let range = tree.range(tree.body(block.body).attributes[0].span);
    assert_eq!((range.start.line, range.start.column, range.end.line, range.end.column), (3, 3, 5, 4));
    assert_eq!(range.file, "main.tf");
}

#[test]
fn forms_are_recognised_without_evaluating() {
    assert_eq!(parsed("a.b[0]").as_traversal().map(|found| found.steps.len()), Some(2));
    assert_eq!(parsed("null.x").as_traversal().map(|found| found.root.text), Some("null".into()));
    assert_eq!(parsed("(a.b)").as_traversal(), None);
    assert_eq!(parsed("(a.b)").without_parentheses().as_traversal().map(|found| found.steps.len()), Some(1));
    assert_eq!(parsed("a[*].b").as_traversal(), None);
    assert_eq!(parsed("list(string)").as_call().map(|call| call.name.as_str()), Some("list"));
    assert_eq!(parsed("string").as_keyword(), Some("string"));
    assert_eq!(parsed("true").as_keyword(), Some("true"));
    assert_eq!(parsed("a.b").as_keyword(), None);
    let items = parsed("[a, b.c]").as_list().expect("a list");
    assert_eq!(items.iter().map(|item| item.text().to_owned()).collect::<Vec<_>>(), ["a", "b.c"]);
    let items = parsed("{a = x, \"b\" = y}").as_map().expect("a map");
    assert_eq!(items[0].0.as_keyword(), Some("a"));
    assert_eq!(items[1].0.as_string_literal().as_deref(), Some("b"));
    assert!(is_identifier("a-b_1") && is_identifier("ü") && !is_identifier("1a") && !is_identifier(""));
}

#[test]
fn references_leave_bound_names_out() {
    let roots = |text: &str| {
        let expression = parsed(text);
        references(&expression).iter().map(|found| found.root.text.to_string()).collect::<Vec<_>>().join(" ")
    };
    assert_eq!(roots("a.b + f(c[d.e]) + {g = h, (i) = j}[k]"), "a c d h i j k");
    assert_eq!(roots("[for x in x : x.y + z if w]"), "x z w");
    assert_eq!(roots("{for k, v in m : k => [for k in v : k + n]...}"), "m n");
    assert_eq!(roots("[[for x in a : x], x]"), "a x");
    assert_eq!(roots("\"%{ for x in x }${x}${y}%{ endfor }${x}\""), "x y x");
    assert_eq!(roots("a[*].b[c].d + e.*.f"), "a c e");
    assert_eq!(roots("q ? r : \"${s}\""), "q r s");
}

#[test]
fn addresses_are_traversals() {
    let text = "module.a[\"x.y\"].b[0].c";
    let (expression, found) = parse_traversal("address", Arc::from(text), Position::START);
    assert!(found.is_empty(), "{found:?}");
    assert_eq!(shape_of(&expression), "module.a[\"x.y\"].b[0].c");
    for (text, summary) in [
        ("", "Variable name required"),
        ("a.*", "Attribute name required"),
        ("a.0", "Attribute name required"),
        ("a[*]", "Attribute name required"),
        ("a[b]", "Index value required"),
        ("a[0", "Unclosed index brackets"),
        ("a + b", "Invalid character"),
        ("a[\"${b}\"]", "Invalid string literal"),
    ] {
        let (expression, found) = parse_traversal("address", Arc::from(text), Position::START);
        assert_eq!(found.first().map(|found| found.summary.as_str()), Some(summary), "{text}");
        assert!(matches!(expression.kind(), ExprKind::Error), "{text}");
    }
}
