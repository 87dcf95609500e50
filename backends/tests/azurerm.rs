//! The backend `azurerm` with Azurite, an emulator of Azure's blob service.

#![cfg(feature = "azurerm")]

mod checks;
mod front;

use std::sync::Arc;

use aws_lc_rs::signature::{RSA_PSS_2048_8192_SHA256, UnparsedPublicKey};
use base64::Engine as _;
use base64::engine::general_purpose::{STANDARD, URL_SAFE_NO_PAD};
use bytes::Bytes;
use checks::{Server, done, held, id, info, locked};
use front::{Front, Refusal, Seen};
use reqwest::Method;
use serde_json::{Value, json};
use weft_backends::catalog::connect;
use weft_state::remote::{Backend, Expected, Written};

/// The account of the server, and its key.
const ACCOUNT: &str = "states1";
const KEY: &str = "dGhlIGtleSBvZiB0aGUgYWNjb3VudA==";

/// A server with the container `states`, and a front server that can refuse requests.
struct Stage {
    _server: Server,
    front: Front,
}

async fn stage() -> Option<Stage> {
    let arguments = ["--silent", "--inMemoryPersistence", "--skipApiVersionCheck", "--disableTelemetry", "--blobPort"];
    let arguments = [&arguments[..], &["{port}"]].concat();
    let accounts = format!("{ACCOUNT}:{KEY}");
    let server = Server::start("WEFT_AZURITE", "azurite-blob", &arguments, &[("AZURITE_ACCOUNTS", &accounts)]).await?;
    let front = Front::start(server.port, KEY).await;
    let stage = Stage { _server: server, front };
    stage.raw(Method::PUT, "states?restype=container").await;
    Some(stage)
}

impl Stage {
    fn try_backend(&self, more: &Value, variables: &[(&str, &str)]) -> Result<Arc<dyn Backend>, Vec<String>> {
        let mut config = json!({"storage_account_name": ACCOUNT, "container_name": "states", "key": "team/a b"});
        for (name, value) in more.as_object().unwrap() {
            config[name] = value.clone();
        }
        let own = self.front.variables();
        let environment = |wanted: &str| {
            let given = variables.iter().find(|(name, _)| *name == wanted).map(|(_, value)| (*value).to_owned());
            given.or_else(|| own.iter().find(|(name, _)| name == wanted).map(|(_, value)| value.clone()))
        };
        let made = connect("azurerm", config.as_object().unwrap(), &environment);
        let backend = made.map_err(|problems| problems.into_iter().map(|problem| problem.summary).collect::<Vec<_>>());
        backend.map(|connected| connected.backend)
    }

    /// A backend that uses the key of the account.
    fn backend(&self, more: Value) -> Arc<dyn Backend> {
        let mut more = more;
        more["access_key"] = json!(KEY);
        let backend = self.try_backend(&more, &[]).unwrap();
        assert!(!format!("{backend:?}").contains(KEY));
        backend
    }

    /// Sends a signed request to the server. Returns the response.
    async fn raw(&self, method: Method, target: &str) -> String {
        let url = format!("http://127.0.0.1:{}/{target}", self._server.port);
        let date = jiff::Timestamp::now().strftime("%a, %d %b %Y %H:%M:%S GMT").to_string();
        let (path, query) = target.split_once('?').unwrap_or((target, ""));
        let query: Vec<String> = query.split('&').map(|pair| pair.replacen('=', ":", 1)).collect();
        let text = format!(
            "{method}{}x-ms-date:{date}\nx-ms-version:2021-12-02\n/{ACCOUNT}/{path}\n{}",
            "\n".repeat(12),
            query.join("\n")
        );
        let key = aws_lc_rs::hmac::Key::new(aws_lc_rs::hmac::HMAC_SHA256, &STANDARD.decode(KEY).unwrap());
        let signature = STANDARD.encode(aws_lc_rs::hmac::sign(&key, text.as_bytes()));
        let http = weft_backends::client::client(&weft_backends::client::ClientSettings::default()).unwrap();
        let request = http
            .request(method, url)
            .header("host", format!("{ACCOUNT}.blob.core.windows.net"))
            .header("x-ms-date", date)
            .header("x-ms-version", "2021-12-02")
            .header("authorization", format!("SharedKey {ACCOUNT}:{signature}"));
        let answer = request.send().await.unwrap();
        let status = answer.status();
        let body = answer.text().await.unwrap();
        assert!(status.is_success(), "{status}: {body}");
        body
    }
}

