//! Settings of an `encryption` block, for tests.
#![allow(dead_code)]

use std::collections::BTreeMap;

use weft_sealing::*;

pub const PASSPHRASE: &str = "correct horse battery";

pub const STATE: &[u8] =
    br#"{"version": 4, "serial": 7, "lineage": "one", "outputs": {"o": {"value": "secret words"}}}"#;

/// The name of a key provider, from `TYPE.NAME`.
pub fn provider(name: &str) -> KeyProviderName {
    let (kind, name) = name.split_once('.').unwrap();
    KeyProviderName::new(kind, name)
}

/// The name of a method, from `TYPE.NAME`.
pub fn method(name: &str) -> MethodName {
    let (kind, name) = name.split_once('.').unwrap();
    MethodName::new(kind, name)
}

#[derive(Clone, Default)]
pub struct Block(pub EncryptionSettings);

impl Block {
    pub fn new() -> Block {
        Block::default()
    }

    /// Adds `key_provider "pbkdf2" NAME`, with the minimum number of iterations.
    pub fn words(self, name: &str, passphrase: &str) -> Block {
        self.pbkdf2(name, Passphrase::Words(Secret::new(passphrase)))
    }

    /// Adds `key_provider "pbkdf2" NAME` with `chain`.
    pub fn chain(self, name: &str, link: &str) -> Block {
        self.pbkdf2(name, Passphrase::Chain(provider(link)))
    }

    fn pbkdf2(self, name: &str, passphrase: Passphrase) -> Block {
        let settings = Pbkdf2 { iterations: 200_000, ..Pbkdf2::with_defaults(passphrase) };
        self.provider(name, KeyProvider::new(KeySource::Pbkdf2(settings)))
    }

    /// Adds `key_provider "external" NAME`.
    pub fn command(self, name: &str, command: &[&str]) -> Block {
        let command = command.iter().map(|&part| part.to_owned()).collect();
        self.provider(name, KeyProvider::new(KeySource::External { command }))
    }

    pub fn provider(mut self, name: &str, found: KeyProvider) -> Block {
        self.0.key_providers.insert(provider(name), found);
        self
    }

    /// Sets `encrypted_metadata_alias` of an existing key provider.
    pub fn alias(mut self, name: &str, alias: &str) -> Block {
        self.0.key_providers.get_mut(&provider(name)).unwrap().encrypted_metadata_alias = Some(alias.to_owned());
        self
    }

    /// Adds `method "aes_gcm" NAME`.
    pub fn aes(self, name: &str, keys: &str) -> Block {
        self.aes_with(name, keys, b"")
    }

    pub fn aes_with(self, name: &str, keys: &str, aad: &[u8]) -> Block {
        self.method(name, Method::AesGcm { keys: provider(keys), aad: aad.to_vec() })
    }

    /// Adds `method "unencrypted" "none"`.
    pub fn unencrypted(self) -> Block {
        self.method("unencrypted.none", Method::Unencrypted)
    }

    pub fn method(mut self, name: &str, found: Method) -> Block {
        self.0.methods.insert(method(name), found);
        self
    }

    /// Sets the methods of `state` and `plan`. The main method is first.
    pub fn both(self, methods: &[&str]) -> Block {
        self.target(TargetName::State, methods).target(TargetName::Plan, methods)
    }

    pub fn target(mut self, target: TargetName, methods: &[&str]) -> Block {
        let methods = methods.iter().map(|name| method(name)).collect();
        self.0.targets.insert(target, Target { enforced: false, methods });
        self
    }

    pub fn enforced(mut self) -> Block {
        self.0.targets.values_mut().for_each(|target| target.enforced = true);
        self
    }

    pub fn sealing(&self) -> Sealing {
        Sealing::new(self.0.clone()).unwrap()
    }

    pub fn problems(&self) -> Vec<SettingsProblem> {
        Sealing::new(self.0.clone()).unwrap_err()
    }
}

/// One passphrase and one method, for states and plans.
pub fn simple(passphrase: &str) -> Block {
    Block::new().words("pbkdf2.main", passphrase).aes("aes_gcm.main", "pbkdf2.main").both(&["aes_gcm.main"])
}

/// The envelope as JSON.
pub fn json(envelope: &[u8]) -> serde_json::Value {
    serde_json::from_slice(envelope).unwrap()
}

/// The metadata of an envelope, by key.
pub fn metadata(envelope: &[u8]) -> BTreeMap<String, serde_json::Value> {
    use base64::Engine as _;
    let json = json(envelope);
    let decoded = |text: &serde_json::Value| base64::prelude::BASE64_STANDARD.decode(text.as_str().unwrap()).unwrap();
    let entries = json["meta"].as_object().unwrap().iter();
    entries.map(|(key, own)| (key.clone(), serde_json::from_slice(&decoded(own)).unwrap())).collect()
}
