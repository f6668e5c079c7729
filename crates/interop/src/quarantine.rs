//! The nodes in quarantine on two fabrics, as their managers tell the vendor's tools.

use weft_fabric::Guid;
use weft_fabric::enums::PortState;

use crate::fabric::Fabric;

const QUERY: &str = "opasaquery -o quarantine";

/// The external ports that are active, by node and number.
fn active(fabric: &Fabric) -> Vec<(Guid, usize)> {
    let nodes = fabric.view().nodes.into_iter();
    let ports = nodes.flat_map(|node| {
        let ports = (0..).zip(node.ports).skip(1);
        let active = ports.filter(|(_, port)| {
            let state = port.as_ref().map(|port| port.state);
            state == Some(PortState::ACTIVE)
        });
        active.map(move |(number, _)| (node.guid, number))
    });
    ports.collect()
}

/// Whether the same links are in use, and the same nodes listed; the vendor's manager lists `count`. The tool
/// runs at `host`.
///
/// # Errors
/// What differs.
pub fn compared([weft, vendor]: &[Fabric; 2], host: &str, count: usize) -> Result<(), String> {
    let (ours, theirs) = (active(weft), active(vendor));
    if ours != theirs {
        return Err(format!("active here: {ours:?}, there: {theirs:?}"));
    }
    let [ours, theirs] = [weft, vendor].map(|fabric| fabric.run(host, QUERY).text);
    let nodes = |text: &str| text.matches("Offending Node").count();
    match nodes(&theirs) == count && (count == 0 || entries(&ours) == entries(&theirs)) {
        true => Ok(()),
        false => Err(format!("{ours}\nbut\n{theirs}")),
    }
}

/// The parts of an answer between its rules: the vendor's manager lists nodes in the order in which they answered.
fn entries(text: &str) -> Vec<&str> {
    let mut entries: Vec<&str> = text.split(&"-".repeat(79)).map(str::trim).collect();
    entries.sort_unstable();
    entries
}
