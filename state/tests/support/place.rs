//! A directory with a state file, for the tests of the embedded store.

#![allow(dead_code)]

use std::path::{Path, PathBuf};
use std::sync::Arc;

use weft_sealing::Sealing;
use weft_state::*;

/// The directory.
pub struct Place {
    folder: tempfile::TempDir,
}

impl Place {
    pub fn new() -> Place {
        Place { folder: tempfile::tempdir().unwrap() }
    }

    pub fn with(state: &str) -> Place {
        let place = Place::new();
        std::fs::write(place.state(), state).unwrap();
        place
    }

    pub fn path(&self) -> &Path {
        self.folder.path()
    }

    pub fn state(&self) -> PathBuf {
        self.path().join("terraform.tfstate")
    }

    pub fn bytes(&self) -> Vec<u8> {
        std::fs::read(self.state()).unwrap()
    }

    pub fn text(&self) -> String {
        String::from_utf8(self.bytes()).unwrap()
    }

    pub fn options(&self) -> EmbeddedOptions {
        EmbeddedOptions::new(self.state(), crate::support::holder())
    }

    pub fn open(&self) -> EmbeddedStore {
        EmbeddedStore::open(self.options()).unwrap()
    }

    pub fn read(&self) -> EmbeddedStore {
        EmbeddedStore::open_read_only(self.options()).unwrap()
    }

    pub fn sealed(&self, sealing: &Arc<Sealing>) -> EmbeddedOptions {
        EmbeddedOptions { sealing: sealing.clone(), ..self.options() }
    }

    /// A copy of the directory as a crash at this moment would leave it.
    pub fn copy(&self) -> Place {
        let other = Place::new();
        copy_folder(self.path(), other.path());
        other
    }

    pub fn journal(&self, run: &str, epoch: u64) -> PathBuf {
        self.path().join(".weft/runs").join(run).join(format!("journal.{epoch}"))
    }
}

fn copy_folder(from: &Path, to: &Path) {
    for entry in std::fs::read_dir(from).unwrap() {
        let entry = entry.unwrap();
        let target = to.join(entry.file_name());
        if entry.path().is_dir() {
            std::fs::create_dir_all(&target).unwrap();
            copy_folder(&entry.path(), &target);
        } else {
            std::fs::copy(entry.path(), target).unwrap();
        }
    }
}
