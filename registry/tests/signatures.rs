//! Signatures that GnuPG 2.2 made with keys of several kinds. The private keys were destroyed.

use std::path::PathBuf;
use std::time::{Duration, SystemTime};

use weft_registry::signature::{SignatureError, verify};

fn file(name: &str) -> Vec<u8> {
    std::fs::read(PathBuf::from(env!("CARGO_MANIFEST_DIR")).join("tests/signatures").join(name)).unwrap()
}

fn key(name: &str) -> String {
    String::from_utf8(file(&format!("{name}.asc"))).unwrap()
}

/// A time at which all keys are valid.
fn today() -> SystemTime {
    SystemTime::UNIX_EPOCH + Duration::from_secs(1_800_000_000)
}

#[test]
fn a_signature_names_its_key() {
    let document = file("SHA256SUMS");
    let keys = [key("plain"), key("subkey"), key("expired"), key("revoked")];
    for name in ["plain.sig", "plain.sig.asc", "subkey.sig", "expired.sig"] {
        let found = verify(&document, &file(name), &keys, None);
        assert_eq!(found.as_ref().map(String::len), Ok(16), "{name}: {found:?}");
    }
    assert_eq!(verify(&document, &file("plain.sig"), &keys, Some(today())).map(|key| key.len()), Ok(16));
    let refused = |name: &str, now| verify(&document, &file(name), &keys, now).unwrap_err();
    assert!(matches!(refused("expired.sig", Some(today())), SignatureError::Expired { .. }));
    assert!(matches!(refused("revoked.sig", None), SignatureError::Revoked { .. }));
    assert!(matches!(refused("sha1.sig", None), SignatureError::Weak { .. }));
}

#[test]
fn other_keys_are_refused() {
    let document = file("SHA256SUMS");
    let changed = [&document[..], b"more"].concat();
    let wrong = verify(&changed, &file("plain.sig"), &[key("plain")], None).unwrap_err();
    assert!(matches!(wrong, SignatureError::Wrong { .. }));
    for keys in [vec![], vec![key("subkey")], vec![key("expired"), key("revoked")]] {
        assert_eq!(verify(&document, &file("plain.sig"), &keys, None), Err(SignatureError::UnknownIssuer));
    }
    assert!(matches!(verify(&document, b"no signature", &[key("plain")], None), Err(SignatureError::Signature(_))));
    assert!(matches!(verify(&document, &file("plain.sig"), &["x".into()], None), Err(SignatureError::Key(_))));
    // A key instead of a signature is refused.
    assert!(verify(&document, key("plain").as_bytes(), &[key("plain")], None).is_err());
}

/// Changed bytes never cause a panic.
#[test]
fn damaged_signatures_and_keys_are_refused() {
    let (document, signature, armor) = (file("SHA256SUMS"), file("plain.sig"), key("plain"));
    for at in 0..signature.len() {
        let mut spoiled = signature.clone();
        spoiled[at] ^= 0x41;
        // The parts of a signature that are not signed, such as the id of its key, may change without harm.
        let _ = verify(&document, &spoiled, std::slice::from_ref(&armor), None);
        let _ = verify(&document, &signature[..at], std::slice::from_ref(&armor), None);
    }
    for at in (0..armor.len()).step_by(7) {
        let mut spoiled = armor.clone().into_bytes();
        spoiled[at] ^= 0x05;
        let _ = verify(&document, &signature, &[String::from_utf8_lossy(&spoiled).into_owned()], None);
    }
}
