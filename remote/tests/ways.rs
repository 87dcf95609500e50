//! Tests of features that common SSH test servers do not offer: passwords, questions, and HTTP proxies. The tests run
//! their own server in this process, implemented with `russh`.

use std::borrow::Cow;
use std::sync::Arc;
use std::time::Duration;

use parking_lot::Mutex;
use russh::keys::PrivateKey;
use russh::keys::ssh_key::private::Ed25519Keypair;
use russh::server::{self, Auth, ChannelOpenHandle, Msg, Response, Session};
use russh::{Channel, ChannelId, MethodKind, MethodSet};
use tokio::io::{AsyncReadExt, AsyncWriteExt, copy_bidirectional};
use tokio::net::{TcpListener, TcpStream};
use tokio::sync::mpsc;
use weft_remote::{ConnectError, Endpoint, Platform, Proxy, ProxyScheme, RemoteCallError, RemoteTarget, Secret};

const USER: &str = "ops";
const PASSWORD: &str = "open sesame";
/// The user and the password of the proxy, encoded as in HTTP: `gate:keeper`.
const PROXY_TOKEN: &str = "Z2F0ZTprZWVwZXI=";

/// The authentication that the server accepts.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Accepts {
    Password,
    /// The server accepts the password as the answer to a question.
    Questions,
}

/// The server's side of a connection. Its response to a command is the command itself.
struct Machine {
    accepts: Accepts,
    commands: Arc<Mutex<Vec<String>>>,
}

fn rejected(remaining: &[MethodKind]) -> Auth {
    Auth::Reject { proceed_with_methods: Some(MethodSet::from(remaining)), partial_success: false }
}

impl server::Handler for Machine {
    type Error = russh::Error;

    async fn auth_password(&mut self, user: &str, password: &str) -> Result<Auth, russh::Error> {
        let right = self.accepts == Accepts::Password && user == USER && password == PASSWORD;
        Ok(if right { Auth::Accept } else { rejected(&[MethodKind::KeyboardInteractive]) })
    }

    async fn auth_keyboard_interactive<'a>(
        &'a mut self,
        user: &str,
        _: &str,
        response: Option<Response<'a>>,
    ) -> Result<Auth, russh::Error> {
        if self.accepts != Accepts::Questions {
            return Ok(rejected(&[]));
        }
        let Some(mut response) = response else {
            let prompts = vec![(Cow::Borrowed("Password: "), false)];
            return Ok(Auth::Partial { name: "".into(), instructions: "".into(), prompts: prompts.into() });
        };
        let answer = response.next();
        let right = user == USER && answer.as_deref() == Some(PASSWORD.as_bytes());
        Ok(if right { Auth::Accept } else { rejected(&[]) })
    }

    async fn channel_open_session(
        &mut self,
        _: Channel<Msg>,
        reply: ChannelOpenHandle,
        _: &mut Session,
    ) -> Result<(), russh::Error> {
        reply.accept().await;
        Ok(())
    }

    async fn exec_request(&mut self, id: ChannelId, data: &[u8], session: &mut Session) -> Result<(), russh::Error> {
        let command = String::from_utf8_lossy(data).trim().to_owned();
        session.channel_success(id)?;
        session.data(id, format!("{command}\r\n").into_bytes())?;
        session.exit_status_request(id, u32::from(command == "false"))?;
        session.eof(id)?;
        session.close(id)?;
        self.commands.lock().push(command);
        Ok(())
    }
}

/// A running server.
struct Server {
    port: u16,
    host_key: String,
    commands: Arc<Mutex<Vec<String>>>,
}

async fn serve(accepts: Accepts) -> Server {
    let key = PrivateKey::from(Ed25519Keypair::from_seed(&[7; 32]));
    let host_key = key.public_key().to_openssh().unwrap();
    let config =
        Arc::new(server::Config { auth_rejection_time: Duration::ZERO, keys: vec![key], ..server::Config::default() });
    let listener = TcpListener::bind("127.0.0.1:0").await.unwrap();
    let port = listener.local_addr().unwrap().port();
    let commands = Arc::<Mutex<Vec<String>>>::default();
    let kept = Arc::clone(&commands);
    tokio::spawn(async move {
        while let Ok((stream, _)) = listener.accept().await {
            let machine = Machine { accepts, commands: Arc::clone(&kept) };
            let config = Arc::clone(&config);
            tokio::spawn(async move {
                if let Ok(session) = server::run_stream(config, stream, machine).await {
                    // The client ends the session.
                    let _ = session.await;
                }
            });
        }
    });
    Server { port, host_key, commands }
}

