//! Durations as Go writes them.

use std::time::Duration;

/// The units of durations in Go, in seconds.
const UNITS: [(&str, f64); 8] = [
    ("ns", 1e-9),
    ("us", 1e-6),
    ("\u{b5}s", 1e-6),
    ("\u{3bc}s", 1e-6),
    ("ms", 1e-3),
    ("s", 1.0),
    ("m", 60.0),
    ("h", 3600.0),
];

/// The whole seconds of a duration in the form of Go, such as `1h30m` or `1.5h`, unless it is negative.
pub(super) fn seconds(text: &str) -> Option<u64> {
    let mut rest = text.strip_prefix('+').unwrap_or(text);
    if rest == "0" {
        return Some(0);
    }
    let digit = |character: char| character.is_ascii_digit() || character == '.';
    let mut total = 0.0;
    loop {
        let (number, after) = rest.split_at_checked(rest.find(|character| !digit(character))?)?;
        let (unit, next) = after.split_at_checked(after.find(digit).unwrap_or(after.len()))?;
        let (_, factor) = UNITS.iter().find(|(name, _)| *name == unit)?;
        total += number.parse::<f64>().ok()? * factor;
        if next.is_empty() {
            return Duration::try_from_secs_f64(total).ok().map(|duration| duration.as_secs());
        }
        rest = next;
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn durations_of_go() {
        for (text, want) in [
            ("1h", Some(3600)),
            ("1h30m", Some(5400)),
            ("1.5h", Some(5400)),
            ("900s", Some(900)),
            ("+900500ms", Some(900)),
            ("0", Some(0)),
            ("9", None),
            ("-1h", None),
            ("1h1", None),
            (".s", None),
            ("1e9h", None),
            ("", None),
            ("x", None),
        ] {
            assert_eq!(seconds(text), want, "{text}");
        }
    }
}
