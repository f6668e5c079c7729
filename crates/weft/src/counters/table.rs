//! Counters for people: a line for each port, or a list for one, of up to 80 columns.

use weft_api::time::{ns, seconds};
use weft_api::v1;
use weft_fabric::text::{count, for_terminal};
use weft_wire::pm::Counter;

use super::units::{amount, bytes, exact};
use super::{Read, value};
use crate::time::utc_of;

/// Width of the first column; a longer name is cut.
const NAME: usize = 28;
/// Width of a column of numbers.
const NUMBER: usize = 9;
/// Columns of a terminal.
const WIDTH: usize = 80;
/// Counters with a column of their own.
const COLUMNS: [Counter; 4] = [
    Counter::XmitData,
    Counter::RcvData,
    Counter::XmitPkts,
    Counter::RcvPkts,
];

/// A reading. The only port of one is listed with all its counters, unless `brief`.
pub(crate) fn read(read: &Read, rate: bool, brief: bool) -> String {
    let mut out = title(read);
    if let ([port], false) = (&read.ports[..], brief) {
        return out + &one(port, rate);
    }
    out += &head("PORT", rate);
    for port in &read.ports {
        out += &rows(port, rate);
    }
    out
}

/// What stands before a reading after which the fabric was lost.
pub(crate) const NOT_ATTACHED: &str = "NOT ATTACHED: the fabric is gone; this image is the last\n";

fn title(read: &Read) -> String {
    let image = &read.image;
    let time = utc_of(image.time);
    let seconds = seconds(image.span);
    let mut out = String::new();
    if !read.attached {
        out += NOT_ATTACHED;
    }
    if read.lost > 0 {
        out += &format!("{} missed\n", count(read.lost, "image"));
    }
    let ports = count(read.ports.len(), "port");
    out += &match ns(image.span) {
        _ if read.moment.is_some() => format!("PAST reading of {time}, {seconds:.1} s; {ports}\n"),
        0 => format!("Image {} of {time}, the first; {ports}\n", image.number),
        _ => format!(
            "Image {} of {time}, {seconds:.1} s; {ports}\n",
            image.number
        ),
    };
    out + &errors_read_before(read)
}

/// Since when errors are known, where some were not read with the rest: they are read less often at switches.
fn errors_read_before(read: &Read) -> String {
    let of = read.image.time.map_or(0, |time| time.seconds);
    let times = read.ports.iter().filter_map(|port| port.errors_time);
    let before: Vec<_> = times.filter(|time| time.seconds < of).collect();
    let Some(first) = before.iter().min_by_key(|time| time.seconds) else {
        return String::new();
    };
    let (ports, time) = (count(before.len(), "port"), utc_of(Some(*first)));
    format!("Errors of {ports} were read before that, the first at {time}\n")
}

fn head(first: &str, rate: bool) -> String {
    let columns = match rate {
        true => ["SENT/S", "RCVD/S", "PKTS SENT", "PKTS RCVD"],
        false => ["SENT", "RCVD", "PKTS SENT", "PKTS RCVD"],
    };
    let [a, b, c, d] = columns;
    let errors = match first {
        "" => String::new(),
        _ => format!(" {:>7} {:>2}", "ERRORS", "Q"),
    };
    format!("{first:<NAME$} {a:>NUMBER$} {b:>NUMBER$} {c:>NUMBER$} {d:>NUMBER$}{errors}\n")
}

/// Numbers of a port, a lane or a virtual fabric.
#[derive(Clone, Copy)]
struct Numbers<'a> {
    totals: Option<&'a v1::PortCounts>,
    rates: Option<&'a v1::PortRates>,
    rate: bool,
}

impl Numbers<'_> {
    fn get(&self, counter: Counter) -> Option<f64> {
        value(self.totals, self.rates, counter, self.rate)
    }

    /// The lines of a lane or a virtual fabric.
    fn line(&self, name: &str) -> String {
        let width = NAME - 2;
        let columns = self.columns();
        format!("  {:<width$}{columns}\n", cut(name)) + &self.others(6)
    }

    /// The columns after the name, without errors.
    fn columns(&self) -> String {
        let columns = COLUMNS.map(|counter| {
            let text = match self.get(counter) {
                Some(number) if counter as usize <= Counter::RcvData as usize => bytes(number),
                Some(number) => amount(number),
                None => "-".to_owned(),
            };
            format!(" {text:>NUMBER$}")
        });
        columns.concat()
    }

    /// Sum of the counters of errors; none where none was asked for.
    fn errors(&self) -> Option<f64> {
        let errors = Counter::ALL.into_iter().skip(Counter::DATA);
        errors
            .filter_map(|counter| self.get(counter))
            .reduce(|sum, one| sum + one)
    }

    /// Counters without a column that are not 0, in lines of their own.
    fn others(&self, indent: usize) -> String {
        let others = Counter::ALL
            .into_iter()
            .filter(|counter| !COLUMNS.contains(counter));
        let words = others.filter_map(|counter| {
            let number = self.get(counter).filter(|number| *number > 0.0)?;
            Some(format!("{counter:?} {}", exact(number, self.rate)))
        });
        let (mut out, mut line) = (String::new(), String::new());
        for word in words {
            let joined = indent + line.len() + 2 + word.len();
            if !line.is_empty() && joined > WIDTH {
                out += &format!("{:indent$}{line}\n", "");
                line.clear();
            }
            if !line.is_empty() {
                line += ", ";
            }
            line += &word;
        }
        if !line.is_empty() {
            out += &format!("{:indent$}{line}\n", "");
        }
        out
    }
}

