//! What would come of a change, as text and as JSON.

use serde_json::{Value, json};
use weft_api::time::{seconds, unix_ms};
use weft_api::v1;
use weft_fabric::text::count;

use crate::moment::local;
use crate::output::one_line;
use crate::route::finding_json;
use crate::sweep::port_json;
use crate::time::utc_json;

/// Share of its rate from which on a link is full.
const FULL: f64 = 0.95;
/// Pairs that are printed.
const PAIRS: usize = 5;

pub(super) fn as_text(words: &str, forecast: &v1::GetForecastResponse) -> String {
    let mut text = format!("{}, {}:\n", one_line(words), traffic(forecast));
    text += &summary(forecast);
    text += &links(forecast);
    text += &hosts(forecast);
    text += &pairs(forecast);
    if let Some(doubt) = &forecast.doubt {
        text += &doubt_line(doubt);
    }
    for note in &forecast.notes {
        text += &format!("Note: {}\n", one_line(note));
    }
    text
}

fn traffic(forecast: &v1::GetForecastResponse) -> String {
    match (forecast.counters_time, forecast.counters_span) {
        (Some(time), span @ Some(_)) => {
            let seconds = seconds(span);
            let time = local(unix_ms(Some(time)));
            format!("with the traffic of {time} ({seconds:.0} s)")
        }
        _ => "with the traffic that was given".to_owned(),
    }
}

fn summary(forecast: &v1::GetForecastResponse) -> String {
    let full = match (forecast.full_before, forecast.full_after) {
        (0, 0) => "no link fills".to_owned(),
        (before, after) => format!("{after} full directions of links, {before} now"),
    };
    let hosts = match forecast.losing_hosts {
        0 => "no host loses bandwidth".to_owned(),
        1 => "1 host loses bandwidth".to_owned(),
        hosts => format!("{hosts} hosts lose bandwidth"),
    };
    let cut = match forecast.pairs_cut_off {
        0 => "no pair is cut off".to_owned(),
        cut => format!("{cut} of {} cut off", count(forecast.pairs, "pair")),
    };
    format!("{full}; {hosts}; {cut}\n")
}

fn links(forecast: &v1::GetForecastResponse) -> String {
    if forecast.links.is_empty() {
        return "No link's load changes.\n".to_owned();
    }
    let mut text = "\n NOW %  THEN %  LINK\n".to_owned();
    for link in &forecast.links {
        let fills = link.after >= FULL && link.before < FULL;
        let fills = match fills {
            true => format!("  fills: {:.0} % wanted", link.wanted * 100.0),
            false => String::new(),
        };
        let ends = format!("{} > {}", port(link.from.as_ref()), port(link.to.as_ref()));
        text += &format!(
            "{:>6.1} {:>7.1}  {ends}{fills}\n",
            link.before * 100.0,
            link.after * 100.0
        );
    }
    if forecast.more_links {
        text += "and more links: --limit\n";
    }
    text
}

fn hosts(forecast: &v1::GetForecastResponse) -> String {
    if forecast.hosts.is_empty() {
        return String::new();
    }
    let mut text = "\nSENDS GB/s   THEN  GETS GB/s   THEN  HOST\n".to_owned();
    for host in &forecast.hosts {
        text += &format!(
            "{:>10.2} {:>6.2} {:>10.2} {:>6.2}  {}\n",
            host.sends_before / 1e9,
            host.sends_after / 1e9,
            host.receives_before / 1e9,
            host.receives_after / 1e9,
            port(host.port.as_ref())
        );
    }
    if forecast.more_hosts {
        text += "and more hosts: --limit\n";
    }
    text
}

fn pairs(forecast: &v1::GetForecastResponse) -> String {
    let mut text = String::new();
    for pair in forecast.cut_off.iter().take(PAIRS) {
        text += &format!(
            "cut off: {} > {}, {:.2} GB/s now\n",
            port(pair.from.as_ref()),
            port(pair.to.as_ref()),
            pair.bytes_per_second / 1e9
        );
    }
    let more = (forecast.pairs_cut_off as usize).saturating_sub(PAIRS);
    match more {
        0 => text,
        more => text + &format!("and {more} more\n"),
    }
}

fn doubt_line(doubt: &v1::ForecastDoubt) -> String {
    match doubt.links {
        0 => "\nThe traffic is an estimate that nothing can test: no link joins two switches.\n"
            .to_owned(),
        links => format!(
            "\nThe traffic is an estimate. Of {links} directions of links that were left out in turn\n\
             it misses {:.1} % of their rate in the middle, {:.1} % at most.\n",
            doubt.median * 100.0,
            doubt.worst * 100.0
        ),
    }
}

/// A port as people write it.
fn port(port: Option<&v1::NamedPort>) -> String {
    port.map_or_else(String::new, |port| {
        let number = port.port.map_or(0, |id| id.port);
        format!("{}:{number}", one_line(&port.node_name))
    })
}

pub(super) fn as_json(forecast: &v1::GetForecastResponse) -> Value {
    let links = forecast.links.iter().map(|link| {
        json!({
            "from": port_json(link.from.as_ref()),
            "to": port_json(link.to.as_ref()),
            "bytes_per_second": link.bytes_per_second,
            "before": link.before,
            "after": link.after,
            "wanted": link.wanted,
        })
    });
    let hosts = forecast.hosts.iter().map(|host| {
        json!({
            "port": port_json(host.port.as_ref()),
            "sends_before": host.sends_before,
            "sends_after": host.sends_after,
            "receives_before": host.receives_before,
            "receives_after": host.receives_after,
        })
    });
    let pairs = forecast.cut_off.iter().map(|pair| {
        json!({
            "from": port_json(pair.from.as_ref()),
            "to": port_json(pair.to.as_ref()),
            "bytes_per_second": pair.bytes_per_second,
        })
    });
    let doubt = forecast.doubt.as_ref().map(|doubt| {
        json!({
            "links": doubt.links,
            "median": doubt.median,
            "worst": doubt.worst,
            "of_all": doubt.of_all,
            "unexplained": doubt.unexplained,
        })
    });
    json!({
        "links": links.collect::<Vec<_>>(),
        "more_links": forecast.more_links,
        "hosts": hosts.collect::<Vec<_>>(),
        "more_hosts": forecast.more_hosts,
        "full_before": forecast.full_before,
        "full_after": forecast.full_after,
        "losing_hosts": forecast.losing_hosts,
        "pairs": forecast.pairs,
        "pairs_cut_off": forecast.pairs_cut_off,
        "cut_off": pairs.collect::<Vec<_>>(),
        "doubt": doubt,
        "engine": forecast.engine,
        "notes": forecast.notes,
        "findings": forecast.findings.iter().map(finding_json).collect::<Vec<_>>(),
        "counters_time": utc_json(forecast.counters_time),
        "counters_span_seconds": forecast.counters_span.map(|span| seconds(Some(span))),
        "moment": forecast.moment.as_ref().map(crate::at::as_json),
        "generation": forecast.generation,
        "warnings": forecast.warnings,
    })
}
