//! Tests of keys from a service.

mod block;

use std::sync::Arc;
use std::sync::atomic::{AtomicU64, Ordering};

use block::{Block, STATE};
use weft_sealing::*;

/// A service whose key number N has N in each byte, and the metadata `{"id":N}`.
#[derive(Debug, Default)]
struct Numbers {
    length: u64,
    made: AtomicU64,
    asked: AtomicU64,
    broken: bool,
}

impl KeyService for Numbers {
    fn key_length(&self) -> u64 {
        self.length
    }

    fn new_key(&self) -> Result<(Secret, Vec<u8>), ServiceError> {
        if self.broken {
            return Err(ServiceError::Request("it is closed".to_owned()));
        }
        let number = self.made.fetch_add(1, Ordering::Relaxed) + 1;
        Ok((Secret::new(vec![number as u8; self.length as usize]), format!("{{\"id\":{number}}}").into_bytes()))
    }

    fn key_of(&self, metadata: &[u8]) -> Result<Secret, ServiceError> {
        if self.broken {
            return Err(ServiceError::Request("it is closed".to_owned()));
        }
        self.asked.fetch_add(1, Ordering::Relaxed);
        let text = String::from_utf8_lossy(metadata);
        let number = text.trim_start_matches("{\"id\":").trim_end_matches('}').parse::<u8>();
        let number = number.map_err(|_| ServiceError::NoKey("id"))?;
        Ok(Secret::new(vec![number; self.length as usize]))
    }
}

fn block(client: Result<Arc<Numbers>, String>) -> Block {
    let client = client.map(|client| client as Arc<dyn KeyService>);
    Block::new()
        .provider("numbers.main", KeyProvider::new(KeySource::Service(ServiceClient { client })))
        .aes("aes_gcm.main", "numbers.main")
        .target(TargetName::State, &["aes_gcm.main"])
}

fn numbers(length: u64) -> Arc<Numbers> {
    Arc::new(Numbers { length, ..Numbers::default() })
}

#[test]
fn keys_are_asked_for_once() {
    let service = numbers(32);
    let sealing = block(Ok(service.clone())).sealing();
    assert_eq!(service.made.load(Ordering::Relaxed), 0);
    let sealed = sealing.seal_state(STATE).unwrap();
    sealing.seal_state(STATE).unwrap();
    // The keyring has cached the key that it made itself, so it sends no request.
    assert_eq!(&*sealing.open_state(&sealed).unwrap().plain, STATE);
    assert_eq!((service.made.load(Ordering::Relaxed), service.asked.load(Ordering::Relaxed)), (1, 0));
    let other = block(Ok(service.clone())).sealing();
    for _ in 0..2 {
        assert_eq!(&*other.open_state(&sealed).unwrap().plain, STATE);
    }
    assert_eq!((service.made.load(Ordering::Relaxed), service.asked.load(Ordering::Relaxed)), (1, 1));
    assert!(String::from_utf8(sealed).unwrap().contains("eyJpZCI6MX0="));
}

#[test]
fn a_service_without_a_key_is_reported() {
    let sealed = block(Ok(numbers(32))).sealing().seal_state(STATE).unwrap();
    let closed = block(Ok(Arc::new(Numbers { length: 32, broken: true, ..Numbers::default() }))).sealing();
    let error = closed.open_state(&sealed).unwrap_err();
    assert!(error.lacks_key() && error.to_string().contains("key_provider.numbers.main: it is closed"), "{error}");
    let error = closed.seal_state(STATE).unwrap_err();
    assert!(error.lacks_key(), "{error}");
    let changed = String::from_utf8(sealed).unwrap().replace("eyJpZCI6MX0=", "e30=");
    let error = block(Ok(numbers(32))).sealing().open_state(changed.as_bytes()).unwrap_err();
    assert!(!error.lacks_key() && error.to_string().contains("it has no id"), "{error}");
}

#[test]
fn settings_of_services_are_checked_where_they_are_used() {
    let problems = |block: Block| block.problems().iter().map(SettingsProblem::to_string).collect::<Vec<_>>();
    assert_eq!(problems(block(Err("no key_name".to_owned()))), ["key_provider.numbers.main: no key_name"]);
    let long =
        "method.aes_gcm.main needs keys of 16, 24 or 32 bytes, but key_provider.numbers.main makes keys of 64 bytes";
    assert_eq!(problems(block(Ok(numbers(64)))), [long]);
    let unused = KeyProvider::new(KeySource::Service(ServiceClient { client: Err("no key_name".to_owned()) }));
    block(Ok(numbers(16))).provider("numbers.unused", unused).sealing();
}
