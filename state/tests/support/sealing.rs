//! Settings that seal states, for the tests of stores.

use std::sync::Arc;

use weft_sealing::key_provider::LEAST_ITERATIONS;
use weft_sealing::{
    EncryptionSettings, KeyProvider, KeyProviderName, KeySource, Method, MethodName, Passphrase, Pbkdf2, Sealing,
    Secret, Target, TargetName,
};

/// A sealing of states with a key from this passphrase. With `migrating`, unsealed states are accepted, too.
pub fn sealing(words: &str, migrating: bool) -> Arc<Sealing> {
    let keys = KeyProviderName::new("pbkdf2", "main");
    let (main, open) = (MethodName::new("aes_gcm", "main"), MethodName::new("unencrypted", "before"));
    let words = Passphrase::Words(Secret::new(words));
    let source = KeySource::Pbkdf2(Pbkdf2 { iterations: LEAST_ITERATIONS, ..Pbkdf2::with_defaults(words) });
    let mut methods = vec![main.clone()];
    methods.extend(migrating.then(|| open.clone()));
    let settings = EncryptionSettings {
        key_providers: [(keys.clone(), KeyProvider::new(source))].into(),
        methods: [(main, Method::AesGcm { keys, aad: Vec::new() }), (open, Method::Unencrypted)].into(),
        targets: [(TargetName::State, Target { enforced: false, methods })].into(),
    };
    Arc::new(Sealing::new(settings).unwrap())
}
