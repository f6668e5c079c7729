//! The loop test as `opafmcmd` orders and shows it.
//!
//! Nodes are called by their number in the topology of the loops. Long texts go to the client in parts: it sends back
//! where the last part ended.

use std::fmt::Write;

use weft_fabric::text::count;
use weft_fabric::{Guid, Lid, NodeId, PortNum, PortRef, Snapshot, SwitchIndex, Topology};
use weft_manager::sm::loop_test::{
    LOOP_PACKETS_MAX, LoopTestError, LoopTestOrder, LoopTestStatus, REDUNDANCY_MAX,
};
use weft_manager::sm::plan::LoopPlan;
use weft_routing::LoopPath;

use super::message::Return;
use crate::control::Refusal;

/// Bytes of a text at most; what is beyond is counted.
const TEXT_MAX: usize = 1 << 20;
/// Bytes of text in a part, and offsets in the structure of a part.
const PART_MAX: usize = 10_000;
const OFFSET: usize = 4;
const START: usize = 12;
const DONE: usize = 16;
const LEN: usize = 20;
const BUFFER: usize = 24;
const PART_LEN: usize = 32;
const TEXT: usize = 36;
/// Bytes of that structure.
const PART: usize = 10_072;

/// What a client wants of the loop test.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum LoopCommand {
    FastStart,
    Start,
    Stop,
    FastMode,
    Inject,
    InjectAt,
    InjectEachSweep,
    PathLength,
    Redundancy,
    ShowPaths,
    ShowTables,
    ShowTopology,
    ShowConfig,
}

impl LoopCommand {
    /// All of them, in the order of their numbers.
    const ALL: [Self; 13] = [
        Self::FastStart,
        Self::Start,
        Self::Stop,
        Self::FastMode,
        Self::Inject,
        Self::InjectAt,
        Self::InjectEachSweep,
        Self::PathLength,
        Self::Redundancy,
        Self::ShowPaths,
        Self::ShowTables,
        Self::ShowTopology,
        Self::ShowConfig,
    ];

    /// The command of a number, the first of which is 0.
    pub(super) fn of(number: u64) -> Option<Self> {
        let number = usize::try_from(number).ok()?;
        Self::ALL.get(number).copied()
    }

    /// The vendor's name of a command that changes something; none for one that shows something.
    pub(super) fn change(self) -> Option<&'static str> {
        Some(match self {
            Self::FastStart => "smLooptestFastModeStart",
            Self::Start => "smLooptestStart",
            Self::Stop => "smLooptestStop",
            Self::FastMode => "smLooptestFastMode",
            Self::Inject => "smLooptestInjectPackets",
            Self::InjectAt => "smLooptestInjectAtNode",
            Self::InjectEachSweep => "smLooptestInjectEachSweep",
            Self::PathLength => "smLooptestPathLength",
            Self::Redundancy => "smLooptestMinISLRedundancy",
            Self::ShowPaths | Self::ShowTables | Self::ShowTopology | Self::ShowConfig => {
                return None;
            }
        })
    }

    /// The order, from the number that comes with the command; none for commands that show something. What is out
    /// of range counts as the vendor's manager takes it.
    pub(super) fn order(self, number: u32, test: &LoopTestStatus) -> Option<LoopTestOrder> {
        let packets = number.min(LOOP_PACKETS_MAX);
        let start = |fast| LoopTestOrder::Start { fast, packets };
        Some(match self {
            Self::FastStart => start(true),
            Self::Start => start(false),
            Self::Stop => LoopTestOrder::Stop,
            Self::FastMode => LoopTestOrder::FastMode(number == 1),
            Self::Inject => LoopTestOrder::Inject(packets.max(1)),
            Self::InjectAt => LoopTestOrder::InjectAt(guid_of(number, test)),
            Self::InjectEachSweep => LoopTestOrder::InjectEachSweep(number != 0),
            Self::PathLength => LoopTestOrder::PathLength(match number {
                2..=4 => number as u8,
                _ => 3,
            }),
            Self::Redundancy => LoopTestOrder::Redundancy(match number as i32 {
                ..=0 => 4,
                _ => number.min(REDUNDANCY_MAX),
            }),
            Self::ShowPaths | Self::ShowTables | Self::ShowTopology | Self::ShowConfig => {
                return None;
            }
        })
    }
}

/// The GUID of a node by its number; 0 for none.
fn guid_of(number: u32, test: &LoopTestStatus) -> Guid {
    let plan = test.plan.as_ref();
    let node = plan.and_then(|plan| plan.topology.node(NodeId(number)));
    node.map(|node| node.guid()).unwrap_or_default()
}

