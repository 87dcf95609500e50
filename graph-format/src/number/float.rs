//! The general form of a number, and rounding.

use std::cmp::Ordering;

use num_bigint::{BigInt, BigUint, Sign};
use num_traits::{One, ToPrimitive, Zero};

use super::{FLOAT_PRECISION, MAX_EXPONENT, NumberError};

/// The kind of number: zero, finite or infinite.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Form {
    Zero,
    Finite,
    Infinite,
}

/// The parts of a number. For [`Form::Finite`], the value is `mantissa * 2^exponent` with an odd mantissa; otherwise
/// mantissa and exponent are zero. While a text is parsed, the mantissa may be longer than the precision.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(super) struct Float {
    pub(super) form: Form,
    pub(super) negative: bool,
    pub(super) precision: u32,
    pub(super) exponent: i64,
    pub(super) mantissa: BigUint,
}

impl Float {
    pub(super) fn zero(negative: bool, precision: u32) -> Float {
        Float { form: Form::Zero, negative, precision, exponent: 0, mantissa: BigUint::ZERO }
    }

    pub(super) fn infinity(negative: bool, precision: u32) -> Float {
        Float { form: Form::Infinite, ..Float::zero(negative, precision) }
    }

    /// `magnitude * 2^exponent` without rounding and without limits.
    pub(super) fn exact(negative: bool, magnitude: BigUint, exponent: i64, precision: u32) -> Float {
        match magnitude.trailing_zeros() {
            None => Float::zero(negative, precision),
            Some(zeros) => Float {
                form: Form::Finite,
                negative,
                precision,
                exponent: exponent.saturating_add_unsigned(zeros),
                mantissa: if zeros == 0 { magnitude } else { magnitude >> zeros },
            },
        }
    }

    /// An integer of at most 64 bits, of which at most `precision` are significant.
    pub(super) fn whole(negative: bool, magnitude: BigUint, precision: u32) -> Float {
        Float::exact(negative, magnitude, 0, precision)
    }

    /// `magnitude * 2^exponent`, rounded to `precision` bits. If `sticky`, the exact value to round is larger than this
    /// product, by less than one unit of the magnitude's lowest bit. In this case, the magnitude must have more bits
    /// than the precision.
    pub(super) fn rounded(
        negative: bool,
        magnitude: BigUint,
        exponent: i64,
        sticky: bool,
        precision: u32,
    ) -> Result<Float, NumberError> {
        let (magnitude, exponent) = round(magnitude, exponent, sticky, u64::from(precision));
        let float = Float::exact(negative, magnitude, exponent, precision);
        match float.top().unsigned_abs() <= u64::from(MAX_EXPONENT.unsigned_abs()) {
            true => Ok(float),
            false => Err(NumberError::OutOfRange),
        }
    }

    /// The exact value of an `f64`; `None` for a NaN.
    pub(super) fn from_f64(value: f64) -> Option<Float> {
        const FRACTION_BITS: u32 = f64::MANTISSA_DIGITS - 1;
        let negative = value.is_sign_negative();
        if value.is_nan() {
            return None;
        }
        if value.is_infinite() {
            return Some(Float::infinity(negative, FLOAT_PRECISION));
        }
        let bits = value.to_bits();
        let fraction = bits & ((1 << FRACTION_BITS) - 1);
        let field = ((bits >> FRACTION_BITS) & 0x7ff) as i64;
        let (mantissa, field) = if field == 0 { (fraction, 1) } else { (fraction | (1 << FRACTION_BITS), field) };
        let exponent = field - 1023 - i64::from(FRACTION_BITS);
        Some(Float::exact(negative, mantissa.into(), exponent, FLOAT_PRECISION))
    }

    /// The nearest `f64`.
    pub(super) fn to_f64(&self) -> f64 {
        let magnitude = match self.form {
            Form::Zero => 0.0,
            Form::Infinite => f64::INFINITY,
            Form::Finite => self.magnitude_f64(),
        };
        if self.negative { -magnitude } else { magnitude }
    }

