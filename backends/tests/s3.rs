//! The backend `s3` with moto, an emulator of S3 and DynamoDB.

mod checks;
mod cloud;

use std::collections::BTreeMap;
use std::sync::atomic::{AtomicBool, Ordering};
use std::sync::{Arc, Mutex};

use bytes::Bytes;
use checks::{Server, done, info, locked};
use cloud::{Cloud, refusal, reply};
use serde_json::{Value, json};
use tokio::io::{AsyncReadExt as _, AsyncWriteExt as _};
use weft_backends::catalog::connect;
use weft_backends::client::{ClientSettings, client};
use weft_state::remote::{Backend, BackendError, Expected, LockAnswer, LockInfo, ObjectVersion, Written};

/// Starts a server with the bucket `states` and the table `locks`. `None`, with a loud message, if it cannot be
/// started.
async fn moto() -> Option<Server> {
    let server = Server::start("WEFT_MOTO_SERVER", "moto_server", &["-H", "127.0.0.1", "-p", "{port}"], &[]).await?;
    let port = server.port;
    let http = client(&ClientSettings::default()).unwrap();
    // moto accepts requests without a signature.
    let bucket = http.put(format!("http://127.0.0.1:{port}/states")).send().await.unwrap();
    assert!(bucket.status().is_success(), "{}", bucket.status());
    let table = json!({"TableName": "locks", "BillingMode": "PAY_PER_REQUEST",
        "AttributeDefinitions": [{"AttributeName": "LockID", "AttributeType": "S"}],
        "KeySchema": [{"AttributeName": "LockID", "KeyType": "HASH"}]});
    assert!(dynamodb(port, "CreateTable", table).await.get("TableDescription").is_some());
    Some(server)
}

async fn dynamodb(port: u16, operation: &str, content: Value) -> Value {
    let http = client(&ClientSettings::default()).unwrap();
    let request = http
        .post(format!("http://127.0.0.1:{port}/"))
        .header("x-amz-target", format!("DynamoDB_20120810.{operation}"))
        .header("content-type", "application/x-amz-json-1.0")
        .header("authorization", "AWS4-HMAC-SHA256 Credential=a/20260101/us-east-1/dynamodb/aws4_request")
        .body(content.to_string());
    serde_json::from_slice(&request.send().await.unwrap().bytes().await.unwrap()).unwrap()
}

fn backend(port: u16, more: Value) -> Arc<dyn Backend> {
    let endpoint = format!("http://127.0.0.1:{port}");
    let mut config = json!({"bucket": "states", "key": "dir/k.tfstate", "region": "us-east-1", "access_key": "a",
        "secret_key": "very-secret", "endpoints": {"s3": endpoint, "dynamodb": endpoint}, "max_retries": 3});
    for (name, value) in more.as_object().unwrap() {
        config[name] = value.clone();
    }
    let backend = connect("s3", config.as_object().unwrap(), &|_| None).unwrap().backend;
    assert!(!format!("{backend:?}").contains("very-secret"));
    backend
}

#[tokio::test]
async fn states_are_written_if_they_are_as_expected() {
    let Some(moto) = moto().await else { return };
    let tags = json!({"encrypt": true, "state_tags": {"a b": "c=d+e@f"}, "acl": "private"});
    let state = backend(moto.port, tags).state("default").unwrap();
    assert_eq!(state.place(), "s3://states/dir/k.tfstate");
    checks::documents(state.as_ref()).await;
    assert!(!state.locks());
    let locked = backend(moto.port, json!({"key": "other", "use_lockfile": true})).state("default").unwrap();
    checks::documents_under_locks(locked.as_ref()).await;
}

#[tokio::test]
async fn each_kind_of_lock_has_one_holder() {
    let Some(moto) = moto().await else { return };
    for settings in [
        json!({"use_lockfile": true}),
        json!({"dynamodb_table": "locks"}),
        json!({"use_lockfile": true, "dynamodb_table": "locks"}),
    ] {
        let state = backend(moto.port, settings).state("default").unwrap();
        checks::locks(state.as_ref()).await;
        checks::contended_locks(&state).await;
        let lock = locked(state.lock(&info("1")).await.unwrap());
        assert_eq!((lock.id.as_str(), lock.path.as_str()), ("1", "states/dir/k.tfstate"));
        let error = state.unlock("2").await.unwrap_err().to_string();
        assert!(error.contains("does not match existing lock"), "{error}");
        state.unlock("1").await.unwrap();
    }
    // If another process holds the second lock, the first one is released.
    let row = backend(moto.port, json!({"dynamodb_table": "locks"})).state("default").unwrap();
    let object = backend(moto.port, json!({"use_lockfile": true})).state("default").unwrap();
    let both = backend(moto.port, json!({"use_lockfile": true, "dynamodb_table": "locks"})).state("default").unwrap();
    assert!(matches!(row.lock(&info("row")).await.unwrap(), LockAnswer::Locked(_)));
    let LockAnswer::Held { holder, .. } = both.lock(&info("both")).await.unwrap() else { panic!("locked") };
    assert_eq!(holder.id, "row");
    assert!(matches!(object.lock(&info("object")).await.unwrap(), LockAnswer::Locked(_)));
}

