//! Logins with `aws sso login` and `aws login`. The AWS CLI stores their tokens in files.

use std::path::{Path, PathBuf};
use std::time::{Duration, SystemTime, UNIX_EPOCH};

use aws_lc_rs::digest::{Algorithm, SHA1_FOR_LEGACY_USE_ONLY, SHA256, digest};
use reqwest::RequestBuilder;
use rustls::pki_types::PrivateKeyDer;
use rustls::pki_types::pem::PemObject as _;
use serde_json::{Map, Value as Json, json};

use super::super::expiring::Expiring;
use super::problems::{LoginProblem, LoginRefusal};
use super::profiles::Sso;
use crate::jwt;

/// The time limit of a request.
const TIME_LIMIT: Duration = Duration::from_secs(30);
/// The login services: the first part of the host name, and the variable for the endpoint.
const SSO: (&str, &str) = ("portal.sso", "AWS_ENDPOINT_URL_SSO");
const OIDC: (&str, &str) = ("oidc", "AWS_ENDPOINT_URL_SSO_OIDC");
const SIGNIN: (&str, &str) = ("signin", "AWS_ENDPOINT_URL_SIGNIN");
/// The domains of the login service, by the prefix of the region.
const SIGNIN_DOMAINS: [(&str, &str); 3] =
    [("cn-", "signin.amazonaws.cn"), ("us-gov-", "signin.amazonaws-us-gov.com"), ("", "signin.aws.amazon.com")];
/// The grant type for renewing a token.
const GRANT: &str = "refresh_token";
/// The fields that the file of an `aws login` session must have, in addition to the keys.
const LOGIN_FIELDS: [&str; 3] = ["clientId", "refreshToken", "dpopKey"];

/// The context of all logins.
pub(super) struct Logins<'a> {
    pub(super) http: &'a reqwest::Client,
    /// The home directory.
    pub(super) home: &'a Path,
    /// Returns variables of the environment.
    pub(super) variable: &'a (dyn Fn(&str) -> Option<String> + Sync),
}

/// A value, or the reason why there are no credentials.
type LoginResult<T> = Result<T, LoginProblem>;

