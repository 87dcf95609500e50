//! The chain of credentials: written keys, the environment, a token of an identity provider, shared files, containers,
//! the metadata service. A role that the settings name is assumed with what was found.

mod profiles;
mod services;

use std::fmt;
use std::path::Path;
use std::time::{Duration, SystemTime};

use aws_credential_types::Credentials;
use serde_json::{Map, Value as Json};
use weft_state::remote::BackendError;

use super::refusals;
use super::settings::Login;
use super::sts::Sts;
use profiles::Profiles;

/// Credentials are looked for again so long before they expire.
const MARGIN: Duration = Duration::from_secs(300);
/// How many profiles may refer to each other.
const PROFILES: usize = 10;

/// Keys with the time when they expire.
#[derive(Clone)]
pub(super) struct Expiring {
    /// The keys.
    pub(super) keys: Credentials,
    expires: Option<SystemTime>,
}

impl fmt::Debug for Expiring {
    fn fmt(&self, out: &mut fmt::Formatter<'_>) -> fmt::Result {
        out.write_str("Expiring")
    }
}

impl Expiring {
    /// Keys, with the time when they expire in RFC 3339.
    pub(super) fn new(id: &str, secret: &str, token: Option<&str>, expires: Option<&str>) -> Expiring {
        let token = token.filter(|token| !token.is_empty()).map(str::to_owned);
        let expires = expires.and_then(|text| text.parse::<jiff::Timestamp>().ok()).map(SystemTime::from);
        Expiring { keys: Credentials::new(id, secret, token, None, "weft"), expires }
    }

    /// Whether they expire.
    pub(super) fn expires(&self) -> bool {
        self.expires.is_some()
    }

    /// Whether they expire soon.
    pub(super) fn expires_soon(&self) -> bool {
        self.expires.is_some_and(|expires| expires <= SystemTime::now() + MARGIN)
    }
}

/// The sources of credentials.
pub(super) struct Provider {
    login: Login,
    http: reqwest::Client,
    sts: Sts,
}

impl fmt::Debug for Provider {
    fn fmt(&self, out: &mut fmt::Formatter<'_>) -> fmt::Result {
        out.write_str("Provider")
    }
}

/// What a source has.
type Found = Result<Option<Expiring>, BackendError>;

impl Provider {
    /// The sources that the settings name.
    pub(super) fn new(login: Login, sts: Sts) -> Provider {
        Provider { login, http: sts.http.clone(), sts }
    }

    fn variable(&self, name: &str) -> Option<&str> {
        self.login.variables.get(name).and_then(Json::as_str)
    }

    /// Finds credentials.
    ///
    /// # Errors
    /// There are none, or a role cannot be assumed.
    pub(super) async fn find(&self, place: &str) -> Result<Expiring, BackendError> {
        let found = match &self.login.web_identity {
            Some(role) => self.with_web_identity(place, role).await?,
            None => self.chain(place).await?,
        };
        let found = match &self.login.role {
            Some(role) => self.sts.assume(place, &found.keys, role).await?,
            None => found,
        };
        let [allowed, forbidden] = &self.login.accounts;
        if !allowed.is_empty() || !forbidden.is_empty() {
            let account = self.sts.account(place, &found.keys).await?;
            if forbidden.contains(&account) || (!allowed.is_empty() && !allowed.contains(&account)) {
                return Err(refusals::other_account(place.to_owned(), &account));
            }
        }
        Ok(found)
    }

    /// The first source that has credentials.
    async fn chain(&self, place: &str) -> Result<Expiring, BackendError> {
        if let Some([id, secret, token]) = &self.login.keys {
            let text = |part: &Option<String>| part.clone().unwrap_or_default();
            if id.is_none() || secret.is_none() {
                let tried = ["access_key and secret_key must both be set".to_owned()];
                return Err(refusals::no_credentials(place.to_owned(), &tried));
            }
            return Ok(Expiring::new(&text(id), &text(secret), token.as_deref(), None));
        }
        let mut tried = vec!["the settings have no access_key".to_owned()];
        // A profile that was asked for beats keys of the environment.
        let asked = self.login.profile.as_deref();
        if let (None, Some(found)) = (asked, self.of_environment()) {
            return Ok(found);
        }
        tried.push("AWS_ACCESS_KEY_ID and AWS_SECRET_ACCESS_KEY are not set".to_owned());
        if asked.is_none()
            && let Some(found) = self.of_token(place).await?
        {
            return Ok(found);
        }
        let profiles = Profiles::read(&self.login.credentials_files, &self.login.config_files);
        let profile = asked.unwrap_or("default");
        match self.of_profile(place, &profiles, profile).await? {
            Some(found) => return Ok(found),
            None => tried.push(format!("the shared files have no credentials for the profile {profile:?}")),
        }
        match services::of_container(&self.http, &|name| self.variable(name).map(str::to_owned)).await {
            Ok(Some(found)) => return Ok(found),
            Ok(None) => {}
            Err(error) => tried.push(format!("the container's credentials: {error}")),
        }
        match &self.login.metadata {
            Some(endpoint) => match services::of_instance(&self.http, endpoint).await {
                Ok(found) => return Ok(found),
                Err(error) => tried.push(format!("the metadata service: {error}")),
            },
            None => tried.push("the metadata service is switched off".to_owned()),
        }
        Err(refusals::no_credentials(place.to_owned(), &tried))
    }

    fn of_environment(&self) -> Option<Expiring> {
        let (id, secret) = (self.variable("AWS_ACCESS_KEY_ID")?, self.variable("AWS_SECRET_ACCESS_KEY")?);
        Some(Expiring::new(id, secret, self.variable("AWS_SESSION_TOKEN"), None))
    }

