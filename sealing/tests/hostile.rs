//! Tests with tampered files and records. The result is an error or the original plain text. There is no panic, and no
//! derivation takes hours.

mod block;

use std::num::NonZeroU32;
use std::time::Instant;

use aws_lc_rs::aead::{AES_256_GCM, Aad, LessSafeKey, Nonce, UnboundKey};
use aws_lc_rs::pbkdf2;
use base64::Engine as _;
use base64::prelude::BASE64_STANDARD;
use block::*;
use weft_sealing::*;

/// The number of mutations of each file or record.
const ROUNDS: u64 = 6_000;

/// The metadata of a key with one iteration. Settings with one iteration would be refused, but metadata may have it.
/// The derivation is fast, so thousands of mutations can be tested.
const CHEAP: &str = r#"{"salt":"c2FsdCBvZiB0aGUgZWFydGg=","iterations":1,"hash_function":"sha512","key_length":32}"#;

fn cheap_payload(plain: &[u8]) -> Vec<u8> {
    let mut key = [0; 32];
    let iterations = NonZeroU32::new(1).unwrap();
    pbkdf2::derive(pbkdf2::PBKDF2_HMAC_SHA512, iterations, b"salt of the earth", PASSPHRASE.as_bytes(), &mut key);
    sealed(&key, b"", plain)
}

/// Returns the nonce, the ciphertext and the tag.
fn sealed(key: &[u8], aad: &[u8], plain: &[u8]) -> Vec<u8> {
    let key = LessSafeKey::new(UnboundKey::new(&AES_256_GCM, key).unwrap());
    let nonce = [9; 12];
    let mut bytes = plain.to_vec();
    key.seal_in_place_append_tag(Nonce::assume_unique_for_key(nonce), Aad::from(aad), &mut bytes).unwrap();
    [&nonce[..], &bytes].concat()
}

fn cheap_envelope(metadata: &[u8]) -> Vec<u8> {
    format!(
        "{{\"serial\":7,\"lineage\":\"one\",\"meta\":{{\"key_provider.pbkdf2.main\":\"{}\"}},\"encrypted_data\":\"{}\",\
         \"encryption_version\":\"v0\"}}",
        BASE64_STANDARD.encode(metadata),
        BASE64_STANDARD.encode(cheap_payload(STATE)),
    )
    .into_bytes()
}

/// A record, in the format that the documentation of the module describes.
fn cheap_record(metadata: &[u8], context: &[u8], plain: &[u8]) -> Vec<u8> {
    let record_key = [5; 32];
    let wrapped = cheap_payload(&[b"weft record key", &record_key[..]].concat());
    let mut header = vec![1];
    for part in ["key_provider.pbkdf2.main".as_bytes(), metadata] {
        header.extend_from_slice(&u16::try_from(part.len()).unwrap().to_le_bytes());
        header.extend_from_slice(part);
    }
    header.extend_from_slice(&wrapped);
    let length = u32::try_from(header.len()).unwrap().to_le_bytes();
    let prefix = [b"\xc1WeftRec\x01", &length[..], &header].concat();
    [&prefix[..], &sealed(&record_key, &[&prefix, context].concat(), plain)].concat()
}

/// Pseudorandom numbers from a seed (splitmix64).
struct Random(u64);

impl Random {
    fn next(&mut self) -> u64 {
        self.0 = self.0.wrapping_add(0x9e37_79b9_7f4a_7c15);
        let mixed = (self.0 ^ (self.0 >> 30)).wrapping_mul(0xbf58_476d_1ce4_e5b9);
        let mixed = (mixed ^ (mixed >> 27)).wrapping_mul(0x94d0_49bb_1331_11eb);
        mixed ^ (mixed >> 31)
    }

    fn below(&mut self, bound: usize) -> usize {
        (self.next() % bound.max(1) as u64) as usize
    }

