//! The dependency lock file, `.terraform.lock.hcl`. It is read leniently, and written byte for byte as OpenTofu does,
//! so that both tools can use the same file.

mod problems;

use std::collections::{BTreeMap, BTreeSet};
use std::fmt::Write as _;
use std::io::{self, Write as _};
use std::path::Path;

use weft_graph_format::address::{DEFAULT_REGISTRY, ProviderSource};
use weft_graph_format::diagnostic::{Diagnostic, has_errors};

use crate::checksum::Checksum;
use crate::constraint::Constraints;
use crate::settings::{self, Item, Setting};
use crate::source::{self, TERRAFORM_HOST};
use problems::Fault;
use weft_graph_format::version::Version;

/// The name of the file, in the root module's directory.
pub const FILE_NAME: &str = ".terraform.lock.hcl";

/// The header that both tools write. It names OpenTofu, because the bytes are part of the format.
const HEADER: &str = "# This file is maintained automatically by \"tofu init\".\n\
                      # Manual edits may be lost in future updates.\n";

/// The maximum size of a lock file. A thousand providers with checksums for all platforms need less.
const MAX_LENGTH: u64 = 16 * 1024 * 1024;

/// The provider versions that `init` has selected.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct LockFile {
    /// The selections, by provider.
    pub providers: BTreeMap<ProviderSource, Lock>,
}

/// The selection for one provider.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Lock {
    /// The selected version.
    pub version: Version,
    /// The constraints for which the version was selected. Informational.
    pub constraints: Constraints,
    /// Checksums of accepted packages, of any platform and scheme.
    pub checksums: BTreeSet<Checksum>,
}

impl LockFile {
    /// Reads the file. A missing file gives no selections. If the diagnostics contain an error, the result has the
    /// parts that could be parsed.
    pub fn load(path: &Path) -> (LockFile, Vec<Diagnostic>) {
        let failed = |error: String| (LockFile::default(), vec![problems::unreadable(path, &error)]);
        match std::fs::metadata(path) {
            Err(error) if error.kind() == io::ErrorKind::NotFound => return (LockFile::default(), Vec::new()),
            Ok(metadata) if metadata.len() > MAX_LENGTH => return failed(format!("it has over {MAX_LENGTH} bytes")),
            _ => {}
        }
        match std::fs::read_to_string(path) {
            Ok(text) => LockFile::parse(&text),
            Err(error) => failed(error.to_string()),
        }
    }

    /// Parses a lock file.
    pub fn parse(text: &str) -> (LockFile, Vec<Diagnostic>) {
        let mut lock = LockFile::default();
        let mut diagnostics = Vec::new();
        match settings::parse(text) {
            Err(error) => diagnostics.push(problems::invalid(error.line, Fault::Syntax(&error.problem))),
            Ok(settings) => {
                for setting in settings {
                    lock.add(setting, &mut diagnostics);
                }
            }
        }
        (lock, diagnostics)
    }

    fn add(&mut self, setting: Setting, diagnostics: &mut Vec<Diagnostic>) {
        let line = setting.line;
        match (setting.words.iter().map(String::as_str).collect::<Vec<_>>().as_slice(), setting.value) {
            (["provider", address], Item::Object(content)) => {
                let source = match source::parse(address) {
                    Ok(source) if source.to_string() == *address => source,
                    Ok(source) => {
                        diagnostics.push(problems::invalid(line, Fault::OtherForm(&source)));
                        return;
                    }
                    Err(error) => {
                        diagnostics.push(problems::invalid(line, Fault::Address(&error)));
                        return;
                    }
                };
                if self.providers.contains_key(&source) {
                    diagnostics.push(problems::invalid(line, Fault::Duplicate(&source)));
                    return;
                }
                if let Some(lock) = Lock::from_settings(&source, line, content, diagnostics) {
                    self.providers.insert(source, lock);
                }
            }
            (["module", ..], _) => diagnostics.push(problems::module_lock(line)),
            (words, _) => diagnostics.push(problems::unknown_setting(line, &words.join(" "))),
        }
    }

