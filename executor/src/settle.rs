//! Finds out what an attempt in doubt did. The search changes nothing, because the attempt may still be running
//! elsewhere.

use weft_graph_format::graph::Action;
use weft_protocol::diagnostics::{encode_diagnostics, first_error};
use weft_protocol::{ObjectChange, SettleOrder, SettleVerdict, TaskWrites};
use weft_providers::call::ImportTarget;

use crate::apply::{as_planned, found};
use crate::change::{Begun, Change, Seen};
use crate::context::TaskContext;
use crate::final_plan::final_plan;
use crate::problems::reasons;

/// Looks for evidence, and returns the verdict.
pub(crate) async fn settle(context: &TaskContext, order: &SettleOrder) -> SettleVerdict {
    let shard = context.shard.clone();
    let change = match Change::of(&shard, context.id()) {
        Ok(change) => change,
        Err(problems) => return SettleVerdict::Unknown(first_error(&problems)),
    };
    if order.adopt.is_none() && change.planned.action == Action::Create && !change.can_be_looked_up() {
        return SettleVerdict::Unknown(String::new());
    }
    let mut begun = match change.begin(&shard, &context.host).await {
        Ok(begun) => begun,
        Err(problems) if shard.could_not_open() => return SettleVerdict::Unopened(encode_diagnostics(&problems)),
        Err(problems) => return SettleVerdict::Unknown(first_error(&problems)),
    };
    let not_applied = SettleVerdict::NotApplied { holder_dead: order.holder_dead };
    if let Some(id) = &order.adopt {
        return match change.find(&mut begun, named(&change, id), None).await {
            Seen::Object(object) => applied(context, &change, begun, &object),
            Seen::Nothing => SettleVerdict::Unknown(reasons::no_object_with_id(id)),
            Seen::Unclear(why) => SettleVerdict::Unknown(why.to_string()),
        };
    }
    match change.planned.action {
        Action::Create => created(context, &change, begun, order).await,
        Action::Delete => match change.look(&mut begun).await {
            Seen::Nothing => {
                let writes = TaskWrites { objects: vec![change.write(ObjectChange::Remove)], outputs: Vec::new() };
                SettleVerdict::Applied(Box::new(context.done(None, writes, begun.warnings).into()))
            }
            Seen::Object(_) => not_applied,
            Seen::Unclear(why) => SettleVerdict::Unknown(why.to_string()),
        },
        _ => match change.look(&mut begun).await {
            // This case comes first, because an unchanged object may also be as planned.
            Seen::Object(object) if object.state.same_unmarked(&begun.prior) => not_applied,
            Seen::Object(object) => match final_plan(&change, &mut begun).await {
                Ok(plan) if as_planned(&change, &plan.planned, &object.state) => {
                    applied(context, &change, begun, &object)
                }
                // The object is neither unchanged nor as planned. The next attempt continues from its current state.
                Ok(_) => not_applied,
                Err(problems) => SettleVerdict::Unknown(first_error(&problems)),
            },
            Seen::Nothing => SettleVerdict::Unknown(reasons::object_disappeared()),
            Seen::Unclear(why) => SettleVerdict::Unknown(why.to_string()),
        },
    }
}

/// The target for an id from the user: an import id, or an identity as a JSON object.
fn named(change: &Change<'_>, id: &str) -> ImportTarget {
    let identity = if id.starts_with('{') { change.kind.identity(id) } else { None };
    identity.map_or_else(|| ImportTarget::Id(id.to_owned()), ImportTarget::Identity)
}

/// The verdict about a create.
async fn created(context: &TaskContext, change: &Change<'_>, mut begun: Begun, order: &SettleOrder) -> SettleVerdict {
    let plan = match final_plan(change, &mut begun).await {
        Ok(plan) => plan,
        Err(problems) => return SettleVerdict::Unknown(first_error(&problems)),
    };
    let Some(promised) = change.promised(&plan.planned) else {
        return match change.seen_by_name(&mut begun, &plan, order.planned).await {
            Ok(object) => applied(context, change, begun, &object),
            Err(verdict) => verdict,
        };
    };
    let target = match promised {
        Ok(target) => target,
        Err(missing) => return SettleVerdict::Unknown(missing.to_string()),
    };
    match change.find(&mut begun, target, Some(&plan.planned)).await {
        Seen::Object(object) => applied(context, change, begun, &object),
        Seen::Nothing => SettleVerdict::NotApplied { holder_dead: order.holder_dead },
        Seen::Unclear(why) => SettleVerdict::Unknown(why.to_string()),
    }
}

fn applied(
    context: &TaskContext,
    change: &Change<'_>,
    begun: Begun,
    object: &weft_providers::call::ObjectState,
) -> SettleVerdict {
    match found(context, change, begun, object, false) {
        Ok(done) => SettleVerdict::Applied(Box::new(done.into())),
        Err(problems) => SettleVerdict::Unknown(first_error(&problems)),
    }
}
