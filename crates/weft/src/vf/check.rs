//! `weft vf check`.

use std::process::ExitCode;

use serde_json::{Value, json};
use weft_api::v1;

use super::{limit, membership, rate};
use crate::connect::{Effort, Session};
use crate::error::CliError;
use crate::output;
use crate::report::parse;
use crate::sweep::{port_json, port_name};

const FULL: u32 = 0x8000;

pub(super) async fn run(
    session: &Session,
    (source, destination): (&str, &str),
    json: bool,
) -> Result<ExitCode, CliError> {
    parse(source)?;
    parse(destination)?;
    let mut service = session.services(Effort::Look).virtual_fabrics();
    let checked = service.check_reach(v1::CheckReachRequest {
        source: source.to_owned(),
        destination: destination.to_owned(),
    });
    let checked = session.answer(Effort::Look, checked).await?;
    match json {
        true => output::json(&as_json(&checked))?,
        false => output::text(text(&checked))?,
    }
    Ok(ExitCode::from(u8::from(!checked.reachable)))
}

fn text(checked: &v1::CheckReachResponse) -> String {
    let (from, to) = (
        port_name(checked.source.as_ref()),
        port_name(checked.destination.as_ref()),
    );
    let verdict = match checked.reachable {
        true => format!("{from} reaches {to}\n"),
        false => format!("{from} does not reach {to}\n"),
    };
    let reached = checked.reached.iter().map(reached);
    let refused = checked
        .not_reached
        .iter()
        .map(|one| format!("not in {}: {}\n", one.virtual_fabric, one.why));
    let parts = [verdict].into_iter().chain(reached).chain(refused);
    parts.chain(strays(checked)).collect()
}

fn reached(reached: &v1::Reached) -> String {
    let key = |key: u32| format!("{key:#06x} ({})", membership(key & FULL != 0));
    let head = format!(
        "in {}: keys {} and {}, SL {}, MTU {}, rate {}\n",
        reached.virtual_fabric,
        key(reached.source_pkey),
        key(reached.destination_pkey),
        reached.sl,
        limit(reached.mtu),
        rate(reached.rate_mbps)
    );
    let hops = reached.hops.iter().map(|hop| {
        format!(
            "  {} to {}: SC {}, VL {}, MTU {}, rate {}\n",
            port_name(hop.from.as_ref()),
            port_name(hop.to.as_ref()),
            hop.sc,
            hop.vl,
            limit(hop.mtu),
            rate(hop.rate_mbps)
        )
    });
    let registers = reached.registers.iter().map(|register| {
        let (port, table) = (port_name(register.port.as_ref()), &register.table);
        format!("  {table} of {port}: {}\n", register.entry)
    });
    [head].into_iter().chain(hops).chain(registers).collect()
}

/// Keys that both ports hold although no virtual fabric joins them.
fn strays(checked: &v1::CheckReachResponse) -> Option<String> {
    let keys = checked.stray_pkeys.iter().map(|key| format!("{key:#06x}"));
    let keys: Vec<String> = keys.collect();
    (!keys.is_empty()).then(|| {
        format!(
            "both P_Key tables have {}, but no virtual fabric joins the ports: subnet administration gives no path\n",
            keys.join(", ")
        )
    })
}

fn as_json(checked: &v1::CheckReachResponse) -> Value {
    let refused = checked.not_reached.iter().map(
        |one| json!({ "virtual_fabric": one.virtual_fabric, "index": one.index, "why": one.why }),
    );
    let strays = checked.stray_pkeys.iter().map(|key| format!("{key:#06x}"));
    json!({
        "source": port_json(checked.source.as_ref()),
        "destination": port_json(checked.destination.as_ref()),
        "reachable": checked.reachable,
        "reached": checked.reached.iter().map(reached_json).collect::<Vec<_>>(),
        "not_reached": refused.collect::<Vec<_>>(),
        "stray_pkeys": strays.collect::<Vec<_>>(),
        "generation": checked.generation,
    })
}

fn reached_json(reached: &v1::Reached) -> Value {
    let hops = reached.hops.iter().map(|hop| {
        json!({
            "from": port_json(hop.from.as_ref()),
            "to": port_json(hop.to.as_ref()),
            "sc": hop.sc,
            "vl": hop.vl,
            "mtu": hop.mtu,
            "rate_mbps": hop.rate_mbps,
        })
    });
    let registers = reached.registers.iter().map(|register| {
        json!({
            "port": port_json(register.port.as_ref()),
            "table": register.table,
            "entry": register.entry,
        })
    });
    json!({
        "virtual_fabric": reached.virtual_fabric,
        "index": reached.index,
        "source_pkey": format!("{:#06x}", reached.source_pkey),
        "destination_pkey": format!("{:#06x}", reached.destination_pkey),
        "sl": reached.sl,
        "mtu": reached.mtu,
        "rate_mbps": reached.rate_mbps,
        "hops": hops.collect::<Vec<_>>(),
        "registers": registers.collect::<Vec<_>>(),
    })
}
