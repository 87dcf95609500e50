//! Whole frames, typed and encoded.

use prost::Message;
use weft_graph_format::run::RunId;
use weft_proto::cluster as proto;

use crate::greeting::{Greeting, Welcome};
use crate::order::Order;
use crate::report::Report;
use crate::wire;

/// A frame that makes no sense. Its connection ends.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
pub enum FrameError {
    /// A part is absent, or of a later version.
    #[error("{0} is missing or of a later version")]
    Missing(&'static str),
    /// A digest is not 32 bytes long.
    #[error("a digest has {0} bytes")]
    Digest(usize),
    /// Text that must be JSON is not UTF-8.
    #[error("{0} is not UTF-8")]
    Text(&'static str),
    /// The key of a deposed object does not have eight characters.
    #[error("{0:?} is not the key of a deposed object")]
    DeposedKey(String),
    /// The address of an object is not that of a resource instance.
    #[error("{0:?} is not the address of a resource instance")]
    Address(String),
    /// The name of a run has other characters than a run's name may have.
    #[error("{0:?} is not the name of a run")]
    Run(String),
    /// The paths of an export cannot be decoded.
    #[error("the paths of an export cannot be read")]
    Paths,
    /// The bytes are not a frame.
    #[error("the bytes are not a frame")]
    Undecodable,
}

/// A frame from a coordinator.
#[derive(Clone, Debug, Default, PartialEq)]
pub struct CoordinatorFrame {
    /// In the first frame only.
    pub welcome: Option<Welcome>,
    /// Counts up with each heartbeat; 0 in any other frame.
    pub heartbeat: u64,
    /// Orders, in the order in which they were given.
    pub orders: Vec<RunOrders>,
}

/// Orders of one term of one run.
#[derive(Clone, Debug, PartialEq)]
pub struct RunOrders {
    /// The run.
    pub run: RunId,
    /// The epoch of the coordinator's term.
    pub epoch: u64,
    /// The orders.
    pub orders: Vec<Order>,
}

/// A frame from a worker.
#[derive(Clone, Debug, Default, PartialEq)]
pub struct WorkerFrame {
    /// In the first frame only.
    pub greeting: Option<Greeting>,
    /// Counts up with each heartbeat; 0 in any other frame.
    pub heartbeat: u64,
    /// The worker is about to leave: running calls end, and it takes no more work. Meant before the reports.
    pub leaving: bool,
    /// Reports, in the order in which they were made.
    pub reports: Vec<RunReports>,
}

/// Reports about one run.
#[derive(Clone, Debug, PartialEq)]
pub struct RunReports {
    /// The run.
    pub run: RunId,
    /// The reports.
    pub reports: Vec<Report>,
}

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
    /// When the bytes are not a frame, or a part of it makes no sense.
    pub fn decode(bytes: &[u8]) -> Result<CoordinatorFrame, FrameError> {
        let frame = proto::CoordinatorFrame::decode(bytes).map_err(|_| FrameError::Undecodable)?;
        wire::read::coordinator_frame(frame)
    }
}

impl WorkerFrame {
    /// Puts reports into a frame, in their order. Neighbours of one run share an entry.
    pub fn of_reports(reports: impl Iterator<Item = (RunId, Report)>) -> WorkerFrame {
        let mut found: Vec<RunReports> = Vec::new();
        for (run, report) in reports {
            match found.last_mut() {
                Some(last) if last.run == run => last.reports.push(report),
                _ => found.push(RunReports { run, reports: vec![report] }),
            }
        }
        WorkerFrame { reports: found, ..WorkerFrame::default() }
    }

    /// The frame as bytes.
    pub fn encode(self) -> Vec<u8> {
        wire::worker_frame(self).encode_to_vec()
    }

    /// Reads a frame.
    ///
    /// # Errors
    /// When the bytes are not a frame, or a part of it makes no sense.
    pub fn decode(bytes: &[u8]) -> Result<WorkerFrame, FrameError> {
        WorkerFrame::from_wire(proto::WorkerFrame::decode(bytes).map_err(|_| FrameError::Undecodable)?)
    }

    /// Reads a frame from the generated type.
    ///
    /// # Errors
    /// When a part of it makes no sense.
    pub fn from_wire(frame: proto::WorkerFrame) -> Result<WorkerFrame, FrameError> {
        wire::read::worker_frame(frame)
    }
}

#[cfg(test)]
mod tests;
