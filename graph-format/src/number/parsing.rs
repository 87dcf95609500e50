//! Parsing of numbers.

use num_bigint::BigUint;

use super::arithmetic::{divide, multiply};
use super::float::{Float, Form};
use super::{MAX_EXPONENT, MAX_TEXT_LENGTH, Number, NumberError, Repr, TEXT_PRECISION};

/// Extra bits of the power of five for a decimal exponent. Their number affects the last bit of numbers with large
/// exponents, so it is the same as Go's.
const POWER_EXTRA_BITS: u32 = 64;

/// The exponent of the largest power of five below `2^64`. Higher powers are computed by repeated squaring.
const FIRST_POWER: u64 = 27;

/// Integers of at most this many digits fit into an `i64`.
const INLINE_DIGITS: usize = 18;

pub(super) fn parse(text: &str) -> Result<Number, NumberError> {
    if text.len() > MAX_TEXT_LENGTH {
        return Err(NumberError::TextTooLong);
    }
    let (negative, unsigned) = match text.as_bytes() {
        [b'-', rest @ ..] => (true, rest),
        [b'+', rest @ ..] => (false, rest),
        rest => (false, rest),
    };
    if let Some(value) = inline_integer(unsigned)
        && !(negative && value == 0)
    {
        let value = if negative { -value } else { value };
        return Ok(Number(Repr::Small { value, precision: TEXT_PRECISION }));
    }
    if matches!(unsigned, b"Inf" | b"inf") {
        return Ok(Number::pack(Float::infinity(negative, TEXT_PRECISION)));
    }
    let Scanned { digits, decimal_exponent, binary_exponent } = scan(unsigned).ok_or(NumberError::NotANumber)?;
    let magnitude = BigUint::parse_bytes(&digits, 10).ok_or(NumberError::NotANumber)?;
    let float = Float::exact(negative, magnitude, 0, TEXT_PRECISION);
    scale(float, decimal_exponent, binary_exponent).map(Number::pack)
}

fn inline_integer(digits: &[u8]) -> Option<i64> {
    if digits.is_empty() || digits.len() > INLINE_DIGITS {
        return None;
    }
    digits.iter().try_fold(0i64, |value, byte| match byte {
        b'0'..=b'9' => Some(value * 10 + i64::from(byte - b'0')),
        _ => None,
    })
}

struct Scanned {
    digits: Vec<u8>,
    decimal_exponent: i64,
    binary_exponent: i64,
}

/// Parses the text after the sign; `None` if it is not a number.
fn scan(text: &[u8]) -> Option<Scanned> {
    let mut digits = Vec::with_capacity(text.len());
    let mut decimal_exponent = 0i64;
    let mut point = false;
    for (at, byte) in text.iter().enumerate() {
        match byte {
            b'0'..=b'9' => {
                digits.push(*byte);
                decimal_exponent -= i64::from(point);
            }
            b'.' if !point => point = true,
            b'e' | b'E' | b'p' | b'P' if !digits.is_empty() => {
                let exponent = scan_exponent(&text[at + 1..])?;
                let of_ten = matches!(byte, b'e' | b'E');
                return Some(Scanned {
                    digits,
                    decimal_exponent: if of_ten { decimal_exponent.saturating_add(exponent) } else { decimal_exponent },
                    binary_exponent: if of_ten { 0 } else { exponent },
                });
            }
            _ => return None,
        }
    }
    (!digits.is_empty()).then_some(Scanned { digits, decimal_exponent, binary_exponent: 0 })
}

/// Parses an exponent: digits with an optional sign. Saturates.
fn scan_exponent(text: &[u8]) -> Option<i64> {
    let (negative, digits) = match text {
        [b'-', rest @ ..] => (true, rest),
        [b'+', rest @ ..] => (false, rest),
        rest => (false, rest),
    };
    if digits.is_empty() {
        return None;
    }
    let magnitude = digits.iter().try_fold(0i64, |value, byte| match byte {
        b'0'..=b'9' => Some(value.saturating_mul(10).saturating_add(i64::from(byte - b'0'))),
        _ => None,
    })?;
    Some(if negative { -magnitude } else { magnitude })
}

/// `float * 10^decimal * 2^binary`, rounded to 512 bits.
fn scale(float: Float, decimal: i64, binary: i64) -> Result<Float, NumberError> {
    if float.form == Form::Zero {
        return Ok(float);
    }
    // A long text and a large exponent may cancel out, so each may use the whole range.
    let limit = u64::from(MAX_EXPONENT.unsigned_abs()) * 2;
    if decimal.unsigned_abs() > limit || binary.unsigned_abs() > limit {
        return Err(NumberError::OutOfRange);
    }
    let mut float = float;
    float.exponent += decimal + binary;
    if decimal == 0 {
        return Float::rounded(float.negative, float.mantissa, float.exponent, false, TEXT_PRECISION);
    }
    let (power, exponent) = power_of_five(decimal.unsigned_abs());
    let power = Float::exact(false, power, exponent, TEXT_PRECISION);
    match decimal < 0 {
        true => divide(&float, &power, TEXT_PRECISION),
        false => multiply(&float, &power, TEXT_PRECISION),
    }
}

/// `5^n` as mantissa and exponent. Each step is rounded if the result has too many bits.
///
/// The caller limits `n` to twice [`MAX_EXPONENT`], so the exponents fit into 64 bits.
fn power_of_five(n: u64) -> (BigUint, i64) {
    const POWER_BITS: u64 = (TEXT_PRECISION + POWER_EXTRA_BITS) as u64;
    const FACTOR_BITS: u64 = POWER_BITS + POWER_EXTRA_BITS as u64;
    let mut power = (BigUint::from(5u8).pow(n.min(FIRST_POWER) as u32), 0);
    let mut factor = (BigUint::from(5u8), 0);
    let mut rest = n.saturating_sub(FIRST_POWER);
    while rest > 0 {
        if rest & 1 != 0 {
            power = product(&power, &factor, POWER_BITS);
        }
        factor = product(&factor, &factor, FACTOR_BITS);
        rest >>= 1;
    }
    power
}

fn product(x: &(BigUint, i64), y: &(BigUint, i64), bits: u64) -> (BigUint, i64) {
    super::float::round(&x.0 * &y.0, x.1 + y.1, false, bits)
}
