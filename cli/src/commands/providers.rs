//! `weft providers`: which providers are needed, and by whom; what they say of themselves, where they come from.

mod lock;
mod mirror;
mod schema;

pub use lock::LOCK;
pub use mirror::MIRROR;
pub use schema::SCHEMA;

use std::sync::Arc;

use weft_evaluator::config::CompiledModule;
use weft_graph_format::diagnostic::Diagnostic;
use weft_providers::constraint::Constraints;
use weft_providers::platform::Platform;

use crate::command::{self, Command, Invocation, OnMistake};
use crate::exit::Exit;
use crate::options::{Arguments, text};
use crate::project::{Project, of_module, of_state};
use crate::runtime::block_on;
use crate::store::Place;

/// The command.
pub const PROVIDERS: Command = Command {
    words: &["providers"],
    alias: None,
    operands: "",
    about: "Show the providers that are needed",
    main: false,
    flags: &[command::VIEW, command::VARIABLES, command::STORE, &[text("test-directory", "DIR", "")]],
    mixed: false,
    on_mistake: OnMistake::Usage,
    events: false,
    run: |invocation| providers(invocation).unwrap_or_else(|exit| exit),
};

fn providers(invocation: &Invocation<'_>) -> Result<Exit, Exit> {
    let Invocation { arguments, context, view, .. } = invocation;
    invocation.at_most(0, "Unexpected argument", "Too many command line arguments. Did you mean to use -chdir?")?;
    let fail = |problems: Vec<Diagnostic>| invocation.fail(&problems);
    let project =
        Project::load_whole(invocation).and_then(|project| project.present("The list of providers")).map_err(fail)?;
    let place = Place::find(context, arguments, Some(&project.root)).map_err(fail)?;
    let state = block_on(place.snapshot()).and_then(|read| read).map_err(|problem| invocation.fail(&[problem]))?;
    let mut text = String::from("\nProviders required by configuration:\n.\n");
    branch(&project.root, "", &mut text);
    let mut of_state: Vec<String> = of_state(&state).map(|source| format!("    provider[{source}]\n\n")).collect();
    of_state.sort();
    of_state.dedup();
    if !of_state.is_empty() {
        // OpenTofu puts an empty line behind each.
        text.push_str(&format!("\nProviders required by state:\n\n{}", of_state.concat()));
    } else {
        text.push('\n');
    }
    view.document(&text);
    Ok(Exit::DONE)
}

fn branch(module: &Arc<CompiledModule>, indent: &str, text: &mut String) {
    let (requirements, _) = of_module(module);
    let last = requirements.len() + module.children.len();
    let mut count = 0;
    let mut stem = |text: &mut String, words: String| {
        count += 1;
        text.push_str(&format!("{indent}{} {words}\n", if count == last { "└──" } else { "├──" }));
        count == last
    };
    for (source, constraints) in &requirements {
        let versions = if *constraints == Constraints::any() { String::new() } else { format!(" {constraints}") };
        stem(text, format!("provider[{source}]{versions}"));
    }
    for (name, child) in &module.children {
        let is_last = stem(text, format!("module.{name}"));
        branch(child, &format!("{indent}{}", if is_last { "    " } else { "│   " }), text);
    }
}

/// The platforms that `-platform` names; this machine's when none is.
fn platforms(arguments: &Arguments) -> Result<Vec<Platform>, Diagnostic> {
    let mut platforms = Vec::new();
    for text in arguments.values("platform") {
        let platform: Platform = text.parse().map_err(|_| {
            Diagnostic::error(
                "Invalid target platform",
                format!(
                    "The string {text:?} given in the -platform option is not a valid target platform: must be two words \
                     separated by an underscore."
                ),
            )
        })?;
        platforms.push(platform);
    }
    if platforms.is_empty() {
        platforms.push(Platform::current());
    }
    Ok(platforms)
}
