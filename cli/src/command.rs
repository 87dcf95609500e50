//! What a command is: its name, its options, its help, and what it does. The table of all of them is in
//! [`crate::commands`].

use std::fmt::Write as _;
use std::io::Write as _;

use weft_graph_format::diagnostic::Diagnostic;

use crate::context::Context;
use crate::exit::Exit;
use crate::options::{Arguments, Flag, Takes, switch, text};
use crate::store::without_lock;
use crate::view::{View, json_twice, open_into};

/// A command.
#[derive(Clone, Copy)]
pub struct Command {
    /// Its words: `["state", "list"]`.
    pub words: &'static [&'static str],
    /// Another last word for it.
    pub alias: Option<&'static str>,
    /// What follows the words, for the usage line.
    pub operands: &'static str,
    /// One line for lists.
    pub about: &'static str,
    /// Shown among the main commands.
    pub main: bool,
    /// Its options.
    pub flags: &'static [&'static [Flag]],
    /// Options may stand behind positional arguments.
    pub mixed: bool,
    /// What a mistake in the arguments is answered with.
    pub on_mistake: OnMistake,
    /// `-json` means the stream of events.
    pub events: bool,
    /// What it does.
    pub run: fn(&Invocation<'_>) -> Exit,
}

/// What a mistake in the arguments is answered with, beside the error.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum OnMistake {
    /// The help text on the standard output.
    Usage,
    /// How to ask for help, on the standard error.
    Hint,
}

/// A command that was called.
pub struct Invocation<'a> {
    /// Which.
    pub command: &'a Command,
    /// With what.
    pub arguments: Arguments,
    /// Where.
    pub context: Context,
    /// Where its words go.
    pub view: View,
}

impl Invocation<'_> {
    /// Says what is wrong with the arguments.
    pub fn mistake(&self, problem: &Diagnostic) -> Exit {
        self.mistakes(std::slice::from_ref(problem))
    }

    /// Says what is wrong with several of the arguments.
    pub fn mistakes(&self, problems: &[Diagnostic]) -> Exit {
        self.view.diagnostics(problems);
        if !self.view.is_json() {
            match self.command.on_mistake {
                OnMistake::Usage => self.view.line(&self.command.help()),
                OnMistake::Hint => {
                    self.view.aside(&format!(
                        "\nFor more help on using this command, run:\n  weft {} -help",
                        self.command.name()
                    ));
                }
            }
        }
        Exit::FAILED
    }

    /// Says what went wrong.
    pub fn fail(&self, problems: &[Diagnostic]) -> Exit {
        if let Some(found) = self.context.root.get() {
            self.view.know(&found.sources);
        }
        if self.arguments.switch("lock", true) {
            self.view.diagnostics(problems);
        } else {
            self.view.diagnostics(&problems.iter().map(without_lock).collect::<Vec<_>>());
        }
        Exit::FAILED
    }

    /// Refuses more positional arguments than `most`.
    pub fn at_most(&self, most: usize, summary: &str, detail: &str) -> Result<(), Exit> {
        if self.arguments.positionals.len() > most {
            return Err(self.mistake(&Diagnostic::error(summary, detail)));
        }
        Ok(())
    }

    /// Hands a document out: alone with `-json`, into a file beside the text for people with `-json-into`. True when the
    /// text is not wanted.
    pub fn document(&self, make: impl FnOnce() -> String) -> Result<bool, Exit> {
        let json = self.arguments.switch("json", false);
        let Some(path) = self.arguments.value("json-into") else {
            if json {
                self.view.document(&make());
            }
            return Ok(json);
        };
        if json {
            return Err(self.mistake(&json_twice()));
        }
        let mut file = open_into(path).map_err(|problem| self.mistake(&problem))?;
        file.write_all(make().as_bytes()).map_err(|error| {
            self.fail(&[Diagnostic::error("Invalid output format", format!("{path} cannot be written: {error}."))])
        })?;
        Ok(false)
    }
}

impl Command {
    /// Its words as one text.
    pub fn name(&self) -> String {
        self.words.join(" ")
    }

