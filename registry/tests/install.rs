//! Selection, installation and locking, compared with the recorded behavior of OpenTofu 1.12.6 with the same packages
//! (the conformance cases `lock-file-*`, `plugin-dir-*`, `version-prerelease`, `locked-package-gone-or-changed` and
//! `requirement-added-without-init`).

use std::collections::BTreeMap;
use std::fs;
use std::io::Write as _;
use std::path::{Path, PathBuf};

use weft_graph_format::diagnostic::{Diagnostic, Severity};
use weft_providers::lock_file::{FILE_NAME, LockFile};
use weft_providers::packages::{self, PackageProblem, Requirements};
use weft_providers::platform::Platform;
use weft_providers::source;
use weft_registry::cli_config::{CliConfig, ProcessEnvironment};
use weft_registry::install::{Installation, Installer};
use weft_registry::install_event::InstallEvent;
use weft_registry::settle::{LockMode, LockOutcome, settle};
use zip::write::SimpleFileOptions;

const HEADER: &str = "# This file is maintained automatically by \"tofu init\".\n\
                      # Manual edits may be lost in future updates.\n";
const CRANE: &str = "weft.test/port/crane";
const BARGE: &str = "weft.test/port/barge";
/// The recorded checksum of crane 1.0.0.
const CRANE_100: &str = "h1:x1IwOVXgpX8lQauambWBZ9572EMESf54y3JpoQkKwzw=";

/// A working directory with mirrors in it.
struct Workshop {
    root: tempfile::TempDir,
    config: CliConfig,
}

impl Workshop {
    fn new() -> Workshop {
        Workshop { root: tempfile::tempdir().unwrap(), config: CliConfig::default() }
    }

    fn path(&self, name: &str) -> PathBuf {
        self.root.path().join(name)
    }

    fn lock_path(&self) -> PathBuf {
        self.path(FILE_NAME)
    }

    /// Adds an unpacked package whose program is the recorded one.
    fn add(&self, mirror: &str, name: &str, version: &str) -> PathBuf {
        let folder = self.path(mirror).join(format!("weft.test/port/{name}/{version}/{}", Platform::current()));
        fs::create_dir_all(&folder).unwrap();
        fs::write(folder.join(format!("terraform-provider-{name}_v{version}")), program(name, version)).unwrap();
        folder
    }

    fn install(&self, mirrors: &[&str], wanted: &[(&str, &str)], upgrade: bool) -> Installation {
        self.install_telling(mirrors, wanted, upgrade).0
    }

    fn install_telling(
        &self,
        mirrors: &[&str],
        wanted: &[(&str, &str)],
        upgrade: bool,
    ) -> (Installation, Vec<InstallEvent>) {
        let environment = ProcessEnvironment::new(self.root.path(), &[]);
        let mirrors: Vec<PathBuf> = mirrors.iter().map(|m| self.path(m)).collect();
        let installer = Installer::new(&self.config, &environment, &mirrors, self.path(".terraform"));
        let (lock, diagnostics) = LockFile::load(&self.lock_path());
        assert!(diagnostics.is_empty(), "{diagnostics:?}");
        let mut events = Vec::new();
        let wanted = requirements(wanted);
        let mut tell = |event| events.push(event);
        let installing = installer.install(&wanted, &lock, upgrade, &mut tell);
        let runtime = tokio::runtime::Builder::new_current_thread().enable_all().build().unwrap();
        let installation = runtime.block_on(installing);
        (installation, events)
    }

    /// Runs `init`. Returns its outcome or its diagnostics.
    fn init(
        &self,
        mirrors: &[&str],
        wanted: &[(&str, &str)],
        upgrade: bool,
        mode: LockMode,
    ) -> Result<LockOutcome, Vec<Diagnostic>> {
        let installation = self.install(mirrors, wanted, upgrade);
        if !installation.diagnostics.is_empty() {
            return Err(installation.diagnostics);
        }
        let (old, _) = LockFile::load(&self.lock_path());
        match settle(&self.lock_path(), &old, &installation.lock, mode) {
            (outcome, diagnostics) if diagnostics.is_empty() => Ok(outcome),
            (_, diagnostics) => Err(diagnostics),
        }
    }

