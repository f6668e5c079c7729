//! `weft support`: one archive with what is needed to look for the cause of a problem.
//!
//! | module | contents |
//! |---|---|
//! | `parts` | what is collected |
//! | `collect` | programs, files and pages, each bounded in time and size |
//! | `secrets` | keys, which are left out of every part |
//! | `archive` | the archive, and its list of parts |

mod archive;
mod collect;
mod parts;
mod secrets;

use std::io::{IsTerminal, stderr};
use std::path::{Path, PathBuf};
use std::process::ExitCode;
use std::time::{SystemTime, UNIX_EPOCH};

use crate::args::{Daemon, Support};
use crate::connect::{Effort, Session, address, connect};
use crate::error::CliError;
use crate::output;
use crate::time::utc;
use archive::Archive;
use collect::{Collected, Home, metrics_page, program, read_file};
use secrets::Secrets;

/// The configuration where no other is known.
const CONFIG: &str = "/etc/opa-fm/opafm.xml";
/// Services whose health is asked for; the empty one is the daemon as a whole.
const SERVICES: [&str; 4] = [
    "",
    "weftd.manager",
    "weftd.queries",
    "weft.v1.FabricService",
];

pub(crate) async fn run(daemon: &Daemon, args: &Support) -> Result<ExitCode, CliError> {
    let name = format!("weft-support-{}-{}", host(), stamp());
    let file = args.output.clone();
    let file = file.unwrap_or_else(|| PathBuf::from(format!("{name}.tar.gz")));
    let session = connect(daemon).await;
    let config = config_file(args, session.as_ref().ok()).await;
    let secrets = Secrets::of(&config);
    let archive = Archive::create(&file, &name, secrets)?;
    let home = Home::new()?;
    let mut bundle = Bundle { archive, home };
    bundle.of_daemon(daemon, &session).await?;
    bundle.metrics(daemon, args).await?;
    bundle.of_host(&config).await?;
    let summary = bundle.archive.finish()?;
    output::text(format!("wrote {}: {summary}\n", file.display()))?;
    Ok(ExitCode::SUCCESS)
}

struct Bundle {
    archive: Archive,
    home: Home,
}

impl Bundle {
    /// Adds a part, with a line of progress.
    async fn add(
        &mut self,
        path: &str,
        source: &str,
        part: impl Future<Output = Collected>,
    ) -> Result<(), CliError> {
        tell(path);
        let collected = part.await;
        self.archive.add(path, source, collected)
    }

    /// Adds what a program prints.
    fn add_program(
        &mut self,
        path: &str,
        source: &str,
        name: &str,
        words: &[String],
    ) -> Result<(), CliError> {
        tell(path);
        let printed = program(&self.home, name, words);
        self.archive.add(path, source, printed)
    }

    /// Adds what the daemon tells, through the commands of this program.
    async fn of_daemon(
        &mut self,
        daemon: &Daemon,
        session: &Result<Session, CliError>,
    ) -> Result<(), CliError> {
        let session = match session {
            Ok(session) => session,
            Err(error) => return self.archive.add("daemon", "weftd", Err(error.to_string())),
        };
        self.add("daemon/health.txt", "grpc.health.v1", health(session))
            .await?;
        let options = options(daemon);
        for (path, command) in parts::OF_DAEMON {
            let words = command.split(' ').map(str::to_owned);
            let words: Vec<String> = words.chain(options.iter().cloned()).collect();
            let own = std::env::current_exe();
            let own = own.map_or_else(|_| "weft".into(), |path| path.display().to_string());
            self.add_program(path, &format!("weft {command}"), &own, &words)?;
        }
        Ok(())
    }

    async fn metrics(&mut self, daemon: &Daemon, args: &Support) -> Result<(), CliError> {
        let address = match &args.metrics {
            Some(address) => address.clone(),
            None => {
                let port = weft_api::metrics_port(daemon.instance.unwrap_or(0));
                let host = address(daemon).ok().and_then(|url| host_of(&url));
                let host = host.unwrap_or_else(|| "127.0.0.1".to_owned());
                format!("{host}:{port}")
            }
        };
        let source = format!("http://{address}/metrics");
        self.add("daemon/metrics.txt", &source, metrics_page(&address))
            .await
    }

