//! Checks each request before its body is read: the role of the caller, and the size of the body.

use std::convert::Infallible;
use std::pin::Pin;
use std::sync::Arc;
use std::task::{Context, Poll};

use http_body_util::Limited;
use tonic::body::Body;
use tonic::{Code, Status};
use tower::{Layer, Service};
use tracing::info;
use weft_identity::{Peer, Refusal, Role};

use crate::door::Guard;
use crate::figures::Meters;
use crate::timing::{FRAME_BYTES, REQUEST_BYTES};

/// The scheme of the header with a token (RFC 6750, section 2.1).
const BEARER: &str = "Bearer ";

/// The requirements of a request.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
struct RequestRequirements {
    /// The caller must have one of these roles.
    roles: &'static [Role],
    /// The maximum size of the request's body in bytes. `None` for a stream of frames, which has no total size. Another
    /// limit applies to its frames.
    bytes: Option<usize>,
}

/// The requirements of a method, by its path. `Work` also accepts the role `apply`, because a command line that watches
/// its run has its own worker for home operations. From a caller without the role `worker`, the hub accepts only such a
/// worker.
fn requirements(path: &str) -> RequestRequirements {
    let small = |roles| RequestRequirements { roles, bytes: Some(REQUEST_BYTES) };
    match path {
        "/weft.cluster.v1.Workers/Work" => RequestRequirements { roles: &[Role::Worker, Role::Apply], bytes: None },
        "/weft.cluster.v1.Runs/SubmitRun" => RequestRequirements { roles: &[Role::Apply], bytes: Some(FRAME_BYTES) },
        "/weft.cluster.v1.Runs/ResumeRun" | "/weft.cluster.v1.Runs/CancelRun" => small(&[Role::Apply]),
        "/weft.cluster.v1.Runs/WatchRun" | "/weft.cluster.v1.Runs/ListRuns" | "/weft.cluster.v1.Runs/ShowRun" => {
            small(&[Role::Read])
        }
        "/weft.cluster.v1.Runs/ListWorkers" => small(&[Role::Read]),
        "/weft.cluster.v1.Runs/DrainWorker" => small(&[Role::Admin]),
        "/weft.cluster.v1.Runs/ReadPlan" => small(&[Role::Plan]),
        "/weft.cluster.v1.Runs/ResolveDoubt" | "/weft.cluster.v1.Runs/LookUpDoubts" => small(&[Role::Resolve]),
        // Methods that are missing from this table require the role `admin`.
        _ => small(&[Role::Admin]),
    }
}

/// Wraps a service in a [`Gate`].
#[derive(Clone)]
pub(crate) struct GateLayer(pub(crate) Arc<Guard>, pub(crate) Arc<Meters>);

impl<S> Layer<S> for GateLayer {
    type Service = Gate<S>;

    fn layer(&self, inner: S) -> Gate<S> {
        Gate { guard: Arc::clone(&self.0), meters: Arc::clone(&self.1), inner }
    }
}

/// A service whose requests are checked by the gate.
#[derive(Clone)]
pub(crate) struct Gate<S> {
    guard: Arc<Guard>,
    meters: Arc<Meters>,
    inner: S,
}

type Request = http::Request<Body>;
type Response = http::Response<Body>;

impl<S> Service<Request> for Gate<S>
where
    S: Service<Request, Response = Response, Error = Infallible> + Clone + Send + 'static,
    S::Future: Send,
{
    type Response = Response;
    type Error = Infallible;
    type Future = Pin<Box<dyn Future<Output = Result<Response, Infallible>> + Send>>;

    fn poll_ready(&mut self, cx: &mut Context<'_>) -> Poll<Result<(), Infallible>> {
        self.inner.poll_ready(cx)
    }

    fn call(&mut self, request: Request) -> Self::Future {
        let (guard, meters) = (Arc::clone(&self.guard), Arc::clone(&self.meters));
        // The clone may not be ready, so the call goes to the service that was polled.
        let next = self.inner.clone();
        let mut inner = std::mem::replace(&mut self.inner, next);
        Box::pin(async move {
            match admit(&guard, request).await {
                Ok(request) => inner.call(request).await,
                Err(status) => {
                    let is_known = status.code() == Code::PermissionDenied;
                    meters.refused(if is_known { "role" } else { "identity" });
                    Ok(status.into_http())
                }
            }
        })
    }
}

/// Returns the request with its caller and a limited body, or the refusal.
async fn admit(guard: &Guard, mut request: Request) -> Result<Request, Status> {
    let peer = request.extensions().get::<Peer>().cloned().unwrap_or(Peer::Unknown);
    let peer = caller(guard, peer, presented(&request)).await?;
    let required = requirements(request.uri().path());
    let mut allowed = required.roles.iter().map(|role| guard.access.check(&peer, *role));
    let first = allowed.next().unwrap_or(Ok(()));
    if let Err(refusal) = first.clone()
        && !allowed.any(|allowed| allowed.is_ok())
    {
        info!(path = request.uri().path(), "refused: {refusal}");
        return Err(match refusal {
            Refusal::Unauthenticated | Refusal::Nameless => Status::unauthenticated(refusal.to_string()),
            Refusal::RoleMissing { .. } => Status::permission_denied(refusal.to_string()),
        });
    }
    let is_worker = guard.access.check(&peer, Role::Worker).is_ok();
    request.extensions_mut().insert(Admitted { peer, is_worker });
    Ok(match required.bytes {
        Some(bytes) => request.map(|body| Body::new(Limited::new(body, bytes))),
        None => request,
    })
}

/// The identity of the caller: the user at the other end of the Unix socket, or the owner of the connection's
/// certificate. If the connection has neither, the owner of the token.
async fn caller(guard: &Guard, peer: Peer, token: Option<String>) -> Result<Peer, Status> {
    let (Peer::Unknown, Some(tokens), Some(token)) = (&peer, &guard.tokens, token) else { return Ok(peer) };
    tokens.verify(&token).await.map(Peer::Token).map_err(|error| {
        info!("refused: {error}");
        Status::unauthenticated(error.to_string())
    })
}

/// The token in the header of a request.
fn presented(request: &Request) -> Option<String> {
    let header = request.headers().get(http::header::AUTHORIZATION)?;
    Some(header.to_str().ok().and_then(|text| text.strip_prefix(BEARER)).unwrap_or_default().to_owned())
}

/// A caller that the gate has admitted.
#[derive(Clone, Debug)]
pub(crate) struct Admitted {
    /// The identity of the caller.
    pub(crate) peer: Peer,
    /// Whether the caller may carry out operations of any run.
    pub(crate) is_worker: bool,
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_method_that_the_table_does_not_know_needs_the_highest_role() {
        assert_eq!(requirements("/weft.cluster.v1.Runs/DeleteEverything").roles, [Role::Admin]);
        assert_eq!(requirements("/").roles, [Role::Admin]);
    }

    #[test]
    fn each_method_of_the_protocol_is_in_the_table() {
        let protocol = include_str!("../../proto/proto/cluster.proto");
        let mut service = "";
        let mut methods = 0;
        for line in protocol.lines().map(str::trim) {
            if let Some(name) = line.strip_prefix("service ") {
                service = name.trim_end_matches(" {");
            }
            if let Some(method) = line.strip_prefix("rpc ") {
                let method = method.split('(').next().unwrap();
                let roles = requirements(&format!("/weft.cluster.v1.{service}/{method}")).roles;
                assert_eq!(roles == [Role::Admin], method == "DrainWorker", "{service}/{method}");
                methods += 1;
            }
        }
        assert_eq!(methods, 12);
    }
}
