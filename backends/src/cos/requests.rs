//! Requests to COS.

use std::sync::Arc;

use async_trait::async_trait;
use percent_encoding::utf8_percent_encode;
use url::Url;
use weft_graph_format::diagnostic::Diagnostic;
use weft_state::remote::BackendError;

use super::refusals;
use super::settings::CosSettings;
use super::signing::Signer;
use super::tags::Tags;
use super::tencent::{TencentApi, TencentRoleKeys};
use crate::arguments::Environment;
use crate::client::{ClientSettings, client};
use crate::digests::md5_hex;
use crate::exchange::{Headers, HttpReply, HttpService, IN_PATHS, RETRY, query};
use crate::expiring::{GivenKeys, KeyRing};
use crate::guarded::{Dialect, GuardedBucket};
use crate::problems::{invalid_address, no_client};

/// The header with the MD5 digest of an object. Every object has it.
const MD5: &str = "x-cos-meta-md5";

/// The connections to the services.
#[derive(Debug)]
pub(super) struct Client {
    pub(super) settings: Arc<CosSettings>,
    pub(super) bucket: Arc<GuardedBucket<CosDialect>>,
    pub(super) tags: Tags,
}

impl Client {
    /// A client with these settings.
    pub(super) fn new(settings: CosSettings, environment: Environment<'_>) -> Result<Client, Diagnostic> {
        let with = ClientSettings { redirects: false, ..ClientSettings::of_environment(environment) };
        let http = client(&with).map_err(|error| no_client(&error))?;
        let place = format!("cos://{}", settings.bucket);
        let api = |name: &'static str, keys: &Arc<KeyRing>| {
            TencentApi::new(name, &settings.region, &http, &place, keys).map_err(|error| invalid_address(name, &error))
        };
        let given = match settings.keys.id.is_empty() || settings.keys.secret.is_empty() {
            true => Err(refusals::no_keys(place.clone())),
            false => Ok(settings.keys.clone()),
        };
        let mut keys = Arc::new(KeyRing::new(GivenKeys(given)));
        if let Some(role) = &settings.role {
            keys = Arc::new(KeyRing::new(TencentRoleKeys { sessions: api("sts", &keys)?, role: role.clone() }));
        }
        let tags = Tags { api: api("tag", &keys)?, place: place.clone() };
        let base = Url::parse(&format!("https://{}/", settings.host()));
        let base = base.map_err(|error| invalid_address("bucket", &error))?;
        let service = HttpService { http, retry: RETRY, place, authorize: Box::new(Signer(keys)) };
        let settings = Arc::new(settings);
        let dialect = CosDialect { settings: Arc::clone(&settings), base };
        Ok(Client { settings, bucket: Arc::new(GuardedBucket { dialect, service }), tags })
    }
}

/// The dialect of COS.
#[derive(Debug)]
pub(super) struct CosDialect {
    settings: Arc<CosSettings>,
    /// The URL of the bucket.
    base: Url,
}

#[async_trait]
impl Dialect for CosDialect {
    const FORBID: &'static str = "x-cos-forbid-overwrite";
    const VERSION: &'static str = "x-cos-version-id";

    fn place(&self, key: &str) -> String {
        format!("cos://{}/{key}", self.settings.bucket)
    }

    async fn url(&self, key: &str, pairs: &[(&str, &str)]) -> Result<Url, BackendError> {
        let mut url = self.base.clone();
        url.set_path(&utf8_percent_encode(key, IN_PATHS).to_string());
        url.set_query(Some(query(pairs)).filter(|query| !query.is_empty()).as_deref());
        Ok(url)
    }

    fn write_headers(&self, content: &[u8]) -> Headers {
        let mut headers = vec![(MD5, md5_hex(content)), ("x-cos-acl", self.settings.acl.clone())];
        if self.settings.encrypt {
            headers.push(("x-cos-server-side-encryption", "AES256".to_owned()));
        }
        headers
    }

    fn damage(&self, reply: &HttpReply) -> Option<String> {
        let want = reply.header(MD5).unwrap_or_default();
        if want.len() != 32 {
            return Some(format!("checksum {want} invalid"));
        }
        let have = md5_hex(&reply.body);
        (have != want).then(|| format!("checksum mismatch, {have} != {want}"))
    }

    fn advice(&self, code: &str) -> String {
        refusals::advice(code, &self.settings.bucket, &self.settings.region)
    }
}
