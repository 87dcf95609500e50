//! `weft providers lock`: adds checksums of packages for other platforms to the lock file.

use std::collections::{BTreeMap, BTreeSet};
use std::path::{Path, PathBuf};

use weft_graph_format::address::ProviderSource;
use weft_graph_format::diagnostic::{Diagnostic, has_errors};
use weft_providers::lock_file::{self, Lock, LockFile};
use weft_providers::packages::Requirements;
use weft_providers::platform::Platform;
use weft_registry::cli_config::{InstallationMethod, MethodKind, RepositoryTemplate, mirror_url};
use weft_registry::{InstallEvent, Installer};

use super::platforms;
use super::problems;
use crate::command::{self, Command, Invocation, OnMistake};
use crate::exit::Exit;
use crate::options::{Arguments, text};
use crate::project::Project;
use crate::runtime::block_on;

/// The command.
pub const LOCK: Command = Command {
    words: &["providers", "lock"],
    alias: None,
    operands: "[PROVIDER...]",
    about: "Add checksums for more platforms to the lock file",
    main: false,
    flags: &[
        command::VIEW,
        command::JSON,
        command::VARIABLES,
        &[
            text("platform", "OS_ARCH", "A platform, such as linux_amd64. Can be repeated. [default: this platform]"),
            text("fs-mirror", "DIR", "Use the packages in DIR."),
            text("net-mirror", "URL", "Use the packages of this network mirror."),
            text("oci-mirror", "TEMPLATE", "Use the packages in these repositories of an OCI registry."),
            text("test-directory", "DIR", ""),
        ],
    ],
    mixed: false,
    on_mistake: OnMistake::Usage,
    check: command::unchecked,
    events: true,
    run: |invocation| {
        invocation.view.tell_lines();
        lock(invocation).unwrap_or_else(|exit| exit)
    },
};

/// Whether the checksums for one platform are new in the lock file.
#[derive(Clone, Copy, PartialEq, Eq)]
enum News {
    NewProvider,
    Additional,
    Known,
}

fn lock(invocation: &Invocation<'_>) -> Result<Exit, Exit> {
    let Invocation { arguments, context, view, .. } = invocation;
    let fail = |problems: Vec<Diagnostic>| invocation.fail(&problems);
    let places = ["fs-mirror", "net-mirror", "oci-mirror"].into_iter().filter(|name| arguments.has(name)).count();
    if places > 1 {
        return Err(invocation.mistake(&problems::several_mirrors()));
    }
    let platforms = platforms(arguments).map_err(|problem| fail(vec![problem]))?;
    let project = Project::load_whole(invocation).map_err(fail)?;
    let required = project.requirements(None).map_err(fail)?;
    let required = chosen(required, &arguments.positionals).map_err(fail)?;
    let (config, environment, said) = context.cli_config();
    if has_errors(&said) {
        return Err(fail(said));
    }
    let method = method(arguments).map_err(|problem| fail(vec![problem]))?;
    let installer = Installer::over(vec![method], &config, &environment, &context.data_directory);
    let path = Path::new(lock_file::FILE_NAME);
    let (old, said) = LockFile::load(path);
    if has_errors(&said) {
        return Err(fail(said));
    }
    view.diagnostics(&said);
    let obtained = block_on(obtain(invocation, &installer, &platforms, &required, &old));
    let (new, news) = obtained.map_err(|problem| fail(vec![problem]))?.map_err(fail)?;
    for ((platform, source), news) in &news {
        let what = match news {
            News::NewProvider => {
                "This was a new provider and the checksums for this platform are now tracked in the lock file"
            }
            News::Additional => "Additional checksums for this platform are now tracked in the lock file",
            News::Known => "All checksums for this platform were already tracked in the lock file",
        };
        view.line(&format!("- Obtained {} checksums for {platform}; {what}", source.for_display()));
    }
    new.save(path).map_err(|error| fail(vec![problems::lock_file_not_saved(path, &error)]))?;
    // OpenTofu's text and colors, because scripts look for them.
    let (bold, green, reset) = (view.escape("1"), view.escape("32"), view.escape("0"));
    let success = |what: &str| format!("\n{bold}{green}Success!{reset} {bold}{what}{reset}{reset}");
    if old.selects_the_same(&new) {
        view.line(&success("OpenTofu has validated the lock file and found no need for changes."));
    } else {
        view.document(&format!(
            "{}\n\nReview the changes in .terraform.lock.hcl and then commit to your\nversion control system to retain the \
             new checksums.\n\n",
            success("OpenTofu has updated the lock file.")
        ));
    }
    Ok(Exit::DONE)
}