    /// Returns a copy with one to four random changes.
    fn mutated(&mut self, bytes: &[u8]) -> Vec<u8> {
        const WORDS: [&str; 10] =
            ["\"", "}", "{", "null", "0", "-1", "\\u0000", "\"version\":4,", "\"meta\":{},", "\u{e9}"];
        let mut bytes = bytes.to_vec();
        for _ in 0..=self.below(4) {
            let at = self.below(bytes.len());
            let end = (at + self.below(9)).min(bytes.len());
            match self.below(7) {
                _ if bytes.is_empty() => bytes.push(0),
                0 => bytes[at] ^= 1 << self.below(8),
                1 => bytes[at] = self.next() as u8,
                2 => _ = bytes.drain(at..end),
                3 => bytes.truncate(at),
                4 => {
                    let copy = bytes[at..end].to_vec();
                    let to = self.below(bytes.len());
                    bytes.splice(to..to, copy);
                }
                5 => _ = bytes.splice(at..at, WORDS[self.below(WORDS.len())].bytes()),
                _ => {
                    let other = self.below(bytes.len());
                    bytes.swap(at, other);
                }
            }
        }
        bytes
    }
}

#[test]
fn handwritten_files_open() {
    let sealing = simple(PASSPHRASE).sealing();
    assert_eq!(sealing.open_state(&cheap_envelope(CHEAP.as_bytes())).unwrap().plain.as_slice(), STATE);
    let record = cheap_record(CHEAP.as_bytes(), b"place", b"plain");
    assert_eq!(sealing.open_record(&TargetName::State, b"place", &record).unwrap().plain.as_slice(), b"plain");
    // A key that was derived with one iteration is weak, so it is not adopted for new records.
    let new = sealing.seal_record(&TargetName::State, b"place", b"plain").unwrap();
    assert!(new.windows(19).any(|window| window == b"\"iterations\":200000"));
}

#[test]
fn mutated_envelopes_open_to_the_same_or_not_at_all() {
    let sealing = simple(PASSPHRASE).sealing();
    let nothing = Sealing::default();
    let envelope = cheap_envelope(CHEAP.as_bytes());
    let mut opened = 0;
    for seed in 0..ROUNDS {
        let mut random = Random(seed);
        let mutant =
            if seed % 3 == 0 { cheap_envelope(&random.mutated(CHEAP.as_bytes())) } else { random.mutated(&envelope) };
        for result in [sealing.open_state(&mutant), sealing.open_plan(&mutant)] {
            match result {
                Ok(result) => {
                    assert_eq!((result.plain.as_slice(), result.through), (STATE, Through::Main), "seed {seed}");
                    opened += 1;
                }
                Err(error) => assert!(!error.to_string().contains("correct horse"), "seed {seed}"),
            }
        }
        if let Ok(passed) = nothing.open_state(&mutant) {
            assert_eq!((passed.plain.as_slice(), passed.through), (&mutant[..], Through::Plain), "seed {seed}");
        }
    }
    assert!(opened > 0, "some mutants only differ in spaces or unknown keys");
}

#[test]
fn mutated_records_open_to_the_same_or_not_at_all() {
    let sealing = simple(PASSPHRASE).sealing();
    let record = cheap_record(CHEAP.as_bytes(), b"place", b"plain");
    for seed in 0..ROUNDS {
        let mut random = Random(seed);
        let mutant = if seed % 3 == 0 {
            cheap_record(&random.mutated(CHEAP.as_bytes()), b"place", b"plain")
        } else {
            random.mutated(&record)
        };
        if let Ok(opened) = sealing.open_record(&TargetName::State, b"place", &mutant) {
            assert_eq!(opened.plain.as_slice(), b"plain", "seed {seed}");
        }
        _ = Sealing::default().open_record(&TargetName::State, b"place", &mutant);
    }
}

