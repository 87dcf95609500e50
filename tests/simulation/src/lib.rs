//! Tests the promise of runs under any order of events. One seed determines one history.
//!
//! The simulation runs the coordinator's core over the model of the store. One coordinator replaces another, and a
//! replaced coordinator may not know yet that it was replaced. The simulation also runs workers, which decide as the
//! shipped worker does ([`weft_executor::simulation`]). Calls to the simulated cloud take effect at some moment or not
//! at all. Orders and reports go through the codec of the cluster protocol. Workers die, are suspended and come back.
//! Some cannot open a shard, or cannot configure its provider. Streams break. The store tears batches, loses steps that
//! were not durable, and answers late. Coordinators crash, are suspended, and are taken over. Users interrupt.
//!
//! After each step, the whole memory of the coordinator is checked. At the end, the ledger of the cloud is compared
//! with the store. The promise: each operation has at most one unproven call, no effect happens twice, no acknowledged
//! result is lost, every doubt is reported, and the run ends.
//!
//! Reading order: [`run`] runs one seed. `world` takes one random step after another. `seat` is a coordinator,
//! `process` a worker, `provider` its results, `disk` the store, `cloud` the cloud, and `kept` checks the promises of
//! the store.

#![forbid(unsafe_code)]

mod cloud;
mod diary;
mod disk;
mod judge;
mod kept;
mod plan;
mod process;
mod provider;
mod random;
mod seat;
mod world;

use std::panic::{AssertUnwindSafe, catch_unwind};

pub use weft_mutants::Mutant;

/// The result of a history. Equal histories have equal results.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Summary {
    /// A digest of the history.
    pub history: u64,
    /// The time at the end of the history, in milliseconds.
    pub ended_ms: u64,
    /// The number of terms.
    pub terms: u64,
}

/// A history that breaks the promise.
#[derive(Clone, Debug)]
pub struct Failure {
    /// The seed.
    pub seed: u64,
    /// The broken condition.
    pub reason: String,
    /// The history, line by line.
    pub history: String,
}

/// Runs one seed.
///
/// # Errors
/// Returns an error if the promise is broken.
pub fn run(seed: u64) -> Result<Summary, Box<Failure>> {
    let diary = diary::Diary::quiet();
    if attempt(seed, diary.clone()).is_ok() {
        return Ok(diary.summary());
    }
    // Runs the seed again, this time with text.
    let diary = diary::Diary::traced();
    let reason = match attempt(seed, diary.clone()) {
        Err(reason) => reason,
        Ok(()) => String::from("the second run of the seed went another way than the first"),
    };
    Err(Box::new(Failure { seed, reason, history: diary.text() }))
}

/// The whole history of one seed, as text.
pub fn history(seed: u64) -> String {
    let diary = diary::Diary::traced();
    let outcome = attempt(seed, diary.clone());
    let end = outcome.err().unwrap_or_else(|| String::from("the promise was kept"));
    format!("{}{end}\n", diary.text())
}

fn attempt(seed: u64, diary: diary::Diary) -> Result<(), String> {
    catch_unwind(AssertUnwindSafe(|| world::World::new(seed, diary).run())).map_err(|panic| {
        let text = panic.downcast_ref::<String>().cloned();
        text.or_else(|| panic.downcast_ref::<&str>().map(|text| (*text).to_owned())).unwrap_or_default()
    })
}

/// Runs a seed with a deliberate bug.
///
/// # Errors
/// Returns an error if the promise is broken, which is the expected result.
#[cfg(feature = "mutants")]
pub fn run_mutant(seed: u64, mutant: Mutant) -> Result<Summary, Box<Failure>> {
    weft_mutants::activate(Some(mutant));
    let outcome = run(seed);
    weft_mutants::activate(None);
    outcome
}
