//! The configured provider.

use std::time::Duration;

use tokio::sync::watch;

use super::api::Api;
use super::backend::Backend;
use super::catalog::{PROVIDER, REGION};
use super::check::check;
use super::plan::Outlook;
use super::problem::Problem;
use super::value::{Attributes, Value};
use crate::client::Client;

/// The region if neither the configuration nor the environment names one.
pub const DEFAULT_REGION: &str = "eu-central";

/// The default number of retries. With their pauses, they take half a minute.
const DEFAULT_RETRIES: f64 = 8.0;

/// The default time limit of a request, in seconds.
const DEFAULT_TIMEOUT: f64 = 300.0;

/// A configured provider.
#[derive(Debug)]
pub(super) struct Setup {
    /// The region, or `None` if it is unknown.
    pub(super) region: Option<String>,
    pub(super) plan_tokens: bool,
    pub(super) backend: Backend,
}

impl Setup {
    /// Reads the configuration of the provider. Requests end early when `stop` becomes true.
    pub(super) fn of(
        config: &Attributes,
        environment: impl Fn(&str) -> Option<String>,
        stop: watch::Receiver<bool>,
    ) -> Result<Setup, Problem> {
        if let Some(problem) = check(PROVIDER, config).into_iter().next() {
            return Err(problem);
        }
        let get = |name: &str| config.get(name).unwrap_or(&Value::Null);
        let number = |name: &str, default: f64| get(name).as_number().unwrap_or(default);
        let region = match get(REGION) {
            Value::Unknown => None,
            Value::Text(region) => Some(region.clone()),
            _ => Some(environment("SIMCLOUD_REGION").unwrap_or_else(|| DEFAULT_REGION.to_owned())),
        };
        let plan_tokens = match get("plan_tokens") {
            Value::Bool(plan) => *plan,
            _ => environment("SIMCLOUD_PLAN_TOKENS").is_none_or(|text| text != "false"),
        };
        let url = match get("url") {
            Value::Text(url) => Some(url.clone()),
            Value::Unknown => return Ok(Setup { region, plan_tokens, backend: Backend::Unknown }),
            _ => environment("SIMCLOUD_URL"),
        };
        let backend = match (get("offline"), url) {
            (Value::Bool(true), _) => Backend::Offline,
            (_, None) => {
                let detail = "Set the provider's url, or the environment variable SIMCLOUD_URL, to where the cloud is.";
                return Err(Problem::new("No address of the cloud", detail).at("url"));
            }
            (_, Some(url)) => {
                let client = Client::new(&url)
                    .map_err(|error| Problem::new("Invalid address of the cloud", format!("{error}.")).at("url"))?;
                let timeout = Duration::from_secs_f64(number("timeout", DEFAULT_TIMEOUT));
                let retries = number("retries", DEFAULT_RETRIES) as u32;
                Backend::Cloud(Box::new(Api::new(client, retries, timeout, stop)))
            }
        };
        Ok(Setup { region, plan_tokens, backend })
    }

    /// The region of an object, or otherwise the region of the provider.
    pub(super) fn region_of(&self, object: &Attributes) -> Result<String, Problem> {
        match object.get(REGION).and_then(Value::as_text) {
            Some(region) => Ok(region.to_owned()),
            None => self.own_region(),
        }
    }

    pub(super) fn own_region(&self) -> Result<String, Problem> {
        let detail = "The provider's region is known only after apply.";
        self.region.clone().ok_or_else(|| Problem::new("Provider configuration not known", detail))
    }

    pub(super) fn outlook(&self) -> Outlook {
        let fresh_token = uuid::Uuid::new_v4().to_string();
        Outlook { region: self.region.clone(), plan_tokens: self.plan_tokens, fresh_token }
    }
}
