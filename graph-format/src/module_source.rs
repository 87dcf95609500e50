//! The source of a module: the argument `source` of a `module` block.
//!
//! A *local* source is a path inside the package of the calling module. A *registry* source refers to a module with
//! versions in a registry. Every other source is *remote*: a package that is downloaded as a whole, optionally with a
//! folder inside it. Short forms (`github.com/..`, `git@host:..`, an absolute path) are converted to the form that
//! OpenTofu writes to its list of installed modules. Sources print in that form.

mod registry;
mod remote;
mod slash_path;
mod url_text;

use std::fmt;

pub use registry::{DEFAULT_HOST, RegistryModule};
pub use remote::{RemoteModule, split_forced, split_subdir};
pub use slash_path::{clean, join};
pub use url_text::{decode, query_pairs};

/// Where a module comes from.
#[derive(Clone, Debug, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub enum ModuleSource {
    /// A path relative to the caller's directory. Begins with `./` or `../`, uses `/`, and has no superfluous parts.
    Local(String),
    /// A module of a registry.
    Registry(RegistryModule),
    /// A folder of a package that is downloaded.
    Remote(RemoteModule),
}

/// Why a text is not a source.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
pub enum ModuleSourceError {
    /// Not a known form of a source. Probably a local path without `./` in front.
    #[error("{0:?} is not a known form of a module source")]
    Relative(String),
    /// An empty text.
    #[error("it is empty")]
    Empty,
    /// A folder outside of the package.
    #[error("the folder {0:?} is outside of the module's package")]
    OutsidePackage(String),
    /// A short form with missing parts.
    #[error("{0}")]
    Shorthand(&'static str),
    /// An invalid query.
    #[error("the query of {0:?} (after ?) is invalid")]
    Query(String),
    /// An address with neither three nor four parts.
    #[error("an address in a registry has the form [host/]namespace/name/system")]
    Parts,
    /// A local path instead of an address in a registry.
    #[error("{0:?} is a local directory, not an address in a registry")]
    NotARegistry(String),
    /// An invalid host.
    #[error("{0:?} cannot be the host of a registry")]
    Host(String),
    /// A host without a dot.
    #[error("the host name of a registry must contain a dot")]
    HostWithoutDot,
    /// A host written with `xn--`.
    #[error("{0:?} cannot be the host of a registry: write international names in Unicode, not with xn--")]
    Punycode(String),
    /// A host whose addresses refer to git repositories.
    #[error("{0} is not a registry: its addresses refer to git repositories")]
    ReservedHost(String),
    /// A host that is followed by too few parts.
    #[error("three parts must follow the host: namespace, name and system")]
    AfterHost,
    /// An invalid namespace or name.
    #[error("{text:?} cannot be the {part}: 1 to 64 letters, digits, dashes and underscores, without - or _ at an end")]
    Name {
        /// The part: `namespace` or `name`.
        part: &'static str,
        /// The text of the part.
        text: String,
    },
    /// An invalid system.
    #[error("{0:?} cannot be the system: 1 to 64 lowercase letters and digits")]
    System(String),
    /// A query in an address of a registry.
    #[error("an address in a registry cannot have a query (after ?)")]
    RegistryQuery,
}

/// The prefixes of local sources.
const LOCAL_PREFIXES: [&str; 4] = ["./", "../", ".\\", "..\\"];

impl ModuleSource {
    /// Parses a source.
    ///
    /// # Errors
    /// Returns an error if the text is neither a local path, nor an address in a registry, nor a package that can be
    /// downloaded.
    pub fn parse(text: &str) -> Result<ModuleSource, ModuleSourceError> {
        if is_local(text) {
            return Ok(ModuleSource::Local(local(text)));
        }
        // A text that can be an address in a registry is parsed as one.
        match RegistryModule::parse(text) {
            Ok(module) => Ok(ModuleSource::Registry(module)),
            Err(_) => RemoteModule::parse(text).map(ModuleSource::Remote),
        }
    }

    /// Parses the source of a module that also has a `version`. Only modules in registries have versions.
    ///
    /// # Errors
    /// Returns an error if the text is not an address in a registry.
    pub fn parse_registry(text: &str) -> Result<ModuleSource, ModuleSourceError> {
        if is_local(text) {
            return Err(ModuleSourceError::NotARegistry(text.to_owned()));
        }
        RegistryModule::parse(text).map(ModuleSource::Registry)
    }

    /// The folder inside the package. Empty for the top of the package, and for local sources.
    pub fn subdir(&self) -> &str {
        match self {
            ModuleSource::Local(_) => "",
            ModuleSource::Registry(module) => &module.subdir,
            ModuleSource::Remote(module) => &module.subdir,
        }
    }

