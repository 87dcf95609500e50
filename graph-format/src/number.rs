//! Numbers as in cty: binary floating point, each with its own precision, and the two infinities.
//!
//! Invariants:
//! - A finite number other than zero is `mantissa * 2^exponent` with an odd mantissa of at most [`Number::precision`]
//!   bits. So each value has one representation, apart from its precision.
//! - An integer that fits into `i64` is always stored inline, whatever its precision. Negative zero is never stored
//!   inline.
//! - Equality, order and hash ignore the precision. The precision only determines how results are rounded and how many
//!   digits are printed. Numbers from text have 512 bits, integers 64 (or as many as they need), and `f64` 53. A result
//!   has the larger precision of its operands, except for the rules of [`Number::mul`] and [`Number::rem`].
//! - The highest bit is within [`MAX_EXPONENT`] bits of the binary point, so no number takes more than a few kilobytes.
//!   The text of a number has at most about 20,000 digits.
//!
//! Rounding is always to nearest, ties to even. The behaviour is that of Go's `math/big.Float` as go-cty uses it;
//! `tests/conformance/numbers.json` contains recorded results.

mod arithmetic;
mod decimal;
mod float;
mod parsing;
mod record;

use std::cmp::Ordering;
use std::fmt;
use std::hash::{Hash, Hasher};
use std::sync::Arc;

use num_bigint::{BigInt, Sign};

pub use decimal::NumberStyle;
use float::{Float, Form};

/// The precision, in bits, of a number from text (cty's `ParseNumberVal`).
pub const TEXT_PRECISION: u32 = 512;

/// The precision, in bits, of a number from an integer of at most this many bits.
pub const INTEGER_PRECISION: u32 = 64;

/// The precision, in bits, of a number from an `f64`.
pub const FLOAT_PRECISION: u32 = 53;

/// The maximum distance of a number's highest bit from the binary point, in both directions.
///
/// This allows about 19,700 decimal digits, far more than any configuration contains. It also limits the memory and
/// time that a malicious `1e999999999` or a chain of squarings can take.
pub const MAX_EXPONENT: i32 = 65_536;

/// The maximum precision, in bits. An integer within [`MAX_EXPONENT`] never needs more.
pub const MAX_PRECISION: u32 = MAX_EXPONENT as u32;

/// The maximum length of a text for [`Number::parse`], in bytes: enough for every number that [`fmt::Display`] prints.
pub const MAX_TEXT_LENGTH: usize = 65_536;

const _: () = assert!(MAX_TEXT_LENGTH > MAX_EXPONENT as usize / 3);
const _: () = assert!(MAX_PRECISION > TEXT_PRECISION);

/// Why a number cannot be parsed, computed or encoded.
#[derive(Clone, Copy, Debug, PartialEq, Eq, thiserror::Error)]
pub enum NumberError {
    /// The text is not a decimal number.
    #[error("a number is required")]
    NotANumber,
    /// The text is longer than [`MAX_TEXT_LENGTH`].
    #[error("a number of more than {MAX_TEXT_LENGTH} characters is not supported")]
    TextTooLong,
    /// The result is too large or too close to zero, according to [`MAX_EXPONENT`].
    #[error("the number is out of the supported range")]
    OutOfRange,
    /// `Inf + -Inf`
    #[error("can't compute sum of opposing infinities")]
    OpposingInfinities,
    /// `Inf - Inf`
    #[error("can't subtract infinity from itself")]
    InfinityFromItself,
    /// `0 * Inf`
    #[error("can't multiply zero by infinity")]
    ZeroTimesInfinity,
    /// `0 / 0` or `Inf / Inf`
    #[error("can't divide zero by zero or infinity by infinity")]
    IndeterminateQuotient,
    /// `Inf % x` or `x % Inf`
    #[error("can't use modulo with zero and infinity")]
    ModuloInfinity,
    /// The value has no JSON form.
    #[error("cannot serialize infinity as JSON")]
    InfinityInJson,
}

/// A number. The [module](self) describes its properties. Cloning is O(1).
#[derive(Clone)]
pub struct Number(Repr);

#[derive(Clone)]
enum Repr {
    /// Any integer that fits into `i64`, except negative zero.
    Small { value: i64, precision: u32 },
    /// All other numbers.
    Large(Arc<Float>),
}

impl Number {
    /// Zero, as an integer.
    pub const ZERO: Number = Number::from_i64(0);

    /// One, as an integer.
    pub const ONE: Number = Number::from_i64(1);

