//! The interface that evaluation calls: schemas, plans of desired instances, results of providers.
//!
//! The crate `planner` implements the interface. For validation, `planner` returns unknown values.

mod desired;

use std::collections::{BTreeMap, BTreeSet};
use std::fmt;
use std::sync::Arc;

use async_trait::async_trait;
use smol_str::SmolStr;
use weft_expressions::functions::FunctionError;
use weft_graph_format::address::{
    AbsResource, ConfigResource, InstanceKey, Module, ModuleInstance, ProviderConfig, ProviderInstance, ProviderSource,
    ResourceInstance,
};
use weft_graph_format::diagnostic::Diagnostic;
use weft_graph_format::graph::CheckKind;
use weft_graph_format::origin::Origin;
use weft_graph_format::plan_file::CheckResult;
use weft_graph_format::schema::{ProviderSchema, Schema};
use weft_graph_format::source::SourceRange;
use weft_graph_format::types::Type;
use weft_graph_format::value::Value;

pub use desired::{BlockRules, DesiredInstance, Ignored, NamedObjects, Places, Trigger};

use crate::purpose::Purpose;
pub use crate::root_template::{ArgumentBasis, RootPart, RootTemplate, RootVariable};
use crate::selection::Selection;

/// A failure that has been reported. Dependents are skipped without another diagnostic.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Failed;

/// The instructions for an evaluation, given once at its start.
#[derive(Clone, Debug)]
pub struct Brief {
    /// The purpose.
    pub purpose: Purpose,
    /// The selected part of the configuration.
    pub selection: Selection,
    /// Provider configurations that stored objects need, even if nothing in the configuration uses them.
    pub wanted_providers: Vec<ProviderConfig>,
    /// Whether to evaluate only root variables, what `wanted_providers` need, and the protection of `leaving`.
    pub providers_only: bool,
    /// Resources with objects that the plan destroys. Set only if the plan does not evaluate all resources: for a
    /// partial destroy plan, and if `providers_only` is set.
    pub leaving: BTreeSet<ConfigResource>,
}

impl Brief {
    /// Creates the instructions to evaluate the whole configuration for a purpose.
    pub fn new(purpose: Purpose) -> Brief {
        Brief {
            purpose,
            selection: Selection::All,
            wanted_providers: Vec::new(),
            providers_only: false,
            leaving: BTreeSet::new(),
        }
    }
}

/// The instances of a resource or a module call.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Expansion {
    /// The kind of repetition.
    pub kind: ExpansionKind,
    /// The keys, ascending.
    pub keys: Vec<InstanceKey>,
}

impl Expansion {
    /// Whether an instance has this key. A binary search, since keys are sorted.
    pub fn has(&self, key: &InstanceKey) -> bool {
        let found = self.keys.binary_search_by(|known| {
            #[cfg(test)]
            tests::STEPS.with(|steps| steps.set(steps.get() + 1));
            known.cmp(key)
        });
        found.is_ok()
    }
}

/// A provisioner that runs after a create or before a destroy.
#[derive(Clone, Debug)]
pub struct Provision {
    /// The type, such as `local-exec`.
    pub kind: SmolStr,
    /// Whether a failure is ignored.
    pub continues: bool,
    /// Its decoded arguments. Their problems are in the formula, and appear when the provisioner runs.
    pub config: Value,
    /// The header of the block.
    pub range: SourceRange,
}

/// The `prevent_destroy` value of a resource. It also applies to objects whose instance is no longer desired.
#[derive(Clone, Debug)]
pub struct Protection {
    /// The evaluated value; null if the expression uses names that only exist in instances.
    pub value: Value,
    /// The range of the value.
    pub at: SourceRange,
    /// The header of the block.
    pub range: SourceRange,
    /// A name in the expression that only exists in instances, such as `count.index`, with its range.
    pub of_instances: Option<(&'static str, SourceRange)>,
    /// Problems of the names in the expression. They are reported when the resource is planned, but do not prevent the
    /// plan of the resource.
    pub wrong: Vec<Diagnostic>,
}

/// The kind of repetition.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum ExpansionKind {
    /// No repetition.
    Single,
    /// Instances by `count`, with integer keys.
    Count,
    /// Instances by `for_each`, with string keys.
    ForEach,
    /// At most one instance, by `enabled`.
    Enabled,
}

