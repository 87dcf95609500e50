//! Names of programs and people, as SPIFFE IDs (<https://github.com/spiffe/spiffe/blob/main/standards/SPIFFE-ID.md>).
//!
//! A certificate of `weft certs issue` has the name `spiffe://DOMAIN/weft/ROLES/NAME`, with roles joined by `.`:
//! `spiffe://prod.example.org/weft/apply.resolve/alice`. Other issuers use other paths. For names with such paths, a
//! policy file defines the roles.

use std::fmt;

use smol_str::SmolStr;

use crate::role::{Role, Roles};

/// The scheme of names.
const SCHEME: &str = "spiffe://";
/// The maximum length of a name in bytes (SPIFFE-ID, section 2.3).
const MAX_BYTES: usize = 2048;
/// The maximum length of a trust domain in bytes (SPIFFE-ID, section 2.3).
const MAX_DOMAIN: usize = 255;
/// The first segment of names that `weft certs issue` makes.
const OURS: &str = "weft";
/// The second segment of a name without roles, such as the name of a coordinator.
const NO_ROLE: &str = "none";

/// A name: `spiffe://DOMAIN/PATH`.
#[derive(Clone, Debug, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub struct SpiffeId(SmolStr);

/// Why a string is not a valid name.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
pub enum NameError {
    /// The string does not have the form `spiffe://DOMAIN/PATH`.
    #[error("{0:?} is not a SPIFFE ID: it has the form spiffe://DOMAIN/PATH")]
    Form(String),
    /// The name contains a character that is not allowed in names.
    #[error("{part:?} cannot be part of a name: use letters, digits, `.`, `-` and `_`")]
    Characters {
        /// The part of the name.
        part: String,
    },
    /// The name or its domain is too long.
    #[error("a name has at most {MAX_BYTES} bytes, and its domain at most {MAX_DOMAIN}")]
    TooLong,
}

impl SpiffeId {
    /// Reads a name.
    ///
    /// # Errors
    /// Returns an error if the text is not a SPIFFE ID.
    pub fn parse(text: &str) -> Result<SpiffeId, NameError> {
        let form = || NameError::Form(text.chars().take(MAX_DOMAIN).collect());
        let rest = text.strip_prefix(SCHEME).ok_or_else(form)?;
        let (domain, path) = rest.split_once('/').ok_or_else(form)?;
        if text.len() > MAX_BYTES || domain.len() > MAX_DOMAIN {
            return Err(NameError::TooLong);
        }
        let lower = |c: char| c.is_ascii_lowercase() || c.is_ascii_digit() || matches!(c, '.' | '-' | '_');
        if domain.is_empty() || !domain.chars().all(lower) {
            return Err(NameError::Characters { part: domain.to_owned() });
        }
        for segment in path.split('/') {
            check_segment(segment)?;
        }
        Ok(SpiffeId(text.into()))
    }

    /// The name of a person or program with these roles in a trust domain.
    ///
    /// # Errors
    /// Returns an error if the domain or the name has characters that are not allowed in names.
    pub fn with_roles(domain: &str, roles: &Roles, name: &str) -> Result<SpiffeId, NameError> {
        check_segment(name)?;
        let words: Vec<&str> = roles.iter().map(Role::word).collect();
        let words = if words.is_empty() { NO_ROLE.to_owned() } else { words.join(".") };
        SpiffeId::parse(&format!("{SCHEME}{domain}/{OURS}/{words}/{name}"))
    }

    /// The whole name as a string.
    pub fn as_str(&self) -> &str {
        &self.0
    }

    /// The trust domain.
    pub fn domain(&self) -> &str {
        self.0[SCHEME.len()..].split('/').next().unwrap_or_default()
    }

    /// The last segment, which users regard as the name.
    pub fn short(&self) -> &str {
        self.0.rsplit('/').next().unwrap_or_default()
    }

    /// The roles in a name that `weft certs issue` made. Empty for names of another form.
    pub fn roles(&self) -> Roles {
        let mut segments = self.0[SCHEME.len()..].split('/').skip(1);
        let (Some(OURS), Some(roles), Some(_), None) =
            (segments.next(), segments.next(), segments.next(), segments.next())
        else {
            return Roles::default();
        };
        roles.split('.').map(Role::parse).collect::<Option<Vec<Role>>>().map(Roles::new).unwrap_or_default()
    }
}

/// Checks a segment of a path (SPIFFE-ID, section 2.2).
fn check_segment(segment: &str) -> Result<(), NameError> {
    let allowed = |c: char| c.is_ascii_alphanumeric() || matches!(c, '.' | '-' | '_');
    if segment.is_empty() || matches!(segment, "." | "..") || !segment.chars().all(allowed) {
        return Err(NameError::Characters { part: segment.to_owned() });
    }
    Ok(())
}

impl fmt::Display for SpiffeId {
    fn fmt(&self, out: &mut fmt::Formatter<'_>) -> fmt::Result {
        out.write_str(&self.0)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_name_has_domain_and_path() {
        let name = SpiffeId::parse("spiffe://prod.example.org/weft/apply.resolve/alice").unwrap();
        assert_eq!((name.domain(), name.short()), ("prod.example.org", "alice"));
        assert_eq!(name.roles(), Roles::new([Role::Resolve, Role::Apply]));
        let none = SpiffeId::with_roles("d", &Roles::default(), "coordinator").unwrap();
        assert_eq!((none.as_str(), none.roles()), ("spiffe://d/weft/none/coordinator", Roles::default()));
        let made =
            SpiffeId::with_roles("prod.example.org", &Roles::new([Role::Resolve, Role::Apply]), "alice").unwrap();
        assert_eq!(made, name);
    }

    #[test]
    fn names_of_other_issuers_and_unknown_roles_give_no_roles() {
        for text in [
            "spiffe://cluster.local/ns/weft/sa/worker",
            "spiffe://d/weft/root/alice",
            "spiffe://d/weft/apply.root/alice",
            "spiffe://d/weft/apply/alice/more",
            "spiffe://d/weft/apply",
        ] {
            assert!(SpiffeId::parse(text).unwrap().roles().is_empty(), "{text}");
        }
    }

    #[test]
    fn what_is_no_spiffe_id_is_refused() {
        for text in [
            "",
            "https://example.org/x",
            "spiffe://",
            "spiffe://domain",
            "spiffe:///path",
            "spiffe://Domain/path",
            "spiffe://domain/",
            "spiffe://domain//x",
            "spiffe://domain/../x",
            "spiffe://domain/a b",
            "spiffe://user@domain/a",
            "spiffe://domain/a?b",
            "spiffe://domain/ü",
        ] {
            assert!(SpiffeId::parse(text).is_err(), "{text}");
        }
        assert_eq!(SpiffeId::parse(&format!("spiffe://d/{}", "a".repeat(3000))), Err(NameError::TooLong));
        assert!(SpiffeId::with_roles("d", &Roles::default(), "a/b").is_err());
    }
}
