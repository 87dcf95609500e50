//! What evaluation asks of whoever uses it: schemas, the fate of each desired instance, results of providers.
//!
//! `planner` fills this when planning; validating fills it with values that are unknown.

use std::collections::BTreeMap;
use std::fmt;
use std::sync::Arc;

use async_trait::async_trait;
use smol_str::SmolStr;
use weft_expressions::functions::FunctionError;
use weft_graph_format::address::{
    AbsResource, InstanceKey, ModuleInstance, ProviderConfig, ProviderInstance, ProviderSource, ResourceInstance,
};
use weft_graph_format::diagnostic::Diagnostic;
use weft_graph_format::graph::CheckKind;
use weft_graph_format::origin::Origin;
use weft_graph_format::path::Path;
use weft_graph_format::plan_file::CheckResult;
use weft_graph_format::schema::{ProviderSchema, Schema};
use weft_graph_format::source::SourceRange;
use weft_graph_format::value::Value;

use crate::config::ResourceBlock;
use crate::selection::Selection;

/// Something went wrong and was reported; whatever needs it is left out without another word.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Failed;

/// What an evaluation is for.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Purpose {
    /// Checks whether the configuration is sound, whatever the variables: repetition is not carried out.
    Validate,
    /// Plans.
    Plan,
    /// Answers questions about what there is: objects are what state has of them, variables without a value are
    /// unknown, and impure functions are run.
    Inspect,
}

/// What an evaluation is to do: handed over once, when it begins.
#[derive(Clone, Debug)]
pub struct Brief {
    /// What it is for.
    pub purpose: Purpose,
    /// Which part of the configuration is evaluated.
    pub selection: Selection,
    /// Objects are taken over as `import` blocks say.
    pub imports: bool,
    /// Conditions of resources and outputs that do not hold are warnings: nothing is planned that they could prevent.
    pub lenient: bool,
    /// Arguments of managed resources are evaluated. They are not where nothing happens to managed resources.
    pub arguments: bool,
    /// State has all that there is, where this is for inspecting: a resource without objects has none, and is not one
    /// that was never applied.
    pub settled: bool,
    /// Provider configurations that are needed although nothing in the configuration may use them: state has objects
    /// of theirs.
    pub wanted_providers: Vec<ProviderConfig>,
}

impl Brief {
    /// All of a configuration, for a purpose.
    pub fn new(purpose: Purpose) -> Brief {
        Brief {
            purpose,
            selection: Selection::All,
            imports: true,
            lenient: false,
            arguments: true,
            settled: false,
            wanted_providers: Vec::new(),
        }
    }
}

/// What a resource block says beside its arguments.
#[derive(Clone, Debug)]
pub struct BlockRules {
    /// Header of the block.
    pub range: SourceRange,
    /// The check block that it stands in.
    pub check: Option<SmolStr>,
    /// What `ignore_changes` names.
    pub ignored: Ignored,
    /// `create_before_destroy` is true in the block itself.
    pub create_first: bool,
    /// `lifecycle { destroy }`
    pub destroy: Option<bool>,
    /// It has preconditions or postconditions.
    pub has_conditions: bool,
    /// Provisioners run after a create.
    pub is_provisioned: bool,
    /// Where its arguments stand.
    pub places: Places,
}

/// What `ignore_changes` names.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Ignored {
    /// Nothing.
    Nothing,
    /// These paths.
    Paths(Vec<Path>),
    /// Everything.
    All,
}

/// Where the arguments of a block stand in the text.
#[derive(Clone)]
pub struct Places {
    header: SourceRange,
    /// `None` where the text is not known.
    block: Option<Arc<ResourceBlock>>,
}

impl Places {
    /// The places of a block of which only the header is known.
    pub fn at(header: SourceRange) -> Places {
        Places { header, block: None }
    }

    /// Header of the block.
    pub fn block(&self) -> &SourceRange {
        &self.header
    }

