//! The arguments of the backend `consul`, and the variables of Consul's own tools.

use std::fmt;
use std::path::{Path, PathBuf};

use base64::Engine as _;
use base64::engine::general_purpose::STANDARD;
use url::Url;
use weft_graph_format::diagnostic::Diagnostic;
use weft_graph_format::schema::Block;
use weft_graph_format::types::Type;

use super::problems as own;
use crate::arguments::{self, Arguments, BackendSettings, Environment};
use crate::client::{Check, ClientSettings};
use crate::problems;

/// The default address of the agent.
const AGENT: &str = "127.0.0.1:8500";

/// The schema of the arguments.
pub fn schema() -> Block {
    let attributes = [
        ("access_token", Type::String),
        ("address", Type::String),
        ("ca_file", Type::String),
        ("cert_file", Type::String),
        ("datacenter", Type::String),
        ("gzip", Type::Bool),
        ("http_auth", Type::String),
        ("key_file", Type::String),
        ("lock", Type::Bool),
        ("path", Type::String),
        ("scheme", Type::String),
    ];
    arguments::schema(&attributes, &["path"], &["access_token", "http_auth"])
}

/// The settings.
pub(super) struct ConsulSettings {
    /// The key of the default state.
    pub(super) path: String,
    /// The address of the agent, with `/` at the end.
    pub(super) base: Url,
    /// The agent, as messages display it in locations.
    agent: String,
    /// The query parameters of every request: datacenter, namespace, partition.
    pub(super) query: Vec<(&'static str, String)>,
    /// The headers of every request: the token and the user. They are secret.
    pub(super) headers: Vec<(String, String)>,
    /// Whether states are compressed.
    pub(super) gzip: bool,
    /// Whether states are locked.
    pub(super) lock: bool,
    /// The settings of connections.
    pub(super) client: ClientSettings,
}

impl fmt::Debug for ConsulSettings {
    fn fmt(&self, out: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(out, "ConsulSettings({})", self.place(&self.path))
    }
}

impl ConsulSettings {
    /// Reads the settings.
    ///
    /// # Errors
    /// Returns an error if the settings are not valid.
    pub(super) fn read(
        settings: &BackendSettings,
        environment: Environment<'_>,
    ) -> Result<(ConsulSettings, Vec<Diagnostic>), Vec<Diagnostic>> {
        let mut arguments = Arguments::new(settings, environment);
        let path = arguments.required("path", &[]);
        if !is_key(&path) {
            arguments.problems.push(own::invalid_path(&path));
        }
        let mut text = |name: &str, variable: &[&str]| {
            arguments.text(name, &[]).filter(|text| !text.is_empty()).or_else(|| arguments.variable(variable))
        };
        let address = text("address", &["CONSUL_HTTP_ADDR"]).unwrap_or_else(|| AGENT.to_owned());
        let scheme = text("scheme", &[]);
        let query = [
            ("dc", text("datacenter", &[])),
            ("ns", text("", &["CONSUL_NAMESPACE"])),
            ("partition", text("", &["CONSUL_PARTITION"])),
        ];
        let query = query.into_iter().filter_map(|(name, value)| Some((name, value?))).collect();
        let user = text("http_auth", &["CONSUL_HTTP_AUTH"]);
        let encrypted = arguments.variable(&["CONSUL_HTTP_SSL"]).and_then(|text| go_bool(&text)) == Some(true);
        let scheme = scheme.unwrap_or_else(|| if encrypted { "https" } else { "http" }.to_owned());
        let token = token(&mut arguments);
        let gzip = arguments.flag("gzip", &[]).unwrap_or(false);
        let lock = arguments.flag("lock", &[]).unwrap_or(true);
        let mut client = client_settings(&mut arguments);
        let Some(base) = base(&mut arguments, &scheme, &address, &mut client) else { return Err(arguments.problems) };
        let mut headers: Vec<(String, String)> =
            token.into_iter().map(|token| ("x-consul-token".to_owned(), token)).collect();
        if let Some(user) = user {
            let pair = if user.contains(':') { user } else { user + ":" };
            headers.push(("authorization".to_owned(), "Basic ".to_owned() + &STANDARD.encode(pair)));
        }
        let agent = match &client.socket {
            Some(socket) => format!("unix:{}", socket.display()),
            None => base[url::Position::BeforeHost..url::Position::AfterPort].to_owned(),
        };
        arguments.finish(ConsulSettings { path, base, agent, query, headers, gzip, lock, client })
    }

