//! The output and the end of a command on the machine.

use russh::ChannelMsg;

use crate::error::RemoteCallError;

/// How a command ended.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(crate) enum End {
    /// With an exit status.
    Exit(u32),
    /// By a signal.
    Signal(String),
    /// The machine did not start it.
    Refused,
}

/// What has come from a command so far.
#[derive(Debug, Default)]
pub(crate) struct Progress {
    pub(crate) end: Option<End>,
    /// Nothing follows.
    pub(crate) closed: bool,
}

/// Output of a command.
pub(crate) enum Piece {
    Out(bytes::Bytes),
    Err(bytes::Bytes),
}

impl Progress {
    /// Takes a message of the machine; `None` is the end of the connection.
    pub(crate) fn take(&mut self, message: Option<ChannelMsg>) -> Option<Piece> {
        match message {
            Some(ChannelMsg::Data { data }) => return Some(Piece::Out(data)),
            Some(ChannelMsg::ExtendedData { data, .. }) => return Some(Piece::Err(data)),
            Some(ChannelMsg::ExitStatus { exit_status }) => self.end = Some(End::Exit(exit_status)),
            Some(ChannelMsg::ExitSignal { signal_name, .. }) => {
                self.end = Some(End::Signal(format!("{signal_name:?}")));
            }
            Some(ChannelMsg::Failure) => {
                self.end = Some(End::Refused);
                self.closed = true;
            }
            Some(ChannelMsg::Close) | None => self.closed = true,
            Some(_) => {}
        }
        None
    }

    /// The outcome, once nothing follows.
    pub(crate) fn outcome(&self) -> Result<(), RemoteCallError> {
        match &self.end {
            Some(End::Exit(0)) => Ok(()),
            Some(End::Exit(status)) => Err(RemoteCallError::Exit(*status)),
            Some(End::Signal(name)) => Err(RemoteCallError::Signal(name.clone())),
            Some(End::Refused) => Err(RemoteCallError::Refused("to start the command")),
            None => Err(RemoteCallError::Lost("the machine did not say how the command ended".to_owned())),
        }
    }
}
