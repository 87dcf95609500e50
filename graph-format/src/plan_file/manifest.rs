//! The manifest: what a plan is about, and where it comes from.

use std::collections::BTreeMap;

use serde::{Deserialize, Serialize};
use smol_str::SmolStr;

use super::FORMAT_VERSION;
use crate::address::{Module, ProviderSource, ResourceInstance};
use crate::checked::CheckedAddress;
use crate::diagnostic::Diagnostic;
use crate::graph::Claim;
use crate::limits::CallLimits;
use crate::placement::Placement;
use crate::source::SourceRange;
use crate::types::Type;
use crate::value::formula::TypeDefaults;
use crate::value::{PlainValue, Value};

/// The purpose of the plan.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, PartialOrd, Ord, Hash, Serialize, Deserialize)]
pub enum UiMode {
    /// To make the real objects match the configuration.
    #[default]
    Normal,
    /// To destroy everything.
    Destroy,
    /// To make the state match the real objects.
    RefreshOnly,
}

impl UiMode {
    /// The name of the purpose in listings.
    pub fn word(self) -> &'static str {
        match self {
            UiMode::Normal => "normal",
            UiMode::Destroy => "destroy",
            UiMode::RefreshOnly => "refresh-only",
        }
    }
}

/// A provider package that was used for planning. The package must be unchanged at apply.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct ProviderPackage {
    /// The source of the provider.
    pub source: ProviderSource,
    /// The version of the provider; empty for built-in providers and development overrides.
    pub version: String,
    /// The hash (`h1:...`) of the unpacked package that planning used; empty if there is no such hash.
    pub checksum: String,
    /// All hashes that the lock file has for the package (`h1:...`, `zh:...`), sorted.
    pub hashes: Vec<String>,
}

/// A root variable whose value is not stored. The user must supply it again.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
pub struct EphemeralVariable {
    /// The type of the value.
    pub ty: Type,
    /// The defaults of optional attributes of the type.
    pub defaults: TypeDefaults,
    /// The default in the configuration, if there is one.
    pub default: Option<PlainValue>,
    /// Whether null is accepted as a value. Otherwise null selects the default.
    pub nullable: bool,
    /// Whether the value must never be shown.
    pub sensitive: bool,
}

/// The kind of object that a check belongs to, with the names of the JSON output.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Hash, Serialize, Deserialize)]
pub enum CheckedKind {
    /// A resource or data source.
    Resource,
    /// An output of a module.
    Output,
    /// A `check` block.
    Check,
    /// An input variable.
    Variable,
    /// An output of a called module that nothing reads. Apply does not evaluate it.
    UnusedOutput,
}

impl CheckedKind {
    /// The `kind` in JSON output.
    pub fn word(self) -> &'static str {
        match self {
            CheckedKind::Resource => "resource",
            CheckedKind::Output | CheckedKind::UnusedOutput => "output_value",
            CheckedKind::Check => "check",
            CheckedKind::Variable => "input_variable",
        }
    }
}

/// The result of a check.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Hash, Serialize, Deserialize)]
pub enum CheckStatus {
    /// The condition holds.
    Pass,
    /// The condition does not hold.
    Fail,
    /// The condition could not be evaluated.
    Error,
    /// Only apply can decide the condition.
    Unknown,
    /// The condition was not reached, because the plan is limited to another part of the configuration. The address has
    /// no keys, since the instances are unknown.
    Unreached,
    /// There is nothing to check, because there are no instances. The address has no keys.
    Absent,
}

impl CheckStatus {
    /// The `status` in JSON output.
    pub fn word(self) -> &'static str {
        match self {
            CheckStatus::Pass | CheckStatus::Absent => "pass",
            CheckStatus::Fail => "fail",
            CheckStatus::Error => "error",
            CheckStatus::Unknown | CheckStatus::Unreached => "unknown",
        }
    }
}

/// The results of the checks of one object, when the plan was made.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct CheckResult {
    /// The object: an instance of a resource, output, check block or variable.
    pub address: CheckedAddress,
    /// The kind of the object.
    pub kind: CheckedKind,
    /// The worst result of the object's conditions.
    pub status: CheckStatus,
    /// The messages of conditions that do not hold.
    pub messages: Vec<String>,
    /// Whether apply evaluates the conditions again. Otherwise, their status is unknown after the apply.
    pub again: bool,
}

