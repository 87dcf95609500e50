//! `import` blocks: their target instances and objects.

use std::collections::BTreeMap;
use std::sync::Arc;

use smol_str::SmolStr;
use weft_expressions::convert::convert;
use weft_graph_format::address::{InstanceKey, ModuleInstance, ResourceInstance, ResourceMode};
use weft_graph_format::diagnostic::Diagnostic;
use weft_graph_format::source::SourceRange;
use weft_graph_format::types::Type;
use weft_graph_format::value::{Kind, Value};
use weft_syntax::Expression;

use super::calls::ModuleNode;
use super::instances::for_each;
use super::scope::RepetitionData;
use crate::config::{ImportBlock, ImportKey, references_of};
use crate::glue::{Failed, ImportBy, ImportWish};
use crate::reference::Subject;

/// All imports of one resource.
pub(crate) type Imports = Arc<BTreeMap<ResourceInstance, ImportWish>>;

impl ModuleNode {
    /// The imports of a resource, for the root module's node. `address` is the configured address of the resource, as
    /// text.
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
            let detail = "The objects that are imported cannot decide how many there are.";
            return self.fail(Diagnostic::error("Invalid for_each argument", detail).at(expression.range()));
        }
        let value = self.evaluate(expression, &RepetitionData::default()).await?;
        if self.evaluation.is_validation() {
            return self.one_import(block, &RepetitionData::unknown(false), found).await;
        }
        let elements = match for_each(&value, expression) {
            Ok(elements) => elements,
            Err(problem) => return self.fail(problem),
        };
        let mut failed = false;
        for (key, element) in elements {
            let repeated = RepetitionData::of(&InstanceKey::String(key), element);
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
        let mut module = ModuleInstance::root();
        for (step, computed) in &block.to.module {
            let key = match computed {
                Some(expression) => self.import_key(expression, repeated).await?,
                None => Some(step.key.clone()),
            };
            let Some(key) = key else { return Ok(()) };
            module = module.child(&step.name, key);
        }
        let key = match &block.to.key {
            ImportKey::Constant(key) => Some(key.clone()),
            ImportKey::Computed(expression) => self.import_key(expression, repeated).await?,
        };
        let by = match (&block.id, &block.identity) {
            (Some(expression), _) if refers_to_target(block, expression) => {
                self.import_of_itself("Invalid import id argument", expression)?
            }
            (None, Some(expression)) if refers_to_target(block, expression) => {
                self.import_of_itself("Invalid import identity argument", expression)?
            }
            (Some(expression), _) => self.import_id(expression, repeated).await?,
            (None, Some(expression)) => self.import_identity(block, expression, repeated).await?,
            (None, None) => None,
        };
        let (Some(key), Some(by)) = (key, by) else { return Ok(()) };
        let address = ResourceInstance { module, resource: block.to.resource.clone(), key };
        if let Some(first) = found.get(&address) {
            let (file, line) = (&first.range.file, first.range.start.line);
            return self.fail(
                Diagnostic::error(
                    format!("Duplicate import configuration for \"{address}\""),
                    format!("An import block for {address} is at {file}:{line} already: an object is imported once."),
                )
                .at(block.range.clone()),
            );
        }
        found.insert(address, ImportWish { by, range: block.range.clone() });
        Ok(())
    }

    /// The key of the target; `None` if validation cannot know it.
    async fn import_key(
        self: &Arc<Self>,
        expression: &Expression,
        repeated: &RepetitionData,
    ) -> Result<Option<InstanceKey>, Failed> {
        let value = self.evaluate(expression, repeated).await?;
        if self.evaluation.is_validation() && !value.is_wholly_known() {
            return Ok(None);
        }
        let (marks, kind) = value.open();
        let detail = match kind {
            _ if marks.is_sensitive() => "A sensitive value cannot be part of an address.",
            Kind::Unknown(_) => "The key is known only after apply, so nobody can say now what is imported to.",
            Kind::String(text) => return Ok(Some(InstanceKey::String(text.clone()))),
            Kind::Number(number) => match number.to_u64().and_then(InstanceKey::counted) {
                Some(key) => return Ok(Some(key)),
                None => "A key that is a number is whole, and zero or more.",
            },
            _ => "A key is a string or a number.",
        };
        self.fail(Diagnostic::error("Invalid import 'to' expression", detail).at(expression.range()))
    }

    async fn import_id(
        self: &Arc<Self>,
        expression: &Expression,
        repeated: &RepetitionData,
    ) -> Result<Option<ImportBy>, Failed> {
        const SUMMARY: &str = "Invalid import id argument";
        let value = self.import_value(expression, repeated, SUMMARY, "import ID").await?;
        let Some(value) = value else { return Ok(None) };
        match convert(&value, &Type::String) {
            // An empty ID means no import.
            Ok(text) => Ok(text.as_str().filter(|text| !text.is_empty()).map(|text| ImportBy::Id(SmolStr::new(text)))),
            Err(problem) => {
                let detail = format!("The import ID value is unsuitable: {}.", problem.with_path());
                self.fail(Diagnostic::error(SUMMARY, detail).at(expression.range()))
            }
        }
    }

    async fn import_identity(
        self: &Arc<Self>,
        block: &ImportBlock,
        expression: &Expression,
        repeated: &RepetitionData,
    ) -> Result<Option<ImportBy>, Failed> {
        const SUMMARY: &str = "Invalid import identity argument";
        self.check_identity(block, expression, repeated).await?;
        let value = self.import_value(expression, repeated, SUMMARY, "import identity").await?;
        Ok(value.map(ImportBy::Identity))
    }

    /// An ID that is unknown until apply. Only planning reports this.
    fn import_of_itself(&self, summary: &str, expression: &Expression) -> Result<Option<ImportBy>, Failed> {
        if self.evaluation.is_validation() {
            return Ok(None);
        }
        let detail = "It depends on the object that is imported, so nobody knows it now.";
        self.evaluation.glue.report(Diagnostic::error(summary, detail).at(expression.range()));
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
        // The resources that need the provider report why it is missing.
        let Ok(schema) = self.evaluation.glue.provider_schema(&source).await else { return Ok(()) };
        let type_name = &block.to.resource.type_name;
        let Some(identity) = schema.identities.get(type_name) else {
            if !schema.resources.contains_key(type_name) {
                return Ok(());
            }
            const SUMMARY: &str = "Unable to determine identity schema for import identity";
            let detail = format!("The provider knows no identity of {type_name}: import the object by its id.");
            return self.fail(Diagnostic::error(SUMMARY, detail).at(expression.range()));
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
            .map(|(name, _)| format!("the attribute {name:?} is required"));
        let mut problems: Vec<String> = missing.collect();
        if let Some(fields) = fields {
            for (name, attribute) in &identity.attributes {
                let unfit = fields.get(name).and_then(|field| convert(field, &attribute.ty).err());
                problems.extend(unfit.map(|problem| format!("attribute {name:?}: {}", problem.with_path())));
            }
        } else if given.is_known() && !given.is_null() {
            problems.push("an object is required".to_owned());
        }
        if problems.is_empty() {
            return Ok(());
        }
        let detail = format!("The identity is unsuitable: {}.", problems.join("; "));
        self.fail(Diagnostic::error("Incorrect value type", detail).at(expression.range()))
    }

    /// A value that must be known and not sensitive.
    async fn import_value(
        self: &Arc<Self>,
        expression: &Expression,
        repeated: &RepetitionData,
        summary: &str,
        what: &str,
    ) -> Result<Option<Value>, Failed> {
        let value = self.evaluate(expression, repeated).await?;
        if self.evaluation.is_validation() && !value.is_wholly_known() {
            return Ok(None);
        }
        let problem = if value.is_null() {
            format!("The {what} cannot be null.")
        } else if !value.is_wholly_known() {
            format!("The {what} depends on values that are known only after apply, so nothing can be imported now.")
        } else if value.contains_sensitive() {
            format!("The {what} cannot be sensitive: it is shown.")
        } else if value.deep().ephemeral {
            format!("The {what} cannot be ephemeral: it is stored.")
        } else {
            return Ok(Some(value.unmark_deep().0));
        };
        self.fail(Diagnostic::error(summary, problem).at(expression.range()))
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
                self.evaluation.glue.report(aimless(&block_address(block), &block.range));
            }
        }
        if failed { Err(Failed) } else { Ok(()) }
    }
}

/// Whether an expression of the block refers to its target resource.
fn refers_to_target(block: &ImportBlock, expression: &Expression) -> bool {
    let own = Subject::Resource(block.to.resource.clone());
    block.to.module.is_empty() && references_of(expression, &mut Vec::new()).iter().any(|found| found.subject == own)
}

fn aimless(address: &str, range: &SourceRange) -> Diagnostic {
    Diagnostic::error(
        "Configuration for import target does not exist",
        format!("The configuration has no block for {address}: write one that the object can be imported to."),
    )
    .at(range.clone())
}

/// The configured target of an import block.
pub(crate) fn block_address(block: &ImportBlock) -> String {
    let (module, resource) = (block.to.module_config(), block.to.resource.clone());
    weft_graph_format::address::ConfigResource { module, resource }.to_string()
}
