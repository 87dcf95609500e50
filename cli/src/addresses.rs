//! Addresses in arguments of commands.

use std::borrow::Cow;
use std::sync::Arc;

use weft_graph_format::address::{ModuleInstance, ResourceInstance, quoted};
use weft_graph_format::diagnostic::Diagnostic;
use weft_graph_format::source::{Position, SourceRange};

use crate::problems;

/// A description of what `-target` and similar options accept, for messages.
pub const SELECTED: &str = "a module, a resource, or an instance of one";

/// A description of what commands on one object accept, for messages.
pub const ONE_INSTANCE: &str = "one instance of a resource: TYPE.NAME or TYPE.NAME[KEY]";

/// Removes the spaces and comments that OpenTofu allows between the parts of an address in an argument. A text that is
/// not an address is returned unchanged.
pub fn compact(text: &str) -> Cow<'_, str> {
    match text.contains(|sign: char| sign.is_whitespace() || sign == '#' || sign == '/') {
        true => weft_syntax::compact_traversal(text).map_or(Cow::Borrowed(text), Cow::Owned),
        false => Cow::Borrowed(text),
    }
}

/// Parses the address of an instance in an argument. As in OpenTofu, the address must not have a negative key, although
/// addresses in a state may have one.
pub fn written_instance(text: &str) -> Option<ResourceInstance> {
    compact(text).parse().ok().filter(|address: &ResourceInstance| !address.has_negative_key())
}

/// Parses the address of a module instance in an argument. The address must not be that of the root module, and must
/// not have negative keys.
pub fn written_module(text: &str) -> Option<ModuleInstance> {
    compact(text).parse().ok().filter(|module: &ModuleInstance| !module.is_root() && !module.has_negative_key())
}

/// A text with the escapes of a quoted string, but without the quotes.
pub fn escaped(text: &str) -> String {
    let quoted = quoted(text);
    quoted.strip_prefix('"').and_then(|rest| rest.strip_suffix('"')).unwrap_or(&quoted).to_owned()
}

/// The errors for a text that is not a valid address, or that does not name what the command expects.
///
/// `wanted` describes what the command expects. `at` is the file that contains the text, and the position in the file
/// where the text begins. The list of errors is never empty.
pub fn invalid_address(text: &str, at: Option<(&str, Position)>, wanted: &str) -> Vec<Diagnostic> {
    let (file, start) = at.unwrap_or(("", Position::START));
    let (_, mut problems) = weft_syntax::parse_traversal(file, Arc::from(text), start);
    if problems.is_empty() {
        let whole = SourceRange { file: file.into(), start, end: start };
        problems.push(problems::other_address(text, wanted).at(whole));
    }
    if at.is_none() {
        problems.iter_mut().for_each(|problem| problem.subject = None);
    }
    problems
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn spaces_and_comments_are_no_part_of_an_address() {
        for (text, want) in [
            ("a.b", "a.b"),
            ("a.b # c", "a.b"),
            ("a.b//c", "a.b"),
            ("/* c */ a /* d */ . b [ 0 ]", "a.b[0]"),
            ("a.b[\"# / \\\"\"] # c", "a.b[\"# / \\\"\"]"),
            ("module.m [\"k\"].a.b", "module.m[\"k\"].a.b"),
            ("a.b /* c", "a.b /* c"),
            ("a.b c.d", "a.b c.d"),
            ("", ""),
        ] {
            assert_eq!(compact(text), want, "{text}");
        }
    }
}
