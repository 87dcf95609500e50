//! The write-ahead file: what runs were told since the last copy, on this machine.
//!
//! A file belongs to one process, which has it locked. Each frame is the length of its payload (4 bytes, little-endian),
//! the blake3 digest of the payload, and the payload: an [`Entry`], sealed as states are. A frame that is not whole ends
//! the file. Entries are appended after the store has answered and before the caller learns of it.

use std::collections::BTreeMap;
use std::fs::{File, OpenOptions, TryLockError};
use std::io::{Read as _, Write as _};
use std::path::{Path, PathBuf};
use std::sync::Arc;

use serde::{Deserialize, Serialize};
use weft_sealing::{Sealing, TargetName};

use crate::record::OutputWrite;
use crate::result::{InstanceWrite, Writes};
use crate::run::{Digest, Incarnation, OpIndex, RunId};
use crate::step::{DoubtOutcome, Intent, StoreStep};
use crate::store::StoreError;

/// The start of the names of write-ahead files.
const PREFIX: &str = "ahead-";
/// What is added to the name of a file that cannot be used.
const UNUSED: &str = ".unused";
/// The length of a digest in a name: enough to tell states apart.
const NAME_LENGTH: usize = 16;
/// The bytes before a payload.
const HEADER: usize = 4 + 32;

/// One entry of the file.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
enum Entry {
    /// The first entry: the store, and the copy that the other entries follow.
    Began { incarnation: Incarnation, copy: Option<Digest> },
    /// Steps that the store has taken.
    Steps { run: RunId, steps: Vec<StoreStep> },
    /// A copy was written that has the first so many entries of steps.
    Copied { copy: Digest, steps: u64 },
}

/// The seal of the file.
#[derive(Clone, Debug)]
struct AheadSeal {
    sealing: Arc<Sealing>,
    path: PathBuf,
}

impl AheadSeal {
    /// Entries are bound to the name of the state, not to that of the file, which changes.
    const CONTEXT: &[u8] = b"write-ahead";

    fn frame(&self, entry: &Entry) -> Result<Vec<u8>, StoreError> {
        let failed = |what: String| StoreError::Record { name: self.path.display().to_string(), what };
        let plain = postcard::to_stdvec(entry).map_err(|error| failed(error.to_string()))?;
        let sealed = self.sealing.seal_record(&TargetName::State, Self::CONTEXT, &plain);
        let place = || self.path.display().to_string();
        let payload = sealed.map_err(|error| StoreError::Unsealed { place: place(), error })?;
        let length = u32::try_from(payload.len()).map_err(|_| failed("it is too large".to_owned()))?;
        let mut frame = Vec::with_capacity(HEADER + payload.len());
        frame.extend(length.to_le_bytes());
        frame.extend(Digest::of(&payload).0);
        frame.extend(payload);
        Ok(frame)
    }

    /// The entries up to the first frame that is not whole.
    fn entries(&self, mut bytes: &[u8]) -> Result<Vec<Entry>, StoreError> {
        let mut entries = Vec::new();
        while let Some((payload, rest)) = whole_frame(bytes) {
            let place = || self.path.display().to_string();
            let opened = self.sealing.open_record(&TargetName::State, Self::CONTEXT, payload);
            let plain = opened.map_err(|error| StoreError::Unopened { place: place(), error })?.plain;
            let Ok(entry) = postcard::from_bytes(&plain) else { break };
            entries.push(entry);
            bytes = rest;
        }
        Ok(entries)
    }
}

/// The payload of the first frame, and what follows the frame.
fn whole_frame(bytes: &[u8]) -> Option<(&[u8], &[u8])> {
    let (length, rest) = bytes.split_first_chunk::<4>()?;
    let (digest, rest) = rest.split_first_chunk::<32>()?;
    let length = usize::try_from(u32::from_le_bytes(*length)).ok()?;
    let (payload, rest) = rest.split_at_checked(length)?;
    (Digest::of(payload).0 == *digest).then_some((payload, rest))
}

