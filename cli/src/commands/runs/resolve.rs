//! `weft runs resolve`: records the outcome of an operation in doubt.

use weft_coordinator::Client;
use weft_coordinator::event::Decision;
use weft_coordinator::listing::{OperationListing, RunDetails};
use weft_graph_format::address::NamedObject;
use weft_graph_format::diagnostic::Diagnostic;
use weft_state::{OpStatus, RunId};

use super::doubts::{Desk, OpenDoubt, Settled, outcome};
use super::{LIST, PLACE, problems, run_id};
use crate::apply;
use crate::command::{self, Command, CommandResult, Invocation};
use crate::exit::Exit;
use crate::identity;
use crate::options::{switch, text};
use crate::runtime::block_on;
use crate::store::Access;

/// The command.
pub const RESOLVE: Command = Command {
    words: &["runs", "resolve"],
    operands: "RUN ADDRESS",
    about: "Record the outcome of an operation in doubt",
    flags: &[
        command::VIEW,
        command::VARIABLES_UNLISTED,
        command::LOCK,
        command::STORE,
        command::COORDINATOR_OF_RUNS,
        command::TLS,
        PLACE,
        &[
            text("adopt", "ID", "The object exists and has this id. Read it and store it."),
            switch(
                "absent",
                "The object does not exist, or the operation had no effect. The operation is carried out again.",
            ),
            switch("retry", "Carry out the operation again, and accept a possible duplicate."),
            switch("forget", "Give up the operation and leave the state as it is."),
            text("plugin-dir", "DIR", "Also look for provider packages in DIR. Can be repeated."),
        ],
    ],
    run: |invocation| invocation.conclude(block_on(resolve(invocation))),
    ..LIST
};

async fn resolve(invocation: &Invocation<'_>) -> CommandResult {
    let Invocation { arguments, view, .. } = invocation;
    let [run, address] = arguments.positionals.as_slice() else {
        return Ok(invocation.mistake(&problems::resolve_arguments()));
    };
    let mut decisions: Vec<Decision> =
        arguments.value("adopt").map(|id| Decision::Adopt(id.to_owned())).into_iter().collect();
    for (name, decision) in [("absent", Decision::Absent), ("retry", Decision::Retry), ("forget", Decision::Forget)] {
        if arguments.switch(name, false) {
            decisions.push(decision);
        }
    }
    let [decision] = decisions.as_slice() else {
        return Ok(invocation.mistake(&problems::decision_missing()));
    };
    let id = run_id(run)?;
    let settled = match apply::coordinator(arguments) {
        Some(at) => {
            let mut client =
                Client::connect(&identity::dialer(arguments)?, &at).await.map_err(apply::client_problem)?;
            // If the run cannot be shown, the coordinator says why when it refuses the decision.
            let name = match client.show(Some(run)).await {
                Ok(details) => {
                    let doubts = in_doubt(&details);
                    named(open(details), &doubts, &id, address)?.name()
                }
                Err(_) => address.clone(),
            };
            let (status, reason) = client.resolve(run, &name, decision.clone()).await.map_err(apply::client_problem)?;
            Settled { name, decision: decision.clone(), status, reason }
        }
        None => resolve_here(invocation, &id, address, decision.clone()).await?,
    };
    let name = &settled.name;
    if !settled.is_settled() {
        return Err(vec![problems::still_in_doubt(name, &settled.reason).about(name)]);
    }
    view.line(&format!("{name} is settled: {}. To continue: weft runs resume {run}", outcome(&settled)));
    Ok(Exit::DONE)
}

/// The names of the objects in doubt in a coordinator's run.
fn in_doubt(details: &RunDetails) -> Vec<String> {
    let doubtful = details.operations.iter().filter(|operation| operation.status == OpStatus::InDoubt.word());
    doubtful.map(|operation| OpenDoubt::new(operation.clone()).name()).collect()
}

/// The operations of a coordinator's run that a decision may settle. The coordinator checks that no worker still
/// carries them out.
fn open(details: RunDetails) -> Vec<OpenDoubt> {
    let is_open = |operation: &OperationListing| {
        [OpStatus::InDoubt.word(), OpStatus::Intended.word()].contains(&operation.status.as_str())
    };
    details.operations.into_iter().filter(is_open).map(OpenDoubt::new).collect()
}

/// The names of these doubts.
fn names(doubts: &[OpenDoubt]) -> Vec<String> {
    doubts.iter().map(OpenDoubt::name).collect()
}

/// The one open operation that `address` names. If there is none, the message lists only `doubts`, because the other
/// open operations of a coordinator may still be running.
fn named(open: Vec<OpenDoubt>, doubts: &[String], run: &RunId, address: &str) -> Result<OpenDoubt, Vec<Diagnostic>> {
    let nothing = || vec![problems::nothing_in_doubt(address, run, doubts)];
    let named: NamedObject = address.parse().map_err(|_| nothing())?;
    let mut matching: Vec<OpenDoubt> = open.into_iter().filter(|doubt| doubt.is_named(&named)).collect();
    match matching.len() {
        0 | 1 => matching.pop().ok_or_else(nothing),
        _ => Err(vec![problems::several_in_doubt(address, &names(&matching))]),
    }
}

async fn resolve_here(
    invocation: &Invocation<'_>,
    run: &RunId,
    address: &str,
    decision: Decision,
) -> Result<Settled, Vec<Diagnostic>> {
    let nothing = || vec![problems::nothing_in_doubt(address, run, &[])];
    let mut desk = Desk::open(invocation, Some(run.clone()), Access::Change).await?.ok_or_else(nothing)?;
    let open = desk.doubts().await?;
    let doubts = names(&open);
    let doubt = named(open, &doubts, run, address)?;
    doubt.check(&decision, &desk.owners().await?).map_err(|problem| vec![problem])?;
    let settled = desk.settle(vec![(doubt, decision)]).await?;
    settled.into_iter().next().ok_or_else(nothing)
}

#[cfg(test)]
mod tests {
    use weft_graph_format::operation_kind::OperationKind;

    use super::*;

    fn doubt(deposed: Option<&str>) -> OpenDoubt {
        let (address, deposed) = ("a.b".to_owned(), deposed.map(str::to_owned));
        let (instance, action) = (address.parse().ok(), OperationKind::Delete.into());
        OpenDoubt { operation: 1, address, instance, deposed, action, reason: String::new(), candidate: None }
    }

    #[test]
    fn an_object_in_doubt_is_named_and_listed() {
        let run = RunId::parse("run-1").unwrap();
        let of = |open: &[OpenDoubt], address: &str| {
            let found = named(open.to_vec(), &names(open), &run, address);
            found.map(|doubt| doubt.name()).map_err(|problems| problems[0].detail.clone())
        };
        let (one, both) = ([doubt(Some("0a1b2c3d"))], [doubt(None), doubt(Some("0a1b2c3d"))]);
        let deposed = "a.b (deposed object 0a1b2c3d)";
        assert_eq!(of(&one, "a.b"), Ok(deposed.to_owned()));
        assert_eq!(of(&both, deposed), Ok(deposed.to_owned()));
        for (open, address) in [(&both[..], "a.b"), (&both[..], "a.c"), (&both[..], "?")] {
            let detail = of(open, address).unwrap_err();
            assert!(detail.contains(&format!("  - a.b\n  - {deposed}")), "{detail}");
        }
        assert!(!of(&[], "a.b").unwrap_err().contains("  - "));
    }
}