impl Logins<'_> {
    fn address(&self, (service, variable): (&str, &str), region: &str) -> String {
        let own = (self.variable)(variable).or_else(|| (self.variable)("AWS_ENDPOINT_URL"));
        let china = if region.starts_with("cn-") { ".cn" } else { "" };
        let usual = || match SIGNIN_DOMAINS.iter().find(|(start, _)| region.starts_with(start)) {
            Some((_, domain)) if service == SIGNIN.0 => format!("https://{region}.{domain}"),
            _ => format!("https://{service}.{region}.amazonaws.com{china}"),
        };
        own.unwrap_or_else(usual).trim_end_matches('/').to_owned()
    }

    /// The credentials of an SSO role.
    pub(super) async fn of_sso(&self, sso: &Sso) -> LoginResult<Expiring> {
        let key = sso.session.as_deref().unwrap_or(&sso.start_url);
        let path = self.home.join(".aws/sso/cache").join(hashed(&SHA1_FOR_LEGACY_USE_ONLY, key));
        let token = self.sso_token(sso, &path, false).await;
        let command = match &sso.session {
            Some(session) => format!("aws sso login --sso-session {session}"),
            None => format!("aws sso login --profile {}", sso.profile),
        };
        let way_out = |problem| LoginProblem::LogIn { problem: Box::new(problem), command: command.clone() };
        let token = token.map_err(way_out)?;
        let url = format!("{}/federation/credentials", self.address(SSO, &sso.region));
        let query = crate::exchange::query(&[("role_name", &sso.role), ("account_id", &sso.account)]);
        let ask =
            |token: String| answer(self.http.get(format!("{url}?{query}")).header("x-amz-sso_bearer_token", token));
        let mut asked = ask(token).await;
        if asked.as_ref().is_err_and(LoginRefusal::is_unauthorized)
            && let Ok(renewed) = self.sso_token(sso, &path, true).await
        {
            // The service may revoke a token before its expiry, so the request is retried once with a renewed token.
            asked = ask(renewed).await;
        }
        let answer = asked.map_err(|refusal| match refusal.is_unauthorized() {
            true => way_out(LoginProblem::SsoEnded(refusal)),
            false => LoginProblem::Role { role: sso.role.clone(), account: sso.account.clone(), refusal },
        })?;
        let text = |name: &str| answer.pointer(&format!("/roleCredentials/{name}")).and_then(Json::as_str);
        let (Some(id), Some(secret)) = (text("accessKeyId"), text("secretAccessKey")) else {
            return Err(LoginProblem::NoKeys);
        };
        let expires = answer.pointer("/roleCredentials/expiration").and_then(Json::as_u64);
        let expires = expires.and_then(|millis| UNIX_EPOCH.checked_add(Duration::from_millis(millis)));
        Ok(Expiring::until(id, secret, text("sessionToken"), expires))
    }

    /// The token of a login with SSO. The token of a session is renewed if it has expired or was `refused`.
    async fn sso_token(&self, sso: &Sso, path: &Path, refused: bool) -> LoginResult<String> {
        let mut cached = read(path)?;
        let token = cached.text("accessToken").ok_or_else(|| cached.lacks("accessToken"))?.to_owned();
        let expires = cached.text("expiresAt").and_then(moment).ok_or_else(|| cached.lacks("expiresAt"))?;
        if expires > SystemTime::now() && !refused {
            return Ok(token);
        }
        let part = |name: &str| cached.text(name).map(str::to_owned);
        let parts = (part("clientId"), part("clientSecret"), part("refreshToken"));
        let (Some(_), (Some(id), Some(secret), Some(refresh))) = (&sso.session, parts) else {
            return Err(LoginProblem::SsoExpired);
        };
        let url = format!("{}/token", self.address(OIDC, &sso.region));
        let body = json!({"clientId": id, "clientSecret": secret, "grantType": GRANT, "refreshToken": refresh});
        let renewed = match answer(with_json(self.http.post(url), &body)).await {
            Ok(renewed) => renewed,
            Err(error) => {
                // Another process may have renewed the token at the same time.
                let again = read(path)?;
                let expires = again.text("expiresAt").and_then(moment);
                return match (again.text("accessToken"), expires.is_some_and(|time| time > SystemTime::now())) {
                    (Some(token), true) => Ok(token.to_owned()),
                    _ => Err(LoginProblem::SsoNotRenewed(error)),
                };
            }
        };
        let Some(token) = renewed.get("accessToken").and_then(Json::as_str) else {
            return Err(LoginProblem::NoToken);
        };
        cached.fields.insert("accessToken".to_owned(), token.into());
        cached.fields.insert("expiresAt".to_owned(), ending(&renewed).into());
        match renewed.get("refreshToken") {
            Some(refresh) => cached.fields.insert("refreshToken".to_owned(), refresh.clone()),
            None => cached.fields.remove("refreshToken"),
        };
        cached.write()?;
        Ok(token.to_owned())
    }

    /// The credentials of a login with `aws login`. The credentials are renewed if they have expired, or if they equal
    /// the `refused` credentials.
    pub(super) async fn of_login(
        &self,
        session: &str,
        region: &str,
        refused: Option<&Expiring>,
    ) -> LoginResult<Expiring> {
        let folder = (self.variable)("AWS_LOGIN_CACHE_DIRECTORY").map(PathBuf::from);
        let folder = folder.unwrap_or_else(|| self.home.join(".aws/login/cache"));
        let path = folder.join(hashed(&SHA256, session.trim()));
        let way_out = |problem| LoginProblem::LogIn { problem: Box::new(problem), command: "aws login".to_owned() };
        let mut cached = read(&path).map_err(way_out)?;
        let mut values = Vec::new();
        for name in LOGIN_FIELDS {
            values.push(cached.text(name).ok_or_else(|| way_out(cached.lacks(name)))?.to_owned());
        }
        let keys = login_keys(&cached.fields).ok_or_else(|| way_out(cached.lacks("accessToken")))?;
        if keys.lasts() && !refused.is_some_and(|refused| refused.is(&keys)) {
            return Ok(keys);
        }
        let [client, refresh, key] = values.as_slice() else { return Err(cached.lacks("clientId")) };
        let url = format!("{}/v1/token", self.address(SIGNIN, region));
        let body = json!({"clientId": client, "grantType": GRANT, "refreshToken": refresh});
        let proof = proof(&url, key)?;
        let renewed = answer(with_json(self.http.post(url), &body).header("dpop", proof)).await;
        let renewed = renewed.map_err(|refusal| way_out(LoginProblem::Ended(refusal)))?;
        let ending = ending(&renewed);
        let Some(Json::Object(token)) = cached.fields.get_mut("accessToken") else {
            return Err(cached.lacks("accessToken"));
        };
        for name in ["accessKeyId", "secretAccessKey", "sessionToken"] {
            let value = renewed.pointer(&format!("/accessToken/{name}")).cloned();
            token.insert(name.to_owned(), value.ok_or(LoginProblem::NoRenewedKeys)?);
        }
        token.insert("expiresAt".to_owned(), ending.into());
        if let Some(refresh) = renewed.get("refreshToken") {
            cached.fields.insert("refreshToken".to_owned(), refresh.clone());
        }
        cached.write()?;
        login_keys(&cached.fields).ok_or_else(|| cached.lacks("accessToken"))
    }
}

