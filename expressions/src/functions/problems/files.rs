//! The errors of the functions of files. Paths are passed as messages should show them.

use std::fmt::Display;

use crate::functions::FunctionError;

/// A path names the home directory of another user.
pub(in crate::functions) fn other_home() -> FunctionError {
    FunctionError::new("cannot expand user-specific home dir")
}

/// The user has no home directory.
pub(in crate::functions) fn no_home() -> FunctionError {
    FunctionError::new("the home directory is not known")
}

/// The working directory cannot be read.
pub(in crate::functions) fn no_working_directory(why: impl Display) -> FunctionError {
    FunctionError::new(format!("the working directory is not known: {why}"))
}

/// The name of the working directory is not text.
pub(in crate::functions) fn working_directory_not_utf8() -> FunctionError {
    no_working_directory("its name is not UTF-8")
}

/// A file does not exist.
pub(in crate::functions) fn no_such_file(path: &str) -> FunctionError {
    FunctionError::argument(
        0,
        format!(
            "no file exists at {path}; this function reads only files that exist before the plan is made; for a file \
             that a resource of this configuration creates, use an attribute of that resource"
        ),
    )
}

/// A file cannot be read.
pub(in crate::functions) fn cannot_read(path: &str, why: impl Display) -> FunctionError {
    FunctionError::argument(0, format!("failed to read {path}: {why}"))
}

/// The content of a file is not text.
pub(in crate::functions) fn content_not_utf8(path: &str) -> FunctionError {
    FunctionError::new(format!(
        "contents of {path} are not valid UTF-8; use filebase64 for the contents in base64, or a function such as \
         filemd5 or filesha256 for a digest"
    ))
}

/// A file to digest cannot be read.
pub(in crate::functions) fn cannot_open(path: &str, why: impl Display) -> FunctionError {
    FunctionError::new(format!("open {path}: {why}"))
}

/// The path of `fileexists` is a directory.
pub(in crate::functions) fn is_directory(path: &str) -> FunctionError {
    FunctionError::new(format!("{path} is a directory, not a file"))
}

/// The path of `fileexists` is a device, a socket or a pipe.
pub(in crate::functions) fn not_a_regular_file(path: &str) -> FunctionError {
    FunctionError::new(format!("{path} is not a regular file"))
}

/// The kind of a file cannot be determined.
pub(in crate::functions) fn cannot_stat(path: &str, why: impl Display) -> FunctionError {
    FunctionError::new(format!("failed to stat {path}: {why}"))
}

/// The pattern of `fileset` is invalid, or a directory cannot be read.
pub(in crate::functions) fn cannot_glob(pattern: &str, why: impl Display) -> FunctionError {
    FunctionError::new(format!("failed to glob pattern {pattern}: {why}"))
}