    /// The text that a path into the decoded arguments comes from: the value of an attribute, or the header of what
    /// holds it.
    pub fn locate(&self, path: &Path) -> SourceRange {
        match &self.block {
            Some(block) => block.body.locate(path),
            None => self.header.clone(),
        }
    }
}

impl fmt::Debug for Places {
    fn fmt(&self, out: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(out, "places at {}:{}", self.header.file, self.header.start.line)
    }
}

impl BlockRules {
    /// What a block says.
    pub(crate) fn of(block: &Arc<ResourceBlock>) -> BlockRules {
        let lifecycle = &block.lifecycle;
        let ignored = match (lifecycle.ignore_all, lifecycle.ignore_changes.is_empty()) {
            (true, _) => Ignored::All,
            (false, true) => Ignored::Nothing,
            (false, false) => Ignored::Paths(lifecycle.ignore_changes.iter().map(|(path, _)| path.clone()).collect()),
        };
        BlockRules {
            range: block.range.clone(),
            check: block.check.clone(),
            ignored,
            create_first: lifecycle.create_before_destroy == Some(true),
            destroy: lifecycle.destroy,
            has_conditions: block.has_conditions(),
            is_provisioned: block.provisioners.iter().any(|provisioner| !provisioner.on_destroy),
            places: Places { header: block.body.range.clone(), block: Some(block.clone()) },
        }
    }
}

/// An instance that the configuration wants to be there.
#[derive(Clone, Debug)]
pub struct DesiredInstance {
    /// Its address.
    pub address: ResourceInstance,
    /// The provider that it belongs to.
    pub provider: ProviderInstance,
    /// Its arguments, decoded by the schema: every attribute and block is there, null or empty where not given.
    pub config: Value,
    /// The schema that `config` follows.
    pub schema: Arc<Schema>,
    /// What its block says beside the arguments.
    pub block: Arc<BlockRules>,
    /// What must have happened before anything is done, beside what the arguments carry: repetition, `depends_on`,
    /// conditions, the key of the provider.
    pub waits: Option<Origin>,
    /// Addresses of resource configurations that state is to name as dependencies, sorted.
    pub dependencies: Arc<[SmolStr]>,
    /// Something that depends on it is replaced by creating first, so it must be as well.
    pub create_first: bool,
    /// Managed resources of the same module that the block names directly, and everything that `depends_on` means.
    pub direct: Vec<AbsResource>,
    /// The object that an `import` block wants to be taken over as this instance.
    pub import: Option<ImportWish>,
    /// Values that force a replacement when they change: what `replace_triggered_by` names.
    pub triggers: Vec<Trigger>,
}

/// A reference of `replace_triggered_by`.
#[derive(Clone, Debug)]
pub struct Trigger {
    /// The resource, and the instance where one is named.
    pub resource: AbsResource,
    /// Key of the instance, where one is named.
    pub key: Option<InstanceKey>,
    /// The part of it, empty for the whole.
    pub path: Path,
}

/// The instances of something that is repeated.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Expansion {
    /// Whether it is `count`, `for_each`, `enabled` or nothing.
    pub kind: ExpansionKind,
    /// The keys, ascending.
    pub keys: Vec<InstanceKey>,
}

impl Expansion {
    /// Whether there is an instance of this key. Keys are in order, so many questions cost little.
    pub fn has(&self, key: &InstanceKey) -> bool {
        self.keys.binary_search(key).is_ok()
    }
}

/// A provisioner that runs after an object was created or before it is destroyed.
#[derive(Clone, Debug)]
pub struct Provision {
    /// Which: `local-exec`.
    pub kind: SmolStr,
    /// What comes after it goes on when it fails.
    pub continues: bool,
    /// Its arguments, decoded. What is wrong with them fails when it runs, by its formula.
    pub config: Value,
    /// Header of the block.
    pub range: SourceRange,
}

