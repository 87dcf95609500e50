//! `import` blocks: their target instances and objects.

use std::collections::BTreeMap;
use std::sync::Arc;

use smol_str::SmolStr;
use weft_expressions::convert::convert;
use weft_graph_format::address::{InstanceKey, ModuleInstance, ResourceInstance, ResourceMode};
use weft_graph_format::types::Type;
use weft_graph_format::value::{Kind, Value};
use weft_syntax::Expression;

use super::instances::import_repetitions;
use super::module_node::{Imports, ModuleNode};
use super::problems::imports::{self as problems, KeyFault, KeyOf, NamedBy};
use super::references::check_loose;
use super::repetition_data::RepetitionData;
use crate::config::{ImportBlock, ImportKey};
use crate::glue::{Failed, ImportBy, ImportWish};
use crate::reference::{Referent, references_of};

impl ModuleNode {
    /// The imports of a resource. Callers use the node of the root module, because only the root module has `import`
    /// blocks. `config` is the configured address of the resource, as text.
    pub(crate) async fn imports_of(self: &Arc<Self>, config: &str) -> Result<Imports, Failed> {
        let key = SmolStr::new(config);
        let node = self.clone();
        let wanted = key.clone();
        self.imports
            .get(key, move || async move {
                let mut found = BTreeMap::new();
                let mut failed = false;
                for block in node.config.statements.imports.iter().filter(|block| block_address(block) == wanted) {
                    failed |= node.import_block(block, &mut found).await.is_err();
                }
                if failed { Err(Failed) } else { Ok(Arc::new(found)) }
            })
            .await
    }

    async fn import_block(
        self: &Arc<Self>,
        block: &ImportBlock,
        found: &mut BTreeMap<ResourceInstance, ImportWish>,
    ) -> Result<(), Failed> {
        let Some(expression) = &block.for_each else {
            return self.one_import(block, &RepetitionData::default(), found).await;
        };
        if refers_to_target(block, expression) {
            return self.fail(problems::for_each_of_target(expression.range()));
        }
        let value = self.evaluate(expression, &RepetitionData::default()).await?;
        let validating = !self.evaluation.purpose().repeats();
        let repetitions = match import_repetitions(&value, expression, validating) {
            Ok(repetitions) => repetitions,
            Err(problem) => return self.fail(problem),
        };
        if validating && repetitions.is_empty() {
            return self.one_import(block, &RepetitionData::unknown(false), found).await;
        }
        let mut failed = false;
        for repeated in repetitions {
            failed |= self.one_import(block, &repeated, found).await.is_err();
        }
        if failed { Err(Failed) } else { Ok(()) }
    }

    async fn one_import(
        self: &Arc<Self>,
        block: &ImportBlock,
        repeated: &RepetitionData,
        found: &mut BTreeMap<ResourceInstance, ImportWish>,
    ) -> Result<(), Failed> {
        if !self.evaluation.purpose().repeats() {
            // Validation does not evaluate the keys of the address. The plan does.
            return self.import_by(block, repeated).await.map(drop);
        }
        let mut module = ModuleInstance::root();
        for (step, computed) in &block.to.module {
            let key = match computed {
                Some(expression) => self.import_key(expression, repeated, KeyOf::Module).await?,
                None => step.key.clone(),
            };
            module = module.child(&step.name, key);
        }
        let key = match &block.to.key {
            ImportKey::Constant(key) => key.clone(),
            ImportKey::Computed(expression) => self.import_key(expression, repeated, KeyOf::Resource).await?,
        };
        let Some(by) = self.import_by(block, repeated).await? else { return Ok(()) };
        let address = ResourceInstance { module, resource: block.to.resource.clone(), key };
        if let Some(first) = found.get(&address) {
            return self.fail(problems::imported_twice(&address, &block.range, first.range.clone()));
        }
        found.insert(address, ImportWish { by, range: block.range.clone() });
        Ok(())
    }

    /// The object of an import, by ID or identity. `None` if validation cannot know the object, or if the ID is empty.
    async fn import_by(
        self: &Arc<Self>,
        block: &ImportBlock,
        repeated: &RepetitionData,
    ) -> Result<Option<ImportBy>, Failed> {
        match (&block.id, &block.identity) {
            (Some(expression), _) if refers_to_target(block, expression) => {
                self.import_of_itself(NamedBy::Id, expression)
            }
            (None, Some(expression)) if refers_to_target(block, expression) => {
                self.import_of_itself(NamedBy::Identity, expression)
            }
            (Some(expression), _) => self.import_id(expression, repeated).await,
            (None, Some(expression)) => self.import_identity(block, expression, repeated).await,
            (None, None) => Ok(None),
        }
    }

    /// Evaluates the key of the target.
    async fn import_key(
        self: &Arc<Self>,
        expression: &Expression,
        repeated: &RepetitionData,
        of: KeyOf,
    ) -> Result<InstanceKey, Failed> {
        // Validation does not check the references of keys.
        let mut references = references_of(expression, &mut Vec::new());
        references.retain(|found| !matches!(found.subject, Referent::EachKey | Referent::EachValue));
        let problems = check_loose(&self.evaluation, &self.config, &references).await;
        if !problems.is_empty() {
            return self.report_all(problems);
        }
        let value = self.evaluate(expression, repeated).await?;
        let (marks, kind) = value.open();
        let fault = match kind {
            _ if marks.is_sensitive() => KeyFault::Sensitive,
            Kind::Unknown(_) => KeyFault::Unknown,
            Kind::String(text) => return Ok(InstanceKey::String(text.clone())),
            Kind::Number(number) => match number.to_u64().and_then(InstanceKey::counted) {
                Some(key) => return Ok(key),
                None => KeyFault::Number,
            },
            _ => KeyFault::Type,
        };
        self.fail(problems::invalid_key(fault, of, expression.range()))
    }

