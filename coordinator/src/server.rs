//! A coordinator that listens: `weft.cluster.v1` over HTTP/2, on a Unix socket or on the network with TLS.

mod problems;

use std::fs::Permissions;
use std::os::unix::fs::{FileTypeExt, PermissionsExt};
use std::path::Path;
use std::pin::Pin;
use std::sync::Arc;

use futures::{Stream, StreamExt};
use tokio::net::{TcpListener, UnixListener, UnixStream};
use tokio::sync::{broadcast, mpsc};
use tokio_stream::wrappers::ReceiverStream;
use tonic::transport::Server as Tonic;
use tonic::{Code, Request, Response, Status, Streaming};
use weft_graph_format::address::NamedObject;
use weft_proto::cluster as proto;
use weft_protocol::{CoordinatorFrame, FrameError, WorkerFrame};
use weft_state::{ChangeTotals, RunId, StoreError};

use crate::dial::Address;
use crate::door::{Guard, Inherited, Listening, SocketFile, connections};
use crate::doubts::KnownDoubt;
use crate::driver::{RunEvent, RunOutcome};
use crate::event::{Cancel, Decision, FinishReason};
use crate::fleet::WorkerListing;
use crate::gate::{Admitted, GateLayer};
use crate::hub::Link;
use crate::listing::{OperationCounts, RunDetails, RunListing};
use crate::problems::{defect, store_failed};
use crate::service::{Resumption, Service, Submission};
use crate::term::{RunError, other_state};
use crate::timing::{CHANNEL_FRAMES, FRAME_BYTES, KEEP_ALIVE, KEEP_ALIVE_WAIT};
use crate::wire::LOST_REASON;
use weft_protocol::diagnostics::encode_diagnostics;

/// The maximum length of a status message. The message is sent percent-encoded in the headers, and HTTP/2 peers accept
/// 16 KiB of headers.
const STATUS_BYTES: usize = 4096;

/// The maximum length of the path of a Unix socket. (`sun_path` in unix(7) has 108 bytes, including the terminating
/// zero.)
const SOCKET_PATH: usize = 107;

/// The permissions of a Unix socket: only its owner has access.
const SOCKET_MODE: u32 = 0o600;

/// Why a coordinator cannot listen.
#[derive(Debug, thiserror::Error)]
pub enum ListenError {
    /// The address is on the network, but there is no TLS. Traffic on the network must be encrypted, and callers must
    /// be authenticated.
    #[error(
        "on a network address a coordinator needs TLS: make certificates with `weft certs init` and `weft certs issue`, \
         and name them with -tls-ca, -tls-cert and -tls-key. On one machine, listen on a Unix socket: -listen unix:PATH"
    )]
    NeedsTls,
    /// The path of a Unix socket is too long for the operating system.
    #[error(
        "the path {0} is too long for a Unix socket: the maximum is {SOCKET_PATH} bytes. Give a shorter path with \
         -listen"
    )]
    PathTooLong(String),
    /// Another process listens on the address.
    #[error("another process listens on {0}: stop that process, or give another address with -listen")]
    InUse(String),
    /// The operating system refuses the address.
    #[error("cannot listen on {address}: {error}")]
    Refused {
        /// The address.
        address: String,
        /// The reason of the operating system.
        error: std::io::Error,
    },
    /// A socket of the service manager cannot be used.
    #[error("the socket that the service manager passed cannot be used: {0}")]
    Inherited(std::io::Error),
    /// The server failed.
    #[error("the coordinator's server failed: {0}")]
    Failed(#[from] tonic::transport::Error),
}

/// A coordinator that listens.
#[derive(Debug)]
pub struct Server {
    service: Arc<Service>,
    listening: Listening,
    guard: Arc<Guard>,
    address: Address,
}

