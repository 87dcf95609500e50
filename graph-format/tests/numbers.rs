//! Compares numbers with recorded arithmetic of cty, and checks laws that hold for all numbers.

use std::collections::hash_map::DefaultHasher;
use std::hash::{Hash, Hasher};

use num_bigint::BigInt;
use proptest::prelude::*;
use weft_graph_format::number::{MAX_EXPONENT, MAX_TEXT_LENGTH, Number, NumberError, NumberStyle};

fn number(text: &str) -> Number {
    Number::parse(text).unwrap_or_else(|error| panic!("{text}: {error}"))
}

fn apply(a: &Number, operator: &str, b: &Number) -> Result<Number, NumberError> {
    match operator {
        "+" => a.add(b),
        "-" => a.sub(b),
        "*" => a.mul(b),
        "/" => a.div(b),
        "%" => a.rem(b),
        other => panic!("operator {other}"),
    }
}

#[test]
fn arithmetic_is_as_recorded() {
    let path = concat!(env!("CARGO_MANIFEST_DIR"), "/../tests/conformance/numbers.json");
    let text = std::fs::read_to_string(path).expect("the record");
    let record: Vec<[String; 4]> = serde_json::from_str(&text).expect("its form");
    assert_eq!(record.len(), 601);
    let mut wrong = Vec::new();
    for [a, operator, b, expected] in &record {
        let got = apply(&number(a), operator, &number(b)).map_or_else(|error| error.to_string(), |n| n.to_string());
        if got != *expected {
            wrong.push(format!("{a} {operator} {b}\n  expected {expected}\n  got      {got}"));
        }
    }
    assert!(wrong.is_empty(), "{} of {}:\n{}", wrong.len(), record.len(), wrong.join("\n"));
}

#[test]
fn numbers_are_parsed() {
    for (text, printed) in [
        ("0", "0"),
        ("-0", "-0"),
        ("+5", "5"),
        ("007", "7"),
        (".5", "0.5"),
        ("5.", "5"),
        ("1e3", "1000"),
        ("1E+3", "1000"),
        ("1e-3", "0.001"),
        ("1p4", "16"),
        ("1.5p1", "3"),
        ("0e99999999999999999999", "0"),
        ("-0.0", "-0"),
        ("Inf", "+Inf"),
        ("-inf", "-Inf"),
        ("9223372036854775807", "9223372036854775807"),
        ("-9223372036854775808", "-9223372036854775808"),
        ("9223372036854775808", "9223372036854775808"),
        ("99999999999999999999999999999999", "99999999999999999999999999999999"),
        ("0.1", "0.1"),
        ("123.4500", "123.45"),
    ] {
        assert_eq!(number(text).to_string(), printed, "{text}");
    }
}

#[test]
fn invalid_numbers_are_refused() {
    for text in [
        "", "-", "+", ".", "e5", "1e", "1e+", " 1", "1 ", "0x10", "0b1", "1_000", "1.2.3", "--1", "+-1", "Infinity",
        "nan", "NaN", "INF", "1e5.5", "٣", "1e5e5", "1,5", "\0",
    ] {
        assert_eq!(Number::parse(text).unwrap_err(), NumberError::NotANumber, "{text:?}");
    }
}

#[test]
fn hostile_texts_are_refused_quickly() {
    for text in [
        "1e999999999",
        "1e-999999999",
        "1e99999999999999999999999",
        "1p999999999",
        "1e20000",
        "1e-20000",
        "0.1e-99999999999999999999",
    ] {
        assert_eq!(Number::parse(text).unwrap_err(), NumberError::OutOfRange, "{text}");
    }
    assert_eq!(Number::parse(&"9".repeat(MAX_TEXT_LENGTH + 1)).unwrap_err(), NumberError::TextTooLong);
    assert_eq!(Number::parse(&"9".repeat(MAX_TEXT_LENGTH)).unwrap_err(), NumberError::OutOfRange);
    let large = number("1e19000");
    assert_eq!(large.mul(&large).unwrap_err(), NumberError::OutOfRange);
    assert_eq!(Number::ONE.div(&large).and_then(|small| small.div(&large)).unwrap_err(), NumberError::OutOfRange);
    assert_eq!(large.to_string().len(), 19_001);
    assert_eq!(number(&number("1.2345e-19000").to_string()), number("1.2345e-19000"));
    assert_eq!(Number::from_integer(BigInt::from(1) << MAX_EXPONENT).unwrap_err(), NumberError::OutOfRange);
}

