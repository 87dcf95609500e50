//! Redis over TLS with several users: which connections are accepted, and why others are refused.

#[path = "support/redis_server.rs"]
mod redis_server;
mod support;

use std::path::PathBuf;
use std::process::{Child, Command, Stdio};
use std::time::{Duration, Instant};

use rcgen::{BasicConstraints, CertificateParams, IsCa, Issuer, KeyPair};
use redis_server::{SAFE, Server, free_port};
use support::*;
use weft_sealing::Secret;
use weft_state::*;

const PASSWORD: &str = "pass-w0rd";

/// The permissions that a user of a store needs, as `docs/operate.md` lists them. A server before 7.2 does not know
/// `waitaof`.
fn rules() -> String {
    let text = std::fs::read_to_string(concat!(env!("CARGO_MANIFEST_DIR"), "/../docs/operate.md")).unwrap();
    let line = text.lines().find_map(|line| line.strip_prefix("ACL SETUSER weft reset on >PASSWORD ")).unwrap();
    let output = Command::new("redis-server").arg("--version").output().unwrap();
    let version = String::from_utf8(output.stdout).unwrap();
    let old = version.contains("v=7.0.");
    line.split(' ').filter(|rule| !old || *rule != "+waitaof").collect::<Vec<_>>().join(" ")
}

/// A certificate authority. Its certificates are files in a directory.
struct Authority {
    folder: PathBuf,
    name: &'static str,
    issuer: Issuer<'static, KeyPair>,
}

impl Authority {
    fn new(folder: &std::path::Path, name: &'static str) -> Authority {
        let key = KeyPair::generate().unwrap();
        let mut params = CertificateParams::default();
        params.distinguished_name.push(rcgen::DnType::CommonName, name);
        params.is_ca = IsCa::Ca(BasicConstraints::Unconstrained);
        let certificate = params.self_signed(&key).unwrap();
        std::fs::write(folder.join(format!("{name}.crt")), certificate.pem()).unwrap();
        Authority { folder: folder.to_owned(), name, issuer: Issuer::new(params, key) }
    }

    fn certificate(&self) -> PathBuf {
        self.folder.join(format!("{}.crt", self.name))
    }

    /// Creates `NAME.crt` and `NAME.key` for a host.
    fn issue(&self, name: &str, host: &str, expired: bool) {
        let key = KeyPair::generate().unwrap();
        let mut params = CertificateParams::new(vec![host.to_owned()]).unwrap();
        if expired {
            params.not_before = rcgen::date_time_ymd(2020, 1, 1);
            params.not_after = rcgen::date_time_ymd(2020, 2, 1);
        }
        let certificate = params.signed_by(&key, &self.issuer).unwrap();
        std::fs::write(self.folder.join(format!("{name}.crt")), certificate.pem()).unwrap();
        std::fs::write(self.folder.join(format!("{name}.key")), key.serialize_pem()).unwrap();
    }
}

/// A server with TLS and the users `weft` and `mouse`.
struct TlsServer {
    port: u16,
    plain: u16,
    folder: tempfile::TempDir,
    authority: Authority,
    child: Child,
}

impl Drop for TlsServer {
    fn drop(&mut self) {
        let _ = self.child.kill();
        let _ = self.child.wait();
    }
}