#[tokio::test]
async fn states_are_written_if_they_are_as_expected() {
    let Some(stage) = stage().await else { return };
    let state = stage.backend(json!({})).state("default").unwrap();
    assert_eq!(state.place(), "azure://states1/states/team/a b");
    checks::documents(state.as_ref()).await;
    let state = stage.backend(json!({})).state("other").unwrap();
    checks::documents_under_locks(state.as_ref()).await;
}

#[tokio::test]
async fn a_lock_has_one_holder() {
    let Some(stage) = stage().await else { return };
    let state = stage.backend(json!({})).state("default").unwrap();
    checks::locks(state.as_ref()).await;
    checks::contended_locks(&state).await;
    // A write is refused if the writing process does not hold the lock.
    let lock = locked(state.lock(&info(&id(1))).await.unwrap());
    assert_eq!(lock.path, "https://states1.blob.core.windows.net/states/team%2Fa%20b");
    let error = state.write(Bytes::from("{}"), &Expected::Absent, None).await.unwrap_err();
    assert!(error.to_string().contains("weft force-unlock"), "{error}");
    let error = state.write(Bytes::from("{}"), &Expected::Absent, Some(&id(2))).await.unwrap_err();
    assert!(error.to_string().contains("LeaseIdMismatchWithBlobOperation"), "{error}");
    done(state.write(Bytes::from("{}"), &Expected::Absent, Some(&lock.id)).await.unwrap());
    assert_eq!(held(state.lock(&info(&id(2))).await.unwrap()), lock);
}

#[tokio::test]
async fn workspaces_are_listed_and_deleted() {
    let Some(stage) = stage().await else { return };
    checks::workspaces(stage.backend(json!({})).as_ref(), "can't delete default state").await;
}

#[tokio::test]
async fn objects_are_created_once_and_listed() {
    let Some(stage) = stage().await else { return };
    checks::objects(&stage.backend(json!({})).state("default").unwrap().objects().unwrap(), 30).await;
}

#[tokio::test]
async fn each_write_keeps_a_snapshot_of_the_state_before() {
    let Some(stage) = stage().await else { return };
    let state = stage.backend(json!({"key": "kept", "snapshot": true})).state("default").unwrap();
    checks::documents_under_locks(state.as_ref()).await;
    let listed = stage.raw(Method::GET, "states?comp=list&include=snapshots&prefix=kept&restype=container").await;
    assert_eq!(listed.matches("<Snapshot>").count(), 2, "{listed}");
}

#[tokio::test]
async fn a_request_whose_answer_was_lost_finds_its_own_effect() {
    let Some(stage) = stage().await else { return };
    let state = stage.backend(json!({})).state("default").unwrap();
    stage.front.cut();
    let first = done(state.write(Bytes::from("{1}"), &Expected::Absent, None).await.unwrap());
    assert!(stage.front.has_cut());
    stage.front.cut();
    let second = done(state.write(Bytes::from("{2}"), &Expected::Version(first.clone()), None).await.unwrap());
    assert!(stage.front.has_cut());
    assert_eq!(state.read().await.unwrap().unwrap().version, second);
    let late = state.write(Bytes::from("{3}"), &Expected::Version(first), None).await.unwrap();
    assert_eq!(late, Written::Conflict);
    let objects = state.objects().unwrap();
    stage.front.cut();
    done(objects.create("lease", Bytes::from("1")).await.unwrap());
    assert!(stage.front.has_cut());
    stage.front.cut();
    let lock = locked(state.lock(&info(&id(1))).await.unwrap());
    assert!(stage.front.has_cut());
    assert_eq!(held(state.lock(&info(&id(2))).await.unwrap()), lock);
    stage.front.cut();
    state.unlock(&lock.id).await.unwrap();
    assert!(stage.front.has_cut());
    locked(state.lock(&info(&id(2))).await.unwrap());
}

#[tokio::test]
async fn a_missing_container_is_named_with_the_command_that_creates_it() {
    let Some(stage) = stage().await else { return };
    let backend = stage.backend(json!({"container_name": "missing"}));
    let state = backend.state("default").unwrap();
    for error in [
        state.read().await.unwrap_err(),
        state.write(Bytes::new(), &Expected::Absent, None).await.unwrap_err(),
        state.lock(&info(&id(1))).await.unwrap_err(),
        backend.workspaces().await.unwrap_err(),
    ] {
        assert!(
            error.to_string().contains("az storage container create --account-name states1 --name missing"),
            "{error}"
        );
    }
}

