//! A master dies in the middle of what people ordered: its standby goes on with what was in force, and says what was lost.

use std::time::{Duration, Instant};

use weft_fabric::PortNum;

use crate::harness::{text, wait_for};
use crate::pair::{Pair, leads};

/// From the order to the death of the master.
const STEPS: [u64; 6] = [0, 15, 40, 90, 200, 600];
/// Drained.
const CORE: &str = "core2";

/// Number of pairs of hosts without a way by the tables of the switches, and of ways over the drained switch.
fn ways(pair: &Pair) -> (usize, usize) {
    pair.site.fabric.inspect(|emulator| {
        let network = emulator.network();
        let mut nodes = network.topology().nodes();
        let (drained, _) = nodes.find(|(_, node)| node.name() == CORE).unwrap();
        let hosts = network.devices().filter(|(_, device)| !device.is_switch());
        let ports: Vec<_> = hosts
            .filter_map(|(_, device)| device.port(PortNum(1)))
            .collect();
        let (mut lost, mut over) = (0, 0);
        for from in &ports {
            for to in ports.iter().filter(|to| *to != from) {
                let lid = network.port(*to).info().lid;
                let (mut at, mut hops) = (network.peer(*from), 0);
                while let Some(port) = at.filter(|port| port != to && hops < 8) {
                    let node = network.node_of(port);
                    over += usize::from(node == drained);
                    let route = network.switch(node).map(|it| it.linear()[lid.0 as usize]);
                    let egress =
                        route.and_then(|route| network.device_at(node).port(PortNum(route)));
                    (at, hops) = (egress.and_then(|egress| network.peer(egress)), hops + 1);
                }
                lost += usize::from(at != Some(*to));
            }
        }
        (lost, over)
    })
}

#[test]
fn a_drain_is_whole_or_not_there_whenever_its_master_dies() {
    let mut outcomes = Vec::new();
    for step in STEPS {
        let pair = Pair::new();
        // Without clients there are no registrations to compare with.
        pair.site.join(&[2]);
        pair.even();
        let (changes, _) = pair.totals();
        let order = std::thread::scope(|scope| {
            let order = scope.spawn(|| pair.master.weft(&["drain", &format!("node:{CORE}")]));
            std::thread::sleep(Duration::from_millis(step));
            pair.master.signal("KILL");
            order.join().unwrap()
        });
        leads(&pair.standby, Instant::now());
        let said = (text(&order.stdout), text(&order.stderr));
        let drained = pair.standby.weft_ok(&["route", "drains"]).contains(CORE);
        if order.status.success() {
            assert!(
                drained,
                "{step} ms: what was said to be done is lost: {said:?}"
            );
        } else {
            assert!(said.1.starts_with("weft: "), "{step} ms: {said:?}");
        }
        wait_for(|| {
            let (lost, over) = ways(&pair);
            assert_eq!(lost, 0, "{step} ms: hosts that do not reach each other");
            ((over == 0) == drained).then_some(())
        });
        assert_eq!(pair.totals().0, changes, "{step} ms: states of ports");
        outcomes.push((step, order.status.success(), drained));
    }
    println!("(ms, said to be done, drained afterwards): {outcomes:?}");
}

#[test]
fn a_plan_that_ends_with_its_master_is_named_by_the_next() {
    let pair = Pair::new();
    pair.site.join(&[2]);
    pair.even();
    let planned = pair
        .master
        .weft_ok(&["route", "plan", "--engine", "shortestpath", "--json"]);
    let planned: serde_json::Value = serde_json::from_str(&planned).unwrap();
    let id = planned["plan_id"].to_string();
    pair.master.weft_ok(&["route", "apply", &id]);
    pair.even();
    pair.master.signal("KILL");
    leads(&pair.standby, Instant::now());
    pair.standby.logs("has ended with the takeover");
    let shown = wait_for(|| {
        let shown = pair.standby.weft_ok(&["fabric", "show"]);
        shown
            .contains("a plan of the master before")
            .then_some(shown)
    });
    assert!(shown.contains("shortestpath"), "{shown}");
    let (lost, _) = ways(&pair);
    assert_eq!(lost, 0);
}
