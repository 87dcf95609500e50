//! The peer of a coordinator: the caller at the other end of a connection.

use std::fmt;

use crate::claims::Claims;
use crate::name::SpiffeId;

/// The peer of a coordinator: the caller at the other end of a connection.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Peer {
    /// A process of the same user, or of the administrator, on this machine (Unix socket).
    SameUser {
        /// The user's number.
        user: u32,
    },
    /// The owner of a certificate that a trusted authority issued.
    Certificate(SpiffeId),
    /// The owner of a token that a known issuer signed.
    Token(Claims),
    /// The owner of a certificate that has no SPIFFE ID as its name.
    Nameless,
    /// A connection without a certificate, which may still present a token.
    Unknown,
}

impl fmt::Display for Peer {
    fn fmt(&self, out: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Peer::SameUser { user } => write!(out, "user {user} of this machine"),
            Peer::Certificate(name) => name.fmt(out),
            Peer::Token(claims) => write!(out, "{} of {}", claims.subject, claims.issuer),
            Peer::Nameless => out.write_str("a caller whose certificate has no SPIFFE ID"),
            Peer::Unknown => out.write_str("a caller without certificate or token"),
        }
    }
}
