//! Constructors of the diagnostics of the CLI configuration.

use std::fmt::Display;
use std::path::Path;

use weft_graph_format::diagnostic::Diagnostic;

use super::deadlines;
use crate::host::Host;

/// A file of the CLI configuration cannot be opened.
pub(super) fn file_unreadable(path: &Path, error: &dyn Display) -> Diagnostic {
    Diagnostic::warning(
        "Unable to open CLI configuration file",
        format!("The CLI configuration file {} cannot be read: {error}.", path.display()),
    )
}

/// The directory of the plugin cache does not exist.
pub(super) fn no_plugin_cache(cache: &Path) -> Diagnostic {
    Diagnostic::error(
        format!("The specified plugin cache dir {} cannot be opened", cache.display()),
        "The directory must exist. Create the directory, or remove the setting plugin_cache_dir.",
    )
}

/// A problem of a file of the CLI configuration.
#[derive(Clone, Copy)]
pub(super) enum Fault<'a> {
    /// The text cannot be parsed.
    Syntax(&'a str),
    /// A block does not have exactly one label.
    Label(&'a str),
    /// The label of a block is not a host.
    Host(&'a str, &'a dyn Display),
    /// A service in a `host` block is not set to its address.
    Service,
    /// A `credentials` block has no token.
    NoToken(&'a Host),
    /// The label of a `credentials_helper` block is not the name of a program.
    HelperName,
    /// More than one `credentials_helper` block.
    SeveralHelpers,
    /// A setting of `registry_protocols` is not a number.
    NotANumber(&'a str),
    /// An unknown setting of `oci_default_credentials`.
    OciDefaults(&'a str),
    /// An incomplete `oci_credentials` block.
    OciCredentials,
    /// The label of a `provider_deadlines` block is not a provider.
    DeadlinesLabel(&'a dyn Display),
    /// A setting of `provider_deadlines` that is not a kind of call.
    DeadlineKind(&'a str),
    /// A setting of `provider_deadlines` that is not a time.
    DeadlineTime(&'a str),
    /// A problem of a `provider_installation` block.
    Installation(InstallationFault<'a>),
}

/// A problem of a `provider_installation` block.
#[derive(Clone, Copy)]
pub(super) enum InstallationFault<'a> {
    /// More than one `provider_installation` block.
    Several,
    /// `provider_installation` is not a block, or it has labels.
    NotABlock,
    /// An installation method that is not a block, or has labels.
    MethodNotABlock,
    /// An unknown installation method.
    UnknownMethod(&'a str),
    /// The key of `dev_overrides` is not a provider.
    OverrideAddress(&'a dyn Display),
    /// An entry of `dev_overrides` is not of the required form.
    OverrideForm,
    /// The number of retries is not a number.
    Retries,
    /// An unknown setting.
    UnknownSetting(&'a str),
    /// The URL of a network mirror is not valid.
    MirrorUrl(&'a MirrorUrlProblem),
    /// The template of an OCI mirror is not valid.
    Template(&'a dyn Display),
    /// An installation method without its required argument.
    MissingArgument(&'a str, &'a str),
    /// Patterns that are not a list of strings.
    PatternsNotAList,
    /// An invalid pattern.
    Pattern(&'a dyn Display),
}

impl InstallationFault<'_> {
    fn text(self) -> String {
        match self {
            InstallationFault::Several => "There is more than one provider_installation block.".to_owned(),
            InstallationFault::NotABlock => "provider_installation must be a block without labels.".to_owned(),
            InstallationFault::MethodNotABlock => "Each installation method must be a block without labels.".to_owned(),
            InstallationFault::UnknownMethod(name) => format!(
                "The installation method \"{name}\" does not exist. Use filesystem_mirror, network_mirror, oci_mirror, \
                 direct or dev_overrides."
            ),
            InstallationFault::OverrideAddress(error) => format!("Invalid dev_overrides: {error}."),
            InstallationFault::OverrideForm => {
                "Each entry of dev_overrides must be \"ADDRESS\" = \"DIRECTORY\".".to_owned()
            }
            InstallationFault::Retries => "download_retry_count must be a number, zero or greater.".to_owned(),
            InstallationFault::UnknownSetting(words) => {
                format!("This installation method has no setting \"{words}\". Remove the setting.")
            }
            InstallationFault::MirrorUrl(problem) => problem.to_string(),
            InstallationFault::Template(error) => format!("Invalid repository_template: {error}."),
            InstallationFault::MissingArgument(kind, argument) => format!("{kind} needs the argument \"{argument}\"."),
            InstallationFault::PatternsNotAList => "include and exclude must be lists of strings.".to_owned(),
            InstallationFault::Pattern(error) => error.to_string(),
        }
    }
}

/// A file of the CLI configuration is not valid.
pub(super) fn invalid(file: &Path, line: usize, fault: Fault<'_>) -> Diagnostic {
    let (summary, detail) = match fault {
        Fault::Syntax(problem) => ("Invalid CLI configuration file".to_owned(), problem.to_owned()),
        Fault::Label(block) => (format!("Invalid {block} block"), "The block must have one label.".to_owned()),
        Fault::Host(block, error) => (format!("Invalid {block} block"), format!("{error}.")),
        Fault::Service => ("Invalid host block".to_owned(), "A service must be set to its address.".to_owned()),
        Fault::NoToken(host) => ("Invalid credentials block".to_owned(), format!("The block for {host} has no token.")),
        Fault::HelperName => (
            "Invalid credentials_helper block".to_owned(),
            "The label of the block must be the name of a program.".to_owned(),
        ),
        Fault::SeveralHelpers => (
            "Too many credentials_helper blocks".to_owned(),
            "Only one credentials_helper block is allowed.".to_owned(),
        ),
        Fault::NotANumber(name) => {
            ("Invalid registry_protocols block".to_owned(), format!("{name:?} must be a number, zero or greater."))
        }
        Fault::OciDefaults(name) => {
            ("Invalid oci_default_credentials block".to_owned(), format!("There is no argument {name:?}."))
        }
        Fault::OciCredentials => (
            "Invalid oci_credentials block".to_owned(),
            "The block must have username and password, or access_token and refresh_token, or \
             docker_credentials_helper."
                .to_owned(),
        ),
        Fault::DeadlinesLabel(error) => (
            "Invalid provider_deadlines block".to_owned(),
            format!("The label of the block must be a provider address: {error}."),
        ),
        Fault::DeadlineKind(name) => (
            "Invalid provider_deadlines block".to_owned(),
            format!("{name:?} is not a kind of call. The kinds are {}.", deadlines::names()),
        ),
        Fault::DeadlineTime(name) => (
            "Invalid provider_deadlines block".to_owned(),
            format!("{name} must be a time from 1s to {}h, such as \"90s\", \"10m\" or \"2h\".", deadlines::MOST_HOURS),
        ),
        Fault::Installation(fault) => ("Invalid provider_installation block".to_owned(), fault.text()),
    };
    Diagnostic::error(summary, format!("On line {line} of {}: {detail}", file.display()))
}

/// Why the URL of a network mirror cannot be used. The message is a sentence.
#[derive(Clone, Copy, Debug, PartialEq, Eq, thiserror::Error)]
pub enum MirrorUrlProblem {
    /// The text is not a URL.
    #[error("The URL of the network mirror is not valid: {0}.")]
    Malformed(url::ParseError),
    /// The URL is not secure.
    #[error("The URL of a network mirror must begin with https://.")]
    Insecure,
}
