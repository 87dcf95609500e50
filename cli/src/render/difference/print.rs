//! Prints a difference.

use std::collections::BTreeMap;

use smol_str::SmolStr;

use super::super::counted::counted;
use super::super::quoting::{attribute_name, quoted};
use super::super::style::Style;
use super::text::{self, TextForm};
use super::{Blocks, DifferenceNode, Effect, FieldForm, ItemForm, NodeShape, SensitivityChange};

/// Attributes that are shown even if unchanged, because they identify an object.
const TELLING: [&str; 3] = ["id", "name", "tags"];

/// Options for printing a difference.
#[derive(Clone, Copy, Debug)]
pub struct Printing {
    /// Colors.
    pub style: Style,
    /// Whether to omit the signs, for an unchanged object.
    pub bare: bool,
    /// Whether to print unchanged parts.
    pub all: bool,
    /// Whether to omit `-> null` after removed parts.
    no_null: bool,
}

impl Printing {
    /// The options for a change.
    pub fn change(style: &Style) -> Printing {
        Printing { style: *style, bare: false, all: false, no_null: false }
    }

    /// The options for an unchanged object.
    pub fn still(style: &Style) -> Printing {
        Printing { style: *style, bare: true, all: true, no_null: false }
    }

    fn without_null(self) -> Printing {
        Printing { no_null: true, ..self }
    }

    fn with_null(self) -> Printing {
        Printing { no_null: false, ..self }
    }

    /// The options, with unchanged parts.
    pub fn showing_all(self) -> Printing {
        Printing { all: true, ..self }
    }

    /// The sign of an effect, four columns wide. Empty if signs are omitted.
    pub fn sign(&self, effect: Effect) -> String {
        if self.bare {
            return String::new();
        }
        match effect {
            Effect::Same => "    ".to_owned(),
            Effect::Added => format!("  {} ", self.style.paint("32", "+")),
            Effect::Removed => format!("  {} ", self.style.paint("31", "-")),
            Effect::Changed => format!("  {} ", self.style.paint("33", "~")),
        }
    }

    /// The indentation and sign at the start of a line.
    fn lead(&self, level: usize, effect: Effect) -> String {
        format!("{}{}", " ".repeat(4 * level), self.sign(effect))
    }

    fn null(&self, effect: Effect) -> String {
        if effect == Effect::Removed && !self.no_null { self.style.paint("90", " -> null") } else { String::new() }
    }

    fn forces(&self, part: &DifferenceNode) -> String {
        if part.forces { self.style.paint("31", " # forces replacement") } else { String::new() }
    }

    fn arrow(&self) -> String {
        self.style.paint("33", "->")
    }

    fn hidden_line(&self, level: usize, what: &str, count: usize) -> String {
        let hidden = counted(count, &format!("unchanged {what}"));
        let words = self.style.paint("90", &format!("# ({hidden} hidden)"));
        format!("{}{words}\n", self.lead(level, Effect::Same))
    }

    /// Prints a part, without the prefix of its first line and without a trailing newline.
    pub fn part(&self, part: &DifferenceNode, level: usize) -> String {
        match &part.shape {
            NodeShape::Plain { before, after } => self.plain(part, before.as_deref(), after.as_deref()),
            NodeShape::Text { before, after } => {
                self.text(part, text::form(part.effect, before.as_ref(), after.as_ref()), level)
            }
            NodeShape::Unknown { before: None } => format!("(known after apply){}", self.forces(part)),
            NodeShape::Unknown { before: Some(before) } => {
                let before = self.without_null().part(before, level);
                format!("{before} {} (known after apply){}", self.arrow(), self.forces(part))
            }
            NodeShape::Hidden(within) if self.style.reveal => {
                // If only the sensitivity changes, the value is printed as unchanged, without an arrow.
                let printing = if within.effect == part.effect { *self } else { self.showing_all() };
                printing.part(within, level)
            }
            NodeShape::Hidden(_) => format!("(sensitive value){}{}", self.null(part.effect), self.forces(part)),
            NodeShape::WriteOnly => format!("(write-only attribute){}{}", self.null(part.effect), self.forces(part)),
            NodeShape::Retyped { before, after } => {
                let this = self.without_null();
                let (before, after) = (this.part(before, level), this.part(after, level));
                format!("{before} {} {after}{}", self.arrow(), self.forces(part))
            }
            NodeShape::Fields { form, parts } => self.fields(part, *form, parts, level),
            NodeShape::Items { form, parts } => self.items(part, *form, parts, level),
            NodeShape::Block { attributes, blocks } => self.block(part, attributes, blocks, level),
        }
    }