#[test]
fn arithmetic_with_infinities_and_zeros_is_defined() {
    let (zero, one, five) = (Number::ZERO, Number::ONE, number("5"));
    let infinity = five.div(&zero).unwrap();
    assert_eq!(infinity.to_string(), "+Inf");
    assert_eq!(five.neg().div(&zero).unwrap(), Number::infinity(true));
    assert_eq!(zero.div(&zero).unwrap_err(), NumberError::IndeterminateQuotient);
    assert_eq!(infinity.div(&infinity).unwrap_err(), NumberError::IndeterminateQuotient);
    assert_eq!(infinity.sub(&infinity).unwrap_err(), NumberError::InfinityFromItself);
    assert_eq!(infinity.add(&infinity.neg()).unwrap_err(), NumberError::OpposingInfinities);
    assert_eq!(infinity.mul(&zero).unwrap_err(), NumberError::ZeroTimesInfinity);
    assert_eq!(infinity.rem(&five).unwrap_err(), NumberError::ModuloInfinity);
    assert_eq!(infinity.add(&one).unwrap(), infinity);
    assert_eq!(one.div(&infinity).unwrap(), zero);
    assert_eq!(five.rem(&zero).unwrap(), five);
    assert_eq!(infinity.to_json().unwrap_err(), NumberError::InfinityInJson);
    assert!(!infinity.is_integer() && infinity.to_i64().is_none() && infinity.truncate().is_none());
    assert_eq!(infinity.floor().unwrap(), infinity);

    let minus_zero = number("-0");
    assert_eq!(minus_zero, zero);
    assert_eq!(hash(&minus_zero), hash(&zero));
    assert!(!minus_zero.is_identical(&zero) && minus_zero.has_minus_sign() && minus_zero.is_integer());
    assert_eq!((minus_zero.to_i64(), minus_zero.to_u64(), minus_zero.signum()), (Some(0), Some(0), 0));
    assert_eq!(zero.neg().to_string(), "-0");
    assert_eq!(zero.div(&five.neg()).unwrap().to_string(), "-0");
    assert_eq!(zero.mul(&five.neg()).unwrap().to_string(), "-0");
    assert_eq!(number("-3").rem(&number("-3")).unwrap().to_string(), "0");
    assert_eq!(minus_zero.abs().to_string(), "0");
    assert_eq!(minus_zero.floor().unwrap().to_string(), "0");
    assert_eq!(number("-0.1").ceil().unwrap().to_string(), "0");
}

#[test]
fn precision_follows_origin() {
    let third = |one: Number, three: Number| one.div(&three).unwrap().to_string();
    assert_eq!(third(Number::from_i64(1), Number::from_i64(3)), "0.33333333333333333334");
    assert_eq!(third(Number::from_f64(1.0).unwrap(), Number::from_f64(3.0).unwrap()), "0.3333333333333333");
    assert_eq!(number("1").div(&Number::from_i64(3)).unwrap().to_string().len(), 157);
    // The results of `pow()` are f64, as recorded.
    assert_eq!(Number::from_f64(2f64.powi(64)).unwrap().to_string(), "18446744073709550000");
    assert_eq!(Number::from_f64(2f64.powi(60)).unwrap().to_string(), "1152921504606847000");
    assert_eq!(Number::from_f64(2f64.powi(100)).unwrap().to_string(), "1267650600228229400000000000000");
    assert_eq!(Number::from_f64(1e22).unwrap().to_string(), "10000000000000000000000");
    assert_eq!(Number::from_f64(0.1).unwrap().to_string(), "0.1");
    assert_eq!(Number::from_f64(5e-324).unwrap().to_f64(), 5e-324);
    assert!(Number::from_f64(f64::NAN).is_none());
    assert_eq!(Number::from_f64(-0.0).unwrap().to_string(), "-0");
    assert_eq!(Number::from_u64(u64::MAX).to_string(), "18446744073709551615");
    assert_eq!(Number::from_u64(u64::MAX).to_u64(), Some(u64::MAX));
}

