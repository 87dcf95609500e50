//! The settings: arguments, and variables of OpenBao's own client.

use std::fmt;
use std::path::Path;
use std::time::Duration;

use url::Url;
use weft_graph_format::diagnostic::Diagnostic;
use weft_graph_format::schema::Block;
use weft_graph_format::types::Type;

use super::problems::BaoProblem;
use crate::arguments::{self, Arguments, BackendSettings, Environment};
use crate::client::{Check, ClientSettings, Proxies};
use crate::problems::{key_data, key_setting_empty, key_settings_incomplete};
use crate::retry::RequestRetries;

/// The default address of the server.
const ADDRESS: &str = "https://127.0.0.1:8200";
/// The default path of the transit engine.
const ENGINE: &str = "/transit";
/// The allowed lengths of keys in bytes, and the default length.
const LENGTHS: [u64; 3] = [16, 32, 64];
const LENGTH: u64 = 32;
/// The default number of retries of a request.
const REPEATS: u64 = 2;
/// The first and the maximum pause between attempts.
const PAUSES: (Duration, Duration) = (Duration::from_millis(1000), Duration::from_millis(1500));

/// The schema of the arguments.
pub(crate) fn schema() -> Block {
    let attributes = [
        ("address", Type::String),
        ("key_length", Type::Number),
        ("key_name", Type::String),
        ("token", Type::String),
        ("transit_engine_path", Type::String),
    ];
    arguments::schema(&attributes, &["key_name"], &[])
}

/// The settings.
pub(super) struct BaoSettings {
    pub(super) address: Url,
    pub(super) token: Option<String>,
    pub(super) namespace: Option<String>,
    pub(super) key: String,
    /// The length of keys in bytes.
    pub(super) length: u64,
    /// The path of the transit engine.
    pub(super) engine: String,
    /// Whether one redirect is followed.
    pub(super) redirects: bool,
    /// The name that the server's certificate must have, if it differs from the host of the URL.
    pub(super) server_name: Option<String>,
    pub(super) client: ClientSettings,
    pub(super) retry: RequestRetries,
}

impl fmt::Debug for BaoSettings {
    fn fmt(&self, out: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(out, "BaoSettings({} at {})", self.key, self.address)
    }
}

/// The variable `BAO_X` for a name `X`, or else `VAULT_X`. `VAULT_X` is ignored if `BAO_X` is set, even if `BAO_X` is
/// empty.
fn variable(environment: Environment<'_>, name: &str) -> Option<String> {
    let found = environment(&format!("BAO_{name}")).or_else(|| environment(&format!("VAULT_{name}")));
    found.filter(|value| !value.is_empty())
}

