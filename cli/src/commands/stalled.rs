//! Unfinished runs that no process carries out. Commands that plan report them first.

use std::io::IsTerminal as _;

use weft_coordinator::listing::RunListing;
use weft_state::{RunHeader, RunStatus};

use crate::command::Invocation;
use crate::context::unix_ms;
use crate::prompt::Prompt;
use crate::render::{events, statuses, times};
use crate::view::View;

/// The maximum number of unfinished runs that are described. The list of runs contains all of them.
const DESCRIBED: usize = 5;

/// Whether a run waits for the user.
fn stands_still(header: &RunHeader) -> bool {
    matches!(header.status, RunStatus::Stopped | RunStatus::InDoubt)
}

/// The runs that wait for the user, newest first.
pub fn unfinished(headers: &[RunHeader]) -> Vec<&RunHeader> {
    headers.iter().filter(|header| stands_still(header)).collect()
}

/// Reports the runs that wait for the user, with the commands that continue them. Prints nothing if there are none.
pub fn report_stalled(view: &View, headers: &[RunHeader]) {
    let (found, now) = (unfinished(headers), unix_ms());
    for header in found.iter().take(DESCRIBED) {
        view.aside(&described(header, now));
        view.event(events::unfinished_run(&RunListing::new(header)));
    }
    if found.len() > DESCRIBED {
        view.aside(&format!("Other unfinished runs: {}. To see them: weft runs list", found.len() - DESCRIBED));
    }
}

/// Before a command changes objects, reports the runs that wait for the user. If there are such runs, and the user may
/// be asked on a terminal, the user decides whether the command continues. Returns `false` if the user declines.
pub fn goes_on(invocation: &Invocation<'_>, headers: &[RunHeader], doing: &str) -> bool {
    report_stalled(&invocation.view, headers);
    let Some(newest) = unfinished(headers).first().copied() else { return true };
    let approved = invocation.arguments.switch("auto-approve", false);
    // A script may pipe the answers to other questions, and does not expect this question.
    if approved || !invocation.asks() || !std::io::stdin().is_terminal() {
        return true;
    }
    let question = format!("Do you want to {doing} before run {} is finished?", newest.id);
    let detail = "Changes that the run has not made are planned again.\nChanges to objects that it holds or has in doubt are \
                  refused.\n\
                  Only 'yes' will be accepted to continue.";
    let goes_on = Prompt::new().confirm(&question, detail);
    if !goes_on {
        invocation.view.line(&format!("Nothing was done. To continue the run: weft runs resume {}", newest.id));
    }
    goes_on
}

/// Describes an unfinished run: the user who began it, the time, its results so far, and the commands that settle it.
fn described(header: &RunHeader, now: u64) -> String {
    let id = &header.id;
    let listing = RunListing::new(header);
    let (began, ago) = (times::moment(header.started_unix_ms), times::ago(header.started_unix_ms, now));
    let by = match (listing.user.as_str(), listing.host.as_str()) {
        ("", "") => String::from("It began"),
        (user, host) => format!("{user} began it on {host},"),
    };
    let state = if header.abandoned { "was given up, and has operations in doubt" } else { "is not finished" };
    let heard = header.lease.as_ref().and_then(|lease| lease.age_ms);
    let heard = heard.map(|age| format!(", last heartbeat {} s ago", age / 1000)).unwrap_or_default();
    let mut text = format!("Run {id} {state}.\n  {by} {began}, {ago}{heard}.\n  {}", statuses::counts(&listing.counts));
    let mut way = |words: &str, command: &str| text.push_str(&format!("\n  {words:<16}weft runs {command} {id}"));
    if header.counts.in_doubt > 0 {
        way("Settle doubts:", "settle");
    }
    if !header.abandoned {
        way("Continue it:", "resume");
        way("Give it up:", "abandon");
    }
    way("Look at it:", "show");
    text
}

#[cfg(test)]
mod tests {
    use expect_test::expect;
    use weft_state::{Digest, Holder, OpCounts, RunId, RunPast};

    use super::*;

    fn header(status: RunStatus, in_doubt: u32) -> RunHeader {
        let holder = Holder { machine: "build-7".to_owned(), process: 12, user: "alice".to_owned() };
        RunHeader {
            id: RunId::parse("run-3a8114e0413c0c77").unwrap(),
            plan: Digest::default(),
            started_unix_ms: 1_764_165_731_000,
            status,
            counts: OpCounts { pending: 2, running: 0, done: 4, failed: 1, skipped: 1, in_doubt },
            claimed: true,
            abandoned: false,
            lease: None,
            past: RunPast { holder, ..RunPast::default() },
        }
    }

    #[test]
    fn an_unfinished_run_is_described_with_its_owner_its_counts_and_the_ways_on() {
        let now = 1_764_165_731_000 + 200_000;
        expect![[r#"
            Run run-3a8114e0413c0c77 is not finished.
              alice began it on build-7, 2025-11-26 14:02:11 UTC, 3 minutes ago.
              4 done, 2 pending, 1 failed, 1 skipped, 1 in doubt
              Settle doubts:  weft runs settle run-3a8114e0413c0c77
              Continue it:    weft runs resume run-3a8114e0413c0c77
              Give it up:     weft runs abandon run-3a8114e0413c0c77
              Look at it:     weft runs show run-3a8114e0413c0c77"#]]
        .assert_eq(&described(&header(RunStatus::Stopped, 1), now));
        let given_up = RunHeader { abandoned: true, ..header(RunStatus::InDoubt, 2) };
        expect![[r#"
            Run run-3a8114e0413c0c77 was given up, and has operations in doubt.
              alice began it on build-7, 2025-11-26 14:02:11 UTC, 3 minutes ago.
              4 done, 2 pending, 1 failed, 1 skipped, 2 in doubt
              Settle doubts:  weft runs settle run-3a8114e0413c0c77
              Look at it:     weft runs show run-3a8114e0413c0c77"#]]
        .assert_eq(&described(&given_up, now));
    }

    #[test]
    fn only_runs_that_wait_for_the_user_are_reported() {
        let headers = [RunStatus::Running, RunStatus::Stopped, RunStatus::Done, RunStatus::Failed, RunStatus::InDoubt];
        let headers = headers.map(|status| header(status, 0));
        let found: Vec<RunStatus> = unfinished(&headers).iter().map(|header| header.status).collect();
        assert_eq!(found, [RunStatus::Stopped, RunStatus::InDoubt]);
    }
}
