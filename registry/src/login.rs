//! Logins by OAuth 2: the authorization code grant with a proof key (RFC 7636), and the password grant.
//!
//! The discovery service `login.v1` describes the client. The user's browser sends the code to a server on this
//! machine.

use std::io::{Read as _, Write as _};
use std::net::{TcpListener, TcpStream};
use std::time::Duration;

use aws_lc_rs::digest::{SHA256, digest};
use aws_lc_rs::rand;
use base64::Engine as _;
use base64::engine::general_purpose::URL_SAFE_NO_PAD;
use serde_json::Value as Json;
use url::Url;

use crate::http::{Http, HttpError, Request};
use crate::secret::SecretString;

/// The name of the discovery service.
pub const LOGIN: &str = "login.v1";
/// The authorization code grant, which is the default if a service lists no grants.
pub const BY_CODE: &str = "authz_code";
/// The password grant.
pub const BY_PASSWORD: &str = "password";
/// The default ports: all ports that need no special privileges.
const PORTS: (u16, u16) = (1024, u16::MAX);
/// The path of the browser's request.
const CALLBACK: &str = "/login";
/// The maximum length of a request of the browser.
const MAX_REQUEST: usize = 64 << 10;
/// The time limit for a browser to send its request.
const PATIENCE: Duration = Duration::from_secs(10);
/// The number of random bytes of an OAuth state and of a proof key.
const RANDOM: usize = 32;
/// The text that the browser shows at the end.
const PAGE: &str = "<html><head><title>Weft</title></head><body><p>The login server has returned an authorization code to \
                    Weft. Close this page and return to the terminal.</p></body></html>\n";

/// Why there is no token.
#[derive(Debug, thiserror::Error)]
pub enum LoginError {
    /// The operating system provides no random numbers.
    #[error("the operating system provides no random numbers")]
    Random,
    /// No port is free.
    #[error("no port from {0} to {1} is free")]
    Ports(u16, u16),
    /// The local server, which receives the redirect of the browser, failed.
    #[error("the local server that waits for the browser failed: {0}")]
    Server(String),
    /// The token endpoint failed.
    #[error(transparent)]
    Http(#[from] HttpError),
    /// The token endpoint returned an error.
    #[error("the response is {status}{words}")]
    Refused {
        /// The status.
        status: u16,
        /// The error in the response.
        words: String,
    },
}

/// The OAuth client that a service describes for logins.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct LoginClient {
    /// `client_id`
    pub id: String,
    /// The address where the user allows the login.
    pub authorization: Option<Url>,
    /// The token endpoint.
    pub token: Option<Url>,
    /// The first and the last port of this machine to which the service may redirect the browser.
    pub ports: (u16, u16),
    /// The grants that the service offers.
    pub grants: Vec<String>,
    /// The scopes to request.
    pub scopes: Vec<String>,
}

