//! `format` and `formatlist`: Go's verbs, as go-cty implements them.

use weft_graph_format::number::{Number, NumberStyle};
use weft_graph_format::quoting::quoted;
use weft_graph_format::types::Type;
use weft_graph_format::value::{Kind, MOST_TEXT, Refinement, Value};

use super::arguments::text;
use super::clusters::{self, clusters};
use super::json::json_text;
use super::string::LONGEST_TEXT_BYTES;
use super::{CallContext, Function, FunctionError, Parameter, Symbolic, problems};
use crate::convert::convert;
use crate::refine::safe_prefix_within;

/// The maximum width and precision of a verb. Wider than any table, and small enough to limit the result.
const WIDEST: usize = 1 << 16;

/// The maximum number of results of one `formatlist`.
const LONGEST_LIST: usize = 1 << 20;

/// The maximum length, in bytes, of the known prefix of an unknown result. A plan of OpenTofu stores no longer one.
const LONGEST_FORMAT_PREFIX: usize = 255;

pub(super) fn functions() -> Vec<Function> {
    let arguments =
        || Parameter::new("args", Type::Dynamic, "The values for the verbs.").nullable().unknowns().dynamic();
    vec![
        Function::new("format", "A text in which verbs are replaced by the arguments.", Symbolic::Opaque)
            .parameter(Parameter::new("format", Type::String, "Text with verbs."))
            .variadic(arguments())
            .returns(Type::String)
            .not_null()
            .calls(format_one),
        Function::new("formatlist", "A text for each element of the lists among the arguments.", Symbolic::Opaque)
            .parameter(Parameter::new("format", Type::String, "Text with verbs."))
            .variadic(arguments())
            .returns(Type::list(Type::String))
            .not_null()
            .calls(formatlist),
    ]
}

fn format_one(_: &CallContext<'_>, arguments: &[Value], _: &Type) -> Result<Value, FunctionError> {
    let pattern = text(arguments, 0)?;
    let values: Vec<&Value> = arguments.iter().skip(1).collect();
    if values.iter().all(|v| v.is_wholly_known()) {
        return formatted(pattern, &values).map(Value::string);
    }
    // As in OpenTofu, a pattern without verbs gives no prefix. Such a call fails at apply.
    let literal = pattern.split_once('%').map_or("", |(literal, _)| literal);
    let prefix = safe_prefix_within(literal, LONGEST_FORMAT_PREFIX);
    Ok(Value::refined(Type::String, Refinement::with_prefix(prefix)))
}

/// What an argument of `formatlist` contributes to each round.
enum ListArgument<'a> {
    Each(&'a [Value]),
    Same(&'a Value),
}

fn formatlist(_: &CallContext<'_>, arguments: &[Value], ty: &Type) -> Result<Value, FunctionError> {
    let pattern = text(arguments, 0)?;
    let mut list_arguments = Vec::with_capacity(arguments.len());
    let mut chosen: Option<(usize, usize)> = None;
    let mut open = false;
    for (index, argument) in arguments.iter().enumerate().skip(1) {
        let length = match (argument.open().1, argument.ty()) {
            (Kind::Null(_), _) => None,
            (Kind::Unknown(_), Type::Tuple(elements)) => Some(elements.len()),
            (Kind::Unknown(_), Type::List(_) | Type::Set(_) | Type::Dynamic) => {
                open = true;
                continue;
            }
            (Kind::Set(set), _) if set.len() > 1 && !argument.is_wholly_known() => {
                open = true;
                continue;
            }
            (Kind::List(s) | Kind::Set(s) | Kind::Tuple(s), _) => Some(s.len()),
            _ => None,
        };
        if let Some(length) = length {
            match chosen {
                Some((first, expected)) if expected != length => {
                    return Err(problems::format::lengths_differ(index, length, first, expected));
                }
                Some(_) => {}
                None => chosen = Some((index, length)),
            }
        }
        match (length, argument.as_items()) {
            (Some(_), Some(items)) => list_arguments.push(ListArgument::Each(items)),
            (Some(_), None) => open = true,
            (None, _) => list_arguments.push(ListArgument::Same(argument)),
        }
    }
    if open {
        return Ok(Value::unknown(ty.clone()));
    }
    let rounds = chosen.map_or(1, |(_, length)| length);
    if rounds > LONGEST_LIST {
        return Err(problems::format::too_many_results(LONGEST_LIST));
    }
    let mut results = Vec::with_capacity(rounds);
    let mut total: usize = 0;
    for round in 0..rounds {
        let values: Vec<&Value> = list_arguments
            .iter()
            .filter_map(|argument| match argument {
                ListArgument::Each(items) => items.get(round),
                ListArgument::Same(value) => Some(*value),
            })
            .collect();
        if !values.iter().all(|v| v.is_wholly_known()) {
            results.push(Value::refined(Type::String, Refinement::not_null()));
            continue;
        }
        let text = formatted(pattern, &values).map_err(|e| problems::format::iteration_failed(round, &e))?;
        total = total.saturating_add(text.len());
        if total > MOST_TEXT as usize {
            return Err(problems::format::results_too_long(MOST_TEXT));
        }
        results.push(Value::string(text));
    }
    Ok(Value::list(Type::String, results))
}

/// One verb: `%[flags][width][.precision][[argument]]mode`.
#[derive(Default)]
struct Verb<'a> {
    raw: &'a str,
    offset: usize,
    plus: bool,
    minus: bool,
    space: bool,
    zero: bool,
    sharp: bool,
    width: Option<usize>,
    precision: Option<usize>,
    argument: usize,
}

