//! Checks whether a service that is compatible with S3 supports conditional writes. Some services ignore the
//! conditions, and write in any case. The check takes place before the first conditional write. It uses a small object
//! that has no other purpose, or the first object that is written beside a state.

use std::sync::atomic::{AtomicBool, Ordering};

use bytes::Bytes;
use reqwest::{Method, StatusCode};
use weft_state::remote::{BackendError, ObjectVersion};

use super::refusals;
use super::requests::{Answer, Client, is_of_aws};
use crate::bucket::{BESIDE, Bucket as _, ObjectKind, When};

const DOING: &str = "trying out conditional writes";
/// The content of the object that the check writes.
const CONTENT: &[u8] = b"{}";
/// A version that no object has.
const NO_VERSION: &str = "\"00000000000000000000000000000000\"";

/// The result of a check.
struct Tried {
    /// Whether the object was written.
    is_written: bool,
    /// The header of a condition that the service ignores, if there is such a condition.
    ignored: Option<&'static str>,
}

impl Client {
    /// Checks conditional writes, unless they were checked before. S3 of AWS needs no check.
    ///
    /// # Errors
    /// Returns an error if the service ignores the conditions, or if a request fails.
    pub(super) async fn check_conditions(&self) -> Result<(), BackendError> {
        if is_of_aws(self.settings.endpoint("s3")) {
            return Ok(());
        }
        let ignored = self.ignored.get_or_try_init(|| async {
            let mut random = [0; 8];
            // Without random bytes, concurrent checks may use the same object. In that case, the checks have no result,
            // which is harmless.
            let _ = getrandom::fill(&mut random);
            let random: String = random.iter().map(|byte| format!("{byte:02x}")).collect();
            let key = format!("{}{BESIDE}try-{random}", self.settings.key);
            let tried = self.try_conditions(DOING, &key, Bytes::from_static(CONTENT)).await?;
            if tried.is_written {
                // A failure is ignored, because the object is harmless.
                let _ = self.delete(DOING, &key).await;
            }
            Ok::<_, BackendError>(tried.ignored)
        });
        self.refuse_ignored(*ignored.await?)
    }

    /// Checks conditional writes by creating this object. If conditional writes were checked before, or if the service
    /// is AWS, does nothing. Returns whether the object was written.
    ///
    /// # Errors
    /// Returns an error if the service ignores the conditions, or if a request fails.
    pub(super) async fn write_trying(
        &self,
        doing: &'static str,
        key: &str,
        content: Bytes,
    ) -> Result<bool, BackendError> {
        let is_written = AtomicBool::new(false);
        if !is_of_aws(self.settings.endpoint("s3")) {
            let ignored = self.ignored.get_or_try_init(|| async {
                let tried = self.try_conditions(doing, key, content).await?;
                is_written.store(tried.is_written, Ordering::Relaxed);
                Ok::<_, BackendError>(tried.ignored)
            });
            let refused = self.refuse_ignored(*ignored.await?);
            if refused.is_err() && is_written.load(Ordering::Relaxed) {
                let _ = self.delete(DOING, key).await;
            }
            refused?;
        }
        Ok(is_written.into_inner())
    }

    fn refuse_ignored(&self, ignored: Option<&'static str>) -> Result<(), BackendError> {
        match ignored {
            Some(header) => Err(refusals::ignores_condition(self.place(&self.settings.key), header)),
            None => Ok(()),
        }
    }

    /// Creates an object. Then tries to overwrite it with two concurrent writes, whose conditions are not met.
    async fn try_conditions(&self, doing: &'static str, key: &str, content: Bytes) -> Result<Tried, BackendError> {
        let created = self.try_write(doing, key, &content, &When::Absent).await?;
        let is_own = created.status == StatusCode::PRECONDITION_FAILED && !created.is_first();
        if !created.status.is_success() && !is_own {
            // The cause of the failure is not a condition. The write of the caller will report it.
            return Ok(Tried { is_written: false, ignored: None });
        }
        let other = When::Is(ObjectVersion(NO_VERSION.to_owned()));
        let (absent, other) = tokio::join!(
            self.try_write(doing, key, &content, &When::Absent),
            self.try_write(doing, key, &content, &other)
        );
        let is_ignored = |answer: Result<Answer, BackendError>| answer.is_ok_and(|answer| answer.status.is_success());
        let ignored = match (is_ignored(absent), is_ignored(other)) {
            (true, _) => Some("If-None-Match"),
            (false, true) => Some("If-Match"),
            (false, false) => None,
        };
        Ok(Tried { is_written: true, ignored })
    }

    async fn try_write(
        &self,
        doing: &'static str,
        key: &str,
        content: &Bytes,
        when: &When,
    ) -> Result<Answer, BackendError> {
        let mut request = self.request(doing, Method::PUT, key);
        request.body = content.clone();
        request.headers = self.write_headers(&request.body, ObjectKind::State, when);
        self.send(&request).await
    }
}
