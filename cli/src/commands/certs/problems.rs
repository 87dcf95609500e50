//! The diagnostics of `weft certs`, as constructors.

use std::fmt::Display;
use std::path::Path;

use weft_graph_format::diagnostic::Diagnostic;
use weft_identity::Role;

/// `certs init` takes no arguments.
pub fn no_arguments() -> Diagnostic {
    Diagnostic::error("Unexpected argument", "\"weft certs init\" takes options only. See \"weft certs init -help\".")
}

/// `certs issue` takes one name.
pub fn one_name() -> Diagnostic {
    Diagnostic::error(
        "Name expected",
        "\"weft certs issue\" takes one name, such as: weft certs issue alice -role apply",
    )
}

/// The role does not exist.
pub fn unknown_role(word: &str) -> Diagnostic {
    let known: Vec<&str> = Role::ALL.into_iter().map(Role::word).collect();
    Diagnostic::error("Unknown role", format!("There is no role {word:?}. The roles are: {}.", known.join(", ")))
}

/// The certificate has neither a role nor a host.
pub fn no_role() -> Diagnostic {
    Diagnostic::error(
        "Role expected",
        "A certificate without a role and without a host cannot be used. Name a role (-role apply) or, for a \
         coordinator, the host where the coordinator listens (-host weft.example.org).",
    )
}

/// The name cannot be in a certificate.
pub fn invalid_name(error: &dyn Display) -> Diagnostic {
    Diagnostic::error("Invalid name of a certificate", format!("{error}."))
}

/// The value of `-days` is out of range.
pub fn days_out_of_range(days: usize, most: usize) -> Diagnostic {
    Diagnostic::error("Invalid -days option", format!("{days} is not between 1 and {most}."))
}

/// The authority's files cannot be read.
pub fn no_authority(path: &Path, error: &dyn Display) -> Diagnostic {
    Diagnostic::error(
        "No certificate authority",
        format!(
            "{}: {error}. Make an authority with \"weft certs init\", or name its directory with -dir.",
            path.display()
        ),
    )
}

/// The certificate was not issued.
pub fn not_issued(error: &dyn Display) -> Diagnostic {
    Diagnostic::error("Certificate not issued", format!("{error}."))
}

/// A file cannot be written.
pub fn not_written(path: &Path, error: &dyn Display) -> Diagnostic {
    Diagnostic::error("Cannot write file", format!("{}: {error}.", path.display()))
}
