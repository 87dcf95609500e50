//! The files of runs as objects: `runs/RUN/{header, plan, summary}`, and a journal as a numbered sequence of segments,
//! `runs/RUN/journal.EPOCH.NUMBER`, one for each frame.
//!
//! A segment is created only if it is absent. A process that has taken over the lock ends the journal of the earlier
//! holder with an empty segment. When a run finishes, each of its journals becomes one object, `journal.EPOCH`.

use std::collections::{BTreeMap, BTreeSet};
use std::fmt;
use std::path::{Path, PathBuf};
use std::sync::atomic::{AtomicBool, AtomicU64, Ordering};
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};

use bytes::Bytes;
use futures::{StreamExt as _, TryStreamExt as _, stream};

use super::super::medium::{JournalSink, RunFiles};
use super::super::problems;
use super::background::Background;
use super::bridge::Bridge;
use super::known::{Content, Known};
use crate::error::StoreError;
use crate::remote::{Objects, Written};
use crate::run::RunId;

/// The start of the names of all files of runs.
pub(super) const RUNS: &str = "runs/";
/// The start of the names of the files of runs that were set aside.
const SET_ASIDE: &str = "set-aside/";
/// The maximum number of concurrent requests for reading.
const READS: usize = 32;

/// The objects of the runs of one state.
pub(super) struct ObjectFiles {
    objects: Arc<dyn Objects>,
    bridge: Arc<Bridge>,
    place: String,
    /// The cache of files, while this process has the lock.
    known: Arc<Mutex<Option<Known>>>,
    /// Whether another process has taken over the lock, or a run of this process.
    superseded: Arc<AtomicBool>,
    /// The notes that this process wrote when it took locks over.
    notes: Mutex<Vec<String>>,
    /// The requests in the background.
    background: Background,
}

impl fmt::Debug for ObjectFiles {
    fn fmt(&self, out: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(out, "ObjectFiles({})", self.place)
    }
}

/// A part of a journal, parsed from the name of its object.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
enum Part {
    /// The whole journal of an epoch.
    Whole(u64),
    /// A segment, with its epoch and its number. Numbers begin with 1.
    Segment(u64, u64),
}

impl Part {
    fn epoch(self) -> u64 {
        match self {
            Part::Whole(epoch) | Part::Segment(epoch, _) => epoch,
        }
    }

    fn parse(name: &str) -> Option<Part> {
        let rest = name.strip_prefix("journal.")?;
        match rest.split_once('.') {
            None => Some(Part::Whole(rest.parse().ok()?)),
            Some((epoch, number)) => Some(Part::Segment(epoch.parse().ok()?, number.parse().ok()?)),
        }
    }

    /// The name of the object. Numbers have a fixed width so that names sort like numbers.
    fn name(self, run: &str) -> String {
        match self {
            Part::Whole(epoch) => format!("{RUNS}{run}/journal.{epoch}"),
            Part::Segment(epoch, number) => format!("{RUNS}{run}/journal.{epoch}.{number:08}"),
        }
    }
}

impl ObjectFiles {
    /// The files of the state at `place`.
    pub(super) fn new(objects: Arc<dyn Objects>, bridge: Arc<Bridge>, place: String) -> ObjectFiles {
        let background = Background::new(Arc::clone(&objects), Arc::clone(&bridge));
        ObjectFiles {
            objects,
            bridge,
            place,
            known: Arc::default(),
            superseded: Arc::default(),
            notes: Mutex::default(),
            background,
        }
    }

    /// Whether another process has taken over the lock or has taken over a run of this process. If so, this process no
    /// longer has the lock.
    pub(super) fn is_superseded(&self) -> bool {
        self.superseded.load(Ordering::Relaxed)
    }

    /// Records that another process has taken over the lock.
    pub(super) fn supersede(&self) {
        self.superseded.store(true, Ordering::Relaxed);
    }

    /// Records that this process has written a note with this name.
    pub(super) fn note(&self, name: String) {
        self.notes.lock().unwrap_or_else(PoisonError::into_inner).push(name);
    }