/// A condition that apply evaluates.
#[derive(Clone, Debug)]
pub struct OpenCheck {
    /// The address of its object, as text.
    pub address: SmolStr,
    /// The kind.
    pub kind: CheckKind,
    /// The condition: an unknown value with a formula.
    pub condition: Value,
    /// The error message.
    pub message: Value,
    /// The source range of the error message. `None` if Weft makes the message.
    pub message_range: Option<SourceRange>,
    /// The source range of a failure: the condition, or the value that a validation rule refuses.
    pub range: SourceRange,
    /// The header of the validation rule, if the condition belongs to a validation rule.
    pub rule: Option<SourceRange>,
    /// The origins that the check waits for, in addition to its own references.
    pub waits: Option<Origin>,
    /// Whether the condition is true now, but is evaluated again because ephemeral values may change.
    pub again: bool,
}

/// The name of a value.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct ValueName {
    /// Its module.
    pub module: ModuleInstance,
    /// The kind of its declaration.
    pub kind: NameKind,
    /// Its name in the module.
    pub name: SmolStr,
}

/// The kind of the declaration of a named value.
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
    /// Whether the output is declared as sensitive.
    pub sensitive: bool,
    /// The deprecation notice.
    pub deprecated: Option<String>,
    /// The origins that must have finished before the value is stored, in addition to the origin of the value.
    pub waits: Option<Origin>,
}

/// An import of an instance.
#[derive(Clone, Debug)]
pub struct ImportWish {
    /// The object.
    pub by: ImportBy,
    /// The header of the block.
    pub range: SourceRange,
}

/// The object of an import. Known, not null, and without marks.
#[derive(Clone, Debug)]
pub enum ImportBy {
    /// The provider's ID, not empty.
    Id(SmolStr),
    /// An identity by the schema of the type, as written and not yet converted.
    Identity(Value),
}

/// The plan of a managed instance.
#[derive(Clone, Debug)]
pub struct Managed {
    /// The planned value. Unknown parts have formulas, and all parts have an origin.
    pub value: Value,
    /// Whether the object is created. If so, its provisioners run, and [`Glue::provision`] is called next.
    pub created: bool,
}

/// The inputs of a provider instance that can disappear: an instance with a key, or an instance in a called module. The
/// state remembers these inputs.
#[derive(Clone, Debug, Default)]
pub struct ProviderBasis {
    /// `each.value`, if the block has `for_each`.
    pub each_value: Option<Value>,
    /// The arguments that read root variables, by the name of the argument.
    pub arguments: BTreeMap<SmolStr, ArgumentBasis>,
}

