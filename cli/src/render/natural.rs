//! The natural order of names, `r[2]` before `r[10]`, and short names of provider instances.

use std::cmp::Ordering;

/// Compares two names. Runs of digits are compared by value, everything else by bytes. Names that differ only in
/// leading zeros are compared by bytes, so the order is total.
pub fn natural(left: &str, right: &str) -> Ordering {
    let (mut one, mut other) = (left.as_bytes(), right.as_bytes());
    loop {
        match (one.first(), other.first()) {
            (None, _) | (_, None) => return one.len().cmp(&other.len()).then_with(|| left.cmp(right)),
            (Some(a), Some(b)) if a.is_ascii_digit() && b.is_ascii_digit() => {
                let (first, rest) = digits(one);
                let (second, other_rest) = digits(other);
                let by_value = first.len().cmp(&second.len()).then_with(|| first.cmp(second));
                if by_value != Ordering::Equal {
                    return by_value;
                }
                (one, other) = (rest, other_rest);
            }
            (Some(a), Some(b)) if a != b => return a.cmp(b),
            _ => (one, other) = (&one[1..], &other[1..]),
        }
    }
}

/// A name that sorts in natural order.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct NaturalName(pub String);

impl Ord for NaturalName {
    fn cmp(&self, other: &NaturalName) -> Ordering {
        natural(&self.0, &other.0)
    }
}

impl PartialOrd for NaturalName {
    fn partial_cmp(&self, other: &NaturalName) -> Option<Ordering> {
        Some(self.cmp(other))
    }
}

/// Splits a text after the digits at its beginning. The digits are returned without leading zeros.
fn digits(text: &[u8]) -> (&[u8], &[u8]) {
    let end = text.iter().position(|byte| !byte.is_ascii_digit()).unwrap_or(text.len());
    let (number, rest) = text.split_at(end);
    let zeros = number.iter().position(|byte| *byte != b'0').unwrap_or(number.len());
    (&number[zeros..], rest)
}

/// The part of an address that distinguishes a provider instance: its key, its alias, or the whole address.
pub fn short(instance: &str) -> &str {
    let keyed = instance.rfind("[\"").filter(|at| !instance[..*at].ends_with("provider"));
    match keyed {
        Some(at) => instance[at + 2..].trim_end_matches("\"]"),
        None => instance,
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn numbers_in_names_are_compared_by_value() {
        let mut names =
            ["r[10]", "r[2]", "r[1]", "a", "r", "r[01]", "x9y10", "x9y9", "x10", "region-2", "region-12", ""];
        names.sort_by(|left, right| natural(left, right));
        let wanted = ["", "a", "r", "r[01]", "r[1]", "r[2]", "r[10]", "region-2", "region-12", "x9y9", "x9y10", "x10"];
        assert_eq!(names, wanted);
        assert_eq!(natural("99999999999999999999999", "100000000000000000000000"), Ordering::Less);
    }
}
