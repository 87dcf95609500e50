//! The order of set elements. It is the same as in cty.

use std::cmp::Ordering;
use std::fmt::Write;

use super::{Kind, Value};
use crate::number::NumberStyle;
use crate::quoting::write_quoted;

/// The number of significant digits of numbers inside elements that are not primitive. The same as in
/// `big.Float.String`.
const ORDER_DIGITS: usize = 10;

/// Compares two elements of a set. Strings are ordered by bytes, numbers by value, and false precedes true. Other types
/// are ordered by a text made from their content. Unknown elements follow all known elements, and nulls are last.
///
/// The texts of two elements are equal if their numbers differ only after the tenth digit. Such elements are ordered by
/// their exact content, so equal elements are always neighbours.
pub fn compare_for_set(a: &Value, b: &Value) -> Ordering {
    match (&a.kind, &b.kind) {
        (Kind::String(x), Kind::String(y)) => x.cmp(y),
        (Kind::Number(x), Kind::Number(y)) => x.cmp(y),
        (Kind::Bool(x), Kind::Bool(y)) => x.cmp(y),
        _ => rank(a).cmp(&rank(b)).then_with(|| by_text((&order_text(a), a), (&order_text(b), b))),
    }
}

/// Sorts elements by [`compare_for_set`]. The text of each element is computed once.
pub(super) fn sort_for_set(items: Vec<Value>) -> Vec<Value> {
    let primitive = |value: &Value| matches!(value.kind, Kind::String(_) | Kind::Number(_) | Kind::Bool(_));
    let mut keyed: Vec<(String, Value)> = items
        .into_iter()
        .map(|item| if primitive(&item) { (String::new(), item) } else { (order_text(&item), item) })
        .collect();
    keyed.sort_by(|(s, a), (t, b)| match primitive(a) || primitive(b) {
        true => compare_for_set(a, b),
        false => rank(a).cmp(&rank(b)).then_with(|| by_text((s, a), (t, b))),
    });
    keyed.into_iter().map(|(_, item)| item).collect()
}

fn rank(value: &Value) -> u8 {
    match value.kind {
        Kind::Null(_) => 2,
        Kind::Unknown(_) => 1,
        _ => 0,
    }
}

fn by_text((s, a): (&str, &Value), (t, b): (&str, &Value)) -> Ordering {
    s.cmp(t).then_with(|| by_content(a, b))
}

/// Compares two elements with equal texts.
fn by_content(a: &Value, b: &Value) -> Ordering {
    match (&a.kind, &b.kind) {
        (Kind::Number(x), Kind::Number(y)) => x.cmp(y),
        (Kind::String(x), Kind::String(y)) => x.cmp(y),
        (Kind::List(x) | Kind::Set(x) | Kind::Tuple(x), Kind::List(y) | Kind::Set(y) | Kind::Tuple(y)) => {
            in_turn(x.items().iter().zip(y.items()))
        }
        (Kind::Map(x), Kind::Map(y)) | (Kind::Object(x), Kind::Object(y)) => {
            in_turn(x.entries().values().zip(y.entries().values()))
        }
        _ => Ordering::Equal,
    }
}

fn in_turn<'v>(mut parts: impl Iterator<Item = (&'v Value, &'v Value)>) -> Ordering {
    parts.find_map(|(a, b)| Some(by_content(a, b)).filter(|order| order.is_ne())).unwrap_or(Ordering::Equal)
}

/// The text by which elements that are not primitive are sorted. `?` is an unknown, `~` a null.
fn order_text(value: &Value) -> String {
    let mut text = String::new();
    write_order_text(value, &mut text);
    text
}

