//! What a port has counted, as the vendor's tools print it.

use serde::{Serialize, Serializer};
use weft_fabric::PortCounts;
use weft_fabric::counts::element_name;
use weft_wire::pm::Counter;

use crate::errors::FLITS_PER_MB;
use crate::focus::Detail;
use crate::xml::XmlWriter;

/// The counters of a port.
#[derive(Debug, Clone, Copy)]
pub(crate) struct CountsEntry(pub(crate) PortCounts);

/// Counters by the names of their elements, with the quality of the link, null where it is not known.
impl Serialize for CountsEntry {
    fn serialize<S: Serializer>(&self, serializer: S) -> Result<S::Ok, S::Error> {
        let quality = ("LinkQualityIndicator", self.0.quality.map(u64::from));
        let counters =
            Counter::ALL.map(|counter| (element_name(counter), Some(self.count(counter))));
        serializer.collect_map(counters.into_iter().chain([quality]))
    }
}

/// Groups of counters in the long form: a title, then names with their counters.
type Group = (&'static str, &'static [(&'static str, Counter)]);

/// Groups after those of data.
static GROUPS: [Group; 5] = [
    (
        "Performance: Congestion",
        &[
            ("Congestion Discards", Counter::SwPortCongestion),
            ("Rcv FECN", Counter::RcvFecn),
            ("Rcv BECN", Counter::RcvBecn),
            ("Mark FECN", Counter::MarkFecn),
            ("Xmit Time Congestion", Counter::XmitTimeCong),
            ("Xmit Wait", Counter::XmitWait),
        ],
    ),
    (
        "Performance: Bubbles",
        &[
            ("Xmit Wasted BW", Counter::XmitWastedBw),
            ("Xmit Wait Data", Counter::XmitWaitData),
            ("Rcv Bubble", Counter::RcvBubble),
        ],
    ),
    (
        "Errors: Signal Integrity",
        &[
            ("Uncorrectable Errors", Counter::UncorrectableErrors),
            ("Link Downed", Counter::LinkDowned),
            ("Rcv Errors", Counter::RcvErrors),
            ("Exc. Buffer Overrun", Counter::ExcessiveBufferOverruns),
            ("FM Config Errors", Counter::FmConfigErrors),
            ("Link Error Recovery", Counter::LinkErrorRecovery),
            ("Local Link Integ Err", Counter::LocalLinkIntegrityErrors),
            ("Rcv Rmt Phys Err", Counter::RcvRemotePhysicalErrors),
        ],
    ),
    (
        "Errors: Security",
        &[
            ("Xmit Constraint", Counter::XmitConstraintErrors),
            ("Rcv Constraint", Counter::RcvConstraintErrors),
        ],
    ),
    (
        "Errors: Routing and Other",
        &[
            ("Rcv Sw Relay Err", Counter::RcvSwitchRelayErrors),
            ("Xmit Discards", Counter::XmitDiscards),
        ],
    ),
];

/// Rows of the short form that are there if they are not 0, in the order of the long one.
fn short_rows() -> impl Iterator<Item = (&'static str, Counter)> {
    let rows = GROUPS.iter().flat_map(|(_, rows)| rows.iter().copied());
    rows.map(|(name, counter)| match counter {
        Counter::ExcessiveBufferOverruns => ("Exc Buffer Overrun", counter),
        _ => (name, counter),
    })
}

/// Counters in XML in the order of their elements; the quality of the link is before the last.
const DATA: [Counter; 2] = [Counter::XmitData, Counter::RcvData];
const MULTICAST: [Counter; 2] = [Counter::MulticastXmitPkts, Counter::MulticastRcvPkts];
const LATER: [Counter; 21] = [
    Counter::UncorrectableErrors,
    Counter::LinkDowned,
    Counter::RcvErrors,
    Counter::ExcessiveBufferOverruns,
    Counter::FmConfigErrors,
    Counter::LinkErrorRecovery,
    Counter::LocalLinkIntegrityErrors,
    Counter::RcvRemotePhysicalErrors,
    Counter::XmitConstraintErrors,
    Counter::RcvConstraintErrors,
    Counter::RcvSwitchRelayErrors,
    Counter::XmitDiscards,
    Counter::SwPortCongestion,
    Counter::RcvFecn,
    Counter::RcvBecn,
    Counter::MarkFecn,
    Counter::XmitTimeCong,
    Counter::XmitWait,
    Counter::XmitWastedBw,
    Counter::XmitWaitData,
    Counter::RcvBubble,
];

impl CountsEntry {
    fn count(&self, counter: Counter) -> u64 {
        self.0.counters[counter as usize]
    }

    fn megabytes(&self, counter: Counter) -> u64 {
        self.count(counter) / FLITS_PER_MB
    }

    /// Its lines: data and quality at level 1, also what is not 0 at level 2, all from level 3 on.
    pub(crate) fn lines(&self, detail: Detail) -> Vec<String> {
        match detail {
            Detail::COUNTS => Vec::new(),
            Detail::BRIEF => self.short(false),
            Detail::USUAL => self.short(true),
            _ => self.long(),
        }
    }

    fn short(&self, with_all: bool) -> Vec<String> {
        let data = |name: &str, data, packets_name: &str, packets| {
            format!(
                "    {name:<19}{:>20} MB | {packets_name:<22}{:>20}",
                self.megabytes(data),
                self.count(packets)
            )
        };
        let mut lines = vec![
            "PortStatus:".to_owned(),
            data(
                "Xmit Data",
                Counter::XmitData,
                "Xmit Pkts",
                Counter::XmitPkts,
            ),
            data("Rcv Data", Counter::RcvData, "Rcv Pkts", Counter::RcvPkts),
        ];
        let cell = |name: &str, counter| format!("{name:<22}{:>20}", self.count(counter));
        let [sent, received] = MULTICAST;
        if with_all && (self.count(sent) | self.count(received)) != 0 {
            let (sent, received) = (cell("MC Xmit Pkts", sent), cell("MC Rcv Pkts", received));
            lines.push(format!("    {sent} | {received}"));
        }
        lines.push(format!("    {}", self.quality()));
        let cells = short_rows().filter(|(_, counter)| with_all && self.count(*counter) != 0);
        let cells: Vec<String> = cells.map(|(name, counter)| cell(name, counter)).collect();
        for pair in cells.chunks(2) {
            lines.push(match pair {
                [left, right] => format!("    {left} | {right}"),
                left => format!("    {} | ", left.concat()),
            });
        }
        lines
    }

    fn quality(&self) -> String {
        let Some(quality) = self.0.quality else {
            return format!("{:<22}{:>20}", "Link Qual Indicator", "unknown");
        };
        let name = match quality {
            0 => "Down",
            1 => "Bad",
            2 => "Poor",
            3 => "Good",
            4 => "VeryGood",
            5 => "Excellent",
            _ => "???",
        };
        format!("{:<22}{quality:>20} ({name})", "Link Qual Indicator")
    }

    fn long(&self) -> Vec<String> {
        let mut lines = Vec::new();
        let sides = [
            (
                "Transmit",
                ("Xmit Data", Counter::XmitData),
                ("Xmit Pkts", Counter::XmitPkts),
                ("MC Xmt Pkts", Counter::MulticastXmitPkts),
            ),
            (
                "Receive",
                ("Rcv Data", Counter::RcvData),
                ("Rcv Pkts", Counter::RcvPkts),
                ("MC Rcv Pkts", Counter::MulticastRcvPkts),
            ),
        ];
        for (title, (name, data), packets, multicast) in sides {
            lines.push(format!("Performance: {title}"));
            let (megabytes, flits) = (self.megabytes(data), self.count(data));
            lines.push(format!("    {name:<12}{megabytes:>20} MB ({flits} Flits)"));
            for (name, counter) in [packets, multicast] {
                lines.push(format!("    {name:<12}{:>20}", self.count(counter)));
            }
        }
        for (title, rows) in GROUPS {
            lines.push(title.to_owned());
            if rows.contains(&("Link Downed", Counter::LinkDowned)) {
                lines.push(format!("    {}", self.quality()));
            }
            for (name, counter) in rows {
                lines.push(format!("    {name:<22}{:>20}", self.count(*counter)));
            }
        }
        lines
    }

    /// Writes its element; none at a level that has only counts.
    pub(crate) fn write_xml(&self, to: &mut XmlWriter, detail: Detail) {
        if !detail.lists() {
            return;
        }
        let [sent, received] = DATA;
        to.within("Performance", |to| {
            let count = |to: &mut XmlWriter, counter| {
                to.value(element_name(counter), self.count(counter));
            };
            let flits = |to: &mut XmlWriter, counter| {
                let (name, count) = (element_name(counter), self.count(counter));
                to.line(format_args!("<{name}>{count}</{name}> <!-- in Flits -->"));
            };
            to.value("XmitDataMB", self.megabytes(sent));
            flits(to, sent);
            to.value("RcvDataMB", self.megabytes(received));
            count(to, Counter::XmitPkts);
            flits(to, received);
            count(to, Counter::RcvPkts);
            MULTICAST.into_iter().for_each(|counter| count(to, counter));
            if let Some(quality) = self.0.quality {
                to.value("LinkQualityIndicator", quality);
            }
            LATER.into_iter().for_each(|counter| count(to, counter));
        });
    }
}
