//! What recording costs in the default budget of bytes, and how long reading takes: `measure HOSTS MINUTES [DIR [SECONDS]]`,
//! with a reading each so many seconds, 10 unless said otherwise.
//!
//! Ports are those of HFIs and switches of a fat tree, four a host as at 1,152 and six as at 27,648; six of ten are busy
//! in bursts with eight counters, as in the table of sizes that the format was chosen by.

use std::time::{Duration, Instant};

use weft_history::{PortKey, PortRow, PortValues, Reader, Recorder};

fn main() -> Result<(), Box<dyn std::error::Error>> {
    let mut args = std::env::args().skip(1);
    let hosts: u64 = args.next().ok_or("HOSTS")?.parse()?;
    let minutes: i64 = args.next().ok_or("MINUTES")?.parse()?;
    let dir = args.next().unwrap_or_else(|| "history-measure".to_owned());
    let seconds: i64 = args.next().map_or(Ok(10), |text| text.parse())?;
    let count = hosts * if hosts > 10_000 { 6 } else { 4 };
    let mut random = 1_u64;
    let mut next = |below: u64| {
        random = random
            .wrapping_mul(6_364_136_223_846_793_005)
            .wrapping_add(1);
        (random >> 33) % below
    };
    let port = |number: u64| PortRow {
        key: PortKey {
            guid: 0x0011_7501_0100_0000 + number / 48 * 0x1d,
            port: (number % 48) as u8 + 1,
        },
        name: format!("edge{:04}", number / 48).into(),
        values: PortValues {
            totals: [0; _],
            link_quality: Some(5),
        },
    };
    let mut ports: Vec<PortRow> = (0..count).map(port).collect();
    let mut recorder = Recorder::open(dir.as_ref(), 8 << 30)?;
    let begin = recorder
        .last_ms()
        .map_or(1_795_651_200_000, |last| last + 1_000 * seconds);
    let (mut appends, mut longest, mut images) = (Duration::ZERO, Duration::ZERO, 0_u32);
    for number in 0..minutes * 60 / seconds {
        for (place, port) in ports.iter_mut().enumerate() {
            let busy = place % 10 < 6 && (number / 30 + place as i64) % 3 != 0;
            if busy {
                let flits = 1_000_000_000 + next(150_000_000);
                for (counter, part) in [
                    (0, 1),
                    (1, 1),
                    (2, 32),
                    (3, 32),
                    (6, 7),
                    (8, 500),
                    (12, 90),
                    (14, 900),
                ] {
                    port.values.totals[counter] += (flits + next(flits / 8)) / part;
                }
            }
        }
        let reading = ports.clone();
        let started = Instant::now();
        recorder.image(begin + 1_000 * seconds * number, reading)?;
        let took = started.elapsed();
        (appends, longest, images) = (appends + took, longest.max(took), images + 1);
    }
    println!(
        "{count} ports, {images} readings: {:.2} ms each, longest {:.0} ms",
        appends.as_secs_f64() * 1e3 / f64::from(images),
        longest.as_secs_f64() * 1e3
    );
    println!(
        "{:.2} % of one CPU at {seconds} seconds",
        appends.as_secs_f64() / (f64::from(images) * seconds as f64) * 100.0
    );
    recorder.close()?;
    for (table, bytes) in recorder.usage().tables {
        println!("{} {}: {bytes} bytes", table.name(), table.resolution());
    }
    let image = recorder.usage().tables[0].1 as f64;
    println!(
        "{:.1} bytes a port and reading, {:.2} GB a day",
        image / (f64::from(images) * count as f64),
        image / f64::from(images) * 86_400.0 / seconds as f64 / 1e9
    );
    let end = begin + span(minutes);
    for (what, span_ms, step_ms) in [
        ("an hour at 10 s", 3_600_000, 10_000),
        ("a day at 1 min", 86_400_000, 60_000),
        ("a month at 10 min", 2_592_000_000, 600_000),
        ("a month at 1 h", 2_592_000_000, 3_600_000),
    ] {
        let started = Instant::now();
        let read = Reader::new(dir.as_ref()).samples(
            &[ports[ports.len() / 2].key],
            (end - span_ms, end),
            step_ms,
            &mut |word| println!("{word}"),
        )?;
        println!(
            "one port, {what}: {} points in {:.1} ms",
            read[0].len(),
            started.elapsed().as_secs_f64() * 1e3
        );
    }
    let ago = (span(minutes) / 2).min(1_800_000);
    for (what, at) in [
        ("the last reading", end),
        ("a reading in the middle", end - ago),
    ] {
        let started = Instant::now();
        let reading = Reader::new(dir.as_ref()).reading(at, &mut |word| println!("{word}"))?;
        println!(
            "{what}: {} ports in {:.1} ms",
            reading.map_or(0, |reading| reading.ports.len()),
            started.elapsed().as_secs_f64() * 1e3
        );
    }
    Ok(())
}

/// Milliseconds of so many minutes.
fn span(minutes: i64) -> i64 {
    60_000 * minutes
}
