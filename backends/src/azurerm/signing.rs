//! Signing requests with a key of the storage account (the scheme Shared Key of Azure Storage).

use aws_lc_rs::hmac::{HMAC_SHA256, Key, sign};
use base64::Engine as _;
use base64::engine::general_purpose::STANDARD;

use crate::exchange::Call;

/// The prefix of the headers that are signed with their names.
const PREFIX: &str = "x-ms-";
/// The header with the time.
const DATE: &str = "x-ms-date";
/// The other headers that are signed, in the order of the signed text. Only their values are signed. The values of
/// these headers come before the length of the body, and those of `AFTER_LENGTH` come after it.
const BEFORE_LENGTH: [&str; 2] = ["content-encoding", "content-language"];
const AFTER_LENGTH: [&str; 8] = [
    "content-md5",
    "content-type",
    "date",
    "if-modified-since",
    "if-match",
    "if-none-match",
    "if-unmodified-since",
    "range",
];

/// The headers that sign a request. `time` is the current time as an HTTP date.
pub(super) fn headers(account: &str, key: &[u8], call: &Call, time: &str) -> Vec<(String, String)> {
    let text = text_to_sign(account, call, time);
    let signature = STANDARD.encode(sign(&Key::new(HMAC_SHA256, key), text.as_bytes()));
    let authorization = format!("SharedKey {account}:{signature}");
    vec![(DATE.to_owned(), time.to_owned()), ("authorization".to_owned(), authorization)]
}

fn text_to_sign(account: &str, call: &Call, time: &str) -> String {
    let value = |wanted: &&str| {
        let found = call.headers.iter().find(|(name, _)| name == wanted);
        found.map_or_else(String::new, |(_, value)| value.clone())
    };
    let length = call.body.len();
    let mut lines = vec![call.method.to_string()];
    lines.extend(BEFORE_LENGTH.iter().map(value));
    lines.push(if length == 0 { String::new() } else { length.to_string() });
    lines.extend(AFTER_LENGTH.iter().map(value));
    let headers = call.headers.iter().map(|(name, value)| (*name, value.as_str()));
    let metadata = call.metadata.iter().map(|(name, value)| (name.as_str(), value.as_str()));
    let named = headers.chain(metadata).chain([(DATE, time)]).filter(|(name, _)| name.starts_with(PREFIX));
    let mut named: Vec<(&str, &str)> = named.collect();
    named.sort_by_key(|(name, _)| order(name));
    lines.extend(named.into_iter().map(|(name, value)| format!("{name}:{}", value.trim())));
    lines.push(format!("/{account}{}", call.url.path()));
    let mut parameters: Vec<(String, String)> =
        call.url.query_pairs().map(|(name, value)| (name.to_lowercase(), value.into_owned())).collect();
    parameters.sort();
    lines.extend(parameters.into_iter().map(|(name, value)| format!("{name}:{value}")));
    lines.join("\n")
}

/// The sort key for names of headers: hyphens are ignored, and underscores precede digits.
fn order(name: &str) -> String {
    name.replace('-', "").replace('_', "!")
}

#[cfg(test)]
mod tests {
    use reqwest::Method;
    use url::Url;

    use super::*;

    #[test]
    fn all_that_matters_is_signed() {
        let url = Url::parse("https://acc.blob.example/box/a%2Fb%20c?comp=metadata&Timeout=9").unwrap();
        let mut call = Call::new("testing", Method::PUT, url)
            .header("x-ms-version", "2021-12-02")
            .header("if-match", "\"0x1\"")
            .body("application/json", "{}");
        call.metadata =
            [("x-ms-meta-a1", "one"), ("x-ms-meta-a_b", "two")].map(|(a, b)| (a.to_owned(), b.to_owned())).into();
        let text = text_to_sign("acc", &call, "now");
        let want = "PUT\n\n\n2\n\napplication/json\n\n\n\"0x1\"\n\n\n\nx-ms-date:now\nx-ms-meta-a_b:two\nx-ms-meta-a1:one\n\
                    x-ms-version:2021-12-02\n/acc/box/a%2Fb%20c\ncomp:metadata\ntimeout:9";
        assert_eq!(text, want);
        let headers = headers("acc", b"key", &call, "Fri, 26 Jun 2015 23:39:12 GMT");
        assert_eq!(headers[0].1, "Fri, 26 Jun 2015 23:39:12 GMT");
        assert!(headers[1].1.starts_with("SharedKey acc:"));
    }
}