    /// Takes the names of the notes that this process has written.
    pub(super) fn noted(&self) -> Vec<String> {
        std::mem::take(&mut *self.notes.lock().unwrap_or_else(PoisonError::into_inner))
    }

    /// The objects of the backend, for requests that this type has no method for.
    pub(super) fn objects(&self) -> &Arc<dyn Objects> {
        &self.objects
    }

    fn known(&self) -> MutexGuard<'_, Option<Known>> {
        self.known.lock().unwrap_or_else(PoisonError::into_inner)
    }

    /// Drops the cache. Called when the lock is released, because other processes may then write the files.
    pub(super) fn forget(&self) {
        *self.known() = None;
    }

    fn names(&self, prefix: String) -> Result<Vec<String>, StoreError> {
        if let Some(known) = self.known().as_ref() {
            return Ok(known.names(&prefix));
        }
        let objects = Arc::clone(&self.objects);
        Ok(self.bridge.wait(async move { objects.list(&prefix).await })??)
    }

    fn contents(&self, names: Vec<String>) -> Result<Vec<Option<Bytes>>, StoreError> {
        let held: Vec<Content> = match self.known().as_ref() {
            Some(known) => names.iter().map(|name| known.content(name)).collect(),
            None => names.iter().map(|_| Content::Unread).collect(),
        };
        let unread = names.iter().zip(&held).filter(|(_, content)| **content == Content::Unread);
        let unread: Vec<String> = unread.map(|(name, _)| name.clone()).collect();
        let mut read = self.read_all(unread)?.into_iter();
        let mut contents = Vec::with_capacity(names.len());
        for (name, content) in names.iter().zip(held) {
            contents.push(match content {
                Content::Absent => None,
                Content::Held(content) => Some(content),
                Content::Unread => {
                    let content = read.next().flatten();
                    if let (Some(known), Some(content)) = (self.known().as_mut(), &content) {
                        known.set(name, content.clone());
                    }
                    content
                }
            });
        }
        Ok(contents)
    }

    fn read_all(&self, names: Vec<String>) -> Result<Vec<Option<Bytes>>, StoreError> {
        if names.is_empty() {
            return Ok(Vec::new());
        }
        let objects = Arc::clone(&self.objects);
        let read = self.bridge.wait(async move {
            let reads = names.into_iter().map(|name| {
                let objects = Arc::clone(&objects);
                async move { objects.read(&name).await.map(|object| object.map(|object| object.content)) }
            });
            stream::iter(reads).buffered(READS).try_collect::<Vec<Option<Bytes>>>().await
        })?;
        Ok(read?)
    }

    fn create(&self, name: String, content: Bytes) -> Result<Written, StoreError> {
        let (objects, key, written) = (Arc::clone(&self.objects), name.clone(), content.clone());
        let answer = self.bridge.wait(async move { objects.create(&key, written).await })??;
        if let (Written::Done(_), Some(known)) = (&answer, self.known().as_mut()) {
            known.set(&name, content);
        }
        Ok(answer)
    }

    fn put(&self, name: String, content: Bytes) -> Result<(), StoreError> {
        let (objects, key, written) = (Arc::clone(&self.objects), name.clone(), content.clone());
        self.bridge.wait(async move { objects.put(&key, written).await })??;
        if let Some(known) = self.known().as_mut() {
            known.set(&name, content);
        }
        Ok(())
    }

    fn delete(&self, mut names: Vec<String>) -> Result<(), StoreError> {
        if let Some(known) = self.known().as_ref() {
            names.retain(|name| known.content(name) != Content::Absent);
        }
        if names.is_empty() {
            return Ok(());
        }
        // A write in the background must not restore a removed file.
        self.background.finish_writing();
        let (objects, gone) = (Arc::clone(&self.objects), names.clone());
        self.bridge.wait(async move { objects.remove(&names).await })??;
        if let Some(known) = self.known().as_mut() {
            gone.iter().for_each(|name| known.remove(name));
        }
        Ok(())
    }

    /// The parts of the journals of a run, in order.
    fn parts(&self, run: &str) -> Result<BTreeSet<Part>, StoreError> {
        let prefix = format!("{RUNS}{run}/");
        let names = self.names(format!("{prefix}journal."))?;
        Ok(names.iter().filter_map(|name| Part::parse(name.strip_prefix(&prefix)?)).collect())
    }

    /// The requests in the background.
    pub(super) fn background(&self) -> &Background {
        &self.background
    }

    /// Ends the last journal of each unfinished run, so that its writer can no longer add anything. `names` are the
    /// names of all files. Also fills the cache of files (`known`). Returns whether there was an unfinished run.
    pub(super) fn fence(&self, names: Vec<String>) -> Result<bool, StoreError> {
        let mut last: BTreeMap<String, Part> = BTreeMap::new();
        let mut finished = BTreeSet::new();
        *self.known() = Some(Known::new(names.clone()));
        for name in names {
            let Some((run, file)) = name.strip_prefix(RUNS).and_then(|name| name.split_once('/')) else { continue };
            if file == "summary" {
                finished.insert(run.to_owned());
            }
            if let Some(part @ Part::Segment(..)) = Part::parse(file) {
                let before = last.entry(run.to_owned()).or_insert(part);
                *before = (*before).max(part);
            }
        }
        last.retain(|run, _| !finished.contains(run));
        if last.is_empty() {
            return Ok(false);
        }
        for (run, part) in last {
            self.end(&run, part)?;
        }
        // A writer may have added segments before its journal was ended.
        self.forget();
        let names = self.names(RUNS.to_owned())?;
        *self.known() = Some(Known::new(names));
        Ok(true)
    }

    /// Ends a journal whose last known segment is `last`.
    fn end(&self, run: &str, last: Part) -> Result<(), StoreError> {
        let Part::Segment(epoch, mut number) = last else { return Ok(()) };
        let content = self.contents(vec![last.name(run)])?.pop().flatten();
        if content.is_some_and(|content| content.is_empty()) {
            return Ok(());
        }
        loop {
            number += 1;
            // A conflict means that the writer has added a segment in the meantime.
            if let Written::Done(_) = self.create(Part::Segment(epoch, number).name(run), Bytes::new())? {
                return Ok(());
            }
        }
    }
}