fn write_order_text(value: &Value, text: &mut String) {
    match &value.kind {
        Kind::Unknown(_) => text.push('?'),
        Kind::Null(_) => text.push('~'),
        Kind::Bool(true) => text.push('T'),
        Kind::Bool(false) => text.push('F'),
        Kind::Number(n) => text.push_str(&n.format(NumberStyle::General, Some(ORDER_DIGITS))),
        Kind::String(s) => write_quoted(s, text),
        // Writing to a string cannot fail.
        Kind::Provider(instance) => write!(text, "{instance}").unwrap_or_default(),
        Kind::List(s) | Kind::Set(s) => write_parts('[', s.items(), ']', text),
        Kind::Tuple(s) => write_parts('<', s.items(), '>', text),
        Kind::Object(f) => write_parts('<', f.entries().values(), '>', text),
        Kind::Map(f) => {
            text.push('{');
            for (key, item) in f.iter() {
                write_quoted(key, text);
                text.push(':');
                write_order_text(item, text);
                text.push(';');
            }
            text.push('}');
        }
    }
}

fn write_parts<'v>(open: char, parts: impl IntoIterator<Item = &'v Value>, close: char, text: &mut String) {
    text.push(open);
    for part in parts {
        write_order_text(part, text);
        text.push(';');
    }
    text.push(close);
}

#[cfg(test)]
mod tests {
    use std::collections::BTreeMap;

    use super::*;
    use crate::number::Number;
    use crate::types::Type;

    fn order(items: &[Value]) -> String {
        format!("{:?}", sort_for_set(items.to_vec()))
    }

    /// The order that OpenTofu's `toset` has, as recorded under the topic `set:order`.
    #[test]
    fn elements_are_ordered_as_recorded() {
        let object = |n: i64| Value::object([("n", Value::int(n))]);
        assert_eq!(order(&[3, 116, 149, 76].map(Value::int)), "[3, 76, 116, 149]");
        assert_eq!(order(&[3, 116, 149, -76].map(object)), r#"[{"n": -76}, {"n": 116}, {"n": 149}, {"n": 3}]"#);
        let pair = |a: i64| Value::tuple(vec![Value::int(a), Value::int(186)]);
        assert_eq!(order(&[186, 1, 190, 91].map(pair)), "[[186, 186], [190, 186], [1, 186], [91, 186]]");
        let lists = [vec![], vec![Value::int(1)]].map(|items| Value::list(Type::Number, items));
        assert_eq!(order(&lists), "[[1], []]");
        let map = |key: &str, n: i64| Value::map(Type::Number, BTreeMap::from([(key.into(), Value::int(n))]));
        let maps = [map("p", 186), map("r", 1), map("r", 190), map("q", 91)];
        assert_eq!(order(&maps), r#"[{"p": 186}, {"q": 91}, {"r": 190}, {"r": 1}]"#);
        assert_eq!(order(&["é", "x y", "", "<&>"].map(Value::string)), r#"["", "<&>", "x y", "é"]"#);
        let bools = [Value::null(Type::Bool), Value::bool(true), Value::unknown(Type::Bool), Value::bool(false)];
        assert_eq!(order(&bools), "[false, true, unknown:bool, null:bool]");
    }

    #[test]
    fn equal_elements_are_recognized_among_equal_texts() {
        let object = |n: &str| Value::object([("n", Value::number(Number::parse(n).unwrap_or_default()))]);
        let items = ["12345678901", "12345678902", "12345678901", "12345678902"].map(object).to_vec();
        let ty = Type::object([("n", Type::Number)]);
        assert_eq!(Value::set(ty, items).as_items().map(<[Value]>::len), Some(2));
    }

    #[test]
    fn sorting_agrees_with_comparing() {
        let values = ["b", "a\n", "\u{200b}", "a\u{0}"].map(Value::string);
        let mut items: Vec<Value> = values.iter().map(|v| Value::tuple(vec![v.clone()])).collect();
        items.extend(values.clone().map(|v| Value::tuple(vec![v, Value::null(Type::Bool)])));
        items.extend(values);
        let sorted = sort_for_set(items);
        assert!(sorted.windows(2).all(|pair| compare_for_set(&pair[0], &pair[1]).is_le()));
    }
}