impl TlsServer {
    /// Starts the server. `None` if there is no redis-server.
    fn start(host: &str, expired: bool, clients: &str) -> Option<TlsServer> {
        if !Server::there() {
            return None;
        }
        let folder = tempfile::tempdir().unwrap();
        let authority = Authority::new(folder.path(), "ca");
        authority.issue("server", host, expired);
        let users = folder.path().join("users.acl");
        let rules = rules();
        let text = format!(
            "user default off resetpass ~* &* +@all\nuser weft on >{PASSWORD} {rules}\n\
             user mouse on >{PASSWORD} {rules} -hset -config|get -rpush\n\
             user stranger on >{PASSWORD} {}\nuser root on nopass ~* +@all\n",
            rules.replace("~weft:*", "~other:*"),
        );
        std::fs::write(&users, text).unwrap();
        let (port, plain) = (free_port(), free_port());
        let file = |name: &str| folder.path().join(name).display().to_string();
        let mut command = Command::new("redis-server");
        command.args(["--port", &plain.to_string(), "--tls-port", &port.to_string(), "--bind", "127.0.0.1"]);
        command.args(["--tls-cert-file", &file("server.crt"), "--tls-key-file", &file("server.key")]);
        command.args(["--tls-ca-cert-file", &file("ca.crt"), "--tls-auth-clients", clients]);
        command.args(["--aclfile", &file("users.acl"), "--dir", &file(""), "--save", ""]);
        for (name, value) in SAFE {
            command.arg(format!("--{name}")).arg(value);
        }
        let child = command.stdout(Stdio::null()).stderr(Stdio::null()).spawn().unwrap();
        let server = TlsServer { port, plain, folder, authority, child };
        let start = Instant::now();
        while std::net::TcpStream::connect(("127.0.0.1", plain)).is_err() {
            assert!(start.elapsed() < Duration::from_secs(10), "redis-server does not start");
            std::thread::sleep(Duration::from_millis(20));
        }
        Some(server)
    }

    fn settings(&self) -> RedisSettings {
        RedisSettings {
            authorities: Some(self.authority.certificate()),
            password: Some(PasswordSource::Text(Secret::new(PASSWORD))),
            ..RedisSettings::default()
        }
    }

    fn url(&self, user: &str) -> String {
        format!("rediss://{user}@localhost:{}/0?state=test", self.port)
    }

    fn root(&self, words: &[&str]) {
        let mut command = Command::new("redis-cli");
        command.args(["-p", &self.plain.to_string(), "--user", "root", "--pass", "-", "--no-auth-warning"]);
        let output = command.args(words).output().unwrap();
        assert!(output.status.success());
    }
}

async fn open(url: String, settings: RedisSettings) -> Result<RedisStore, StoreError> {
    RedisStore::connect(RedisServer::new(url, settings), "default", true, std::sync::Arc::default()).await
}

async fn refusal(url: String, settings: RedisSettings) -> String {
    let start = Instant::now();
    let text = open(url, settings).await.unwrap_err().to_string();
    assert!(!text.contains(PASSWORD), "{text}");
    assert!(!text.contains("does not respond"), "after {:?}: {text}", start.elapsed());
    text
}

#[tokio::test]
async fn a_run_is_carried_out_over_tls_with_the_smallest_list_of_rights() {
    let Some(server) = TlsServer::start("localhost", false, "no") else { return };
    let store = open(server.url("weft"), server.settings()).await.unwrap();
    assert_eq!(store.create_run(new_run("run-a", 3, 1)).await.unwrap(), CreateAnswer::Created);
    let lease = granted(&store, "run-a", 7).await;
    let wanted = claims(&store, [0, 1, 2]).await;
    assert_eq!(store.claim(&lease, &wanted).await.unwrap(), ClaimAnswer::Claimed);
    let doubt = StoreStep::Doubt { op: OpIndex(1), attempt: Attempt(1), reason: "lost".to_owned() };
    let steps = vec![intent(0, 1, 0), commit(0, 1, 0, Some(5)), intent(1, 1, 1), doubt];
    assert_all_ok(&store.step_batch(&lease, steps).await.unwrap());
    assert!(matches!(store.renew(&lease).await.unwrap(), RenewAnswer::Renewed { .. }));
    let ReleaseAnswer::Released(header) = store.release(&lease, TermEnding::Finished).await.unwrap() else { panic!() };
    assert_eq!(header.status, RunStatus::InDoubt);
    assert_eq!(store.snapshot().await.unwrap().instances.len(), 1);
    assert_eq!(store.runs().await.unwrap().len(), 1);
    assert_eq!(store.run(&run_id("run-a")).await.unwrap().unwrap().ops.len(), 2);
    assert!(!store.journal(&run_id("run-a")).await.unwrap().is_empty());
    let report = store.check("default").await.unwrap();
    assert_eq!(report.problems, []);
    assert!(report.server.tls && report.server.user == "weft" && report.doubts.len() == 1);
    let server_of_all = RedisServer::new(server.url("weft"), server.settings());
    assert_eq!(RedisStore::workspaces(&server_of_all).await.unwrap(), ["default"]);
    assert!(!format!("{server_of_all:?} {store:?}").contains(PASSWORD));
    // The password is in a file, and is changed in the meantime.
    let file = server.folder.path().join("password");
    std::fs::write(&file, format!("{PASSWORD}\n")).unwrap();
    let settings = RedisSettings { password: Some(PasswordSource::File(file.clone())), ..server.settings() };
    let store = open(server.url("weft"), settings).await.unwrap();
    server.root(&["ACL", "SETUSER", "weft", "resetpass", ">another"]);
    std::fs::write(&file, "another").unwrap();
    server.root(&["CLIENT", "KILL", "TYPE", "normal", "SKIPME", "yes"]);
    assert_eq!(store.runs().await.unwrap().len(), 1);
}

