//! The medium of a state in a file: the state file and the directory of its runs.

use std::fs::File;
use std::path::{Path, PathBuf};
use std::sync::Arc;

use super::files::LocalFiles;
use super::lock::{self, StateHandle};
use super::medium::{Document, Medium, RunFiles};
use super::options::EmbeddedOptions;
use super::private::read_all;
use super::problems;
use crate::error::StoreError;

/// A state file and the directory of its runs.
#[derive(Debug)]
pub(super) struct LocalMedium {
    options: EmbeddedOptions,
    files: Arc<LocalFiles>,
    canonical: PathBuf,
}

impl LocalMedium {
    /// The medium for these options. Creates the directory of the state file if `create` is set.
    ///
    /// # Errors
    /// Returns an error if the directory of the state file cannot be found or created.
    pub(super) fn new(options: EmbeddedOptions, create: bool) -> Result<LocalMedium, StoreError> {
        let written = options.written();
        if let Some(parent) = written.parent().filter(|parent| create && !parent.as_os_str().is_empty()) {
            std::fs::create_dir_all(parent).map_err(problems::creating(parent))?;
        }
        let canonical = lock::canonical(written)?;
        let beside = written.with_file_name(".weft");
        let files = Arc::new(LocalFiles::new(options.weft.as_deref().unwrap_or(&beside)));
        Ok(LocalMedium { options, files, canonical })
    }

    /// The name of the state in the headers of its runs: its path, relative to the directory that contains `.weft` if
    /// the file is below that directory.
    pub(super) fn name(&self) -> String {
        let beside = self.options.written().with_file_name(".weft");
        let weft = self.options.weft.as_deref().unwrap_or(&beside);
        let home =
            std::fs::canonicalize(weft.parent().filter(|home| !home.as_os_str().is_empty()).unwrap_or(Path::new(".")));
        let relative = home.ok().and_then(|home| self.canonical.strip_prefix(home).ok().map(Path::to_owned));
        relative.as_deref().unwrap_or(&self.canonical).to_string_lossy().into_owned()
    }
}

impl Medium for LocalMedium {
    fn path(&self) -> &Path {
        self.options.written()
    }

    fn lock(&self) -> Result<Box<dyn Document>, StoreError> {
        let EmbeddedOptions { lock_timeout, operation, holder, network, .. } = &self.options;
        let handle = StateHandle::lock(self.options.written(), *lock_timeout, operation, holder, *network)?;
        Ok(Box::new(handle))
    }

    fn peek(&self) -> Result<(Vec<u8>, bool), StoreError> {
        let path = self.options.written();
        if lock::is_locked_here(&self.canonical) {
            return Err(problems::open_here(path));
        }
        let source = if self.options.state_out.is_some() && !path.exists() { &self.options.state } else { path };
        match File::open(source) {
            Ok(file) => {
                let content = read_all(&file).map_err(problems::reading(source))?;
                Ok((content, lock::holding_process(&file).is_some()))
            }
            Err(error) if error.kind() == std::io::ErrorKind::NotFound => Ok((Vec::new(), false)),
            Err(error) => Err(problems::reading(source)(error)),
        }
    }

    fn files(&self) -> Arc<dyn RunFiles> {
        Arc::clone(&self.files) as Arc<dyn RunFiles>
    }
}