    fn lock_text(&self) -> String {
        fs::read_to_string(self.lock_path()).unwrap()
    }

    fn check(&self, wanted: &[(&str, &str)]) -> BTreeMap<weft_graph_format::address::ProviderSource, PackageProblem> {
        let (lock, _) = LockFile::load(&self.lock_path());
        let overrides = &self.config.dev_overrides;
        packages::check(&requirements(wanted), &lock, &self.path(".terraform"), overrides, false).1
    }
}

fn program(name: &str, version: &str) -> String {
    format!("#!/bin/sh\n# port/{name} {version} linux_amd64: a package that is installed but never started\nexit 3\n")
}

fn requirements(wanted: &[(&str, &str)]) -> Requirements {
    let mut requirements = Requirements::new();
    for (address, constraints) in wanted {
        packages::require(&mut requirements, source::parse(address).unwrap(), &constraints.parse().unwrap());
    }
    requirements
}

fn crane_lock(version: &str, constraints: &str, checksum: &str) -> String {
    format!(
        "{HEADER}\nprovider \"{CRANE}\" {{\n  version     = \"{version}\"\n  constraints = \"{constraints}\"\n  \
         hashes = [\n    \"{checksum}\",\n  ]\n}}\n"
    )
}

fn summaries(diagnostics: &[Diagnostic]) -> Vec<&str> {
    diagnostics.iter().map(|d| d.summary.as_str()).collect()
}

fn zip(path: &Path, files: &[(&str, &str)]) {
    fs::create_dir_all(path.parent().unwrap()).unwrap();
    let mut zip = zip::ZipWriter::new(fs::File::create(path).unwrap());
    for (name, text) in files {
        zip.start_file(*name, SimpleFileOptions::default().unix_permissions(0o755)).unwrap();
        zip.write_all(text.as_bytes()).unwrap();
    }
    zip.finish().unwrap();
}

#[test]
fn init_writes_the_lock_file() {
    let shop = Workshop::new();
    for version in ["1.0.0", "1.1.5", "1.2.0", "2.0.0"] {
        shop.add("mirror", "crane", version);
    }
    let packed = format!("mirror/weft.test/port/barge/terraform-provider-barge_0.3.0_{}.zip", Platform::current());
    let barge = "#!/bin/sh\n# barge 0.3.0 linux_amd64\nexit 3\n";
    let files = [("terraform-provider-barge_v0.3.0", barge), ("LICENSE", "none\n")];
    zip(&shop.path(&packed), &files);
    let wanted = [(CRANE, "~> 1.0, != 1.2.0"), (BARGE, "")];
    assert_eq!(shop.init(&["mirror"], &wanted, false, LockMode::Update), Ok(LockOutcome::Created));
    let recorded = format!(
        "{HEADER}\nprovider \"weft.test/port/barge\" {{\n  version = \"0.3.0\"\n  hashes = [\n    \
         \"h1:ABUi0MHzQFkGmJZ1BfNBoIRssuC3k3/+AageZaV9Qck=\",\n  ]\n}}\n\nprovider \"weft.test/port/crane\" {{\n  \
         version     = \"1.1.5\"\n  constraints = \"~> 1.0, != 1.2.0\"\n  hashes = [\n    \
         \"h1:wQVucVPI7rkTj9h86ra1Mq9fgHMKpR1H/BzuO5+OPDw=\",\n  ]\n}}\n"
    );
    assert_eq!(shop.lock_text(), recorded);
    // Unpacked packages are linked, and packed ones are unpacked. Both can be started.
    let (lock, _) = LockFile::load(&shop.lock_path());
    let (found, problems) =
        packages::check(&requirements(&wanted), &lock, &shop.path(".terraform"), &BTreeMap::new(), false);
    assert!(problems.is_empty(), "{problems:?}");
    assert!(found.values().all(|package| package.program.is_file() && package.program.is_absolute()));
    assert!(found[&source::parse(CRANE).unwrap()].directory.is_symlink());
    // A second run has nothing to do.
    assert_eq!(shop.init(&["mirror"], &wanted, false, LockMode::Update), Ok(LockOutcome::Unchanged));
    let (_, events) = shop.install_telling(&["mirror"], &wanted, false);
    assert!(
        matches!(
            &events[..],
            [
                InstallEvent::Reusing(_),
                InstallEvent::Reusing(_),
                InstallEvent::AlreadyInstalled(..),
                InstallEvent::AlreadyInstalled(..),
            ]
        ),
        "{events:?}"
    );
    // One provider is no longer needed. The constraints of the other provider change, but its version stays.
    assert_eq!(shop.init(&["mirror"], &[(CRANE, ">= 1.0, < 2.0")], false, LockMode::Update), Ok(LockOutcome::Updated));
    let checksum = "h1:wQVucVPI7rkTj9h86ra1Mq9fgHMKpR1H/BzuO5+OPDw=";
    assert_eq!(shop.lock_text(), crane_lock("1.1.5", ">= 1.0.0, < 2.0.0", checksum));
}

