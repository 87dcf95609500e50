//! The diagnostics of calls to providers, as constructors.

use crate::diagnostic::ProviderDiagnostic;

/// A provider deferred a change, which violates the protocol.
pub(crate) fn deferred_change(reason: &str) -> ProviderDiagnostic {
    ProviderDiagnostic::error(
        "Provider deferred changes",
        format!(
            "The provider deferred the change ({reason}), although the request does not allow that. This is a bug in \
             the provider, which should be reported in the provider's own issue tracker."
        ),
    )
}

/// A mocked provider cannot import.
pub(crate) fn import_with_mock() -> ProviderDiagnostic {
    ProviderDiagnostic::error(
        "Import not possible with a mocked provider",
        "A mocked provider has no objects to import. Use the real provider in this run, or remove the import block from \
         the tested module.",
    )
}
