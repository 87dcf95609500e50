//! Handshakes over real sockets, with valid and invalid certificates on both sides.

use std::path::Path;
use std::time::Duration;

use tempfile::TempDir;
use tokio::io::{AsyncReadExt, AsyncWriteExt};
use tokio::net::{TcpListener, TcpStream};
use weft_identity::authority::{self, CertificateRequest, Issued};
use weft_identity::files::{Callers, OwnFiles, Reloading};
use weft_identity::tls::{ConnectionSide, TlsFailure, TlsHandshakeError};
use weft_identity::{Peer, Role, Roles, SpiffeId, TlsError, TlsFiles, tls};

const DAY: Duration = Duration::from_secs(24 * 3600);

/// Issues a certificate, and writes it to files.
fn issue(directory: &Path, authority: &Issued, name: &str, host: Option<&str>, valid: Duration) -> TlsFiles {
    let named = SpiffeId::with_roles("example.org", &Roles::new([Role::Apply]), name).unwrap();
    let request = CertificateRequest { name: named, hosts: host.map(str::to_owned).into_iter().collect(), valid };
    let issued = authority::issue(authority, &request).unwrap();
    let (certificate, key) = (directory.join(format!("{name}.pem")), directory.join(format!("{name}-key.pem")));
    std::fs::write(&certificate, issued.certificate).unwrap();
    std::fs::write(&key, issued.key).unwrap();
    let authorities = directory.join(format!("{name}-ca.pem"));
    std::fs::write(&authorities, &authority.certificate).unwrap();
    TlsFiles { authorities, own: Some(OwnFiles { certificate, key }) }
}

/// The results of both sides: the peer that the server sees, and the response to the client's first bytes.
async fn meet(server: TlsFiles, callers: Callers, client: TlsFiles) -> (Result<Peer, String>, Result<(), TlsFailure>) {
    let server = Reloading::server(server, callers).unwrap();
    let client = Reloading::client(client).unwrap();
    let listener = TcpListener::bind("127.0.0.1:0").await.unwrap();
    let address = listener.local_addr().unwrap();
    let serving = async {
        let (stream, _) = listener.accept().await.unwrap();
        match tls::accept(stream, server.current()).await {
            Ok((mut stream, peer)) => {
                let mut byte = [0];
                stream.read_exact(&mut byte).await.unwrap();
                stream.write_all(&byte).await.unwrap();
                stream.flush().await.unwrap();
                Ok(peer)
            }
            Err((error, mut stream)) => {
                let _ = stream.shutdown().await;
                let _ = stream.read(&mut [0; 1024]).await;
                Err(error.to_string())
            }
        }
    };
    let calling = async {
        let stream = TcpStream::connect(address).await.unwrap();
        let mut stream = match tls::connect("localhost", stream, client.current()).await {
            Ok(stream) => stream,
            Err(TlsHandshakeError::Tls(failure)) => return Err(failure),
            Err(TlsHandshakeError::Stream(error)) => panic!("{error}"),
        };
        let _ = stream.write_all(&[7]).await;
        match stream.read_exact(&mut [0]).await {
            Ok(_) => Ok(()),
            Err(error) => {
                Err(TlsFailure::of(&error, ConnectionSide::Caller).unwrap_or(TlsFailure::Other(error.to_string())))
            }
        }
    };
    tokio::join!(serving, calling)
}

#[tokio::test]
async fn both_sides_know_each_other() {
    let directory = TempDir::new().unwrap();
    let authority = authority::create("example.org", DAY).unwrap();
    let server = issue(directory.path(), &authority, "coordinator", Some("localhost"), DAY);
    let client = issue(directory.path(), &authority, "alice", None, DAY);
    let (peer, heard) = meet(server, Callers::WithCertificate, client).await;
    assert_eq!(peer, Ok(Peer::Certificate(SpiffeId::parse("spiffe://example.org/weft/apply/alice").unwrap())));
    assert_eq!(heard, Ok(()));
}

