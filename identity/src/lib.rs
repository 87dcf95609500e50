//! Identifies the peers of a coordinator, and decides what they may do.
//!
//! - [`name`]: names of programs and people, as SPIFFE IDs.
//! - [`role`] and [`policy`]: which roles a name, or the claims of a token, has for which states.
//! - [`peer`]: the identity of the caller at the other end of a connection.
//! - [`access`]: allows or refuses requests. No other module makes this decision.
//! - [`authority`]: makes certificate authorities and issues certificates.
//! - [`certificate`]: reads the data of a certificate: its owner, hosts and expiry.
//! - [`files`] and [`tls`]: TLS settings from files that may change, and connections with these settings.
//! - [`signature`]: signatures of plans, which show who approved a plan.
//! - [`token`] and [`claims`]: OpenID Connect tokens of pipelines.

pub mod access;
pub mod authority;
pub mod certificate;
pub mod claims;
pub mod files;
pub mod name;
pub mod pattern;
pub mod peer;
pub mod policy;
pub mod role;
pub mod signature;
pub mod tls;
pub mod token;

pub use access::{AccessRules, Refusal};
pub use claims::Claims;
pub use files::TlsFiles;
pub use name::SpiffeId;
pub use peer::Peer;
pub use policy::Policy;
pub use role::{Role, Roles};
pub use tls::TlsError;
