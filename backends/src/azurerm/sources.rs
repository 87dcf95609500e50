//! Getting tokens of Entra ID, and keys of accounts.

use std::process::Stdio;
use std::sync::Arc;
use std::time::{Duration, SystemTime, UNIX_EPOCH};

use async_trait::async_trait;
use base64::Engine as _;
use base64::engine::general_purpose::STANDARD;
use jiff::Timestamp;
use reqwest::RequestBuilder;
use serde_json::{Value as Json, json};
use tokio::process::Command;
use tokio::sync::Mutex;
use url::Url;
use weft_state::remote::BackendError;

use super::certificate::Certificate;
use super::cloud::Clouds;
use super::methods::{Application, Cli, Method, Pipeline, Statement, value_or_file};
use super::problems::reasons::{CliProblem, EntraProblem, IssuerProblem, KeyListProblem};
use super::settings::{AccountLocation, AzureSettings, Proof};
use super::{refusals, signing};
use crate::exchange::{Authorize, Call, Constant};
use crate::jwt::{self, Algorithm};
use crate::tokens::{AccessToken, Bearer, TokenSource, ask, with_form};

/// The audience of tokens for the blob service. It is the same in all clouds.
const STORAGE: &str = "https://storage.azure.com";
/// The type of the assertions of applications (RFC 7523).
const ASSERTION: &str = "urn:ietf:params:oauth:client-assertion-type:jwt-bearer";
/// The lifetime of an assertion that is signed with a certificate.
const LIFETIME: Duration = Duration::from_secs(600);
/// The version of the API of Azure Pipelines.
const PIPELINES_VERSION: &str = "7.1";
/// The version of the API of Resource Manager for storage accounts.
const MANAGER_VERSION: &str = "2024-01-01";
/// The time limit of the Azure CLI.
const CLI_TIME: Duration = Duration::from_secs(60);
/// The time for which a token of the Azure CLI is used if its expiry is not given.
const CLI_LIFETIME: Duration = Duration::from_secs(300);
/// The format of dates in HTTP.
const DATE: &str = "%a, %d %b %Y %H:%M:%S GMT";

/// The service for which a token is valid.
#[derive(Clone, Debug, PartialEq, Eq)]
enum TokenAudience {
    /// Another service.
    Named(String),
    /// The blob service.
    Storage,
    /// Resource Manager.
    Manager,
}

/// A method of authentication with the connections that it uses.
struct EntraTokens {
    method: Arc<Method>,
    audience: TokenAudience,
    clouds: Arc<Clouds>,
    http: reqwest::Client,
    /// The location of the state, for messages.
    place: String,
}

#[async_trait]
impl TokenSource for EntraTokens {
    async fn token(&self) -> Result<AccessToken, BackendError> {
        let found = self.get().await;
        found.map_err(|error| BackendError::Credentials { place: self.place.clone(), error: error.to_string() })
    }
}

impl EntraTokens {
    async fn get(&self) -> Result<AccessToken, EntraProblem> {
        let resource = match &self.audience {
            TokenAudience::Named(name) => name.clone(),
            TokenAudience::Storage => STORAGE.to_owned(),
            TokenAudience::Manager => self.clouds.get().await?.audience.clone(),
        };
        let answer = match self.method.as_ref() {
            Method::Secret(application, secret) => {
                self.entra(application, &resource, &[("client_secret", secret)]).await?
            }
            Method::Certificate(application, certificate) => {
                let statement = self.statement(application, certificate).await?;
                self.with_statement(application, &resource, &statement).await?
            }
            Method::Pipelines(application, pipeline) => {
                let statement = pipeline_token(&self.http, pipeline).await?;
                self.with_statement(application, &resource, &statement).await?
            }
            Method::Oidc(application, statement) => {
                let statement = self.foreign(statement).await?;
                self.with_statement(application, &resource, &statement).await?
            }
            Method::Workload(application, file) => {
                let statement = value_or_file("token", None, Some(file))?;
                self.with_statement(application, &resource, &statement).await?
            }
            Method::Machine(machine) => {
                let answer = ask(machine.request(&self.http, &resource).await?).await;
                answer.map_err(EntraProblem::ManagedIdentity)?
            }
            Method::Cli(cli) => return Ok(cli.token(&resource).await?),
        };
        AccessToken::of_answer(&answer).ok_or(EntraProblem::NoToken)
    }

    /// The address of the token endpoint of a tenant.
    async fn address(&self, tenant: &str) -> Result<Url, EntraProblem> {
        let login = &self.clouds.get().await?.login;
        let mut url = Url::parse(login).map_err(EntraProblem::Address)?;
        // A federation service (AD FS) has another path.
        let parts: &[&str] =
            if tenant == "adfs" { &["adfs", "oauth2", "token"] } else { &[tenant, "oauth2", "v2.0", "token"] };
        if let Ok(mut path) = url.path_segments_mut() {
            path.pop_if_empty().extend(parts);
        }
        Ok(url)
    }

