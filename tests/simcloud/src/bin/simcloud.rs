//! `simcloud`: serves a simulated cloud, installs its provider plugin, shows the content of a running cloud, and floods
//! a server with connections.

use std::net::{IpAddr, SocketAddr};
use std::path::{Path, PathBuf};
use std::process::ExitCode;
use std::time::Duration;

use clap::{Parser, Subcommand};
use http_body_util::BodyExt;
use hyper::Method;
use tokio::io::AsyncWriteExt;
use tokio::signal::unix::{SignalKind, signal};
use weft_simcloud::client::Client;
use weft_simcloud::cloud::config::{Config, Durability};
use weft_simcloud::cloud::server::Server;
use weft_simcloud::flood::Flood;
use weft_simcloud::package::{self, Placement};

/// A simulated cloud.
#[derive(Parser)]
#[command(name = "simcloud", version, args_conflicts_with_subcommands = true)]
struct Arguments {
    #[command(subcommand)]
    command: Option<Command>,
    #[command(flatten)]
    serve: Serve,
}

#[derive(clap::Args)]
struct Serve {
    /// Configuration file, JSON; by default six regions without latency or failures
    #[arg(long, value_name = "FILE")]
    config: Option<PathBuf>,
    /// Loopback address to listen on; port 0 takes a free port
    #[arg(long, value_name = "ADDRESS", default_value = "127.0.0.1:0")]
    listen: SocketAddr,
    /// SQLite database; by default in memory
    #[arg(long, value_name = "FILE")]
    db: Option<PathBuf>,
    /// Write the port number to this file once the server listens
    #[arg(long, value_name = "FILE")]
    port_file: Option<PathBuf>,
    /// What an acknowledged effect survives; overrides the configuration
    #[arg(long, value_name = "machine|process", value_parser = durability)]
    durability: Option<Durability>,
}

#[derive(Subcommand)]
enum Command {
    /// Install the built plugin in a filesystem mirror
    InstallPlugin {
        /// The mirror
        dir: PathBuf,
        /// The plugin; by default the one beside this program
        #[arg(long, value_name = "FILE")]
        plugin: Option<PathBuf>,
        /// Make a symbolic link instead of a copy
        #[arg(long)]
        symlink: bool,
    },
    /// Print the response of a running cloud to GET PATH, such as /ledger, /objects, /faults
    Get {
        /// The path, optionally with a query
        path: String,
        /// The URL of the cloud
        #[arg(long, env = "SIMCLOUD_URL")]
        url: String,
    },
    /// Open connections that a server must refuse, and print their number and rate as JSON
    Flood {
        /// Host and port of the server
        target: String,
        /// How many seconds the flood lasts
        #[arg(long, value_name = "SECONDS", default_value_t = 10)]
        seconds: u64,
        /// Maximum number of connections per second; by default as many as possible
        #[arg(long, value_name = "N")]
        rate: Option<u32>,
        /// Address from which the connections come; by default the system chooses
        #[arg(long, value_name = "ADDRESS")]
        from: Option<IpAddr>,
        /// Number of connections that stay open and send nothing
        #[arg(long, value_name = "N", default_value_t = 0)]
        silent: usize,
    },
}

fn durability(text: &str) -> Result<Durability, String> {
    match text {
        "machine" => Ok(Durability::Machine),
        "process" => Ok(Durability::Process),
        _ => Err("machine or process".to_owned()),
    }
}

fn main() -> ExitCode {
    // Long options may have one dash or two.
    let single = |text: &String| text.len() > 2 && text.starts_with('-') && !text.starts_with("--");
    let arguments = std::env::args().map(|text| if single(&text) { format!("-{text}") } else { text });
    let arguments = Arguments::parse_from(arguments);
    let outcome = match arguments.command {
        Some(Command::InstallPlugin { dir, plugin, symlink }) => install(&dir, plugin, symlink),
        Some(Command::Get { path, url }) => run(get(&url, &path)),
        Some(Command::Flood { target, seconds, rate, from, silent }) => run(async move {
            let found = tokio::net::lookup_host(&target).await?.next();
            let target = found.ok_or_else(|| format!("{target} has no address"))?;
            let length = Duration::from_secs(seconds);
            flood(Flood { target, source: from, length, rate, silent }).await
        }),
        None => run(serve(arguments.serve)),
    };
    match outcome {
        Ok(()) => ExitCode::SUCCESS,
        Err(error) => {
            eprintln!("simcloud: {error}");
            ExitCode::FAILURE
        }
    }
}

type Outcome = Result<(), Box<dyn std::error::Error>>;

fn run(work: impl Future<Output = Outcome>) -> Outcome {
    tokio::runtime::Builder::new_multi_thread().enable_all().build()?.block_on(work)
}

async fn serve(options: Serve) -> Outcome {
    let mut config = match &options.config {
        Some(path) => Config::read(path)?,
        None => Config::default(),
    };
    if let Some(durability) = options.durability {
        config.durability = durability;
    }
    let (mut interrupt, mut terminate) = (signal(SignalKind::interrupt())?, signal(SignalKind::terminate())?);
    let server = Server::start(config, options.listen, options.db.as_deref()).await?;
    println!("listening on {}", server.url());
    if let Some(path) = &options.port_file {
        let port = server.url().rsplit(':').next().unwrap_or_default();
        write_whole(path, port)?;
    }
    tokio::select! {
        () = server.run() => {}
        _ = interrupt.recv() => {}
        _ = terminate.recv() => {}
    }
    Ok(())
}

/// Writes a file by a rename, so that a process that waits for it never sees a part of it.
fn write_whole(path: &Path, text: &str) -> std::io::Result<()> {
    let mut fresh = path.as_os_str().to_owned();
    fresh.push(".new");
    std::fs::write(&fresh, text)?;
    std::fs::rename(&fresh, path)
}

fn install(dir: &Path, plugin: Option<PathBuf>, symlink: bool) -> Outcome {
    let plugin = match plugin {
        Some(plugin) => plugin,
        None => std::env::current_exe()?.with_file_name(package::PLUGIN),
    };
    let placement = if symlink { Placement::Link } else { Placement::Copy };
    println!("{}", package::install(&plugin, dir, placement)?.display());
    Ok(())
}

async fn get(url: &str, path: &str) -> Outcome {
    let response = Client::new(url)?.open(Method::GET, path, None).await?;
    let status = response.status();
    let mut body = response.into_body();
    let mut output = tokio::io::stdout();
    while let Some(frame) = body.frame().await {
        if let Ok(bytes) = frame?.into_data() {
            output.write_all(&bytes).await?;
        }
    }
    output.flush().await?;
    if status.is_success() { Ok(()) } else { Err(format!("GET {path}: {status}").into()) }
}

async fn flood(flood: Flood) -> Outcome {
    println!("{}", serde_json::to_string(&flood.run().await)?);
    Ok(())
}
