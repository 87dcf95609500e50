//! The sources of credentials of the backend `s3`, and what happens when the credentials expire. The tests use a small
//! server.

#![cfg(feature = "s3")]

mod cloud;

use std::path::Path;
use std::sync::Arc;
use std::sync::atomic::{AtomicUsize, Ordering};

use cloud::{Cloud, Reply, Seen, refusal, reply};
use serde_json::{Value, json};
use weft_backends::catalog::connect;
use weft_state::remote::{Backend, BackendError, RemoteState};

/// A temporary directory that replaces the home directory.
struct Home(tempfile::TempDir);

impl Home {
    fn new() -> Home {
        Home(tempfile::tempdir().unwrap())
    }

    /// Writes a file.
    fn file(&self, path: &str, content: impl AsRef<[u8]>) {
        let path = self.0.path().join(path);
        std::fs::create_dir_all(path.parent().unwrap()).unwrap();
        std::fs::write(path, content).unwrap();
    }

    fn read(&self, path: &str) -> Value {
        serde_json::from_slice(&std::fs::read(self.0.path().join(path)).unwrap()).unwrap()
    }

    fn path(&self) -> &Path {
        self.0.path()
    }
}

/// A backend with these settings and variables.
fn backend(cloud: &Cloud, home: &Home, more: Value, variables: &[(&str, &str)]) -> Arc<dyn Backend> {
    let mut config = json!({"bucket": "states", "key": "k", "region": "eu-central-1", "max_retries": 1});
    for (name, value) in more.as_object().unwrap() {
        config[name] = value.clone();
    }
    let (address, home) = (cloud.address(), home.path().to_str().unwrap().to_owned());
    let environment = |name: &str| match name {
        "HOME" => Some(home.clone()),
        "AWS_ENDPOINT_URL" => Some(address.clone()),
        // No metadata service listens at this URL.
        "AWS_EC2_METADATA_SERVICE_ENDPOINT" if !variables.iter().any(|(known, _)| *known == name) => {
            Some("http://127.0.0.1:1".to_owned())
        }
        name => variables.iter().find(|(known, _)| *known == name).map(|(_, value)| (*value).to_owned()),
    };
    connect("s3", config.as_object().unwrap(), &environment).unwrap().backend
}

fn state(cloud: &Cloud, home: &Home, more: Value, variables: &[(&str, &str)]) -> Arc<dyn RemoteState> {
    backend(cloud, home, more, variables).state("default").unwrap()
}

/// A form field of a request to STS.
fn field(seen: &Seen, name: &str) -> String {
    let fields = url::form_urlencoded::parse(seen.body.as_bytes());
    fields.into_iter().find(|(known, _)| known == name).map(|(_, value)| value.into_owned()).unwrap_or_default()
}

/// A response of STS. The id of the key names the role, and the key or token with which the role was assumed.
fn sts(seen: &Seen) -> Option<Reply> {
    let keys = |id: String| {
        reply(
            200,
            format!(
                "<R><Credentials><AccessKeyId>{id}</AccessKeyId><SecretAccessKey>s</SecretAccessKey>\
                 <SessionToken>t</SessionToken><Expiration>2099-01-01T00:00:00Z</Expiration></Credentials></R>"
            ),
        )
    };
    match field(seen, "Action").as_str() {
        "AssumeRole" => Some(keys(format!("{}.{}", seen.id(), field(seen, "RoleArn")))),
        "AssumeRoleWithWebIdentity" => {
            Some(keys(format!("{}.{}", field(seen, "WebIdentityToken"), field(seen, "RoleArn"))))
        }
        _ => None,
    }
}

const KEYS: [(&str, &str); 2] = [("AWS_ACCESS_KEY_ID", "env"), ("AWS_SECRET_ACCESS_KEY", "s")];

fn with<'a>(more: &[(&'a str, &'a str)]) -> Vec<(&'a str, &'a str)> {
    KEYS.iter().chain(more).copied().collect()
}

