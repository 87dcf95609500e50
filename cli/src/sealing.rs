//! The encryption of states and plans: keys and methods from the configuration and the environment.
//!
//! A command has one [`Sealing`] ([`Context::sealing`]), which caches its keys. Everything that reads or writes a state
//! or a plan uses it, so a target that must be sealed is never written unencrypted.

mod problems;
mod reading;

use std::fmt;
use std::path::Path;
use std::sync::Arc;

use smol_str::SmolStr;
use weft_backends::keys;
use weft_evaluator::config::{CompiledModule, Encryption, EncryptionPart, EncryptionTarget, PartName};
use weft_graph_format::diagnostic::{Diagnostic, has_errors};
use weft_graph_format::plan_file::{PlanFileError, PlanReader};
use weft_graph_format::source::SourceRange;
use weft_sealing::{
    EncryptionSettings, KeyProvider, KeyProviderName, KeySource, Method, MethodName, OpenError, Sealing, SealingPart,
    SettingsProblem, Target, TargetName, is_sealed, is_sealed_state,
};
use weft_state::StoreError;
use weft_state::tfstate::StateFile;
use weft_syntax::{parse_bytes, parse_json_bytes};

use crate::context::Context;
use crate::options::Arguments;
use crate::root::{encryption_from_environment, root_alone, sound_root};
use reading::Reading;

impl Context {
    /// The encryption of this command. `root` is the configuration of the current directory, if it was loaded.
    ///
    /// # Errors
    /// Returns the errors and warnings of the settings, if there are errors.
    pub fn sealing(
        &self,
        arguments: &Arguments,
        root: Option<&CompiledModule>,
    ) -> Result<Arc<Sealing>, Vec<Diagnostic>> {
        if let Some(known) = self.sealed_by.get() {
            return Ok(known.clone());
        }
        let (sealing, _) = match root {
            Some(root) => made(root)?,
            None if self.strict => made(&sound_root(self, arguments)?.root)?,
            None if mentions_encryption(Path::new("."))? || encryption_from_environment().is_some() => {
                made(&root_alone(self, arguments).root)?
            }
            None => SealingWithWarnings::default(),
        };
        Ok(self.sealed_by.get_or_init(|| sealing).clone())
    }

    /// Determines the encryption at the start of a command. Returns the warnings to report.
    ///
    /// # Errors
    /// Returns the errors and warnings of the settings, if there are errors.
    pub fn settle_sealing(&self, root: &CompiledModule) -> Result<Vec<Diagnostic>, Vec<Diagnostic>> {
        let (sealing, warnings) = made(root)?;
        self.sealed_by.get_or_init(|| sealing);
        Ok(warnings)
    }
}

/// Whether a configuration file in a directory contains the word `encryption`. Files without this word may be invalid,
/// so that their problems never prevent a run from being resumed.
///
/// # Errors
/// Returns an error if a file cannot be read, or if a file with the word cannot be parsed: it may require encryption.
fn mentions_encryption(directory: &Path) -> Result<bool, Vec<Diagnostic>> {
    let mut mentioned = false;
    for entry in std::fs::read_dir(directory).into_iter().flatten().flatten() {
        let name = entry.file_name().to_string_lossy().into_owned();
        let parse = match () {
            () if name.ends_with(".tf") || name.ends_with(".tofu") => parse_bytes,
            () if name.ends_with(".tf.json") || name.ends_with(".tofu.json") => parse_json_bytes,
            () => continue,
        };
        let bytes =
            std::fs::read(entry.path()).map_err(|error| vec![problems::configuration_unreadable(&name, &error)])?;
        if String::from_utf8_lossy(&bytes).contains("encryption") {
            let (_, problems) = parse(&name, &bytes);
            if has_errors(&problems) {
                return Err(problems);
            }
            mentioned = true;
        }
    }
    Ok(mentioned)
}

/// The encryption of a command, with warnings.
type SealingWithWarnings = (Arc<Sealing>, Vec<Diagnostic>);