/// Writes a lock with this text to the table.
async fn put_lock(port: u16, text: &str) {
    let item = json!({"LockID": {"S": "states/dir/k.tfstate"}, "Info": {"S": text}});
    dynamodb(port, "PutItem", json!({"TableName": "locks", "Item": item})).await;
}

#[tokio::test]
async fn locks_of_other_tools_are_released() {
    let Some(moto) = moto().await else { return };
    let state = backend(moto.port, json!({"dynamodb_table": "locks"})).state("default").unwrap();
    // The stored text is compared exactly.
    put_lock(moto.port, "{\"Who\": \"a<b\", \"ID\": \"1\", \"Other\": 1}").await;
    assert!(state.unlock("2").await.unwrap_err().to_string().contains("does not match existing lock"));
    state.unlock("1").await.unwrap();
    locked(state.lock(&info("3")).await.unwrap());
}

/// OpenTofu compares the text of a lock with the text that Go would write for the same content.
#[tokio::test]
async fn opentofu_releases_locks_of_weft() {
    let Some(moto) = moto().await else { return };
    let Ok(tofu) = std::env::var("WEFT_TOFU") else {
        eprintln!("\n*** SKIPPED: no WEFT_TOFU, locks were NOT tested with OpenTofu ***\n");
        return;
    };
    let folder = tempfile::tempdir().unwrap();
    let endpoint = format!("http://127.0.0.1:{}", moto.port);
    let block = format!(
        "terraform {{\n backend \"s3\" {{\n bucket = \"states\"\n key = \"dir/k.tfstate\"\n region = \"us-east-1\"\n \
         dynamodb_table = \"locks\"\n use_path_style = true\n endpoints = {{ s3 = \"{endpoint}\", dynamodb = \
         \"{endpoint}\", sts = \"{endpoint}\" }}\n }}\n}}\n"
    );
    std::fs::write(folder.path().join("main.tf"), block).unwrap();
    let run = async |arguments: &[&str]| {
        let mut command = tokio::process::Command::new(&tofu);
        command.args(arguments).current_dir(folder.path()).env("HOME", folder.path());
        command.envs([("AWS_ACCESS_KEY_ID", "a"), ("AWS_SECRET_ACCESS_KEY", "b"), ("CHECKPOINT_DISABLE", "1")]);
        let output = command.output().await.unwrap();
        let text = [output.stdout, output.stderr].concat();
        (output.status.success(), String::from_utf8_lossy(&text).into_owned())
    };
    let (good, text) = run(&["init", "-input=false", "-no-color"]).await;
    assert!(good, "{text}");
    let state = backend(moto.port, json!({"dynamodb_table": "locks"})).state("default").unwrap();
    for (number, created) in ["2026-01-01T00:00:00Z", "2026-01-01T00:00:00.5Z", ""].into_iter().enumerate() {
        let id = checks::id(u32::try_from(number).unwrap());
        let created = match created {
            "" => weft_state::remote::creation_time(jiff::Timestamp::now()),
            created => created.to_owned(),
        };
        let who = "a<b>&\u{2028}\"\\@host".to_owned();
        let lock = LockInfo { who, created, version: "1.12.6".to_owned(), ..info(&id) };
        locked(state.lock(&lock).await.unwrap());
        let (good, text) = run(&["force-unlock", "-force", "-no-color", &id]).await;
        assert!(good, "{text}");
        assert!(state.unlock(&id).await.is_err(), "it was released");
    }
}

