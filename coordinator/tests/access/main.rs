//! What each caller may request from a coordinator, over real connections.

use std::path::Path;
use std::sync::Arc;
use std::time::Duration;

use prost::Message as _;
use tempfile::TempDir;
use tokio::io::AsyncWriteExt as _;
use weft_coordinator::client::{ClientError, connect_worker};
use weft_coordinator::server::{ListenError, Server};
use weft_coordinator::service::{Resumption, Submission};
use weft_coordinator::{Address, Cancel, Client, Decision, Dialer, Guard, ReadPlan, RunPlan, Service};
use weft_graph_format::diagnostic::Diagnostic;
use weft_identity::authority::{self, CertificateRequest, Issued};
use weft_identity::files::{Callers, OwnFiles, Reloading};
use weft_identity::{AccessRules, Role, Roles, SpiffeId, TlsFiles};
use weft_proto::cluster as proto;
use weft_state::{Holder, ModelStore, RevisionRule};

const DAY: Duration = Duration::from_secs(24 * 3600);

/// Refuses all plans: no test here needs a run.
#[derive(Debug)]
struct NoPlans;

impl ReadPlan for NoPlans {
    fn read(&self, _: &[u8]) -> Result<RunPlan, Vec<Diagnostic>> {
        Err(vec![Diagnostic::error("No plan", "Plans are not read here.")])
    }
}

/// An authority, and a coordinator over TLS.
struct Place {
    directory: TempDir,
    authority: Issued,
    address: String,
}

impl Place {
    /// Issues a certificate for a caller with these roles.
    fn issue(&self, name: &str, roles: &[Role], hosts: &[&str]) -> TlsFiles {
        issue(self.directory.path(), &self.authority, name, roles, hosts)
    }

    fn dialer(&self, name: &str, roles: &[Role]) -> Dialer {
        Dialer::new(Some(Reloading::client(self.issue(name, roles, &[])).unwrap()), None).unwrap()
    }

    async fn client(&self, name: &str, roles: &[Role]) -> Client {
        Client::connect(&self.dialer(name, roles), &self.address).await.unwrap()
    }
}

fn issue(directory: &Path, authority: &Issued, name: &str, roles: &[Role], hosts: &[&str]) -> TlsFiles {
    let named = SpiffeId::with_roles("example.org", &Roles::new(roles.iter().copied()), name).unwrap();
    let hosts = hosts.iter().map(|host| (*host).to_owned()).collect();
    let issued = authority::issue(authority, &CertificateRequest { name: named, hosts, valid: DAY }).unwrap();
    let (certificate, key) = (directory.join(format!("{name}.pem")), directory.join(format!("{name}-key.pem")));
    std::fs::write(&certificate, issued.certificate).unwrap();
    std::fs::write(&key, issued.key).unwrap();
    let authorities = directory.join("ca.pem");
    std::fs::write(&authorities, &authority.certificate).unwrap();
    TlsFiles { authorities, own: Some(OwnFiles { certificate, key }) }
}

fn service() -> Arc<Service> {
    let store = Arc::new(ModelStore::new(RevisionRule::Sequence, 7));
    Service::new(store, Arc::new(NoPlans), Holder { machine: "here".to_owned(), process: 1, user: "me".to_owned() })
}

async fn place() -> Place {
    let directory = TempDir::new().unwrap();
    let authority = authority::create("example.org", DAY).unwrap();
    let files = issue(directory.path(), &authority, "coordinator", &[], &["localhost"]);
    let tls = Reloading::server(files, Callers::WithCertificate).unwrap();
    let access = AccessRules { state: "prod".to_owned(), policy: None };
    let guard = Guard { tls: Some(tls), access, tokens: None };
    let any = Address::Tcp { host: "localhost".to_owned(), port: 0 };
    let server = Server::bind(service(), &any, guard).await.unwrap();
    let address = server.address().to_string();
    tokio::spawn(server.serve(std::future::pending()));
    Place { directory, authority, address }
}

/// Whether the gate admitted a request.
fn passed<T>(answer: Result<T, ClientError>) -> bool {
    match answer {
        Err(ClientError::NotAllowed { reason, .. }) => {
            assert!(reason.contains("does not have the role"), "{reason}");
            assert!(reason.contains("\"prod\""), "{reason}");
            false
        }
        Err(error @ (ClientError::Tls { .. } | ClientError::Unreachable { .. })) => panic!("{error}"),
        _ => true,
    }
}