fn made(root: &CompiledModule) -> Result<SealingWithWarnings, Vec<Diagnostic>> {
    let Some(encryption) = &root.settings.encryption else { return Ok(Default::default()) };
    let mut making = Making { encryption, problems: encryption.problems.clone() };
    let settings = making.settings();
    let mut problems = making.problems;
    if encryption.declares_unencrypted {
        let warning = problems::unencrypted_configured();
        problems.push(placed(warning, &encryption.range));
    }
    if has_errors(&problems) {
        return Err(problems);
    }
    match Sealing::new(settings) {
        Ok(sealing) => Ok((Arc::new(sealing), problems)),
        Err(found) => {
            // As above, keys come before methods.
            let keyless = found.iter().any(|problem| matches!(problem.about(), SealingPart::KeyProvider(_)));
            let of_method = |problem: &SettingsProblem| matches!(problem.about(), SealingPart::Method(_));
            let told = found.iter().filter(|problem| !(keyless && of_method(problem)));
            problems.extend(told.map(|problem| described(problem, encryption)));
            Err(problems)
        }
    }
}

/// Adds to a problem the position of the settings. Settings from the environment have no position.
fn placed(problem: Diagnostic, range: &SourceRange) -> Diagnostic {
    if range.file.is_empty() { problem } else { problem.at(range.clone()) }
}

fn described(problem: &SettingsProblem, encryption: &Encryption) -> Diagnostic {
    match problem {
        SettingsProblem::UnencryptedForbidden { .. } => {
            placed(problems::unencrypted_forbidden(problem), &encryption.range)
        }
        SettingsProblem::KeyLength { .. } => problems::unfit_keys(&problem),
        SettingsProblem::Pbkdf2 { .. } | SettingsProblem::Service { .. } => problems::no_key_data(&problem),
        other => {
            let part = |parts: &std::collections::BTreeMap<PartName, EncryptionPart>, kind: &str, name: &str| {
                parts.get(&(SmolStr::from(kind), SmolStr::from(name))).map(|part| part.range.clone())
            };
            let range = match other.about() {
                SealingPart::KeyProvider(name) => part(&encryption.key_providers, &name.kind, &name.name),
                SealingPart::Method(name) => part(&encryption.methods, &name.kind, &name.name),
                SealingPart::Target(_) => None,
            };
            placed(problems::invalid_settings(other), &range.unwrap_or_else(|| encryption.range.clone()))
        }
    }
}

/// Converts the settings of a configuration. Records their problems.
struct Making<'a> {
    encryption: &'a Encryption,
    problems: Vec<Diagnostic>,
}

impl Making<'_> {
    fn settings(&mut self) -> EncryptionSettings {
        let mut settings = EncryptionSettings::default();
        let encryption = self.encryption;
        let before = self.problems.len();
        for (name, part) in &encryption.key_providers {
            if let Some(provider) = self.key_provider(name, part) {
                settings.key_providers.insert(KeyProviderName::new(&*name.0, &*name.1), provider);
            }
        }
        // Without keys, there is nothing to say about the methods.
        let keyless = self.problems.len() > before;
        for (name, part) in encryption.methods.iter().filter(|_| !keyless) {
            if let Some(method) = self.method(name, part) {
                settings.methods.insert(method_name(name), method);
            }
        }
        let targets = [
            (TargetName::State, &encryption.state),
            (TargetName::Plan, &encryption.plan),
            (TargetName::DefaultRemoteState, &encryption.remote_default),
        ];
        let named = targets.into_iter().filter_map(|(name, target)| Some((name, target.as_ref()?)));
        settings.targets.extend(named.map(|(name, target)| (name, target_of(target))));
        let remotes = encryption.remotes.iter();
        settings.targets.extend(remotes.map(|(name, t)| (TargetName::RemoteState(name.to_string()), target_of(t))));
        settings
    }

    fn key_provider(&mut self, name: &PartName, part: &EncryptionPart) -> Option<KeyProvider> {
        let kind = name.0.as_str();
        let what = format!("key_provider.{kind}.{}", name.1);
        let mut reading = Reading::new(&what, part, &mut self.problems);
        let source = match kind {
            "pbkdf2" => reading.pbkdf2().map(KeySource::Pbkdf2),
            "external" => reading.required("command", Reading::words).map(|command| KeySource::External { command }),
            service if keys::SERVICES.contains(&service) => {
                let Some(schema) = keys::schema(service) else {
                    self.problems.push(problems::key_service_unsupported(service).at(part.range.clone()));
                    return None;
                };
                let environment = |name: &str| std::env::var(name).ok();
                let settings = reading.service(&schema);
                settings.map(|settings| KeySource::Service(keys::connect(service, &settings, &environment)))
            }
            other => {
                self.problems.push(problems::unknown_key_provider(other));
                return None;
            }
        };
        let encrypted_metadata_alias = reading.text("encrypted_metadata_alias");
        reading.finish();
        Some(KeyProvider { source: source?, encrypted_metadata_alias })
    }

    fn method(&mut self, name: &PartName, part: &EncryptionPart) -> Option<Method> {
        let kind = name.0.as_str();
        let what = format!("method.{kind}.{}", name.1);
        let mut reading = Reading::new(&what, part, &mut self.problems);
        let method = match kind {
            "unencrypted" => Some(Method::Unencrypted),
            "aes_gcm" => {
                let aad = reading.bytes("aad").unwrap_or_default();
                reading.required("keys", Reading::keys).map(|keys| Method::AesGcm { keys, aad })
            }
            "external" => {
                let keys = reading.keys("keys");
                let encrypt_command = reading.required("encrypt_command", Reading::words);
                let decrypt_command = reading.required("decrypt_command", Reading::words);
                encrypt_command.zip(decrypt_command).map(|(encrypt_command, decrypt_command)| Method::External {
                    keys,
                    encrypt_command,
                    decrypt_command,
                })
            }
            other => {
                self.problems.push(problems::unknown_method(other));
                return None;
            }
        };
        reading.finish();
        method
    }
}