/// The keys in the file of a login.
fn login_keys(fields: &Map<String, Json>) -> Option<Expiring> {
    let text = |name: &str| fields.get("accessToken")?.get(name)?.as_str();
    let expires = moment(text("expiresAt")?)?;
    Some(Expiring::until(text("accessKeyId")?, text("secretAccessKey")?, text("sessionToken"), Some(expires)))
}

/// The name of the file of a session.
fn hashed(algorithm: &'static Algorithm, key: &str) -> String {
    let hash: String = digest(algorithm, key.as_bytes()).as_ref().iter().map(|byte| format!("{byte:02x}")).collect();
    hash + ".json"
}

/// Parses a time in a file. Old versions of the AWS CLI write `UTC` in place of `Z`.
fn moment(text: &str) -> Option<SystemTime> {
    text.replace("UTC", "Z").parse::<jiff::Timestamp>().ok().map(SystemTime::from)
}

/// The expiry of the token in a response, as text.
fn ending(answer: &Json) -> String {
    let seconds = answer.get("expiresIn").and_then(Json::as_i64).unwrap_or_default();
    let now = jiff::Timestamp::now();
    let end = now.checked_add(jiff::SignedDuration::from_secs(seconds)).unwrap_or(now);
    format!("{end:.0}")
}

/// A proof of possession of the key of a login (RFC 9449).
fn proof(url: &str, key: &str) -> LoginResult<String> {
    let key = PrivateKeyDer::from_pem_slice(key.as_bytes()).map_err(|_| LoginProblem::Key)?;
    let mut id = [0; 16];
    getrandom::fill(&mut id).map_err(LoginProblem::Random)?;
    let id: String = id.iter().map(|byte| format!("{byte:02x}")).collect();
    let now = SystemTime::now().duration_since(UNIX_EPOCH).unwrap_or_default().as_secs();
    let claims = json!({"jti": id, "htm": "POST", "htu": url, "iat": now});
    Ok(jwt::with_own_key("dpop+jwt", &claims, &key)?)
}

/// The content of a file with a token.
struct Cached {
    path: PathBuf,
    fields: Map<String, Json>,
}