#[tokio::test]
async fn a_bad_certificate_is_named_on_both_sides() {
    let directory = TempDir::new().unwrap();
    let authority = authority::create("example.org", DAY).unwrap();
    let other = authority::create("example.org", DAY).unwrap();
    let folder = directory.path();
    let server = issue(folder, &authority, "coordinator", Some("localhost"), DAY);
    let good = issue(folder, &authority, "alice", None, DAY);
    // The caller's certificate comes from another authority.
    let mut foreign = issue(folder, &other, "mallory", None, DAY);
    foreign.authorities.clone_from(&good.authorities);
    let (peer, heard) = meet(server.clone(), Callers::WithCertificate, foreign).await;
    assert!(peer.unwrap_err().contains("the certificate of the caller was not issued by"));
    assert_eq!(heard, Err(TlsFailure::UnknownAuthority(ConnectionSide::Caller)));
    // The caller has no certificate.
    let none = TlsFiles { authorities: good.authorities.clone(), own: None };
    let (peer, heard) = meet(server.clone(), Callers::WithCertificate, none.clone()).await;
    assert!(peer.unwrap_err().contains("the coordinator needs a certificate"));
    assert_eq!(heard, Err(TlsFailure::CertificateRequired));
    let (peer, heard) = meet(server.clone(), Callers::WithCertificateOrToken, none).await;
    assert_eq!((peer, heard), (Ok(Peer::Unknown), Ok(())));
    // The coordinator's certificate is for another host.
    let elsewhere = issue(folder, &authority, "elsewhere", Some("weft.example.org"), DAY);
    let (_, heard) = meet(elsewhere, Callers::WithCertificate, good.clone()).await;
    assert_eq!(heard, Err(TlsFailure::WrongHost("localhost".to_owned())));
    // The coordinator's certificate comes from another authority.
    let foreign = issue(folder, &other, "foreign", Some("localhost"), DAY);
    let (_, heard) = meet(foreign, Callers::WithCertificate, good.clone()).await;
    assert_eq!(heard, Err(TlsFailure::UnknownAuthority(ConnectionSide::Coordinator)));
    // The caller's certificate has expired.
    let brief = issue(folder, &authority, "brief", None, Duration::from_secs(1));
    tokio::time::sleep(Duration::from_millis(2100)).await;
    let (peer, heard) = meet(server, Callers::WithCertificate, brief).await;
    assert!(peer.unwrap_err().contains("the certificate of the caller has expired"));
    assert_eq!(heard, Err(TlsFailure::Expired(ConnectionSide::Caller)));
}

#[test]
fn files_that_cannot_be_used_are_named() {
    let directory = TempDir::new().unwrap();
    let authority = authority::create("example.org", DAY).unwrap();
    let files = issue(directory.path(), &authority, "alice", Some("localhost"), DAY);
    let other = issue(directory.path(), &authority, "bob", Some("localhost"), DAY);
    let error = |files: TlsFiles| Reloading::server(files, Callers::WithCertificate).unwrap_err().to_string();
    let own = |files: &TlsFiles| files.own.clone().unwrap();
    assert!(matches!(
        Reloading::server(TlsFiles { own: None, ..files.clone() }, Callers::WithCertificate),
        Err(TlsError::NoCertificate)
    ));
    let swapped = OwnFiles { certificate: own(&files).certificate, key: own(&other).key };
    assert!(error(TlsFiles { own: Some(swapped), ..files.clone() }).contains("alice.pem cannot be used"));
    let swapped = OwnFiles { certificate: own(&files).key, key: own(&files).key };
    assert!(error(TlsFiles { own: Some(swapped), ..files.clone() }).contains("contains no certificate"));
    let swapped = OwnFiles { certificate: own(&files).certificate, key: own(&files).certificate };
    assert!(error(TlsFiles { own: Some(swapped), ..files.clone() }).contains("contains no private key"));
    let missing = TlsFiles { authorities: "/no/such/file".into(), ..files };
    assert!(error(missing).contains("/no/such/file cannot be read"));
}

#[test]
fn changed_files_are_used_and_broken_ones_are_not() {
    let directory = TempDir::new().unwrap();
    let authority = authority::create("example.org", DAY).unwrap();
    let files = issue(directory.path(), &authority, "alice", None, DAY);
    let reloading = Reloading::client(files.clone()).unwrap();
    let first = reloading.own().unwrap().expires;
    let pause = || std::thread::sleep(Duration::from_millis(1100));
    pause();
    issue(directory.path(), &authority, "alice", None, DAY * 30);
    reloading.current();
    let second = reloading.own().unwrap().expires;
    assert!(second > first + DAY * 20, "the new certificate is in force");
    pause();
    std::fs::write(&files.own.as_ref().unwrap().certificate, "nonsense").unwrap();
    reloading.current();
    assert_eq!(reloading.own().unwrap().expires, second, "the former certificate stays in force");
}
