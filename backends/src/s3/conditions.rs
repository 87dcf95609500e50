//! Whether a service that stands for S3 knows conditional writes. Some ignore their conditions, and then write in any
//! case. That is tried out at the first conditional write, with a small object of its own.

use reqwest::{Method, StatusCode};
use weft_state::remote::{BackendError, Version};

use super::refusals;
use super::requests::{Answer, Client, is_of_aws};
use crate::bucket::{BESIDE, Bucket as _, ObjectKind, When};

const DOING: &str = "trying out conditional writes";
/// The content of the object.
const CONTENT: &[u8] = b"{}";
/// A version that no object has.
const NO_VERSION: &str = "\"00000000000000000000000000000000\"";

impl Client {
    /// Tries out conditional writes, once.
    ///
    /// # Errors
    /// The service ignores their conditions.
    pub(super) async fn check_conditions(&self) -> Result<(), BackendError> {
        if is_of_aws(self.settings.endpoint("s3")) {
            return Ok(());
        }
        match self.ignored.get_or_try_init(|| self.ignored_condition()).await? {
            Some(header) => Err(refusals::ignores_condition(self.place(&self.settings.key), header)),
            None => Ok(()),
        }
    }

    async fn ignored_condition(&self) -> Result<Option<&'static str>, BackendError> {
        let mut random = [0; 8];
        // Without random bytes, processes that try at once may see each other's objects, and learn nothing.
        let _ = getrandom::fill(&mut random);
        let random: String = random.iter().map(|byte| format!("{byte:02x}")).collect();
        let key = format!("{}{BESIDE}try-{random}", self.settings.key);
        let created = self.try_write(&key, &When::Absent).await?;
        let is_own = created.status == StatusCode::PRECONDITION_FAILED && !created.is_first();
        if !created.status.is_success() && !is_own {
            // The write itself reports what is wrong.
            return Ok(None);
        }
        let mut ignored = None;
        for (when, header) in [(When::Absent, "If-None-Match"), (When::Is(Version(NO_VERSION.to_owned())), "If-Match")]
        {
            let answer = self.try_write(&key, &when).await;
            if answer.is_ok_and(|answer| answer.status.is_success()) {
                ignored = Some(header);
                break;
            }
        }
        // An object that stays does no harm.
        let _ = self.delete(DOING, &key).await;
        Ok(ignored)
    }

    async fn try_write(&self, key: &str, when: &When) -> Result<Answer, BackendError> {
        let mut request = self.request(DOING, Method::PUT, key);
        request.body = CONTENT.into();
        request.headers = self.write_headers(&request.body, ObjectKind::State, when);
        self.send(&request).await
    }
}
