//! The diagnostics of modules and their manifest, as constructors.

use std::fmt::Display;
use std::path::Path;

use weft_graph_format::diagnostic::Diagnostic;

/// The manifest cannot be read.
pub fn manifest_unreadable(path: &Path, why: &dyn Display) -> Diagnostic {
    Diagnostic::error(
        "Failed to read modules manifest file",
        format!("{}: {why}. Run \"weft init\" to write it again.", path.display()),
    )
}

/// The manifest cannot be read, so modules cannot be found. The summary is OpenTofu's.
pub fn manifest_not_loaded(path: &Path, why: &dyn Display) -> Diagnostic {
    let summary = format!("failed to read module manifest: error unmarshalling snapshot: {why}");
    let way_out = format!("Remove {}, and run \"weft init\" to write it again.", path.display());
    Diagnostic::error(summary, way_out).code("W1045")
}

/// The manifest cannot be written.
pub fn manifest_not_written(path: &Path, error: &dyn Display) -> Diagnostic {
    Diagnostic::error("Failed to update module manifest", format!("{}: {error}.", path.display()))
}

/// The runtime that fetching needs cannot start.
pub fn no_runtime(error: &dyn Display) -> Diagnostic {
    Diagnostic::error("Cannot start", format!("Weft cannot start the threads that fetching modules needs: {error}."))
}

/// A registry lists a version that is not valid.
pub fn unreadable_version(host: &dyn Display, text: &str, called: &str) -> Diagnostic {
    Diagnostic::warning(
        "Invalid response from remote module registry",
        format!(
            "{host} lists {text:?} as a version of the module {called}. This text is not a valid version, so Weft \
             ignores it."
        ),
    )
}

/// The response of a registry about the versions of a module is invalid.
pub fn invalid_versions(host: &dyn Display, called: &str, error: &dyn Display) -> Diagnostic {
    Diagnostic::error(
        "Invalid response from remote module registry",
        format!("The response of {host} for the versions of the module {called} is invalid: {error}."),
    )
}

/// A registry does not list the versions of a module.
pub fn versions_unavailable(host: &dyn Display, called: &str, error: &dyn Display) -> Diagnostic {
    Diagnostic::error(
        "Error accessing remote module registry",
        format!("Weft cannot get the versions of the module {called} from {host}: {error}."),
    )
}

/// A registry does not return the location of a version of a module.
pub fn location_unavailable(
    host: &dyn Display,
    module: &dyn Display,
    version: &dyn Display,
    error: &dyn Display,
) -> Diagnostic {
    Diagnostic::error(
        "Error accessing remote module registry",
        format!("Weft cannot get the location of version {version} of {module} from {host}: {error}."),
    )
}

/// A registry has no version of a module.
pub fn no_versions(host: &dyn Display, module: &dyn Display, called: &str) -> Diagnostic {
    Diagnostic::error(
        "Module has no versions",
        format!("{host} has no version of {module}, the source of the module {called}."),
    )
}

/// No version of a module satisfies its constraint.
pub fn no_matching_version(
    module: &dyn Display,
    called: &str,
    constraints: &dyn Display,
    newest: &dyn Display,
) -> Diagnostic {
    Diagnostic::error(
        "Unresolvable module version constraint",
        format!("No version of the module {module} {called} satisfies {constraints}. The newest version is {newest}."),
    )
}

/// A version of a module cannot be fetched.
pub fn version_not_fetched(version: &dyn Display, called: &str, error: &dyn Display) -> Diagnostic {
    Diagnostic::error(
        "Failed to download module",
        format!("Version {version} of the module {called} cannot be fetched: {error}."),
    )
}

/// A local module has a version constraint.
pub fn constraint_of_directory(name: &str, constraint: &str) -> Diagnostic {
    Diagnostic::error(
        "Invalid version constraint",
        format!(
            "The module {name:?} is a local directory, which has no versions. Remove the constraint {constraint:?}."
        ),
    )
}

/// The directory of a local module cannot be read.
pub fn directory_of_call_unreadable(directory: &str, name: &str, call: &dyn Display, why: &dyn Display) -> Diagnostic {
    Diagnostic::error(
        "Unreadable module directory",
        format!("The directory {directory} of the module {name:?}, which is called at {call}, cannot be read: {why}."),
    )
}

/// A local source leads out of the package of its caller.
pub fn source_leaves_package(module: &dyn Display, package: &str) -> Diagnostic {
    Diagnostic::error(
        "Local module path escapes module package",
        format!(
            "The source of {module} leads out of {package}, the package of the calling module. Paths must stay within \
             the package."
        ),
    )
}

/// The former directory of a module cannot be removed.
pub fn module_not_removed(folder: &Path, key: &str, error: &dyn Display) -> Diagnostic {
    Diagnostic::error(
        "Failed to remove local module cache",
        format!("Weft must remove {} to install the module {key} again, and cannot: {error}.", folder.display()),
    )
}

/// The remedy if the installed modules differ from the configuration.
const INSTALL: &str = "Run \"weft init\" to install all modules required by this configuration.";

/// The source of a module has changed since it was installed.
pub fn source_changed(before: &str, now: &str) -> Diagnostic {
    Diagnostic::error(
        "Module source has changed",
        format!("The source address was changed from {before:?} to {now:?} since this module was installed. {INSTALL}"),
    )
}

/// The installed version of a module does not match the configuration.
pub fn version_changed(constraints: &dyn Display, installed: Option<&dyn Display>) -> Diagnostic {
    let installed = installed.map_or_else(
        || "the installed module has no version".to_owned(),
        |version| format!("version {version} is installed"),
    );
    Diagnostic::error(
        "Module version requirements have changed",
        format!("The configuration requires version {constraints} of this module, but {installed}. {INSTALL}"),
    )
}

/// A module is not installed.
pub fn not_installed() -> Diagnostic {
    Diagnostic::error("Module not installed", format!("This module is not yet installed. {INSTALL}"))
}

/// The directory of an installed module cannot be read.
pub fn installed_directory_unreadable(directory: &str) -> Diagnostic {
    Diagnostic::error(
        "Module not installed",
        format!("The directory {directory:?} of this module cannot be read. {INSTALL}"),
    )
}

/// A registry does not know a module.
pub fn unknown_module(host: &dyn Display, module: &str, called: &str) -> Diagnostic {
    Diagnostic::error(
        "Module not found",
        format!("The module {called} cannot be found: the registry at {host} has no module {module}."),
    )
}

/// The package of a module cannot be fetched.
pub fn module_not_fetched(called: &str, from: &str, error: &dyn Display) -> Diagnostic {
    Diagnostic::error(
        "Failed to download module",
        format!("The module {called} cannot be fetched from {from}: {error}."),
    )
}

/// The directory of a module within its package cannot be determined.
pub fn subdirectory_unresolved(called: &str, error: &dyn Display) -> Diagnostic {
    let detail = format!("The directory of the module {called} cannot be determined: {error}.");
    Diagnostic::error("Failed to expand subdir globs", detail)
}

/// The package of a module is not a directory.
pub fn package_not_a_directory(called: &str) -> Diagnostic {
    Diagnostic::error("Unreadable module directory", format!("The package of the module {called} is not a directory."))
}

/// The package of a module does not have its directory.
pub fn no_subdirectory(called: &str, subdir: &str) -> Diagnostic {
    Diagnostic::error(
        "Module subdirectory not found",
        format!("The package of the module {called} has no directory {subdir:?}."),
    )
}