#[tokio::test]
async fn both_locks_are_released_even_if_one_is_not() {
    let Some(moto) = moto().await else { return };
    let both = backend(moto.port, json!({"use_lockfile": true, "dynamodb_table": "locks"})).state("default").unwrap();
    let object = backend(moto.port, json!({"use_lockfile": true})).state("default").unwrap();
    let row = backend(moto.port, json!({"dynamodb_table": "locks"})).state("default").unwrap();
    // The lock object has a different holder.
    locked(object.lock(&info("other")).await.unwrap());
    locked(row.lock(&info("own")).await.unwrap());
    let error = both.unlock("own").await.unwrap_err().to_string();
    assert!(error.contains("dynamoDB lock released but s3 failed: lock id \"own\" does not match"), "{error}");
    assert!(row.unlock("own").await.is_err(), "it was released");
    // The lock item has a different holder.
    locked(row.lock(&info("own")).await.unwrap());
    let error = both.unlock("other").await.unwrap_err().to_string();
    assert!(error.contains("s3 lock released but dynamoDB failed: lock id \"other\" does not match"), "{error}");
    assert!(object.unlock("other").await.is_err(), "it was released");
    // Both locks have a different holder.
    let error = both.unlock("other").await.unwrap_err().to_string();
    assert!(error.contains("s3: lock id \"other\" does not match existing lock; dynamoDB: lock id"), "{error}");
}

/// Starts an object storage service that ignores the conditions in the header `ignored`.
async fn careless(ignored: &'static str) -> Cloud {
    let objects: Mutex<BTreeMap<String, String>> = Mutex::default();
    Cloud::start(move |seen| {
        let mut objects = objects.lock().unwrap();
        let old = objects.get(&seen.path).cloned();
        let etag = old.as_ref().map(|old| format!("\"{}\"", old.len()));
        let condition = |name: &str| seen.header(name).filter(|_| name != ignored);
        match seen.method.as_str() {
            "PUT" if condition("if-none-match").is_some() && old.is_some() => refusal(412, "PreconditionFailed"),
            "PUT" if condition("if-match").is_some_and(|wanted| Some(wanted) != etag.as_deref()) => {
                refusal(412, "PreconditionFailed")
            }
            "PUT" => {
                objects.insert(seen.path.clone(), seen.body.clone());
                (200, format!("etag: \"{}\"\r\n", seen.body.len()), String::new())
            }
            "DELETE" => {
                objects.remove(&seen.path);
                reply(204, "")
            }
            _ => match old {
                Some(old) => (200, format!("etag: {}\r\n", etag.unwrap_or_default()), old),
                None => refusal(404, "NoSuchKey"),
            },
        }
    })
    .await
}

#[tokio::test]
async fn services_that_ignore_conditions_are_named_at_the_first_use() {
    for (ignored, named) in [("if-none-match", "If-None-Match"), ("if-match", "If-Match"), ("neither", "")] {
        let cloud = careless(ignored).await;
        let state = backend(cloud.port, json!({"use_lockfile": true})).state("default").unwrap();
        assert_eq!(state.read().await.unwrap(), None);
        if named.is_empty() {
            locked(state.lock(&info("1")).await.unwrap());
            let before = cloud.seen().len();
            done(state.write(Bytes::from("{}"), &Expected::Absent, None).await.unwrap());
            assert_eq!((before, cloud.seen().len()), (6, 1), "it is tried once");
            continue;
        }
        let want = format!("the service, or a proxy on the way to it, ignores the header {named}");
        let error = state.lock(&info("1")).await.unwrap_err().to_string();
        assert!(error.contains(&want), "{error}");
        let error = state.write(Bytes::from("{}"), &Expected::Absent, None).await.unwrap_err().to_string();
        assert!(error.contains(&want), "{error}");
        let left = cloud.seen().iter().filter(|seen| seen.method == "DELETE").count();
        assert_eq!(left, 1, "the object of the attempt is removed");
        assert_eq!(state.read().await.unwrap(), None, "nothing was written");
    }
}

#[tokio::test]
async fn buckets_can_be_access_points() {
    let cloud = careless("neither").await;
    let bucket = "arn:aws:s3:us-east-1:123456789012:accesspoint/point";
    let state = backend(cloud.port, json!({"bucket": bucket})).state("default").unwrap();
    done(state.write(Bytes::from("{}"), &Expected::Absent, None).await.unwrap());
    assert_eq!(cloud.seen().last().unwrap().path, "/point-123456789012/dir/k.tfstate");
}

