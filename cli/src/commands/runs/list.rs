//! `weft runs list`.

use unicode_width::UnicodeWidthStr as _;
use weft_coordinator::Client;
use weft_coordinator::listing::{RunListing, listings};
use weft_state::RunStatus;

use super::{readable, said};
use crate::apply;
use crate::command::{CommandResult, Invocation};
use crate::commands::stalled::report_stalled;
use crate::context::unix_ms;
use crate::exit::Exit;
use crate::identity;
use crate::render::{statuses, times};

/// The number of digits of a plan's digest in the table. `-json` has all of them.
const DIGEST_SHOWN: usize = 12;
/// The number of columns.
const COLUMNS: usize = 10;
/// The headings.
const HEADINGS: [&str; COLUMNS] =
    ["RUN", "BEGUN (UTC)", "WHO", "HOST", "PLAN", "DURATION", "ADDED", "CHANGED", "DESTROYED", "OUTCOME"];
/// The columns with numbers, which are aligned to the right.
const NUMBERS: std::ops::Range<usize> = 6..9;
/// The text for an unknown value.
const UNKNOWN: &str = "-";

/// Lists the runs, newest first.
pub(super) async fn list(invocation: &Invocation<'_>) -> CommandResult {
    let Invocation { arguments, view, .. } = invocation;
    let json = arguments.switch("json", false);
    let runs = match apply::coordinator(arguments) {
        Some(address) => {
            let mut client =
                Client::connect(&identity::dialer(arguments)?, &address).await.map_err(apply::client_problem)?;
            client.list().await.map_err(apply::client_problem)?
        }
        None => match readable(invocation).await? {
            Some(store) => {
                if !json {
                    report_stalled(view, &store.runs().await.map_err(said)?);
                }
                listings(store.as_ref()).await.map_err(said)?
            }
            None => Vec::new(),
        },
    };
    if json {
        view.document(&(serde_json::to_string_pretty(&runs).unwrap_or_default() + "\n"));
        return Ok(Exit::DONE);
    }
    if runs.is_empty() {
        view.line("There are no runs.");
        return Ok(Exit::DONE);
    }
    table(&runs, unix_ms()).iter().for_each(|line| view.line(line));
    Ok(Exit::DONE)
}

/// The runs as lines, below their headings.
fn table(runs: &[RunListing], now: u64) -> Vec<String> {
    let mut rows = vec![HEADINGS.map(str::to_owned)];
    rows.extend(runs.iter().map(|run| row(run, now)));
    let width = |column: usize| rows.iter().map(|row| row[column].width()).max().unwrap_or(0);
    let widths: Vec<usize> = (0..COLUMNS).map(width).collect();
    let cell = |(column, text): (usize, &String)| {
        let space = " ".repeat(widths[column].saturating_sub(text.width()));
        if NUMBERS.contains(&column) { format!("{space}{text}") } else { format!("{text}{space}") }
    };
    let line = |row: &[String; COLUMNS]| row.iter().enumerate().map(cell).collect::<Vec<_>>().join("  ");
    rows.iter().map(|row| line(row).trim_end().to_owned()).collect()
}

fn row(run: &RunListing, now: u64) -> [String; COLUMNS] {
    let known = |text: &str| if text.is_empty() { UNKNOWN.to_owned() } else { text.to_owned() };
    let changes = |pick: fn(&weft_state::ChangeTotals) -> u32| {
        run.changes.as_ref().map_or_else(|| UNKNOWN.to_owned(), |changes| pick(changes).to_string())
    };
    [
        run.id.clone(),
        times::minute(run.started_unix_ms),
        known(&run.user),
        known(&run.host),
        run.plan.chars().take(DIGEST_SHOWN).collect(),
        duration(run, now).unwrap_or_else(|| UNKNOWN.to_owned()),
        changes(|changes| changes.added),
        changes(|changes| changes.changed),
        changes(|changes| changes.destroyed),
        outcome(run),
    ]
}

/// The time from the start of a run to its end, or to `now` if the run is in progress. `None` for a stopped run,
/// because its end is not recorded.
pub(super) fn duration(run: &RunListing, now: u64) -> Option<String> {
    let until = match run.ended_unix_ms {
        Some(ended) => ended,
        None if run.status == RunStatus::Running.word() => now,
        None => return None,
    };
    Some(times::between(run.started_unix_ms, until))
}

/// The status of a run. If the run has not completed everything, the numbers of operations by status follow.
pub(super) fn outcome(run: &RunListing) -> String {
    let word = statuses::status(&run.status);
    match run.status == RunStatus::Done.word() {
        true => word.to_owned(),
        false => format!("{word}: {}", statuses::counts(&run.counts)),
    }
}

#[cfg(test)]
mod tests {
    use expect_test::expect;
    use weft_coordinator::listing::OperationCounts;
    use weft_state::ChangeTotals;

    use super::*;

    /// A run that has completed successfully.
    fn done() -> RunListing {
        RunListing {
            id: "run-3a8114e0413c0c77".to_owned(),
            status: "done".to_owned(),
            plan: "0123456789abcdef0123456789abcdef".to_owned(),
            started: "2025-11-26T14:02:11Z".to_owned(),
            counts: OperationCounts { done: 14, ..OperationCounts::default() },
            user: "alice".to_owned(),
            host: "build-7".to_owned(),
            ended: String::new(),
            changes: Some(ChangeTotals { added: 12, changed: 1, destroyed: 0 }),
            ended_unix_ms: Some(1_764_165_731_000 + 187_000),
            holder: String::new(),
            started_unix_ms: 1_764_165_731_000,
        }
    }

    #[test]
    fn runs_are_a_table_with_headings() {
        let stopped = RunListing {
            id: "run-00ff00ff00ff00ff".to_owned(),
            status: "in-doubt".to_owned(),
            counts: OperationCounts { done: 3, skipped: 1, in_doubt: 1, ..OperationCounts::default() },
            user: String::new(),
            host: String::new(),
            changes: None,
            ended_unix_ms: None,
            ..done()
        };
        expect![[r#"
            RUN                   BEGUN (UTC)       WHO    HOST     PLAN          DURATION  ADDED  CHANGED  DESTROYED  OUTCOME
            run-3a8114e0413c0c77  2025-11-26 14:02  alice  build-7  0123456789ab  3m7s         12        1          0  done
            run-00ff00ff00ff00ff  2025-11-26 14:02  -      -        0123456789ab  -             -        -          -  in doubt: 3 done, 1 skipped, 1 in doubt"#]]
        .assert_eq(&table(&[done(), stopped], 0).join("\n"));
    }
}
