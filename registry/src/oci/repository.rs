//! Repositories in OCI registries.

use url::Url;

use crate::package_error::PackageError;

/// A repository in an OCI registry.
#[derive(Clone, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub struct Repository {
    /// The host, with its port.
    pub host: String,
    /// The name in the registry: parts separated by slashes.
    pub name: String,
}

impl Repository {
    /// Parses `HOST/NAME`.
    ///
    /// # Errors
    /// Returns an error if there is no host, or if a part of the name is not valid.
    pub fn parse(text: &str) -> Result<Repository, PackageError> {
        let sound = |part: &str| {
            let end = |c: Option<char>| c.is_some_and(|c| c.is_ascii_lowercase() || c.is_ascii_digit());
            let inner = |c: char| c.is_ascii_lowercase() || c.is_ascii_digit() || "._-".contains(c);
            end(part.chars().next()) && end(part.chars().last()) && part.chars().all(inner)
        };
        match text.split_once('/') {
            Some((host, name)) if !host.is_empty() && name.split('/').all(sound) => {
                Ok(Repository { host: host.to_owned(), name: name.to_owned() })
            }
            _ => Err(PackageError::Answer {
                place: format!("oci://{text}"),
                problem: "the text is not the name of a repository".to_owned(),
            }),
        }
    }

    /// The URL of a resource in the repository.
    ///
    /// # Errors
    /// Returns an error if the host is not valid.
    pub(super) fn url(&self, rest: &[&str]) -> Result<Url, PackageError> {
        // Docker Hub is the only registry whose host differs from its name.
        let host = if self.host == "docker.io" { "registry-1.docker.io" } else { &self.host };
        let base = Url::parse(&format!("https://{host}/v2/")).map_err(|error| PackageError::Answer {
            place: format!("oci://{self}"),
            problem: format!("its host is not valid: {error}"),
        })?;
        let parts: Vec<&str> = self.name.split('/').chain(rest.iter().copied()).collect();
        Ok(crate::package_error::path_of(&base, &parts))
    }
}

impl std::fmt::Display for Repository {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        write!(f, "{}/{}", self.host, self.name)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn names_of_repositories_are_checked() {
        let repository = Repository::parse("oci.test:5000/a/b-c").unwrap();
        assert_eq!(repository.url(&["tags", "list"]).unwrap().as_str(), "https://oci.test:5000/v2/a/b-c/tags/list");
        for bad in ["", "oci.test", "oci.test/", "oci.test/A", "oci.test/../x", "/a"] {
            assert!(Repository::parse(bad).is_err(), "{bad}");
        }
    }
}
