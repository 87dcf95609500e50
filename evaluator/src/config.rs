//! Compiled configurations: the declarations of a module, read once from its files.
//!
//! Expressions stay syntax trees. Everything that OpenTofu decides without values (names, labels, meta-arguments,
//! module sources, provider requirements) is plain data here.

mod backend;
mod body_references;
mod body_source;
mod call;
mod call_arguments;
mod check;
mod compile;
mod compiling;
mod content;
mod encryption;
mod encryption_settings;
mod experiments;
mod generated;
mod import;
mod lifecycle;
mod literal;
mod load;
mod locals;
mod meta;
mod module_places;
mod moved;
pub(crate) mod named_instances;
mod names_below;
mod needs;
mod output;
mod overrides;
mod problems;
mod provider;
mod provider_links;
mod provider_value;
mod provisioner;
pub mod reach;
mod relative_address;
mod removed;
mod required_version;
mod requirements;
mod resource;
mod source_files;
mod static_drawing;
mod static_graph;
mod static_values;
mod terraform;
pub mod test_file;
mod tested;
mod top_level;
mod used_provider;
mod variable;

use std::collections::{BTreeMap, BTreeSet};
use std::sync::Arc;

use smol_str::SmolStr;
use weft_graph_format::address::{Module, ProviderConfig, ProviderSource, Resource};
use weft_graph_format::diagnostic::Diagnostic;
use weft_graph_format::formula::TypeDefaults;
use weft_graph_format::source::SourceRange;
use weft_graph_format::types::Type;
use weft_graph_format::value::Value;
use weft_syntax::Expression;

pub use backend::{BackendBlock, constraint_of, settings_in_file};
pub(crate) use body_references::{references_of_blocks, references_of_body};
pub(crate) use body_source::BodyContent;
pub use body_source::BodySource;
pub(crate) use call_arguments::argument_problems;
pub use check::CheckBlock;
pub(crate) use content::FoundBlock;
pub use encryption_settings::{Encryption, EncryptionPart, EncryptionSetting, EncryptionTarget, PartName};
pub use experiments::Experiments;
pub use generated::{imports_without_block, with_resources};
pub(crate) use import::ImportKey;
pub use import::{ImportAddress, ImportBlock};
pub(crate) use lifecycle::{TriggerPart, trigger_parts};
pub use load::{
    LoadError, has_configuration, link_problems, load_early, load_tree, load_tree_beyond, load_tree_from,
    load_tree_under, load_tree_with,
};
pub use module_places::{InstalledModules, ModulePlaces, ModuleRequest};
pub use moved::MovedBlock;
pub use named_instances::{AppliedPart, applied_part};
pub use needs::{Beginnings, needed_resources};
pub(crate) use provider::ProviderKey;
pub use provider::{PassedProvider, ProviderBlock, ProviderName, ProviderReference};
pub(crate) use provider_links::{missing_providers, unsuitable};
pub use provisioner::Provisioner;
pub use relative_address::RelativeAddress;
pub use removed::RemovedBlock;
pub use required_version::{LANGUAGE_VERSION, RequiredVersion};
pub use requirements::read_source as provider_source;
pub use resource::Connection;
pub use source_files::SourceFiles;
pub(crate) use source_files::parse_arguments;
pub use static_drawing::draw;
pub(crate) use static_graph::StaticGraph;
pub(crate) use static_graph::dependencies::Dependencies;
pub(crate) use static_graph::unused::Unused;
pub use static_values::{StaticGiven, StaticInputs};
pub(crate) use used_provider::ProviderLink;

use crate::reference::Reference;

/// A module with all modules that it calls.
#[derive(Clone, Debug, Default)]
pub struct CompiledModule {
    /// Its path in the tree of calls.
    pub path: Module,
    /// Its directory, relative to that of the root module; `.` for the root module.
    pub dir: String,
    /// Its `terraform` and `language` blocks.
    pub settings: ModuleSettings,
    /// Its `moved`, `removed` and `import` blocks.
    pub statements: Statements,
    /// `variable` blocks.
    pub variables: BTreeMap<SmolStr, Arc<Variable>>,
    /// Names of `locals` blocks.
    pub locals: BTreeMap<SmolStr, Arc<Local>>,
    /// `output` blocks.
    pub outputs: BTreeMap<SmolStr, Arc<Output>>,
    /// `resource` and `data` blocks.
    pub resources: BTreeMap<Resource, Arc<ResourceBlock>>,
    /// `module` blocks.
    pub calls: BTreeMap<SmolStr, Arc<ModuleCall>>,
    /// `provider` blocks by local name and alias.
    pub providers: BTreeMap<(SmolStr, Option<SmolStr>), Arc<ProviderBlock>>,
    /// `check` blocks.
    pub checks: BTreeMap<SmolStr, Arc<CheckBlock>>,
    /// Invalid names in expressions. They are reported when references are checked.
    pub invalid_references: Vec<Diagnostic>,
    /// Names with a value from outside the configuration, such as `run.setup` in a test.
    pub outside: BTreeMap<Resource, Value>,
    /// The sources of its calls, by the name of the call.
    pub sources: BTreeMap<SmolStr, CallSource>,
    /// The called modules.
    pub children: BTreeMap<SmolStr, Arc<CompiledModule>>,
}