    /// The location of a key, for display.
    pub(super) fn place(&self, key: &str) -> String {
        format!("consul://{}/{key}", self.agent)
    }
}

/// Whether a string can be a key. The key is a part of the URL's path, so not every string can be a key.
fn is_key(path: &str) -> bool {
    !path.starts_with('/') && path.split('/').all(|part| part != "." && part != "..")
}

/// Parses a bool as Go does.
fn go_bool(text: &str) -> Option<bool> {
    match text {
        "1" | "t" | "T" | "TRUE" | "true" | "True" => Some(true),
        "0" | "f" | "F" | "FALSE" | "false" | "False" => Some(false),
        _ => None,
    }
}

/// The token: from the argument, from the file that a variable names, or from a variable.
fn token(arguments: &mut Arguments<'_>) -> Option<String> {
    let usual = arguments.variable(&["CONSUL_HTTP_TOKEN"]);
    let written = arguments.text("access_token", &[]).filter(|token| !token.is_empty());
    // As in Consul's library: if the argument equals the variable, the argument counts as not set.
    if written.is_some() && written != usual {
        return written;
    }
    let Some(file) = arguments.variable(&["CONSUL_HTTP_TOKEN_FILE"]) else { return usual };
    match std::fs::read_to_string(&file) {
        Ok(text) => Some(text.trim().to_owned()).filter(|text| !text.is_empty()).or(usual),
        Err(error) => {
            arguments.problems.push(own::token_file(&file, &error));
            None
        }
    }
}

/// The URL of the agent. The path of a Unix socket is written to the settings of connections.
fn base(arguments: &mut Arguments<'_>, scheme: &str, address: &str, client: &mut ClientSettings) -> Option<Url> {
    let (scheme, rest) = match address.split_once("://") {
        None => (scheme, address),
        // The scheme of the settings takes precedence, so a connection that must be encrypted stays encrypted.
        Some(("http", rest)) => (scheme, rest),
        Some(("https", rest)) => ("https", rest),
        Some(("unix", path)) => {
            client.socket = Some(PathBuf::from(path));
            (scheme, "localhost")
        }
        Some((other, _)) => {
            arguments.problems.push(own::unknown_scheme(other));
            return None;
        }
    };
    if !matches!(scheme, "http" | "https") {
        arguments.problems.push(problems::not_a_web_address("scheme"));
        return None;
    }
    match Url::parse(&format!("{scheme}://{}/", rest.trim_end_matches('/'))) {
        Ok(url) => Some(url),
        Err(error) => {
            arguments.problems.push(problems::invalid_address("address", &error));
            None
        }
    }
}

fn client_settings(arguments: &mut Arguments<'_>) -> ClientSettings {
    let mut file = |name: &str, variable: &str| {
        arguments.text(name, &[variable]).filter(|path| !path.is_empty()).map(PathBuf::from)
    };
    let (certificate, key) = (file("cert_file", "CONSUL_CLIENT_CERT"), file("key_file", "CONSUL_CLIENT_KEY"));
    let (authority, folder) = (file("ca_file", "CONSUL_CACERT"), file("", "CONSUL_CAPATH"));
    let mut read = |path: &Path| match std::fs::read_to_string(path) {
        Ok(text) => text,
        Err(error) => {
            arguments.problems.push(problems::no_client(&format!("{}: {error}", path.display())));
            String::new()
        }
    };
    let roots = match (authority, folder) {
        (Some(file), _) => Some(read(&file)),
        (None, Some(folder)) => Some(files_below(&folder).iter().map(|path| read(path) + "\n").collect()),
        (None, None) => None,
    };
    let identity = match (&certificate, &key) {
        (Some(certificate), Some(key)) => Some((read(certificate), read(key))),
        (None, None) => None,
        _ => {
            arguments.problems.push(own::half_identity());
            None
        }
    };
    let verify = arguments.variable(&["CONSUL_HTTP_SSL_VERIFY"]).and_then(|text| go_bool(&text));
    let check = if verify == Some(false) { Check::Nothing } else { Check::Whole };
    let server_name = arguments.variable(&["CONSUL_TLS_SERVER_NAME"]).map(|name| without_port(&name).to_owned());
    ClientSettings { roots, identity, check, redirects: true, server_name, ..ClientSettings::default() }
}

fn without_port(name: &str) -> &str {
    match name.rsplit_once(':') {
        Some((host, _)) if !name.ends_with(']') && (host.ends_with(']') || !host.contains(':')) => {
            host.trim_start_matches('[').trim_end_matches(']')
        }
        _ => name.trim_start_matches('[').trim_end_matches(']'),
    }
}

/// All files below a directory, sorted.
fn files_below(folder: &Path) -> Vec<PathBuf> {
    let (mut files, mut folders) = (Vec::new(), vec![folder.to_owned()]);
    while let Some(folder) = folders.pop() {
        let Ok(entries) = std::fs::read_dir(&folder) else {
            // The directory cannot be read. It is listed as a file, so that reading it reports the problem.
            files.push(folder);
            continue;
        };
        for path in entries.filter_map(|entry| Some(entry.ok()?.path())) {
            if path.is_dir() && !path.is_symlink() { folders.push(path) } else { files.push(path) }
        }
    }
    files.sort();
    files
}

#[cfg(test)]
mod tests {
    use serde_json::{Value, json};

