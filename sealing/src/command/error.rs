//! Why a command gives nothing that can be used.

use super::PROTOCOL_VERSION;
use crate::json::JsonProblem;

/// A command did not do what it was run for.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
pub enum CommandError {
    /// It cannot be started.
    #[error("the command {program} cannot be started: {error}")]
    Start {
        /// The program.
        program: String,
        /// What the operating system said.
        error: String,
    },
    /// It does not end in time, and was killed.
    #[error("the command {program} does not end within {seconds} seconds, and was stopped")]
    Late {
        /// The program.
        program: String,
        /// The time that it had.
        seconds: u64,
    },
    /// It ended, and says that it failed.
    #[error("the command {program} failed ({status}){}{said}", if .said.is_empty() { "" } else { ": " })]
    Failed {
        /// The program.
        program: String,
        /// How it ended.
        status: String,
        /// Its standard error, shortened, without secrets.
        said: String,
    },
    /// Its first line is not the one of the protocol.
    #[error(
        "the command {program} does not begin with the line {{\"magic\":\"{magic}\",\"version\":{PROTOCOL_VERSION}}}: \
         it has to be written for OpenTofu"
    )]
    Greeting {
        /// The program.
        program: String,
        /// Who it should be.
        magic: &'static str,
    },
    /// It speaks another version of the protocol.
    #[error("the command {program} speaks version {version} of the protocol, and only {PROTOCOL_VERSION} is known")]
    Version {
        /// The program.
        program: String,
        /// Its version.
        version: u64,
    },
    /// It prints too much.
    #[error("the command {program} prints more than {most} bytes")]
    TooLong {
        /// The program.
        program: String,
        /// The limit.
        most: u64,
    },
    /// Its pipes break.
    #[error("the command {program} cannot be read from: {error}")]
    Read {
        /// The program.
        program: String,
        /// What the operating system said.
        error: String,
    },
    /// Its output cannot be read.
    #[error("the output of the command {program} cannot be used: {problem}")]
    Output {
        /// The program.
        program: String,
        /// What is wrong with it.
        problem: OutputProblem,
    },
}

/// What is wrong with the output of a command.
#[derive(Clone, Copy, Debug, PartialEq, Eq, thiserror::Error)]
pub enum OutputProblem {
    /// It cannot be read.
    #[error("it is {0}")]
    Json(JsonProblem),
    /// A value is not base64.
    #[error("{0} is not base64")]
    Base64(&'static str),
    /// There is no key, or an empty one.
    #[error("{0} is missing or empty")]
    NoKey(&'static str),
    /// The metadata is too long to be kept.
    #[error("its meta has {0} bytes, more than are kept")]
    LongMetadata(usize),
}