impl Server {
    /// Listens on an address of this machine; port 0 selects any free port.
    ///
    /// # Errors
    /// Returns an error if the address is in use, or if it is a network address but there is no TLS.
    pub async fn bind(service: Arc<Service>, address: &Address, guard: Guard) -> Result<Server, ListenError> {
        let refused = |error| ListenError::Refused { address: address.to_string(), error };
        let (listening, address) = match address {
            Address::Unix(path) => (listen_on_file(path, address).await?, address.clone()),
            Address::Tcp { .. } if guard.tls.is_none() => return Err(ListenError::NeedsTls),
            Address::Tcp { host, port } => {
                let listener = TcpListener::bind((host.as_str(), *port)).await.map_err(refused)?;
                let port = listener.local_addr().map_err(refused)?.port();
                (Listening::Tcp(listener), Address::Tcp { host: host.clone(), port })
            }
        };
        Ok(Server { service, listening, guard: Arc::new(guard), address })
    }

    /// Serves on a socket that is already listening. Must be called in a runtime.
    ///
    /// # Errors
    /// Returns an error if the socket cannot be used, or if it is on the network but there is no TLS.
    pub fn inherit(service: Arc<Service>, socket: Inherited, guard: Guard) -> Result<Server, ListenError> {
        let (listening, address) = match socket {
            Inherited::Tcp(_) if guard.tls.is_none() => return Err(ListenError::NeedsTls),
            Inherited::Tcp(socket) => {
                socket.set_nonblocking(true).map_err(ListenError::Inherited)?;
                let listener = TcpListener::from_std(socket).map_err(ListenError::Inherited)?;
                let address = listener.local_addr().map_err(ListenError::Inherited)?;
                (Listening::Tcp(listener), Address::Tcp { host: address.ip().to_string(), port: address.port() })
            }
            Inherited::Unix(socket) => {
                socket.set_nonblocking(true).map_err(ListenError::Inherited)?;
                let listener = UnixListener::from_std(socket).map_err(ListenError::Inherited)?;
                let address = listener.local_addr().map_err(ListenError::Inherited)?;
                let path = address.as_pathname().unwrap_or(Path::new("")).to_path_buf();
                (Listening::Unix { listener, _file: None }, Address::Unix(path))
            }
        };
        Ok(Server { service, listening, guard: Arc::new(guard), address })
    }

    /// The rules for connections, with the coordinator's own certificate.
    pub fn guard(&self) -> Arc<Guard> {
        Arc::clone(&self.guard)
    }

    /// The address on which the server listens.
    pub fn address(&self) -> &Address {
        &self.address
    }

    /// Serves until `shutdown` completes. Also takes over runs whose coordinators have ended.
    ///
    /// # Errors
    /// Returns an error if the server fails.
    pub async fn serve(self, shutdown: impl Future<Output = ()>) -> Result<(), ListenError> {
        let meters = Arc::clone(self.service.hub().meters());
        let take_over = tokio::spawn(Arc::clone(&self.service).take_over_runs());
        let workers = proto::workers_server::WorkersServer::new(Edge(Arc::clone(&self.service)))
            .max_decoding_message_size(FRAME_BYTES)
            .max_encoding_message_size(FRAME_BYTES);
        let runs = proto::runs_server::RunsServer::new(Edge(self.service))
            .max_decoding_message_size(FRAME_BYTES)
            .max_encoding_message_size(FRAME_BYTES);
        let server = Tonic::builder()
            .http2_keepalive_interval(Some(KEEP_ALIVE))
            .http2_keepalive_timeout(Some(KEEP_ALIVE_WAIT))
            .layer(GateLayer(Arc::clone(&self.guard), Arc::clone(&meters)))
            .add_service(workers)
            .add_service(runs);
        let incoming = connections(self.listening, self.guard, meters);
        // Streams of workers do not end by themselves, so the shutdown does not wait for them.
        let served = tokio::select! {
            served = server.serve_with_incoming(incoming) => served,
            () = shutdown => Ok(()),
        };
        take_over.abort();
        Ok(served?)
    }
}

