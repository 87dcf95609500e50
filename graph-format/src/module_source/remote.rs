//! Packages that are downloaded: `[HOW::]URL[//FOLDER][?QUERY]`, or one of several short forms.
//!
//! The short forms, and the order in which they are tried, are the same as in go-getter as OpenTofu uses it.

use std::fmt;

use super::ModuleSourceError;
use super::slash_path::{clean, join};
use super::url_text::{encode_path, encode_query, is_url, query_pairs};

/// A folder of a package that is downloaded.
#[derive(Clone, Debug, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub struct RemoteModule {
    /// The URL of the package. If the scheme does not determine the download method, the method is written before `::`.
    pub package: String,
    /// The folder inside the package; empty for its top. May contain `*`, `?` and `[..]`, which match existing folders.
    pub subdir: String,
}

impl RemoteModule {
    /// Parses an address.
    ///
    /// # Errors
    /// Returns an error if the text does not say how to download the package, or if the folder is outside of the
    /// package.
    pub fn parse(text: &str) -> Result<RemoteModule, ModuleSourceError> {
        let (address, subdir) = split_subdir(text);
        let subdir = inside(&subdir)?;
        let (package, found) = split_subdir(&recognised(&address)?);
        // The folder after // is inside the folder of the short form.
        let subdir = if found.is_empty() { subdir } else { inside(&join(&found, &subdir))? };
        Ok(RemoteModule { package, subdir })
    }

    /// The same package, with a folder inside the present folder.
    #[must_use]
    pub fn inner(mut self, subdir: &str) -> RemoteModule {
        self.subdir = join(&self.subdir, subdir);
        self
    }
}

impl fmt::Display for RemoteModule {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        if self.subdir.is_empty() {
            return f.write_str(&self.package);
        }
        match self.package.split_once('?') {
            Some((address, query)) => write!(f, "{address}//{}?{query}", self.subdir),
            None => write!(f, "{}//{}", self.package, self.subdir),
        }
    }
}

fn inside(subdir: &str) -> Result<String, ModuleSourceError> {
    let subdir = if subdir.is_empty() { String::new() } else { clean(subdir) };
    if subdir.starts_with("../") || subdir == ".." {
        Err(ModuleSourceError::OutsidePackage(subdir))
    } else {
        Ok(subdir)
    }
}

/// Splits the folder after `//` from an address. The `//` of a scheme or a query does not count.
pub fn split_subdir(text: &str) -> (String, String) {
    let (address, query) = text.split_once('?').map_or((text, None), |(address, query)| (address, Some(query)));
    let start = address.find("://").map_or(0, |found| found + 3);
    let Some(found) = address[start..].find("//") else { return (text.to_owned(), String::new()) };
    let (base, subdir) = (&address[..start + found], &address[start + found + 2..]);
    let base = query.map_or_else(|| base.to_owned(), |query| format!("{base}?{query}"));
    (base, subdir.to_owned())
}

/// Splits an address into the download method, which is written before `::`, and the rest.
pub fn split_forced(text: &str) -> (Option<&str>, &str) {
    match text.split_once("::") {
        Some((way, rest)) if !way.is_empty() && !rest.is_empty() && way.bytes().all(|b| b.is_ascii_alphanumeric()) => {
            (Some(way), rest)
        }
        _ => (None, text),
    }
}

/// The normal form of a package. If a short form contains a folder, the normal form has it after `//`.
fn recognised(text: &str) -> Result<String, ModuleSourceError> {
    let (forced, address) = split_forced(text);
    if is_url(address) {
        return Ok(text.to_owned());
    }
    if address.is_empty() {
        return Err(ModuleSourceError::Empty);
    }
    let found = match github(address)? {
        Some(found) => found,
        None => match secure_shell(address)? {
            Some(found) => found,
            None => match bitbucket(address).map_or_else(|| storage(address), |found| Ok(Some(found)))? {
                Some(found) => found,
                None if address.starts_with('/') => format!("file://{address}"),
                None => return Err(ModuleSourceError::Relative(address.to_owned())),
            },
        },
    };
    Ok(match forced {
        // A written download method takes precedence over that of the short form.
        Some(way) => format!("{way}::{}", split_forced(&found).1),
        None => found,
    })
}

