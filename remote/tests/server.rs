//! Connections to a server of `russh` itself, for what cannot be shown with the server of a system: passwords,
//! questions, connections that break, hosts with certificates, proxies.

use std::net::SocketAddr;
use std::sync::Arc;
use std::time::Duration;

use russh::keys::ssh_key::certificate::{Builder, CertType};
use russh::keys::{Algorithm, Certificate, PrivateKey};
use russh::server::{Auth, ChannelOpenHandle, Handler, Msg, Response, Session};
use russh::{Channel, ChannelId, MethodKind, MethodSet, Sig};
use tokio::io::{AsyncReadExt, AsyncWriteExt};
use tokio::net::{TcpListener, TcpStream};
use tokio::sync::mpsc;
use weft_remote::{CallError, ConnectError, Endpoint, Platform, Proxy, ProxyScheme, Secret, Target};

const PASSWORD: &str = "abracadabra";
/// The end of certificates: the year 2100.
const FOREVER: u64 = 4_102_444_800;

/// What a server does.
#[derive(Clone, Copy, PartialEq)]
enum Door {
    /// It accepts the password.
    Password,
    /// It asks two questions instead.
    Questions,
}

#[derive(Clone)]
struct Server(Door);

impl Handler for Server {
    type Error = russh::Error;

    async fn auth_password(&mut self, _: &str, password: &str) -> Result<Auth, russh::Error> {
        if self.0 == Door::Password && password == PASSWORD {
            return Ok(Auth::Accept);
        }
        let mut left = MethodSet::empty();
        if self.0 == Door::Questions {
            left.push(MethodKind::KeyboardInteractive);
        }
        Ok(Auth::Reject { proceed_with_methods: Some(left), partial_success: false })
    }

    async fn auth_keyboard_interactive<'a>(
        &'a mut self,
        _: &str,
        _: &str,
        response: Option<Response<'a>>,
    ) -> Result<Auth, russh::Error> {
        match response {
            None => Ok(Auth::Partial {
                name: "".into(),
                instructions: "".into(),
                prompts: vec![("Password: ".into(), false), ("Again: ".into(), false)].into(),
            }),
            Some(answers) => {
                let answers: Vec<_> = answers.flatten().collect();
                let right = answers.len() == 2 && answers.iter().all(|answer| **answer == *PASSWORD.as_bytes());
                Ok(if right { Auth::Accept } else { Auth::reject() })
            }
        }
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

    async fn exec_request(
        &mut self,
        channel: ChannelId,
        command: &[u8],
        session: &mut Session,
    ) -> Result<(), russh::Error> {
        session.channel_success(channel)?;
        match String::from_utf8_lossy(command).trim() {
            "lose" => {
                session.data(channel, "one\r\ntwo".as_bytes().to_vec())?;
                return Err(russh::Error::Disconnect);
            }
            "signal" => session.exit_signal_request(channel, Sig::KILL, false, "", "")?,
            "silent" => {}
            "scp -t /tmp" => {
                session.exit_status_request(channel, 127)?;
            }
            _ => {
                session.data(channel, "one\r\ntwo".as_bytes().to_vec())?;
                session.exit_status_request(channel, 4)?;
            }
        }
        session.eof(channel)?;
        session.close(channel)?;
        Ok(())
    }
}

/// Starts a server, and returns its address and its key.
async fn server(door: Door, certificates: impl FnOnce(&PrivateKey) -> Vec<Certificate>) -> (SocketAddr, PrivateKey) {
    let key = PrivateKey::random(&mut russh::keys::key::safe_rng(), Algorithm::Ed25519).unwrap();
    let config = Arc::new(russh::server::Config {
        auth_rejection_time: Duration::ZERO,
        certificates: certificates(&key),
        keys: vec![key.clone()],
        ..Default::default()
    });
    let listener = TcpListener::bind("127.0.0.1:0").await.unwrap();
    let address = listener.local_addr().unwrap();
    tokio::spawn(async move {
        while let Ok((stream, _)) = listener.accept().await {
            let config = config.clone();
            tokio::spawn(async move {
                if let Ok(session) = russh::server::run_stream(config, stream, Server(door)).await {
                    let _ = session.await;
                }
            });
        }
    });
    (address, key)
}

