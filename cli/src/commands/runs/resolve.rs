//! `weft runs resolve`: records the outcome of an operation in doubt.

use weft_coordinator::Client;
use weft_coordinator::event::Decision;
use weft_graph_format::address::NamedObject;
use weft_graph_format::diagnostic::Diagnostic;
use weft_state::RunId;

use super::doubts::{Desk, OpenDoubt, Settled, outcome};
use super::{LIST, Outcome, PLACE, concluded, problems, run_id};
use crate::apply;
use crate::command::{self, Command, Invocation};
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
    run: |invocation| concluded(invocation, block_on(resolve(invocation))),
    ..LIST
};

async fn resolve(invocation: &Invocation<'_>) -> Outcome {
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
            let (status, reason) =
                client.resolve(run, address, decision.clone()).await.map_err(apply::client_problem)?;
            Settled { name: address.clone(), decision: decision.clone(), status, reason }
        }
        None => resolve_here(invocation, &id, address, decision.clone()).await?,
    };
    if !settled.is_settled() {
        return Err(vec![problems::still_in_doubt(address, &settled.reason).about(address)]);
    }
    view.line(&format!("{address} is settled: {}. To continue: weft runs resume {run}", outcome(&settled)));
    Ok(Exit::DONE)
}

async fn resolve_here(
    invocation: &Invocation<'_>,
    run: &RunId,
    address: &str,
    decision: Decision,
) -> Result<Settled, Vec<Diagnostic>> {
    let nothing = || vec![problems::nothing_in_doubt(address, run)];
    let mut desk = Desk::open(invocation, Some(run.clone()), Access::Change).await?.ok_or_else(nothing)?;
    let named: NamedObject = address.parse().map_err(|_| nothing())?;
    let mut matching: Vec<OpenDoubt> =
        desk.doubts().await?.into_iter().filter(|doubt| doubt.is_named(&named)).collect();
    let doubt = match (matching.pop(), matching.is_empty()) {
        (Some(doubt), true) => doubt,
        (Some(_), false) => return Err(vec![problems::several_in_doubt(address)]),
        (None, _) => return Err(nothing()),
    };
    doubt.check(&decision, &desk.owners().await?).map_err(|problem| vec![problem])?;
    let settled = desk.settle(vec![(doubt, decision)]).await?;
    settled.into_iter().next().ok_or_else(nothing)
}