#[tokio::test]
async fn sources_have_the_order_of_the_sdk() {
    let cloud = Cloud::start(|seen| sts(seen).unwrap_or_else(|| refusal(404, "NoSuchKey"))).await;
    let home = Home::new();
    home.file(
        ".aws/credentials",
        "[default]\naws_access_key_id = default\naws_secret_access_key = s\n\
         [one]\naws_access_key_id = one\naws_secret_access_key = s\n",
    );
    home.file(".aws/config", "[profile role]\nrole_arn = r\nsource_profile = one\n[profile empty]\nregion = x\n");
    home.file("token", "tok\n");
    let token = home.path().join("token").to_str().unwrap().to_owned();
    let token = [("AWS_WEB_IDENTITY_TOKEN_FILE", token.as_str()), ("AWS_ROLE_ARN", "web")];
    let written = json!({"access_key": "written", "secret_key": "s", "profile": null});
    let web_identity = json!({"assume_role_with_web_identity": {"web_identity_token": "t", "role_arn": "w"}});
    let both = json!({"access_key": "written", "secret_key": "s",
        "assume_role_with_web_identity": {"web_identity_token": "t", "role_arn": "w"}, "assume_role": {"role_arn": "a"}});
    for (settings, variables, want) in [
        (json!({}), vec![], "default"),
        (json!({"profile": "one"}), vec![], "one"),
        (json!({}), vec![("AWS_PROFILE", "one")], "one"),
        (json!({}), vec![("AWS_DEFAULT_PROFILE", "one")], "one"),
        (json!({"profile": "role"}), vec![], "one.r"),
        // A profile in the settings takes precedence over the environment. Keys in the environment take precedence over
        // a profile that the environment names.
        (json!({"profile": "one"}), with(&[]), "one"),
        (json!({}), with(&[("AWS_PROFILE", "one")]), "env"),
        (json!({}), with(&token), "env"),
        (json!({}), vec![("AWS_ACCESS_KEY", "old"), ("AWS_SECRET_KEY", "s")], "old"),
        (json!({}), [&token[..], &[("AWS_PROFILE", "one")]].concat(), "tok.web"),
        (written, with(&[("AWS_PROFILE", "one")]), "written"),
        (json!({"access_key": "", "secret_key": ""}), with(&[]), "env"),
        (web_identity, with(&[]), "t.w"),
        (both, with(&[]), "written.a"),
    ] {
        let read = state(&cloud, &home, settings.clone(), &variables).read().await;
        assert_eq!(read.unwrap(), None, "{settings} {variables:?}");
        assert_eq!(cloud.seen().last().unwrap().id(), want, "{settings} {variables:?}");
    }
    let missing = json!({"access_key": "written", "secret_key": "s"});
    for (settings, variables, want) in [
        (json!({"profile": "none"}), with(&[]), "the argument profile names the profile \"none\", which is not in "),
        (json!({}), with(&[("AWS_PROFILE", "none")]), "AWS_PROFILE names the profile \"none\", which is not in "),
        (missing, vec![("AWS_PROFILE", "none")], "AWS_PROFILE names the profile \"none\""),
        (json!({"access_key": "a"}), with(&[]), "access_key and secret_key must both be set"),
        (json!({"profile": "empty"}), with(&[]), "the shared files have no credentials for the profile \"empty\""),
        (json!({}), vec![token[0]], "AWS_WEB_IDENTITY_TOKEN_FILE is set without AWS_ROLE_ARN"),
    ] {
        let error = state(&cloud, &home, settings.clone(), &variables).read().await.unwrap_err();
        let named = match &error {
            BackendError::Problem(problem) => problem.summary == "failed to get shared config profile, none",
            error => matches!(error, BackendError::Credentials { .. }),
        };
        assert!(named, "{error}");
        assert!(error.to_string().contains(want), "{error}");
    }
}