/// What became of an order, in words.
///
/// # Errors
/// A code where the client has words for it.
pub(super) fn outcome(order: LoopTestOrder, done: Result<u64, Refusal>) -> Result<String, Refusal> {
    match done {
        Ok(_) => Ok(carried_out(order)),
        Err(Refusal::LoopTest(LoopTestError::Command(error))) => Err(error.into()),
        Err(Refusal::LoopTest(error)) => Ok(format!("Ignored: {error}\n")),
        Err(refusal) => Err(refusal),
    }
}

fn carried_out(order: LoopTestOrder) -> String {
    match order {
        LoopTestOrder::Start { packets: 0, .. } => {
            "The loop test is set up; no packets circle until some are injected\n".to_owned()
        }
        LoopTestOrder::Start { packets, .. } => {
            let packets = count(packets, "packet");
            format!("The loop test runs, with {packets} for each loop\n")
        }
        LoopTestOrder::Stop => "The loop test has ended\n".to_owned(),
        LoopTestOrder::FastMode(fast) => format!("Fast mode: {}\n", u8::from(fast)),
        LoopTestOrder::Inject(packets) => {
            format!("Packets injected into each loop: {packets}\n")
        }
        LoopTestOrder::InjectAt(node) => {
            format!("Packets are injected into the loops through switch {node}\n")
        }
        LoopTestOrder::InjectEachSweep(true) => "Each sweep injects packets\n".to_owned(),
        LoopTestOrder::InjectEachSweep(false) => "Sweeps inject no packets\n".to_owned(),
        LoopTestOrder::PathLength(length) => format!("Loops have up to {length} links\n"),
        LoopTestOrder::Redundancy(loops) => format!("Each link is to be in {loops} loops\n"),
    }
}

/// The part of a text that a client asks for, as its structure has it.
///
/// # Errors
/// [`Return::BadLength`] where the client's structure is too short.
pub(super) fn part(asked: &[u8], text: &str) -> Result<Vec<u8>, Return> {
    let mut part = asked.get(..PART).ok_or(Return::BadLength)?.to_vec();
    let number = |part: &[u8], at: usize| {
        let bytes = [part[at], part[at + 1], part[at + 2], part[at + 3]];
        u32::from_ne_bytes(bytes) as usize
    };
    let begins = number(&part, START) != 0;
    let from = if begins {
        0
    } else {
        number(&part, OFFSET).min(text.len())
    };
    let rest = text.as_bytes().get(from..).unwrap_or_default();
    let now = &rest[..rest.len().min(PART_MAX)];
    let is_last = now.len() == rest.len();
    let mut set = |at: usize, value: usize| {
        part[at..at + 4].copy_from_slice(&(value as u32).to_ne_bytes());
    };
    set(OFFSET, from + now.len());
    set(OFFSET + 4, usize::from(!is_last));
    set(START, 0);
    set(DONE, usize::from(is_last));
    set(LEN, text.len());
    set(PART_LEN, now.len());
    part[BUFFER..BUFFER + 8].fill(0);
    part[TEXT..].fill(0);
    part[TEXT..TEXT + now.len()].copy_from_slice(now);
    Ok(part)
}

/// The index that comes in that structure: all nodes if it is negative.
///
/// # Errors
/// [`Return::BadLength`].
pub(super) fn index(asked: &[u8]) -> Result<Option<NodeId>, Return> {
    let bytes = asked.first_chunk().ok_or(Return::BadLength)?;
    let index = i32::from_ne_bytes(*bytes);
    Ok(u32::try_from(index).ok().map(NodeId))
}

/// A text of bounded length.
#[derive(Default)]
struct Lines {
    text: String,
    more: usize,
}

impl Lines {
    fn add(&mut self, line: std::fmt::Arguments<'_>) {
        match self.text.len() < TEXT_MAX {
            // Writing to a string does not fail.
            true => _ = writeln!(self.text, "{line}"),
            false => self.more += 1,
        }
    }

    fn end(mut self) -> String {
        if self.more > 0 {
            let _ = writeln!(self.text, "and {} more lines", self.more);
        }
        self.text
    }
}

