//! A package on this machine, from any source, with its checksums and its authentication.

use std::collections::BTreeSet;
use std::path::{Path, PathBuf};

use tempfile::TempPath;
use weft_graph_format::address::ProviderSource;
use weft_graph_format::version::Version;
use weft_providers::archive;
use weft_providers::checksum::{self, Checksum};
use weft_providers::mirror::{self, Location};
use weft_providers::packages::PackageProblem;
use weft_providers::platform::Platform;

use crate::http::{Http, HttpError};
use crate::offer::{Authentication, Offer};
use crate::sources::Candidate;

/// Why a package is not available.
#[derive(Debug, thiserror::Error)]
pub enum FetchProblem {
    /// The package cannot be downloaded.
    #[error(transparent)]
    Http(#[from] HttpError),
    /// A temporary file cannot be created.
    #[error("a temporary file cannot be created: {0}")]
    Room(std::io::Error),
    /// The package cannot be read.
    #[error(transparent)]
    Package(#[from] PackageProblem),
    /// The checksum of the package differs from the checksum that the source of the package lists.
    #[error(
        "the provider package doesn't match any of the expected checksums: its source has {expected}, but the package \
         has {found}"
    )]
    Unexpected {
        /// The expected checksum.
        expected: String,
        /// The actual checksum.
        found: String,
    },
}

/// A package on this machine. A downloaded package is removed when this value is dropped.
#[derive(Debug)]
pub struct Fetched {
    /// The location of the package.
    pub location: Location,
    /// The `h1` checksum of the package's files.
    pub h1: Checksum,
    /// The `zh` checksum of the package's archive, if it is packed.
    pub zh: Option<Checksum>,
    /// The checksums that the source of the package lists, for packages of any platform.
    pub trusted: BTreeSet<Checksum>,
    /// Whether the source of the package also lists checksums of the packages for other platforms.
    pub vouched: bool,
    /// How the package was authenticated.
    pub authentication: Authentication,
    /// Removes the download when dropped.
    _downloaded: Option<TempPath>,
}

impl Fetched {
    /// Fetches a package, and compares it with the checksum that its source lists.
    pub(crate) async fn of(candidate: Candidate, http: &Http) -> Result<Fetched, FetchProblem> {
        match candidate {
            Candidate::Local(location) => in_background(move || Fetched::local(location)).await,
            Candidate::Remote(offer) => {
                let file = tempfile::Builder::new().prefix("weft-package-").suffix(".zip").tempfile();
                let path = file.map_err(FetchProblem::Room)?.into_temp_path();
                let download = http.download(&offer.request(), &path).await?;
                let zh = data_encoding::HEXLOWER.encode(download.sha256.as_ref());
                in_background(move || Fetched::remote(*offer, path, &zh)).await
            }
        }
    }

    fn local(location: Location) -> Result<Fetched, FetchProblem> {
        let (h1, zh) = match &location {
            Location::Unpacked(folder) => (checksum::of_directory(folder).map_err(PackageProblem::from)?, None),
            Location::Packed(file) => {
                let zh = checksum::of_archive_file(file).map_err(PackageProblem::from)?;
                (archive::checksum(file).map_err(PackageProblem::from)?, Some(zh))
            }
        };
        let (trusted, authentication) = (BTreeSet::new(), Authentication::None);
        Ok(Fetched { location, h1, zh, trusted, vouched: false, authentication, _downloaded: None })
    }

    fn remote(offer: Offer, path: TempPath, digest: &str) -> Result<Fetched, FetchProblem> {
        let zh = Checksum::of_archive_digest(digest);
        // Checked before unpacking, so that only the expected package is ever unpacked.
        let of_archive: BTreeSet<&Checksum> = offer.expected.iter().filter(|sum| sum.scheme() == "zh").collect();
        let mismatch = |found: &[&Checksum]| FetchProblem::Unexpected {
            expected: offer.expected.iter().map(Checksum::as_str).collect::<Vec<_>>().join(" or "),
            found: found.iter().map(|sum| sum.as_str()).collect::<Vec<_>>().join(" and "),
        };
        if let Some(zh) = &zh
            && !of_archive.is_empty()
            && of_archive.len() == offer.expected.len()
            && !of_archive.contains(zh)
        {
            return Err(mismatch(&[zh]));
        }
        let h1 = archive::checksum(&path).map_err(PackageProblem::from)?;
        let own: BTreeSet<&Checksum> = zh.iter().chain([&h1]).collect();
        if !offer.expected.is_empty() && !offer.expected.iter().any(|sum| own.contains(sum)) {
            return Err(mismatch(&own.into_iter().collect::<Vec<_>>()));
        }
        let mut trusted = offer.trusted;
        let vouched = !trusted.is_empty();
        trusted.extend(offer.expected.iter().filter(|sum| own.contains(sum)).cloned());
        let location = Location::Packed(path.to_path_buf());
        let authentication = offer.authentication;
        Ok(Fetched { location, h1, zh, trusted, vouched, authentication, _downloaded: Some(path) })
    }

    /// The package's own checksums, one of each scheme.
    pub(crate) fn own(&self) -> impl Iterator<Item = &Checksum> {
        self.zh.iter().chain([&self.h1])
    }

    /// Copies the package, packed, into a mirror. If the mirror has a file of the same name, overwrites this file.
    ///
    /// # Errors
    /// Returns an error if the package cannot be read or written.
    pub fn put(
        &self,
        root: &Path,
        source: &ProviderSource,
        version: &Version,
        platform: &Platform,
    ) -> Result<PathBuf, PackageProblem> {
        let io = |path: &Path| {
            let path = path.to_owned();
            move |error| PackageProblem::Io { path, error }
        };
        let folder = mirror::provider_folder(root, source);
        std::fs::create_dir_all(&folder).map_err(io(&folder))?;
        let target = folder.join(archive_name(source, version, platform));
        match &self.location {
            Location::Packed(file) => {
                std::fs::copy(file, &target).map_err(io(&target))?;
                #[cfg(unix)]
                {
                    use std::os::unix::fs::PermissionsExt as _;
                    // Downloads can be read only by their owner, but everyone must be able to read a mirror.
                    let readable = std::fs::Permissions::from_mode(0o644);
                    std::fs::set_permissions(&target, readable).map_err(io(&target))?;
                }
            }
            Location::Unpacked(from) => archive::pack(from, &target)?,
        }
        Ok(target)
    }
}

/// The name of a packed package in mirrors.
pub fn archive_name(source: &ProviderSource, version: &Version, platform: &Platform) -> String {
    format!("{}{}_{version}_{platform}.zip", mirror::PROGRAM_PREFIX, source.type_name)
}

/// Runs blocking work, such as hashing hundreds of megabytes, on another thread.
pub(crate) async fn in_background<T: Send + 'static, E: From<PackageProblem> + Send + 'static>(
    work: impl FnOnce() -> Result<T, E> + Send + 'static,
) -> Result<T, E> {
    match tokio::task::spawn_blocking(work).await {
        Ok(done) => done,
        // A panic in the work is a bug in Weft, so it is propagated.
        Err(error) => match error.try_into_panic() {
            Ok(panic) => std::panic::resume_unwind(panic),
            Err(error) => {
                let error = std::io::Error::other(error.to_string());
                Err(PackageProblem::Io { path: PathBuf::new(), error }.into())
            }
        },
    }
}