#[tokio::test]
async fn credentials_that_end_are_replaced_and_the_request_repeated() {
    for (code, status) in [("ExpiredToken", 400), ("TokenRefreshRequired", 400), ("InvalidAccessKeyId", 403)] {
        // Each response of the metadata service has a new key. The server refuses the first key and accepts all later
        // keys.
        let given = AtomicUsize::new(0);
        let cloud = Cloud::start(move |seen| match (seen.method.as_str(), seen.path.as_str()) {
            ("PUT", "/latest/api/token") => reply(200, "t"),
            ("GET", "/latest/meta-data/iam/security-credentials/") => reply(200, "role"),
            ("GET", "/latest/meta-data/iam/security-credentials/role") => {
                let id = format!("key{}", given.fetch_add(1, Ordering::SeqCst));
                let keys = json!({"AccessKeyId": id, "SecretAccessKey": "s", "Token": "t",
                    "Expiration": "2099-01-01T00:00:00Z"});
                reply(200, keys.to_string())
            }
            _ if seen.id() == "key0" && seen.service() == "dynamodb" => reply(
                400,
                json!({"__type": "com.amazon.coral.service#ExpiredTokenException", "message": "x"}).to_string(),
            ),
            _ if seen.id() == "key0" => refusal(status, code),
            _ if seen.service() == "dynamodb" => reply(200, "{}"),
            _ => refusal(404, "NoSuchKey"),
        })
        .await;
        let home = Home::new();
        let address = cloud.address();
        let variables = [("AWS_EC2_METADATA_SERVICE_ENDPOINT", address.as_str())];
        let read = state(&cloud, &home, json!({}), &variables).read().await;
        assert_eq!(read.unwrap(), None, "{code}");
        let ids: Vec<String> = cloud.seen().iter().map(Seen::id).filter(|id| !id.is_empty()).collect();
        assert_eq!(ids, ["key0", "key1"], "{code}");
    }
    // The errors of DynamoDB have a different format.
    let given = AtomicUsize::new(0);
    let cloud = Cloud::start(move |seen| match seen.path.as_str() {
        "/keys" => {
            let id = format!("key{}", given.fetch_add(1, Ordering::SeqCst));
            let keys = json!({"AccessKeyId": id, "SecretAccessKey": "s", "Token": "t"});
            reply(200, keys.to_string())
        }
        _ if seen.service() == "s3" => refusal(404, "NoSuchKey"),
        _ if seen.id() == "key0" => reply(400, json!({"__type": "x#ExpiredTokenException"}).to_string()),
        _ => reply(200, json!({"Item": {"LockID": {"S": "x"}, "Info": {"S": "{\"ID\":\"1\"}"}}}).to_string()),
    })
    .await;
    let keys = format!("{}/keys", cloud.address());
    let variables = [("AWS_CONTAINER_CREDENTIALS_FULL_URI", keys.as_str())];
    let table = state(&cloud, &Home::new(), json!({"dynamodb_table": "locks"}), &variables);
    let error = table.unlock("2").await.unwrap_err().to_string();
    assert!(error.contains("does not match existing lock"), "{error}");
    let ids: Vec<String> = cloud.seen().iter().map(Seen::id).collect();
    assert_eq!(ids, ["", "key0", "", "key1"]);
}

#[tokio::test(flavor = "multi_thread")]
async fn credentials_of_key_providers_are_replaced_too() {
    for ending in [json!("2099-01-01T00:00:00Z"), json!(null)] {
        replaced_for_key_providers(ending).await;
    }
}

async fn replaced_for_key_providers(ending: Value) {
    let given = AtomicUsize::new(0);
    let cloud = Cloud::start(move |seen| match seen.path.as_str() {
        "/keys" => {
            let id = format!("key{}", given.fetch_add(1, Ordering::SeqCst));
            let keys = json!({"AccessKeyId": id, "SecretAccessKey": "s", "Token": "t", "Expiration": ending});
            reply(200, keys.to_string())
        }
        _ if seen.id() == "key0" => reply(400, json!({"__type": "ExpiredTokenException"}).to_string()),
        _ => reply(200, json!({"Plaintext": "A".repeat(44), "CiphertextBlob": "AAAA"}).to_string()),
    })
    .await;
    let (address, keys) = (cloud.address(), format!("{}/keys", cloud.address()));
    let environment = |name: &str| match name {
        "AWS_ENDPOINT_URL" => Some(address.clone()),
        "AWS_CONTAINER_CREDENTIALS_FULL_URI" => Some(keys.clone()),
        _ => None,
    };
    let settings = json!({"kms_key_id": "alias/k", "key_spec": "AES_256", "region": "r-1"});
    let connected = weft_backends::keys::connect("aws_kms", settings.as_object().unwrap(), &environment);
    connected.client.unwrap().new_key().unwrap();
    let ids: Vec<String> = cloud.seen().iter().map(Seen::id).collect();
    assert_eq!(ids, ["", "key0", "", "key1"]);
}

