//! The signature of requests to OSS, version 1.

use std::sync::Arc;

use async_trait::async_trait;
use base64::Engine as _;
use base64::engine::general_purpose::STANDARD;
use percent_encoding::percent_decode_str;
use url::Url;
use weft_state::remote::BackendError;

use super::addresses::in_path;
use crate::digests::hmac_sha1;
use crate::exchange::{Authorize, Call};
use crate::expiring::KeyRing;

/// The parameters that are part of the signed text.
const SIGNED: [&str; 2] = ["versionId", "versions"];
/// The prefix of the headers that are part of the signed text.
const OWN: &str = "x-oss-";

/// Signs requests with keys.
pub(super) struct Signer {
    pub(super) keys: Arc<KeyRing>,
    pub(super) bucket: String,
}

#[async_trait]
impl Authorize for Signer {
    async fn authorize(&self, call: &Call) -> Result<Vec<(String, String)>, BackendError> {
        let keys = self.keys.current().await?;
        let date = jiff::Timestamp::now().strftime("%a, %d %b %Y %H:%M:%S GMT").to_string();
        let mut added = vec![("date".to_owned(), date)];
        added.extend(keys.token.map(|token| ("x-oss-security-token".to_owned(), token)));
        let own = call.headers.iter().map(|(name, value)| ((*name).to_owned(), value.clone()));
        let headers: Vec<(String, String)> = own.chain(added.clone()).collect();
        let signature = signature(&keys.secret, call.method.as_str(), &headers, &resource(&call.url, &self.bucket));
        added.push(("authorization".to_owned(), format!("OSS {}:{signature}", keys.id)));
        Ok(added)
    }

    async fn rejected(&self) -> bool {
        self.keys.forget().await
    }
}

/// The resource of a request: the bucket, the key, and some parameters.
fn resource(url: &Url, bucket: &str) -> String {
    let path = percent_decode_str(url.path()).decode_utf8_lossy();
    let path = if in_path(url) { path.into_owned() } else { format!("/{bucket}{path}") };
    let mut pairs: Vec<(String, String)> =
        url.query_pairs().into_owned().filter(|(name, _)| SIGNED.contains(&name.as_str())).collect();
    pairs.sort();
    let pair =
        |(name, value): &(String, String)| if value.is_empty() { name.clone() } else { format!("{name}={value}") };
    let pairs: Vec<String> = pairs.iter().map(pair).collect();
    if pairs.is_empty() { path } else { format!("{path}?{}", pairs.join("&")) }
}

fn signature(secret: &str, method: &str, headers: &[(String, String)], resource: &str) -> String {
    let mut headers: Vec<(String, &str)> =
        headers.iter().map(|(name, value)| (name.to_lowercase(), value.as_str())).collect();
    headers.sort();
    let header = |wanted: &str| headers.iter().find(|(name, _)| name == wanted).map_or("", |(_, value)| *value);
    let own: String = headers
        .iter()
        .filter(|(name, _)| name.starts_with(OWN))
        .map(|(name, value)| format!("{name}:{value}\n"))
        .collect();
    let (md5, media, date) = (header("content-md5"), header("content-type"), header("date"));
    let text = format!("{method}\n{md5}\n{media}\n{date}\n{own}{resource}");
    STANDARD.encode(hmac_sha1(secret.as_bytes(), &text))
}

#[cfg(test)]
mod tests {
    use super::*;

    /// The example of the documentation ("Include signatures in the Authorization header").
    #[test]
    fn the_example_of_the_documentation() {
        let headers = [
            ("Content-Md5", "ODBGOERFMDMzQTczRUY3NUE3NzA5QzdFNUYzMDQxNEM="),
            ("Content-Type", "text/html"),
            ("Date", "Thu, 17 Nov 2005 18:49:58 GMT"),
            ("Host", "oss-example.oss-cn-hangzhou.aliyuncs.com"),
            ("X-OSS-Meta-Author", "foo@bar.com"),
            ("X-OSS-Magic", "abracadabra"),
        ];
        let headers = headers.map(|(name, value)| (name.to_owned(), value.to_owned()));
        let resource =
            resource(&Url::parse("http://oss-example.oss-cn-hangzhou.aliyuncs.com/nelson").unwrap(), "oss-example");
        let secret = "OtxrzxIsfpFjA7SwPzILwy8Bw21TLhquhboDYROV";
        assert_eq!(signature(secret, "PUT", &headers, &resource), "26NBxoKdsyly4EDv6inkoDft/yA=");
    }

    #[test]
    fn resources() {
        for (url, want) in [
            ("https://b.oss.test/env%3A/k?marker=x", "/b/env:/k"),
            ("https://b.oss.test/?versions&prefix=a", "/b/?versions"),
            ("http://127.0.0.1:1/b/k?versionId=3", "/b/k?versionId=3"),
        ] {
            assert_eq!(resource(&Url::parse(url).unwrap(), "b"), want, "{url}");
        }
    }
}
