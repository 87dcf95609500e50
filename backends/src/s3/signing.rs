//! Signs requests with Signature Version 4, or with Version 4A if the request may go to any region.

use std::time::SystemTime;

use aws_credential_types::Credentials;
use aws_sigv4::http_request::{
    PayloadChecksumKind, PercentEncodingMode, SignableBody, SignableRequest, SigningError, SigningSettings,
    UriPathNormalizationMode, sign,
};
use aws_sigv4::sign::{v4, v4a};
use reqwest::Method;
use url::Url;

/// The regions in which a signature is valid.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Regions<'a> {
    /// One region.
    One(&'a str),
    /// Every region.
    All,
}

/// The region set in a signature that is valid in every region.
const ALL: &str = "*";

/// Why a request cannot be signed.
#[derive(Debug, thiserror::Error)]
pub(super) enum SignatureProblem {
    /// The parameters of Version 4 are incomplete.
    #[error("{0}")]
    Parameters(#[from] v4::signing_params::BuildError),
    /// The parameters of Version 4A are incomplete.
    #[error("{0}")]
    AllRegions(#[from] v4a::signing_params::BuildError),
    /// A header or the URL cannot be signed.
    #[error("{0}")]
    Request(#[from] SigningError),
}

/// The headers that sign a request.
///
/// # Errors
/// Returns an error if a header or the URL cannot be signed.
pub(super) fn headers(
    credentials: &Credentials,
    regions: Regions<'_>,
    service: &str,
    method: &Method,
    url: &Url,
    own: &[(String, String)],
    body: &[u8],
) -> Result<Vec<(String, String)>, SignatureProblem> {
    let mut settings = SigningSettings::default();
    if service == "s3" {
        // S3 differs from other services: paths are encoded only once, and are not normalized.
        settings.percent_encoding_mode = PercentEncodingMode::Single;
        settings.uri_path_normalization_mode = UriPathNormalizationMode::Disabled;
        settings.payload_checksum_kind = PayloadChecksumKind::XAmzSha256;
    }
    let identity = credentials.clone().into();
    let parameters = match regions {
        Regions::One(region) => {
            let parameters = v4::SigningParams::builder().identity(&identity).region(region).name(service);
            let parameters = parameters.time(SystemTime::now()).settings(settings).build();
            parameters?.into()
        }
        Regions::All => {
            let parameters = v4a::SigningParams::builder().identity(&identity).region_set(ALL).name(service);
            let parameters = parameters.time(SystemTime::now()).settings(settings).build();
            parameters?.into()
        }
    };
    let listed = own.iter().map(|(name, value)| (name.as_str(), value.as_str()));
    let request = SignableRequest::new(method.as_str(), url.as_str(), listed, SignableBody::Bytes(body))?;
    let (instructions, _) = sign(request, &parameters)?.into_parts();
    Ok(instructions.headers().map(|(name, value)| (name.to_owned(), value.to_owned())).collect())
}
