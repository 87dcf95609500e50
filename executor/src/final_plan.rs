//! The final plan: the provider plans again with every value known, and the result is compared with the reviewed plan.

use weft_expressions::resource_rules::{has_infinity, plan_problems, proposed_new, replace_paths};
use weft_graph_format::address::ResourceMode;
use weft_graph_format::codec::{EncodeError, msgpack};
use weft_graph_format::digest::Digest;
use weft_graph_format::graph::Action;
use weft_graph_format::value::Value;
use weft_providers::call::{PlanRequest, PlannedChange};

use crate::change::{Begun, Change};
use crate::problems;
use crate::subject::{Problems, has_errors};

/// The separator in the data that is hashed for the digest of an intent. The planned value comes before it. The import
/// id with which no object was found comes after it. The encoding of a value shows where the value ends, so different
/// contents never have equal bytes.
const ABSENT: &[u8] = b"absent before: ";

/// A final plan: what the provider planned, and what the call sends back to the provider.
#[derive(Clone, Debug)]
pub(crate) struct FinalPlan {
    /// The planned object, with unknown parts; null for a delete. Without marks.
    pub(crate) planned: Value,
    pub(crate) private: Vec<u8>,
    pub(crate) identity: Option<Value>,
    /// Whether the provider uses the legacy type system, so that its results are checked less strictly.
    pub(crate) legacy: bool,
    /// Whether the object is already as planned.
    pub(crate) no_op: bool,
}

impl FinalPlan {
    /// The digest in the intent of the call: the blake3 hash of the planned value in the provider's own encoding. If a
    /// look-up immediately before the call found no object, `absent` is the import id of this look-up, and is hashed,
    /// too.
    ///
    /// # Errors
    /// Returns an error if the value cannot be encoded for the provider.
    pub(crate) fn digest(&self, change: &Change<'_>, absent: Option<&str>) -> Result<Digest, EncodeError> {
        let mut said = msgpack::encode(&self.planned, &change.kind.ty)?;
        if let Some(id) = absent {
            said.extend_from_slice(ABSENT);
            said.extend_from_slice(id.as_bytes());
        }
        Ok(Digest::of(&said))
    }
}

/// Makes the final plan of a change. The plan changes no real object.
///
/// # Errors
/// Returns an error if the provider rejects the change, or if the plan differs from the reviewed plan.
pub(crate) async fn final_plan(change: &Change<'_>, begun: &mut Begun) -> Result<FinalPlan, Problems> {
    let reviewed = change.planned;
    let reviewed_value = reviewed.value.unmark_deep().0;
    if reviewed.action == Action::Delete {
        return Ok(FinalPlan {
            planned: reviewed_value,
            private: reviewed.private.clone(),
            identity: change.kind.identity_of(&reviewed.record),
            legacy: reviewed.legacy,
            no_op: false,
        });
    }
    plan_again(change, begun, &reviewed_value).await
}

/// Validates the configuration of the object if a part of it was unknown in the plan. A configuration that was wholly
/// known has not changed, and planning has validated it.
async fn validate_again(change: &Change<'_>, begun: &mut Begun) -> Result<(), Problems> {
    if change.planned.config_known {
        return Ok(());
    }
    let subject = change.subject();
    let validated = begun.provider.validate_config(ResourceMode::Managed, &change.kind.name, &begun.config).await;
    let said = subject.said(&validated.map_err(|error| vec![problems::call_failed(&subject, &error)])?);
    if has_errors(&said) {
        return Err(said);
    }
    begun.warnings.extend(said);
    Ok(())
}

/// Asks the provider for its plan.
pub(crate) async fn plan_again(
    change: &Change<'_>,
    begun: &mut Begun,
    reviewed: &Value,
) -> Result<FinalPlan, Problems> {
    let subject = change.subject();
    validate_again(change, begun).await?;
    let prior = change.kind.without_write_only(&begun.prior);
    // The final plan of a create needs the private data of the reviewed plan, such as a client token.
    let private = match change.planned.action {
        Action::Create => change.planned.private.clone(),
        _ => begun.prior_private.clone(),
    };
    let request = PlanRequest {
        address: change.address.clone(),
        type_name: change.kind.name.clone(),
        prior_state: prior.clone(),
        proposed_new_state: proposed_new(&change.kind.block, &prior, &begun.config),
        config: begun.config.clone(),
        prior_private: private,
        provider_meta: change.meta.cloned(),
        prior_identity: begun.prior_identity.clone(),
    };
    let reply = begun.provider.plan_resource_change(request).await;
    let reply = reply.map_err(|error| vec![problems::call_failed(&subject, &error)])?;
    let said = subject.said(&reply.diagnostics);
    if has_errors(&said) {
        return Err(said);
    }
    // If the configuration was known, its warnings came with the reviewed plan.
    if !change.planned.config_known {
        begun.warnings.extend(said);
    }
    let found = reply.value;
    let planned = found.planned_state.unmark_deep().0;
    if has_infinity(&planned) {
        // The call could create the object, and then nothing could record it.
        return Err(vec![problems::infinite(&subject)]);
    }
    let problems = plan_faults(change, begun, reviewed, &Proposal { prior: &prior, planned: &planned, found: &found });
    if !problems.is_empty() {
        return Err(problems);
    }
    let no_op = change.planned.action == Action::Update && planned.same_unmarked(&prior);
    Ok(FinalPlan {
        planned,
        private: found.planned_private,
        identity: found.planned_identity,
        legacy: found.legacy_type_system || change.planned.legacy,
        no_op,
    })
}

/// The provider's proposal.
struct Proposal<'plan> {
    prior: &'plan Value,
    planned: &'plan Value,
    found: &'plan PlannedChange,
}

/// Reports how the proposal breaks the rules for plans, and how it contradicts the reviewed plan.
fn plan_faults(change: &Change<'_>, begun: &Begun, reviewed: &Value, proposal: &Proposal<'_>) -> Problems {
    let Proposal { prior, planned, found } = *proposal;
    let subject = change.subject();
    let mut faults = Vec::new();
    let broken = plan_problems(&change.kind.block, prior, &begun.config, planned);
    let contradictions = change.contradictions(reviewed, planned, begun);
    let replace = match change.planned.action {
        Action::Update => replace_paths(prior, planned, &found.requires_replace).paths,
        _ => Vec::new(),
    };
    if broken.is_empty() && contradictions.is_empty() && replace.is_empty() {
        return faults;
    }
    let provider = change.slot.instance.source.for_display();
    if found.legacy_type_system {
        for problem in broken {
            tracing::warn!(address = change.text, %provider, "the legacy provider's plan is irregular: {problem}");
        }
    } else {
        faults.extend(
            broken.into_iter().map(|problem| problems::invalid_plan(&subject, &provider, &problem, &problem.path)),
        );
    }
    for problem in contradictions {
        faults.push(problems::inconsistent_plan(&subject, &provider, &problem.to_string(), &problem.path));
    }
    for path in replace {
        faults.push(problems::unplanned_replacement(&subject, &provider, &path));
    }
    faults
}