/// The `terraform` and `language` blocks of a module.
#[derive(Clone, Debug, Default)]
pub struct ModuleSettings {
    /// The experiments that the module enables.
    pub experiments: Experiments,
    /// `required_providers`, by local name.
    pub required_providers: BTreeMap<SmolStr, RequiredProvider>,
    /// All `required_version` constraints.
    pub required_versions: Vec<RequiredVersion>,
    /// `provider_meta` blocks by the local name of their provider.
    pub provider_metas: BTreeMap<SmolStr, Arc<BackendBlock>>,
    /// The `backend` block. Only the root module has one.
    pub backend: Option<Arc<BackendBlock>>,
    /// The `cloud` block, as a block of the type `cloud`. Only the root module has one.
    pub cloud: Option<Arc<BackendBlock>>,
    /// The calls without a source.
    unsourced_calls: Vec<UnsourcedCall>,
    /// The `encryption` block. Only the root module has one.
    encryption_block: Option<Arc<FoundBlock>>,
    /// How state and plan files are encrypted. Only the root module has this setting.
    pub encryption: Option<Arc<Encryption>>,
}

/// A module call without a source.
#[derive(Clone, Debug)]
struct UnsourcedCall {
    name: SmolStr,
    version: Option<Expression>,
    /// The header of the block.
    range: SourceRange,
}

/// Blocks that refer to addresses instead of declaring an object, in source order for each kind.
#[derive(Clone, Debug, Default)]
pub struct Statements {
    /// `moved` blocks.
    pub moved: Vec<MovedBlock>,
    /// `removed` blocks.
    pub removed: Vec<RemovedBlock>,
    /// `import` blocks. Only the root module has them.
    pub imports: Vec<ImportBlock>,
}

/// The source of a call.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct CallSource {
    /// `source`, as written.
    pub text: SmolStr,
    /// The normalized source.
    pub address: SmolStr,
    /// `version`, as written.
    pub version: Option<SmolStr>,
}

/// A `variable` block.
#[derive(Debug)]
pub struct Variable {
    /// Its name.
    pub name: SmolStr,
    /// The type constraint; dynamic if there is none.
    pub ty: Type,
    /// Whether the block has a type constraint.
    pub typed: bool,
    /// Defaults of optional attributes.
    pub defaults: TypeDefaults,
    /// The `default` argument.
    pub(crate) default: Option<Expression>,
    /// The `description` argument.
    pub description: Option<String>,
    /// The `sensitive` argument.
    pub sensitive: bool,
    /// The `ephemeral` argument.
    pub ephemeral: bool,
    /// The `nullable` argument.
    pub nullable: bool,
    /// The `deprecated` argument.
    pub deprecated: Option<String>,
    /// The `const` argument. If true, callers must give a value that is known before planning. If false, the variable
    /// cannot be used before planning.
    pub constant: Option<bool>,
    /// `validation` blocks.
    pub validations: Vec<Condition>,
    /// The references of the validations.
    pub references: Vec<Reference>,
    /// The header of the block.
    pub range: SourceRange,
}

/// A name in a `locals` block.
#[derive(Debug)]
pub struct Local {
    /// The name.
    pub name: SmolStr,
    /// Its value.
    pub(crate) value: Expression,
    /// The references of the value.
    pub references: Vec<Reference>,
    /// The range of the definition.
    pub range: SourceRange,
}

/// An `output` block.
#[derive(Debug)]
pub struct Output {
    /// Its name.
    pub name: SmolStr,
    /// The `value` argument.
    pub(crate) value: Expression,
    /// The `description` argument.
    pub description: Option<String>,
    /// The `sensitive` argument.
    pub sensitive: bool,
    /// The `ephemeral` argument.
    pub ephemeral: bool,
    /// The `deprecated` argument.
    pub deprecated: Option<String>,
    /// The `depends_on` argument.
    pub depends_on: Vec<Reference>,
    /// `precondition` blocks.
    pub preconditions: Vec<Condition>,
    /// The references of the value and the conditions.
    pub references: Vec<Reference>,
    /// The header of the block.
    pub range: SourceRange,
}

