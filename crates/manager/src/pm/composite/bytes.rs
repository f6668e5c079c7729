//! An image that was put together as bytes, for the disk. Numbers have their lowest byte first. Whoever keeps the bytes
//! checks that they are the same; what is read here is checked all the same, so that no byte can make the manager fail.

use std::collections::BTreeMap;
use std::sync::Arc;

use weft_fabric::Tick;
use weft_wire::pm::VlCounter;

use super::{Sums, columns, ports};
use crate::pm::categories::Weights;
use crate::pm::image::{Image, Reading as PortReading, Sample, Totals};

/// Bytes that are no image.
#[derive(Debug, Clone, Copy, PartialEq, Eq, thiserror::Error)]
#[error("its {0} cannot be read")]
pub struct Malformed(pub(super) &'static str);

/// Bytes that are read from the front.
pub(super) struct Reading<'a> {
    rest: &'a [u8],
    /// What is being read.
    pub(super) part: &'static str,
}

impl<'a> Reading<'a> {
    pub(super) fn bytes(&mut self, count: usize) -> Result<&'a [u8], Malformed> {
        let split = self.rest.split_at_checked(count);
        let (taken, rest) = split.ok_or(Malformed(self.part))?;
        self.rest = rest;
        Ok(taken)
    }

    fn array<const N: usize>(&mut self) -> Result<[u8; N], Malformed> {
        let bytes = self.bytes(N)?;
        bytes.try_into().map_err(|_| Malformed(self.part))
    }

    pub(super) fn u8(&mut self) -> Result<u8, Malformed> {
        Ok(u8::from_le_bytes(self.array()?))
    }

    pub(super) fn u16(&mut self) -> Result<u16, Malformed> {
        Ok(u16::from_le_bytes(self.array()?))
    }

    pub(super) fn u32(&mut self) -> Result<u32, Malformed> {
        Ok(u32::from_le_bytes(self.array()?))
    }

    pub(super) fn u64(&mut self) -> Result<u64, Malformed> {
        Ok(u64::from_le_bytes(self.array()?))
    }

    fn weights(&mut self) -> Result<Weights, Malformed> {
        Weights::from_bytes(self.bytes(Weights::LEN)?).ok_or(Malformed(self.part))
    }

    /// A count of things of so many bytes each at least, which bounds it.
    pub(super) fn count(&mut self, each: usize) -> Result<usize, Malformed> {
        let count = self.u32()? as usize;
        self.check(count <= self.rest.len() / each.max(1))?;
        Ok(count)
    }

    pub(super) fn check(&self, holds: bool) -> Result<(), Malformed> {
        match holds {
            true => Ok(()),
            false => Err(Malformed(self.part)),
        }
    }
}

impl Image {
    /// An image that was put together as bytes; of another one its counts are missing.
    pub fn to_bytes(&self) -> Vec<u8> {
        let none = Sums::default();
        let sums = self.sums.as_ref().unwrap_or(&none);
        let mut out = Vec::new();
        out.extend(self.run.to_le_bytes());
        out.extend(self.number.to_le_bytes());
        out.extend(sums.images.to_le_bytes());
        out.extend(self.unix_time.to_le_bytes());
        out.extend(self.interval_s.to_le_bytes());
        out.extend(self.duration_us.to_le_bytes());
        out.extend(self.span_ns.to_le_bytes());
        out.extend(totals(&self.totals).map(u32::to_le_bytes).concat());
        out.extend(self.weights.to_bytes());
        ports::write(&mut out, &self.roster);
        for (place, unexpected) in self.unexpected.iter().enumerate() {
            out.push(self.reading(place) as u8 | u8::from(*unexpected) << 7);
        }
        out.extend(&sums.quality);
        out.extend(&sums.quality_between);
        out.extend(&sums.lanes_down);
        columns::write(&mut out, &self.sample.counters);
        columns::write(&mut out, &self.sample.lanes);
        columns::write(&mut out, &sums.counters);
        columns::write(&mut out, &sums.lanes);
        out
    }

    /// Reads an image that was put together.
    ///
    /// # Errors
    /// [`Malformed`] says what cannot be read.
    pub fn from_bytes(bytes: &[u8]) -> Result<Self, Malformed> {
        let mut from = Reading {
            rest: bytes,
            part: "head",
        };
        let mut image = head(&mut from)?;
        from.part = "list of ports";
        let roster = ports::read(&mut from)?;
        let (ports, lanes) = (roster.ports.len(), roster.ports.len() * roster.lanes.len());
        from.part = "results of reading";
        for byte in from.bytes(ports)? {
            image.readings.push(match byte & 0x7F {
                0 => PortReading::Done,
                1 => PortReading::Skipped,
                2 => PortReading::Failed,
                3 => PortReading::ClearFailed,
                _ => return Err(Malformed(from.part)),
            });
            image.unexpected.push(byte & 0x80 != 0);
        }
        from.part = "counters";
        let mut sums = image.sums.take().unwrap_or_default();
        sums.quality = from.bytes(ports)?.to_vec();
        sums.quality_between = from.bytes(ports)?.to_vec();
        sums.lanes_down = from.bytes(ports)?.to_vec();
        image.sample = Arc::new(Sample {
            counters: columns::read(&mut from, ports)?,
            lanes: columns::read::<{ VlCounter::COUNT }>(&mut from, lanes)?,
            quality: sums.quality.clone(),
            errors_at: vec![0; ports],
            cleared: vec![0; ports],
            known: vec![true; ports],
        });
        sums.counters = columns::read(&mut from, ports)?;
        sums.lanes = columns::read(&mut from, lanes)?;
        from.check(from.rest.is_empty())?;
        image.sums = Some(sums);
        image.roster = Arc::new(roster);
        Ok(image)
    }
}

fn totals(totals: &Totals) -> [u32; 5] {
    [
        totals.failed_nodes,
        totals.failed_ports,
        totals.skipped_nodes,
        totals.skipped_ports,
        totals.cleared_ports,
    ]
}

/// All but the ports.
fn head(from: &mut Reading<'_>) -> Result<Image, Malformed> {
    let (run, number, images) = (from.u32()?, from.u64()?, from.u32()?);
    from.check(images > 0)?;
    let (unix_time, interval_s) = (from.u64()?, from.u32()?);
    // What a client asks for is a time of 32 bits.
    from.check(unix_time <= u64::from(u32::MAX) && interval_s > 0)?;
    Ok(Image {
        run,
        number,
        unix_time,
        interval_s,
        duration_us: from.u64()?,
        span_ns: from.u64()?,
        started: Tick::default(),
        totals: Totals {
            failed_nodes: from.u32()?,
            failed_ports: from.u32()?,
            skipped_nodes: from.u32()?,
            skipped_ports: from.u32()?,
            cleared_ports: from.u32()?,
        },
        weights: from.weights()?,
        roster: Arc::default(),
        sample: Arc::default(),
        before: None,
        sums: Some(Sums {
            images,
            ..Sums::default()
        }),
        readings: Vec::new(),
        unexpected: Vec::new(),
        begun: BTreeMap::new(),
        error_info: BTreeMap::new(),
    })
}
