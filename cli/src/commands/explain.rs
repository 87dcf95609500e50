//! `weft explain`: explains the code of a problem.

use weft_graph_format::diagnostic::Diagnostic;
use weft_graph_format::explain;
use weft_graph_format::nearest::nearest;

use crate::command::{self, Command, Invocation, OnMistake};
use crate::commands::problems;
use crate::exit::Exit;

/// The command.
pub const EXPLAIN: Command = Command {
    words: &["explain"],
    alias: None,
    operands: "[CODE]",
    about: "Explain the code of a problem, such as W0101",
    main: false,
    flags: &[command::VIEW],
    mixed: true,
    on_mistake: OnMistake::Hint,
    events: false,
    run,
};

fn run(invocation: &Invocation<'_>) -> Exit {
    let view = &invocation.view;
    let given = match invocation.arguments.positionals.as_slice() {
        [] => {
            for entry in explain::all() {
                view.line(&format!("{}  {}", entry.code, entry.summary));
            }
            return Exit::DONE;
        }
        [code] => code,
        _ => return invocation.mistake(&problems::one_code_expected()),
    };
    match explain::explanation(&given.to_uppercase()) {
        Some(entry) => {
            let style = view.style();
            let title = style.bold(&format!("{}: {}", entry.code, entry.summary));
            let text = style.wrapped(&entry.text);
            let example: String = entry.example.lines().map(|line| format!("    {line}\n")).collect();
            view.line(&format!("{title}\n\n{text}\n\n{}", example.trim_end()));
            Exit::DONE
        }
        None => invocation.fail(&[unknown(given)]),
    }
}

/// An unknown code, with the nearest one, or with the code of a summary that was given instead.
fn unknown(given: &str) -> Diagnostic {
    let near = explain::code_of(given).or_else(|| nearest(given, explain::all().iter().map(|entry| entry.code)));
    problems::unknown_code(given, near)
}
