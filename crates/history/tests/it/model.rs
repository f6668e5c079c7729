//! What a history should say, kept without files.

use std::collections::BTreeMap;
use std::path::Path;

use weft_history::{PortKey, PortRow, PortValues, Reader};

/// A time in November 2026 at which segments begin, milliseconds since 1970.
pub(crate) const START: i64 = 1_795_651_200_000;

/// Readings that were acknowledged, as the model has them: of each port times and what was read, in order of recording.
#[derive(Debug, Clone, Default)]
pub(crate) struct Model(pub(crate) BTreeMap<PortKey, Vec<(i64, PortValues)>>);

impl Model {
    pub(crate) fn add(&mut self, time_ms: i64, ports: &[PortRow]) {
        for port in ports {
            let rows = self.0.entry(port.key).or_default();
            // What is recorded later for a time counts.
            rows.retain(|(time, _)| *time < time_ms);
            rows.push((time_ms, port.values));
        }
    }

    /// Compares all of each port with what is read from the files.
    pub(crate) fn check(&self, dir: &Path) {
        let ports: Vec<PortKey> = self.0.keys().copied().collect();
        let mut said = Vec::new();
        let read =
            Reader::new(dir).samples(&ports, (0, i64::MAX / 4), 0, &mut |word| said.push(word));
        assert_eq!(said, Vec::<String>::new());
        for (key, samples) in ports.iter().zip(read.expect("readings")) {
            let read: Vec<(i64, PortValues)> = samples
                .iter()
                .map(|one| (one.time_ms, one.values))
                .collect();
            assert!(
                read == self.0[key],
                "{key:?}: {} of {}",
                read.len(),
                self.0[key].len()
            );
        }
    }
}

/// Numbers by a seed: SplitMix64.
pub(crate) struct Random(pub(crate) u64);

impl Random {
    pub(crate) fn next(&mut self, below: u64) -> u64 {
        self.0 = self.0.wrapping_add(0x9e37_79b9_7f4a_7c15);
        let mixed = (self.0 ^ (self.0 >> 30)).wrapping_mul(0xbf58_476d_1ce4_e5b9);
        let mixed = (mixed ^ (mixed >> 27)).wrapping_mul(0x94d0_49bb_1331_11eb);
        (mixed ^ (mixed >> 31)) % below
    }
}

/// A fabric whose ports count.
pub(crate) struct Counting {
    pub(crate) random: Random,
    pub(crate) ports: Vec<PortRow>,
}

impl Counting {
    pub(crate) fn new(seed: u64, ports: u64) -> Self {
        let port = |number: u64| PortRow {
            key: PortKey {
                guid: 0x0011_7501_0000_0000 + (number / 4) * 0x11_0000_0001,
                port: (number % 4) as u8,
            },
            name: format!("node{:03}", number / 4).into(),
            values: PortValues {
                totals: [0; _],
                link_quality: Some(5),
            },
        };
        Self {
            random: Random(seed),
            ports: (0..ports).map(port).collect(),
        }
    }

    /// Lets some ports count, and some be away.
    pub(crate) fn reading(&mut self) -> Vec<PortRow> {
        let mut there = Vec::new();
        for port in &mut self.ports {
            let busy = self.random.next(10) < 6;
            for total in port.values.totals.iter_mut().take(if busy { 8 } else { 0 }) {
                *total += self.random.next(1_000_000_000);
            }
            if self.random.next(20) == 0 {
                let quality = self.random.next(7) as u8;
                port.values.link_quality = (quality < 6).then_some(quality);
            }
            if self.random.next(50) > 0 {
                there.push(port.clone());
            }
        }
        there
    }
}

/// Bytes of all files below a directory.
pub(crate) fn bytes(dir: &Path) -> u64 {
    let entries = std::fs::read_dir(dir).expect("a directory").flatten();
    let size = entries.map(|entry| match entry.metadata() {
        Ok(meta) if meta.is_dir() => bytes(&entry.path()),
        Ok(meta) => meta.len(),
        Err(_) => 0,
    });
    size.sum()
}

/// All files below a directory.
pub(crate) fn files(dir: &Path) -> Vec<std::path::PathBuf> {
    let entries = std::fs::read_dir(dir).expect("a directory").flatten();
    let mut files: Vec<_> = entries
        .flat_map(|entry| match entry.path().is_dir() {
            true => files(&entry.path()),
            false => vec![entry.path()],
        })
        .collect();
    files.sort();
    files
}
