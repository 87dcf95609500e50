//! The client of [`crate::server`]: it sends the requests of `weft` commands to a coordinator, and connects workers to
//! coordinators.

use std::collections::BTreeMap;

use futures::{FutureExt, StreamExt};
use prost::Message;
use tokio::sync::mpsc;
use tokio::time::timeout;
use tokio_stream::wrappers::ReceiverStream;
use tonic::{Code, Status, Streaming};
use weft_graph_format::diagnostic::Diagnostic;
use weft_proto::cluster as proto;
use weft_state::{ChangeTotals, Opaque};

pub use crate::dial::ClientError;
use crate::dial::{CONNECT_TIMEOUT, Dialer, NoResponse, TokenChannel};
use crate::doubts::KnownDoubt;
use crate::event::{Cancel, Decision};
use crate::fleet::WorkerListing;
use crate::listing::{OperationCounts, OperationListing, RunDetails, RunListing, rfc3339};
use crate::operation_event::OperationEvent;
use crate::process::is_dead;
use crate::service::{Resumption, Submission};
use crate::timing::{CHANNEL_FRAMES, FRAME_BYTES};
use crate::transport::{WorkerEnd, pair};
use crate::wire::{LOST_REASON, Trouble};
use weft_protocol::diagnostics::decode_diagnostics;
use weft_protocol::{Candidate, EncodedFrame, OutputLine};

/// A connection to a coordinator.
#[derive(Clone, Debug)]
pub struct Client {
    runs: proto::runs_client::RunsClient<TokenChannel>,
    address: String,
    trouble: Trouble,
}

/// An event of a watched run.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum WatchEvent {
    /// The current state of the run.
    Summary(RunListing),
    /// An event of an operation.
    Operation(OperationEvent),
    /// A line that a provisioner wrote.
    Line(OutputLine),
    /// A notice.
    Notice(String),
    /// The run's term ended.
    End(WatchEnd),
}

/// The end of a watched term.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct WatchEnd {
    /// The summary of the run at its end.
    pub run: Option<RunListing>,
    /// Addresses of operations in doubt.
    pub in_doubt: Vec<String>,
    /// Addresses of unfinished operations.
    pub unfinished: Vec<String>,
    /// Addresses with objects of superseded attempts.
    pub strays: Vec<String>,
    /// Whether the term ended before everything was done.
    pub stopped: bool,
    /// Diagnostics of the store, if its failure ended the run.
    pub diagnostics: Vec<Diagnostic>,
    /// Whether the store has lost the run, so that it cannot be resumed.
    pub lost: bool,
}

impl WatchEnd {
    /// The exit code of `apply` and `resume`: 3 with operations in doubt, even after errors. Otherwise 1 after errors
    /// or an early end, and 0 when everything is done.
    pub fn exit_code(&self) -> u8 {
        let counts = self.run.as_ref().map(|run| run.counts).unwrap_or_default();
        let failed = counts.failed > 0 || counts.skipped > 0 || self.stopped || self.run.is_none();
        match (counts.in_doubt > 0 || !self.in_doubt.is_empty(), failed || !self.strays.is_empty()) {
            (true, _) => 3,
            (false, true) => 1,
            (false, false) => 0,
        }
    }
}

/// Events of a watched run.
#[derive(Debug)]
pub struct EventStream {
    stream: Streaming<proto::RunEvent>,
    address: String,
    trouble: Trouble,
    /// The end or error that followed the last batch. The next call of `batch` returns this end or error.
    after: Option<Result<Option<WatchEvent>, ClientError>>,
}

/// The maximum number of events in a batch.
const BATCH: usize = 256;

impl EventStream {
    /// Waits for an event, and returns it with events that have already arrived, up to the size of a batch. The list is
    /// empty after the end of the stream.
    ///
    /// # Errors
    /// Returns an error if the connection breaks, or if an event cannot be decoded. The run continues without a
    /// watcher.
    pub async fn batch(&mut self) -> Result<Vec<WatchEvent>, ClientError> {
        let first = match self.after.take() {
            Some(left) => left?,
            None => self.next().await?,
        };
        let mut events: Vec<WatchEvent> = first.into_iter().collect();
        while !events.is_empty() && events.len() < BATCH {
            match self.next().now_or_never() {
                Some(Ok(Some(event))) => events.push(event),
                Some(end) => {
                    self.after = Some(end);
                    break;
                }
                None => break,
            }
        }
        Ok(events)
    }

