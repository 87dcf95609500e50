//! Functions of text: case, trimming, slicing, joining. As in OpenTofu, positions and lengths count grapheme clusters.

use weft_graph_format::types::Type;
use weft_graph_format::value::{LONGEST_TEXT, MOST_PARTS, Value};

use super::arguments::{items, text, whole_at};
use super::clusters::{self, clusters};
use super::{CallContext, Function, FunctionError, Parameter, Symbolic, problems};

/// The maximum length of a text that a function builds by repeating or padding. More than a configuration needs, and
/// small enough that no numeric argument exhausts memory.
pub(super) const LONGEST_TEXT_BYTES: usize = LONGEST_TEXT;

pub(super) fn functions() -> Vec<Function> {
    let string = |name, description| Parameter::new(name, Type::String, description);
    let number = |name, description| Parameter::new(name, Type::Number, description);
    let text_function = |name, description| Function::new(name, description, Symbolic::Opaque).not_null();
    let of_text = |name, description| {
        text_function(name, description).parameter(string("str", "The text.")).returns(Type::String)
    };
    vec![
        of_text("chomp", "The text without line ends at its end.")
            .calls(|_, a, _| changed(a, |s| s.trim_end_matches(['\r', '\n']).into())),
        of_text("lower", "The text in lower case.").calls(|_, a, _| changed(a, |s| s.chars().map(lower).collect())),
        of_text("upper", "The text in upper case.").calls(|_, a, _| changed(a, |s| s.chars().map(upper).collect())),
        of_text("title", "The text with the first letter of each word in title case.")
            .calls(|_, a, _| changed(a, title)),
        of_text("strrev", "The characters in reverse order.")
            .calls(|_, a, _| changed(a, |s| clusters(s).rev().collect())),
        of_text("trimspace", "The text without white space at its ends.")
            .calls(|_, a, _| changed(a, |s| s.trim().into())),
        text_function("trim", "The text without any of the given characters at its ends.")
            .parameter(string("str", "The text."))
            .parameter(string("cutset", "The characters to remove."))
            .returns(Type::String)
            .calls(|_, a, _| changed_by(a, |s, set| s.trim_matches(|c| set.contains(c)).into())),
        text_function("trimprefix", "The text without a prefix, if it begins with that prefix.")
            .parameter(string("str", "The text."))
            .parameter(string("prefix", "The prefix."))
            .returns(Type::String)
            .calls(|_, a, _| changed_by(a, |s, prefix| s.strip_prefix(prefix).unwrap_or(s).into())),
        text_function("trimsuffix", "The text without a suffix, if it ends with that suffix.")
            .parameter(string("str", "The text."))
            .parameter(string("suffix", "The suffix."))
            .returns(Type::String)
            .calls(|_, a, _| changed_by(a, |s, suffix| s.strip_suffix(suffix).unwrap_or(s).into())),
        text_function("indent", "The text with spaces after each line end.")
            .parameter(number("spaces", "The number of spaces."))
            .parameter(string("str", "The text."))
            .returns(Type::String)
            .calls(indent),
        text_function("substr", "A part of the text.")
            .parameter(string("str", "The text."))
            .parameter(number("offset", "The index of the first character. A negative index counts from the end."))
            .parameter(number("length", "The number of characters; a negative number for all that follow."))
            .returns(Type::String)
            .calls(substr),
        text_function("join", "The strings of lists with a separator between them.")
            .parameter(string("separator", "The separator."))
            .variadic(Parameter::new("lists", Type::list(Type::String), "Lists of strings.").unknowns())
            .returns(Type::String)
            .calls(join),
        text_function("split", "The parts of a text between separators.")
            .parameter(string("separator", "The separator; empty to split into code points."))
            .parameter(string("str", "The text."))
            .returns(Type::list(Type::String))
            .calls(split),
        text_function("startswith", "Whether the text begins with another.")
            .parameter(string("str", "The text.").unknowns())
            .parameter(string("prefix", "The prefix."))
            .returns(Type::Bool)
            .calls(startswith),
        text_function("endswith", "Whether the text ends with another.")
            .parameter(string("str", "The text."))
            .parameter(string("suffix", "The suffix."))
            .returns(Type::Bool)
            .calls(|_, a, _| Ok(Value::bool(text(a, 0)?.ends_with(text(a, 1)?)))),
        Function::new("strcontains", "Whether another text occurs in the text.", Symbolic::Opaque)
            .parameter(string("str", "The text."))
            .parameter(string("substr", "The text to look for."))
            .returns(Type::Bool)
            .calls(|_, a, _| Ok(Value::bool(text(a, 0)?.contains(text(a, 1)?)))),
    ]
}

fn changed(arguments: &[Value], change: impl Fn(&str) -> String) -> Result<Value, FunctionError> {
    Ok(Value::string(change(text(arguments, 0)?)))
}

fn changed_by(arguments: &[Value], change: impl Fn(&str, &str) -> String) -> Result<Value, FunctionError> {
    Ok(Value::string(change(text(arguments, 0)?, text(arguments, 1)?)))
}

/// The simple (one to one) lowercase mapping.
fn lower(c: char) -> char {
    c.to_lowercase().next().unwrap_or(c)
}

