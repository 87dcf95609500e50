//! The methods of authentication: how the settings select one, and the settings that each method needs.

use std::path::{Path, PathBuf};
use std::sync::Arc;

use super::certificate::Certificate;
use super::machine::Machine;
use super::problems::reasons::{MethodProblem, ValueProblem};
use super::problems::{self, MethodKind};
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

/// Why a method cannot be used: the method, and the reasons.
type MethodRefusal = (MethodKind, Vec<MethodProblem>);

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
    let refusals = refusals.iter().map(|(kind, reasons)| problems::method(*kind, reasons));
    arguments.problems.extend(refusals.chain([problems::no_method()]));
    None
}

/// The settings that several methods need.
struct Common {
    tenant: Option<String>,
    client: Result<String, Arc<ValueProblem>>,
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
            client: value_or_file("client ID", written_client.as_deref(), file.as_deref().map(Path::new))
                .map_err(Arc::new),
            written_client,
            uses_oidc: arguments.flag("use_oidc", &["ARM_USE_OIDC"]).unwrap_or_default(),
            request_token: arguments.filled("oidc_request_token", &REQUEST_TOKENS),
        }
    }

    /// The application. Adds each missing part to `reasons`.
    fn application(&self, reasons: &mut Vec<MethodProblem>) -> Application {
        if self.tenant.is_none() {
            reasons.push(MethodProblem::NoTenant);
        }
        if let Err(error) = &self.client {
            reasons.push(MethodProblem::ClientId(Arc::clone(error)));
        }
        Application { tenant: self.tenant.clone().unwrap_or_default(), client: self.client.clone().unwrap_or_default() }
    }
}

/// A value that may be given directly or in a file. If the value and a file are given, their contents must be equal.
///
/// # Errors
/// Returns an error if there is no value and no file, the file cannot be read, or the contents are not equal.
pub(super) fn value_or_file(
    what: &'static str,
    value: Option<&str>,
    file: Option<&Path>,
) -> Result<String, ValueProblem> {
    let read = file.map(std::fs::read_to_string).transpose();
    let read = read.map_err(|error| ValueProblem::Unreadable { what, error })?.filter(|text| !text.is_empty());
    match (value, read) {
        (None, None) => Err(ValueProblem::Missing(what)),
        (Some(value), None) => Ok(value.to_owned()),
        (None, Some(read)) => Ok(read),
        (Some(value), Some(read)) if value == read => Ok(read),
        (Some(_), Some(_)) => Err(ValueProblem::Differs(what)),
    }
}

fn certificate(arguments: &mut Arguments<'_>, common: &Common) -> Result<Method, MethodRefusal> {
    let mut reasons = Vec::new();
    let application = common.application(&mut reasons);
    let written = arguments.filled("client_certificate", &["ARM_CLIENT_CERTIFICATE"]);
    let file = arguments.filled("client_certificate_path", &["ARM_CLIENT_CERTIFICATE_PATH"]);
    let password = arguments.filled("client_certificate_password", &["ARM_CLIENT_CERTIFICATE_PASSWORD"]);
    match Certificate::read(written.as_deref(), file.as_deref(), &password.unwrap_or_default()) {
        Ok(certificate) if reasons.is_empty() => return Ok(Method::Certificate(application, certificate)),
        Ok(_) => {}
        Err(error) => reasons.push(MethodProblem::Certificate(error)),
    }
    Err((MethodKind::Certificate, reasons))
}

fn secret(arguments: &mut Arguments<'_>, common: &Common) -> Result<Method, MethodRefusal> {
    let mut reasons = Vec::new();
    let application = common.application(&mut reasons);
    let written = arguments.filled("client_secret", &["ARM_CLIENT_SECRET"]);
    let file = arguments.filled("client_secret_file_path", &["ARM_CLIENT_SECRET_FILE_PATH"]);
    match value_or_file("client secret", written.as_deref(), file.as_deref().map(Path::new)) {
        Ok(secret) if reasons.is_empty() => return Ok(Method::Secret(application, secret)),
        Ok(_) => {}
        Err(error) => reasons.push(MethodProblem::ClientSecret(error)),
    }
    Err((MethodKind::Secret, reasons))
}

