//! Carries out a final plan, and interprets the reply.

use weft_expressions::resource_rules::{RuleProblem, result_problems};
use weft_graph_format::diagnostic::Diagnostic;
use weft_graph_format::graph::{Action, PlannedObject, StateRecord};
use weft_graph_format::run::Attempt;
use weft_protocol::{ObjectChange, TaskWrites};
use weft_providers::CallError;
use weft_providers::call::{AppliedChange, ApplyRequest, ObjectState, Reply};

use crate::change::{Begun, Change, Seen};
use crate::context::TaskContext;
use crate::final_plan::{FinalPlan, final_plan, plan_again};
use crate::outcome::{Done, TaskOutcome};
use crate::problems;
use crate::problems::reasons::{self, NotCalled};
use crate::resource::{marked, settle_unknowns};
use crate::shard::provider::is_alive;
use crate::subject::{Problems, has_errors};

/// The result of the preparations for a call.
enum Prepared {
    /// No call is needed: the operation is done.
    Done(Done),
    /// A call is needed. If a look-up immediately before the call found no object, the last field is the import id of
    /// this look-up.
    Call(Begun, FinalPlan, Option<String>),
}

/// Carries out an `apply`.
pub(crate) async fn apply(context: &mut TaskContext) -> TaskOutcome {
    let shard = context.shard.clone();
    let deletes = matches!(
        Change::of(&shard, context.id()),
        Ok(Change { planned: PlannedObject { action: Action::Delete, .. }, .. })
    );
    let result = apply_change(context).await;
    if deletes { placeless(result) } else { result }
}

/// Removes address and position from the diagnostics of a delete. The block at the position no longer exists, or does
/// not describe the deleted object.
fn placeless(result: TaskOutcome) -> TaskOutcome {
    match result {
        TaskOutcome::Failed { writes, diagnostics, absence_unproven, unopened } => {
            let diagnostics =
                diagnostics.into_iter().map(|problem| Diagnostic { address: None, subject: None, ..problem }).collect();
            TaskOutcome::Failed { writes, diagnostics, absence_unproven, unopened }
        }
        other => other,
    }
}

async fn apply_change(context: &mut TaskContext) -> TaskOutcome {
    let shard = context.shard.clone();
    let change = match Change::of(&shard, context.id()) {
        Ok(change) => change,
        Err(problems) => return TaskOutcome::failed(problems),
    };
    let refused =
        |writes, diagnostics| TaskOutcome::Failed { writes, diagnostics, absence_unproven: false, unopened: false };
    // If a replacement fails without a new object, the old object stays deposed. The next plan creates the new object
    // and deletes the old one. There are three exceptions, in which the old object becomes the current object again:
    // the provider cannot be opened, the call cannot be sent, or the provider returns an error and no object.
    let config = match change.configuration(&shard, &context.host).await {
        Ok(config) => config,
        Err(problems) => return refused(TaskWrites::default(), problems::not_begun(problems)),
    };
    change.slot.forgive(context.task.attempt).await;
    let begun = match change.begun(&shard, &context.host, config).await {
        Ok(begun) => begun,
        Err(problems) => return refused(change.restored(), problems::not_begun(problems)),
    };
    let (begun, plan, absent) = match prepare(context, &change, begun).await {
        Ok(Prepared::Call(begun, plan, absent)) => (begun, plan, absent),
        Ok(Prepared::Done(done)) => return TaskOutcome::Done(done),
        Err(problems) => return refused(TaskWrites::default(), problems::not_begun(problems)),
    };
    let digest = match plan.digest(&change, absent.as_deref()) {
        Ok(digest) => digest,
        Err(error) => return refused(change.restored(), vec![problems::plan_not_sent(&change.subject(), &error)]),
    };
    if let Err(reason) = context.ask(digest).await {
        return TaskOutcome::NotCalled(reason);
    }
    let request = ApplyRequest {
        address: change.address.clone(),
        type_name: change.kind.name.clone(),
        prior_state: change.kind.without_write_only(&begun.prior),
        planned_state: plan.planned.clone(),
        config: begun.config.clone(),
        planned_private: plan.private.clone(),
        provider_meta: change.meta.cloned(),
        planned_identity: plan.identity.clone(),
    };
    let answer = begun.provider.apply_resource_change(request).await;
    // An error from before the provider was asked to stop is not a consequence of the stop.
    let stopped = context.run.is_stopping();
    match answer {
        Ok(reply) => judge(context, &change, begun, &plan, reply, stopped),
        Err(error) => no_reply(&change, &begun, error),
    }
}

