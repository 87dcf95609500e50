//! A parser of settings without expressions, in the subset of HCL that lock files and CLI configuration files use.
//!
//! Neither Weft's parser of configurations nor hcl-edit can read CLI configuration files. These files use the first
//! version of HCL, where a key may be a quoted string (as in `dev_overrides`), and an object may follow its key with or
//! without `=`. Instead of HCL, a file may also contain a JSON object.

/// The maximum nesting of lists and objects. Real files need three levels.
const MAX_DEPTH: usize = 32;

/// A setting: one or more words and a value. `provider "x" {}` has two words.
#[derive(Clone, Debug, PartialEq)]
pub struct Setting {
    /// The words; there is at least one.
    pub words: Vec<String>,
    /// The value.
    pub value: Item,
    /// The line of the first word, from 1.
    pub line: usize,
}

/// The value of a setting.
#[derive(Clone, Debug, PartialEq)]
pub enum Item {
    /// A string.
    Text(String),
    /// Numbers, `true`, `false`, `null` and other bare words, as written.
    Bare(String),
    /// `[...]`
    List(Vec<Item>),
    /// `{...}`
    Object(Vec<Setting>),
}

impl Item {
    /// The text of a string.
    pub fn as_text(&self) -> Option<&str> {
        if let Item::Text(text) = self { Some(text) } else { None }
    }

    /// The strings of a list, if all its elements are strings.
    pub fn as_texts(&self) -> Option<Vec<&str>> {
        match self {
            Item::List(items) => items.iter().map(Item::as_text).collect(),
            _ => None,
        }
    }
}

/// A syntax error.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
#[error("line {line}: {problem}")]
pub struct SettingsError {
    /// The line, from 1.
    pub line: usize,
    /// The problem.
    pub problem: String,
}

/// Parses a whole file.
///
/// # Errors
/// Returns the first syntax error.
pub fn parse(text: &str) -> Result<Vec<Setting>, SettingsError> {
    let text = text.strip_prefix('\u{feff}').unwrap_or(text);
    let mut reader = Reader { rest: text, line: 1 };
    reader.skip_space()?;
    if reader.rest.starts_with('{') {
        // The file is a JSON object.
        let settings = match reader.item(0)? {
            Item::Object(settings) => settings,
            _ => Vec::new(),
        };
        reader.skip_space()?;
        return if reader.rest.is_empty() {
            Ok(settings)
        } else {
            Err(reader.error("text after the end of the object"))
        };
    }
    let settings = reader.settings(0)?;
    if reader.rest.is_empty() { Ok(settings) } else { Err(reader.error("a name is expected here")) }
}

struct Reader<'a> {
    rest: &'a str,
    line: usize,
}