/// Starts an HTTP proxy that requires a password. Returns its port, and the requests that it has received.
async fn proxy() -> (u16, Arc<Mutex<Vec<String>>>) {
    let listener = TcpListener::bind("127.0.0.1:0").await.unwrap();
    let port = listener.local_addr().unwrap().port();
    let requests = Arc::<Mutex<Vec<String>>>::default();
    let kept = Arc::clone(&requests);
    tokio::spawn(async move {
        while let Ok((mut stream, _)) = listener.accept().await {
            let kept = Arc::clone(&kept);
            tokio::spawn(async move {
                let mut head = Vec::new();
                while !head.ends_with(b"\r\n\r\n") {
                    let Ok(byte) = stream.read_u8().await else { return };
                    head.push(byte);
                }
                let head = String::from_utf8(head).unwrap();
                let target = head.split(' ').nth(1).unwrap().to_owned();
                let allowed = head.contains(&format!("\r\nProxy-Authorization: Basic {PROXY_TOKEN}\r\n"));
                kept.lock().push(head.lines().next().unwrap().to_owned());
                if !allowed {
                    let refusal = b"HTTP/1.1 407 Proxy Authentication Required\r\nContent-Length: 0\r\n\r\n";
                    let _ = stream.write_all(refusal).await;
                    return;
                }
                let Ok(mut beyond) = TcpStream::connect(&target).await else { return };
                if stream.write_all(b"HTTP/1.1 200 Connection established\r\nVia: test\r\n\r\n").await.is_ok() {
                    let _ = copy_bidirectional(&mut stream, &mut beyond).await;
                }
            });
        }
    });
    (port, requests)
}

fn target(server: &Server, password: &str) -> RemoteTarget {
    RemoteTarget {
        machine: Endpoint {
            host: "127.0.0.1".to_owned(),
            port: server.port,
            user: USER.to_owned(),
            password: Some(Secret::new(password.to_owned())),
            private_key: None,
            certificate: None,
            host_key: Some(server.host_key.clone()),
        },
        bastion: None,
        proxy: None,
        agent: None,
        timeout: Duration::from_secs(60),
        platform: Platform::Unix,
    }
}

fn through(port: u16, password: &str, to: RemoteTarget) -> RemoteTarget {
    let proxy = Proxy {
        scheme: ProxyScheme::Http,
        host: "127.0.0.1".to_owned(),
        port,
        user: Some("gate".to_owned()),
        password: Some(Secret::new(password.to_owned())),
    };
    RemoteTarget { proxy: Some(proxy), ..to }
}

/// Runs commands. Returns their lines, and the outcome of the last command.
async fn run(target: &RemoteTarget, commands: &[&str]) -> (Vec<String>, Result<(), RemoteCallError>) {
    let session = target.prepare().await.unwrap().connect(|| async {}).await.unwrap();
    let (send, mut lines) = mpsc::channel(64);
    let mut outcome = Ok(());
    for command in commands {
        outcome = session.run(command, &send).await;
    }
    drop(send);
    let mut found = Vec::new();
    while let Some(line) = lines.recv().await {
        found.push(line);
    }
    (found, outcome)
}

/// The error of a refused connection. The time limit allows several attempts, so even a slow test machine completes at
/// least one attempt.
async fn refusal(target: RemoteTarget) -> ConnectError {
    let target = RemoteTarget { timeout: Duration::from_secs(10), ..target };
    target.prepare().await.unwrap().connect(|| async {}).await.unwrap_err()
}

#[tokio::test]
async fn a_password_proves_the_user() {
    let server = serve(Accepts::Password).await;
    let (lines, outcome) = run(&target(&server, PASSWORD), &["echo one", "false"]).await;
    assert_eq!(lines, ["echo one", "false"]);
    assert!(matches!(outcome, Err(RemoteCallError::Exit(1))), "{outcome:?}");
    assert_eq!(*server.commands.lock(), ["echo one", "false"]);
}

#[tokio::test]
async fn a_password_answers_the_questions_of_a_host() {
    let server = serve(Accepts::Questions).await;
    let (lines, outcome) = run(&target(&server, PASSWORD), &["echo two"]).await;
    assert!(outcome.is_ok(), "{outcome:?}");
    assert_eq!(lines, ["echo two"]);
}

#[tokio::test]
async fn a_wrong_password_is_refused_and_not_shown() {
    for accepts in [Accepts::Password, Accepts::Questions] {
        let server = serve(accepts).await;
        let error = refusal(target(&server, "swordfish")).await.to_string();
        assert!(error.contains("unable to authenticate, attempted: password"), "{error}");
        assert!(!error.contains("swordfish"), "{error}");
        assert!(server.commands.lock().is_empty());
    }
}

#[tokio::test]
async fn a_proxy_of_http_leads_to_the_machine() {
    let server = serve(Accepts::Password).await;
    let (port, requests) = proxy().await;
    let (lines, outcome) = run(&through(port, "keeper", target(&server, PASSWORD)), &["echo three"]).await;
    assert!(outcome.is_ok(), "{outcome:?}");
    assert_eq!(lines, ["echo three"]);
    assert_eq!(*requests.lock(), [format!("CONNECT 127.0.0.1:{} HTTP/1.1", server.port)]);
}

#[tokio::test]
async fn a_proxy_that_refuses_is_named() {
    let server = serve(Accepts::Password).await;
    let (port, _) = proxy().await;
    let error = refusal(through(port, "poacher", target(&server, PASSWORD))).await.to_string();
    assert!(
        error.contains(&format!("proxy 127.0.0.1:{port}: the proxy refused the connection: HTTP/1.1 407")),
        "{error}"
    );
    assert!(!error.contains("poacher"), "{error}");
}

#[tokio::test]
async fn a_host_with_another_key_gets_no_password() {
    let server = serve(Accepts::Password).await;
    let other = PrivateKey::from(Ed25519Keypair::from_seed(&[8; 32])).public_key().to_openssh().unwrap();
    let mut target = target(&server, PASSWORD);
    target.machine.host_key = Some(other);
    let error = refusal(target).await.to_string();
    assert!(error.contains("SSH authentication failed (ops@127.0.0.1:"), "{error}");
}