    use super::*;

    fn read(settings: Value, variables: &[(&str, &str)]) -> Result<ConsulSettings, String> {
        let variables: Vec<(String, String)> =
            variables.iter().map(|(name, value)| ((*name).to_owned(), (*value).to_owned())).collect();
        let environment =
            move |name: &str| variables.iter().find(|(known, _)| known == name).map(|(_, value)| value.clone());
        let read = ConsulSettings::read(settings.as_object().unwrap(), &environment);
        read.map(|(read, _)| read).map_err(|problems| problems[0].summary.clone())
    }

    #[test]
    fn addresses() {
        for (settings, variables, want) in [
            (json!({}), &[][..], "http://127.0.0.1:8500/"),
            (json!({"address": "a:1"}), &[("CONSUL_HTTP_ADDR", "b:2")], "http://a:1/"),
            (json!({}), &[("CONSUL_HTTP_ADDR", "b:2"), ("CONSUL_HTTP_SSL", "T")], "https://b:2/"),
            (json!({"address": "https://a:1", "scheme": "http"}), &[], "https://a:1/"),
            (json!({"address": "http://a:1/pre/fix", "scheme": "https"}), &[], "https://a:1/pre/fix/"),
            (json!({"address": "unix:///run/c.sock"}), &[], "http://localhost/"),
        ] {
            let mut settings = settings;
            settings["path"] = json!("p");
            assert_eq!(read(settings, variables).unwrap().base.as_str(), want);
        }
        let socket = read(json!({"path": "p", "address": "unix:///run/c.sock"}), &[]).unwrap();
        assert_eq!(socket.client.socket.as_deref(), Some(Path::new("/run/c.sock")));
        assert_eq!(socket.place("p"), "consul://unix:/run/c.sock/p");
        assert_eq!(read(json!({"path": "p", "address": "ftp://a"}), &[]).unwrap_err(), "Unknown protocol scheme: ftp");
    }

    #[test]
    fn secrets_and_their_order() {
        let settings = json!({"path": "p", "access_token": "own", "http_auth": "ann"});
        let found = read(settings, &[("CONSUL_HTTP_TOKEN", "usual")]).unwrap();
        let want = [("x-consul-token", "own"), ("authorization", "Basic YW5uOg==")];
        assert_eq!(found.headers, want.map(|(name, value)| (name.to_owned(), value.to_owned())));
        assert!(!format!("{found:?}").contains("own"));
        let usual = read(json!({"path": "p"}), &[("CONSUL_HTTP_TOKEN", "usual")]).unwrap();
        assert_eq!(usual.headers[0].1, "usual");
        let file = read(json!({"path": "p"}), &[("CONSUL_HTTP_TOKEN_FILE", "/absent")]).unwrap_err();
        assert!(file.starts_with("Error loading token file /absent"), "{file}");
    }

    #[test]
    fn what_is_refused() {
        for (settings, variables, want) in [
            (json!({}), &[][..], "\"path\": required field is not set"),
            (json!({"path": "/p"}), &[], "Invalid key. Key must not begin with a '/': /p"),
            (json!({"path": "a/../p"}), &[], "Invalid key. Key must not have a part '.' or '..': a/../p"),
            (json!({"path": "p", "scheme": "ftp"}), &[], "scheme must be HTTP or HTTPS"),
            (json!({"path": "p"}), &[("CONSUL_CLIENT_CERT", "c")], "both client cert and client key must be provided"),
            (json!({"path": "p", "ca_file": "/absent"}), &[], "Invalid settings of secure connections"),
        ] {
            assert_eq!(read(settings, variables).unwrap_err(), want);
        }
    }

    #[test]
    fn variables_of_connections() {
        let variables = [
            ("CONSUL_NAMESPACE", "n"),
            ("CONSUL_PARTITION", "q"),
            ("CONSUL_HTTP_SSL_VERIFY", "0"),
            ("CONSUL_TLS_SERVER_NAME", "name.test:8501"),
        ];
        let found = read(json!({"path": "p", "datacenter": "d", "lock": false}), &variables).unwrap();
        assert_eq!(found.query, [("dc", "d".to_owned()), ("ns", "n".to_owned()), ("partition", "q".to_owned())]);
        assert_eq!((found.client.check, found.lock), (Check::Nothing, false));
        assert_eq!(found.client.server_name.as_deref(), Some("name.test"));
        for (name, want) in [("a", "a"), ("[::1]:5", "::1"), ("[::1]", "::1"), ("::1", "::1")] {
            assert_eq!(without_port(name), want);
        }
    }
}
