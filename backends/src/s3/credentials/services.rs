//! Credentials of containers, of the metadata service of an instance, and of a process.

use std::net::IpAddr;
use std::time::Duration;

use reqwest::RequestBuilder;
use serde_json::Value as Json;
use url::Url;

use super::super::expiring::Expiring;
use super::problems::ServiceProblem;

/// The address of the credentials for containers of ECS.
const CONTAINER: &str = "http://169.254.170.2";
/// The hosts of container services to which unencrypted requests may be sent.
const CONTAINERS: [&str; 3] = ["169.254.170.2", "169.254.170.23", "fd00:ec2::23"];
/// The time limit of a request to a service on this machine.
const TIME_LIMIT: Duration = Duration::from_secs(2);
/// The requested lifetime of a token of the metadata service, in seconds.
const TOKEN_SECONDS: &str = "21600";
/// The path of the credentials in the metadata service.
const ROLES: &str = "latest/meta-data/iam/security-credentials/";

/// The access key in a document of a container service, of the metadata service, or of a process. `token` is the name
/// of the field with the session token.
fn keys(document: &Json, token: &str) -> Result<Expiring, ServiceProblem> {
    let text = |name: &str| document.get(name).and_then(Json::as_str);
    match (text("AccessKeyId"), text("SecretAccessKey")) {
        (Some(id), Some(secret)) => Ok(Expiring::new(id, secret, text(token), text("Expiration"))),
        _ => Err(ServiceProblem::NoKeys),
    }
}

async fn answer(request: RequestBuilder) -> Result<String, ServiceProblem> {
    let answer = request.timeout(TIME_LIMIT).send().await.map_err(ServiceProblem::Request)?;
    if !answer.status().is_success() {
        return Err(ServiceProblem::Status(answer.status()));
    }
    answer.text().await.map_err(ServiceProblem::Request)
}

fn document(text: &str) -> Result<Json, ServiceProblem> {
    serde_json::from_str(text).map_err(ServiceProblem::NotJson)
}

/// Checks that a token may be sent to this URL. The URL must use HTTPS, or its host must be this machine or a container
/// service.
async fn near(text: &str) -> Result<String, ServiceProblem> {
    let url = Url::parse(text).map_err(ServiceProblem::Address)?;
    let host = url.host_str().unwrap_or_default().trim_matches(['[', ']']);
    if url.scheme() == "http" {
        let found = tokio::net::lookup_host((host, url.port_or_known_default().unwrap_or_default())).await;
        let found = found.map_err(|error| ServiceProblem::Lookup { host: host.to_owned(), error })?;
        let addresses: Vec<_> = found.map(|found| found.ip()).collect();
        let allowed = |ip: &IpAddr| ip.is_loopback() || CONTAINERS.contains(&ip.to_string().as_str());
        if addresses.is_empty() || !addresses.iter().all(allowed) {
            return Err(ServiceProblem::OtherMachine { host: host.to_owned() });
        }
    }
    Ok(text.to_owned())
}

/// The credentials of a container. `None` outside of a container.
pub(super) async fn of_container(
    http: &reqwest::Client,
    variable: &(dyn Fn(&str) -> Option<String> + Sync),
) -> Result<Option<Expiring>, ServiceProblem> {
    let relative = variable("AWS_CONTAINER_CREDENTIALS_RELATIVE_URI").map(|path| format!("{CONTAINER}{path}"));
    let url = match (relative, variable("AWS_CONTAINER_CREDENTIALS_FULL_URI")) {
        (Some(url), _) => url,
        (None, Some(url)) => near(&url).await?,
        (None, None) => return Ok(None),
    };
    let token = match variable("AWS_CONTAINER_AUTHORIZATION_TOKEN_FILE") {
        Some(path) => {
            let token = std::fs::read_to_string(&path);
            Some(token.map_err(|error| ServiceProblem::TokenFile { path, error })?)
        }
        None => variable("AWS_CONTAINER_AUTHORIZATION_TOKEN"),
    };
    let mut request = http.get(&url);
    if let Some(token) = token {
        request = request.header("authorization", token.trim());
    }
    keys(&document(&answer(request).await?)?, "Token").map(Some)
}

/// The credentials of an instance's role. `needs_token` is false for version 1 of the metadata service.
pub(super) async fn of_instance(
    http: &reqwest::Client,
    endpoint: &Url,
    needs_token: bool,
) -> Result<Expiring, ServiceProblem> {
    let url = |path: &str| format!("{}/{path}", endpoint.as_str().trim_end_matches('/'));
    let token = http.put(url("latest/api/token")).header("x-aws-ec2-metadata-token-ttl-seconds", TOKEN_SECONDS);
    let token = match answer(token).await {
        Err(error) if needs_token => return Err(error),
        answer => answer.ok(),
    };
    let get = |path: String| {
        let request = http.get(path);
        match &token {
            Some(token) => request.header("x-aws-ec2-metadata-token", token),
            None => request,
        }
    };
    let roles = answer(get(url(ROLES))).await?;
    let role = roles.lines().next().ok_or(ServiceProblem::NoRole)?;
    keys(&document(&answer(get(url(&format!("{ROLES}{role}")))).await?)?, "Token")
}

/// The credentials that a command prints.
pub(super) async fn of_process(command: &str) -> Result<Expiring, ServiceProblem> {
    let ran = tokio::process::Command::new("sh").arg("-c").arg(command).output().await;
    let output = ran.map_err(ServiceProblem::NotRun)?;
    if !output.status.success() {
        return Err(ServiceProblem::Ended(output.status));
    }
    keys(&document(&String::from_utf8_lossy(&output.stdout))?, "SessionToken")
}
