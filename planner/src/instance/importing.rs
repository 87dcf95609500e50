//! Imports of existing objects.

use weft_evaluator::glue::{DesiredInstance, ImportBy, ImportWish};
use weft_expressions::convert::convert;
use weft_graph_format::changes::Importing;
use weft_graph_format::codec::json;
use weft_graph_format::diagnostic::Diagnostic;
use weft_graph_format::shown::ShownName;
use weft_graph_format::types::Type;
use weft_graph_format::value::Value;
use weft_providers::Provider;
use weft_providers::call::ImportTarget;
use weft_state::{InstanceObject, Opaque, RawJson};

use super::problems;
use crate::ask::Ask;
use crate::diagnostics::{call_failed, placed};
use crate::prior::{Prior, sensitive_in, sensitive_marks};
use crate::problems::Problems;

impl Ask {
    /// The import details of a change.
    pub(crate) async fn importing(
        &self,
        desired: &DesiredInstance,
        wish: &ImportWish,
        provider: &Provider,
    ) -> Result<Importing, Problems> {
        Ok(match &wish.by {
            ImportBy::Id(id) => Importing::Id(id.clone()),
            ImportBy::Identity(identity) => {
                let type_name = &desired.address.resource.type_name;
                Importing::Identity(identity_of(identity, provider, type_name, wish).await?)
            }
        })
    }

    /// Finds the object that an `import` block names, and reads it.
    pub(crate) async fn import(
        &self,
        desired: &DesiredInstance,
        wish: &ImportWish,
        provider: &Provider,
    ) -> Result<Prior, Problems> {
        let text = desired.address.to_string();
        let type_name = &desired.address.resource.type_name;
        let target = match &wish.by {
            ImportBy::Id(id) => {
                let name = ShownName { attribute: "id".to_owned(), value: id.to_string() };
                self.progress.importing(&desired.address, Some(name));
                ImportTarget::Id(id.to_string())
            }
            ImportBy::Identity(identity) => {
                let identity = identity_of(identity, provider, type_name, wish).await?;
                self.progress.importing(&desired.address, ShownName::of_identity(&identity));
                ImportTarget::Identity(identity)
            }
        };
        self.providers.may_read(&desired.provider).await?;
        let reply = provider
            .import_resource_state(type_name, target)
            .await
            .map_err(|e| vec![call_failed(&e, Some(&desired.block.places), &text)])?;
        // If the provider does not find the object, the problem has no source range.
        let said = placed(&reply.diagnostics, None, &text).into_iter().map(of_no_address);
        self.report.accept(said.collect())?;
        let mut found = reply.value.into_iter().filter(|object| object.type_name == *type_name);
        let Some(imported) = found.next().filter(|imported| !imported.object.state.is_null()) else {
            return Err(vec![problems::import_not_found(&text)]);
        };
        let attributes = json::encode(&imported.object.state.unmark_deep().0, &desired.schema.block.implied_type())
            .map_err(|error| vec![problems::import_unusable(&text, &error, &wish.range)])?;
        let object = InstanceObject {
            private: Opaque(imported.object.private),
            ..InstanceObject::new(desired.schema.version, RawJson::new(attributes))
        };
        let through = (&desired.provider, provider);
        let mut prior = self
            .read((&desired.address).into(), &object, &desired.schema, through, true)
            .await
            .map_err(|problems| problems.into_iter().map(of_no_address).collect::<Problems>())?;
        if prior.value.is_null() {
            return Err(vec![problems::import_not_found(&text)]);
        }
        // The object has the sensitive marks of the configuration, too, so that they are no change.
        let given = sensitive_marks(&desired.config.unmark_with_paths().1);
        if !given.is_empty() {
            let marks = sensitive_in(&prior.value, &given, &desired.schema.block);
            prior.value = prior.value.mark_paths(&marks);
        }
        // An object that is imported now has no drift.
        prior.stored = prior.value.clone();
        Ok(prior)
    }
}

/// Adapts a problem of an object that is not imported yet.
fn of_no_address(problem: Diagnostic) -> Diagnostic {
    Diagnostic { address: None, ..problem }
}

/// Converts an identity to its schema.
async fn identity_of(
    given: &Value,
    provider: &Provider,
    type_name: &str,
    wish: &ImportWish,
) -> Result<Value, Problems> {
    let failed = |detail: String| vec![problems::import_identity(detail, &wish.range)];
    let schemas = provider.schema().await.map_err(|error| failed(format!("{error}.")))?;
    let Some(schema) = schemas.identities.get(type_name) else {
        return Err(failed(format!("The provider has no identity for {type_name}. Import the object by its ID.")));
    };
    let attributes: Vec<_> = schema.attributes.iter().map(|(name, a)| (name.clone(), a.ty.clone())).collect();
    let fields = given.as_fields();
    let whole = Value::object(attributes.iter().map(|(name, ty)| {
        let part = fields.and_then(|fields| fields.get(name)).cloned();
        (name.clone(), part.unwrap_or_else(|| Value::null(ty.clone())))
    }));
    convert(&whole, &Type::object(attributes)).map_err(|problem| {
        failed(format!("The identity does not have the form that the provider requires: {}.", problem.with_path()))
    })
}
