//! `weft vf list`.

use std::process::ExitCode;

use serde_json::{Value, json};
use weft_api::v1;

use super::{limit, rate};
use crate::connect::{Effort, Session};
use crate::error::CliError;
use crate::output;

pub(super) async fn run(session: &Session, json: bool) -> Result<ExitCode, CliError> {
    let mut service = session.services(Effort::Look).virtual_fabrics();
    let listed = service.list_virtual_fabrics(v1::ListVirtualFabricsRequest {});
    let fabrics = session.answer(Effort::Look, listed).await?.virtual_fabrics;
    match json {
        true => output::json(&fabrics.iter().map(as_json).collect::<Vec<_>>())?,
        false => output::text(table(&fabrics))?,
    }
    Ok(ExitCode::SUCCESS)
}

fn table(fabrics: &[v1::VirtualFabric]) -> String {
    let widest = fabrics.iter().map(|fabric| fabric.name.len()).max();
    let width = widest.unwrap_or(0).max("NAME".len());
    let head = format!(
        "{:>5}  {:width$}  {:6}  {:>2}  {:>6}  {:12}  {:>5}  {:>6}  {:>9}  {:>5}  {:>7}  {}\n",
        "INDEX",
        "NAME",
        "PKEY",
        "SL",
        "MCASTSL",
        "SL>SC>VL",
        "MTU",
        "RATE",
        "BANDWIDTH",
        "FULL",
        "LIMITED",
        "OPTIONS"
    );
    let rows = fabrics.iter().map(|fabric| row(fabric, width));
    [head].into_iter().chain(rows).collect()
}

fn row(fabric: &v1::VirtualFabric, width: usize) -> String {
    let bandwidth = match fabric.high_priority {
        true => "priority".to_owned(),
        false => format!("{} %", fabric.bandwidth_percent),
    };
    let levels: Vec<String> = fabric.levels.iter().map(level).collect();
    let row = format!(
        "{:>5}  {:width$}  {:#06x}  {:>2}  {:>7}  {:12}  {:>5}  {:>6}  {:>9}  {:>5}  {:>7}  {}",
        fabric.index,
        fabric.name,
        fabric.pkey,
        fabric.sl,
        fabric.multicast_sl,
        levels.join(","),
        limit(fabric.max_mtu),
        rate(fabric.max_rate_mbps),
        bandwidth,
        fabric.full_members,
        fabric.limited_members,
        options(fabric).join(", ")
    );
    format!("{}\n", row.trim_end())
}

fn level(level: &v1::ServiceLevel) -> String {
    match level.confirmed {
        true => format!("{}>{}>{}", level.sl, level.sc, level.vl),
        false => format!("{}>?>?", level.sl),
    }
}

fn options(fabric: &v1::VirtualFabric) -> Vec<String> {
    let flags = [
        (fabric.standby, "standby"),
        (fabric.security, "secured"),
        (fabric.qos, "QOS"),
        (fabric.flow_control_disabled, "no flow control"),
    ];
    let set = flags.iter().filter(|(is_set, _)| *is_set);
    let mut options: Vec<String> = set.map(|(_, name)| (*name).to_owned()).collect();
    if fabric.preemption_rank > 0 {
        options.push(format!("preemption rank {}", fabric.preemption_rank));
    }
    options
}

fn as_json(fabric: &v1::VirtualFabric) -> Value {
    let levels = fabric.levels.iter().map(|level| {
        json!({
            "sl": level.sl,
            "sc": level.confirmed.then_some(level.sc),
            "vl": level.confirmed.then_some(level.vl),
        })
    });
    let some = |value: u32| (value != 0).then_some(value);
    json!({
        "index": fabric.index,
        "name": fabric.name,
        "pkey": format!("{:#06x}", fabric.pkey),
        "sl": fabric.sl,
        "multicast_sl": fabric.multicast_sl,
        "levels": levels.collect::<Vec<_>>(),
        "max_mtu": some(fabric.max_mtu),
        "max_rate_mbps": some(fabric.max_rate_mbps),
        "qos": fabric.qos,
        "qos_index": fabric.qos_index,
        "bandwidth_percent": (!fabric.high_priority).then_some(fabric.bandwidth_percent),
        "high_priority": fabric.high_priority,
        "preemption_rank": fabric.preemption_rank,
        "flow_control_disabled": fabric.flow_control_disabled,
        "lifetime_increment": fabric.lifetime_increment,
        "hoq_life": fabric.hoq_life,
        "security": fabric.security,
        "standby": fabric.standby,
        "full_members": fabric.full_members,
        "limited_members": fabric.limited_members,
    })
}