#[test]
fn a_locked_version_stays_until_upgrade() {
    let shop = Workshop::new();
    for version in ["1.0.0", "1.1.0", "2.0.0-rc1"] {
        shop.add("mirror", "crane", version);
    }
    let init = |constraints: &str, upgrade| shop.init(&["mirror"], &[(CRANE, constraints)], upgrade, LockMode::Update);
    init("1.0.0", false).unwrap();
    assert_eq!(shop.lock_text(), crane_lock("1.0.0", "1.0.0", CRANE_100));
    let failed = init(">= 1.1", false).unwrap_err();
    assert_eq!(summaries(&failed), ["Failed to resolve provider packages"]);
    assert_eq!(
        failed[0].detail,
        "Could not resolve provider weft.test/port/crane: locked provider weft.test/port/crane 1.0.0 does not match \
         configured version constraint >= 1.1.0; must use weft init -upgrade to allow selection of new versions"
    );
    assert_eq!(shop.lock_text(), crane_lock("1.0.0", "1.0.0", CRANE_100));
    init(">= 1.1", true).unwrap();
    let newer = "h1:wCMNM1kkLyQgahdTP9KbNcyV8yDFza7rf32YRELOeeY=";
    assert_eq!(shop.lock_text(), crane_lock("1.1.0", ">= 1.1.0", newer));
    init("2.0.0-rc1", true).unwrap();
    let newest = "h1:TJYKnEQjnXnnCuh1+3Z8XujpuK3r4YMId1ESOXk+ya0=";
    assert_eq!(shop.lock_text(), crane_lock("2.0.0-rc1", "2.0.0-rc1", newest));
    assert_eq!(summaries(&init("> 5.0.0", true).unwrap_err()), ["Failed to resolve provider packages"]);
}

#[test]
fn checksums_of_the_lock_file_are_compared() {
    let shop = Workshop::new();
    shop.add("mirror", "crane", "1.0.0");
    let init = || shop.init(&["mirror"], &[(CRANE, "1.0.0")], false, LockMode::Update);
    let wrong = "h1:AAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAA=";
    fs::write(shop.lock_path(), crane_lock("1.0.0", "1.0.0", wrong)).unwrap();
    let failed = init().unwrap_err();
    assert_eq!(summaries(&failed), ["Failed to install provider"]);
    assert!(failed[0].detail.contains("doesn't match any of the checksums"), "{}", failed[0].detail);
    assert!(!shop.path(".terraform").exists());
    // A checksum of an unknown scheme counts as no checksum, and is removed.
    fs::write(shop.lock_path(), crane_lock("1.0.0", "", "zz:new-scheme")).unwrap();
    init().unwrap();
    assert_eq!(shop.lock_text(), crane_lock("1.0.0", "1.0.0", CRANE_100));
    // Checksums of other platforms stay.
    let (mut lock, _) = LockFile::load(&shop.lock_path());
    let entry = lock.providers.get_mut(&source::parse(CRANE).unwrap()).unwrap();
    entry.checksums.insert("h1:OhiKycihdy8y24tyZjJyBFWL2u5S5cVPQ+MueHm6OgY=".parse().unwrap());
    entry.checksums.insert("zh:00".parse().unwrap());
    lock.save(&shop.lock_path()).unwrap();
    assert_eq!(init(), Ok(LockOutcome::Unchanged));
}

