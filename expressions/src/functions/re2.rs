//! Translates RE2 patterns, with Go's syntax, for the `regex` crate.
//!
//! Both libraries find the same first match, but their syntax differs. Classes such as `\d` are ASCII in RE2. Much of
//! what `regex` accepts (`&&` in classes, nested classes, `\<`, the flag `x`, ...) has a different meaning in RE2 or is
//! an error. So this module parses the whole pattern and writes a new pattern. Names of groups are not written, but
//! stored separately.

use std::fmt::Write;

use regex::{Regex, RegexBuilder};

/// The maximum count in `x{n,m}`, as in RE2.
const LARGEST_REPEAT: u32 = 1000;

/// The maximum nesting of groups, as in Go.
const DEEPEST_NESTING: u32 = 1000;

/// The maximum memory of a compiled pattern in bytes.
const LARGEST_PROGRAM_BYTES: usize = 10 << 20;

/// A compiled pattern.
pub(super) struct Pattern {
    /// The compiled regex. Its groups have no names.
    pub(super) regex: Regex,
    /// The names of the groups, starting with group 1. `None` for a group without a name.
    pub(super) names: Vec<Option<String>>,
}

/// Compiles a pattern.
pub(super) fn compile(pattern: &str) -> Result<Pattern, String> {
    let mut translator = Translator { pattern, at: 0, out: String::new(), names: Vec::new() };
    translator.run()?;
    let regex = RegexBuilder::new(&translator.out)
        .size_limit(LARGEST_PROGRAM_BYTES)
        .nest_limit(2 * DEEPEST_NESTING)
        .build()
        .map_err(|e| match e {
            regex::Error::CompiledTooBig(_) => "expression too large".to_owned(),
            _ => "invalid pattern".to_owned(),
        })?;
    Ok(Pattern { regex, names: translator.names })
}

const DIGITS: &str = "0-9";
const SPACES: &str = r"\t\n\f\r ";
const WORDS: &str = "0-9A-Za-z_";

/// The kind of the last element, to check whether a repetition may follow.
#[derive(Clone, Copy, PartialEq)]
enum Before {
    Nothing,
    Something,
    Repetition,
}

struct Translator<'a> {
    pattern: &'a str,
    at: usize,
    out: String,
    names: Vec<Option<String>>,
}

