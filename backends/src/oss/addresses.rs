//! The URLs of objects.

use percent_encoding::utf8_percent_encode;
use url::{Host, Url};

use crate::exchange::{IN_PATHS, query};

/// Whether the bucket is a part of the path, which is the case if the host is an IP address.
pub(super) fn in_path(url: &Url) -> bool {
    !matches!(url.host(), Some(Host::Domain(_)))
}

/// The URL of an object. With an empty key, the URL of the bucket.
pub(super) fn object(endpoint: Url, bucket: &str, key: &str, pairs: &[(&str, &str)]) -> Url {
    let mut url = endpoint;
    let path = utf8_percent_encode(key, IN_PATHS);
    if in_path(&url) {
        url.set_path(&format!("/{bucket}/{path}"));
    } else {
        let host = format!("{bucket}.{}", url.host_str().unwrap_or_default());
        // The name of a bucket is valid in a host name. The service refuses other names.
        let _ = url.set_host(Some(&host));
        url.set_path(&path.to_string());
    }
    url.set_query(Some(query(pairs)).filter(|query| !query.is_empty()).as_deref());
    url
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_bucket_is_a_part_of_the_host_or_of_the_path() {
        let address = |endpoint: &str, key: &str, pairs: &[(&str, &str)]| {
            object(Url::parse(endpoint).unwrap(), "b", key, pairs).to_string()
        };
        assert_eq!(address("https://oss.test", "env:/k", &[]), "https://b.oss.test/env%3A/k");
        assert_eq!(address("http://127.0.0.1:1", "k", &[("versionId", "3")]), "http://127.0.0.1:1/b/k?versionId=3");
        assert_eq!(address("https://oss.test", "", &[("versions", "")]), "https://b.oss.test/?versions");
    }
}
