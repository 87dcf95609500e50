//! `weft certs`: creates a certificate authority and certificates, for clusters that have no other authority.

mod problems;

use std::io::Write as _;
use std::os::unix::fs::OpenOptionsExt as _;
use std::path::{Path, PathBuf};
use std::time::Duration;

use weft_graph_format::diagnostic::Diagnostic;
use weft_identity::authority::{self, CertificateRequest, Issued};
use weft_identity::{Role, Roles, SpiffeId};

use crate::command::{self, Command, Invocation, OnMistake};
use crate::exit::Exit;
use crate::options::{Takes, option, text};

/// The file with the certificate of the authority.
const AUTHORITY: &str = "ca.pem";
/// The file with the key of the authority.
const AUTHORITY_KEY: &str = "ca-key.pem";
/// The default trust domain.
const DOMAIN: &str = "weft.local";
/// The default validity of an authority, in days.
const AUTHORITY_DAYS: usize = 3650;
/// The default validity of a certificate, in days.
const CERTIFICATE_DAYS: usize = 90;
/// The maximum validity, in days.
const MAX_DAYS: usize = 36_500;
/// The permissions of keys.
const PRIVATE: u32 = 0o600;
/// The permissions of certificates.
const PUBLIC: u32 = 0o644;

/// The command.
pub const INIT: Command = Command {
    words: &["certs", "init"],
    alias: None,
    operands: "",
    about: "Make a certificate authority for a cluster",
    main: false,
    flags: &[
        command::VIEW,
        &[
            text("dir", "DIR", "Directory for ca.pem and ca-key.pem. [default: the current one]"),
            text("domain", "NAME", "Trust domain of all names that it issues. [default: weft.local]"),
            option("days", Takes::Number, "How long the authority is valid. [default: 3650]"),
        ],
    ],
    mixed: true,
    on_mistake: OnMistake::Usage,
    check: command::unchecked,
    events: false,
    run: |invocation| finish(invocation, init(invocation)),
};

/// The command.
pub const ISSUE: Command = Command {
    words: &["certs", "issue"],
    operands: "NAME",
    about: "Issue a certificate for a person, a worker or a coordinator",
    flags: &[
        command::VIEW,
        &[
            text("dir", "DIR", "Directory of the authority, and of the new files. [default: the current one]"),
            text("role", "ROLE", "A role: read, plan, apply, resolve, admin, worker. Can be repeated."),
            text(
                "host",
                "HOST",
                "A host name or address where the coordinator may listen. Required for a coordinator. Can be repeated.",
            ),
            option("days", Takes::Number, "How long the certificate is valid. [default: 90]"),
        ],
    ],
    run: |invocation| finish(invocation, issue(invocation)),
    ..INIT
};

fn finish(invocation: &Invocation<'_>, done: Result<(), Diagnostic>) -> Exit {
    match done {
        Ok(()) => Exit::DONE,
        Err(problem) => invocation.fail(&[problem]),
    }
}

fn directory(invocation: &Invocation<'_>) -> PathBuf {
    PathBuf::from(invocation.arguments.value("dir").unwrap_or("."))
}

/// The validity from `-days`. `usual` is the default, in days.
fn validity(invocation: &Invocation<'_>, usual: usize) -> Result<Duration, Diagnostic> {
    let days = invocation.arguments.count("days").unwrap_or(usual);
    if days == 0 || days > MAX_DAYS {
        return Err(problems::days_out_of_range(days, MAX_DAYS));
    }
    Ok(Duration::from_secs(days as u64 * 24 * 3600))
}

fn init(invocation: &Invocation<'_>) -> Result<(), Diagnostic> {
    if !invocation.arguments.positionals.is_empty() {
        return Err(problems::no_arguments());
    }
    let directory = directory(invocation);
    let domain = invocation.arguments.value("domain").unwrap_or(DOMAIN);
    SpiffeId::parse(&format!("spiffe://{domain}/x")).map_err(|error| problems::invalid_name(&error))?;
    let made = authority::create(domain, validity(invocation, AUTHORITY_DAYS)?);
    let made = made.map_err(|error| problems::not_issued(&error))?;
    std::fs::create_dir_all(&directory).map_err(|error| problems::not_written(&directory, &error))?;
    write_new(&directory.join(AUTHORITY_KEY), &made.key, PRIVATE)?;
    write_new(&directory.join(AUTHORITY), &made.certificate, PUBLIC)?;
    invocation.view.line(&format!(
        "Created an authority for the trust domain {domain}:\n  {}      give it to every coordinator, worker and user \
         (-tls-ca)\n  {}  keep it secret: it issues certificates",
        directory.join(AUTHORITY).display(),
        directory.join(AUTHORITY_KEY).display(),
    ));
    Ok(())
}

fn issue(invocation: &Invocation<'_>) -> Result<(), Diagnostic> {
    let arguments = &invocation.arguments;
    let [name] = arguments.positionals.as_slice() else { return Err(problems::one_name()) };
    let mut roles = Vec::new();
    for word in arguments.values("role") {
        roles.push(Role::parse(word).ok_or_else(|| problems::unknown_role(word))?);
    }
    let hosts: Vec<String> = arguments.values("host").map(str::to_owned).collect();
    if roles.is_empty() && hosts.is_empty() {
        return Err(problems::no_role());
    }
    let directory = directory(invocation);
    let read = |file: &str| {
        let path = directory.join(file);
        std::fs::read_to_string(&path).map_err(|error| problems::no_authority(&path, &error))
    };
    let issuer = Issued { certificate: read(AUTHORITY)?, key: read(AUTHORITY_KEY)? };
    let domain = authority::domain(&issuer.certificate).map_err(|error| problems::not_issued(&error))?;
    let name =
        SpiffeId::with_roles(&domain, &Roles::new(roles), name).map_err(|error| problems::invalid_name(&error))?;
    let request = CertificateRequest { name, hosts, valid: validity(invocation, CERTIFICATE_DAYS)? };
    let issued = authority::issue(&issuer, &request).map_err(|error| problems::not_issued(&error))?;
    let certificate = directory.join(format!("{}.pem", request.name.short()));
    let key = directory.join(format!("{}-key.pem", request.name.short()));
    replace(&key, &issued.key, PRIVATE)?;
    replace(&certificate, &issued.certificate, PUBLIC)?;
    invocation.view.line(&format!(
        "Issued {}:\n  -tls-ca {} -tls-cert {} -tls-key {}",
        request.name,
        directory.join(AUTHORITY).display(),
        certificate.display(),
        key.display(),
    ));
    Ok(())
}

/// Writes a file that must not exist, so that no authority is replaced by mistake.
fn write_new(path: &Path, text: &str, mode: u32) -> Result<(), Diagnostic> {
    let mut options = std::fs::OpenOptions::new();
    let file = options.write(true).create_new(true).mode(mode).open(path);
    let written = file.and_then(|mut file| file.write_all(text.as_bytes()).and_then(|()| file.sync_all()));
    written.map_err(|error| problems::not_written(path, &error))
}

/// Replaces a file atomically, so that a program never reads an incomplete file.
fn replace(path: &Path, text: &str, mode: u32) -> Result<(), Diagnostic> {
    let failed = |error: std::io::Error| problems::not_written(path, &error);
    let mut beside = path.as_os_str().to_owned();
    beside.push(".new");
    let beside = PathBuf::from(beside);
    match std::fs::remove_file(&beside) {
        Err(error) if error.kind() != std::io::ErrorKind::NotFound => return Err(failed(error)),
        _ => {}
    }
    write_new(&beside, text, mode)?;
    std::fs::rename(&beside, path).map_err(failed)
}