/// The simple (one to one) uppercase mapping. Characters without a single uppercase letter stay unchanged.
fn upper(c: char) -> char {
    let mut all = c.to_uppercase();
    match (all.next(), all.next()) {
        (Some(one), None) => one,
        _ => match c {
            // Greek letters with iota subscript: their full uppercase mapping has two letters. The simple mapping is
            // the title-case form.
            '\u{1f80}'..='\u{1f87}' | '\u{1f90}'..='\u{1f97}' | '\u{1fa0}'..='\u{1fa7}' => {
                char::from_u32(c as u32 + 8).unwrap_or(c)
            }
            '\u{1fb3}' | '\u{1fc3}' | '\u{1ff3}' => char::from_u32(c as u32 + 9).unwrap_or(c),
            _ => c,
        },
    }
}

/// The simple title-case mapping.
fn title_letter(c: char) -> char {
    match c {
        '\u{1c4}'..='\u{1c6}' => '\u{1c5}',
        '\u{1c7}'..='\u{1c9}' => '\u{1c8}',
        '\u{1ca}'..='\u{1cc}' => '\u{1cb}',
        '\u{1f1}'..='\u{1f3}' => '\u{1f2}',
        // Georgian has no title case.
        '\u{10d0}'..='\u{10fa}' | '\u{10fd}'..='\u{10ff}' => c,
        c => upper(c),
    }
}

fn title(text: &str) -> String {
    let mut after_separator = true;
    text.chars()
        .map(|c| {
            let turned = if after_separator { title_letter(c) } else { c };
            after_separator = if c.is_ascii() {
                !(c.is_ascii_alphanumeric() || c == '_')
            } else {
                !c.is_alphanumeric() && c.is_whitespace()
            };
            turned
        })
        .collect()
}

fn indent(_: &CallContext<'_>, arguments: &[Value], _: &Type) -> Result<Value, FunctionError> {
    let spaces = whole_at(arguments, 0)?;
    let text = text(arguments, 1)?;
    let spaces = usize::try_from(spaces).map_err(|_| problems::text::negative_spaces())?;
    let lines = text.matches('\n').count();
    if lines.saturating_mul(spaces).saturating_add(text.len()) > LONGEST_TEXT_BYTES {
        return Err(problems::text::indented_too_long());
    }
    if lines == 0 {
        return Ok(Value::string(text));
    }
    let filled = format!("\n{}", " ".repeat(spaces));
    Ok(Value::string(text.replace('\n', &filled)))
}

fn substr(_: &CallContext<'_>, arguments: &[Value], _: &Type) -> Result<Value, FunctionError> {
    let text = text(arguments, 0)?;
    let offset = whole_at(arguments, 1)?;
    let length = whole_at(arguments, 2)?;
    let skipped = if offset < 0 {
        let count = i64::try_from(clusters::count(text)).unwrap_or(i64::MAX);
        usize::try_from(count.saturating_add(offset)).unwrap_or(0)
    } else {
        usize::try_from(offset).unwrap_or(usize::MAX)
    };
    let rest = clusters(text).skip(skipped);
    // With a negative offset, a length of zero means the rest of the text, as in OpenTofu.
    let taken: String = match usize::try_from(length) {
        Ok(0) if offset < 0 => rest.collect(),
        Ok(length) => rest.take(length).collect(),
        Err(_) => rest.collect(),
    };
    Ok(Value::string(taken))
}

fn join(_: &CallContext<'_>, arguments: &[Value], _: &Type) -> Result<Value, FunctionError> {
    let separator = text(arguments, 0)?;
    let lists = arguments.get(1..).unwrap_or_default();
    if lists.is_empty() {
        return Err(problems::text::no_lists());
    }
    if !lists.iter().all(Value::is_wholly_known) {
        return Ok(Value::unknown(Type::String));
    }
    let mut joined = String::new();
    let mut first = true;
    for index in 1..arguments.len() {
        for (place, item) in items(arguments, index)?.iter().enumerate() {
            let Some(item) = item.as_str() else {
                return Err(problems::text::cannot_join_null(index, place, lists.len() > 1));
            };
            if !first {
                joined.push_str(separator);
            }
            first = false;
            joined.push_str(item);
            if joined.len() > LONGEST_TEXT_BYTES {
                return Err(problems::result_too_long());
            }
        }
    }
    Ok(Value::string(joined))
}

fn split(_: &CallContext<'_>, arguments: &[Value], _: &Type) -> Result<Value, FunctionError> {
    let (separator, text) = (text(arguments, 0)?, text(arguments, 1)?);
    let pieces = if separator.is_empty() { text.len() } else { text.matches(separator).count() };
    if pieces >= MOST_PARTS as usize {
        return Err(problems::too_many_parts(MOST_PARTS));
    }
    let parts = if separator.is_empty() {
        text.chars().map(|c| Value::string(c.encode_utf8(&mut [0; 4]))).collect()
    } else {
        text.split(separator).map(Value::string).collect()
    };
    Ok(Value::list(Type::String, parts))
}

fn startswith(_: &CallContext<'_>, arguments: &[Value], _: &Type) -> Result<Value, FunctionError> {
    let prefix = text(arguments, 1)?;
    let Some(known) = arguments[0].refinement() else {
        return Ok(Value::bool(text(arguments, 0)?.starts_with(prefix)));
    };
    if known.prefix.starts_with(prefix) {
        return Ok(Value::bool(true));
    }
    if !known.prefix.is_empty() && known.prefix.len() >= prefix.len() {
        return Ok(Value::bool(false));
    }
    Ok(Value::unknown(Type::Bool))
}