/// A response of the service with this code. `detail` may be empty.
fn refusal(status: u16, code: &str, detail: &str) -> Refusal {
    let detail = match detail {
        "" => String::new(),
        detail => format!("<AuthenticationErrorDetail>{detail}</AuthenticationErrorDetail>"),
    };
    let body = format!("<Error><Code>{code}</Code><Message>It failed.\nRequestId:1</Message>{detail}</Error>");
    (status, format!("x-ms-request-id: 1\r\nx-ms-error-code: {code}\r\n"), body)
}

#[tokio::test]
async fn each_refusal_names_the_way_out() {
    let Some(stage) = stage().await else { return };
    // The address of this account is not the address of Azurite, so the advice is the advice for Azure.
    let key = json!({"storage_account_name": "states2", "access_key": KEY});
    let signature = json!({"storage_account_name": "states2", "sas_token": "sv=1&sig=secret"});
    let listed = "Microsoft.Storage/storageAccounts/blobServices/containers/blobs/";
    for (proof, answer, read, write) in [
        // Wrong credentials.
        (&key, refusal(403, "AuthenticationFailed", "The MAC signature found is not the same"), "Check access_key", ""),
        (
            &key,
            refusal(403, "AuthenticationFailed", "Request date header too old"),
            "Set the clock of this machine",
            "",
        ),
        (
            &signature,
            refusal(403, "AuthenticationFailed", "Signature not valid in the specified time frame"),
            "The SAS token has expired",
            "",
        ),
        (&signature, refusal(403, "AuthenticationFailed", "Signature did not match"), "Check the SAS token", ""),
        (&key, refusal(409, "PublicAccessNotPermitted", ""), "Set \"access_key\"", ""),
        (&key, refusal(403, "KeyBasedAuthenticationNotPermitted", ""), "use_azuread_auth = true", ""),
        // No permission.
        (&signature, refusal(403, "AuthorizationPermissionMismatch", ""), "(sp) include \"r\"", "(sp) include \"cw\""),
        (
            &signature,
            refusal(403, "AuthorizationSourceIPMismatch", ""),
            "does not allow the address of this machine",
            "",
        ),
        (&key, refusal(403, "AuthorizationFailure", ""), "the network rules of the storage account states2", ""),
        // Missing resources.
        (&key, refusal(404, "ContainerNotFound", ""), "az storage container create --account-name states2", ""),
        (&key, refusal(409, "ContainerBeingDeleted", ""), "Try again in a minute", ""),
        (&key, refusal(403, "AccountIsDisabled", ""), "Enable the storage account states2", ""),
        // Locks.
        (&key, refusal(412, "LeaseIdMissing", ""), "weft force-unlock", ""),
        // Other kinds of objects and services.
        (&key, refusal(409, "InvalidBlobType", ""), "The blob with this key is of another kind", ""),
        (&key, refusal(409, "BlobArchived", ""), "az storage blob set-tier", ""),
        (&key, refusal(409, "BlobImmutableDueToPolicy", ""), "does not allow changes of blobs", ""),
        (&key, refusal(409, "BlobUsesCustomerSpecifiedEncryption", ""), "Set the customer_provided_key", ""),
        (&key, (403, String::new(), "<html>no</html>".to_owned()), "not from the blob service", ""),
    ] {
        stage.front.refuse(answer.clone());
        let state = stage.try_backend(proof, &[]).unwrap().state("default").unwrap();
        let reading = state.read().await.unwrap_err().to_string();
        assert!(reading.contains(read) && reading.contains("reading the state"), "{read}: {reading}");
        assert!(!reading.contains("secret") && !reading.contains(KEY), "{reading}");
        let objects = state.objects().unwrap();
        let writing = objects.create("journal", Bytes::from("1")).await.unwrap_err().to_string();
        let want = if write.is_empty() { read } else { write };
        assert!(writing.contains(want), "{want}: {writing}");
    }
    // A token of Entra ID for an identity without a role.
    let token = json!({"storage_account_name": "states2", "use_azuread_auth": true, "tenant_id": "tenant-1",
        "use_oidc": true, "oidc_token": "t", "client_id": "client-1"});
    let state = stage.try_backend(&token, &[]).unwrap().state("default").unwrap();
    // The first response comes from Entra ID.
    stage.front.refuse((200, String::new(), json!({"access_token": "t", "expires_in": 3599}).to_string()));
    assert!(state.read().await.is_ok());
    stage.front.refuse(refusal(403, "AuthorizationPermissionMismatch", ""));
    for (error, action) in [
        (state.read().await.unwrap_err(), "read"),
        (state.objects().unwrap().create("journal", Bytes::from("1")).await.unwrap_err(), "write"),
    ] {
        let error = error.to_string();
        assert!(error.contains("Storage Blob Data Contributor"), "{error}");
        assert!(error.contains(&format!("{listed}{action}")), "{error}");
    }
}