impl Reader<'_> {
    fn error(&self, problem: impl Into<String>) -> SettingsError {
        SettingsError { line: self.line, problem: problem.into() }
    }

    fn advance(&mut self, bytes: usize) {
        let (done, rest) = self.rest.split_at(bytes);
        self.line += done.matches('\n').count();
        self.rest = rest;
    }

    fn peek(&self) -> Option<char> {
        self.rest.chars().next()
    }

    /// Skips white space, newlines and comments.
    fn skip_space(&mut self) -> Result<(), SettingsError> {
        loop {
            let space = self.rest.len() - self.rest.trim_start().len();
            self.advance(space);
            if self.rest.starts_with('#') || self.rest.starts_with("//") {
                self.advance(self.rest.find('\n').unwrap_or(self.rest.len()));
            } else if self.rest.starts_with("/*") {
                let end = self.rest.find("*/").ok_or_else(|| self.error("a comment does not end"))?;
                self.advance(end + 2);
            } else {
                return Ok(());
            }
        }
    }

    /// Parses settings until a closing brace or the end.
    fn settings(&mut self, depth: usize) -> Result<Vec<Setting>, SettingsError> {
        let mut settings = Vec::new();
        loop {
            self.skip_space()?;
            if matches!(self.peek(), None | Some('}')) {
                return Ok(settings);
            }
            settings.push(self.setting(depth)?);
            self.skip_space()?;
            if self.peek() == Some(',') {
                self.advance(1);
            }
        }
    }

    fn setting(&mut self, depth: usize) -> Result<Setting, SettingsError> {
        let line = self.line;
        let mut words = Vec::new();
        loop {
            match self.peek() {
                Some('"') => words.push(self.string()?),
                Some(c) if is_word(c) => words.push(self.word()),
                Some('=' | ':') if !words.is_empty() => {
                    self.advance(1);
                    self.skip_space()?;
                    return Ok(Setting { words, value: self.item(depth)?, line });
                }
                Some('{') if !words.is_empty() => return Ok(Setting { words, value: self.item(depth)?, line }),
                _ => return Err(self.error("a name followed by = or { is expected here")),
            }
            self.skip_space()?;
        }
    }

    fn item(&mut self, depth: usize) -> Result<Item, SettingsError> {
        if depth >= MAX_DEPTH {
            return Err(self.error(format!("settings are nested more than {MAX_DEPTH} levels deep")));
        }
        match self.peek() {
            Some('"') => Ok(Item::Text(self.string()?)),
            Some('{') => {
                self.advance(1);
                let settings = self.settings(depth + 1)?;
                if self.peek() != Some('}') {
                    return Err(self.error("a closing brace is missing"));
                }
                self.advance(1);
                Ok(Item::Object(settings))
            }
            Some('[') => {
                self.advance(1);
                let mut items = Vec::new();
                loop {
                    self.skip_space()?;
                    if self.peek() == Some(']') {
                        self.advance(1);
                        return Ok(Item::List(items));
                    }
                    items.push(self.item(depth + 1)?);
                    self.skip_space()?;
                    match self.peek() {
                        Some(',') => self.advance(1),
                        Some(']') => {}
                        _ => return Err(self.error("a comma or a closing bracket is expected here")),
                    }
                }
            }
            Some(c) if is_word(c) => Ok(Item::Bare(self.word())),
            _ => Err(self.error("a value is expected here")),
        }
    }

    fn word(&mut self) -> String {
        let end = self.rest.find(|c| !is_word(c)).unwrap_or(self.rest.len());
        let word = self.rest[..end].to_owned();
        self.advance(end);
        word
    }

    fn string(&mut self) -> Result<String, SettingsError> {
        let mut text = String::new();
        let mut chars = self.rest.char_indices().skip(1);
        while let Some((at, c)) = chars.next() {
            match c {
                '"' => {
                    self.advance(at + 1);
                    return Ok(text);
                }
                '\n' => break,
                '\\' => match chars.next().map(|(_, c)| c) {
                    Some('n') => text.push('\n'),
                    Some('t') => text.push('\t'),
                    Some('r') => text.push('\r'),
                    Some(c @ ('"' | '\\' | '/')) => text.push(c),
                    Some('u') => {
                        let digits: String = chars.by_ref().take(4).map(|(_, c)| c).collect();
                        let code = u32::from_str_radix(&digits, 16).ok().and_then(char::from_u32);
                        text.push(code.ok_or_else(|| self.error("\\u needs four hexadecimal digits"))?);
                    }
                    _ => return Err(self.error("an unknown escape sequence")),
                },
                c => text.push(c),
            }
        }
        Err(self.error("a string does not end on its line"))
    }
}

fn is_word(c: char) -> bool {
    c.is_alphanumeric() || matches!(c, '_' | '-' | '.' | '+')
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn blocks_attributes_and_quoted_keys_are_read() {
        let text = "# c\nprovider_installation {\n  dev_overrides {\n    \"a/b\" = \"/x\" // c\n  }\n  direct {\n    \
                    exclude = [\"*/*\", /* c */ \"a/b\",]\n  }\n}\nplugin_cache_may_break = true\n";
        let settings = parse(text).unwrap();
        assert_eq!(settings.len(), 2);
        assert_eq!(settings[1].value, Item::Bare("true".into()));
        assert_eq!(settings[1].line, 10);
        let Item::Object(methods) = &settings[0].value else { panic!() };
        let Item::Object(overrides) = &methods[0].value else { panic!() };
        assert_eq!((overrides[0].words[0].as_str(), overrides[0].value.as_text()), ("a/b", Some("/x")));
        let Item::Object(direct) = &methods[1].value else { panic!() };
        assert_eq!(direct[0].value.as_texts(), Some(vec!["*/*", "a/b"]));
    }

    #[test]
    fn labels_and_json_are_read() {
        let settings = parse("host \"x.y\" { a = \"1\" }").unwrap();
        assert_eq!(settings[0].words, ["host", "x.y"]);
        let settings = parse(r#"{"a": {"b": ["c\u00e9"]}, "d": 1}"#).unwrap();
        assert_eq!(settings.len(), 2);
    }

    #[test]
    fn errors_have_their_line() {
        for (text, line) in [("a = \"x", 1), ("\n\n= 1", 3), ("a = [1 2]", 1), ("a {\n", 2), ("a\n}", 2), ("/*", 1)] {
            assert_eq!(parse(text).unwrap_err().line, line, "{text}");
        }
        assert!(parse(&"a {".repeat(10_000)).is_err());
        assert!(parse(&format!("a = {}", "[".repeat(10_000))).is_err());
    }

    proptest::proptest! {
        #[test]
        fn no_text_panics(text in "[a{}\\[\\]\"\\\\=:,#/*\n u0é]{0,60}") {
            let _ = parse(&text);
        }
    }
}