#[test]
fn a_packed_package_may_be_locked_by_the_checksum_of_its_archive() {
    let shop = Workshop::new();
    let name = format!("mirror/weft.test/port/crane/terraform-provider-crane_1.0.0_{}.zip", Platform::current());
    zip(&shop.path(&name), &[("terraform-provider-crane_v1.0.0", &program("crane", "1.0.0"))]);
    let of_file = weft_providers::checksum::of_archive_file(&shop.path(&name)).unwrap();
    fs::write(shop.lock_path(), crane_lock("1.0.0", "1.0.0", of_file.as_str())).unwrap();
    // The installation would add the checksum of the package's contents to the lock file. The locked providers stay the
    // same, so this is only a warning.
    let only_noted = shop.init(&["mirror"], &[(CRANE, "1.0.0")], false, LockMode::ReadOnly).unwrap_err();
    assert_eq!(only_noted[0].severity, Severity::Warning);
    shop.init(&["mirror"], &[(CRANE, "1.0.0")], false, LockMode::Update).unwrap();
    let text = shop.lock_text();
    assert!(text.contains(of_file.as_str()) && text.contains(CRANE_100), "{text}");
}

#[test]
fn checksums_of_a_mirror_are_for_one_platform() {
    let shop = Workshop::new();
    shop.add("mirror", "crane", "1.0.0");
    let incomplete = || shop.install(&["mirror"], &[(CRANE, "1.0.0")], false).incomplete;
    let crane = [source::parse(CRANE).unwrap()];
    assert_eq!(incomplete(), crane);
    // A package that is already installed adds nothing.
    shop.init(&["mirror"], &[(CRANE, "1.0.0")], false, LockMode::Update).unwrap();
    assert!(incomplete().is_empty());
    // The package is installed again: first with a single locked checksum, then with a second one for another platform.
    fs::remove_dir_all(shop.path(".terraform")).unwrap();
    assert_eq!(incomplete(), crane);
    let other = CRANE_100.replace("x1I", "y1I");
    let text = shop.lock_text().replace(CRANE_100, &format!("{CRANE_100}\",\n    \"{other}"));
    fs::write(shop.lock_path(), text).unwrap();
    fs::remove_dir_all(shop.path(".terraform")).unwrap();
    assert!(incomplete().is_empty());
}

#[test]
fn a_read_only_lock_file_is_not_written() {
    let shop = Workshop::new();
    shop.add("mirror", "crane", "1.0.0");
    shop.add("mirror", "barge", "0.1.0");
    let init = |wanted: &[(&str, &str)], mode| shop.init(&["mirror"], wanted, false, mode);
    let refused = init(&[(CRANE, "1.0.0")], LockMode::ReadOnly).unwrap_err();
    assert_eq!(summaries(&refused), ["Provider dependency changes detected"]);
    assert!(!shop.lock_path().exists());
    init(&[(CRANE, "1.0.0")], LockMode::Update).unwrap();
    assert_eq!(init(&[(CRANE, "1.0.0")], LockMode::ReadOnly), Ok(LockOutcome::Unchanged));
    let both = [(CRANE, "1.0.0"), (BARGE, "")];
    assert_eq!(summaries(&init(&both, LockMode::ReadOnly).unwrap_err()), ["Provider dependency changes detected"]);
    assert_eq!(LockMode::from_flag("never"), LockMode::Update);
    // Another constraint on the same selection changes nothing.
    assert_eq!(init(&[(CRANE, "~> 1.0")], LockMode::ReadOnly), Ok(LockOutcome::Unchanged));
}