    /// The next event. `None` after the end.
    ///
    /// # Errors
    /// Returns an error if the connection breaks. The run continues without a watcher.
    pub async fn next(&mut self) -> Result<Option<WatchEvent>, ClientError> {
        use proto::run_event::Event;
        loop {
            let received =
                self.stream.message().await.map_err(|status| refused(&self.address, &self.trouble, status))?;
            let Some(event) = received else { return Ok(None) };
            return Ok(Some(match event.event {
                Some(Event::Summary(summary)) => WatchEvent::Summary(listing(summary)),
                Some(Event::Operation(event)) => match OperationEvent::from_wire(event) {
                    Ok(Some(progress)) => WatchEvent::Operation(progress),
                    Ok(None) => continue,
                    Err(error) => return Err(ClientError::Malformed { address: self.address.clone(), error }),
                },
                Some(Event::Line(line)) => WatchEvent::Line(OutputLine::from_wire(line)),
                Some(Event::Notice(text)) => WatchEvent::Notice(text),
                Some(Event::End(end)) => WatchEvent::End(WatchEnd {
                    run: end.summary.map(listing),
                    in_doubt: end.in_doubt,
                    unfinished: end.unfinished,
                    strays: end.strays,
                    stopped: end.stopped,
                    diagnostics: decode_diagnostics(&Opaque(end.diagnostics)),
                    lost: end.reason == LOST_REASON,
                }),
                // An event that a later version added.
                None => continue,
            }));
        }
    }
}

/// The addresses of a list, in its order.
pub fn each_address(addresses: &str) -> impl Iterator<Item = &str> {
    addresses.split(',').map(str::trim).filter(|address| !address.is_empty())
}

/// Turns the status of a refused or broken request into an error.
fn refused(address: &str, trouble: &Trouble, status: Status) -> ClientError {
    if let Some(failure) = trouble.get() {
        return ClientError::Tls { address: address.to_owned(), failure: failure.clone() };
    }
    if status.code() == Code::Unavailable && status.message().is_empty() {
        return ClientError::Unreachable { address: address.to_owned(), cause: NoResponse::Broke };
    }
    match status.code() {
        Code::PermissionDenied | Code::Unauthenticated => {
            ClientError::NotAllowed { address: address.to_owned(), reason: status.message().to_owned() }
        }
        _ => ClientError::Refused { message: status.message().to_owned(), diagnostics: Vec::new() },
    }
}

fn refusal_error(refusal: proto::Refusal) -> ClientError {
    let diagnostics = decode_diagnostics(&Opaque(refusal.diagnostics));
    ClientError::Refused { message: refusal.message, diagnostics }
}

impl Client {
    /// Tries the coordinators of a list in order, and connects to the first one that answers.
    ///
    /// # Errors
    /// Returns an error if an address is invalid, or no coordinator answers.
    pub async fn connect(dialer: &Dialer, addresses: &str) -> Result<Client, ClientError> {
        let mut last = None;
        for address in each_address(addresses) {
            match Client::connect_one(dialer, address).await {
                Ok(client) => return Ok(client),
                Err(error) => last = Some(error),
            }
        }
        Err(last.unwrap_or_else(|| ClientError::Address(addresses.to_owned())))
    }

    async fn connect_one(dialer: &Dialer, address: &str) -> Result<Client, ClientError> {
        let (line, trouble) = dialer.connect(address).await?;
        let runs = proto::runs_client::RunsClient::new(line)
            .max_decoding_message_size(FRAME_BYTES)
            .max_encoding_message_size(FRAME_BYTES);
        Ok(Client { runs, address: address.to_owned(), trouble })
    }

