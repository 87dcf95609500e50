//! The cleanup after the runs (`run` blocks) of a test file. The cleanup destroys everything that the runs have
//! created, and writes the remaining objects to a state file.

use std::sync::Arc;
use std::sync::atomic::Ordering;

use smol_str::SmolStr;
use weft_graph_format::address::ResourceMode;
use weft_graph_format::diagnostic::{Diagnostic, has_errors};
use weft_graph_format::plan_file::UiMode;
use weft_state::{ModelStore, RunStore, Snapshot};

use super::{FileRunner, MAIN};
use crate::plan::{PARALLELISM, Wishes};
use crate::testing::engine::{Engine, Tested};
use crate::testing::interrupts::Wish;
use crate::testing::problems;
use crate::testing::report::{Interrupted, LeftOver, TestReport};

/// The name of the state file for the remaining objects, without `.tfstate`. If the command leaves several states, the
/// names of all files except the first one also contain a number.
const ERRORED: &str = "errored_test";

/// The run that last changed a state, with what the cleanup needs.
#[derive(Clone)]
pub struct LastRun {
    /// The index of the run in the file.
    pub number: usize,
    /// The name of the run.
    pub name: SmolStr,
    /// The configuration that the run tested.
    pub tested: Tested,
    /// The diagnostics of the configuration.
    pub warnings: Vec<Diagnostic>,
}

/// Destroys everything that the runs of a file have created. The state that was changed last comes first.
pub async fn clean(runner: &FileRunner<'_>, report: &TestReport<'_>) {
    let mut states: Vec<(&LastRun, &Arc<ModelStore>)> =
        runner.states.values().filter_map(|held| Some((held.last.as_ref()?, &held.store))).collect();
    states.sort_by_key(|(last, _)| std::cmp::Reverse(last.number));
    for (last, store) in states {
        if runner.engine.interrupts.wish() == Wish::Cancel {
            leave(runner, report, &last.name).await;
            return;
        }
        let mut problems = last.warnings.clone();
        problems.extend(destroy(runner.engine, &last.tested, store).await);
        let left = left_over(store).await;
        let mut path = None;
        if !left.is_empty() {
            match keep(store, runner.engine).await {
                Ok(kept) => path = Some(kept),
                Err(problem) => problems.push(problem),
            }
        }
        report.cleaned(&runner.file.name, &last.name, &problems, &left, path.as_deref());
    }
}

async fn destroy(engine: &Engine<'_>, tested: &Tested, store: &Arc<ModelStore>) -> Vec<Diagnostic> {
    let snapshot = match store.snapshot().await {
        Ok(snapshot) => snapshot,
        Err(error) => return vec![crate::store::problem(&error)],
    };
    if snapshot.instances.is_empty() && snapshot.named_outputs().next().is_none() {
        return Vec::new();
    }
    let wishes = Wishes { mode: UiMode::Destroy, refresh: true, parallelism: PARALLELISM, ..Wishes::default() };
    let mut plan = engine.plan(tested, Arc::new(snapshot), &wishes).await;
    let mut problems = std::mem::take(&mut plan.problems);
    let (file, inputs) = (plan.file.take(), std::mem::take(&mut plan.inputs));
    plan.close().await;
    if let Some(file) = file.filter(|_| !has_errors(&problems)) {
        problems.extend(engine.apply(tested, file, inputs, store).await);
    }
    problems
}

/// The managed objects in a state.
async fn left_over(store: &Arc<ModelStore>) -> Vec<LeftOver> {
    store.snapshot().await.map(|snapshot| objects(&snapshot)).unwrap_or_default()
}

fn objects(snapshot: &Snapshot) -> Vec<LeftOver> {
    let mut left = Vec::new();
    for (address, stored) in snapshot.in_text_order() {
        let record = &stored.record;
        if record.mode() != ResourceMode::Managed {
            continue;
        }
        let one = |deposed| LeftOver { address: address.clone(), deposed };
        left.extend(record.current.iter().map(|_| one(None)));
        left.extend(record.deposed.keys().map(|key| one(Some(key.to_string()))));
    }
    left
}

/// Writes a state to a file that no other state of this test uses. An existing file with this name is renamed.
async fn keep(store: &Arc<ModelStore>, engine: &Engine<'_>) -> Result<String, Diagnostic> {
    let path = match engine.kept.fetch_add(1, Ordering::Relaxed) {
        0 => format!("{ERRORED}.tfstate"),
        number => format!("{ERRORED}.{number}.tfstate"),
    };
    let failed = |error: &dyn std::fmt::Display| problems::state_not_kept(&path, error);
    let bytes = store.export().await.map_err(|error| failed(&error))?.unwrap_or_default();
    set_aside(&path).map_err(|error| failed(&error))?;
    write(&path, &bytes).map_err(|error| failed(&error))?;
    Ok(path)
}

/// Renames a file to an unused name, so that a later test does not overwrite it.
fn set_aside(path: &str) -> std::io::Result<()> {
    let taken = |path: &str| std::fs::symlink_metadata(path).is_ok();
    if !taken(path) {
        return Ok(());
    }
    let mut aside = format!("{path}.backup");
    let mut number = 0_usize;
    while taken(&aside) {
        number += 1;
        aside = format!("{path}.{number}.backup");
    }
    std::fs::rename(path, aside)
}

/// Writes a file that only its owner may read, because a state contains secrets.
fn write(path: &str, bytes: &[u8]) -> std::io::Result<()> {
    use std::io::Write as _;
    use std::os::unix::fs::OpenOptionsExt as _;
    let mut file = std::fs::OpenOptions::new().write(true).create(true).truncate(true).mode(0o600).open(path)?;
    file.write_all(bytes)
}

/// Handles the second interrupt: lists the existing objects, and writes them to a file.
pub async fn leave(runner: &FileRunner<'_>, report: &TestReport<'_>, run: &str) {
    let mut found = Interrupted { planned: runner.making.clone(), ..Interrupted::default() };
    let mut written = Vec::new();
    for (source, held) in &runner.states {
        let left = left_over(&held.store).await;
        if left.is_empty() {
            continue;
        }
        written.extend(keep(&held.store, runner.engine).await);
        match source.as_str() {
            MAIN => found.state = left,
            source => {
                let by = held.last.as_ref().map_or(run, |last| last.name.as_str());
                found.states.push((by.to_owned(), source.to_owned(), left));
            }
        }
    }
    report.left(&runner.file.name, run, &found, &written);
}