fn target(address: SocketAddr, password: &str) -> Target {
    Target {
        machine: Endpoint {
            host: address.ip().to_string(),
            port: address.port(),
            user: "u".to_owned(),
            password: Some(Secret(password.to_owned())),
            ..Endpoint::default()
        },
        bastion: None,
        proxy: None,
        agent: None,
        timeout: Duration::from_secs(60),
        platform: Platform::Unix,
    }
}

async fn session(target: &Target) -> Result<weft_remote::Session, ConnectError> {
    target.prepare().await.unwrap().connect(|| async {}).await
}

async fn run(session: &weft_remote::Session, command: &str) -> (Result<(), CallError>, Vec<String>) {
    let (sender, mut lines) = mpsc::channel(16);
    let outcome = session.run(command, &sender).await;
    drop(sender);
    let mut heard = Vec::new();
    while let Some(line) = lines.recv().await {
        heard.push(line);
    }
    (outcome, heard)
}

#[tokio::test]
async fn a_password_opens_a_session() {
    for door in [Door::Password, Door::Questions] {
        let (address, _) = server(door, |_| Vec::new()).await;
        let found = session(&target(address, PASSWORD)).await.unwrap();
        let (outcome, lines) = run(&found, "x").await;
        assert_eq!(outcome.unwrap_err().to_string(), "Process exited with status 4");
        assert_eq!(lines, ["one", "two"]);
        let wrong = Target { timeout: Duration::from_millis(900), ..target(address, "wrong") };
        let error = session(&wrong).await.unwrap_err().to_string();
        assert!(!error.contains("wrong"), "{error}");
    }
}

#[tokio::test]
async fn a_lost_connection_is_uncertain_and_the_end_of_a_command_is_not() {
    let (address, _) = server(Door::Password, |_| Vec::new()).await;
    let found = session(&target(address, PASSWORD)).await.unwrap();
    let (outcome, _) = run(&found, "signal").await;
    assert!(matches!(&outcome, Err(CallError::Signal(name)) if name == "KILL"), "{outcome:?}");
    let (outcome, _) = run(&found, "silent").await;
    assert!(outcome.unwrap_err().is_uncertain());
    let upload = found.upload_bytes("/tmp/x", vec![0; 10]).await;
    assert!(matches!(upload, Err(CallError::NoScp)), "{upload:?}");
    let (outcome, _) = run(&found, "lose").await;
    assert!(outcome.unwrap_err().is_uncertain());
    let after = found.upload_bytes("/tmp/x", Vec::new()).await;
    assert!(after.unwrap_err().is_uncertain());
}

#[tokio::test]
async fn a_host_is_known_by_its_key_or_by_who_signed_it() {
    let authority = PrivateKey::random(&mut russh::keys::key::safe_rng(), Algorithm::Ed25519).unwrap();
    let signed = |kind: CertType, name: &'static str| {
        let authority = authority.clone();
        move |key: &PrivateKey| {
            let rng = &mut russh::keys::key::safe_rng();
            let mut builder = Builder::new_with_random_nonce(rng, key.public_key(), 0, FOREVER).unwrap();
            builder.cert_type(kind).unwrap().valid_principal(name).unwrap();
            vec![builder.sign(&authority).unwrap()]
        }
    };
    let text = |key: &PrivateKey| key.public_key().to_openssh().unwrap();
    let connects = async |address, host_key: String| {
        let mut target = Target { timeout: Duration::from_millis(900), ..target(address, PASSWORD) };
        target.machine.host_key = Some(host_key);
        session(&target).await.map(|_| ()).map_err(|error| error.to_string())
    };
    let (address, key) = server(Door::Password, |_| Vec::new()).await;
    assert_eq!(connects(address, text(&key)).await, Ok(()));
    let error = connects(address, text(&authority)).await.unwrap_err();
    assert!(error.contains("the host presented another key than the expected one: SHA256:"), "{error}");
    let (address, _) = server(Door::Password, signed(CertType::Host, "127.0.0.1")).await;
    assert_eq!(connects(address, text(&authority)).await, Ok(()));
    let (address, _) = server(Door::Password, signed(CertType::Host, "elsewhere")).await;
    assert!(connects(address, text(&authority)).await.is_err());
    let (address, _) = server(Door::Password, signed(CertType::User, "127.0.0.1")).await;
    assert!(connects(address, text(&authority)).await.is_err());
}