/// What `prevent_destroy` of a resource came to. It counts for objects too whose instance nobody wants any more.
#[derive(Clone, Debug)]
pub struct Protection {
    /// Its value, as it was evaluated; null where it names what only instances have.
    pub value: Value,
    /// Where the value stands.
    pub at: SourceRange,
    /// Header of the block.
    pub range: SourceRange,
    /// A name that only instances have, such as `count.index`, and where it stands.
    pub of_instances: Option<(&'static str, SourceRange)>,
}

/// What decides how many instances there are.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum ExpansionKind {
    /// Nothing: there is one.
    Single,
    /// `count`
    Count,
    /// `for_each`
    ForEach,
    /// `enabled`
    Enabled,
}

/// A condition whose truth is not known yet.
#[derive(Clone, Debug)]
pub struct OpenCheck {
    /// Whose, as text.
    pub address: SmolStr,
    /// Which kind.
    pub kind: CheckKind,
    /// The condition, unknown with a formula.
    pub condition: Value,
    /// The message.
    pub message: Value,
    /// Where the condition stands.
    pub range: SourceRange,
    /// What it must wait for beside what it reads.
    pub waits: Option<Origin>,
    /// It holds now, and is looked at again because ephemeral values may be others then.
    pub again: bool,
}

/// What a named value is called.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct ValueName {
    /// The module that declares it.
    pub module: ModuleInstance,
    /// What declares it.
    pub kind: NameKind,
    /// Its name there.
    pub name: SmolStr,
}

/// What declares a named value.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum NameKind {
    /// A `locals` block.
    Local,
    /// A `variable` block.
    Variable,
    /// An `output` block.
    Output,
}

impl fmt::Display for ValueName {
    fn fmt(&self, out: &mut fmt::Formatter<'_>) -> fmt::Result {
        let word = match self.kind {
            NameKind::Local => "local",
            NameKind::Variable => "var",
            NameKind::Output => "output",
        };
        let dot = if self.module.is_root() { "" } else { "." };
        write!(out, "{}{dot}{word}.{}", self.module, self.name)
    }
}

/// An output of the root module.
#[derive(Clone, Debug)]
pub struct RootOutput {
    /// Its name.
    pub name: SmolStr,
    /// Its value.
    pub value: Value,
    /// Declared sensitive.
    pub sensitive: bool,
    /// Why nobody should use it any more.
    pub deprecated: Option<String>,
    /// What must have happened before it is stored, beside what the value carries.
    pub waits: Option<Origin>,
}

/// What an `import` block says about an instance.
#[derive(Clone, Debug)]
pub struct ImportWish {
    /// What names the object.
    pub by: ImportBy,
    /// Header of the block.
    pub range: SourceRange,
}

/// What names an object that is to be imported. Known, not null, and without marks.
#[derive(Clone, Debug)]
pub enum ImportBy {
    /// The provider's name for it, not empty.
    Id(SmolStr),
    /// An object by the identity schema of the type, as written: not converted yet.
    Identity(Value),
}

/// What became of a managed instance.
#[derive(Clone, Debug)]
pub struct Managed {
    /// The planned value: unknown parts have formulas, everything an origin.
    pub value: Value,
    /// The object is created, so that its provisioners run: [`Glue::provision`] is called next.
    pub created: bool,
}

