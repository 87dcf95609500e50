//! The chain of credentials. The order is the same as in the AWS SDK for Go: keys in the settings, a web identity in
//! the settings, the profile in the settings, keys in the environment, a token file that the environment names, shared
//! files, containers, the metadata service. The first source with credentials is used. If the settings have a role, the
//! role is assumed with these credentials.

mod logins;
mod problems;
mod profiles;
mod services;

use std::fmt;
use std::path::Path;

use serde_json::{Map, Value as Json};
use url::Url;
use weft_state::remote::BackendError;

use super::expiring::Expiring;
use super::login::Login;
use super::problems::{no_profile, no_web_identity, other_account, role_not_assumed, role_not_assumed_with_token};
use super::refusals;
use super::sts::Sts;
use logins::Logins;
use problems::{NoCredentials, ServiceProblem, SourceProblem};
use profiles::{Base, Profiles};

/// The default profile.
const DEFAULT_PROFILE: &str = "default";

/// Why there are no credentials.
struct Failed {
    error: BackendError,
    /// Whether the keys or the token of the failed request have expired. In that case, their source may return new
    /// ones.
    ended: bool,
}

impl From<BackendError> for Failed {
    fn from(error: BackendError) -> Failed {
        Failed { error, ended: false }
    }
}

/// The failure of a request to STS. `words` converts the error to the error that is reported.
fn failed_at_sts(error: &BackendError, words: impl FnOnce(&BackendError) -> BackendError) -> Failed {
    Failed { ended: refusals::has_ended(error), error: words(error) }
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

impl Provider {
    /// The sources in these settings. `endpoint` is the endpoint of STS.
    pub(super) fn new(login: Login, http: reqwest::Client, endpoint: Url) -> Provider {
        let region = login.sts_region.clone().unwrap_or_else(|| login.region.clone());
        Provider { login, http: http.clone(), sts: Sts { http, endpoint, region } }
    }

    fn variable(&self, name: &str) -> Option<&str> {
        self.login.variables.get(name).and_then(Json::as_str)
    }

    fn first_variable(&self, names: [&str; 2]) -> Option<&str> {
        names.into_iter().find_map(|name| self.variable(name))
    }

    /// Finds credentials. `refused` has keys that a service no longer accepts. These keys are not returned from a
    /// cache.
    ///
    /// # Errors
    /// Returns an error if there are no credentials, or if a role cannot be assumed.
    pub(super) async fn find(&self, place: &str, refused: Option<&Expiring>) -> Result<Expiring, BackendError> {
        let found = match self.look(place, refused).await {
            Err(Failed { ended: true, .. }) => self.look(place, refused).await,
            found => found,
        };
        found.map_err(|failed| failed.error)
    }

    /// The cached credentials. Shortly before the cached credentials expire, new credentials replace them. If no new
    /// ones can be obtained, the cached ones are used until they expire.
    ///
    /// # Errors
    /// Errors of [`Provider::find`].
    pub(super) async fn current(&self, place: &str, known: &mut Option<Expiring>) -> Result<Expiring, BackendError> {
        if let Some(found) = known.as_ref().filter(|found| !found.expires_soon()) {
            return Ok(found.clone());
        }
        match (self.find(place, None).await, known.as_ref().filter(|found| found.lasts())) {
            (Ok(found), _) => {
                *known = Some(found.clone());
                Ok(found)
            }
            (Err(_), Some(old)) => Ok(old.clone()),
            (Err(error), None) => Err(error),
        }
    }

    async fn look(&self, place: &str, refused: Option<&Expiring>) -> Result<Expiring, Failed> {
        let profiles = self.profiles(place)?;
        let found = match (self.written(place)?, &self.login.web_identity) {
            (Some(written), _) => written,
            (None, Some(role)) => self.with_web_identity(place, role).await?,
            (None, None) => self.chain(place, &profiles, refused).await?,
        };
        let found = match &self.login.role {
            Some(role) => {
                let assumed = self.sts.assume(place, &found.keys, role).await;
                let words = |error: &BackendError| role_not_assumed(place, &refusals::assuming(role, error));
                assumed.map_err(|error| failed_at_sts(&error, |error| words(error).into()))?
            }
            None => found,
        };
        let [allowed, forbidden] = &self.login.accounts;
        if !allowed.is_empty() || !forbidden.is_empty() {
            let account = self.sts.account(place, &found.keys).await;
            let account = account.map_err(|error| failed_at_sts(&error, BackendError::clone))?;
            if forbidden.contains(&account) || (!allowed.is_empty() && !allowed.contains(&account)) {
                return Err(BackendError::from(other_account(place, &account)).into());
            }
        }
        Ok(found)
    }

    fn none(place: &str, why: impl Into<NoCredentials>) -> BackendError {
        refusals::no_credentials(place.to_owned(), &[why.into()])
    }

    /// The failure to assume a role of the environment or of a profile.
    fn not_assumed(place: &str, role: &Map<String, Json>, error: &BackendError) -> Failed {
        failed_at_sts(error, |error| Provider::none(place, NoCredentials::NotAssumed(refusals::assuming(role, error))))
    }

    /// Reads the shared files.
    ///
    /// # Errors
    /// Returns an error if the selected profile does not exist, even if another source has credentials.
    fn profiles(&self, place: &str) -> Result<Profiles, BackendError> {
        let profiles = Profiles::read(&self.login.credentials_files, &self.login.config_files);
        let asked = match &self.login.profile {
            Some(profile) => Some((profile.as_str(), "the argument profile")),
            None => self.variable("AWS_PROFILE").map(|profile| (profile, "AWS_PROFILE")),
        };
        match asked.filter(|(profile, _)| !profiles.has(profile)) {
            Some((profile, by)) => {
                let files = self.login.config_files.iter().chain(&self.login.credentials_files);
                let files: Vec<String> = files.map(|file| file.display().to_string()).collect();
                let files = files.join(" and ");
                Err(no_profile(place, by, profile, &files).into())
            }
            None => Ok(profiles),
        }
    }

    /// The keys in the settings.
    fn written(&self, place: &str) -> Result<Option<Expiring>, BackendError> {
        match &self.login.keys {
            None => Ok(None),
            Some([Some(id), Some(secret), token]) => Ok(Some(Expiring::new(id, secret, token.as_deref(), None))),
            Some(_) => Err(Provider::none(place, NoCredentials::HalfKeys)),
        }
    }

    /// The first source that has credentials.
    async fn chain(&self, place: &str, profiles: &Profiles, refused: Option<&Expiring>) -> Result<Expiring, Failed> {
        let mut tried = vec![NoCredentials::NoKeysInSettings];
        // A profile in the settings takes precedence over keys in the environment. Keys in the environment take
        // precedence over a profile that a variable selects.
        if self.login.profile.is_none() {
            if let Some(found) = self.of_environment() {
                return Ok(found);
            }
            tried.push(NoCredentials::NoKeysInEnvironment);
            if let Some(file) = self.variable("AWS_WEB_IDENTITY_TOKEN_FILE") {
                return self.of_token(place, Path::new(file)).await;
            }
        }
        let asked =
            self.login.profile.as_deref().or_else(|| self.first_variable(["AWS_PROFILE", "AWS_DEFAULT_PROFILE"]));
        let profile = asked.unwrap_or(DEFAULT_PROFILE);
        let way = match profiles.has(profile) {
            true => Some(profiles.way(profile).map_err(|error| Provider::none(place, error))?),
            false => None,
        };
        let (base, roles) = way.map_or((Base::Surroundings, Vec::new()), |way| (way.base, way.roles));
        let mut found = match base {
            Base::Surroundings => {
                tried.push(NoCredentials::NothingInFiles(profile.to_owned()));
                self.of_surroundings(place, tried).await?
            }
            base => self.of_base(place, base, refused).await?,
        };
        for role in &roles {
            let assumed = self.sts.assume(place, &found.keys, role).await;
            found = assumed.map_err(|error| Provider::not_assumed(place, role, &error))?;
        }
        Ok(found)
    }

    /// The credentials of the container or instance in which the process runs.
    async fn of_surroundings(&self, place: &str, mut tried: Vec<NoCredentials>) -> Result<Expiring, BackendError> {
        match services::of_container(&self.http, &|name| self.variable(name).map(str::to_owned)).await {
            Ok(Some(found)) => return Ok(found),
            Ok(None) => {}
            Err(error) => tried.push(NoCredentials::Container(error)),
        }
        match &self.login.metadata {
            Some(endpoint) => match self.of_instance(endpoint).await {
                Ok(found) => return Ok(found),
                Err(error) => tried.push(NoCredentials::Metadata(error)),
            },
            None => tried.push(NoCredentials::MetadataDisabled),
        }
        Err(refusals::no_credentials(place.to_owned(), &tried))
    }

    async fn of_instance(&self, endpoint: &Url) -> Result<Expiring, ServiceProblem> {
        let needs_token = self.variable("AWS_EC2_METADATA_V1_DISABLED") == Some("true");
        services::of_instance(&self.http, endpoint, needs_token).await
    }

    fn of_environment(&self) -> Option<Expiring> {
        let id = self.first_variable(["AWS_ACCESS_KEY_ID", "AWS_ACCESS_KEY"])?;
        let secret = self.first_variable(["AWS_SECRET_ACCESS_KEY", "AWS_SECRET_KEY"])?;
        Some(Expiring::new(id, secret, self.variable("AWS_SESSION_TOKEN"), None))
    }

    /// The credentials of the role in the environment, which is assumed with the token in a file.
    async fn of_token(&self, place: &str, file: &Path) -> Result<Expiring, Failed> {
        let Some(role) = self.variable("AWS_ROLE_ARN") else {
            return Err(Provider::none(place, NoCredentials::TokenWithoutRole).into());
        };
        let role = Map::from_iter([("role_arn".to_owned(), Json::from(role))]);
        let session = self.variable("AWS_ROLE_SESSION_NAME");
        let token = token_in(place, file)?;
        let assumed = self.sts.assume_with_token(place, &role, session, &token).await;
        assumed.map_err(|error| Provider::not_assumed(place, &role, &error))
    }

    /// The credentials of the role in `assume_role_with_web_identity`.
    async fn with_web_identity(&self, place: &str, role: &Map<String, Json>) -> Result<Expiring, Failed> {
        let text = |name: &str, variable: &str| {
            let written = role.get(name).and_then(Json::as_str).filter(|text| !text.is_empty());
            written.or_else(|| self.variable(variable)).map(str::to_owned)
        };
        let Some(arn) = text("role_arn", "AWS_ROLE_ARN") else {
            return Err(BackendError::from(no_web_identity("role_arn", "AWS_ROLE_ARN")).into());
        };
        let token = match text("web_identity_token", "AWS_WEB_IDENTITY_TOKEN") {
            Some(token) => token,
            None => match text("web_identity_token_file", "AWS_WEB_IDENTITY_TOKEN_FILE") {
                Some(file) => token_in(place, &self.login.at_home(&file))?,
                None => {
                    let variables = "AWS_WEB_IDENTITY_TOKEN or AWS_WEB_IDENTITY_TOKEN_FILE";
                    let arguments = "web_identity_token or web_identity_token_file";
                    return Err(BackendError::from(no_web_identity(arguments, variables)).into());
                }
            },
        };
        let mut role = role.clone();
        role.insert("role_arn".to_owned(), arn.into());
        let session = self.variable("AWS_ROLE_SESSION_NAME");
        let assumed = self.sts.assume_with_token(place, &role, session, &token).await;
        let words = |error: &BackendError| role_not_assumed_with_token(place, &refusals::assuming(&role, error)).into();
        assumed.map_err(|error| failed_at_sts(&error, words))
    }

    /// The first credentials of a profile. The roles of the profile are assumed later, with these credentials.
    async fn of_base(&self, place: &str, base: Base, refused: Option<&Expiring>) -> Result<Expiring, Failed> {
        let variable = |name: &str| self.variable(name).map(str::to_owned);
        let logins = Logins { http: &self.http, home: &self.login.home, variable: &variable };
        let none = |why: NoCredentials| Failed::from(Provider::none(place, why));
        match base {
            Base::Keys(id, secret, token) => Ok(Expiring::new(&id, &secret, token.as_deref(), None)),
            Base::Named(source) => Ok(self.of_source(place, &source).await?),
            Base::Token(role, file) => {
                let token = token_in(place, &self.login.at_home(&file.to_string_lossy()))?;
                let assumed = self.sts.assume_with_token(place, &role, None, &token).await;
                assumed.map_err(|error| Provider::not_assumed(place, &role, &error))
            }
            Base::Sso(sso) => {
                let found = logins.of_sso(&sso).await;
                found.map_err(|problem| none(NoCredentials::Sso { profile: sso.profile.clone(), problem }))
            }
            Base::Login(session) => {
                let found = logins.of_login(&session, &self.login.region, refused).await;
                found.map_err(|problem| none(NoCredentials::Login { session: session.clone(), problem }))
            }
            Base::Process(command) => {
                let found = services::of_process(&command).await;
                found.map_err(|problem| none(NoCredentials::Process(problem)))
            }
            Base::Surroundings => Ok(self.of_surroundings(place, Vec::new()).await?),
        }
    }

    /// The credentials from the source in `credential_source`.
    async fn of_source(&self, place: &str, source: &str) -> Result<Expiring, BackendError> {
        let failed = |problem| Provider::none(place, NoCredentials::Source { source_name: source.to_owned(), problem });
        let variable = |name: &str| self.variable(name).map(str::to_owned);
        match source {
            "Environment" => self.of_environment().ok_or_else(|| failed(SourceProblem::NoKeys)),
            "EcsContainer" => {
                let found = services::of_container(&self.http, &variable).await;
                let found = found.map_err(|problem| failed(problem.into()))?;
                found.ok_or_else(|| failed(SourceProblem::NoContainer))
            }
            "Ec2InstanceMetadata" => match &self.login.metadata {
                Some(endpoint) => self.of_instance(endpoint).await.map_err(|problem| failed(problem.into())),
                None => Err(failed(SourceProblem::MetadataDisabled)),
            },
            _ => Err(failed(SourceProblem::Unknown)),
        }
    }
}

fn token_in(place: &str, path: &Path) -> Result<String, BackendError> {
    let read = std::fs::read_to_string(path).map(|text| text.trim().to_owned());
    read.map_err(|error| Provider::none(place, NoCredentials::TokenFile { path: path.to_owned(), error }))
}
