//! Points in time as RFC 3339 text, and durations in Go's format.

use std::cmp::Ordering;
use std::time::{SystemTime, UNIX_EPOCH};

use weft_graph_format::go_duration::nanoseconds;
use weft_graph_format::types::Type;
use weft_graph_format::value::Value;

use super::arguments::text;
use super::{CallContext, Function, FunctionError, Parameter, Symbolic, problems};

pub(super) fn functions() -> Vec<Function> {
    let string = |name, description| Parameter::new(name, Type::String, description);
    vec![
        Function::new("formatdate", "A time in a given format.", Symbolic::Opaque)
            .parameter(string(
                "format",
                "The format: letters are replaced by parts of the time, quoted text is copied.",
            ))
            .parameter(string("time", "The time, in RFC 3339."))
            .returns(Type::String)
            .not_null()
            .calls(formatdate),
        Function::new("timeadd", "A time plus a duration.", Symbolic::Opaque)
            .parameter(string("timestamp", "The time, in RFC 3339."))
            .parameter(string("duration", "The duration, such as 1h30m or -10s."))
            .returns(Type::String)
            .calls(timeadd),
        Function::new(
            "timecmp",
            "-1, 0 or 1 if the first time is before, equal to or after the second.",
            Symbolic::Opaque,
        )
        .parameter(string("timestamp_a", "A time, in RFC 3339."))
        .parameter(string("timestamp_b", "Another."))
        .returns(Type::Number)
        .not_null()
        .calls(timecmp),
        Function::new("timestamp", "The current time, different in each call.", Symbolic::Impure)
            .returns(Type::String)
            .not_null()
            .calls(|_, _, _| Ok(Value::string(present().rfc3339()))),
        Function::new("plantimestamp", "The time at which the plan was made.", Symbolic::Opaque)
            .returns(Type::String)
            .not_null()
            .calls(|context, _, _| {
                Ok(context.plan_timestamp.map_or_else(|| Value::unknown(Type::String), Value::string))
            }),
    ]
}

const SECONDS_PER_DAY: i64 = 86_400;
const NANOS_PER_SECOND: i128 = 1_000_000_000;

/// A point in time, with its UTC offset.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
struct Moment {
    /// Seconds since the Unix epoch.
    seconds: i64,
    /// Nanoseconds within the second.
    nanos: u32,
    /// Seconds east of UTC.
    offset: i64,
}

/// A point in time as calendar fields, in its UTC offset.
struct Clock {
    year: i64,
    month: i64,
    day: i64,
    /// Days since Sunday.
    weekday: usize,
    hour: i64,
    minute: i64,
    second: i64,
}

/// The days from the Unix epoch to a day of the Gregorian calendar. Internally, years start in March, so that the leap
/// day is the last day of a year. The calendar repeats every 400 years.
fn days_from_date(year: i64, month: i64, day: i64) -> i64 {
    let year = if month <= 2 { year - 1 } else { year };
    let cycle = year.div_euclid(400);
    let year_of_cycle = year.rem_euclid(400);
    let month_from_march = (month + 9) % 12;
    let day_of_year = (153 * month_from_march + 2) / 5 + day - 1;
    let day_of_cycle = year_of_cycle * 365 + year_of_cycle / 4 - year_of_cycle / 100 + day_of_year;
    cycle * 146_097 + day_of_cycle - 719_468
}

/// The inverse of [`days_from_date`]: year, month, day.
fn date_from_days(days: i64) -> (i64, i64, i64) {
    let days = days + 719_468;
    let cycle = days.div_euclid(146_097);
    let day_of_cycle = days.rem_euclid(146_097);
    let year_of_cycle = (day_of_cycle - day_of_cycle / 1_460 + day_of_cycle / 36_524 - day_of_cycle / 146_096) / 365;
    let day_of_year = day_of_cycle - (365 * year_of_cycle + year_of_cycle / 4 - year_of_cycle / 100);
    let month_from_march = (5 * day_of_year + 2) / 153;
    let day = day_of_year - (153 * month_from_march + 2) / 5 + 1;
    let month = if month_from_march < 10 { month_from_march + 3 } else { month_from_march - 9 };
    let year = cycle * 400 + year_of_cycle + i64::from(month <= 2);
    (year, month, day)
}

