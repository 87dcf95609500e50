//! Constructors of the diagnostics of the backends `remote` and `cloud`.

use weft_graph_format::diagnostic::{Diagnostic, Severity};

use super::hosted::{Flavour, HostedSettings};
use super::refusals::HostedRefusal;
use crate::hosts::NoService;

/// The backend `remote` has no organization.
pub(super) fn no_organization() -> Diagnostic {
    Diagnostic::error(
        "Invalid organization value",
        "The \"organization\" attribute value must not be empty. Set it to the organization of the workspaces.",
    )
}

/// What is wrong with the argument `workspaces`.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum WorkspacesFault {
    /// The backend `remote` needs a name or a prefix.
    NoNameOrPrefix,
    /// A name and a prefix exclude each other.
    NameAndPrefix,
    /// A `cloud` block needs tags or a name.
    NoTagsOrName,
    /// Tags and a name exclude each other.
    TagsAndName,
    /// The environment selects another workspace than the name.
    OtherSelected,
}

impl WorkspacesFault {
    fn text(self) -> &'static str {
        match self {
            WorkspacesFault::NoNameOrPrefix => "Either workspace \"name\" or \"prefix\" is required.",
            WorkspacesFault::NameAndPrefix => "Only one of workspace \"name\" or \"prefix\" is allowed.",
            WorkspacesFault::NoTagsOrName => {
                "Missing workspace mapping strategy. Either workspace \"tags\" or \"name\" is required."
            }
            WorkspacesFault::TagsAndName => "Only one of workspace \"tags\" or \"name\" is allowed.",
            WorkspacesFault::OtherSelected => {
                "The workspace defined using the environment variable \"TF_WORKSPACE\" is not consistent with the \
                 workspace \"name\" in the configuration."
            }
        }
    }
}

/// The argument `workspaces` is missing, or contradicts itself or the environment.
pub(super) fn invalid_workspaces(fault: WorkspacesFault) -> Diagnostic {
    Diagnostic::error("Invalid workspaces configuration", fault.text())
}

/// The `workspaces` of a `cloud` block are missing, or contradict themselves or the environment.
pub(super) fn cloud_workspaces(fault: WorkspacesFault) -> Diagnostic {
    let what = fault.text();
    let detail = format!(
        "{what}\n\nThe \"workspaces\" block says which workspaces of the organization belong to this configuration. \
         With \"tags\", these are all workspaces with these tags, and new workspaces get these tags. With \"name\", it \
         is only the workspace of that name."
    );
    Diagnostic::error("Invalid workspaces configuration", detail)
}

/// The settings name no host.
pub(super) fn no_host(flavour: Flavour) -> Diagnostic {
    const DETAIL: &str = "There is no default for \"hostname\". Set it to the host of the service, such as \
                          \"app.terraform.io\".";
    match flavour {
        Flavour::Remote => Diagnostic::error("Hostname is required for the remote backend", DETAIL),
        Flavour::Cloud => Diagnostic::error("Hostname is required for the cloud backend", DETAIL),
    }
}

/// An argument is set neither in the `cloud` block nor in the environment.
pub(super) fn argument_missing(name: &str, variable: &str) -> Diagnostic {
    Diagnostic::error(
        "Invalid or missing required argument",
        format!("\"{name}\" must be set in the cloud configuration or as an environment variable: {variable}."),
    )
}

/// The address of the service is not known.
pub(super) fn no_service(settings: &HostedSettings, why: &NoService) -> Diagnostic {
    let host = &settings.host;
    match why {
        NoService::Name(error) => Diagnostic::error("Invalid hostname", format!("{error}.")),
        NoService::Network(error) if settings.flavour == Flavour::Cloud => Diagnostic::error(
            "A network issue prevented cloud configuration",
            format!("Weft cannot find out which services {host} has: {error}."),
        ),
        NoService::Network(error) => Diagnostic::error(
            "Failed to request discovery document",
            format!("Weft cannot find out which services {host} has: {error}."),
        ),
        NoService::NotOffered => Diagnostic::error(
            format!("Host {host} does not provide a tfe service"),
            "Check the argument \"hostname\": it must be the host of a service with the API of HCP Terraform.",
        ),
        NoService::OtherVersion(offered) => Diagnostic::error(
            format!("Host {host} does not provide a tfe service"),
            format!("The host offers only other versions of this service: {offered}."),
        ),
        NoService::Answer(error) => {
            Diagnostic::error(format!("Host {host} does not provide a tfe service"), format!("{error}."))
        }
    }
}