fn with_query(address: String, query: Option<&str>) -> String {
    match query {
        Some(query) if !query.is_empty() => format!("{address}?{query}"),
        _ => address,
    }
}

/// Expands `github.com/OWNER/REPOSITORY[/FOLDER]`.
fn github(address: &str) -> Result<Option<String>, ModuleSourceError> {
    if !address.starts_with("github.com/") {
        return Ok(None);
    }
    let (path, query) = address.split_once('?').map_or((address, None), |(path, query)| (path, Some(query)));
    let parts: Vec<&str> = path.split('/').collect();
    if parts.len() < 3 {
        return Err(ModuleSourceError::Shorthand("addresses at GitHub have the form github.com/OWNER/REPOSITORY"));
    }
    let git = if parts[2].ends_with(".git") { "" } else { ".git" };
    let mut found = format!("git::https://{}{git}", encode_path(&parts[..3].join("/")));
    if parts.len() > 3 {
        found.push_str("//");
        found.push_str(&parts[3..].join("/"));
    }
    Ok(Some(with_query(found, query)))
}

/// Expands `bitbucket.org/OWNER/REPOSITORY`. All repositories there have used git since 2020.
fn bitbucket(address: &str) -> Option<String> {
    if !address.starts_with("bitbucket.org/") {
        return None;
    }
    let (path, query) = address.split_once('?').map_or((address, None), |(path, query)| (path, Some(query)));
    let git = if path.ends_with(".git") { "" } else { ".git" };
    Some(with_query(format!("git::https://{}{git}", encode_path(path)), query))
}

/// Expands `git@HOST:PATH`.
fn secure_shell(address: &str) -> Result<Option<String>, ModuleSourceError> {
    let Some((host, path)) = address.strip_prefix("git@").and_then(|rest| rest.split_once(':')) else {
        return Ok(None);
    };
    let path = path.strip_prefix('/').filter(|rest| !rest.is_empty()).unwrap_or(path);
    if host.is_empty() || path.is_empty() {
        return Ok(None);
    }
    let (path, query) = path.split_once('?').map_or((path, None), |(path, query)| (path, Some(query)));
    let query = match query {
        // Semicolons were once separators. Programs read them differently, so they are refused.
        Some(query) => {
            let pairs = query_pairs(query).filter(|_| !query.contains(';'));
            Some(pairs.ok_or_else(|| ModuleSourceError::Query(address.to_owned()))?)
        }
        None => None,
    };
    let slash = if path.starts_with('/') { "" } else { "/" };
    let found = format!("git::ssh://git@{host}{slash}{}", encode_path(path));
    Ok(Some(match query {
        Some(pairs) if !pairs.is_empty() => format!("{found}?{}", encode_query(pairs)),
        _ => found,
    }))
}

/// Expands addresses of buckets of Google Cloud Storage and S3, by their host names.
fn storage(address: &str) -> Result<Option<String>, ModuleSourceError> {
    let parts: Vec<&str> = address.split('/').collect();
    if address.contains(".googleapis.com/") {
        let wrong = ModuleSourceError::Shorthand(
            "addresses at Google Cloud Storage have the form www.googleapis.com/storage/v1/BUCKET/OBJECT",
        );
        let [_, _, version, bucket, object @ ..] = &parts[..] else { return Err(wrong) };
        if object.is_empty() {
            return Err(wrong);
        }
        let object = object.join("/");
        return Ok(Some(format!("gcs::https://www.googleapis.com/storage/{version}/{bucket}/{object}")));
    }
    if !address.contains(".amazonaws.com/") {
        return Ok(None);
    }
    let host: Vec<&str> = parts[0].split('.').collect();
    let key = parts[1..].join("/");
    match host[..] {
        [region, _, _] => Ok(Some(format!("s3::https://{region}.amazonaws.com/{key}"))),
        [bucket, region, _, _] => Ok(Some(format!("s3::https://{region}.amazonaws.com/{bucket}/{key}"))),
        [bucket, "s3", region, _, _] => Ok(Some(format!("s3::https://s3.{region}.amazonaws.com/{bucket}/{key}"))),
        _ => Err(ModuleSourceError::Shorthand(
            "addresses at S3 have the form BUCKET.s3.REGION.amazonaws.com/KEY or s3-REGION.amazonaws.com/BUCKET/KEY",
        )),
    }
}