/// How the loop test is set.
pub(super) fn config(test: &LoopTestStatus) -> String {
    if !test.running {
        return "The loop test is not running; 'smLooptestStart' or 'smLooptestFastModeStart' starts it\n"
            .to_owned();
    }
    let at = match test.at {
        None => "All Nodes".to_owned(),
        Some(guid) => {
            let plan = test.plan.as_ref();
            let node = plan.and_then(|plan| plan.topology.find(guid));
            node.map_or(guid.to_string(), |node| format!("Node {}", node.0))
        }
    };
    format!(
        "The loop test is running:\n Max Path Length   #Packets   Inject Point\n ---------------   --------   ------------\n        {}           {:05}        {at}\n\nFastMode={}, FastMode MinISLRedundancy={}, InjectEachSweep={}, TotalPktsInjected since start={}\n",
        test.length_max,
        test.packets,
        u8::from(test.fast),
        test.redundancy,
        u8::from(test.each_sweep),
        test.injected
    )
}

/// The loops, all of them or those through one node.
pub(super) fn paths(test: &LoopTestStatus, through: Option<NodeId>) -> String {
    let Some(plan) = test.plan.as_ref().filter(|_| test.running) else {
        return "The loop test is not running\n".to_owned();
    };
    let topology = &*plan.topology;
    let mut lines = Lines::default();
    if let Some(node) = through.filter(|node| topology.switch_index(*node).is_none()) {
        lines.add(format_args!("Node {} is no switch", node.0));
        return lines.end();
    }
    for node in topology.switches() {
        let (guid, name) = named(topology, *node);
        lines.add(format_args!(
            "Node Idx: {}, Guid: {guid} Desc {name}",
            node.0
        ));
    }
    let rule = "--------------------------------------------------------------------------";
    lines.add(format_args!("\n{rule}"));
    lines.add(format_args!(
        " Node  Node                       Node    Path"
    ));
    lines.add(format_args!(
        " Idx   Lid        NODE GUID      #Ports    LID    PATH[n:p->n:p]"
    ));
    lines.add(format_args!(
        " ---- ------  ------------------  ------  ------  ---------------"
    ));
    let is_meant = |path: &&LoopPath| through.is_none_or(|node| path.leads_through(node));
    let mut count = 0;
    for path in plan.paths.paths.iter().filter(is_meant) {
        count += 1;
        let node = through.or(path.hops.first().map(|hop| hop.node));
        lines.add(format_args!(
            "{}",
            loop_line(plan, path, node.unwrap_or(NodeId(0)))
        ));
    }
    lines.add(format_args!("{rule}"));
    lines.add(format_args!(
        "There are {} loops of up to {} links",
        plan.paths.paths.len(),
        test.length_max
    ));
    if test.fast {
        lines.add(format_args!(
            "Each loop has a second LID, for packets in the other direction"
        ));
    }
    if let Some(node) = through {
        lines.add(format_args!("{count} of them lead through node {}", node.0));
    }
    lines.end()
}

fn loop_line(plan: &LoopPlan, path: &LoopPath, node: NodeId) -> String {
    let topology = &*plan.topology;
    let (guid, _) = named(topology, node);
    let ports = topology.node(node).map_or(0, |node| node.info.num_ports);
    let mut line = format!(
        " {:>4} 0x{:04x}  {guid}    {ports:>2}    0x{:04x}  ",
        node.0,
        lid_of(topology, node).0,
        path.lid.0
    );
    for hop in &path.hops {
        let far = topology.peer(*hop).unwrap_or(*hop);
        // Writing to a string does not fail.
        let _ = write!(
            line,
            "{}:{}->{}:{} ",
            hop.node.0, hop.port, far.node.0, far.port
        );
    }
    line
}

fn named(topology: &Topology, node: NodeId) -> (Guid, String) {
    let node = topology.node(node);
    node.map(|node| (node.guid(), node.name()))
        .unwrap_or_default()
}

fn lid_of(topology: &Topology, switch: NodeId) -> Lid {
    let port = PortNum(0);
    let own = topology.port(PortRef { node: switch, port });
    own.map(|own| own.info.lid).unwrap_or_default()
}

/// Forwarding tables as switches have confirmed them, of all or of one node.
pub(super) fn tables(snapshot: &Snapshot, of: Option<NodeId>) -> String {
    let topology = &*snapshot.topology;
    let mut lines = Lines::default();
    let switches = topology.switches().iter();
    let meant = switches
        .zip(0..)
        .filter(|(node, _)| of.is_none_or(|of| of == **node));
    for (node, index) in meant {
        let (guid, name) = named(topology, *node);
        lines.add(format_args!(
            "Node[{:04}]  LID=0x{:04X}  GUID={guid} [{name}] Linear Forwarding Table",
            node.0,
            lid_of(topology, *node).0
        ));
        lines.add(format_args!("   LID    PORT\n ------   ----"));
        let row = snapshot.linear.row(SwitchIndex(index));
        let entries = row.iter().zip(0_u32..).skip(1);
        for (port, lid) in entries.filter(|(port, _)| **port != weft_fabric::UNREACHABLE) {
            lines.add(format_args!(" 0x{lid:04x}   {port:04}"));
        }
        lines.add(format_args!(" --------------\n"));
    }
    if lines.text.is_empty() {
        let node = of.map_or(0, |node| node.0);
        lines.add(format_args!("Node {node} is no switch"));
    }
    lines.end()
}

