//! The diagnostics of encryption settings, as constructors.

use std::fmt::Display;

use weft_graph_format::diagnostic::Diagnostic;

/// The settings are invalid.
pub fn invalid_settings(problem: &dyn Display) -> Diagnostic {
    Diagnostic::error("Invalid encryption settings", format!("{problem}."))
}

/// The settings forbid methods that store unencrypted data, but use such a method.
pub fn unencrypted_forbidden(problem: &dyn Display) -> Diagnostic {
    Diagnostic::error("Unencrypted method is forbidden", format!("{problem}."))
}

/// The method `unencrypted` is declared.
pub fn unencrypted_configured() -> Diagnostic {
    Diagnostic::warning(
        "Unencrypted method configured",
        "The settings include the method unencrypted, which stores states or plans unencrypted. Use this method only \
         while a project migrates to or from encryption.",
    )
}

/// A method cannot use the keys of its key provider.
pub fn unfit_keys(problem: &dyn Display) -> Diagnostic {
    Diagnostic::error("Invalid method configuration", format!("{problem}."))
}

/// The settings of a key provider are invalid.
pub fn no_key_data(problem: &dyn Display) -> Diagnostic {
    Diagnostic::error("Unable to build encryption key data", format!("{problem}."))
}

/// OpenTofu has this key provider, but this build of Weft does not.
pub fn key_service_unsupported(service: &str) -> Diagnostic {
    Diagnostic::error(
        "Key provider not supported yet",
        format!(
            "This build of Weft does not have the key provider {service:?}. Use a build that has this key provider, or \
             use the type external with a command that gets the key from the service."
        ),
    )
}

/// The key provider does not exist.
pub fn unknown_key_provider(kind: &str) -> Diagnostic {
    Diagnostic::error(
        format!("Error fetching key_provider \"{kind}\""),
        format!(
            "The key provider type {kind:?} does not exist. Use pbkdf2, external, aws_kms, azure_vault, gcp_kms or openbao."
        ),
    )
}

/// The encryption method does not exist.
pub fn unknown_method(kind: &str) -> Diagnostic {
    Diagnostic::error(
        format!("Error fetching encryption method \"{kind}\""),
        format!("The encryption method type {kind:?} does not exist. Use aes_gcm, external or unencrypted."),
    )
}

/// The mistake in the arguments of a block.
#[derive(Clone, Copy)]
pub enum ArgumentFault<'a> {
    /// Both a passphrase and a chain are set.
    PassphraseAndChain,
    /// Neither a passphrase nor a chain is set.
    NoPassphrase,
    /// The hash function is unknown.
    HashFunction(&'a dyn Display),
    /// An argument has the wrong type. Holds its name, and the expected type.
    Type(&'a str, &'a str),
    /// The argument is not a whole number.
    NotWhole(&'a str),
    /// The argument is not a list of strings.
    NotWords(&'a str),
    /// The argument is not a list of bytes.
    NotBytes(&'a str),
    /// The argument does not refer to a key provider.
    NotAKeyProvider(&'a str),
}

/// The arguments of a block are invalid.
pub fn invalid_arguments(block: &str, fault: ArgumentFault<'_>) -> Diagnostic {
    let detail = match fault {
        ArgumentFault::PassphraseAndChain => {
            "The block has both a passphrase and a chain. Remove one of them.".to_owned()
        }
        ArgumentFault::NoPassphrase => "The block needs a passphrase or a chain.".to_owned(),
        ArgumentFault::HashFunction(error) => format!("{error}."),
        ArgumentFault::Type(name, wanted) => format!("{name} must be a {wanted}."),
        ArgumentFault::NotWhole(name) => format!("{name} must be a whole number that is not negative."),
        ArgumentFault::NotWords(name) => format!("{name} must be a list of strings, none of them null."),
        ArgumentFault::NotBytes(name) => format!("{name} must be a list of bytes, numbers from 0 to 255."),
        ArgumentFault::NotAKeyProvider(name) => {
            format!("{name} must name a key provider, such as key_provider.pbkdf2.main.")
        }
    };
    let detail = format!("{block}: {detail}");
    match fault {
        ArgumentFault::PassphraseAndChain | ArgumentFault::NoPassphrase | ArgumentFault::HashFunction(_) => {
            Diagnostic::error("Unable to build encryption key data", detail)
        }
        ArgumentFault::NotAKeyProvider(_) => Diagnostic::error("Expected key_provider value", detail),
        ArgumentFault::Type(..)
        | ArgumentFault::NotWhole(_)
        | ArgumentFault::NotWords(_)
        | ArgumentFault::NotBytes(_) => Diagnostic::error("Unsuitable value type", detail),
    }
}

/// A block lacks an argument.
pub fn missing_argument(block: &str, name: &str) -> Diagnostic {
    Diagnostic::error(
        "Missing required argument",
        format!("The argument {name:?} of {block} is required, but missing."),
    )
}

/// A block has an argument that does not exist.
pub fn unsupported_argument(block: &str, name: &str) -> Diagnostic {
    Diagnostic::error("Unsupported argument", format!("{block} has no argument named {name:?}."))
}

/// A configuration file cannot be read.
pub fn configuration_unreadable(name: &str, error: &dyn Display) -> Diagnostic {
    Diagnostic::error("Failed to read file", format!("The configuration file {name} cannot be read: {error}."))
}
