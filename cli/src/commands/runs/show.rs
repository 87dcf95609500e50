//! `weft runs show`.

use weft_coordinator::Client;
use weft_coordinator::listing::{OperationListing, RunDetails, RunListing, WAITS_LISTED};
use weft_coordinator::outline::outline;
use weft_protocol::diagnostics::decode_diagnostics;
use weft_state::{OpStatus, StoreError};

use super::list::{duration, outcome};
use super::{load, problems, readable, run_id, said};
use crate::apply;
use crate::command::{CommandResult, Invocation};
use crate::context::unix_ms;
use crate::exit::Exit;
use crate::identity;
use crate::render::{statuses, times};

/// The indentation of the lines that belong to an operation.
const INDENT: &str = "            ";

/// Shows a run and its operations.
pub(super) async fn show(invocation: &Invocation<'_>) -> CommandResult {
    let Invocation { arguments, view, .. } = invocation;
    let mut details = details(invocation).await?;
    let all = details.operations.len();
    if arguments.switch("failed", false) {
        details.operations.retain(went_wrong);
    }
    if arguments.switch("json", false) {
        view.document(&(serde_json::to_string_pretty(&details).unwrap_or_default() + "\n"));
        return Ok(Exit::DONE);
    }
    head(&details.run, unix_ms()).iter().for_each(|line| view.line(line));
    view.line("");
    if details.operations.is_empty() && all > 0 {
        view.line("No operation failed or is in doubt.");
    }
    for operation in &details.operations {
        lines(operation, &details.run.id).iter().for_each(|line| view.line(line));
    }
    Ok(Exit::DONE)
}

async fn details(invocation: &Invocation<'_>) -> Result<RunDetails, Vec<weft_graph_format::diagnostic::Diagnostic>> {
    let arguments = &invocation.arguments;
    let named = arguments.positionals.first().map(String::as_str);
    let none = || vec![problems::no_runs()];
    if let Some(address) = apply::coordinator(arguments) {
        let mut client =
            Client::connect(&identity::dialer(arguments)?, &address).await.map_err(apply::client_problem)?;
        return client.show(named).await.map_err(apply::client_problem);
    }
    let store = readable(invocation).await?.ok_or_else(none)?;
    let run = match named {
        Some(text) => run_id(text)?,
        None => store.runs().await.map_err(said)?.first().ok_or_else(none)?.id.clone(),
    };
    let found = store.run(&run).await.map_err(said)?.ok_or_else(|| said(StoreError::NoRun(run.clone())))?;
    match load(store.as_ref(), &run).await {
        Ok((found, plan, _)) => Ok(RunDetails::new(&found, &outline(&plan))),
        // The plan of a finished run may be unreadable: for example, the state was not yet encrypted when the run
        // ended, or was encrypted with other keys. Only the header of the run is shown then.
        Err(_) if found.header.status.is_final() => {
            Ok(RunDetails { run: RunListing::new(&found.header), operations: Vec::new() })
        }
        Err(problems) => Err(problems),
    }
}

/// Whether an operation failed or is in doubt.
fn went_wrong(operation: &OperationListing) -> bool {
    [OpStatus::Failed, OpStatus::InDoubt].iter().any(|status| status.word() == operation.status)
}

/// The lines that describe the run.
fn head(run: &RunListing, now: u64) -> Vec<String> {
    let mut lines = vec![format!("{}  {}", run.id, outcome(run))];
    let by = match (run.user.as_str(), run.host.as_str()) {
        ("", "") => String::new(),
        (user, host) => format!(", carried out by {user} on {host}"),
    };
    let ended = run.ended_unix_ms.map(|at| format!(", ended {}", times::moment(at))).unwrap_or_default();
    let took = duration(run, now).map(|took| format!(", {took}")).unwrap_or_default();
    lines.push(format!("began {}{by}{ended}{took}", times::moment(run.started_unix_ms)));
    if !run.holder.is_empty() {
        lines.push(format!("held by {}", run.holder));
    }
    lines.extend(run.changes.as_ref().map(statuses::changes));
    lines.push(format!("plan {}", run.plan));
    lines
}