/// Prepares the call: makes the final plan, and reads the object if there was an earlier attempt.
async fn prepare(context: &TaskContext, change: &Change<'_>, mut begun: Begun) -> Result<Prepared, Problems> {
    let creates = change.planned.action == Action::Create;
    let mut moved_on = false;
    if context.read_first && !creates {
        match change.look(&mut begun).await {
            Seen::Object(object) => {
                moved_on = !object.state.same_unmarked(&begun.prior);
                (begun.prior, begun.prior_private) = (object.state, object.private);
                begun.prior_identity = object.identity.or(begun.prior_identity);
            }
            Seen::Nothing if change.planned.action == Action::Delete => {
                let writes = TaskWrites { objects: vec![change.write(ObjectChange::Remove)], outputs: Vec::new() };
                return Ok(Prepared::Done(context.done(None, writes, begun.warnings)));
            }
            Seen::Nothing => return Err(vec![problems::object_gone(&change.subject())]),
            Seen::Unclear(why) => return Err(vec![problems::unread(&change.subject(), &why)]),
        }
    }
    let plan = match change.planned.action {
        // The reviewed plan was made for the prior object.
        Action::Update if moved_on => {
            let reviewed = change.planned.value.unmark_deep().0;
            if as_planned(change, &reviewed, &begun.prior) {
                return Ok(Prepared::Done(unchanged(context, change, begun, &change.planned.record)?));
            }
            plan_again(change, &mut begun, &reviewed).await?
        }
        _ => final_plan(change, &mut begun).await?,
    };
    if plan.no_op {
        return Ok(Prepared::Done(unchanged(context, change, begun, &change.kept_record())?));
    }
    if context.read_first
        && creates
        && let Some(target) = change.promised(&plan.planned)
    {
        let target = target.map_err(|why| vec![problems::unread(&change.subject(), &why)])?;
        match change.find(&mut begun, target, Some(&plan.planned)).await {
            Seen::Object(object) => return Ok(Prepared::Done(found(context, change, begun, &object, true)?)),
            Seen::Nothing => {}
            Seen::Unclear(why) => return Err(vec![problems::unread(&change.subject(), &why)]),
        }
    }
    let absent = if creates { change.look_before(&mut begun, &plan).await } else { None };
    Ok(Prepared::Call(begun, plan, absent))
}

/// Whether an object equals the planned object.
pub(crate) fn as_planned(
    change: &Change<'_>,
    planned: &weft_graph_format::value::Value,
    object: &weft_graph_format::value::Value,
) -> bool {
    !object.is_null() && result_problems(&change.kind.block, planned, object).is_empty()
}

/// The result of a planned update of an object that is already as planned. Only the record in the state may differ.
fn unchanged(context: &TaskContext, change: &Change<'_>, begun: Begun, record: &StateRecord) -> Result<Done, Problems> {
    let object = ObjectState {
        state: begun.prior.clone(),
        private: begun.prior_private.clone(),
        identity: begun.prior_identity.clone(),
    };
    recorded(context, change, begun, &object, record, false)
}

/// The result of a change whose object exists.
///
/// # Errors
/// Returns an error if the object cannot be stored.
pub(crate) fn found(
    context: &TaskContext,
    change: &Change<'_>,
    begun: Begun,
    object: &ObjectState,
    again: bool,
) -> Result<Done, Problems> {
    recorded(context, change, begun, object, &change.planned.record, again)
}

/// The result of a change whose object exists, with this record.
fn recorded(
    context: &TaskContext,
    change: &Change<'_>,
    begun: Begun,
    object: &ObjectState,
    record: &StateRecord,
    again: bool,
) -> Result<Done, Problems> {
    let tainted = match change.planned.action {
        Action::Update => change.was_tainted(),
        _ => change.planned.provisioned,
    };
    let stored = change
        .stored(object, &begun, record, tainted)
        .map_err(|why| vec![problems::object_not_stored(&change.subject(), &why)])?;
    let value = marked(&object.state, &change.sensitive(&object.state, &begun));
    Ok(context.done(Some(&value), change.put(stored, again), begun.warnings))
}

/// The outcome of a call without a proper reply: a failure if it is certain that nothing was sent, otherwise a doubt.
fn no_reply(change: &Change<'_>, begun: &Begun, error: CallError) -> TaskOutcome {
    let subject = change.subject();
    match error {
        CallError::Closed | CallError::NotRunning { .. } => TaskOutcome::NotCalled(NotCalled::Provider(error)),
        _ if error.was_not_sent() => TaskOutcome::Failed {
            writes: change.restored(),
            diagnostics: vec![problems::call_failed(&subject, &error)],
            absence_unproven: false,
            unopened: false,
        },
        _ => TaskOutcome::InDoubt {
            reason: error.to_string(),
            provider_dead: matches!(error, CallError::Crashed { .. }) || !is_alive(&begun.provider),
            diagnostics: vec![problems::call_failed(&subject, &error)],
        },
    }
}

