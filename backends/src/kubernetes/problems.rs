//! Constructors of the diagnostics of settings.

use weft_graph_format::diagnostic::Diagnostic;

/// The cluster cannot be found in the settings and the files that they name.
pub(super) fn no_configuration(error: &str) -> Diagnostic {
    Diagnostic::error(
        format!("Failed to initialize kubernetes configuration: {error}"),
        "Name a kubeconfig file with config_path or KUBE_CONFIG_PATH, or a cluster with host or KUBE_HOST. The variable \
         KUBECONFIG is not read.",
    )
}

/// The settings of the cluster contradict each other.
pub(super) fn not_usable(error: &str) -> Diagnostic {
    Diagnostic::error(format!("Failed to configure: {error}"), "Correct the settings of the cluster or of the user.")
}
