//! Looking up the object of a create by the attributes that are planned for it.
//! `docs/decisions/2026-11-26-looking-up-creates.md` describes what a look-up proves.
//!
//! There are three methods of looking up an object. The first uses the import id in the description of the type. The
//! description promises that look-ups by this id are strongly consistent. The second, for types without this promise,
//! uses the import id from the tables of [`weft_graph_format::lookups`]. The third uses the identity of the object.

use weft_graph_format::codec::json;
use weft_graph_format::digest::Digest;
use weft_graph_format::lookups::lookup_table;
use weft_graph_format::path::{Path, ValueStep};
use weft_graph_format::value::{Kind, Value};
use weft_protocol::{Candidate, SettleVerdict};
use weft_providers::Provider;
use weft_providers::call::{ImportTarget, ObjectState};

use crate::change::{Begun, Change, Seen, filled};
use crate::final_plan::FinalPlan;
use crate::problems::reasons::{self, MissingPart, NoLookUp};

/// The maximum number of attributes of an object that are shown, so that the user recognizes the object.
const MOST_SHOWN: usize = 12;
/// The maximum length of a shown attribute, in bytes of JSON. Longer values are usually documents.
const MOST_OF_VALUE: usize = 200;

/// How an object can be found.
pub(crate) struct LookUp {
    target: ImportTarget,
    /// The target as text.
    id: String,
}

