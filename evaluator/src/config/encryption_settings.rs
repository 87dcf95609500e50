//! Encryption settings of state and plan files, as data.

use std::collections::BTreeMap;

use smol_str::SmolStr;
use weft_graph_format::diagnostic::Diagnostic;
use weft_graph_format::source::SourceRange;
use weft_graph_format::value::Value;

/// The type and the name of a `key_provider` or `method` block.
pub type PartName = (SmolStr, SmolStr);

/// The compiled encryption settings.
#[derive(Clone, Debug, Default)]
pub struct Encryption {
    /// The header of the block; empty if only the environment has settings.
    pub range: SourceRange,
    /// Encryption of state files.
    pub state: Option<EncryptionTarget>,
    /// Encryption of plan files.
    pub plan: Option<EncryptionTarget>,
    /// Encryption of state files that `terraform_remote_state` reads, for data sources without an entry in `remotes`.
    pub remote_default: Option<EncryptionTarget>,
    /// Encryption of remote state, by the name of the data source.
    pub remotes: BTreeMap<SmolStr, EncryptionTarget>,
    /// The methods that targets use.
    pub methods: BTreeMap<PartName, EncryptionPart>,
    /// Whether a method `unencrypted` is declared, even if no target uses it.
    pub declares_unencrypted: bool,
    /// The key providers that the methods use.
    pub key_providers: BTreeMap<PartName, EncryptionPart>,
    /// The problems of the settings.
    pub problems: Vec<Diagnostic>,
}

/// An encrypted target.
#[derive(Clone, Debug)]
pub struct EncryptionTarget {
    /// Whether unencrypted content is refused.
    pub enforced: bool,
    /// The method, and the fallback methods in order.
    pub methods: Vec<PartName>,
    /// The header of the block.
    pub range: SourceRange,
}

/// A `key_provider` or `method` block.
#[derive(Clone, Debug)]
pub struct EncryptionPart {
    /// Its arguments, with the ranges of their values.
    pub settings: BTreeMap<SmolStr, (EncryptionSetting, SourceRange)>,
    /// The header of the block.
    pub range: SourceRange,
}

/// The value of an argument of an [`EncryptionPart`].
#[derive(Clone, Debug)]
pub enum EncryptionSetting {
    /// A value. It is always marked sensitive.
    Value(Value),
    /// The keys of a key provider.
    Keys(PartName),
}
