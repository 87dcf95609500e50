//! The thread that writes the journal of a term. All lines that arrive while the thread writes a group become the next
//! group. Each group needs one fsync, or one request to a service.

use std::sync::{Arc, Condvar, Mutex, MutexGuard, PoisonError};
use std::thread::JoinHandle;
use std::time::{Duration, Instant};

use tokio::sync::oneshot;

use super::journal::{Chain, Group, MAX_GROUP};
use super::medium::JournalSink;
use super::problems;
use super::sealed::JournalSeal;
use crate::error::StoreError;
use crate::event::Event;

/// The disk space that the journal reserves for the result of each open intent. If the disk is full, new calls are
/// refused, but the results of earlier calls can still be recorded. This size suffices for a large cloud object with
/// its private data, and for the result that other operations need.
const RESULT_ROOM: u64 = 64 * 1024;

/// The journal reserves disk space up to a multiple of this size. The size is large enough that most batches need no
/// system call, and small compared with any disk. If the disk has less free space, smaller amounts are tried.
const ROOM_STEP: u64 = 16 * 1024 * 1024;

/// A journal counts as busy if a group has at least this number of lines.
const BUSY: usize = 8;
/// If each append is a request to a service, a busy journal pauses before its next write. The pause is the duration of
/// the last write, divided by this number.
const RESTS: u32 = 2;
/// If each append is a request to a service, the journal waits before each write, so that steps gather. The wait is the
/// duration of the last write, divided by this number. So results that arrive together, and the intents that follow
/// these results, need only one request.
const GATHERS: u32 = 8;
/// The maximum time for which lines gather before they are written.
const LONGEST_GATHERING: Duration = Duration::from_millis(100);

/// The lines that wait to be written.
#[derive(Default)]
struct Queue {
    chain: Chain,
    group: Group,
    /// The number of lines in the group.
    lines: usize,
    /// Whether the group has steps of operations.
    has_steps: bool,
    waiters: Vec<oneshot::Sender<Result<(), StoreError>>>,
    /// The offset after the last durable frame.
    written: u64,
    reserved: u64,
    closed: Option<StoreError>,
    stopping: bool,
}

struct Shared {
    queue: Mutex<Queue>,
    changed: Condvar,
    sink: Box<dyn JournalSink>,
    seal: JournalSeal,
}

/// The writer of one term's journal.
pub(super) struct Writer {
    shared: Arc<Shared>,
    thread: Option<JoinHandle<()>>,
}

/// A future that completes when a group is durable.
pub(super) struct Durable(oneshot::Receiver<Result<(), StoreError>>);

impl Durable {
    /// Waits until the group is durable.
    pub(super) async fn wait(self) -> Result<(), StoreError> {
        Durable::answer(self.0.await.ok())
    }

    /// Blocks until the group is durable, for a thread that may block.
    pub(super) fn wait_blocking(self) -> Result<(), StoreError> {
        Durable::answer(futures::executor::block_on(self.0).ok())
    }

    fn answer(answer: Option<Result<(), StoreError>>) -> Result<(), StoreError> {
        answer.unwrap_or_else(|| Err(problems::writer_gone()))
    }
}

impl Writer {
    /// Continues a journal that has `written` valid bytes. The chain of its lines ends with `chain`.
    pub(super) fn start(
        sink: Box<dyn JournalSink>,
        seal: JournalSeal,
        written: u64,
        chain: Chain,
    ) -> Result<Writer, StoreError> {
        let queue = Queue { chain, written, ..Queue::default() };
        let (queue, changed) = (Mutex::new(queue), Condvar::new());
        let shared = Arc::new(Shared { queue, changed, sink, seal });
        let of_thread = Arc::clone(&shared);
        let thread = std::thread::Builder::new().name("weft-journal".to_owned()).spawn(move || run(&of_thread));
        let thread = thread.map_err(problems::starting_journal)?;
        Ok(Writer { shared, thread: Some(thread) })
    }

