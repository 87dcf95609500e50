//! Parses YAML, with the scalars of YAML 1.1 that go-cty-yaml supports.

use std::borrow::Cow;
use std::collections::BTreeMap;

use rustc_hash::FxHashMap;
use saphyr_parser::{Event, Parser, ScalarStyle, Span, StrInput, Tag};
use smol_str::SmolStr;
use weft_graph_format::number::Number;
use weft_graph_format::types::Type;
use weft_graph_format::value::{DEEPEST_VALUE, Kind, Value};

use super::arguments::text;
use super::time::to_the_second;
use super::{CallContext, Function, FunctionError, Parameter, Symbolic};
use crate::stack;

/// The maximum nesting of sequences and mappings. The same as that of values in a plan file.
const DEEPEST_NESTING: usize = DEEPEST_VALUE;

/// The maximum number of values in a document. Each use of an anchor counts its values again. Documents of a few
/// megabytes without anchors stay below this number, but a chain of anchors can exceed it by far.
const MOST_VALUES: u64 = 4 << 20;

const TAGS: &str = "tag:yaml.org,2002:";

pub(super) fn functions() -> Vec<Function> {
    vec![
        Function::new("yamldecode", "The value of a YAML text.", Symbolic::Opaque)
            .parameter(Parameter::new("src", Type::String, "The text: one document."))
            .calls(yamldecode),
    ]
}

fn yamldecode(context: &CallContext<'_>, arguments: &[Value], _: &Type) -> Result<Value, FunctionError> {
    let source = text(arguments, 0)?;
    context.decoded("yamldecode", &arguments[0], || read(source).map_err(FunctionError::new))
}

fn read(source: &str) -> Result<Value, String> {
    let source = source.strip_prefix('\u{feff}').unwrap_or(source);
    if source.lines().any(|line| line.starts_with("%YAML") && !line.starts_with("%YAML 1.1")) {
        return Err("found incompatible YAML document".into());
    }
    // Indentation must consist of spaces. The parser itself checks for tabs only from the second line on.
    let first = source.lines().find(|line| !line.trim().is_empty() && !line.starts_with(['#', '%']));
    if first.is_some_and(|line| line.len() - line.trim_start().len() > line.len() - line.trim_start_matches(' ').len())
    {
        return Err("found character that cannot start any token".into());
    }
    let open_end = (!source.ends_with('\n')).then(|| source.chars().count());
    let mut reader = Reader { parser: Parser::new_from_str(source), anchors: FxHashMap::default(), open_end };
    loop {
        match reader.next()?.0 {
            Event::StreamStart => {}
            Event::DocumentStart(_) => break,
            _ => return Err("on line 1, column 1: missing start of document".into()),
        }
    }
    let first = reader.next()?;
    let found = reader.value(first, 0)?;
    match reader.next()?.0 {
        Event::DocumentEnd => {}
        _ => return Err("the document is not complete".into()),
    }
    match reader.next()?.0 {
        Event::StreamEnd => Ok(found.value),
        _ => Err("unexpected extra content after value".into()),
    }
}

/// A value, and the number of values in it.
#[derive(Clone)]
struct CountedValue {
    value: Value,
    count: u64,
}

struct Reader<'a> {
    parser: Parser<'a, StrInput<'a>>,
    anchors: FxHashMap<usize, CountedValue>,
    /// The number of characters of the text, if its last line has no line break.
    open_end: Option<usize>,
}

type Next<'a> = (Event<'a>, Span);

fn at(span: Span, message: impl std::fmt::Display) -> String {
    format!("on line {}, column {}: {message}", span.start.line(), span.start.col() + 1)
}