#[tokio::test]
async fn a_wrong_key_is_named() {
    let Some(stage) = stage().await else { return };
    let state = stage.try_backend(&json!({"access_key": STANDARD.encode("another")}), &[]).unwrap();
    let error = state.state("default").unwrap().read().await.unwrap_err().to_string();
    assert!(error.contains("Check access_key: it is not a key of the storage account states1"), "{error}");
}

#[tokio::test]
async fn a_signature_is_enough() {
    let Some(stage) = stage().await else { return };
    let text = format!("{ACCOUNT}\nrwdlac\nb\nco\n\n2099-01-01T00:00:00Z\n\nhttps,http\n2018-11-09\n");
    let key = aws_lc_rs::hmac::Key::new(aws_lc_rs::hmac::HMAC_SHA256, &STANDARD.decode(KEY).unwrap());
    let signature = STANDARD.encode(aws_lc_rs::hmac::sign(&key, text.as_bytes()));
    let signature = url::form_urlencoded::byte_serialize(signature.as_bytes()).collect::<String>();
    let token =
        format!("?sv=2018-11-09&ss=b&srt=co&sp=rwdlac&se=2099-01-01T00%3A00%3A00Z&spr=https%2Chttp&sig={signature}");
    let state = stage.try_backend(&json!({"sas_token": token}), &[]).unwrap().state("default").unwrap();
    checks::documents_under_locks(state.as_ref()).await;
    let lock = locked(state.lock(&info(&id(1))).await.unwrap());
    assert!(!lock.path.contains("sig="));
    let state = stage.try_backend(&json!({"sas_token": "sv=1&sig=secret"}), &[]).unwrap().state("default").unwrap();
    let error = state.read().await.unwrap_err().to_string();
    assert!(!error.contains("secret"), "{error}");
}

/// Reads a state with the account key that Resource Manager lists. Returns the requests to services other than the blob
/// service.
async fn listing(stage: &Stage, settings: Value, variables: &[(&str, &str)]) -> Vec<Seen> {
    let mut all = json!({"resource_group_name": "group-1", "subscription_id": "sub-1", "tenant_id": "tenant-1",
        "client_id": "client-1"});
    for (name, value) in settings.as_object().unwrap() {
        all[name] = value.clone();
    }
    let backend = stage.try_backend(&all, variables).unwrap();
    let state = backend.state("default").unwrap();
    assert_eq!(state.read().await.unwrap(), None, "{settings}");
    assert_eq!(state.read().await.unwrap(), None, "{settings}");
    stage.front.seen()
}

fn form(body: &str) -> Value {
    url::form_urlencoded::parse(body.as_bytes())
        .map(|(name, value)| (name.into_owned(), Value::from(value.into_owned())))
        .collect::<serde_json::Map<_, _>>()
        .into()
}

const TOKEN: &str = "POST login.microsoftonline.com/tenant-1/oauth2/v2.0/token";
const LIST: &str = "POST management.azure.com/subscriptions/sub-1/resourceGroups/group-1/providers/Microsoft.Storage/\
                    storageAccounts/states1/listKeys?api-version=2024-01-01";

#[tokio::test]
async fn keys_are_listed_with_a_secret() {
    let Some(stage) = stage().await else { return };
    let file = stage.front.file("secret", "the secret");
    let seen = listing(&stage, json!({"client_secret_file_path": file}), &[]).await;
    assert_eq!(seen.iter().map(|seen| seen.line.as_str()).collect::<Vec<_>>(), [TOKEN, LIST]);
    let want = json!({"grant_type": "client_credentials", "client_id": "client-1", "client_secret": "the secret",
        "scope": "https://management.core.windows.net//.default"});
    assert_eq!(form(&seen[0].body), want);
    assert!(seen[1].head.contains("authorization: Bearer entra-token"));
}

