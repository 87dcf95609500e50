//! The `weft` command.
//!
//! Reading order: [`invocation`] takes the command line apart ([`options`], [`command`]) and calls one of [`commands`];
//! [`context`] is where it runs, [`view`] where its words go, [`render`] what they look like, [`exit`] how it ends.
//! [`project`] is a configuration with its providers, [`modules`] the list of what it calls, [`variables`] the values it is given, [`plan`] makes a plan file
//! of it; [`store`] is where state and runs are, [`backend`] what says so; [`outline`] turns a plan file into what a coordinator carries out, and
//! [`apply`] has it carried out, here or elsewhere, and shows how it goes; [`edits`] changes state outside of any run;
//! [`testing`] does all of it in memory, for tests of configurations.

mod addresses;
mod apply;
mod backend;
mod command;
mod commands;
mod completion;
mod context;
mod edits;
mod exit;
mod generate;
mod help;
mod invocation;
mod logging;
mod modules;
mod options;
mod outline;
mod packages;
mod plan;
mod product;
mod project;
mod prompt;
mod render;
mod retention;
mod runtime;
mod sealing;
mod shell_words;
mod signals;
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