    fn refused(&self, status: Status) -> ClientError {
        refused(&self.address, &self.trouble, status)
    }

    /// The address of the coordinator.
    pub fn address(&self) -> &str {
        &self.address
    }

    /// Submits a plan and returns the id of its run.
    ///
    /// # Errors
    /// Returns an error if the coordinator does not respond or refuses the plan, for example because the plan is
    /// invalid or stale, or because another run has claims on the same instances.
    pub async fn submit(&mut self, submission: Submission) -> Result<String, ClientError> {
        let request = proto::SubmitRunRequest {
            plan: submission.plan,
            inputs: submission.inputs.into_iter().collect(),
            parallelism: submission.parallelism.unwrap_or_default(),
            detach: submission.detach,
            sealed: submission.sealed,
            sealed_plan: submission.sealed_plan,
            signature: submission.signature,
            ..Default::default()
        };
        let response = self.runs.submit_run(request).await;
        let response = response.map_err(|status| self.refused(status))?.into_inner();
        match response.refusal {
            None => Ok(response.run),
            Some(refusal) => Err(refusal_error(refusal)),
        }
    }

    /// Watches a run from now on. If `run` is `None`, watches the newest run.
    ///
    /// # Errors
    /// Returns an error if there is no such run, or if the coordinator or its store does not respond.
    pub async fn watch(&mut self, run: Option<&str>) -> Result<EventStream, ClientError> {
        let request = proto::WatchRunRequest { run: run.unwrap_or_default().to_owned() };
        let response = self.runs.watch_run(request).await.map_err(|status| self.refused(status))?;
        let (address, trouble) = (self.address.clone(), Trouble::clone(&self.trouble));
        Ok(EventStream { stream: response.into_inner(), address, trouble, after: None })
    }

    /// All runs, newest first.
    ///
    /// # Errors
    /// Returns an error if the coordinator or its store does not respond.
    pub async fn list(&mut self) -> Result<Vec<RunListing>, ClientError> {
        let response = self.runs.list_runs(proto::ListRunsRequest {}).await;
        let runs = response.map_err(|status| self.refused(status))?.into_inner().runs;
        Ok(runs.into_iter().map(listing).collect())
    }

    /// One run with its operations. If `run` is `None`, the newest run.
    ///
    /// # Errors
    /// Returns an error if there is no such run, or if the coordinator or its store does not respond.
    pub async fn show(&mut self, run: Option<&str>) -> Result<RunDetails, ClientError> {
        let request = proto::ShowRunRequest { run: run.unwrap_or_default().to_owned() };
        let response = self.runs.show_run(request).await.map_err(|status| self.refused(status))?.into_inner();
        let operations = response.operations.into_iter().map(|operation| OperationListing {
            address: operation.address,
            action: operation.action.as_str().into(),
            status: operation.status,
            provider_instance: operation.provider_instance,
            worker: operation.worker,
            attempt: operation.attempt,
            deposed: (!operation.deposed.is_empty()).then_some(operation.deposed),
            absence_unproven: operation.absence_unproven,
            object_kept: operation.object_kept,
            waits_for: operation.waits_for,
            intended: operation.intended,
            operation: operation.operation,
            diagnostics: Opaque(operation.diagnostics),
        });
        let operations = operations.collect();
        Ok(RunDetails { run: listing(response.summary.unwrap_or_default()), operations })
    }

    /// The id and the plan file of a run. If `run` is `None`, selects the newest unfinished run, and returns `None` if
    /// no run is unfinished.
    ///
    /// # Errors
    /// Returns an error if the named run does not exist, or if the coordinator or its store does not respond.
    pub async fn plan(&mut self, run: Option<&str>) -> Result<Option<(String, Vec<u8>)>, ClientError> {
        let request = proto::ReadPlanRequest { run: run.unwrap_or_default().to_owned() };
        let response = self.runs.read_plan(request).await.map_err(|status| self.refused(status))?;
        let response = response.into_inner();
        Ok((!response.run.is_empty()).then_some((response.run, response.plan)))
    }

