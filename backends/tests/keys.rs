//! Key providers that are services: AWS KMS with the emulator moto, and the other services with a small server
//! (`tests/cases/keys_server.py`).

mod checks;

use std::path::Path;
use std::process::{Child, Command, Stdio};
use std::time::{Duration, Instant};

use serde_json::{Value, json};
use weft_backends::client::{ClientSettings, client};
use weft_backends::keys::connect;
use weft_sealing::KeyService;

/// The time limit for starting a server.
const START: Duration = Duration::from_secs(60);

struct Server {
    child: Child,
    port: u16,
}

impl Drop for Server {
    fn drop(&mut self) {
        let _ = self.child.kill();
        let _ = self.child.wait();
    }
}

fn until(what: &str, mut holds: impl FnMut() -> bool) {
    let begin = Instant::now();
    while !holds() {
        assert!(begin.elapsed() < START, "{what} does not start");
        std::thread::sleep(Duration::from_millis(50));
    }
}

/// A client with these settings and variables.
fn service(kind: &str, settings: Value, variables: &[(&str, &str)]) -> std::sync::Arc<dyn KeyService> {
    let environment =
        |name: &str| variables.iter().find(|(known, _)| *known == name).map(|(_, value)| (*value).to_owned());
    connect(kind, settings.as_object().unwrap(), &environment).client.unwrap()
}

/// Makes a key and finds it again, with the same client and with a second client. Returns the metadata of the key.
fn makes_and_finds(make: &dyn Fn() -> std::sync::Arc<dyn KeyService>) -> Value {
    let client = make();
    let (key, metadata) = client.new_key().unwrap();
    assert_eq!(key.expose().len() as u64, client.key_length());
    let (other, _) = client.new_key().unwrap();
    assert_ne!(key.expose(), other.expose());
    for client in [client, make()] {
        assert_eq!(client.key_of(&metadata).unwrap().expose(), key.expose());
        assert_eq!(client.key_of(b"{}").unwrap_err().to_string(), "it has no ciphertext");
    }
    serde_json::from_slice(&metadata).unwrap()
}

/// Sends a request to moto's KMS. moto recognizes the service by the signature.
async fn kms(port: u16, operation: &str, content: Value) -> Value {
    let scope = "Credential=key/20200101/us-east-1/kms/aws4_request";
    let request = client(&ClientSettings::default())
        .unwrap()
        .post(format!("http://127.0.0.1:{port}/"))
        .header("x-amz-target", format!("TrentService.{operation}"))
        .header("content-type", "application/x-amz-json-1.1")
        .header("authorization", format!("AWS4-HMAC-SHA256 {scope}, SignedHeaders=host, Signature=0"))
        .body(content.to_string());
    let answer = request.send().await.unwrap();
    assert!(answer.status().is_success(), "{operation}");
    serde_json::from_slice(&answer.bytes().await.unwrap()).unwrap_or_default()
}

#[cfg(feature = "s3")]
#[tokio::test]
async fn keys_of_aws_kms() {
    let arguments = ["-H", "127.0.0.1", "-p", "{port}"];
    let Some(server) = checks::Server::start("WEFT_MOTO_SERVER", "moto_server", &arguments, &[]).await else { return };
    let port = server.port;
    let made = kms(port, "CreateKey", json!({})).await;
    let id = made["KeyMetadata"]["KeyId"].as_str().unwrap().to_owned();
    let endpoint = format!("http://127.0.0.1:{port}");
    let variables = [
        ("AWS_ACCESS_KEY_ID", "key"),
        ("AWS_SECRET_ACCESS_KEY", "secret"),
        ("AWS_REGION", "us-east-1"),
        ("AWS_ENDPOINT_URL", endpoint.as_str()),
        ("AWS_EC2_METADATA_DISABLED", "true"),
    ];
    for settings in [
        json!({"kms_key_id": id, "key_spec": "AES_256"}),
        json!({"kms_key_id": id, "key_spec": "AES_128", "assume_role": {"role_arn": "arn:aws:iam::123456789012:role/r"},
            "endpoints": {"sts": endpoint}}),
        json!({"kms_key_id": id, "key_spec": "AES_256", "access_key": "a", "secret_key": "s",
            "allowed_account_ids": ["123456789012"]}),
    ] {
        let metadata = makes_and_finds(&|| service("aws_kms", settings.clone(), &variables));
        assert_eq!(metadata.as_object().unwrap().keys().collect::<Vec<_>>(), ["ciphertext_blob"]);
    }
    let missing = json!({"kms_key_id": "alias/none", "key_spec": "AES_256", "max_retries": 1});
    let error = service("aws_kms", missing, &variables).new_key().unwrap_err().to_string();
    assert!(
        error.contains("\"alias/none\" of AWS KMS in us-east-1: making a key failed: NotFoundException"),
        "{error}"
    );
    let settings = json!({"kms_key_id": id, "key_spec": "AES_256", "forbidden_account_ids": ["123456789012"]});
    let error = service("aws_kms", settings, &variables).new_key().unwrap_err().to_string();
    assert!(error.contains("account 123456789012 is excluded"), "{error}");
}