/// Listens on a Unix socket that only the user of this process may open. The file of a dead process is replaced.
async fn listen_on_file(path: &Path, address: &Address) -> Result<Listening, ListenError> {
    let refused = |error| ListenError::Refused { address: address.to_string(), error };
    if path.as_os_str().len() > SOCKET_PATH {
        return Err(ListenError::PathTooLong(path.display().to_string()));
    }
    let is_socket = std::fs::symlink_metadata(path).is_ok_and(|file| file.file_type().is_socket());
    if is_socket {
        if UnixStream::connect(path).await.is_ok() {
            return Err(ListenError::InUse(address.to_string()));
        }
        std::fs::remove_file(path).map_err(refused)?;
    }
    let listener = UnixListener::bind(path).map_err(refused)?;
    let _file = Some(SocketFile(path.to_path_buf()));
    std::fs::set_permissions(path, Permissions::from_mode(SOCKET_MODE)).map_err(refused)?;
    Ok(Listening::Unix { listener, _file })
}

/// The generated services, implemented by the service.
struct Edge(Arc<Service>);

type Answer<T> = Result<Response<T>, Status>;
type Frames<T> = Pin<Box<dyn Stream<Item = Result<T, Status>> + Send>>;

#[tonic::async_trait]
impl proto::workers_server::Workers for Edge {
    type WorkStream = Frames<proto::CoordinatorFrame>;

    async fn work(&self, request: Request<Streaming<proto::WorkerFrame>>) -> Answer<Self::WorkStream> {
        let admitted = request.extensions().get::<Admitted>().cloned();
        let Admitted { peer, is_worker } = admitted.ok_or_else(problems::unauthenticated)?;
        let mut stream = request.into_inner();
        let (outgoing, frames) = mpsc::channel(CHANNEL_FRAMES);
        let (sender, incoming) = mpsc::channel(CHANNEL_FRAMES);
        tokio::spawn(async move {
            while let Some(frame) = stream.next().await {
                let frame = frame.map_err(|_| FrameError::Undecodable).and_then(WorkerFrame::from_wire);
                let broken = frame.is_err();
                if sender.send(frame).await.is_err() || broken {
                    return;
                }
            }
        });
        let hub = self.0.hub().clone();
        tokio::spawn(async move { hub.serve(Link { outgoing, incoming, patient: false, peer, is_worker }).await });
        let frames = ReceiverStream::new(frames).map(|frame: CoordinatorFrame| Ok(frame.into_wire()));
        Ok(Response::new(Box::pin(frames)))
    }
}

#[tonic::async_trait]
impl proto::runs_server::Runs for Edge {
    type WatchRunStream = Frames<proto::RunEvent>;

    async fn submit_run(&self, request: Request<proto::SubmitRunRequest>) -> Answer<proto::SubmitRunResponse> {
        let request = request.into_inner();
        let submission = Submission {
            plan: request.plan,
            inputs: request.inputs.into_iter().collect(),
            parallelism: (request.parallelism > 0).then_some(request.parallelism),
            detach: request.detach,
            sealed: request.sealed,
            sealed_plan: request.sealed_plan,
            signature: request.signature,
        };
        Ok(Response::new(match self.0.submit(submission).await {
            Ok(run) => proto::SubmitRunResponse { run: run.to_string(), refusal: None },
            Err(error) => proto::SubmitRunResponse { run: String::new(), refusal: Some(refusal(error)?) },
        }))
    }

    async fn watch_run(&self, request: Request<proto::WatchRunRequest>) -> Answer<Self::WatchRunStream> {
        let run = self.0.named(optional_run(&request.into_inner().run)?).await.map_err(refuse)?;
        let run = run.ok_or_else(problems::no_runs)?;
        // Subscribe before reading the current state, so that no event is missed in between.
        let watch = self.0.watch(&run);
        let header = self.0.header(&run).await.map_err(refuse)?;
        let (sender, events) = mpsc::channel(CHANNEL_FRAMES);
        let service = Arc::clone(&self.0);
        tokio::spawn(async move {
            let listing = RunListing::new(&header);
            let _ = sender.send(event(proto::run_event::Event::Summary(summary(&listing)))).await;
            match watch {
                Some(watch) => follow(service, run, watch, sender).await,
                None => {
                    let details = service.show(Some(run)).await.ok().flatten();
                    let end = end_of(&listing, !header.status.is_final(), details);
                    let _ = sender.send(event(proto::run_event::Event::End(end))).await;
                }
            }
        });
        Ok(Response::new(Box::pin(ReceiverStream::new(events).map(Ok))))
    }