/// The new lock file, and for each platform and provider, whether its checksums are new.
type Obtained<'a> = (LockFile, BTreeMap<(&'a Platform, ProviderSource), News>);

/// Fetches the packages for all platforms, and computes their checksums.
async fn obtain<'a>(
    invocation: &Invocation<'_>,
    installer: &Installer,
    platforms: &'a [Platform],
    required: &Requirements,
    old: &LockFile,
) -> Result<Obtained<'a>, Vec<Diagnostic>> {
    let view = &invocation.view;
    let (mut new, mut news) = (old.clone(), BTreeMap::new());
    for platform in platforms {
        let warn = &mut |event: InstallEvent| {
            if let InstallEvent::Warning(warning) = event {
                view.diagnostics(&[warning]);
            }
        };
        let (selected, problems) = installer.clone().on(platform.clone()).select(required, old, false, warn).await;
        if !problems.is_empty() {
            return Err(vec![problems::not_retrieved(platform, problems.iter().map(|problem| problem.detail.clone()))]);
        }
        for package in selected {
            let (name, version) = (package.source.for_display(), &package.version);
            view.line(&format!("- Fetching {name} {version} for {platform}..."));
            let fetched = package.fetch().await;
            let fetched = fetched.map_err(|problem| {
                vec![problems::not_retrieved(platform, [format!("{name}: {problem}.")].into_iter())]
            })?;
            view.line(&format!("- Retrieved {name} {version} for {platform} ({})", fetched.authentication));
            let known = old.providers.get(&package.source).filter(|known| known.version == package.version);
            let of_platform = match known {
                None => News::NewProvider,
                Some(known) if known.checksums.contains(&fetched.h1) => News::Known,
                Some(_) => News::Additional,
            };
            news.insert((platform, package.source.clone()), of_platform);
            let constraints = required.get(&package.source).cloned().unwrap_or_default();
            let kept = new.providers.remove(&package.source).filter(|kept| kept.version == package.version);
            let mut checksums: BTreeSet<_> = kept.map(|kept| kept.checksums).unwrap_or_default();
            checksums.extend(fetched.trusted.iter().cloned());
            checksums.insert(fetched.h1.clone());
            let entry = Lock { version: package.version.clone(), constraints, checksums };
            new.providers.insert(package.source.clone(), entry);
        }
    }
    Ok((new, news))
}

/// The installation method that an option names, by default the registries of the providers. The methods in the CLI
/// configuration are ignored, because the lock file is also for machines without this configuration.
fn method(arguments: &Arguments) -> Result<InstallationMethod, Diagnostic> {
    let kind = if let Some(directory) = arguments.value("fs-mirror") {
        MethodKind::FilesystemMirror(PathBuf::from(directory))
    } else if let Some(url) = arguments.value("net-mirror") {
        MethodKind::NetworkMirror { url: mirror_url(url).map_err(problems::invalid_mirror)?, trust_all_hashes: false }
    } else if let Some(template) = arguments.value("oci-mirror") {
        let template = RepositoryTemplate::parse(template)
            .and_then(|template| template.check(true, true, true).map(|()| template));
        MethodKind::OciMirror(template.map_err(|error| problems::invalid_template(&error))?)
    } else {
        MethodKind::Direct
    };
    Ok(InstallationMethod::for_all(kind))
}

/// The requirements for the named providers. The default is all requirements.
fn chosen(mut required: Requirements, names: &[String]) -> Result<Requirements, Vec<Diagnostic>> {
    if names.is_empty() {
        required.retain(|source, _| !source.is_builtin());
        return Ok(required);
    }
    let mut chosen = Requirements::new();
    let mut problems = Vec::new();
    for name in names {
        match name.parse::<ProviderSource>() {
            Err(error) => problems.push(problems::not_a_provider(name, &error)),
            Ok(source) if source.is_builtin() => {
                problems.push(problems::builtin_provider(name));
            }
            Ok(source) => match required.remove(&source) {
                Some(constraints) => drop(chosen.insert(source, constraints)),
                None if chosen.contains_key(&source) => {}
                None => problems.push(problems::provider_not_required(&source.for_display())),
            },
        }
    }
    if problems.is_empty() { Ok(chosen) } else { Err(problems) }
}