    /// Requests a token for a resource from Entra ID.
    async fn entra(
        &self,
        application: &Application,
        resource: &str,
        proof: &[(&str, &str)],
    ) -> Result<Json, EntraProblem> {
        let url = self.address(&application.tenant).await?;
        let scope = format!("{resource}/.default");
        let mut form =
            vec![("grant_type", "client_credentials"), ("client_id", &application.client), ("scope", &scope)];
        form.extend(proof);
        ask(with_form(self.http.post(url), &form)).await.map_err(EntraProblem::Entra)
    }

    async fn with_statement(
        &self,
        application: &Application,
        resource: &str,
        statement: &str,
    ) -> Result<Json, EntraProblem> {
        let proof = [("client_assertion_type", ASSERTION), ("client_assertion", statement)];
        self.entra(application, resource, &proof).await
    }

    /// The assertion of an application, signed with its certificate.
    async fn statement(&self, application: &Application, certificate: &Certificate) -> Result<String, EntraProblem> {
        let now = SystemTime::now().duration_since(UNIX_EPOCH).unwrap_or_default().as_secs();
        let header = json!({ "alg": "PS256", "typ": "JWT", "x5t#S256": certificate.thumbprint });
        let claims = json!({
            "aud": self.address(&application.tenant).await?.as_str(),
            "iss": application.client,
            "sub": application.client,
            "jti": random_id(),
            "nbf": now,
            "exp": now + LIFETIME.as_secs(),
        });
        Ok(jwt::signed(&header, &claims, &certificate.key, Algorithm::Ps256)?)
    }

    /// The token of another issuer.
    async fn foreign(&self, statement: &Statement) -> Result<String, EntraProblem> {
        let (url, token) = match statement {
            Statement::Given(text, file) => return Ok(value_or_file("token", text.as_deref(), file.as_deref())?),
            Statement::Asked(url, token) => (url, token),
        };
        let mut url = Url::parse(url).map_err(EntraProblem::IssuerAddress)?;
        if !url.query_pairs().any(|(name, _)| name == "audience") {
            let audience = self.clouds.get().await?.exchange_audience();
            url.query_pairs_mut().append_pair("audience", audience);
        }
        let request = self.http.get(url).bearer_auth(token);
        let request = request.header("accept", "application/json; api-version=2.0");
        Ok(field(request.header("content-type", "application/json"), "value").await?)
    }
}

/// A unique id for an assertion.
fn random_id() -> String {
    let mut bytes = [0; 16];
    // Without random bytes, several assertions have the same id. Entra ID accepts that.
    let _ = getrandom::fill(&mut bytes);
    bytes.iter().map(|byte| format!("{byte:02x}")).collect()
}

/// The token of a pipeline.
async fn pipeline_token(http: &reqwest::Client, pipeline: &Pipeline) -> Result<String, EntraProblem> {
    let mut url = Url::parse(&pipeline.url).map_err(EntraProblem::PipelineAddress)?;
    url.query_pairs_mut()
        .append_pair("api-version", PIPELINES_VERSION)
        .append_pair("serviceConnectionId", &pipeline.connection);
    let request = http.post(url).bearer_auth(&pipeline.token).header("content-length", "0");
    let asked = field(request.header("X-TFS-FedAuthRedirect", "Suppress"), "oidcToken").await;
    asked.map_err(EntraProblem::Pipeline)
}

/// A field of the response to a request.
async fn field(request: RequestBuilder, name: &'static str) -> Result<String, IssuerProblem> {
    let answer = ask(request).await.map_err(IssuerProblem::Request)?;
    let found = answer.get(name).and_then(Json::as_str).map(str::to_owned);
    found.ok_or(IssuerProblem::NoField(name))
}

impl Cli {
    async fn token(&self, resource: &str) -> Result<AccessToken, CliProblem> {
        let mut words = vec!["account", "get-access-token", "-o", "json", "--resource", resource];
        if let Some(tenant) = &self.tenant {
            words.extend(["--tenant", tenant]);
        }
        if let Some(subscription) = &self.subscription {
            words.extend(["--subscription", subscription]);
        }
        let answer = self.run(&words).await?;
        let text = answer.get("accessToken").and_then(Json::as_str).ok_or(CliProblem::NoToken)?;
        let expires = answer.get("expires_on").and_then(Json::as_u64).map(Duration::from_secs);
        let expires = expires.and_then(|seconds| UNIX_EPOCH.checked_add(seconds));
        Ok(AccessToken::until(text, expires.unwrap_or_else(|| SystemTime::now() + CLI_LIFETIME)))
    }

    /// The id of the current subscription of the Azure CLI.
    async fn current(&self) -> Result<String, CliProblem> {
        let answer = self.run(&["account", "show", "-o", "json"]).await?;
        let id = answer.get("id").and_then(Json::as_str).map(str::to_owned);
        id.ok_or(CliProblem::NoSubscription)
    }