impl Verb<'_> {
    fn failed(&self, why: impl std::fmt::Display) -> FunctionError {
        problems::format::unsupported_value(self.raw, self.offset, why)
    }

    /// Pads the text with spaces or zeros to the width, counted in characters.
    fn padded(&self, text: String) -> String {
        let Some(width) = self.width else { return text };
        let Some(missing) = width.checked_sub(clusters::count(&text)).filter(|m| *m > 0) else { return text };
        let fill = if self.zero && !self.minus { "0" } else { " " }.repeat(missing);
        if self.minus { text + &fill } else { fill + &text }
    }

    fn sign(&self, negative: bool) -> &'static str {
        match (negative, self.plus, self.space) {
            (true, _, _) => "-",
            (_, true, _) => "+",
            (_, _, true) => " ",
            _ => "",
        }
    }
}

/// Replaces the verbs of the pattern with the arguments. All arguments must be known and used.
fn formatted(pattern: &str, values: &[&Value]) -> Result<String, FunctionError> {
    let mut out = String::new();
    let mut next_argument = 1;
    let mut used = 0;
    let bytes = pattern.as_bytes();
    let mut at = 0;
    while let Some(start) = pattern[at..].find('%').map(|found| at + found) {
        out.push_str(&pattern[at..start]);
        let mut verb = Verb { offset: start, argument: next_argument, ..Verb::default() };
        at = start + 1;
        loop {
            match bytes.get(at) {
                Some(b'+') => verb.plus = true,
                Some(b'-') => verb.minus = true,
                Some(b' ') => verb.space = true,
                Some(b'0') => verb.zero = true,
                Some(b'#') => verb.sharp = true,
                _ => break,
            }
            at += 1;
        }
        verb.width = digits(bytes, &mut at)?;
        if bytes.get(at) == Some(&b'.') {
            at += 1;
            verb.precision = Some(digits(bytes, &mut at)?.unwrap_or(0));
        }
        if bytes.get(at) == Some(&b'[') {
            at += 1;
            let number = digits(bytes, &mut at)?;
            match (number, bytes.get(at)) {
                (Some(number), Some(b']')) => verb.argument = number,
                _ => return Err(unrecognized(pattern, at)),
            }
            at += 1;
        }
        let mode = match bytes.get(at) {
            None => return Err(problems::format::unfinished_verb(at)),
            Some(mode) if mode.is_ascii_alphabetic() || *mode == b'%' => *mode,
            Some(_) => return Err(unrecognized(pattern, at)),
        };
        at += 1;
        if mode == b'%' {
            out.push('%');
            continue;
        }
        verb.raw = &pattern[start..at];
        next_argument = verb.argument.saturating_add(1);
        used = used.max(verb.argument);
        let value = verb.argument.checked_sub(1).and_then(|index| values.get(index)).ok_or_else(|| {
            problems::format::not_enough_arguments(verb.raw, verb.offset, verb.argument, values.len())
        })?;
        out.push_str(&expanded(&verb, mode, value)?);
        if out.len() > LONGEST_TEXT_BYTES {
            return Err(problems::result_too_long());
        }
    }
    out.push_str(&pattern[at..]);
    if used < values.len() {
        return Err(problems::format::too_many_arguments(used));
    }
    Ok(out)
}

fn unrecognized(pattern: &str, at: usize) -> FunctionError {
    let c = pattern.get(at..).and_then(|rest| rest.chars().next()).unwrap_or('?');
    problems::format::unrecognized_character(c, at)
}

fn digits(bytes: &[u8], at: &mut usize) -> Result<Option<usize>, FunctionError> {
    let mut found = None;
    while let Some(digit @ b'0'..=b'9') = bytes.get(*at) {
        let number = found.unwrap_or(0usize) * 10 + usize::from(digit - b'0');
        if number > WIDEST {
            return Err(problems::format::number_too_large(WIDEST));
        }
        found = Some(number);
        *at += 1;
    }
    Ok(found)
}

