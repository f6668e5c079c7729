//! `weft report`.

mod clear;
mod snapshot;

use std::path::Path;
use std::process::ExitCode;
use std::sync::Arc;

use weft_api::v1::SnapshotExtra;
use weft_fabric::Snapshot;
use weft_fabric::import::{SnapshotParts, import_expected, import_fabric_parts};
use weft_fabric::text::for_terminal;
use weft_report::point::{Known, Need};
use weft_report::{
    Counted, Detail, Expectations, Focus, GROUPS, Kind, MakeError, Needs, Options, PLAIN, Point,
    REPORTS, Report as Made, Request, Sample, Selection, Takes, Xml, document, without_names,
    xml_without_names,
};

use crate::args::{Args, Daemon, NONE, Report, SNAPSHOT};
use crate::connect::connect;
use crate::error::CliError;
use crate::errors;
use crate::layout;
use crate::output;
use crate::pager::paged;
use crate::style::Styles;

/// Where packets come from unless a person says it.
const SOURCE: &str = "sm";
/// The levels of detail from which reports tell what cables say of themselves, all of PortInfo, tables of ports and counters.
const WITH_CABLES: u8 = 3;
const WITH_LANES: u8 = 3;
const WITH_TABLES: u8 = 4;
const WITH_COUNTS: u8 = 5;

pub(crate) async fn run(all: &Args, args: &Report) -> Result<ExitCode, CliError> {
    if is_named(args, SNAPSHOT) {
        return snapshot::write(all, args).await;
    }
    let mut kinds = wanted(args);
    check_options(&kinds, args)?;
    let points = Points::parse(args)?;
    if points.need(Need::TopologyFile) && args.topology.is_none() {
        return Err(CliError::Usage(
            "this point is about a topology file: -T FILE names it".to_owned(),
        ));
    }
    let mut needs: Vec<Needs> = kinds.iter().flat_map(|kind| kind.needs).copied().collect();
    needs.extend(args.vl_tables.then_some(Needs::PortTables));
    needs
        .extend((args.detail >= WITH_CABLES || points.need(Need::Cables)).then_some(Needs::Cables));
    let shows_counters = args.stats
        || args.begin.is_some()
        || args.end.is_some()
        || points.need(Need::Counters)
        || kinds
            .iter()
            .any(|kind| kind.takes.contains(&Takes::Counters));
    let needs_tables = needs.contains(&Needs::PortTables);
    let parts = SnapshotParts {
        routes: points.need(Need::Routes) || kinds.iter().any(|kind| kind.uses_routes()),
        port_tables: args.detail >= WITH_TABLES || needs_tables,
        lanes: args.detail >= WITH_LANES || needs_tables,
        counts: args.detail >= WITH_COUNTS || shows_counters,
        cables: needs.contains(&Needs::Cables),
    };
    let (snapshot, then_ms) = load(&all.daemon, args, &needs, parts).await?;
    let counted = match shows_counters {
        true => errors::counted(&all.daemon, &snapshot, args, then_ms).await?,
        false => None,
    };
    if counted.is_none() && !is_named(args, "errors") {
        // Of several reports, the file lacks one.
        kinds.retain(|kind| !kind.takes.contains(&Takes::Counters));
    }
    let nameless = args.noname.then(|| without_names(&snapshot));
    let shown = nameless.as_ref().unwrap_or(&snapshot);
    let request = points.request((&snapshot, shown), args, counted)?;
    if args.plain {
        print_tables(&kinds, &request, all)?;
        if let Some(cleared) = clear::clear(&all.daemon, args, &request.options).await? {
            output::text(cleared)?;
        }
        return Ok(ExitCode::SUCCESS);
    }
    let mut reports: Vec<(&str, Box<dyn Made>)> = Vec::with_capacity(kinds.len() + 1);
    for kind in kinds {
        let report = kind.make(&request).map_err(|error| match error {
            MakeError::Routes(error) => CliError::Routes(error),
            MakeError::NoCounters(name) => CliError::Usage(format!(
                "the report '{name}' needs counters of ports; the file has none (opareport -o snapshot -s)"
            )),
            MakeError::NoDeviceGroups | MakeError::NoQuarantined | MakeError::NoCables => {
                CliError::Usage(error.to_string())
            }
            MakeError::NoEnds(name) => {
                CliError::Usage(format!("the report '{name}' needs -D POINT, a destination"))
            }
        })?;
        reports.push((kind.name, report));
    }
    let cleared = clear::clear(&all.daemon, args, &request.options).await;
    let failed = match cleared {
        Ok(cleared) => {
            reports.extend(cleared.map(|cleared| ("clear", Box::new(cleared) as Box<dyn Made>)));
            None
        }
        // The reports are worth as much without.
        Err(error) => Some(error),
    };
    print(&reports, snapshot.unix_time, args, all.no_pager)?;
    if let Some(error) = failed {
        return Err(error);
    }
    match reports.iter().all(|(_, report)| report.is_good()) {
        true => Ok(ExitCode::SUCCESS),
        false => Ok(ExitCode::FAILURE),
    }
}

