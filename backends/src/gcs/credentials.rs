//! Google credentials: the documents that Google's tools write, and the locations of these documents.

use std::fmt;
use std::path::PathBuf;

use serde_json::Value as Json;

use super::problems::{CredentialProblem, DocumentProblem};

/// The default token endpoint.
const TOKENS: &str = "https://oauth2.googleapis.com/token";
/// The credentials of `gcloud auth application-default login`, in the home directory.
const WELL_KNOWN: &str = ".config/gcloud/application_default_credentials.json";
/// The maximum depth of accounts that impersonate each other.
const DEPTH: usize = 5;

/// A source of tokens.
#[derive(Clone)]
pub(super) enum Source {
    /// The service needs no tokens.
    None,
    /// A fixed token.
    Token(String),
    /// A service account with its key.
    Account(AccountKey),
    /// A user.
    User(UserGrant),
    /// An identity of another provider.
    External(ExternalIdentity),
    /// A service account, which another source of tokens may impersonate.
    Impersonated(Box<Impersonation>),
    /// The metadata service of the machine.
    Machine(String),
}

impl fmt::Debug for Source {
    fn fmt(&self, out: &mut fmt::Formatter<'_>) -> fmt::Result {
        out.write_str("Source")
    }
}

/// The key of a service account.
#[derive(Clone)]
pub(super) struct AccountKey {
    /// The email address of the account.
    pub(super) email: String,
    /// The id of the key.
    pub(super) key_id: String,
    /// The private key in PEM.
    pub(super) key: String,
    /// The token endpoint.
    pub(super) tokens: String,
}

/// The grant of a user.
#[derive(Clone)]
pub(super) struct UserGrant {
    /// The id of the client.
    pub(super) client: String,
    /// The secret of the client.
    pub(super) secret: String,
    /// The refresh token.
    pub(super) refresh: String,
    /// The project that pays for requests to some services.
    pub(super) quota: Option<String>,
    /// The token endpoint.
    pub(super) tokens: String,
}

/// An identity of another provider, for workload identity federation.
#[derive(Clone)]
pub(super) struct ExternalIdentity {
    /// The audience: the provider and its pool.
    pub(super) audience: String,
    /// The type of the provider's token.
    pub(super) token_type: String,
    /// The endpoint that exchanges the provider's token.
    pub(super) tokens: String,
    /// The source of the provider's token.
    pub(super) subject: Subject,
}

/// The source of another provider's token.
#[derive(Clone)]
pub(super) struct Subject {
    /// The location of the token: a file or an address.
    pub(super) place: SubjectPlace,
    /// The field of a JSON document with the token. `None` means that the whole text is the token.
    pub(super) field: Option<String>,
}

/// The location of another provider's token.
#[derive(Clone)]
pub(super) enum SubjectPlace {
    /// A file.
    File(PathBuf),
    /// A URL, with the headers of the request.
    Address(String, Vec<(String, String)>),
}

/// The impersonation of a service account.
#[derive(Clone)]
pub(super) struct Impersonation {
    /// The source of the impersonating account.
    pub(super) source: Source,
    /// The endpoint that issues tokens of the impersonated account.
    pub(super) url: String,
    /// The service accounts through which the impersonation is delegated.
    pub(super) delegates: Vec<String>,
}

impl Source {
    /// Reads the source that a document describes.
    ///
    /// # Errors
    /// Returns an error if the document is not valid.
    pub(super) fn of_document(document: &Json) -> Result<Source, DocumentProblem> {
        Source::nested(document, DEPTH)
    }

    fn nested(document: &Json, depth: usize) -> Result<Source, DocumentProblem> {
        if depth == 0 {
            return Err(DocumentProblem::TooDeep { most: DEPTH });
        }
        let text = |name: &str| document.get(name).and_then(Json::as_str).map(str::to_owned);
        let needed = |name: &'static str| text(name).ok_or(DocumentProblem::Missing(name));
        let tokens = |name: &str| text(name).unwrap_or_else(|| TOKENS.to_owned());
        match text("type").as_deref() {
            Some("service_account") => Ok(Source::Account(AccountKey {
                email: needed("client_email")?,
                key_id: text("private_key_id").unwrap_or_default(),
                key: needed("private_key")?,
                tokens: tokens("token_uri"),
            })),
            Some("authorized_user") => Ok(Source::User(UserGrant {
                client: needed("client_id")?,
                secret: needed("client_secret")?,
                refresh: needed("refresh_token")?,
                quota: text("quota_project_id"),
                tokens: tokens("token_uri"),
            })),
            Some("external_account") => {
                let source = Source::External(ExternalIdentity {
                    audience: needed("audience")?,
                    token_type: needed("subject_token_type")?,
                    tokens: needed("token_url")?,
                    subject: Subject::of(document.get("credential_source").unwrap_or(&Json::Null))?,
                });
                Ok(match text("service_account_impersonation_url") {
                    Some(url) => Source::Impersonated(Box::new(Impersonation { source, url, delegates: Vec::new() })),
                    None => source,
                })
            }
            Some("impersonated_service_account") => {
                let inner = document.get("source_credentials").unwrap_or(&Json::Null);
                let delegates = document.get("delegates").and_then(Json::as_array);
                let delegates =
                    delegates.into_iter().flatten().filter_map(|name| Some(name.as_str()?.to_owned())).collect();
                Ok(Source::Impersonated(Box::new(Impersonation {
                    source: Source::nested(inner, depth - 1)?,
                    url: needed("service_account_impersonation_url")?,
                    delegates,
                })))
            }
            Some(other) => Err(DocumentProblem::Type(other.to_owned())),
            None => Err(DocumentProblem::Missing("type")),
        }
    }

