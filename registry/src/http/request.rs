//! Requests and their limits.

use std::time::Duration;

use base64::Engine as _;
use base64::engine::general_purpose::STANDARD;
use http::header::{ACCEPT, AUTHORIZATION, CONTENT_TYPE, HeaderName};
use http::{HeaderMap, HeaderValue, Method};
use url::Url;

/// The default size limit of a document. The list of versions of the largest provider has 2 MiB.
const DOCUMENT_LIMIT: u64 = 32 << 20;

/// A request with its limits. The defaults: no retries, no time limit per attempt, and a response of at most
/// [`DOCUMENT_LIMIT`] bytes.
#[derive(Clone, Debug)]
pub struct Request {
    method: Method,
    url: Url,
    headers: HeaderMap,
    body: Option<Vec<u8>>,
    retries: u32,
    within: Option<Duration>,
    limit: u64,
}

impl Request {
    /// A GET request.
    pub fn get(url: Url) -> Request {
        Request {
            method: Method::GET,
            url,
            headers: HeaderMap::new(),
            body: None,
            retries: 0,
            within: None,
            limit: DOCUMENT_LIMIT,
        }
    }

    /// A POST request with the fields of a form, as OAuth's token endpoints accept them.
    pub fn post_form(url: Url, fields: &[(&str, &str)]) -> Request {
        let body = url::form_urlencoded::Serializer::new(String::new()).extend_pairs(fields).finish();
        let mut request = Request { method: Method::POST, body: Some(body.into_bytes()), ..Request::get(url) };
        request.headers.insert(CONTENT_TYPE, HeaderValue::from_static("application/x-www-form-urlencoded"));
        request
    }

    /// Adds a header. An invalid value is ignored.
    #[must_use]
    pub fn header(mut self, name: HeaderName, value: &str) -> Request {
        if let Ok(value) = HeaderValue::from_str(value) {
            self.headers.insert(name, value);
        }
        self
    }

    /// Sets the accepted content types.
    #[must_use]
    pub fn accept(self, kinds: &str) -> Request {
        self.header(ACCEPT, kinds)
    }

    /// Adds a token, if there is one.
    #[must_use]
    pub fn bearer(mut self, token: Option<&str>) -> Request {
        if let Some(token) = token {
            self.authorize(&format!("Bearer {token}"));
        }
        self
    }

    /// Adds a name and a password.
    #[must_use]
    pub fn basic(mut self, name: &str, password: &str) -> Request {
        self.authorize(&format!("Basic {}", STANDARD.encode(format!("{name}:{password}"))));
        self
    }

    fn authorize(&mut self, value: &str) {
        if let Ok(mut value) = HeaderValue::from_str(value) {
            value.set_sensitive(true);
            self.headers.insert(AUTHORIZATION, value);
        }
    }

    /// Sets the number of retries. A request is retried if there is no complete response, or if the status is 429 or at
    /// least 500, except for 501.
    #[must_use]
    pub fn with_retries(mut self, retries: u32) -> Request {
        self.retries = retries;
        self
    }

    /// Sets the time limit of each attempt, including reading the content.
    #[must_use]
    pub fn with_timeout(mut self, within: Duration) -> Request {
        self.within = Some(within);
        self
    }

    /// Sets the size limit.
    #[must_use]
    pub fn with_limit(mut self, limit: u64) -> Request {
        self.limit = limit;
        self
    }

    /// The address of the request.
    pub fn url(&self) -> &Url {
        &self.url
    }

    pub(super) fn method(&self) -> &Method {
        &self.method
    }

    pub(super) fn headers(&self) -> &HeaderMap {
        &self.headers
    }

    pub(super) fn body(&self) -> Option<&[u8]> {
        self.body.as_deref()
    }

    pub(super) fn retries(&self) -> u32 {
        self.retries
    }

    pub(super) fn within(&self) -> Option<Duration> {
        self.within
    }

    pub(super) fn limit(&self) -> u64 {
        self.limit
    }
}

/// An address for messages, without a password and without the query, which may contain signatures.
pub fn shown(url: &Url) -> String {
    let mut url = url.clone();
    url.set_query(None);
    url.set_fragment(None);
    // These calls fail only for addresses that cannot have a user or a password, so there is nothing to remove.
    let _ = url.set_password(None);
    let _ = url.set_username("");
    url.to_string()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn secrets_are_not_shown() {
        let url = Url::parse("https://me:secret@x.test:8443/a/b?X-Signature=secret#f").unwrap();
        assert_eq!(shown(&url), "https://x.test:8443/a/b");
        let request = Request::get(url.clone()).bearer(Some("secret"));
        assert!(!format!("{:?}", request.headers()).contains("secret"));
        let request = Request::get(url).basic("me", "secret");
        assert_eq!(request.headers()[AUTHORIZATION], "Basic bWU6c2VjcmV0");
        assert!(!format!("{:?}", request.headers()).contains("bWU6"));
    }

    #[test]
    fn fields_are_escaped() {
        let request = Request::post_form(Url::parse("https://x.test/").unwrap(), &[("a", "1 &2"), ("b", "é")]);
        assert_eq!(request.body(), Some(&b"a=1+%262&b=%C3%A9"[..]));
    }
}