#[tokio::test]
async fn buckets_can_be_access_points_to_several_regions() {
    let cloud = careless("neither").await;
    let bucket = "arn:aws:s3::123456789012:accesspoint/point.mrap";
    let state = backend(cloud.port, json!({"bucket": bucket})).state("default").unwrap();
    done(state.write(Bytes::from("{}"), &Expected::Absent, None).await.unwrap());
    let seen = cloud.seen().pop().unwrap();
    assert_eq!(seen.path, "/point.mrap/dir/k.tfstate");
    // The signature is valid in all regions, so its scope has no region.
    assert_eq!(seen.header("x-amz-region-set"), Some("*"));
    let authorization = seen.header("authorization").unwrap();
    assert!(authorization.starts_with("AWS4-ECDSA-P256-SHA256 Credential="), "{authorization}");
    let scope = authorization.split_once("Credential=").unwrap().1.split(',').next().unwrap();
    let parts: Vec<&str> = scope.split('/').collect();
    assert_eq!((parts.len(), &parts[2..]), (4, &["s3", "aws4_request"][..]), "{scope}");
    assert!(authorization.contains("x-amz-region-set"), "it is signed: {authorization}");
}

#[tokio::test]
async fn a_digest_that_does_not_fit_is_awaited_and_then_reported() {
    let Some(moto) = moto().await else { return };
    let state = backend(moto.port, json!({"dynamodb_table": "locks"})).state("default").unwrap();
    done(state.write(Bytes::from("{}"), &Expected::Absent, None).await.unwrap());
    let row = json!({"LockID": {"S": "states/dir/k.tfstate-md5"}});
    let found = dynamodb(moto.port, "GetItem", json!({"TableName": "locks", "Key": row})).await;
    assert_eq!(found.pointer("/Item/Digest/S"), Some(&json!("99914b932bd37a50b983c5e7c90ae93b")));
    assert!(state.read().await.unwrap().is_some());
    let wrong = json!({"LockID": row["LockID"], "Digest": {"S": "0".repeat(32)}});
    dynamodb(moto.port, "PutItem", json!({"TableName": "locks", "Item": wrong})).await;
    let error = state.read().await.unwrap_err();
    assert!(
        matches!(&error, BackendError::Refused { advice, .. } if advice.contains("99914b932bd37a50b983c5e7c90ae93b"))
    );
}

#[tokio::test]
async fn a_write_that_did_not_end_leaves_a_state_that_can_be_read() {
    let Some(moto) = moto().await else { return };
    let state = backend(moto.port, json!({"dynamodb_table": "locks"})).state("default").unwrap();
    let row = json!({"LockID": {"S": "states/dir/k.tfstate-md5"}});
    let item = || dynamodb(moto.port, "GetItem", json!({"TableName": "locks", "Key": row}));
    let next = |found: &Value| found.pointer("/Item/WeftNext/S").cloned();
    done(state.write(Bytes::from("{}"), &Expected::Absent, None).await.unwrap());
    assert_eq!(next(&item().await), None);
    // Simulates a process that dies before it writes the state: the write fails because the expected state does not
    // match.
    assert_eq!(state.write(Bytes::from("[1]"), &Expected::Absent, None).await.unwrap(), Written::Conflict);
    let found = item().await;
    assert_eq!(found.pointer("/Item/Digest/S"), Some(&json!("99914b932bd37a50b983c5e7c90ae93b")));
    assert!(next(&found).is_some());
    assert_eq!(state.read().await.unwrap().unwrap().content, "{}");
    // Simulates a process that dies after writing the state, but before writing the digest.
    let without_table = backend(moto.port, json!({})).state("default").unwrap();
    let before = Expected::Version(without_table.read().await.unwrap().unwrap().version);
    done(without_table.write(Bytes::from("[1]"), &before, None).await.unwrap());
    let read = state.read().await.unwrap().unwrap();
    assert_eq!(read.content, "[1]");
    done(state.write(Bytes::from("[2]"), &Expected::Version(read.version), None).await.unwrap());
    assert_eq!(next(&item().await), None);
}

#[tokio::test]
async fn workspaces_are_listed_and_deleted() {
    let Some(moto) = moto().await else { return };
    let backend = backend(moto.port, json!({"use_lockfile": true, "dynamodb_table": "locks"}));
    checks::workspaces(backend.as_ref(), "can't delete default state").await;
}

#[tokio::test]
async fn objects_are_created_once_and_listed_over_several_pages() {
    let Some(moto) = moto().await else { return };
    checks::objects(&backend(moto.port, json!({})).state("default").unwrap().objects().unwrap(), 1005).await;
}

