//! Packets that wait for each other, in words.

use weft_dataplane::packets::{MILLI, Picos};
use weft_dataplane::{Network, PortIndex};
use weft_fabric::Vl;

use super::perform::ExperimentError;

/// Describes a deadlock: its time, ports and lanes.
pub(super) fn told(network: &Network, circle: &[(PortIndex, Vl)], now: Picos) -> ExperimentError {
    let name = |(at, vl): &(PortIndex, Vl)| {
        let node = network.device_at(network.node_of(*at));
        let port = network.number_of(*at);
        format!("{} port {} VL{}", node.description.text(), port.0, vl.0)
    };
    ExperimentError::Deadlock {
        millis: u128::from(now / MILLI),
        loop_: circle.iter().map(name).collect(),
    }
}

#[cfg(test)]
mod tests {
    #![allow(clippy::unwrap_used)]
    use super::*;
    use crate::experiment::measure::Stage;
    use crate::experiment::scenario::{Case, Traffic};
    use crate::experiment::{Scenario, stage, stream};
    use weft_dataplane::traffic::PathLevels;

    /// Result of traffic on a torus whose senders ignore the service levels of paths.
    fn run(case: &Case, threads: usize) -> ExperimentError {
        let mut staged = stage::set(case, 7).unwrap();
        staged.levels = PathLevels::default();
        let ran = match case.traffic {
            Traffic::Stream { .. } => stream::run(case, staged, 7, threads).unwrap(),
            _ => Stage::new(case, staged, 7).unwrap().run(),
        };
        ran.measurements.unwrap_err()
    }

    #[test]
    fn a_deadlock_is_told_with_its_loop() {
        for traffic in [
            "ranks 2\ntraffic alltoall bytes=256K\nlimit 1s",
            "traffic uniform span=300us",
            "traffic uniform span=300us\nbackground uniform load=0.1",
        ] {
            let text = format!(
                "fabric torus:4x4,hosts=4\nengine layered\nhoq-life 31\nswitch-lifetime 31\nlanes 1\n{traffic}"
            );
            let scenario: Scenario = text.parse().unwrap();
            let told = [1, 2].map(|threads| run(&scenario.cases[0], threads).to_string());
            assert!(told[0].contains("credit loop: switch-"), "{}", told[0]);
            assert_eq!(told[0], told[1], "{traffic}");
        }
    }
}