impl<'a> Translator<'a> {
    fn rest(&self) -> &'a str {
        &self.pattern[self.at..]
    }

    fn peek(&self) -> Option<char> {
        self.rest().chars().next()
    }

    fn take(&mut self) -> Option<char> {
        let c = self.peek()?;
        self.at += c.len_utf8();
        Some(c)
    }

    fn taken(&mut self, what: &str) -> bool {
        let found = self.rest().starts_with(what);
        if found {
            self.at += what.len();
        }
        found
    }

    /// Writes a literal character.
    fn literal(&mut self, c: char) {
        if c.is_ascii_alphanumeric() || !c.is_ascii() {
            self.out.push(c);
        } else {
            let _ = write!(self.out, "\\x{{{:x}}}", c as u32);
        }
    }

    fn run(&mut self) -> Result<(), String> {
        let mut depth = 0u32;
        let mut before = Before::Nothing;
        while let Some(c) = self.peek() {
            let start = self.at;
            match c {
                '(' => {
                    self.at += 1;
                    if self.open_group()? {
                        depth += 1;
                        if depth > DEEPEST_NESTING {
                            return Err("expression nests too deeply".into());
                        }
                        before = Before::Nothing;
                    }
                    continue;
                }
                ')' => {
                    self.at += 1;
                    depth = depth.checked_sub(1).ok_or_else(|| format!("unexpected ) in {}", self.pattern))?;
                    self.out.push(')');
                    before = Before::Something;
                    continue;
                }
                '|' => {
                    self.at += 1;
                    self.out.push('|');
                    before = Before::Nothing;
                    continue;
                }
                '*' | '+' | '?' => {
                    self.at += 1;
                    self.repetition(start, before, c.encode_utf8(&mut [0; 4]))?;
                    before = Before::Repetition;
                    continue;
                }
                '{' => {
                    if let Some(counts) = self.counts()? {
                        self.repetition(start, before, &counts)?;
                        before = Before::Repetition;
                        continue;
                    }
                    self.at += 1;
                    self.literal('{');
                }
                '[' => self.class()?,
                '\\' => {
                    if self.taken("\\Q") {
                        let (quoted, skip) = match self.rest().split_once("\\E") {
                            Some((quoted, _)) => (quoted, quoted.len() + 2),
                            None => (self.rest(), self.rest().len()),
                        };
                        for c in quoted.chars() {
                            self.literal(c);
                        }
                        self.at += skip;
                        if quoted.is_empty() {
                            continue;
                        }
                    } else {
                        self.escape()?;
                    }
                }
                '.' | '^' | '$' => {
                    self.at += 1;
                    self.out.push(c);
                }
                c => {
                    self.at += c.len_utf8();
                    self.literal(c);
                }
            }
            before = Before::Something;
        }
        if depth > 0 {
            return Err(format!("missing closing ) in {}", self.pattern));
        }
        Ok(())
    }

    /// Reads the rest of a group after `(`. Returns `true` if the parenthesis opens a group, and `false` if it only
    /// sets flags.
    fn open_group(&mut self) -> Result<bool, String> {
        if !self.taken("?") {
            self.out.push('(');
            self.names.push(None);
            return Ok(true);
        }
        if self.taken("P<") || self.taken("<") {
            let name: &str = self.rest().split('>').next().unwrap_or_default();
            let whole = self.rest().len() > name.len();
            let fits = |c: char| c == '_' || c.is_alphanumeric();
            if !whole || name.is_empty() || !name.chars().all(fits) {
                return Err(format!("invalid named capture in (?P<{name}"));
            }
            self.at += name.len() + 1;
            self.out.push('(');
            self.names.push(Some(name.into()));
            return Ok(true);
        }
        let start = self.at;
        let mut negative = false;
        let mut any = false;
        let mut flags = String::new();
        loop {
            match self.take() {
                Some(c @ ('i' | 'm' | 's' | 'U')) => {
                    flags.push(c);
                    any = true;
                }
                Some('-') if !negative => {
                    negative = true;
                    any = false;
                    flags.push('-');
                }
                Some(end @ (':' | ')')) if any || !negative => {
                    let unique = without_repeats(&flags);
                    if end == ':' {
                        let _ = write!(self.out, "(?{unique}:");
                        return Ok(true);
                    }
                    if !unique.is_empty() {
                        let _ = write!(self.out, "(?{unique})");
                    }
                    return Ok(false);
                }
                _ => {
                    return Err(format!("invalid or unsupported Perl syntax in (?{}", &self.pattern[start..self.at]));
                }
            }
        }
    }

    /// Reads `{n}`, `{n,}` or `{n,m}` and returns its text, or `None` if the brace is a literal.
    fn counts(&mut self) -> Result<Option<String>, String> {
        let Some((inner, _)) = self.rest()[1..].split_once('}') else { return Ok(None) };
        let number = |text: &str| -> Option<u32> {
            let fits = !text.is_empty()
                && text.bytes().all(|b| b.is_ascii_digit())
                && (text.len() == 1 || !text.starts_with('0'));
            fits.then(|| text.parse().unwrap_or(u32::MAX))
        };
        let (low, high) = match inner.split_once(',') {
            None => (number(inner), number(inner)),
            Some((low, "")) => (number(low), Some(LARGEST_REPEAT)),
            Some((low, high)) => (number(low), number(high)),
        };
        let (Some(low), Some(high)) = (low, high) else { return Ok(None) };
        if low > LARGEST_REPEAT || high > LARGEST_REPEAT || low > high {
            return Err(format!("invalid repeat count in {{{inner}}}"));
        }
        self.at += inner.len() + 2;
        Ok(Some(format!("{{{inner}}}")))
    }

    fn repetition(&mut self, start: usize, before: Before, operator: &str) -> Result<(), String> {
        let lazy = self.taken("?");
        let written = &self.pattern[start..self.at];
        match before {
            Before::Nothing => return Err(format!("missing argument to repetition operator in {written}")),
            Before::Repetition => return Err(format!("invalid nested repetition operator in {written}")),
            Before::Something => {}
        }
        self.out.push_str(operator);
        if lazy {
            self.out.push('?');
        }
        Ok(())
    }

    /// Reads an escape outside a class.
    fn escape(&mut self) -> Result<(), String> {
        if self.perl_class()? || self.unicode_class()? {
            return Ok(());
        }
        for (written, meant) in [("\\A", r"\A"), ("\\z", r"\z"), ("\\b", r"(?-u:\b)"), ("\\B", r"(?-u:\B)")] {
            if self.taken(written) {
                self.out.push_str(meant);
                return Ok(());
            }
        }
        let c = self.escaped_character()?;
        self.literal(c);
        Ok(())
    }

    /// Reads `\d`, `\D`, `\s`, `\S`, `\w` or `\W`.
    fn perl_class(&mut self) -> Result<bool, String> {
        let classes = [
            ("\\d", "", DIGITS),
            ("\\D", "^", DIGITS),
            ("\\s", "", SPACES),
            ("\\S", "^", SPACES),
            ("\\w", "", WORDS),
            ("\\W", "^", WORDS),
        ];
        for (written, sign, members) in classes {
            if self.taken(written) {
                let _ = write!(self.out, "[{sign}{members}]");
                return Ok(true);
            }
        }
        Ok(false)
    }

    /// Reads a class such as `\pL`, `\p{Greek}` or `\P{^Lu}`.
    fn unicode_class(&mut self) -> Result<bool, String> {
        let start = self.at;
        let mut negative = if self.taken("\\p") {
            false
        } else if self.taken("\\P") {
            true
        } else {
            return Ok(false);
        };
        let wrong = |end: usize| format!("invalid character class range in {}", &self.pattern[start..end]);
        let rest = self.rest();
        let (mut name, length) = match rest.strip_prefix('{') {
            Some(inner) => match inner.split_once('}') {
                Some((name, _)) => (name, name.len() + 2),
                None => return Err(wrong(self.pattern.len())),
            },
            None => match rest.chars().next() {
                Some(c) => (&rest[..c.len_utf8()], c.len_utf8()),
                None => return Err(wrong(self.pattern.len())),
            },
        };
        let end = self.at + length;
        if let Some(inner) = name.strip_prefix('^') {
            negative = !negative;
            name = inner;
        }
        let word = |c: char| c == '_' || c.is_ascii_alphanumeric();
        if name.is_empty() || !name.starts_with(|c: char| c.is_ascii_uppercase()) || !name.chars().all(word) {
            return Err(wrong(end));
        }
        let letter = if negative { 'P' } else { 'p' };
        let class = match name {
            "Any" => format!("\\{letter}{{Any}}"),
            name if name.len() <= 2 => format!("\\{letter}{{gc={name}}}"),
            name => format!("\\{letter}{{sc={name}}}"),
        };
        if Regex::new(&class).is_err() {
            return Err(wrong(end));
        }
        self.out.push_str(&class);
        self.at = end;
        Ok(true)
    }

    /// Reads an escape for one character.
    fn escaped_character(&mut self) -> Result<char, String> {
        let start = self.at;
        self.at += 1;
        let Some(c) = self.take() else {
            return Err("trailing backslash at end of expression".into());
        };
        let octal = |c: Option<char>| c.and_then(|c| c.to_digit(8));
        let found = match c {
            'a' => Some('\u{7}'),
            'f' => Some('\u{c}'),
            'n' => Some('\n'),
            'r' => Some('\r'),
            't' => Some('\t'),
            'v' => Some('\u{b}'),
            // A single digit other than zero would be a back-reference.
            '1'..='7' if octal(self.peek()).is_none() => None,
            '0'..='7' => {
                let mut code = c.to_digit(8).unwrap_or(0);
                for _ in 0..2 {
                    if let Some(digit) = octal(self.peek()) {
                        code = code * 8 + digit;
                        self.at += 1;
                    }
                }
                char::from_u32(code)
            }
            'x' => self.hexadecimal(),
            c if c.is_ascii() && !c.is_ascii_alphanumeric() => Some(c),
            _ => None,
        };
        found.ok_or_else(|| format!("invalid escape sequence in {}", &self.pattern[start..self.at]))
    }

    fn hexadecimal(&mut self) -> Option<char> {
        let digits = if self.taken("{") {
            let digits = self.rest().split_once('}')?.0;
            self.at += digits.len() + 1;
            digits
        } else {
            let digits = self.rest().get(..2)?;
            self.at += 2;
            digits
        };
        let fits = !digits.is_empty() && digits.bytes().all(|b| b.is_ascii_hexdigit());
        fits.then(|| u32::from_str_radix(digits, 16).ok().and_then(char::from_u32)).flatten()
    }

    /// Reads a class in brackets.
    fn class(&mut self) -> Result<(), String> {
        let start = self.at;
        self.at += 1;
        self.out.push('[');
        if self.taken("^") {
            self.out.push('^');
        }
        let missing = |this: &Self| format!("missing closing ] in {}", &this.pattern[start..]);
        let mut first = true;
        loop {
            match self.peek() {
                None => return Err(missing(self)),
                Some(']') if !first => {
                    self.at += 1;
                    self.out.push(']');
                    return Ok(());
                }
                Some(_) => {}
            }
            first = false;
            if self.posix_class()? || self.perl_class()? || self.unicode_class()? {
                continue;
            }
            let from = self.at;
            let low = self.class_character().ok_or_else(|| missing(self))??;
            let mut high = low;
            if self.rest().starts_with('-') && !self.rest().starts_with("-]") && self.rest().len() > 1 {
                self.at += 1;
                high = self.class_character().ok_or_else(|| missing(self))??;
            }
            if high < low {
                return Err(format!("invalid character class range in {}", &self.pattern[from..self.at]));
            }
            let _ = write!(self.out, "\\x{{{:x}}}-\\x{{{:x}}}", low as u32, high as u32);
        }
    }

    fn class_character(&mut self) -> Option<Result<char, String>> {
        match self.peek()? {
            '\\' => Some(self.escaped_character()),
            _ => self.take().map(Ok),
        }
    }

    /// Reads a class such as `[:alpha:]` inside brackets.
    fn posix_class(&mut self) -> Result<bool, String> {
        let Some((name, _)) = self.rest().strip_prefix("[:").and_then(|inner| inner.split_once(":]")) else {
            return Ok(false);
        };
        let (sign, plain) = match name.strip_prefix('^') {
            Some(plain) => ("^", plain),
            None => ("", name),
        };
        let members = match plain {
            "alnum" => "0-9A-Za-z",
            "alpha" => "A-Za-z",
            "ascii" => r"\x00-\x7F",
            "blank" => r"\t ",
            "cntrl" => r"\x00-\x1F\x7F",
            "digit" => DIGITS,
            "graph" => "!-~",
            "lower" => "a-z",
            "print" => " -~",
            "punct" => r"!-/:-@\[-`\{-~",
            "space" => r"\t\n\x0B\f\r ",
            "upper" => "A-Z",
            "word" => WORDS,
            "xdigit" => "0-9A-Fa-f",
            _ => return Err(format!("invalid character class range in [:{name}:]")),
        };
        let _ = write!(self.out, "[{sign}{members}]");
        self.at += name.len() + 4;
        Ok(true)
    }
}

/// Removes flags that are repeated on one side, which `regex` rejects. A flag that is both set and unset is unset.
fn without_repeats(flags: &str) -> String {
    let (on, off) = flags.split_once('-').unwrap_or((flags, ""));
    let once = |text: &str| {
        let mut seen = String::new();
        for c in text.chars() {
            if !seen.contains(c) {
                seen.push(c);
            }
        }
        seen
    };
    let off = once(off);
    let on: String = once(on).chars().filter(|c| !off.contains(*c)).collect();
    if off.is_empty() { on } else { format!("{on}-{off}") }
}