impl<'a> Reader<'a> {
    fn next(&mut self) -> Result<Next<'a>, String> {
        match self.parser.next_event() {
            Some(Ok(next)) => Ok(next),
            Some(Err(e)) => {
                let marker = e.marker();
                Err(format!("on line {}, column {}: {}", marker.line(), marker.col() + 1, e.info()))
            }
            None => Err("unexpected end of the text".into()),
        }
    }

    fn value(&mut self, (event, span): Next<'a>, depth: usize) -> Result<CountedValue, String> {
        if depth >= DEEPEST_NESTING {
            return Err(at(span, "nested too deeply"));
        }
        let (anchor, found) = match event {
            Event::Alias(id) => {
                let found = self.anchors.get(&id).cloned();
                return found.ok_or_else(|| at(span, "cannot refer to an anchor from inside its own definition"));
            }
            Event::Scalar(text, style, anchor, tag) => {
                let value = scalar(self.written(&text, style, span), style, tag.as_deref()).map_err(|e| at(span, e))?;
                (anchor, CountedValue { value, count: 1 })
            }
            Event::SequenceStart(anchor, tag) => {
                only_tag(tag.as_ref(), "seq").map_err(|e| at(span, e))?;
                (anchor, stack::guarded(|| self.sequence(depth))?)
            }
            Event::MappingStart(anchor, tag) => {
                only_tag(tag.as_ref(), "map").map_err(|e| at(span, e))?;
                (anchor, stack::guarded(|| self.mapping(depth))?)
            }
            _ => return Err(at(span, "a value is missing")),
        };
        if found.count > MOST_VALUES {
            return Err(at(span, format!("the document expands to more than {MOST_VALUES} values")));
        }
        if anchor != 0 {
            self.anchors.insert(anchor, found.clone());
        }
        Ok(found)
    }

    /// The text of a scalar. If the document ends with a block scalar without a line break, the parser adds a line
    /// break. As in OpenTofu, it is removed here.
    fn written<'t>(&self, text: &'t str, style: ScalarStyle, span: Span) -> &'t str {
        let is_last = self.open_end.is_some_and(|end| span.end.index() >= end);
        match text.strip_suffix('\n') {
            Some(shorter) if is_last && is_block(style) => shorter,
            _ => text,
        }
    }

    fn sequence(&mut self, depth: usize) -> Result<CountedValue, String> {
        let mut items = Vec::new();
        let mut count = 1;
        loop {
            let next = self.next()?;
            if matches!(next.0, Event::SequenceEnd) {
                return Ok(CountedValue { value: Value::tuple(items), count });
            }
            let item = self.value(next, depth + 1)?;
            count += item.count;
            items.push(item.value);
        }
    }

    fn mapping(&mut self, depth: usize) -> Result<CountedValue, String> {
        let mut entries: BTreeMap<SmolStr, Value> = BTreeMap::new();
        let mut count = 1;
        loop {
            let (event, span) = self.next()?;
            let key = match event {
                Event::MappingEnd => break,
                Event::Scalar(text, style, anchor, tag) => {
                    // As in OpenTofu, quotes do not make it an ordinary key.
                    if text == "<<" && only_tag(tag.as_ref(), "merge").is_ok() {
                        None
                    } else {
                        let text = self.written(&text, style, span);
                        let value = scalar(text, style, tag.as_deref()).map_err(|e| at(span, e))?;
                        let key = key_text(&value).map_err(|e| at(span, e))?;
                        if anchor != 0 {
                            self.anchors.insert(anchor, CountedValue { value, count: 1 });
                        }
                        Some(key)
                    }
                }
                _ => return Err(at(span, "only strings are allowed as mapping keys")),
            };
            let next = self.next()?;
            let item = self.value(next, depth + 1)?;
            count += item.count;
            match key {
                Some(key) => {
                    entries.insert(key, item.value);
                }
                None => merge(&item.value, &mut entries).map_err(|e| at(span, e))?,
            }
        }
        Ok(CountedValue { value: Value::object(entries), count })
    }
}