#[tokio::test]
async fn each_wrong_setting_is_named() {
    let Some(server) = TlsServer::start("localhost", false, "no") else { return };
    let settings = server.settings();
    let none = RedisSettings { password: None, ..settings.clone() };
    let text = refusal(format!("rediss://localhost:{}/0?state=a", server.port), none).await;
    assert!(text.contains("needs a password") && text.contains("WEFT_REDIS_PASSWORD_FILE"), "{text}");
    let wrong = RedisSettings { password: Some(PasswordSource::Text(Secret::new("wrong-word"))), ..settings.clone() };
    let text = refusal(server.url("weft"), wrong).await;
    assert!(text.contains("refused the password of the user \"weft\"") && !text.contains("wrong-word"), "{text}");
    let text = refusal(server.url("nobody"), settings.clone()).await;
    assert!(text.contains("\"nobody\""), "{text}");
    let other = Authority::new(server.folder.path(), "other");
    let text =
        refusal(server.url("weft"), RedisSettings { authorities: Some(other.certificate()), ..settings.clone() }).await;
    assert!(text.contains("not issued by a trusted authority") && text.contains("WEFT_REDIS_CA_FILE"), "{text}");
    let text =
        refusal(server.url("weft"), RedisSettings { authorities: Some("nowhere.crt".into()), ..settings.clone() });
    assert!(text.await.contains("nowhere.crt cannot be used"));
    let text = refusal(server.url("weft").replace("localhost", "127.0.0.1"), settings.clone()).await;
    assert!(text.contains("not for 127.0.0.1") && text.contains("WEFT_REDIS_SERVER_NAME"), "{text}");
    let named = RedisSettings { server_name: Some("localhost".to_owned()), ..settings.clone() };
    open(server.url("weft").replace("localhost", "127.0.0.1"), named).await.unwrap();
    // Plain text to the port with TLS, and the reverse.
    let text = refusal(server.url("weft").replace("rediss:", "redis:"), settings.clone()).await;
    assert!(text.contains("Use rediss://"), "{text}");
    for _ in 0..5 {
        let plain = format!("rediss://weft@localhost:{}/0?state=test", server.plain);
        let text = refusal(plain, settings.clone()).await;
        assert!(text.contains("does not speak TLS"), "{text}");
    }
}

#[tokio::test]
async fn each_missing_right_is_named() {
    let Some(server) = TlsServer::start("localhost", false, "no") else { return };
    let text = refusal(server.url("mouse"), server.settings()).await;
    assert!(text.contains("\"mouse\" may not run config|get, hset, rpush"), "{text}");
    assert!(text.contains("ACL SETUSER mouse +config|get +hset +rpush"), "{text}");
    let text = refusal(server.url("stranger"), server.settings()).await;
    assert!(text.contains("may not use the key weft:{test/default}:meta") && text.contains("~weft:*"), "{text}");
    // A permission is removed while the store is used.
    let store = open(server.url("weft"), server.settings()).await.unwrap();
    store.create_run(new_run("run-a", 1, 1)).await.unwrap();
    server.root(&["ACL", "SETUSER", "weft", "-hincrby"]);
    let request = Acquire { run: run_id("run-a"), holder: holder(), term: 7, unmoved: None };
    let text = store.acquire(request).await.unwrap_err().to_string();
    assert!(text.contains("may not run hincrby"), "{text}");
    for command in ["multi", "exec", "discard", "evalsha", "info", "wait"] {
        server.root(&["ACL", "SETUSER", "weft", "+hincrby", &format!("-{command}")]);
        let text = refusal(server.url("weft"), server.settings()).await;
        assert!(text.contains(&format!("+{command}")), "{command}: {text}");
        server.root(&["ACL", "SETUSER", "weft", &format!("+{command}")]);
    }
}