/// What evaluation asks.
#[async_trait]
pub trait Glue: Send + Sync + 'static {
    /// What is to be done. Asked once.
    fn brief(&self) -> Brief;

    /// What a provider says of itself. An error is reported once, where it is first needed.
    async fn provider_schema(&self, source: &ProviderSource) -> Result<Arc<ProviderSchema>, Diagnostic>;

    /// Takes note of how a configured provider is configured; it is started when something first needs it.
    async fn provider_instance(
        &self,
        instance: &ProviderInstance,
        config: &Value,
        range: &SourceRange,
    ) -> Result<(), Failed>;

    /// What stands for an instance that the selection leaves out; none when there is no such object.
    fn left_out(&self, _: &ResourceInstance, _: &Schema) -> Option<Value> {
        None
    }

    /// Whether nothing stands for an instance, since nothing is made in this plan and state has none.
    fn is_absent(&self, _: &ResourceInstance) -> bool {
        false
    }

    /// What stands in the place of an instance that is not there where others of its resource are.
    fn gap(&self, schema: &Schema, _: ExpansionKind) -> Value {
        Value::unknown(schema.block.implied_type())
    }

    /// Decides what happens to a managed resource instance.
    async fn managed(&self, desired: DesiredInstance) -> Result<Managed, Failed>;

    /// Takes the provisioners that run after an instance is created, in order. Gives what must have happened before the
    /// instance may be used.
    fn provision(&self, _: &ResourceInstance, _: Vec<Provision>) -> Option<Origin> {
        None
    }

    /// Reads a data source, or plans to read it at apply.
    ///
    /// That of a check block (`desired.block.check`) must not stop anything: what goes wrong is reported as warnings and
    /// noted as a failure of the check ([`Glue::is_failed_check`]). `Failed` is returned only when apply does not read it
    /// either.
    async fn data(&self, desired: DesiredInstance) -> Result<Value, Failed>;

    /// The objects that state has of a resource, where this is for inspecting.
    ///
    /// An object that cannot be read is reported, and unknown.
    async fn stored(&self, _: &AbsResource, _: &ProviderSource, _: &Schema) -> Vec<(InstanceKey, Value)> {
        Vec::new()
    }

    /// Opens an ephemeral resource, or plans to open it at apply.
    async fn ephemeral(&self, desired: DesiredInstance) -> Result<Value, Failed>;

    /// How often a resource is there, and how it is protected where it says so.
    fn expanded(&self, resource: &AbsResource, expansion: &Expansion, protection: Option<Protection>);

    /// All instances of a resource that the configuration wants were planned. When an error comes, what reads of the
    /// resource is not evaluated.
    async fn planned_all(&self, resource: &AbsResource) -> Result<(), Failed> {
        let _ = resource;
        Ok(())
    }

    /// How often a module is there; `module` without the key of its last step.
    fn module_expanded(&self, parent: &ModuleInstance, call: &str, expansion: &Expansion);

    /// A named value (a local, a variable, an output of a module): whatever in it can still fail becomes an operation
    /// of its own, so that its error is reported once.
    fn named(&self, name: &ValueName, value: Value) -> Value;

    /// A condition to be checked at apply. The origin is what must wait for it.
    fn open_check(&self, check: OpenCheck) -> Option<Origin>;

    /// What came of all conditions of an object, as far as planning can tell; once for each object that has any.
    fn checked(&self, _: CheckResult) {}

    /// Whether the data source of a check block could not be read.
    fn is_failed_check(&self, _: &str) -> bool {
        false
    }

    /// An output of the root module.
    fn root_output(&self, output: RootOutput);

    /// An output of a called module has a value that is not null.
    fn module_output(&self, _module: &ModuleInstance, _name: &SmolStr) {}

    /// Calls a function of a provider with known arguments: of this instance, or else in a process that is not
    /// configured.
    async fn provider_function(
        &self,
        source: &ProviderSource,
        instance: Option<&ProviderInstance>,
        function: &str,
        arguments: Vec<Value>,
    ) -> Result<Value, FunctionError>;

    /// Takes a diagnostic.
    fn report(&self, diagnostic: Diagnostic);
}

/// Values of root variables as they were given, before conversion.
#[derive(Clone, Debug)]
pub struct GivenVariable {
    /// The value.
    pub value: Value,
    /// Where it was given: a file and place, or words such as `-var`.
    pub range: Option<SourceRange>,
    /// Where it was given, in words for messages.
    pub source: String,
}

/// Root variables by name.
pub type GivenVariables = BTreeMap<SmolStr, GivenVariable>;
