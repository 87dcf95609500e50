//! The help text of a command.

use std::fmt::Write as _;

use super::Command;
use crate::options::Flag;
use crate::render::style::wrap;

/// Descriptions of the commands, with examples. Each description begins with a heading `## WORDS`, which is followed by
/// paragraphs.
pub const TEXTS: &str = include_str!("usage.txt");
/// The width of help texts, in columns.
pub const COLUMNS: usize = 80;
/// The column where the description of an option begins.
const OPTION_COLUMN: usize = 26;

impl Command {
    /// The help text.
    pub fn help(&self) -> String {
        let mut help = format!("Usage: weft [global options] {}", self.name());
        let mut listed = self.listed();
        if !listed.is_empty() {
            help.push_str(" [options]");
        }
        if !self.operands.is_empty() {
            help.push(' ');
            help.push_str(self.operands);
        }
        help.push('\n');
        for paragraph in description(&self.name()).unwrap_or(self.about).split("\n\n") {
            help.push('\n');
            if paragraph.starts_with("  $ ") {
                let _ = writeln!(help, "{}", indented(paragraph, 2));
            } else {
                let _ = writeln!(help, "{}", indented(&wrap(paragraph, COLUMNS - 2), 2));
            }
        }
        listed.sort_by_key(|flag| flag.section);
        let mut section = None;
        for flag in listed {
            if section != Some(flag.section) {
                section = Some(flag.section);
                let _ = write!(help, "\n{}:\n\n", flag.section.title());
            }
            help.push_str(&option_lines(flag));
        }
        help
    }
}

/// The description of a command, from [`TEXTS`].
fn description(name: &str) -> Option<&'static str> {
    let sections = TEXTS.split("## ").skip(1);
    sections
        .filter_map(|section| section.split_once('\n'))
        .find(|(words, _)| *words == name)
        .map(|(_, text)| text.trim())
}

/// An option with its description in a second column.
fn option_lines(flag: &Flag) -> String {
    let mut lines = String::new();
    let mut head = format!("  {}", flag.usage());
    if head.len() + 2 > OPTION_COLUMN {
        lines.push_str(&head);
        lines.push('\n');
        head.clear();
    }
    for line in wrap(flag.about, COLUMNS - OPTION_COLUMN).lines() {
        // Writing to a string does not fail.
        let _ = writeln!(lines, "{head:<OPTION_COLUMN$}{line}");
        head.clear();
    }
    lines
}

fn indented(text: &str, by: usize) -> String {
    let indent = " ".repeat(by);
    let lines: Vec<String> =
        text.lines().map(|line| if line.is_empty() { String::new() } else { format!("{indent}{line}") }).collect();
    lines.join("\n")
}
