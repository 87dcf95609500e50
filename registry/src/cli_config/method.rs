//! Methods of installation: where packages may come from, and those of which providers.

use std::path::PathBuf;

use url::Url;
use weft_graph_format::address::{DEFAULT_REGISTRY, ProviderSource};
use weft_providers::source;

use super::template::Template;

/// A method of installation with the providers that it is for.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Method {
    /// Where packages come from.
    pub kind: MethodKind,
    /// Only these, if there are any.
    pub include: Vec<Pattern>,
    /// None of these.
    pub exclude: Vec<Pattern>,
    /// `download_retry_count`: attempts beyond the first, if the usual number does not do.
    pub download_retries: Option<u32>,
}

/// Where packages come from.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum MethodKind {
    /// A directory with packed or unpacked packages.
    FilesystemMirror(PathBuf),
    /// A server with packages.
    NetworkMirror {
        /// Its address, which ends with a slash.
        url: Url,
        /// Whether the lock file takes over what it says of packages for other platforms.
        trust_all_hashes: bool,
    },
    /// An OCI registry with packages: the template of its repositories.
    OciMirror(Template),
    /// The providers' own registries.
    Direct,
}

impl Method {
    /// A method for all providers.
    pub fn for_all(kind: MethodKind) -> Method {
        Method { kind, include: Vec::new(), exclude: Vec::new(), download_retries: None }
    }

    /// Whether the method is for a provider.
    pub fn covers(&self, source: &ProviderSource) -> bool {
        (self.include.is_empty() || self.include.iter().any(|p| p.matches(source)))
            && !self.exclude.iter().any(|p| p.matches(source))
    }
}

/// Why a text is no pattern.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
pub enum PatternError {
    /// Too few parts, or too many.
    #[error("the pattern {0:?} must have two or three parts, as in \"hashicorp/*\" or \"example.com/*/*\"")]
    Parts(String),
    /// A host that may be any, before something that may not.
    #[error("in the pattern {0:?} the host can be * only if both other parts are")]
    Host(String),
    /// A namespace that may be any, before a type that may not.
    #[error("in the pattern {0:?} the namespace can be * only if the type is")]
    Namespace(String),
    /// One of its parts cannot be part of an address.
    #[error(transparent)]
    Source(#[from] source::SourceError),
}

/// A source address of which the last parts may be `*`.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Pattern {
    host: Option<String>,
    namespace: Option<String>,
    type_name: Option<String>,
}

impl Pattern {
    /// Reads `HOST/NAMESPACE/TYPE` or `NAMESPACE/TYPE`; a host that is left out is the default.
    ///
    /// # Errors
    /// When it is neither, or when something more special follows a star.
    pub fn parse(text: &str) -> Result<Pattern, PatternError> {
        let parts: Vec<&str> = text.split('/').collect();
        let (host, namespace, type_name) = match parts.as_slice() {
            [namespace, type_name] => (DEFAULT_REGISTRY, *namespace, *type_name),
            [host, namespace, type_name] => (*host, *namespace, *type_name),
            _ => return Err(PatternError::Parts(text.to_owned())),
        };
        let star = |text: &str| text == "*";
        if star(host) && !(star(namespace) && star(type_name)) {
            return Err(PatternError::Host(text.to_owned()));
        }
        if star(namespace) && !star(type_name) {
            return Err(PatternError::Namespace(text.to_owned()));
        }
        Ok(Pattern {
            host: if star(host) { None } else { Some(source::host(host)?) },
            namespace: if star(namespace) { None } else { Some(source::part("namespace", namespace)?) },
            type_name: if star(type_name) { None } else { Some(source::part("type", type_name)?) },
        })
    }

    /// The one that stands for this provider alone.
    pub fn only(source: &ProviderSource) -> Pattern {
        let part = |text: &str| Some(text.to_owned());
        Pattern { host: part(&source.host), namespace: part(&source.namespace), type_name: part(&source.type_name) }
    }

    pub(super) fn any_host(&self) -> bool {
        self.host.is_none()
    }

    pub(super) fn any_namespace(&self) -> bool {
        self.namespace.is_none()
    }

    pub(super) fn any_type(&self) -> bool {
        self.type_name.is_none()
    }

    /// Whether it stands for a provider.
    pub fn matches(&self, source: &ProviderSource) -> bool {
        let same = |pattern: &Option<String>, text: &str| pattern.as_ref().is_none_or(|p| p == text);
        same(&self.host, &source.host)
            && same(&self.namespace, &source.namespace)
            && same(&self.type_name, &source.type_name)
    }
}
