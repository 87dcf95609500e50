//! The settings of an `encryption` block, and their problems.
//!
//! As in OpenTofu, only settings that a target uses are checked. So an unused provider without a passphrase is valid.

use std::collections::{BTreeMap, BTreeSet};

use crate::key_provider::{KeyProvider, KeySource, Pbkdf2Problem};
use crate::limits::{LONGEST_CHAIN, LONGEST_METADATA_KEY};
use crate::method::{AES_KEY_LENGTHS, Method, Target};
use crate::name::{KeyProviderName, MethodName, SealingPart, TargetName};

/// An `encryption` block as plain data.
#[derive(Clone, Debug, Default)]
pub struct EncryptionSettings {
    /// All key providers.
    pub key_providers: BTreeMap<KeyProviderName, KeyProvider>,
    /// All methods.
    pub methods: BTreeMap<MethodName, Method>,
    /// The configured targets. Other targets are neither encrypted nor decrypted.
    pub targets: BTreeMap<TargetName, Target>,
}

/// A problem of the settings. [`SettingsProblem::about`] returns its subject.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
pub enum SettingsProblem {
    /// A target has neither a main method nor a fallback.
    #[error(
        "{target} has no method{}",
        if *.enforced { ", but enforced requires a method: set method in the configuration or in TF_ENCRYPTION" }
        else { ": set method, or remove the block" }
    )]
    NoMethod {
        /// The target.
        target: TargetName,
        /// Whether encryption is enforced.
        enforced: bool,
    },
    /// A target names an undeclared method.
    #[error("{target} uses {method}, which is not declared")]
    UndeclaredMethod {
        /// The target.
        target: TargetName,
        /// The method.
        method: MethodName,
    },
    /// Encryption is enforced, but a method does not encrypt.
    #[error("{target} has enforced = true, but {method} does not encrypt: remove enforced, or use another method")]
    UnencryptedForbidden {
        /// The target.
        target: TargetName,
        /// The method.
        method: MethodName,
    },
    /// A key provider is not declared.
    #[error("{by} uses {provider}, which is not declared")]
    UndeclaredKeyProvider {
        /// The method or key provider that refers to the missing key provider.
        by: SealingPart,
        /// The key provider.
        provider: KeyProviderName,
    },
    /// A command has no program.
    #[error("{by} has an empty {setting}: its first element is the program to run")]
    EmptyCommand {
        /// The method or key provider.
        by: SealingPart,
        /// The name of the argument.
        setting: &'static str,
    },
    /// A setting of a `pbkdf2` key provider is out of its bounds.
    #[error("{provider}: {problem}")]
    Pbkdf2 {
        /// The key provider.
        provider: KeyProviderName,
        /// The setting.
        problem: Pbkdf2Problem,
    },
    /// The settings of a key provider that is a service are not valid.
    #[error("{provider}: {problem}")]
    Service {
        /// The key provider.
        provider: KeyProviderName,
        /// The problem of the settings.
        problem: String,
    },
    /// The length of a provider's keys does not match a method.
    #[error("{method} needs keys of 16, 24 or 32 bytes, but {provider} makes keys of {length} bytes")]
    KeyLength {
        /// The method.
        method: MethodName,
        /// The key provider.
        provider: KeyProviderName,
        /// The length of the provider's keys in bytes.
        length: u64,
    },
    /// A key provider depends on its own key.
    #[error("the key of {provider} depends on itself: {}", arrows(.circle))]
    Circle {
        /// The key provider where the cycle was found.
        provider: KeyProviderName,
        /// The providers of the cycle. The last one depends on the first one.
        circle: Vec<KeyProviderName>,
    },
    /// The chain of key providers is too long.
    #[error("the chain of key providers at {provider} is longer than {LONGEST_CHAIN}")]
    LongChain {
        /// The key provider whose chain is too long.
        provider: KeyProviderName,
    },
    /// Two providers of one chain have the same metadata key.
    #[error("{one} and {other} have the same metadata key {key:?}: set different values for encrypted_metadata_alias")]
    SameMetadataKey {
        /// The provider that has `other` in its chain.
        one: KeyProviderName,
        /// The provider in the chain of `one`.
        other: KeyProviderName,
        /// The metadata key.
        key: String,
    },
    /// The metadata key is too long.
    #[error("{provider} has a metadata key of {length} bytes, but at most {LONGEST_METADATA_KEY} are accepted")]
    LongMetadataKey {
        /// The key provider.
        provider: KeyProviderName,
        /// The length of the key.
        length: usize,
    },
}

impl SettingsProblem {
    /// The block that must be changed.
    pub fn about(&self) -> SealingPart {
        match self {
            SettingsProblem::NoMethod { target, .. }
            | SettingsProblem::UndeclaredMethod { target, .. }
            | SettingsProblem::UnencryptedForbidden { target, .. } => SealingPart::Target(target.clone()),
            SettingsProblem::UndeclaredKeyProvider { by, .. } | SettingsProblem::EmptyCommand { by, .. } => by.clone(),
            SettingsProblem::KeyLength { method, .. } => SealingPart::Method(method.clone()),
            SettingsProblem::Pbkdf2 { provider, .. }
            | SettingsProblem::Service { provider, .. }
            | SettingsProblem::Circle { provider, .. }
            | SettingsProblem::LongChain { provider }
            | SettingsProblem::LongMetadataKey { provider, .. }
            | SettingsProblem::SameMetadataKey { one: provider, .. } => SealingPart::KeyProvider(provider.clone()),
        }
    }
}