#[tokio::test]
async fn version_1_of_the_metadata_service_can_be_refused() {
    let cloud = Cloud::start(|seen| match seen.path.as_str() {
        "/latest/meta-data/iam/security-credentials/" => reply(200, "role"),
        "/latest/meta-data/iam/security-credentials/role" => {
            reply(200, json!({"AccessKeyId": "old", "SecretAccessKey": "s", "Token": "t"}).to_string())
        }
        _ => refusal(404, "NoSuchKey"),
    })
    .await;
    let address = cloud.address();
    let metadata = [("AWS_EC2_METADATA_SERVICE_ENDPOINT", address.as_str()), ("AWS_EC2_METADATA_V1_DISABLED", "true")];
    state(&cloud, &Home::new(), json!({}), &metadata[..1]).read().await.unwrap();
    assert_eq!(cloud.seen().last().unwrap().id(), "old");
    assert!(state(&cloud, &Home::new(), json!({}), &metadata).read().await.is_err());
}

#[tokio::test]
async fn credentials_that_have_no_successor_are_reported() {
    let cloud = Cloud::start(|_| refusal(400, "ExpiredToken")).await;
    let error = state(&cloud, &Home::new(), json!({}), &with(&[])).read().await.unwrap_err().to_string();
    assert!(error.contains("ExpiredToken: No. Get new credentials: the session has ended"), "{error}");
    assert_eq!(cloud.seen().len(), 1, "nothing else can be tried");
}

/// A shell command that prints new keys at each call: `key0`, `key1` and so on.
fn counting_process(home: &Home, more: &str) -> String {
    let count = home.path().join("count");
    let count = count.display();
    format!(
        "n=$(cat {count} 2>/dev/null || echo 0); echo $((n + 1)) > {count}; printf \
         '{{\"Version\": 1, \"AccessKeyId\": \"key%s\", \"SecretAccessKey\": \"s\"{more}}}' $n"
    )
}

/// A server whose sources of credentials return new keys at each request: `key0`, `key1` and so on. Only `/v1/token`
/// always returns `key1`. The server returns the error `code` to requests that `key0` signed.
async fn cloud_with_sources(code: &'static str) -> Cloud {
    let given = AtomicUsize::new(0);
    let next = move || format!("key{}", given.fetch_add(1, Ordering::SeqCst));
    Cloud::start(move |seen| match (seen.method.as_str(), seen.path.as_str()) {
        ("PUT", "/latest/api/token") => reply(200, "t"),
        ("GET", "/latest/meta-data/iam/security-credentials/") => reply(200, "role"),
        ("GET", "/latest/meta-data/iam/security-credentials/role" | "/keys") => {
            let keys = json!({"AccessKeyId": next(), "SecretAccessKey": "s", "Token": "t",
                "Expiration": "2099-01-01T00:00:00Z"});
            reply(200, keys.to_string())
        }
        ("GET", path) if path.starts_with("/federation/credentials") => {
            let keys = json!({"accessKeyId": next(), "secretAccessKey": "s", "sessionToken": "t",
                "expiration": 4_070_908_800_000_u64});
            reply(200, json!({"roleCredentials": keys}).to_string())
        }
        ("POST", "/v1/token") => {
            let keys = json!({"accessKeyId": "key1", "secretAccessKey": "s", "sessionToken": "t"});
            reply(200, json!({"accessToken": keys, "expiresIn": 900}).to_string())
        }
        _ if field(seen, "Action").starts_with("AssumeRole") => reply(
            200,
            format!(
                "<R><Credentials><AccessKeyId>{}</AccessKeyId><SecretAccessKey>s</SecretAccessKey>\
                 <SessionToken>t</SessionToken><Expiration>2099-01-01T00:00:00Z</Expiration></Credentials></R>",
                next()
            ),
        ),
        _ if seen.id() == "key0" => refusal(400, code),
        _ => refusal(404, "NoSuchKey"),
    })
    .await
}

