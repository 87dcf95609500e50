//! Reads the state file and the journals together into a ledger. Changes no file.

use std::collections::{BTreeMap, BTreeSet};
use std::path::Path;

use super::folder::{RunFolder, RunFolders};
use super::journal::{Chain, JournalContents, read, read_sound};
use super::problems;
use super::sealed::Seals;
use crate::content::content_revision;
use crate::error::StoreError;
use crate::event::{Base, Event, Saving};
use crate::ledger::{Ledger, RevisionRule};
use crate::record::Opaque;
use crate::run::{Digest, Incarnation, JournalLine, NewRun, OpStatus, RunId, RunPast, RunStatus};
use crate::step::StoreStep;
use crate::subject::Revision;
use crate::tfstate::{StateFile, find_format_digit};

/// The end of a run's last journal.
#[derive(Clone, Copy, Debug)]
pub(super) struct LastTerm {
    /// The epoch of the term.
    pub(super) epoch: u64,
    /// The length of the journal up to the end of its last valid frame, in bytes.
    pub(super) length: u64,
    /// The chain at the end of the journal.
    pub(super) chain: Chain,
}

/// A run whose last term ended before its journal was folded into the state file.
#[derive(Clone, Debug)]
pub(super) struct Unfolded {
    /// The run.
    pub(super) run: RunId,
    /// The complete new content of the state file, if the journal contains it.
    pub(super) image: Option<Opaque>,
    /// Whether the run may have begun to write `image` to the state file.
    pub(super) written: bool,
}

/// Everything that the files contain.
#[derive(Debug)]
pub(super) struct Loaded {
    /// The state with all journals applied, and the runs.
    pub(super) ledger: Ledger,
    /// The content digest of the state file alone, without the journals.
    pub(super) folded_content: Digest,
    /// The journal that is not folded yet.
    pub(super) unfolded: Option<Unfolded>,
    /// The ends of the last journals of the runs that have journals and were read.
    pub(super) terms: BTreeMap<RunId, LastTerm>,
    /// Finished runs whose summary was read, but not their journals.
    pub(super) unread: BTreeSet<RunId>,
    /// The digests that the state file had at the ends of runs.
    pub(super) left_behind: BTreeSet<Digest>,
    /// Whether the state is sealed differently than configured now.
    pub(super) outdated: bool,
}

/// The digest of a state file's content, with 4 as the format digit.
pub(super) fn state_digest(content: &[u8]) -> Digest {
    match find_format_digit(content, "") {
        Ok(found) if found.is_guarded() => {
            let mut plain = content.to_vec();
            plain[found.offset] = found.unguarded();
            Digest::of(&plain)
        }
        _ => Digest::of(content),
    }
}

/// All journals of one run in order, with the end of the last one.
struct Journals {
    terms: Vec<JournalContents>,
    last: Option<LastTerm>,
}

/// Reads the journals of a run and checks that each begins at the end of the previous one. If the last journal has no
/// valid first frame, its term never began, and the journal is ignored.
fn read_journals(folder: &RunFolder) -> Result<Journals, StoreError> {
    let mut journals = Journals { terms: Vec::new(), last: None };
    let mut chain = Chain::default();
    let all = folder.files.epochs(&folder.id)?;
    for (position, epoch) in all.iter().enumerate() {
        let path = folder.journal(*epoch);
        let content = folder.files.read_journal(&folder.id, *epoch)?;
        let found = read(&content, &path, chain, &folder.seals.journal(&folder.id, *epoch))?;
        let Some((Event::Began(began), _)) = found.events.first() else {
            if position + 1 == all.len() && found.events.is_empty() {
                break;
            }
            return Err(problems::journal_without_start(&path, &folder.id));
        };
        let sealed = began.sealed.map(|sealed| (sealed.epoch, sealed.length, sealed.hash));
        let before = journals.last.map(|last| (last.epoch, last.length, last.chain.hash));
        if sealed != before || began.token.epoch != *epoch || began.run != folder.id {
            return Err(problems::other_journal_before(&path, &folder.id));
        }
        chain = found.chain;
        journals.last = Some(LastTerm { epoch: *epoch, length: found.length, chain });
        journals.terms.push(found);
    }
    Ok(journals)
}

/// Whether a step changes the state file.
pub(super) fn writes_state(step: &StoreStep) -> bool {
    step.writes().is_some_and(|writes| !writes.is_empty())
}

/// The unfinished work of a term: an image in its journal, or steps that the state file lacks.
fn unfolded(folder: &RunFolder, term: &JournalContents) -> Option<Unfolded> {
    let mut open = None;
    for (event, _) in &term.events {
        match event {
            Event::Folded(_) => open = None,
            Event::Image(image) => open = Some(Some(image.clone())),
            Event::Step(step) if writes_state(step) => open = Some(None),
            _ => {}
        }
    }
    open.map(|image| Unfolded { run: folder.id.clone(), image, written: false })
}