/// The server for the other services, and the file with the certificate of its authority.
fn keys_server(folder: &Path) -> Option<(Server, String)> {
    if Command::new("openssl").arg("version").stdout(Stdio::null()).status().is_err() {
        eprintln!("\n*** SKIPPED: no openssl on PATH, key services were NOT tested ***\n");
        return None;
    }
    let script = Path::new(env!("CARGO_MANIFEST_DIR")).join("../tests/cases/keys_server.py");
    let port_file = folder.join("port");
    let mut command = Command::new("python3");
    command.arg(script).arg("--folder").arg(folder).arg("--port-file").arg(&port_file);
    let Ok(child) = command.spawn() else {
        eprintln!("\n*** SKIPPED: no python3 on PATH, key services were NOT tested ***\n");
        return None;
    };
    let mut server = Server { child, port: 0 };
    until("the server for keys", || port_file.exists());
    server.port = std::fs::read_to_string(&port_file).unwrap().parse().unwrap();
    Some((server, folder.join("authority.pem").to_string_lossy().into_owned()))
}

#[test]
fn keys_of_openbao() {
    let folder = tempfile::tempdir().unwrap();
    let Some((server, _)) = keys_server(folder.path()) else { return };
    let address = format!("http://127.0.0.1:{}", server.port);
    let variables = [("BAO_ADDR", address.as_str()), ("VAULT_TOKEN", "root"), ("BAO_MAX_RETRIES", "0")];
    for settings in [
        json!({"key_name": "k"}),
        json!({"key_name": "k", "key_length": 16, "transit_engine_path": "transit/", "token": "root"}),
    ] {
        let metadata = makes_and_finds(&|| service("openbao", settings.clone(), &variables));
        assert_eq!(metadata.as_object().unwrap().keys().collect::<Vec<_>>(), ["ciphertext"]);
    }
    for (settings, want) in [
        (json!({"key_name": "k", "token": "other"}), "HTTP 403: permission denied. Check the token"),
        (json!({"key_name": "k", "transit_engine_path": "x"}), "HTTP 404: no handler for route. Check transit_engine"),
        (json!({"key_name": "k", "address": "http://127.0.0.1:1"}), "the service does not respond"),
    ] {
        let error = service("openbao", settings, &variables).new_key().unwrap_err().to_string();
        assert!(error.contains(want) && error.contains("the key \"k\" of OpenBao at http://127"), "{error}");
    }
    // OpenBao's metadata does not contain the length of the key. The length is known only after decryption.
    let error = service("openbao", json!({"key_name": "k"}), &variables).key_of(br#"{"ciphertext":"eA=="}"#);
    assert!(error.unwrap_err().to_string().contains("decrypting a key failed: HTTP 400: invalid ciphertext"));
}

#[cfg(feature = "azurerm")]
#[test]
fn keys_of_azure_vault() {
    let folder = tempfile::tempdir().unwrap();
    let Some((server, authority)) = keys_server(folder.path()) else { return };
    let address = format!("http://127.0.0.1:{}", server.port);
    let identity = format!("{address}/identity");
    let variables = [
        ("HTTPS_PROXY", address.as_str()),
        ("SSL_CERT_FILE", authority.as_str()),
        ("IDENTITY_ENDPOINT", identity.as_str()),
        ("IDENTITY_HEADER", "words"),
    ];
    let settings = json!({"vault_uri": "https://my-vault.vault.azure.net/", "vault_key_name": "k", "key_length": 32,
        "use_msi": true});
    let metadata = makes_and_finds(&|| service("azure_vault", settings.clone(), &variables));
    assert_eq!((metadata["algo"].as_str(), metadata["iv"].is_null()), (Some("RSA-OAEP-256"), true));
    let mut symmetric = settings.clone();
    (symmetric["symmetric"], symmetric["symmetric_key_size"]) = (json!(true), json!(256));
    let metadata = makes_and_finds(&|| service("azure_vault", symmetric.clone(), &variables));
    assert_eq!((metadata["algo"].as_str(), metadata["authentication_tag"].as_str()), (Some("A256GCM"), Some("dGFn")));
    // The version and the algorithm in the metadata take precedence over those in the settings.
    let text = metadata.to_string();
    assert!(service("azure_vault", settings, &variables).key_of(text.as_bytes()).is_ok());
}

#[cfg(feature = "gcs")]
#[test]
fn keys_of_gcp_kms() {
    let folder = tempfile::tempdir().unwrap();
    let Some((server, authority)) = keys_server(folder.path()) else { return };
    let address = format!("http://127.0.0.1:{}", server.port);
    let variables = [
        ("HTTPS_PROXY", address.as_str()),
        ("SSL_CERT_FILE", authority.as_str()),
        ("GOOGLE_OAUTH_ACCESS_TOKEN", "words"),
    ];
    let name = "projects/p/locations/l/keyRings/r/cryptoKeys/k";
    for settings in [
        json!({"kms_encryption_key": name, "key_length": 32}),
        json!({"kms_encryption_key": name, "key_length": 16, "impersonate_service_account": "a@p"}),
    ] {
        let metadata = makes_and_finds(&|| service("gcp_kms", settings.clone(), &variables));
        assert_eq!(metadata.as_object().unwrap().keys().collect::<Vec<_>>(), ["ciphertext"]);
    }
}
