//! Number of ports by utilisation.

use serde_json::json;
use weft_api::v1;

use crate::top::data::Data;
use crate::top::order::Order;
use crate::top::page::{Page, Row};
use crate::top::state::State;
use crate::top::table;

const BINS: usize = 10;
/// Length of the longest bar.
const WIDTH: usize = 20;

pub(super) fn page(state: &State, data: &Data) -> Page {
    let mut bins = [0_usize; BINS];
    let linked = |port: &&v1::PortCounters| port.rates.is_some() && port.neighbor.is_some();
    for port in data.ports.iter().filter(linked) {
        bins[((Order::Utilization.value(port) / 10.0) as usize).min(BINS - 1)] += 1;
    }
    let most = bins.iter().copied().max().unwrap_or(0).max(1);
    let row = |(bin, count): (usize, &usize)| {
        let (from, to) = (bin * 10, bin * 10 + 10);
        let bar = "█".repeat((count * WIDTH).div_ceil(most));
        let text = format!("{from:>2}-{to:<3} % {count:>6} {bar}");
        Row {
            json: json!({ "from_percent": from, "to_percent": to, "ports": count }),
            ..Row::plain(text.trim_end())
        }
    };
    Page {
        title: table::heading(&data.loads, "histogram", state.width),
        head: "USED      PORTS".to_owned(),
        rows: bins.iter().enumerate().map(row).collect(),
    }
}
