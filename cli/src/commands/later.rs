//! Commands of OpenTofu that Weft does not have yet. The error says so, rather than calling them unknown.

use crate::command::{self, Command, Invocation, OnMistake};
use crate::commands::problems;
use crate::exit::Exit;
use crate::options::{Flag, switch, text};

/// The options of these commands in OpenTofu, so that the error is about the command and not about an option.
const OPTIONS: &[Flag] = &[
    switch("json", ""),
    switch("force", ""),
    switch("auto-approve", ""),
    switch("allow-missing", ""),
    switch("dry-run", ""),
    switch("update", ""),
    switch("verbose", ""),
    switch("draw-cycles", ""),
    text("type", "", ""),
    text("plan", "", ""),
    text("id", "", ""),
    text("filter", "", ""),
    text("config", "", ""),
    text("platform", "", ""),
    text("fs-mirror", "", ""),
    text("net-mirror", "", ""),
    text("test-directory", "", ""),
];

const fn later(words: &'static [&'static str], operands: &'static str, run: fn(&Invocation<'_>) -> Exit) -> Command {
    Command {
        words,
        alias: None,
        operands,
        about: "Not supported yet",
        main: false,
        flags: &[
            command::VIEW,
            command::INPUT,
            command::SENSITIVE,
            command::VARIABLES_UNLISTED,
            command::LOCK,
            command::STATE,
            command::STORE,
            OPTIONS,
        ],
        mixed: false,
        on_mistake: OnMistake::Usage,
        events: false,
        run,
    }
}

/// The commands.
pub const LATER: &[Command] =
    &[later(&["login"], "HOST", |i| with(i, 1, 1)), later(&["logout"], "[HOST]", |i| with(i, 0, 1))];

fn with(invocation: &Invocation<'_>, least: usize, most: usize) -> Exit {
    let given = invocation.arguments.positionals.len();
    if given < least || given > most {
        return invocation.mistake(&problems::wrong_number_of_arguments(least, most, given));
    }
    refuse(invocation)
}

fn refuse(invocation: &Invocation<'_>) -> Exit {
    invocation.fail(&[problems::command_unsupported(&invocation.command.name())])
}
