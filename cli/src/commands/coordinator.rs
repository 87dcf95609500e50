//! `weft coordinator`: carries out runs on many workers, for many clients.

mod activation;

use std::os::unix::fs::DirBuilderExt as _;
use std::sync::Arc;
use std::time::Duration;

use weft_coordinator::server::Server;
use weft_coordinator::{Address, Guard, Inherited, PlanFiles, Service};
use weft_graph_format::diagnostic::Diagnostic;
use weft_state::StoreError;

use crate::command::{self, Command, Invocation, OnMistake};
use crate::commands::problems;
use crate::context::{environment, holder};
use crate::exit::Exit;
use crate::identity;
use crate::metrics::{self, MetricsAddress};
use crate::options::text;
use crate::runtime::block_on;
use crate::signals::Attention;
use crate::signature;
use crate::store::{Access, RUNS_FOLDER, StoreLocation};

/// The forms of addresses, for messages.
const FORMS: &str = "unix:PATH for this user's processes on this machine, or IP:PORT with TLS, such as 0.0.0.0:7438";
/// The permissions of the directory of runs.
const PRIVATE: u32 = 0o700;
/// The file name of the default socket, in the directory for sockets of the user.
const SOCKET: &str = "weft-coordinator.sock";
/// How long a coordinator waits for its operations to end before it leaves its runs to a successor.
const DRAIN: Duration = Duration::from_secs(30);
/// The pause between two checks whether all runs have drained.
const LOOK: Duration = Duration::from_millis(100);

/// The pause between two checks whether another coordinator has taken over the lock.
const CHECK: Duration = Duration::from_secs(1);

/// The command.
pub const COORDINATOR: Command = Command {
    words: &["coordinator"],
    alias: None,
    operands: "",
    about: "Serve as the coordinator of a cluster",
    main: false,
    flags: &[
        command::VIEW,
        command::VARIABLES_UNLISTED,
        command::STORE,
        command::STATE_TO_READ,
        command::LOCK,
        command::TLS,
        &[
            text(
                "listen",
                "ADDR",
                "Where to listen: unix:PATH for this user's processes on this machine, or IP:PORT with TLS. [default: \
                 the socket of systemd, one in XDG_RUNTIME_DIR, or one in .weft]",
            ),
            text("port-file", "FILE", "Write the port to FILE when the coordinator accepts connections."),
            text("require-signature", "FILE", "Accept only plans that one of the public keys in FILE has signed."),
            text(
                "policy",
                "FILE",
                "The policy file: the roles of callers, and the states that they may use. [default: the roles in \
                 certificates]",
            ),
        ],
        command::METRICS,
    ],
    mixed: true,
    on_mistake: OnMistake::Usage,
    check: command::unchecked,
    events: false,
    run: |invocation| coordinate(invocation).unwrap_or_else(|exit| exit),
};

fn coordinate(invocation: &Invocation<'_>) -> Result<Exit, Exit> {
    let Invocation { arguments, context, .. } = invocation;
    invocation.at_most(0, problems::coordinator_arguments)?;
    let door = door(invocation)?;
    let place = StoreLocation::find(context, arguments, None).map_err(|problems| invocation.fail(&problems))?;
    let guard = identity::guard(arguments, place.state_name()).map_err(|problem| invocation.fail(&[problem]))?;
    let metrics = metrics::address(invocation)?;
    let served = block_on(serve(invocation, &place, door, guard, metrics)).and_then(|served| served);
    served.map_err(|problem| invocation.fail(&[problem]))?;
    Ok(Exit::DONE)
}

/// Where a coordinator listens.
enum Door {
    /// The coordinator listens at an address.
    At(Address),
    /// The coordinator listens on a socket that the service manager has opened.
    Inherited(Inherited),
}

fn door(invocation: &Invocation<'_>) -> Result<Door, Exit> {
    let text = match invocation.arguments.value("listen") {
        Some(text) => text.to_owned(),
        None => match activation::inherited().map_err(|problem| invocation.fail(&[problem]))? {
            Some(socket) => return Ok(Door::Inherited(socket)),
            None => usual_address().map_err(|problem| invocation.fail(&[problem]))?,
        },
    };
    let address = Address::parse(&text);
    address.map(Door::At).ok_or_else(|| invocation.mistake(&problems::invalid_listen_address(&text, FORMS)))
}

/// The socket where a coordinator listens by default. Creates the directory of runs if the socket is in it.
fn usual_address() -> Result<String, Diagnostic> {
    if let Some(directory) = environment("XDG_RUNTIME_DIR").filter(|directory| !directory.is_empty()) {
        return Ok(format!("unix:{directory}/{SOCKET}"));
    }
    let mut folder = std::fs::DirBuilder::new();
    let made = folder.recursive(true).mode(PRIVATE).create(RUNS_FOLDER);
    made.map_err(|error| problems::cannot_listen(&format!("{RUNS_FOLDER} cannot be created: {error}")))?;
    Ok(format!("unix:{RUNS_FOLDER}/{SOCKET}"))
}

async fn serve(
    invocation: &Invocation<'_>,
    place: &StoreLocation,
    door: Door,
    guard: Guard,
    metrics: Option<MetricsAddress>,
) -> Result<(), Diagnostic> {
    let view = &invocation.view;
    let failed = |error: weft_coordinator::server::ListenError| problems::cannot_listen(&error);
    let store = place.open(Access::Change).await?;
    store.reseal().await.map_err(|error| crate::store::problem(&error))?;
    let words = store.place();
    let signers = signature::required(&invocation.arguments)?;
    let service = Service::with_signers(Arc::clone(&store), Arc::new(PlanFiles), holder(), signers);
    let server = match door {
        Door::At(address) => Server::bind(Arc::clone(&service), &address, guard).await,
        Door::Inherited(socket) => Server::inherit(Arc::clone(&service), socket, guard),
    };
    let server = server.map_err(failed)?;
    let address = server.address();
    if let Some(path) = invocation.arguments.value("port-file") {
        let port = match address {
            Address::Tcp { port, .. } => port.to_string(),
            Address::Unix(_) => address.to_string(),
        };
        std::fs::write(path, port).map_err(|error| problems::port_file_unwritable(path, &error))?;
    }
    if let Some(metrics) = metrics {
        let (guard, shown) = (server.guard(), Arc::clone(&service));
        let render = move || metrics::coordinator_metrics(&shown.figures(), guard.expires());
        metrics::begin(view, &metrics, render).await?;
    }
    view.line(&format!("listening on {address}, with state and runs in {words}"));
    let mut attention = Attention::begin(2);
    let shutdown = async {
        attention.next().await;
        view.aside("Stopping. Running operations end first, and no new ones start. Press Ctrl-C again to quit now.");
        service.stop().await;
        let drained = async {
            while !service.is_idle() {
                tokio::time::sleep(LOOK).await;
            }
        };
        tokio::select! {
            _ = tokio::time::timeout(DRAIN, drained) => {}
            () = attention.next() => {}
        }
    };
    // If two coordinators listened, they would share the workers, but only one of them could carry out runs.
    let replaced = async {
        while !store.is_superseded() {
            tokio::time::sleep(CHECK).await;
        }
    };
    tokio::select! {
        served = server.serve(shutdown) => served.map_err(failed),
        () = replaced => Err(crate::store::problem(&StoreError::LockLost(words))),
    }
}