/// Nodes and the other ends of their cables.
pub(super) fn topology(snapshot: &Snapshot) -> String {
    let topology = &*snapshot.topology;
    let mut lines = Lines::default();
    for (id, node) in topology.nodes() {
        let kind = if node.is_switch() { "switch" } else { "HFI" };
        lines.add(format_args!(
            "Node[{:04}]  {kind}  GUID={} [{}]",
            id.0,
            node.guid(),
            node.name()
        ));
        for (port, end) in node.external_ports() {
            if let Some(far) = end.peer {
                lines.add(format_args!(
                    "   port {:>3}  {}  -> Node[{:04}] port {}",
                    port.0, end.info.port_state, far.node.0, far.port
                ));
            }
        }
    }
    lines.end()
}

#[cfg(test)]
#[allow(clippy::unwrap_used)]
mod tests {
    use super::*;

    /// The client's structure at its start.
    fn asked() -> Vec<u8> {
        let mut asked = vec![0; 16_384];
        asked[..4].copy_from_slice(&(-1_i32).to_ne_bytes());
        asked[START] = 1;
        asked
    }

    #[test]
    fn long_texts_go_in_parts() {
        let text: String = (0..4_000).map(|line| format!("line {line}\n")).collect();
        let mut asked = asked();
        assert_eq!(index(&asked), Ok(None));
        let mut got = Vec::new();
        for parts in 1.. {
            let answer = part(&asked, &text).unwrap();
            let shown = answer[TEXT..].split(|byte| *byte == 0).next().unwrap();
            got.extend_from_slice(shown);
            assert_eq!(answer[BUFFER..BUFFER + 8], [0; 8], "no pointer");
            if answer[DONE] == 1 {
                assert_eq!(parts, text.len().div_ceil(PART_MAX));
                break;
            }
            asked[..PART].copy_from_slice(&answer);
        }
        assert_eq!(got, text.as_bytes());
        // Where a client claims to be beyond the end, nothing is left.
        asked[START] = 0;
        asked[OFFSET..OFFSET + 4].fill(0xFF);
        let answer = part(&asked, &text).unwrap();
        assert_eq!((answer[DONE], answer[TEXT]), (1, 0));
        assert_eq!(part(&asked[..PART - 1], &text), Err(Return::BadLength));
        assert_eq!(index(&[1, 0]), Err(Return::BadLength));
    }

    #[test]
    fn a_text_is_bounded() {
        let mut lines = Lines::default();
        let long = "x".repeat(1_000);
        for _ in 0..2_000 {
            lines.add(format_args!("{long}"));
        }
        let text = lines.end();
        assert!(text.len() < TEXT_MAX + 2_000);
        assert!(text.ends_with("more lines\n"));
    }

    #[test]
    fn numbers_are_taken_as_the_vendor_takes_them() {
        let test = LoopTestStatus::default();
        let order = |command: LoopCommand, number| command.order(number, &test);
        for (number, length) in [(2, 2), (4, 4), (5, 3), (0, 3), (u32::MAX, 3)] {
            let wanted = Some(LoopTestOrder::PathLength(length));
            assert_eq!(order(LoopCommand::PathLength, number), wanted);
        }
        for (number, loops) in [(0, 4), (u32::MAX, 4), (7, 7), (1_000, 64)] {
            let wanted = Some(LoopTestOrder::Redundancy(loops));
            assert_eq!(order(LoopCommand::Redundancy, number), wanted);
        }
        assert_eq!(
            order(LoopCommand::Inject, 0),
            Some(LoopTestOrder::Inject(1))
        );
        assert_eq!(
            order(LoopCommand::Inject, 99),
            Some(LoopTestOrder::Inject(10))
        );
        assert_eq!(order(LoopCommand::ShowConfig, 0), None);
        assert_eq!(LoopCommand::of(12), Some(LoopCommand::ShowConfig));
        assert_eq!(LoopCommand::of(13), None);
    }
}