/// The reports of the call, in the order of the table, each once.
fn wanted(args: &Report) -> Vec<&'static Kind> {
    let named = |kind: &&Kind| {
        let mut names = args.names.iter().chain(&args.output);
        names.any(|name| {
            let group = GROUPS.iter().find(|(group, _)| group == name);
            name == kind.name || group.is_some_and(|(_, reports)| reports.contains(&kind.name))
        })
    };
    REPORTS.iter().filter(named).collect()
}

/// Whether a report was named for itself.
fn is_named(args: &Report, report: &str) -> bool {
    let mut names = args.names.iter().chain(&args.output);
    names.any(|name| name == report)
}

/// Refuses options that none of the reports takes.
fn check_options(kinds: &[&Kind], args: &Report) -> Result<(), CliError> {
    if let Some((option, why)) = args.of_opareport.refused() {
        return Err(CliError::Usage(format!(
            "{option} of opareport is not there: {why}"
        )));
    }
    let clears = args.clear.wanted().is_some();
    check_clearing(kinds, args, clears)?;
    let given = [
        (
            Takes::Focus,
            "a focus (-F, -Q)",
            !clears && (args.focus.is_some() || args.quietfocus),
        ),
        (
            Takes::Ends,
            "a source or destination (-S, -D)",
            args.dest.is_some(),
        ),
        (
            Takes::Sample,
            "a sample (--pairs, --seed)",
            args.pairs.is_some() || args.seed.is_some(),
        ),
        (
            Takes::Counters,
            "thresholds or an interval (-c, -L, -i)",
            args.interval.is_some() || !clears && (args.config.is_some() || args.limit),
        ),
    ];
    for (takes, what, _) in given.into_iter().filter(|(.., given)| *given) {
        if !kinds.iter().any(|kind| kind.takes.contains(&takes)) {
            let fit = REPORTS.iter().filter(|kind| kind.takes.contains(&takes));
            let fit: Vec<&str> = fit.map(|kind| kind.name).collect();
            let names: Vec<&str> = kinds.iter().map(|kind| kind.name).collect();
            return Err(CliError::Usage(format!(
                "{} does not take {what}; these reports do: {}",
                names.join(", "),
                fit.join(", ")
            )));
        }
    }
    if let Some(kind) = kinds
        .iter()
        .find(|kind| args.plain && kind.plain().is_none())
    {
        let names: Vec<&str> = PLAIN.iter().map(|(name, _)| *name).collect();
        return Err(CliError::Usage(format!(
            "{} has no short table (--plain); these reports have: {}",
            kind.name,
            names.join(", ")
        )));
    }
    let verifies = |kind: &&&Kind| kind.takes.contains(&Takes::Expected);
    match kinds.iter().find(verifies) {
        Some(kind) if args.noname => Err(CliError::Usage(format!(
            "{} compares names and does not take -N",
            kind.name
        ))),
        Some(kind) if args.topology.is_none() => Err(CliError::Usage(format!(
            "{} compares with a topology file: -T FILE names it",
            kind.name
        ))),
        _ => Ok(()),
    }
}

/// Refuses a call that would do nothing, and a reason for nothing.
fn check_clearing(kinds: &[&Kind], args: &Report, clears: bool) -> Result<(), CliError> {
    if kinds.is_empty() && !clears {
        return Err(CliError::Usage(format!(
            "'{NONE}' makes no report: -C or -a has counters set to zero"
        )));
    }
    if !args.clear.reason.is_empty() && !clears {
        return Err(CliError::Usage(
            "--reason is that of -C and -a, which have counters set to zero".to_owned(),
        ));
    }
    Ok(())
}