fn method_name(name: &PartName) -> MethodName {
    MethodName::new(&*name.0, &*name.1)
}

fn target_of(target: &EncryptionTarget) -> Target {
    Target { enforced: target.enforced, methods: target.methods.iter().map(method_name).collect() }
}

/// Reads a state from a file, and decrypts it if it is sealed. `None` if the file is empty.
///
/// # Errors
/// Returns an error if the state cannot be read or decrypted.
pub fn read_state(sealing: &Sealing, path: &str) -> Result<Option<StateFile>, StoreError> {
    let io = |error: std::io::Error| StoreError::Io { doing: format!("reading {path}"), error: error.to_string() };
    let bytes = std::fs::read(path).map_err(io)?;
    if bytes.is_empty() {
        return Ok(None);
    }
    let opened = sealing.open_state(&bytes);
    let opened = opened.map_err(|error| StoreError::Unopened { place: path.to_owned(), error })?;
    Ok(Some(StateFile::parse(&opened.plain, path)?))
}

/// The reason why a plan file cannot be read.
pub enum PlanUnread {
    /// The file is not a plan, or it is damaged.
    File(PlanFileError),
    /// The file cannot be decrypted, or it is not sealed although it must be.
    Sealed(OpenError),
}

impl fmt::Display for PlanUnread {
    fn fmt(&self, out: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            PlanUnread::File(error) => error.fmt(out),
            PlanUnread::Sealed(error) => error.fmt(out),
        }
    }
}

impl From<PlanFileError> for PlanUnread {
    fn from(error: PlanFileError) -> PlanUnread {
        PlanUnread::File(error)
    }
}

/// Reads a plan file, and decrypts it if it is sealed.
///
/// # Errors
/// Returns an error if the file cannot be read or decrypted. A sealed state is not a plan.
pub fn plan_reader(sealing: &Sealing, path: &str) -> Result<PlanReader, PlanUnread> {
    match PlanReader::open(path) {
        Err(PlanFileError::NotAPlan) => {}
        Err(error) => return Err(error.into()),
        Ok(reader) if !sealing.covers(&TargetName::Plan) => return Ok(reader),
        Ok(_) => {}
    }
    Ok(PlanReader::from_bytes(plan_bytes(sealing, path)?)?)
}

/// The decrypted bytes of a plan file. A file that is not sealed is returned unchanged if it is not a plan, or if the
/// settings accept unencrypted plans.
///
/// # Errors
/// Returns an error if the file cannot be read or decrypted, or if it is a sealed state. Also returns an error if it is
/// an unencrypted plan that the settings do not accept.
pub fn plan_bytes(sealing: &Sealing, path: &str) -> Result<Vec<u8>, PlanUnread> {
    let bytes = std::fs::read(path).map_err(PlanFileError::from)?;
    if is_sealed_state(&bytes) {
        return Err(PlanFileError::NotAPlan.into());
    }
    if !is_sealed(&bytes) && (!sealing.covers(&TargetName::Plan) || PlanReader::from_bytes(&*bytes).is_err()) {
        return Ok(bytes);
    }
    Ok(sealing.open_plan(&bytes).map_err(PlanUnread::Sealed)?.plain.to_vec())
}
