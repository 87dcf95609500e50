//! The `weft` command.
//!
//! Modules in reading order:
//!
//! - [`invocation`] parses the command line with [`options`] and [`command`], and calls one of [`commands`].
//! - [`context`]: the context in which a command runs. [`view`]: the output of the command. [`render`]: the format of
//!   the output. [`exit`]: the exit code of the command.
//! - [`project`]: a configuration with its providers. [`modules`]: the manifest of installed modules. [`variables`]:
//!   the values of variables. [`plan`] makes a plan file from the configuration and the values.
//! - [`store`]: the location of state and runs. [`backend`]: the backend in the configuration.
//! - [`apply`] applies a plan file in this process or on a coordinator, and shows the progress.
//! - [`edits`] changes state outside of runs.
//! - [`testing`] plans and applies in memory, for tests of configurations.

mod addresses;
mod apply;
mod backend;
mod command;
mod commands;
mod completion;
mod context;
mod edits;
mod exit;
mod help;
mod identity;
mod invocation;
mod logging;
mod metrics;
mod modules;
mod options;
mod packages;
mod plan;
mod problems;
mod product;
mod project;
mod prompt;
mod protection;
mod render;
mod retention;
mod root;
mod runtime;
mod sealing;
mod shell_words;
mod signals;
mod signature;
mod store;
mod testing;
mod variables;
mod view;

use std::process::ExitCode;

use weft_providers::guard;

#[global_allocator]
static ALLOCATOR: mimalloc::MiMalloc = mimalloc::MiMalloc;

fn main() -> ExitCode {
    let mut arguments = std::env::args_os().skip(1).peekable();
    if arguments.peek().is_some_and(|first| first == guard::COMMAND) {
        return guard::run(arguments.skip(1));
    }
    protection::protect_memory();
    if let Ok(program) = guard::own_program() {
        guard::set_program(program);
    }
    let mut words = Vec::new();
    for argument in arguments {
        match argument.into_string() {
            Ok(word) => words.push(word),
            Err(word) => {
                eprintln!("The argument {} is not UTF-8.", word.to_string_lossy());
                return exit::Exit::FAILED.into();
            }
        }
    }
    invocation::run(words).into()
}