/// There is no token for the host.
pub(super) fn no_token(host: &str) -> Diagnostic {
    Diagnostic::error(
        "Required token could not be found",
        format!("Run the following command to generate a token for {host}:\n    weft login {host}"),
    )
}

/// The organization cannot be read.
pub(super) fn organization_unreadable(settings: &HostedSettings, refusal: &HostedRefusal) -> Diagnostic {
    let HostedSettings { organization, host, .. } = settings;
    let advice = "Check the names of organization and host, and whether the token is valid";
    let detail = match refusal {
        HostedRefusal::NotFound => format!("Organization \"{organization}\" at host {host} not found. {advice}."),
        error => format!("The settings of the organization cannot be read: {error}. {advice}."),
    };
    Diagnostic::error(format!("Failed to read organization \"{organization}\" at host {host}"), detail)
}

/// The workspace that the environment selects does not exist, or does not have the tags.
pub(super) fn wrong_selection(settings: &HostedSettings, workspace: &str, tags: &[String]) -> Diagnostic {
    let place = match tags.is_empty() {
        true => format!("in organization {}", settings.organization),
        false => format!("with the tags specified in the configuration: [{}]", tags.join(", ")),
    };
    Diagnostic::error(
        "Invalid workspace selection",
        format!(
            "The variable TF_WORKSPACE selects the workspace \"{workspace}\", but there is no such workspace {place}. \
             Set the variable to the name of an existing workspace, or unset it."
        ),
    )
}

/// The service has an API that is too old for `cloud` blocks.
pub(super) fn old_service(version: &str) -> Diagnostic {
    let found = if version.is_empty() { "an older version".to_owned() } else { format!("version {version}") };
    Diagnostic::error(
        "Unsupported cloud backend version",
        format!(
            "A cloud block needs a service with version 2.5 of the API or later, but this service has {found}. Upgrade \
             the service."
        ),
    )
}

/// The service executes the runs of the workspace itself.
pub(super) fn runs_elsewhere(settings: &HostedSettings, workspace: &str, mode: &str) -> Diagnostic {
    let HostedSettings { organization, host, .. } = settings;
    Diagnostic::error(
        "Workspace with remote execution",
        format!(
            "The workspace {organization}/{workspace} at {host} has the execution mode \"{mode}\": the service makes \
             and applies the plans of the workspace, and Weft cannot start runs in the service. Set the execution mode \
             to \"local\" in the settings of the workspace, so that the service keeps only the state. Or start the run \
             on the web page of the service. Commands about the state work in every mode."
        ),
    )
}

/// The service expects another version of the tool (backend `remote`).
pub(super) fn other_version(settings: &HostedSettings, workspace: &str, local: &str, remote: &str) -> Diagnostic {
    Diagnostic::error(
        "OpenTofu version mismatch",
        format!(
            "Weft writes states like OpenTofu {local}. This version does not match the version of the workspace \
             {}/{workspace} ({remote}).",
            settings.organization
        ),
    )
}

/// The service expects another version of the tool (`cloud`).
pub(super) fn incompatible_version(
    settings: &HostedSettings,
    workspace: &str,
    local: &str,
    remote: &str,
) -> Diagnostic {
    Diagnostic::error(
        "Incompatible TF version",
        format!(
            "Weft writes states like OpenTofu {local}. This version does not meet the version requirements of the \
             workspace {}/{workspace} ({remote}).",
            settings.organization
        ),
    )
}

/// The version of the tool in a workspace cannot be parsed.
pub(super) fn unknown_version(version: &str) -> Diagnostic {
    let detail = format!(
        "The workspace has the setting \"{version}\" as the version of OpenTofu or Terraform, which is not a valid \
         version. Correct this setting of the workspace."
    );
    Diagnostic::error("Error looking up workspace", detail)
}

/// A problem of versions. If the user has chosen to ignore such problems, the error becomes a warning. Otherwise, the
/// diagnostic says how to ignore the problem.
pub(super) fn ignorable(mut problem: Diagnostic, ignored: bool) -> Diagnostic {
    if ignored {
        problem.severity = Severity::Warning;
    } else {
        problem.detail.push_str(
            " To write the state anyway, use -ignore-remote-version. The service may then be unable to use the state.",
        );
    }
    problem
}
