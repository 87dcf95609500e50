//! The problems of state files.

use std::fmt::Display;
use std::str::Utf8Error;

use super::{ContentProblem, StateFileError};
use crate::json::JsonError;

/// Why a text does not have the form of a state file.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
pub enum Malformation {
    /// The text is not UTF-8.
    #[error("not UTF-8: {0}")]
    NotUtf8(#[source] Utf8Error),
    /// The text is not JSON.
    #[error("{0}")]
    Json(#[from] JsonError),
    /// The text does not have the fields of a state file. The message of the decoder says where.
    #[error("{0}")]
    Shape(String),
    /// The text is not a JSON object.
    #[error("not a JSON object")]
    NotAnObject,
    /// The file has two versions.
    #[error("it has two `version` keys")]
    TwoVersions,
    /// The version is not a number.
    #[error("`version` is {0}, which is not a whole number")]
    VersionNotANumber(String),
    /// The file has no version.
    #[error("it has no `version`")]
    NoVersion,
    /// The version of the tool that wrote the state does not have the form of a version.
    #[error("its terraform_version is {0:?}, which is not a version number")]
    WriterVersion(String),
    /// The path of a module is not valid.
    #[error("it has a module with the path {0:?}, which is not valid")]
    ModulePath(Vec<String>),
    /// The name of a resource is not valid.
    #[error("it has a resource with the name {0:?}, which is not valid")]
    ResourceName(String),
    /// The mode of a resource is unknown.
    #[error("resource {resource} has the unknown mode {mode:?}")]
    ResourceMode {
        /// The resource.
        resource: String,
        /// The mode.
        mode: String,
    },
    /// The instance key of a resource is not a whole number.
    #[error("an instance of {resource} has the key {key}, which is not a whole number")]
    FractionalKey {
        /// The resource.
        resource: String,
        /// The key.
        key: serde_json::Number,
    },
    /// The instance key of a resource is neither a number nor a string.
    #[error("an instance of {0} has a key that is neither a number nor a string")]
    WrongKey(String),
    /// An object of an instance is not valid.
    #[error("{address}: {problem}")]
    Object {
        /// The address of the instance.
        address: String,
        /// The problem.
        problem: ObjectMalformation,
    },
    /// The same object appears twice.
    #[error("{0} appears twice")]
    Twice(String),
}

/// Why an object of an instance is not valid.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
pub enum ObjectMalformation {
    /// The deposed key has the wrong length.
    #[error("the deposed key {0:?} is not valid")]
    DeposedKey(String),
    /// The status is unknown.
    #[error("the status {0:?} is not valid: only \"tainted\" is allowed")]
    Status(String),
    /// The private data is not base64.
    #[error("`private` is not base64")]
    Private,
    /// An attribute step of a sensitive path has no name.
    #[error("a sensitive path has a get_attr step that is not a string")]
    AttributeStep,
    /// A step of a sensitive path has an unknown type.
    #[error("a sensitive path has a step of the unknown type {0:?}")]
    PathStep(String),
    /// A value is not JSON.
    #[error("{0}")]
    Json(#[from] JsonError),
}

/// The error about a state file that does not have the form of one.
pub(super) fn malformed<M: Into<Malformation>>(place: &str) -> impl Fn(M) -> StateFileError + Copy + '_ {
    move |what| StateFileError::Malformed { place: place.to_owned(), what: what.into() }
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
