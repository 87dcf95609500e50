//! `weft explain`: explains the code of a problem.

use weft_graph_format::diagnostic::Diagnostic;
use weft_graph_format::explain::{self, Explanation};
use weft_graph_format::nearest::nearest;

use crate::command::{self, Command, Invocation, OnMistake};
use crate::commands::problems;
use crate::exit::Exit;
use crate::render::style::Style;

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
    check: command::unchecked,
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
            view.line(&text(entry, view.style()));
            Exit::DONE
        }
        None => invocation.fail(&[unknown(given)]),
    }
}

/// The explanation, with a wrong and a correct example.
fn text(entry: &Explanation, style: &Style) -> String {
    let indented = |example: &str| -> String {
        example.lines().map(|line| format!("    {line}").trim_end().to_owned() + "\n").collect()
    };
    let title = style.bold(&format!("{}: {}", entry.code, entry.summary));
    let words = style.wrapped(&entry.text);
    let examples = format!("Wrong:\n\n{}\nRight:\n\n{}", indented(&entry.example), indented(&entry.right));
    format!("{title}\n\n{words}\n\n{}", examples.trim_end())
}

/// The code is unknown. Suggests the nearest code, or the code of the summary that was given instead.
fn unknown(given: &str) -> Diagnostic {
    let near = explain::code_of(given).or_else(|| nearest(given, explain::all().iter().map(|entry| entry.code)));
    problems::unknown_code(given, near)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_common_problem_has_a_wrong_and_a_right_example() {
        let entry = explain::explanation("W0502").unwrap();
        expect_test::expect![[r#"
            W0502: Invalid for_each argument

            for_each must be a map, an object or a set of strings that is known when
            planning. To convert a list, use toset().

            Wrong:

                for_each = ["a", "b"]        # toset(["a", "b"])

            Right:

                for_each = toset(["a", "b"])"#]]
        .assert_eq(&text(entry, &Style::default()));
    }
}
