//! Regular expressions and replacement.

use std::cell::RefCell;
use std::rc::Rc;

use regex::Captures;
use weft_graph_format::types::Type;
use weft_graph_format::value::{MOST_PARTS, Value};

use super::arguments::text;
use super::re2::{self, Pattern};
use super::string::LONGEST_TEXT_BYTES;
use super::{CallContext, Function, FunctionError, Parameter, Symbolic, problems};

pub(super) fn functions() -> Vec<Function> {
    let string = |name, description| Parameter::new(name, Type::String, description);
    vec![
        Function::new("regex", "The first match of a pattern, or its groups.", Symbolic::Opaque)
            .parameter(string("pattern", "The pattern, in the syntax of RE2."))
            .parameter(string("string", "The text to search."))
            .returns_of(match_type)
            .not_null()
            .calls(regex),
        Function::new("regexall", "All matches of a pattern, or their groups.", Symbolic::Opaque)
            .parameter(string("pattern", "The pattern, in the syntax of RE2."))
            .parameter(string("string", "The text to search."))
            .returns_of(|arguments| Ok(Type::list(match_type(arguments)?)))
            .not_null()
            .calls(regexall),
        Function::new("replace", "The text with every occurrence of a part replaced.", Symbolic::Opaque)
            .parameter(string("str", "The text."))
            .parameter(string("substr", "The part to replace, or a pattern between slashes."))
            .parameter(string("replace", "The replacement."))
            .returns(Type::String)
            .not_null()
            .calls(replace),
    ]
}

thread_local! {
    /// The last compiled pattern. An expression in a loop usually has the same pattern in every round.
    static LAST: RefCell<Option<(String, Rc<Pattern>)>> = const { RefCell::new(None) };
}

fn compiled(pattern: &str) -> Result<Rc<Pattern>, String> {
    LAST.with_borrow_mut(|last| {
        if let Some((text, found)) = last
            && text == pattern
        {
            return Ok(Rc::clone(found));
        }
        let found = Rc::new(re2::compile(pattern)?);
        *last = Some((pattern.to_owned(), Rc::clone(&found)));
        Ok(found)
    })
}

fn pattern_argument(arguments: &[Value]) -> Result<Rc<Pattern>, FunctionError> {
    compiled(text(arguments, 0)?).map_err(problems::text::invalid_pattern)
}

fn match_type(arguments: &[Value]) -> Result<Type, FunctionError> {
    if !arguments[0].is_known() {
        return Ok(Type::Dynamic);
    }
    let pattern = pattern_argument(arguments)?;
    let named = pattern.names.iter().flatten().count();
    if pattern.names.is_empty() {
        Ok(Type::String)
    } else if named == 0 {
        Ok(Type::tuple(pattern.names.iter().map(|_| Type::String)))
    } else if named == pattern.names.len() {
        Ok(Type::object(pattern.names.iter().flatten().map(|name| (name.as_str(), Type::String))))
    } else {
        Err(problems::text::mixed_groups())
    }
}

/// The result of one match: the text, or the groups. Groups that did not match are null.
fn matched(pattern: &Pattern, captures: &Captures<'_>, ty: &Type) -> Value {
    let group = |index: usize| match captures.get(index) {
        Some(found) => Value::string(found.as_str()),
        None => Value::null(Type::String),
    };
    match ty {
        Type::Tuple(_) => Value::tuple((1..=pattern.names.len()).map(group).collect()),
        Type::Object(_) => Value::object(
            pattern.names.iter().enumerate().filter_map(|(i, name)| Some((name.as_deref()?, group(i + 1)))),
        ),
        _ => group(0),
    }
}

fn regex(_: &CallContext<'_>, arguments: &[Value], ty: &Type) -> Result<Value, FunctionError> {
    let pattern = pattern_argument(arguments)?;
    match pattern.regex.captures(text(arguments, 1)?) {
        Some(captures) => Ok(matched(&pattern, &captures, ty)),
        None => Err(problems::text::no_match()),
    }
}

fn regexall(_: &CallContext<'_>, arguments: &[Value], ty: &Type) -> Result<Value, FunctionError> {
    let pattern = pattern_argument(arguments)?;
    let element = ty.element().cloned().unwrap_or(Type::String);
    let mut found = Vec::new();
    let mut parts: u32 = 0;
    for captures in pattern.regex.captures_iter(text(arguments, 1)?) {
        let item = matched(&pattern, &captures, &element);
        parts = parts.saturating_add(item.extent().parts);
        if parts >= MOST_PARTS {
            return Err(problems::too_many_parts(MOST_PARTS));
        }
        found.push(item);
    }
    Ok(Value::list(element, found))
}

fn replace(_: &CallContext<'_>, arguments: &[Value], _: &Type) -> Result<Value, FunctionError> {
    let (subject, part, with) = (text(arguments, 0)?, text(arguments, 1)?, text(arguments, 2)?);

    let inner = part.strip_prefix('/').and_then(|inner| inner.strip_suffix('/'));
    let Some(inner) = inner else {
        let count = if part.is_empty() { subject.len() + 1 } else { subject.matches(part).count() };
        if count.saturating_mul(with.len()).saturating_add(subject.len()) > LONGEST_TEXT_BYTES {
            return Err(problems::result_too_long());
        }
        return Ok(Value::string(subject.replace(part, with)));
    };
    let pattern = compiled(inner).map_err(problems::text::invalid_replace_pattern)?;
    let mut out = String::new();
    let mut end = 0;
    for captures in pattern.regex.captures_iter(subject) {
        let Some(whole) = captures.get(0) else { continue };
        out.push_str(&subject[end..whole.start()]);
        if !expand(with, &pattern, &captures, &mut out) {
            return Err(problems::result_too_long());
        }
        end = whole.end();
    }
    out.push_str(&subject[end..]);
    Ok(Value::string(out))
}

/// Appends `template` with `$1`, `$name` and `${name}` replaced by groups, and `$$` by a dollar sign. Returns `false`
/// if `out` exceeds the maximum length.
fn expand(template: &str, pattern: &Pattern, captures: &Captures<'_>, out: &mut String) -> bool {
    let mut rest = template;
    while let Some((before, after)) = rest.split_once('$') {
        if out.len() > LONGEST_TEXT_BYTES {
            return false;
        }
        out.push_str(before);
        if let Some(after) = after.strip_prefix('$') {
            out.push('$');
            rest = after;
            continue;
        }
        let word = |c: char| c == '_' || c.is_alphanumeric();
        let (inner, braced) = match after.strip_prefix('{') {
            Some(inner) => (inner, true),
            None => (after, false),
        };
        let length = inner.find(|c| !word(c)).unwrap_or(inner.len());
        let (name, tail) = inner.split_at(length);
        let tail = if braced { tail.strip_prefix('}') } else { Some(tail) };
        let (Some(tail), false) = (tail, name.is_empty()) else {
            out.push('$');
            rest = after;
            continue;
        };
        let found = if name.bytes().all(|b| b.is_ascii_digit()) && (name.len() == 1 || !name.starts_with('0')) {
            name.parse().ok().and_then(|index: usize| captures.get(index))
        } else {
            let named = pattern.names.iter().enumerate().filter(|(_, n)| n.as_deref() == Some(name));
            named.filter_map(|(index, _)| captures.get(index + 1)).next()
        };
        out.push_str(found.map_or("", |found| found.as_str()));
        rest = tail;
    }
    out.push_str(rest);
    out.len() <= LONGEST_TEXT_BYTES
}