impl RunFiles for ObjectFiles {
    fn path(&self, name: &str) -> PathBuf {
        PathBuf::from(format!("{}.weft/{RUNS}{name}", self.place))
    }

    fn list(&self) -> Result<Vec<String>, StoreError> {
        let names = self.names(RUNS.to_owned())?;
        Ok(names.iter().filter_map(|name| name.strip_prefix(RUNS).map(str::to_owned)).collect())
    }

    fn read(&self, names: &[String]) -> Result<Vec<Option<Vec<u8>>>, StoreError> {
        let names = names.iter().map(|name| format!("{RUNS}{name}")).collect();
        Ok(self.contents(names)?.into_iter().map(|content| content.map(|content| content.to_vec())).collect())
    }

    fn write(&self, name: &str, content: &[u8]) -> Result<(), StoreError> {
        self.put(format!("{RUNS}{name}"), Bytes::copy_from_slice(content))
    }

    fn write_all(&self, files: &[(String, Vec<u8>)]) -> Result<(), StoreError> {
        let files: Vec<(String, Bytes)> =
            files.iter().map(|(name, content)| (format!("{RUNS}{name}"), Bytes::copy_from_slice(content))).collect();
        let writes: Vec<_> = files
            .iter()
            .cloned()
            .map(|(name, content)| {
                let objects = Arc::clone(&self.objects);
                async move { objects.put(&name, content).await }
            })
            .collect();
        self.bridge.wait(futures::future::try_join_all(writes))??;
        if let Some(known) = self.known().as_mut() {
            files.into_iter().for_each(|(name, content)| known.set(&name, content));
        }
        Ok(())
    }

