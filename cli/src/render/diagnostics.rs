//! Problems: boxed with their source line for people, as an object for scripts.

use serde_json::{Map, Value as Json, json};
use weft_graph_format::diagnostic::{Diagnostic, Severity};
use weft_graph_format::source::{Position, SourceRange};

use super::style::Style;

/// Where source lines come from: files that were read, or the snippets of a plan file.
pub trait SourceLines {
    /// One line without its end; the first is 1.
    fn line(&self, file: &str, number: u32) -> Option<String>;
}

impl SeverityWord for Severity {
    fn word(self) -> &'static str {
        match self {
            Severity::Error => "error",
            Severity::Warning => "warning",
        }
    }
}

/// The word of a severity.
pub trait SeverityWord {
    /// As in JSON.
    fn word(self) -> &'static str;
}

/// A problem for people.
pub fn human(problem: &Diagnostic, sources: &dyn SourceLines, style: &Style) -> String {
    let (title, colour) = match problem.severity {
        Severity::Error => ("Error", "31"),
        Severity::Warning => ("Warning", "33"),
    };
    let mut lines = vec![format!("{}: {}", style.paint(colour, title), style.bold(&problem.summary)), String::new()];
    if let Some(range) = &problem.subject {
        lines.push(format!("  on {} line {}:", range.file, range.start.line));
        match sources.line(&range.file, range.start.line) {
            Some(line) => lines.push(format!("{:4}: {line}", range.start.line)),
            None => lines.push("  (source code not available)".to_owned()),
        }
        lines.push(String::new());
    } else if let Some(address) = &problem.address {
        lines.push(format!("  with {address}"));
        lines.push(String::new());
    }
    if !problem.values.is_empty() {
        for value in &problem.values {
            lines.push(format!("    {} {}", value.traversal, value.statement));
        }
        lines.push(String::new());
    }
    lines.extend(problem.detail.lines().map(str::to_owned));
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

/// A problem for scripts: the object of `diagnostics` and of `diagnostic` events.
pub fn object(problem: &Diagnostic, sources: &dyn SourceLines) -> Json {
    let mut object = Map::new();
    object.insert("severity".into(), problem.severity.word().into());
    object.insert("summary".into(), problem.summary.clone().into());
    object.insert("detail".into(), problem.detail.clone().into());
    if let Some(address) = &problem.address {
        object.insert("address".into(), address.clone().into());
    }
    if let Some(range) = &problem.subject {
        object.insert("range".into(), range_object(range));
        if let Some(code) = sources.line(&range.file, range.start.line) {
            object.insert(
                "snippet".into(),
                json!({"context": null, "code": code, "start_line": range.start.line,
                       "highlight_start_offset": 0, "highlight_end_offset": code.len(), "values": []}),
            );
        }
    }
    Json::Object(object)
}

fn range_object(range: &SourceRange) -> Json {
    let position = |p: Position| json!({"line": p.line, "column": p.column, "byte": p.byte});
    json!({"filename": range.file.as_str(), "start": position(range.start), "end": position(range.end)})
}
