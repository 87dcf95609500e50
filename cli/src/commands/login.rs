//! `weft login` and `weft logout`: obtain and remove API tokens for hosts.

mod browser;
mod problems;

use std::sync::Arc;

use url::Url;
use weft_graph_format::diagnostic::Diagnostic;
use weft_registry::credential_store::{CredentialStore, TokenPlace};
use weft_registry::discovery::{Discovery, DiscoveryError};
use weft_registry::http::shown;
use weft_registry::login::{BY_CODE, BY_PASSWORD, CodeLogin, LoginClient};
use weft_registry::{Host, Http, Network, Request, SecretString};

use crate::command::{self, Command, Invocation, OnMistake};
use crate::exit::Exit;
use crate::prompt::Prompt;
use crate::runtime::block_on;

/// The service of a host whose users create tokens on a web page.
const TOKENS: &str = "tfe.v2";
/// The path of the web page where users of this service create tokens.
const TOKENS_PAGE: &str = "/app/settings/tokens?source=terraform-login";
/// The only host for which a login by password is allowed, as in OpenTofu.
const PASSWORD_HOST: &str = "app.terraform.io";

/// The command.
pub const LOGIN: Command = Command {
    words: &["login"],
    alias: None,
    operands: "HOST",
    about: "Get a token for a host, and keep it",
    main: false,
    flags: &[command::VIEW, command::JSON, command::INPUT],
    mixed: false,
    on_mistake: OnMistake::Usage,
    check: command::unchecked,
    events: true,
    run: |invocation| {
        invocation.view.tell_lines();
        login(invocation).unwrap_or_else(|exit| exit)
    },
};

/// The command.
pub const LOGOUT: Command = Command {
    words: &["logout"],
    about: "Remove the token for a host",
    run: |invocation| {
        invocation.view.tell_lines();
        logout(invocation).unwrap_or_else(|exit| exit)
    },
    ..LOGIN
};

/// The host in the arguments, the store for tokens, and the location of the token of the host.
fn given(invocation: &Invocation<'_>, verb: &str) -> Result<(Host, CredentialStore, TokenPlace), Exit> {
    let [name] = invocation.arguments.positionals.as_slice() else {
        return Err(invocation.mistake(&problems::one_host(verb)));
    };
    let host: Host = name.parse().map_err(|_| invocation.fail(&[problems::invalid_host(name)]))?;
    let (config, environment, said) = invocation.context.cli_config();
    if !said.is_empty() {
        return Err(invocation.fail(&said));
    }
    let store = CredentialStore::new(&config, &environment);
    let place = store.place(&host);
    Ok((host, store, place))
}

fn logout(invocation: &Invocation<'_>) -> Result<Exit, Exit> {
    let (host, store, place) = given(invocation, "logout")?;
    let line = |text: String| invocation.view.line(&text);
    match place {
        TokenPlace::Elsewhere => return Err(invocation.fail(&[problems::own_credentials(&host, "logout")])),
        TokenPlace::Nowhere(_) => {
            line(format!("No credentials for {host} are stored.\n"));
            return Ok(Exit::DONE);
        }
        TokenPlace::Helper(helper) => line(format!(
            "Removing the stored credentials for {host} from the configured\n\"{helper}\" credentials helper.\n"
        )),
        TokenPlace::File(path) => line(format!(
            "Removing the stored credentials for {host} from the following file:\n    {}\n",
            path.display()
        )),
    }
    let of_host = host.clone();
    let forgotten = block_on(async { store.forget(&of_host).await }).map_err(|problem| invocation.fail(&[problem]))?;
    forgotten.map_err(|error| invocation.fail(&[problems::not_forgotten(&error)]))?;
    let success = invocation.view.style().paint("1;32", "Success!");
    line(format!("{success} Weft has removed the stored API token for {host}.\n"));
    Ok(Exit::DONE)
}

