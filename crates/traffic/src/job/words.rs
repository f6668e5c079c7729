//! Findings in words, with the command to run next.

use super::{End, Finding, JobLink, Kind};

/// A port as people write it.
fn end(end: &End) -> String {
    format!("{}:{}", end.name, end.port)
}

/// What has happened.
pub(super) fn what(links: &[JobLink], finding: &Finding) -> String {
    let link = &links[finding.link];
    let ends = format!("{} to {}", end(&link.from), end(&link.to));
    match finding.kind {
        Kind::Full => format!("{ends} was full: {}", used(link)),
        Kind::SlowHost => format!(
            "{} took data slowly: no credits at {}, {}",
            link.to.name,
            end(&link.from),
            wait(link)
        ),
        Kind::Waits => format!("no credits at {ends}: {}", wait(link)),
        Kind::Errors => format!("{ends} had errors: {}", errors(link)),
        Kind::Down => {
            let times = match link.downs {
                1 => "once".to_owned(),
                downs => format!("{downs} times"),
            };
            format!(
                "{ends} was lost {times}, for {:.0} s in all",
                link.down_s.ceil()
            )
        }
        Kind::Slow => format!(
            "{ends} had {:.0} of {:.0} Gb/s",
            gbits(link.capacity),
            gbits(link.full_capacity)
        ),
    }
}

fn gbits(bytes: Option<f64>) -> f64 {
    bytes.unwrap_or(0.0) * 8.0 / 1e9
}

fn percent(share: f64) -> String {
    format!("{:.0} %", share * 100.0)
}

fn used(link: &JobLink) -> String {
    let now = link.now.map_or(0.0, |figures| figures.used);
    let most = link.busiest.map_or(now, |(_, figures)| figures.used);
    let mut words = format!("{} used", percent(now));
    if most > now + 0.05 {
        words += &format!(", {} at most", percent(most));
    }
    words + &usual(link.usual.map(|figures| figures.used))
}

fn wait(link: &JobLink) -> String {
    let now = link.now.map_or(0.0, |figures| figures.wait);
    let words = format!("{} of the time", percent(now));
    words + &usual(link.usual.map(|figures| figures.wait))
}

fn usual(share: Option<f64>) -> String {
    share.map_or_else(String::new, |share| format!(", usually {}", percent(share)))
}

fn errors(link: &JobLink) -> String {
    let errors = link.errors.iter().map(|errors| {
        let usual = match errors.usual >= 0.5 {
            true => format!(" (usually {:.0})", errors.usual),
            false => String::new(),
        };
        format!(
            "{} {}{usual}",
            errors.count,
            errors.counter.replace('_', " ")
        )
    });
    errors.collect::<Vec<_>>().join(", ")
}

/// The command that shows more of it.
pub(super) fn next(link: &JobLink, kind: Kind, (from, to): (&str, &str)) -> String {
    let at = |end: &End| format!("nodeguid:{:#018x}:port:{}", end.guid, end.port);
    match kind {
        Kind::Full | Kind::Waits => {
            format!(
                "weft counters -F {} --from {from} --to {to}",
                at(&link.from)
            )
        }
        Kind::SlowHost => format!("weft counters -F {} --from {from} --to {to}", at(&link.to)),
        Kind::Errors | Kind::Slow => format!("weft port show {}", at(&link.to)),
        Kind::Down => format!("weft why port:{} --to {to}", at(&link.from)),
    }
}