/// What a plan is about, and where it comes from.
///
/// [`Manifest::prior_state`] and [`Manifest::configuration`] have their own sections. Workers receive neither of these
/// two, nor variables, claims and checks.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
pub struct Manifest {
    /// The format version of the file.
    pub format_version: u32,
    /// The version of Weft that made the plan.
    pub weft_version: String,
    /// When the plan was made: RFC 3339, UTC.
    pub created: String,
    /// The lineage of the prior state; empty if there was none.
    pub lineage: String,
    /// The serial of the prior state.
    pub serial: u64,
    /// The workspace.
    pub workspace: String,
    /// The purpose of the plan.
    pub ui_mode: UiMode,
    /// Whether planning failed, so that the plan is incomplete and cannot be applied.
    pub errored: bool,
    /// Whether nothing was excluded or deferred: after the apply, another plan would show no changes.
    pub complete: bool,
    /// Whether there is something to apply.
    pub applyable: bool,
    /// Provider packages, ordered by source.
    pub providers: Vec<ProviderPackage>,
    /// Values of root variables. Sensitive values keep their mark; ephemeral values are absent.
    pub variables: BTreeMap<SmolStr, PlainValue>,
    /// Root variables whose values must be supplied again.
    pub ephemeral_variables: BTreeMap<SmolStr, EphemeralVariable>,
    /// Addresses given with `-target`.
    pub targets: Vec<String>,
    /// Addresses given with `-exclude`.
    pub excludes: Vec<String>,
    /// Addresses given with `-replace`.
    pub replacements: Vec<String>,
    /// A description of the backend with the state, without secrets.
    pub backend: String,
    /// Instances that the plan changes or reads, with their revisions, ordered by address.
    pub claims: Vec<Claim>,
    /// The results of checks, ordered by address.
    pub checks: Vec<CheckResult>,
    /// The prerequisites of each object with conditions: the addresses of the resources, outputs and variables that
    /// must succeed before apply evaluates these conditions. The map's keys are addresses of objects, without instance
    /// keys.
    pub check_needs: BTreeMap<String, Vec<String>>,
    /// Warnings about the configuration. Apply reports them again.
    pub warnings: Vec<Diagnostic>,
    /// The result of `plantimestamp()`: RFC 3339, UTC.
    pub timestamp: String,
    /// The `provider_meta` of modules, by [`Manifest::meta_key`].
    pub provider_metas: BTreeMap<String, Value>,
    /// The source ranges of provider blocks, of blocks of changed resources, and of ephemeral variables, by address
    /// without keys. Diagnostics of the apply refer to them.
    pub places: BTreeMap<String, SourceRange>,
    /// Configuration that was generated for imported objects, by address.
    #[serde(skip)]
    pub generated: BTreeMap<String, String>,
    /// The prior state after the refresh: tfstate v4 as JSON text.
    #[serde(skip)]
    pub prior_state: Option<String>,
    /// The configuration in the form of `show -json`: JSON text.
    #[serde(skip)]
    pub configuration: Option<String>,
    /// What placement rules require of workers.
    #[serde(skip)]
    pub placement: Placement,
    /// The limits on provider calls.
    #[serde(skip)]
    pub limits: CallLimits,
}

impl Default for Manifest {
    fn default() -> Manifest {
        Manifest {
            format_version: FORMAT_VERSION,
            weft_version: env!("CARGO_PKG_VERSION").into(),
            created: String::new(),
            lineage: String::new(),
            serial: 0,
            workspace: String::from("default"),
            ui_mode: UiMode::Normal,
            errored: false,
            complete: true,
            applyable: true,
            providers: Vec::new(),
            variables: BTreeMap::new(),
            ephemeral_variables: BTreeMap::new(),
            targets: Vec::new(),
            excludes: Vec::new(),
            replacements: Vec::new(),
            backend: String::new(),
            claims: Vec::new(),
            checks: Vec::new(),
            check_needs: BTreeMap::new(),
            warnings: Vec::new(),
            timestamp: String::new(),
            provider_metas: BTreeMap::new(),
            places: BTreeMap::new(),
            generated: BTreeMap::new(),
            prior_state: None,
            configuration: None,
            placement: Placement::default(),
            limits: CallLimits::default(),
        }
    }
}

impl Manifest {
    /// The part that a worker needs. Its size does not depend on the plan, and it contains no values of variables.
    #[must_use]
    pub fn for_worker(&self) -> Manifest {
        Manifest {
            format_version: self.format_version,
            weft_version: self.weft_version.clone(),
            created: self.created.clone(),
            lineage: self.lineage.clone(),
            serial: self.serial,
            workspace: self.workspace.clone(),
            ui_mode: self.ui_mode,
            errored: self.errored,
            complete: self.complete,
            applyable: self.applyable,
            providers: self.providers.clone(),
            variables: BTreeMap::new(),
            ephemeral_variables: self.ephemeral_variables.clone(),
            targets: Vec::new(),
            excludes: Vec::new(),
            replacements: Vec::new(),
            backend: String::new(),
            claims: Vec::new(),
            checks: Vec::new(),
            check_needs: BTreeMap::new(),
            warnings: Vec::new(),
            timestamp: self.timestamp.clone(),
            provider_metas: self.provider_metas.clone(),
            places: BTreeMap::new(),
            generated: BTreeMap::new(),
            prior_state: None,
            configuration: None,
            placement: Placement::default(),
            limits: CallLimits::default(),
        }
    }

    /// The key of a module's `provider_meta` for a provider.
    pub fn meta_key(module: &Module, provider: &ProviderSource) -> String {
        format!("{module} {provider}")
    }

    /// The `provider_meta` for a provider, from the module that contains this instance.
    pub fn provider_meta(&self, address: &ResourceInstance, provider: &ProviderSource) -> Option<&Value> {
        // Most plans have no `provider_meta`.
        if self.provider_metas.is_empty() {
            return None;
        }
        self.provider_metas.get(&Manifest::meta_key(&address.config().module, provider))
    }

    /// The package of a provider.
    pub fn package(&self, source: &ProviderSource) -> Option<&ProviderPackage> {
        self.providers.iter().find(|package| package.source == *source)
    }
}
