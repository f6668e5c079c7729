//! Faults of cables and links as steps in time.

use rand::RngExt;
use rand_chacha::ChaCha8Rng;
use weft_dataplane::training::{LinkTraining, Stuck};
use weft_emulator::ErrorCounts;
use weft_emulator::io::Control;

use super::fault::Fault;
use super::place::any;
use super::plant::{MS, Plant, Planter, S};
use crate::campaign::programs::Port;

impl Planter<'_> {
    pub(super) fn cable(&mut self, fault: Fault, rng: &mut ChaCha8Rng) {
        let (node, port) = self.places.cable(rng);
        let until = self.until;
        let lasting = rng.random_bool(0.25);
        let plant = &mut self.plant;
        let down = Control::LinkDown { node, port };
        let up = Control::LinkUp { node, port };
        match fault {
            Fault::LinkDown if lasting => plant.control(0, down),
            Fault::LinkDown => plant.during(until, down, up),
            Fault::LinkFlaps => {
                let (times, over_ns) = (rng.random_range(1..=15), until);
                let flap = Control::Flap {
                    node,
                    port,
                    times,
                    over_ns,
                };
                plant.control(0, flap);
                plant.ends_ns = until;
            }
            Fault::FewerLanes => {
                let lanes = |lanes| Control::LinkLanes { node, port, lanes };
                plant.control(0, lanes(rng.random_range(1..=3)));
                if !lasting {
                    plant.control(until, lanes(4));
                    plant.control(until + 1, down);
                    plant.control(until + MS, up);
                }
            }
            Fault::HalfSpeed => {
                let slow = |slow| Control::LinkSlow { node, port, slow };
                plant.control(0, slow(true));
                if !lasting {
                    plant.control(until, slow(false));
                }
            }
            Fault::ErrorsRise => errors_rise(plant, (node, port), until),
            Fault::OneWayLoss => {
                let near = (node, port);
                let ends = [near, self.far(near).unwrap_or(near)];
                let (node, port) = *any(rng, &ends);
                let loss = |loss| Control::LinkLoss { node, port, loss };
                let all = rng.random_bool(0.3);
                let share = if all {
                    1.0
                } else {
                    rng.random_range(0.05..0.95)
                };
                self.plant.during(until, loss(share), loss(0.0));
            }
            Fault::Stuck => {
                let (begins, ends) = stuck((node, port), rng);
                plant.during(until, begins, ends);
                plant.control(1, down);
                plant.control(MS, up);
            }
            Fault::CableMoved => {
                let from = *any(rng, &self.places.switch_ends);
                let to = *any(rng, &self.places.free);
                plant.control(0, Control::MoveCable { from, to });
                if !lasting {
                    plant.control(until, Control::MoveCable { from: to, to: from });
                }
            }
            Fault::Loop => {
                let (node, a, b) = *any(rng, &self.places.free_pairs);
                let ports = [(node, a), (node, b)];
                plant.control(0, Control::PlugCable { ports });
                if !lasting {
                    plant.control(until, Control::PullCable { node, port: a });
                }
            }
            _ => {
                let ports = [(node, port), self.places.cable(rng)];
                let plug = Control::ExchangeCables { ports };
                plant.control(0, plug.clone());
                if !lasting {
                    plant.control(until, plug);
                }
            }
        }
    }
}

/// A port that is not armed, or whose link does not leave a state of its training; and its end.
fn stuck((node, port): Port, rng: &mut ChaCha8Rng) -> (Control, Control) {
    let refusal = |refuse| Control::RefuseArm { node, port, refuse };
    let training = |stuck| Control::LinkTraining {
        at: Some((node, port)),
        how: LinkTraining {
            stuck,
            ..LinkTraining::default()
        },
    };
    let in_state = |state| (training(Some(state)), training(None));
    match rng.random_range(0..4) {
        0 => in_state(Stuck::Polling),
        1 => in_state(Stuck::Training),
        2 => in_state(Stuck::Offline),
        _ => (refusal(true), refusal(false)),
    }
}

/// A cable that damages ten times as many packets every second, and a port that counts and tells it.
fn errors_rise(plant: &mut Plant, (node, port): Port, until: u64) {
    for second in 0..6 {
        let damaged = 10_u32.pow(second);
        let errors = Control::CableErrors {
            node,
            port,
            errors: damaged,
        };
        plant.control(u64::from(second) * S, errors);
        let counted = ErrorCounts {
            symbol_errors: u64::from(damaged),
            ..ErrorCounts::default()
        };
        let count = Control::CountErrors {
            node,
            port,
            errors: counted,
        };
        plant.control(u64::from(second) * S + 1, count);
        let quality = (5 - second.min(4)) as u8;
        plant.control(
            u64::from(second) * S + 2,
            Control::LinkQuality {
                node,
                port,
                quality,
            },
        );
    }
    let good = Control::CableErrors {
        node,
        port,
        errors: 0,
    };
    plant.control(until.max(7 * S), good);
}