    /// Resumes a run. If `run` is `None`, resumes the newest unfinished run. Returns `None` if nothing can be resumed.
    ///
    /// # Errors
    /// Returns an error if the run cannot be resumed, or if the coordinator does not respond.
    pub async fn resume(&mut self, run: Option<&str>, how: Resumption) -> Result<Option<String>, ClientError> {
        let request = proto::ResumeRunRequest {
            run: run.unwrap_or_default().to_owned(),
            inputs: how.inputs.into_iter().collect(),
            parallelism: how.parallelism.unwrap_or_default(),
        };
        let response = self.runs.resume_run(request).await.map_err(|status| self.refused(status))?;
        let response = response.into_inner();
        match response.refusal {
            None => Ok(Some(response.run).filter(|run| !run.is_empty())),
            Some(refusal) => Err(refusal_error(refusal)),
        }
    }

    /// Resolves an operation in doubt. Returns the new status as text and, if the operation is still in doubt, the
    /// reason.
    ///
    /// # Errors
    /// Returns an error if the coordinator refuses the decision, for example because nothing at the address is in
    /// doubt, or if it does not respond.
    pub async fn resolve(
        &mut self,
        run: &str,
        address: &str,
        decision: Decision,
    ) -> Result<(String, String), ClientError> {
        use proto::resolve_doubt_request::Decision as D;
        let decision = match decision {
            Decision::Adopt(id) => D::Adopt(id),
            Decision::Absent => D::Absent(true),
            Decision::Retry => D::Retry(true),
            Decision::Forget => D::Forget(true),
        };
        let (run, address) = (run.to_owned(), address.to_owned());
        let request = proto::ResolveDoubtRequest { run, address, decision: Some(decision) };
        let response = self.runs.resolve_doubt(request).await.map_err(|status| self.refused(status))?;
        let response = response.into_inner();
        Ok((response.status, response.reason))
    }

    /// Looks for evidence about the operations in doubt of a run. Returns what is known about the remaining doubts, by
    /// the numbers of their operations. The result is empty if the coordinator is too old to support this request.
    ///
    /// # Errors
    /// Returns an error if there is no such run, or if the coordinator or its store does not respond.
    pub async fn look_up(&mut self, run: &str) -> Result<BTreeMap<u32, KnownDoubt>, ClientError> {
        let request = proto::LookUpDoubtsRequest { run: run.to_owned() };
        let response = match self.runs.look_up_doubts(request).await {
            Ok(response) => response.into_inner(),
            Err(status) if status.code() == Code::Unimplemented => return Ok(BTreeMap::new()),
            Err(status) => return Err(self.refused(status)),
        };
        let known = response.doubts.into_iter().map(|doubt| {
            let reason = doubt.reason;
            let candidate = doubt.candidate.map(|found| Box::new(Candidate::from_wire(found, reason.clone())));
            (doubt.operation, KnownDoubt { reason, candidate })
        });
        Ok(known.collect())
    }

    /// The workers that are connected to the coordinator, by name.
    ///
    /// # Errors
    /// Returns an error if the coordinator does not respond.
    pub async fn workers(&mut self) -> Result<Vec<WorkerListing>, ClientError> {
        let response = self.runs.list_workers(proto::ListWorkersRequest {}).await;
        let workers = response.map_err(|status| self.refused(status))?.into_inner().workers;
        let listing = |worker: proto::WorkerView| WorkerListing {
            name: worker.name,
            labels: worker.labels.into_iter().collect(),
            version: worker.version,
            status: worker.status,
            tasks: worker.tasks,
            capacity: worker.capacity,
            identity: worker.identity,
        };
        Ok(workers.into_iter().map(listing).collect())
    }

    /// Drains a worker, or lets it take work again if `drained` is `false`. Returns whether a worker of this name is
    /// connected.
    ///
    /// # Errors
    /// Returns an error if the coordinator does not respond.
    pub async fn drain(&mut self, name: &str, drained: bool) -> Result<bool, ClientError> {
        let request = proto::DrainWorkerRequest { name: name.to_owned(), undrain: !drained };
        let response = self.runs.drain_worker(request).await.map_err(|status| self.refused(status))?;
        Ok(response.into_inner().found)
    }

