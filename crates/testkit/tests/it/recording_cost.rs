//! What a recording takes of the manager's thread.

use std::collections::BTreeMap;
use std::sync::{Arc, mpsc};
use std::thread::{self, JoinHandle};
use std::time::{Duration, Instant};

use weft_emulator::Options;
use weft_fabric::Tick;
use weft_manager::io::Input;
use weft_manager::sm::Settings;
use weft_manager::{Output, PlanInput};
use weft_replay::{Call, Chunk, Recorded, Recorder, Replay, Sink, What};
use weft_testkit::{NoTap, Tape, Wait, World};

use crate::common::generate;

/// Hands chunks to another thread, which makes bytes of them and writes none.
#[derive(Debug)]
struct Unwritten(mpsc::Sender<Chunk>);

impl Unwritten {
    /// With the thread, which ends with it and says how long it had to do.
    fn begin() -> (Self, JoinHandle<Duration>) {
        let (chunks, taken) = mpsc::channel::<Chunk>();
        let thread = thread::spawn(move || {
            let mut bytes = Vec::new();
            let mut spent = Duration::ZERO;
            for chunk in taken {
                let started = Instant::now();
                bytes.clear();
                chunk.write(&mut bytes);
                spent += started.elapsed();
            }
            spent
        });
        (Self(chunks), thread)
    }
}

impl Sink for Unwritten {
    fn take(&mut self, chunk: Chunk) -> bool {
        self.0.send(chunk).is_ok()
    }
}

/// The inputs of a bring-up.
fn bring_up(hosts: usize) -> Vec<(Tick, What)> {
    let tape = Tape::default();
    let fabric = generate(&format!("fattree:{hosts},radix=48"));
    let (options, settings) = (Options::default(), Settings::default());
    let mut world = World::taped(fabric, options, settings, NoTap, Some(tape.clone())).unwrap();
    let up = world.bring_up(Duration::from_secs(600)).unwrap();
    assert_eq!(up, Wait::Done);
    world.end_tape();
    let [file] = tape.files().try_into().unwrap();
    let mut replay = Replay::new(&file[..]).unwrap();
    let steps = std::iter::from_fn(|| replay.next().unwrap());
    steps.map(|step| (step.at, step.what)).collect()
}

/// Time that the manager takes for the inputs; plans are made beside it.
fn spent(inputs: &[(Tick, What)], recorder: Option<Recorder>) -> Duration {
    let [(begun, What::Call(create)), rest @ ..] = inputs else {
        panic!("it does not begin with the start");
    };
    let Call::Create { settings, .. } = &**create else {
        panic!("it does not begin with the start");
    };
    let mut manager = Recorded::new(*begun, settings.clone(), None, recorder);
    let mut plans: BTreeMap<u64, Arc<PlanInput>> = BTreeMap::new();
    let mut spent = Duration::ZERO;
    for (at, what) in rest {
        let input = match what {
            What::Tick => Input::Tick,
            What::Received(packet) => Input::Received(packet.clone()),
            What::Planned(id) => Input::Planned(Box::new(plans[id].make())),
            other => panic!("no input of a bring-up: {}", other.name()),
        };
        let started = Instant::now();
        manager.handle(*at, input);
        while let Some(output) = manager.poll() {
            if let Output::Plan(input) = output {
                plans.insert(input.id(), input);
            }
        }
        spent += started.elapsed();
    }
    assert!(manager.status().phase.is_none() && manager.snapshot().generation > 0);
    spent
}

/// Prints it, of runs in turn; `WEFT_RECORDED_HOSTS` has more hosts, `WEFT_RECORDED_RUNS` more runs.
#[test]
#[ignore = "a measurement by the clock"]
fn a_bring_up_takes_less_than_half_as_long_again_with_a_recording() {
    let number = |name: &str, or: usize| {
        let given = std::env::var(name);
        given.map_or(or, |number| number.parse().unwrap())
    };
    let (hosts, runs) = (
        number("WEFT_RECORDED_HOSTS", 1_152),
        number("WEFT_RECORDED_RUNS", 3),
    );
    let inputs = bring_up(hosts);
    let mut all = [Vec::new(), Vec::new(), Vec::new()];
    for _ in 0..runs {
        all[0].push(spent(&inputs, None));
        let (sink, thread) = Unwritten::begin();
        all[1].push(spent(&inputs, Some(Recorder::new(Box::new(sink)))));
        all[2].push(thread.join().unwrap());
    }
    // Whoever else wants the cores makes runs longer, and none shorter.
    let [without, with, beside] = all.map(|times| times.into_iter().min().unwrap());
    let more = with.as_secs_f64() / without.as_secs_f64() - 1.0;
    println!(
        "{hosts} hosts, {} inputs, least of {runs} runs: {without:?} without a recording, {with:?} with it, {:.1} % more; \
         {beside:?} beside it",
        inputs.len(),
        100.0 * more
    );
    assert!(more < 0.5, "{without:?} without it, {with:?}");
}
