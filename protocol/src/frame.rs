//! Whole frames.

use weft_graph_format::run::RunId;

use crate::greeting::{Greeting, Welcome};
use crate::order::Order;
use crate::report::Report;

/// One encoded frame of `weft.cluster.v1`.
pub type EncodedFrame = Vec<u8>;

/// An invalid frame. Its connection ends.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
pub enum FrameError {
    /// A part is missing, or has a kind that a later version added.
    #[error("{0} is missing or of a later version")]
    Missing(&'static str),
    /// A digest is not 32 bytes long.
    #[error("a digest has {0} bytes")]
    Digest(usize),
    /// A string that must be JSON is not UTF-8.
    #[error("{0} is not UTF-8")]
    Text(&'static str),
    /// The key of a deposed object does not have eight characters.
    #[error("{0:?} is not the key of a deposed object")]
    DeposedKey(String),
    /// The address of an object is not the address of a resource instance.
    #[error("{0:?} is not the address of a resource instance")]
    Address(String),
    /// The name of a run has characters that are not allowed.
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
    /// The coordinator's welcome. Only in the first frame.
    pub welcome: Option<Welcome>,
    /// The number of the heartbeat, which increases by one with each heartbeat; 0 if the frame is not a heartbeat.
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
    /// The worker's greeting. Only in the first frame.
    pub greeting: Option<Greeting>,
    /// The number of the heartbeat, which increases by one with each heartbeat; 0 if the frame is not a heartbeat.
    pub heartbeat: u64,
    /// Whether the worker is about to leave: it completes the calls that are in progress, and accepts no more work. The
    /// announcement takes effect before the reports of the frame.
    pub leaving: bool,
    /// Lines that provisioners wrote before the reports of the frame. The lines are shown but not stored, and may be
    /// lost with the connection.
    pub lines: Vec<RunLine>,
    /// Reports, in the order in which they were made.
    pub reports: Vec<RunReports>,
}

/// A line of a run.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct RunLine {
    /// The run.
    pub run: RunId,
    /// The line.
    pub line: OutputLine,
}

/// A line that a provisioner wrote.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct OutputLine {
    /// The instance of the provisioner.
    pub address: String,
    /// The kind of provisioner, such as `local-exec`.
    pub provisioner: String,
    /// The line, without its line break.
    pub text: String,
}

/// Reports about one run.
#[derive(Clone, Debug, PartialEq)]
pub struct RunReports {
    /// The run.
    pub run: RunId,
    /// The reports.
    pub reports: Vec<Report>,
}

impl WorkerFrame {
    /// Puts reports into a frame, in their order. Consecutive reports of one run share an entry.
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
}
