//! The table of all commands, and their lookup by name.

mod apply;
mod certs;
mod console;
mod coordinator;
mod explain;
mod fmt;
mod get;
mod graph;
mod import;
mod init;
mod inspect;
mod login;
mod metadata;
mod output;
pub mod plan;
mod problems;
mod providers;
mod refresh;
mod runs;
mod show;
mod sign;
mod stalled;
pub mod state;
mod store;
mod taint;
mod test;
mod unlock;
mod validate;
mod version;
mod worker;
mod workers;
mod workspace;

use weft_graph_format::nearest::nearest as nearest_name;

use crate::command::Command;

/// All commands, in the order of the help text.
const ALL: &[&Command] = &[
    &init::INIT,
    &validate::VALIDATE,
    &plan::PLAN,
    &apply::APPLY,
    &apply::DESTROY,
    &certs::INIT,
    &certs::ISSUE,
    &console::CONSOLE,
    &coordinator::COORDINATOR,
    &explain::EXPLAIN,
    &fmt::FMT,
    &get::GET,
    &graph::GRAPH,
    &import::IMPORT,
    &login::LOGIN,
    &login::LOGOUT,
    &metadata::FUNCTIONS,
    &output::OUTPUT,
    &inspect::INSPECT,
    &sign::SIGN,
    &sign::VERIFY,
    &providers::PROVIDERS,
    &providers::LOCK,
    &providers::MIRROR,
    &providers::SCHEMA,
    &refresh::REFRESH,
    &runs::LIST,
    &runs::SHOW,
    &runs::RESUME,
    &runs::RESOLVE,
    &runs::SETTLE,
    &runs::ABANDON,
    &runs::PRUNE,
    &show::SHOW,
    &state::LIST,
    &state::SHOW,
    &state::MOVE,
    &state::PULL,
    &state::PUSH,
    &state::REMOVE,
    &state::REPLACE_PROVIDER,
    &store::CHECK,
    &store::DECLARE_LOST,
    &taint::TAINT,
    &taint::UNTAINT,
    &test::TEST,
    &unlock::FORCE_UNLOCK,
    &version::VERSION,
    &worker::WORKER,
    &workers::LIST,
    &workers::DRAIN,
    &workers::UNDRAIN,
    &workspace::LIST,
    &workspace::SHOW,
    &workspace::NEW,
    &workspace::SELECT,
    &workspace::DELETE,
];

/// The name of the group of commands on workspaces.
const WORKSPACES: &str = "workspace";

/// Groups with their summaries.
pub const GROUPS: &[(&str, &str)] = &[
    ("certs", "Certificates of a cluster"),
    ("metadata", "Describe the language"),
    ("runs", "List, inspect, resume and settle runs"),
    ("state", "Inspect and edit the state"),
    ("store", "Check a store in Redis"),
    ("workers", "List and drain the workers of a cluster"),
    (WORKSPACES, "Manage workspaces"),
];

/// Commands that OpenTofu does not have. They need no valid configuration, so that they also work while the
/// configuration is broken.
const OWN: &[&str] = &["certs", "coordinator", "explain", "inspect", "runs", "store", "worker", "workers"];

/// Whether the command does not exist in OpenTofu.
pub fn is_own(command: &Command) -> bool {
    command.words.first().is_some_and(|first| OWN.contains(first))
}

/// Every command.
pub fn all() -> impl Iterator<Item = &'static Command> {
    ALL.iter().copied()
}

/// The names of groups.
pub fn groups() -> impl Iterator<Item = &'static str> {
    GROUPS.iter().map(|(name, _)| *name)
}

/// The result of looking up the words of a command line.
pub enum CommandLookup {
    /// A command, and its number of words.
    Command {
        /// The command.
        command: &'static Command,
        /// The number of words.
        words: usize,
    },
    /// The name of a group, without a command of the group.
    Group(String),
    /// A group, and a word that is not one of its commands.
    NotInGroup(String, String),
    /// Not a command.
    Nothing,
}

/// Finds a command: two words first, then one.
pub fn find(words: &[String]) -> CommandLookup {
    let [first, rest @ ..] = words else { return CommandLookup::Nothing };
    // `env` is the former name of this group.
    let first = if first == "env" { WORKSPACES } else { first.as_str() };
    if let Some(second) = rest.first() {
        let pair = all().find(|c| {
            let named = matches!(c.words, [_, last] if last == second) || c.alias.is_some_and(|alias| alias == second);
            c.words.len() == 2 && c.words[0] == first && named
        });
        if let Some(command) = pair {
            return CommandLookup::Command { command, words: 2 };
        }
    }
    if let Some(command) = all().find(|c| matches!(c.words, [only] if *only == first)) {
        return CommandLookup::Command { command, words: 1 };
    }
    if GROUPS.iter().any(|(name, _)| *name == first) {
        return match rest.first() {
            Some(word) if !word.starts_with('-') => CommandLookup::NotInGroup(first.to_owned(), word.clone()),
            _ => CommandLookup::Group(first.to_owned()),
        };
    }
    CommandLookup::Nothing
}

/// The name that is most similar to a mistyped one.
pub fn nearest(word: &str) -> Option<&'static str> {
    nearest_name(word, all().filter_map(|command| command.words.first().copied()))
}

/// The command of a group that is most similar to a mistyped word.
pub fn nearest_in(group: &str, word: &str) -> Option<&'static str> {
    let names = all().filter(|command| command.words.len() == 2 && command.words[0] == group);
    nearest_name(word, names.map(|command| command.words[1]))
}
