//! The command line.

use std::net::SocketAddr;
use std::path::PathBuf;
use std::time::Duration;

use crate::otlp::Endpoint;
use crate::remote_write::RemoteWriteArgs;
use clap::{Parser, Subcommand, ValueEnum, value_parser};
use weft_api::{LAST_INSTANCE, metrics_port, page_port};
use weft_fabric::Guid;
use weft_fabric::generate::fabrics;
use weft_report::Point;
use weft_transport::umad::PortSpec;

use crate::access::{AccessArgs, AccessCommand};
use crate::black_box::RecordingArgs;
use crate::etcd::EtcdArgs;
use crate::fencing::FencingArgs;
use crate::history::HistoryArgs;
use crate::listen::Address;
use crate::metrics_server::MetricsArgs;
use crate::page::PageArgs;
use crate::peer::PeerArgs;
use crate::tls::TlsArgs;

const AFTER: &str = "\
Exit codes: 0 stopped as asked; 1 the manager failed; 2 wrong usage; 3 the configuration is refused; \
4 the fabric cannot be emulated or reached, or there is no HFI; 5 an address cannot be listened on; 6 the state \
directory cannot be used.\n\n\
SIGHUP reads the configuration again, SIGTERM and SIGINT stop.";

/// The Weft fabric manager: discovers, routes and runs an Omni-Path fabric.
#[derive(Debug, Parser)]
#[command(version, after_help = AFTER, args_conflicts_with_subcommands = true)]
pub(crate) struct Args {
    #[command(subcommand)]
    pub(crate) command: Option<Command>,
    /// The configuration, an opafm.xml; by default /etc/opa-fm/opafm.xml if that exists. An emulated
    /// fabric needs none.
    #[arg(short, long, value_name = "FILE")]
    pub(crate) config: Option<PathBuf>,
    /// Rules for links with errors: a file like config/link-rules.xml, read with the configuration and at each reload.
    /// Without it no link is judged by its errors.
    #[arg(long, value_name = "FILE")]
    pub(crate) link_rules: Option<PathBuf>,
    /// Instance (element Fm) of the configuration to run, from 0.
    #[arg(long, value_name = "N", default_value_t = 0, value_parser = value_parser!(u16).range(..=i64::from(LAST_INSTANCE)))]
    pub(crate) instance: u16,
    #[arg(long, value_name = "FABRIC", conflicts_with = "connect", help = emulate())]
    pub(crate) emulate: Option<String>,
    /// Where `weft-emulator ctl --connect` causes faults in the fabric of --emulate: unix:PATH, for its owner alone. By default
    /// emulator.sock in the state directory; without one where `weft-emulator ctl` looks, /tmp/weft-emulator.sock, if that is free.
    #[arg(long, value_name = "ADDRESS", requires = "emulate")]
    pub(crate) control: Option<String>,
    /// Run the fabric of an emulator: unix:PATH or tcp:HOST:PORT.
    #[arg(long, value_name = "ADDRESS")]
    pub(crate) connect: Option<String>,
    /// Run the fabric at this port of a local HFI, such as hfi1_0:1. Without --hfi,
    /// --emulate and --connect it is the port named in the configuration (Hfi, Port, PortGUID).
    #[arg(long, value_name = "DEVICE:PORT", conflicts_with_all = ["emulate", "connect", "host"])]
    pub(crate) hfi: Option<PortSpec>,
    /// GUID of the emulated HFI that the manager runs on; by default the first one.
    #[arg(long, value_name = "GUID", value_parser = parse_guid)]
    pub(crate) host: Option<Guid>,
    /// Random seed of an emulated fabric.
    #[arg(long, value_name = "N", default_value_t = 1)]
    pub(crate) seed: u64,
    /// Directory that keeps LIDs and drains over restarts: by default systemd's StateDirectory, else
    /// /var/lib/weft; an emulated fabric keeps none by default.
    #[arg(long, value_name = "DIR")]
    pub(crate) state_dir: Option<PathBuf>,
    /// Days for which nodes and links that are gone are remembered and missed by `weft health`: 1 to 3650.
    #[arg(long, value_name = "DAYS", default_value_t = 30, value_parser = value_parser!(u32).range(1..=3650))]
    remember: u32,
    #[command(flatten)]
    pub(crate) history: HistoryArgs,
    #[command(flatten)]
    pub(crate) recording: RecordingArgs,
    #[command(flatten)]
    pub(crate) peer: PeerArgs,
    #[command(flatten)]
    pub(crate) etcd: EtcdArgs,
    #[command(flatten)]
    pub(crate) fencing: FencingArgs,
    /// Address of the API: unix:/PATH, or ADDRESS:PORT, of which port 0 chooses a free one; may be given several times. By
    /// default unix:/run/weft/api.sock for instance 0, api.1.sock for instance 1 and so on; for an emulated fabric 127.0.0.1
    /// with port 9313, 9323 and so on. An address other than loopback needs --tls-cert, --tls-key and --tls-client-ca.
    #[arg(long, value_name = "ADDRESS")]
    listen: Vec<Address>,
    #[command(flatten)]
    pub(crate) access: AccessArgs,
    #[command(flatten)]
    page: PageArgs,
    #[command(flatten)]
    pub(crate) metrics: MetricsArgs,
    /// Give these ports metrics of their own, up to 1024 ports: a point such as 'node:edge1:port:3', 'nodepat:core*' or
    /// rate:100g. May be given several times.
    #[arg(long, value_name = "POINT", value_parser = parse_point)]
    pub(crate) port_metrics: Vec<Point>,
    /// Send spans of sweeps and requests to the OpenTelemetry collector (OTLP over gRPC) at this address of this host, such
    /// as http://127.0.0.1:4317.
    #[arg(long, value_name = "URL", env = "OTEL_EXPORTER_OTLP_ENDPOINT")]
    pub(crate) otlp_endpoint: Option<Endpoint>,
    #[command(flatten)]
    pub(crate) remote_write: RemoteWriteArgs,
    /// Write the addresses to this file once the daemon listens: one line `NAME URL` each.
    #[arg(long, value_name = "FILE")]
    pub(crate) address_file: Option<PathBuf>,
    #[command(flatten)]
    pub(crate) tls: TlsArgs,
    /// Directory of the sockets for the vendor's opafmcmd, or `off`: by default /var/lib/opa-fm, where opafmcmd looks for
    /// them; off for an emulated fabric.
    #[arg(long, value_name = "DIR")]
    pub(crate) opafmcmd: Option<PathBuf>,
    /// Log format; auto: the journal under systemd, human otherwise.
    #[arg(long, value_enum, value_name = "FORMAT", default_value_t = LogFormat::Auto)]
    pub(crate) log: LogFormat,
    /// Log level: error, warn, info, debug or trace, or module=level pairs; by default that of the configuration
    /// (LogLevel, LogMode and the masks).
    #[arg(long, value_name = "FILTER", env = "WEFTD_LOG")]
    pub(crate) log_level: Option<String>,
    /// Stop after the first sweep; print its outcome and an example route.
    #[arg(long)]
    pub(crate) once: bool,
}