/// The base state of a term's journal.
fn base(term: &JournalContents) -> Option<&Base> {
    match term.events.first() {
        Some((Event::Began(began), _)) => Some(&began.base),
        _ => None,
    }
}

/// Combines the state file with the runs and their journals. `content` is the content of the state file. `place` names
/// this file in messages.
///
/// # Errors
/// Returns an error if a file is damaged, if a journal and the state file do not match, or if the state file is
/// unreadable.
pub(super) fn load(
    folders: &RunFolders,
    content: &[u8],
    place: &Path,
    incarnation: Incarnation,
) -> Result<Loaded, StoreError> {
    let runs = folders.list()?;
    let mut read_runs = Vec::new();
    let mut to_fold: Option<(Unfolded, usize)> = None;
    for (position, folder) in runs.iter().enumerate() {
        if folder.summary.is_some() {
            read_runs.push(None);
            continue;
        }
        let journals = read_journals(folder)?;
        if let Some(found) = journals.terms.last().and_then(|term| unfolded(folder, term))
            && let Some((other, _)) = to_fold.replace((found, position))
        {
            return Err(problems::two_unfolded_journals(&folder.files.path(folder.id.as_str()), &other.run));
        }
        read_runs.push(Some(journals));
    }
    let (effective, lineage) = match &mut to_fold {
        None => (content.to_vec(), None),
        Some((unfolded, position)) => {
            let term = read_runs[*position].as_ref().and_then(|journals| journals.terms.last());
            unfolded.written = term.and_then(base).is_some_and(|base| base.digest != state_digest(content));
            effective_content(content, unfolded, term, place, &folders.seals)?
        }
    };
    let mut loaded = Loaded {
        ledger: Ledger::new(RevisionRule::Content, false, incarnation),
        folded_content: Digest::default(),
        unfolded: to_fold.map(|(unfolded, _)| unfolded),
        terms: BTreeMap::new(),
        unread: BTreeSet::new(),
        left_behind: BTreeSet::new(),
        outdated: false,
    };
    if !effective.is_empty() {
        let opened = folders.seals.parse(&effective, place)?;
        loaded.outdated = opened.outdated;
        loaded.ledger.load(opened.file);
    } else if let Some(lineage) = lineage {
        loaded.ledger.lineage = lineage;
    }
    loaded.folded_content = loaded.ledger.content_digest();
    for (folder, journals) in runs.iter().zip(read_runs) {
        let replays_state =
            loaded.unfolded.as_ref().is_some_and(|found| found.run == folder.id && found.image.is_none());
        add_run(&mut loaded, folder, journals, replays_state);
    }
    Ok(loaded)
}

/// The content that the unfolded journal builds on, and the lineage if the file is still empty.
fn effective_content(
    content: &[u8],
    unfolded: &Unfolded,
    term: Option<&JournalContents>,
    place: &Path,
    seals: &Seals,
) -> Result<(Vec<u8>, Option<String>), StoreError> {
    let Some(base) = term.and_then(base) else { return Ok((content.to_vec(), None)) };
    let found = state_digest(content);
    let digit = find_format_digit(content, "");
    if let Some(image) = &unfolded.image {
        // After a torn write, the file is unreadable, or has the format version 9, which means that a run guards it. If
        // the file is readable, has another version, and has neither the content from before the run nor the new
        // content, another program has written it.
        let torn = digit.map_or(true, |digit| digit.is_guarded());
        if is_same_state(content, found, base, seals) || found == state_digest(&image.0) || torn {
            return Ok((image.0.clone(), None));
        }
    } else if is_same_state(content, found, base, seals)
        || is_skeleton(content, base, seals)
        || term.is_some_and(|term| is_saved(content, found, term, base, seals))
    {
        return Ok((content.to_vec(), Some(base.lineage.clone())));
    }
    Err(StoreError::StateMismatch {
        path: place.display().to_string(),
        run: unfolded.run.clone(),
        instances: differing(content, term, base, place, seals),
    })
}

/// The states that a term saved, or began to save, before its end.
fn saves(term: &JournalContents) -> impl DoubleEndedIterator<Item = &Saving> {
    term.events.iter().filter_map(|(event, _)| match event {
        Event::Saving(saving) => Some(saving),
        _ => None,
    })
}

