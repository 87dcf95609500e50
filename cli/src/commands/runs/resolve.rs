//! `weft runs resolve`: records the outcome of an operation in doubt.

use weft_coordinator::event::{Decision, UserResolution};
use weft_coordinator::listing::doubtful;
use weft_coordinator::{Client, RunOptions};
use weft_graph_format::diagnostic::Diagnostic;
use weft_state::{OpIndex, OpStatus, RunId, StoreError};

use super::problems;
use super::{LIST, Outcome, PLACE, concluded, go_on, load, place, run_id, said};
use crate::apply;
use crate::command::{self, Command, Invocation};
use crate::exit::Exit;
use crate::identity;
use crate::options::{switch, text};
use crate::runtime::block_on;
use crate::store::Access;
use weft_coordinator::outline::outline;

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
            switch("absent", "The object does not exist. The operation is carried out again."),
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
    let (status, reason) = match apply::coordinator(arguments) {
        Some(at) => {
            let mut client =
                Client::connect(&identity::dialer(arguments)?, &at).await.map_err(apply::client_problem)?;
            client.resolve(run, address, decision.clone()).await.map_err(apply::client_problem)?
        }
        None => resolve_here(invocation, &id, address, decision.clone()).await?,
    };
    if status == OpStatus::InDoubt.word() {
        return Err(vec![problems::still_in_doubt(address, &reason).about(address)]);
    }
    view.line(&format!("{address} is settled: {}. To continue: weft runs resume {run}", what(decision, &status)));
    Ok(Exit::DONE)
}

fn what(decision: &Decision, status: &str) -> String {
    match decision {
        Decision::Adopt(id) => format!("the object {id} was read and stored"),
        Decision::Absent => "it does not exist, so the operation is pending again".to_owned(),
        Decision::Retry => "it will be carried out again".to_owned(),
        Decision::Forget => format!("the operation was given up ({status})"),
    }
}

async fn resolve_here(
    invocation: &Invocation<'_>,
    run: &RunId,
    address: &str,
    decision: Decision,
) -> Result<(String, String), Vec<Diagnostic>> {
    let store = place(invocation)?.open(Access::Change).await.map_err(|problem| vec![problem])?;
    let (view, plan, _) = load(store.as_ref(), run).await?;
    let operation = match doubtful(&view, &outline(&plan), address).as_slice() {
        [operation] => *operation,
        [] => {
            return Err(vec![problems::nothing_in_doubt(address, run)]);
        }
        _ => {
            return Err(vec![problems::several_in_doubt(address)]);
        }
    };
    let options = RunOptions {
        resolutions: vec![UserResolution { operation, decision }],
        only_resolve: true,
        ..RunOptions::in_process()
    };
    go_on(invocation, store.clone(), run, options, None).await?;
    let view = store.run(run).await.map_err(said)?.ok_or_else(|| said(StoreError::NoRun(run.clone())))?;
    let status = view.ops.get(&OpIndex(operation)).map(|record| record.status).unwrap_or_default();
    let reason = "no evidence was found".to_owned();
    Ok((status.word().to_owned(), reason))
}
