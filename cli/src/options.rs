//! Options of commands: a table of the known options, and the given arguments, in order.
//!
//! Options have one dash or two, and take their value as `-x=v` or `-x v`. Switches take a value only with `=`. The
//! errors have OpenTofu's text, because scripts look for it.

use std::time::Duration;

use weft_graph_format::go_duration::{go_duration, nanoseconds};
use weft_graph_format::nearest::nearest;

/// A known option.
#[derive(Clone, Copy, Debug)]
pub struct Flag {
    /// The name, without the dashes.
    pub name: &'static str,
    /// The kind of the argument.
    pub takes: Takes,
    /// The description in the help text; empty for an unlisted option.
    pub about: &'static str,
    /// The heading in the help text.
    pub section: Section,
    /// Whether the option is a switch that is on by default.
    pub default_on: bool,
}

/// The headings of options in a help text, in order.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub enum Section {
    /// Options that only one command has.
    Command,
    /// The scope of a plan.
    Planning,
    /// Execution.
    Execution,
    /// Connections to coordinators.
    Connection,
    /// Input variables.
    Variables,
    /// State, its store and its lock.
    State,
    /// Output.
    Output,
}

impl Section {
    /// The text of the heading.
    pub fn title(self) -> &'static str {
        match self {
            Section::Command => "Options",
            Section::Planning => "Planning options",
            Section::Execution => "Execution options",
            Section::Connection => "Connection options",
            Section::Variables => "Input variable options",
            Section::State => "State options",
            Section::Output => "Output options",
        }
    }
}

impl Flag {
    /// The option under another heading.
    pub const fn of(self, section: Section) -> Flag {
        Flag { section, ..self }
    }

    /// The option without a description, so that the help does not list it. It is still accepted.
    pub const fn unlisted(self) -> Flag {
        Flag { about: "", ..self }
    }

    /// The option in the help text: `-out=FILE`. A switch that is on by default is listed with `=false`.
    pub fn usage(&self) -> String {
        let name = self.name;
        match self.takes {
            Takes::Switch if self.default_on => format!("-{name}=false"),
            Takes::Switch => format!("-{name}"),
            Takes::Text(placeholder) => format!("-{name}={placeholder}"),
            Takes::Number | Takes::Integer => format!("-{name}=N"),
            Takes::Time => format!("-{name}=TIME"),
        }
    }
}

/// The argument of an option.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Takes {
    /// No argument, or `=true` or `=false`.
    Switch,
    /// Text, with this name in the help.
    Text(&'static str),
    /// A whole number that is not negative.
    Number,
    /// A whole number. The command itself refuses negative numbers.
    Integer,
    /// A time such as `10s` or `1m30s`.
    Time,
}

/// An option with the argument `takes`.
pub const fn option(name: &'static str, takes: Takes, about: &'static str) -> Flag {
    Flag { name, takes, about, section: Section::Command, default_on: false }
}

/// A switch.
pub const fn switch(name: &'static str, about: &'static str) -> Flag {
    option(name, Takes::Switch, about)
}

/// A switch that is on by default. `about` describes `=false`.
pub const fn switch_on(name: &'static str, about: &'static str) -> Flag {
    Flag { default_on: true, ..switch(name, about) }
}

/// An option with a text argument.
pub const fn text(name: &'static str, placeholder: &'static str, about: &'static str) -> Flag {
    option(name, Takes::Text(placeholder), about)
}

