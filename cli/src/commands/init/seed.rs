//! `init -from-module`: a directory begins as a copy of a module.

use std::fs;
use std::io;
use std::path::Path;

use weft_evaluator::config::{Installed, StaticInputs, has_configuration, load_tree_with};
use weft_graph_format::diagnostic::Diagnostic;
use weft_graph_format::module_source::{ModuleSource, is_local, join, split_subdir};

use crate::context::{Context, DEFAULT_WORKSPACE};
use crate::modules::install::ModuleInstaller;

/// Where the module is fetched to, inside the data directory.
const FOLDER: &str = "init-from-module";

/// Copies a module into the current directory, which must be empty. What it calls is installed afterwards.
///
/// # Errors
/// When the directory is not empty, the module cannot be fetched, or copying fails.
pub fn copy_module(context: &Context, text: &str, report: &dyn Fn(&str)) -> Result<(), Vec<Diagnostic>> {
    let failed = |error: io::Error| {
        vec![Diagnostic::error("Failed to copy root module", format!("The module {text}: {error}."))]
    };
    if has_configuration(Path::new(".")) {
        return Err(vec![Diagnostic::error(
            "The working directory already contains files",
            "-from-module copies a module into an empty directory, and this one has a configuration. Leave the option out to initialise that one, or choose another directory.",
        )]);
    }
    for entry in fs::read_dir(".").map_err(failed)? {
        let entry = entry.map_err(failed)?;
        if Path::new(&entry.file_name()) != context.data_directory {
            let detail = format!(
                "There is {} in this directory, and -from-module begins in an empty one.",
                entry.file_name().to_string_lossy()
            );
            return Err(vec![Diagnostic::error("Can't populate non-empty directory", detail)]);
        }
    }
    let source = source(text).map_err(failed)?.map_err(|problem| vec![problem])?;
    report(&format!("Copying configuration from {text:?}..."));
    let folder = context.data_directory.join(FOLDER);
    let _ = fs::remove_dir_all(&folder);
    fs::create_dir_all(&folder).map_err(failed)?;
    let to = folder.join("root");
    let found = ModuleInstaller::new(context, true, report)
        .map_err(|problem| vec![problem])
        .and_then(|mut installer| installer.fetch_alone(&source, &to.to_string_lossy()))
        .and_then(|dir| copy(Path::new(&dir), Path::new(".")).map_err(failed));
    let _ = fs::remove_dir_all(&folder);
    // What is left of a failed attempt is nothing: the next finds an empty directory.
    let _ = fs::remove_dir(&context.data_directory);
    found?;
    let problems = leading_up(text);
    if problems.is_empty() { Ok(()) } else { Err(problems) }
}

/// Where the module is. A relative path is meant from here, and becomes absolute: what is there is copied.
fn source(text: &str) -> io::Result<Result<ModuleSource, Diagnostic>> {
    let text = if text == "." || text == ".." || is_local(text) {
        let here = std::env::current_dir()?;
        join(&here.to_string_lossy(), text)
    } else {
        text.to_owned()
    };
    Ok(ModuleSource::parse(&text).map_err(|error| {
        Diagnostic::error(
            "Invalid module source address",
            format!("{text:?} cannot be the source of a module: {error}."),
        )
    }))
}

/// The calls that were left behind: their sources lead above the module.
fn leading_up(text: &str) -> Vec<Diagnostic> {
    let inputs = StaticInputs { given: &|_| Default::default(), workspace: DEFAULT_WORKSPACE.into(), encryption: None };
    let (root, _, _) = load_tree_with(Path::new("."), &Installed::new(), &inputs);
    let up = root.sources.values().map(|source| &source.address).filter(|source| source.starts_with("../"));
    let (package, subdir) = split_subdir(text);
    up.map(|source| {
        let whole = format!("{package}//{}", join(&subdir, source));
        Diagnostic::error(
            "Root module references parent directory",
            format!(
                "The module {text} calls {source}, which was not copied: it is above the module. Write its whole address, \
                 such as {whole:?}."
            ),
        )
    })
    .collect()
}

/// Copies files and folders; those whose name begins with a dot belong to the place where they are.
fn copy(from: &Path, to: &Path) -> io::Result<()> {
    for entry in fs::read_dir(from)? {
        let entry = entry?;
        if entry.file_name().to_string_lossy().starts_with('.') {
            continue;
        }
        let (path, target) = (entry.path(), to.join(entry.file_name()));
        if path.is_dir() {
            fs::create_dir_all(&target)?;
            copy(&path, &target)?;
        } else {
            fs::copy(&path, &target)?;
        }
    }
    Ok(())
}