    /// The package without the folder inside it. For a local source, the path.
    pub fn package(&self) -> String {
        match self {
            ModuleSource::Local(path) => path.clone(),
            ModuleSource::Registry(module) => module.package(),
            ModuleSource::Remote(module) => module.package.clone(),
        }
    }

    /// The path, if the source is local.
    pub fn as_local(&self) -> Option<&str> {
        match self {
            ModuleSource::Local(path) => Some(path),
            _ => None,
        }
    }
}

/// Whether a source is a path inside the caller's package.
pub fn is_local(text: &str) -> bool {
    LOCAL_PREFIXES.iter().any(|prefix| text.starts_with(prefix))
}

/// The normal form of a local source.
fn local(text: &str) -> String {
    let clean = clean(&text.replace('\\', "/"));
    if clean.starts_with("../") { clean } else { format!("./{clean}") }
}

impl fmt::Display for ModuleSource {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            ModuleSource::Local(path) => f.write_str(path),
            ModuleSource::Registry(module) => write!(f, "{module}"),
            ModuleSource::Remote(module) => write!(f, "{module}"),
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    /// The written text, its kind and its normal form. The kinds are `L` for local, `R` for registry and `F` for
    /// remote.
    const FORMS: &[(&str, char, &str)] = &[
        ("./m", 'L', "./m"),
        ("./m/", 'L', "./m"),
        ("./m/../n", 'L', "./n"),
        (".\\m\\n", 'L', "./m/n"),
        ("../m//n", 'L', "../m/n"),
        ("./../m", 'L', "../m"),
        ("../", 'L', "./.."),
        ("./", 'L', "./."),
        ("hashicorp/consul/aws", 'R', "registry.opentofu.org/hashicorp/consul/aws"),
        ("hashicorp/consul/aws//modules/a", 'R', "registry.opentofu.org/hashicorp/consul/aws//modules/a"),
        ("hashicorp/consul/aws//a/../b/", 'R', "registry.opentofu.org/hashicorp/consul/aws//b"),
        ("Example.COM/ns/na-me_1/x2", 'R', "example.com/ns/na-me_1/x2"),
        ("example.com:8443/ns/name/x", 'R', "example.com:8443/ns/name/x"),
        ("example.com:443/ns/name/x", 'R', "example.com/ns/name/x"),
        ("github.com/org/repo", 'F', "git::https://github.com/org/repo.git"),
        ("github.com/org/repo.git", 'F', "git::https://github.com/org/repo.git"),
        ("github.com/org/repo?ref=v1", 'F', "git::https://github.com/org/repo.git?ref=v1"),
        ("github.com/org/repo//a?ref=v1", 'F', "git::https://github.com/org/repo.git//a?ref=v1"),
        ("github.com/org/repo/a/b", 'F', "git::https://github.com/org/repo.git//a/b"),
        ("github.com/org/repo/a//b", 'F', "git::https://github.com/org/repo.git//a/b"),
        ("bitbucket.org/org/repo", 'F', "git::https://bitbucket.org/org/repo.git"),
        ("git@github.com:org/repo.git", 'F', "git::ssh://git@github.com/org/repo.git"),
        ("git@github.com:org/repo.git//a?ref=v1", 'F', "git::ssh://git@github.com/org/repo.git//a?ref=v1"),
        ("git@example.com:/org/repo", 'F', "git::ssh://git@example.com/org/repo"),
        ("git::git@github.com:org/repo.git", 'F', "git::ssh://git@github.com/org/repo.git"),
        ("git@h.org:r?ref=b&depth=1", 'F', "git::ssh://git@h.org/r?depth=1&ref=b"),
        ("git::https://example.com/r.git//a/b?ref=x//y", 'F', "git::https://example.com/r.git//a/b?ref=x//y"),
        ("git::ssh://u@example.com:22/r.git", 'F', "git::ssh://u@example.com:22/r.git"),
        ("git::/srv/r.git", 'F', "git::file:///srv/r.git"),
        ("git::file:///srv/r.git//a?ref=v1", 'F', "git::file:///srv/r.git//a?ref=v1"),
        ("hg::http://example.com/r", 'F', "hg::http://example.com/r"),
        ("https://example.com/m.zip", 'F', "https://example.com/m.zip"),
        ("https://example.com/m?archive=zip", 'F', "https://example.com/m?archive=zip"),
        ("https://example.com/m.zip//*?checksum=md5:0", 'F', "https://example.com/m.zip//*?checksum=md5:0"),
        ("/srv/m", 'F', "file:///srv/m"),
        ("/srv/m//a", 'F', "file:///srv/m//a"),
        ("oci://example.com/r//a?tag=1.0", 'F', "oci://example.com/r//a?tag=1.0"),
        ("bucket.s3.amazonaws.com/k.zip", 'F', "s3::https://s3.amazonaws.com/bucket/k.zip"),
        ("bucket.s3-eu-west-1.amazonaws.com/k.zip", 'F', "s3::https://s3-eu-west-1.amazonaws.com/bucket/k.zip"),
        ("bucket.s3.eu-west-1.amazonaws.com/k.zip", 'F', "s3::https://s3.eu-west-1.amazonaws.com/bucket/k.zip"),
        ("s3-eu-west-1.amazonaws.com/bucket/k.zip", 'F', "s3::https://s3-eu-west-1.amazonaws.com/bucket/k.zip"),
        ("www.googleapis.com/storage/v1/bucket/k.zip", 'F', "gcs::https://www.googleapis.com/storage/v1/bucket/k.zip"),
    ];