#[tokio::test]
async fn a_token_is_enough_with_use_azuread_auth() {
    let Some(stage) = stage().await else { return };
    let settings = json!({"storage_account_name": "states2", "use_azuread_auth": true, "tenant_id": "tenant-1",
        "client_id": "client-1", "client_secret": "s"});
    let backend = stage.try_backend(&settings, &[]).unwrap();
    let state = backend.state("default").unwrap();
    assert_eq!(state.read().await.unwrap().unwrap().content, Bytes::from("{}"));
    let seen = stage.front.seen();
    assert_eq!(form(&seen[0].body)["scope"], "https://storage.azure.com/.default");
    assert_eq!(seen[1].line, "GET states2.blob.core.windows.net/states/team%2Fa%20b");
    assert!(seen[1].head.contains("authorization: Bearer entra-token"));
    assert_eq!(backend.workspaces().await.unwrap(), ["default", "x", "y", "z"]);
    let lines: Vec<String> = stage.front.seen().into_iter().map(|seen| seen.line).collect();
    let list =
        "GET states2.blob.core.windows.net/states?restype=container&comp=list&prefix=team%2Fa+benv%3A&delimiter=%2F";
    assert_eq!(lines, [list.to_owned(), format!("{list}&marker=next%26")]);
}

#[tokio::test]
async fn keys_are_listed_with_a_certificate() {
    let Some(stage) = stage().await else { return };
    let pair = rcgen::KeyPair::generate_for(&rcgen::PKCS_RSA_SHA256).unwrap();
    let certificate = rcgen::CertificateParams::new(["app".to_owned()]).unwrap().self_signed(&pair).unwrap();
    let store = p12::PFX::new(certificate.der(), &pair.serialize_der(), None, "word", "app").unwrap().to_der();
    let settings = json!({"client_certificate": STANDARD.encode(&store), "client_certificate_password": "word",
        "client_certificate_path": stage.front.file("app.pfx", &store)});
    let seen = listing(&stage, settings, &[]).await;
    let form = form(&seen[0].body);
    assert_eq!(form["client_assertion_type"], "urn:ietf:params:oauth:client-assertion-type:jwt-bearer");
    let (text, signature) = form["client_assertion"].as_str().unwrap().rsplit_once('.').unwrap();
    let public = UnparsedPublicKey::new(&RSA_PSS_2048_8192_SHA256, pair.public_key_raw());
    public.verify(text.as_bytes(), &URL_SAFE_NO_PAD.decode(signature).unwrap()).unwrap();
    let parts: Vec<Value> =
        text.split('.').map(|part| serde_json::from_slice(&URL_SAFE_NO_PAD.decode(part).unwrap()).unwrap()).collect();
    let digest = aws_lc_rs::digest::digest(&aws_lc_rs::digest::SHA256, certificate.der());
    assert_eq!(parts[0], json!({"alg": "PS256", "typ": "JWT", "x5t#S256": URL_SAFE_NO_PAD.encode(digest)}));
    assert_eq!(parts[1]["aud"], "https://login.microsoftonline.com/tenant-1/oauth2/v2.0/token");
    assert_eq!((&parts[1]["iss"], &parts[1]["sub"]), (&json!("client-1"), &json!("client-1")));
    // With a wrong password, no method can be used.
    let settings = json!({"client_certificate": STANDARD.encode(&store), "client_certificate_password": "other",
        "tenant_id": "t", "client_id": "c"});
    let summaries = stage.try_backend(&settings, &[]).unwrap_err();
    assert_eq!(summaries.first().map(String::as_str), Some("Invalid Azure Client Certificate Auth"));
    assert_eq!(summaries.last().map(String::as_str), Some("No valid azure auth methods found"));
}

#[tokio::test]
async fn keys_are_listed_with_the_tokens_of_other_providers() {
    let Some(stage) = stage().await else { return };
    let file = stage.front.file("token", "file-token");
    let file = file.to_str().unwrap();
    let asked = [
        ("ACTIONS_ID_TOKEN_REQUEST_URL", "http://provider.example/token?x=1"),
        ("ACTIONS_ID_TOKEN_REQUEST_TOKEN", "t"),
    ];
    let pipeline = [("SYSTEM_OIDCREQUESTURI", "http://pipeline.example/oidc"), ("SYSTEM_ACCESSTOKEN", "t")];
    let pod = [("AZURE_CLIENT_ID", "client-1"), ("AZURE_TENANT_ID", "tenant-1"), ("AZURE_FEDERATED_TOKEN_FILE", file)];
    for (settings, variables, token, before) in [
        (json!({"use_oidc": true, "oidc_token": "own-token"}), &[][..], "own-token", None),
        (json!({"use_oidc": true, "oidc_token_file_path": file}), &[], "file-token", None),
        (
            json!({"use_oidc": true}),
            &asked,
            "foreign-token",
            Some("GET provider.example/token?x=1&audience=api%3A%2F%2FAzureADTokenExchange"),
        ),
        (
            json!({"use_oidc": true, "ado_service_connection_id": "i"}),
            &pipeline,
            "pipe-token",
            Some("POST pipeline.example/oidc?api-version=7.1&serviceConnectionId=i"),
        ),
        (json!({"use_aks_workload_identity": true, "client_id": null}), &pod, "file-token", None),
    ] {
        let seen = listing(&stage, settings.clone(), variables).await;
        let lines: Vec<&str> = seen.iter().map(|seen| seen.line.as_str()).collect();
        let want: Vec<&str> = before.into_iter().chain([TOKEN, LIST]).collect();
        assert_eq!(lines, want, "{settings}");
        assert_eq!(form(&seen[seen.len() - 2].body)["client_assertion"], token, "{settings}");
    }
}

