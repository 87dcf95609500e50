//! The lookup of called modules. The loader asks for the location of each call's module.

use std::collections::BTreeMap;
use std::path::{Path, PathBuf};

use weft_graph_format::address::Module;
use weft_graph_format::diagnostic::Diagnostic;
use weft_graph_format::module_source::{ModuleSource, join};
use weft_graph_format::source::SourceRange;

use super::problems;

/// The directories of installed modules, by the path of the call.
pub type InstalledModules = BTreeMap<Module, PathBuf>;

/// A call whose module is looked up.
#[derive(Debug)]
pub struct ModuleRequest<'a> {
    /// The called module.
    pub path: &'a Module,
    /// The caller's directory, absolute or relative to the directory of the root module.
    pub caller_dir: &'a str,
    /// The `source` argument.
    pub source: &'a ModuleSource,
    /// `version` with its range; not parsed yet.
    pub version: Option<(&'a str, SourceRange)>,
    /// The header of the block.
    pub call_range: &'a SourceRange,
    /// The range of `source`.
    pub source_range: SourceRange,
}

impl ModuleRequest<'_> {
    /// The names of the calls that lead to the module, joined with dots. This is the key in the list of installed
    /// modules.
    pub fn key(&self) -> String {
        self.path.0.join(".")
    }

    /// The name of the call.
    pub fn name(&self) -> &str {
        self.path.0.last().map_or("", |name| name.as_str())
    }

    /// The file and line of the call, for messages.
    pub fn place(&self) -> String {
        format!("{}:{}", self.call_range.file, self.call_range.start.line)
    }
}

/// A lookup of module locations.
pub trait ModulePlaces {
    /// The directory of a called module, absolute or relative to the directory of the root module. `None` if the module
    /// is not installed, or if the directory does not exist. The reason is added to `problems`.
    fn place(&mut self, request: &ModuleRequest<'_>, problems: &mut Vec<Diagnostic>) -> Option<String>;

    /// For a call whose source could not be evaluated: the directory of the module that an earlier installation has
    /// recorded for this call. `None` if there is no such directory. The caller has already reported the problem of the
    /// source.
    fn unsourced(&mut self, _: &Module, _: &SourceRange, _: &mut Vec<Diagnostic>) -> Option<String> {
        None
    }
}

/// The lookup without fetching: local modules by their path, others in the list of installed modules.
pub(super) struct AsWritten<'a> {
    pub(super) root: &'a Path,
    pub(super) installed: &'a InstalledModules,
}

impl ModulePlaces for AsWritten<'_> {
    fn place(&mut self, request: &ModuleRequest<'_>, problems: &mut Vec<Diagnostic>) -> Option<String> {
        let dir = match request.source {
            ModuleSource::Local(path) => Some(join(request.caller_dir, path)),
            _ => self.installed.get(request.path).map(|dir| dir.to_string_lossy().into_owned()),
        };
        match dir {
            Some(dir) if self.root.join(&dir).is_dir() => Some(dir),
            Some(dir) => {
                problems.push(problems::modules::missing_directory(&dir, request.call_range));
                None
            }
            None => {
                problems.push(problems::modules::not_installed(request.source, request.call_range));
                None
            }
        }
    }
}

/// The lookup for a module that is loaded as a root module: adds the path of that module to requests.
pub(super) struct Below<'a> {
    pub(super) path: &'a Module,
    pub(super) places: &'a mut dyn ModulePlaces,
}

impl Below<'_> {
    fn full(&self, path: &Module) -> Module {
        Module(self.path.0.iter().chain(path.0.iter()).cloned().collect())
    }
}

impl ModulePlaces for Below<'_> {
    fn place(&mut self, request: &ModuleRequest<'_>, problems: &mut Vec<Diagnostic>) -> Option<String> {
        let path = self.full(request.path);
        let request = ModuleRequest {
            path: &path,
            caller_dir: request.caller_dir,
            source: request.source,
            version: request.version.clone(),
            call_range: request.call_range,
            source_range: request.source_range.clone(),
        };
        self.places.place(&request, problems)
    }

    fn unsourced(&mut self, path: &Module, call: &SourceRange, problems: &mut Vec<Diagnostic>) -> Option<String> {
        let path = self.full(path);
        self.places.unsourced(&path, call, problems)
    }
}
