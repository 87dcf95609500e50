//! The methods of authentication: how the settings select one, and the settings that each method needs.

use std::path::{Path, PathBuf};

use super::certificate::Certificate;
use super::machine::Machine;
use super::problems;
use crate::arguments::Arguments;

/// The variables with the address of a token provider. The last variable belongs to Azure Pipelines.
const REQUEST_URLS: [&str; 3] = ["ARM_OIDC_REQUEST_URL", "ACTIONS_ID_TOKEN_REQUEST_URL", PIPELINES_URL];
/// The variables with the token for requests to a token provider.
const REQUEST_TOKENS: [&str; 3] = ["ARM_OIDC_REQUEST_TOKEN", "ACTIONS_ID_TOKEN_REQUEST_TOKEN", "SYSTEM_ACCESSTOKEN"];
/// The variables with the service connection of a pipeline.
const CONNECTIONS: [&str; 3] = [
    "ARM_ADO_PIPELINE_SERVICE_CONNECTION_ID",
    "ARM_OIDC_AZURE_SERVICE_CONNECTION_ID",
    "AZURESUBSCRIPTION_SERVICE_CONNECTION_ID",
];
/// The variable with the address of the token provider of a pipeline.
const PIPELINES_URL: &str = "SYSTEM_OIDCREQUESTURI";
const NO_TENANT: &str = "Tenant ID is missing";

/// A method for getting tokens.
pub(super) enum Method {
    /// An application with a certificate.
    Certificate(Application, Certificate),
    /// An application with a secret.
    Secret(Application, String),
    /// An application with a token of Azure Pipelines.
    Pipelines(Application, Pipeline),
    /// An application with a token of another issuer.
    Oidc(Application, Statement),
    /// The identity of the machine.
    Machine(Machine),
    /// The identity of a pod in Kubernetes. The token is in a file.
    Workload(Application, PathBuf),
    /// The Azure CLI, which returns tokens of its login.
    Cli(Cli),
}

/// An application that is registered in Entra ID.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(super) struct Application {
    /// The tenant.
    pub(super) tenant: String,
    /// The id.
    pub(super) client: String,
}

/// A pipeline that may request tokens.
pub(super) struct Pipeline {
    /// The address for requests.
    pub(super) url: String,
    /// The id of the service connection.
    pub(super) connection: String,
    /// The token for requests.
    pub(super) token: String,
}

/// The source of the token of another issuer.
pub(super) enum Statement {
    /// The settings have the token, or the path of a file with the token. If both are set, the two tokens must be
    /// equal.
    Given(Option<String>, Option<PathBuf>),
    /// The token is requested from this address. The second field is the token that authorizes the request.
    Asked(String, String),
}

/// The Azure CLI.
pub(super) struct Cli {
    /// The path of the program.
    pub(super) program: PathBuf,
    /// The tenant, unless it is the tenant of the login.
    pub(super) tenant: Option<String>,
    /// The subscription, unless it is the current one.
    pub(super) subscription: Option<String>,
}