/// The points of the call, with their texts.
struct Points {
    focus: Option<(Point, String)>,
    ends: Option<[(Point, String); 2]>,
}

impl Points {
    fn parse(args: &Report) -> Result<Self, CliError> {
        let point = |text: &str| Ok::<_, CliError>((parse(text)?, text.to_owned()));
        let focus = args.focus.as_deref().map(point).transpose()?;
        let source = args.src.as_deref().unwrap_or(SOURCE);
        let ends = match &args.dest {
            Some(to) => Some([point(source)?, point(to)?]),
            None => None,
        };
        Ok(Self { focus, ends })
    }

    /// Whether one of them needs this.
    fn need(&self, need: Need) -> bool {
        let ends = self.ends.iter().flatten();
        let mut points = self.focus.iter().chain(ends);
        points.any(|(point, _)| point.needs().contains(&need))
    }

    /// What is needed to make the reports of the fabric that is shown, which is the same but for names.
    fn request<'a>(
        &self,
        (snapshot, shown): (&Snapshot, &'a Snapshot),
        args: &Report,
        counted: Option<Counted>,
    ) -> Result<Request<'a>, CliError> {
        let expected = expectations(snapshot, args)?;
        let known = Known {
            expected: expected.as_deref(),
            counts: counted.as_ref().map(|counted| &*counted.counts),
        };
        let found = |(point, text): &(Point, String)| select_with(snapshot, known, point, text);
        let ends = match &self.ends {
            Some([from, to]) => Some((found(from)?, found(to)?)),
            None => None,
        };
        let usual = Sample::default();
        let counts = counted.as_ref().map(|counted| Arc::clone(&counted.counts));
        let mut options = Options {
            detail: Detail(args.detail),
            extent: args.shown.extent(),
            quiet: args.quietfocus,
            expected: expected.clone(),
            counts: counts.or_else(|| snapshot.counts.clone()),
            ..Options::default()
        };
        options.focus = match &self.focus {
            Some(asked) if args.compares() => {
                Some(compared(snapshot, shown, known, asked, &options)?)
            }
            Some(asked) => Some(Focus::new(shown, &found(asked)?, &options)),
            None => None,
        };
        Ok(Request {
            snapshot: shown,
            options,
            ends,
            sample: Sample {
                pairs: args.pairs.unwrap_or(usual.pairs),
                seed: args.seed.unwrap_or(usual.seed),
            },
            counted,
        })
    }
}

/// What the topology file of the call says of a fabric.
fn expectations(snapshot: &Snapshot, args: &Report) -> Result<Option<Arc<Expectations>>, CliError> {
    let Some(file) = &args.topology else {
        return Ok(None);
    };
    let text = output::read(file)?;
    let expected = import_expected(&text).map_err(|error| CliError::Content {
        file: file.clone(),
        why: error.to_string(),
    })?;
    Ok(Some(Arc::new(Expectations::new(snapshot, expected))))
}

/// Understands a point; files that it names are read here.
pub(crate) fn parse(text: &str) -> Result<Point, CliError> {
    let read = |file: &str| std::fs::read_to_string(file).map_err(|error| error.to_string());
    Ok(Point::parse(text, &read)?)
}

/// Resolves a point.
pub(crate) fn select(
    snapshot: &Snapshot,
    point: &Point,
    text: &str,
) -> Result<Selection, CliError> {
    select_with(snapshot, Known::default(), point, text)
}

/// What a point names for reports on what differs from a topology file.
fn compared(
    snapshot: &Snapshot,
    shown: &Snapshot,
    known: Known<'_>,
    (point, text): &(Point, String),
    options: &Options,
) -> Result<Focus, CliError> {
    let found = point.select_with(snapshot, known);
    Focus::of_point(shown, point, found, options).map_err(|source| CliError::NotFound {
        point: text.clone(),
        source,
    })
}

fn select_with(
    snapshot: &Snapshot,
    known: Known<'_>,
    point: &Point,
    text: &str,
) -> Result<Selection, CliError> {
    let not_found = |source| CliError::NotFound {
        point: text.to_owned(),
        source,
    };
    point.select_with(snapshot, known).map_err(not_found)
}