/// Whether the content is a state that the term saved, possibly with a different layout.
fn is_saved(content: &[u8], digest: Digest, term: &JournalContents, base: &Base, seals: &Seals) -> bool {
    if saves(term).any(|saving| saving.digest == digest) {
        return true;
    }
    let Ok(opened) = seals.parse(content, Path::new("")) else { return false };
    let file = opened.file;
    let Some(saving) = saves(term).rev().find(|saving| saving.serial == file.serial) else { return false };
    let now = file.instances.iter().map(|(name, record)| (name.clone(), content_revision(record)));
    file.lineage == base.lineage && now.collect::<BTreeMap<_, _>>() == revisions_at(term, base, saving.lines)
}

/// The instances of the state with their revisions, after this number of lines of the run's journals.
fn revisions_at(term: &JournalContents, base: &Base, lines: u64) -> BTreeMap<String, Revision> {
    let mut revisions: BTreeMap<String, Revision> = base.instances.iter().cloned().collect();
    let before = term.chain.lines.saturating_sub(term.events.len() as u64);
    let upto = usize::try_from(lines.saturating_sub(before)).unwrap_or(usize::MAX);
    for (event, _) in term.events.iter().take(upto) {
        let Event::Step(step) = event else { continue };
        for write in step.writes().map(|writes| writes.instances.as_slice()).unwrap_or_default() {
            match &write.record {
                Some(record) => revisions.insert(write.address.clone(), content_revision(record)),
                None => revisions.remove(&write.address),
            };
        }
    }
    revisions
}

/// Whether the content is the state that the term began from, possibly with a different layout. Every change raises the
/// serial, so the serial must be equal.
fn is_same_state(content: &[u8], digest: Digest, base: &Base, seals: &Seals) -> bool {
    if digest == base.digest {
        return true;
    }
    let Ok(opened) = seals.parse(content, Path::new("")) else { return false };
    let file = opened.file;
    let before: BTreeMap<&str, Revision> = base.instances.iter().map(|(name, at)| (name.as_str(), *at)).collect();
    let now = file.instances.iter().map(|(name, record)| (name.as_str(), content_revision(record)));
    (file.serial, &file.lineage) == (base.serial, &base.lineage)
        && base.serial > 0
        && now.collect::<BTreeMap<_, _>>() == before
}

/// Whether the term began without a state and still has none: an empty file, or the empty state that carries the guard.
fn is_skeleton(content: &[u8], base: &Base, seals: &Seals) -> bool {
    let nothing = base.serial == 0 && base.instances.is_empty();
    nothing
        && (content.is_empty()
            || seals.parse(content, Path::new("")).is_ok_and(|opened| {
                let file = opened.file;
                file.is_empty() && file.serial == 0 && file.lineage == base.lineage
            }))
}

/// The instances that differ from those at the start of the term, or from those in the last state that the term saved.
fn differing(content: &[u8], term: Option<&JournalContents>, base: &Base, place: &Path, seals: &Seals) -> Vec<String> {
    let mut now: BTreeMap<String, Revision> = BTreeMap::new();
    if let Ok(opened) = seals.parse(content, place) {
        now =
            opened.file.instances.iter().map(|(address, record)| (address.clone(), content_revision(record))).collect();
    }
    let saved = term.and_then(|term| Some(revisions_at(term, base, saves(term).next_back()?.lines)));
    let before = saved.unwrap_or_else(|| base.instances.iter().cloned().collect());
    let all: BTreeSet<&String> = before.keys().chain(now.keys()).collect();
    let mut names: Vec<String> = all.into_iter().filter(|name| before.get(*name) != now.get(*name)).cloned().collect();
    if names.is_empty() {
        names.push(problems::no_instance_differs());
    }
    names
}

/// Replays a run into the ledger.
fn add_run(loaded: &mut Loaded, folder: &RunFolder, journals: Option<Journals>, replays_state: bool) {
    let id = &folder.id;
    create(&mut loaded.ledger, folder);
    let Some(journals) = journals else {
        if let (Some((status, summary)), Some(run)) = (&folder.summary, loaded.ledger.runs.get_mut(id)) {
            run.status = *status;
            run.counts = summary.counts;
            run.abandoned = summary.abandoned;
            loaded.ledger.epoch = loaded.ledger.epoch.max(summary.epoch);
            loaded.left_behind.extend(Digest::parse(&summary.state));
        }
        loaded.unread.insert(id.clone());
        return;
    };
    let last = journals.terms.len().saturating_sub(1);
    for (position, term) in journals.terms.iter().enumerate() {
        replay(&mut loaded.ledger, id, term, replays_state && position == last);
        let folded = term.events.iter().rev().find_map(|(event, _)| match event {
            Event::Folded(digest) => Some(*digest),
            _ => None,
        });
        loaded.left_behind.extend(folded);
    }
    if let Some(last) = journals.last {
        loaded.ledger.epoch = loaded.ledger.epoch.max(last.epoch);
        loaded.terms.insert(id.clone(), last);
    }
}

