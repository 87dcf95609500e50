//! Decimal text: exact digits, the fewest digits that read back as the same number, and Go's three styles of printing.

use std::fmt::Write;

use num_bigint::BigUint;
use num_traits::One;

use super::float::{Float, Form};

/// How a number is printed.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum NumberStyle {
    /// `123.456`: Go's `%f`.
    Fixed,
    /// `1.23456e+02`: Go's `%e`.
    Exponent,
    /// The exponent form for small and large exponents, otherwise fixed: Go's `%g`.
    General,
}

/// Significant digits without leading or trailing zeros. The value is `0.DIGITS * 10^point`; without digits, it is
/// zero.
#[derive(Clone, Debug, PartialEq, Eq)]
struct Decimal {
    digits: Vec<u8>,
    point: i64,
}

impl Decimal {
    /// All digits of `mantissa * 2^exponent`.
    fn exact(mantissa: &BigUint, exponent: i64) -> Decimal {
        let Some(zeros) = mantissa.trailing_zeros() else { return Decimal { digits: Vec::new(), point: 0 } };
        let exponent = exponent.saturating_add_unsigned(zeros);
        let odd = mantissa >> zeros;
        let (whole, shift) = if exponent >= 0 {
            (odd << exponent.unsigned_abs(), 0)
        } else {
            // A multiple of 2^-n is a multiple of 10^-n, so it has n decimal places.
            let places = exponent.unsigned_abs();
            (odd * BigUint::from(5u8).pow(u32::try_from(places).unwrap_or(u32::MAX)), exponent)
        };
        let digits = whole.to_str_radix(10).into_bytes();
        let point = digits.len() as i64 + shift;
        let mut decimal = Decimal { digits, point };
        decimal.trim();
        decimal
    }

    fn trim(&mut self) {
        let kept = self.digits.iter().rposition(|digit| *digit != b'0').map_or(0, |last| last + 1);
        self.digits.truncate(kept);
        if kept == 0 {
            self.point = 0;
        }
    }

    /// The digit at a position. Zeros follow the last digit.
    fn at(&self, place: usize) -> u8 {
        self.digits.get(place).copied().unwrap_or(b'0')
    }

    /// Rounds to `count` digits, to nearest, ties to even.
    fn round(&mut self, count: usize) {
        let Some(next) = self.digits.get(count).copied() else { return };
        let tie = next == b'5' && count + 1 == self.digits.len();
        let up = if tie { count > 0 && (self.at(count - 1) - b'0') % 2 == 1 } else { next >= b'5' };
        if up { self.round_up(count) } else { self.round_down(count) }
    }

    fn round_down(&mut self, count: usize) {
        if count < self.digits.len() {
            self.digits.truncate(count);
            self.trim();
        }
    }

    fn round_up(&mut self, count: usize) {
        if count >= self.digits.len() {
            return;
        }
        self.digits.truncate(count);
        match self.digits.iter().rposition(|digit| *digit != b'9') {
            Some(last) => {
                self.digits.truncate(last + 1);
                self.digits[last] += 1;
            }
            None => {
                self.digits = vec![b'1'];
                self.point += 1;
            }
        }
    }

    /// The shortest decimal that differs from the number by at most half a unit of the last bit of the number's
    /// precision.
    ///
    /// Like Go, this uses the same distance in both directions even at powers of two.
    fn shortest(float: &Float) -> Decimal {
        let mut decimal = Decimal::exact(&float.mantissa, float.exponent);
        let top = float.top();
        if float.exponent >= 0 && top <= i64::from(float.precision) {
            // A unit is at most 1, so no other integer is within half a unit.
            return decimal;
        }
        // The mantissa with one bit more than the precision. Its lowest bit is half a unit.
        let wanted = u64::from(float.precision) + 1;
        let shift = wanted.saturating_sub(float.mantissa.bits());
        let mantissa: BigUint = &float.mantissa << shift;
        let exponent = float.exponent.saturating_sub_unsigned(shift);
        let lower = Decimal::exact(&(&mantissa - BigUint::one()), exponent);
        let upper = Decimal::exact(&(&mantissa + BigUint::one()), exponent);
        // The bounds themselves read back as the number only if its mantissa is even.
        let inclusive = !mantissa.bit(1);
        for place in 0..decimal.digits.len() {
            let (digit, low, high) = (decimal.at(place), lower.at(place), upper.at(place));
            let may_go_down = low != digit || (inclusive && place + 1 == lower.digits.len());
            let may_go_up = digit != high && (inclusive || digit + 1 < high || place + 1 < upper.digits.len());
            match (may_go_down, may_go_up) {
                (true, true) => decimal.round(place + 1),
                (true, false) => decimal.round_down(place + 1),
                (false, true) => decimal.round_up(place + 1),
                (false, false) => continue,
            }
            break;
        }
        decimal
    }
}