    /// The text of the file.
    pub fn to_text(&self) -> String {
        let mut text = HEADER.to_owned();
        for (source, lock) in &self.providers {
            // Writing to a string does not fail.
            let _ = write!(text, "\nprovider \"{source}\" {{\n");
            let constraints = lock.constraints.to_string();
            if constraints.is_empty() {
                let _ = writeln!(text, "  version = \"{}\"", lock.version);
            } else {
                let _ = writeln!(text, "  version     = \"{}\"", lock.version);
                let _ = writeln!(text, "  constraints = \"{constraints}\"");
            }
            if !lock.checksums.is_empty() {
                text.push_str("  hashes = [\n");
                for checksum in &lock.checksums {
                    let _ = writeln!(text, "    {},", quoted(checksum.as_str()));
                }
                text.push_str("  ]\n");
            }
            text.push_str("}\n");
        }
        text
    }

    /// Writes the file atomically.
    pub fn save(&self, path: &Path) -> io::Result<()> {
        let folder = path.parent().filter(|p| !p.as_os_str().is_empty()).unwrap_or(Path::new("."));
        let mut file = tempfile::NamedTempFile::new_in(folder)?;
        file.write_all(self.to_text().as_bytes())?;
        #[cfg(unix)]
        {
            use std::os::unix::fs::PermissionsExt as _;
            let mode = std::fs::metadata(path).map_or(0o644, |m| m.permissions().mode() & 0o777);
            file.as_file().set_permissions(std::fs::Permissions::from_mode(mode))?;
        }
        file.as_file().sync_all()?;
        file.persist(path)?;
        Ok(())
    }

    /// Whether this lock file and `other` have selections for the same providers.
    pub fn same_providers(&self, other: &LockFile) -> bool {
        self.providers.keys().eq(other.providers.keys())
    }

    /// Whether this lock file and `other` select the same versions and packages. Constraints are not compared, because
    /// they are only informational.
    pub fn selects_the_same(&self, other: &LockFile) -> bool {
        let same = |(source, lock): (&ProviderSource, &Lock)| {
            let found = other.providers.get(source);
            found.is_some_and(|found| (&found.version, &found.checksums) == (&lock.version, &lock.checksums))
        };
        self.same_providers(other) && self.providers.iter().all(same)
    }

    /// The lock of a provider. If the file has no lock for a provider of the default registry, but has one for the
    /// provider of the same name in Terraform's registry, returns that lock without checksums. The checksums are
    /// omitted, because the two registries sign and pack packages separately.
    pub fn get(&self, source: &ProviderSource) -> Option<Lock> {
        if let Some(lock) = self.providers.get(source) {
            return Some(lock.clone());
        }
        if source.host != DEFAULT_REGISTRY {
            return None;
        }
        let namesake = ProviderSource { host: TERRAFORM_HOST.into(), ..source.clone() };
        self.providers.get(&namesake).map(|lock| Lock { checksums: BTreeSet::new(), ..lock.clone() })
    }
}

impl Lock {
    fn from_settings(
        source: &ProviderSource,
        line: usize,
        content: Vec<Setting>,
        diagnostics: &mut Vec<Diagnostic>,
    ) -> Option<Lock> {
        let (mut version, mut constraints, mut checksums) = (None, Constraints::any(), BTreeSet::new());
        let before = diagnostics.len();
        for Setting { words, value, line } in content {
            match words.iter().map(String::as_str).collect::<Vec<_>>().as_slice() {
                ["version"] => match value.as_text().map(str::parse::<Version>) {
                    Some(Ok(parsed)) => version = Some(parsed),
                    Some(Err(e)) => diagnostics.push(problems::invalid(line, Fault::Version(&e))),
                    None => {
                        diagnostics.push(problems::invalid(line, Fault::VersionNotAString));
                    }
                },
                ["constraints"] => match value.as_text().map(str::parse::<Constraints>) {
                    Some(Ok(parsed)) => constraints = parsed,
                    Some(Err(e)) => {
                        diagnostics.push(problems::invalid(line, Fault::Constraints(&e)));
                    }
                    None => {
                        diagnostics.push(problems::invalid(line, Fault::ConstraintsNotAString));
                    }
                },
                ["hashes"] => {
                    let parsed = value.as_texts().map(|texts| texts.iter().map(|t| t.parse()).collect());
                    match parsed {
                        Some(Ok(parsed)) => checksums = parsed,
                        Some(Err::<_, crate::checksum::ChecksumFormatError>(e)) => {
                            diagnostics.push(problems::invalid(line, Fault::Checksum(&e)));
                        }
                        None => {
                            diagnostics.push(problems::invalid(line, Fault::ChecksumsNotAList));
                        }
                    }
                }
                other => {
                    diagnostics.push(problems::unknown_setting(line, &other.join(" ")));
                }
            }
        }
        if version.is_none() && !has_errors(&diagnostics[before..]) {
            diagnostics.push(problems::invalid(line, Fault::NoVersion(source)));
        }
        version.map(|version| Lock { version, constraints, checksums })
    }

