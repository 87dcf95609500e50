//! Packages where a method has them, not installed: for `providers lock` and `providers mirror`.

use std::path::Path;

use weft_graph_format::address::ProviderSource;
use weft_graph_format::diagnostic::Diagnostic;

use crate::archive;
use crate::checksum::{self, Checksum};
use crate::install::{InstallEvent, Installer};
use crate::lock_file::LockFile;
use crate::mirror::{self, Location};
use crate::packages::{PackageProblem, Requirements};
use crate::platform::Platform;
use crate::version::Version;

/// A package, and where it is.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Selected {
    /// Which provider.
    pub source: ProviderSource,
    /// The version selected.
    pub version: Version,
    /// What it runs on.
    pub platform: Platform,
    /// Where it is.
    pub location: Location,
}

impl Installer {
    /// The same for another platform than this machine's.
    #[must_use]
    pub fn on(mut self, platform: Platform) -> Installer {
        self.platform = platform;
        self
    }

    /// Selects versions as `init` does, and says where their packages are.
    pub fn select(
        &self,
        requirements: &Requirements,
        lock: &LockFile,
        upgrade: bool,
        report: &mut dyn FnMut(InstallEvent),
    ) -> (Vec<Selected>, Vec<Diagnostic>) {
        let (mut selected, mut problems) = (Vec::new(), Vec::new());
        for (source, constraints) in requirements {
            match self.choose(source, constraints, lock, upgrade, report) {
                Ok(Some(choice)) => selected.push(Selected {
                    source: source.clone(),
                    version: choice.version,
                    platform: self.platform.clone(),
                    location: choice.location,
                }),
                Ok(None) => {}
                Err(problem) => problems.push(*problem),
            }
        }
        (selected, problems)
    }
}

impl Selected {
    /// The `h1` checksum of its files.
    ///
    /// # Errors
    /// When it cannot be read.
    pub fn checksum(&self) -> Result<Checksum, PackageProblem> {
        match &self.location {
            Location::Unpacked(folder) => Ok(checksum::of_directory(folder)?),
            Location::Packed(file) => Ok(archive::checksum(file)?),
        }
    }

    /// The name of the packed package, as mirrors have it.
    pub fn archive_name(&self) -> String {
        let Selected { source, version, platform, .. } = self;
        format!("{}{}_{version}_{platform}.zip", mirror::PROGRAM_PREFIX, source.type_name)
    }

    /// Puts it, packed, into a mirror; what is there already under that name is replaced. Answers the `zh` checksum of
    /// the archive.
    ///
    /// # Errors
    /// When it cannot be read or written.
    pub fn put(&self, root: &Path) -> Result<Checksum, PackageProblem> {
        let io = |path: &Path| {
            let path = path.to_owned();
            move |error| PackageProblem::Io { path, error }
        };
        let folder = mirror::provider_folder(root, &self.source);
        std::fs::create_dir_all(&folder).map_err(io(&folder))?;
        let target = folder.join(self.archive_name());
        match &self.location {
            Location::Packed(file) => {
                std::fs::copy(file, &target).map_err(io(&target))?;
            }
            Location::Unpacked(from) => archive::pack(from, &target)?,
        }
        Ok(checksum::of_archive_file(&target)?)
    }
}