/// The lines of a port.
fn rows(port: &v1::PortCounters, rate: bool) -> String {
    let numbers = Numbers {
        totals: port.totals.as_ref(),
        rates: port.rates.as_ref(),
        rate,
    };
    let link = match &port.neighbor {
        Some(_) => format!("{} > {}", short(&port.port), short(&port.neighbor)),
        None => short(&port.port),
    };
    let errors = numbers.errors().map_or("-".to_owned(), amount);
    let quality = match port.reading() {
        v1::CounterReading::Done => port.link_quality.to_string(),
        _ => "?".to_owned(),
    };
    let mut out = format!(
        "{:<NAME$}{} {errors:>7} {quality:>2}\n",
        cut(&link),
        numbers.columns()
    );
    out += &numbers.others(4);
    for (name, numbers) in parts(port, rate) {
        out += &numbers.line(&name);
    }
    out
}

/// The lanes and virtual fabrics of a port.
fn parts(port: &v1::PortCounters, rate: bool) -> Vec<(String, Numbers<'_>)> {
    let lanes = port.lanes.iter().map(|lane| {
        let (totals, rates) = (lane.totals.as_ref(), lane.rates.as_ref());
        (
            format!("VL {}", lane.vl),
            Numbers {
                totals,
                rates,
                rate,
            },
        )
    });
    let fabrics = port.virtual_fabrics.iter().map(|fabric| {
        let (totals, rates) = (fabric.totals.as_ref(), fabric.rates.as_ref());
        let name = format!("VF {}", for_terminal(&fabric.name));
        (
            name,
            Numbers {
                totals,
                rates,
                rate,
            },
        )
    });
    lanes.chain(fabrics).collect()
}

/// All that is known of one port's counters.
pub(crate) fn one(port: &v1::PortCounters, rate: bool) -> String {
    let mut out = match &port.neighbor {
        Some(_) => format!("{} > {}\n", long(&port.port), long(&port.neighbor)),
        None => format!("{}\n", long(&port.port)),
    };
    out += &facts(port);
    out += &list(port);
    out + &lanes(port, rate)
}

/// The lanes and virtual fabrics of a port, with a head; nothing where there are none.
pub(crate) fn lanes(port: &v1::PortCounters, rate: bool) -> String {
    let parts = parts(port, rate);
    let mut out = match parts.is_empty() {
        true => String::new(),
        false => head("", rate),
    };
    for (name, numbers) in parts {
        out += &numbers.line(&name);
    }
    out
}

/// What is told about a port besides its counters.
pub(crate) fn facts(port: &v1::PortCounters) -> String {
    let read = match port.reading() {
        v1::CounterReading::Done => "",
        v1::CounterReading::Failed => ", NOT READ: its agent did not answer",
        _ => ", not read: not active, or hosts are not read",
    };
    let mut out = match port.since_time {
        Some(_) => format!("  counted since {}{read}\n", utc_of(port.since_time)),
        // Of the past that is not kept.
        None => format!("  of the past{read}\n"),
    };
    if port.bridges > 0 {
        out += &format!(
            "  set to zero by others, reset or wrapped {}, last found {}\n",
            count(port.bridges, "time"),
            utc_of(port.bridged_time)
        );
    }
    out += &match (port.since_time, port.link_quality) {
        (None, 0) => "  link down, or its quality is not kept".to_owned(),
        (_, quality) => format!("  link quality {quality} of 5"),
    };
    if port.lanes_down > 0 {
        out += &format!(", {} lost", count(port.lanes_down, "lane"));
    }
    out.push('\n');
    if let Some(values) = &port.categories {
        out += &format!(
            "  integrity {}, congestion {}, SMA congestion {}, bubble {}, security {}, routing {}\n",
            values.integrity,
            values.congestion,
            values.sma_congestion,
            values.bubble,
            values.security,
            values.routing
        );
    }
    out
}