/// What the program does besides running the daemon.
#[derive(Debug, Clone, Subcommand)]
pub(crate) enum Command {
    /// Who may do what.
    #[command(subcommand)]
    Access(AccessCommand),
}

impl Args {
    /// Whether the fabric is an emulated one.
    pub(crate) fn is_emulated(&self) -> bool {
        self.emulate.is_some() || self.connect.is_some()
    }

    /// Addresses of the API: at least one.
    pub(crate) fn listen(&self) -> Vec<Address> {
        match &self.listen[..] {
            [] => vec![Address::stock(self.instance, self.is_emulated())],
            given => given.to_vec(),
        }
    }

    /// Whether the address of the API is that of the instance.
    pub(crate) fn listens_at_stock(&self) -> bool {
        self.listen.is_empty()
    }

    /// Address of the page; none where none is served.
    pub(crate) fn web(&self) -> Option<SocketAddr> {
        let stock = self.is_emulated() && self.listens_at_stock();
        self.page.address(stock.then(|| page_port(self.instance)))
    }

    /// Time for which what is gone is remembered.
    pub(crate) fn remember(&self) -> Duration {
        Duration::from_secs(86_400 * u64::from(self.remember))
    }

    /// Address of the metrics.
    pub(crate) fn metrics(&self) -> SocketAddr {
        self.metrics.address(metrics_port(self.instance))
    }
}

fn emulate() -> String {
    format!("Run this fabric in the same process: {}", fabrics())
}

/// Log format.
#[derive(Debug, Clone, Copy, PartialEq, Eq, ValueEnum)]
pub(crate) enum LogFormat {
    Auto,
    Human,
    Json,
    Journald,
}

fn parse_point(text: &str) -> Result<Point, String> {
    let read = |file: &str| std::fs::read_to_string(file).map_err(|error| error.to_string());
    Point::parse(text, &read).map_err(|error| error.to_string())
}

fn parse_guid(text: &str) -> Result<Guid, String> {
    let parsed = match text.strip_prefix("0x") {
        Some(digits) => u64::from_str_radix(digits, 16),
        None => text.parse(),
    };
    parsed
        .map(Guid)
        .map_err(|_| "expected a number, decimal or 0x and hexadecimal digits".to_owned())
}
