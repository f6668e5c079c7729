//! Reports on a snapshot file, by `weft report -X` and by the vendor's opareport.

use std::path::{Path, PathBuf};
use std::process::{Command, Stdio};
use std::sync::Arc;
use std::time::{Duration, Instant};

use clap::Args;
use weft_emulator::Options as EmulatorOptions;
use weft_fabric::export::{SnapshotOptions, write_snapshot};
use weft_manager::ManagerSettings;
use weft_routing::EngineKind;
use weft_testkit::{NoTap, Wait, World};

use crate::Failure;
use crate::fabrics::{TreeOptions, new_tree};
use crate::table::Table;

/// Reports that are measured.
const REPORTS: [&str; 9] = [
    "comps",
    "nodes",
    "links",
    "slowlinks",
    "linear",
    "pathusage",
    "validateroutes",
    "validatecreditloops",
    "bfrctrl",
];

/// What is measured, and which programs do it.
#[derive(Debug, Clone, Args)]
pub struct Options {
    #[command(flatten)]
    trees: TreeOptions,
    /// Only this report.
    #[arg(long)]
    report: Option<String>,
    /// The client.
    #[arg(long, default_value = "target/release/weft")]
    weft: PathBuf,
    /// The vendor's program; it is left out where it is not there.
    #[arg(long, default_value = "opareport")]
    opareport: PathBuf,
}

/// Prints a table of elapsed times.
///
/// # Errors
/// [`Failure`] when a fabric does not come up, or the client does not make a report.
pub fn run(options: &Options) -> Result<(), Failure> {
    let head = [
        "hosts",
        "file MB",
        "report",
        "weft ms",
        "opareport ms",
        "times",
    ];
    let mut table = Table::new(head);
    for (hosts, radix) in options.trees.trees() {
        let file = tempfile::NamedTempFile::new().map_err(io)?;
        write_file(hosts, radix, file.path())?;
        let megabytes = file.path().metadata().map_err(io)?.len() / 1_000_000;
        let wanted = |name: &&&str| options.report.as_deref().is_none_or(|only| only == **name);
        for name in REPORTS.iter().filter(wanted) {
            let measure = |program: &Path, first: &[&str]| {
                let runs = (0..options.trees.runs()).map(|_| {
                    let mut command = Command::new(program);
                    command
                        .args(first)
                        .args(["-o", name, "-X"])
                        .arg(file.path());
                    elapsed(&mut command)
                });
                // None, if one of them has failed, is the smallest.
                runs.min().flatten()
            };
            let ours = measure(&options.weft, &["report"]);
            let ours = ours.ok_or_else(|| Failure::BringUp {
                hosts,
                why: format!("{} made no report '{name}'", options.weft.display()),
            })?;
            let theirs = measure(&options.opareport, &["-q"]);
            table.row([
                hosts.to_string(),
                megabytes.to_string(),
                (*name).to_owned(),
                format!("{:.0}", ours.as_secs_f64() * 1e3),
                theirs.map_or("-".to_owned(), |time| {
                    format!("{:.0}", time.as_secs_f64() * 1e3)
                }),
                theirs.map_or("-".to_owned(), |time| {
                    format!("{:.1}", time.as_secs_f64() / ours.as_secs_f64())
                }),
            ]);
        }
    }
    println!("{table}");
    Ok(())
}

/// How long a program runs; none where there is none, or a signal ends it.
fn elapsed(command: &mut Command) -> Option<Duration> {
    let begun = Instant::now();
    let ran = command.stdout(Stdio::null()).stderr(Stdio::null()).status();
    ran.ok()?.code()?;
    Some(begun.elapsed())
}

/// A tree that is up, with all tables, as a file.
fn write_file(hosts: u64, radix: u8, file: &Path) -> Result<(), Failure> {
    let mut settings = ManagerSettings::default();
    settings.sm.routing.engine = EngineKind::FatTree;
    let topology = Arc::new(new_tree(hosts, radix)?);
    let world = World::new(topology, EmulatorOptions::default(), settings.sm, NoTap)?;
    let mut world = world.without_reader();
    if world.bring_up(Duration::from_secs(600))? != Wait::Done {
        let why = "not in time".to_owned();
        return Err(Failure::BringUp { hosts, why });
    }
    let options = SnapshotOptions {
        port_tables: true,
        ..SnapshotOptions::default()
    };
    let sink = std::fs::File::create(file).map_err(io)?;
    write_snapshot(&world.snapshot(), options, sink).map_err(io)
}

fn io(source: std::io::Error) -> Failure {
    let what = "the snapshot file".to_owned();
    Failure::Io { what, source }
}
