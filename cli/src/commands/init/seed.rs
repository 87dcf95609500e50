//! `init -from-module`: starts a directory with a copy of a module.

use std::fs;
use std::io;
use std::path::Path;

use weft_evaluator::config::{InstalledModules, StaticInputs, has_configuration, load_tree_with};
use weft_graph_format::diagnostic::Diagnostic;
use weft_graph_format::module_source::{ModuleSource, is_local, join, split_subdir};

use super::problems;
use crate::context::{Context, DEFAULT_WORKSPACE};
use crate::modules::install::ModuleInstaller;

/// The directory in the data directory into which the module is fetched.
const FOLDER: &str = "init-from-module";

/// Copies a module into the current directory, which must be empty except for the data directory. The modules that the
/// copy calls are installed later.
///
/// # Errors
/// Returns an error if the directory has other content, or if the module cannot be fetched or copied. Also returns an
/// error for each module that the copy calls by a path outside of its own directory.
pub fn copy_module(context: &Context, text: &str, report: &dyn Fn(&str)) -> Result<(), Vec<Diagnostic>> {
    let failed = |error: io::Error| vec![problems::module_not_copied(text, &error)];
    if has_configuration(Path::new(".")) {
        return Err(vec![problems::directory_in_use()]);
    }
    report(&format!("Copying configuration from {text:?}..."));
    for entry in fs::read_dir(".").map_err(failed)? {
        let entry = entry.map_err(failed)?;
        if Path::new(&entry.file_name()) != context.data_directory {
            return Err(vec![problems::directory_not_empty(&entry.file_name().to_string_lossy())]);
        }
    }
    let source = source(text).map_err(failed)?.map_err(|problem| vec![problem])?;
    let folder = context.data_directory.join(FOLDER);
    let _ = fs::remove_dir_all(&folder);
    fs::create_dir_all(&folder).map_err(failed)?;
    let to = folder.join("root");
    // The installer reports no steps for a module without a key.
    let found = ModuleInstaller::new(context, true, &|_| {})
        .map_err(|problem| vec![problem])
        .and_then(|mut installer| installer.fetch_alone(&source, &to.to_string_lossy()))
        .and_then(|dir| copy(Path::new(&dir), Path::new(".")).map_err(failed));
    let _ = fs::remove_dir_all(&folder);
    // A failed attempt must leave no data directory, because the next attempt requires an empty current directory.
    let _ = fs::remove_dir(&context.data_directory);
    found?;
    let problems = leading_up(text);
    if problems.is_empty() { Ok(()) } else { Err(problems) }
}

/// The source address of the module. A relative path becomes absolute, based on the current directory.
fn source(text: &str) -> io::Result<Result<ModuleSource, Diagnostic>> {
    let text = if text == "." || text == ".." || is_local(text) {
        let here = std::env::current_dir()?;
        join(&here.to_string_lossy(), text)
    } else {
        text.to_owned()
    };
    Ok(ModuleSource::parse(&text).map_err(|error| problems::invalid_module_source(&text, &error)))
}

/// Errors for calls whose sources are outside of the module. These sources were not copied.
fn leading_up(text: &str) -> Vec<Diagnostic> {
    let inputs = StaticInputs { given: &|_| Default::default(), workspace: DEFAULT_WORKSPACE.into(), encryption: None };
    let (root, _, _) = load_tree_with(Path::new("."), &InstalledModules::new(), &inputs);
    let up = root.sources.values().map(|source| &source.address).filter(|source| source.starts_with("../"));
    let (package, subdir) = split_subdir(text);
    up.map(|source| {
        let whole = format!("{package}//{}", join(&subdir, source));
        problems::parent_not_copied(text, source, &whole)
    })
    .collect()
}

/// Copies files and directories, except those whose names begin with a dot.
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