    async fn list_runs(&self, _: Request<proto::ListRunsRequest>) -> Answer<proto::ListRunsResponse> {
        let runs = self.0.list().await.map_err(refuse)?;
        Ok(Response::new(proto::ListRunsResponse { runs: runs.iter().map(summary).collect() }))
    }

    async fn show_run(&self, request: Request<proto::ShowRunRequest>) -> Answer<proto::ShowRunResponse> {
        let run = optional_run(&request.into_inner().run)?;
        let details = self.0.show(run).await.map_err(refuse)?;
        let RunDetails { run, operations } = details.ok_or_else(problems::no_runs)?;
        let operations = operations.into_iter().map(|operation| proto::OperationView {
            operation: operation.operation,
            address: operation.address,
            action: operation.action.word().to_owned(),
            status: operation.status,
            provider_instance: operation.provider_instance,
            worker: operation.worker,
            attempt: operation.attempt,
            deposed: operation.deposed.unwrap_or_default(),
            diagnostics: operation.diagnostics.0,
            absence_unproven: operation.absence_unproven,
            object_kept: operation.object_kept,
            waits_for: operation.waits_for,
            intended: operation.intended,
        });
        Ok(Response::new(proto::ShowRunResponse { summary: Some(summary(&run)), operations: operations.collect() }))
    }

    async fn read_plan(&self, request: Request<proto::ReadPlanRequest>) -> Answer<proto::ReadPlanResponse> {
        let found = self.0.plan_file(optional_run(&request.into_inner().run)?).await.map_err(refuse)?;
        let found = found.map(|(run, plan)| proto::ReadPlanResponse { run: run.to_string(), plan });
        Ok(Response::new(found.unwrap_or_default()))
    }

    async fn resume_run(&self, request: Request<proto::ResumeRunRequest>) -> Answer<proto::ResumeRunResponse> {
        let request = request.into_inner();
        let how = Resumption {
            inputs: request.inputs.into_iter().collect(),
            parallelism: (request.parallelism > 0).then_some(request.parallelism),
        };
        Ok(Response::new(match self.0.resume(optional_run(&request.run)?, how).await {
            Ok(run) => {
                let run = run.map(|run| run.to_string()).unwrap_or_default();
                proto::ResumeRunResponse { run, refusal: None }
            }
            Err(error) => proto::ResumeRunResponse { run: String::new(), refusal: Some(refusal(error)?) },
        }))
    }

    async fn resolve_doubt(&self, request: Request<proto::ResolveDoubtRequest>) -> Answer<proto::ResolveDoubtResponse> {
        use proto::resolve_doubt_request::Decision as D;
        let request = request.into_inner();
        let run = optional_run(&request.run)?.ok_or_else(problems::unnamed_run)?;
        let decision = match request.decision {
            Some(D::Adopt(id)) => Decision::Adopt(id),
            Some(D::Absent(_)) => Decision::Absent,
            Some(D::Retry(_)) => Decision::Retry,
            Some(D::Forget(_)) => Decision::Forget,
            None => return Err(problems::no_decision()),
        };
        // No operation has another address.
        let nothing = |_| refuse(RunError::NotInDoubt { run: run.clone(), address: request.address.clone() });
        let object: NamedObject = request.address.parse().map_err(nothing)?;
        let resolved = self.0.resolve(&run, &object, decision).await.map_err(refuse)?;
        let status = resolved.status.word().to_owned();
        Ok(Response::new(proto::ResolveDoubtResponse { status, reason: resolved.reason }))
    }

    async fn look_up_doubts(
        &self,
        request: Request<proto::LookUpDoubtsRequest>,
    ) -> Answer<proto::LookUpDoubtsResponse> {
        let run = optional_run(&request.into_inner().run)?;
        let run = run.ok_or_else(problems::unnamed_run)?;
        let known = self.0.look_up(&run).await.map_err(refuse)?;
        let doubts = known.into_iter().map(|(operation, KnownDoubt { reason, candidate })| proto::KnownDoubt {
            operation,
            reason,
            candidate: candidate.map(|found| found.into_wire()),
        });
        Ok(Response::new(proto::LookUpDoubtsResponse { doubts: doubts.collect() }))
    }

