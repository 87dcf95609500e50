//! The transport of frames between a coordinator and a worker: a pair of channels of encoded frames of
//! `weft.cluster.v1` (`CoordinatorFrame` to the worker, `WorkerFrame` to the coordinator). Over the network, a stream
//! transports the frames between the same two ends.

use tokio::sync::mpsc;
use weft_protocol::EncodedFrame;

use crate::timing::CHANNEL_FRAMES;

/// A coordinator's end of a worker's connection. Dropping it breaks the connection.
#[derive(Debug)]
pub struct CoordinatorEnd {
    /// Encoded `CoordinatorFrame`s to the worker.
    pub to_worker: mpsc::Sender<EncodedFrame>,
    /// Encoded `WorkerFrame`s from the worker.
    pub from_worker: mpsc::Receiver<EncodedFrame>,
}

/// A worker's end. The connection is broken when `incoming` ends or `outgoing` refuses a frame.
#[derive(Debug)]
pub struct WorkerEnd {
    /// Encoded `CoordinatorFrame`s from the coordinator.
    pub incoming: mpsc::Receiver<EncodedFrame>,
    /// Encoded `WorkerFrame`s to the coordinator.
    pub outgoing: mpsc::Sender<EncodedFrame>,
}

/// The two ends of a connection within one process.
pub fn pair() -> (CoordinatorEnd, WorkerEnd) {
    let (to_worker, incoming) = mpsc::channel(CHANNEL_FRAMES);
    let (outgoing, from_worker) = mpsc::channel(CHANNEL_FRAMES);
    (CoordinatorEnd { to_worker, from_worker }, WorkerEnd { incoming, outgoing })
}
