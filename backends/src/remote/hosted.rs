//! The settings of the backend `remote` and of `cloud` blocks as plain data.

use std::fmt;

/// Which of the two it is.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Flavour {
    /// `backend "remote"`
    Remote,
    /// `cloud`
    Cloud,
}

/// Which workspaces of the service belong to the configuration.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(super) enum Mapping {
    /// The one with this name.
    Name(String),
    /// Those whose names begin so.
    Prefix(String),
    /// Those with all of these tags.
    Tags(Vec<String>),
}

/// The settings.
#[derive(Clone)]
pub(super) struct HostedSettings {
    /// Which of the two backends it is.
    pub(super) flavour: Flavour,
    /// The host, as written.
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
    /// Every run is a local one.
    pub(super) force_local: bool,
    /// The run of the service that this process belongs to.
    pub(super) run: Option<String>,
}

impl fmt::Debug for HostedSettings {
    fn fmt(&self, out: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(out, "HostedSettings({}/{} {:?})", self.host, self.organization, self.mapping)
    }
}