/// The fabric with the parts that the reports need, of a file `parts`; what a daemon does not have is an error. With the
/// moment of the past that it is of, milliseconds since 1970.
async fn load(
    daemon: &Daemon,
    args: &Report,
    needs: &[Needs],
    parts: SnapshotParts,
) -> Result<(Snapshot, Option<i64>), CliError> {
    let Some(file) = args.snapshot.as_deref() else {
        let extras: Vec<SnapshotExtra> = needs.iter().map(|needs| extra(*needs)).collect();
        let session = connect(daemon).await?;
        let (snapshot, then_ms) = args.at.snapshot_then(&session, &extras).await?;
        let (asked, lacking) = (|extra| extras.contains(&extra), snapshot.lacking);
        let lacks = asked(SnapshotExtra::Administration) && lacking.administration
            || asked(SnapshotExtra::PortTables) && lacking.port_tables;
        return match lacks {
            true => Err(CliError::Usage(
                "this report needs what only the daemon of the master has, of this version or newer".to_owned(),
            )),
            false => Ok((snapshot, then_ms)),
        };
    };
    Ok((read(file, parts)?, None))
}

/// The fabric of a snapshot's file, or the daemon's.
pub(crate) async fn snapshot(daemon: &Daemon, file: Option<&Path>) -> Result<Snapshot, CliError> {
    match file {
        Some(file) => read(file, SnapshotParts::ALL),
        None => connect(daemon).await?.snapshot().await,
    }
}

fn read(file: &Path, parts: SnapshotParts) -> Result<Snapshot, CliError> {
    let text = output::read(file)?;
    let wrong = |why: String| CliError::Content {
        file: file.to_owned(),
        why,
    };
    import_fabric_parts(&text, parts).map_err(|error| wrong(error.to_string()))
}

fn extra(needs: Needs) -> SnapshotExtra {
    match needs {
        Needs::MulticastTables => SnapshotExtra::MulticastTables,
        Needs::PortTables => SnapshotExtra::PortTables,
        Needs::Administration => SnapshotExtra::Administration,
        Needs::DeviceGroups => SnapshotExtra::DeviceGroups,
        Needs::QuarantinedNodes => SnapshotExtra::QuarantinedNodes,
        Needs::Cables => SnapshotExtra::Cables,
    }
}

fn print(
    reports: &[(&str, Box<dyn Made>)],
    unix_time: u64,
    args: &Report,
    no_pager: bool,
) -> Result<(), CliError> {
    if args.json {
        return output::json_text(|to| match reports {
            [(_, report)] => report.json(to),
            _ => write_object(reports, to),
        });
    }
    if args.xml || is_topology(reports) {
        let options: Vec<String> = std::env::args_os()
            .skip(1)
            .map(|argument| argument.to_string_lossy().into_owned())
            .collect();
        let all = reports.iter().map(|(_, report)| {
            let report: &dyn Xml = report;
            report
        });
        let text = document(unix_time, &options.join(" "), all);
        return match args.noname {
            true => output::text(xml_without_names(&text)),
            false => output::text(text),
        };
    }
    if no_pager || output::terminal().is_none() {
        let mut reports = reports.iter();
        return reports.try_for_each(|(_, report)| output::text(report));
    }
    let text: String = reports
        .iter()
        .map(|(_, report)| report.to_string())
        .collect();
    paged(&for_terminal(&text), no_pager)
}

/// Prints the reports as tables, in the width of the terminal.
fn print_tables(kinds: &[&Kind], request: &Request<'_>, all: &Args) -> Result<(), CliError> {
    let width = output::terminal().map(|(columns, _)| columns);
    let styles = Styles::stdout(all.color);
    let tables = kinds.iter().filter_map(|kind| kind.plain());
    let tables = tables.map(|make| layout::table(&make(request), width, styles));
    paged(&tables.collect::<Vec<_>>().join("\n"), all.no_pager)
}

/// Whether it is the topology file, which only exists as XML.
fn is_topology(reports: &[(&str, Box<dyn Made>)]) -> bool {
    matches!(reports, [(name, _)] if *name == "topology")
}

fn write_object(
    reports: &[(&str, Box<dyn Made>)],
    to: &mut dyn std::io::Write,
) -> std::io::Result<()> {
    for (index, (name, report)) in reports.iter().enumerate() {
        let start = if index == 0 { "{" } else { "," };
        write!(to, "{start}\n\"{name}\": ")?;
        report.json(to)?;
    }
    write!(to, "\n}}")
}
