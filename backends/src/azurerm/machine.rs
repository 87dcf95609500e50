//! The identity of a machine: the local service that issues tokens, and the requests to this service.

use std::path::Path;

use reqwest::header::WWW_AUTHENTICATE;
use reqwest::{RequestBuilder, StatusCode};
use url::Url;

use super::problems::reasons::{ArcProblem, MachineProblem, OneIdentity};
use crate::tokens::with_form;

/// The metadata service of virtual machines.
const IMDS: &str = "http://169.254.169.254/metadata/identity/oauth2/token";
/// The agent of Azure Arc.
const ARC: &str = "http://127.0.0.1:40342/metadata/identity/oauth2/token";
/// The directory in which the agent of Azure Arc stores its secrets.
const ARC_SECRETS: &str = "/var/opt/azcmagent/tokens";
/// The program of the Azure Arc agent.
const ARC_AGENT: &str = "/opt/azcmagent/bin/himds";
/// The maximum length of a secret of the Azure Arc agent, in bytes.
const ARC_SECRET: u64 = 4096;

/// The service of a machine that issues tokens.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(super) enum Agent {
    /// The service of virtual machines and pods.
    Imds,
    /// The service of App Service and Functions: its address and a secret.
    AppService(String, String),
    /// The service of Service Fabric: its address and a secret.
    ServiceFabric(String, String),
    /// The service of Azure Machine Learning: its address, a secret and the id of the default identity.
    MachineLearning(String, String, String),
    /// The service of Cloud Shell: its address.
    CloudShell(String),
    /// The service of Azure Arc: its address.
    Arc(String),
}

/// The identity of a machine.
#[derive(Clone, Debug)]
pub(super) struct Machine {
    agent: Agent,
    /// The id of the identity, if the machine has several identities.
    client: Option<String>,
}

impl Machine {
    /// The identity with this id, or the default identity. `variable` returns variables of the environment, which
    /// identify the kind of machine.
    ///
    /// # Errors
    /// Returns an error if this kind of machine cannot have several identities.
    pub(super) fn of(
        variable: &dyn Fn(&str) -> Option<String>,
        client: Option<String>,
    ) -> Result<Machine, OneIdentity> {
        let agent = match (variable("IDENTITY_ENDPOINT"), variable("IDENTITY_HEADER"), variable("MSI_ENDPOINT")) {
            (Some(url), Some(secret), _) => match variable("IDENTITY_SERVER_THUMBPRINT") {
                Some(_) => Agent::ServiceFabric(url, secret),
                None => Agent::AppService(url, secret),
            },
            (_, _, Some(url)) => match variable("MSI_SECRET") {
                Some(secret) => {
                    let usual = variable("DEFAULT_IDENTITY_CLIENT_ID").unwrap_or_default();
                    Agent::MachineLearning(url, secret, usual)
                }
                None => Agent::CloudShell(url),
            },
            (url, _, None) => {
                let listed = url.is_some() && variable("IMDS_ENDPOINT").is_some();
                match listed || Path::new(ARC_AGENT).exists() {
                    true => Agent::Arc(url.unwrap_or_else(|| ARC.to_owned())),
                    false => Agent::Imds,
                }
            }
        };
        let one = match agent {
            Agent::Arc(_) => "Azure Arc",
            Agent::CloudShell(_) => "Cloud Shell",
            Agent::ServiceFabric(..) => "Service Fabric",
            Agent::Imds | Agent::AppService(..) | Agent::MachineLearning(..) => "",
        };
        match (one, &client) {
            ("", _) | (_, None) => Ok(Machine { agent, client }),
            (machine, Some(_)) => Err(OneIdentity { machine }),
        }
    }

