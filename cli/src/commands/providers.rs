//! `weft providers`: lists the required providers and the modules that require them.

mod lock;
mod mirror;
mod problems;
mod schema;

pub use lock::LOCK;
pub use mirror::MIRROR;
pub use schema::SCHEMA;

use std::sync::Arc;

use weft_evaluator::config::CompiledModule;
use weft_evaluator::config::test_file::TestFile;
use weft_graph_format::diagnostic::{Diagnostic, has_errors};
use weft_providers::constraint::Constraints;
use weft_providers::platform::Platform;

use crate::command::{self, Command, Invocation, OnMistake};
use crate::exit::Exit;
use crate::options::{Arguments, text};
use crate::packages::require_locked;
use crate::project::{Project, of_module, of_state};
use crate::runtime::block_on;
use crate::store::StoreLocation;
use crate::testing::load::Tests;

/// The command.
pub const PROVIDERS: Command = Command {
    words: &["providers"],
    alias: None,
    operands: "",
    about: "Show the required providers",
    main: false,
    flags: &[
        command::VIEW,
        command::VARIABLES,
        command::STORE,
        &[text("test-directory", "DIR", "Directory of test files. [default: tests]")],
    ],
    mixed: false,
    on_mistake: OnMistake::Usage,
    check: command::unchecked,
    events: false,
    run: |invocation| providers(invocation).unwrap_or_else(|exit| exit),
};

fn providers(invocation: &Invocation<'_>) -> Result<Exit, Exit> {
    let Invocation { arguments, context, view, .. } = invocation;
    invocation.at_most(0, crate::commands::problems::too_many_arguments)?;
    let fail = |problems: Vec<Diagnostic>| invocation.fail(&problems);
    let project =
        Project::load_whole(invocation).and_then(|project| project.present("The list of providers")).map_err(fail)?;
    let (mut tests, mut said) = Tests::read(invocation);
    if !has_errors(&said) {
        said.extend(tests.load_installed(invocation));
    }
    if has_errors(&said) {
        return Err(fail(said));
    }
    view.diagnostics(&said);
    let place = StoreLocation::find(context, arguments, Some(&project.root)).map_err(fail)?;
    require_locked(context).map_err(fail)?;
    let state = block_on(place.snapshot()).and_then(|read| read).map_err(|problem| invocation.fail(&[problem]))?;
    let mut text = String::from("\nProviders required by configuration:\n.\n");
    // Tests come after the providers of the module, and before its modules.
    let mut nodes = module_nodes(&project.root);
    let first_module = nodes.iter().position(|node| node.name.starts_with("module.")).unwrap_or(nodes.len());
    nodes.splice(first_module..first_module, test_nodes(&project.root, &tests));
    draw(&nodes, "", &mut text);
    let mut of_state: Vec<String> = of_state(&state).map(|source| format!("    provider[{source}]\n\n")).collect();
    of_state.sort();
    of_state.dedup();
    if !of_state.is_empty() {
        // OpenTofu prints an empty line after each item.
        text.push_str(&format!("\nProviders required by state:\n\n{}", of_state.concat()));
    } else {
        text.push('\n');
    }
    view.document(&text);
    Ok(Exit::DONE)
}

/// A node of the tree: its name, and the nodes below it.
struct Node {
    name: String,
    below: Vec<Node>,
}

/// The requirements of a module and of the modules that it calls, as nodes.
fn module_nodes(module: &Arc<CompiledModule>) -> Vec<Node> {
    let (requirements, _) = of_module(module);
    let providers = requirements.iter().map(|(source, constraints)| {
        let versions = if *constraints == Constraints::any() { String::new() } else { format!(" {constraints}") };
        Node { name: format!("provider[{source}]{versions}"), below: Vec::new() }
    });
    let children =
        module.children.iter().map(|(name, child)| Node { name: format!("module.{name}"), below: module_nodes(child) });
    providers.chain(children).collect()
}

/// The requirements of test files, and of the modules that their runs test, as nodes.
fn test_nodes(root: &CompiledModule, tests: &Tests) -> Vec<Node> {
    let file = |file: &Arc<TestFile>| {
        let mut sources: Vec<String> =
            file.providers.keys().map(|(name, _)| format!("provider[{}]", root.provider_source(name))).collect();
        sources.sort();
        sources.dedup();
        let mut below: Vec<Node> = sources.into_iter().map(|name| Node { name, below: Vec::new() }).collect();
        for (number, run) in file.runs.iter().enumerate() {
            if let Some(module) = tests.modules.get(&(file.name.clone(), number)) {
                below.push(Node { name: format!("run.{}", run.name), below: module_nodes(module) });
            }
        }
        let stem = file.name.strip_suffix(".tftest.hcl").unwrap_or(&file.name);
        Node { name: format!("test.{}", stem.replace('/', ".")), below }
    };
    tests.files.iter().map(file).collect()
}

fn draw(nodes: &[Node], indent: &str, text: &mut String) {
    for (index, node) in nodes.iter().enumerate() {
        let is_last = index + 1 == nodes.len();
        text.push_str(&format!("{indent}{} {}\n", if is_last { "└──" } else { "├──" }, node.name));
        draw(&node.below, &format!("{indent}{}", if is_last { "    " } else { "│   " }), text);
    }
}

/// The platforms in `-platform`. The default is the platform of this machine.
fn platforms(arguments: &Arguments) -> Result<Vec<Platform>, Diagnostic> {
    let mut platforms = Vec::new();
    for text in arguments.values("platform") {
        let platform: Platform = text.parse().map_err(|_| problems::invalid_platform(text))?;
        platforms.push(platform);
    }
    if platforms.is_empty() {
        platforms.push(Platform::current());
    }
    Ok(platforms)
}