/// The text of a number; see [`super::Number::format`].
pub(super) fn format(float: &Float, style: NumberStyle, digits: Option<usize>) -> String {
    if float.form == Form::Infinite {
        return if float.negative { "-Inf" } else { "+Inf" }.to_string();
    }
    let mut decimal = match digits {
        None if float.form == Form::Finite => Decimal::shortest(float),
        _ => Decimal::exact(&float.mantissa, float.exponent),
    };
    let mut out = String::with_capacity(decimal.digits.len() + 8);
    if float.negative {
        out.push('-');
    }
    match (style, digits) {
        (NumberStyle::Fixed, None) => {
            let places = decimal.digits.len() as i64 - decimal.point;
            write_fixed(&mut out, &decimal, usize::try_from(places).unwrap_or(0));
        }
        (NumberStyle::Fixed, Some(places)) => {
            let count = decimal.point.saturating_add_unsigned(places as u64);
            match usize::try_from(count) {
                Ok(count) => decimal.round(count),
                Err(_) => decimal.round_down(0),
            }
            write_fixed(&mut out, &decimal, places);
        }
        (NumberStyle::Exponent, None) => {
            let places = decimal.digits.len().saturating_sub(1);
            write_exponent(&mut out, &decimal, places);
        }
        (NumberStyle::Exponent, Some(places)) => {
            decimal.round(places.saturating_add(1));
            write_exponent(&mut out, &decimal, places);
        }
        (NumberStyle::General, digits) => write_general(&mut out, decimal, digits),
    }
    out
}

fn write_general(out: &mut String, mut decimal: Decimal, digits: Option<usize>) {
    // From this exponent on, the number is printed with an exponent.
    let limit = match digits {
        None => 6,
        Some(count) => {
            let count = count.max(1);
            decimal.round(count);
            let have = decimal.digits.len();
            if count > have && have as i64 >= decimal.point { have } else { count }
        }
    };
    let exponent = decimal.point - 1;
    let have = decimal.digits.len();
    if exponent < -4 || exponent >= i64::try_from(limit).unwrap_or(i64::MAX) {
        write_exponent(out, &decimal, have.saturating_sub(1));
    } else {
        let places = usize::try_from(have as i64 - decimal.point).unwrap_or(0);
        write_fixed(out, &decimal, places);
    }
}

/// Writes `places` digits after the point.
fn write_fixed(out: &mut String, decimal: &Decimal, places: usize) {
    let whole = usize::try_from(decimal.point).unwrap_or(0);
    if whole == 0 {
        out.push('0');
    }
    out.extend((0..whole).map(|place| char::from(decimal.at(place))));
    if places == 0 {
        return;
    }
    out.push('.');
    // Zeros between the point and the first digit.
    let leading = usize::try_from(-decimal.point.min(0)).unwrap_or(0);
    out.extend((0..places).map(|place| match place.checked_sub(leading) {
        None => '0',
        Some(place) => char::from(decimal.at(whole + place)),
    }));
}

/// Writes one digit, `places` digits after the point, and an exponent of at least two digits.
fn write_exponent(out: &mut String, decimal: &Decimal, places: usize) {
    out.push(char::from(decimal.at(0)));
    if places > 0 {
        out.push('.');
        out.extend((1..=places).map(|place| char::from(decimal.at(place))));
    }
    let exponent = if decimal.digits.is_empty() { 0 } else { decimal.point - 1 };
    let sign = if exponent < 0 { '-' } else { '+' };
    // Writing to a string cannot fail.
    let _ = write!(out, "e{sign}{:02}", exponent.unsigned_abs());
}
