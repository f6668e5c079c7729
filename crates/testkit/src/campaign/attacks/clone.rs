//! Attack 4: the attacker's agent says that it is another host, and its port takes that host's LID.

use std::time::Duration;

use rand::RngExt;
use weft_emulator::Claims;
use weft_emulator::io::Control;
use weft_fabric::enums::PortState;

use super::site::Site;
use crate::campaign::bring_up::RunError;

/// How long it lies: two sweeps and more.
const TIME: Duration = Duration::from_secs(25);

/// Claims the NodeGUID, the PortGUID, or both, of a bystander.
pub(super) fn attack(site: &mut Site) -> Result<Option<String>, RunError> {
    let hosts = &site.bystanders.hosts;
    let (victim, _) = hosts[site.rng.random_range(0..hosts.len())];
    let which = site.rng.random_range(0..3);
    let port_guid = site.bystanders.programs.port_guid(victim);
    let claims = Claims {
        node_guid: (which != 1).then_some(victim),
        port_guid: (which != 0).then_some(port_guid),
        ..Claims::default()
    };
    site.note(format!("claims to be {victim}: {claims:?}"));
    let (node, _) = site.attacker.port;
    site.cluster.control(Control::Claim { node, claims })?;
    site.bounce()?;
    site.pass(TIME)?;
    let is_in = site.state_before() == PortState::ACTIVE;
    let got = is_in.then(|| "its port is active under another's name".to_owned());
    let claims = Claims::default();
    site.cluster.control(Control::Claim { node, claims })?;
    Ok(got)
}