#[test]
fn floor_and_ceil_are_exact() {
    for (text, floor, ceil) in [
        ("1.5", "1", "2"),
        ("-1.5", "-2", "-1"),
        ("2", "2", "2"),
        ("-1e-300", "-1", "0"),
        ("0.99999999999999999999999999", "0", "1"),
        ("123456789012345678901234567890.5", "123456789012345678901234567890", "123456789012345678901234567891"),
    ] {
        assert_eq!(number(text).floor().unwrap().to_string(), floor, "{text}");
        assert_eq!(number(text).ceil().unwrap().to_string(), ceil, "{text}");
    }
}

#[test]
fn numbers_are_formatted_in_each_style() {
    let cases = [
        ("1234.5678", NumberStyle::Fixed, Some(2), "1234.57"),
        ("1234.5678", NumberStyle::Fixed, Some(0), "1235"),
        ("0.5", NumberStyle::Fixed, Some(0), "0"),
        ("1.5", NumberStyle::Fixed, Some(0), "2"),
        ("0.0001", NumberStyle::Fixed, Some(2), "0.00"),
        ("0.006", NumberStyle::Fixed, Some(2), "0.01"),
        ("999.99", NumberStyle::Fixed, Some(1), "1000.0"),
        ("2", NumberStyle::Fixed, Some(3), "2.000"),
        ("0.00001", NumberStyle::Fixed, Some(3), "0.000"),
        ("1234.5678", NumberStyle::Exponent, Some(2), "1.23e+03"),
        ("1234.5678", NumberStyle::Exponent, None, "1.2345678e+03"),
        ("0", NumberStyle::Exponent, Some(2), "0.00e+00"),
        ("1e100", NumberStyle::General, Some(10), "1e+100"),
        ("1234.5678", NumberStyle::General, Some(10), "1234.5678"),
        ("100000", NumberStyle::General, Some(10), "100000"),
        ("123456789012", NumberStyle::General, Some(10), "1.23456789e+11"),
        ("0.00001", NumberStyle::General, Some(10), "1e-05"),
        ("1e6", NumberStyle::General, None, "1e+06"),
        ("123456", NumberStyle::General, None, "123456"),
        ("0", NumberStyle::General, Some(10), "0"),
        ("-5", NumberStyle::General, Some(10), "-5"),
    ];
    for (text, style, digits, expected) in cases {
        assert_eq!(number(text).format(style, digits), expected, "{text} {style:?} {digits:?}");
    }
}

#[test]
fn damaged_records_are_refused() {
    let good = postcard::to_stdvec(&number("0.1")).unwrap();
    let mut refused = 0;
    for at in 0..good.len() {
        for bit in 0..8 {
            let mut bytes = good.clone();
            bytes[at] ^= 1 << bit;
            match postcard::from_bytes::<Number>(&bytes) {
                Ok(number) => assert!(Number::parse(&number.to_string()).is_ok()),
                Err(_) => refused += 1,
            }
        }
    }
    assert!(refused > 10);
    assert_eq!(postcard::to_stdvec(&number("7")).unwrap().len(), 2);
    assert_eq!(size_of::<Number>(), 16);
}

fn hash(number: &Number) -> u64 {
    let mut hasher = DefaultHasher::new();
    number.hash(&mut hasher);
    hasher.finish()
}

fn any_number() -> impl Strategy<Value = Number> {
    prop_oneof![
        any::<i64>().prop_map(Number::from_i64),
        (-1000i64..1000).prop_map(Number::from_i64),
        any::<u64>().prop_map(Number::from_u64),
        any::<f64>().prop_filter_map("a NaN", Number::from_f64),
        "-?[0-9]{1,40}(\\.[0-9]{1,40})?(e-?[0-9]{1,3})?".prop_map(|text| number(&text)),
        "-?[0-9]{1,4}".prop_map(|text| number(&text)),
    ]
}

