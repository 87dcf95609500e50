//! The help texts of the whole program and of groups of commands. [`Command::help`](crate::command::Command::help) is
//! the help text of one command.

use std::fmt::Write as _;

use crate::commands::{self, GROUPS};

/// The help text of the whole program.
pub fn overview() -> String {
    let mut text = String::from(
        "Usage: weft [global options] <command> [options]\n\nPlans and applies OpenTofu and Terraform configurations, on \
         one machine or many.\nIf an apply is interrupted, it can be resumed.\n\n    $ weft init\n    $ weft plan\n    \
         $ weft apply\n\nMain commands:\n",
    );
    let line = |text: &mut String, name: &str, about: &str| {
        let _ = writeln!(text, "  {name:<14}{about}");
    };
    let all = commands::all;
    all().filter(|c| c.main).for_each(|c| line(&mut text, &c.name(), c.about));
    text.push_str("\nAll other commands:\n");
    let mut others: Vec<(String, &str)> = all()
        .filter(|c| !c.main && (c.words.len() == 1 || c.words[0] == "plan"))
        .map(|command| (command.name(), command.about))
        .chain(GROUPS.iter().map(|(name, about)| ((*name).to_owned(), *about)))
        .collect();
    others.sort();
    others.iter().for_each(|(name, about)| line(&mut text, name, about));
    text.push_str(
        "\nGlobal options (use these before the command):\n  -chdir=DIR    Switch to another directory before running the \
         command.\n  -help         Show this help, or the help of a command.\n  -version      The same as the version \
         command.\n\nShell completion:\n  -install-autocomplete    Complete commands in your shell.\n  -uninstall-autocomplete  \
         Remove the completion.\n\nweft <command> -help \
         describes a command.\n",
    );
    text
}

/// The help text of a group.
pub fn of_group(group: &str) -> String {
    let about = GROUPS.iter().find(|(name, _)| *name == group).map(|(_, about)| *about).unwrap_or_default();
    let mut text =
        format!("Usage: weft [global options] {group} <subcommand> [options]\n\n  {about}.\n\nSubcommands:\n");
    for command in commands::all().filter(|c| c.words.len() == 2 && c.words[0] == group) {
        let _ = writeln!(text, "  {:<18}{}", command.words[1], command.about);
    }
    text
}

#[cfg(test)]
mod tests {
    use std::collections::BTreeMap;

    use super::*;
    use crate::command::{COLUMNS, Command, TEXTS};
    use crate::commands::CommandLookup;
    use crate::options::Arguments;
    use crate::shell_words::split;

    #[test]
    fn every_command_has_a_text_and_every_text_a_command() {
        let headings = TEXTS.split("## ").skip(1).filter_map(|section| section.split_once('\n')).map(|(name, _)| name);
        let mut headings: Vec<String> = headings.map(str::to_owned).collect();
        let mut names: Vec<String> = commands::all().map(Command::name).collect();
        headings.sort();
        names.sort();
        assert_eq!(headings, names);
    }

    #[test]
    fn every_command_has_an_example_that_parses() {
        for command in commands::all() {
            let help = command.help();
            let examples: Vec<&str> = help.lines().filter_map(|line| line.strip_prefix("    $ ")).collect();
            assert!((1..=3).contains(&examples.len()), "{help}");
            for example in examples {
                let part = example.split(" | ").find_map(|part| part.trim_start().strip_prefix("weft ")).unwrap();
                let words = split(part.split(" > ").next().unwrap()).unwrap();
                let CommandLookup::Command { command: found, words: length } = commands::find(&words) else {
                    panic!("{example}");
                };
                assert_eq!(found.words, command.words, "{example}");
                let (arguments, problem) = Arguments::of_command(&words[length..], command.flags, command.mixed);
                assert_eq!(problem, None, "{example}");
                assert!(!arguments.positionals.iter().any(|word| word.starts_with("--")), "{example}");
            }
        }
    }

    /// `tests/conformance/flags.json` has the options in the help of each command of OpenTofu 1.12.6.
    #[test]
    fn every_option_in_the_help_of_opentofu_is_accepted() {
        let path = concat!(env!("CARGO_MANIFEST_DIR"), "/../tests/conformance/flags.json");
        let text = std::fs::read_to_string(path).expect("the recorded options");
        let recorded: BTreeMap<String, Vec<String>> = serde_json::from_str(&text).expect("a table");
        let mut missing = Vec::new();
        for (name, options) in &recorded {
            let words: Vec<String> = name.split(' ').map(str::to_owned).collect();
            match commands::find(&words) {
                CommandLookup::Command { command, words: length } if length == words.len() => {
                    let accepts = |option: &String| command.flags.iter().copied().flatten().any(|f| f.name == option);
                    let others = options.iter().filter(|option| !accepts(option));
                    missing.extend(others.map(|option| format!("{name} -{option}")));
                }
                // A group of commands has a help text, and no options.
                _ if options.is_empty() && GROUPS.iter().any(|group| group.0 == name) => {}
                _ => missing.push(name.clone()),
            }
        }
        assert!(recorded.len() >= 40 && missing.is_empty(), "{missing:?}");
    }

    #[test]
    fn help_fits_a_terminal() {
        let texts = commands::all().map(Command::help).chain([overview()]).chain(GROUPS.iter().map(|g| of_group(g.0)));
        for text in texts {
            for line in text.lines() {
                assert!(line.chars().count() <= COLUMNS, "{line}");
                assert_eq!(line.trim_end(), line, "{text}");
            }
        }
    }

    /// All help texts are in one file, so that a change of an option or a description is visible as users see it.
    #[test]
    fn help_texts_are_as_in_the_snapshot() {
        let groups = GROUPS.iter().map(|(name, _)| (format!("weft {name}"), of_group(name)));
        let commands = commands::all().map(|command| (format!("weft {} -help", command.name()), command.help()));
        let overview = [("weft -help".to_owned(), overview())];
        let texts = overview.into_iter().chain(groups).chain(commands);
        let all: Vec<String> = texts.map(|(line, text)| format!("$ {line}\n{text}")).collect();
        expect_test::expect_file!["help/texts.txt"].assert_eq(&all.join("\n"));
    }
}