/// A condition with its error message.
#[derive(Clone, Debug)]
pub struct Condition {
    /// The condition.
    pub(crate) condition: Expression,
    /// The error message.
    pub(crate) error_message: Expression,
    /// The header of the block.
    pub range: SourceRange,
}

/// The repetition of a block.
#[derive(Clone, Debug, Default)]
pub(crate) enum Repetition {
    /// One instance without a key.
    #[default]
    Single,
    /// `count`: the number of instances.
    Count(Expression),
    /// `for_each`: a map or a set of strings, with one instance for each key.
    ForEach(Expression),
    /// `enabled`: whether the single instance exists.
    Enabled(Expression),
}

impl Repetition {
    /// The expression of the repetition.
    pub(crate) fn expression(&self) -> Option<&Expression> {
        match self {
            Repetition::Single => None,
            Repetition::Count(e) | Repetition::ForEach(e) | Repetition::Enabled(e) => Some(e),
        }
    }

    /// The source range of an `enabled` argument. Validation does not evaluate this argument.
    pub(crate) fn unread(&self) -> Option<SourceRange> {
        match self {
            Repetition::Enabled(expression) => Some(expression.range()),
            _ => None,
        }
    }
}

/// A `resource` or `data` block.
#[derive(Debug)]
pub struct ResourceBlock {
    /// Mode, type and name.
    pub resource: Resource,
    /// The repetition.
    pub(crate) repetition: Repetition,
    /// The `provider` argument, if it names a configuration.
    pub provider: Option<ProviderReference>,
    /// The `provider` argument, if it is an expression.
    pub(crate) provider_value: Option<Expression>,
    /// The `depends_on` argument.
    pub depends_on: Vec<Reference>,
    /// The `lifecycle` block.
    pub lifecycle: Lifecycle,
    /// `provisioner` blocks, in order.
    pub provisioners: Vec<Provisioner>,
    /// The `connection` block for all provisioners.
    pub connection: Option<Connection>,
    /// The check block that contains the resource block.
    pub check: Option<SmolStr>,
    /// The arguments of the resource type.
    pub body: BodySource,
    /// The references in the block, including those in nested blocks and in all branches of conditionals. The
    /// references in `depends_on`, `replace_triggered_by`, `connection` and `provisioner` are stored separately.
    pub references: Vec<Reference>,
    /// The references of `replace_triggered_by`.
    pub trigger_references: Vec<Reference>,
    /// The header of the block.
    pub range: SourceRange,
}

/// A `lifecycle` block.
#[derive(Clone, Debug, Default)]
pub struct Lifecycle {
    /// The `create_before_destroy` argument.
    pub create_before_destroy: Option<bool>,
    /// The `prevent_destroy` argument.
    pub(crate) prevent_destroy: Option<Expression>,
    /// The `destroy` argument.
    pub destroy: Option<bool>,
    /// The `destroy` argument, if it is not a literal truth value.
    pub(crate) unclear_destroy: Option<Expression>,
    /// Whether `ignore_changes` is `all`.
    pub ignore_all: bool,
    /// The paths in `ignore_changes`.
    pub ignore_changes: Vec<(weft_graph_format::path::Path, SourceRange)>,
    /// The `replace_triggered_by` argument.
    pub(crate) replace_triggered_by: Vec<Expression>,
    /// `precondition` blocks.
    pub preconditions: Vec<Condition>,
    /// `postcondition` blocks.
    pub postconditions: Vec<Condition>,
}

/// A `module` block.
#[derive(Debug)]
pub struct ModuleCall {
    /// Its name.
    pub name: SmolStr,
    /// The `source` argument.
    pub(crate) source: Expression,
    /// The `version` argument.
    pub(crate) version: Option<Expression>,
    /// The repetition.
    pub(crate) repetition: Repetition,
    /// The `providers` argument: the configurations that are passed to the child.
    pub providers: Vec<PassedProvider>,
    /// The ranges of invalid keys on the left side of `providers`.
    pub keyed_providers: Vec<SourceRange>,
    /// The `depends_on` argument.
    pub depends_on: Vec<Reference>,
    /// Arguments.
    pub(crate) arguments: BTreeMap<SmolStr, (Expression, SourceRange)>,
    /// Types of unsupported blocks, with their ranges.
    pub unexpected_blocks: Vec<(SmolStr, SourceRange)>,
    /// The references of the arguments, the repetition and the keys of providers.
    pub references: Vec<Reference>,
    /// The header of the block.
    pub range: SourceRange,
    /// The source range for diagnostics about missing arguments.
    pub missing: SourceRange,
}

