//! Conversions between plain data and its form in Redis and in the answers of scripts.

use percent_encoding::{AsciiSet, CONTROLS, percent_decode_str, utf8_percent_encode};
use redis::Value;

use weft_graph_format::address::DeposedKey;

use crate::content::bytes_of;
use crate::record::Opaque;
use crate::run::{Attempt, Digest, OpIndex, OpRecord, OpStatus, RunId, Token, WorkerId};
use crate::subject::{Doubt, DoubtKey, Revision, Subject};

/// The version of the encoding of records. It is the first byte of a record.
const RECORD_FORMAT: u8 = 1;

/// The bytes of a record, with the version of the encoding.
pub(super) fn record_bytes(record: &impl serde::Serialize) -> Vec<u8> {
    let mut bytes = vec![RECORD_FORMAT];
    bytes.extend(bytes_of(record));
    bytes
}

/// Decodes a record. `None` if the bytes have another version or are damaged.
pub(super) fn record<Record: serde::de::DeserializeOwned>(bytes: &[u8]) -> Option<Record> {
    let (version, rest) = bytes.split_first()?;
    (*version == RECORD_FORMAT).then(|| postcard::from_bytes(rest).ok()).flatten()
}

/// The revision in a stored value, and the stored bytes of the record after it.
pub(super) fn stored(value: &[u8]) -> Option<(Revision, &[u8])> {
    let end = value.iter().position(|byte| *byte == b'\n')?;
    let revision = std::str::from_utf8(&value[..end]).ok()?.parse().ok()?;
    Some((Revision(revision), &value[end + 1..]))
}

/// The first byte of stored bytes with a digest. No record and no sealed record begins with it.
const DIGESTED: u8 = 2;
/// The length of the digest in stored bytes: enough to detect damage.
const DIGEST_BYTES: usize = 16;

fn stored_digest(name: &str, bytes: &[u8]) -> [u8; DIGEST_BYTES] {
    let mut hasher = blake3::Hasher::new();
    hasher.update(name.as_bytes()).update(&[0]).update(bytes);
    let mut digest = [0; DIGEST_BYTES];
    hasher.finalize_xof().fill(&mut digest);
    digest
}

/// The stored form of these bytes, with a digest of the bytes and of the name under which they are stored.
pub(super) fn digested(name: &str, bytes: &[u8]) -> Vec<u8> {
    [&[DIGESTED], stored_digest(name, bytes).as_slice(), bytes].concat()
}

/// Stored bytes without their digest.
pub(super) struct Undigested<'a> {
    pub(super) bytes: &'a [u8],
    /// Whether the bytes had a digest. Bytes that an earlier version stored have none.
    pub(super) has_digest: bool,
}

/// Removes the digest from stored bytes. Returns `None` if the bytes were changed, or were stored under another name.
pub(super) fn undigested<'a>(name: &str, stored: &'a [u8]) -> Option<Undigested<'a>> {
    let Some((&DIGESTED, rest)) = stored.split_first() else {
        return Some(Undigested { bytes: stored, has_digest: false });
    };
    let (digest, bytes) = rest.split_at_checked(DIGEST_BYTES)?;
    (digest == stored_digest(name, bytes)).then_some(Undigested { bytes, has_digest: true })
}

/// A subject as text: its kind, a colon, its name.
pub(super) fn subject_text(subject: &Subject) -> String {
    match subject {
        Subject::Instance(address) => format!("i:{address}"),
        Subject::Output(name) => format!("o:{name}"),
        Subject::Checks => "c:".to_owned(),
        Subject::Dependents(address) => format!("d:{address}"),
    }
}

/// Parses a subject.
pub(super) fn subject(text: &str) -> Option<Subject> {
    match text.split_once(':')? {
        ("i", address) => Some(Subject::Instance(address.to_owned())),
        ("o", name) => Some(Subject::Output(name.to_owned())),
        ("c", "") => Some(Subject::Checks),
        ("d", address) => Some(Subject::Dependents(address.to_owned())),
        _ => None,
    }
}

/// The characters that are percent-encoded in a word.
const NOT_IN_WORDS: &AsciiSet = &CONTROLS.add(b' ').add(b'%');

/// Text in percent-encoding without white space. Empty text is `-`, and a single dash is `%2D`.
pub(super) fn word(text: &str) -> String {
    match text {
        "" => "-".to_owned(),
        "-" => "%2D".to_owned(),
        text => utf8_percent_encode(text, NOT_IN_WORDS).to_string(),
    }
}

/// The text of a percent-encoded word.
pub(super) fn unword(word: &str) -> Option<String> {
    if word == "-" {
        return Some(String::new());
    }
    percent_decoded(word)
}