fn arrows(circle: &[KeyProviderName]) -> String {
    let mut names: Vec<String> = circle.iter().map(KeyProviderName::to_string).collect();
    names.extend(names.first().cloned());
    names.join(" -> ")
}

impl EncryptionSettings {
    /// Removes all key providers and methods that no target uses, and checks the rest.
    ///
    /// # Errors
    /// Returns all problems of these settings, targets first, without duplicates.
    pub(crate) fn reached(mut self) -> Result<EncryptionSettings, Vec<SettingsProblem>> {
        let mut problems = Vec::new();
        let mut methods = BTreeSet::new();
        for (target, settings) in &self.targets {
            if settings.methods.is_empty() {
                problems.push(SettingsProblem::NoMethod { target: target.clone(), enforced: settings.enforced });
            }
            for name in &settings.methods {
                let (target, method) = (target.clone(), name.clone());
                match self.methods.get(name) {
                    None => problems.push(SettingsProblem::UndeclaredMethod { target, method }),
                    Some(Method::Unencrypted) if settings.enforced => {
                        problems.push(SettingsProblem::UnencryptedForbidden { target, method });
                    }
                    Some(_) => _ = methods.insert(name.clone()),
                }
            }
        }
        self.methods.retain(|name, _| methods.contains(name));
        let mut providers = BTreeSet::new();
        for (name, method) in &self.methods {
            self.check_method(name, method, &mut problems);
            if let Some(first) = method.keys() {
                self.follow(SealingPart::Method(name.clone()), first, &mut providers, &mut problems);
            }
        }
        self.key_providers.retain(|name, _| providers.contains(name));
        for (name, provider) in &self.key_providers {
            self.check_provider(name, provider, &mut problems);
        }
        if problems.is_empty() { Ok(self) } else { Err(problems) }
    }

    /// Adds a provider and its chain to `reached`. In a cycle, the search stops at the first provider that it visits
    /// again.
    fn follow(
        &self,
        mut by: SealingPart,
        first: &KeyProviderName,
        reached: &mut BTreeSet<KeyProviderName>,
        problems: &mut Vec<SettingsProblem>,
    ) {
        let mut next = Some(first);
        while let Some(name) = next {
            let Some(provider) = self.key_providers.get(name) else {
                problems.push(SettingsProblem::UndeclaredKeyProvider { by, provider: name.clone() });
                return;
            };
            if !reached.insert(name.clone()) {
                return;
            }
            by = SealingPart::KeyProvider(name.clone());
            next = provider.chain();
        }
    }

    fn check_method(&self, name: &MethodName, method: &Method, problems: &mut Vec<SettingsProblem>) {
        match method {
            Method::AesGcm { keys, .. } => {
                if let Some(length) = self.key_providers.get(keys).and_then(|found| found.source.key_length())
                    && !AES_KEY_LENGTHS.contains(&length)
                {
                    let (method, provider) = (name.clone(), keys.clone());
                    problems.push(SettingsProblem::KeyLength { method, provider, length });
                }
            }
            Method::External { encrypt_command, decrypt_command, .. } => {
                for (setting, command) in [("encrypt_command", encrypt_command), ("decrypt_command", decrypt_command)] {
                    if command.is_empty() {
                        let by = SealingPart::Method(name.clone());
                        problems.push(SettingsProblem::EmptyCommand { by, setting });
                    }
                }
            }
            Method::Unencrypted => {}
        }
    }

    fn check_provider(&self, name: &KeyProviderName, provider: &KeyProvider, problems: &mut Vec<SettingsProblem>) {
        let key = provider.metadata_key(name);
        if key.len() > LONGEST_METADATA_KEY {
            problems.push(SettingsProblem::LongMetadataKey { provider: name.clone(), length: key.len() });
        }
        match &provider.source {
            KeySource::Pbkdf2(settings) => problems.extend(
                settings
                    .problems()
                    .into_iter()
                    .map(|problem| SettingsProblem::Pbkdf2 { provider: name.clone(), problem }),
            ),
            KeySource::External { command } if command.is_empty() => {
                let by = SealingPart::KeyProvider(name.clone());
                problems.push(SettingsProblem::EmptyCommand { by, setting: "command" });
            }
            KeySource::Service(service) => problems.extend(
                service
                    .client
                    .as_ref()
                    .err()
                    .map(|problem| SettingsProblem::Service { provider: name.clone(), problem: problem.clone() }),
            ),
            KeySource::External { .. } => {}
        }
        let mut passed = vec![name];
        let mut next = provider.chain();
        while let Some(link) = next {
            if link == name {
                // Each cycle is reported only once, for the provider whose name sorts first.
                if passed.iter().all(|other| name <= *other) {
                    let circle = passed.into_iter().cloned().collect();
                    problems.push(SettingsProblem::Circle { provider: name.clone(), circle });
                }
                return;
            }
            // The chain leads into a cycle of other providers. That cycle is reported for one of its own providers.
            if passed.contains(&link) {
                return;
            }
            if passed.len() >= LONGEST_CHAIN {
                problems.push(SettingsProblem::LongChain { provider: name.clone() });
                return;
            }
            let Some(found) = self.key_providers.get(link) else { return };
            if found.metadata_key(link) == key {
                problems.push(SettingsProblem::SameMetadataKey { one: name.clone(), other: link.clone(), key });
                return;
            }
            passed.push(link);
            next = found.chain();
        }
    }
}