/// Why the description of the service for logins cannot be used.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
pub enum LoginClientProblem {
    /// The description is not an object.
    #[error("the service {LOGIN} is not an object")]
    NotAnObject,
    /// A field is not a list.
    #[error("{0:?} of the service {LOGIN} is not an array")]
    NotAnArray(&'static str),
    /// A required field is missing.
    #[error("the service {LOGIN} has no {0:?}")]
    Missing(&'static str),
    /// A field is not a usable URL.
    #[error("{0:?} of the service {LOGIN} is not an address")]
    NotAnAddress(&'static str),
    /// The range of ports is not valid.
    #[error("\"ports\" of the service {LOGIN} must be two numbers from 1024 to 65535, the lower one first")]
    Ports,
}

impl LoginClient {
    /// Reads the client from `document`, the description of `login.v1` in the discovery document at `base`.
    ///
    /// # Errors
    /// Returns an error about the invalid part of the document.
    pub fn of(document: &Json, base: &Url) -> Result<LoginClient, LoginClientProblem> {
        let Some(content) = document.as_object() else { return Err(LoginClientProblem::NotAnObject) };
        let texts = |name: &'static str| match content.get(name) {
            None => Ok(None),
            Some(Json::Array(all)) => Ok(Some(all.iter().filter_map(Json::as_str).map(str::to_owned).collect())),
            Some(_) => Err(LoginClientProblem::NotAnArray(name)),
        };
        let grants: Vec<String> = texts("grant_types")?.unwrap_or_else(|| vec![BY_CODE.to_owned()]);
        let scopes = texts("scopes")?.unwrap_or_default();
        let id = content.get("client").and_then(Json::as_str);
        let id = id.ok_or(LoginClientProblem::Missing("client"))?.to_owned();
        let address = |name: &'static str, needed: bool| match content.get(name).and_then(Json::as_str) {
            Some(text) => match base.join(text) {
                Ok(url) if matches!(url.scheme(), "http" | "https") && url.username().is_empty() => Ok(Some(url)),
                _ => Err(LoginClientProblem::NotAnAddress(name)),
            },
            None if needed => Err(LoginClientProblem::Missing(name)),
            None => Ok(None),
        };
        let has = |grant: &str| grants.iter().any(|known| known == grant);
        let authorization = address("authz", has(BY_CODE))?;
        let token = address("token", has(BY_CODE) || has(BY_PASSWORD))?;
        let ports = match content.get("ports") {
            None => PORTS,
            Some(found) => ports(found).ok_or(LoginClientProblem::Ports)?,
        };
        Ok(LoginClient { id, authorization, token, ports, grants, scopes })
    }

    /// Whether the service offers a grant.
    pub fn has(&self, grant: &str) -> bool {
        self.grants.iter().any(|known| known == grant)
    }

    /// Exchanges a password for a token.
    ///
    /// # Errors
    /// Returns an error if the service returns no token.
    pub async fn by_password(
        &self,
        http: &Http,
        user: &str,
        password: &SecretString,
    ) -> Result<SecretString, LoginError> {
        let scopes = self.scopes.join(" ");
        let mut fields = vec![
            ("grant_type", "password"),
            ("username", user),
            ("password", password.expose()),
            ("client_id", &self.id),
        ];
        if !scopes.is_empty() {
            fields.push(("scope", &scopes));
        }
        self.ask(http, &fields).await
    }

    async fn ask(&self, http: &Http, fields: &[(&str, &str)]) -> Result<SecretString, LoginError> {
        let refused = |status: u16, words: String| LoginError::Refused { status, words };
        let Some(url) = self.token.clone() else { return Err(refused(0, String::new())) };
        let answer = http.send(&Request::post_form(url, fields).accept("application/json")).await?;
        let content: Json = serde_json::from_slice(&answer.body).unwrap_or_default();
        let text = |name: &str| content.get(name).and_then(Json::as_str).filter(|text| !text.is_empty());
        match text("access_token").filter(|_| answer.status.is_success()) {
            Some(token) => Ok(SecretString::new(token)),
            None => {
                let words = text("error_description").or_else(|| text("error"));
                Err(refused(answer.status.as_u16(), words.map(|words| format!(": {words}")).unwrap_or_default()))
            }
        }
    }
}

fn ports(found: &Json) -> Option<(u16, u16)> {
    let [first, last] = found.as_array()?.as_slice() else { return None };
    let port = |value: &Json| u16::try_from(value.as_u64()?).ok().filter(|port| *port >= PORTS.0);
    Some((port(first)?, port(last)?)).filter(|(first, last)| first <= last)
}

/// A login that waits for the browser.
pub struct CodeLogin {
    client: LoginClient,
    server: TcpListener,
    state: String,
    proof: SecretString,
    callback: String,
}

fn random() -> Result<String, LoginError> {
    let mut bytes = [0; RANDOM];
    rand::fill(&mut bytes).map_err(|_| LoginError::Random)?;
    Ok(URL_SAFE_NO_PAD.encode(bytes))
}

impl CodeLogin {
    /// Starts to listen on one of the client's ports.
    ///
    /// # Errors
    /// Returns an error if none of the ports is free.
    pub fn begin(client: LoginClient) -> Result<CodeLogin, LoginError> {
        let (first, last) = client.ports;
        let mut bytes = [0; 2];
        rand::fill(&mut bytes).map_err(|_| LoginError::Random)?;
        let count = u32::from(last - first) + 1;
        let start = u32::from(u16::from_le_bytes(bytes));
        // The search starts at a random port, because the lowest ports are most likely in use.
        let mut all = (0..count).filter_map(|step| u16::try_from(u32::from(first) + (start + step) % count).ok());
        let server = all.find_map(|port| Some((TcpListener::bind(("127.0.0.1", port)).ok()?, port)));
        let Some((server, port)) = server else { return Err(LoginError::Ports(first, last)) };
        let callback = format!("http://localhost:{port}{CALLBACK}");
        Ok(CodeLogin { client, server, state: random()?, proof: SecretString::new(random()?), callback })
    }

    /// The address that the user opens to allow the login.
    pub fn address(&self) -> Option<Url> {
        let mut url = self.client.authorization.clone()?;
        let challenge = URL_SAFE_NO_PAD.encode(digest(&SHA256, self.proof.expose().as_bytes()));
        let mut query = url.query_pairs_mut();
        query
            .append_pair("client_id", &self.client.id)
            .append_pair("code_challenge", &challenge)
            .append_pair("code_challenge_method", "S256")
            .append_pair("redirect_uri", &self.callback)
            .append_pair("response_type", "code");
        if !self.client.scopes.is_empty() {
            query.append_pair("scope", &self.client.scopes.join(" "));
        }
        query.append_pair("state", &self.state);
        drop(query);
        Some(url)
    }

