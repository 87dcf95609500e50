//! A diagnostic as text.

use unicode_width::UnicodeWidthStr;
use weft_expressions::functions;
use weft_graph_format::diagnostic::{Diagnostic, Severity};
use weft_graph_format::explain;
use weft_graph_format::value::Value;

use super::super::difference::{Pair, Printing, Reasons, dynamic};
use super::super::style::Style;
use super::SourceLines;
use super::snippet::Snippet;

/// The text of one diagnostic, with a final newline. Without boxes, the text is an empty line and then the contents.
/// With boxes:
///
/// ```text
/// ╷
/// │ Error: Invalid function argument [W0322]
/// │
/// │   on main.tf line 3, in locals:
/// │    3:   x = abs(var.size)
/// │                 ~~~~~~~~
/// │     ├────────────────
/// │     │ while calling abs(num)
/// │     │ var.size is "a"
/// │
/// │ A number is required.
/// ╵
/// ```
pub fn human(problem: &Diagnostic, sources: &dyn SourceLines, style: &Style) -> String {
    let (title, colour) = match problem.severity {
        Severity::Error => ("Error", "31"),
        Severity::Warning => ("Warning", "33"),
    };
    let painted = style.paint(&format!("1;{colour}"), &format!("{title}: "));
    let code = explain::code(problem).map(|code| style.paint("90", &format!(" [{code}]"))).unwrap_or_default();
    let mut lines = vec![format!("{painted}{}{code}", style.bold(&problem.summary))];
    let place = place(problem, sources, style);
    if !place.is_empty() {
        lines.push(String::new());
        lines.extend(place);
    }
    if !problem.detail.is_empty() {
        lines.push(String::new());
        // The bar and the space after it take two columns.
        let taken = if style.boxes { 2 } else { 0 };
        let narrower = Style { width: style.width.saturating_sub(taken), ..*style };
        lines.extend(narrower.wrapped(problem.detail.trim_end()).split('\n').map(str::to_owned));
    }
    if !style.boxes {
        return format!("\n{}\n", lines.join("\n"));
    }
    let bar = style.paint(colour, "│");
    let mut text = style.paint(colour, "╷");
    for line in lines {
        text.push('\n');
        text.push_str(&bar);
        text.push(' ');
        text.push_str(&line);
    }
    text.push('\n');
    text.push_str(&style.paint(colour, "╵"));
    text.push('\n');
    text
}

fn place(problem: &Diagnostic, sources: &dyn SourceLines, style: &Style) -> Vec<String> {
    let mut lines = Vec::new();
    let Some(subject) = &problem.subject else {
        lines.extend(problem.address.iter().map(|address| format!("  with {address},")));
        lines.extend(values(problem, style));
        return lines;
    };
    lines.extend(problem.address.iter().map(|address| format!("  with {address},")));
    let block = sources.block(&subject.file, subject.start.byte).map(|block| format!(", in {block}"));
    let file = style.paint("4", &subject.file);
    lines.push(format!("  on {file} line {}{}:", subject.start.line, block.unwrap_or_default()));
    match Snippet::of(problem, sources) {
        None => lines.push("  (source code not available)".to_owned()),
        Some(snippet) => {
            for (index, line) in snippet.lines.iter().enumerate() {
                code(&snippet, index, line, style, &mut lines);
            }
        }
    }
    lines.extend(values(problem, style));
    lines.extend(difference(problem, style));
    lines
}

/// The difference between the two sides of a failed comparison.
fn difference(problem: &Diagnostic, style: &Style) -> Vec<String> {
    let Some(sides) = &problem.compared else { return Vec::new() };
    let (before, after) = (Value::from(sides.0.clone()), Value::from(sides.1.clone()));
    let part = dynamic(Pair { before: Some(&before), after: Some(&after) }, &Reasons::default());
    let bar = style.paint("90", "│");
    let mut lines = vec![format!("    {}", style.paint("90", "├────────────────"))];
    lines.push(format!("    {bar} {}", style.bold("Diff: ")));
    let text = format!("    {}", Printing::change(style).part(&part, 0));
    lines.extend(text.split('\n').map(|line| format!("    {bar} {line}")));
    lines
}