fn login(invocation: &Invocation<'_>) -> Result<Exit, Exit> {
    if !invocation.arguments.switch("input", true) || invocation.view.is_json() {
        return Err(invocation.fail(&[problems::interactive()]));
    }
    let (host, store, place) = given(invocation, "login")?;
    let one = |problem: Diagnostic| invocation.fail(&[problem]);
    let (config, environment, _) = invocation.context.cli_config();
    let network = Network::new(&config, &environment);
    let way = way_of(invocation, &network.discovery, &host)?;
    if place == TokenPlace::Elsewhere {
        return Err(one(problems::own_credentials(&host, "login")));
    }
    let task = Task { invocation, host: &host, place: &place, http: &network.http };
    let token = match way {
        Way::Login(client) if client.has(BY_CODE) => task.by_code(client)?,
        Way::Login(client) if client.has(BY_PASSWORD) && host.as_str() == PASSWORD_HOST => task.by_password(&client)?,
        Way::Login(_) => return Err(one(problems::no_grant(&host))),
        Way::Page(service) => task.by_page(&service)?,
    };
    let kept = block_on(async { store.keep(&host, &token).await }).map_err(one)?;
    kept.map_err(|error| one(problems::not_kept(&error)))?;
    let success = invocation.view.style().paint("1;32", "Success!");
    invocation.view.line(&format!(
        "\n{success} Weft has obtained and saved an API token.\n\nThe new API token will be used for any future Weft command \
         that must make\nauthenticated requests to {host}.\n"
    ));
    Ok(Exit::DONE)
}

/// How the user gets a token.
enum Way {
    /// The host issues a token with OAuth.
    Login(LoginClient),
    /// The user creates a token on a web page of this service.
    Page(Url),
}

fn way_of(invocation: &Invocation<'_>, discovery: &Arc<Discovery>, host: &Host) -> Result<Way, Exit> {
    let one = |problem: Diagnostic| invocation.fail(&[problem]);
    match block_on(async { discovery.login(host).await }).map_err(one)? {
        Ok(client) => return Ok(Way::Login(client)),
        Err(DiscoveryError::NotOffered { .. }) => {}
        Err(error @ (DiscoveryError::Unreachable { .. } | DiscoveryError::Type { .. })) => {
            return Err(one(problems::no_discovery(host, &error)));
        }
        Err(error) => invocation.view.diagnostics(&[problems::no_login(&error)]),
    }
    let found = block_on(async { discovery.service(host, TOKENS).await }).map_err(one)?;
    found.map(Way::Page).map_err(|error| one(problems::no_tokens(host, &error)))
}

/// The state of a login.
struct Task<'a> {
    invocation: &'a Invocation<'a>,
    host: &'a Host,
    place: &'a TokenPlace,
    http: &'a Http,
}

