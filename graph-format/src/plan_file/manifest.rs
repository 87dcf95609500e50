//! What a plan is about and where it comes from.

use std::collections::BTreeMap;

use serde::{Deserialize, Serialize};
use smol_str::SmolStr;

use super::FORMAT_VERSION;
use crate::address::{Module, ProviderSource, ResourceInstance};
use crate::diagnostic::Diagnostic;
use crate::formula::TypeDefaults;
use crate::graph::Claim;
use crate::source::SourceRange;
use crate::types::Type;
use crate::value::{PlainValue, Value};

/// What the user asked for.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, PartialOrd, Ord, Hash, Serialize, Deserialize)]
pub enum UiMode {
    /// To bring the world to what the configuration says.
    #[default]
    Normal,
    /// To destroy everything.
    Destroy,
    /// To bring the state to what the world is.
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
    /// Its version; empty for what is built in or overridden in development.
    pub version: String,
    /// The hash (`h1:...`) of the unpacked package that planning used; empty where there is none.
    pub checksum: String,
    /// All hashes that the lock file has for it (`h1:...`, `zh:...`), sorted.
    pub hashes: Vec<String>,
}

/// A root variable whose value is not stored and must be supplied again.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
pub struct EphemeralVariable {
    /// What it is converted to.
    pub ty: Type,
    /// Defaults of optional attributes inside it.
    pub defaults: TypeDefaults,
    /// The default that the configuration gives, where it gives one.
    pub default: Option<PlainValue>,
    /// Null is a value of its own, not a wish for the default.
    pub nullable: bool,
    /// Never to be shown.
    pub sensitive: bool,
}

/// What kind of thing a check belongs to. The words are those of JSON output.
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
    /// An output of a called module that nothing needs: apply does not come to it.
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

/// What came of a check.
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
    /// Nobody came to it: the plan is about another part of the configuration. The address is that of the object as
    /// configured, since not even its instances are known.
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
    /// The object: an instance of a resource, output, check block or variable, as text.
    pub address: String,
    /// What the object is.
    pub kind: CheckedKind,
    /// What came of its conditions, the worst of them.
    pub status: CheckStatus,
    /// The messages of those that do not hold.
    pub messages: Vec<String>,
    /// Apply looks at the conditions again. What it does not look at is unknown then.
    pub again: bool,
}

/// What a plan is about and where it comes from.
///
/// [`Manifest::prior_state`] and [`Manifest::configuration`] stand in sections of their own, and workers do not get
/// them, nor variables, claims and checks.
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
    /// What the user asked for.
    pub ui_mode: UiMode,
    /// Planning met errors: the plan shows how far it came and cannot be applied.
    pub errored: bool,
    /// Nothing was left out or deferred: after applying it another plan would show no changes.
    pub complete: bool,
    /// There is something to apply.
    pub applyable: bool,
    /// Provider packages, ordered by source.
    pub providers: Vec<ProviderPackage>,
    /// Values of root variables; sensitive ones keep their mark. Ephemeral ones are not here.
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
    /// What came of checks, ordered by address.
    pub checks: Vec<CheckResult>,
    /// What must have gone well before apply looks at conditions, by the address as configured of what they belong to.
    pub check_needs: BTreeMap<String, Vec<String>>,
    /// Warnings about the configuration, to be told again by whoever applies.
    pub warnings: Vec<Diagnostic>,
    /// What `plantimestamp()` gave: RFC 3339, UTC.
    pub timestamp: String,
    /// What modules tell their providers of themselves (`provider_meta`), by [`Manifest::meta_key`].
    pub provider_metas: BTreeMap<String, Value>,
    /// Where the blocks of resources that something happens to begin, by their address without keys: what problems of
    /// the apply point at.
    pub places: BTreeMap<String, SourceRange>,
    /// Blocks that were written for imported objects, by address.
    #[serde(skip)]
    pub generated: BTreeMap<String, String>,
    /// The state that was planned from, after refreshing: tfstate v4 as JSON text.
    #[serde(skip)]
    pub prior_state: Option<String>,
    /// The configuration as `show -json` has it: JSON text.
    #[serde(skip)]
    pub configuration: Option<String>,
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
        }
    }
}

impl Manifest {
    /// What a worker needs of it: nothing that grows with the plan and no value of a variable.
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
        }
    }

    /// The key of what a module tells a provider of itself.
    pub fn meta_key(module: &Module, provider: &ProviderSource) -> String {
        format!("{module} {provider}")
    }

    /// What the module of an instance tells the instance's provider of itself.
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
