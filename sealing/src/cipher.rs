//! AES-GCM over whole payloads: a random nonce, then the ciphertext, then the tag.
//!
//! Sources: the README of OpenTofu's AES-GCM method (additional data), and a recorded state (layout).

use std::sync::atomic::{AtomicU64, Ordering};

use aws_lc_rs::aead::{AES_128_GCM, AES_192_GCM, AES_256_GCM, Aad, LessSafeKey, NONCE_LEN, Nonce, UnboundKey};
use zeroize::{Zeroize as _, Zeroizing};

use crate::pbkdf2::RandomError;

/// The overhead of a payload: nonce and tag.
pub(crate) const OVERHEAD: usize = NONCE_LEN + TAG_LENGTH;

const TAG_LENGTH: usize = 16;

/// The maximum number of seals with one key. Nonces are random, and two equal nonces would expose the plain texts. With
/// at most 2^32 seals, the probability of two equal nonces is below 2^-32 (NIST SP 800-38D, 8.3). The limit here is a
/// quarter of 2^32, because other processes may use the same key.
const MOST_SEALS: u64 = 1 << 30;

/// The maximum number of bytes that are sealed with one key, from OpenTofu's README of the method.
const MOST_BYTES: u64 = 64 << 30;

/// An AES-GCM key.
#[derive(Debug)]
pub(crate) struct Cipher(LessSafeKey);

/// Why a payload cannot be sealed or opened.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum CipherError {
    /// The operating system has no random bytes for a nonce.
    Random(RandomError),
    /// The payload would be longer than AES-GCM allows, 64 GiB.
    Long,
    /// The payload is shorter than a nonce and a tag.
    Short,
    /// The key is wrong, or a byte was changed.
    Wrong,
}

impl Cipher {
    /// A cipher with a key of 16, 24 or 32 bytes; `None` for other lengths.
    pub(crate) fn new(key: &[u8]) -> Option<Cipher> {
        let algorithm = match key.len() {
            16 => &AES_128_GCM,
            24 => &AES_192_GCM,
            32 => &AES_256_GCM,
            _ => return None,
        };
        UnboundKey::new(algorithm, key).ok().map(|key| Cipher(LessSafeKey::new(key)))
    }

    /// Appends a payload.
    pub(crate) fn seal_onto(&self, bytes: &mut Vec<u8>, aad: &[u8], plain: &[u8]) -> Result<(), CipherError> {
        let mut nonce = [0; NONCE_LEN];
        aws_lc_rs::rand::fill(&mut nonce).map_err(|_| CipherError::Random(RandomError))?;
        // Reserves the whole size before writing: a reallocation would leave a copy of the plain text in memory.
        bytes.reserve_exact(plain.len() + OVERHEAD);
        bytes.extend_from_slice(&nonce);
        let start = bytes.len();
        bytes.extend_from_slice(plain);
        let nonce = Nonce::assume_unique_for_key(nonce);
        match self.0.seal_in_place_separate_tag(nonce, Aad::from(aad), &mut bytes[start..]) {
            Ok(tag) => {
                bytes.extend_from_slice(tag.as_ref());
                Ok(())
            }
            // The plain text must not stay in memory.
            Err(_) => {
                bytes[start..].zeroize();
                bytes.truncate(start - NONCE_LEN);
                Err(CipherError::Long)
            }
        }
    }

    /// The plain text of a payload.
    pub(crate) fn open(&self, aad: &[u8], payload: &[u8]) -> Result<Zeroizing<Vec<u8>>, CipherError> {
        let (nonce, sealed) = payload.split_first_chunk::<NONCE_LEN>().ok_or(CipherError::Short)?;
        let length = sealed.len().checked_sub(TAG_LENGTH).ok_or(CipherError::Short)?;
        let (sealed, tag) = sealed.split_at(length);
        let mut plain = Zeroizing::new(vec![0; length]);
        let nonce = Nonce::assume_unique_for_key(*nonce);
        self.0.open_separate_gather(nonce, Aad::from(aad), sealed, tag, &mut plain).map_err(|_| CipherError::Wrong)?;
        Ok(plain)
    }
}

/// The number of payloads and bytes that a key may still seal.
#[derive(Debug)]
pub(crate) struct Budget {
    seals: AtomicU64,
    bytes: AtomicU64,
}

impl Budget {
    /// The budget of a new key.
    pub(crate) fn whole() -> Budget {
        Budget::of(MOST_SEALS, MOST_BYTES)
    }

    fn of(seals: u64, bytes: u64) -> Budget {
        Budget { seals: AtomicU64::new(seals), bytes: AtomicU64::new(bytes) }
    }

    /// Reduces the budget by one seal of `bytes` bytes. Returns `false` if the rest of the budget is too small; the
    /// refused seal may still be counted. `first` says that the key has sealed nothing yet. The first seal is always
    /// allowed, because otherwise no key could seal a payload that is larger than a whole budget.
    pub(crate) fn take(&self, bytes: u64, first: bool) -> bool {
        let spend = |left: &AtomicU64, much: u64| {
            left.fetch_update(Ordering::Relaxed, Ordering::Relaxed, |left| match left.checked_sub(much) {
                None if first => Some(0),
                rest => rest,
            })
            .is_ok()
        };
        spend(&self.seals, 1) && spend(&self.bytes, bytes)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_budget_is_exhausted() {
        let budget = Budget::of(3, 10);
        assert!(budget.take(4, false) && budget.take(6, false));
        assert!(!budget.take(1, false), "no byte is left");
        assert!(!budget.take(0, false), "no seal is left");
        let budget = Budget::of(3, 10);
        assert!(budget.take(20, true) && !budget.take(1, false));
    }

    #[test]
    fn keys_have_three_lengths() {
        for length in 0..70 {
            assert_eq!(Cipher::new(&vec![1; length]).is_some(), [16, 24, 32].contains(&length), "{length}");
        }
    }

    #[test]
    fn every_length_opens_and_a_changed_bit_is_detected() {
        let cipher = Cipher::new(&[7; 24]).unwrap();
        let mut sealed = vec![1, 2, 3];
        cipher.seal_onto(&mut sealed, b"aad", b"plain").unwrap();
        let payload = &sealed[3..];
        assert_eq!(payload.len(), 5 + OVERHEAD);
        assert_eq!(cipher.open(b"aad", payload).unwrap().as_slice(), b"plain");
        assert_eq!(cipher.open(b"aae", payload).unwrap_err(), CipherError::Wrong);
        for bit in 0..payload.len() * 8 {
            let mut changed = payload.to_vec();
            changed[bit / 8] ^= 1 << (bit % 8);
            assert_eq!(cipher.open(b"aad", &changed).unwrap_err(), CipherError::Wrong);
        }
        for length in 0..payload.len() {
            assert!(cipher.open(b"aad", &payload[..length]).is_err());
        }
    }
}
