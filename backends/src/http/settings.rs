//! The arguments of the backend `http`.

use std::fmt;
use std::time::Duration;

use reqwest::Method;
use reqwest::header::{HeaderName, HeaderValue};
use url::Url;
use weft_graph_format::diagnostic::Diagnostic;
use weft_graph_format::schema::Block;
use weft_graph_format::types::Type;

use crate::arguments::{self, Arguments, BackendSettings, Environment};
use crate::client::{Check, ClientSettings};
use crate::problems;
use crate::retry::RequestRetries;

/// The default number of retries of a request.
const REPEATS: u64 = 2;
/// The default length of the first pause between attempts, in seconds.
const FIRST_PAUSE: u64 = 1;
/// The default maximum length of a pause between attempts, in seconds.
const LONGEST_PAUSE: u64 = 30;
/// Headers that the backend sets itself.
const RESERVED: [&str; 2] = ["content-type", "content-md5"];

/// The schema of the arguments.
pub fn schema() -> Block {
    let attributes = [
        ("address", Type::String),
        ("client_ca_certificate_pem", Type::String),
        ("client_certificate_pem", Type::String),
        ("client_private_key_pem", Type::String),
        ("headers", Type::map(Type::String)),
        ("lock_address", Type::String),
        ("lock_method", Type::String),
        ("password", Type::String),
        ("retry_max", Type::Number),
        ("retry_wait_max", Type::Number),
        ("retry_wait_min", Type::Number),
        ("skip_cert_verification", Type::Bool),
        ("unlock_address", Type::String),
        ("unlock_method", Type::String),
        ("update_method", Type::String),
        ("username", Type::String),
    ];
    arguments::schema(&attributes, &["address"], &["password", "client_private_key_pem", "headers"])
}

/// A request that locks or unlocks the state.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(super) struct Action {
    /// The method.
    pub(super) method: Method,
    /// The address.
    pub(super) url: Url,
}

/// The settings.
#[derive(Clone)]
pub(super) struct HttpSettings {
    /// The URL of the state.
    pub(super) address: Url,
    /// The method that writes the state.
    pub(super) update_method: Method,
    /// The request that locks the state, if locking is configured.
    pub(super) lock: Option<Action>,
    /// The request that unlocks the state, if unlocking is configured.
    pub(super) unlock: Option<Action>,
    /// The user name and the password.
    pub(super) user: Option<(String, String)>,
    /// Additional headers of each request.
    pub(super) headers: Vec<(HeaderName, HeaderValue)>,
    /// The retries of requests.
    pub(super) retry: RequestRetries,
    /// The settings of connections.
    pub(super) client: ClientSettings,
}

impl fmt::Debug for HttpSettings {
    fn fmt(&self, out: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(out, "HttpSettings({})", self.place())
    }
}

impl HttpSettings {
    /// Reads the settings.
    ///
    /// # Errors
    /// Returns an error if the settings are not valid.
    pub(super) fn read(
        settings: &BackendSettings,
        environment: Environment<'_>,
    ) -> Result<(HttpSettings, Vec<Diagnostic>), Vec<Diagnostic>> {
        let mut arguments = Arguments::new(settings, environment);
        let address = arguments.required("address", &["TF_HTTP_ADDRESS"]);
        if !arguments.problems.is_empty() {
            return Err(arguments.problems);
        }
        let address = web_address(&mut arguments, "address", &address);
        let update_method = method(&mut arguments, "update_method", "TF_HTTP_UPDATE_METHOD", "POST");
        let lock = action(&mut arguments, "lock", "LOCK");
        let unlock = action(&mut arguments, "unlock", "UNLOCK");
        let user = arguments.text("username", &["TF_HTTP_USERNAME"]).filter(|user| !user.is_empty());
        let password = arguments.text("password", &["TF_HTTP_PASSWORD"]).unwrap_or_default();
        let headers = headers(&mut arguments, user.is_some());
        let retry = RequestRetries {
            repeats: u32::try_from(arguments.number("retry_max", &["TF_HTTP_RETRY_MAX"]).unwrap_or(REPEATS))
                .unwrap_or(u32::MAX),
            first: seconds(&mut arguments, "retry_wait_min", "TF_HTTP_RETRY_WAIT_MIN", FIRST_PAUSE),
            longest: seconds(&mut arguments, "retry_wait_max", "TF_HTTP_RETRY_WAIT_MAX", LONGEST_PAUSE),
        };
        let client = client_settings(&mut arguments);
        let user = user.map(|user| (user, password));
        let Some(address) = address else { return Err(arguments.problems) };
        arguments.finish(HttpSettings { address, update_method, lock, unlock, user, headers, retry, client })
    }