    fn magnitude_f64(&self) -> f64 {
        const LOWEST_EXPONENT: i64 = -1074;
        let top = self.top();
        if top > 1024 {
            return f64::INFINITY;
        }
        if top < LOWEST_EXPONENT {
            return 0.0;
        }
        // The number of bits that an f64 of this size can hold.
        let bits = (top - LOWEST_EXPONENT).min(53) as u64;
        let (mantissa, exponent) = round(self.mantissa.clone(), self.exponent, false, bits);
        let Some(mantissa) = mantissa.to_u64() else { return f64::INFINITY };
        // Both factors and the product are exact: the second step only moves the binary point.
        let half = exponent / 2;
        mantissa as f64 * 2f64.powi(half as i32) * 2f64.powi((exponent - half) as i32)
    }

    /// The position of the highest bit: the value is in `[2^(top-1), 2^top)`.
    pub(super) fn top(&self) -> i64 {
        match self.form {
            Form::Finite => self.exponent.saturating_add_unsigned(self.mantissa.bits()),
            Form::Zero | Form::Infinite => 0,
        }
    }

    pub(super) fn is_integer(&self) -> bool {
        match self.form {
            Form::Zero => true,
            Form::Finite => self.exponent >= 0,
            Form::Infinite => false,
        }
    }

    /// The integer part, rounded towards zero; `None` for an infinity.
    pub(super) fn truncate(&self) -> Option<BigInt> {
        let magnitude = match self.form {
            Form::Infinite => return None,
            Form::Zero => BigUint::ZERO,
            Form::Finite if self.exponent >= 0 => &self.mantissa << self.exponent.unsigned_abs(),
            Form::Finite => &self.mantissa >> self.exponent.unsigned_abs(),
        };
        let sign = if self.negative { Sign::Minus } else { Sign::Plus };
        Some(BigInt::from_biguint(sign, magnitude))
    }

    pub(super) fn to_integer(&self) -> Option<BigInt> {
        if self.is_integer() { self.truncate() } else { None }
    }

    /// The integer to store inline, if the number must be stored inline.
    pub(super) fn to_small(&self) -> Option<i64> {
        match self.form {
            Form::Zero => (!self.negative).then_some(0),
            Form::Finite if self.exponent >= 0 && self.top() <= 64 => self.truncate()?.to_i64(),
            _ => None,
        }
    }

    /// Compares by value. Both zeros are equal.
    pub(super) fn compare(&self, other: &Float) -> Ordering {
        let rank = |float: &Float| match (float.form, float.negative) {
            (Form::Infinite, true) => -2,
            (Form::Finite, true) => -1,
            (Form::Zero, _) => 0,
            (Form::Finite, false) => 1,
            (Form::Infinite, false) => 2,
        };
        let by_rank = rank(self).cmp(&rank(other));
        if by_rank.is_ne() || self.form != Form::Finite {
            return by_rank;
        }
        let by_magnitude = self.compare_magnitude(other);
        if self.negative { by_magnitude.reverse() } else { by_magnitude }
    }

    /// Compares two finite numbers without their signs.
    pub(super) fn compare_magnitude(&self, other: &Float) -> Ordering {
        let by_top = self.top().cmp(&other.top());
        if by_top.is_ne() {
            return by_top;
        }
        match self.exponent.cmp(&other.exponent) {
            Ordering::Equal => self.mantissa.cmp(&other.mantissa),
            Ordering::Greater => (&self.mantissa << self.exponent.abs_diff(other.exponent)).cmp(&other.mantissa),
            Ordering::Less => self.mantissa.cmp(&(&other.mantissa << self.exponent.abs_diff(other.exponent))),
        }
    }
}

/// Rounds `mantissa * 2^exponent`, which is slightly larger if `sticky`, to `bits` bits: to nearest, ties to even.
pub(super) fn round(mantissa: BigUint, exponent: i64, sticky: bool, bits: u64) -> (BigUint, i64) {
    let have = mantissa.bits();
    if have <= bits {
        return (mantissa, exponent);
    }
    let drop = have - bits;
    let half = mantissa.bit(drop - 1);
    let beyond_half = sticky || mantissa.trailing_zeros().is_some_and(|zeros| zeros < drop - 1);
    let mut kept: BigUint = mantissa >> drop;
    if half && (beyond_half || kept.bit(0)) {
        kept += BigUint::one();
    }
    debug_assert!(bits == 0 || !kept.is_zero());
    (kept, exponent.saturating_add_unsigned(drop))
}
