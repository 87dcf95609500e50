//! Arithmetic, with the precision rules of go-cty's `Value` methods.

use std::cmp::Ordering;

use num_bigint::{BigInt, BigUint, Sign};
use num_integer::Integer;
use num_traits::Zero;

use super::float::{Float, Form};
use super::{INTEGER_PRECISION, Number, NumberError, Repr, TEXT_PRECISION};

impl Number {
    /// The sum, rounded to the larger precision of the two operands. Opposing infinities are an error.
    pub fn add(&self, other: &Number) -> Result<Number, NumberError> {
        if let (Repr::Small { value: a, .. }, Repr::Small { value: b, .. }) = (&self.0, &other.0)
            && let Some(sum) = a.checked_add(*b)
            && let Some(number) = small(sum, self.precision().max(other.precision()))
        {
            return Ok(number);
        }
        let (x, y) = (self.float(), other.float());
        add(&x, &y, x.precision.max(y.precision)).map(Number::pack)
    }

    /// The difference: the sum of the number and the negated `other`.
    pub fn sub(&self, other: &Number) -> Result<Number, NumberError> {
        self.add(&other.neg()).map_err(|error| match error {
            NumberError::OpposingInfinities => NumberError::InfinityFromItself,
            other => other,
        })
    }

    /// The product, rounded to 512 bits. Its precision is the larger precision of the two operands, or more if the
    /// product needs it.
    pub fn mul(&self, other: &Number) -> Result<Number, NumberError> {
        let precision = self.precision().max(other.precision());
        if let (Repr::Small { value: a, .. }, Repr::Small { value: b, .. }) = (&self.0, &other.0)
            && let Some(product) = a.checked_mul(*b)
            && (product != 0 || (*a >= 0 && *b >= 0))
        {
            let needed = significant_bits(product);
            return Ok(Number(Repr::Small { value: product, precision: precision.max(needed) }));
        }
        let mut product = multiply(&self.float(), &other.float(), TEXT_PRECISION)?;
        let needed = u32::try_from(product.mantissa.bits()).unwrap_or(TEXT_PRECISION);
        product.precision = precision.max(needed);
        Ok(Number::pack(product))
    }

    /// The quotient, rounded to the larger precision of the two operands. A number other than zero, divided by zero, is
    /// an infinity. Zero divided by zero and infinity divided by infinity are errors.
    pub fn div(&self, other: &Number) -> Result<Number, NumberError> {
        if let (Repr::Small { value: a, .. }, Repr::Small { value: b, .. }) = (&self.0, &other.0)
            && *a != 0
            && a.checked_rem(*b) == Some(0)
            && let Some(number) = small(a / b, self.precision().max(other.precision()))
        {
            return Ok(number);
        }
        let (x, y) = (self.float(), other.float());
        divide(&x, &y, x.precision.max(y.precision)).map(Number::pack)
    }

    /// The remainder of the truncated division. If `other` is zero, the result is `self`. Each step is rounded: the
    /// quotient to the larger precision of the two numbers, and all later steps to the precision of `self`. Infinities
    /// are errors.
    pub fn rem(&self, other: &Number) -> Result<Number, NumberError> {
        if self.is_infinite() || other.is_infinite() {
            return Err(NumberError::ModuloInfinity);
        }
        if other.is_zero() {
            return Ok(self.clone());
        }
        if let (Repr::Small { value: a, precision }, Repr::Small { value: b, .. }) = (&self.0, &other.0)
            && *precision >= INTEGER_PRECISION
            && let Some(rest) = a.checked_rem(*b)
        {
            return Ok(Number(Repr::Small { value: rest, precision: *precision }));
        }
        let (x, y) = (self.float(), other.float());
        let precision = x.precision;
        let quotient = divide(&x, &y, precision.max(y.precision))?;
        let (sign, whole) = quotient.truncate().unwrap_or_default().into_parts();
        let whole = Float::rounded(sign == Sign::Minus, whole, 0, false, precision)?;
        let mut taken = multiply(&y, &whole, precision)?;
        taken.negative = !taken.negative;
        add(&x, &taken, precision).map(Number::pack)
    }

    /// The number with the opposite sign. Zero becomes negative zero.
    pub fn neg(&self) -> Number {
        if let Repr::Small { value, precision } = self.0
            && value != 0
            && let Some(value) = value.checked_neg()
        {
            return Number(Repr::Small { value, precision });
        }
        let mut float = self.float().as_ref().clone();
        float.negative = !float.negative;
        Number::pack(float)
    }

    /// The number without its sign.
    pub fn abs(&self) -> Number {
        if self.has_minus_sign() { self.neg() } else { self.clone() }
    }

    /// The greatest integer that is not above the number. Infinities are unchanged.
    pub fn floor(&self) -> Result<Number, NumberError> {
        self.to_whole(|whole, exact, negative| if negative && !exact { whole - 1 } else { whole })
    }

    /// The least integer that is not below the number. Infinities are unchanged.
    pub fn ceil(&self) -> Result<Number, NumberError> {
        self.to_whole(|whole, exact, negative| if negative || exact { whole } else { whole + 1 })
    }