#[tokio::test]
async fn every_source_is_asked_again_at_once() {
    let login = json!({"accessToken": {"accessKeyId": "key0", "secretAccessKey": "s", "sessionToken": "t",
        "expiresAt": "2099-01-01T00:00:00Z"}, "clientId": "c", "refreshToken": "r",
        "dpopKey": rcgen::KeyPair::generate().unwrap().serialize_pem()});
    let login_file = aws_lc_rs::digest::digest(&aws_lc_rs::digest::SHA256, b"arn:l");
    let login_file: String = login_file.as_ref().iter().map(|byte| format!("{byte:02x}")).collect();
    for code in ["ExpiredToken", "ExpiredTokenException", "RequestExpired", "InvalidAccessKeyId"] {
        for source in [
            "process",
            "process without an end",
            "role with a process",
            "sso",
            "login",
            "web identity",
            "container",
            "instance",
        ] {
            let cloud = cloud_with_sources(code).await;
            let home = sso_home();
            home.file("token", "tok");
            home.file(SESSION_FILE, json!({"accessToken": "t", "expiresAt": "2099-01-01T00:00:00Z"}).to_string());
            home.file(&format!(".aws/login/cache/{login_file}.json"), login.to_string());
            let ending = r#", "Expiration": "2099-01-01T00:00:00Z""#;
            let process = counting_process(&home, if source == "process" { ending } else { "" });
            let base = "[profile base]\naws_access_key_id = base\naws_secret_access_key = s\n";
            let config = match source {
                "role with a process" => format!("{base}[default]\nrole_arn = r\nsource_profile = base\n"),
                "process" | "process without an end" => format!("[default]\ncredential_process = {process}\n"),
                "login" => "[default]\nlogin_session = arn:l\n".to_owned(),
                _ => String::new(),
            };
            let known = String::from_utf8(std::fs::read(home.path().join(".aws/config")).unwrap()).unwrap();
            home.file(".aws/config", format!("{known}{config}"));
            let (address, keys) = (cloud.address(), format!("{}/keys", cloud.address()));
            let token = home.path().join("token").display().to_string();
            let variables = match source {
                "web identity" => vec![("AWS_WEB_IDENTITY_TOKEN_FILE", token.as_str()), ("AWS_ROLE_ARN", "web")],
                "container" => vec![("AWS_CONTAINER_CREDENTIALS_FULL_URI", keys.as_str())],
                "instance" => vec![("AWS_EC2_METADATA_SERVICE_ENDPOINT", address.as_str())],
                _ => vec![],
            };
            let settings = if source == "sso" { json!({"profile": "new"}) } else { json!({}) };
            let read = state(&cloud, &home, settings, &variables).read().await;
            assert!(matches!(read, Ok(None)), "{source}, {code}: {read:?}");
            let ids: Vec<String> = cloud.seen().iter().filter(|seen| seen.service() == "s3").map(Seen::id).collect();
            assert_eq!(ids, ["key0", "key1"], "{source}, {code}");
        }
    }
}

#[tokio::test(flavor = "multi_thread", worker_threads = 4)]
async fn concurrent_requests_with_ended_keys_renew_them_once() {
    let cloud = cloud_with_sources("ExpiredToken").await;
    let home = Home::new();
    let process = counting_process(&home, "");
    home.file(".aws/config", format!("[default]\ncredential_process = {process}\n"));
    let state = state(&cloud, &home, json!({}), &[]);
    let reads = (0..20).map(|_| {
        let state = Arc::clone(&state);
        tokio::spawn(async move { state.read().await })
    });
    for read in reads.collect::<Vec<_>>() {
        assert_eq!(read.await.unwrap().unwrap(), None);
    }
    assert_eq!(std::fs::read_to_string(home.path().join("count")).unwrap().trim(), "2");
}

#[tokio::test]
async fn a_source_that_fails_is_asked_again_with_the_request() {
    let cloud = cloud_with_sources("ExpiredToken").await;
    for (fails, retries, want) in [(1, 3, None), (9, 2, Some("credential_process: the command ended with"))] {
        let home = Home::new();
        let process = counting_process(&home, "");
        // The source has keys at first, then fails several times, and then has keys again.
        let failing = format!("{process}; test $n -lt 1 -o $n -gt {fails}");
        home.file("keys", format!("#!/bin/sh\n{failing}\n"));
        home.file(".aws/config", format!("[default]\ncredential_process = sh {}/keys\n", home.path().display()));
        let read = state(&cloud, &home, json!({"max_retries": retries}), &[]).read().await;
        match (read, want) {
            (read, None) => assert_eq!(read.unwrap(), None),
            (read, Some(want)) => {
                let error = read.unwrap_err().to_string();
                assert!(error.contains(want) && error.contains("ExpiredToken"), "{error}");
            }
        }
    }
}