    /// Parses a decimal number like cty's `ParseNumberVal`. The text has an optional sign. Then it has either `Inf` or
    /// `inf`, or digits with an optional point and an optional exponent (`e` for powers of ten, `p` for powers of two).
    /// Spaces, underscores and other bases are not accepted.
    pub fn parse(text: &str) -> Result<Number, NumberError> {
        parsing::parse(text)
    }

    /// An integer, with a precision of 64 bits.
    pub const fn from_i64(value: i64) -> Number {
        Number(Repr::Small { value, precision: INTEGER_PRECISION })
    }

    /// An integer, with a precision of 64 bits.
    pub fn from_u64(value: u64) -> Number {
        match i64::try_from(value) {
            Ok(value) => Number::from_i64(value),
            Err(_) => Number::pack(Float::whole(false, value.into(), INTEGER_PRECISION)),
        }
    }

    /// An integer of any size. The precision is its number of bits, but at least 64.
    pub fn from_integer(value: BigInt) -> Result<Number, NumberError> {
        let (sign, magnitude) = value.into_parts();
        let precision = u32::try_from(magnitude.bits()).map_err(|_| NumberError::OutOfRange)?.max(INTEGER_PRECISION);
        let float = Float::rounded(sign == Sign::Minus, magnitude, 0, false, precision)?;
        Ok(Number::pack(float))
    }

    /// The exact value of an `f64`, with a precision of 53 bits; `None` for a NaN.
    pub fn from_f64(value: f64) -> Option<Number> {
        Float::from_f64(value).map(Number::pack)
    }

    /// `+Inf`, or `-Inf` if `negative`.
    pub fn infinity(negative: bool) -> Number {
        Number(Repr::Large(Arc::new(Float::infinity(negative, INTEGER_PRECISION))))
    }

    /// The precision, in bits.
    pub fn precision(&self) -> u32 {
        match &self.0 {
            Repr::Small { precision, .. } => *precision,
            Repr::Large(float) => float.precision,
        }
    }

    /// Whether the number is zero, of either sign.
    pub fn is_zero(&self) -> bool {
        match &self.0 {
            Repr::Small { value, .. } => *value == 0,
            Repr::Large(float) => float.form == Form::Zero,
        }
    }

    /// Whether the number prints with a minus sign. True for negative zero.
    pub fn has_minus_sign(&self) -> bool {
        match &self.0 {
            Repr::Small { value, .. } => *value < 0,
            Repr::Large(float) => float.negative,
        }
    }

    /// -1 if the number is negative, 0 if it is zero, 1 if it is positive.
    pub fn signum(&self) -> i32 {
        match (self.is_zero(), self.has_minus_sign()) {
            (true, _) => 0,
            (false, true) => -1,
            (false, false) => 1,
        }
    }

    /// Whether the number is one of the infinities.
    pub fn is_infinite(&self) -> bool {
        matches!(&self.0, Repr::Large(float) if float.form == Form::Infinite)
    }

    /// Whether the number is finite and has no fraction.
    pub fn is_integer(&self) -> bool {
        match &self.0 {
            Repr::Small { .. } => true,
            Repr::Large(float) => float.is_integer(),
        }
    }

    /// The value as this integer type. `None` if the number is not an integer or does not fit.
    pub fn to_i64(&self) -> Option<i64> {
        match &self.0 {
            Repr::Small { value, .. } => Some(*value),
            Repr::Large(float) => (float.form == Form::Zero).then_some(0),
        }
    }

    /// The value as this integer type. `None` if the number is not an integer or does not fit.
    pub fn to_u64(&self) -> Option<u64> {
        match &self.0 {
            Repr::Small { value, .. } => u64::try_from(*value).ok(),
            Repr::Large(float) if float.form == Form::Zero => Some(0),
            Repr::Large(_) => u64::try_from(self.to_integer()?).ok(),
        }
    }

    /// The value as this integer type. `None` if the number is not an integer or does not fit.
    pub fn to_usize(&self) -> Option<usize> {
        self.to_u64().and_then(|value| usize::try_from(value).ok())
    }

    /// The value, if it is an integer.
    pub fn to_integer(&self) -> Option<BigInt> {
        match &self.0 {
            Repr::Small { value, .. } => Some(BigInt::from(*value)),
            Repr::Large(float) => float.to_integer(),
        }
    }