    fn write_with_journal(&self, files: &[(String, Vec<u8>)]) -> Result<(), StoreError> {
        // Without the lock, other processes may read and write the files in the meantime.
        if self.known().is_none() {
            return self.write_all(files);
        }
        for (name, content) in files {
            let (name, content) = (format!("{RUNS}{name}"), Bytes::copy_from_slice(content));
            if let Some(known) = self.known().as_mut() {
                known.set(&name, content.clone());
            }
            self.background.write_needed(name, content);
        }
        Ok(())
    }

    fn write_late(&self, name: &str, content: &[u8]) -> Result<(), StoreError> {
        let (name, content) = (format!("{RUNS}{name}"), Bytes::copy_from_slice(content));
        if let Some(known) = self.known().as_mut() {
            known.set(&name, content.clone());
        }
        self.background.write(name, content);
        Ok(())
    }

    fn remove(&self, names: &[String]) -> Result<(), StoreError> {
        self.delete(names.iter().map(|name| format!("{RUNS}{name}")).collect())
    }

    fn remove_run(&self, run: &RunId) -> Result<(), StoreError> {
        let header = format!("{RUNS}{run}/header");
        self.delete(vec![header.clone()])?;
        let rest = self.names(format!("{RUNS}{run}/"))?;
        self.delete(rest.into_iter().filter(|name| *name != header).collect())
    }

    fn set_aside(&self, run: &RunId) -> Result<PathBuf, StoreError> {
        let names = self.names(format!("{RUNS}{run}/"))?;
        let contents = self.contents(names.clone())?;
        for (name, content) in names.iter().zip(contents) {
            let target = name.replacen(RUNS, SET_ASIDE, 1);
            self.put(target, content.unwrap_or_default())?;
        }
        self.remove_run(run)?;
        Ok(PathBuf::from(format!("{}.weft/{SET_ASIDE}{run}", self.place)))
    }

    fn epochs(&self, run: &RunId) -> Result<Vec<u64>, StoreError> {
        let epochs: BTreeSet<u64> = self.parts(run.as_str())?.into_iter().map(Part::epoch).collect();
        Ok(epochs.into_iter().collect())
    }

    fn read_journal(&self, run: &RunId, epoch: u64) -> Result<Vec<u8>, StoreError> {
        let parts: BTreeSet<Part> =
            self.parts(run.as_str())?.into_iter().filter(|part| part.epoch() == epoch).collect();
        let whole = Part::Whole(epoch);
        // If segments exist beside the whole journal, a crash interrupted the packing.
        let parts: Vec<Part> = if parts.contains(&whole) { vec![whole] } else { parts.into_iter().collect() };
        let contents = self.contents(parts.into_iter().map(|part| part.name(run.as_str())).collect())?;
        Ok(contents.into_iter().flatten().collect::<Vec<Bytes>>().concat())
    }

    fn remove_journal(&self, run: &RunId, epoch: u64) -> Result<(), StoreError> {
        let parts = self.parts(run.as_str())?.into_iter().filter(|part| part.epoch() == epoch);
        self.delete(parts.map(|part| part.name(run.as_str())).collect())
    }

