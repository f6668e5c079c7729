//! A fabric without a fault has no finding, whatever its hosts send.

use std::time::Duration;

use weft_emulator::io::Control;
use weft_emulator::traffic::TrafficJob;
use weft_fabric::FabricSpec;
use weft_health::Color;

use crate::lab::Lab;

#[test]
fn a_day_with_traffic_has_no_finding() {
    let spec: FabricSpec = "pgft:2;4,4;1,4;1,1;radix=8".parse().unwrap();
    let mut lab = Lab::with(spec.generate().unwrap(), Duration::from_secs(300));
    lab.read_counters();
    for (name, pattern) in [("all", "uniform"), ("shift", "shift by=5")] {
        let job = TrafficJob {
            rate_percent: 30.0,
            ..TrafficJob::new(name.to_owned(), pattern.parse().unwrap())
        };
        lab.control(Control::TrafficStart(job));
    }
    for hour in 1..=24 {
        lab.pass(3_600);
        let page = lab.page();
        assert_eq!(page.findings, [], "hour {hour}");
        assert_eq!(page.color, Color::Green, "hour {hour}: {:#?}", page.figures);
    }
    let image = lab.image.as_ref().unwrap();
    let busy = image
        .ports()
        .filter(|port| port.utilization() > 100)
        .count();
    assert!(busy > 16, "the hosts did send: {busy}");
}