/// Each counter with its total and its rate.
pub(crate) fn list(port: &v1::PortCounters) -> String {
    let mut out = format!("  {:<26} {:>26} {:>16}\n", "COUNTER", "TOTAL", "PER SECOND");
    let (totals, rates) = (port.totals.as_ref(), port.rates.as_ref());
    for counter in Counter::ALL {
        let Some(total) = totals.and_then(|totals| weft_api::count_of(totals, counter)) else {
            continue;
        };
        let unit = unit(counter);
        let rate =
            value(totals, rates, counter, true).map_or("-".to_owned(), |rate| exact(rate, true));
        let total = super::units::grouped(total);
        let name = format!("{counter:?}");
        out += &format!("  {name:<26} {total:>26} {rate:>16} {unit}\n");
    }
    out.lines()
        .map(|line| line.trim_end().to_owned() + "\n")
        .collect()
}

/// Unit of a counter whose name does not tell.
fn unit(counter: Counter) -> &'static str {
    match counter {
        Counter::XmitData | Counter::RcvData => "flits",
        Counter::XmitWait
        | Counter::XmitTimeCong
        | Counter::XmitWastedBw
        | Counter::XmitWaitData
        | Counter::RcvBubble => "times",
        _ => "",
    }
}

/// A node's name without that of its HFI, and the port.
fn short(end: &Option<v1::LinkEnd>) -> String {
    let (name, port) = named(end);
    let name = name.split(' ').next().unwrap_or_default();
    format!("{}:{port}", for_terminal(name))
}

fn long(end: &Option<v1::LinkEnd>) -> String {
    let (name, port) = named(end);
    format!("{}:{port}", for_terminal(&name))
}

fn named(end: &Option<v1::LinkEnd>) -> (String, u32) {
    let end = end.clone().unwrap_or_default();
    let port = end.port.unwrap_or_default();
    let name = match end.node_name.as_str() {
        "" => format!("{:#018x}", port.node_guid),
        name => name.to_owned(),
    };
    (name, port.port)
}

fn cut(text: &str) -> String {
    match text.chars().count() {
        len if len <= NAME => text.to_owned(),
        _ => text.chars().take(NAME - 1).chain(['…']).collect(),
    }
}

#[cfg(test)]
mod tests {
    use weft_api::time::Timestamp;

    use super::*;

    fn busy() -> v1::PortCounters {
        let end = |name: &str, port| v1::LinkEnd {
            port: Some(v1::PortId { node_guid: 1, port }),
            node_type: v1::NodeType::Switch.into(),
            node_name: name.to_owned(),
        };
        v1::PortCounters {
            port: Some(end("a-switch-with-a-long-name", 5)),
            neighbor: Some(end("another-such-switch", 48)),
            reading: v1::CounterReading::Done.into(),
            link_quality: 5,
            totals: Some(v1::PortCounts {
                xmit_data: Some(u64::MAX),
                rcv_data: Some(125_000_000),
                xmit_pkts: Some(u64::MAX),
                rcv_pkts: Some(1_000),
                xmit_wait: Some(u64::MAX),
                xmit_discards: Some(u64::MAX),
                local_link_integrity_errors: Some(u64::MAX),
                rcv_errors: Some(3),
                ..v1::PortCounts::default()
            }),
            ..v1::PortCounters::default()
        }
    }

    #[test]
    fn lines_fit_a_terminal_of_80_columns() {
        let two = Read {
            ports: vec![busy(), busy()],
            attached: true,
            ..Read::default()
        };
        let text = read(&two, false, false);
        assert!(
            text.contains("    XmitWait 18,446,744,073,709,551,615"),
            "{text}"
        );
        assert!(text.contains("RcvErrors 3"), "{text}");
        let alone = Read {
            ports: vec![busy()],
            ..two
        };
        let list = read(&alone, false, false);
        assert!(
            list.contains("XmitData                   18,446,744,073,709,551,615"),
            "{list}"
        );
        for line in text.lines().chain(list.lines()) {
            assert!(line.chars().count() <= WIDTH, "{line}");
        }
    }

    fn at(seconds: i64) -> Option<Timestamp> {
        Some(Timestamp { seconds, nanos: 0 })
    }

    fn title_of(errors: [i64; 3]) -> String {
        let port = |seconds: &i64| v1::PortCounters {
            errors_time: at(*seconds),
            ..v1::PortCounters::default()
        };
        let image = v1::CounterImage {
            time: at(1_000),
            ..v1::CounterImage::default()
        };
        let read = Read {
            image,
            ports: errors.iter().map(port).collect(),
            ..Read::default()
        };
        title(&read)
    }

    #[test]
    fn errors_that_were_read_before_the_rest_have_their_time() {
        assert!(!title_of([1_000; 3]).contains("Errors"));
        let title = title_of([1_000, 980, 990]);
        let expected =
            "Errors of 2 ports were read before that, the first at 1970-01-01T00:16:20.000Z\n";
        assert!(title.ends_with(expected), "{title}");
    }
}