/// Writes one source line. With colors, the marked part is underlined. Without colors, the next line has marks below
/// this part.
fn code(snippet: &Snippet, index: usize, line: &str, style: &Style, out: &mut Vec<String>) {
    let number = snippet.first as usize + index;
    let Some((start, end)) = snippet.marked_in(index) else {
        out.push(format!("{number:4}: {line}"));
        return;
    };
    let (before, rest) = line.split_at(start);
    let (marked, after) = rest.split_at(end - start);
    out.push(format!("{number:4}: {before}{}{after}", style.paint("4", marked)));
    if !style.colour {
        // Tabs are copied, so that the marks align with any tab width.
        let lead: String = before.chars().map(|c| if c == '\t' { "\t".to_owned() } else { blanks(c) }).collect();
        out.push(format!("      {lead}{}", "~".repeat(marked.width().max(1))));
    }
}

fn blanks(c: char) -> String {
    " ".repeat(unicode_width::UnicodeWidthChar::width(c).unwrap_or(0))
}

/// The values of the references in the failing expression.
fn values(problem: &Diagnostic, style: &Style) -> Vec<String> {
    let call = call(problem, style);
    if problem.values.is_empty() && call.is_none() {
        return Vec::new();
    }
    let bar = style.paint("90", "│");
    let mut lines = vec![format!("    {}", style.paint("90", "├────────────────"))];
    lines.extend(call.map(|call| format!("    {bar} {call}")));
    for value in &problem.values {
        lines.push(format!("    {bar} {} {}", style.bold(&value.traversal), value.statement));
    }
    lines
}

/// The failed function call, with the names of the parameters. `None` if the function is not built in.
fn call(problem: &Diagnostic, style: &Style) -> Option<String> {
    let function = functions::lookup(problem.function.strip_prefix("core::").unwrap_or(&problem.function))?;
    let mut names: Vec<String> = function.parameters.iter().map(|parameter| parameter.name.to_owned()).collect();
    names.extend(function.variadic.iter().map(|parameter| format!("{}...", parameter.name)));
    Some(format!("while calling {}({})", style.bold(&problem.function), names.join(", ")))
}

#[cfg(test)]
mod tests {
    use expect_test::expect;
    use weft_graph_format::diagnostic::InvolvedValue;
    use weft_graph_format::source::{Position, SourceRange};

    use super::*;

    struct Text;

    impl SourceLines for Text {
        fn line(&self, file: &str, number: u32) -> Option<String> {
            (file == "main.tf" && number == 3).then(|| "  x = \"世界\" + abs(var.size)".to_owned())
        }

        fn block(&self, _: &str, _: u32) -> Option<String> {
            Some("locals".to_owned())
        }
    }

    fn problem() -> Diagnostic {
        let subject = SourceRange {
            file: "main.tf".into(),
            start: Position { byte: 30, line: 3, column: 18 },
            end: Position { byte: 38, line: 3, column: 26 },
        };
        let mut problem = Diagnostic::error("Invalid function argument", "Wanted: a number.\n\n  of this size")
            .at(subject)
            .calling("abs");
        problem.values.push(InvolvedValue { traversal: "var.size".into(), statement: "is \"a\"".into() });
        problem
    }

    #[test]
    fn the_range_is_marked_by_columns() {
        let text = human(&problem(), &Text, &Style::default());
        expect![[r#"
            ╷
            │ Error: Invalid function argument [W0322]
            │ 
            │   on main.tf line 3, in locals:
            │    3:   x = "世界" + abs(var.size)
            │                          ~~~~~~~~
            │     ├────────────────
            │     │ while calling abs(num)
            │     │ var.size is "a"
            │ 
            │ Wanted: a number.
            │ 
            │   of this size
            ╵
        "#]]
        .assert_eq(&text);
    }

    #[test]
    fn colors_replace_the_markers_of_a_range() {
        let text = human(&problem(), &Text, &Style { colour: true, ..Style::default() });
        assert!(text.contains("abs(\u{1b}[4mvar.size\u{1b}[0m)"), "{text}");
        assert!(!text.contains('~'), "{text}");
    }

    #[test]
    fn a_diagnostic_can_have_no_box() {
        let text = human(&problem(), &Text, &Style { boxes: false, ..Style::default() });
        expect![[r#"

            Error: Invalid function argument [W0322]

              on main.tf line 3, in locals:
               3:   x = "世界" + abs(var.size)
                                     ~~~~~~~~
                ├────────────────
                │ while calling abs(num)
                │ var.size is "a"

            Wanted: a number.

              of this size
        "#]]
        .assert_eq(&text);
    }

    #[test]
    fn a_diagnostic_can_have_no_range() {
        let problem = Diagnostic::warning("Look", "Detail.").about("a.b[0]");
        let text = human(&problem, &Text, &Style::default());
        expect![[r#"
            ╷
            │ Warning: Look
            │ 
            │   with a.b[0],
            │ 
            │ Detail.
            ╵
        "#]]
        .assert_eq(&text);
    }
}