fn read(path: &Path) -> LoginResult<Cached> {
    let text = std::fs::read_to_string(path);
    let text = text.map_err(|error| LoginProblem::Unreadable { path: path.to_owned(), error })?;
    match serde_json::from_str(&text) {
        Ok(Json::Object(fields)) => Ok(Cached { path: path.to_owned(), fields }),
        _ => Err(LoginProblem::NotAnObject { path: path.to_owned() }),
    }
}

impl Cached {
    fn text(&self, name: &str) -> Option<&str> {
        self.fields.get(name).and_then(Json::as_str).filter(|text| !text.is_empty())
    }

    fn lacks(&self, name: &'static str) -> LoginProblem {
        LoginProblem::Lacks { path: self.path.clone(), name }
    }

    /// Replaces the file. The new file has the permissions of the old file.
    fn write(&self) -> LoginResult<()> {
        let beside = self.path.with_extension(format!("tmp-{}", std::process::id()));
        let write = || -> std::io::Result<()> {
            let rights = std::fs::metadata(&self.path)?.permissions();
            // The empty file is created with permissions for its owner only. So no other user can read the content
            // before the file gets the permissions of the old file.
            private(&beside)?;
            std::fs::write(&beside, Json::Object(self.fields.clone()).to_string())?;
            std::fs::set_permissions(&beside, rights)?;
            std::fs::rename(&beside, &self.path)
        };
        write().map_err(|error| LoginProblem::NotReplaced { path: self.path.clone(), error })
    }
}

/// Creates an empty file that only its owner can read.
fn private(path: &Path) -> std::io::Result<()> {
    let mut options = std::fs::OpenOptions::new();
    options.write(true).create(true).truncate(true);
    #[cfg(unix)]
    std::os::unix::fs::OpenOptionsExt::mode(&mut options, 0o600);
    options.open(path).map(drop)
}

fn with_json(request: RequestBuilder, body: &Json) -> RequestBuilder {
    request.header("content-type", "application/json").body(body.to_string())
}

/// The JSON of a response.
async fn answer(request: RequestBuilder) -> Result<Json, LoginRefusal> {
    let answer = request.timeout(TIME_LIMIT).send().await.map_err(LoginRefusal::Request)?;
    let status = answer.status();
    let body = answer.bytes().await.map_err(LoginRefusal::Request)?;
    let json: Json = serde_json::from_slice(&body).unwrap_or_default();
    if status.is_success() {
        return Ok(json);
    }
    let field = |name: &str| json.get(name).and_then(Json::as_str);
    let words = field("error_description").or(field("message")).or(field("error"));
    Err(LoginRefusal::Refused { status, words: words.map(str::to_owned) })
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn files_are_named_by_the_hash_of_the_session() {
        assert_eq!(
            hashed(&SHA1_FOR_LEGACY_USE_ONLY, "https://example.awsapps.com/start"),
            "e8be5486177c5b5392bd9aa76563515b29358e6e.json"
        );
    }

    #[test]
    fn times_of_old_files() {
        assert_eq!(moment("2020-06-17T10:02:08UTC"), moment("2020-06-17T10:02:08Z"));
        assert!(moment("2020-06-17T10:02:08UTC").is_some());
        assert_eq!(moment("tomorrow"), None);
    }

    #[test]
    fn addresses_of_the_services() {
        let http = crate::client::client(&crate::client::ClientSettings::default()).unwrap();
        let logins = Logins { http: &http, home: Path::new("/"), variable: &|_| None };
        for (service, region, want) in [
            (SSO, "eu-central-1", "https://portal.sso.eu-central-1.amazonaws.com"),
            (OIDC, "cn-north-1", "https://oidc.cn-north-1.amazonaws.com.cn"),
            (SIGNIN, "eu-central-1", "https://eu-central-1.signin.aws.amazon.com"),
            (SIGNIN, "us-gov-west-1", "https://us-gov-west-1.signin.amazonaws-us-gov.com"),
        ] {
            assert_eq!(logins.address(service, region), want);
        }
    }
}