    /// The URL of the state, without secrets.
    pub(super) fn place(&self) -> String {
        let mut shown = self.address.clone();
        // Neither of the two calls can fail, because the URL has a host.
        let _ = shown.set_username("");
        let _ = shown.set_password(None);
        shown.set_query(None);
        shown.to_string()
    }
}

fn web_address(arguments: &mut Arguments<'_>, name: &str, text: &str) -> Option<Url> {
    match Url::parse(text) {
        Ok(url) if matches!(url.scheme(), "http" | "https") => Some(url),
        Ok(_) => {
            arguments.problems.push(problems::not_a_web_address(name));
            None
        }
        Err(error) => {
            arguments.problems.push(problems::invalid_address(name, &error));
            None
        }
    }
}

fn method(arguments: &mut Arguments<'_>, name: &str, variable: &str, default: &str) -> Method {
    let text = arguments.text(name, &[variable]).unwrap_or_else(|| default.to_owned());
    // The HTTP library accepts every token (RFC 9110) as a method. The server refuses unknown methods.
    Method::from_bytes(text.as_bytes()).unwrap_or(Method::POST)
}

/// The request that `NAME_address` and `NAME_method` describe.
fn action(arguments: &mut Arguments<'_>, name: &str, default: &str) -> Option<Action> {
    let (address_name, method_name) = (format!("{name}_address"), format!("{name}_method"));
    let variable = format!("TF_HTTP_{}", name.to_uppercase());
    let method = method(arguments, &method_name, &format!("{variable}_METHOD"), default);
    let address = arguments.text(&address_name, &[&format!("{variable}_ADDRESS")]).filter(|text| !text.is_empty())?;
    let url = web_address(arguments, &address_name, &address)?;
    Some(Action { method, url })
}

fn seconds(arguments: &mut Arguments<'_>, name: &str, variable: &str, default: u64) -> Duration {
    Duration::from_secs(arguments.number(name, &[variable]).unwrap_or(default))
}

fn headers(arguments: &mut Arguments<'_>, has_user: bool) -> Vec<(HeaderName, HeaderValue)> {
    let mut found = Vec::new();
    for (name, value) in arguments.texts("headers") {
        let lower = name.to_ascii_lowercase();
        let named = name.chars().all(|c| c.is_ascii_alphanumeric() || matches!(c, '-' | '_')) && !name.is_empty();
        let (Some(parsed), true) = (HeaderName::from_bytes(name.as_bytes()).ok(), named) else {
            arguments.problems.push(problems::header_name(&name));
            continue;
        };
        if RESERVED.contains(&lower.as_str()) {
            arguments.problems.push(problems::reserved_header(&name));
        } else if lower == "authorization" && has_user {
            arguments.problems.push(problems::two_authorizations());
        } else {
            match HeaderValue::from_str(&value).ok().filter(|_| value.is_ascii() && !value.trim().is_empty()) {
                Some(mut sound) => {
                    sound.set_sensitive(true);
                    found.push((parsed, sound));
                }
                None => arguments.problems.push(problems::header_value(&name)),
            }
        }
    }
    found
}