    /// The request for a token for a resource.
    ///
    /// # Errors
    /// Returns an error if the address of the service is invalid, or if the agent of Azure Arc does not provide its
    /// secret.
    pub(super) async fn request(
        &self,
        http: &reqwest::Client,
        resource: &str,
    ) -> Result<RequestBuilder, MachineProblem> {
        let address = |url: &str, version: &str, parameter: &str| {
            let mut url = Url::parse(url)?;
            url.query_pairs_mut().append_pair("api-version", version).append_pair("resource", resource);
            if let Some(client) = &self.client {
                url.query_pairs_mut().append_pair(parameter, client);
            }
            Ok::<Url, MachineProblem>(url)
        };
        Ok(match &self.agent {
            Agent::Imds => http.get(address(IMDS, "2018-02-01", "client_id")?).header("Metadata", "true"),
            Agent::AppService(url, secret) => {
                http.get(address(url, "2019-08-01", "client_id")?).header("X-IDENTITY-HEADER", secret)
            }
            Agent::ServiceFabric(url, secret) => {
                http.get(address(url, "2019-07-01-preview", "client_id")?).header("Secret", secret)
            }
            Agent::MachineLearning(url, secret, usual) => {
                let mut url = address(url, "2017-09-01", "clientid")?;
                if self.client.is_none() {
                    url.query_pairs_mut().append_pair("clientid", usual);
                }
                http.get(url).header("secret", secret)
            }
            Agent::CloudShell(url) => with_form(http.post(url), &[("resource", resource)]).header("Metadata", "true"),
            Agent::Arc(url) => {
                let url = address(url, "2020-06-01", "client_id")?;
                let secret = arc_secret(http, &url).await?;
                http.get(url).header("Metadata", "true").header("Authorization", format!("Basic {secret}"))
            }
        })
    }
}

/// The secret of the Azure Arc agent. The agent writes the secret to a file that only permitted users can read.
async fn arc_secret(http: &reqwest::Client, url: &Url) -> Result<String, ArcProblem> {
    let answer = http.get(url.clone()).header("Metadata", "true").send().await.map_err(ArcProblem::Request)?;
    if answer.status() != StatusCode::UNAUTHORIZED {
        return Err(ArcProblem::Status(answer.status()));
    }
    let header = answer.headers().get(WWW_AUTHENTICATE).and_then(|value| value.to_str().ok());
    let path = header.and_then(|header| header.strip_prefix("Basic realm="));
    let path = Path::new(path.ok_or(ArcProblem::NoFile)?);
    let right = path.parent() == Some(Path::new(ARC_SECRETS)) && path.extension().is_some_and(|name| name == "key");
    if !right {
        return Err(ArcProblem::OtherFile { folder: ARC_SECRETS });
    }
    let unreadable = |error| ArcProblem::Unreadable { path: path.to_owned(), error };
    if std::fs::metadata(path).map_err(unreadable)?.len() > ARC_SECRET {
        return Err(ArcProblem::TooLong { path: path.to_owned(), most: ARC_SECRET });
    }
    std::fs::read_to_string(path).map_err(unreadable)
}

#[cfg(test)]
mod tests {
    use super::*;

    fn of(variables: &[(&str, &str)], client: Option<&str>) -> Result<Agent, OneIdentity> {
        let variable =
            |name: &str| variables.iter().find(|(known, _)| *known == name).map(|(_, value)| (*value).to_owned());
        Machine::of(&variable, client.map(str::to_owned)).map(|machine| machine.agent)
    }

    #[test]
    fn the_variables_tell_the_service() {
        let text = str::to_owned;
        let app = [("IDENTITY_ENDPOINT", "http://a"), ("IDENTITY_HEADER", "s")];
        assert_eq!(of(&[], Some("id")), Ok(Agent::Imds));
        assert_eq!(of(&app, Some("id")), Ok(Agent::AppService(text("http://a"), text("s"))));
        let fabric = [&app[..], &[("IDENTITY_SERVER_THUMBPRINT", "x")]].concat();
        assert_eq!(of(&fabric, None), Ok(Agent::ServiceFabric(text("http://a"), text("s"))));
        assert_eq!(of(&[("MSI_ENDPOINT", "http://b")], None), Ok(Agent::CloudShell(text("http://b"))));
        let learning = of(&[("MSI_ENDPOINT", "http://b"), ("MSI_SECRET", "s")], None);
        assert_eq!(learning, Ok(Agent::MachineLearning(text("http://b"), text("s"), text(""))));
        let arc = [("IDENTITY_ENDPOINT", "http://c"), ("IMDS_ENDPOINT", "http://d")];
        assert_eq!(of(&arc, None), Ok(Agent::Arc(text("http://c"))));
        assert!(of(&arc, Some("id")).unwrap_err().to_string().contains("client_id"));
    }

    #[tokio::test]
    async fn a_request_names_resource_and_identity() {
        let http = crate::client::client(&crate::client::ClientSettings::default()).unwrap();
        let machine = Machine { agent: Agent::Imds, client: Some("i d".to_owned()) };
        let request = machine.request(&http, "https://storage.azure.com").await.unwrap().build().unwrap();
        let want = "api-version=2018-02-01&resource=https%3A%2F%2Fstorage.azure.com&client_id=i+d";
        assert_eq!(request.url().query(), Some(want));
    }
}