    /// Waits until the browser sends a code with the state of this login. All other requests are refused.
    ///
    /// # Errors
    /// Returns an error if the server fails.
    pub fn wait(&self) -> Result<SecretString, LoginError> {
        for connection in self.server.incoming() {
            let mut connection = connection.map_err(|error| LoginError::Server(error.to_string()))?;
            let code = target(&mut connection).and_then(|target| code_of(&target, &self.state));
            let (status, page) = if code.is_some() { ("200 OK", PAGE) } else { ("400 Bad Request", "") };
            let answer = format!(
                "HTTP/1.1 {status}\r\nContent-Type: text/html\r\nContent-Length: {}\r\nConnection: close\r\n\r\n{page}",
                page.len()
            );
            // The browser may have closed the connection. The code in its request is still valid.
            let _ = connection.write_all(answer.as_bytes());
            if let Some(code) = code {
                return Ok(SecretString::new(code));
            }
        }
        Err(LoginError::Server("it has ended".to_owned()))
    }

    /// Exchanges the code for a token.
    ///
    /// # Errors
    /// Returns an error if the token endpoint returns no token.
    pub async fn token(&self, http: &Http, code: &SecretString) -> Result<SecretString, LoginError> {
        let fields = [
            ("grant_type", "authorization_code"),
            ("code", code.expose()),
            ("redirect_uri", &self.callback),
            ("client_id", &self.client.id),
            ("code_verifier", self.proof.expose()),
        ];
        self.client.ask(http, &fields).await
    }
}

/// The target in the first line of an HTTP request.
fn target(connection: &mut TcpStream) -> Option<String> {
    connection.set_read_timeout(Some(PATIENCE)).ok()?;
    let mut request = Vec::new();
    let mut chunk = [0; 4096];
    while !request.windows(4).any(|end| end == b"\r\n\r\n") {
        match connection.read(&mut chunk).ok()? {
            0 => return None,
            read if request.len() + read > MAX_REQUEST => return None,
            read => request.extend_from_slice(&chunk[..read]),
        }
    }
    let line = String::from_utf8_lossy(&request);
    let mut words = line.lines().next()?.split(' ');
    words.next().filter(|method| *method == "GET")?;
    words.next().map(str::to_owned)
}

/// The code in a target, if the target has the right state.
fn code_of(target: &str, state: &str) -> Option<String> {
    let url = Url::parse("http://localhost/").ok()?.join(target).ok()?;
    let value = |name: &str| url.query_pairs().find(|(key, _)| key == name).map(|(_, value)| value.into_owned());
    value("state").filter(|found| found == state)?;
    value("code").filter(|code| !code.is_empty())
}

#[cfg(test)]
mod tests {
    use serde_json::json;

    use super::*;

    fn client(document: Json) -> Result<LoginClient, LoginClientProblem> {
        LoginClient::of(&document, &Url::parse("https://x.test/.well-known/terraform.json").unwrap())
    }

    #[test]
    fn clients_are_read_from_discovery_documents() {
        let found =
            client(json!({"client": "c", "authz": "/a", "token": "https://y.test/t", "ports": [10_000, 10_010]}));
        let found = found.unwrap();
        assert_eq!(found.authorization.as_ref().unwrap().as_str(), "https://x.test/a");
        assert_eq!((found.ports, found.has(BY_CODE), found.has(BY_PASSWORD)), ((10_000, 10_010), true, false));
        for bad in [
            json!("x"),
            json!({"authz": "/a", "token": "/t"}),
            json!({"client": "c", "token": "/t"}),
            json!({"client": "c", "authz": "/a"}),
            json!({"client": "c", "authz": "ftp://x/", "token": "/t"}),
            json!({"client": "c", "authz": "/a", "token": "/t", "ports": [80, 90]}),
            json!({"client": "c", "authz": "/a", "token": "/t", "ports": [2000, 1999]}),
            json!({"client": "c", "authz": "/a", "token": "/t", "grant_types": "authz_code"}),
        ] {
            assert!(client(bad.clone()).is_err(), "{bad}");
        }
    }

    #[test]
    fn only_a_request_with_the_state_brings_a_code() {
        for (target, want) in [
            ("/login?code=c&state=s", Some("c")),
            ("/login?state=s&code=a%20b", Some("a b")),
            ("/login?code=c&state=t", None),
            ("/login?state=s", None),
            ("/login?state=s&code=", None),
            ("/", None),
        ] {
            assert_eq!(code_of(target, "s").as_deref(), want, "{target}");
        }
    }
}