    fn plain(&self, part: &DifferenceNode, before: Option<&str>, after: Option<&str>) -> String {
        let (before, after) = (self.simple(before), self.simple(after));
        let forces = self.forces(part);
        match part.effect {
            Effect::Added | Effect::Same => format!("{after}{forces}"),
            Effect::Removed => format!("{before}{}{forces}", self.null(part.effect)),
            Effect::Changed => format!("{before} {} {after}{forces}", self.arrow()),
        }
    }

    fn text(&self, part: &DifferenceNode, form: TextForm<'_>, level: usize) -> String {
        let (forces, null) = (self.forces(part), self.null(part.effect));
        match form {
            TextForm::Line { before, after } => {
                let simple = |text: Option<&str>| text.map_or_else(|| "null".to_owned(), quoted);
                match part.effect {
                    Effect::Added | Effect::Same => format!("{}{forces}", simple(after)),
                    Effect::Removed => format!("{}{null}{forces}", simple(before)),
                    Effect::Changed => format!("{} {} {}{forces}", simple(before), self.arrow(), simple(after)),
                }
            }
            TextForm::Lines(lines) => {
                let mut out = format!("<<-EOT{forces}\n");
                for (effect, line) in lines {
                    out.push_str(&format!("{}{line}\n", self.lead(level + 1, effect)));
                }
                out.push_str(&format!("{}EOT{null}", self.lead(level, Effect::Same)));
                out
            }
            TextForm::Document { value, only_spaces } => self.document(part, &value, only_spaces, level),
        }
    }

    fn document(&self, part: &DifferenceNode, value: &DifferenceNode, only_spaces: bool, level: usize) -> String {
        let spaces = match (only_spaces, part.forces) {
            (true, true) => self.style.paint("31", " # whitespace changes force replacement"),
            (true, false) => " # whitespace changes".to_owned(),
            (false, _) => String::new(),
        };
        let forces = if only_spaces { String::new() } else { self.forces(part) };
        let within = if only_spaces { self.showing_all() } else { *self };
        let shown = within.without_null().part(value, level + 1);
        if !shown.contains('\n') {
            // As in OpenTofu, the delete of a document on one line has no arrow to null.
            return format!("jsonencode({shown}){spaces}{forces}");
        }
        let sign = if part.effect == Effect::Changed && !only_spaces { Effect::Changed } else { Effect::Same };
        let (lead, end) = (self.lead(level + 1, sign), self.lead(level, Effect::Same));
        // As in OpenTofu, the note about a replacement follows the document.
        format!("jsonencode({spaces}\n{lead}{shown}{forces}\n{end}){}", self.null(part.effect))
    }

    /// A number, boolean or text. Null is dimmed and, as in OpenTofu, ends its color twice.
    fn simple(&self, text: Option<&str>) -> String {
        match text {
            None | Some("null") if self.style.colour => format!("{}\u{1b}[0m", self.style.paint("90", "null")),
            text => text.unwrap_or("null").to_owned(),
        }
    }

    fn notice(&self, part: &DifferenceNode, level: usize) -> String {
        let unchanged = match &part.shape {
            NodeShape::Hidden(within) if within.effect == Effect::Same => " The value is unchanged.",
            _ => "",
        };
        self.warning(part.notice, "attribute value", unchanged, level)
    }