    fn start_journal(&self, run: &RunId, epoch: u64, frame: &[u8]) -> Result<Box<dyn JournalSink>, StoreError> {
        let path = self.path(&format!("{run}/journal.{epoch}"));
        let first = Part::Segment(epoch, 1).name(run.as_str());
        let content = Bytes::copy_from_slice(frame);
        let (objects, key, written) = (Arc::clone(&self.objects), first.clone(), content.clone());
        let needed = self.background.take_needed();
        let begun = self.bridge.wait(async move { futures::join!(objects.create(&key, written), needed) });
        let (begun, needed) = begun?;
        if begun? == Written::Conflict {
            self.superseded.store(true, Ordering::Relaxed);
            return Err(problems::superseded(&path));
        }
        needed?;
        if let Some(known) = self.known().as_mut() {
            known.set(&first, content.clone());
        }
        // If a proxy drops the conditions of writes, two writers do not fence each other. To detect this, the first
        // segment is created a second time, which must fail. The second content has an additional byte, so that a
        // resent request does not mistake the first object for its own. Readers ignore this byte.
        let other = [&content[..], &[0]].concat();
        if !self.objects.are_conditions_tried() && self.create(first, other.into())? != Written::Conflict {
            return Err(problems::no_conditions(&path));
        }
        let (objects, bridge) = (Arc::clone(&self.objects), Arc::clone(&self.bridge));
        let (run, next) = (run.to_string(), AtomicU64::new(2));
        let (known, superseded) = (Arc::clone(&self.known), Arc::clone(&self.superseded));
        Ok(Box::new(SegmentSink { objects, bridge, path, run, epoch, next, known, superseded }))
    }

    fn pack(&self, run: &RunId) -> Result<(), StoreError> {
        let parts = self.parts(run.as_str())?;
        for epoch in parts.iter().map(|part| part.epoch()).collect::<BTreeSet<u64>>() {
            let segments: Vec<Part> =
                parts.iter().copied().filter(|part| matches!(part, Part::Segment(at, _) if *at == epoch)).collect();
            if segments.is_empty() {
                continue;
            }
            let content = Bytes::from(self.read_journal(run, epoch)?);
            let whole = Part::Whole(epoch).name(run.as_str());
            let segments: Vec<String> = segments.into_iter().map(|part| part.name(run.as_str())).collect();
            if let Some(known) = self.known().as_mut() {
                known.set(&whole, content.clone());
                segments.iter().for_each(|name| known.remove(name));
            }
            self.background.pack(whole, content, segments);
        }
        Ok(())
    }
}

/// The writable end of a journal that consists of segments.
struct SegmentSink {
    objects: Arc<dyn Objects>,
    bridge: Arc<Bridge>,
    path: PathBuf,
    run: String,
    epoch: u64,
    next: AtomicU64,
    known: Arc<Mutex<Option<Known>>>,
    superseded: Arc<AtomicBool>,
}

impl JournalSink for SegmentSink {
    fn path(&self) -> &Path {
        &self.path
    }

    fn append(&self, _offset: u64, frame: &[u8]) -> Result<(), StoreError> {
        let name = Part::Segment(self.epoch, self.next.fetch_add(1, Ordering::Relaxed)).name(&self.run);
        let (objects, content) = (Arc::clone(&self.objects), Bytes::copy_from_slice(frame));
        let (key, written) = (name.clone(), content.clone());
        let answer = self.bridge.wait(async move { objects.create(&key, written).await });
        match answer.map_err(|error| StoreError::Closed(error.to_string()))? {
            Ok(Written::Done(_)) => {
                if let Some(known) = self.known.lock().unwrap_or_else(PoisonError::into_inner).as_mut() {
                    known.set(&name, content);
                }
                Ok(())
            }
            Ok(Written::Conflict) => {
                self.superseded.store(true, Ordering::Relaxed);
                Err(problems::superseded(&self.path))
            }
            Err(error) => Err(problems::write_failed(&self.path, &error)),
        }
    }

    fn reserve(&self, _from: u64, _upto: u64) -> Result<(), StoreError> {
        Ok(())
    }

    fn gathers(&self) -> bool {
        true
    }

    fn close(&self, _end: u64) {}
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn names_of_parts_are_read_back() {
        for part in [Part::Whole(3), Part::Segment(3, 1), Part::Segment(12, 12_345_678)] {
            let name = part.name("run-a");
            assert_eq!(Part::parse(name.strip_prefix("runs/run-a/").unwrap()), Some(part), "{name}");
        }
        for other in ["header", "journal.", "journal.x", "journal.1.x", "journal.1.2.3"] {
            assert_eq!(Part::parse(other), None, "{other}");
        }
        assert!(Part::Whole(9) < Part::Segment(1, 1), "all segments come after whole journals");
    }
}