impl Change<'_> {
    /// Whether a create of this type can be looked up at all.
    pub(crate) fn can_be_looked_up(&self) -> bool {
        self.planned.lookup.is_some() || self.template().is_some() || self.kind.has_identity()
    }

    /// The template of the import id in the table.
    fn template(&self) -> Option<&'static str> {
        lookup_table(&self.slot.instance.source)?.get(self.kind.name.as_str()).copied()
    }

    /// The import id from the template in the table, with values of the planned object. `None` if the table does not
    /// contain the type, or if the description of the type promises strongly consistent look-ups, which are better.
    fn named(&self, plan: &FinalPlan) -> Option<Result<LookUp, MissingPart>> {
        if self.planned.lookup.is_some() {
            return None;
        }
        let filled = filled(self.template()?, &plan.planned);
        Some(filled.map(|id| LookUp { target: ImportTarget::Id(id.clone()), id }))
    }

    /// How to look up the object of a create: by the import id from the template in `lookup_table`, or by the planned
    /// identity of the object.
    ///
    /// # Errors
    /// Returns the reason why the object cannot be looked up.
    pub(crate) fn look_up(&self, plan: &FinalPlan) -> Result<LookUp, NoLookUp> {
        match (self.named(plan), self.identified(plan)) {
            (Some(Ok(named)), _) => Ok(named),
            (_, Some(identified)) => Ok(identified),
            (Some(Err(missing)), None) => Err(NoLookUp::Missing(missing)),
            (None, None) => Err(NoLookUp::NoMethod),
        }
    }

    /// The identity that the provider planned, or that follows from the planned object.
    fn identified(&self, plan: &FinalPlan) -> Option<LookUp> {
        let planned = plan.identity.as_ref().map(|identity| identity.unmark_deep().0);
        let planned = planned.filter(|identity| !identity.is_null() && identity.is_wholly_known());
        let identity = planned.or_else(|| self.kind.planned_identity(&plan.planned))?;
        let id = json::encode_plain(&identity).ok()?;
        Some(LookUp { target: ImportTarget::Identity(identity), id })
    }

    /// Before the call of a create, checks whether an object already has the name of the object to create. If no object
    /// has the name, returns the import id that was looked up. The result does not prevent the call: the provider
    /// decides what to do about an existing object.
    pub(crate) async fn look_before(&self, begun: &mut Begun, plan: &FinalPlan) -> Option<String> {
        if matches!(*begun.provider, Provider::StoodInFor(_)) {
            return None;
        }
        let LookUp { target, id } = self.named(plan)?.ok()?;
        let warnings = begun.warnings.len();
        let seen = self.find(begun, target, None).await;
        begun.warnings.truncate(warnings);
        match seen {
            Seen::Nothing => Some(id),
            Seen::Object(_) => None,
            Seen::Unclear(why) => {
                tracing::debug!(address = self.text, "the name could not be looked up before the create: {why}");
                None
            }
        }
    }

    /// The paths at which an object differs from its plan. In the legacy type system, null and an empty value count as
    /// equal.
    fn differences(&self, plan: &FinalPlan, object: &Value, begun: &Begun) -> Vec<Path> {
        let both_empty = |path: &Path| {
            let at = |whole: &Value| whole.at_path(path).is_ok_and(|part| is_empty(&part));
            plan.legacy && at(&plan.planned) && at(object)
        };
        let found = self.contradictions(&plan.planned, object, begun);
        found.into_iter().map(|problem| problem.path).filter(|path| !both_empty(path)).collect()
    }

    /// Whether an attribute by which the object is looked up is sensitive. If so, neither the id nor the attributes of
    /// the object are shown.
    fn is_hidden(&self, look_up: &LookUp, plan: &FinalPlan, begun: &Begun) -> bool {
        let hidden = self.sensitive(&plan.planned, begun);
        let is_part = |name: &str| match &look_up.target {
            ImportTarget::Id(_) => self.template().is_some_and(|template| template.contains(&format!("{{{name}}}"))),
            ImportTarget::Identity(identity) => identity.as_fields().is_some_and(|fields| fields.get(name).is_some()),
        };
        hidden.iter().any(|path| match path.0.first() {
            Some(ValueStep::Attribute(name)) => is_part(name),
            _ => true,
        })
    }

    /// The verdict of a look-up about a create in doubt. `intent` is the digest in the intent of the attempt.
    pub(crate) async fn seen_by_name(
        &self,
        begun: &mut Begun,
        plan: &FinalPlan,
        intent: Option<Digest>,
    ) -> Result<Box<ObjectState>, SettleVerdict> {
        let look_up = self.look_up(plan).map_err(|why| SettleVerdict::Unknown(why.to_string()))?;
        let is_hidden = self.is_hidden(&look_up, plan, begun);
        let LookUp { target, id } = look_up;
        let shown = if is_hidden { "(sensitive value)" } else { id.as_str() };
        match self.find(begun, target, Some(&plan.planned)).await {
            Seen::Object(object) => {
                let was_absent = intent.is_some() && plan.digest(self, Some(&id)).ok() == intent;
                let differences = self.differences(plan, &object.state, begun);
                if was_absent && differences.is_empty() {
                    return Ok(object);
                }
                let differences = differences.iter().map(Path::to_string).collect::<Vec<_>>();
                let reason = reasons::found(shown, was_absent, &differences);
                if is_hidden {
                    return Err(SettleVerdict::Unknown(reason));
                }
                let attributes = self.shown(&object.state, &plan.planned, begun);
                Err(SettleVerdict::Found(Box::new(Candidate { reason, id, attributes })))
            }
            Seen::Nothing => Err(SettleVerdict::Unknown(reasons::not_found(shown))),
            // The provider's message may contain the name.
            Seen::Unclear(_) if is_hidden => Err(SettleVerdict::Unknown(reasons::hidden_look_up_failed())),
            Seen::Unclear(why) => Err(SettleVerdict::Unknown(why.to_string())),
        }
    }

    /// Attributes by which a user recognizes an object: first its id, then attributes whose values the plan did not
    /// know, then the rest.
    fn shown(&self, object: &Value, planned: &Value, begun: &Begun) -> Vec<(String, String)> {
        let (Some(fields), wanted) = (object.as_fields(), planned.as_fields()) else { return Vec::new() };
        let hidden = self.sensitive(object, begun);
        let is_hidden = |name: &str| {
            let path = Path::ROOT.attribute(name);
            hidden.iter().any(|hidden| hidden.is_prefix_of(&path) || path.is_prefix_of(hidden))
        };
        let is_planned = |name: &str| wanted.and_then(|wanted| wanted.get(name)).is_some_and(Value::is_wholly_known);
        let mut shown: Vec<(bool, bool, String, String)> = Vec::new();
        for (name, value) in fields {
            let is_plain = matches!(value.open().1, Kind::String(_) | Kind::Number(_) | Kind::Bool(_));
            if !is_plain || is_hidden(name) {
                continue;
            }
            let Ok(text) = json::encode_plain(value) else { continue };
            if text.len() <= MOST_OF_VALUE && text != "\"\"" {
                shown.push((name != "id", is_planned(name), name.to_string(), text));
            }
        }
        shown.sort();
        shown.into_iter().take(MOST_SHOWN).map(|(_, _, name, text)| (name, text)).collect()
    }
}

/// Whether the legacy type system cannot distinguish a value from null.
fn is_empty(value: &Value) -> bool {
    match value.open().1 {
        Kind::Null(_) => true,
        Kind::String(text) => text.is_empty(),
        Kind::Number(number) => number.is_zero(),
        Kind::Bool(truth) => !truth,
        Kind::List(_) | Kind::Set(_) | Kind::Tuple(_) => value.as_items().is_some_and(<[Value]>::is_empty),
        Kind::Map(_) => value.as_fields().is_some_and(|fields| fields.values().next().is_none()),
        Kind::Unknown(_) | Kind::Object(_) | Kind::Provider(_) => false,
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn empty_values_of_the_legacy_type_system_are_equal() {
        let texts = |values| Value::list(weft_graph_format::types::Type::String, values);
        let empty = [Value::string(""), Value::int(0), Value::bool(false), texts(Vec::new())];
        assert!(empty.iter().all(is_empty));
        let full = [Value::string("a"), Value::int(1), Value::bool(true), texts(vec![Value::string("")])];
        assert!(!full.iter().any(is_empty));
    }
}
