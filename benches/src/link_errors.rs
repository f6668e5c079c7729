//! What rules for links with errors add to each reading of the counters.

use weft_config::link_rules::{Action, LinkRules};
use weft_manager::link_errors::ErrorMeter;

use crate::Failure;
use crate::fabrics::TreeOptions;
use crate::memory::peak_mib;
use crate::reader::Reader;
use crate::routing::timed;
use crate::table::{Table, millis};

/// Measures and prints the table: what the meter takes of a reading in which no port has errors, one of a hundred,
/// and all of them. Memory is what a further meter adds to the peak of this process for the last.
///
/// # Errors
/// [`Failure`] when a fabric cannot be made, or is not read.
pub fn run(options: &TreeOptions) -> Result<(), Failure> {
    let mut table = Table::new([
        "hosts",
        "ports",
        "reading ms",
        "clean ms",
        "1 % ms",
        "all ms",
        "memory of all MiB",
    ]);
    for (hosts, radix) in options.trees() {
        let mut reader = Reader::new(hosts, radix, rules())?;
        let ports = reader.ports();
        let mut meter = ErrorMeter::new(rules());
        let mut reading = f64::INFINITY;
        meter.take(&*reader.read()?);
        let mut cells = Vec::new();
        for every in [0, 100, 1] {
            let mut least = f64::INFINITY;
            for _ in 0..options.runs() {
                if every > 0 {
                    reader.plant(ports.iter().step_by(every))?;
                }
                let (read, image) = timed(|| reader.read());
                let image = image?;
                reading = reading.min(read);
                let (taken, _) = timed(|| meter.take(&image));
                least = least.min(taken);
            }
            cells.push(millis(least));
        }
        let images = [reader.read()?, {
            reader.plant(ports.iter())?;
            reader.read()?
        }];
        let before = peak_mib("self");
        // More than one, so that the peak is above what was freed before.
        let mut more: Vec<ErrorMeter> = (0..METERS).map(|_| ErrorMeter::new(rules())).collect();
        for meter in &mut more {
            images.iter().for_each(|image| drop(meter.take(image)));
        }
        let added = (peak_mib("self") - before) as f64 / METERS as f64;
        let [clean, some, all] = &cells[..] else {
            continue;
        };
        table.row([
            hosts.to_string(),
            ports.len().to_string(),
            millis(reading),
            clean.clone(),
            some.clone(),
            all.clone(),
            format!("{added:.1}"),
        ]);
    }
    print!("{table}");
    Ok(())
}

/// Meters whose memory is measured together.
const METERS: usize = 16;

fn rules() -> LinkRules {
    let mut rules = LinkRules::default();
    rules.symbol_errors.action = Action::Quarantine;
    rules.discards.action = Action::Quarantine;
    rules.link_quality.action = Action::Quarantine;
    rules
}