/// The lines about an operation: one line about the operation itself, then what it waits for, and its problems.
fn lines(operation: &OperationListing, run: &str) -> Vec<String> {
    let deposed = operation.deposed.as_ref().map(|key| format!(" (deposed object {key})")).unwrap_or_default();
    let worker = if operation.worker.is_empty() {
        String::new()
    } else {
        format!("  attempt {} by {}", operation.attempt, operation.worker)
    };
    let unproven = if operation.absence_unproven { "  (an object may have been created)" } else { "" };
    let status = statuses::status(&operation.status);
    let (action, address) = (&operation.action, &operation.address);
    let mut lines = vec![format!("{status:<9} {action:<8} {address}{deposed}{worker}{unproven}")];
    if !operation.waits_for.is_empty() {
        let more = if operation.waits_for.len() == WAITS_LISTED { ", ..." } else { "" };
        lines.push(format!("{INDENT}waits for {}{more}", operation.waits_for.join(", ")));
    }
    if operation.status == OpStatus::InDoubt.word() {
        lines.push(format!("{INDENT}waits for you: weft runs settle {run}"));
    }
    for problem in decode_diagnostics(&operation.diagnostics) {
        let detail = problem.detail.replace('\n', &format!("\n{INDENT}"));
        lines.push(format!("{INDENT}{}: {detail}", problem.summary));
    }
    lines
}

#[cfg(test)]
mod tests {
    use expect_test::expect;
    use weft_coordinator::listing::OperationCounts;
    use weft_state::{ChangeTotals, Opaque};

    use super::*;

    fn operation(address: &str, status: OpStatus) -> OperationListing {
        OperationListing {
            address: address.to_owned(),
            action: "create".into(),
            status: status.word().to_owned(),
            provider_instance: String::new(),
            worker: "home".to_owned(),
            attempt: 1,
            deposed: None,
            absence_unproven: false,
            object_kept: false,
            waits_for: Vec::new(),
            intended: true,
            operation: 0,
            diagnostics: Opaque::default(),
        }
    }

    #[test]
    fn a_run_is_shown_with_its_times_and_what_each_operation_waits_for() {
        let run = RunListing {
            id: "run-3a8114e0413c0c77".to_owned(),
            status: "in-doubt".to_owned(),
            plan: "0123".to_owned(),
            started: String::new(),
            counts: OperationCounts { done: 1, skipped: 1, in_doubt: 1, ..OperationCounts::default() },
            user: "alice".to_owned(),
            host: "build-7".to_owned(),
            ended: String::new(),
            changes: Some(ChangeTotals { added: 1, ..ChangeTotals::default() }),
            ended_unix_ms: None,
            holder: String::new(),
            started_unix_ms: 1_764_165_731_000,
        };
        let waiting = OperationListing {
            waits_for: vec!["a.doubtful".to_owned()],
            worker: String::new(),
            ..operation("a.after", OpStatus::Skipped)
        };
        let shown = [operation("a.done", OpStatus::Done), operation("a.doubtful", OpStatus::InDoubt), waiting];
        let mut text = head(&run, 0);
        text.extend(shown.iter().flat_map(|operation| lines(operation, &run.id)));
        expect![[r#"
            run-3a8114e0413c0c77  in doubt: 1 done, 1 skipped, 1 in doubt
            began 2025-11-26 14:02:11 UTC, carried out by alice on build-7
            1 added, 0 changed, 0 destroyed
            plan 0123
            done      create   a.done  attempt 1 by home
            in doubt  create   a.doubtful  attempt 1 by home
                        waits for you: weft runs settle run-3a8114e0413c0c77
            skipped   create   a.after
                        waits for a.doubtful"#]]
        .assert_eq(&text.join("\n"));
        assert!(went_wrong(&shown[1]) && !went_wrong(&shown[0]) && !went_wrong(&shown[2]));
    }
}
