//! The codec of frames.

use prost::Message;
use weft_proto::cluster as proto;

use crate::frame::{CoordinatorFrame, FrameError, WorkerFrame};
use crate::wire;

impl CoordinatorFrame {
    /// The frame as the generated type.
    pub fn into_wire(self) -> proto::CoordinatorFrame {
        wire::coordinator_frame(self)
    }

    /// The frame as bytes.
    pub fn encode(self) -> Vec<u8> {
        self.into_wire().encode_to_vec()
    }

    /// Reads a frame.
    ///
    /// # Errors
    /// Returns an error if the bytes are not a frame, or a part of the frame is invalid.
    pub fn decode(bytes: &[u8]) -> Result<CoordinatorFrame, FrameError> {
        let frame = proto::CoordinatorFrame::decode(bytes).map_err(|_| FrameError::Undecodable)?;
        wire::read::coordinator_frame(frame)
    }
}

impl WorkerFrame {
    /// The frame as bytes.
    pub fn encode(self) -> Vec<u8> {
        wire::worker_frame(self).encode_to_vec()
    }

    /// Reads a frame.
    ///
    /// # Errors
    /// Returns an error if the bytes are not a frame, or a part of the frame is invalid.
    pub fn decode(bytes: &[u8]) -> Result<WorkerFrame, FrameError> {
        WorkerFrame::from_wire(proto::WorkerFrame::decode(bytes).map_err(|_| FrameError::Undecodable)?)
    }

    /// Reads a frame from the generated type.
    ///
    /// # Errors
    /// Returns an error if a part of the frame is invalid.
    pub fn from_wire(frame: proto::WorkerFrame) -> Result<WorkerFrame, FrameError> {
        wire::read::worker_frame(frame)
    }
}

#[cfg(test)]
mod tests;