#[test]
fn packages_are_found_in_several_directories() {
    let shop = Workshop::new();
    shop.add("mirror", "crane", "1.0.0");
    shop.add("second", "crane", "1.1.0");
    shop.add("second", "barge", "0.1.0");
    let wanted = [(CRANE, ""), (BARGE, "")];
    shop.init(&["mirror", "second"], &wanted, false, LockMode::Update).unwrap();
    assert!(shop.lock_text().contains("h1:wCMNM1kkLyQgahdTP9KbNcyV8yDFza7rf32YRELOeeY="));
    // The only configured mirror is empty.
    let mut elsewhere = Workshop { config: CliConfig::default(), ..shop };
    let config =
        format!("provider_installation {{\n filesystem_mirror {{\n path = {:?}\n }}\n}}\n", elsewhere.path("empty"));
    fs::create_dir(elsewhere.path("empty")).unwrap();
    elsewhere.config = CliConfig::parse(&config, Path::new("rc"), elsewhere.root.path()).0;
    let failed = elsewhere.init(&[], &wanted, false, LockMode::Update).unwrap_err();
    assert_eq!(summaries(&failed), ["Failed to query available provider packages"; 2]);
    let expected = format!(
        "Could not retrieve the list of available versions for provider weft.test/port/barge: provider \
         weft.test/port/barge was not found in any of the search locations\n\n  - {}",
        elsewhere.path("empty").display()
    );
    assert_eq!(failed[0].detail, expected);
    // Without configuration, the local directories are searched, and then a registry that does not exist.
    elsewhere.config = CliConfig::default();
    let failed = elsewhere.init(&[], &wanted, false, LockMode::Update).unwrap_err();
    assert!(failed[0].detail.contains("could not connect to weft.test"), "{}", failed[0].detail);
    let implied = elsewhere.path("terraform.d/plugins");
    fs::create_dir_all(implied.parent().unwrap()).unwrap();
    fs::rename(elsewhere.path("second"), implied).unwrap();
    elsewhere.init(&[], &wanted, false, LockMode::Update).unwrap();
}

#[test]
fn packages_without_a_program_are_refused() {
    let shop = Workshop::new();
    let folder = shop.add("mirror", "crane", "1.0.0");
    let program = folder.join("terraform-provider-crane_v1.0.0");
    fs::rename(&program, folder.join("README")).unwrap();
    let failed = shop.init(&["mirror"], &[(CRANE, "1.0.0")], false, LockMode::Update).unwrap_err();
    assert_eq!(
        failed[0].detail,
        "Error while installing weft.test/port/crane v1.0.0: provider binary not found: could not find executable file \
         starting with terraform-provider-crane"
    );
}

#[test]
fn built_in_providers_and_overrides_need_no_package() {
    let mut shop = Workshop::new();
    let own = shop.path("own");
    fs::create_dir(&own).unwrap();
    fs::write(own.join("terraform-provider-crane"), "").unwrap();
    shop.config.dev_overrides.insert(source::parse(CRANE).unwrap(), own);
    let wanted = [("terraform.io/builtin/terraform", ""), (CRANE, "9.9.9")];
    assert_eq!(shop.init(&[], &wanted, false, LockMode::Update), Ok(LockOutcome::Unchanged));
    assert!(shop.check(&wanted).is_empty());
    assert!(weft_registry::settle::override_warning(&shop.config.dev_overrides).is_some());
    for (address, constraints) in [("terraform.io/builtin/terraform", "1.0.0"), ("terraform.io/builtin/other", "")] {
        let failed = shop.init(&[], &[(address, constraints)], false, LockMode::Update).unwrap_err();
        assert_eq!(summaries(&failed), ["Invalid dependency on built-in provider"]);
    }
}

