//! Settings of requests, from the environment.

use std::path::PathBuf;
use std::time::Duration;

/// The variables for the number of retries and the time limit of requests to registries.
const DISCOVERY_RETRY: &str = "TF_REGISTRY_DISCOVERY_RETRY";
const CLIENT_TIMEOUT: &str = "TF_REGISTRY_CLIENT_TIMEOUT";
/// The variable for the number of retries of downloads.
const DOWNLOAD_RETRY: &str = "TF_PROVIDER_DOWNLOAD_RETRY";
/// The variable for text that is added to the user agent.
const APPEND_USER_AGENT: &str = "TF_APPEND_USER_AGENT";

/// The settings of requests.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct HttpSettings {
    /// The user agent.
    pub user_agent: String,
    /// The number of retries of requests to registries.
    pub registry_retries: u32,
    /// The time limit of requests to registries.
    pub registry_timeout: Duration,
    /// The number of retries of downloads.
    pub download_retries: u32,
    /// The pause before the first retry. It doubles with each further retry.
    pub first_wait: Duration,
    /// The locations of the root certificates.
    pub certificates: CertificatePlaces,
}

/// The locations of root certificates.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct CertificatePlaces {
    /// `SSL_CERT_FILE`: replaces the system's file.
    pub file: Option<PathBuf>,
    /// `SSL_CERT_DIR`: replaces the system's directories.
    pub directories: Option<Vec<PathBuf>>,
}

impl Default for HttpSettings {
    /// OpenTofu's defaults, with the system's certificates.
    fn default() -> HttpSettings {
        HttpSettings {
            user_agent: format!("Weft/{}", env!("CARGO_PKG_VERSION")),
            registry_retries: 1,
            registry_timeout: Duration::from_secs(10),
            download_retries: 2,
            first_wait: Duration::from_secs(1),
            certificates: CertificatePlaces::default(),
        }
    }
}

impl HttpSettings {
    /// The settings of this process's environment.
    pub fn of_process() -> HttpSettings {
        HttpSettings::of(&|name| std::env::var(name).ok())
    }

    /// The settings of an environment. As in OpenTofu, a value that is not a number is ignored.
    pub fn of(variable: &dyn Fn(&str) -> Option<String>) -> HttpSettings {
        let set = |name: &str| variable(name).filter(|text| !text.trim().is_empty());
        let number = |name: &str| set(name)?.trim().parse::<u32>().ok();
        let mut settings = HttpSettings::default();
        if let Some(more) = set(APPEND_USER_AGENT) {
            settings.user_agent = format!("{} {}", settings.user_agent, more.trim());
        }
        settings.registry_retries = number(DISCOVERY_RETRY).unwrap_or(settings.registry_retries);
        settings.download_retries = number(DOWNLOAD_RETRY).unwrap_or(settings.download_retries);
        if let Some(seconds) = number(CLIENT_TIMEOUT).filter(|seconds| *seconds > 0) {
            settings.registry_timeout = Duration::from_secs(seconds.into());
        }
        settings.certificates = CertificatePlaces {
            file: set("SSL_CERT_FILE").map(PathBuf::from),
            directories: set("SSL_CERT_DIR").map(|list| std::env::split_paths(&list).collect()),
        };
        settings
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn numbers_are_read_from_the_environment() {
        let of = |pairs: &'static [(&str, &str)]| {
            HttpSettings::of(&|name| pairs.iter().find(|(n, _)| *n == name).map(|(_, v)| (*v).to_owned()))
        };
        let plain = of(&[]);
        assert_eq!(plain, HttpSettings::default());
        let set = of(&[
            ("TF_REGISTRY_DISCOVERY_RETRY", "3"),
            ("TF_REGISTRY_CLIENT_TIMEOUT", "20"),
            ("TF_PROVIDER_DOWNLOAD_RETRY", "0"),
            ("TF_APPEND_USER_AGENT", "ci/1"),
            ("SSL_CERT_DIR", "/a:/b"),
        ]);
        assert_eq!((set.registry_retries, set.registry_timeout.as_secs(), set.download_retries), (3, 20, 0));
        assert!(set.user_agent.ends_with(" ci/1"));
        assert_eq!(set.certificates.directories, Some(vec!["/a".into(), "/b".into()]));
        let wrong = of(&[("TF_REGISTRY_DISCOVERY_RETRY", "many"), ("TF_REGISTRY_CLIENT_TIMEOUT", "0")]);
        assert_eq!(wrong, HttpSettings::default());
    }
}