fn client_settings(arguments: &mut Arguments<'_>) -> ClientSettings {
    let roots = arguments.text("client_ca_certificate_pem", &["TF_HTTP_CLIENT_CA_CERTIFICATE_PEM"]);
    let certificate = arguments.text("client_certificate_pem", &["TF_HTTP_CLIENT_CERTIFICATE_PEM"]);
    let key = arguments.text("client_private_key_pem", &["TF_HTTP_CLIENT_PRIVATE_KEY_PEM"]);
    let unchecked = arguments.flag("skip_cert_verification", &[]).unwrap_or_default();
    let check = if unchecked { Check::Nothing } else { Check::Whole };
    let given = |text: Option<String>| text.filter(|text| !text.is_empty());
    let identity = match (given(certificate), given(key)) {
        (Some(certificate), Some(key)) => Some((certificate, key)),
        (None, None) => None,
        (Some(_), None) => {
            arguments.problems.push(problems::needs("client_certificate_pem", "client_private_key_pem"));
            None
        }
        (None, Some(_)) => {
            arguments.problems.push(problems::needs("client_private_key_pem", "client_certificate_pem"));
            None
        }
    };
    ClientSettings { roots: given(roots), identity, check, redirects: true, ..ClientSettings::default() }
}

#[cfg(test)]
mod tests {
    use serde_json::json;

    use super::*;

    fn read(settings: serde_json::Value) -> Result<HttpSettings, Vec<String>> {
        read_with(settings, &|_| None)
    }

    fn read_with(settings: serde_json::Value, environment: Environment<'_>) -> Result<HttpSettings, Vec<String>> {
        let settings = settings.as_object().unwrap();
        let read = HttpSettings::read(settings, environment);
        read.map(|(read, _)| read).map_err(|found| found.into_iter().map(|problem| problem.summary).collect())
    }

    #[test]
    fn defaults_are_those_of_opentofu() {
        let read = read(json!({"address": "https://a:b@example.com/s?token=x", "username": null})).unwrap();
        assert_eq!(read.place(), "https://example.com/s", "no secrets");
        assert_eq!((read.update_method.as_str(), &read.lock, &read.unlock), ("POST", &None, &None));
        assert_eq!(read.retry.repeats, 2);
        assert_eq!((read.retry.first.as_secs(), read.retry.longest.as_secs()), (1, 30));
    }

    #[test]
    fn what_is_not_written_comes_from_the_environment() {
        let environment = |name: &str| match name {
            "TF_HTTP_ADDRESS" => Some("http://example.com/state".to_owned()),
            "TF_HTTP_LOCK_ADDRESS" => Some("http://example.com/lock".to_owned()),
            "TF_HTTP_LOCK_METHOD" => Some("PUT".to_owned()),
            "TF_HTTP_USERNAME" => Some("ann".to_owned()),
            "TF_HTTP_RETRY_MAX" => Some("7".to_owned()),
            _ => None,
        };
        let read = read_with(json!({"retry_max": 0, "address": null}), &environment).unwrap();
        let lock = read.lock.unwrap();
        assert_eq!((lock.method.as_str(), lock.url.as_str()), ("PUT", "http://example.com/lock"));
        assert_eq!((read.retry.repeats, read.user), (0, Some(("ann".to_owned(), String::new()))));
    }

    #[test]
    fn invalid_settings_are_named() {
        for (settings, want) in [
            (json!({}), "\"address\": required field is not set"),
            (json!({"address": "ftp://x"}), "address must be HTTP or HTTPS"),
            (json!({"address": "http://x", "lock_address": "ftp://x"}), "lock_address must be HTTP or HTTPS"),
            (json!({"address": "http://x", "headers": {"a b": "c"}}), "Invalid header name"),
            (json!({"address": "http://x", "headers": {"a": " "}}), "Invalid header value"),
            (json!({"address": "http://x", "headers": {"Content-Type": "c"}}), "Reserved header"),
            (
                json!({"address": "http://x", "username": "a", "headers": {"Authorization": "c"}}),
                "Conflicting authorization",
            ),
        ] {
            assert_eq!(read(settings.clone()).unwrap_err(), [want], "{settings}");
        }
    }
}