/// The write-ahead file of this process.
#[derive(Debug)]
pub(super) struct AheadFile {
    folder: PathBuf,
    /// The part of the name that all files of the state share.
    name: String,
    sealing: Arc<Sealing>,
    incarnation: Incarnation,
    open: Option<OpenFile>,
    /// The runs whose terms are going on.
    runs: Vec<RunId>,
    /// The intents without a result.
    intents: BTreeMap<(RunId, OpIndex), Intent>,
    /// The copy that was written last.
    copy: Option<Digest>,
}

#[derive(Debug)]
struct OpenFile {
    file: File,
    seal: AheadSeal,
    /// The number of entries of steps.
    steps: u64,
}

impl AheadFile {
    /// The file in this folder for the state in this place. Nothing is written before a term begins.
    pub(super) fn new(folder: &Path, place: &str, sealing: Arc<Sealing>, incarnation: Incarnation) -> AheadFile {
        let digest = Digest::of(place.as_bytes()).hex();
        let name = format!("{PREFIX}{}-", digest.get(..NAME_LENGTH).unwrap_or_default());
        AheadFile {
            folder: folder.to_owned(),
            name,
            sealing,
            incarnation,
            open: None,
            runs: Vec::new(),
            intents: BTreeMap::new(),
            copy: None,
        }
    }

    /// The runs whose terms are going on, as text.
    pub(super) fn runs(&self) -> Vec<String> {
        self.runs.iter().map(ToString::to_string).collect()
    }

    /// The number of entries of steps so far.
    pub(super) fn steps(&self) -> u64 {
        self.open.as_ref().map_or(0, |open| open.steps)
    }

    /// A term begins.
    pub(super) fn begin(&mut self, run: &RunId) -> Result<(), StoreError> {
        if !self.runs.contains(run) {
            self.runs.push(run.clone());
        }
        if self.open.is_none() {
            self.open = Some(self.fresh()?);
        }
        Ok(())
    }

    /// A term has ended, and everything that it did is in the copy.
    pub(super) fn end(&mut self, run: &RunId) -> Result<(), StoreError> {
        self.runs.retain(|known| known != run);
        self.intents.retain(|(of, _), _| of != run);
        if self.runs.is_empty()
            && let Some(open) = self.open.take()
        {
            std::fs::remove_file(&open.seal.path).map_err(failed("removing", &open.seal.path))?;
        }
        Ok(())
    }

    /// Appends steps that the store has taken, durably.
    pub(super) fn append(&mut self, run: &RunId, steps: Vec<StoreStep>) -> Result<(), StoreError> {
        for step in &steps {
            match (step, step.op()) {
                (StoreStep::Intent(intent), _) => {
                    self.intents.insert((run.clone(), intent.op), intent.clone());
                }
                // A doubt stays uncertain until it is resolved.
                (StoreStep::Doubt { .. } | StoreStep::Stray(_), _) | (_, None) => {}
                (_, Some(op)) => drop(self.intents.remove(&(run.clone(), op))),
            }
        }
        let Some(open) = &mut self.open else { return Ok(()) };
        open.write(&Entry::Steps { run: run.clone(), steps })?;
        open.steps += 1;
        Ok(())
    }

    /// A copy was written that has the first `steps` entries.
    pub(super) fn copied(&mut self, copy: Digest, steps: u64) -> Result<(), StoreError> {
        self.copy = Some(copy);
        let Some(open) = &mut self.open else { return Ok(()) };
        if open.steps != steps {
            return open.write(&Entry::Copied { copy, steps });
        }
        // Everything is in the copy but the open intents.
        let old = open.seal.path.clone();
        self.open = Some(self.fresh()?);
        std::fs::remove_file(&old).map_err(failed("removing", &old))
    }

