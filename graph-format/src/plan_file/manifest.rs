//! The subject and the origin of a plan.

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
    /// To make the world equal to the configuration.
    #[default]
    Normal,
    /// To destroy everything.
    Destroy,
    /// To make the state equal to the world.
    RefreshOnly,
}

impl UiMode {
    /// The word in listings.
    pub fn word(self) -> &'static str {
        match self {
            UiMode::Normal => "normal",
            UiMode::Destroy => "destroy",
            UiMode::RefreshOnly => "refresh-only",
        }
    }
}

/// A provider package that the plan was made with, and that apply must find unchanged.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct ProviderPackage {
    /// Which provider.
    pub source: ProviderSource,
    /// Its version; empty for built-in providers and development overrides.
    pub version: String,
    /// The hash (`h1:...`) of the unpacked package that planning used; empty where there is none.
    pub checksum: String,
    /// All hashes that the lock file has for it (`h1:...`, `zh:...`), sorted.
    pub hashes: Vec<String>,
}

/// A root variable whose value is not stored and must be supplied again.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
pub struct EphemeralVariable {
    /// The type of the value.
    pub ty: Type,
    /// Defaults of optional attributes inside it.
    pub defaults: TypeDefaults,
    /// The default in the configuration, if there is one.
    pub default: Option<PlainValue>,
    /// Null is a value, and does not select the default.
    pub nullable: bool,
    /// Never to be shown.
    pub sensitive: bool,
}

/// The kind of object that a check belongs to. The words are those of JSON output.
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
    /// An output of a called module that nothing needs. Apply does not evaluate it.
    UnusedOutput,
}

impl CheckedKind {
    /// The word of `kind` in JSON output.
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
    /// It holds.
    Pass,
    /// It does not.
    Fail,
    /// It could not be evaluated.
    Error,
    /// Only apply can tell.
    Unknown,
    /// Not reached: the plan concerns another part of the configuration. The address has no keys, since the instances
    /// are unknown too.
    Unreached,
    /// There is nothing to check: the object as configured, which the address names, has no instances.
    Absent,
}

impl CheckStatus {
    /// The word of `status` in JSON output.
    pub fn word(self) -> &'static str {
        match self {
            CheckStatus::Pass | CheckStatus::Absent => "pass",
            CheckStatus::Fail => "fail",
            CheckStatus::Error => "error",
            CheckStatus::Unknown | CheckStatus::Unreached => "unknown",
        }
    }
}

/// The checks of one object, as they stood when the plan was made.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct CheckResult {
    /// The object: an instance of a resource, output, check block or variable.
    pub address: CheckedAddress,
    /// The kind of the object.
    pub kind: CheckedKind,
    /// The worst result of its conditions.
    pub status: CheckStatus,
    /// The messages of those that do not hold.
    pub messages: Vec<String>,
    /// Apply evaluates the conditions again. Others are unknown from then on.
    pub again: bool,
}

/// The subject and the origin of a plan.
///
/// [`Manifest::prior_state`] and [`Manifest::configuration`] have their own sections. Workers receive neither these nor
/// variables, claims and checks.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
pub struct Manifest {
    /// The format of the file.
    pub format_version: u32,
    /// The version of Weft that planned.
    pub weft_version: String,
    /// When the plan was made: RFC 3339, UTC.
    pub created: String,
    /// Lineage of the state that was planned from; empty when there was none.
    pub lineage: String,
    /// Serial of the state that was planned from.
    pub serial: u64,
    /// The workspace.
    pub workspace: String,
    /// The purpose of the plan.
    pub ui_mode: UiMode,
    /// Planning failed: the plan is incomplete and cannot be applied.
    pub errored: bool,
    /// Nothing was left out or deferred: after applying it another plan would show no changes.
    pub complete: bool,
    /// There is something to apply.
    pub applyable: bool,
    /// Provider packages, ordered by source.
    pub providers: Vec<ProviderPackage>,
    /// Values of root variables. Sensitive values keep their mark; ephemeral values are absent.
    pub variables: BTreeMap<SmolStr, PlainValue>,
    /// Root variables that must be supplied again.
    pub ephemeral_variables: BTreeMap<SmolStr, EphemeralVariable>,
    /// Addresses given with `-target`.
    pub targets: Vec<String>,
    /// Addresses given with `-exclude`.
    pub excludes: Vec<String>,
    /// Addresses given with `-replace`.
    pub replacements: Vec<String>,
    /// Where the state is, in words, without secrets.
    pub backend: String,
    /// Instances that the plan changes or reads, with their revisions, ordered by address.
    pub claims: Vec<Claim>,
    /// The results of checks, ordered by address.
    pub checks: Vec<CheckResult>,
    /// What must have succeeded before apply evaluates the conditions of an object, by the object's address without
    /// keys.
    pub check_needs: BTreeMap<String, Vec<String>>,
    /// Warnings about the configuration, which apply reports again.
    pub warnings: Vec<Diagnostic>,
    /// The result of `plantimestamp()`: RFC 3339, UTC.
    pub timestamp: String,
    /// The `provider_meta` of modules, by [`Manifest::meta_key`].
    pub provider_metas: BTreeMap<String, Value>,
    /// The source ranges of provider blocks, blocks of changed resources, and ephemeral variables, by their address
    /// without keys. Diagnostics of the apply refer to them.
    pub places: BTreeMap<String, SourceRange>,
    /// Blocks that were written for imported objects, by address.
    #[serde(skip)]
    pub generated: BTreeMap<String, String>,
    /// The state that was planned from, after refreshing: tfstate v4 as JSON text.
    #[serde(skip)]
    pub prior_state: Option<String>,
    /// The configuration in the form of `show -json`: JSON text.
    #[serde(skip)]
    pub configuration: Option<String>,
    /// What placement rules demand of workers.
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
    /// The part that a worker needs. It does not grow with the plan, and has no values of variables.
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

    /// The `provider_meta` of the instance's module for the instance's provider.
    pub fn provider_meta(&self, address: &ResourceInstance, provider: &ProviderSource) -> Option<&Value> {
        // Most plans have none.
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