/// Parsed arguments.
#[derive(Clone, Debug, Default)]
pub struct Arguments {
    flags: Vec<(&'static str, String)>,
    /// The names of the given options that are switches.
    switches: Vec<&'static str>,
    /// Positional arguments.
    pub positionals: Vec<String>,
}

/// An argument that cannot be parsed.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
pub enum OptionError {
    /// An unknown option.
    #[error("flag provided but not defined: -{name}{hint}")]
    Unknown {
        /// The name, without the dashes.
        name: String,
        /// A suggestion of a similar name, on its own line. Empty if there is none.
        hint: String,
    },
    /// An option whose value is missing.
    #[error("flag needs an argument: -{0}")]
    NoValue(String),
    /// A value that is neither true nor false.
    #[error("invalid boolean value \"{value}\" for -{name}: parse error")]
    Switch {
        /// The option.
        name: String,
        /// The value as given.
        value: String,
    },
    /// A value that is not a number or not a time.
    #[error("invalid value \"{value}\" for flag -{name}: parse error")]
    Value {
        /// The option.
        name: String,
        /// The value as given.
        value: String,
    },
}

/// Output options that every command accepts anywhere among its arguments, even after positional ones. They are
/// accepted only in these forms.
const ANYWHERE: &[(&str, &str, &str)] = &[
    ("-no-color", "no-color", "true"),
    ("-compact-warnings", "compact-warnings", "true"),
    ("-consolidate-warnings", "consolidate-warnings", "true"),
    ("-consolidate-warnings=true", "consolidate-warnings", "true"),
    ("-consolidate-warnings=false", "consolidate-warnings", "false"),
    ("-consolidate-errors", "consolidate-errors", "true"),
    ("-consolidate-errors=true", "consolidate-errors", "true"),
    ("-consolidate-errors=false", "consolidate-errors", "false"),
    ("-concise", "concise", "true"),
];
/// The option for warnings about deprecations, and the prefix of its value. An unknown level means the default.
const DEPRECATION: (&str, &str) = ("-deprecation=", "module:");

/// Parses an output option: its name and its value.
fn output_option(argument: &str) -> Option<(&'static str, &str)> {
    let (option, level) = DEPRECATION;
    if let Some(value) = argument.strip_prefix(option).filter(|value| value.starts_with(level)) {
        return Some(("deprecation", value));
    }
    let found = ANYWHERE.iter().find(|(written, ..)| *written == argument);
    found.map(|(_, name, value)| (*name, *value))
}

/// Whether this is an output option. As in OpenTofu, forms that are not in [`ANYWHERE`] are unknown options.
fn is_output(flag: &Flag) -> bool {
    flag.name == "deprecation" || ANYWHERE.iter().any(|(_, name, _)| *name == flag.name)
}

impl Arguments {
    /// Parses the arguments of a command. If there is an error, the arguments before it are returned as well.
    pub fn of_command(arguments: &[String], flags: &[&[Flag]], mixed: bool) -> (Arguments, Option<OptionError>) {
        let rest = arguments.iter().filter(|argument| output_option(argument).is_none());
        let rest: Vec<String> = rest.cloned().collect();
        let (mut parsed, problem) = Arguments::parse(&rest, flags, mixed);
        let taken = arguments.iter().filter_map(|argument| output_option(argument));
        parsed.flags.extend(taken.map(|(name, value)| (name, value.to_owned())));
        (parsed, problem)
    }

    /// Parses arguments. If there is an error, the arguments before it are parsed, and the arguments after it are
    /// returned as positional arguments.
    ///
    /// Without `mixed`, everything after the first positional argument is positional.
    pub fn parse(arguments: &[String], flags: &[&[Flag]], mixed: bool) -> (Arguments, Option<OptionError>) {
        let mut parsed = Arguments::default();
        let mut rest = arguments.iter();
        let problem = parsed.take(&mut rest, flags, mixed).err();
        parsed.positionals.extend(rest.cloned());
        (parsed, problem)
    }