    /// A new file, with the open intents.
    fn fresh(&self) -> Result<OpenFile, StoreError> {
        let path = self.folder.join(format!("{}{}", self.name, uuid::Uuid::new_v4()));
        std::fs::create_dir_all(&self.folder).map_err(failed("creating", &self.folder))?;
        let mut options = OpenOptions::new();
        options.read(true).write(true).create_new(true);
        #[cfg(unix)]
        std::os::unix::fs::OpenOptionsExt::mode(&mut options, 0o600);
        let file = options.open(&path).map_err(failed("creating", &path))?;
        file.try_lock().map_err(|error| StoreError::Io {
            doing: format!("locking {}", path.display()),
            error: error.to_string(),
        })?;
        let seal = AheadSeal { sealing: Arc::clone(&self.sealing), path };
        let mut open = OpenFile { file, seal, steps: 0 };
        open.write(&Entry::Began { incarnation: self.incarnation, copy: self.copy })?;
        for ((run, _), intent) in &self.intents {
            open.write(&Entry::Steps { run: run.clone(), steps: vec![StoreStep::Intent(intent.clone())] })?;
            open.steps += 1;
        }
        Ok(open)
    }

    /// The copy that was seen or written last.
    pub(super) fn set_copy(&mut self, copy: Option<Digest>) {
        self.copy = copy;
    }

    /// The files of this state that dead processes left behind.
    pub(super) fn left_behind(&self) -> Result<Vec<LeftBehind>, StoreError> {
        let entries = match std::fs::read_dir(&self.folder) {
            Err(error) if error.kind() == std::io::ErrorKind::NotFound => return Ok(Vec::new()),
            entries => entries.map_err(failed("listing", &self.folder))?,
        };
        let mut found = Vec::new();
        for entry in entries {
            let path = entry.map_err(failed("listing", &self.folder))?.path();
            let name = path.file_name().unwrap_or_default().to_string_lossy();
            if !name.starts_with(&self.name) || name.ends_with(UNUSED) {
                continue;
            }
            found.extend(LeftBehind::read(&path, &self.sealing)?);
        }
        found.sort_by(|one, other| one.path.cmp(&other.path));
        Ok(found)
    }
}

impl OpenFile {
    fn write(&mut self, entry: &Entry) -> Result<(), StoreError> {
        let frame = self.seal.frame(entry)?;
        let written = self.file.write_all(&frame).and_then(|()| self.file.sync_data());
        written.map_err(failed("writing", &self.seal.path))
    }
}

/// The file of a process that is gone.
#[derive(Debug)]
pub(super) struct LeftBehind {
    pub(super) path: PathBuf,
    /// Keeps the lock.
    _file: File,
    pub(super) incarnation: Incarnation,
    /// The copy that the writes follow.
    pub(super) copy: Option<Digest>,
    /// The last write of each subject since that copy.
    pub(super) writes: Writes,
    /// The objects with an intent and no result.
    pub(super) uncertain: Vec<String>,
    /// The runs of the entries.
    pub(super) runs: Vec<String>,
}

impl LeftBehind {
    /// Reads a file, unless its process is alive or it is empty.
    fn read(path: &Path, sealing: &Arc<Sealing>) -> Result<Option<LeftBehind>, StoreError> {
        let mut file = match File::open(path) {
            // Its process has just ended.
            Err(error) if error.kind() == std::io::ErrorKind::NotFound => return Ok(None),
            file => file.map_err(failed("opening", path))?,
        };
        match file.try_lock() {
            Ok(()) => {}
            Err(TryLockError::WouldBlock) => return Ok(None),
            Err(TryLockError::Error(error)) => return Err(failed("locking", path)(error)),
        }
        let mut bytes = Vec::new();
        file.read_to_end(&mut bytes).map_err(failed("reading", path))?;
        let seal = AheadSeal { sealing: Arc::clone(sealing), path: path.to_owned() };
        let mut entries = seal.entries(&bytes)?.into_iter();
        let Some(Entry::Began { incarnation, copy }) = entries.next() else { return Ok(None) };
        let mut found = LeftBehind {
            path: path.to_owned(),
            _file: file,
            incarnation,
            copy,
            writes: Writes::default(),
            uncertain: Vec::new(),
            runs: Vec::new(),
        };
        found.fold(entries.collect());
        Ok(Some(found))
    }

