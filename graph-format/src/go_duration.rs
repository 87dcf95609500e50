//! Durations in Go's notation: numbers with units, such as `1h2m3.5s`. `0` needs no unit.

use std::time::Duration;

const NANOS_PER_SECOND: i128 = 1_000_000_000;

/// Parses a duration; `None` if the duration is negative or the text is invalid.
pub fn go_duration(text: &str) -> Option<Duration> {
    nanoseconds(text).ok().and_then(|nanos| u64::try_from(nanos).ok()).map(Duration::from_nanos)
}

/// The nanoseconds of a duration such as `1h30m`, `-1.5s` or `0`.
///
/// # Errors
/// Returns Go's error message if the text is not a duration.
pub fn nanoseconds(text: &str) -> Result<i64, String> {
    let invalid = || format!("invalid duration {text:?}");
    let (negative, mut rest) = match text.strip_prefix(['-', '+']) {
        Some(rest) => (text.starts_with('-'), rest),
        None => (false, text),
    };
    if rest == "0" {
        return Ok(0);
    }
    if rest.is_empty() {
        return Err(invalid());
    }
    /// The maximum number of fraction digits that are used. With this many digits, even a fraction of an hour is more
    /// precise than a nanosecond.
    const FRACTION_DIGITS: usize = 18;
    let limit = i128::from(i64::MAX) + i128::from(negative);
    let mut total: i128 = 0;
    while !rest.is_empty() {
        let whole_length = rest.bytes().take_while(u8::is_ascii_digit).count();
        let (whole, after) = rest.split_at(whole_length);
        let (fraction, after) = match after.strip_prefix('.') {
            Some(after) => after.split_at(after.bytes().take_while(u8::is_ascii_digit).count()),
            None => ("", after),
        };
        if whole.is_empty() && fraction.is_empty() {
            return Err(invalid());
        }
        let unit_length = after.find(|c: char| c == '.' || c.is_ascii_digit()).unwrap_or(after.len());
        let (unit, after) = after.split_at(unit_length);
        let scale: i128 = match unit {
            "ns" => 1,
            "us" | "µs" | "μs" => 1_000,
            "ms" => 1_000_000,
            "s" => NANOS_PER_SECOND,
            "m" => 60 * NANOS_PER_SECOND,
            "h" => 3600 * NANOS_PER_SECOND,
            "" => return Err(format!("missing unit in duration {text:?}")),
            other => return Err(format!("unknown unit {other:?} in duration {text:?}")),
        };
        let whole: i128 = match whole.trim_start_matches('0') {
            "" => 0,
            digits if digits.len() > FRACTION_DIGITS + 1 => return Err(invalid()),
            digits => digits.parse().map_err(|_| invalid())?,
        };
        total += whole * scale;
        let fraction = &fraction[..fraction.len().min(FRACTION_DIGITS)];
        if !fraction.is_empty() {
            let part: i128 = fraction.parse().map_err(|_| invalid())?;
            let places = u32::try_from(fraction.len()).map_err(|_| invalid())?;
            total += part * scale / 10i128.pow(places);
        }
        if total > limit {
            return Err(invalid());
        }
        rest = after;
    }
    i64::try_from(if negative { -total } else { total }).map_err(|_| invalid())
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn durations_are_read_as_in_go() {
        let hours = |hours: u64| Duration::from_secs(hours * 3600);
        for (text, wanted) in [
            ("1m30s", Some(Duration::from_secs(90))),
            ("1.5h", Some(Duration::from_secs(5400))),
            ("1h30m", Some(Duration::from_secs(5400))),
            ("+900500ms", Some(Duration::from_millis(900_500))),
            ("10ms", Some(Duration::from_millis(10))),
            ("3\u{b5}s", Some(Duration::from_micros(3))),
            ("0", Some(Duration::ZERO)),
            ("-0", Some(Duration::ZERO)),
            ("2000000h", Some(hours(2_000_000))),
            ("-1s", None),
            ("10", None),
            ("1h1", None),
            (".s", None),
            ("s", None),
            ("1x", None),
            ("1e9h", None),
            ("9000000h", None),
            ("soon", None),
            ("", None),
        ] {
            assert_eq!(go_duration(text), wanted, "{text}");
        }
    }
}
