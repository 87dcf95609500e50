//! Carries out one task.

use weft_graph_format::graph::Operation;

use crate::context::TaskContext;
use crate::outcome::TaskOutcome;
use crate::problems;
use crate::subject::has_errors;
use crate::{apply, data, provision, simple};

/// Carries out a task.
pub(crate) async fn run_task(mut context: TaskContext) -> TaskOutcome {
    let outcome = carry_out(&mut context).await;
    // A task that has asked for an intent has opened its provider.
    let has_asked = context.permission.granted.is_none();
    if context.shard.could_not_open() && !has_asked { outcome.into_unopened() } else { outcome }
}

async fn carry_out(context: &mut TaskContext) -> TaskOutcome {
    let shard = context.shard.clone();
    let id = context.id();
    let Some(operation) = shard.operation(id) else { return TaskOutcome::failed(vec![problems::not_here(id)]) };
    let outcome = match operation {
        Operation::Apply { .. } => return apply::apply(context).await,
        Operation::Provision { .. } => return provision::provision(context).await,
        Operation::ReadData { .. } => data::read(context).await,
        Operation::Evaluate { .. } => simple::evaluate(context).await,
        Operation::Output { .. } => simple::output(context).await,
        Operation::Check { .. } => simple::check(context).await,
        Operation::Depose { .. } | Operation::Forget { .. } | Operation::Record { .. } => simple::record(context),
        Operation::OpenProvider { .. }
        | Operation::CloseProvider { .. }
        | Operation::PriorState { .. }
        | Operation::Desired { .. }
        | Operation::FinalPlan { .. }
        | Operation::OpenEphemeral { .. }
        | Operation::CloseEphemeral { .. }
        | Operation::EvaluateLive { .. } => Err(vec![problems::not_a_task(id)]),
    };
    match outcome {
        Ok(done) if has_errors(&done.diagnostics) => TaskOutcome::failed(done.diagnostics),
        Ok(done) => TaskOutcome::Done(done),
        Err(problems) => TaskOutcome::failed(problems),
    }
}
