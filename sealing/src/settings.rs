//! The settings of an `encryption` block, and all that can be wrong with them before anything is sealed.
//!
//! Only what the targets reach is looked at: OpenTofu loads nothing else, so a provider whose passphrase is missing
//! does no harm while nothing uses it.

use std::collections::{BTreeMap, BTreeSet};

use crate::key_provider::{KeyProvider, KeySource, Pbkdf2Problem};
use crate::method::{AES_KEY_LENGTHS, Method, Target};
use crate::name::{Declared, KeyProviderName, MethodName, TargetName};

/// Longest chain of key providers. Each link costs a derivation; people use two.
pub const LONGEST_CHAIN: usize = 16;

/// Longest alias of metadata, in bytes: it stands in every file and record.
pub const LONGEST_METADATA_KEY: usize = 1024;

/// An `encryption` block as plain data.
#[derive(Clone, Debug, Default)]
pub struct Settings {
    /// All key providers.
    pub key_providers: BTreeMap<KeyProviderName, KeyProvider>,
    /// All methods.
    pub methods: BTreeMap<MethodName, Method>,
    /// The targets that are configured. What has none is neither encrypted nor decrypted.
    pub targets: BTreeMap<TargetName, Target>,
}

/// Something is wrong with the settings. [`SettingsProblem::about`] says where.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
pub enum SettingsProblem {
    /// A target names no method, neither main nor fallback.
    #[error(
        "{target} has no method{}",
        if *.enforced { ", and enforced forbids to go without: set one in the configuration or in TF_ENCRYPTION" }
        else { ": set one, or remove the block" }
    )]
    NoMethod {
        /// The target.
        target: TargetName,
        /// Whether encryption is enforced.
        enforced: bool,
    },
    /// A target names a method that is not declared.
    #[error("{target} uses {method}, which is not declared")]
    UndeclaredMethod {
        /// The target.
        target: TargetName,
        /// The method.
        method: MethodName,
    },
    /// Encryption is enforced, and a method does not encrypt.
    #[error("{target} is enforced, and {method} does not encrypt: remove one of the two")]
    UnencryptedForbidden {
        /// The target.
        target: TargetName,
        /// The method.
        method: MethodName,
    },
    /// A key provider is not declared.
    #[error("{by} uses {provider}, which is not declared")]
    UndeclaredKeyProvider {
        /// The method or key provider that uses it.
        by: Declared,
        /// The key provider.
        provider: KeyProviderName,
    },
    /// A command has no program.
    #[error("{by} has an empty {setting}: its first element is the program to run")]
    EmptyCommand {
        /// The method or key provider.
        by: Declared,
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
    /// The keys of a provider do not fit a method.
    #[error("{method} takes keys of 16, 24 or 32 bytes, and {provider} makes keys of {length}")]
    KeyLength {
        /// The method.
        method: MethodName,
        /// The key provider.
        provider: KeyProviderName,
        /// Bytes of its keys.
        length: u64,
    },
    /// A key provider needs its own key.
    #[error("the key of {provider} depends on itself: {}", arrows(.circle))]
    Circle {
        /// The key provider from which the circle was found.
        provider: KeyProviderName,
        /// The circle; its last provider depends on its first.
        circle: Vec<KeyProviderName>,
    },
    /// Too many key providers hang on one another.
    #[error("more than {LONGEST_CHAIN} key providers hang on one another at {provider}")]
    LongChain {
        /// The key provider at whose end they hang.
        provider: KeyProviderName,
    },
    /// Two providers of one chain would keep their metadata under one name.
    #[error("{one} and {other} both keep their metadata under {key:?}: give them different encrypted_metadata_alias")]
    SameMetadataKey {
        /// The provider that is used.
        one: KeyProviderName,
        /// The provider that it depends on.
        other: KeyProviderName,
        /// The name of the metadata.
        key: String,
    },
    /// The name of the metadata is too long.
    #[error(
        "{provider} keeps its metadata under a name of {length} bytes, at most {LONGEST_METADATA_KEY} are accepted"
    )]
    LongMetadataKey {
        /// The key provider.
        provider: KeyProviderName,
        /// Bytes of the name.
        length: usize,
    },
}

impl SettingsProblem {
    /// The block that has to be changed.
    pub fn about(&self) -> Declared {
        match self {
            SettingsProblem::NoMethod { target, .. }
            | SettingsProblem::UndeclaredMethod { target, .. }
            | SettingsProblem::UnencryptedForbidden { target, .. } => Declared::Target(target.clone()),
            SettingsProblem::UndeclaredKeyProvider { by, .. } | SettingsProblem::EmptyCommand { by, .. } => by.clone(),
            SettingsProblem::KeyLength { method, .. } => Declared::Method(method.clone()),
            SettingsProblem::Pbkdf2 { provider, .. }
            | SettingsProblem::Circle { provider, .. }
            | SettingsProblem::LongChain { provider }
            | SettingsProblem::LongMetadataKey { provider, .. }
            | SettingsProblem::SameMetadataKey { one: provider, .. } => Declared::KeyProvider(provider.clone()),
        }
    }
}

fn arrows(circle: &[KeyProviderName]) -> String {
    let mut names: Vec<String> = circle.iter().map(KeyProviderName::to_string).collect();
    names.extend(names.first().cloned());
    names.join(" -> ")
}

impl Settings {
    /// Only what the targets reach.
    ///
    /// # Errors
    /// All that is wrong with it, targets first, each thing once.
    pub(crate) fn reached(mut self) -> Result<Settings, Vec<SettingsProblem>> {
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
                self.follow(Declared::Method(name.clone()), first, &mut providers, &mut problems);
            }
        }
        self.key_providers.retain(|name, _| providers.contains(name));
        for (name, provider) in &self.key_providers {
            self.check_provider(name, provider, &mut problems);
        }
        if problems.is_empty() { Ok(self) } else { Err(problems) }
    }

    /// Adds a provider and what it hangs on to those that are reached. A circle ends where it meets itself.
    fn follow(
        &self,
        mut by: Declared,
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
            by = Declared::KeyProvider(name.clone());
            next = provider.chain();
        }
    }

    fn check_method(&self, name: &MethodName, method: &Method, problems: &mut Vec<SettingsProblem>) {
        match method {
            Method::AesGcm { keys, .. } => {
                if let Some(KeySource::Pbkdf2(settings)) = self.key_providers.get(keys).map(|found| &found.source)
                    && !AES_KEY_LENGTHS.contains(&settings.key_length)
                {
                    problems.push(SettingsProblem::KeyLength {
                        method: name.clone(),
                        provider: keys.clone(),
                        length: settings.key_length,
                    });
                }
            }
            Method::External { encrypt_command, decrypt_command, .. } => {
                for (setting, command) in [("encrypt_command", encrypt_command), ("decrypt_command", decrypt_command)] {
                    if command.is_empty() {
                        let by = Declared::Method(name.clone());
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
                let by = Declared::KeyProvider(name.clone());
                problems.push(SettingsProblem::EmptyCommand { by, setting: "command" });
            }
            KeySource::External { .. } => {}
        }
        let mut passed = vec![name];
        let mut next = provider.chain();
        while let Some(link) = next {
            if link == name {
                // Each circle is told once: by the first of its names.
                if passed.iter().all(|other| name <= *other) {
                    let circle = passed.into_iter().cloned().collect();
                    problems.push(SettingsProblem::Circle { provider: name.clone(), circle });
                }
                return;
            }
            // Into a circle of others, which is theirs to tell.
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