impl Task<'_> {
    fn line(&self, text: &str) {
        self.invocation.view.line(text);
    }

    fn fail(&self, problem: Diagnostic) -> Exit {
        self.invocation.fail(&[problem])
    }

    /// Explains what will happen, and asks for confirmation.
    fn agreed(&self, means: &str, by_browser: bool) -> Result<(), Exit> {
        self.line(&format!("Weft will request an API token for {} using {means}.\n", self.host));
        if by_browser {
            self.line(
                "This will work only if you are able to use a web browser on this computer to\ncomplete a login process. \
                 If not, you must obtain an API token by another\nmeans and configure it in the CLI configuration \
                 manually.\n",
            );
        }
        match self.place {
            TokenPlace::Helper(helper) => self.line(&format!(
                "If login is successful, Weft will store the token in the configured\n\"{helper}\" credentials helper for use \
                 by subsequent commands.\n"
            )),
            TokenPlace::File(path) | TokenPlace::Nowhere(path) => self.line(&format!(
                "If login is successful, Weft will store the token in plain text in\nthe following file for use by \
                 subsequent commands:\n    {}\n",
                path.display()
            )),
            TokenPlace::Elsewhere => {}
        }
        let answer = Prompt::new().answer("Do you want to proceed?", "Only 'yes' will be accepted to confirm.", false);
        match answer.is_some_and(|answer| answer.eq_ignore_ascii_case("yes")) {
            true => Ok(()),
            false => Err(self.fail(problems::cancelled())),
        }
    }

    /// Opens a page in the browser, or prints its URL.
    fn open(&self, url: &Url, page: &str) {
        let host = self.host;
        match browser::open(url) {
            true => self.line(&format!(
                "Weft must now open a web browser to the {page} page for {host}.\n\nIf a browser does not open this \
                 automatically, open the following URL to proceed:\n    {url}\n"
            )),
            false => self.line(&format!("Open the following URL to access the {page} page for {host}:\n    {url}\n")),
        }
    }

    fn by_code(&self, client: LoginClient) -> Result<SecretString, Exit> {
        self.agreed("OAuth", true)?;
        let login = CodeLogin::begin(client).map_err(|error| self.fail(problems::no_server(&error)))?;
        let login = Arc::new(login);
        let server = Arc::clone(&login);
        // The server listens before the browser starts, because some openers return only after the page is loaded.
        let waiting = std::thread::spawn(move || server.wait());
        if let Some(url) = login.address() {
            self.open(&url, "login");
        }
        self.line("Weft will now wait for the host to signal that login was successful.\n");
        let failed = |error: &dyn std::fmt::Display| self.fail(problems::no_token(error));
        let code = waiting.join().map_err(|_| failed(&"the local server that waits for the browser failed"))?;
        let code = code.map_err(|error| failed(&error))?;
        let token = block_on(async { login.token(self.http, &code).await }).map_err(|problem| self.fail(problem))?;
        token.map_err(|error| failed(&error))
    }

    fn by_password(&self, client: &LoginClient) -> Result<SecretString, Exit> {
        self.agreed("OAuth", false)?;
        self.line(
            "Weft must temporarily use your password to request an API token.\nThis password will NOT be saved locally.\n",
        );
        let ask = |question: String, secret: bool| Prompt::new().answer(&question, "", secret).unwrap_or_default();
        let user = ask(format!("Username for {}:", self.host), false);
        let password = SecretString::new(ask(format!("Password for {}:", self.host), true));
        let token = block_on(async { client.by_password(self.http, &user, &password).await });
        token.map_err(|problem| self.fail(problem))?.map_err(|error| self.fail(problems::password_refused(&error)))
    }

    fn by_page(&self, service: &Url) -> Result<SecretString, Exit> {
        self.agreed("your browser", false)?;
        let page = Url::parse(&format!("https://{}{TOKENS_PAGE}", service.host_str().unwrap_or_default()));
        if let Ok(page) = page {
            self.open(&page, "tokens");
        }
        self.line("Generate a token using your browser, and copy-paste it into this prompt.\n");
        let question = format!("Token for {}:", self.host);
        let token = SecretString::new(Prompt::new().answer(&question, "", true).unwrap_or_default());
        let user = block_on(async { self.user_of(service, &token).await }).map_err(|problem| self.fail(problem))?;
        let user = user.map_err(|problem| self.fail(problem))?;
        self.line(&format!("\nRetrieved token for user {user}\n"));
        Ok(token)
    }

    /// The name of the user who owns this token.
    async fn user_of(&self, service: &Url, token: &SecretString) -> Result<String, Diagnostic> {
        let unknown = |error: &dyn std::fmt::Display| problems::user_unknown(error);
        let url = service.join("account/details").map_err(|error| unknown(&error))?;
        let request = Request::get(url.clone()).accept("application/vnd.api+json").bearer(Some(token.expose()));
        let answer = self.http.send(&request).await.map_err(|error| unknown(&error))?;
        match answer.status.as_u16() {
            401 => return Err(problems::invalid_token(self.host)),
            200 => {}
            status => return Err(unknown(&format!("{} responded with {status}", shown(&url)))),
        }
        let content: serde_json::Value = answer.json().map_err(|error| unknown(&error))?;
        let name = content.pointer("/data/attributes/username").and_then(serde_json::Value::as_str);
        Ok(name.unwrap_or_default().to_owned())
    }
}
