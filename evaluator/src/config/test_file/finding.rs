//! Finds test files, in the directory of the configuration and in the test directory.

use std::path::Path;
use std::sync::Arc;

use weft_graph_format::diagnostic::Diagnostic;
use weft_graph_format::module_source::clean;

use super::{TestFile, read_test_file};
use crate::config::load::LARGEST_FILE;
use crate::config::{SourceFiles, problems};

/// Extensions of test files.
const ENDS: [&str; 4] = [".tftest.hcl", ".tftest.json", ".tofutest.hcl", ".tofutest.json"];

/// The default test directory.
const USUAL_DIRECTORY: &str = "tests";

/// The test files of a configuration.
#[derive(Debug, Default)]
pub struct FoundTests {
    /// The files, by name.
    pub files: Vec<Arc<TestFile>>,
    /// The source texts of the files.
    pub sources: SourceFiles,
    /// The problems of the files.
    pub diagnostics: Vec<Diagnostic>,
}

/// Reads the test files of the configuration in the directory `root`. `directory` is the test directory, relative to
/// `root`.
pub fn find_tests(root: &str, directory: &str) -> FoundTests {
    let mut found = FoundTests::default();
    let root = clean(root);
    // As in OpenTofu, the directory is always below the root.
    let shown = clean(&joined(&root, directory.trim_start_matches('/')));
    let mut names = match names_in(Path::new(&shown)) {
        Ok(names) => names.into_iter().map(|name| joined(&shown, &name)).collect(),
        Err(error) if error.kind() == std::io::ErrorKind::NotFound => {
            if shown != joined(&root, USUAL_DIRECTORY) {
                found.diagnostics.push(problems::test_file::missing_directory(&shown));
            }
            Vec::new()
        }
        Err(error) => {
            found.diagnostics.push(problems::test_file::unreadable_directory(&shown, &error));
            return found;
        }
    };
    // If the directory of the configuration cannot be read, the loader of the configuration reports this.
    let beside = names_in(Path::new(&root)).unwrap_or_default();
    names.extend(beside.into_iter().map(|name| joined(&root, &name)));
    names.sort();
    names.dedup();
    let all = names.clone();
    names.retain(|name| !is_hidden(name, &all));
    for name in names {
        read(&name, &mut found);
    }
    found
}

fn joined(directory: &str, name: &str) -> String {
    if directory == "." { name.to_owned() } else { format!("{directory}/{name}") }
}

fn names_in(directory: &Path) -> std::io::Result<Vec<String>> {
    let mut names = Vec::new();
    for entry in std::fs::read_dir(directory)? {
        let entry = entry?;
        let name = entry.file_name().to_string_lossy().into_owned();
        let ignored = name.starts_with('.') || name.ends_with('~') || name.starts_with('#');
        if !ignored && ENDS.iter().any(|end| name.ends_with(end)) && !entry.path().is_dir() {
            names.push(name);
        }
    }
    Ok(names)
}

/// Whether the file `name` is hidden by a file in `all` that has the same name with an extension of OpenTofu.
fn is_hidden(name: &str, all: &[String]) -> bool {
    let twin = |from: &str, to: &str| name.strip_suffix(from).map(|stem| format!("{stem}{to}"));
    let twin = twin(".tftest.hcl", ".tofutest.hcl").or_else(|| twin(".tftest.json", ".tofutest.json"));
    twin.is_some_and(|twin| all.contains(&twin))
}

fn read(name: &str, found: &mut FoundTests) {
    if let Ok(about) = std::fs::metadata(name)
        && about.len() > LARGEST_FILE
    {
        return found.diagnostics.push(problems::test_file::too_large(name, about.len(), LARGEST_FILE));
    }
    let bytes = match std::fs::read(name) {
        Ok(bytes) => bytes,
        Err(cause) => {
            return found.diagnostics.push(problems::test_file::unreadable(name, &cause));
        }
    };
    let (tree, problems) = match name.ends_with(".json") {
        true => weft_syntax::parse_json_bytes(name, &bytes),
        false => weft_syntax::parse_bytes(name, &bytes),
    };
    found.diagnostics.extend(problems);
    found.sources.insert(name, &tree);
    let file = read_test_file(name, &tree, &mut found.diagnostics);
    found.files.push(Arc::new(file));
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn tofutest_files_hide_tftest_files() {
        let all = ["a.tftest.hcl", "a.tofutest.hcl", "b.tftest.json", "tests/a.tftest.hcl"].map(str::to_owned);
        let hidden: Vec<bool> = all.iter().map(|name| is_hidden(name, &all)).collect();
        assert_eq!(hidden, [true, false, false, false]);
    }
}
