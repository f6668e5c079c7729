//! Readings and events as they were recorded, steps, roll-ups and jumps of the clock.

use weft_history::{EventFilter, EventRow, PortKey, PortRow, PortValues, Reader, Recorder, Sample};

use crate::model::{Counting, Model, START, files};

const BUDGET: u64 = 64 << 20;

/// Records readings every ten seconds from `from_ms` on.
fn record(
    recorder: &mut Recorder,
    fabric: &mut Counting,
    model: &mut Model,
    from_ms: i64,
    count: i64,
) {
    for number in 0..count {
        let (time, ports) = (from_ms + 10_000 * number, fabric.reading());
        recorder.image(time, ports.clone()).expect("room");
        model.add(time, &ports);
    }
}

#[test]
fn readings_come_back_over_segments_and_restarts() {
    let dir = tempfile::tempdir().expect("a directory");
    let (mut fabric, mut model) = (Counting::new(1, 40), Model::default());
    for run in 0..5 {
        let mut recorder = Recorder::open(dir.path(), BUDGET).expect("a recorder");
        let from = START + run * 700_000;
        record(&mut recorder, &mut fabric, &mut model, from, 66);
        model.check(dir.path());
        assert_eq!(recorder.usage().bytes, crate::model::bytes(dir.path()));
    }
    let logs = files(dir.path())
        .into_iter()
        .filter(|file| file.extension().is_some_and(|kind| kind == "log"));
    assert_eq!(logs.count(), 3, "one of readings, one of events, the gaps");
    let kept = Reader::new(dir.path()).kept().expect("what is kept");
    let whys: Vec<(i64, i64)> = kept
        .gaps
        .iter()
        .map(|gap| (gap.from_ms, gap.to_ms))
        .collect();
    let expected = (1..5).map(|run| (START + run * 700_000 - 50_000, START + run * 700_000));
    assert_eq!(
        whys,
        expected.collect::<Vec<_>>(),
        "each restart left fifty seconds"
    );
}

#[test]
fn the_clock_goes_an_hour_forward_and_back() {
    let dir = tempfile::tempdir().expect("a directory");
    let (mut fabric, mut model) = (Counting::new(2, 12), Model::default());
    let mut recorder = Recorder::open(dir.path(), BUDGET).expect("a recorder");
    let hour = 3_600_000;
    for from in [
        START,
        START + hour,
        START + 900_000,
        START - hour,
        START + hour,
    ] {
        record(&mut recorder, &mut fabric, &mut model, from, 30);
        // What was recorded before for later times is no longer shown, also of ports that are away since.
        for rows in model.0.values_mut() {
            rows.retain(|(time, _)| *time < from + 300_000);
        }
    }
    let ports: Vec<PortKey> = model.0.keys().copied().collect();
    let read =
        Reader::new(dir.path()).samples(&ports, (0, i64::MAX / 4), 0, &mut |word| panic!("{word}"));
    for samples in read.expect("readings") {
        assert!(samples.is_sorted_by(|a, b| a.time_ms < b.time_ms));
        let only_up = samples.iter().skip(1).all(|sample| sample.rates.is_some());
        assert!(only_up, "no total goes down");
    }
    let gaps = Reader::new(dir.path()).kept().expect("what is kept").gaps;
    let back: Vec<bool> = gaps
        .iter()
        .map(|gap| gap.why.contains("went back by"))
        .collect();
    assert_eq!(back, [false, true, true, false], "{gaps:?}");
}

#[test]
fn a_step_takes_the_last_reading_and_the_worst_quality_and_rates_are_over_its_time() {
    const BAD: u64 = 400;
    let dir = tempfile::tempdir().expect("a directory");
    let mut recorder = Recorder::open(dir.path(), BUDGET).expect("a recorder");
    let key = PortKey { guid: 7, port: 1 };
    for number in 0..=6 * 60 * 3 {
        let mut totals = [0; _];
        totals[0] = 1000 * number;
        let link_quality = Some(if number == BAD { 2 } else { 5 });
        let row = PortRow {
            key,
            name: "a".into(),
            values: PortValues {
                totals,
                link_quality,
            },
        };
        recorder
            .image(START + 10_000 * number as i64, vec![row])
            .expect("room");
    }
    let reader = Reader::new(dir.path());
    for (step_ms, points) in [
        (0, 360),
        (10_000, 360),
        (60_000, 60),
        (600_000, 6),
        (3_600_000, 1),
    ] {
        let span = (START + 3_600_000, START + 7_200_000);
        let read = reader.samples(&[key], span, step_ms, &mut |word| panic!("{word}"));
        let samples = read.expect("readings").remove(0);
        assert_eq!(samples.len(), points, "step {step_ms}");
        let bad = |sample: &&Sample| sample.values.link_quality == Some(2);
        let bad_ms: Vec<i64> = samples
            .iter()
            .filter(bad)
            .map(|sample| sample.time_ms)
            .collect();
        let (of_bad, last_ms) = (10_000 * BAD as i64, samples.last().map(|one| one.time_ms));
        let end_of_step = |step: i64| (of_bad + step - 1) / step * step;
        let expected = START + end_of_step(step_ms.max(10_000));
        assert_eq!(bad_ms.len(), 1, "step {step_ms}");
        assert!(
            (expected - 10_000..=expected).contains(&bad_ms[0]) && last_ms >= Some(bad_ms[0]),
            "step {step_ms}: {bad_ms:?} of {expected}"
        );
        for sample in samples {
            let number = (sample.time_ms - START) as u64 / 10_000;
            let quality = sample.values.link_quality;
            assert!(matches!(quality, Some(2 | 5)), "{quality:?}");
            assert_eq!(sample.values.totals[0], 1000 * number, "step {step_ms}");
            let rate = sample.rates.map_or(0.0, |rates| rates[0]);
            assert!((rate - 100.0).abs() < 1e-9, "step {step_ms}: {rate}");
        }
    }
    let rolled_up = files(&dir.path().join("counters/1m"));
    assert_eq!(rolled_up.len(), 3, "an hour each");
}