fn create(ledger: &mut Ledger, folder: &RunFolder) {
    let run = NewRun {
        id: folder.id.clone(),
        started_unix_ms: folder.header.started_unix_ms,
        operations: folder.header.operations,
        plan: Opaque::default(),
        starts_now: false,
    };
    ledger.create(run, false);
    if let Some(run) = ledger.runs.get_mut(&folder.id) {
        run.plan = folder.plan;
        let past = folder.summary.as_ref().map(|(_, summary)| summary.past.clone());
        run.summarised = past.filter(|past| *past != RunPast::default());
    }
}

fn replay(ledger: &mut Ledger, id: &RunId, term: &JournalContents, state: bool) {
    for (event, _) in &term.events {
        match event {
            Event::Began(began) => {
                if let Some(run) = ledger.runs.get_mut(id) {
                    run.status = RunStatus::Running;
                    run.abandoned = false;
                    run.holder = began.holder.clone();
                }
            }
            Event::Claimed(claims) => ledger.take(id, claims),
            Event::Step(step) => {
                ledger.apply(id, step, state);
            }
            Event::Ended { status, abandoned } => ledger.replay_end(id, *status, *abandoned),
            Event::Image(_) | Event::Folded(_) | Event::Saving(_) => {}
        }
    }
}

/// Reads one run with all results into a separate ledger. Also returns the end of its last journal.
pub(super) fn load_run(
    folders: &RunFolders,
    id: &RunId,
    incarnation: Incarnation,
) -> Result<Option<(Ledger, Option<LastTerm>)>, StoreError> {
    let Some(folder) = folders.list()?.into_iter().find(|folder| folder.id == *id) else { return Ok(None) };
    let journals = read_journals(&folder)?;
    let mut ledger = Ledger::new(RevisionRule::Content, true, incarnation);
    create(&mut ledger, &folder);
    for term in &journals.terms {
        replay(&mut ledger, id, term, false);
    }
    Ok(Some((ledger, journals.last)))
}

/// The journal of a run as lines.
pub(super) fn lines(folders: &RunFolders, id: &RunId) -> Result<(Vec<JournalLine>, Chain), StoreError> {
    let folder = folders.list()?.into_iter().find(|folder| folder.id == *id);
    let folder = folder.ok_or_else(|| StoreError::NoRun(id.clone()))?;
    let journals = read_journals(&folder)?;
    let events = journals.terms.iter().flat_map(|term| &term.events);
    let lines = events.zip(0..).map(|((event, hash), number)| event.line(number, *hash)).collect();
    Ok((lines, journals.last.map(|last| last.chain).unwrap_or_default()))
}

/// Whether a run still guards the file against OpenTofu: a run that can continue, or one with operations in doubt.
pub(super) fn guards(ledger: &Ledger) -> bool {
    ledger.runs.values().any(|run| {
        let touched = run.claimed || run.ops.values().any(|op| op.record.status != OpStatus::Pending);
        !run.status.is_final() && touched
    })
}

/// The instances as a run last wrote them, as far as its journals can be read. Destroyed instances are absent.
pub(super) fn written(folder: &RunFolder) -> Result<StateFile, StoreError> {
    let mut file = StateFile::create();
    let mut chain = Chain::default();
    for epoch in folder.files.epochs(&folder.id)? {
        let content = folder.files.read_journal(&folder.id, epoch)?;
        let found = read_sound(&content, chain, &folder.seals.journal(&folder.id, epoch));
        chain = found.chain;
        if let Some(base) = base(&found) {
            file.lineage.clone_from(&base.lineage);
        }
        for (event, _) in found.events {
            let Event::Step(step) = event else { continue };
            for write in step.writes().map(|writes| writes.instances.clone()).unwrap_or_default() {
                match write.record {
                    Some(record) => file.instances.insert(write.address, record),
                    None => file.instances.remove(&write.address),
                };
            }
        }
    }
    Ok(file)
}

/// Every object that a run had an intent or a result for, as far as its journals can be read.
pub(super) fn touched(folder: &RunFolder) -> Result<Vec<String>, StoreError> {
    let mut names = BTreeSet::new();
    let mut chain = Chain::default();
    for epoch in folder.files.epochs(&folder.id)? {
        let content = folder.files.read_journal(&folder.id, epoch)?;
        let found = read_sound(&content, chain, &folder.seals.journal(&folder.id, epoch));
        chain = found.chain;
        for (event, _) in &found.events {
            let Event::Step(step) = event else { continue };
            if let StoreStep::Intent(intent) = step {
                names.insert(intent.target.to_string());
            }
            let instances = step.writes().map(|writes| writes.instances.as_slice()).unwrap_or_default();
            names.extend(instances.iter().map(|write| write.address.clone()));
        }
    }
    Ok(names.into_iter().collect())
}
