//! Constructors of the diagnostics of settings.

pub(super) mod reasons;

use weft_graph_format::diagnostic::Diagnostic;

use reasons::MethodProblem;

/// The settings have an argument that has no effect.
pub(super) fn unused(name: &str) -> Diagnostic {
    let detail = match name {
        "msi_endpoint" => {
            "Remove the argument. The environment variable MSI_ENDPOINT sets the endpoint of managed identities."
        }
        _ => {
            "Remove the argument. The argument \"environment\" or \"metadata_host\" determines the endpoints of Azure."
        }
    };
    Diagnostic::warning(format!("\"{name}\": [DEPRECATED] it has no effect"), detail)
}

/// The settings name a cloud that does not exist.
pub(super) fn unknown_environment(name: &str) -> Diagnostic {
    Diagnostic::error(
        format!("unknown environment identifier: {name}"),
        "The environments are \"public\", \"usgovernment\" and \"china\". For another cloud, set \"metadata_host\".",
    )
}

/// The text is not a valid name of a storage account.
pub(super) fn account_name(name: &str) -> Diagnostic {
    Diagnostic::error(
        "invalid storage account name",
        format!("{name:?} is not a name of 3 to 24 digits and lowercase letters."),
    )
}

/// The text is not a valid name of a container.
pub(super) fn container_name(name: &str) -> Diagnostic {
    Diagnostic::error(
        "invalid storage container name",
        format!(
            "{name:?} is not valid. A name has 3 to 63 characters: digits, lowercase letters and single hyphens, with \
             no hyphen at its ends."
        ),
    )
}

/// The settings lack the resource group that is needed to list the keys of the account.
pub(super) fn no_group() -> Diagnostic {
    Diagnostic::error(
        "Resource Group is empty",
        "The access key of the storage account is looked up in its resource group: set \"resource_group_name\". With \
         use_azuread_auth = true, no access key is needed.",
    )
}

/// The settings lack the subscription that is needed to list the keys of the account.
pub(super) fn no_subscription() -> Diagnostic {
    Diagnostic::error(
        "Subscription ID is empty",
        "The access key of the storage account is looked up in its subscription: set \"subscription_id\" or \
         ARM_SUBSCRIPTION_ID. With use_azuread_auth = true, no access key is needed.",
    )
}

/// A kind of method of authentication.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum MethodKind {
    Certificate,
    Secret,
    Pipelines,
    Oidc,
    Machine,
    Workload,
    Cli,
}

/// A method of authentication cannot be used, for these reasons.
pub(super) fn method(kind: MethodKind, reasons: &[MethodProblem]) -> Diagnostic {
    let summary = match kind {
        MethodKind::Certificate => "Invalid Azure Client Certificate Auth",
        MethodKind::Secret => "Invalid Azure Client Secret Auth",
        MethodKind::Pipelines => "Invalid Azure DevOps Auth",
        MethodKind::Oidc => "Invalid Azure OpenID Connect Auth",
        MethodKind::Machine => "Invalid Azure Managed Service Identity Auth",
        MethodKind::Workload => "Invalid AKS Workload Identity Auth",
        MethodKind::Cli => "Invalid Azure Command Line Auth",
    };
    let reasons: Vec<String> = reasons.iter().map(ToString::to_string).collect();
    Diagnostic::error(summary, format!("{}.", reasons.join(". ")))
}

/// The access key in the settings or in the environment is not valid.
pub(super) fn access_key() -> Diagnostic {
    crate::problems::credentials(&"the argument \"access_key\" or the variable ARM_ACCESS_KEY is not base64")
}

/// No method of authentication can be used.
pub(super) fn no_method() -> Diagnostic {
    Diagnostic::error(
        "No valid azure auth methods found",
        "The errors above say what each method needs. Set \"access_key\" or \"sas_token\", or the arguments of one of \
         these methods.",
    )
}