    /// The checksums of schemes that are supported here.
    pub fn known_checksums(&self) -> impl Iterator<Item = &Checksum> {
        self.checksums.iter().filter(|c| c.is_known())
    }
}

/// A quoted string. Checksums of unknown schemes may contain anything.
fn quoted(text: &str) -> String {
    let escaped = text.replace('\\', "\\\\").replace('"', "\\\"").replace("${", "$${").replace("%{", "%%{");
    format!("\"{escaped}\"")
}

#[cfg(test)]
mod tests {
    use super::*;

    /// Recorded from OpenTofu 1.12.6.
    const RECORDED: &str = r#"# This file is maintained automatically by "tofu init".
# Manual edits may be lost in future updates.

provider "weft.test/port/barge" {
  version = "0.3.0"
  hashes = [
    "h1:ABUi0MHzQFkGmJZ1BfNBoIRssuC3k3/+AageZaV9Qck=",
  ]
}

provider "weft.test/port/crane" {
  version     = "1.1.5"
  constraints = "~> 1.0, != 1.2.0"
  hashes = [
    "h1:wQVucVPI7rkTj9h86ra1Mq9fgHMKpR1H/BzuO5+OPDw=",
    "zh:0f0e",
    "zz:later",
  ]
}
"#;

    #[test]
    fn a_recorded_file_is_written_back_byte_for_byte() {
        let (lock, diagnostics) = LockFile::parse(RECORDED);
        assert!(diagnostics.is_empty(), "{diagnostics:?}");
        assert_eq!(lock.to_text(), RECORDED);
        assert_eq!(lock.providers.len(), 2);
        assert_eq!(LockFile::default().to_text(), HEADER);
        let folder = tempfile::tempdir().unwrap();
        let path = folder.path().join(FILE_NAME);
        assert_eq!(LockFile::load(&path), (LockFile::default(), Vec::new()));
        lock.save(&path).unwrap();
        assert_eq!(LockFile::load(&path).0, lock);
    }

    #[test]
    fn each_mistake_is_reported_and_the_rest_is_read() {
        let text = "provider \"a.b/c/d\" { version = \"1\" }\nprovider \"a.b/c/e\" { version = \"1.0.0\" }\n\
                    provider \"a.b/c/e\" { version = \"1.0.0\" }\nprovider \"a.b/c/f\" {}\nprovider \"x y\" {}\n\
                    provider \"aws\" { version = \"1.0.0\" }\nmodule \"m\" {}\n\
                    provider \"a.b/c/g\" {\n version = \"1.0.0\"\n hashes = [1]\n}\n";
        let (lock, diagnostics) = LockFile::parse(text);
        let summaries: Vec<&str> = diagnostics.iter().map(|d| d.summary.as_str()).collect();
        assert_eq!(
            summaries,
            [
                "Invalid provider version number",
                "Duplicate provider lock",
                "Missing required argument",
                "Invalid provider source address",
                "Non-normalized provider source address",
                "Dependency locks for modules are not yet supported",
                "Invalid provider hash set",
            ]
        );
        assert!(lock.providers.contains_key(&source::parse("a.b/c/e").unwrap()));
    }

    #[test]
    fn terraforms_selection_is_carried_over() {
        let text =
            "provider \"registry.terraform.io/hashicorp/aws\" {\n  version = \"5.1.0\"\n  hashes = [\"h1:x\"]\n}\n";
        let (lock, _) = LockFile::parse(text);
        let carried = lock.get(&source::parse("hashicorp/aws").unwrap()).unwrap();
        assert_eq!((carried.version.to_string().as_str(), carried.checksums.len()), ("5.1.0", 0));
        assert!(lock.get(&source::parse("example.com/hashicorp/aws").unwrap()).is_none());
    }
}