    fn queue(&self) -> MutexGuard<'_, Queue> {
        self.shared.queue.lock().unwrap_or_else(PoisonError::into_inner)
    }

    /// Whether each append is a request, see [`JournalSink::gathers`].
    pub(super) fn gathers(&self) -> bool {
        self.shared.sink.gathers()
    }

    /// Checks that the journal still accepts lines.
    ///
    /// # Errors
    /// Returns the error that closed the journal.
    pub(super) fn check(&self) -> Result<(), StoreError> {
        match &self.queue().closed {
            Some(error) => Err(error.clone()),
            None => Ok(()),
        }
    }

    /// Reserves room for the results of this number of open intents, and more room if the disk has it.
    ///
    /// # Errors
    /// [`StoreError::Io`] if the disk is too full for these results. In that case, nothing was written, and the journal
    /// can continue.
    pub(super) fn reserve(&self, open_intents: u64) -> Result<(), StoreError> {
        let mut queue = self.queue();
        let needed = queue.written + queue.group.len() as u64 + open_intents.saturating_mul(RESULT_ROOM);
        if needed <= queue.reserved {
            return Ok(());
        }
        queue.reserved = reserve_most(self.shared.sink.as_ref(), queue.written, needed)?;
        Ok(())
    }

    /// Adds lines to the next group. Concurrent calls add their lines in the order of the calls. Without lines, the
    /// result waits for the pending groups.
    pub(super) fn append(&self, events: &[Event]) -> Durable {
        let (sender, receiver) = oneshot::channel();
        let mut queue = self.queue();
        let queue = &mut *queue;
        if let Some(error) = &queue.closed {
            let _ = sender.send(Err(error.clone()));
            return Durable(receiver);
        }
        for event in events {
            queue.group.push(&mut queue.chain, event);
        }
        queue.lines += events.len();
        queue.has_steps |= events.iter().any(|event| matches!(event, Event::Step(_)));
        queue.waiters.push(sender);
        self.shared.changed.notify_one();
        Durable(receiver)
    }

    /// Writes the remaining lines and frees the reserved room. Returns the length of the journal.
    pub(super) fn finish(self) -> u64 {
        let shared = Arc::clone(&self.shared);
        drop(self);
        shared.queue.lock().unwrap_or_else(PoisonError::into_inner).written
    }

    /// The chain after all added lines.
    pub(super) fn chain(&self) -> Chain {
        self.queue().chain
    }
}

impl Drop for Writer {
    fn drop(&mut self) {
        self.queue().stopping = true;
        self.shared.changed.notify_one();
        if let Some(thread) = self.thread.take() {
            // The thread does not panic. If it did, the journal would merely end at that point.
            let _ = thread.join();
        }
        let queue = self.queue();
        if queue.closed.is_none() && queue.reserved > queue.written {
            // Frees the reserved room after the end.
            self.shared.sink.close(queue.written);
        }
    }
}

/// Reserves room up to the first multiple of [`ROOM_STEP`] that is at least `needed`. If the disk has less room,
/// reserves less, but at least up to `needed`. Returns the end of the reserved room.
///
/// # Errors
/// Returns an error if there is no room up to `needed`.
fn reserve_most(sink: &dyn JournalSink, written: u64, needed: u64) -> Result<u64, StoreError> {
    let mut spare = needed.next_multiple_of(ROOM_STEP) - needed;
    loop {
        match sink.reserve(written, needed + spare) {
            Ok(()) => return Ok(needed + spare),
            Err(error) if spare == 0 => return Err(error),
            // Room for less than one result is not worth another attempt.
            Err(_) => spare = if spare / 2 < RESULT_ROOM { 0 } else { spare / 2 },
        }
    }
}

/// The thread: runs until it is stopped and nothing is left to write.
fn run(shared: &Shared) {
    let mut gathered_until: Option<Instant> = None;
    let mut last_write = Duration::ZERO;
    loop {
        let (group, lines, waiters, offset) = {
            let mut queue = shared.queue.lock().unwrap_or_else(PoisonError::into_inner);
            while queue.waiters.is_empty() && !queue.stopping {
                queue = shared.changed.wait(queue).unwrap_or_else(PoisonError::into_inner);
            }
            if queue.waiters.is_empty() {
                return;
            }
            let rest = gathered_until.take().and_then(|until| until.checked_duration_since(Instant::now()));
            let rest = rest.or_else(|| queue.has_steps.then(|| last_write / GATHERS));
            if let Some(rest) = rest.filter(|_| !queue.stopping && shared.sink.gathers()) {
                drop(queue);
                std::thread::sleep(rest);
                queue = shared.queue.lock().unwrap_or_else(PoisonError::into_inner);
            }
            queue.has_steps = false;
            let (group, waiters) = (std::mem::take(&mut queue.group), std::mem::take(&mut queue.waiters));
            (group, std::mem::take(&mut queue.lines), waiters, queue.written)
        };
        let start = Instant::now();
        let answer = write_group(shared, &group, offset);
        last_write = start.elapsed().min(LONGEST_GATHERING);
        if lines >= BUSY {
            // A busy journal pauses briefly, so that it needs fewer groups.
            gathered_until = Some(Instant::now() + last_write / RESTS);
        }
        {
            let mut queue = shared.queue.lock().unwrap_or_else(PoisonError::into_inner);
            match &answer {
                Ok(length) => queue.written += length,
                Err(error) => queue.closed = Some(error.clone()),
            }
        }
        let answer = answer.map(|_| ());
        for waiter in waiters {
            let _ = waiter.send(answer.clone());
        }
        if let Err(error) = answer {
            refuse_rest(shared, &error);
            return;
        }
    }
}

