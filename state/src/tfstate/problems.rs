//! The problems of state files, as constructors.

use std::fmt::Display;

use super::{ContentProblem, StateFileError};

/// A state file is malformed; `what` describes how.
pub(super) fn malformed(place: &str) -> impl Fn(String) -> StateFileError + Copy + '_ {
    move |what| StateFileError::Malformed { place: place.to_owned(), what }
}

/// The version of the tool that wrote the state does not have the form of a version.
pub(super) fn writer_version(text: &str) -> String {
    format!("its terraform_version is {text:?}, which is not a version number")
}

/// The text is not UTF-8.
pub(super) fn not_utf8(error: &dyn Display) -> String {
    format!("not UTF-8: {error}")
}

/// The text is not a JSON object.
pub(super) fn not_an_object() -> String {
    "not a JSON object".to_owned()
}

/// The file has two versions.
pub(super) fn two_versions() -> String {
    "it has two `version` keys".to_owned()
}

/// The version is not a number.
pub(super) fn version_not_a_number(version: &str) -> String {
    format!("`version` is {version}, which is not a whole number")
}

/// The file has no version.
pub(super) fn no_version() -> String {
    "it has no `version`".to_owned()
}

/// The path of a module is not valid.
pub(super) fn module_path(path: &[String]) -> String {
    format!("it has a module with the path {path:?}, which is not valid")
}

/// The name of a resource is not valid.
pub(super) fn resource_name(name: &str) -> String {
    format!("it has a resource with the name {name:?}, which is not valid")
}

/// The mode of a resource is unknown.
pub(super) fn resource_mode(resource: &str, mode: &str) -> String {
    format!("resource {resource} has the unknown mode {mode:?}")
}

/// The instance key of a resource is not a whole number.
pub(super) fn fractional_key(resource: &str, key: &dyn Display) -> String {
    format!("an instance of {resource} has the key {key}, which is not a whole number")
}

/// The instance key of a resource is neither a number nor a string.
pub(super) fn wrong_key(resource: &str) -> String {
    format!("an instance of {resource} has a key that is neither a number nor a string")
}

/// An object of an instance is not valid.
pub(super) fn in_instance(address: &str, what: &str) -> String {
    format!("{address}: {what}")
}

/// A deposed key has the wrong length.
pub(super) fn deposed_key(key: &str) -> String {
    format!("the deposed key {key:?} is not valid")
}

/// The same object appears twice.
pub(super) fn twice(address: &str) -> String {
    format!("{address} appears twice")
}

/// The status of an object is unknown.
pub(super) fn object_status(status: &str) -> String {
    format!("the status {status:?} is not valid: only \"tainted\" is allowed")
}

/// The private data is not base64.
pub(super) fn private_encoding() -> String {
    "`private` is not base64".to_owned()
}

/// An attribute step of a sensitive path has no name.
pub(super) fn attribute_step() -> String {
    "a sensitive path has a get_attr step that is not a string".to_owned()
}

/// A step of a sensitive path has an unknown type.
pub(super) fn path_step(kind: &str) -> String {
    format!("a sensitive path has a step of the unknown type {kind:?}")
}

/// The type of an output is not valid.
pub(super) fn output_type(name: &str, error: &dyn Display) -> ContentProblem {
    ContentProblem {
        summary: "Invalid output value type in state",
        detail: format!("The state file has an invalid type specification for output \"{name}\": {error}."),
    }
}

/// The address of a module instance is not valid.
pub(super) fn module_address(error: &dyn Display) -> ContentProblem {
    ContentProblem { summary: "Invalid module instance address", detail: format!("In the state file, {error}.") }
}

/// Why the address of a provider is not valid.
#[derive(Clone, Copy, Debug)]
pub(super) enum ProviderAddressFault {
    /// The address has an instance key, but is on a resource.
    InstanceKey,
    /// No provider type follows the prefix.
    NoType,
    /// The prefix is missing.
    NoPrefix,
}

/// The address of a provider is not valid.
pub(super) fn provider_address(fault: ProviderAddressFault) -> ContentProblem {
    let detail = match fault {
        ProviderAddressFault::InstanceKey => "A provider address must not include an instance key.",
        ProviderAddressFault::NoType => "The prefix \"provider.\" must be followed by a provider type name.",
        ProviderAddressFault::NoPrefix => {
            "Provider address must begin with \"provider.\", followed by a provider type name."
        }
    };
    ContentProblem { summary: "Invalid provider configuration address", detail: detail.to_owned() }
}

/// A resource has no provider address.
pub(super) fn no_provider(resource: &str) -> ContentProblem {
    ContentProblem {
        summary: "Provider field missing state",
        detail: format!(
            "Resource {resource} is missing a provider address, both on the resource and the resource instances."
        ),
    }
}

/// The instances of a resource have different providers.
pub(super) fn different_providers(resource: &str, first: &dyn Display, other: &dyn Display) -> ContentProblem {
    let quoted = |provider: &dyn Display| format!("\"{}\"", provider.to_string().replace('"', "\\\""));
    ContentProblem {
        summary: "Provider instance field conflict in state",
        detail: format!(
            "Resource {resource} has instances with different provider addresses: {} != {}.",
            quoted(first),
            quoted(other)
        ),
    }
}
