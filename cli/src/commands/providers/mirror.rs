//! `weft providers mirror`: downloads the packages that a configuration needs into a directory that serves as a mirror.

use std::collections::BTreeMap;
use std::path::{Path, PathBuf};

use serde_json::{Map, Value as Json, json};
use weft_graph_format::address::ProviderSource;
use weft_graph_format::diagnostic::{Diagnostic, has_errors};
use weft_providers::lock_file::{self, LockFile};
use weft_providers::packages::Requirements;
use weft_providers::platform::Platform;
use weft_providers::{archive, mirror};
use weft_registry::offer::Authentication;
use weft_registry::{InstallEvent, Installer};

use super::platforms;
use super::problems;
use crate::command::{self, Command, Invocation, OnMistake};
use crate::exit::Exit;
use crate::options::text;
use crate::project::Project;
use crate::runtime::block_on;

/// The command.
pub const MIRROR: Command = Command {
    words: &["providers", "mirror"],
    alias: None,
    operands: "DIR",
    about: "Download the packages of all required providers",
    main: false,
    flags: &[
        command::VIEW,
        command::JSON,
        command::VARIABLES,
        &[
            text("platform", "OS_ARCH", "A platform, such as linux_amd64. Can be repeated. [default: this platform]"),
            text("test-directory", "DIR", ""),
        ],
    ],
    mixed: false,
    on_mistake: OnMistake::Usage,
    check: command::unchecked,
    events: true,
    run: |invocation| {
        invocation.view.tell_lines();
        mirror_all(invocation).unwrap_or_else(|exit| exit)
    },
};

fn mirror_all(invocation: &Invocation<'_>) -> Result<Exit, Exit> {
    let Invocation { arguments, context, view, .. } = invocation;
    let fail = |problems: Vec<Diagnostic>| invocation.fail(&problems);
    let [directory] = arguments.positionals.as_slice() else {
        return Err(invocation.mistake(&problems::no_output_directory()));
    };
    let root = Path::new(directory);
    let platforms = platforms(arguments).map_err(|problem| fail(vec![problem]))?;
    let project = Project::load_whole(invocation).map_err(fail)?;
    let mut required = project.requirements(None).map_err(fail)?;
    for source in required.keys().filter(|source| source.is_builtin()) {
        // OpenTofu's text, because scripts look for it.
        view.line(&format!("- Skipping {} because it is built in to OpenTofu CLI", source.for_display()));
    }
    required.retain(|source, _| !source.is_builtin());
    let (config, environment, said) = context.cli_config();
    if has_errors(&said) {
        return Err(fail(said));
    }
    let (lock, said) = LockFile::load(Path::new(lock_file::FILE_NAME));
    if has_errors(&said) {
        return Err(fail(said));
    }
    let installer = Installer::new(&config, &environment, &[], &context.data_directory);
    let fetched = block_on(fetch_all(invocation, &installer, &platforms, &required, &lock, root));
    let mut failed = !fetched.map_err(|problem| fail(vec![problem]))?;
    for source in required.keys() {
        if let Err(problem) = index(root, source) {
            failed = true;
            view.diagnostics(&[problems::index_not_updated(&problem)]);
        }
    }
    Ok(if failed { Exit::FAILED } else { Exit::DONE })
}

/// Fetches the packages for all platforms into the directory. Returns whether this succeeded for all of them.
async fn fetch_all(
    invocation: &Invocation<'_>,
    installer: &Installer,
    platforms: &[Platform],
    required: &Requirements,
    lock: &LockFile,
    root: &Path,
) -> bool {
    let view = &invocation.view;
    let mut well = true;
    for platform in platforms {
        let warn = &mut |event: InstallEvent| {
            if let InstallEvent::Warning(warning) = event {
                view.diagnostics(&[warning]);
            }
        };
        let (selected, problems) = installer.clone().on(platform.clone()).select(required, lock, false, warn).await;
        for problem in &problems {
            well = false;
            view.diagnostics(&[problems::not_available(problem.detail.clone())]);
        }
        for package in selected {
            let name = package.source.for_display();
            view.line(&format!("- Mirroring {name}..."));
            view.line(&format!("  - Selected v{} for {platform}", package.version));
            let put = match package.fetch().await {
                Ok(fetched) => {
                    let put = fetched.put(root, &package.source, &package.version, platform);
                    put.map(|_| fetched.authentication.clone()).map_err(|problem| problem.to_string())
                }
                Err(problem) => Err(problem.to_string()),
            };
            match put {
                // Packages from local directories have no signature.
                Ok(Authentication::None) => {}
                Ok(authentication) => view.line(&format!("  - Package authenticated: {authentication}")),
                Err(problem) => {
                    well = false;
                    view.diagnostics(&[problems::not_mirrored(&name, &problem)]);
                }
            }
        }
    }
    well
}

/// Why the index of a mirror is not updated.
#[derive(Debug, thiserror::Error)]
enum IndexProblem {
    #[error("{0}")]
    Search(#[from] mirror::SearchError),
    #[error("{0}")]
    Archive(#[from] archive::ArchiveError),
    #[error("{}: {error}", path.display())]
    Write { path: PathBuf, error: std::io::Error },
}

/// Writes `index.json` and `VERSION.json`, so that the directory can be served as a network mirror.
fn index(root: &Path, source: &ProviderSource) -> Result<(), IndexProblem> {
    let found = mirror::search(root, source)?;
    let folder = mirror::provider_folder(root, source);
    if found.is_empty() {
        return Ok(());
    }
    let write = |name: String, document: &Json| {
        let path = folder.join(name);
        let text = serde_json::to_string_pretty(document).unwrap_or_default();
        std::fs::write(&path, text).map_err(|error| IndexProblem::Write { path, error })
    };
    let versions: BTreeMap<String, Json> = found.keys().map(|version| (version.to_string(), json!({}))).collect();
    write("index.json".to_owned(), &json!({ "versions": versions }))?;
    for (version, platforms) in found {
        let mut archives = Map::new();
        for (platform, location) in platforms {
            let mirror::Location::Packed(path) = &location else { continue };
            let url = path.file_name().unwrap_or_default().to_string_lossy().into_owned();
            let hash = archive::checksum(path)?;
            archives.insert(platform.to_string(), json!({ "hashes": [hash.as_str()], "url": url }));
        }
        write(format!("{version}.json"), &json!({ "archives": archives }))?;
    }
    Ok(())
}
