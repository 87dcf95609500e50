//! `weft plan sign` and `weft plan verify`: sign plan files, and verify their signatures.

use std::io::Write as _;
use std::time::{Duration, SystemTime};

use weft_graph_format::diagnostic::Diagnostic;
use weft_graph_format::plan_file::PlanReader;
use weft_identity::signature::SigningKey;
use weft_state::Digest;

use crate::command::{self, Command, Invocation, OnMistake};
use crate::commands::problems;
use crate::exit::Exit;
use crate::options::{Takes, option, text};
use crate::render::counted::counted;
use crate::sealing::plan_bytes;
use crate::signature;

/// The default validity of a signature, in hours.
const HOURS: usize = 24;
/// The maximum validity, in hours. By default, stores delete finished runs after 30 days, or earlier if there are many
/// newer runs. A store cannot detect that a plan was already applied after its run was deleted.
const MAX_HOURS: usize = 30 * 24;

/// The command.
pub const SIGN: Command = Command {
    words: &["plan", "sign"],
    alias: None,
    operands: "PLAN",
    about: "Sign a plan file, so that it may be applied",
    main: false,
    flags: &[
        command::VIEW,
        command::VARIABLES_UNLISTED,
        &[
            text("key", "FILE", "The private key: Ed25519 in PEM form."),
            text("signature", "FILE", "Where to write the signature. [default: PLAN.sig]"),
            option("hours", Takes::Number, "How long the signature is valid. [default: 24]"),
        ],
    ],
    mixed: true,
    on_mistake: OnMistake::Usage,
    check: command::unchecked,
    events: false,
    run: |invocation| finish(invocation, sign(invocation)),
};

/// The command.
pub const VERIFY: Command = Command {
    words: &["plan", "verify"],
    about: "Check the signature of a plan file",
    flags: &[
        command::VIEW,
        command::VARIABLES_UNLISTED,
        &[
            text("key", "FILE", "The trusted public keys: Ed25519 in PEM form."),
            text("signature", "FILE", "The signature. [default: PLAN.sig]"),
        ],
    ],
    run: |invocation| finish(invocation, verify(invocation)),
    ..SIGN
};

fn finish(invocation: &Invocation<'_>, done: Result<(), Vec<Diagnostic>>) -> Exit {
    match done {
        Ok(()) => Exit::DONE,
        Err(problems) => invocation.fail(&problems),
    }
}

/// The plan file in the arguments, and its digest. The digest of an encrypted plan is that of the decrypted contents.
fn plan<'i>(invocation: &'i Invocation<'_>) -> Result<(&'i str, Digest), Vec<Diagnostic>> {
    let [path] = invocation.arguments.positionals.as_slice() else {
        return Err(vec![problems::plan_file_expected()]);
    };
    let sealing = invocation.context.sealing(&invocation.arguments, None)?;
    let bytes = plan_bytes(&sealing, path).map_err(|error| vec![problems::not_a_plan(path, &error)])?;
    PlanReader::from_bytes(bytes.as_slice()).map_err(|error| vec![problems::not_a_plan(path, &error)])?;
    Ok((path, Digest::of(&bytes)))
}

fn key<'i>(invocation: &'i Invocation<'_>) -> Result<&'i str, Vec<Diagnostic>> {
    invocation.arguments.value("key").ok_or_else(|| vec![problems::key_expected()])
}

/// The validity of a signature in hours, from the text of the option.
fn hours(text: Option<&str>) -> Result<usize, Diagnostic> {
    let Some(text) = text else { return Ok(HOURS) };
    let hours = text.parse().ok().filter(|hours| (1..=MAX_HOURS).contains(hours));
    hours.ok_or_else(|| problems::hours_out_of_range(text, MAX_HOURS))
}

fn sign(invocation: &Invocation<'_>) -> Result<(), Vec<Diagnostic>> {
    let arguments = &invocation.arguments;
    let one = |problem: Diagnostic| vec![problem];
    let (path, digest) = plan(invocation)?;
    let hours = hours(arguments.value("hours")).map_err(one)?;
    let file = key(invocation)?;
    let pem = signature::small_file(file).map_err(one)?;
    let pem = pem.ok_or_else(|| one(crate::problems::key_file_missing(file)))?;
    let key = SigningKey::from_pem(&pem).map_err(|error| one(crate::problems::key_refused(file, &error)))?;
    let document = key.sign(&digest.hex(), SystemTime::now(), Duration::from_secs(hours as u64 * 3600));
    let to = signature::path(arguments, path);
    let written = std::fs::File::create(&to).and_then(|mut file| file.write_all(&document));
    written.map_err(|error| one(problems::signature_not_written(&to, &error)))?;
    invocation.view.line(&format!(
        "Signed the plan {digest}\nwith the key {}, for {}. The signature is in {to}.",
        key.id(),
        counted(hours, "hour")
    ));
    Ok(())
}

fn verify(invocation: &Invocation<'_>) -> Result<(), Vec<Diagnostic>> {
    let one = |problem: Diagnostic| vec![problem];
    let (path, digest) = plan(invocation)?;
    let trusted = signature::trusted_keys(key(invocation)?).map_err(one)?;
    let verified = signature::verify(&trusted, &signature::path(&invocation.arguments, path), digest).map_err(one)?;
    invocation.view.line(&format!(
        "The plan {digest}\nwas signed with the key {} on {}. The signature is valid until {}.",
        verified.key, verified.signed, verified.expires
    ));
    Ok(())
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_signature_is_valid_for_at_least_one_hour() {
        assert_eq!((hours(None), hours(Some("1")), hours(Some("720"))), (Ok(HOURS), Ok(1), Ok(MAX_HOURS)));
        for text in ["0", "721", "00"] {
            assert!(hours(Some(text)).is_err(), "{text}");
        }
    }
}
