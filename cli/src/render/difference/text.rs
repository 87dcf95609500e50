//! Strings in a difference. A single line is quoted, several lines are a heredoc, and JSON documents are shown as
//! values.

use smol_str::SmolStr;
use weft_graph_format::value::Value;

use super::compare::{Pair, Reasons, dynamic};
use super::document::document;
use super::sequence::{Match, lists};
use super::{DifferenceNode, Effect};

type Side<'a> = Option<&'a Option<SmolStr>>;

/// The form in which strings are printed.
#[derive(Clone, Debug, PartialEq)]
pub enum TextForm<'a> {
    /// The old and the new string, in quotes.
    Line {
        /// The old string if it is removed or changed. `None` also stands for null.
        before: Option<&'a str>,
        /// The new string unless the string is removed. `None` also stands for null.
        after: Option<&'a str>,
    },
    /// A heredoc: its lines, each with its effect. Blanks at the start and at the end of the text are left out.
    Lines(Vec<(Effect, &'a str)>),
    /// A JSON document.
    Document {
        /// The difference between the old and the new value of the document.
        value: DifferenceNode,
        /// Whether the string changes, but the value that it contains does not.
        only_spaces: bool,
    },
}

/// The form of two strings with this effect.
pub fn form<'a>(effect: Effect, before: Side<'a>, after: Side<'a>) -> TextForm<'a> {
    let of = |side: Side<'a>| side.and_then(Option::as_deref);
    let (before, after) = match effect {
        Effect::Added | Effect::Same => (None, of(after)),
        Effect::Removed => (of(before), None),
        Effect::Changed => (of(before), of(after)),
    };
    let documents = (before.and_then(document), after.and_then(document));
    match (&documents, effect) {
        ((Some(_), Some(_)), _)
        | ((None, Some(_)), Effect::Added | Effect::Same)
        | ((Some(_), None), Effect::Removed) => return of_documents(effect, documents.0, documents.1),
        _ => {}
    }
    let several = |text: Option<&str>| text.is_some_and(|text| text.contains('\n'));
    if !several(before) && !several(after) {
        return TextForm::Line { before, after };
    }
    let lines = |text: Option<&'a str>| -> Vec<&'a str> {
        let lines = |text: &'a str| if text.contains('\n') { text.trim().split('\n').collect() } else { vec![text] };
        text.map(lines).unwrap_or_default()
    };
    // Beside several lines, null is a line.
    let null = |text: Option<&'a str>| if effect == Effect::Changed { text.or(Some("null")) } else { text };
    let (before, after) = (lines(null(before)), lines(null(after)));
    let same = |lines: Vec<&'a str>| lines.into_iter().map(|line| (Effect::Same, line)).collect();
    TextForm::Lines(match effect {
        Effect::Added | Effect::Same => same(after),
        Effect::Removed => same(before),
        Effect::Changed => aligned(&before, &after),
    })
}

/// The aligned lines of two strings, in display order.
fn aligned<'a>(before: &[&'a str], after: &[&'a str]) -> Vec<(Effect, &'a str)> {
    let mut out = Vec::new();
    for found in lists(before, after, |_, _| false) {
        match found {
            Match::Gone(b) => out.push((Effect::Removed, before[b])),
            Match::New(a) => out.push((Effect::Added, after[a])),
            Match::Both(b, a) if before[b] == after[a] => out.push((Effect::Same, after[a])),
            // Strings that are too long to align are paired line by line.
            Match::Both(b, a) => out.extend([(Effect::Removed, before[b]), (Effect::Added, after[a])]),
        }
    }
    out
}

fn of_documents<'a>(effect: Effect, before: Option<Value>, after: Option<Value>) -> TextForm<'a> {
    let before = if effect == Effect::Same { after.as_ref() } else { before.as_ref() };
    let value = dynamic(Pair { before, after: after.as_ref() }, &Reasons::default());
    let only_spaces = value.effect == Effect::Same && effect == Effect::Changed;
    TextForm::Document { value, only_spaces }
}