#[test]
fn the_lock_file_of_terraform_is_adopted() {
    let shop = Workshop::new();
    for version in ["1.0.0", "1.1.0"] {
        let folder = shop.add("mirror", "crane", version);
        let target = shop.path(&format!("mirror/registry.opentofu.org/port/crane/{version}/{}", Platform::current()));
        fs::create_dir_all(target.parent().unwrap()).unwrap();
        fs::rename(folder, target).unwrap();
    }
    let theirs = crane_lock("1.0.0", "~> 1.0", "h1:other=").replace("weft.test", "registry.terraform.io");
    fs::write(shop.lock_path(), theirs).unwrap();
    shop.init(&["mirror"], &[("port/crane", "~> 1.0")], false, LockMode::Update).unwrap();
    let ours = crane_lock("1.0.0", "~> 1.0", CRANE_100).replace("weft.test", "registry.opentofu.org");
    assert_eq!(shop.lock_text(), ours);
}

#[test]
fn a_plan_reports_missing_packages() {
    let shop = Workshop::new();
    let mirror = shop.add("mirror", "crane", "1.0.0");
    let wanted = [(CRANE, "1.0.0")];
    let diagnose =
        |wanted: &[(&str, &str)], nothing_locked| packages::plan_diagnostics(&shop.check(wanted), nothing_locked);
    let none = diagnose(&wanted, true);
    assert_eq!(summaries(&none), ["Inconsistent dependency lock file"]);
    assert!(none[0].detail.contains("weft.test/port/crane: required by this configuration but no version is selected"));
    assert!(none[0].detail.ends_with("weft init"));
    assert_eq!(summaries(&packages::validate_diagnostics(&shop.check(&wanted))), ["Missing required provider"]);
    shop.init(&["mirror"], &wanted, false, LockMode::Update).unwrap();
    assert!(diagnose(&wanted, false).is_empty());
    let other = diagnose(&[(CRANE, "> 1.0.0"), (BARGE, "")], false);
    assert_eq!(summaries(&other), ["Inconsistent dependency lock file"]);
    assert!(
        other[0]
            .detail
            .contains("locked version selection 1.0.0 doesn't match the updated version constraints \"> 1.0.0\"")
    );
    assert!(other[0].detail.ends_with("weft init -upgrade"));
    // The package changes, but the lock file does not.
    let program_file = mirror.join("terraform-provider-crane_v1.0.0");
    fs::write(&program_file, "changed").unwrap();
    let changed = shop.check(&wanted);
    assert!(matches!(changed.values().next(), Some(PackageProblem::Changed { .. })));
    assert_eq!(summaries(&packages::plan_diagnostics(&changed, false)), ["Required plugins are not installed"]);
    fs::write(&program_file, program("crane", "1.0.0")).unwrap();
    assert!(shop.check(&wanted).is_empty());
    fs::remove_dir_all(shop.path(".terraform")).unwrap();
    assert_eq!(summaries(&diagnose(&wanted, false)), ["Required plugins are not installed"]);
    let validate = packages::validate_diagnostics(&shop.check(&wanted));
    assert!(
        validate[0]
            .summary
            .starts_with("weft.test/port/crane: there is no package for weft.test/port/crane 1.0.0 cached in")
    );
}

#[test]
fn a_worker_finds_the_package_of_the_plan_by_its_checksum() {
    let shop = Workshop::new();
    shop.add("mirror", "crane", "1.0.0");
    let packed = format!("packed/weft.test/port/crane/terraform-provider-crane_1.0.0_{}.zip", Platform::current());
    zip(&shop.path(&packed), &[("terraform-provider-crane_v1.0.0", &program("crane", "1.0.0"))]);
    let crane = source::parse(CRANE).unwrap();
    let (version, cache) = ("1.0.0".parse().unwrap(), shop.path("cache"));
    let find = |checksum: &str, mirrors: &[&str]| {
        let mirrors: Vec<PathBuf> = mirrors.iter().map(|m| shop.path(m)).collect();
        packages::find(&crane, &version, &checksum.parse().unwrap(), &mirrors, &cache)
    };
    assert!(find(CRANE_100, &["absent", "mirror"]).unwrap().program.starts_with(shop.path("mirror")));
    let unpacked = find(CRANE_100, &["packed"]).unwrap();
    assert!(unpacked.program.starts_with(&cache) && unpacked.program.is_file());
    assert!(matches!(find("h1:other=", &["mirror", "packed"]), Err(PackageProblem::NotFound(_))));
}
