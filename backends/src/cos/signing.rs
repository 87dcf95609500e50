//! The signature of requests to COS, which the documentation calls "request signature".

use std::sync::Arc;
use std::time::{SystemTime, UNIX_EPOCH};

use async_trait::async_trait;
use percent_encoding::percent_decode_str;
use weft_state::remote::BackendError;

use crate::digests::{hex, hmac_sha1, sha1_hex};
use crate::exchange::{Authorize, Call, in_query};
use crate::expiring::KeyRing;

/// The validity of a signature, in seconds.
const VALID: u64 = 3600;

/// Signs requests with keys.
pub(super) struct Signer(pub(super) Arc<KeyRing>);

#[async_trait]
impl Authorize for Signer {
    async fn authorize(&self, call: &Call) -> Result<Vec<(String, String)>, BackendError> {
        let keys = self.0.current().await?;
        let now = SystemTime::now().duration_since(UNIX_EPOCH).unwrap_or_default().as_secs();
        let time = format!("{now};{}", now + VALID);
        let mut added = Vec::new();
        if let Some(token) = keys.token {
            added.push(("x-cos-security-token".to_owned(), token));
        }
        let own = call.headers.iter().map(|(name, value)| ((*name).to_owned(), value.clone()));
        let mut headers: Vec<(String, String)> = own.chain(added.clone()).collect();
        headers.push(("host".to_owned(), call.url.host_str().unwrap_or_default().to_owned()));
        let parameters: Vec<(String, String)> = call.url.query_pairs().into_owned().collect();
        let path = percent_decode_str(call.url.path()).decode_utf8_lossy().into_owned();
        let (headers, parameters) = (Listed::of(&headers), Listed::of(&parameters));
        let text = http_string(call.method.as_str(), &path, &parameters, &headers);
        let signature = signature(&sign_key(&keys.secret, &time), &time, &text);
        let header = format!(
            "q-sign-algorithm=sha1&q-ak={}&q-sign-time={time}&q-key-time={time}&q-header-list={}&q-url-param-list={}&\
             q-signature={signature}",
            keys.id, headers.names, parameters.names
        );
        added.push(("authorization".to_owned(), header));
        Ok(added)
    }

    async fn rejected(&self) -> bool {
        self.0.forget().await
    }
}

/// Headers or parameters in the form that is signed.
struct Listed {
    /// The names.
    names: String,
    /// The names with their values.
    pairs: String,
}

impl Listed {
    fn of(pairs: &[(String, String)]) -> Listed {
        let mut pairs: Vec<(String, String)> =
            pairs.iter().map(|(name, value)| (in_query(name).to_lowercase(), in_query(value))).collect();
        pairs.sort();
        let names: Vec<&str> = pairs.iter().map(|(name, _)| name.as_str()).collect();
        let names = names.join(";");
        let pairs: Vec<String> = pairs.iter().map(|(name, value)| format!("{name}={value}")).collect();
        Listed { names, pairs: pairs.join("&") }
    }
}

/// The description of a request that is signed.
fn http_string(method: &str, path: &str, parameters: &Listed, headers: &Listed) -> String {
    format!("{}\n{path}\n{}\n{}\n", method.to_lowercase(), parameters.pairs, headers.pairs)
}

/// The signing key for a period of time.
fn sign_key(secret: &str, time: &str) -> String {
    hex(&hmac_sha1(secret.as_bytes(), time))
}

fn signature(sign_key: &str, time: &str, text: &str) -> String {
    hex(&hmac_sha1(sign_key.as_bytes(), &format!("sha1\n{time}\n{}\n", sha1_hex(text.as_bytes()))))
}

#[cfg(test)]
mod tests {
    use super::*;

    /// The examples of the documentation (product 436, page 7778). The documentation hides the secret, but shows the
    /// signing key that is derived from the secret.
    #[test]
    fn the_examples_of_the_documentation() {
        let listed = |pairs: &[(&str, &str)]| {
            Listed::of(&pairs.iter().map(|(name, value)| ((*name).to_owned(), (*value).to_owned())).collect::<Vec<_>>())
        };
        let host = ("Host", "examplebucket-1250000000.cos.ap-beijing.myqcloud.com");
        let headers = listed(&[
            ("Date", "Thu, 16 May 2019 06:45:51 GMT"),
            host,
            ("Content-Type", "text/plain"),
            ("Content-Length", "13"),
            ("Content-MD5", "mQ/fVh815F3k6TAUm8m0eg=="),
            ("x-cos-acl", "private"),
            ("x-cos-grant-read", "uin=\"100000000011\""),
        ]);
        assert_eq!(headers.names, "content-length;content-md5;content-type;date;host;x-cos-acl;x-cos-grant-read");
        let text = http_string("PUT", "/exampleobject(腾讯云)", &listed(&[]), &headers);
        assert_eq!(sha1_hex(text.as_bytes()), "8b2751e77f43a0995d6e9eb9477f4b685cca4172");
        let key = "eb2519b498b02ac213cb1f3d1a3d27a3b3c9bc5f";
        assert_eq!(signature(key, "1557989151;1557996351", &text), "3b8851a11a569213c17ba8fa7dcf2abec6935172");

        let headers = listed(&[("Date", "Thu, 16 May 2019 06:55:53 GMT"), host]);
        let parameters =
            listed(&[("response-content-type", "application/octet-stream"), ("response-cache-control", "max-age=600")]);
        assert_eq!(parameters.names, "response-cache-control;response-content-type");
        let text = http_string("GET", "/exampleobject(腾讯云)", &parameters, &headers);
        assert_eq!(sha1_hex(text.as_bytes()), "54ecfe22f59d3514fdc764b87a32d8133ea611e6");
    }
}