/// Adds the entries of a merged mapping, or of a sequence of mappings. As in OpenTofu, they replace earlier entries
/// with the same keys, and later entries replace them.
fn merge(value: &Value, entries: &mut BTreeMap<SmolStr, Value>) -> Result<(), String> {
    match value.open().1 {
        Kind::Object(object) => {
            entries.extend(object.iter().map(|(key, item)| (key.clone(), item.clone())));
            Ok(())
        }
        Kind::Tuple(items) if items.items().iter().all(|item| matches!(item.open().1, Kind::Object(_))) => {
            items.items().iter().try_for_each(|item| merge(item, entries))
        }
        _ => Err(format!("cannot merge {} into mapping", value.ty().friendly_name())),
    }
}

fn key_text(value: &Value) -> Result<SmolStr, String> {
    match value.open().1 {
        Kind::String(text) => Ok(text.clone()),
        Kind::Bool(flag) => Ok(if *flag { "true" } else { "false" }.into()),
        Kind::Number(number) => Ok(number.to_string().into()),
        Kind::Null(_) => Err("mapping key cannot be null".into()),
        _ => Err("only strings are allowed as mapping keys".into()),
    }
}

fn full_tag(tag: &Tag) -> String {
    match tag.handle.as_str() {
        "!!" => format!("{TAGS}{}", tag.suffix),
        handle => format!("{handle}{}", tag.suffix),
    }
}

fn only_tag(tag: Option<&Cow<'_, Tag>>, expected: &str) -> Result<(), String> {
    match tag.map(|tag| full_tag(tag)) {
        None => Ok(()),
        Some(tag) if tag == "!" || tag.strip_prefix(TAGS) == Some(expected) => Ok(()),
        Some(tag) => Err(format!("can't interpret {expected} as {tag}")),
    }
}

fn is_block(style: ScalarStyle) -> bool {
    matches!(style, ScalarStyle::Literal | ScalarStyle::Folded)
}

/// The value of a block scalar without a tag. As in OpenTofu, it is the value of the same text on one line, converted
/// to a string.
fn block(text: &str) -> Result<Value, String> {
    let value = implicit(text)?;
    Ok(match value.open().1 {
        Kind::Null(_) => Value::null(Type::String),
        Kind::Bool(flag) => Value::string(flag.to_string()),
        Kind::Number(number) if number.is_infinite() => {
            Value::string(if number.to_f64() < 0.0 { "-Inf" } else { "+Inf" })
        }
        Kind::Number(number) => Value::string(number.to_string()),
        _ => value,
    })
}

fn scalar(text: &str, style: ScalarStyle, tag: Option<&Tag>) -> Result<Value, String> {
    let plain = style == ScalarStyle::Plain;
    let Some(tag) = tag else {
        return match style {
            _ if plain => implicit(text),
            _ if is_block(style) => block(text),
            _ => Ok(Value::string(text)),
        };
    };
    let tag = full_tag(tag);
    let string = Value::string(text);
    let value = match tag.strip_prefix(TAGS) {
        None if tag == "!" => return Ok(string),
        Some("str" | "binary") => return Ok(string),
        Some("int" | "float" | "bool" | "null" | "timestamp") if !plain => return Ok(string),
        Some("int" | "float" | "bool" | "null" | "timestamp") => implicit(text)?,
        _ => return Err(format!("unsupported tag {tag:?}")),
    };
    let fits = match (tag.strip_prefix(TAGS), value.open().1) {
        (Some("int"), Kind::Number(number)) => number.is_integer(),
        (Some("float"), Kind::Number(_)) | (Some("bool"), Kind::Bool(_)) | (Some("null"), Kind::Null(_)) => true,
        (Some("timestamp"), Kind::String(_)) => timestamp(text).is_some(),
        _ => false,
    };
    if fits { Ok(value) } else { Err(format!("cannot parse {text:?} as {tag}")) }
}