    fn warning(&self, change: Option<SensitivityChange>, what: &str, more: &str, level: usize) -> String {
        let (words, end) = match change {
            None => return String::new(),
            Some(SensitivityChange::BecomesSensitive) => {
                ("will be marked as sensitive and will not", "display in UI output after applying this change.")
            }
            Some(SensitivityChange::BecomesPlain) => {
                ("will no longer be marked as sensitive", "after applying this change.")
            }
        };
        // The notice begins in the column of the signs.
        let lead = " ".repeat(4 * level + 2);
        let warning = self.style.paint("33", "Warning:");
        format!("{lead}# {warning} this {what} {words}\n{lead}# {end}{more}\n")
    }

    /// One `name = value` line. `None` if the line is omitted.
    fn argument(&self, name: &str, shown: &str, width: usize, part: &DifferenceNode, level: usize) -> Option<String> {
        let telling = TELLING.contains(&name);
        if part.effect == Effect::Same && !self.all && !telling {
            return None;
        }
        let printing = if telling { self.showing_all() } else { *self };
        let notice = self.notice(part, level);
        let lead = self.lead(level, part.effect);
        Some(format!("{notice}{lead}{shown:width$} = {}\n", printing.part(part, level)))
    }

    fn fields(
        &self,
        part: &DifferenceNode,
        form: FieldForm,
        parts: &BTreeMap<SmolStr, DifferenceNode>,
        level: usize,
    ) -> String {
        if parts.is_empty() {
            return format!("{{}}{}{}", self.null(part.effect), self.forces(part));
        }
        let map = matches!(form, FieldForm::Map | FieldForm::NestedMap);
        let inner = match form {
            FieldForm::Object => self.without_null(),
            FieldForm::NestedObject => self.with_null(),
            _ if part.effect == Effect::Removed => self.without_null(),
            _ => *self,
        };
        let names: Vec<String> =
            parts.keys().map(|name| if map { quoted(name) } else { attribute_name(name) }).collect();
        let widest = names.iter().map(|name| name.chars().count()).max().unwrap_or(0);
        let width = if form == FieldForm::NestedMap { 0 } else { widest };
        let mut out = format!("{{{}\n", self.forces(part));
        let mut unchanged = 0;
        for ((name, field), shown) in parts.iter().zip(&names) {
            let line = if map {
                (field.effect != Effect::Same || self.all).then(|| {
                    let notice = inner.notice(field, level + 1);
                    let lead = inner.lead(level + 1, field.effect);
                    // As in OpenTofu, a comma follows only the elements that are objects.
                    let objects = [FieldForm::Object, FieldForm::NestedObject];
                    let comma = match field.shape {
                        NodeShape::Fields { form, .. } if objects.contains(&form) => ",",
                        _ => "",
                    };
                    format!("{notice}{lead}{shown:width$} = {}{comma}\n", inner.part(field, level + 1))
                })
            } else {
                inner.argument(name, shown, width, field, level + 1)
            };
            match line {
                Some(line) => out.push_str(&line),
                None => unchanged += 1,
            }
        }
        if unchanged > 0 {
            out.push_str(&self.hidden_line(level + 1, if map { "element" } else { "attribute" }, unchanged));
        }
        out.push_str(&format!("{}}}{}", self.lead(level, Effect::Same), self.null(part.effect)));
        out
    }