/// Whether a caller with these roles may list, show, read plans, submit, resume, interrupt, resolve and look up.
async fn allowed(place: &Place, name: &str, roles: &[Role]) -> [bool; 8] {
    let mut client = place.client(name, roles).await;
    [
        passed(client.list().await),
        passed(client.show(None).await),
        passed(client.plan(None).await),
        passed(client.submit(Submission { plan: b"x".to_vec(), ..Submission::default() }).await),
        passed(client.resume(None, Resumption::default()).await),
        passed(client.cancel("r", Cancel::Drain).await),
        passed(client.resolve("r", "a.b", Decision::Absent).await),
        passed(client.look_up("r").await),
    ]
}

#[tokio::test]
async fn a_role_allows_its_requests_and_no_others() {
    let place = place().await;
    let (yes, no) = (true, false);
    assert_eq!(allowed(&place, "reader", &[Role::Read]).await, [yes, yes, no, no, no, no, no, no]);
    assert_eq!(allowed(&place, "planner", &[Role::Plan]).await, [yes, yes, yes, no, no, no, no, no]);
    assert_eq!(allowed(&place, "alice", &[Role::Apply]).await, [yes, yes, yes, yes, yes, yes, no, no]);
    assert_eq!(allowed(&place, "resolver", &[Role::Resolve]).await, [yes, yes, no, no, no, no, yes, yes]);
    assert_eq!(allowed(&place, "admin", &[Role::Admin]).await, [yes; 8]);
    assert_eq!(allowed(&place, "worker-1", &[Role::Worker]).await, [no; 8]);
    assert_eq!(allowed(&place, "someone", &[]).await, [no; 8]);
}

/// Connects a worker. Returns the reason of its refusal, or `None` if it is accepted.
async fn refused(place: &Place, caller: &str, roles: &[Role], name: &str, label: Option<&str>) -> Option<String> {
    let end = match connect_worker(&place.dialer(caller, roles), &place.address).await {
        Ok(end) => end,
        Err(ClientError::NotAllowed { reason, .. }) => return Some(reason),
        Err(error) => panic!("{error}"),
    };
    hear(end, name, label).await.0
}

async fn hear(
    mut end: weft_coordinator::WorkerEnd,
    name: &str,
    label: Option<&str>,
) -> (Option<String>, weft_coordinator::WorkerEnd) {
    let hello = proto::WorkerHello {
        name: name.to_owned(),
        incarnation: weft_coordinator::process::incarnation(),
        labels: label.map(|run| ("home".to_owned(), run.to_owned())).into_iter().collect(),
        capacity: 1,
        protocol: 1,
        ..Default::default()
    };
    let greeting = proto::WorkerFrame { hello: Some(hello), ..Default::default() };
    end.outgoing.send(greeting.encode_to_vec()).await.unwrap();
    let frame = proto::CoordinatorFrame::decode(end.incoming.recv().await.unwrap().as_slice()).unwrap();
    (Some(frame.welcome.unwrap().refused).filter(|reason| !reason.is_empty()), end)
}

#[tokio::test]
async fn only_a_worker_works_and_a_command_line_only_at_home() {
    let place = place().await;
    let reason = refused(&place, "reader", &[Role::Read], "x", None).await.unwrap();
    assert!(reason.contains("weft/read/reader does not have the role worker"), "{reason}");
    let reason = refused(&place, "alice", &[Role::Apply], "x", None).await.unwrap();
    assert!(reason.contains("operations that must run on the machine of its user"), "{reason}");
    let reason = refused(&place, "alice", &[Role::Apply], "x", Some("r1")).await.unwrap();
    assert!(reason.contains("weft/apply/alice"), "{reason}");
    assert_eq!(refused(&place, "alice", &[Role::Apply], "home-r1", Some("r1")).await, None);
    assert_eq!(refused(&place, "worker-1", &[Role::Worker], "worker-1", None).await, None);
}

#[tokio::test]
async fn a_name_belongs_to_the_caller_that_came_first() {
    let place = place().await;
    let first = connect_worker(&place.dialer("worker-1", &[Role::Worker]), &place.address).await.unwrap();
    let (reason, _first) = hear(first, "eu", None).await;
    assert_eq!(reason, None);
    let reason = refused(&place, "worker-2", &[Role::Worker], "eu", None).await.unwrap();
    assert!(reason.contains("another caller has connected as the worker eu"), "{reason}");
    assert_eq!(refused(&place, "worker-1", &[Role::Worker], "eu", None).await, None, "it has connected again");
}

