//! Hostile inputs: mutated real files and awkward values, for everything that reads text or bytes. Nothing may panic,
//! hang or overflow the stack. A value that is read, written and read again must stay the same.
//!
//! A usual run has about 20,000 inputs. `WEFT_HOSTILE_INPUTS` sets the number (`scripts/test --full` uses a million).
//! `WEFT_HOSTILE_SEED` sets the seed, which is printed. `WEFT_HOSTILE_ONLY=target:number` repeats a single input.

mod mutator;
mod random;
mod seeds;
mod targets;
mod values;

use std::panic::{AssertUnwindSafe, catch_unwind};
use std::sync::Arc;
use std::sync::atomic::{AtomicU64, Ordering};
use std::time::{Duration, Instant};

use random::Random;

/// The number of inputs of all targets together in a usual run.
const INPUTS: u64 = 20_000;

/// The seed of a usual run.
const SEED: u64 = 20_261_121;

/// The stack size of the thread for an input: the smallest of all threads of the program.
const STACK_BYTES: usize = 2 << 20;

/// The number of inputs of one thread. If the stack overflows, the name of the thread shows the range of its inputs.
const INPUTS_A_THREAD: u64 = 500;

/// The time limit for one input on a busy machine. After that, the input counts as hanging.
const PATIENCE: Duration = Duration::from_secs(60);

fn number(name: &str) -> Option<u64> {
    std::env::var(name).ok()?.parse().ok()
}

/// Runs a target. It gets `share` of every thousand inputs.
fn run(target: &'static str, share: u64, check: fn(&mut Random)) {
    let seed = number("WEFT_HOSTILE_SEED").unwrap_or(SEED);
    let count = number("WEFT_HOSTILE_INPUTS").unwrap_or(INPUTS) * share / 1_000;
    let inputs = match std::env::var("WEFT_HOSTILE_ONLY") {
        Err(_) => 0..count,
        Ok(only) => match only.split_once(':') {
            Some((name, index)) if name == target => {
                let index: u64 = index.parse().expect("target:number");
                index..index + 1
            }
            _ => return,
        },
    };
    println!("printed: {target}: {} inputs of seed {seed}", inputs.end - inputs.start);
    let mut start = inputs.start;
    while start < inputs.end {
        let end = inputs.end.min(start + INPUTS_A_THREAD);
        some(target, seed, start..end, check);
        start = end;
    }
}

/// Checks a range of inputs on a separate thread.
fn some(target: &'static str, seed: u64, inputs: std::ops::Range<u64>, check: fn(&mut Random)) {
    let current = Arc::new(AtomicU64::new(inputs.start));
    let seen = Arc::clone(&current);
    let name = format!("{target}:{}..{} of seed {seed}", inputs.start, inputs.end);
    let work = move || {
        for index in inputs {
            current.store(index, Ordering::Relaxed);
            let outcome = catch_unwind(AssertUnwindSafe(|| check(&mut Random::of(seed, target, index))));
            if outcome.is_err() {
                return Err(index);
            }
        }
        Ok(())
    };
    let thread = std::thread::Builder::new().name(name).stack_size(STACK_BYTES).spawn(work).expect("a thread");
    let (mut last, mut since) = (seen.load(Ordering::Relaxed), Instant::now());
    while !thread.is_finished() {
        std::thread::sleep(Duration::from_millis(1));
        let now = seen.load(Ordering::Relaxed);
        if now != last {
            (last, since) = (now, Instant::now());
        }
        assert!(since.elapsed() < PATIENCE, "hangs: WEFT_HOSTILE_SEED={seed} WEFT_HOSTILE_ONLY={target}:{now}");
    }
    match thread.join() {
        Ok(Ok(())) => {}
        Ok(Err(index)) => panic!("again by: WEFT_HOSTILE_SEED={seed} WEFT_HOSTILE_ONLY={target}:{index}"),
        Err(_) => panic!("the thread of {target} ended"),
    }
}

#[test]
fn native_syntax() {
    run("native", 250, targets::native);
}

#[test]
fn templates() {
    run("templates", 100, targets::templates);
}

#[test]
fn json_syntax() {
    run("json", 130, targets::json_syntax);
}

#[test]
fn expressions() {
    run("expressions", 240, targets::expressions);
}

#[test]
fn function_arguments() {
    run("functions", 130, targets::function_arguments);
}

#[test]
fn codecs() {
    run("codecs", 100, targets::codecs);
}

#[test]
fn records() {
    run("records", 40, targets::records);
}

#[test]
fn configurations() {
    run("configurations", 10, targets::configuration);
}