impl BaoSettings {
    /// Reads the settings.
    ///
    /// # Errors
    /// Returns an error if the settings are not valid.
    pub(super) fn read(
        settings: &BackendSettings,
        environment: Environment<'_>,
    ) -> Result<BaoSettings, Vec<Diagnostic>> {
        let mut arguments = Arguments::new(settings, environment);
        let variable = |name: &str| variable(environment, name);
        let text = |arguments: &mut Arguments<'_>, name| arguments.text(name, &[]).filter(|text| !text.is_empty());
        let key = text(&mut arguments, "key_name").unwrap_or_default();
        if key.is_empty() {
            arguments.problems.push(key_setting_empty("key_name"));
        }
        let length = arguments.number("key_length", &[]).filter(|length| *length != 0).unwrap_or(LENGTH);
        if !LENGTHS.contains(&length) {
            arguments.problems.push(key_data(&BaoProblem::Length(length)));
        }
        let engine = text(&mut arguments, "transit_engine_path").unwrap_or_else(|| ENGINE.to_owned());
        // The address of an agent on this machine takes precedence over every other address.
        let written = text(&mut arguments, "address").or_else(|| variable("ADDR"));
        let written = variable("AGENT_ADDR").or(written).unwrap_or_else(|| ADDRESS.to_owned());
        let address = address(&written).map_err(|error| arguments.problems.push(key_data(&error))).ok();
        let token = text(&mut arguments, "token").or_else(|| variable("TOKEN"));
        if token.as_ref().is_some_and(|token| token.chars().any(char::is_control)) {
            arguments.problems.push(key_data(&BaoProblem::Token));
        }
        let flag = |name: &str, arguments: &mut Arguments<'_>| match variable(name).as_deref().map(truth) {
            Some(Some(flag)) => flag,
            Some(None) => {
                arguments.problems.push(key_data(&BaoProblem::Flag(name.to_owned())));
                false
            }
            None => false,
        };
        let redirects = !flag("DISABLE_REDIRECTS", &mut arguments);
        let insecure = flag("SKIP_VERIFY", &mut arguments);
        let retries = variable("MAX_RETRIES").map_or(Ok(REPEATS), |text| text.parse());
        let retries = retries.unwrap_or_else(|_| {
            arguments.problems.push(key_data(&BaoProblem::Retries));
            REPEATS
        });
        let repeats = u32::try_from(retries).unwrap_or(u32::MAX);
        let client = client(environment, insecure).map_err(|error| arguments.problems.push(key_data(&error))).ok();
        let (_, _) = arguments.finish(())?;
        // If there are no problems, the address and the client exist.
        let (Some(address), Some(client)) = (address, client) else {
            return Err(vec![key_settings_incomplete()]);
        };
        Ok(BaoSettings {
            address,
            token,
            namespace: variable("NAMESPACE"),
            key,
            length,
            engine,
            redirects,
            server_name: variable("TLS_SERVER_NAME"),
            client,
            retry: RequestRetries { repeats, first: PAUSES.0, longest: PAUSES.1 },
        })
    }
}

/// Parses a bool as Go does.
fn truth(text: &str) -> Option<bool> {
    match text {
        "1" | "t" | "T" | "true" | "TRUE" | "True" => Some(true),
        "0" | "f" | "F" | "false" | "FALSE" | "False" => Some(false),
        _ => None,
    }
}

fn address(text: &str) -> Result<Url, BaoProblem> {
    let url = Url::parse(text).map_err(BaoProblem::Address)?;
    match url.scheme() {
        "http" | "https" if url.has_host() => Ok(url),
        scheme => Err(BaoProblem::Scheme(scheme.to_owned())),
    }
}

/// The settings of connections.
fn client(environment: Environment<'_>, insecure: bool) -> Result<ClientSettings, BaoProblem> {
    let variable = |name: &str| variable(environment, name);
    let unreadable = |path: &str, error| BaoProblem::Unreadable { path: path.to_owned(), error };
    let read = |path: &str| std::fs::read_to_string(path).map_err(|error| unreadable(path, error));
    let folder = |path: &str| -> Result<String, BaoProblem> {
        let mut paths: Vec<_> = std::fs::read_dir(path)
            .map_err(|error| unreadable(path, error))?
            .filter_map(|entry| entry.ok().map(|entry| entry.path()))
            .filter(|path| path.is_file())
            .collect();
        paths.sort();
        paths.iter().map(|path: &std::path::PathBuf| read(&Path::new(path).to_string_lossy())).collect()
    };
    let settings = ClientSettings::of_environment(environment);
    let own = match (variable("CACERT"), variable("CACERT_BYTES"), variable("CAPATH")) {
        (Some(path), _, _) => Some(read(&path)?),
        (None, Some(text), _) => Some(text),
        (None, None, Some(path)) => Some(folder(&path)?),
        (None, None, None) => None,
    };
    let identity = match (variable("CLIENT_CERT"), variable("CLIENT_KEY")) {
        (Some(certificate), Some(key)) => Some((read(&certificate)?, read(&key)?)),
        (None, None) => None,
        _ => return Err(BaoProblem::HalfIdentity),
    };
    let proxies = match variable("PROXY_ADDR").or_else(|| variable("HTTP_PROXY")) {
        Some(proxy) => Proxies { http: Some(proxy.clone()), https: Some(proxy), except: None },
        None => settings.proxies.clone(),
    };
    let check = if insecure { Check::Nothing } else { Check::Whole };
    Ok(ClientSettings {
        roots: own.or_else(|| settings.roots.clone()),
        identity,
        check,
        redirects: false,
        proxies,
        ..ClientSettings::default()
    })
}

