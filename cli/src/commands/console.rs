//! `weft console -eval-json FILE`: expressions as text in, values as JSON out.

use serde::Deserialize;
use weft_expressions::console::{BareScope, evaluate_text};
use weft_graph_format::diagnostic::Diagnostic;

use crate::command::{self, Command, Invocation, OnMistake};
use crate::exit::Exit;
use crate::options::text;

/// The command.
pub const CONSOLE: Command = Command {
    words: &["console"],
    alias: None,
    operands: "",
    about: "Evaluate expressions",
    main: false,
    flags: &[
        command::VIEW,
        command::INPUT,
        command::VARIABLES,
        command::LOCK,
        &[
            text("eval-json", "FILE", "Evaluate each {\"expr\": ...} of a JSON array; print one object a line."),
            text("state", "FILE", ""),
        ],
    ],
    mixed: false,
    on_mistake: OnMistake::Usage,
    events: false,
    run,
};

#[derive(Deserialize)]
struct Entry {
    expr: String,
}

fn run(invocation: &Invocation<'_>) -> Exit {
    let Some(path) = invocation.arguments.value("eval-json") else {
        return invocation.fail(&[Diagnostic::error(
            "Interactive console not supported yet",
            "This version of Weft evaluates expressions from a file only: weft console -eval-json FILE.",
        )]);
    };
    let failed =
        |what: String| invocation.fail(&[Diagnostic::error("Cannot read expressions", format!("{path}: {what}."))]);
    let bytes = match std::fs::read(path) {
        Ok(bytes) => bytes,
        Err(error) => return failed(error.to_string()),
    };
    let entries: Vec<Entry> = match serde_json::from_slice(&bytes) {
        Ok(entries) => entries,
        Err(error) => return failed(error.to_string()),
    };
    for entry in entries {
        let outcome = evaluate_text(&entry.expr, &BareScope::new());
        invocation.view.document(&(outcome.to_json().to_string() + "\n"));
    }
    Exit::DONE
}
