//! The HTTP client, with a host on this machine over TLS.

mod loopback;

use std::time::Duration;

use http::StatusCode;
use loopback::{Host, Reply};
use serde_json::json;
use url::Url;
use weft_registry::{Http, HttpError, HttpSettings, Request};

fn get(host: &Host, path: &str) -> Request {
    Request::get(Url::parse(&host.url(path)).unwrap())
}

#[tokio::test]
async fn only_json_documents_are_accepted() {
    let host = Host::start().await;
    host.put("/a", Reply::json(json!({"x": 1, "more": []})));
    host.put("/text", Reply::bytes("text/html", b"<html>".to_vec()));
    let client = Http::new(host.settings());
    let found: serde_json::Value = client.json(&get(&host, "/a")).await.unwrap();
    assert_eq!(found["x"], 1);
    let wrong = client.json::<serde_json::Value>(&get(&host, "/text")).await;
    assert!(matches!(wrong, Err(HttpError::Document { .. })), "{wrong:?}");
    assert_eq!(client.send(&get(&host, "/none")).await.unwrap().status, StatusCode::NOT_FOUND);
    let none = client.json::<serde_json::Value>(&get(&host, "/none?X-Signature=secret")).await.unwrap_err();
    assert_eq!(none.status(), Some(StatusCode::NOT_FOUND));
    assert!(!none.to_string().contains("secret"), "{none}");
}

#[tokio::test]
async fn failed_attempts_are_counted_and_reported() {
    let host = Host::start().await;
    host.put("/a", Reply::json(json!(1)).failing(2));
    let client = Http::new(host.settings());
    let failed = client.send(&get(&host, "/a").with_retries(1)).await.unwrap_err();
    assert_eq!(host.count("/a"), 2);
    assert!(failed.to_string().contains("after 2 attempts") && failed.to_string().contains("503"), "{failed}");
    assert_eq!(client.send(&get(&host, "/a").with_retries(1)).await.unwrap().body, b"1");
    // Client errors are not retried.
    host.put("/b", Reply::status(403));
    assert_eq!(client.send(&get(&host, "/b").with_retries(3)).await.unwrap().status, 403);
    assert_eq!(host.count("/b"), 1);
}

#[tokio::test]
async fn sizes_and_times_are_limited() {
    let host = Host::start().await;
    host.put("/large", Reply::bytes("application/zip", vec![7; 100_000]));
    host.put("/slow", Reply { delay: Duration::from_secs(30), ..Reply::json(json!(1)) });
    let client = Http::new(host.settings());
    let large = client.send(&get(&host, "/large").with_limit(99_999)).await;
    assert!(matches!(large, Err(HttpError::TooLarge { limit: 99_999, .. })), "{large:?}");
    let folder = tempfile::tempdir().unwrap();
    let file = folder.path().join("large");
    let large = client.download(&get(&host, "/large").with_limit(99_999), &file).await;
    assert!(matches!(large, Err(HttpError::TooLarge { .. })));
    let done = client.download(&get(&host, "/large"), &file).await.unwrap();
    assert_eq!((done.length, std::fs::metadata(&file).unwrap().len()), (100_000, 100_000));
    let digest = aws_lc_rs::digest::digest(&aws_lc_rs::digest::SHA256, &[7; 100_000]);
    assert_eq!(done.sha256.as_ref(), digest.as_ref());
    let slow = client.send(&get(&host, "/slow").with_timeout(Duration::from_millis(50))).await.unwrap_err();
    assert!(slow.to_string().contains("no response in time"), "{slow}");
}

#[tokio::test]
async fn only_safe_redirects_are_followed() {
    let (host, other) = (Host::start().await, Host::start().await);
    host.put("/a", Reply::redirect("/b"));
    host.put("/b", Reply::json(json!("b")));
    host.put("/round", Reply::redirect("/round"));
    host.put("/plain", Reply::redirect(&format!("http://localhost:{}/b", host.port)));
    host.put("/away", Reply::redirect(&other.url("/c")));
    other.put("/c", Reply::json(json!("c")));
    let mut settings = host.settings();
    let both = [host.authority(), other.authority()].map(|path| std::fs::read_to_string(path).unwrap()).concat();
    let folder = tempfile::tempdir().unwrap();
    let file = folder.path().join("both.pem");
    std::fs::write(&file, both).unwrap();
    settings.certificates.file = Some(file);
    let client = Http::new(settings);
    let answer = client.send(&get(&host, "/a").bearer(Some("t"))).await.unwrap();
    assert_eq!((answer.body.as_slice(), answer.url.path()), (&b"\"b\""[..], "/b"));
    assert_eq!(host.authorization("/b").as_deref(), Some("Bearer t"));
    client.send(&get(&host, "/away").bearer(Some("t"))).await.unwrap();
    assert_eq!(other.authorization("/c"), None, "another host learns no token");
    for (path, why) in [("/round", "more than 10 times"), ("/plain", "from https to http")] {
        let refused = client.send(&get(&host, path)).await.unwrap_err();
        assert!(refused.to_string().contains(why), "{refused}");
    }
}

#[tokio::test]
async fn unknown_certificates_are_refused() {
    let (host, other) = (Host::start().await, Host::start().await);
    host.put("/a", Reply::json(json!(1)));
    let refused = Http::new(other.settings()).send(&get(&host, "/a")).await.unwrap_err();
    assert!(refused.to_string().contains("certificate"), "{refused}");
    let gone = Request::get(Url::parse("https://localhost:1/x").unwrap());
    let refused = Http::new(host.settings()).send(&gone.with_retries(1)).await.unwrap_err();
    assert!(refused.to_string().contains("after 2 attempts"), "{refused}");
    let mut settings = HttpSettings::default();
    settings.certificates.file = Some("/not/there.pem".into());
    settings.certificates.directories = Some(Vec::new());
    let none = Http::new(settings).send(&get(&host, "/a")).await.unwrap_err();
    assert!(matches!(none, HttpError::Setup(_)), "{none}");
}

/// The certificates in this test are self-signed, as by `openssl req -x509`.
#[tokio::test]
async fn a_self_signed_certificate_can_be_trusted() {
    for (names, sound) in [(&["localhost"][..], true), (&["elsewhere.test"][..], false)] {
        let host = Host::alone(names).await;
        host.put("/a", Reply::json(json!(1)));
        let answer = Http::new(host.settings()).send(&get(&host, "/a")).await;
        assert_eq!(answer.is_ok(), sound, "{answer:?}");
        let other = Host::alone(names).await;
        assert!(Http::new(other.settings()).send(&get(&host, "/a")).await.is_err());
    }
}
