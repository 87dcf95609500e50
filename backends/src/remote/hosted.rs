//! The settings of the backend `remote` and of `cloud` blocks as plain data.

use std::fmt;

/// The two backends of the service.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Flavour {
    /// `backend "remote"`
    Remote,
    /// `cloud`
    Cloud,
}

/// How the workspaces of the configuration are selected.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(super) enum Mapping {
    /// The workspace with this name.
    Name(String),
    /// The workspaces whose names have this prefix.
    Prefix(String),
    /// The workspaces with all of these tags.
    Tags(Vec<String>),
}

/// The settings.
#[derive(Clone)]
pub(super) struct HostedSettings {
    /// The backend that the settings belong to.
    pub(super) flavour: Flavour,
    /// The host, as in the configuration.
    pub(super) host: String,
    /// The organization.
    pub(super) organization: String,
    /// The token, if the settings have one.
    pub(super) token: Option<String>,
    /// The workspaces.
    pub(super) mapping: Mapping,
    /// The project of new workspaces.
    pub(super) project: Option<String>,
    /// The workspace that the environment selects.
    pub(super) selected: Option<String>,
    /// Whether every run is local.
    pub(super) force_local: bool,
    /// The run of the service to which this process belongs.
    pub(super) run: Option<String>,
}

impl fmt::Debug for HostedSettings {
    fn fmt(&self, out: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(out, "HostedSettings({}/{} {:?})", self.host, self.organization, self.mapping)
    }
}