    /// The help text.
    pub fn help(&self) -> String {
        let mut help = format!("Usage: weft [global options] {}", self.name());
        if self.flags.iter().any(|group| !group.is_empty()) {
            help.push_str(" [options]");
        }
        if !self.operands.is_empty() {
            help.push(' ');
            help.push_str(self.operands);
        }
        // Writing to a string does not fail.
        let _ = write!(help, "\n\n  {}\n", self.about);
        let listed: Vec<&Flag> =
            self.flags.iter().flat_map(|group| group.iter()).filter(|flag| !flag.about.is_empty()).collect();
        if !listed.is_empty() {
            help.push_str("\nOptions:\n\n");
        }
        for flag in listed {
            let name = match flag.takes {
                Takes::Switch => format!("-{}", flag.name),
                Takes::Text(placeholder) => format!("-{}={placeholder}", flag.name),
                Takes::Number | Takes::Integer => format!("-{}=N", flag.name),
                Takes::Time => format!("-{}=TIME", flag.name),
            };
            let _ = writeln!(help, "  {name:<26}{}", flag.about);
        }
        help
    }
}

/// Options about what is printed.
pub const VIEW: &[Flag] = &[
    switch("no-color", "Print without colours."),
    switch("compact-warnings", "Print warnings in one line each, where there are no errors."),
    switch("consolidate-warnings", "Show warnings that say the same once (the default)."),
    switch("consolidate-errors", "Show errors that say the same once."),
    switch("concise", "Leave out the lines about progress."),
    text("deprecation", "WHAT", ""),
];
/// The stream of events.
pub const JSON: &[Flag] = &[
    switch("json", "Print what happens as JSON, one object a line."),
    text("json-into", "FILE", "Write the same to a file, and text to the terminal."),
];
/// A document in JSON.
pub const JSON_DOCUMENT: &[Flag] = &[switch("json", "Print as JSON.")];
/// A document in JSON, perhaps in a file of its own.
pub const DOCUMENT: &[Flag] = &[
    switch("json", "Print as JSON."),
    text("json-into", "FILE", "Write the same to a file, and text to the terminal."),
];
/// Questions.
pub const INPUT: &[Flag] = &[switch("input", "Ask for what is missing (the default, on a terminal).")];
/// Secrets.
pub const SENSITIVE: &[Flag] = &[switch("show-sensitive", "Show sensitive values.")];
/// Variables.
pub const VARIABLES: &[Flag] = &[
    text("var", "'NAME=VALUE'", "Set a variable of the root module. May be given several times."),
    text("var-file", "FILE", "Read variables from a file. May be given several times."),
];
/// The lock on the state.
pub const LOCK: &[Flag] = &[
    switch("lock", "Lock the state (the default)."),
    Flag { name: "lock-timeout", takes: Takes::Time, about: "How long to wait for the lock." },
];
/// Where the state is.
pub const STATE: &[Flag] = &[
    text("state", "FILE", "The state file."),
    text("state-out", "FILE", "Write the state to another file."),
    text("backup", "FILE", "Where the previous state goes; - for nowhere."),
];
/// Where state and runs are.
pub const STORE: &[Flag] = &[text(
    "store",
    "URL",
    "Where state and runs are: redis://HOST/DB?state=NAME; otherwise in files here (WEFT_STORE).",
)];
/// Who carries runs out.
pub const COORDINATOR: &[Flag] =
    &[text("coordinator", "ADDR", "Let the coordinator at HOST:PORT carry it out (WEFT_COORDINATOR).")];
/// How much at once.
pub const PARALLELISM: &[Flag] =
    &[Flag { name: "parallelism", takes: Takes::Integer, about: "How many operations at a time (10)." }];
/// What is planned.
pub const PLANNING: &[Flag] = &[
    switch("refresh", "Look at real objects first (the default)."),
    switch("refresh-only", "Only look at real objects, and take into the state what they are."),
    switch("destroy", "Plan to destroy everything."),
    text("replace", "ADDRESS", "Replace this instance. May be given several times."),
];
/// Which part of the configuration.
pub const SELECTION: &[Flag] = &[
    text("target", "ADDRESS", "Only this and what it depends on. May be given several times."),
    text("exclude", "ADDRESS", "All but this and what depends on it. May be given several times."),
    text("target-file", "FILE", "Addresses for -target, one a line."),
    text("exclude-file", "FILE", "Addresses for -exclude, one a line."),
];