fn days_in_month(year: i64, month: i64) -> i64 {
    match month {
        2 if year % 4 == 0 && (year % 100 != 0 || year % 400 == 0) => 29,
        2 => 28,
        4 | 6 | 9 | 11 => 30,
        _ => 31,
    }
}

fn present() -> Moment {
    let since = SystemTime::now().duration_since(UNIX_EPOCH).unwrap_or_default();
    Moment { seconds: i64::try_from(since.as_secs()).unwrap_or(0), nanos: 0, offset: 0 }
}

impl Moment {
    fn clock(self) -> Clock {
        let local = self.seconds + self.offset;
        let days = local.div_euclid(SECONDS_PER_DAY);
        let rest = local.rem_euclid(SECONDS_PER_DAY);
        let (year, month, day) = date_from_days(days);
        Clock {
            year,
            month,
            day,
            // The Unix epoch is a Thursday.
            weekday: usize::try_from((days + 4).rem_euclid(7)).unwrap_or(0),
            hour: rest / 3600,
            minute: rest / 60 % 60,
            second: rest % 60,
        }
    }

    /// The offset as `+05:30`. `between` separates hours and minutes.
    fn offset_text(self, between: &str) -> String {
        let sign = if self.offset < 0 { '-' } else { '+' };
        let minutes = self.offset.abs() / 60;
        format!("{sign}{:02}{between}{:02}", minutes / 60, minutes % 60)
    }

    fn zone(self) -> String {
        if self.offset == 0 { "Z".into() } else { self.offset_text(":") }
    }

    /// RFC 3339, with a precision of seconds.
    fn rfc3339(self) -> String {
        let clock = self.clock();
        let sign = if clock.year < 0 { "-" } else { "" };
        format!(
            "{sign}{:04}-{:02}-{:02}T{:02}:{:02}:{:02}{}",
            clock.year.abs(),
            clock.month,
            clock.day,
            clock.hour,
            clock.minute,
            clock.second,
            self.zone()
        )
    }
}

/// The unread rest of a time.
struct TimeReader<'a> {
    rest: &'a str,
}

impl<'a> TimeReader<'a> {
    /// Reads a number with the given number of digits and range.
    fn number(&mut self, what: &str, digits: usize, least: i64, most: i64) -> Result<i64, String> {
        if self.rest.is_empty() {
            return Err(format!("end of string before {what}"));
        }
        let wrong = || format!("cannot use {:?} as {what}", self.rest);
        let text = self.rest.get(..digits).ok_or_else(wrong)?;
        if !text.bytes().all(|b| b.is_ascii_digit()) {
            return Err(wrong());
        }
        let number: i64 = text.parse().map_err(|_| wrong())?;
        if !(least..=most).contains(&number) {
            return Err(format!("{what} must be between {least} and {most} inclusive"));
        }
        self.rest = &self.rest[digits..];
        Ok(number)
    }

    fn expect(&mut self, c: char) -> Result<(), String> {
        match self.rest.strip_prefix(c) {
            Some(rest) => {
                self.rest = rest;
                Ok(())
            }
            None if c == 'T' => Err("missing required time introducer 'T'".into()),
            None => Err(format!("found {:?} where {c:?} is expected", self.rest)),
        }
    }

    /// Reads a fraction of a second after a point, or after a comma if allowed. Returns nanoseconds, zero if there is
    /// no fraction.
    fn fraction(&mut self, comma: bool) -> Result<u32, String> {
        let after = match self.rest.strip_prefix('.') {
            Some(after) => Some(after),
            None if comma => self.rest.strip_prefix(','),
            None => None,
        };
        let Some(after) = after else { return Ok(0) };
        let length = after.bytes().take_while(u8::is_ascii_digit).count();
        if length == 0 {
            return Err(format!("cannot use {:?} as UTC offset", self.rest));
        }
        let (digits, rest) = after.split_at(length);
        self.rest = rest;
        let mut nanos = 0;
        for place in 0..9 {
            let digit = digits.as_bytes().get(place).map_or(0, |b| u32::from(b - b'0'));
            nanos = nanos * 10 + digit;
        }
        Ok(nanos)
    }