/// An entry of `required_providers`.
#[derive(Clone, Debug)]
pub struct RequiredProvider {
    /// The source address.
    pub source: ProviderSource,
    /// Version constraints, as written.
    pub version: Option<SmolStr>,
    /// Configuration aliases that callers must pass.
    pub configuration_aliases: Vec<(SmolStr, Option<SmolStr>)>,
    /// The aliases written as `name.alias[*]`: configurations with `for_each`, which are passed as a whole.
    pub whole_aliases: BTreeSet<SmolStr>,
    /// The range of the entry.
    pub range: SourceRange,
}

impl CompiledModule {
    /// Whether the module calls a module that has this output. Without an output, whether it calls the module.
    pub(crate) fn has_output(&self, call: &SmolStr, output: Option<&SmolStr>) -> bool {
        let has = |child: &Arc<CompiledModule>| output.is_none_or(|output| child.outputs.contains_key(output));
        self.children.get(call).is_some_and(has)
    }

    /// The source address of a local provider name. A name with slashes is already an address.
    pub fn provider_source(&self, local_name: &str) -> ProviderSource {
        if let Some(source) = local_name.contains('/').then(|| local_name.parse().ok()).flatten() {
            return source;
        }
        match self.settings.required_providers.get(local_name) {
            Some(required) => required.source.clone(),
            None if local_name == "terraform" => ProviderSource::builtin("terraform"),
            None => ProviderSource::default_for(local_name),
        }
    }

    /// Whether objects can belong to the provider configuration `wanted`: it has a block, or it needs no block, because
    /// it is a default configuration of the root module.
    pub fn has_provider(self: &Arc<Self>, wanted: &ProviderConfig) -> bool {
        (wanted.module.is_root() && wanted.alias.is_none()) || self.has_provider_block(wanted)
    }

    /// Whether the provider configuration `wanted` has a block.
    pub fn has_provider_block(self: &Arc<Self>, wanted: &ProviderConfig) -> bool {
        let Some(module) = self.all().into_iter().find(|module| module.path == wanted.module) else { return false };
        let named = |local_name: &SmolStr| module.provider_source(local_name) == wanted.source;
        module.providers.keys().any(|(local_name, alias)| *alias == wanted.alias && named(local_name))
    }

    /// Whether callers must pass a provider configuration under this name.
    pub fn promises(&self, local_name: &str, alias: Option<&SmolStr>) -> bool {
        let mut names = self.settings.required_providers.values().flat_map(|required| &required.configuration_aliases);
        names.any(|(name, promised)| name == local_name && promised.as_ref() == alias)
    }

    /// Whether callers must pass a configuration with `for_each` under this name, with all its instances.
    pub fn promises_whole(&self, local_name: &str, alias: Option<&SmolStr>) -> bool {
        let required = self.settings.required_providers.get(local_name);
        alias.zip(required).is_some_and(|(alias, required)| required.whole_aliases.contains(alias))
    }

    /// Whether this name refers to a provider configuration with `for_each`. Either the module declares this provider
    /// configuration itself, or callers pass it with all its instances.
    pub fn has_provider_keys(&self, local_name: &SmolStr, alias: Option<&SmolStr>) -> bool {
        let block = self.providers.get(&(local_name.clone(), alias.cloned()));
        block.is_some_and(|block| block.for_each.is_some()) || self.promises_whole(local_name, alias)
    }

    /// The module and all its descendants, callers first.
    pub fn all(self: &Arc<Self>) -> Vec<Arc<CompiledModule>> {
        let mut found = vec![self.clone()];
        let mut next = 0;
        while next < found.len() {
            let children: Vec<_> = found[next].children.values().cloned().collect();
            found.extend(children);
            next += 1;
        }
        found
    }
}

impl ResourceBlock {
    /// Whether the resource has preconditions or postconditions.
    pub fn has_conditions(&self) -> bool {
        !(self.lifecycle.preconditions.is_empty() && self.lifecycle.postconditions.is_empty())
    }

    /// The local name of the resource's provider: from the `provider` argument, or the part of the type before the
    /// first `_`.
    pub fn provider_local_name(&self) -> SmolStr {
        local_name(self.provider.as_ref(), &self.resource)
    }
}

/// The local name of a resource's provider: from the `provider` argument, or the part of the type before the first `_`.
fn local_name(provider: Option<&ProviderReference>, resource: &Resource) -> SmolStr {
    match provider {
        Some(reference) => reference.local_name.clone(),
        None => {
            let type_name = resource.type_name.as_str();
            SmolStr::new(type_name.split('_').next().unwrap_or(type_name))
        }
    }
}

#[cfg(test)]
mod tests;
