//! Deltas for people.

use std::fmt;

use weft_wire::enums::{LinkWidth, PortState};
use weft_wire::id::{Lid, Lmc};
use weft_wire::sm::PortInfo;

use super::{Delta, PortChange};

impl fmt::Display for PortChange {
    /// State, width and LID where they changed; `other settings` for all else.
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let (from, to) = (&self.from, &self.to);
        write!(f, "port {} {}:", self.at.0, self.at.1)?;
        if from.port_state != to.port_state {
            write!(f, " {} -> {}", from.port_state, to.port_state)?;
        }
        let width = |info: &PortInfo| info.link_width_downgrade_tx_active.lanes();
        if width(from) != width(to) {
            write!(f, " {}x -> {}x", width(from), width(to))?;
        }
        if (from.lid, from.lmc) != (to.lid, to.lmc) {
            write!(f, " LID {}/{} -> {}/{}", from.lid, from.lmc, to.lid, to.lmc)?;
        }
        let shown = |info: &PortInfo| PortInfo {
            port_state: PortState::NOP,
            link_width_downgrade_tx_active: LinkWidth::NOP,
            lid: Lid(0),
            lmc: Lmc(0),
            ..*info
        };
        if shown(from) != shown(to) {
            f.write_str(" other settings")?;
        }
        Ok(())
    }
}

impl fmt::Display for Delta {
    /// One change a line.
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let (from, to) = self.generations;
        writeln!(f, "generation {from} -> {to}")?;
        for guid in &self.vanished {
            writeln!(f, "node {guid} vanished")?;
        }
        for node in &self.appeared {
            writeln!(f, "node {} appeared: {}", node.guid(), node.name())?;
        }
        for node in &self.nodes {
            writeln!(
                f,
                "node {} changed: {}",
                node.info.node_guid,
                node.description.text()
            )?;
        }
        for (cables, what) in [(&self.unplugged, "vanished"), (&self.plugged, "appeared")] {
            for (a, b) in cables {
                writeln!(f, "link {} {} - {} {} {what}", a.0, a.1, b.0, b.1)?;
            }
        }
        for port in &self.ports {
            writeln!(f, "{port}")?;
        }
        self.fmt_tables(f)
    }
}

impl Delta {
    fn fmt_tables(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        for (guid, length) in &self.lengths {
            writeln!(f, "switch {guid} LFT: {length} entries")?;
        }
        for blocks in self.blocks.chunk_by(|a, b| a.switch == b.switch) {
            let numbers: Vec<String> = blocks
                .iter()
                .map(|change| change.block.to_string())
                .collect();
            writeln!(
                f,
                "switch {} LFT: blocks {}",
                blocks[0].switch,
                numbers.join(" ")
            )?;
        }
        for (guid, groups) in &self.groups {
            writeln!(
                f,
                "switch {guid} adaptive routing: {} groups",
                groups.groups.len()
            )?;
        }
        if let Some(adaptive) = self.adaptive {
            writeln!(
                f,
                "adaptive routing {}",
                if adaptive { "on" } else { "off" }
            )?;
        }
        if self.sms.as_ref().is_some_and(Vec::is_empty) {
            writeln!(f, "no subnet manager")?;
        }
        if self.order.is_some() {
            writeln!(f, "nodes in another order")?;
        }
        for (place, sm) in self.sms.iter().flatten() {
            writeln!(
                f,
                "subnet manager {} {}: {} priority {}",
                place.0, place.1, sm.state, sm.priority
            )?;
        }
        Ok(())
    }
}
