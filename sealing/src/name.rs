//! Names of the parts of an `encryption` block, as in references and metadata.

use std::fmt;

/// A key provider: `key_provider.TYPE.NAME`.
#[derive(Clone, Debug, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub struct KeyProviderName {
    /// The first label, such as `pbkdf2` or `external`.
    pub kind: String,
    /// The second label.
    pub name: String,
}

impl KeyProviderName {
    /// Makes a name from these two labels.
    pub fn new(kind: impl Into<String>, name: impl Into<String>) -> KeyProviderName {
        KeyProviderName { kind: kind.into(), name: name.into() }
    }
}

impl fmt::Display for KeyProviderName {
    fn fmt(&self, out: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(out, "key_provider.{}.{}", self.kind, self.name)
    }
}

/// A method: `method.TYPE.NAME`.
#[derive(Clone, Debug, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub struct MethodName {
    /// The first label, `aes_gcm`, `external` or `unencrypted`.
    pub kind: String,
    /// The second label.
    pub name: String,
}

impl MethodName {
    /// Makes a name from these two labels.
    pub fn new(kind: impl Into<String>, name: impl Into<String>) -> MethodName {
        MethodName { kind: kind.into(), name: name.into() }
    }
}

impl fmt::Display for MethodName {
    fn fmt(&self, out: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(out, "method.{}.{}", self.kind, self.name)
    }
}

/// A target of encryption.
#[derive(Clone, Debug, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub enum TargetName {
    /// `state`.
    State,
    /// `plan`.
    Plan,
    /// `remote_state_data_sources` / `default`: other states without a target of their own.
    DefaultRemoteState,
    /// `remote_state_data_sources` / `remote_state_data_source "NAME"`.
    RemoteState(String),
}

impl fmt::Display for TargetName {
    fn fmt(&self, out: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            TargetName::State => out.write_str("state"),
            TargetName::Plan => out.write_str("plan"),
            TargetName::DefaultRemoteState => out.write_str("remote_state_data_sources.default"),
            TargetName::RemoteState(name) => write!(out, "remote_state_data_source {name:?}"),
        }
    }
}

/// Any part of an `encryption` block, as the subject of a problem.
#[derive(Clone, Debug, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub enum SealingPart {
    /// A key provider.
    KeyProvider(KeyProviderName),
    /// A method.
    Method(MethodName),
    /// A target.
    Target(TargetName),
}

impl fmt::Display for SealingPart {
    fn fmt(&self, out: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            SealingPart::KeyProvider(name) => name.fmt(out),
            SealingPart::Method(name) => name.fmt(out),
            SealingPart::Target(name) => name.fmt(out),
        }
    }
}
