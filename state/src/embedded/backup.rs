//! Backups of earlier states.

use std::path::{Path, PathBuf};
use std::time::{SystemTime, UNIX_EPOCH};

/// The location of the backup of the previous state. The backup is made before a run first writes the file.
#[derive(Clone, Debug, PartialEq, Eq, Default)]
pub enum Backup {
    /// The path of the state with the suffix `.backup`.
    #[default]
    Beside,
    /// `-backup=PATH`.
    At(PathBuf),
    /// The path of the state with the time in seconds and the suffix `.backup`.
    Dated,
    /// `-backup=-`.
    Never,
}

impl Backup {
    /// The path of a backup of this state file if it is made now, or `None` without backups.
    pub(super) fn path(&self, state: &Path) -> Option<PathBuf> {
        let beside = |ending: &str| {
            let mut name = state.as_os_str().to_owned();
            name.push(ending);
            PathBuf::from(name)
        };
        match self {
            Backup::Never => None,
            Backup::At(path) => Some(path.clone()),
            Backup::Beside => Some(beside(".backup")),
            Backup::Dated => {
                let now = SystemTime::now().duration_since(UNIX_EPOCH).unwrap_or_default();
                Some(beside(&format!(".{}.backup", now.as_secs())))
            }
        }
    }
}