/// Decides the outcome from the provider's reply.
fn judge(
    context: &TaskContext,
    change: &Change<'_>,
    begun: Begun,
    plan: &FinalPlan,
    reply: Reply<AppliedChange>,
    stopped: bool,
) -> TaskOutcome {
    let subject = change.subject();
    let action = change.planned.action;
    let mut found = begun.warnings.clone();
    found.extend(subject.said(&reply.diagnostics));
    let AppliedChange { object, legacy_type_system } = reply.value;
    let (state, unknown) = settle_unknowns(&object.state.unmark_deep().0);
    let object = ObjectState { state, ..object };
    let provider = change.slot.instance.source.for_display();
    for path in unknown {
        found.push(problems::unknown_result(&subject, &provider, &path));
    }
    let nothing_named = action == Action::Create && object.state.is_null();
    // The provider returned neither an object nor an error for a create. An object whose id is lost may exist.
    let unnamed = nothing_named && !has_errors(&found);
    if !has_errors(&found) {
        found.extend(contradictions(change, plan, &begun, &object, legacy_type_system, &provider));
    }
    let failed = has_errors(&found);
    let put = |record, tainted| change.stored(&object, &begun, record, tainted);
    let written = match (action, object.state.is_null()) {
        (Action::Delete, true) if !failed => {
            Ok(TaskWrites { objects: vec![change.write(ObjectChange::Remove)], outputs: Vec::new() })
        }
        (Action::Delete, false) => {
            // The object is stored as the provider returned it, without `create_before_destroy`.
            let record = StateRecord { create_before_destroy: false, identity: None, ..change.prior_record().clone() };
            put(&record, change.was_tainted()).map(|stored| change.put(stored, false))
        }
        (Action::Create, false) => {
            // After a failure, the incomplete object may be destroyed even if `skip_destroy` is set: the next plan has
            // to replace it.
            let record = &change.planned.record;
            let record = StateRecord { skip_destroy: record.skip_destroy && !failed, ..record.clone() };
            // A failed earlier attempt may have made the object that this change replaces the current object again.
            let again = context.task.attempt > Attempt(1);
            put(&record, failed || change.planned.provisioned).map(|s| change.put(s, again))
        }
        (_, false) => put(&change.planned.record, failed && change.was_tainted()).map(|s| change.put(s, false)),
        // Nothing was changed, so the state stays as it is.
        (_, true) => Ok(change.restored()),
    };
    let writes = match written {
        Ok(writes) => writes,
        Err(why) => {
            let reason = reasons::object_not_encoded(&why);
            return TaskOutcome::InDoubt { reason, provider_dead: false, diagnostics: found };
        }
    };
    if !failed {
        let value = marked(&object.state, &change.sensitive(&object.state, &begun));
        return TaskOutcome::Done(context.done(Some(&value), writes, found));
    }
    if unnamed {
        let reason = reasons::no_object_returned(&provider);
        return TaskOutcome::InDoubt { reason, provider_dead: false, diagnostics: found };
    }
    if nothing_named && stopped {
        let reason = reasons::create_interrupted();
        return TaskOutcome::InDoubt { reason, provider_dead: false, diagnostics: found };
    }
    TaskOutcome::Failed { writes, diagnostics: found, absence_unproven: nothing_named, unopened: false }
}

/// Reports how a reply without errors contradicts the plan.
fn contradictions(
    change: &Change<'_>,
    plan: &FinalPlan,
    begun: &Begun,
    object: &ObjectState,
    legacy: bool,
    provider: &str,
) -> Problems {
    let subject = change.subject();
    if change.planned.action == Action::Delete {
        if object.state.is_null() {
            return Vec::new();
        }
        return vec![problems::object_after_delete(&subject, provider)];
    }
    if object.state.is_null() {
        return vec![problems::no_resulting_object(&subject, provider)];
    }
    let broken = change.contradictions(&plan.planned, &object.state, begun);
    if legacy || plan.legacy {
        for problem in broken {
            tracing::warn!(address = change.text, provider, "the legacy provider's result is irregular: {problem}");
        }
        return Vec::new();
    }
    let inconsistent =
        |problem: RuleProblem| problems::inconsistent_result(&subject, provider, &problem.to_string(), &problem.path);
    broken.into_iter().map(inconsistent).collect()
}
