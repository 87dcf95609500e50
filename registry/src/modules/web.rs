//! Packages over HTTP: archives, and pages with the address of an archive.

use std::path::Path;

use http::HeaderName;
use url::Url;

use super::checksum::Checksum;
use super::{FetchError, PackageAddress, meta_tag, netrc};
use crate::archive::{ArchiveError, Packing, unpack};
use crate::http::{Http, Request};

/// The maximum size of a module's archive, in bytes.
pub(super) const MAX_ARCHIVE: u64 = 1 << 30;
/// The maximum size of a page or of a list of checksums, in bytes.
const MAX_PAGE: u64 = 4 << 20;
/// The header with the address of a package.
pub(super) const LEADS_TO: &str = "x-terraform-get";

/// The format and checksum of an archive, as its address specifies them.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(super) struct Archive {
    pub(super) packing: Option<Packing>,
    pub(super) checksum: Option<String>,
}

impl Archive {
    /// Removes the arguments `archive` and `checksum` from an address. Without `archive`, the suffix of the file's name
    /// determines the format.
    pub(super) fn of(address: &mut PackageAddress) -> Archive {
        let checksum = address.take("checksum");
        let packing = match address.take("archive") {
            Some(word) if ["0", "f", "F", "false", "False", "FALSE"].contains(&word.as_str()) => None,
            Some(word) => Packing::named(&word),
            None => Packing::of_path(&address.base),
        };
        Archive { packing, checksum }
    }
}

/// The outcome of fetching from an address.
pub(super) enum FetchOutcome {
    /// The package was fetched.
    Done,
    /// The package is at another address.
    Elsewhere(String),
}

/// Fetches an archive, or requests its address.
pub(super) async fn fetch(http: &Http, mut address: PackageAddress, to: &Path) -> Result<FetchOutcome, FetchError> {
    let archive = Archive::of(&mut address);
    let url = address.url()?;
    let Some(packing) = archive.packing else {
        if archive.checksum.is_some() {
            let (name, value) = ("checksum", archive.checksum.unwrap_or_default());
            let problem = "the file name does not end like that of an archive; set the format of the archive with the \
                           argument archive";
            return Err(FetchError::Argument { name, value, problem });
        }
        return ask(http, url).await.map(FetchOutcome::Elsewhere);
    };
    let checksum = match &archive.checksum {
        Some(text) => Some(checksum(http, text, &url).await?),
        None => None,
    };
    let folder = temporary()?;
    let file = folder.path().join("archive");
    http.download(&request(url, http, MAX_ARCHIVE), &file).await?;
    if let Some(checksum) = checksum {
        checksum.check(&file)?;
    }
    unpack(&file, packing, to)?;
    Ok(FetchOutcome::Done)
}

/// Fetches an archive with a token. The first bytes of the archive determine its format.
pub(super) async fn fetch_direct(http: &Http, url: Url, token: Option<&str>, to: &Path) -> Result<(), FetchError> {
    let folder = temporary()?;
    let file = folder.path().join("archive");
    let request = Request::get(url)
        .accept("application/zip, application/x-tar; *;q=0.1")
        .bearer(token)
        .with_retries(http.settings().download_retries)
        .with_limit(MAX_ARCHIVE);
    http.download(&request, &file).await?;
    let packing = Packing::of_content(&file)?.ok_or(ArchiveError::Unknown)?;
    Ok(unpack(&file, packing, to)?)
}

/// Unpacks a local archive.
pub(super) fn local(address: &PackageAddress, archive: &Archive, path: &Path, to: &Path) -> Result<(), FetchError> {
    if let Some(text) = &archive.checksum {
        if text.starts_with("file:") {
            let problem = "lists of checksums are supported only for archives over https";
            return Err(FetchError::Argument { name: "checksum", value: text.clone(), problem });
        }
        Checksum::parse(text)?.check(path)?;
    }
    let packing = archive.packing.ok_or_else(|| FetchError::Address(address.text()))?;
    Ok(unpack(path, packing, to)?)
}

/// Creates a temporary directory.
pub(super) fn temporary() -> Result<tempfile::TempDir, FetchError> {
    tempfile::tempdir().map_err(FetchError::io(&std::env::temp_dir()))
}

fn request(url: Url, http: &Http, limit: u64) -> Request {
    let login = url.host_str().filter(|_| url.username().is_empty()).and_then(netrc::login);
    let request = Request::get(url).with_retries(http.settings().download_retries).with_limit(limit);
    match login {
        Some((name, password)) => request.basic(&name, &password),
        None => request,
    }
}

/// Requests the address of a package from the page at `url`.
async fn ask(http: &Http, mut url: Url) -> Result<String, FetchError> {
    url.query_pairs_mut().append_pair("terraform-get", "1");
    let place = crate::http::shown(&url);
    let request = request(url, http, MAX_PAGE);
    let answer = http.send(&request).await?;
    let answer = if answer.status.is_success() { answer } else { answer.sound()? };
    let found = match answer.header(HeaderName::from_static(LEADS_TO).as_str()) {
        Some(found) if !found.is_empty() => Some(found.to_owned()),
        _ => meta_tag::source(&String::from_utf8_lossy(&answer.body)),
    };
    let found = found.ok_or(FetchError::NoSource(place))?;
    Ok(resolved(&found, &answer.url))
}

/// An address in a response, resolved relative to the address of the response.
pub(super) fn resolved(found: &str, from: &Url) -> String {
    if !["/", "./", "../"].iter().any(|prefix| found.starts_with(prefix)) {
        return found.to_owned();
    }
    // `//` and the directory after it are not part of the path of a URL.
    let (address, subdir) = weft_graph_format::module_source::split_subdir(found);
    match from.join(&address) {
        Ok(url) if subdir.is_empty() => url.to_string(),
        Ok(url) => {
            let text = url.to_string();
            match text.split_once('?') {
                Some((base, query)) => format!("{base}//{subdir}?{query}"),
                None => format!("{text}//{subdir}"),
            }
        }
        Err(_) => found.to_owned(),
    }
}

/// The checksum that an address specifies, directly or in a list.
async fn checksum(http: &Http, text: &str, of: &Url) -> Result<Checksum, FetchError> {
    let Some(list) = text.strip_prefix("file:") else { return Checksum::parse(text) };
    let url = Url::parse(list).ok().filter(|url| matches!(url.scheme(), "http" | "https"));
    let url = url.ok_or_else(|| FetchError::Argument {
        name: "checksum",
        value: text.to_owned(),
        problem: "file: must be followed by the http or https address of a list of checksums",
    })?;
    let place = crate::http::shown(&url);
    let answer = http.send(&request(url, http, MAX_PAGE)).await?.sound()?;
    let name = of.path_segments().and_then(|mut parts| parts.next_back()).unwrap_or_default().to_owned();
    Checksum::in_list(&String::from_utf8_lossy(&answer.body), &name).ok_or(FetchError::NoChecksum(place))
}
