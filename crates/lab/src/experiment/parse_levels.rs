//! Service levels in a scenario, named as in opafm.xml: `QOSGroup` and `Preemption`.

use weft_fabric::Sl;
use weft_manager::sm::settings::{Level, Preemption};

use super::values::{Checked, Values, number, unknown};

/// Service levels that opafm.xml can assign to a group.
pub(super) const LEVEL_MAX: u64 = 15;

/// A `PreemptLimit` that is none.
const PREEMPT_ENDLESS: u32 = 65_280;

/// One service level; without a bandwidth of its own it shares the rest.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) struct Group {
    sl: u8,
    bandwidth: Option<u8>,
    high_priority: bool,
    preempt_rank: u8,
}

impl Group {
    /// The service level.
    pub(super) fn sl(self) -> u8 {
        self.sl
    }
}

/// `base-sl=N` and the properties of the level.
pub(super) fn group(text: &str) -> Checked<Group> {
    let keys = ["base-sl", "bandwidth", "high-priority", "preempt-rank"];
    let values = Values::read(text.split_whitespace(), &keys)?;
    let sl = values
        .get("base-sl")
        .ok_or_else(|| "a qos-group needs base-sl=".to_owned())?;
    let group = Group {
        sl: number(sl, 0, LEVEL_MAX).map_err(|what| format!("base-sl: {what}"))? as u8,
        bandwidth: values.get("bandwidth").map(bandwidth).transpose()?,
        high_priority: values.number("high-priority", 0, 0, 1)? == 1,
        preempt_rank: values.number("preempt-rank", 0, 0, 127)? as u8,
    };
    if group.high_priority && group.bandwidth.is_some() {
        return Err("a qos-group with high-priority has no bandwidth".to_owned());
    }
    Ok(group)
}

fn bandwidth(text: &str) -> Checked<u8> {
    let percent = text.strip_suffix('%').unwrap_or(text);
    let value = number(percent, 1, 100).map_err(|what| format!("bandwidth: {what}"))?;
    Ok(value as u8)
}

/// Adds a group, in place of the one of its service level if there is one.
pub(super) fn add(groups: &mut Vec<Group>, group: Group) -> Checked<()> {
    match groups.iter_mut().find(|other| other.sl == group.sl) {
        Some(other) => *other = group,
        None => groups.push(group),
    }
    let sum: u32 = groups
        .iter()
        .map(|group| u32::from(group.bandwidth.unwrap_or(0)))
        .sum();
    if sum > 100 {
        return Err(format!(
            "bandwidth: all qos-groups together have {sum} %, allowed: 100 %"
        ));
    }
    Ok(())
}

/// The manager's service levels.
pub(super) fn levels(groups: &[Group]) -> Vec<Level> {
    let given: u8 = groups.iter().filter_map(|group| group.bandwidth).sum();
    let sharing = |group: &&Group| group.bandwidth.is_none() && !group.high_priority;
    let others = groups.iter().filter(sharing).count().max(1);
    let rest = usize::from(100 - given) / others;
    let level = |group: &Group| Level {
        sl: Sl(group.sl),
        bandwidth: match group.high_priority {
            true => 0,
            false => group.bandwidth.unwrap_or(rest as u8),
        },
        high_priority: group.high_priority,
        preempt_rank: group.preempt_rank,
        ..Level::default()
    };
    groups.iter().map(level).collect()
}

/// `off`, or `on` with sizes of the section `Preemption` other than `default`.
pub(super) fn preemption(text: &str, default: Preemption) -> Checked<Option<Preemption>> {
    let mut words = text.split_whitespace();
    match words.next() {
        Some("off") => return Ok(None),
        Some("on") => {}
        other => return Err(unknown("value", other.unwrap_or(""), "on, off")),
    }
    let values = Values::read(words, &["small-packet", "large-packet", "preempt-limit"])?;
    let bytes = |key, default: u32, (least, most): (u64, u64)| {
        let bytes = values.number(key, u64::from(default), least, most)?;
        if bytes % least == 0 {
            Ok(bytes as u32)
        } else {
            Err(format!("{key}: {bytes} is no multiple of {least}"))
        }
    };
    Ok(Some(Preemption {
        small_packet: bytes("small-packet", default.small_packet, (32, 8_192))?,
        large_packet: bytes("large-packet", default.large_packet, (512, 8_192))?,
        limit: match values.get("preempt-limit") {
            Some("0") => 0,
            Some("INF") => PREEMPT_ENDLESS,
            _ => bytes("preempt-limit", default.limit, (256, 65_024))?,
        },
    }))
}