    async fn import_id(
        self: &Arc<Self>,
        expression: &Expression,
        repeated: &RepetitionData,
    ) -> Result<Option<ImportBy>, Failed> {
        let value = self.evaluate(expression, repeated).await?;
        // As in OpenTofu, the type is checked before anything else.
        let text = match convert(&value, &Type::String) {
            Ok(text) => text,
            Err(problem) => return self.fail(problems::unsuitable_id(&problem.with_path(), expression.range())),
        };
        let text = self.settled_name(text, expression, NamedBy::Id)?;
        let text = text.as_ref().and_then(Value::as_str);
        // An empty ID means no import.
        Ok(text.filter(|text| !text.is_empty()).map(|text| ImportBy::Id(SmolStr::new(text))))
    }

    async fn import_identity(
        self: &Arc<Self>,
        block: &ImportBlock,
        expression: &Expression,
        repeated: &RepetitionData,
    ) -> Result<Option<ImportBy>, Failed> {
        self.check_identity(block, expression, repeated).await?;
        let value = self.evaluate(expression, repeated).await?;
        Ok(self.settled_name(value, expression, NamedBy::Identity)?.map(ImportBy::Identity))
    }

    /// Reports an object whose ID or identity refers to the target itself. Only planning reports this.
    fn import_of_itself(&self, by: NamedBy, expression: &Expression) -> Result<Option<ImportBy>, Failed> {
        if !self.evaluation.purpose().has_values() {
            return Ok(None);
        }
        self.evaluation.glue.report(problems::named_by_target(by, expression.range()));
        Err(Failed)
    }

    /// Checks that an identity has the type of the provider's schema.
    async fn check_identity(
        self: &Arc<Self>,
        block: &ImportBlock,
        expression: &Expression,
        repeated: &RepetitionData,
    ) -> Result<(), Failed> {
        let path = block.to.module_config();
        let modules = self.config.all();
        let found = modules.iter().find(|module| module.path == path);
        let Some((module, resource)) = found.and_then(|m| Some((m, m.resources.get(&block.to.resource)?))) else {
            return Ok(());
        };
        let source = module.provider_source(&resource.provider_local_name());
        // Resources that need the provider report why its schema is missing.
        let Ok(schema) = self.evaluation.glue.provider_schema(&source).await else { return Ok(()) };
        let type_name = &block.to.resource.type_name;
        let Some(identity) = schema.identities.get(type_name) else {
            if !schema.resources.contains_key(type_name) {
                return Ok(());
            }
            return self.fail(problems::no_identity(type_name, expression.range()));
        };
        let value = self.evaluate(expression, repeated).await?;
        let given = value.unmark_deep().0;
        let fields = given.as_fields();
        let missing = identity
            .attributes
            .iter()
            .filter(|(name, attribute)| {
                attribute.required_for_import && fields.is_some_and(|fields| !fields.contains_key(name))
            })
            .map(|(name, _)| problems::missing_in_identity(name));
        let mut faults: Vec<String> = missing.collect();
        if let Some(fields) = fields {
            for (name, attribute) in &identity.attributes {
                let unfit = fields.get(name).and_then(|field| convert(field, &attribute.ty).err());
                faults.extend(unfit.map(|problem| problems::wrong_in_identity(name, &problem.with_path())));
            }
        } else if given.is_known() && !given.is_null() {
            faults.push(problems::identity_not_an_object());
        }
        if faults.is_empty() {
            return Ok(());
        }
        self.fail(problems::unsuitable_identity(&faults, expression.range()))
    }

    /// Checks that an ID or identity is known and not sensitive. Validation accepts unknown values; the result is then
    /// `None`.
    fn settled_name(&self, value: Value, expression: &Expression, by: NamedBy) -> Result<Option<Value>, Failed> {
        if !self.evaluation.purpose().has_values() && !value.is_wholly_known() {
            return Ok(None);
        }
        let problem = if value.is_null() {
            problems::null_name
        } else if !value.is_wholly_known() {
            problems::unknown_name
        } else if value.contains_sensitive() {
            problems::sensitive_name
        } else if value.deep().ephemeral {
            problems::ephemeral_name
        } else {
            return Ok(Some(value.unmark_deep().0));
        };
        self.fail(problem(by, expression.range()))
    }

    /// Reports import blocks without a resource block.
    pub(crate) fn aimless_imports(self: &Arc<Self>) -> Result<(), Failed> {
        let modules = self.config.all();
        let mut failed = false;
        for block in &self.config.statements.imports {
            let path = block.to.module_config();
            let there = modules.iter().find(|module| module.path == path);
            let managed = block.to.resource.mode == ResourceMode::Managed;
            if !managed || there.is_none_or(|module| !module.resources.contains_key(&block.to.resource)) {
                failed = true;
                self.evaluation.glue.report(problems::no_target(&block_address(block), &block.range));
            }
        }
        if failed { Err(Failed) } else { Ok(()) }
    }
}

/// Whether an expression of the block refers to its target resource.
fn refers_to_target(block: &ImportBlock, expression: &Expression) -> bool {
    let own = Referent::Resource(block.to.resource.clone());
    block.to.module.is_empty() && references_of(expression, &mut Vec::new()).iter().any(|found| found.subject == own)
}

/// The configured target of an import block.
pub(crate) fn block_address(block: &ImportBlock) -> String {
    let (module, resource) = (block.to.module_config(), block.to.resource.clone());
    weft_graph_format::address::ConfigResource { module, resource }.to_string()
}