proptest! {
    #![proptest_config(ProptestConfig { failure_persistence: None, ..ProptestConfig::default() })]

    #[test]
    fn an_f64_round_trips(value in any::<f64>()) {
        prop_assume!(!value.is_nan());
        let number = Number::from_f64(value).unwrap();
        prop_assert_eq!(number.to_f64().to_bits(), value.to_bits());
        prop_assert_eq!(number.to_exact_f64().map(f64::to_bits), Some(value.to_bits()));
    }

    #[test]
    fn text_to_f64_rounds_as_rust_does(text in "[0-9]{1,20}(\\.[0-9]{1,20})?(e-?[0-9]{1,3})?") {
        prop_assert_eq!(number(&text).to_f64(), text.parse::<f64>().unwrap());
    }

    #[test]
    fn shortest_text_of_an_f64_is_as_short_as_rusts(value in any::<f64>()) {
        // Subnormal numbers are skipped: as an `f64` they have fewer than 53 bits, but as a `Number` they have a
        // precision of 53 bits, so their text may need more digits. Among all texts of one length, the nearest is
        // chosen, as in Rust. In a tie, the text with the even digit is chosen.
        if value.is_normal() {
            let text = Number::from_f64(value).unwrap().to_string();
            prop_assert_eq!(text.parse::<f64>().unwrap(), value);
            if value.to_bits() & ((1 << 52) - 1) != 0 {
                prop_assert_eq!(text.len(), value.to_string().len());
            }
        }
    }

    #[test]
    fn text_round_trips(number in any_number()) {
        if !number.is_infinite() && number.precision() == 512 {
            prop_assert!(Number::parse(&number.to_string()).unwrap().is_identical(&number));
        }
    }

    #[test]
    fn record_round_trips(number in any_number()) {
        let bytes = postcard::to_stdvec(&number).unwrap();
        prop_assert!(postcard::from_bytes::<Number>(&bytes).unwrap().is_identical(&number));
        let json = serde_json::to_string(&number).unwrap();
        prop_assert!(serde_json::from_str::<Number>(&json).unwrap().is_identical(&number));
    }

    #[test]
    fn order_agrees_with_equality_and_hash(a in any_number(), b in any_number(), c in any_number()) {
        prop_assert_eq!(a.cmp(&b), b.cmp(&a).reverse());
        prop_assert_eq!(a == b, a.cmp(&b).is_eq());
        if a == b {
            prop_assert_eq!(hash(&a), hash(&b));
        }
        if a <= b && b <= c {
            prop_assert!(a <= c);
        }
    }

    #[test]
    fn inline_and_general_arithmetic_agree(a in any::<i64>(), b in -100_000i64..100_000, small in any::<bool>()) {
        // Numbers that exceed i64 in between use the general form.
        let a = if small { a % 100_000 } else { a };
        let far = number("1180591620717411303424");
        let (x, y) = (number(&a.to_string()), number(&b.to_string()));
        let sum = x.add(&far).and_then(|s| s.add(&y)).and_then(|s| s.sub(&far)).unwrap();
        prop_assert_eq!(x.add(&y).unwrap(), sum);
        prop_assert_eq!(x.mul(&y).unwrap().to_integer().unwrap(), BigInt::from(a) * b);
        if b != 0 {
            prop_assert_eq!(x.rem(&y).unwrap().to_i64(), Some(a.wrapping_rem(b)));
            let exact = number(&(a - a.wrapping_rem(b)).to_string()).div(&y).unwrap();
            prop_assert_eq!(exact.to_integer().unwrap(), BigInt::from(a) / b);
        }
    }

    #[test]
    fn no_text_panics(text in "\\PC{0,20}") {
        let _ = Number::parse(&text);
    }

    #[test]
    fn no_operation_panics(a in any_number(), b in any_number()) {
        for operator in ["+", "-", "*", "/", "%"] {
            if let Ok(result) = apply(&a, operator, &b) {
                let _ = result.to_string();
            }
        }
    }
}