fn pipelines(arguments: &mut Arguments<'_>, common: &Common) -> Result<Method, MethodRefusal> {
    let connection = arguments.filled("ado_service_connection_id", &CONNECTIONS);
    let Some(connection) = connection.filter(|_| common.uses_oidc) else {
        return Err((MethodKind::Pipelines, vec![MethodProblem::NoServiceConnection]));
    };
    let mut reasons = Vec::new();
    let url = arguments.variable(&[PIPELINES_URL]);
    if url.is_none() {
        reasons.push(MethodProblem::NoPipelineVariable(PIPELINES_URL));
    }
    if common.request_token.is_none() {
        reasons.push(MethodProblem::NoPipelineToken);
    }
    let application = common.application(&mut reasons);
    match (url, &common.request_token, reasons.is_empty()) {
        (Some(url), Some(token), true) => {
            Ok(Method::Pipelines(application, Pipeline { url, connection, token: token.clone() }))
        }
        _ => Err((MethodKind::Pipelines, reasons)),
    }
}

fn oidc(arguments: &mut Arguments<'_>, common: &Common) -> Result<Method, MethodRefusal> {
    if !common.uses_oidc {
        let reason = MethodProblem::NotTurnedOn { argument: "use_oidc", variable: "ARM_USE_OIDC" };
        return Err((MethodKind::Oidc, vec![reason]));
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
                reasons.push(MethodProblem::Token(error));
            }
            Some(Statement::Given(token, file))
        }
        (false, Some(url), Some(token)) => Some(Statement::Asked(url, token.clone())),
        (false, _, _) => {
            reasons.push(MethodProblem::NoToken);
            None
        }
    };
    match statement {
        Some(statement) if reasons.is_empty() => Ok(Method::Oidc(application, statement)),
        _ => Err((MethodKind::Oidc, reasons)),
    }
}

fn machine(arguments: &mut Arguments<'_>, common: &Common) -> Result<Method, MethodRefusal> {
    if !arguments.flag("use_msi", &["ARM_USE_MSI"]).unwrap_or_default() {
        let reason = MethodProblem::NotTurnedOn { argument: "use_msi", variable: "ARM_USE_MSI" };
        return Err((MethodKind::Machine, vec![reason]));
    }
    let found = Machine::of(&|name| arguments.variable(&[name]), common.written_client.clone());
    found.map(Method::Machine).map_err(|error| (MethodKind::Machine, vec![MethodProblem::Machine(error)]))
}

fn workload(arguments: &mut Arguments<'_>, _common: &Common) -> Result<Method, MethodRefusal> {
    let (argument, variable) = ("use_aks_workload_identity", "ARM_USE_AKS_WORKLOAD_IDENTITY");
    if !arguments.flag(argument, &[variable]).unwrap_or_default() {
        return Err((MethodKind::Workload, vec![MethodProblem::NotTurnedOn { argument, variable }]));
    }
    let mut reasons = Vec::new();
    let [client, tenant, file] = ["AZURE_CLIENT_ID", "AZURE_TENANT_ID", "AZURE_FEDERATED_TOKEN_FILE"].map(|name| {
        arguments.variable(&[name]).unwrap_or_else(|| {
            reasons.push(MethodProblem::NoPodVariable(name));
            String::new()
        })
    });
    match reasons.is_empty() {
        true => Ok(Method::Workload(Application { tenant, client }, PathBuf::from(file))),
        false => Err((MethodKind::Workload, reasons)),
    }
}

fn cli(arguments: &mut Arguments<'_>, common: &Common, subscription: Option<String>) -> Result<Method, MethodRefusal> {
    if !arguments.flag("use_cli", &["ARM_USE_CLI"]).unwrap_or(true) {
        return Err((MethodKind::Cli, vec![MethodProblem::CliTurnedOff]));
    }
    let path = arguments.variable(&["PATH"]).unwrap_or_default();
    let program = std::env::split_paths(&path).map(|folder| folder.join("az")).find(|program| program.is_file());
    let Some(program) = program else {
        return Err((MethodKind::Cli, vec![MethodProblem::NoCli]));
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