#[tokio::test]
async fn a_request_that_is_too_large_is_refused() {
    let place = place().await;
    let mut client = place.client("alice", &[Role::Apply]).await;
    let large = vec![7; weft_coordinator::timing::REQUEST_BYTES + 1];
    let how = Resumption { inputs: [("a".to_owned(), large)].into(), ..Resumption::default() };
    assert!(client.resume(None, how).await.is_err());
    assert!(client.list().await.is_ok(), "the connection or the next one works");
}

#[tokio::test]
async fn without_tls_there_is_no_network() {
    let any = Address::Tcp { host: "127.0.0.1".to_owned(), port: 0 };
    let refused = Server::bind(service(), &any, Guard::default()).await;
    assert!(matches!(refused, Err(ListenError::NeedsTls)));
    let refused = Client::connect(&Dialer::default(), "127.0.0.1:1").await;
    assert!(matches!(refused, Err(ClientError::NeedsTls(_))));
}

#[tokio::test]
async fn a_path_that_is_too_long_for_a_socket_is_named() {
    let long = Address::Unix(format!("/tmp/{}", "a".repeat(103)).into());
    assert!(matches!(Server::bind(service(), &long, Guard::default()).await, Err(ListenError::PathTooLong(_))));
}

#[tokio::test]
async fn a_socket_that_a_dead_process_left_is_replaced_and_a_live_one_is_not() {
    let directory = TempDir::new().unwrap();
    let path = directory.path().join("c.sock");
    drop(std::os::unix::net::UnixListener::bind(&path).unwrap());
    assert!(path.exists());
    let address = Address::Unix(path.clone());
    let server = Server::bind(service(), &address, Guard::default()).await.unwrap();
    let second = Server::bind(service(), &address, Guard::default()).await;
    assert!(matches!(second, Err(ListenError::InUse(_))), "{second:?}");
    let serving = tokio::spawn(server.serve(std::future::pending()));
    let mut client = Client::connect(&Dialer::default(), &address.to_string()).await.unwrap();
    assert!(client.list().await.unwrap().is_empty());
    serving.abort();
    let _ = serving.await;
    std::fs::write(&path, "a file of somebody").unwrap_or_default();
}

#[tokio::test]
async fn the_socket_of_another_user_is_closed() {
    if !rustix::process::getuid().is_root() {
        println!("SKIPPED: only root can act as two users, so THE SOCKET OF ANOTHER USER IS NOT TESTED");
        return;
    }
    let directory = TempDir::new().unwrap();
    let path = directory.path().join("c.sock");
    let server = Server::bind(service(), &Address::Unix(path.clone()), Guard::default()).await.unwrap();
    tokio::spawn(server.serve(std::future::pending()));
    for place in [directory.path(), path.as_path()] {
        let everybody = std::os::unix::fs::PermissionsExt::from_mode(0o777);
        std::fs::set_permissions(place, everybody).unwrap();
    }
    // Another user connects and receives nothing: the connection is closed at once.
    let script = format!(
        "import os, socket; os.setuid(65534); s = socket.socket(socket.AF_UNIX); s.connect({:?}); s.settimeout(20); \
         print(len(s.recv(1)))",
        path.display().to_string()
    );
    let output = tokio::process::Command::new("python3").arg("-c").arg(script).output().await.unwrap();
    assert_eq!(String::from_utf8_lossy(&output.stdout).trim(), "0", "{output:?}");
}

#[tokio::test]
async fn half_open_connections_and_random_bytes_disturb_no_other_connection() {
    let place = place().await;
    let mut open = Vec::new();
    for number in 0..200_u8 {
        let mut stream = tokio::net::TcpStream::connect(&place.address).await.unwrap();
        if number % 2 == 0 {
            let noise: Vec<u8> =
                (0..512_u32).map(|index| (index.wrapping_mul(2_654_435_761) >> (number % 24)) as u8).collect();
            let _ = stream.write_all(&noise).await;
        }
        open.push(stream);
    }
    assert!(place.client("reader", &[Role::Read]).await.list().await.is_ok());
    drop(open);
    assert!(place.client("reader", &[Role::Read]).await.list().await.is_ok());
}