/// The value of a scalar without quotes and tag.
fn implicit(text: &str) -> Result<Value, String> {
    Ok(match text {
        "" | "~" | "null" | "Null" | "NULL" => Value::null(Type::Dynamic),
        "y" | "Y" | "yes" | "Yes" | "YES" | "true" | "True" | "TRUE" | "on" | "On" | "ON" => Value::bool(true),
        "n" | "N" | "no" | "No" | "NO" | "false" | "False" | "FALSE" | "off" | "Off" | "OFF" => Value::bool(false),
        ".inf" | ".Inf" | ".INF" | "+.inf" | "+.Inf" | "+.INF" => Value::number(Number::infinity(false)),
        "-.inf" | "-.Inf" | "-.INF" => Value::number(Number::infinity(true)),
        ".nan" | ".NaN" | ".NAN" => return Err("floating point NaN is not supported".into()),
        other => match number(other) {
            Some(number) => Value::number(number),
            None => Value::string(timestamp(other).as_deref().unwrap_or(other)),
        },
    })
}

fn number(text: &str) -> Option<Number> {
    for (prefix, base) in [("0x", 16), ("0o", 8)] {
        if let Some(digits) = text.strip_prefix(prefix) {
            let fits = !digits.is_empty() && digits.chars().all(|c| c.is_digit(base));
            let whole = fits.then(|| num_bigint::BigInt::parse_bytes(digits.as_bytes(), base)).flatten()?;
            return Number::from_integer(whole).ok();
        }
    }
    let unsigned = text.strip_prefix(['-', '+']).unwrap_or(text);
    let (mantissa, exponent) = match unsigned.split_once(['e', 'E']) {
        Some((mantissa, exponent)) => (mantissa, Some(exponent)),
        None => (unsigned, None),
    };
    let digits = |text: &str| text.bytes().all(|b| b.is_ascii_digit());
    let (whole, fraction) = mantissa.split_once('.').unwrap_or((mantissa, ""));
    let exponent_fits = exponent.is_none_or(|exponent| {
        let exponent = exponent.strip_prefix(['-', '+']).unwrap_or(exponent);
        !exponent.is_empty() && digits(exponent)
    });
    if !digits(whole) || !digits(fraction) || (whole.is_empty() && fraction.is_empty()) || !exponent_fits {
        return None;
    }
    let sign = if text.starts_with('-') { "-" } else { "" };
    let zero = |text: &str| if text.is_empty() { "0".to_owned() } else { text.to_owned() };
    let exponent = exponent.map_or_else(String::new, |exponent| format!("e{exponent}"));
    let written = match fraction {
        "" => format!("{sign}{}{exponent}", zero(whole)),
        fraction => format!("{sign}{}.{fraction}{exponent}", zero(whole)),
    };
    Number::parse(&written).ok()
}

/// Formats a date, or a date and time, as RFC 3339.
fn timestamp(text: &str) -> Option<String> {
    let year = text.get(..4).filter(|year| year.bytes().all(|b| b.is_ascii_digit()))?;
    let (month, rest) = text.get(4..)?.strip_prefix('-')?.split_once('-')?;
    let day_length = rest.bytes().take_while(u8::is_ascii_digit).count();
    let (day, rest) = rest.split_at(day_length);
    let two = |part: &str| {
        let fits = (1..=2).contains(&part.len()) && part.bytes().all(|b| b.is_ascii_digit());
        fits.then(|| format!("{part:0>2}"))
    };
    let date = format!("{year}-{}-{}", two(month)?, two(day)?);
    if rest.is_empty() {
        return to_the_second(&format!("{date}T00:00:00Z"));
    }
    let zoned = rest.starts_with(['T', 't']);
    let rest = rest.strip_prefix(['T', 't', ' '])?;
    let (clock, zone) = match (zoned, rest.find(['Z', '+', '-'])) {
        (true, Some(zone)) => rest.split_at(zone),
        (true, None) => return None,
        (false, _) => (rest, "Z"),
    };
    let mut parts = clock.splitn(3, ':');
    let (hour, minute, second) = (parts.next()?, parts.next()?, parts.next()?);
    let (second, fraction) = second.split_once('.').map_or((second, None), |(s, f)| (s, Some(f)));
    let fraction = fraction.map_or_else(String::new, |fraction| format!(".{fraction}"));
    to_the_second(&format!("{date}T{}:{}:{}{fraction}{zone}", two(hour)?, two(minute)?, two(second)?))
}