    /// Reads the offset, up to the end of the text. Returns seconds east of UTC.
    fn offset(&mut self) -> Result<i64, String> {
        if self.rest.is_empty() {
            return Err("end of string before UTC offset".into());
        }
        let wrong = format!("cannot use {:?} as UTC offset", self.rest);
        if self.rest == "Z" {
            return Ok(0);
        }
        let sign = match self.rest.as_bytes().first() {
            Some(b'+') => 1,
            Some(b'-') => -1,
            _ => return Err(wrong),
        };
        let mut reader = TimeReader { rest: &self.rest[1..] };
        let mut read = || -> Result<i64, String> {
            let hours = reader.number("hour", 2, 0, 23)?;
            reader.expect(':')?;
            let minutes = reader.number("minute", 2, 0, 59)?;
            if reader.rest.is_empty() { Ok(hours * 3600 + minutes * 60) } else { Err(String::new()) }
        };
        read().map(|seconds| sign * seconds).map_err(|_| wrong)
    }
}

/// Parses RFC 3339. If `comma` is set, a comma may precede the fraction, as in Go's parser.
fn parse(text: &str, comma: bool) -> Result<Moment, String> {
    let mut reader = TimeReader { rest: text };
    let mut read = || -> Result<Moment, String> {
        let year = reader.number("year", 4, 0, 9999)?;
        reader.expect('-')?;
        let month = reader.number("month", 2, 1, 12)?;
        reader.expect('-')?;
        let day = reader.number("day", 2, 0, 99)?;
        if day < 1 || day > days_in_month(year, month) {
            return Err("day out of range".into());
        }
        reader.expect('T')?;
        let hour = reader.number("hour", 2, 0, 23)?;
        reader.expect(':')?;
        let minute = reader.number("minute", 2, 0, 59)?;
        reader.expect(':')?;
        let second = reader.number("second", 2, 0, 59)?;
        let nanos = reader.fraction(comma)?;
        let offset = reader.offset()?;
        let local = days_from_date(year, month, day) * SECONDS_PER_DAY + hour * 3600 + minute * 60 + second;
        Ok(Moment { seconds: local - offset, nanos, offset })
    };
    read().map_err(|e| format!("not a valid RFC3339 timestamp: {e}"))
}

/// Validates a time and formats it with a precision of seconds, as `timeadd` does.
pub(super) fn to_the_second(text: &str) -> Option<String> {
    parse(text, false).ok().map(Moment::rfc3339)
}

fn timecmp(_: &CallContext<'_>, arguments: &[Value], _: &Type) -> Result<Value, FunctionError> {
    let moment = |index| parse(text(arguments, index)?, true).map_err(|e| FunctionError::argument(index, e));
    let (a, b) = (moment(0)?, moment(1)?);
    Ok(Value::int(match (a.seconds, a.nanos).cmp(&(b.seconds, b.nanos)) {
        Ordering::Less => -1,
        Ordering::Equal => 0,
        Ordering::Greater => 1,
    }))
}

fn timeadd(_: &CallContext<'_>, arguments: &[Value], _: &Type) -> Result<Value, FunctionError> {
    let moment = parse(text(arguments, 0)?, false).map_err(FunctionError::new)?;
    let nanos = nanoseconds(text(arguments, 1)?).map_err(FunctionError::new)?;
    let total = i128::from(moment.seconds) * NANOS_PER_SECOND + i128::from(moment.nanos) + i128::from(nanos);
    let seconds = i64::try_from(total.div_euclid(NANOS_PER_SECOND)).map_err(|_| problems::text::time_out_of_range())?;
    Ok(Value::string(Moment { seconds, nanos: 0, offset: moment.offset }.rfc3339()))
}

const MONTHS: [&str; 12] = [
    "January",
    "February",
    "March",
    "April",
    "May",
    "June",
    "July",
    "August",
    "September",
    "October",
    "November",
    "December",
];

const WEEKDAYS: [&str; 7] = ["Sunday", "Monday", "Tuesday", "Wednesday", "Thursday", "Friday", "Saturday"];