#[test]
fn metadata_cannot_cause_derivations_of_hours() {
    let sealing = simple(PASSPHRASE).sealing();
    let begun = Instant::now();
    for (from, to, expected) in [
        (
            "\"iterations\":1",
            "\"iterations\":4000000000",
            "iterations is 4000000000, but at most 100000000 are accepted",
        ),
        ("\"iterations\":1", "\"iterations\":18446744073709551615", "at most 100000000 are accepted"),
        ("\"iterations\":1", "\"iterations\":18446744073709551616", "JSON of an unexpected form"),
        ("\"iterations\":1", "\"iterations\":0", "iterations is 0, but at least 1 are needed"),
        ("\"iterations\":1", "\"iterations\":-1", "JSON of an unexpected form"),
        ("\"iterations\":1", "\"iterations\":1.5", "JSON of an unexpected form"),
        ("\"key_length\":32", "\"key_length\":1000000", "key_length is 1000000, but at most 1024 are accepted"),
        ("\"key_length\":32", "\"key_length\":0", "key_length is 0, but at least 1 are needed"),
        ("\"iterations\":1,", "\"iterations\":10000000,", "has 1024 bytes, but must have 16, 24 or 32"),
        ("sha512", "sha1", "hash_function is \"sha1\""),
        ("c2FsdCBvZiB0aGUgZWFydGg=", "", "salt_length is 0, but at least 1 are needed"),
        ("c2FsdCBvZiB0aGUgZWFydGg=", "?", "its salt is not base64"),
    ] {
        let mut metadata = CHEAP.replace(from, to);
        if to.contains("10000000,") {
            // A long key has many blocks, which reduces the maximum number of iterations.
            metadata = metadata.replace("\"key_length\":32", "\"key_length\":1024");
            let error = sealing.open_state(&cheap_envelope(metadata.as_bytes())).unwrap_err().to_string();
            assert!(error.contains("at most 6250000 are accepted"), "{error}");
            metadata = metadata.replace("10000000", "1");
        }
        let error = sealing.open_state(&cheap_envelope(metadata.as_bytes())).unwrap_err().to_string();
        assert!(error.contains(expected), "{to}: {error}");
    }
    let salt = BASE64_STANDARD.encode([0; 1025]);
    let metadata = CHEAP.replace("c2FsdCBvZiB0aGUgZWFydGg=", &salt);
    let error = sealing.open_state(&cheap_envelope(metadata.as_bytes())).unwrap_err().to_string();
    assert!(error.contains("salt_length is 1025, but at most 1024"), "{error}");
    assert!(begun.elapsed().as_secs() < 10);
}

#[test]
fn envelopes_of_other_shapes_are_refused() {
    let sealing = simple(PASSPHRASE).sealing();
    let envelope = String::from_utf8(cheap_envelope(CHEAP.as_bytes())).unwrap();
    let error = |from: &str, to: &str| {
        assert!(envelope.contains(from));
        match sealing.open_state(envelope.replace(from, to).as_bytes()).unwrap_err() {
            OpenError::Envelope { error, .. } => error,
            other => panic!("{other}"),
        }
    };
    assert_eq!(error("\"v0\"", "\"v1\""), EnvelopeError::Version { version: "v1".to_owned() });
    assert!(matches!(error("\"serial\":7", "\"serial\":\"7\""), EnvelopeError::Json(_)));
    assert!(matches!(error("\"serial\":7", "\"serial\":7,\"serial\":7"), EnvelopeError::Json(_)));
    assert!(matches!(error("\"encrypted_data\":\"", "\"encrypted_data\":\"!"), EnvelopeError::Base64 { .. }));
    // Deep nesting is skipped without recursion.
    let deep = format!("{}{}", "[".repeat(1_000_000), "]".repeat(1_000_000));
    let deep = envelope.replacen('{', &format!("{{\"deep\":{deep},"), 1);
    assert!(sealing.open_state(deep.as_bytes()).is_ok());
    // Untrusted text must not control the terminal.
    let steering = envelope.replace("key_provider.pbkdf2.main", "\\u001b[2J");
    let error = sealing.open_state(steering.as_bytes()).unwrap_err().to_string();
    assert!(error.contains("\\u{1b}[2J") && !error.contains('\u{1b}'), "{error}");
}