/// The interface that evaluation calls.
#[async_trait]
pub trait Glue: Send + Sync + 'static {
    /// The instructions. Called once.
    fn brief(&self) -> Brief;

    /// The schema of a provider. An error is reported once, on first use.
    async fn provider_schema(&self, source: &ProviderSource) -> Result<Arc<ProviderSchema>, Diagnostic>;

    /// Registers the configuration of a provider. The provider starts on first use.
    async fn provider_instance(
        &self,
        instance: &ProviderInstance,
        config: &Value,
        range: &SourceRange,
    ) -> Result<(), Failed>;

    /// Records the inputs of a provider instance that can disappear. Called before [`Glue::provider_instance`].
    fn provider_basis(&self, _: &ProviderInstance, _: ProviderBasis) {}

    /// The keys of earlier instances of a provider block that are still needed, with the value of each key. A key that
    /// the block still has may be among them: the caller ignores such a key.
    fn former_keys(&self, _: &ProviderInstance) -> Vec<(SmolStr, Value)> {
        Vec::new()
    }

    /// The placeholder for an instance outside the selection. `None` if the instance has no object.
    fn left_out(&self, _: &ResourceInstance, _: &Schema) -> Option<Value> {
        None
    }

    /// The stored values of the instances of a resource that the configuration does not want, and that the plan does
    /// not delete. They are a part of the value of the resource.
    fn left_over(&self, _: &AbsResource, _: &Expansion, _: &Schema) -> Vec<(InstanceKey, Value)> {
        Vec::new()
    }

    /// Whether an instance has neither a value nor a placeholder, because the plan creates nothing and state has no
    /// object.
    fn is_absent(&self, _: &ResourceInstance) -> bool {
        false
    }

    /// The placeholder for an object that state does not have.
    fn missing(&self) -> Value {
        Value::unknown(Type::Dynamic)
    }

    /// The placeholder for a missing instance of a resource with this schema.
    fn gap(&self, _: &AbsResource, schema: &Schema, _: ExpansionKind) -> Value {
        Value::unknown(schema.block.implied_type())
    }

    /// Plans a managed resource instance.
    async fn managed(&self, desired: DesiredInstance) -> Result<Managed, Failed>;

    /// Plans the provisioners that run after a create, in order. Returns the origin that readers of the instance wait
    /// for.
    fn provision(&self, _: &ResourceInstance, _: Vec<Provision>) -> Option<Origin> {
        None
    }

    /// Reads a data source, or plans to read it at apply.
    ///
    /// The data source of a check block (`desired.block.check`) must not stop the plan. If the read fails, its errors
    /// become warnings, and the check fails ([`Glue::is_failed_check`]). `Failed` is returned only if apply does not
    /// read the data source either, or if the provider cannot be used.
    async fn data(&self, desired: DesiredInstance) -> Result<Value, Failed>;

    /// The stored objects of a resource, for inspections, and for outputs that are evaluated only at apply.
    ///
    /// An object that cannot be read is reported, and its value is unknown.
    async fn stored(&self, _: &AbsResource, _: &ProviderSource, _: &Schema) -> Vec<(InstanceKey, Value)> {
        Vec::new()
    }

    /// Opens an ephemeral resource, or plans to open it at apply.
    async fn ephemeral(&self, desired: DesiredInstance) -> Result<Value, Failed>;

    /// Records the expansion of a resource, and its protection if the resource has any.
    fn expanded(&self, resource: &AbsResource, expansion: &Expansion, protection: Option<Protection>);

    /// Records the protection of a resource whose expansion is not evaluated.
    fn protected(&self, _: &AbsResource, _: Protection) {}

    /// Records a resource without instances, with its provider configuration. Called if the purpose lists such
    /// resources.
    fn bare(&self, resource: &AbsResource, provider: ProviderConfig) {
        let _ = (resource, provider);
    }

    /// Called when all desired instances of a resource are planned. If the call fails, the readers of the resource are
    /// not evaluated.
    async fn planned_all(&self, resource: &AbsResource) -> Result<(), Failed> {
        let _ = resource;
        Ok(())
    }

    /// Records the expansion of a module. `module` has no key at its last step.
    fn module_expanded(&self, parent: &ModuleInstance, call: &str, expansion: &Expansion);

    /// Called for each named value: a local, a variable, or an output of a module. Each part that can still fail
    /// becomes an operation, so that its error is reported only once.
    fn named(&self, name: &ValueName, value: Value) -> Value;

    /// Plans a condition that apply evaluates. Returns the origin that dependents wait for.
    fn open_check(&self, check: OpenCheck) -> Option<Origin>;

    /// Records the combined result of an object's conditions. Called once for each object with conditions.
    fn checked(&self, _: CheckResult) {}

    /// Whether the data source of a check block could not be read.
    fn is_failed_check(&self, _: &str) -> bool {
        false
    }

    /// Records an output of the root module.
    fn root_output(&self, output: RootOutput);

    /// Records that an output of a called module was evaluated.
    fn module_output(&self, _module: &ModuleInstance, _name: &SmolStr, _is_null: bool) {}

    /// Records that a variable of a called module was not evaluated, because something that its argument refers to
    /// failed.
    fn not_reached(&self, _module: &Module, _variable: &SmolStr) {}

    /// Calls a provider function with known arguments, on this instance or on an unconfigured provider.
    async fn provider_function(
        &self,
        source: &ProviderSource,
        instance: Option<&ProviderInstance>,
        function: &str,
        arguments: Vec<Value>,
    ) -> Result<Value, FunctionError>;

    /// Adds a diagnostic.
    fn report(&self, diagnostic: Diagnostic);
}

#[cfg(test)]
mod tests {
    use std::cell::Cell;

    use super::*;

    thread_local! {
        /// The number of compared keys.
        pub(super) static STEPS: Cell<usize> = const { Cell::new(0) };
    }

    /// To find the orphans, each stored instance is looked up in the expansion of its resource.
    #[test]
    fn steps_of_a_lookup_hardly_grow_with_the_number_of_keys() {
        let steps = |count: i64| {
            let expansion = Expansion { kind: ExpansionKind::Count, keys: (0..count).map(InstanceKey::Int).collect() };
            STEPS.with(|steps| steps.set(0));
            let found = (0..2 * count).filter(|key| expansion.has(&InstanceKey::Int(*key))).count();
            assert_eq!(i64::try_from(found), Ok(count));
            STEPS.with(Cell::get)
        };
        let (few, many) = (steps(100), steps(1_000));
        assert!(many <= 20 * few, "{few} comparisons for 100 keys, {many} for 1,000");
    }
}
