//! Arithmetic functions.

use num_bigint::BigInt;
use weft_graph_format::number::{Number, NumberError};
use weft_graph_format::types::Type;
use weft_graph_format::value::Value;

use super::arguments::{number, whole, whole_at};
use super::{CallContext, Function, FunctionError, Parameter, Symbolic, problems};
use crate::convert::convert;

pub(super) fn functions() -> Vec<Function> {
    let parameter = |name, description| Parameter::new(name, Type::Number, description);
    let numeric =
        |name, description| Function::new(name, description, Symbolic::Opaque).returns(Type::Number).not_null();
    vec![
        numeric("abs", "The number without its sign.")
            .parameter(parameter("num", "The number."))
            .calls(|_, a, _| Ok(Value::number(number(a, 0)?.abs()))),
        numeric("ceil", "The smallest whole number that is not less than the number.")
            .parameter(parameter("num", "The number."))
            .calls(|_, a, _| to_whole(a, Number::ceil)),
        numeric("floor", "The greatest whole number that is not greater than the number.")
            .parameter(parameter("num", "The number."))
            .calls(|_, a, _| to_whole(a, Number::floor)),
        numeric("signum", "-1, 0 or 1 for a whole number below, at or above zero.")
            .parameter(parameter("num", "The number."))
            .calls(|_, a, _| Ok(Value::int(whole_at(a, 0)?.signum()))),
        numeric("log", "The logarithm to a base.")
            .parameter(parameter("num", "The number."))
            .parameter(parameter("base", "The base."))
            .calls(|_, a, _| real(libm::log(number(a, 0)?.to_f64()) / libm::log(number(a, 1)?.to_f64()))),
        numeric("pow", "The number raised to a power.")
            .parameter(parameter("num", "The number."))
            .parameter(parameter("power", "The power."))
            .calls(|_, a, _| real(power(number(a, 0)?.to_f64(), number(a, 1)?.to_f64()))),
        numeric("max", "The greatest of the numbers.")
            .variadic(parameter("numbers", "One or more numbers.").dynamic())
            .calls(|_, a, _| extreme(a, |new, best| new > best)),
        numeric("min", "The least of the numbers.")
            .variadic(parameter("numbers", "One or more numbers.").dynamic())
            .calls(|_, a, _| extreme(a, |new, best| new < best)),
        numeric("parseint", "Parses an integer in a given base.")
            .parameter(Parameter::new("number", Type::Dynamic, "The digits."))
            .parameter(parameter("base", "The base, from 2 to 62."))
            .returns_of(parseint_type)
            .calls(parseint),
        numeric("sum", "The sum of all numbers.")
            .parameter(Parameter::new("list", Type::Dynamic, "A list, set or tuple of numbers, not empty."))
            .calls(sum),
    ]
}

fn to_whole(arguments: &[Value], round: fn(&Number) -> Result<Number, NumberError>) -> Result<Value, FunctionError> {
    let given = number(arguments, 0)?;
    if given.is_infinite() {
        return Ok(Value::number(given.clone()));
    }
    round(given).map(Value::number).map_err(|e| FunctionError::new(e.to_string()))
}

fn real(value: f64) -> Result<Value, FunctionError> {
    Number::from_f64(value).map(Value::number).ok_or_else(problems::numeric::result_not_a_number)
}

/// Computes a power. For the whole part of the exponent, it squares repeatedly. As in OpenTofu, the result is rounded
/// correctly if all intermediate results are exact: `pow(10, 23)` is the float that 1e23 denotes. The results of Rust's
/// standard library can differ in the last bit.
fn power(base: f64, exponent: f64) -> f64 {
    /// With a larger exponent, the result is 0, 1 or infinite for all bases that are not very close to 1.
    const LARGEST_SQUARED_EXPONENT: f64 = 4096.0;
    let scaled = base.is_finite() && base != 0.0 && (base > 0.0 || exponent.fract() == 0.0);
    if !scaled || !exponent.is_finite() || exponent.abs() > LARGEST_SQUARED_EXPONENT {
        return base.powf(exponent);
    }
    if exponent.abs() == 0.5 {
        return if exponent > 0.0 { base.sqrt() } else { 1.0 / base.sqrt() };
    }
    let (mut whole, mut fraction) = (exponent.abs().trunc(), exponent.abs().fract());
    if fraction > 0.5 {
        whole += 1.0;
        fraction -= 1.0;
    }
    // Mantissas stay in [0.5, 1), and their exponents are separate, so that no intermediate result overflows.
    let (mut square, mut square_exponent) = mantissa(base);
    let (mut product, mut product_exponent) = (1.0f64, 0i64);
    if fraction != 0.0 {
        product = libm::exp(fraction * libm::log(base));
    }
    let mut rest = whole as u64;
    while rest > 0 {
        if rest & 1 == 1 {
            product *= square;
            product_exponent += square_exponent;
        }
        rest >>= 1;
        let (next, shift) = mantissa(square * square);
        square = next;
        square_exponent = square_exponent * 2 + shift;
    }
    if exponent < 0.0 {
        product = 1.0 / product;
        product_exponent = -product_exponent;
    }
    let (product, shift) = mantissa(product);
    times_power_of_two(product, product_exponent + shift)
}