/// Decodes percent-encoded text. `None` if it is malformed or not UTF-8.
pub(super) fn percent_decoded(text: &str) -> Option<String> {
    let malformed =
        |(at, _)| !text.as_bytes().get(at + 1..at + 3).is_some_and(|two| two.iter().all(u8::is_ascii_hexdigit));
    if text.match_indices('%').any(malformed) {
        return None;
    }
    percent_decode_str(text).decode_utf8().ok().map(|text| text.into_owned())
}

/// The object of an intent or doubt as one word.
pub(super) fn target_word(key: &DoubtKey) -> String {
    word(&format!("{}\0{}", key.address, key.deposed.as_ref().map(DeposedKey::as_str).unwrap_or_default()))
}

/// Parses the object of an intent or doubt.
pub(super) fn target(text: &str) -> Option<DoubtKey> {
    let text = unword(text)?;
    let (address, deposed) = text.split_once('\0')?;
    let deposed = if deposed.is_empty() { None } else { Some(DeposedKey::parse(deposed)?) };
    Some(DoubtKey { address: address.to_owned(), deposed })
}

/// A doubt from its key and value.
pub(super) fn doubt(key: &str, value: &str) -> Option<Doubt> {
    let mut words = value.split(' ');
    Some(Doubt {
        key: target(key)?,
        run: RunId::parse(words.next()?)?,
        op: OpIndex(words.next()?.parse().ok()?),
        attempt: Attempt(words.next()?.parse().ok()?),
        worker: WorkerId(unword(words.next()?)?),
        action: unword(words.next()?)?.as_str().into(),
        planned: Digest::parse(words.next()?)?,
        reason: unword(words.next()?)?,
    })
}

/// The letter for a status.
pub(super) fn status_letter(status: OpStatus) -> &'static str {
    match status {
        OpStatus::Pending => "P",
        OpStatus::Intended => "I",
        OpStatus::Done => "D",
        OpStatus::Failed => "F",
        OpStatus::InDoubt => "Q",
        OpStatus::Skipped => "S",
    }
}

/// The status for a letter.
pub(super) fn status(letter: &str) -> Option<OpStatus> {
    let all =
        [OpStatus::Pending, OpStatus::Intended, OpStatus::Done, OpStatus::Failed, OpStatus::InDoubt, OpStatus::Skipped];
    all.into_iter().find(|status| status_letter(*status) == letter)
}

/// The length of the digests in journal lines: enough to detect damage.
const SHORT: usize = 16;

/// A short digest, in the form of journal lines.
pub(super) fn short_digest(bytes: &[u8]) -> String {
    let mut hex = Digest::of(bytes).hex();
    hex.truncate(SHORT);
    hex
}

/// The short digest of an outcome with its mark.
pub(super) fn outcome_digest(mark: u8, outcome: &[u8]) -> String {
    short_digest(&[&[mark], outcome].concat())
}

/// The word in place of the digest if there is no payload.
pub(super) const NO_PAYLOAD: &str = "-";

/// The part of a journal line that the client passes to the script: `LINE PAYLOAD CHECK`. `payload` is the digest of
/// the payload that the step stores, or [`NO_PAYLOAD`]. `CHECK` is a digest of all three parameters. `digest` is the
/// digest of the event.
///
/// The script stores `LINK DIGEST LINE PAYLOAD CHECK`. `LINK` is a hash of the previous link and `digest`.
pub(super) fn checked_line(line: &str, payload: &str, digest: &str) -> String {
    let check = short_digest(format!("{digest} {line} {payload}").as_bytes());
    format!("{line} {payload} {check}")
}

/// The digest of the payload in a journal line, or `None` if the line was changed. `line` is the part of the journal
/// line after its link. `Some(None)` means that an earlier version of Weft wrote the line, which has no `PAYLOAD` and
/// no `CHECK`.
pub(super) fn payload_of(line: &str) -> Option<Option<&str>> {
    /// The number of words in a line of an earlier version: digest, event, operation, attempt, worker.
    const WORDS: usize = 5;
    if line.split(' ').count() == WORDS {
        return Some(None);
    }
    let (text, check) = line.rsplit_once(' ')?;
    let payload = text.split(' ').nth(WORDS)?;
    (short_digest(text.as_bytes()) == check).then_some(Some(payload))
}

/// Marks a payload as the result of a commit.
pub(super) const RESULT: u8 = b'R';
/// Marks a payload as a failure.
pub(super) const FAILURE: u8 = b'F';

/// The mark of an outcome, and the stored bytes of the outcome.
pub(super) type KeptOutcome<'a> = (u8, &'a [u8]);