/// A proxy that expects this request, answers, and connects to the server. Returns its address.
async fn proxy(to: SocketAddr, exchanges: Vec<(Vec<u8>, Vec<u8>)>) -> SocketAddr {
    let listener = TcpListener::bind("127.0.0.1:0").await.unwrap();
    let address = listener.local_addr().unwrap();
    tokio::spawn(async move {
        while let Ok((mut near, _)) = listener.accept().await {
            for (expected, answer) in &exchanges {
                let mut found = vec![0; expected.len()];
                near.read_exact(&mut found).await.unwrap();
                assert_eq!(String::from_utf8_lossy(&found), String::from_utf8_lossy(expected));
                near.write_all(answer).await.unwrap();
            }
            let mut far = TcpStream::connect(to).await.unwrap();
            tokio::spawn(async move { tokio::io::copy_bidirectional(&mut near, &mut far).await });
        }
    });
    address
}

#[tokio::test]
async fn a_proxy_leads_to_a_machine() {
    let (address, _) = server(Door::Password, |_| Vec::new()).await;
    let through = |scheme, at: SocketAddr, user: &str| Target {
        proxy: Some(Proxy {
            scheme,
            host: "127.0.0.1".to_owned(),
            port: at.port(),
            user: Some(user.to_owned()).filter(|user| !user.is_empty()),
            password: Some(Secret("p".to_owned())).filter(|_| !user.is_empty()),
        }),
        timeout: Duration::from_millis(900),
        ..target(address, PASSWORD)
    };
    let request = format!("CONNECT {address} HTTP/1.1\r\nHost: {address}\r\nProxy-Authorization: Basic dTpw\r\n\r\n");
    let http = proxy(address, vec![(request.clone().into(), b"HTTP/1.1 200 OK\r\nX: y\r\n\r\n".to_vec())]).await;
    session(&through(ProxyScheme::Http, http, "u")).await.unwrap();
    let refusing = proxy(address, vec![(request.into(), b"HTTP/1.1 407 No\r\n\r\n".to_vec())]).await;
    let error = session(&through(ProxyScheme::Http, refusing, "u")).await.unwrap_err().to_string();
    assert!(error.contains("it refused the connection: HTTP/1.1 407 No"), "{error}");
    let mut wanted = vec![5, 1, 0, 3, 9];
    wanted.extend(b"127.0.0.1");
    wanted.extend(address.port().to_be_bytes());
    let done = vec![5, 0, 0, 1, 0, 0, 0, 0, 0, 0];
    let plain = vec![(vec![5, 1, 0], vec![5, 0]), (wanted.clone(), done.clone())];
    session(&through(ProxyScheme::Socks5, proxy(address, plain).await, "")).await.unwrap();
    let named = vec![(vec![5, 2, 0, 2], vec![5, 2]), (b"\x01\x01u\x01p".to_vec(), vec![1, 0]), (wanted, done)];
    session(&through(ProxyScheme::Socks5, proxy(address, named).await, "u")).await.unwrap();
}