    /// Ends a run early.
    ///
    /// # Errors
    /// Returns an error if the coordinator does not respond.
    pub async fn cancel(&mut self, run: &str, how: Cancel) -> Result<(), ClientError> {
        let (now, stop) = (how == Cancel::Leave, how == Cancel::Stop);
        let request = proto::CancelRunRequest { run: run.to_owned(), now, stop };
        self.runs.cancel_run(request).await.map_err(|status| self.refused(status))?;
        Ok(())
    }
}

/// Opens a worker's stream. Both ends close when the connection breaks. The worker then calls this function again and
/// sends a new greeting.
///
/// If an order to settle names a process that ran on this machine, this function adds to the order whether the process
/// is dead.
///
/// The worker of an `apply` that watches its run has the label `home` with the run's id, so that it receives the home
/// operations.
///
/// # Errors
/// Returns an error if the coordinator does not respond.
pub async fn connect_worker(dialer: &Dialer, address: &str) -> Result<WorkerEnd, ClientError> {
    let (line, trouble) = dialer.connect(address).await?;
    let mut workers = proto::workers_client::WorkersClient::new(line)
        .max_decoding_message_size(FRAME_BYTES)
        .max_encoding_message_size(FRAME_BYTES);
    let (ours, theirs) = pair();
    let (frames, outgoing) = mpsc::channel::<proto::WorkerFrame>(CHANNEL_FRAMES);
    let opening = timeout(CONNECT_TIMEOUT, workers.work(ReceiverStream::new(outgoing))).await;
    let response = opening.map_err(|_| ClientError::Unreachable {
        address: address.to_owned(),
        cause: NoResponse::Silent { seconds: CONNECT_TIMEOUT.as_secs() },
    })?;
    let mut stream = response.map_err(|status| refused(address, &trouble, status))?.into_inner();
    let (to_worker, mut from_worker) = (ours.to_worker, ours.from_worker);
    let sending = tokio::spawn(async move {
        while let Some(bytes) = from_worker.recv().await {
            let Ok(frame) = proto::WorkerFrame::decode(bytes.as_slice()) else { return };
            if frames.send(frame).await.is_err() {
                return;
            }
        }
    });
    tokio::spawn(async move {
        while let Some(Ok(mut frame)) = stream.next().await {
            look_for_the_dead(&mut frame);
            let bytes: EncodedFrame = frame.encode_to_vec();
            if to_worker.send(bytes).await.is_err() {
                break;
            }
        }
        sending.abort();
    });
    Ok(theirs)
}

fn look_for_the_dead(frame: &mut proto::CoordinatorFrame) {
    let orders = frame.orders.iter_mut().flat_map(|orders| &mut orders.orders);
    for order in orders {
        if let Some(proto::order::Order::Settle(settle)) = &mut order.order {
            settle.holder_dead |= is_dead(&weft_state::WorkerId(settle.holder.clone()));
        }
    }
}

fn listing(summary: proto::RunSummary) -> RunListing {
    let counts = summary.counts.unwrap_or_default();
    let ended = (summary.ended_unix_ms > 0).then_some(summary.ended_unix_ms);
    RunListing {
        id: summary.run,
        status: summary.status,
        plan: summary.plan,
        started: rfc3339(summary.started_unix_ms),
        counts: OperationCounts {
            pending: counts.pending,
            running: counts.running,
            done: counts.done,
            failed: counts.failed,
            skipped: counts.skipped,
            in_doubt: counts.in_doubt,
        },
        user: summary.user,
        host: summary.host,
        ended: ended.map(rfc3339).unwrap_or_default(),
        changes: summary.changes.map(|changes| {
            let proto::Changes { added, changed, destroyed } = changes;
            ChangeTotals { added, changed, destroyed }
        }),
        ended_unix_ms: ended,
        holder: summary.holder,
        started_unix_ms: summary.started_unix_ms,
    }
}