    #[test]
    fn sources_are_normalized() {
        for (text, kind, form) in FORMS {
            let source = ModuleSource::parse(text).unwrap_or_else(|error| panic!("{text}: {error}"));
            let found = match source {
                ModuleSource::Local(_) => 'L',
                ModuleSource::Registry(_) => 'R',
                ModuleSource::Remote(_) => 'F',
            };
            assert_eq!((found, source.to_string().as_str()), (*kind, *form), "{text}");
            // The normal form is stable, except for the two local paths that OpenTofu itself changes.
            if !["../", "./"].contains(text) {
                assert_eq!(ModuleSource::parse(form).unwrap(), source, "{form}");
            }
        }
    }

    #[test]
    fn invalid_sources_are_refused() {
        let relative = |text: &str| ModuleSourceError::Relative(text.to_owned());
        for (text, error) in [
            ("m", relative("m")),
            ("modules/m", relative("modules/m")),
            ("a/b/c/d/e", relative("a/b/c/d/e")),
            ("https://exa mple.com/m.zip", relative("https://exa mple.com/m.zip")),
            ("https://example.com:x/m.zip", relative("https://example.com:x/m.zip")),
            ("https://example.com/%zz", relative("https://example.com/%zz")),
            ("git@h.org:a?x=1;y=2", ModuleSourceError::Query("git@h.org:a?x=1;y=2".into())),
            ("git@h.org:", relative("git@h.org:")),
            ("git::ssh://git@h.org:org/repo", relative("ssh://git@h.org:org/repo")),
            ("", ModuleSourceError::Empty),
            ("https://example.com/m.zip//../a", ModuleSourceError::OutsidePackage("../a".into())),
            (
                "github.com/org",
                ModuleSourceError::Shorthand("addresses at GitHub have the form github.com/OWNER/REPOSITORY"),
            ),
        ] {
            assert_eq!(ModuleSource::parse(text), Err(error), "{text}");
        }
    }

    #[test]
    fn only_a_registry_source_has_a_version() {
        use ModuleSourceError::*;
        for (text, error) in [
            ("./m", NotARegistry("./m".into())),
            ("m", Parts),
            ("a/b/c/d/e", Parts),
            ("github.com/org/repo/aws", ReservedHost("github.com".into())),
            ("localhost/ns/name/aws", HostWithoutDot),
            ("exa_mple.com/ns/name/aws", Host("exa_mple.com".into())),
            ("xn--80ak6aa92e.com/ns/name/aws", Punycode("xn--80ak6aa92e.com".into())),
            ("example.com/ns/name", AfterHost),
            ("-a/name/aws", Name { part: "namespace", text: "-a".into() }),
            ("ns/na.me/aws", Name { part: "name", text: "na.me".into() }),
            ("ns/name/AWS", System("AWS".into())),
            ("ns/name/aws?ref=1", RegistryQuery),
            ("ns/name/aws//../x", OutsidePackage("../x".into())),
        ] {
            assert_eq!(ModuleSource::parse_registry(text), Err(error), "{text}");
        }
        assert!(ModuleSource::parse_registry("ns/name/aws//x").is_ok());
    }

    #[test]
    fn a_source_is_split_into_package_and_folder() {
        for (text, package, subdir) in [
            ("ns/name/aws//a/b", "registry.opentofu.org/ns/name/aws", "a/b"),
            ("git::https://h.org/r//a?ref=1", "git::https://h.org/r?ref=1", "a"),
            ("/srv/m", "file:///srv/m", ""),
        ] {
            let source = ModuleSource::parse(text).unwrap();
            assert_eq!((source.package().as_str(), source.subdir()), (package, subdir));
        }
    }
}