/// Decodes an operation and its outcome from the stored value.
pub(super) fn op(value: &[u8]) -> Option<(OpRecord, Option<KeptOutcome<'_>>)> {
    let end = value.iter().position(|byte| *byte == b'\n')?;
    let mut words = std::str::from_utf8(&value[..end]).ok()?.split(' ');
    let mut op = OpRecord {
        status: status(words.next()?)?,
        attempt: Attempt(words.next()?.parse().ok()?),
        worker: WorkerId(unword(words.next()?)?),
        ..OpRecord::default()
    };
    let _settled = words.next()?;
    op.planned = match words.next()? {
        "-" => Digest::default(),
        digest => Digest::parse(digest)?,
    };
    op.target = match words.next()? {
        "-" => None,
        text => Some(target(text)?),
    };
    let action = unword(words.next()?)?;
    op.action = op.target.is_some().then(|| action.as_str().into());
    Some((op, value[end + 1..].split_first().map(|(mark, outcome)| (*mark, outcome))))
}

/// Adds the outcome to the operation. `mark` is the kind of outcome. `None` if the outcome cannot be decoded.
pub(super) fn with_outcome(mut op: OpRecord, mark: u8, outcome: Vec<u8>) -> Option<OpRecord> {
    match mark {
        RESULT => op.result = Some(Opaque(outcome)),
        FAILURE => op.failure = Some(record(&outcome)?),
        _ => return None,
    }
    Some(op)
}

/// A token from its text `EPOCH:TERM`.
pub(super) fn token(text: &str) -> Option<Token> {
    let (epoch, term) = text.split_once(':')?;
    Some(Token { epoch: epoch.parse().ok()?, term: u128::from_str_radix(term, 16).ok()? })
}

/// The answer of a script: strings and lists.
#[derive(Clone, Debug)]
pub(super) struct Words(pub(super) Vec<Value>);

impl Words {
    /// The text at this position, or empty text.
    pub(super) fn text(&self, at: usize) -> String {
        match self.0.get(at) {
            Some(value) => text(value),
            None => String::new(),
        }
    }

    /// The list of strings at this position.
    pub(super) fn list(&self, at: usize) -> Vec<String> {
        match self.0.get(at) {
            Some(Value::Array(values)) => values.iter().map(text).collect(),
            _ => Vec::new(),
        }
    }

    /// All strings from this position on.
    pub(super) fn rest(&self, at: usize) -> Vec<String> {
        self.0.iter().skip(at).map(text).collect()
    }
}

/// A value as text.
pub(super) fn text(value: &Value) -> String {
    match value {
        Value::BulkString(bytes) => String::from_utf8_lossy(bytes).into_owned(),
        Value::SimpleString(text) => text.clone(),
        Value::Okay => "OK".to_owned(),
        Value::Int(number) => number.to_string(),
        _ => String::new(),
    }
}

/// A value as bytes; `None` for nil.
pub(super) fn bytes(value: Value) -> Option<Vec<u8>> {
    match value {
        Value::BulkString(bytes) => Some(bytes),
        Value::SimpleString(text) => Some(text.into_bytes()),
        Value::Int(number) => Some(number.to_string().into_bytes()),
        _ => None,
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_changed_record_is_noticed() {
        let stored = digested("i:a", b"record");
        let found = undigested("i:a", &stored).unwrap();
        assert_eq!((found.bytes, found.has_digest), (b"record".as_slice(), true));
        assert!(undigested("i:b", &stored).is_none());
        assert!(undigested("i:a", &stored[..DIGEST_BYTES]).is_none());
        for at in 1..stored.len() {
            let mut changed = stored.clone();
            changed[at] ^= 1;
            assert!(undigested("i:a", &changed).is_none(), "{at}");
        }
        // Records of earlier versions begin with the version of the encoding.
        let earlier = record_bytes(&7_u8);
        assert!(!undigested("i:a", &earlier).unwrap().has_digest);
    }

    #[test]
    fn a_word_can_encode_any_text() {
        for text in ["", "-", "--", "a b", "%", "%41", "a\u{0}b\nc\u{7f}", "größe\u{a0}x", "vm:1/2"] {
            let made = word(text);
            assert!(!made.is_empty() && !made.contains(char::is_whitespace), "{made:?}");
            assert_eq!(unword(&made).as_deref(), Some(text));
        }
        for (text, expected) in [("vm:1/2", "vm:1/2"), ("a b", "a%20b"), ("", "-"), ("-", "%2D")] {
            assert_eq!(word(text), expected);
        }
        for malformed in ["%", "%4", "%+1", "%zz", "%ff"] {
            assert_eq!(unword(malformed), None, "{malformed}");
        }
    }
}
