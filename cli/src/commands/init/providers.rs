//! The part of `init` that installs the providers of a configuration and records them in the dependency lock file.

use std::path::{Path, PathBuf};

use weft_graph_format::diagnostic::{Diagnostic, has_errors};
use weft_providers::lock_file::{self, LockFile};
use weft_providers::packages::Requirements;
use weft_providers::platform::Platform;
use weft_registry::install::Installation;
use weft_registry::settle::{LockMode, LockOutcome, incomplete_warning, override_warning, settle};
use weft_registry::{InstallEvent, Installer};

use super::{problems, tell};
use crate::command::Invocation;
use crate::exit::Exit;
use crate::runtime::block_on;

/// Installs the providers in `requirements`, and updates the lock file as `-lockfile` allows.
pub fn install(invocation: &Invocation<'_>, requirements: &Requirements) -> Result<(), Exit> {
    let Invocation { arguments, context, view, .. } = invocation;
    let mode = LockMode::from_flag(arguments.value("lockfile").unwrap_or_default());
    if arguments.switch("upgrade", false) && mode == LockMode::ReadOnly {
        return Err(invocation.fail(&[problems::upgrade_of_read_only_lock()]));
    }
    let (config, environment, said) = context.cli_config();
    // Without an installation, the CLI configuration is not needed, so its errors do not stop the command.
    if requirements.keys().any(|source| !source.is_builtin()) {
        report(invocation, said)?;
    }
    let directories: Vec<PathBuf> = arguments.values("plugin-dir").map(PathBuf::from).collect();
    let installer = Installer::new(&config, &environment, &directories, &context.data_directory);
    let path = Path::new(lock_file::FILE_NAME);
    let (lock, said) = LockFile::load(path);
    report(invocation, said)?;
    let installation = fetch(invocation, &installer, requirements, &lock)?;
    let mut said = installation.diagnostics;
    if has_errors(&said) {
        return Err(invocation.fail(&said));
    }
    let (outcome, problems) = settle(path, &lock, &installation.lock, mode);
    if matches!(outcome, LockOutcome::Created | LockOutcome::Updated) {
        said.extend(incomplete_warning(&installation.incomplete, &Platform::current()));
    }
    said.extend(problems);
    said.extend(override_warning(&config.dev_overrides));
    if has_errors(&said) {
        return Err(invocation.fail(&said));
    }
    tell_of_lock_file(invocation, outcome);
    view.diagnostics(&said);
    Ok(())
}

/// Shows warnings, and fails if there are errors.
fn report(invocation: &Invocation<'_>, said: Vec<Diagnostic>) -> Result<(), Exit> {
    if has_errors(&said) {
        return Err(invocation.fail(&said));
    }
    invocation.view.diagnostics(&said);
    Ok(())
}

/// Selects and installs the packages, and reports each one.
fn fetch(
    invocation: &Invocation<'_>,
    installer: &Installer,
    requirements: &Requirements,
    lock: &LockFile,
) -> Result<Installation, Exit> {
    let mut signed = false;
    let mut show = |event: InstallEvent| {
        signed |= event.is_signed();
        match event {
            InstallEvent::Warning(warning) => invocation.view.diagnostics(&[warning]),
            event => tell(invocation, &event.to_string()),
        }
    };
    let upgrade = invocation.arguments.switch("upgrade", false);
    let installing = installer.install(requirements, lock, upgrade, &mut show);
    let installation = block_on(installing).map_err(|problem| invocation.fail(&[problem]))?;
    if signed {
        tell(
            invocation,
            "\nThe holder of the key has signed and released the provider. More about keys and \
             signatures:\nhttps://opentofu.org/docs/cli/plugins/signing/",
        );
    }
    Ok(installation)
}

fn tell_of_lock_file(invocation: &Invocation<'_>, outcome: LockOutcome) {
    let text = match outcome {
        LockOutcome::Created => {
            "\nWeft has created a lock file .terraform.lock.hcl to record the provider selections it made above. Put it under \
             version control, so that the same selections are made by default later."
        }
        LockOutcome::Updated => {
            "\nWeft has made some changes to the provider dependency selections recorded in the .terraform.lock.hcl \
             file. Review these changes, and put them under version control if they are correct."
        }
        LockOutcome::Unchanged | LockOutcome::NotSaved => return,
    };
    tell(invocation, text);
}