#[tokio::test]
async fn keys_hold_until_they_end_if_their_source_fails() {
    let cloud = Cloud::start(|_| refusal(404, "NoSuchKey")).await;
    let home = Home::new();
    let soon = jiff::Timestamp::now() + jiff::SignedDuration::from_secs(120);
    let process = counting_process(&home, &format!(r#", "Expiration": "{soon}""#));
    home.file("keys", format!("{process}; test $n -lt 1"));
    home.file(".aws/config", format!("[default]\ncredential_process = sh {}/keys\n", home.path().display()));
    let state = state(&cloud, &home, json!({}), &[]);
    for _ in 0..2 {
        assert_eq!(state.read().await.unwrap(), None);
    }
    let ids: Vec<String> = cloud.seen().iter().map(Seen::id).collect();
    assert_eq!(ids, ["key0", "key0"]);
}

#[tokio::test]
async fn a_base_that_has_ended_is_asked_again_before_a_role_is_given_up() {
    let cloud = Cloud::start(|seen| match sts(seen) {
        Some(_) if seen.id() == "key0" => refusal(403, "ExpiredToken"),
        Some(keys) => keys,
        None => refusal(404, "NoSuchKey"),
    })
    .await;
    let home = Home::new();
    let process = counting_process(&home, "");
    home.file(".aws/config", format!("[default]\ncredential_process = {process}\n"));
    let settings = json!({"assume_role": {"role_arn": "arn:r"}});
    assert_eq!(state(&cloud, &home, settings, &[]).read().await.unwrap(), None);
    assert_eq!(cloud.seen().last().unwrap().id(), "key1.arn:r");
}

#[tokio::test]
async fn sts_has_a_region_of_its_own() {
    let cloud = Cloud::start(|seen| sts(seen).unwrap_or_else(|| refusal(404, "NoSuchKey"))).await;
    for (settings, want) in [(json!({}), "eu-central-1"), (json!({"sts_region": "us-west-2"}), "us-west-2")] {
        let mut settings = settings;
        settings["assume_role"] = json!({"role_arn": "r"});
        state(&cloud, &Home::new(), settings, &with(&[])).read().await.unwrap();
        let regions: Vec<String> = cloud.seen().iter().filter_map(|seen| Some(seen.scope()?[2].clone())).collect();
        assert_eq!(regions, [want, "eu-central-1"]);
    }
}

#[tokio::test]
async fn roles_that_cannot_be_assumed_have_the_summaries_of_opentofu() {
    let cloud = Cloud::start(|_| refusal(403, "AccessDenied")).await;
    let web_identity = json!({"role_arn": "arn:r", "web_identity_token": "t"});
    for (settings, summary, detail) in [
        (
            json!({"assume_role": {"role_arn": "arn:r"}}),
            "Cannot assume IAM Role",
            "the role arn:r cannot be assumed: AccessDenied: No. Grant the caller the action sts:AssumeRole on arn:r",
        ),
        (
            json!({"assume_role_with_web_identity": web_identity}),
            "Cannot assume IAM Role with web identity",
            "Grant the caller the action sts:AssumeRoleWithWebIdentity on arn:r",
        ),
        (
            json!({"assume_role_with_web_identity": {"role_arn": "arn:r"}}),
            "Assume Role With Web Identity",
            "Set web_identity_token or web_identity_token_file in assume_role_with_web_identity",
        ),
        (
            json!({"assume_role_with_web_identity": {"web_identity_token": "t"}}),
            "Assume Role With Web Identity",
            "Set role_arn in assume_role_with_web_identity, or the environment variable AWS_ROLE_ARN.",
        ),
    ] {
        let error = state(&cloud, &Home::new(), settings, &with(&[])).read().await.unwrap_err();
        let BackendError::Problem(problem) = error else { panic!("{error}") };
        assert_eq!(problem.summary, summary);
        assert!(problem.detail.contains(detail), "{}", problem.detail);
    }
}

const SESSION_FILE: &str = ".aws/sso/cache/a0f1490a20d0211c997b44bc357e1972deab8ae3.json";
const LEGACY_FILE: &str = ".aws/sso/cache/e8be5486177c5b5392bd9aa76563515b29358e6e.json";

fn sso_home() -> Home {
    let home = Home::new();
    let account = "sso_account_id = 123456789012\nsso_role_name = states\n";
    home.file(
        ".aws/config",
        format!(
            "[profile new]\nsso_session = s\n{account}[profile legacy]\nsso_region = eu-west-1\n\
             sso_start_url = https://example.awsapps.com/start\n{account}\
             [sso-session s]\nsso_region = eu-west-1\nsso_start_url = https://example.awsapps.com/start\n"
        ),
    );
    home
}

/// The responses of the services for SSO. The token `good` is valid, and `refresh` renews a session.
fn sso(seen: &Seen) -> Reply {
    let portal = "/federation/credentials?role_name=states&account_id=123456789012";
    match (seen.method.as_str(), seen.path.as_str()) {
        ("GET", path) if path == portal && seen.header("x-amz-sso_bearer_token") == Some("good") => {
            let keys = json!({"accessKeyId": "sso", "secretAccessKey": "s", "sessionToken": "t",
                "expiration": 4_070_908_800_000_u64});
            reply(200, json!({"roleCredentials": keys}).to_string())
        }
        ("GET", path) if path == portal => reply(401, json!({"message": "Session token not found"}).to_string()),
        ("POST", "/token") => {
            let body: Value = serde_json::from_str(&seen.body).unwrap();
            let want =
                json!({"clientId": "c", "clientSecret": "cs", "grantType": "refresh_token", "refreshToken": "refresh"});
            match body == want {
                true => {
                    reply(200, json!({"accessToken": "good", "expiresIn": 3600, "refreshToken": "next"}).to_string())
                }
                false => reply(400, json!({"error": "invalid_grant"}).to_string()),
            }
        }
        _ => refusal(404, "NoSuchKey"),
    }
}

#[tokio::test]
async fn logins_with_sso() {
    let cloud = Cloud::start(sso).await;
    let token = |token: &str, expires: &str| json!({"accessToken": token, "expiresAt": expires, "region": "eu-west-1"});
    let (later, earlier) = ("2099-01-01T00:00:00Z", "2020-01-01T00:00:00Z");
    // A valid token is used without being renewed.
    for (profile, file, time) in [
        ("new", SESSION_FILE, later),
        ("legacy", LEGACY_FILE, later),
        ("legacy", LEGACY_FILE, "2099-01-01T00:00:00UTC"),
    ] {
        let home = sso_home();
        home.file(file, token("good", time).to_string());
        state(&cloud, &home, json!({"profile": profile}), &[]).read().await.unwrap();
        assert_eq!(cloud.seen().last().unwrap().id(), "sso", "{profile}");
    }
    // The expired token of a session is renewed and stored.
    let home = sso_home();
    let mut expired = token("bad", earlier);
    for (name, value) in [("clientId", "c"), ("clientSecret", "cs"), ("refreshToken", "refresh")] {
        expired[name] = json!(value);
    }
    home.file(SESSION_FILE, expired.to_string());
    state(&cloud, &home, json!({"profile": "new"}), &[]).read().await.unwrap();
    assert_eq!(cloud.seen().last().unwrap().id(), "sso");
    let stored = home.read(SESSION_FILE);
    assert_eq!((&stored["accessToken"], &stored["refreshToken"]), (&json!("good"), &json!("next")));
    assert_eq!((&stored["region"], &stored["clientId"]), (&json!("eu-west-1"), &json!("c")));
    assert!(stored["expiresAt"].as_str().unwrap().parse::<jiff::Timestamp>().unwrap() > jiff::Timestamp::now());
    assert_eq!(std::fs::read_dir(home.path().join(".aws/sso/cache")).unwrap().count(), 1);
    // A token that the service has revoked before its expiry is renewed too.
    let home = sso_home();
    let mut ended = expired.clone();
    ended["expiresAt"] = json!(later);
    home.file(SESSION_FILE, ended.to_string());
    state(&cloud, &home, json!({"profile": "new"}), &[]).read().await.unwrap();
    assert_eq!(home.read(SESSION_FILE)["accessToken"], "good");
    // The error names the problem, and the command that solves it.
    let mut refused = expired.clone();
    refused["refreshToken"] = json!("other");
    for (profile, file, content, want) in [
        ("new", SESSION_FILE, None, "No such file or directory"),
        ("new", SESSION_FILE, Some(json!([])), "the file is not a JSON object"),
        ("new", SESSION_FILE, Some(json!({"accessToken": "good"})), "it has no valid expiresAt"),
        ("new", SESSION_FILE, Some(token("bad", later)), "the SSO session has ended: it answered 401"),
        ("new", SESSION_FILE, Some(token("bad", earlier)), "the SSO session has expired; log in"),
        ("new", SESSION_FILE, Some(refused), "cannot be renewed: it answered 400"),
        ("legacy", LEGACY_FILE, Some(expired), "the SSO session has expired; log in"),
    ] {
        let home = sso_home();
        if let Some(content) = content {
            home.file(file, content.to_string());
        }
        let error = state(&cloud, &home, json!({"profile": profile}), &[]).read().await.unwrap_err().to_string();
        let command = if profile == "new" { "aws sso login --sso-session s" } else { "aws sso login --profile legacy" };
        assert!(error.contains(want) && error.contains(command), "{error}");
    }
}

#[tokio::test]
async fn logins_with_aws_login() {
    let cloud = Cloud::start(|seen| match seen.path.as_str() {
        "/v1/token" => {
            let body: Value = serde_json::from_str(&seen.body).unwrap();
            let proof = seen.header("dpop").unwrap_or_default().split('.').count();
            assert_eq!((proof, &body["refreshToken"]), (3, &json!("refresh")));
            assert_eq!((&body["clientId"], &body["grantType"]), (&json!("c"), &json!("refresh_token")));
            let keys = json!({"accessKeyId": "renewed", "secretAccessKey": "s", "sessionToken": "t"});
            reply(200, json!({"accessToken": keys, "expiresIn": 900, "refreshToken": "next"}).to_string())
        }
        _ => refusal(404, "NoSuchKey"),
    })
    .await;
    let key = rcgen::KeyPair::generate().unwrap().serialize_pem();
    let token = |expires: &str| {
        json!({"accessToken": {"accessKeyId": "login", "secretAccessKey": "s", "sessionToken": "t",
            "accountId": "1", "expiresAt": expires}, "clientId": "c", "refreshToken": "refresh", "dpopKey": key})
    };
    let name = aws_lc_rs::digest::digest(&aws_lc_rs::digest::SHA256, b"arn:l");
    let name: String = name.as_ref().iter().map(|byte| format!("{byte:02x}")).collect();
    let file = format!(".aws/login/cache/{name}.json");
    for (expires, want) in [("2099-01-01T00:00:00Z", "login"), ("2020-01-01T00:00:00Z", "renewed")] {
        let home = Home::new();
        home.file(".aws/config", "[default]\nlogin_session = arn:l\n");
        home.file(&file, token(expires).to_string());
        state(&cloud, &home, json!({}), &[]).read().await.unwrap();
        assert_eq!(cloud.seen().last().unwrap().id(), want);
        assert_eq!(home.read(&file)["accessToken"]["accessKeyId"], want);
    }
    let home = Home::new();
    home.file(".aws/config", "[default]\nlogin_session = arn:l\n");
    let error = state(&cloud, &home, json!({}), &[]).read().await.unwrap_err().to_string();
    assert!(error.contains("log in with \"aws login\""), "{error}");
}

#[tokio::test]
async fn tokens_for_containers_stay_on_this_machine() {
    let cloud = Cloud::start(|_| refusal(404, "NoSuchKey")).await;
    let variables = [("AWS_CONTAINER_CREDENTIALS_FULL_URI", "http://192.0.2.1/keys")];
    let error = state(&cloud, &Home::new(), json!({}), &variables).read().await.unwrap_err().to_string();
    assert!(error.contains("192.0.2.1 is not a host of this machine"), "{error}");
}