#[cfg(test)]
mod tests {
    use serde_json::{Value as Json, json};

    use super::*;

    fn read(settings: Json, variables: &[(&str, &str)]) -> Result<BaoSettings, Vec<String>> {
        let environment =
            |name: &str| variables.iter().find(|(known, _)| *known == name).map(|(_, value)| (*value).to_owned());
        let details = |found: Vec<Diagnostic>| found.into_iter().map(|problem| problem.detail).collect();
        BaoSettings::read(settings.as_object().unwrap(), &environment).map_err(details)
    }

    #[test]
    fn settings_and_their_sources() {
        let found = read(json!({"key_name": "k"}), &[]).unwrap();
        assert_eq!((found.address.as_str(), found.length), ("https://127.0.0.1:8200/", 32));
        assert_eq!(super::super::address(&found, "decrypt").path(), "/v1/transit/decrypt/k");
        assert_eq!((found.retry.repeats, found.redirects, found.token), (2, true, None));
        let variables =
            [("VAULT_ADDR", "http://v:1/base"), ("VAULT_TOKEN", "t"), ("BAO_NAMESPACE", "n"), ("BAO_MAX_RETRIES", "0")];
        let written = json!({"key_name": "a/b", "key_length": 16, "transit_engine_path": "/my//keys/../transit/"});
        let found = read(written, &variables).unwrap();
        assert_eq!(
            super::super::address(&found, "datakey/plaintext").as_str(),
            "http://v:1/base/v1/my/transit/datakey/plaintext/a%252Fb"
        );
        assert_eq!((found.token.as_deref(), found.namespace.as_deref(), found.length), (Some("t"), Some("n"), 16));
        assert_eq!(found.retry.repeats, 0);
        // An empty `BAO_` variable hides the `VAULT_` variable of the same name.
        let found = read(json!({"key_name": "k"}), &[("BAO_TOKEN", ""), ("VAULT_TOKEN", "t")]).unwrap();
        assert_eq!(found.token, None);
        let agent = [("BAO_AGENT_ADDR", "http://agent:1"), ("BAO_ADDR", "http://other:1")];
        let found = read(json!({"key_name": "k", "address": "http://written:1"}), &agent).unwrap();
        assert_eq!(found.address.as_str(), "http://agent:1/");
    }

    #[test]
    fn invalid_settings_are_named() {
        for (settings, variables, want) in [
            (json!({"key_name": ""}), &[][..], "key_name is empty"),
            (json!({"key_name": "k", "key_length": 24}), &[], "key_length is 24, but must be 16, 32 or 64 bytes"),
            (
                json!({"key_name": "k", "address": "unix:///x"}),
                &[],
                "the address of OpenBao begins with unix://, but must be one of HTTP or HTTPS",
            ),
            (
                json!({"key_name": "k"}),
                &[("BAO_SKIP_VERIFY", "x")],
                "the variable BAO_SKIP_VERIFY must be true or false",
            ),
            (
                json!({"key_name": "k"}),
                &[("BAO_MAX_RETRIES", "-1")],
                "the variable BAO_MAX_RETRIES must be a whole number",
            ),
            (
                json!({"key_name": "k"}),
                &[("BAO_CLIENT_CERT", "/c")],
                "BAO_CLIENT_CERT and BAO_CLIENT_KEY are needed together",
            ),
        ] {
            assert_eq!(read(settings.clone(), variables).unwrap_err(), [want], "{settings}");
        }
    }
}