    fn fold(&mut self, entries: Vec<Entry>) {
        let mut included = 0;
        for entry in &entries {
            if let Entry::Copied { copy, steps } = entry {
                (self.copy, included) = (Some(*copy), *steps);
            }
        }
        let mut intents: BTreeMap<(RunId, OpIndex), String> = BTreeMap::new();
        let mut writes = LastWrites::default();
        let steps = entries.into_iter().filter_map(|entry| match entry {
            Entry::Steps { run, steps } => Some((run, steps)),
            Entry::Began { .. } | Entry::Copied { .. } => None,
        });
        for (number, (run, steps)) in (0..).zip(steps) {
            let name = run.to_string();
            if !self.runs.contains(&name) {
                self.runs.push(name);
            }
            for step in steps {
                let op = step.op();
                if let StoreStep::Intent(intent) = &step {
                    intents.insert((run.clone(), intent.op), intent.target.to_string());
                } else if let (false, Some(op)) = (matches!(step, StoreStep::Doubt { .. } | StoreStep::Stray(_)), op) {
                    intents.remove(&(run.clone(), op));
                }
                if number >= included {
                    writes.add(step);
                }
            }
        }
        self.writes = writes.into_writes();
        self.uncertain = intents.into_values().collect();
    }

    /// Removes the file.
    pub(super) fn remove(self) -> Result<(), StoreError> {
        std::fs::remove_file(&self.path).map_err(failed("removing", &self.path))
    }

    /// Moves the file out of the way. Returns where it is now.
    pub(super) fn set_aside(self) -> Result<String, StoreError> {
        let mut name = self.path.as_os_str().to_owned();
        name.push(UNUSED);
        std::fs::rename(&self.path, &name).map_err(failed("moving", &self.path))?;
        Ok(PathBuf::from(name).display().to_string())
    }
}

/// The last write of each subject.
#[derive(Default)]
pub(super) struct LastWrites {
    instances: BTreeMap<String, InstanceWrite>,
    outputs: BTreeMap<String, OutputWrite>,
    checks: Option<Option<Vec<crate::check::CheckRecord>>>,
}

impl LastWrites {
    fn add(&mut self, step: StoreStep) {
        match step {
            StoreStep::Commit(commit) => self.add_writes(commit.writes),
            StoreStep::Fail(failure) => self.add_writes(failure.writes),
            StoreStep::Checks(writes) => self.add_writes(writes),
            StoreStep::Resolve(resolution) => match resolution.outcome {
                DoubtOutcome::Done(commit) => self.add_writes(commit.writes),
                DoubtOutcome::Failed(failure) => self.add_writes(failure.writes),
                DoubtOutcome::Pending => {}
            },
            StoreStep::Intent(_)
            | StoreStep::Doubt { .. }
            | StoreStep::Skip { .. }
            | StoreStep::Reopen { .. }
            | StoreStep::Stray(_) => {}
        }
    }

    /// Adds writes. Later ones replace earlier ones.
    pub(super) fn add_writes(&mut self, writes: Writes) {
        self.instances.extend(writes.instances.into_iter().map(|write| (write.address.clone(), write)));
        self.outputs.extend(writes.outputs.into_iter().map(|write| (write.name.clone(), write)));
        if writes.checks.is_some() {
            self.checks = writes.checks;
        }
    }

    /// All of them.
    pub(super) fn into_writes(self) -> Writes {
        let (instances, outputs) = (self.instances.into_values().collect(), self.outputs.into_values().collect());
        Writes { instances, outputs, checks: self.checks }
    }
}

fn failed(doing: &str, path: &Path) -> impl Fn(std::io::Error) -> StoreError {
    let doing = format!("{doing} {}", path.display());
    move |error| StoreError::Io { doing: doing.clone(), error: error.to_string() }
}