/// Answers the callers whose lines arrived while the journal failed.
fn refuse_rest(shared: &Shared, error: &StoreError) {
    let mut queue = shared.queue.lock().unwrap_or_else(PoisonError::into_inner);
    for waiter in std::mem::take(&mut queue.waiters) {
        let _ = waiter.send(Err(error.clone()));
    }
}

/// Appends the frame of a group. Returns its length.
fn write_group(shared: &Shared, group: &Group, offset: u64) -> Result<u64, StoreError> {
    let path = shared.sink.path();
    if group.len() > MAX_GROUP {
        return Err(problems::group_too_large(path, group.len()));
    }
    if group.is_empty() {
        return Ok(0);
    }
    let frame = group.frame(&shared.seal).map_err(|error| problems::write_failed(path, &error))?;
    shared.sink.append(offset, &frame)?;
    Ok(frame.len() as u64)
}

#[cfg(test)]
mod tests {
    use std::path::Path;
    use std::sync::atomic::{AtomicU64, Ordering};

    use weft_sealing::Sealing;

    use super::super::sealed::Seals;
    use super::*;
    use crate::run::RunId;

    /// A test journal on a disk that has room up to a given offset.
    #[derive(Clone, Default)]
    struct Disk(Arc<[AtomicU64; 2]>);

    impl Disk {
        fn with_room(&self, end: u64) -> &Disk {
            self.0[0].store(end, Ordering::SeqCst);
            self
        }

        /// The number of attempts to reserve room since the last call.
        fn attempts(&self) -> u64 {
            self.0[1].swap(0, Ordering::SeqCst)
        }
    }

    impl JournalSink for Disk {
        fn path(&self) -> &Path {
            Path::new("journal")
        }

        fn append(&self, _offset: u64, _frame: &[u8]) -> Result<(), StoreError> {
            Ok(())
        }

        fn reserve(&self, _from: u64, upto: u64) -> Result<(), StoreError> {
            self.0[1].fetch_add(1, Ordering::SeqCst);
            if upto <= self.0[0].load(Ordering::SeqCst) {
                return Ok(());
            }
            Err(problems::reserving_room(self.path())(std::io::ErrorKind::StorageFull.into()))
        }

        fn close(&self, _end: u64) {}
    }

    #[test]
    fn a_nearly_full_disk_gives_what_it_has() {
        let disk = Disk::default();
        let needed = 3 * RESULT_ROOM;
        for (room, want) in [
            (u64::MAX, Some(ROOM_STEP)),
            (ROOM_STEP, Some(ROOM_STEP)),
            // Half of a step fits on the disk, but not a whole step.
            (ROOM_STEP - 1, Some(needed + (ROOM_STEP - needed) / 2)),
            (needed + RESULT_ROOM, Some(needed)),
            (needed, Some(needed)),
            (needed - 1, None),
            (0, None),
        ] {
            let found = reserve_most(disk.with_room(room), 0, needed);
            assert_eq!(found.ok(), want, "{room}");
            assert!(disk.attempts() <= 9);
        }
    }

    #[test]
    fn intents_go_on_until_their_results_have_no_room() {
        let disk = Disk::default();
        let seals = Seals::new(Arc::new(Sealing::default()));
        let seal = seals.journal(&RunId::parse("run").unwrap(), 1);
        disk.with_room(4 * RESULT_ROOM);
        let writer = Writer::start(Box::new(disk.clone()), seal, 0, Chain::default()).unwrap();
        for open in 1..=4 {
            writer.reserve(open).unwrap();
        }
        let error = writer.reserve(5).unwrap_err().to_string();
        assert!(error.contains("reserving disk space for journal"), "{error}");
        // Results can still be written. Intents are accepted again once there is room.
        writer.check().unwrap();
        writer.append(&[]).wait_blocking().unwrap();
        disk.with_room(8 * RESULT_ROOM);
        writer.reserve(5).unwrap();
    }
}
