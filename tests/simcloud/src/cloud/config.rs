//! The configuration file, in JSON. Every member has a default. An unknown member is an error.

use std::collections::BTreeMap;
use std::path::{Path, PathBuf};

use serde::Deserialize;

use super::fault::Rule;
use super::limit::Rate;

/// The regions of a configuration that lists none.
pub const DEFAULT_REGIONS: [&str; 6] = ["ap-south", "eu-central", "eu-north", "sa-east", "us-east", "us-west"];

/// The region name that stands for every name that the configuration does not have.
pub const ANY_REGION: &str = "*";

/// The whole file.
#[derive(Clone, Debug, Default, Deserialize)]
#[serde(deny_unknown_fields, default)]
pub struct Config {
    /// The seed of all random choices: the same seed and the same order of requests give the same failures.
    pub seed: u64,
    /// What an acknowledged effect survives.
    pub durability: Durability,
    /// The regions by name, or [`DEFAULT_REGIONS`] if empty. `*` stands for all others.
    pub regions: BTreeMap<String, Region>,
    /// Injected failures.
    pub faults: Vec<Rule>,
}

/// What an acknowledged effect survives.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum Durability {
    /// The loss of the machine: one fsync for each group of effects.
    #[default]
    Machine,
    /// The death of the server process, including `kill -9`.
    Process,
}

/// One region.
#[derive(Clone, Debug, Default, Deserialize)]
#[serde(deny_unknown_fields, default)]
pub struct Region {
    /// Zone names. By default, `REGION-a`, `REGION-b` and `REGION-c`.
    pub zones: Vec<String>,
    /// The duration of a request: half of it passes before the effect, and half after it.
    pub latency_ms: u64,
    /// The maximum random addition to the latency.
    pub jitter_ms: u64,
    /// The rate limit. Further requests get the status 429.
    pub rate: Option<Rate>,
    /// Whether a request takes effect even if its client disconnects before the effect.
    pub late_effects: bool,
}

/// Why a configuration cannot be used.
#[derive(Debug, thiserror::Error)]
pub enum ConfigError {
    /// The file cannot be read.
    #[error("{path}: {source}")]
    Read {
        /// The file.
        path: PathBuf,
        /// The error of the operating system.
        source: std::io::Error,
    },
    /// The file is not JSON of the expected form.
    #[error("{path}: {source}")]
    Form {
        /// The file.
        path: PathBuf,
        /// What is wrong and where.
        source: serde_json::Error,
    },
    /// A value is not allowed.
    #[error("{path}: {what}")]
    Value {
        /// The file.
        path: PathBuf,
        /// What is wrong.
        what: String,
    },
}

impl Config {
    /// Reads and checks a file.
    pub fn read(path: &Path) -> Result<Config, ConfigError> {
        let text =
            std::fs::read_to_string(path).map_err(|source| ConfigError::Read { path: path.to_owned(), source })?;
        let config: Config =
            serde_json::from_str(&text).map_err(|source| ConfigError::Form { path: path.to_owned(), source })?;
        config.check().map_err(|what| ConfigError::Value { path: path.to_owned(), what })?;
        Ok(config)
    }

    /// Checks the values beyond their form. The error is a sentence.
    pub fn check(&self) -> Result<(), String> {
        for name in self.regions.keys() {
            if name != ANY_REGION && !is_region_name(name) {
                return Err(format!("{name:?} is not a region name: lower-case letters, digits and dashes"));
            }
        }
        for region in self.regions.values() {
            if let Some(rate) = &region.rate {
                rate.check()?;
            }
        }
        self.faults.iter().try_for_each(Rule::check)
    }

    /// The settings of a region, if it exists.
    pub fn region(&self, name: &str) -> Option<Region> {
        let found = match self.regions.get(name) {
            Some(region) if name != ANY_REGION => region.clone(),
            _ if self.regions.is_empty() && DEFAULT_REGIONS.contains(&name) => Region::default(),
            _ if is_region_name(name) => self.regions.get(ANY_REGION)?.clone(),
            _ => return None,
        };
        let zones = if found.zones.is_empty() { default_zones(name) } else { found.zones };
        Some(Region { zones, ..found })
    }

    /// The names of all regions that are listed.
    pub fn region_names(&self) -> Vec<String> {
        if self.regions.is_empty() {
            return DEFAULT_REGIONS.iter().map(|name| (*name).to_owned()).collect();
        }
        self.regions.keys().filter(|name| *name != ANY_REGION).cloned().collect()
    }
}

/// The zone names of a region that lists none.
pub fn default_zones(region: &str) -> Vec<String> {
    ["a", "b", "c"].iter().map(|letter| format!("{region}-{letter}")).collect()
}

/// Whether a name is valid for a region. Host names contain region names, so the rules of host names apply.
pub fn is_region_name(name: &str) -> bool {
    (1..=63).contains(&name.len())
        && name.bytes().all(|byte| byte.is_ascii_lowercase() || byte.is_ascii_digit() || byte == b'-')
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_star_matches_all_other_names() {
        let config: Config =
            serde_json::from_str(r#"{"regions": {"*": {"latency_ms": 5}, "eu": {"zones": ["one"]}}}"#).unwrap();
        assert_eq!(config.region("eu").unwrap().zones, ["one"]);
        assert_eq!(config.region("x1").unwrap().latency_ms, 5);
        assert_eq!(config.region("x1").unwrap().zones, ["x1-a", "x1-b", "x1-c"]);
        assert!(config.region("*").is_none() && config.region("No/Such").is_none());
        assert_eq!(config.region_names(), ["eu"]);
    }

    #[test]
    fn unknown_members_and_invalid_values_are_errors() {
        assert!(serde_json::from_str::<Config>(r#"{"region": {}}"#).is_err());
        for text in [
            r#"{"regions": {"A_b": {}}}"#,
            r#"{"regions": {"a": {"rate": {"per_second": 0}}}}"#,
            r#"{"faults": [{"what": "cut", "probability": 1.5}]}"#,
            r#"{"faults": [{"what": "error", "status": 200}]}"#,
        ] {
            let config: Config = serde_json::from_str(text).unwrap();
            assert!(config.check().is_err(), "{text}");
        }
    }
}