    /// The default source of the machine: a file that a variable names, the file of gcloud, or the metadata service.
    ///
    /// # Errors
    /// Returns an error if a file is not valid.
    pub(super) fn of_environment(variable: &dyn Fn(&str) -> Option<String>) -> Result<Source, CredentialProblem> {
        let named = variable("GOOGLE_APPLICATION_CREDENTIALS").map(PathBuf::from);
        let known = variable("CLOUDSDK_CONFIG")
            .map(|folder| PathBuf::from(folder).join("application_default_credentials.json"))
            .or_else(|| Some(PathBuf::from(variable("HOME")?).join(WELL_KNOWN)))
            .filter(|path| path.is_file());
        let Some(path) = named.or(known) else {
            let host = variable("GCE_METADATA_HOST").unwrap_or_else(|| "metadata.google.internal".to_owned());
            return Ok(Source::Machine(host));
        };
        let read = match std::fs::read(&path) {
            Ok(read) => read,
            Err(error) => return Err(CredentialProblem::Unreadable { path, error }),
        };
        let Ok(document) = serde_json::from_slice(&read) else { return Err(CredentialProblem::NotJson { path }) };
        Source::of_document(&document).map_err(|problem| CredentialProblem::File { path, problem })
    }

    /// The impersonation of this account by this source.
    pub(super) fn impersonating(self, account: &str, delegates: Vec<String>, domain: &str) -> Source {
        let url =
            format!("https://iamcredentials.{domain}/v1/projects/-/serviceAccounts/{account}:generateAccessToken");
        Source::Impersonated(Box::new(Impersonation { source: self, url, delegates }))
    }
}

impl Subject {
    fn of(document: &Json) -> Result<Subject, DocumentProblem> {
        let text = |name: &str| document.get(name).and_then(Json::as_str);
        let place = match (text("file"), text("url")) {
            (Some(file), _) => SubjectPlace::File(PathBuf::from(file)),
            (None, Some(url)) => {
                let headers = document.get("headers").and_then(Json::as_object);
                let headers = headers.into_iter().flatten();
                let headers = headers.filter_map(|(name, value)| Some((name.clone(), value.as_str()?.to_owned())));
                SubjectPlace::Address(url.to_owned(), headers.collect())
            }
            (None, None) => return Err(DocumentProblem::NoSubject),
        };
        let format = document.get("format").filter(|format| format.get("type").and_then(Json::as_str) == Some("json"));
        let field = format.and_then(|format| format.get("subject_token_field_name")?.as_str().map(str::to_owned));
        Ok(Subject { place, field })
    }
}

#[cfg(test)]
mod tests {
    use serde_json::json;

    use super::*;

    #[test]
    fn documents_of_all_types() {
        let account = json!({"type": "service_account", "client_email": "a@b", "private_key": "k"});
        assert!(matches!(Source::of_document(&account), Ok(Source::Account(key)) if key.tokens == TOKENS));
        let user = json!({"type": "authorized_user", "client_id": "c", "client_secret": "s", "refresh_token": "r"});
        assert!(matches!(Source::of_document(&user), Ok(Source::User(_))));
        let external = json!({"type": "external_account", "audience": "//iam/x", "subject_token_type": "jwt",
            "token_url": "https://sts/token", "credential_source": {"file": "/token"}});
        assert!(matches!(Source::of_document(&external), Ok(Source::External(_))));
        let acting = json!({"type": "impersonated_service_account", "source_credentials": user,
            "service_account_impersonation_url": "https://x", "delegates": ["d"]});
        let Ok(Source::Impersonated(acting)) = Source::of_document(&acting) else { panic!() };
        assert_eq!(acting.delegates, ["d"]);
        for (document, want) in [
            (json!({}), "the document has no \"type\""),
            (json!({"type": "x"}), "credentials of the type \"x\" are not supported"),
            (json!({"type": "service_account"}), "the document has no \"client_email\""),
        ] {
            assert_eq!(Source::of_document(&document).unwrap_err().to_string(), want);
        }
    }

    #[test]
    fn accounts_that_stand_for_each_other_have_a_limit() {
        let mut document = json!({"type": "authorized_user"});
        for _ in 0..10 {
            document = json!({"type": "impersonated_service_account", "source_credentials": document,
                "service_account_impersonation_url": "https://x"});
        }
        assert!(Source::of_document(&document).unwrap_err().to_string().contains("more than 5"));
    }
}
