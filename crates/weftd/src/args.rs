//! The command line.

use std::net::SocketAddr;
use std::path::PathBuf;

use clap::{Parser, ValueEnum};
use weft_fabric::Guid;
use weft_fabric::generate::FABRICS;
use weft_transport::umad::PortSpec;

const AFTER: &str = "\
Exit codes: 0 stopped as asked; 1 the manager failed; 2 wrong usage; 3 the configuration is refused; \
4 the fabric cannot be emulated or reached, or there is no HFI; 5 an address cannot be listened on; 6 the state \
directory cannot be used.\n\n\
SIGHUP reads the configuration again, SIGTERM and SIGINT stop.";

/// The Weft fabric manager: discovers, routes and runs an Omni-Path fabric.
#[derive(Debug, Parser)]
#[command(version, after_help = AFTER)]
pub(crate) struct Args {
    /// The configuration, an opafm.xml; by default /etc/opa-fm/opafm.xml if that exists. An emulated
    /// fabric needs none.
    #[arg(short, long, value_name = "FILE")]
    pub(crate) config: Option<PathBuf>,
    /// Instance (element Fm) of the configuration to run, from 0.
    #[arg(long, value_name = "N", default_value_t = 0)]
    pub(crate) instance: usize,
    #[arg(long, value_name = "FABRIC", conflicts_with = "connect", help = emulate())]
    pub(crate) emulate: Option<String>,
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
    /// Address of the API; port 0 chooses a free one. An address other than loopback needs --tls-cert,
    /// --tls-key and --tls-client-ca.
    #[arg(long, value_name = "ADDRESS:PORT", default_value_t = SocketAddr::from(([127, 0, 0, 1], weft_api::DEFAULT_PORT)))]
    pub(crate) listen: SocketAddr,
    /// Address of the metrics for Prometheus, without encryption.
    #[arg(long, value_name = "ADDRESS:PORT", default_value = "127.0.0.1:9315")]
    pub(crate) metrics: SocketAddr,
    /// Write the addresses to this file once the daemon listens: one line `NAME URL` each.
    #[arg(long, value_name = "FILE")]
    pub(crate) address_file: Option<PathBuf>,
    /// Certificate of the API, PEM.
    #[arg(long, value_name = "FILE", requires = "tls_key")]
    pub(crate) tls_cert: Option<PathBuf>,
    /// Key of that certificate, PEM.
    #[arg(long, value_name = "FILE", requires = "tls_cert")]
    pub(crate) tls_key: Option<PathBuf>,
    /// CA of client certificates, PEM; without it, any client may connect.
    #[arg(long, value_name = "FILE", requires = "tls_cert")]
    pub(crate) tls_client_ca: Option<PathBuf>,
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

fn emulate() -> String {
    format!("Run this fabric in the same process: {FABRICS}")
}

/// Log format.
#[derive(Debug, Clone, Copy, PartialEq, Eq, ValueEnum)]
pub(crate) enum LogFormat {
    Auto,
    Human,
    Json,
    Journald,
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
