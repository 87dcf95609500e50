//! Parses the command line: global options, the words of the command, `TF_CLI_ARGS`, and options. Then runs the
//! command.

use std::path::{Path, PathBuf};

use weft_graph_format::diagnostic::{Diagnostic, has_errors};
use weft_state::LostStore;

use crate::command::{Command, Invocation};
use crate::commands::{self, CommandLookup};
use crate::completion;
use crate::context::{Context, environment, is_directory};
use crate::exit::Exit;
use crate::help;
use crate::logging;
use crate::options::{Arguments, Flag};
use crate::packages::REATTACH;
use crate::problems;
use crate::render::events;
use crate::shell_words;
use crate::view::View;

/// Runs the command in the arguments. The arguments do not include the name of the program.
pub fn run(arguments: Vec<String>) -> Exit {
    if let Some(line) = environment("COMP_LINE") {
        completion::answer(&line);
        return Exit::DONE;
    }
    logging::start();
    // As in OpenTofu, no command runs if this variable is invalid.
    if let Some(text) = environment(REATTACH)
        && let Err(error) = serde_json::from_str::<serde_json::Map<String, serde_json::Value>>(&text)
    {
        return refuse(&problems::attached_providers_unreadable(REATTACH, &error));
    }
    let launch = std::env::current_dir().unwrap_or_else(|_| PathBuf::from("."));
    let mut rest = arguments.as_slice();
    let mut directory: Option<String> = None;
    let (mut help, mut version) = (false, false);
    let asks_version = |word: &String| matches!(word.as_str(), "-v" | "-version" | "--version");
    while let [first, tail @ ..] = rest {
        let here = rest;
        let Some(name) = first.strip_prefix("--").or_else(|| first.strip_prefix('-')).filter(|n| !n.is_empty()) else {
            break;
        };
        rest = tail;
        match name.split_once('=') {
            // As in OpenTofu, `-chdir` needs `=` and one dash, and can be given once.
            _ if first == "-chdir" => return refuse(&problems::no_directory_named()),
            Some(("chdir", "")) if !first.starts_with("--") => return refuse(&problems::no_directory_named()),
            Some(("chdir", path)) if !first.starts_with("--") && directory.is_none() => {
                directory = Some(path.to_owned());
            }
            None if matches!(name, "help" | "h") => help = true,
            None if matches!(name, "version" | "v") => version = true,
            None if name == "install-autocomplete" => return completion::install(),
            None if name == "uninstall-autocomplete" => return completion::uninstall(),
            // Other options before `-version` belong to the `version` command.
            _ if version || tail.iter().any(asks_version) => {
                rest = here;
                break;
            }
            _ if tail.iter().all(|word| word.starts_with('-')) => {
                View::plain().line(&help::overview());
                return Exit::NO_COMMAND;
            }
            _ => {
                return refuse(&problems::unknown_flag(name));
            }
        }
    }
    if let Some(directory) = directory
        && let Err(exit) = enter(Path::new(&directory))
    {
        return exit;
    }
    if !help && (version || rest.iter().any(asks_version)) {
        // The other arguments are options of the `version` command, as in `weft -version -json`.
        let words: Vec<String> = std::iter::once("version".to_owned()).chain(rest.iter().cloned()).collect();
        return call(commands::find(&words), &words, launch);
    }
    if rest.is_empty() {
        View::plain().line(&help::overview());
        return if help { Exit::DONE } else { Exit::NO_COMMAND };
    }
    let found = commands::find(rest);
    match found {
        CommandLookup::Command { command, .. } if help => View::plain().line(&command.help()),
        CommandLookup::Group(_) | CommandLookup::NotInGroup(..) if help => View::plain().line(&help::overview()),
        found => return call(found, rest, launch),
    }
    Exit::DONE
}

fn call(found: CommandLookup, words: &[String], launch: PathBuf) -> Exit {
    match found {
        CommandLookup::Command { command, words: taken } => {
            let (named, arguments) = words.split_at_checked(taken).unwrap_or((words, &[]));
            invoke(command, named, arguments, launch)
        }
        CommandLookup::Group(group) => {
            View::plain().line(&help::of_group(&group));
            let asked = words.iter().skip(1).any(|w| matches!(w.trim_start_matches('-'), "help" | "h"));
            if asked { Exit::DONE } else { Exit::FAILED }
        }
        CommandLookup::NotInGroup(group, word) => {
            View::plain().line(&help::of_group(&group));
            if let Some(near) = commands::nearest_in(&group, &word) {
                let hint = format!("There is no command \"{group} {word}\". Did you mean \"{group} {near}\"?");
                View::plain().aside(&hint);
            }
            Exit::FAILED
        }
        CommandLookup::Nothing => {
            let word = words.first().map(String::as_str).unwrap_or_default();
            let near = commands::nearest(word).map(|name| format!(" Did you mean \"{name}\"?")).unwrap_or_default();
            View::plain().aside(&format!(
                "Weft has no command named \"{word}\".{near}\n\nTo see all of Weft's commands, run:\n  weft -help\n"
            ));
            Exit::FAILED
        }
    }
}