    /// Consumes arguments up to the first error or `--`. Without `mixed`, the function also stops after the first
    /// positional argument.
    fn take(
        &mut self,
        rest: &mut std::slice::Iter<'_, String>,
        flags: &[&[Flag]],
        mixed: bool,
    ) -> Result<(), OptionError> {
        while let Some(argument) = rest.next() {
            if argument == "--" {
                break;
            }
            let bare = argument.strip_prefix("--").or_else(|| argument.strip_prefix('-'));
            let Some(bare) = bare.filter(|bare| !bare.is_empty()) else {
                self.positionals.push(argument.clone());
                if mixed {
                    continue;
                }
                break;
            };
            let (name, value) = match bare.split_once('=') {
                Some((name, value)) => (name, Some(value.to_owned())),
                None => (bare, None),
            };
            let mut known = flags.iter().flat_map(|group| group.iter()).filter(|flag| !is_output(flag));
            let Some(flag) = known.find(|flag| flag.name == name) else {
                let names = flags.iter().flat_map(|group| group.iter()).map(|flag| flag.name);
                let hint = nearest(name, names).map(|near| format!("\nDid you mean -{near}?")).unwrap_or_default();
                return Err(OptionError::Unknown { name: name.to_owned(), hint });
            };
            let value = match (flag.takes, value) {
                (Takes::Switch, None) => "true".to_owned(),
                (_, Some(value)) => value,
                (_, None) => match rest.next() {
                    Some(value) => value.clone(),
                    None => return Err(OptionError::NoValue(name.to_owned())),
                },
            };
            let sound = match flag.takes {
                Takes::Switch => truth(&value).is_some(),
                Takes::Text(_) => true,
                Takes::Number => value.parse::<u32>().is_ok(),
                Takes::Integer => value.parse::<i64>().is_ok(),
                // As in Go, a negative time is valid. `Arguments::time` ignores it.
                Takes::Time => nanoseconds(&value).is_ok(),
            };
            if !sound {
                if matches!(flag.takes, Takes::Switch) {
                    // As in Go, a switch with an invalid value is off, even if it was on before.
                    self.flags.push((flag.name, "false".to_owned()));
                }
                let name = name.to_owned();
                return Err(match flag.takes {
                    Takes::Switch => OptionError::Switch { name, value },
                    _ => OptionError::Value { name, value },
                });
            }
            if matches!(flag.takes, Takes::Switch) {
                self.switches.push(flag.name);
            }
            self.flags.push((flag.name, value));
        }
        Ok(())
    }

    /// The value of an option with a text argument. `None` if the option with this name is a switch.
    pub fn text(&self, name: &str) -> Option<&str> {
        self.value(name).filter(|_| !self.switches.contains(&name))
    }

    /// The value of a switch. `usual` if it was not given.
    pub fn switch(&self, name: &str, usual: bool) -> bool {
        self.value(name).and_then(truth).unwrap_or(usual)
    }

    /// The last given value. As in OpenTofu, an empty value counts as not given.
    pub fn value(&self, name: &str) -> Option<&str> {
        let last = self.flags.iter().rev().find(|(flag, _)| *flag == name);
        last.map(|(_, value)| value.as_str()).filter(|value| !value.is_empty())
    }

    /// All given values, in order.
    pub fn values<'a>(&'a self, name: &'a str) -> impl Iterator<Item = &'a str> {
        self.flags.iter().filter(move |(flag, _)| *flag == name).map(|(_, value)| value.as_str())
    }

    /// Whether the option has a value.
    pub fn has(&self, name: &str) -> bool {
        self.value(name).is_some()
    }

    /// The value of an option with a number, if it is greater than zero. `None` for zero, as if the option were not
    /// given.
    pub fn count<N: TryFrom<u32>>(&self, name: &str) -> Option<N> {
        let count = self.value(name)?.parse::<u32>().ok().filter(|count| *count > 0)?;
        N::try_from(count).ok()
    }

    /// The value of an option with a time.
    pub fn time(&self, name: &str) -> Option<Duration> {
        go_duration(self.value(name)?)
    }

