//! The diagnostics of provider packages, as constructors.

use std::fmt::Display;
use std::path::PathBuf;

use weft_graph_format::diagnostic::Diagnostic;

/// The environment names running providers to attach to, which Weft does not support.
pub fn attaching_unsupported(variable: &str) -> Diagnostic {
    Diagnostic::error(
        "Attaching to running providers not supported yet",
        format!(
            "The environment variable {variable} is set, but this version of Weft always starts providers itself. \
             Unset the variable, or add the directory of the provider's program to dev_overrides of the CLI \
             configuration."
        ),
    )
}

/// The state has objects of a provider that is not installed.
pub fn provider_of_state_missing(source: &dyn Display) -> Diagnostic {
    Diagnostic::error(
        "Failed to load plugin schemas",
        format!(
            "The state has objects of the provider {source}, which is not installed. Run \"weft init\" to install it."
        ),
    )
}

/// Locked packages that a saved plan needs are missing. OpenTofu lists them in the summary.
pub fn packages_of_plan_missing(lines: &[String]) -> Diagnostic {
    let advice = "Install the locked packages with \"weft init\".";
    let summary = match lines {
        [one] => one.clone(),
        all => format!("missing or corrupted provider plugins:\n  - {}", all.join("\n  - ")),
    };
    Diagnostic::error(summary, advice).code("W1025")
}

/// The lock file does not have the providers of a saved plan.
pub fn plan_of_other_selections(lines: &str) -> Diagnostic {
    Diagnostic::error(
        "Inconsistent dependency lock file",
        format!(
            "The lock file does not select the versions of these providers that the plan was made with:{lines}\n\nRestore \
             the lock file, or make the plan again."
        ),
    )
}

/// The lock file does not have the providers of a plan that is shown.
pub fn schemas_of_plan_missing(lines: &str) -> Diagnostic {
    Diagnostic::error(
        "Failed to load plugin schemas",
        format!(
            "The lock file does not have these providers of the plan:{lines}\n\nRestore the lock file, or run \"weft \
             init\"."
        ),
    )
}

/// A provider is not installed.
pub fn provider_missing(source: &dyn Display) -> Diagnostic {
    Diagnostic::error(
        "Missing required provider",
        format!(
            "The provider {source} is needed, but Weft has no installed package for it. Install the package with \
             \"weft init\"."
        ),
    )
}

/// A plan was made with a development override that this machine does not have.
pub fn override_missing(name: &str) -> Diagnostic {
    Diagnostic::error(
        "Provider package missing",
        format!(
            "The plan was made with a development override of {name}, but the CLI configuration of this machine has no \
             such override. Add the override to dev_overrides of the CLI configuration, or make the plan again."
        ),
    )
}

/// The package on this machine differs from the package of the plan.
pub fn package_changed(name: &str, version: &dyn Display, checksum: &dyn Display, problem: &dyn Display) -> Diagnostic {
    Diagnostic::error(
        "Provider package changed",
        format!(
            "The plan was made with {name} {version} with the checksum {checksum}. The package of that version on this \
             machine has a different checksum: {problem}. Nothing was done. Restore the original package, or make the \
             plan again."
        ),
    )
}

/// The package of a plan is not on this machine.
pub fn version_missing(name: &str, version: &dyn Display, problem: &dyn Display) -> Diagnostic {
    Diagnostic::error(
        "Provider package missing",
        format!(
            "The plan was made with {name} {version}: {problem}. Nothing was done. Install the package with \"weft \
             init\", or name a directory with the package in the CLI configuration."
        ),
    )
}

/// Why the directory of a development override cannot be used.
#[derive(Debug, thiserror::Error)]
pub enum OverrideProblem {
    /// The directory does not contain the program of the provider.
    #[error("{} does not contain the program of the provider", .0.display())]
    NoProgram(PathBuf),
    /// The directory cannot be read.
    #[error("{0}")]
    Unreadable(#[from] std::io::Error),
}

/// A package that a plan names is missing.
pub fn package_missing(name: &str, problem: &dyn Display) -> Diagnostic {
    Diagnostic::error(
        "Provider package missing",
        format!(
            "The plan was made with a development override of {name}, which cannot be used: {problem}. Build the \
             provider in the directory of the override, or make the plan again without the override."
        ),
    )
}

/// A plan contains a package that cannot be read.
pub fn invalid_package_in_plan(name: &str, what: &str) -> Diagnostic {
    Diagnostic::error(
        "Invalid provider package in plan",
        format!("The plan names the provider {name} with {what}, so its package cannot be found. Make the plan again."),
    )
}
