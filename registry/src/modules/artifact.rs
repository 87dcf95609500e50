//! Packages that are artifacts in OCI registries: `oci://HOST/REPOSITORY?tag=TAG` or `?digest=DIGEST`.

use std::path::Path;

use data_encoding::HEXLOWER;
use serde::Deserialize;

use super::web::{MAX_ARCHIVE, temporary};
use super::{FetchError, PackageAddress};
use crate::archive::{Packing, unpack};
use crate::http::{Http, Request};
use crate::oci::{Descriptor, OciClient, Repository};

/// The types of a module's manifest and of its parts.
const MANIFEST: &str = "application/vnd.oci.image.manifest.v1+json";
const MODULE: &str = "application/vnd.opentofu.modulepkg";
const ARCHIVE: &str = "archive/zip";
/// The default tag.
const LATEST: &str = "latest";
/// The maximum length of a tag, in characters (distribution specification 1.1).
const LONGEST_TAG: usize = 128;

#[derive(Deserialize)]
#[serde(rename_all = "camelCase")]
struct ArtifactManifest {
    #[serde(default)]
    media_type: String,
    #[serde(default)]
    artifact_type: String,
    #[serde(default)]
    layers: Vec<Descriptor>,
}

/// The tag or digest in an address.
fn reference(address: &mut PackageAddress) -> Result<String, FetchError> {
    let wrong = |name, value: &str, problem| FetchError::Argument { name, value: value.to_owned(), problem };
    let (tag, digest) =
        (address.query.iter().find(|(n, _)| n == "tag"), address.query.iter().find(|(n, _)| n == "digest"));
    let found = match (tag, digest) {
        (None, None) => LATEST.to_owned(),
        (Some((_, tag)), Some(_)) => return Err(wrong("tag", tag, "tag and digest cannot be used together")),
        (Some((_, tag)), None) => {
            let sound = |c: char| c.is_ascii_alphanumeric() || "_.-".contains(c);
            let begins = tag.starts_with(|c: char| c.is_ascii_alphanumeric() || c == '_');
            if !begins || tag.len() > LONGEST_TAG || !tag.chars().all(sound) {
                return Err(wrong("tag", tag, "a tag has letters, digits, _, . and -, the last two not first"));
            }
            tag.clone()
        }
        (None, Some((_, digest))) => {
            if digest_of(digest).is_none() {
                return Err(wrong("digest", digest, "a digest is sha256: and 64 hexadecimal digits"));
            }
            digest.clone()
        }
    };
    if let Some((name, value)) = address.query.iter().find(|(name, _)| name != "tag" && name != "digest") {
        let problem = "addresses of OCI registries have the arguments tag and digest only";
        return Err(wrong("after ?", &format!("{name}={value}"), problem));
    }
    if address.query.len() > 1 {
        return Err(wrong("after ?", &address.text(), "tag or digest is given more than once"));
    }
    address.query.clear();
    Ok(found)
}

/// The hexadecimal digits of a SHA-256 digest.
fn digest_of(text: &str) -> Option<&str> {
    let digits = text.strip_prefix("sha256:")?;
    let sound = digits.len() == 64 && digits.bytes().all(|b| b.is_ascii_digit() || (b'a'..=b'f').contains(&b));
    sound.then_some(digits)
}

/// Fetches a module from the only archive of an artifact.
pub(super) async fn fetch(
    http: &Http,
    client: &OciClient,
    mut address: PackageAddress,
    to: &Path,
) -> Result<(), FetchError> {
    let reference = reference(&mut address)?;
    let name = address.base.strip_prefix("oci://").ok_or_else(|| FetchError::Address(address.text()))?;
    let repository = Repository::parse(name)?;
    let place = format!("{}:{reference}", address.base);
    let unusable = |problem: &str| FetchError::NoModulePackage { place: place.clone(), problem: problem.to_owned() };
    let manifest = client.manifest(&repository, &reference).await?.ok_or_else(|| unusable("does not exist"))?;
    let manifest: ArtifactManifest = manifest.parse(&repository)?;
    if manifest.media_type != MANIFEST {
        return Err(unusable("is not an OCI image manifest"));
    }
    if manifest.artifact_type != MODULE {
        return Err(unusable(&format!("is an artifact of the type {:?} instead of {MODULE}", manifest.artifact_type)));
    }
    let mut archives = manifest.layers.iter().filter(|layer| layer.media_type == ARCHIVE);
    let (Some(layer), None) = (archives.next(), archives.next()) else {
        return Err(unusable(&format!("does not have one layer of the type {ARCHIVE}")));
    };
    let wanted = digest_of(&layer.digest).ok_or_else(|| unusable("has an archive without a SHA-256 digest"))?;
    if layer.size > MAX_ARCHIVE {
        return Err(unusable("has an archive that is too large for a module"));
    }
    let request = Request::get(client.blob_url(&repository, &layer.digest)?)
        .with_retries(http.settings().download_retries)
        .with_limit(layer.size);
    let request = client.authorization(&repository).await?.on(request);
    let folder = temporary()?;
    let file = folder.path().join("archive");
    let download = http.download(&request, &file).await?;
    let found = HEXLOWER.encode(download.sha256.as_ref());
    if found != wanted {
        return Err(FetchError::Checksum { kind: "sha256", wanted: wanted.to_owned(), found });
    }
    Ok(unpack(&file, Packing::Zip, to)?)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn an_artifact_is_selected_by_tag_or_digest() {
        let of = |text: &str| reference(&mut PackageAddress::parse(text).unwrap());
        let digest = format!("sha256:{}", "0a".repeat(32));
        assert_eq!(of("oci://h.org/r").unwrap(), "latest");
        assert_eq!(of("oci://h.org/r?tag=v1.0_a").unwrap(), "v1.0_a");
        assert_eq!(of(&format!("oci://h.org/r?digest={digest}")).unwrap(), digest);
        for bad in ["tag=", "tag=-a", "tag=../x", "digest=sha256:00", "tag=a&digest=b", "tag=a&tag=b", "archive=zip"] {
            assert!(of(&format!("oci://h.org/r?{bad}")).is_err(), "{bad}");
        }
    }
}