    async fn cancel_run(&self, request: Request<proto::CancelRunRequest>) -> Answer<proto::CancelRunResponse> {
        let request = request.into_inner();
        let run = optional_run(&request.run)?.ok_or_else(problems::unnamed_run)?;
        let how = match (request.now, request.stop) {
            (true, _) => Cancel::Leave,
            (false, true) => Cancel::Stop,
            (false, false) => Cancel::Drain,
        };
        self.0.cancel(&run, how).await;
        Ok(Response::new(proto::CancelRunResponse {}))
    }

    async fn list_workers(&self, _: Request<proto::ListWorkersRequest>) -> Answer<proto::ListWorkersResponse> {
        let view = |worker: WorkerListing| proto::WorkerView {
            name: worker.name,
            labels: worker.labels.into_iter().collect(),
            version: worker.version,
            status: worker.status,
            tasks: worker.tasks,
            capacity: worker.capacity,
            identity: worker.identity,
        };
        let workers = self.0.hub().listing().into_iter().map(view).collect();
        Ok(Response::new(proto::ListWorkersResponse { workers }))
    }

    async fn drain_worker(&self, request: Request<proto::DrainWorkerRequest>) -> Answer<proto::DrainWorkerResponse> {
        let proto::DrainWorkerRequest { name, undrain } = request.into_inner();
        let found = self.0.hub().drain(&name, !undrain).await;
        Ok(Response::new(proto::DrainWorkerResponse { found }))
    }
}

/// Forwards notices until the run ends or the watcher disconnects.
async fn follow(
    service: Arc<Service>,
    run: RunId,
    mut watch: broadcast::Receiver<RunEvent>,
    sender: mpsc::Sender<proto::RunEvent>,
) {
    use proto::run_event::Event;
    loop {
        let item = match watch.recv().await {
            Ok(RunEvent::Progress(progress)) => Event::Operation(progress.into_wire()),
            Ok(RunEvent::Line(line)) => Event::Line(line.into_wire()),
            Ok(RunEvent::StoreTrouble(error)) => Event::Notice(problems::store_trouble(&error)),
            Ok(RunEvent::StoreFailed(_)) => Event::Notice(problems::store_gave_up()),
            Ok(RunEvent::StoreBack) => Event::Notice(problems::store_back()),
            Ok(RunEvent::Ended(outcome)) => {
                let listing = service.header(&run).await.map(|header| RunListing::new(&header)).ok();
                let end = run_end(*outcome, listing.as_ref(), &service.journal_place(&run));
                let _ = sender.send(event(Event::End(end))).await;
                return;
            }
            Ok(RunEvent::Counts(_)) | Err(broadcast::error::RecvError::Lagged(_)) => match service.header(&run).await {
                Ok(header) => Event::Summary(summary(&RunListing::new(&header))),
                Err(_) => continue,
            },
            Err(broadcast::error::RecvError::Closed) => return,
        };
        if sender.send(event(item)).await.is_err() {
            return;
        }
    }
}

fn event(event: proto::run_event::Event) -> proto::RunEvent {
    proto::RunEvent { event: Some(event) }
}

/// The end of a run. `journal` is the place of its journal on this machine.
fn run_end(outcome: RunOutcome, listing: Option<&RunListing>, journal: &str) -> proto::RunEnd {
    let lost = matches!(outcome.store_error, Some(StoreError::Emptied { .. }));
    let failed = outcome.store_error.map(|error| store_failed(&outcome.run, &error, journal));
    let found: Vec<_> = failed.into_iter().chain(outcome.defect.as_ref().map(defect)).collect();
    let diagnostics = if found.is_empty() { Vec::new() } else { encode_diagnostics(&found).0 };
    proto::RunEnd {
        summary: listing
            .map(|listing| proto::RunSummary { counts: Some(counts(&outcome.counts.into())), ..summary(listing) }),
        in_doubt: outcome.in_doubt,
        stopped: outcome.reason != FinishReason::Complete,
        diagnostics,
        unfinished: outcome.unfinished,
        strays: outcome.strays,
        reason: if lost { LOST_REASON.to_owned() } else { format!("{:?}", outcome.reason).to_lowercase() },
    }
}

