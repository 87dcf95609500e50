//! Exit codes. Scripts rely on them.

use std::process::ExitCode;

/// The exit code of a command.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Exit(pub u8);

impl Exit {
    /// The command succeeded.
    pub const DONE: Exit = Exit(0);
    /// The command failed, and has reported why.
    pub const FAILED: Exit = Exit(1);
    /// No command was given.
    pub const NO_COMMAND: Exit = Exit(127);
    /// The command succeeded, but it is unknown whether some calls took effect.
    pub const UNCERTAIN: Exit = Exit(3);
    /// `plan -detailed-exitcode`: there are changes.
    pub const CHANGES: Exit = Exit(2);
    /// `fmt`: a file cannot be read or has errors.
    pub const UNREADABLE: Exit = Exit(2);
    /// `fmt -check`: a file is not in canonical form.
    pub const UNFORMATTED: Exit = Exit(3);
}

impl From<Exit> for ExitCode {
    fn from(exit: Exit) -> ExitCode {
        ExitCode::from(exit.0)
    }
}