#[test]
fn a_reading_of_all_ports_is_the_last_before_a_moment() {
    let dir = tempfile::tempdir().expect("a directory");
    let mut recorder = Recorder::open(dir.path(), BUDGET).expect("a recorder");
    let row = |guid: u64, count: u64| {
        let mut totals = [0; _];
        totals[0] = count;
        PortRow {
            key: PortKey { guid, port: 1 },
            name: "a".into(),
            values: PortValues {
                totals,
                link_quality: None,
            },
        }
    };
    // Port 2 is there from the 100th reading on, port 3 begins again at the 150th; segments close on the way.
    for number in 0..200_u64 {
        let mut rows = vec![row(1, 1000 * number)];
        rows.extend((number >= 100).then(|| row(2, number)));
        rows.push(row(3, if number < 150 { 5000 + number } else { number }));
        let time = START + 10_000 * number as i64;
        recorder.image(time, rows).expect("room");
    }
    let reader = Reader::new(dir.path());
    let at = |ms: i64| {
        let read = reader.reading(START + ms, &mut |word| panic!("{word}"));
        read.expect("a reading")
    };
    for number in [1, 59, 60, 61, 99, 100, 101, 150, 151, 199] {
        let reading = at(10_000 * number as i64 + 9_999).expect("a reading");
        assert_eq!(reading.time_ms, START + 10_000 * number as i64);
        assert_eq!(reading.span_ms, 10_000, "reading {number}");
        let found: Vec<_> = (reading.ports.iter())
            .map(|port| {
                (
                    port.key.guid,
                    port.values.totals[0],
                    port.before.map(|all| all[0]),
                )
            })
            .collect();
        let mut expected = vec![(1, 1000 * number, Some(1000 * (number - 1)))];
        let before = (number > 100).then(|| number - 1);
        expected.extend((number >= 100).then_some((2, number, before)));
        expected.push(match number {
            ..150 => (3, 5000 + number, Some(4999 + number)),
            150 => (3, 150, None),
            _ => (3, number, Some(number - 1)),
        });
        assert_eq!(found, expected, "reading {number}");
    }
    let first = at(0).expect("the first reading");
    assert_eq!((first.span_ms, first.ports[0].before), (0, None));
    assert_eq!(at(-1), None, "nothing was before");
    let late = at(3_600_000).expect("a reading of half an hour before");
    assert_eq!((late.time_ms, late.span_ms), (START + 1_990_000, 10_000));
    assert_eq!(at(12_000_000), None, "that is too long ago");
}

#[test]
fn readings_of_many_ports_come_back_also_where_the_clock_went_back() {
    let dir = tempfile::tempdir().expect("a directory");
    let mut recorder = Recorder::open(dir.path(), BUDGET).expect("a recorder");
    // So many that a segment has several row groups.
    let (mut fabric, mut model) = (Counting::new(11, 1_200), Model::default());
    let times = (0..65).chain(20..50).chain(100..140);
    for number in times {
        let (time, ports) = (START + 10_000 * number, fabric.reading());
        model.add(time, &ports);
        recorder.image(time, ports).expect("room");
    }
    let reader = Reader::new(dir.path());
    for _ in 0..30 {
        let at = START + fabric.random.next(1_410_000) as i64;
        let read = reader.reading(at, &mut |word| panic!("{word}"));
        let read = read.expect("files").expect("a reading");
        let until = |rows: &[(i64, PortValues)]| rows.partition_point(|(time, _)| *time <= at);
        let newest = model.0.values().map(|rows| rows[..until(rows)].last());
        let newest = newest.flatten().map(|(time, _)| *time).max();
        assert_eq!(Some(read.time_ms), newest, "at {at}");
        let mut ports = read.ports.iter();
        for (key, rows) in &model.0 {
            let rows = &rows[..until(rows)];
            let Some(((_, values), earlier)) =
                rows.split_last().filter(|(last, _)| last.0 == read.time_ms)
            else {
                continue;
            };
            let port = ports.next().expect("the port");
            assert_eq!((port.key, port.values), (*key, *values), "at {at}");
            let before = earlier
                .last()
                .filter(|(time, _)| *time == read.time_ms - read.span_ms);
            assert_eq!(
                port.before,
                before.map(|(_, values)| values.totals),
                "at {at}, {key:?}"
            );
        }
        assert_eq!(ports.next(), None);
    }
}