/// Why a method cannot be used: the summary of the diagnostic, and the reasons.
type MethodRefusal = (&'static str, Vec<String>);

/// The first method that the settings allow. If no method can be used, adds the reasons to the problems of `arguments`.
pub(super) fn choose(arguments: &mut Arguments<'_>, subscription: Option<String>) -> Option<Method> {
    let common = Common::read(arguments);
    let methods = [certificate, secret, pipelines, oidc, machine, workload];
    let mut refusals = Vec::new();
    for method in methods {
        match method(arguments, &common) {
            Ok(method) => return Some(method),
            Err(refusal) => refusals.push(refusal),
        }
    }
    match cli(arguments, &common, subscription) {
        Ok(method) => return Some(method),
        Err(refusal) => refusals.push(refusal),
    }
    let refusals = refusals.iter().map(|(summary, reasons)| problems::method(summary, reasons));
    arguments.problems.extend(refusals.chain([problems::no_method()]));
    None
}

/// The settings that several methods need.
struct Common {
    tenant: Option<String>,
    client: Result<String, String>,
    /// The id of the client in the settings. An id in a file is not included.
    written_client: Option<String>,
    uses_oidc: bool,
    request_token: Option<String>,
}

impl Common {
    fn read(arguments: &mut Arguments<'_>) -> Common {
        let written_client = arguments.filled("client_id", &["ARM_CLIENT_ID"]);
        let file = arguments.filled("client_id_file_path", &["ARM_CLIENT_ID_FILE_PATH"]);
        Common {
            tenant: arguments.filled("tenant_id", &["ARM_TENANT_ID"]),
            client: value_or_file("client ID", written_client.as_deref(), file.as_deref().map(Path::new)),
            written_client,
            uses_oidc: arguments.flag("use_oidc", &["ARM_USE_OIDC"]).unwrap_or_default(),
            request_token: arguments.filled("oidc_request_token", &REQUEST_TOKENS),
        }
    }

    /// The application. Adds a message about each missing part to `reasons`.
    fn application(&self, reasons: &mut Vec<String>) -> Application {
        if self.tenant.is_none() {
            reasons.push(NO_TENANT.to_owned());
        }
        if let Err(error) = &self.client {
            reasons.push(format!("The Client ID is misconfigured: {error}"));
        }
        Application { tenant: self.tenant.clone().unwrap_or_default(), client: self.client.clone().unwrap_or_default() }
    }
}

/// A value that may be given directly or in a file. If the value and a file are given, their contents must be equal.
///
/// # Errors
/// Returns an error if there is no value and no file, the file cannot be read, or the contents are not equal.
pub(super) fn value_or_file(what: &str, value: Option<&str>, file: Option<&Path>) -> Result<String, String> {
    let read = file.map(std::fs::read_to_string).transpose();
    let read = read.map_err(|error| format!("error reading {what} file: {error}"))?.filter(|text| !text.is_empty());
    match (value, read) {
        (None, None) => Err(format!("missing {what}, a {what} is required")),
        (Some(value), None) => Ok(value.to_owned()),
        (None, Some(read)) => Ok(read),
        (Some(value), Some(read)) if value == read => Ok(read),
        (Some(_), Some(_)) => {
            Err(format!("the {what} and the content of its file differ: set only one of the two arguments"))
        }
    }
}

fn certificate(arguments: &mut Arguments<'_>, common: &Common) -> Result<Method, MethodRefusal> {
    const SUMMARY: &str = "Invalid Azure Client Certificate Auth";
    let mut reasons = Vec::new();
    let application = common.application(&mut reasons);
    let written = arguments.filled("client_certificate", &["ARM_CLIENT_CERTIFICATE"]);
    let file = arguments.filled("client_certificate_path", &["ARM_CLIENT_CERTIFICATE_PATH"]);
    let password = arguments.filled("client_certificate_password", &["ARM_CLIENT_CERTIFICATE_PASSWORD"]);
    match Certificate::read(written.as_deref(), file.as_deref(), &password.unwrap_or_default()) {
        Ok(certificate) if reasons.is_empty() => return Ok(Method::Certificate(application, certificate)),
        Ok(_) => {}
        Err(error) => reasons.push(error),
    }
    Err((SUMMARY, reasons))
}

fn secret(arguments: &mut Arguments<'_>, common: &Common) -> Result<Method, MethodRefusal> {
    const SUMMARY: &str = "Invalid Azure Client Secret Auth";
    let mut reasons = Vec::new();
    let application = common.application(&mut reasons);
    let written = arguments.filled("client_secret", &["ARM_CLIENT_SECRET"]);
    let file = arguments.filled("client_secret_file_path", &["ARM_CLIENT_SECRET_FILE_PATH"]);
    match value_or_file("client secret", written.as_deref(), file.as_deref().map(Path::new)) {
        Ok(secret) if reasons.is_empty() => return Ok(Method::Secret(application, secret)),
        Ok(_) => {}
        Err(error) => reasons.push(format!("The Client Secret is misconfigured: {error}")),
    }
    Err((SUMMARY, reasons))
}

fn pipelines(arguments: &mut Arguments<'_>, common: &Common) -> Result<Method, MethodRefusal> {
    const SUMMARY: &str = "Invalid Azure DevOps Auth";
    let connection = arguments.filled("ado_service_connection_id", &CONNECTIONS);
    let Some(connection) = connection.filter(|_| common.uses_oidc) else {
        let reason = "This method needs \"use_oidc\" (or ARM_USE_OIDC) and \"ado_service_connection_id\" (or \
                      ARM_ADO_PIPELINE_SERVICE_CONNECTION_ID)";
        return Err((SUMMARY, vec![reason.to_owned()]));
    };
    let mut reasons = Vec::new();
    let url = arguments.variable(&[PIPELINES_URL]);
    if url.is_none() {
        reasons.push(format!("The variable {PIPELINES_URL}, which Azure Pipelines sets, is missing"));
    }
    if common.request_token.is_none() {
        reasons
            .push("The token of the pipeline is missing: set \"oidc_request_token\" or SYSTEM_ACCESSTOKEN".to_owned());
    }
    let application = common.application(&mut reasons);
    match (url, &common.request_token, reasons.is_empty()) {
        (Some(url), Some(token), true) => {
            Ok(Method::Pipelines(application, Pipeline { url, connection, token: token.clone() }))
        }
        _ => Err((SUMMARY, reasons)),
    }
}

fn oidc(arguments: &mut Arguments<'_>, common: &Common) -> Result<Method, MethodRefusal> {
    const SUMMARY: &str = "Invalid Azure OpenID Connect Auth";
    if !common.uses_oidc {
        return Err((SUMMARY, vec!["This method needs \"use_oidc\" (or ARM_USE_OIDC) set to true".to_owned()]));
    }
    let mut reasons = Vec::new();
    let application = common.application(&mut reasons);
    let token = arguments.filled("oidc_token", &["ARM_OIDC_TOKEN"]);
    let files = ["ARM_OIDC_TOKEN_FILE_PATH", "AZURE_FEDERATED_TOKEN_FILE"];
    let file = arguments.filled("oidc_token_file_path", &files).map(PathBuf::from);
    let url = arguments.filled("oidc_request_url", &REQUEST_URLS);
    let statement = match (token.is_some() || file.is_some(), url, &common.request_token) {
        (true, _, _) => {
            if let Err(error) = value_or_file("token", token.as_deref(), file.as_deref()) {
                reasons.push(format!("The token is misconfigured: {error}"));
            }
            Some(Statement::Given(token, file))
        }
        (false, Some(url), Some(token)) => Some(Statement::Asked(url, token.clone())),
        (false, _, _) => {
            let reason = "There is no token: set \"oidc_token\", \"oidc_token_file_path\", or both \
                          \"oidc_request_url\" and \"oidc_request_token\"";
            reasons.push(reason.to_owned());
            None
        }
    };
    match statement {
        Some(statement) if reasons.is_empty() => Ok(Method::Oidc(application, statement)),
        _ => Err((SUMMARY, reasons)),
    }
}

fn machine(arguments: &mut Arguments<'_>, common: &Common) -> Result<Method, MethodRefusal> {
    const SUMMARY: &str = "Invalid Azure Managed Service Identity Auth";
    if !arguments.flag("use_msi", &["ARM_USE_MSI"]).unwrap_or_default() {
        return Err((SUMMARY, vec!["This method needs \"use_msi\" (or ARM_USE_MSI) set to true".to_owned()]));
    }
    let found = Machine::of(&|name| arguments.variable(&[name]), common.written_client.clone());
    found.map(Method::Machine).map_err(|error| (SUMMARY, vec![error]))
}

fn workload(arguments: &mut Arguments<'_>, _common: &Common) -> Result<Method, MethodRefusal> {
    const SUMMARY: &str = "Invalid AKS Workload Identity Auth";
    if !arguments.flag("use_aks_workload_identity", &["ARM_USE_AKS_WORKLOAD_IDENTITY"]).unwrap_or_default() {
        let reason = "This method needs \"use_aks_workload_identity\" (or ARM_USE_AKS_WORKLOAD_IDENTITY) set to true";
        return Err((SUMMARY, vec![reason.to_owned()]));
    }
    let mut reasons = Vec::new();
    let [client, tenant, file] = ["AZURE_CLIENT_ID", "AZURE_TENANT_ID", "AZURE_FEDERATED_TOKEN_FILE"].map(|name| {
        arguments.variable(&[name]).unwrap_or_else(|| {
            reasons.push(format!("The variable {name}, which the webhook of the cluster sets for the pod, is missing"));
            String::new()
        })
    });
    match reasons.is_empty() {
        true => Ok(Method::Workload(Application { tenant, client }, PathBuf::from(file))),
        false => Err((SUMMARY, reasons)),
    }
}

fn cli(arguments: &mut Arguments<'_>, common: &Common, subscription: Option<String>) -> Result<Method, MethodRefusal> {
    const SUMMARY: &str = "Invalid Azure Command Line Auth";
    if !arguments.flag("use_cli", &["ARM_USE_CLI"]).unwrap_or(true) {
        return Err((SUMMARY, vec!["This method is turned off by use_cli = false (or ARM_USE_CLI)".to_owned()]));
    }
    let path = arguments.variable(&["PATH"]).unwrap_or_default();
    let program = std::env::split_paths(&path).map(|folder| folder.join("az")).find(|program| program.is_file());
    let Some(program) = program else {
        return Err((SUMMARY, vec!["The program \"az\" is not in PATH. Install the Azure CLI".to_owned()]));
    };
    Ok(Method::Cli(Cli { program, tenant: common.tenant.clone(), subscription }))
}

#[cfg(test)]
mod tests {
    use serde_json::{Map, Value as Json, json};

    use super::*;

    fn chosen(settings: Json, variables: &[(&str, &str)]) -> Result<&'static str, Vec<String>> {
        let Json::Object(settings) = settings else { return Err(Vec::new()) };
        let settings: Map<String, Json> = settings;
        let environment =
            |name: &str| variables.iter().find(|(known, _)| *known == name).map(|(_, value)| (*value).to_owned());
        let mut arguments = Arguments::new(&settings, &environment);
        match choose(&mut arguments, None) {
            Some(Method::Certificate(..)) => Ok("certificate"),
            Some(Method::Secret(..)) => Ok("secret"),
            Some(Method::Pipelines(..)) => Ok("pipelines"),
            Some(Method::Oidc(..)) => Ok("oidc"),
            Some(Method::Machine(..)) => Ok("machine"),
            Some(Method::Workload(..)) => Ok("workload"),
            Some(Method::Cli(..)) => Ok("cli"),
            None => Err(arguments.problems.into_iter().map(|problem| problem.detail).collect()),
        }
    }

    #[test]
    fn the_first_method_with_all_it_needs_is_chosen() {
        let file = std::env::temp_dir().join(format!("weft-azure-{}", std::process::id()));
        std::fs::write(&file, "token").unwrap();
        let file_name = file.to_str().unwrap();
        let ids = [("ARM_TENANT_ID", "t"), ("ARM_CLIENT_ID", "c")];
        let with = |more: &[(&'static str, &'static str)]| [&ids[..], more].concat();
        for (settings, variables, want) in [
            (json!({"client_secret": "s", "use_msi": true}), with(&[]), "secret"),
            (json!({"use_oidc": true, "oidc_token": "token", "oidc_token_file_path": file_name}), with(&[]), "oidc"),
            (
                json!({"use_oidc": true, "oidc_token": "x", "oidc_token_file_path": file_name, "use_msi": true}),
                with(&[]),
                "machine",
            ),
            (
                json!({"use_oidc": true}),
                with(&[("ACTIONS_ID_TOKEN_REQUEST_URL", "https://x"), ("ACTIONS_ID_TOKEN_REQUEST_TOKEN", "y")]),
                "oidc",
            ),
            (
                json!({"use_oidc": true, "ado_service_connection_id": "i"}),
                with(&[("SYSTEM_OIDCREQUESTURI", "https://x"), ("SYSTEM_ACCESSTOKEN", "y")]),
                "pipelines",
            ),
            (json!({"use_msi": true, "use_aks_workload_identity": true}), Vec::new(), "machine"),
            (
                json!({"use_aks_workload_identity": true}),
                vec![("AZURE_CLIENT_ID", "c"), ("AZURE_TENANT_ID", "t"), ("AZURE_FEDERATED_TOKEN_FILE", "/f")],
                "workload",
            ),
        ] {
            assert_eq!(chosen(settings.clone(), &variables), Ok(want), "{settings}");
        }
        std::fs::remove_file(file).unwrap();
    }

    #[test]
    fn without_a_method_each_says_what_it_needs() {
        let problems = chosen(json!({"use_oidc": true, "use_aks_workload_identity": true}), &[]).unwrap_err();
        assert_eq!(problems.len(), 8);
        for (number, want) in [
            (0, "Tenant ID is missing. The Client ID is misconfigured: missing client ID, a client ID is required."),
            (1, "missing client secret"),
            (3, "There is no token"),
            (4, "\"use_msi\""),
            (5, "AZURE_CLIENT_ID"),
            (6, "\"az\" is not in PATH"),
            (7, "access_key"),
        ] {
            assert!(problems[number].contains(want), "{}", problems[number]);
        }
        let off = chosen(json!({"use_cli": false}), &[("PATH", "/usr/bin")]).unwrap_err();
        assert!(off[6].contains("turned off"));
    }
}
