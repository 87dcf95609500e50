//! How a number is stored in files: bit for bit, including the precision. A small integer takes two bytes.

use num_bigint::BigUint;
use serde::de::Error as _;
use serde::{Deserialize, Deserializer, Serialize, Serializer};

use super::float::{Float, Form};
use super::{INTEGER_PRECISION, MAX_EXPONENT, MAX_PRECISION, Number, Repr, TEXT_PRECISION};

/// The stored form. The order of the variants is part of the file format.
#[derive(Serialize, Deserialize)]
enum Record {
    /// An integer with the precision of text.
    TextInteger(i64),
    /// An integer with the precision of integers.
    Integer(i64),
    /// An integer with another precision.
    OtherInteger { value: i64, precision: u32 },
    /// Negative zero.
    NegativeZero { precision: u32 },
    /// An infinity.
    Infinity { negative: bool, precision: u32 },
    /// `mantissa * 2^exponent`. The bytes of the mantissa are in little-endian order; its lowest bit and its last byte
    /// are not zero.
    Finite { negative: bool, precision: u32, exponent: i32, mantissa: Vec<u8> },
}

impl Record {
    fn of(number: &Number) -> Record {
        match &number.0 {
            Repr::Small { value, precision: TEXT_PRECISION } => Record::TextInteger(*value),
            Repr::Small { value, precision: INTEGER_PRECISION } => Record::Integer(*value),
            Repr::Small { value, precision } => Record::OtherInteger { value: *value, precision: *precision },
            Repr::Large(float) => match float.form {
                Form::Zero => Record::NegativeZero { precision: float.precision },
                Form::Infinite => Record::Infinity { negative: float.negative, precision: float.precision },
                Form::Finite => Record::Finite {
                    negative: float.negative,
                    precision: float.precision,
                    // MAX_EXPONENT and MAX_PRECISION limit the exponent, so the cast is exact.
                    exponent: float.exponent as i32,
                    mantissa: float.mantissa.to_bytes_le(),
                },
            },
        }
    }

    /// The number; `None` if an invariant is violated.
    fn into_number(self) -> Option<Number> {
        let fits = |precision: u32| (1..=MAX_PRECISION).contains(&precision).then_some(precision);
        Some(match self {
            Record::TextInteger(value) => Number(Repr::Small { value, precision: TEXT_PRECISION }),
            Record::Integer(value) => Number(Repr::Small { value, precision: INTEGER_PRECISION }),
            Record::OtherInteger { value, precision } => {
                let float = Float::whole(value < 0, value.unsigned_abs().into(), fits(precision)?);
                if float.mantissa.bits() > u64::from(precision) {
                    return None;
                }
                Number(Repr::Small { value, precision })
            }
            Record::NegativeZero { precision } => Number::pack(Float::zero(true, fits(precision)?)),
            Record::Infinity { negative, precision } => Number::pack(Float::infinity(negative, fits(precision)?)),
            Record::Finite { negative, precision, exponent, mantissa } => {
                let precision = fits(precision)?;
                let sound = mantissa.len() <= MAX_PRECISION as usize / 8 + 1
                    && mantissa.first().is_some_and(|byte| byte & 1 == 1)
                    && mantissa.last().is_some_and(|byte| *byte != 0)
                    && exponent.unsigned_abs() <= 2 * MAX_EXPONENT.unsigned_abs();
                if !sound {
                    return None;
                }
                let mantissa = BigUint::from_bytes_le(&mantissa);
                if mantissa.bits() > u64::from(precision) {
                    return None;
                }
                Number::pack(Float::rounded(negative, mantissa, exponent.into(), false, precision).ok()?)
            }
        })
    }
}

impl Serialize for Number {
    fn serialize<S: Serializer>(&self, serializer: S) -> Result<S::Ok, S::Error> {
        Record::of(self).serialize(serializer)
    }
}

impl<'de> Deserialize<'de> for Number {
    fn deserialize<D: Deserializer<'de>>(deserializer: D) -> Result<Number, D::Error> {
        Record::deserialize(deserializer)?.into_number().ok_or_else(|| D::Error::custom("invalid number"))
    }
}