    /// The integer part, rounded towards zero; `None` for an infinity.
    pub fn truncate(&self) -> Option<BigInt> {
        match &self.0 {
            Repr::Small { value, .. } => Some(BigInt::from(*value)),
            Repr::Large(float) => float.truncate(),
        }
    }

    /// The nearest `f64`: an infinity if the number is out of range, zero if it is too small.
    pub fn to_f64(&self) -> f64 {
        self.float().to_f64()
    }

    /// The `f64` with exactly this value, if there is one.
    pub fn to_exact_f64(&self) -> Option<f64> {
        let float = self.to_f64();
        (Number::from_f64(float)? == *self).then_some(float)
    }

    /// The text of the number in JSON, with the digits of [`fmt::Display`]. An infinity is an error.
    pub fn to_json(&self) -> Result<String, NumberError> {
        match self.is_infinite() {
            true => Err(NumberError::InfinityInJson),
            false => Ok(self.to_string()),
        }
    }

    /// Formats the number like Go's `%f`, `%e` and `%g`. `digits` are the digits after the point for the first two, and
    /// the significant digits for `%g`. `None` prints the fewest digits that read back as the same number at its
    /// precision.
    pub fn format(&self, style: NumberStyle, digits: Option<usize>) -> String {
        decimal::format(&self.float(), style, digits)
    }

    /// Whether both numbers are equal, including the precision and the sign of zero.
    pub fn is_identical(&self, other: &Number) -> bool {
        self == other && self.precision() == other.precision() && self.has_minus_sign() == other.has_minus_sign()
    }

    /// The general form of the number, which most code uses.
    fn float(&self) -> Arc<Float> {
        match &self.0 {
            Repr::Small { value, precision } => {
                Arc::new(Float::whole(*value < 0, value.unsigned_abs().into(), *precision))
            }
            Repr::Large(float) => Arc::clone(float),
        }
    }

    /// Makes a number, stored inline if it fits.
    fn pack(float: Float) -> Number {
        match float.to_small() {
            Some(value) => Number(Repr::Small { value, precision: float.precision }),
            None => Number(Repr::Large(Arc::new(float))),
        }
    }
}

impl PartialEq for Number {
    fn eq(&self, other: &Number) -> bool {
        self.cmp(other) == Ordering::Equal
    }
}

impl Eq for Number {}

impl PartialOrd for Number {
    fn partial_cmp(&self, other: &Number) -> Option<Ordering> {
        Some(self.cmp(other))
    }
}

impl Ord for Number {
    fn cmp(&self, other: &Number) -> Ordering {
        match (&self.0, &other.0) {
            (Repr::Small { value: a, .. }, Repr::Small { value: b, .. }) => a.cmp(b),
            _ => self.float().compare(&other.float()),
        }
    }
}

impl Hash for Number {
    fn hash<H: Hasher>(&self, state: &mut H) {
        match (self.to_i64(), &self.0) {
            (Some(value), _) => value.hash(state),
            (None, Repr::Large(float)) => (float.negative, float.exponent, &float.mantissa).hash(state),
            (None, Repr::Small { .. }) => {}
        }
    }
}

/// Plain decimal digits without an exponent, as cty converts a number to a string: the fewest digits that read back as
/// the same number at its precision. `-0` for negative zero, `+Inf` and `-Inf` for the infinities.
impl fmt::Display for Number {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match &self.0 {
            Repr::Small { value, precision } if 64 - value.unsigned_abs().leading_zeros() <= *precision => {
                fmt::Display::fmt(value, f)
            }
            _ => f.write_str(&self.format(NumberStyle::Fixed, None)),
        }
    }
}

impl fmt::Debug for Number {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        fmt::Display::fmt(self, f)
    }
}

impl Default for Number {
    fn default() -> Number {
        Number::ZERO
    }
}

impl From<i64> for Number {
    fn from(value: i64) -> Number {
        Number::from_i64(value)
    }
}

impl From<i32> for Number {
    fn from(value: i32) -> Number {
        Number::from_i64(value.into())
    }
}

impl From<u32> for Number {
    fn from(value: u32) -> Number {
        Number::from_i64(value.into())
    }
}

impl From<u64> for Number {
    fn from(value: u64) -> Number {
        Number::from_u64(value)
    }
}

impl From<usize> for Number {
    fn from(value: usize) -> Number {
        Number::from_u64(value as u64)
    }
}

impl std::str::FromStr for Number {
    type Err = NumberError;

    fn from_str(text: &str) -> Result<Number, NumberError> {
        Number::parse(text)
    }
}
