//! External key providers and methods: the input and output of their commands.
//!
//! Sources: the schemas of OpenTofu's external key provider and method (`protocol/*.schema.json`). The example in
//! OpenTofu's documentation has the field `key`, but the schema, existing programs and OpenTofu itself use `keys`.

use std::borrow::Cow;

use base64::Engine as _;
use base64::prelude::BASE64_STANDARD;
use serde::{Deserialize, Serialize};
use serde_json::value::RawValue;
use zeroize::Zeroizing;

use crate::command::{self, COMMAND_TIME, CommandError, Input, OutputProblem};
use crate::json::JsonProblem;
use crate::limits::{LARGEST_ENVELOPE, LONGEST_METADATA};
use crate::secret::Secret;

/// The `magic` of a key provider's command.
pub const KEY_PROVIDER_MAGIC: &str = "OpenTofu-External-Key-Provider";

/// The `magic` of a method's command.
pub const METHOD_MAGIC: &str = "OpenTofu-External-Encryption-Method";

/// The maximum size of the output of a key provider's command, in bytes. The output has the key for encryption, the key
/// for decryption, and the metadata. The metadata has a limit of its own.
pub const MOST_KEYS_OUTPUT: u64 = 1 << 20;

/// The maximum size of the output of a method's command, in bytes. When the command encrypts, the output has the base64
/// of a sealed payload, as an envelope does. The limit also applies when the command decrypts.
pub const MOST_PAYLOAD_OUTPUT: u64 = LARGEST_ENVELOPE;

/// The metadata of a command. It is preserved exactly, including the digits of numbers.
#[derive(Serialize, Deserialize)]
struct CommandMetadata<'a> {
    #[serde(borrow)]
    external_data: Option<&'a RawValue>,
}

#[derive(Deserialize)]
struct KeysOutput<'a> {
    #[serde(borrow)]
    keys: KeyPair<'a>,
    #[serde(borrow)]
    meta: CommandMetadata<'a>,
}

#[derive(Deserialize)]
struct KeyPair<'a> {
    #[serde(borrow)]
    encryption_key: Cow<'a, str>,
    #[serde(borrow, default)]
    decryption_key: Option<Cow<'a, str>>,
}

#[derive(Serialize)]
struct PayloadInput<'a> {
    #[serde(skip_serializing_if = "Option::is_none")]
    key: Option<&'a str>,
    payload: &'a str,
}

#[derive(Deserialize)]
struct PayloadOutput<'a> {
    #[serde(borrow)]
    payload: Cow<'a, str>,
}

/// Asks a command for a new key to encrypt with. Also returns the metadata to store with the ciphertext.
pub(crate) fn new_key(command: &[String]) -> Result<(Secret, Vec<u8>), CommandError> {
    let output = ask_for_keys(command, "null".to_owned())?;
    let read = read_output::<KeysOutput<'_>>(command, &output)?;
    let key = key(command, "encryption_key", Some(&read.keys.encryption_key))?;
    let metadata = written(&read.meta);
    if metadata.len() > LONGEST_METADATA {
        return Err(unusable(command, OutputProblem::LongMetadata(metadata.len())));
    }
    Ok((key, metadata))
}

/// Asks a command for the key that this metadata describes.
pub(crate) fn key_of(command: &[String], metadata: &[u8]) -> Result<Secret, KeysError> {
    let metadata =
        serde_json::from_slice::<CommandMetadata<'_>>(metadata).map_err(|error| KeysError::Metadata(error.into()))?;
    // The bytes are valid UTF-8, because they are JSON that was just written.
    let input = String::from_utf8_lossy(&written(&metadata)).into_owned();
    let output = ask_for_keys(command, input)?;
    let read = read_output::<KeysOutput<'_>>(command, &output)?;
    Ok(key(command, "decryption_key", read.keys.decryption_key.as_deref())?)
}

fn ask_for_keys(command: &[String], input: String) -> Result<Zeroizing<Vec<u8>>, CommandError> {
    command::run(command, KEY_PROVIDER_MAGIC, Input::Open(input), MOST_KEYS_OUTPUT, COMMAND_TIME)
}

fn key(command: &[String], name: &'static str, text: Option<&str>) -> Result<Secret, CommandError> {
    match BASE64_STANDARD.decode(text.unwrap_or_default()) {
        Err(_) => Err(unusable(command, OutputProblem::Base64(name))),
        Ok(key) if key.is_empty() => Err(unusable(command, OutputProblem::NoKey(name))),
        Ok(key) => Ok(Secret::new(key)),
    }
}

fn read_output<'a, T: Deserialize<'a>>(command: &[String], output: &'a [u8]) -> Result<T, CommandError> {
    serde_json::from_slice(output).map_err(|error| unusable(command, OutputProblem::Json(error.into())))
}

fn unusable(command: &[String], problem: OutputProblem) -> CommandError {
    CommandError::Output { program: command.first().cloned().unwrap_or_default(), problem }
}

/// Why the command of a key provider returns no keys.
#[derive(Debug)]
pub(crate) enum KeysError {
    /// The metadata was not written by a command.
    Metadata(JsonProblem),
    /// The command failed.
    Command(CommandError),
}

impl From<CommandError> for KeysError {
    fn from(error: CommandError) -> KeysError {
        KeysError::Command(error)
    }
}

/// The metadata as JSON, in the form that is stored and sent.
fn written(metadata: &CommandMetadata<'_>) -> Vec<u8> {
    // The schema requires an object. OpenTofu stores null for a program without metadata.
    let data = metadata.external_data.map(RawValue::get).filter(|text| text.starts_with('{')).unwrap_or("{}");
    format!("{{\"external_data\":{data}}}").into_bytes()
}

/// Encrypts or decrypts a payload with a command.
pub(crate) fn payload(
    command: &[String],
    key: Option<&Secret>,
    payload: &[u8],
) -> Result<Zeroizing<Vec<u8>>, CommandError> {
    let key = key.map(|key| Zeroizing::new(BASE64_STANDARD.encode(key.expose())));
    let payload = Zeroizing::new(BASE64_STANDARD.encode(payload));
    let input = PayloadInput { key: key.as_ref().map(|key| key.as_str()), payload: &payload };
    // Text can always be encoded as JSON.
    let input = Input::Secret(Zeroizing::new(serde_json::to_string(&input).unwrap_or_default()));
    let output = command::run(command, METHOD_MAGIC, input, MOST_PAYLOAD_OUTPUT, COMMAND_TIME)?;
    let read = read_output::<PayloadOutput<'_>>(command, &output)?;
    match BASE64_STANDARD.decode(read.payload.as_bytes()) {
        Ok(payload) => Ok(Zeroizing::new(payload)),
        Err(_) => Err(unusable(command, OutputProblem::Base64("payload"))),
    }
}
