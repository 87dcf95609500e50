//! The services that every go-plugin plugin has besides its own: health, shutdown, standard streams, broker.

use std::pin::Pin;

use futures::{Stream, stream};
use tokio::sync::watch;
use tonic::{Request, Response, Status, Streaming};
use weft_proto::health::health_check_response::ServingStatus;
use weft_proto::health::health_server::Health;
use weft_proto::health::{HealthCheckRequest, HealthCheckResponse};
use weft_proto::plugin::grpc_broker_server::GrpcBroker;
use weft_proto::plugin::grpc_controller_server::GrpcController;
use weft_proto::plugin::grpc_stdio_server::GrpcStdio;
use weft_proto::plugin::{ConnInfo, Empty, StdioData};

type Answers<T> = Pin<Box<dyn Stream<Item = Result<T, Status>> + Send>>;

/// A stream that stays open and silent.
fn silence<T: Send + 'static>() -> Answers<T> {
    Box::pin(stream::pending())
}

/// Shuts the process down in an orderly way.
#[derive(Debug)]
pub struct Controller {
    /// Set when the process must end.
    pub end: watch::Sender<bool>,
}

#[tonic::async_trait]
impl GrpcController for Controller {
    async fn shutdown(&self, _: Request<Empty>) -> Result<Response<Empty>, Status> {
        self.end.send_replace(true);
        Ok(Response::new(Empty {}))
    }
}

/// The service for standard streams. The plugin writes to its real streams, so nothing is forwarded.
#[derive(Debug)]
pub struct Stdio;

#[tonic::async_trait]
impl GrpcStdio for Stdio {
    type StreamStdioStream = Answers<StdioData>;

    async fn stream_stdio(&self, _: Request<()>) -> Result<Response<Self::StreamStdioStream>, Status> {
        Ok(Response::new(silence()))
    }
}

/// The service for further connections. The plugin offers none.
#[derive(Debug)]
pub struct Broker;

#[tonic::async_trait]
impl GrpcBroker for Broker {
    type StartStreamStream = Answers<ConnInfo>;

    async fn start_stream(&self, _: Request<Streaming<ConnInfo>>) -> Result<Response<Self::StartStreamStream>, Status> {
        Ok(Response::new(silence()))
    }
}

/// The health service. The plugin is healthy if it responds at all.
#[derive(Debug)]
pub struct Wellbeing;

fn serving() -> HealthCheckResponse {
    HealthCheckResponse { status: ServingStatus::Serving as i32 }
}

#[tonic::async_trait]
impl Health for Wellbeing {
    type WatchStream = Answers<HealthCheckResponse>;

    async fn check(&self, request: Request<HealthCheckRequest>) -> Result<Response<HealthCheckResponse>, Status> {
        match request.into_inner().service.as_str() {
            "" | "plugin" => Ok(Response::new(serving())),
            other => Err(Status::not_found(format!("no service {other:?}"))),
        }
    }

    async fn watch(&self, _: Request<HealthCheckRequest>) -> Result<Response<Self::WatchStream>, Status> {
        use futures::StreamExt;
        Ok(Response::new(Box::pin(stream::iter([Ok(serving())]).chain(silence()))))
    }
}
