//! The output and the exit of a command on the machine.

use russh::ChannelMsg;

use crate::error::RemoteCallError;

/// How a command ended.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(crate) enum End {
    /// The command ended with this exit status.
    Exit(u32),
    /// The signal with this name ended the command.
    Signal(String),
    /// The machine did not start the command.
    Refused,
}

/// The reports of the machine about a command so far.
#[derive(Debug, Default)]
pub(crate) struct Progress {
    pub(crate) end: Option<End>,
    /// The channel is closed: no further output follows.
    pub(crate) closed: bool,
}

/// A piece of a command's output.
pub(crate) enum Piece {
    Out(bytes::Bytes),
    Err(bytes::Bytes),
}

impl Progress {
    /// Processes a message of the machine, and returns the output in the message. The message `None` means that the
    /// connection has ended.
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

    /// The outcome of the command. It is known only after the channel is closed.
    pub(crate) fn outcome(&self) -> Result<(), RemoteCallError> {
        match &self.end {
            Some(End::Exit(0)) => Ok(()),
            Some(End::Exit(status)) => Err(RemoteCallError::Exit(*status)),
            Some(End::Signal(name)) => Err(RemoteCallError::Signal(name.clone())),
            Some(End::Refused) => Err(RemoteCallError::Refused("to start the command")),
            None => Err(RemoteCallError::Lost("the host did not report the exit status of the command".to_owned())),
        }
    }
}