/// Runs a command. `named` are the words by which it was called, which may be an alias.
fn invoke(command: &'static Command, named: &[String], arguments: &[String], launch: PathBuf) -> Exit {
    let mut all = Vec::new();
    let specific = format!("TF_CLI_ARGS_{}", named.join("_").replace('-', "_"));
    // As in OpenTofu, `TF_CLI_ARGS` comes after the variable of the command, so that it takes precedence.
    for name in [specific.as_str(), "TF_CLI_ARGS"] {
        match environment(name).map(|text| shell_words::split(&text)) {
            Some(Ok(words)) => all.extend(words),
            Some(Err(error)) => {
                return refuse(&problems::extra_arguments_unreadable(name, &error));
            }
            None => {}
        }
    }
    all.extend(arguments.iter().cloned());
    const HELP: &[Flag] = &[crate::options::switch("help", ""), crate::options::switch("h", "")];
    let mut flags = command.flags.to_vec();
    flags.push(HELP);
    let (arguments, mistake) = Arguments::of_command(&all, &flags, command.mixed);
    let asks = |word: &String| matches!(word.as_str(), "-h" | "-help" | "--help");
    let asked = all.iter().take_while(|word| *word != "--").any(asks);
    if asked || arguments.switch("help", false) || arguments.switch("h", false) {
        View::plain().line(&command.help());
        return Exit::DONE;
    }
    let (view, problem) = View::new(&arguments, command.events);
    let context = Context::new(launch, !commands::is_own(command));
    let invocation = Invocation { command, arguments, context, view };
    tell_of_settings(&invocation);
    let unparsed = mistake.map(|mistake| problems::invalid_flags(&mistake));
    let checked = (command.check)(&invocation.arguments);
    let mistakes: Vec<Diagnostic> = unparsed.into_iter().chain(checked).chain(problem).collect();
    if !mistakes.is_empty() {
        // As in OpenTofu, mistakes in the arguments of `test` are text, even with `-json`.
        if command.words == ["test"] {
            return Invocation { view: invocation.view.into_text(), ..invocation }.mistakes(&mistakes);
        }
        invocation.view.event(events::version());
        return invocation.mistakes(&mistakes);
    }
    let exit = (command.run)(&invocation);
    tell_of_store(&invocation, exit)
}

/// Reports problems that are known only at the end of a command: lost records of a store, and locks that were not
/// released.
fn tell_of_store(invocation: &Invocation<'_>, exit: Exit) -> Exit {
    invocation.report_losses();
    let is_uncertain = |lost: &LostStore| !(lost.uncertain.is_empty() && lost.frozen.is_empty());
    let uncertain = invocation.context.notices.take().iter().any(is_uncertain);
    let exit = if exit == Exit::DONE && uncertain { Exit::UNCERTAIN } else { exit };
    let unreleased = invocation.context.unreleased.take();
    if unreleased.is_empty() {
        return exit;
    }
    invocation.fail(&unreleased.iter().map(problems::lock_not_released).collect::<Vec<_>>())
}

/// Reports all problems of the CLI configuration, even if the command does not need it.
fn tell_of_settings(invocation: &Invocation<'_>) {
    let problems = &invocation.context.cli_settings().problems;
    if problems.is_empty() {
        return;
    }
    let (view, failed) = (&invocation.view, has_errors(problems));
    if !view.is_json() {
        view.aside("There are some problems with the CLI configuration:");
    }
    view.diagnostics(problems);
    if failed && !view.is_json() {
        view.aside("As a result of the above problems, Weft may not behave as intended.\n");
    }
}

fn enter(directory: &Path) -> Result<(), Exit> {
    let refused = |why: &dyn std::fmt::Display| Err(refuse(&problems::directory_not_entered(directory, why)));
    if !is_directory(directory) {
        return refused(&"the directory does not exist");
    }
    std::env::set_current_dir(directory).or_else(|error| refused(&error))
}

/// Reports a mistake in the arguments before the command.
fn refuse(problem: &Diagnostic) -> Exit {
    View::plain().diagnostics(std::slice::from_ref(problem));
    Exit::FAILED
}
