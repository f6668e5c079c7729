//! `weft fm loop-test`: links between switches, tested with packets that circle.

use std::fmt::Write;

use serde_json::{Value, json};
use weft_api::time::seconds;
use weft_api::v1;
use weft_api::v1::control_loop_test_request::Order;
use weft_fabric::text::count;

use crate::args::LoopTestCommand;
use crate::connect::{Effort, Session};
use crate::error::CliError;
use crate::output;
use crate::sweep::{port_json, port_name};
use crate::time::{utc_json, utc_of};

/// Links in no loop that are printed.
const UNCOVERED_SHOWN: usize = 16;
/// Most links of a loop.
const LENGTH_MAX: u32 = 4;

pub(crate) async fn run(session: &Session, command: &LoopTestCommand) -> Result<(), CliError> {
    match command {
        LoopTestCommand::Start { fast, packets } => {
            let (fast, packets) = (*fast, *packets);
            let order = Order::Start(v1::StartLoopTest { fast, packets });
            say(session, order, "the loop test starts").await
        }
        LoopTestCommand::Stop => {
            let order = Order::Stop(v1::StopLoopTest {});
            say(session, order, "the loop test ends").await
        }
        LoopTestCommand::Inject { packets, at: None } => {
            say(session, Order::Inject(*packets), "packets are injected").await
        }
        LoopTestCommand::Inject { at: Some(guid), .. } => {
            say(session, Order::InjectAt(*guid), "packets are injected").await
        }
        LoopTestCommand::Set {
            path_length,
            redundancy,
            each_sweep,
            fast,
        } => {
            let orders = [
                fast.map(Order::FastMode),
                path_length.map(Order::PathLength),
                redundancy.map(Order::Redundancy),
                each_sweep.map(Order::InjectEachSweep),
            ];
            for order in orders.into_iter().flatten() {
                self::order(session, order).await?;
            }
            output::text(settings(&get(session, 0).await?))
        }
        LoopTestCommand::Show { json, loops } => {
            let test = get(session, *loops).await?;
            match json {
                true => output::json(&as_json(&test)),
                false => output::text(as_text(&test)),
            }
        }
    }
}

async fn order(session: &Session, order: Order) -> Result<u64, CliError> {
    let mut service = session.services(Effort::Look).manager();
    let order = Some(order);
    let ordered = service.control_loop_test(v1::ControlLoopTestRequest { order });
    Ok(session.answer(Effort::Look, ordered).await?.sweep)
}

async fn say(session: &Session, order: Order, what: &str) -> Result<(), CliError> {
    let sweep = self::order(session, order).await?;
    output::text(format!("{what} with sweep {sweep}\n"))
}

async fn get(session: &Session, loops: u32) -> Result<v1::GetLoopTestResponse, CliError> {
    let mut service = session.services(Effort::Look).manager();
    let test = service.get_loop_test(v1::GetLoopTestRequest { loops });
    session.answer(Effort::Look, test).await
}

fn settings(test: &v1::GetLoopTestResponse) -> String {
    let state = match (test.running, test.by_order) {
        (false, _) => "not running",
        (true, true) => "running, by order",
        (true, false) => "running, as configured",
    };
    let mode = if test.fast { "fast" } else { "all loops" };
    let each = if test.each_sweep {
        ", packets in each sweep"
    } else {
        ""
    };
    let at = match test.at_guid {
        0 => String::new(),
        guid => format!(", injected at switch {guid:#018x} only"),
    };
    format!(
        "Loop test: {state}\nMode: {mode}, loops of up to {} links, redundancy {}\nPackets: {} for each loop{each}{at}; \
         {} for each since the start, {} in all\n",
        test.length_max, test.redundancy, test.packets, test.injected, test.sent
    )
}

fn as_text(test: &v1::GetLoopTestResponse) -> String {
    let mut text = settings(test);
    let mut add = |line: String| {
        // Writing to a string does not fail.
        let _ = writeln!(text, "{line}");
    };
    if test.running {
        let cut = if test.cut_short {
            "; no LIDs are left for more"
        } else {
            ""
        };
        add(format!(
            "Loops: {} with {}{cut}",
            test.loop_count,
            count(test.lid_count, "LID")
        ));
        add(format!(
            "Links between switches: {}, of these in no loop: {}",
            test.link_count, test.uncovered_count
        ));
    }
    for link in test.uncovered.iter().take(UNCOVERED_SHOWN) {
        add(format!(
            "  {} - {}",
            port_name(link.a.as_ref()),
            port_name(link.b.as_ref())
        ));
    }
    if test.uncovered_count as usize > UNCOVERED_SHOWN {
        let more = test.uncovered_count as usize - UNCOVERED_SHOWN;
        add(format!("  and {more} more; --json lists them"));
    }
    if test.uncovered_count > 0 && test.length_max < LENGTH_MAX {
        add(format!(
            "Longer loops may lead over them: weft fm loop-test set --path-length {LENGTH_MAX}"
        ));
    }
    match test.errors_time {
        None => add("Links with errors: the counters have not been read twice yet".to_owned()),
        Some(_) => add(format!(
            "Links with errors in the {:.0} s up to {}: {}",
            seconds(test.errors_span),
            utc_of(test.errors_time),
            test.bad_link_count
        )),
    }
    for link in &test.bad_links {
        add(format!(
            "  {} ({}) - {} ({})",
            port_name(link.a.as_ref()),
            count(link.a_errors, "error"),
            port_name(link.b.as_ref()),
            count(link.b_errors, "error")
        ));
    }
    for path in &test.loops {
        let hops: Vec<String> = path.hops.iter().map(|hop| port_name(Some(hop))).collect();
        let lids = match path.reverse_lid {
            0 => format!("{:#06x}", path.lid),
            reverse => format!("{:#06x}, back {reverse:#06x}", path.lid),
        };
        add(format!("Loop {lids}: {}", hops.join(", ")));
    }
    text
}

fn as_json(test: &v1::GetLoopTestResponse) -> Value {
    let link = |a: &Option<v1::NamedPort>, b: &Option<v1::NamedPort>| {
        json!([port_json(a.as_ref()), port_json(b.as_ref())])
    };
    let uncovered = test.uncovered.iter().map(|pair| link(&pair.a, &pair.b));
    let bad = test.bad_links.iter().map(|bad| {
        json!({
            "ends": link(&bad.a, &bad.b),
            "errors": [bad.a_errors, bad.b_errors],
        })
    });
    let loops = test.loops.iter().map(|path| {
        json!({
            "lid": path.lid,
            "reverse_lid": path.reverse_lid,
            "hops": path.hops.iter().map(|hop| port_json(Some(hop))).collect::<Vec<_>>(),
        })
    });
    json!({
        "running": test.running,
        "by_order": test.by_order,
        "fast": test.fast,
        "packets": test.packets,
        "length_max": test.length_max,
        "redundancy": test.redundancy,
        "each_sweep": test.each_sweep,
        "at_guid": Some(test.at_guid).filter(|guid| *guid != 0).map(|guid| format!("{guid:#018x}")),
        "injected": test.injected,
        "sent": test.sent,
        "loop_count": test.loop_count,
        "lid_count": test.lid_count,
        "link_count": test.link_count,
        "uncovered_count": test.uncovered_count,
        "cut_short": test.cut_short,
        "uncovered": uncovered.collect::<Vec<_>>(),
        "bad_link_count": test.bad_link_count,
        "bad_links": bad.collect::<Vec<_>>(),
        "errors_time": utc_json(test.errors_time),
        "errors_seconds": seconds(test.errors_span),
        "loops": loops.collect::<Vec<_>>(),
    })
}
