//! Why a command returns no usable output.

use super::PROTOCOL_VERSION;
use crate::json::JsonProblem;

/// A command failed.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
pub enum CommandError {
    /// The command cannot be started.
    #[error("the command {program} cannot be started: {error}")]
    Start {
        /// The program.
        program: String,
        /// The error of the operating system.
        error: String,
    },
    /// The command did not end in time, and was killed.
    #[error("the command {program} did not end within {seconds} seconds, and was stopped")]
    Late {
        /// The program.
        program: String,
        /// The time limit in seconds.
        seconds: u64,
    },
    /// The command ended with a failure.
    #[error("the command {program} failed ({status}){}{said}", if .said.is_empty() { "" } else { ": " })]
    Failed {
        /// The program.
        program: String,
        /// The exit status.
        status: String,
        /// The standard error, shortened, without secrets.
        said: String,
    },
    /// The output does not begin with the line that the protocol requires.
    #[error(
        "the output of the command {program} does not begin with the line \
         {{\"magic\":\"{magic}\",\"version\":{PROTOCOL_VERSION}}}: the command must implement OpenTofu's protocol"
    )]
    Greeting {
        /// The program.
        program: String,
        /// The expected `magic`.
        magic: &'static str,
    },
    /// The command uses an unsupported version of the protocol.
    #[error(
        "the command {program} uses version {version} of the protocol, but only version {PROTOCOL_VERSION} is supported"
    )]
    Version {
        /// The program.
        program: String,
        /// The version of the command.
        version: u64,
    },
    /// The output is too long.
    #[error("the command {program} prints more than {most} bytes")]
    TooLong {
        /// The program.
        program: String,
        /// The maximum length in bytes.
        most: u64,
    },
    /// The pipes of the command broke.
    #[error("the output of the command {program} cannot be read: {error}")]
    Read {
        /// The program.
        program: String,
        /// The error of the operating system.
        error: String,
    },
    /// The output is not valid.
    #[error("the output of the command {program} cannot be used: {problem}")]
    Output {
        /// The program.
        program: String,
        /// The problem.
        problem: OutputProblem,
    },
}

/// The problem of a command's output.
#[derive(Clone, Copy, Debug, PartialEq, Eq, thiserror::Error)]
pub enum OutputProblem {
    /// The output cannot be parsed.
    #[error("it is {0}")]
    Json(JsonProblem),
    /// The value of this field is not base64.
    #[error("{0} is not base64")]
    Base64(&'static str),
    /// The field of this name has no key, or an empty one.
    #[error("{0} is missing or empty")]
    NoKey(&'static str),
    /// The metadata is too long to be stored.
    #[error("its meta has {0} bytes, which is too long: use at most {max}", max = crate::limits::LONGEST_METADATA)]
    LongMetadata(usize),
}
