//! Installation methods: sources of packages, each for certain providers.

use std::path::PathBuf;

use url::Url;
use weft_graph_format::address::{DEFAULT_REGISTRY, ProviderSource};
use weft_providers::source;

use super::template::RepositoryTemplate;

/// An installation method, and the providers for which it is used.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct InstallationMethod {
    /// The source of packages.
    pub kind: MethodKind,
    /// If not empty, the method is used only for these providers.
    pub include: Vec<SourcePattern>,
    /// The method is not used for these providers.
    pub exclude: Vec<SourcePattern>,
    /// `download_retry_count`: the number of retries, if not the default.
    pub download_retries: Option<u32>,
}

/// A source of packages.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum MethodKind {
    /// A directory with packed or unpacked packages.
    FilesystemMirror(PathBuf),
    /// A server with packages.
    NetworkMirror {
        /// The address of the server, with a final slash.
        url: Url,
        /// Whether the lock file accepts the server's checksums for other platforms.
        trust_all_hashes: bool,
    },
    /// An OCI registry with packages. The template describes the names of its repositories.
    OciMirror(RepositoryTemplate),
    /// The providers' own registries.
    Direct,
}

impl InstallationMethod {
    /// A method for all providers.
    pub fn for_all(kind: MethodKind) -> InstallationMethod {
        InstallationMethod { kind, include: Vec::new(), exclude: Vec::new(), download_retries: None }
    }

    /// Whether the method covers a provider.
    pub fn covers(&self, source: &ProviderSource) -> bool {
        (self.include.is_empty() || self.include.iter().any(|p| p.matches(source)))
            && !self.exclude.iter().any(|p| p.matches(source))
    }
}

/// Why a string is not a pattern.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
pub enum PatternError {
    /// Too few parts, or too many.
    #[error("the pattern {0:?} must have two or three parts, as in \"hashicorp/*\" or \"example.com/*/*\"")]
    Parts(String),
    /// A wildcard host before a part that is not a wildcard.
    #[error("in the pattern {0:?}, the host can be * only if the namespace and the type are * too")]
    Host(String),
    /// A wildcard namespace before a type that is not a wildcard.
    #[error("in the pattern {0:?}, the namespace can be * only if the type is * too")]
    Namespace(String),
    /// An invalid part.
    #[error(transparent)]
    Source(#[from] source::SourceError),
}

/// A source address whose parts may be `*`.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct SourcePattern {
    host: Option<String>,
    namespace: Option<String>,
    type_name: Option<String>,
}

impl SourcePattern {
    /// Parses `HOST/NAMESPACE/TYPE`, or `NAMESPACE/TYPE` for the default host.
    ///
    /// # Errors
    /// Returns an error if the text has another form, or if a part other than `*` follows a part that is `*`.
    pub fn parse(text: &str) -> Result<SourcePattern, PatternError> {
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
        Ok(SourcePattern {
            host: if star(host) { None } else { Some(source::host(host)?) },
            namespace: if star(namespace) { None } else { Some(source::part("namespace", namespace)?) },
            type_name: if star(type_name) { None } else { Some(source::part("type", type_name)?) },
        })
    }

    /// The pattern for one provider.
    pub fn only(source: &ProviderSource) -> SourcePattern {
        let part = |text: &str| Some(text.to_owned());
        SourcePattern {
            host: part(&source.host),
            namespace: part(&source.namespace),
            type_name: part(&source.type_name),
        }
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

    /// Whether the pattern matches a provider.
    pub fn matches(&self, source: &ProviderSource) -> bool {
        let same = |pattern: &Option<String>, text: &str| pattern.as_ref().is_none_or(|p| p == text);
        same(&self.host, &source.host)
            && same(&self.namespace, &source.namespace)
            && same(&self.type_name, &source.type_name)
    }
}