#[tokio::test]
async fn only_allowed_accounts_are_used() {
    let Some(moto) = moto().await else { return };
    let sts = format!("http://127.0.0.1:{}", moto.port);
    for (list, account, good) in [
        ("allowed_account_ids", "123456789012", true),
        ("allowed_account_ids", "210987654321", false),
        ("forbidden_account_ids", "123456789012", false),
        ("forbidden_account_ids", "210987654321", true),
    ] {
        let mut settings = json!({"endpoints": {"s3": sts, "sts": sts}});
        settings[list] = json!([account]);
        let read = backend(moto.port, settings).state("default").unwrap().read().await;
        assert_eq!(read.is_ok(), good, "{list} {account}: {read:?}");
    }
}

#[tokio::test]
async fn a_role_is_assumed() {
    let Some(moto) = moto().await else { return };
    let sts = format!("http://127.0.0.1:{}", moto.port);
    let role = json!({"role_arn": "arn:aws:iam::123456789012:role/states", "duration": "15m", "tags": {"a": "b"}});
    let settings = json!({"endpoints": {"s3": sts, "sts": sts}, "assume_role": role});
    let state = backend(moto.port, settings).state("default").unwrap();
    done(state.write(Bytes::from("{}"), &Expected::Absent, None).await.unwrap());
    assert!(state.read().await.unwrap().is_some());
}

#[tokio::test]
async fn a_missing_bucket_is_named_with_the_command_that_creates_it() {
    let Some(moto) = moto().await else { return };
    let backend = backend(moto.port, json!({"bucket": "missing"}));
    let expected = "Create the bucket with: aws s3api create-bucket --bucket missing --region us-east-1";
    let state = backend.state("default").unwrap();
    assert!(state.read().await.unwrap_err().to_string().contains(expected));
    assert!(state.write(Bytes::new(), &Expected::Absent, None).await.unwrap_err().to_string().contains(expected));
    assert!(backend.workspaces().await.unwrap_err().to_string().contains(expected));
}

/// Starts a proxy that forwards connections. After the first PUT, it closes the connection before the response.
async fn proxy(target: u16) -> (u16, Arc<AtomicBool>) {
    let listener = tokio::net::TcpListener::bind(("127.0.0.1", 0)).await.unwrap();
    let port = listener.local_addr().unwrap().port();
    let armed = Arc::new(AtomicBool::new(true));
    let cutting = armed.clone();
    tokio::spawn(async move {
        while let Ok((mut near, _)) = listener.accept().await {
            let cutting = cutting.clone();
            tokio::spawn(async move {
                let mut far = tokio::net::TcpStream::connect(("127.0.0.1", target)).await.unwrap();
                let (mut up, mut down) = (vec![0; 1 << 16], vec![0; 1 << 16]);
                let mut put = false;
                loop {
                    tokio::select! {
                        read = near.read(&mut up) => match read {
                            Ok(n) if n > 0 => {
                                put = put || up.starts_with(b"PUT ");
                                far.write_all(&up[..n]).await.unwrap();
                            }
                            _ => return,
                        },
                        read = far.read(&mut down) => match read {
                            Ok(n) if n > 0 => {
                                if put && cutting.swap(false, Ordering::SeqCst) {
                                    return;
                                }
                                near.write_all(&down[..n]).await.unwrap();
                            }
                            _ => return,
                        },
                    }
                }
            });
        }
    });
    (port, armed)
}

#[tokio::test]
async fn a_write_whose_answer_was_lost_finds_itself() {
    let Some(moto) = moto().await else { return };
    let (port, armed) = proxy(moto.port).await;
    let state = backend(port, json!({})).state("default").unwrap();
    // The checks of conditional writes come first.
    let stale = Expected::Version(ObjectVersion("\"0\"".to_owned()));
    assert_eq!(state.write(Bytes::from("{0}"), &stale, None).await.unwrap(), Written::Conflict);
    armed.store(true, Ordering::SeqCst);
    let first = done(state.write(Bytes::from("{1}"), &Expected::Absent, None).await.unwrap());
    assert!(!armed.swap(true, Ordering::SeqCst), "the answer was lost");
    let second = done(state.write(Bytes::from("{2}"), &Expected::Version(first), None).await.unwrap());
    assert!(!armed.swap(true, Ordering::SeqCst), "the answer was lost");
    assert_eq!(state.read().await.unwrap().unwrap().version, second);
    let objects = state.objects().unwrap();
    done(objects.create("lease", Bytes::from("1")).await.unwrap());
    assert!(!armed.load(Ordering::SeqCst), "the answer was lost");
}
