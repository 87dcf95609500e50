//! The clouds of Azure, with the addresses of their services.

use serde_json::Value as Json;
use tokio::sync::OnceCell;

use super::problems::reasons::{CloudProblem, DescriptionProblem};
use crate::tokens::ask;

/// The version of the interface that describes a cloud.
const VERSION: &str = "2023-11-01";

/// A cloud by name, or by the host that describes it.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(super) enum CloudName {
    /// The worldwide cloud.
    Public,
    /// The cloud of the US government.
    UsGovernment,
    /// The cloud in China.
    China,
    /// The cloud that this host describes.
    Described(String),
}

impl CloudName {
    /// The cloud with this name in the settings.
    pub(super) fn of(name: &str) -> Option<CloudName> {
        match name {
            "" | "public" | "global" | "canary" => Some(CloudName::Public),
            "usgovernment" | "usgovernmentl4" | "dod" | "usgovernmentl5" => Some(CloudName::UsGovernment),
            "china" => Some(CloudName::China),
            _ => None,
        }
    }
}

/// The addresses of a cloud's services.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(super) struct Cloud {
    /// The address of Entra ID, with `/` at the end.
    pub(super) login: String,
    /// The address of Resource Manager, without `/` at the end.
    pub(super) manager: String,
    /// The audience of tokens for Resource Manager.
    pub(super) audience: String,
    /// The suffix of the domains of storage accounts.
    pub(super) storage: String,
}

impl Cloud {
    fn new(login: &str, manager: &str, audience: &str, storage: &str) -> Cloud {
        Cloud {
            login: format!("{}/", login.trim_end_matches('/')),
            manager: manager.trim_end_matches('/').to_owned(),
            audience: audience.to_owned(),
            storage: storage.to_owned(),
        }
    }

    /// Reads the description of a cloud.
    fn described(json: &Json) -> Result<Cloud, DescriptionProblem> {
        let text = |path: &str| json.pointer(path).and_then(Json::as_str);
        let needed = |path: &str, what| text(path).ok_or(DescriptionProblem::Missing(what));
        Ok(Cloud::new(
            needed("/authentication/loginEndpoint", "login endpoint")?,
            needed("/resourceManager", "address of Resource Manager")?,
            needed("/authentication/audiences/0", "token audience")?,
            needed("/suffixes/storage", "storage endpoint")?,
        ))
    }

    /// The audience of tokens that other issuers make for Entra ID.
    pub(super) fn exchange_audience(&self) -> &'static str {
        match self.login.as_str() {
            "https://login.chinacloudapi.cn/" => "api://AzureADTokenExchangeChina",
            "https://login.microsoftonline.us/" => "api://AzureADTokenExchangeUSGov",
            _ => "api://AzureADTokenExchange",
        }
    }
}

/// A cloud whose description is requested at the first use.
#[derive(Debug)]
pub(super) struct Clouds {
    name: CloudName,
    http: reqwest::Client,
    known: OnceCell<Cloud>,
}

impl Clouds {
    /// The cloud with this name.
    pub(super) fn new(name: CloudName, http: reqwest::Client) -> Clouds {
        Clouds { name, http, known: OnceCell::new() }
    }

    /// The cloud with its addresses.
    ///
    /// # Errors
    /// Returns an error if the host that describes the cloud does not respond, or if its response is not valid.
    pub(super) async fn get(&self) -> Result<&Cloud, CloudProblem> {
        self.known.get_or_try_init(|| self.find()).await
    }

    async fn find(&self) -> Result<Cloud, CloudProblem> {
        let host = match &self.name {
            CloudName::Public => {
                return Ok(Cloud::new(
                    "https://login.microsoftonline.com",
                    "https://management.azure.com",
                    "https://management.core.windows.net/",
                    "core.windows.net",
                ));
            }
            CloudName::UsGovernment => {
                return Ok(Cloud::new(
                    "https://login.microsoftonline.us",
                    "https://management.usgovcloudapi.net",
                    "https://management.core.usgovcloudapi.net/",
                    "core.usgovcloudapi.net",
                ));
            }
            CloudName::China => {
                return Ok(Cloud::new(
                    "https://login.chinacloudapi.cn",
                    "https://management.chinacloudapi.cn",
                    "https://management.core.chinacloudapi.cn/",
                    "core.chinacloudapi.cn",
                ));
            }
            CloudName::Described(host) => host,
        };
        let url = format!("https://{host}/metadata/endpoints?api-version={VERSION}");
        let answer = ask(self.http.get(url)).await;
        let found = answer.map_err(DescriptionProblem::Request).and_then(|json| Cloud::described(&json));
        found.map_err(|problem| CloudProblem { host: host.clone(), problem })
    }
}

#[cfg(test)]
mod tests {
    use serde_json::json;

    use super::*;

    #[test]
    fn clouds_are_named_or_described() {
        for (name, cloud) in [
            ("", Some(CloudName::Public)),
            ("canary", Some(CloudName::Public)),
            ("dod", Some(CloudName::UsGovernment)),
            ("china", Some(CloudName::China)),
            ("german", None),
        ] {
            assert_eq!(CloudName::of(name), cloud, "{name}");
        }
        let mut description = json!({
            "authentication": {"loginEndpoint": "https://login.example", "audiences": ["https://a/", "https://b"]},
            "resourceManager": "https://arm.example/", "suffixes": {"storage": "store.example"}});
        let cloud = Cloud::described(&description).unwrap();
        assert_eq!(cloud, Cloud::new("https://login.example/", "https://arm.example", "https://a/", "store.example"));
        assert_eq!(cloud.exchange_audience(), "api://AzureADTokenExchange");
        description["suffixes"] = json!({});
        let lacking = Cloud::described(&description).unwrap_err();
        assert_eq!(lacking.to_string(), "the description has no storage endpoint");
    }
}
