//! A short text cannot make a value grow without limit: every chain that doubles its value ends quickly, with one clear
//! error.

use std::time::{Duration, Instant};

use weft_expressions::console::{BareScope, evaluate_text};

/// Longer than any case takes on a busy machine, and far shorter than an unlimited case would take.
const PATIENCE: Duration = Duration::from_secs(30);

/// The summary of the first error, or `None` if there is a value.
fn summary(expression: &str) -> Option<String> {
    let began = Instant::now();
    let found = evaluate_text(expression, &BareScope::new()).errors.first().map(|e| e.summary.clone());
    assert!(began.elapsed() < PATIENCE, "{expression:.80} took {:?}", began.elapsed());
    found
}

/// A chain of names: `a0` is `first`, and each further name is `step`, in which `@` stands for the previous name. The
/// result is `last`, in which `@` stands for the final name.
fn chain(length: usize, first: &str, step: &str, last: &str) -> String {
    let mut text = format!("[for a0 in [{first}] : ");
    for n in 1..length {
        text += &format!("[for a{n} in [{}] : ", step.replace('@', &format!("a{}", n - 1)));
    }
    text + &last.replace('@', &format!("a{}", length - 1)) + &"]".repeat(length)
}

#[test]
fn a_value_that_keeps_doubling_is_refused() {
    for (first, step, last, expected) in [
        ("\"xxxxxxxx\"", "\"${@}${@}\"", "length(@)", "Value too large"),
        ("\"xxxxxxxx\"", "join(\"\", [@, @])", "length(@)", "Error in function call"),
        ("\"xxxxxxxx\"", "format(\"%s%s\", @, @)", "length(@)", "Error in function call"),
        ("\"xxxxxxxx\"", "replace(@, \"x\", \"xx\")", "length(@)", "Error in function call"),
        ("\"xxxxxxxx\"", "jsonencode(jsonencode(@))", "length(@)", "Error in function call"),
        ("\"xxxxxxxx\"", "base64encode(base64encode(@))", "length(@)", "Error in function call"),
        ("[1]", "[@, @]", "length(jsonencode(@))", "Value too large"),
        ("[1]", "[@, @]", "@ == [2]", "Value too large"),
        ("[1]", "{ a = @, b = @ }", "length(yamlencode(@))", "Value too large"),
        ("[1]", "concat(@, @)", "length(@)", "Error in function call"),
        ("tolist([1])", "tolist([@, @])", "flatten(@)", "Value too large"),
        ("[sensitive(1)]", "[@, @]", "issensitive(@)", "Value too large"),
        ("[1]", "true ? null : [@, @]", "[@]", "Value too large"),
        ("[1]", "[for x in [@, @] : x]", "length(@)", "Value too large"),
        ("[1]", "[@, @][*]", "length(@)", "Value too large"),
    ] {
        let found = summary(&chain(60, first, step, last)).unwrap_or_default();
        assert_eq!(found, expected, "{step}");
    }
}

#[test]
fn a_value_that_keeps_nesting_is_refused() {
    for (first, step) in [("1", "[@]"), ("1", "{ a = @ }"), ("tolist([1])", "tolist([@])"), ("1", "[[[[@]]]]")] {
        let found = summary(&chain(700, first, &step.replace('@', "[[[@]]]"), "length(@)"));
        assert_eq!(found.as_deref(), Some("Value nested too deeply"), "{step}");
    }
}

#[test]
fn nested_loops_are_stopped_at_a_limit() {
    let inner = "length([for d in range(1024) : 1 if d == c && d == b && d == a])";
    let text = format!("[for a in range(1024) : [for b in range(1024) : [for c in range(1024) : {inner}]]]");
    // A number of rounds below the limit succeeds.
    assert_eq!(summary("length([for a in range(1024) : [for b in range(64) : a * b]])"), None);
    if std::env::var_os("WEFT_HOSTILE_INPUTS").is_some() {
        // The expression runs for a minute before it is stopped.
        let found = evaluate_text(&text, &BareScope::new()).errors.first().map(|e| e.summary.clone());
        assert_eq!(found.as_deref(), Some("Expression takes too long"));
    }
}

#[test]
fn functions_refuse_to_return_too_large_values() {
    for expression in [
        "formatlist(\"%65536s\", flatten([for a in range(1024) : range(64)]))",
        "length(split(\"\", join(\"\", [for a in range(300) : format(\"%65536s\", a)])))",
        "length(regexall(\"\", join(\"\", [for a in range(300) : format(\"%65536s\", a)])))",
        "replace(format(\"%65536s\", \"a\"), \"/(.*)$/\", join(\"\", [for a in range(1024) : \"$1\"], [\"$1\"]))",
        "setproduct(range(1024), range(1024), range(2))",
    ] {
        assert_eq!(summary(expression).as_deref(), Some("Error in function call"), "{expression:.60}");
    }
}
