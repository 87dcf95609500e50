//! The options of the embedded store.

use std::path::{Path, PathBuf};
use std::sync::Arc;
use std::time::Duration;

use weft_sealing::Sealing;

use super::backup::Backup;
use super::lock::lock_info_path;
use crate::run::Holder;

/// The options for opening the embedded store.
#[derive(Clone, Debug)]
pub struct EmbeddedOptions {
    /// The state file to read (`-state`), by default `terraform.tfstate` or the file of a workspace.
    pub state: PathBuf,
    /// The file to write (`-state-out`), if it is not the file to read.
    pub state_out: Option<PathBuf>,
    /// The location of the backup of the previous state.
    pub backup: Backup,
    /// The directory of runs. `None` means `.weft` beside the written state file.
    pub weft: Option<PathBuf>,
    /// How long to wait for the lock (`-lock-timeout`).
    pub lock_timeout: Duration,
    /// The name of the operation in the lock file, such as `OperationTypeApply`.
    pub operation: String,
    /// The identity of this process.
    pub holder: Holder,
    /// Whether to accept a network file system.
    pub network: bool,
    /// The seal of states, journals and plans.
    pub sealing: Arc<Sealing>,
}

impl EmbeddedOptions {
    /// The default options for this state file.
    pub fn new(state: impl Into<PathBuf>, holder: Holder) -> EmbeddedOptions {
        EmbeddedOptions {
            state: state.into(),
            state_out: None,
            backup: Backup::Beside,
            weft: None,
            lock_timeout: Duration::ZERO,
            operation: "OperationTypeApply".to_owned(),
            holder,
            network: false,
            sealing: Arc::default(),
        }
    }

    /// The file beside a locked state file that names the holder of the lock. OpenTofu writes this file, too.
    pub fn lock_info(&self) -> PathBuf {
        lock_info_path(self.written())
    }

    /// The file to write.
    pub(super) fn written(&self) -> &Path {
        self.state_out.as_deref().unwrap_or(&self.state)
    }

    /// The settings of the store that do not depend on its medium.
    pub(super) fn mode(&self) -> Mode {
        let source = self.state_out.as_ref().map(|_| self.state.clone());
        let (backup, sealing) = (self.backup.clone(), Arc::clone(&self.sealing));
        Mode { backup, sealing, source, save_interval: None }
    }
}

/// The settings of a store that do not depend on its medium.
#[derive(Clone, Debug)]
pub(super) struct Mode {
    /// The location of the backup of the previous state.
    pub(super) backup: Backup,
    /// The seal of states, journals and plans.
    pub(super) sealing: Arc<Sealing>,
    /// The file with the initial state (`-state`), if another file is written (`-state-out`). The initial state is used
    /// if the written file is empty.
    pub(super) source: Option<PathBuf>,
    /// The time between two saves of the state during a run. `None` if the medium needs no saves.
    pub(super) save_interval: Option<Duration>,
}
