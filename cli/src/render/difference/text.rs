//! Text in a difference: one line in quotes, several lines as a heredoc, JSON documents as values.

use smol_str::SmolStr;
use weft_graph_format::codec;
use weft_graph_format::value::Value;

use super::super::quoting::quoted;
use super::compare::{Pair, Reasons, dynamic};
use super::sequence::{Match, lists};
use super::{DifferenceNode, Effect, Printing};

type Side<'a> = Option<&'a Option<SmolStr>>;

/// A text before and after.
pub fn text(printing: &Printing, part: &DifferenceNode, before: Side<'_>, after: Side<'_>, level: usize) -> String {
    let of = |side: Side<'_>| side.and_then(Option::as_ref).cloned();
    let (before, after) = (of(before), of(after));
    let forces = printing.forces(part);
    let (was, will) = match part.effect {
        Effect::Added | Effect::Same => (None, after.as_deref()),
        Effect::Removed => (before.as_deref(), None),
        Effect::Changed => (before.as_deref(), after.as_deref()),
    };
    let documents = (was.and_then(document), will.and_then(document));
    match (&documents, part.effect) {
        ((Some(_), Some(_)), _)
        | ((None, Some(_)), Effect::Added | Effect::Same)
        | ((Some(_), None), Effect::Removed) => {
            return json(printing, part, documents.0, documents.1, level);
        }
        _ => {}
    }
    let simple = |text: Option<&str>| text.map_or_else(|| "null".to_owned(), quoted);
    let several = |text: Option<&str>| text.is_some_and(|text| text.contains('\n'));
    if !several(was) && !several(will) {
        return match part.effect {
            Effect::Added | Effect::Same => format!("{}{forces}", simple(will)),
            Effect::Removed => format!("{}{}{forces}", simple(was), printing.null(part.effect)),
            Effect::Changed => format!("{} {} {}{forces}", simple(was), printing.style.paint("33", "->"), simple(will)),
        };
    }
    let lines = |text: Option<&'_ str>| -> Vec<String> {
        text.map(|text| text.trim_end_matches('\n').split('\n').map(str::to_owned).collect()).unwrap_or_default()
    };
    let (was_lines, will_lines) = (lines(was), lines(will));
    let mut out = format!("<<-EOT{forces}\n");
    let mut line = |effect: Effect, text: &str| {
        out.push_str(&printing.lead(level + 1, effect));
        out.push_str(text);
        out.push('\n');
    };
    match part.effect {
        Effect::Added | Effect::Same => will_lines.iter().for_each(|text| line(Effect::Same, text)),
        Effect::Removed => was_lines.iter().for_each(|text| line(Effect::Same, text)),
        Effect::Changed => {
            for found in lists(&was_lines, &will_lines, |_, _| false) {
                match found {
                    Match::Gone(b) => line(Effect::Removed, &was_lines[b]),
                    Match::New(a) => line(Effect::Added, &will_lines[a]),
                    Match::Both(b, a) if was_lines[b] == will_lines[a] => line(Effect::Same, &will_lines[a]),
                    // Texts that are too long to align are compared line by line.
                    Match::Both(b, a) => {
                        line(Effect::Removed, &was_lines[b]);
                        line(Effect::Added, &will_lines[a]);
                    }
                }
            }
        }
    }
    out.push_str(&format!("{}EOT{}", printing.lead(level, Effect::Same), printing.null(part.effect)));
    out
}

/// The value of a text that is a JSON object or list.
fn document(text: &str) -> Option<Value> {
    if !text.trim_start().starts_with(['{', '[']) {
        return None;
    }
    codec::json::decode_implied(text.as_bytes()).ok()
}

fn json(
    printing: &Printing,
    part: &DifferenceNode,
    before: Option<Value>,
    after: Option<Value>,
    level: usize,
) -> String {
    let same = part.effect == Effect::Same;
    let pair = Pair { before: if same { after.as_ref() } else { before.as_ref() }, after: after.as_ref() };
    let inner = dynamic(pair, &Reasons::default());
    let only_spaces = inner.effect == Effect::Same && part.effect == Effect::Changed;
    let note = match (only_spaces, part.forces) {
        (true, true) => printing.style.paint("31", " # whitespace changes force replacement"),
        (true, false) => " # whitespace changes".to_owned(),
        (false, _) => printing.forces(part),
    };
    let within = if only_spaces { printing.showing_all() } else { *printing };
    let shown = within.without_null().part(&inner, level + 1);
    let null = printing.null(part.effect);
    if !shown.contains('\n') {
        return format!("jsonencode({shown}){note}{null}");
    }
    let sign = if part.effect == Effect::Changed && !only_spaces { Effect::Changed } else { Effect::Same };
    format!(
        "jsonencode({note}\n{}{shown}\n{}){null}",
        printing.lead(level + 1, sign),
        printing.lead(level, Effect::Same)
    )
}