    /// The given options among `names`, in the order in which they were given.
    pub fn in_order(&self, names: &[&str]) -> Vec<(&'static str, &str)> {
        let wanted = self.flags.iter().filter(|(flag, _)| names.contains(flag));
        wanted.map(|(flag, value)| (*flag, value.as_str())).collect()
    }
}

/// Parses a boolean as Go's flags do.
pub fn truth(text: &str) -> Option<bool> {
    match text {
        "1" | "t" | "T" | "true" | "TRUE" | "True" => Some(true),
        "0" | "f" | "F" | "false" | "FALSE" | "False" => Some(false),
        _ => None,
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    const FLAGS: &[Flag] = &[
        switch("json", ""),
        text("out", "FILE", ""),
        text("var", "X", ""),
        option("n", Takes::Number, ""),
        option("t", Takes::Time, ""),
    ];

    fn parse(words: &[&str], mixed: bool) -> (Arguments, Option<OptionError>) {
        let words: Vec<String> = words.iter().map(|w| (*w).to_owned()).collect();
        Arguments::parse(&words, &[FLAGS], mixed)
    }

    #[test]
    fn options_are_parsed_as_in_go() {
        let (a, e) = parse(&["-json", "--out", "p", "-var=a=1", "-var", "b=2", "--json=false", "f", "-json"], false);
        assert_eq!(e, None);
        assert!(!a.switch("json", true));
        assert_eq!(a.value("out"), Some("p"));
        assert_eq!(a.values("var").collect::<Vec<_>>(), ["a=1", "b=2"]);
        assert_eq!(a.positionals, ["f", "-json"]);
        let (a, _) = parse(&["f", "-json", "-", "--", "-x"], true);
        assert!(a.switch("json", false));
        assert_eq!(a.positionals, ["f", "-", "-x"]);
    }

    #[test]
    fn output_options_may_stand_anywhere() {
        let words = ["p", "-no-color", "-deprecation=module:none", "--", "-concise", "-json"].map(str::to_owned);
        let (arguments, problem) = Arguments::of_command(&words, &[FLAGS], false);
        assert_eq!(problem, None);
        assert!(arguments.switch("no-color", false) && arguments.switch("concise", false));
        assert_eq!(arguments.value("deprecation"), Some("module:none"));
        assert_eq!(arguments.positionals, ["p", "--", "-json"]);
        // Other forms are unknown options.
        for other in ["--no-color", "-no-color=true", "-deprecation=none"] {
            let (_, problem) = Arguments::of_command(&[other.to_owned()], &[FLAGS, crate::command::VIEW], false);
            assert!(matches!(problem, Some(OptionError::Unknown { .. })), "{other}: {problem:?}");
        }
        // An output option is not even accepted as the value of another option.
        let (_, problem) = Arguments::of_command(&["-out".to_owned(), "-no-color".to_owned()], &[FLAGS], false);
        assert_eq!(problem, Some(OptionError::NoValue("out".to_owned())));
    }

    #[test]
    fn an_empty_value_takes_an_option_back() {
        let (arguments, _) = parse(&["-out=p", "-out="], false);
        assert!(!arguments.has("out"));
    }

    #[test]
    fn invalid_arguments_are_refused() {
        let error = |words: &[&str]| parse(words, false).1.map(|e| e.to_string()).unwrap_or_default();
        assert_eq!(error(&["-bogus"]), "flag provided but not defined: -bogus");
        assert_eq!(error(&["-out"]), "flag needs an argument: -out");
        assert_eq!(error(&["-json=maybe"]), "invalid boolean value \"maybe\" for -json: parse error");
        assert_eq!(error(&["-t=soon"]), "invalid value \"soon\" for flag -t: parse error");
        assert_eq!(error(&["-n", "x"]), "invalid value \"x\" for flag -n: parse error");
        let (a, e) = parse(&["-json", "-bogus", "x", "-out=p"], false);
        assert!(a.switch("json", false) && e.is_some());
        assert_eq!(a.positionals, ["x", "-out=p"]);
    }
}
