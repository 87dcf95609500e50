//! `simulate [--seeds N|A..B] [--mutant NAME] [--list] [--show SEED]`: runs seeds, and prints the first history that
//! breaks the promise of runs, which [`weft_simulation`] states.

use std::process::ExitCode;

use weft_simulation::{Failure, Mutant, history, run};

const USAGE: &str = "\
usage: scripts/simulate [--seeds N | --seeds A..B] [--mutant NAME]
       scripts/simulate --show SEED
       scripts/simulate --list

  --seeds   the seeds to run: N for 0..N, default 1000
  --mutant  run with a deliberate bug; the exit code is still 1 when a seed breaks the promise
  --show    print the history of one seed
  --list    list the deliberate bugs";

struct Options {
    seeds: std::ops::Range<u64>,
    mutant: Option<Mutant>,
}

fn main() -> ExitCode {
    // A broken promise panics inside the simulation. Its message is printed below.
    std::panic::set_hook(Box::new(|_| {}));
    let arguments: Vec<String> = std::env::args().skip(1).collect();
    let arguments: Vec<&str> = arguments.iter().map(String::as_str).collect();
    match arguments.as_slice() {
        ["--list"] => {
            Mutant::ALL.iter().for_each(|mutant| println!("{mutant}"));
            ExitCode::SUCCESS
        }
        ["--show", seed] if seed.parse::<u64>().is_ok() => {
            print!("{}", history(seed.parse().unwrap_or_default()));
            ExitCode::SUCCESS
        }
        _ => match options(&arguments) {
            Some(options) => search(&options),
            None => {
                eprintln!("{USAGE}");
                ExitCode::from(2)
            }
        },
    }
}

fn options(mut arguments: &[&str]) -> Option<Options> {
    let mut options = Options { seeds: 0..1000, mutant: None };
    while let [name, value, rest @ ..] = arguments {
        match *name {
            "--seeds" => {
                options.seeds = match value.split_once("..") {
                    Some((first, end)) => first.parse().ok()?..end.parse().ok()?,
                    None => 0..value.parse().ok()?,
                }
            }
            "--mutant" => options.mutant = Some(Mutant::named(value)?),
            _ => return None,
        }
        arguments = rest;
    }
    arguments.is_empty().then_some(options)
}

#[cfg(feature = "mutants")]
fn one(seed: u64, mutant: Option<Mutant>) -> Option<Result<(), Box<Failure>>> {
    Some(match mutant {
        Some(mutant) => weft_simulation::run_mutant(seed, mutant).map(drop),
        None => run(seed).map(drop),
    })
}

#[cfg(not(feature = "mutants"))]
fn one(seed: u64, mutant: Option<Mutant>) -> Option<Result<(), Box<Failure>>> {
    mutant.is_none().then(|| run(seed).map(drop))
}

fn search(options: &Options) -> ExitCode {
    for seed in options.seeds.clone() {
        match one(seed, options.mutant) {
            None => {
                eprintln!("this build has no mutants: use the feature `mutants`, as scripts/simulate does");
                return ExitCode::from(2);
            }
            Some(Ok(())) => {}
            Some(Err(failure)) => {
                print!("{}", failure.history);
                println!("seed {} breaks the promise: {}", failure.seed, failure.reason);
                return ExitCode::FAILURE;
            }
        }
    }
    println!("{} seeds passed", options.seeds.clone().count());
    ExitCode::SUCCESS
}