    async fn of_host(&mut self, config: &Path) -> Result<(), CliError> {
        for (path, line) in parts::PROGRAMS {
            let mut words = line.split(' ').map(str::to_owned);
            let name = words.next().unwrap_or_default();
            let words: Vec<String> = words.collect();
            self.add_program(path, line, &name, &words)?;
        }
        let source = config.display().to_string();
        let read = async { read_file(config) };
        self.add("host/opafm.xml", &source, read).await?;
        for file in parts::files() {
            let path = format!("host{}", file.display());
            let source = file.display().to_string();
            self.add(&path, &source, async { read_file(&file) }).await?;
        }
        for (path, why) in parts::LEFT_OUT {
            self.archive.add(path, path, Err((*why).to_owned()))?;
        }
        Ok(())
    }
}

/// A line of progress on a terminal.
fn tell(path: &str) {
    if stderr().is_terminal() {
        output::complain("", &format!("collecting {path}"));
    }
}

/// The configuration file: as named, the daemon's, or the usual one.
async fn config_file(args: &Support, session: Option<&Session>) -> PathBuf {
    if let Some(file) = &args.config {
        return file.clone();
    }
    let told = match session {
        Some(session) => {
            let mut service = session.services(Effort::Look).config();
            let asked = service.get_effective_config(weft_api::v1::GetEffectiveConfigRequest {});
            session.answer(Effort::Look, asked).await.ok()
        }
        None => None,
    };
    let told = told.map(|config| PathBuf::from(config.file));
    let told = told.filter(|file| file.is_file());
    told.unwrap_or_else(|| PathBuf::from(CONFIG))
}

async fn health(session: &Session) -> Collected {
    let client = session.services(Effort::Look);
    let mut text = String::new();
    for service in SERVICES {
        let health = client.service_health(service).await;
        let health = health.map_or_else(|status| status.message().to_owned(), str::to_owned);
        let service = match service {
            "" => "weftd",
            service => service,
        };
        text += &format!("{service}: {health}\n");
    }
    text += &format!("address: {}\n", session.address());
    Ok(text.into_bytes())
}

/// The options with which this program reaches the daemon.
fn options(daemon: &Daemon) -> Vec<String> {
    let mut options = Vec::new();
    let mut add = |name: &str, value: Option<String>| {
        options.extend(value.map(|value| format!("{name}={value}")));
    };
    let path = |path: &Option<PathBuf>| path.as_ref().map(|path| path.display().to_string());
    add("--address", daemon.address.clone());
    add(
        "--instance",
        daemon.instance.map(|number| number.to_string()),
    );
    add("--tls-ca", path(&daemon.tls_ca));
    add("--tls-cert", path(&daemon.tls_cert));
    add("--tls-key", path(&daemon.tls_key));
    add("--tls-domain", daemon.tls_domain.clone());
    options.push("--color=never".to_owned());
    options
}

/// The host of an address, `http://HOST:PORT`.
fn host_of(url: &str) -> Option<String> {
    let (_, rest) = url.split_once("://")?;
    let (host, _) = rest.trim_end_matches('/').rsplit_once(':')?;
    Some(host.to_owned())
}

/// Name of this host, as far as it is good for a file's name.
fn host() -> String {
    let name = std::fs::read_to_string("/proc/sys/kernel/hostname").unwrap_or_default();
    let good = |c: &char| c.is_ascii_alphanumeric() || "-_.".contains(*c);
    let name: String = name.trim().chars().filter(good).take(64).collect();
    match name.is_empty() {
        true => "host".to_owned(),
        false => name,
    }
}

fn now_ns() -> u64 {
    let now = SystemTime::now().duration_since(UNIX_EPOCH);
    now.map_or(0, |now| u64::try_from(now.as_nanos()).unwrap_or(u64::MAX))
}

/// The time for a file's name: 20260131T235959Z.
fn stamp() -> String {
    let time = utc(now_ns());
    let seconds = time.split('.').next().unwrap_or_default();
    format!("{}Z", seconds.replace(['-', ':'], ""))
}