fn expanded(verb: &Verb<'_>, mode: u8, value: &Value) -> Result<String, FunctionError> {
    if mode != b'v' && value.is_null() {
        return Err(problems::format::cannot_format_null(verb.raw, verb.offset));
    }
    let converted = |ty: &Type| convert(value, ty).map_err(|e| verb.failed(e.with_path()));
    match mode {
        b'v' => {
            let text = match value.open().1 {
                Kind::String(text) if !verb.sharp => text.to_string(),
                Kind::Number(number) if !verb.sharp => number.format(NumberStyle::General, None),
                _ => json_text(value).map_err(|e| verb.failed(e))?,
            };
            Ok(verb.padded(text))
        }
        b't' => {
            let flag = converted(&Type::Bool)?.as_bool() == Some(true);
            Ok(verb.padded(if flag { "true" } else { "false" }.into()))
        }
        b's' | b'q' => {
            let converted = converted(&Type::String)?;
            let text = converted.as_str().unwrap_or_default();
            let text: String = match verb.precision {
                // In go-cty, a precision of zero has no effect.
                Some(count) if count > 0 => clusters(text).take(count).collect(),
                _ => text.into(),
            };
            Ok(verb.padded(if mode == b'q' { quoted(&text) } else { text }))
        }
        b'b' | b'd' | b'o' | b'x' | b'X' => {
            let converted = converted(&Type::Number)?;
            integer(verb, mode, converted.as_number().unwrap_or(&Number::ZERO))
        }
        b'e' | b'E' | b'f' | b'g' | b'G' => {
            let converted = converted(&Type::Number)?;
            Ok(float(verb, mode, converted.as_number().unwrap_or(&Number::ZERO)))
        }
        other => Err(problems::format::unsupported_verb(char::from(other), verb.raw, verb.offset)),
    }
}

fn integer(verb: &Verb<'_>, mode: u8, number: &Number) -> Result<String, FunctionError> {
    let whole = number.to_integer().ok_or_else(|| problems::format::integer_required(verb.raw, verb.offset))?;
    let (radix, prefix) = match mode {
        b'b' => (2, "0b"),
        b'o' => (8, "0"),
        b'x' => (16, "0x"),
        b'X' => (16, "0X"),
        _ => (10, ""),
    };
    let mut digits = whole.magnitude().to_str_radix(radix);
    if mode == b'X' {
        digits.make_ascii_uppercase();
    }
    if verb.precision == Some(0) && digits == "0" {
        return Ok(String::new());
    }
    let sign = verb.sign(whole.sign() == num_bigint::Sign::Minus);
    let prefix = if verb.sharp { prefix } else { "" };
    let mut zeros = verb.precision.unwrap_or(0).saturating_sub(digits.len());
    let length = sign.len() + prefix.len() + zeros + digits.len();
    let missing = verb.width.unwrap_or(0).saturating_sub(length);
    let (mut left, mut right) = (0, 0);
    if verb.minus {
        right = missing;
    } else if verb.zero && verb.precision.is_none() {
        zeros = missing;
    } else {
        left = missing;
    }
    Ok(format!("{}{sign}{prefix}{}{digits}{}", " ".repeat(left), "0".repeat(zeros), " ".repeat(right)))
}

/// The number of fraction digits of `%e` and `%f` without a precision.
const DEFAULT_PRECISION: usize = 6;

fn float(verb: &Verb<'_>, mode: u8, number: &Number) -> String {
    let style = match mode {
        b'f' => NumberStyle::Fixed,
        b'g' | b'G' => NumberStyle::General,
        _ => NumberStyle::Exponent,
    };
    let precision = match style {
        NumberStyle::General => verb.precision,
        _ => Some(verb.precision.unwrap_or(DEFAULT_PRECISION)),
    };
    let mut digits = number.format(style, precision);
    if matches!(mode, b'E' | b'G') && !number.is_infinite() {
        digits.make_ascii_uppercase();
    }
    let (negative, digits) = match digits.strip_prefix('-') {
        Some(rest) => (true, rest),
        None => (false, digits.strip_prefix('+').unwrap_or(&digits)),
    };
    let mut sign = verb.sign(negative);
    if sign.is_empty() && number.is_infinite() {
        sign = "+";
    }
    let missing = verb.width.unwrap_or(0).saturating_sub(sign.len() + digits.len());
    if verb.minus {
        format!("{sign}{digits}{}", " ".repeat(missing))
    } else if verb.zero && !number.is_infinite() {
        format!("{sign}{}{digits}", "0".repeat(missing))
    } else {
        format!("{}{sign}{digits}", " ".repeat(missing))
    }
}