    /// Rounds to an integer, at the number's precision. `choose` gets the truncated number, whether the truncation is
    /// exact, and whether the number is negative. The result is never negative zero.
    fn to_whole(&self, choose: impl FnOnce(BigInt, bool, bool) -> BigInt) -> Result<Number, NumberError> {
        let Repr::Large(float) = &self.0 else { return Ok(self.clone()) };
        let Some(whole) = float.truncate() else { return Ok(self.clone()) };
        let (sign, magnitude) = choose(whole, float.is_integer(), float.negative).into_parts();
        Float::rounded(sign == Sign::Minus, magnitude, 0, false, float.precision).map(Number::pack)
    }
}

/// A number that is stored inline; `None` if the precision would require rounding.
fn small(value: i64, precision: u32) -> Option<Number> {
    (precision >= INTEGER_PRECISION || significant_bits(value) <= precision)
        .then_some(Number(Repr::Small { value, precision }))
}

/// The number of bits from the highest to the lowest bit that is set.
fn significant_bits(value: i64) -> u32 {
    let magnitude = value.unsigned_abs();
    if magnitude == 0 { 0 } else { 64 - magnitude.leading_zeros() - magnitude.trailing_zeros() }
}

/// `x + y`, rounded to `precision` bits.
fn add(x: &Float, y: &Float, precision: u32) -> Result<Float, NumberError> {
    match (x.form, y.form) {
        (Form::Infinite, Form::Infinite) if x.negative != y.negative => Err(NumberError::OpposingInfinities),
        (Form::Infinite, _) => Ok(Float::infinity(x.negative, precision)),
        (_, Form::Infinite) => Ok(Float::infinity(y.negative, precision)),
        (Form::Zero, Form::Zero) => Ok(Float::zero(x.negative && y.negative, precision)),
        (_, Form::Zero) => with_precision(x, precision),
        (Form::Zero, _) => with_precision(y, precision),
        (Form::Finite, Form::Finite) => add_finite(x, y, precision),
    }
}

fn add_finite(x: &Float, y: &Float, precision: u32) -> Result<Float, NumberError> {
    let exponent = x.exponent.min(y.exponent);
    let (a, b) = (shifted(x, exponent), shifted(y, exponent));
    if x.negative == y.negative {
        return Float::rounded(x.negative, a + b, exponent, false, precision);
    }
    match a.cmp(&b) {
        Ordering::Equal => Ok(Float::zero(false, precision)),
        Ordering::Greater => Float::rounded(x.negative, a - b, exponent, false, precision),
        Ordering::Less => Float::rounded(y.negative, b - a, exponent, false, precision),
    }
}

/// The mantissa at a lower exponent.
fn shifted(float: &Float, exponent: i64) -> BigUint {
    &float.mantissa << float.exponent.abs_diff(exponent)
}

fn with_precision(float: &Float, precision: u32) -> Result<Float, NumberError> {
    Float::rounded(float.negative, float.mantissa.clone(), float.exponent, false, precision)
}

/// `x * y`, rounded to `precision` bits.
pub(super) fn multiply(x: &Float, y: &Float, precision: u32) -> Result<Float, NumberError> {
    let negative = x.negative != y.negative;
    match (x.form, y.form) {
        (Form::Zero, Form::Infinite) | (Form::Infinite, Form::Zero) => Err(NumberError::ZeroTimesInfinity),
        (Form::Infinite, _) | (_, Form::Infinite) => Ok(Float::infinity(negative, precision)),
        (Form::Zero, _) | (_, Form::Zero) => Ok(Float::zero(negative, precision)),
        (Form::Finite, Form::Finite) => {
            Float::rounded(negative, &x.mantissa * &y.mantissa, x.exponent.saturating_add(y.exponent), false, precision)
        }
    }
}

/// `x / y`, rounded to `precision` bits.
pub(super) fn divide(x: &Float, y: &Float, precision: u32) -> Result<Float, NumberError> {
    let negative = x.negative != y.negative;
    match (x.form, y.form) {
        (Form::Zero, Form::Zero) | (Form::Infinite, Form::Infinite) => Err(NumberError::IndeterminateQuotient),
        (Form::Zero, _) | (_, Form::Infinite) => Ok(Float::zero(negative, precision)),
        (Form::Infinite, _) | (_, Form::Zero) => Ok(Float::infinity(negative, precision)),
        (Form::Finite, Form::Finite) => {
            // Two bits more than the precision: one for rounding, and one because the quotient may be one bit shorter.
            let wanted = y.mantissa.bits() + u64::from(precision) + 2;
            let shift = wanted.saturating_sub(x.mantissa.bits());
            let (quotient, rest) = (&x.mantissa << shift).div_rem(&y.mantissa);
            let exponent = x.exponent.saturating_sub(y.exponent).saturating_sub_unsigned(shift);
            Float::rounded(negative, quotient, exponent, !rest.is_zero(), precision)
        }
    }
}
