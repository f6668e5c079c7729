//! What running totals of port counters add to each reading.

use std::sync::Arc;

use weft_config::link_rules::LinkRules;
use weft_manager::pm::Image;
use weft_manager::port_totals::PortTotals;

use crate::Failure;
use crate::fabrics::TreeOptions;
use crate::memory::peak_mib;
use crate::reader::Reader;
use crate::routing::timed;
use crate::table::{Table, millis};

/// Measures and prints the table: what totals take of a reading, and to be written as bytes; what a reading takes in which every port was cleared by somebody. Memory is what they add to
/// the image that performance management keeps anyway, measured as what many add to the peak of this process.
///
/// # Errors
/// [`Failure`] when a fabric cannot be made, or is not read.
pub fn run(options: &TreeOptions) -> Result<(), Failure> {
    let mut table = Table::new([
        "hosts",
        "ports",
        "reading ms",
        "totals ms",
        "encoding ms",
        "file MiB",
        "memory MiB",
        "all cleared ms",
        "all cleared MiB",
    ]);
    for (hosts, radix) in options.trees() {
        let mut reader = Reader::new(hosts, radix, LinkRules::default())?;
        let mut totals = PortTotals::default();
        let first = reader.read()?;
        totals.follow(Arc::clone(&first));
        let (mut reading, mut followed, mut encoded) =
            (f64::INFINITY, f64::INFINITY, f64::INFINITY);
        let (mut bytes, mut last) = (0, reader.read()?);
        for _ in 0..options.runs() {
            let (read, image) = timed(|| reader.read());
            last = image?;
            reading = reading.min(read);
            let image = Arc::clone(&last);
            // A clone, as the daemon makes one: readers have the one before.
            let (took, next) = timed(|| {
                let mut next = totals.clone();
                next.follow(image);
                next
            });
            totals = next;
            followed = followed.min(took);
            let (took, file) = timed(|| totals.encode());
            encoded = encoded.min(took);
            bytes = file.map_or(0, |file| file.len());
        }
        let copies = |count: usize, images: &[&Arc<Image>]| {
            let before = peak_mib("self");
            let (took, more) = timed(|| {
                let mut more = vec![PortTotals::default(); count];
                for totals in &mut more {
                    images
                        .iter()
                        .for_each(|image| totals.follow(Arc::clone(image)));
                }
                more
            });
            let added = (peak_mib("self") - before) as f64 / more.len() as f64;
            (took / count as f64, added)
        };
        let (once, added) = copies(COPIES, &[&last]);
        // After a later image the first one looks as if all counters had been set to zero.
        let (twice, all) = copies(CLEARED_COPIES, &[&last, &first]);
        table.row([
            hosts.to_string(),
            last.roster.ports.len().to_string(),
            millis(reading),
            millis(followed),
            millis(encoded),
            format!("{:.1}", bytes as f64 / f64::from(1 << 20)),
            format!("{added:.1}"),
            millis(twice - once),
            format!("{all:.1}"),
        ]);
    }
    print!("{table}");
    Ok(())
}

/// Totals whose memory is measured together, so that the peak is above what was freed before.
const COPIES: usize = 256;
const CLEARED_COPIES: usize = 16;