#[tokio::test]
async fn certificates_of_both_sides_are_checked() {
    let Some(server) = TlsServer::start("localhost", true, "no") else { return };
    let text = refusal(server.url("weft"), server.settings()).await;
    assert!(text.contains("certificate of the server has expired"), "{text}");
    let Some(server) = TlsServer::start("localhost", false, "yes") else { return };
    let text = refusal(server.url("weft"), server.settings()).await;
    assert!(text.contains("needs a client certificate") && text.contains("WEFT_REDIS_CERT_FILE"), "{text}");
    let with = |name: &str| RedisSettings {
        certificate: Some(server.folder.path().join(format!("{name}.crt"))),
        key: Some(server.folder.path().join(format!("{name}.key"))),
        ..server.settings()
    };
    server.authority.issue("client", "client", false);
    open(server.url("weft"), with("client")).await.unwrap();
    server.authority.issue("old", "client", true);
    let text = refusal(server.url("weft"), with("old")).await;
    assert!(text.contains("WEFT_REDIS_CERT_FILE"), "{text}");
    Authority::new(server.folder.path(), "other").issue("foreign", "client", false);
    let text = refusal(server.url("weft"), with("foreign")).await;
    assert!(text.contains("WEFT_REDIS_CERT_FILE"), "{text}");
}

#[tokio::test]
async fn settings_that_change_under_a_run_stop_it() {
    let Some(server) = Server::start() else { return };
    let store = RedisStore::connect(&server.url("test"), "default", true, std::sync::Arc::default()).await.unwrap();
    store.create_run(new_run("run-a", 1, 1)).await.unwrap();
    let lease = granted(&store, "run-a", 7).await;
    for (name, bad) in [("appendfsync", "everysec"), ("maxmemory-policy", "allkeys-lru"), ("appendonly", "no")] {
        server.command(&["CONFIG", "SET", name, bad]);
        let noticed = loop {
            match store.renew(&lease).await {
                Ok(_) => tokio::time::sleep(Duration::from_millis(100)).await,
                Err(error) => break error,
            }
        };
        assert!(matches!(&noticed, StoreError::Unfit(text) if text.contains(name)), "{noticed}");
        let good = SAFE.iter().find(|(known, _)| *known == name).unwrap().1;
        server.command(&["CONFIG", "SET", name, good]);
        assert!(matches!(store.renew(&lease).await.unwrap(), RenewAnswer::Renewed { .. }));
    }
}

#[tokio::test]
async fn a_unix_socket_is_an_address() {
    let folder = tempfile::tempdir().unwrap();
    let path = folder.path().join("redis.sock").display().to_string();
    let mut settings = SAFE.to_vec();
    settings.push(("unixsocket", Box::leak(path.clone().into_boxed_str())));
    let Some(_server) = Server::with(settings) else { return };
    let store = open(format!("redis+unix://{path}?db=3&state=test"), RedisSettings::default()).await.unwrap();
    store.create_run(new_run("run-a", 1, 1)).await.unwrap();
    assert_eq!(store.runs().await.unwrap().len(), 1);
}