#[test]
fn a_reading_of_long_ago_is_one_of_the_roll_ups() {
    let dir = tempfile::tempdir().expect("a directory");
    let mut fabric = Counting::new(3, 40);
    let mut recorder = Recorder::open(dir.path(), BUDGET).expect("a recorder");
    for number in 0..1_080 {
        let time = START + 10_000 * number;
        recorder.image(time, fabric.reading()).expect("room");
    }
    // As the budget does with the finest ones.
    for file in files(&dir.path().join("counters/image")) {
        if file.extension().is_some_and(|kind| kind == "parquet") {
            std::fs::remove_file(file).expect("a file");
        }
    }
    let mut spans = Vec::new();
    for minutes in 1..30 {
        let at = START + 7_200_000 - 60_000 * minutes;
        let read = Reader::new(dir.path()).reading(at, &mut |word| panic!("{word}"));
        let reading = read.expect("files").expect("a reading");
        assert!((at - 600_000..=at).contains(&reading.time_ms));
        let is_told = |port: &weft_history::PortThen| port.before.is_some();
        assert!(reading.ports.iter().any(is_told));
        spans.push(reading.span_ms);
    }
    spans.sort_unstable();
    assert_eq!(spans[spans.len() / 2], 60_000, "{spans:?}");
}

fn event(number: u64) -> EventRow {
    EventRow {
        time_ms: START + 1000 * number as i64,
        run: 5,
        sequence: number,
        kind: ["link_vanished", "link_appeared"][number as usize % 2].to_owned(),
        guid: number % 3,
        name: format!("node{}", number % 3),
        port: number as u8,
        severity: "warn".to_owned(),
        message: format!("message {number} \u{1b}[1m"),
        body: format!("{{\"number\":{number}}}"),
    }
}

#[test]
fn events_come_back_in_order_and_by_kind_and_node() {
    let dir = tempfile::tempdir().expect("a directory");
    let mut recorder = Recorder::open(dir.path(), BUDGET).expect("a recorder");
    let all: Vec<EventRow> = (0..200_000)
        .step_by(50)
        .map(event)
        .chain((200_000..200_100).map(event))
        .collect();
    for (number, batch) in all.chunks(100).enumerate() {
        recorder.events(batch).expect("room");
        if number % 7 == 0 {
            drop(recorder);
            recorder = Recorder::open(dir.path(), BUDGET).expect("a recorder");
        }
    }
    let read = |span: (i64, i64), filter: &EventFilter| {
        let mut events = Vec::new();
        let mut sink = |event| {
            events.push(event);
            true
        };
        let read =
            Reader::new(dir.path()).events(span, filter, &mut sink, &mut |word| panic!("{word}"));
        read.expect("events");
        events
    };
    assert!(read((0, i64::MAX), &EventFilter::default()) == all);
    let segments = files(&dir.path().join("events"));
    assert_eq!(segments.len(), 3, "two days and a log: {segments:?}");
    let filter = EventFilter {
        kinds: vec!["link_appeared".to_owned()],
        nodes: vec!["node1".to_owned(), "0x2".to_owned()],
    };
    let span = (START + 50_000_000, START + 200_050_000);
    let is_wanted = |event: &&EventRow| {
        event.kind == "link_appeared"
            && event.guid > 0
            && (span.0..=span.1).contains(&event.time_ms)
    };
    let expected: Vec<EventRow> = all.iter().filter(is_wanted).cloned().collect();
    assert!(!expected.is_empty() && read(span, &filter) == expected);
}

#[test]
fn a_reading_since_an_earlier_one_has_the_counts_between() {
    let key = |port| PortKey { guid: 7, port };
    let port = |number, total| {
        let mut totals = [0; _];
        totals[0] = total;
        PortRow {
            key: key(number),
            name: "edge1".into(),
            values: PortValues {
                totals,
                link_quality: None,
            },
        }
    };
    let dir = tempfile::tempdir().expect("a directory");
    let mut recorder = Recorder::open(dir.path(), BUDGET).expect("a recorder");
    // Port 2 begins again, and port 3 comes later.
    let readings = [
        vec![port(1, 10), port(2, 500)],
        vec![port(1, 20), port(2, 600), port(3, 0)],
        vec![port(1, 35), port(2, 40), port(3, 9)],
    ];
    for (number, ports) in (0..).zip(readings) {
        recorder
            .image(START + 10_000 * number, ports)
            .expect("room");
    }
    let reader = Reader::new(dir.path());
    let read = |time| reader.reading(time, &mut |word| panic!("{word}"));
    let at = |time| read(time).expect("files").expect("a reading");
    let over = at(START + 20_000).since(&at(START));
    assert_eq!((over.time_ms, over.span_ms), (START + 20_000, 20_000));
    let before = over.ports.iter().map(|port| port.before.map(|all| all[0]));
    assert_eq!(before.collect::<Vec<_>>(), [Some(10), None, None]);
}