/// The end of a run that this coordinator does not carry out.
fn end_of(listing: &RunListing, stopped: bool, details: Option<RunDetails>) -> proto::RunEnd {
    let operations = details.map(|details| details.operations).unwrap_or_default();
    let pick = |wanted: &[&str]| -> Vec<String> {
        let chosen = operations.iter().filter(|operation| wanted.contains(&operation.status.as_str()));
        chosen.map(|operation| operation.address.clone()).collect()
    };
    proto::RunEnd {
        summary: Some(summary(listing)),
        in_doubt: pick(&["in-doubt"]),
        stopped,
        unfinished: pick(&["pending", "intended"]),
        ..Default::default()
    }
}

fn counts(counts: &OperationCounts) -> proto::Counts {
    let OperationCounts { pending, running, done, failed, skipped, in_doubt } = *counts;
    proto::Counts { pending, running, done, failed, skipped, in_doubt }
}

fn summary(listing: &RunListing) -> proto::RunSummary {
    proto::RunSummary {
        run: listing.id.clone(),
        status: listing.status.clone(),
        plan: listing.plan.clone(),
        started_unix_ms: listing.started_unix_ms,
        counts: Some(counts(&listing.counts)),
        holder: listing.holder.clone(),
        user: listing.user.clone(),
        host: listing.host.clone(),
        ended_unix_ms: listing.ended_unix_ms.unwrap_or_default(),
        changes: listing.changes.map(|changes| {
            let ChangeTotals { added, changed, destroyed } = changes;
            proto::Changes { added, changed, destroyed }
        }),
    }
}

fn optional_run(text: &str) -> Result<Option<RunId>, Status> {
    if text.is_empty() {
        return Ok(None);
    }
    RunId::parse(text).map(Some).ok_or_else(|| problems::not_a_run(text))
}

/// The reason why a run does not begin. The reason may name thousands of instances, so it is sent as a message. A
/// status is sent in headers, whose size is limited. Only an error of the store and a missing run are sent as a status.
fn refusal(error: RunError) -> Result<proto::Refusal, Status> {
    match error {
        RunError::Store(_) | RunError::NoRun(_) => Err(refuse(error)),
        RunError::Plan(ref diagnostics) => {
            let diagnostics = encode_diagnostics(diagnostics).0;
            Ok(proto::Refusal { message: error.to_string(), diagnostics })
        }
        RunError::OtherState(why) => {
            let diagnostics = encode_diagnostics(&[other_state(why)]).0;
            Ok(proto::Refusal { message: error.to_string(), diagnostics })
        }
        _ => Ok(proto::Refusal { message: error.to_string(), diagnostics: Vec::new() }),
    }
}

/// An error as a status.
fn refuse(error: RunError) -> Status {
    let code = match &error {
        RunError::Store(_) => Code::Unavailable,
        RunError::NoRun(_) => Code::NotFound,
        RunError::Exists(_) => Code::AlreadyExists,
        RunError::Outline(_) | RunError::Plan(_) => Code::InvalidArgument,
        RunError::Held { .. }
        | RunError::Refused { .. }
        | RunError::OtherState(_)
        | RunError::Fenced(_)
        | RunError::NoWorkerAtHome(_)
        | RunError::NoWorkerFits(_)
        | RunError::NotInDoubt { .. }
        | RunError::Ambiguous(_)
        | RunError::DecisionDoesNotFit { .. }
        | RunError::IdTaken { .. }
        | RunError::NotSealed(_)
        | RunError::AlreadyUsed { .. } => Code::FailedPrecondition,
        RunError::NotSigned(_) => Code::PermissionDenied,
    };
    let mut words = error.to_string();
    if words.len() > STATUS_BYTES {
        let end = (0..=STATUS_BYTES).rev().find(|end| words.is_char_boundary(*end)).unwrap_or_default();
        words.truncate(end);
        words.push_str("...");
    }
    Status::new(code, words)
}