#[tokio::test]
async fn replicas_must_be_declared_and_confirm_each_write() {
    let Some(master) = Server::start() else { return };
    let port = Box::leak(format!("127.0.0.1 {}", master.port).into_boxed_str());
    let mut settings = SAFE.to_vec();
    settings.push(("replicaof", port));
    let Some(replica) = Server::with(settings) else { return };
    while !master.ask(&["INFO", "replication"]).contains("state=online") {
        tokio::time::sleep(Duration::from_millis(50)).await;
    }
    let text = refusal(master.url("test"), RedisSettings::default()).await;
    assert!(text.contains("has 1 replica.") && text.contains("replicas=1"), "{text}");
    let text = refusal(replica.url("test"), RedisSettings::default()).await;
    assert!(text.contains("the server is a replica"), "{text}");
    let store = open(format!("{}&replicas=1", master.url("test")), RedisSettings::default()).await.unwrap();
    store.create_run(new_run("run-a", 1, 1)).await.unwrap();
    let lease = granted(&store, "run-a", 7).await;
    let wanted = claims(&store, [0]).await;
    assert_eq!(store.claim(&lease, &wanted).await.unwrap(), ClaimAnswer::Claimed);
    assert_all_ok(&store.step_batch(&lease, vec![intent(0, 1, 0)]).await.unwrap());
    assert!(replica.ask(&["LLEN", "weft:{test/default}:run:run-a:journal"]).ends_with('3'));
    assert_eq!(store.check("default").await.unwrap().server.replicas, 1);
    // Without the replica, nothing is acknowledged.
    drop(replica);
    let error = store.step_batch(&lease, vec![commit(0, 1, 0, Some(5))]).await.unwrap_err();
    assert!(matches!(&error, StoreError::Unreachable { error, .. } if error.contains("0 of 1 replicas")), "{error}");
}

#[tokio::test]
async fn damaged_records_are_found_and_can_be_declared_lost() {
    let Some(server) = Server::start() else { return };
    let connect =
        async || RedisStore::connect(&server.url("test"), "default", true, std::sync::Arc::default()).await.unwrap();
    let store = connect().await;
    store.create_run(new_run("run-a", 3, 1)).await.unwrap();
    let lease = granted(&store, "run-a", 7).await;
    let wanted = claims(&store, [0, 1, 2]).await;
    assert_eq!(store.claim(&lease, &wanted).await.unwrap(), ClaimAnswer::Claimed);
    let steps = (0..3).flat_map(|op| [intent(op, 1, op), commit(op, 1, op, Some(5))]).collect();
    assert_all_ok(&store.step_batch(&lease, steps).await.unwrap());
    store.release(&lease, TermEnding::Finished).await.unwrap();
    assert!(store.losses().await.unwrap().is_nothing());
    let records = "weft:{test/default}:records";
    let names: Vec<String> =
        store.snapshot().await.unwrap().instances.values().map(|i| i.record.address.to_string()).collect();
    // One record is missing, and one belongs to another object.
    server.command(&[
        "EVAL",
        "redis.call('HSET', KEYS[1], ARGV[1], redis.call('HGET', KEYS[1], ARGV[2])) \
                              redis.call('HDEL', KEYS[1], ARGV[3])",
        "1",
        records,
        &names[0],
        &names[1],
        &names[2],
    ]);
    let error = store.snapshot().await.unwrap_err();
    assert!(error.to_string().contains("weft store declare-lost"), "{error}");
    let report = store.check("default").await.unwrap();
    let places: Vec<&str> = report.problems.iter().map(|problem| problem.place.as_str()).collect();
    assert_eq!(places, [records, &names[0]], "{:?}", report.problems);
    let losses = store.losses().await.unwrap();
    assert_eq!((losses.missing, losses.damaged.len(), &losses.candidates), (1, 1, &vec![names[2].clone()]));
    assert!(store.declare_lost(&losses, "ann@host", 5).await.unwrap());
    assert!(!store.declare_lost(&losses, "ann@host", 5).await.unwrap(), "the state has changed");
    let left = store.snapshot().await.unwrap();
    assert_eq!(left.instances.len(), 1);
    let report = store.check("default").await.unwrap();
    assert_eq!((report.problems.len(), report.declared.len(), report.declared[0].missing), (0, 1, 1));
}