/// Splits a finite number other than zero into a mantissa in [0.5, 1) with its sign, and a power of two.
fn mantissa(value: f64) -> (f64, i64) {
    const EXPONENT_BITS: u64 = 0x7ff << 52;
    const HALF: u64 = 0x3fe << 52;
    // Subnormal numbers are scaled into the normal range first.
    let (normal, shift) = if value.is_normal() { (value, 0) } else { (value * 2f64.powi(64), -64) };
    let bits = normal.to_bits();
    let exponent = i64::try_from((bits & EXPONENT_BITS) >> 52).unwrap_or(0) - 1022;
    (f64::from_bits(bits & !EXPONENT_BITS | HALF), exponent + shift)
}

fn times_power_of_two(value: f64, exponent: i64) -> f64 {
    // The scaling is done in steps, because 2^exponent may be out of range even if the result is not.
    let mut value = value;
    let mut rest = exponent.clamp(-5000, 5000);
    while rest != 0 {
        let step = rest.clamp(-1000, 1000);
        value *= 2f64.powi(i32::try_from(step).unwrap_or(0));
        rest -= step;
    }
    value
}

fn extreme(arguments: &[Value], better: fn(&Number, &Number) -> bool) -> Result<Value, FunctionError> {
    let mut best: Option<&Number> = None;
    for index in 0..arguments.len() {
        let new = number(arguments, index)?;
        if best.is_none_or(|best| better(new, best)) {
            best = Some(new);
        }
    }
    best.map(|best| Value::number(best.clone())).ok_or_else(problems::numeric::no_numbers)
}

fn parseint_type(arguments: &[Value]) -> Result<Type, FunctionError> {
    match arguments[0].ty() {
        Type::String => Ok(Type::Number),
        other => Err(problems::numeric::not_a_string_type(&other)),
    }
}

/// The maximum number of digits: more than the largest supported number has in the smallest base.
const MOST_DIGITS: usize = 1 << 17;

/// The largest base in which upper and lower case letters stand for the same digits.
const LARGEST_CASELESS_BASE: u32 = 36;

fn parseint(_: &CallContext<'_>, arguments: &[Value], _: &Type) -> Result<Value, FunctionError> {
    let Some(text) = arguments[0].as_str() else {
        return Err(problems::numeric::not_a_string());
    };
    let base = whole(number(arguments, 1)?).map_err(|e| FunctionError::argument(1, e))?;
    let Some(base) = u32::try_from(base).ok().filter(|b| (2..=62).contains(b)) else {
        return Err(problems::numeric::invalid_base());
    };
    let failed = || problems::numeric::cannot_parse(text, base);
    let (negative, digits) = match text.strip_prefix('-') {
        Some(digits) => (true, digits),
        None => (false, text.strip_prefix('+').unwrap_or(text)),
    };
    if digits.is_empty() || digits.len() > MOST_DIGITS {
        return Err(failed());
    }
    let mut values = Vec::with_capacity(digits.len());
    for byte in digits.bytes() {
        let value = match byte {
            b'0'..=b'9' => byte - b'0',
            b'a'..=b'z' => byte - b'a' + 10,
            b'A'..=b'Z' if base <= LARGEST_CASELESS_BASE => byte - b'A' + 10,
            b'A'..=b'Z' => byte - b'A' + 36,
            _ => return Err(failed()),
        };
        if u32::from(value) >= base {
            return Err(failed());
        }
        values.push(value);
    }
    let sign = if negative { num_bigint::Sign::Minus } else { num_bigint::Sign::Plus };
    let whole = BigInt::from_radix_be(sign, &values, base).ok_or_else(failed)?;
    Number::from_integer(whole).map(Value::number).map_err(|e| FunctionError::argument(0, e.to_string()))
}

fn sum(_: &CallContext<'_>, arguments: &[Value], _: &Type) -> Result<Value, FunctionError> {
    let list = &arguments[0];
    let (items, fields) = (list.as_items(), list.as_fields());
    if items.is_none() && fields.is_none() {
        return Err(problems::numeric::cannot_sum());
    }
    if items.is_some_and(<[Value]>::is_empty) || fields.is_some_and(|f| f.is_empty()) {
        return Err(problems::numeric::cannot_sum_empty());
    }
    let Some(items) = items else {
        return Err(problems::numeric::cannot_sum_type(&list.ty()));
    };
    if !list.is_wholly_known() {
        return Ok(Value::unknown(Type::Number));
    }
    let mut total: Option<Number> = None;
    for item in items {
        let converted = convert(item, &Type::Number).ok();
        let Some(next) = converted.as_ref().and_then(Value::as_number) else {
            return Err(problems::numeric::cannot_sum_elements());
        };
        total = Some(match total {
            None => next.clone(),
            Some(total) => total.add(next).map_err(|e| FunctionError::new(e.to_string()))?,
        });
    }
    Ok(Value::number(total.unwrap_or_default()))
}