fn formatdate(_: &CallContext<'_>, arguments: &[Value], _: &Type) -> Result<Value, FunctionError> {
    let moment = parse(text(arguments, 1)?, false).map_err(|e| FunctionError::argument(1, e))?;
    let clock = moment.clock();
    let mut rest = text(arguments, 0)?;
    let mut out = String::new();
    while let Some(first) = rest.chars().next() {
        if let Some(after) = rest.strip_prefix("''") {
            out.push('\'');
            rest = after;
        } else if first == '\'' {
            let (literal, after) = quoted(&rest[1..]).map_err(|e| FunctionError::argument(0, e))?;
            out.push_str(&literal);
            rest = after;
        } else if first.is_ascii_alphabetic() {
            let length = rest.bytes().take_while(|b| char::from(*b) == first).count();
            let (verb, after) = rest.split_at(length);
            out.push_str(&expanded(verb, moment, &clock).map_err(|e| FunctionError::argument(0, e))?);
            rest = after;
        } else {
            out.push(first);
            rest = &rest[first.len_utf8()..];
        }
    }
    Ok(Value::string(out))
}

/// Reads to the closing quote. Two quotes stand for one quote character. Returns the text and the rest.
fn quoted(text: &str) -> Result<(String, &str), String> {
    let mut literal = String::new();
    let mut rest = text;
    loop {
        let Some((before, after)) = rest.split_once('\'') else {
            return Err("unterminated literal '".into());
        };
        literal.push_str(before);
        match after.strip_prefix('\'') {
            Some(more) => {
                literal.push('\'');
                rest = more;
            }
            None => return Ok((literal, after)),
        }
    }
}

fn expanded(verb: &str, moment: Moment, clock: &Clock) -> Result<String, String> {
    let month = usize::try_from(clock.month - 1).ok().and_then(|m| MONTHS.get(m)).copied().unwrap_or_default();
    let weekday = WEEKDAYS.get(clock.weekday).copied().unwrap_or_default();
    let half_day = if clock.hour % 12 == 0 { 12 } else { clock.hour % 12 };
    let wrong = |what: &str| Err(format!("invalid date format verb {verb:?}{what}"));
    Ok(match verb {
        "YYYY" => format!("{:04}", clock.year),
        "YY" => format!("{:02}", clock.year.rem_euclid(100)),
        "MMMM" => month.into(),
        "MMM" => month.get(..3).unwrap_or_default().into(),
        "MM" => format!("{:02}", clock.month),
        "M" => clock.month.to_string(),
        "DD" => format!("{:02}", clock.day),
        "D" => clock.day.to_string(),
        "EEEE" => weekday.into(),
        "EEE" => weekday.get(..3).unwrap_or_default().into(),
        "hh" => format!("{:02}", clock.hour),
        "h" => clock.hour.to_string(),
        "HH" => format!("{half_day:02}"),
        "H" => half_day.to_string(),
        "AA" => if clock.hour < 12 { "AM" } else { "PM" }.into(),
        "aa" => if clock.hour < 12 { "am" } else { "pm" }.into(),
        "mm" => format!("{:02}", clock.minute),
        "m" => clock.minute.to_string(),
        "ss" => format!("{:02}", clock.second),
        "s" => clock.second.to_string(),
        "ZZZZZ" => moment.offset_text(":"),
        "ZZZZ" => moment.offset_text(""),
        "ZZZ" if moment.offset == 0 => "UTC".into(),
        "ZZZ" => moment.offset_text(""),
        "Z" => moment.zone(),
        verb => {
            return wrong(match verb.chars().next() {
                Some('Y') => ": year must either be \"YY\" or \"YYYY\"",
                Some('M') => ": month must be \"M\", \"MM\", \"MMM\", or \"MMMM\"",
                Some('D') => ": day of month must either be \"D\" or \"DD\"",
                Some('E') => ": day of week must either be \"EEE\" or \"EEEE\"",
                Some('h') => ": 24-hour must either be \"h\" or \"hh\"",
                Some('H') => ": 12-hour must either be \"H\" or \"HH\"",
                Some('A') => ": must be \"AA\"",
                Some('a') => ": must be \"aa\"",
                Some('m') => ": minute must either be \"m\" or \"mm\"",
                Some('s') => ": second must either be \"s\" or \"ss\"",
                Some('Z') => ": timezone must be Z, ZZZZ, or ZZZZZ",
                _ => "",
            });
        }
    })
}
