//! Finds out what an attempt in doubt did. It changes nothing, since the attempt may still be running elsewhere.

use weft_graph_format::graph::Action;
use weft_protocol::{ObjectChange, SettleOrder, SettleVerdict, TaskWrites};

use crate::apply::{as_planned, found};
use crate::change::{Begun, Change, Seen};
use crate::context::TaskContext;
use crate::final_plan::final_plan;
use crate::subject::Problems;

/// Looks for evidence, and returns the verdict.
pub(crate) async fn settle(context: &TaskContext, order: &SettleOrder) -> SettleVerdict {
    let shard = context.shard.clone();
    let change = match Change::of(&shard, context.id()) {
        Ok(change) => change,
        Err(problems) => return SettleVerdict::Unknown(first_words(&problems)),
    };
    let mut begun = match change.begin(&shard, &context.host).await {
        Ok(begun) => begun,
        Err(problems) => return SettleVerdict::Unknown(first_words(&problems)),
    };
    let not_applied = SettleVerdict::NotApplied { holder_dead: order.holder_dead };
    if let Some(id) = &order.adopt {
        return match change.find(&mut begun, id.clone(), None).await {
            Seen::Object(object) => applied(context, &change, begun, &object),
            Seen::Nothing => SettleVerdict::Unknown(format!("there is no object with the id {id:?}")),
            Seen::Unclear(why) => SettleVerdict::Unknown(why),
        };
    }
    match change.planned.action {
        Action::Create => {
            let plan = match final_plan(&change, &mut begun).await {
                Ok(plan) => plan,
                Err(problems) => return SettleVerdict::Unknown(first_words(&problems)),
            };
            match change.lookup_id(&plan.planned) {
                None => {
                    SettleVerdict::Unknown(String::from("objects of this type cannot be looked up by what was planned"))
                }
                Some(Err(why)) => SettleVerdict::Unknown(why),
                Some(Ok(id)) => match change.find(&mut begun, id, Some(&plan.planned)).await {
                    Seen::Object(object) => applied(context, &change, begun, &object),
                    Seen::Nothing => not_applied,
                    Seen::Unclear(why) => SettleVerdict::Unknown(why),
                },
            }
        }
        Action::Delete => match change.look(&mut begun).await {
            Seen::Nothing => {
                let writes = TaskWrites { objects: vec![change.write(ObjectChange::Remove)], outputs: Vec::new() };
                SettleVerdict::Applied(Box::new(context.done(None, writes, begun.warnings).into()))
            }
            Seen::Object(_) => not_applied,
            Seen::Unclear(why) => SettleVerdict::Unknown(why),
        },
        _ => match change.look(&mut begun).await {
            // An unchanged object is stronger evidence than one that could also be as planned.
            Seen::Object(object) if object.state.same_unmarked(&begun.prior) => not_applied,
            Seen::Object(object) => match final_plan(&change, &mut begun).await {
                Ok(plan) if as_planned(&change, &plan.planned, &object.state) => {
                    applied(context, &change, begun, &object)
                }
                // Neither unchanged nor as planned. The next attempt continues from what it finds.
                Ok(_) => not_applied,
                Err(problems) => SettleVerdict::Unknown(first_words(&problems)),
            },
            Seen::Nothing => SettleVerdict::Unknown(String::from("the object is gone")),
            Seen::Unclear(why) => SettleVerdict::Unknown(why),
        },
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
        Err(problems) => SettleVerdict::Unknown(first_words(&problems)),
    }
}

fn first_words(problems: &Problems) -> String {
    match problems.iter().find(|p| p.is_error()) {
        Some(problem) if problem.detail.is_empty() => problem.summary.clone(),
        Some(problem) => format!("{}: {}", problem.summary, problem.detail),
        None => String::from("no reason was given"),
    }
}