    /// The role and the token file of the environment.
    async fn of_token(&self, place: &str) -> Found {
        let (Some(role), Some(file)) = (self.variable("AWS_ROLE_ARN"), self.variable("AWS_WEB_IDENTITY_TOKEN_FILE"))
        else {
            return Ok(None);
        };
        let role = Map::from_iter([("role_arn".to_owned(), Json::from(role))]);
        let session = self.variable("AWS_ROLE_SESSION_NAME");
        let token = token_in(place, Path::new(file))?;
        self.sts.assume_with_token(place, &role, session, &token).await.map(Some)
    }

    /// The role and the token of `assume_role_with_web_identity`.
    async fn with_web_identity(&self, place: &str, role: &Map<String, Json>) -> Result<Expiring, BackendError> {
        let text = |name: &str, variable: &str| {
            let written = role.get(name).and_then(Json::as_str).filter(|text| !text.is_empty());
            written.or_else(|| self.variable(variable)).map(str::to_owned)
        };
        let token = match text("web_identity_token", "AWS_WEB_IDENTITY_TOKEN") {
            Some(token) => token,
            None => match text("web_identity_token_file", "AWS_WEB_IDENTITY_TOKEN_FILE") {
                Some(file) => token_in(place, Path::new(&file))?,
                None => {
                    let tried = ["assume_role_with_web_identity has no token".to_owned()];
                    return Err(refusals::no_credentials(place.to_owned(), &tried));
                }
            },
        };
        let mut role = role.clone();
        if let Some(arn) = text("role_arn", "AWS_ROLE_ARN") {
            role.insert("role_arn".to_owned(), arn.into());
        }
        self.sts.assume_with_token(place, &role, self.variable("AWS_ROLE_SESSION_NAME"), &token).await
    }

    /// A profile of the shared files. A profile with a role takes its own credentials from another profile.
    async fn of_profile(&self, place: &str, profiles: &Profiles, first: &str) -> Found {
        let mut roles: Vec<Map<String, Json>> = Vec::new();
        let mut name = first.to_owned();
        let mut found = None;
        for _ in 0..PROFILES {
            let Some(profile) = profiles.get(&name) else { return Ok(None) };
            let text = |key: &str| profile.get(key).map(String::as_str).filter(|text| !text.is_empty());
            let keys = (text("aws_access_key_id"), text("aws_secret_access_key"));
            let source = text("source_profile");
            let role = text("role_arn").filter(|_| source != Some(name.as_str()) || roles.is_empty());
            if let Some(role) = role {
                let mut settings = Map::from_iter([("role_arn".to_owned(), Json::from(role))]);
                for (key, setting) in [("role_session_name", "session_name"), ("external_id", "external_id")] {
                    if let Some(value) = text(key) {
                        settings.insert(setting.to_owned(), value.into());
                    }
                }
                if let Some(file) = text("web_identity_token_file") {
                    let token = token_in(place, Path::new(file))?;
                    found = Some(self.sts.assume_with_token(place, &settings, None, &token).await?);
                    break;
                }
                roles.push(settings);
                match (source, text("credential_source")) {
                    (Some(source), _) if source != name => {
                        source.clone_into(&mut name);
                        continue;
                    }
                    (Some(_), _) => {}
                    (None, Some(from)) => {
                        found = Some(self.of_source(place, from).await?);
                        break;
                    }
                    (None, None) => return Ok(None),
                }
            }
            found = match (keys, text("credential_process")) {
                ((Some(id), Some(secret)), _) => Some(Expiring::new(id, secret, text("aws_session_token"), None)),
                (_, Some(command)) => services::of_process(command).await.map(Some).map_err(|error| {
                    refusals::no_credentials(place.to_owned(), &[format!("credential_process: {error}")])
                })?,
                _ if text("sso_session").or(text("sso_start_url")).is_some() => {
                    let tried = [format!(
                        "the profile {name:?} signs in with SSO, which Weft does not do itself. Set credential_process \
                         = \"aws configure export-credentials --profile {name}\" in another profile, and use that one"
                    )];
                    return Err(refusals::no_credentials(place.to_owned(), &tried));
                }
                _ => None,
            };
            break;
        }
        let Some(mut found) = found else { return Ok(None) };
        for role in roles.iter().rev() {
            found = self.sts.assume(place, &found.keys, role).await?;
        }
        Ok(Some(found))
    }

    /// The credentials that `credential_source` names.
    async fn of_source(&self, place: &str, source: &str) -> Result<Expiring, BackendError> {
        let failed = |error: String| refusals::no_credentials(place.to_owned(), &[format!("{source}: {error}")]);
        let variable = |name: &str| self.variable(name).map(str::to_owned);
        match source {
            "Environment" => self.of_environment().ok_or_else(|| failed("the keys are not set".to_owned())),
            "EcsContainer" => {
                let found = services::of_container(&self.http, &variable).await.map_err(failed)?;
                found.ok_or_else(|| failed("this is not a container with credentials".to_owned()))
            }
            "Ec2InstanceMetadata" => match &self.login.metadata {
                Some(endpoint) => services::of_instance(&self.http, endpoint).await.map_err(failed),
                None => Err(failed("the metadata service is switched off".to_owned())),
            },
            _ => Err(failed("there is no such source".to_owned())),
        }
    }
}

fn token_in(place: &str, path: &Path) -> Result<String, BackendError> {
    let read = std::fs::read_to_string(path).map(|text| text.trim().to_owned());
    read.map_err(|error| refusals::no_credentials(place.to_owned(), &[format!("{}: {error}", path.display())]))
}