    async fn run(&self, words: &[&str]) -> Result<Json, CliProblem> {
        let mut command = Command::new(&self.program);
        command.args(words).stdin(Stdio::null()).kill_on_drop(true);
        let done = tokio::time::timeout(CLI_TIME, command.output()).await;
        let done = done.map_err(|_| CliProblem::TooLong { seconds: CLI_TIME.as_secs() })?;
        let done = done.map_err(CliProblem::NotRun)?;
        if !done.status.success() {
            let words = String::from_utf8_lossy(&done.stderr);
            return Err(CliProblem::Failed(words.trim().to_owned()));
        }
        serde_json::from_slice(&done.stdout).map_err(|_| CliProblem::NotJson)
    }
}

/// The authorization of requests to a key vault. The tokens are valid for `resource`.
pub(super) fn vault_tokens(
    method: &Arc<Method>,
    clouds: &Arc<Clouds>,
    http: &reqwest::Client,
    resource: String,
    place: String,
) -> Box<dyn Authorize> {
    let (method, clouds, http) = (Arc::clone(method), Arc::clone(clouds), http.clone());
    Box::new(Bearer::new(EntraTokens { method, audience: TokenAudience::Named(resource), clouds, http, place }))
}

/// The authorization of requests to the blob service.
pub(super) fn authorizer(settings: &AzureSettings, clouds: &Arc<Clouds>, http: &reqwest::Client) -> Box<dyn Authorize> {
    let tokens = |method: &Arc<Method>, audience| {
        let (method, clouds, http) = (Arc::clone(method), Arc::clone(clouds), http.clone());
        Bearer::new(EntraTokens { method, audience, clouds, http, place: settings.place(&settings.key) })
    };
    let account = settings.account.clone();
    match &settings.proof {
        // The signature is a part of the URL of each request.
        Proof::Signature(_) => Box::new(Constant(Vec::new())),
        Proof::Token(method) => Box::new(tokens(method, TokenAudience::Storage)),
        Proof::Key(key) => Box::new(SharedKey { account, key: Mutex::new(Some(key.clone())), keys: None }),
        Proof::ListedKey(method, group) => {
            let (tokens, group) = (tokens(method, TokenAudience::Manager), group.clone());
            Box::new(SharedKey { account, key: Mutex::default(), keys: Some(AccountKeys { tokens, group }) })
        }
    }
}

/// Signs requests with a key of the account.
struct SharedKey {
    account: String,
    /// The key, if it is already known.
    key: Mutex<Option<Vec<u8>>>,
    /// Requests the key from Resource Manager. `None` if the settings contain the key.
    keys: Option<AccountKeys>,
}

#[async_trait]
impl Authorize for SharedKey {
    async fn authorize(&self, call: &Call) -> Result<Vec<(String, String)>, BackendError> {
        let mut known = self.key.lock().await;
        let key = match (known.take(), &self.keys) {
            (Some(key), _) => key,
            (None, Some(keys)) => keys.first(&self.account).await?,
            (None, None) => Vec::new(),
        };
        let headers = signing::headers(&self.account, &key, call, &Timestamp::now().strftime(DATE).to_string());
        *known = Some(key);
        Ok(headers)
    }
}

/// The keys of an account in Resource Manager.
struct AccountKeys {
    tokens: Bearer<EntraTokens>,
    group: AccountLocation,
}

impl AccountKeys {
    /// The first key of an account.
    async fn first(&self, account: &str) -> Result<Vec<u8>, BackendError> {
        let token = self.tokens.current().await?;
        let found = self.list(account, &token).await;
        found.map_err(|error| BackendError::Credentials {
            place: self.tokens.source.place.clone(),
            error: refusals::unlisted(account, &self.group.group, &error.to_string()),
        })
    }

    async fn list(&self, account: &str, token: &AccessToken) -> Result<Vec<u8>, KeyListProblem> {
        let source = &self.tokens.source;
        let subscription = match (&self.group.subscription, source.method.as_ref()) {
            (Some(subscription), _) => subscription.clone(),
            (None, Method::Cli(cli)) => cli.current().await?,
            (None, _) => return Err(KeyListProblem::NoSubscription),
        };
        let mut url = Url::parse(&source.clouds.get().await?.manager)?;
        if let Ok(mut path) = url.path_segments_mut() {
            path.pop_if_empty().extend(["subscriptions", &subscription, "resourceGroups", &self.group.group]);
            path.extend(["providers", "Microsoft.Storage", "storageAccounts", account, "listKeys"]);
        }
        url.query_pairs_mut().append_pair("api-version", MANAGER_VERSION);
        let answer = ask(source.http.post(url).bearer_auth(&token.text).header("content-length", "0")).await?;
        let key = answer.pointer("/keys/0/value").and_then(Json::as_str).ok_or(KeyListProblem::NoKey)?;
        STANDARD.decode(key).map_err(|_| KeyListProblem::NotBase64)
    }
}