    fn items(&self, part: &DifferenceNode, form: ItemForm, parts: &[DifferenceNode], level: usize) -> String {
        if parts.is_empty() {
            return format!("[]{}{}", self.null(part.effect), self.forces(part));
        }
        let inner = self.without_null();
        let element = |printing: &Printing, element: &DifferenceNode| {
            let notice = printing.notice(element, level + 1);
            let lead = printing.lead(level + 1, element.effect);
            format!("{notice}{lead}{},\n", printing.part(element, level + 1))
        };
        let mut out = format!("[{}\n", self.forces(part));
        let mut left_out: Vec<&DifferenceNode> = Vec::new();
        let mut show_next = false;
        for item in parts {
            if item.effect == Effect::Same && !self.all {
                if show_next {
                    out.push_str(&element(&inner.showing_all(), item));
                } else {
                    left_out.push(item);
                }
                show_next = false;
                continue;
            }
            if form == ItemForm::List {
                // The elements before and after a change show its position in the list.
                if let Some(last) = left_out.pop() {
                    if !left_out.is_empty() {
                        out.push_str(&self.hidden_line(level + 1, "element", left_out.len()));
                    }
                    out.push_str(&element(&inner.showing_all(), last));
                    left_out.clear();
                }
                show_next = item.effect != Effect::Same;
            }
            out.push_str(&element(&inner, item));
        }
        if !left_out.is_empty() {
            out.push_str(&self.hidden_line(level + 1, "element", left_out.len()));
        }
        out.push_str(&format!("{}]{}", self.lead(level, Effect::Same), self.null(part.effect)));
        out
    }

    fn block(
        &self,
        part: &DifferenceNode,
        attributes: &BTreeMap<SmolStr, DifferenceNode>,
        blocks: &BTreeMap<SmolStr, Blocks>,
        level: usize,
    ) -> String {
        if attributes.is_empty() && blocks.is_empty() {
            return format!("{{}}{}", self.forces(part));
        }
        let names: Vec<String> = attributes.keys().map(|name| attribute_name(name)).collect();
        let width = names.iter().map(|name| name.chars().count()).max().unwrap_or(0);
        let mut out = format!("{{{}\n", self.forces(part));
        let mut unchanged = 0;
        for ((name, attribute), shown) in attributes.iter().zip(&names) {
            match self.argument(name, shown, width, attribute, level + 1) {
                Some(line) => out.push_str(&line),
                None => unchanged += 1,
            }
        }
        if unchanged > 0 {
            out.push_str(&self.hidden_line(level + 1, "attribute", unchanged));
        }
        let mut unchanged = 0;
        for (name, group) in blocks {
            unchanged += self.blocks(name, group, !attributes.is_empty(), level, &mut out);
        }
        if unchanged > 0 {
            out.push('\n');
            out.push_str(&self.hidden_line(level + 1, "block", unchanged));
        }
        out.push_str(&format!("{}}}", self.lead(level, Effect::Same)));
        out
    }

    /// A block whose contents are hidden.
    fn hidden_block(&self, block: &DifferenceNode, level: usize) -> String {
        let (lead, forces) = (self.lead(level, Effect::Same), self.forces(block));
        format!(
            "{{{forces}\n{lead}  # At least one attribute in this block is (or was) sensitive,\n{lead}  # so its contents \
             will not be displayed.\n{lead}}}"
        )
    }

    /// Prints the blocks of one type. Returns the number of omitted blocks.
    fn blocks(&self, name: &str, group: &Blocks, apart: bool, level: usize, out: &mut String) -> usize {
        let mut unchanged = 0;
        let mut shown = false;
        for (key, block) in &group.parts {
            let effect = group.effect(block);
            if effect == Effect::Same && !self.all {
                unchanged += 1;
                continue;
            }
            if !shown && apart {
                out.push('\n');
            }
            shown = true;
            let key = key.as_ref().map(|key| format!(" {}", quoted(key))).unwrap_or_default();
            let content = match group.hides(block) && !self.style.reveal {
                true => self.hidden_block(block, level + 1),
                false => self.with_null().part(block, level + 1),
            };
            out.push_str(&self.warning(group.notice(block), "block", "", level + 1));
            let lead = self.lead(level + 1, effect);
            out.push_str(&format!("{lead}{}{key} {content}\n", attribute_name(name)));
        }
        unchanged
    }
}