#[tokio::test]
async fn keys_are_listed_with_the_identity_of_the_machine() {
    let Some(stage) = stage().await else { return };
    let seen = listing(&stage, json!({"use_msi": true}), &[]).await;
    let want = "GET 169.254.169.254/metadata/identity/oauth2/token?api-version=2018-02-01&\
                resource=https%3A%2F%2Fmanagement.core.windows.net%2F&client_id=client-1";
    assert_eq!((seen[0].line.as_str(), seen[1].line.as_str()), (want, LIST));
    assert!(seen[0].head.to_lowercase().contains("metadata: true"));
    assert!(seen[1].head.contains("authorization: Bearer machine-token"));
}

#[cfg(unix)]
#[tokio::test]
async fn keys_are_listed_with_the_azure_cli() {
    use std::os::unix::fs::PermissionsExt as _;
    let Some(stage) = stage().await else { return };
    let script = "#!/bin/sh\ndir=${0%/*}\necho \"$*\" >> $dir/calls\ncase $2 in\n\
                  show) echo '{\"id\": \"sub-1\"}';;\n\
                  *) echo '{\"accessToken\": \"cli-token\", \"expires_on\": 4000000000}';;\nesac\n";
    let program = stage.front.file("az", script);
    std::fs::set_permissions(&program, std::fs::Permissions::from_mode(0o755)).unwrap();
    let path = format!("/absent:{}", stage.front.folder.path().display());
    let settings = json!({"subscription_id": null, "client_id": null});
    let seen = listing(&stage, settings, &[("PATH", &path)]).await;
    assert_eq!(seen.iter().map(|seen| seen.line.as_str()).collect::<Vec<_>>(), [LIST]);
    assert!(seen[0].head.contains("authorization: Bearer cli-token"));
    let calls = std::fs::read_to_string(stage.front.folder.path().join("calls")).unwrap();
    let want = "account get-access-token -o json --resource https://management.core.windows.net/ --tenant tenant-1\n\
                account show -o json\n";
    assert_eq!(calls, want);
    let failing = stage.front.file("az", "#!/bin/sh\necho 'Please run az login' >&2\nexit 1\n");
    std::fs::set_permissions(&failing, std::fs::Permissions::from_mode(0o755)).unwrap();
    let backend = stage.try_backend(&json!({"use_azuread_auth": true}), &[("PATH", &path)]).unwrap();
    let error = backend.state("default").unwrap().read().await.unwrap_err().to_string();
    assert!(error.contains("Please run az login"), "{error}");
}

#[tokio::test]
async fn clouds_are_described_by_their_metadata_host() {
    let Some(stage) = stage().await else { return };
    let mut settings = json!({"access_key": KEY, "metadata_host": "metadata.example"});
    let state = stage.try_backend(&settings, &[]).unwrap().state("default").unwrap();
    let lock = locked(state.lock(&info(&id(1))).await.unwrap());
    assert_eq!(lock.path, "https://states1.blob.store.example/states/team%2Fa%20b");
    let lines: Vec<String> = stage.front.seen().into_iter().map(|seen| seen.line).collect();
    assert_eq!(lines, ["GET metadata.example/metadata/endpoints?api-version=2023-11-01"]);
    settings["metadata_host"] = json!("provider.example");
    let state = stage.try_backend(&settings, &[]).unwrap().state("default").unwrap();
    let error = state.read().await.unwrap_err().to_string();
    assert!(error.contains("the metadata host \"provider.example\""), "{error}");
}
