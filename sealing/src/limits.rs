//! Limits that settings, envelopes and records share.

/// The maximum length of a chain of key providers. Each link costs a derivation. Real chains have two links.
pub const LONGEST_CHAIN: usize = 16;

/// The maximum length of the key of a provider's metadata, in bytes. Every file and record contains this key.
pub const LONGEST_METADATA_KEY: usize = 1024;

/// The maximum size of one key provider's metadata, in bytes. The metadata of a service contains a wrapped key of a few
/// hundred bytes.
pub const LONGEST_METADATA: usize = 32 << 10;

/// The maximum size of an envelope, in bytes: the base64 of the largest plan, and its metadata.
pub const LARGEST_ENVELOPE: u64 = 6 << 30;
