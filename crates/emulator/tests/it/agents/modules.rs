//! What modules of optical cables measure.

use weft_dataplane::optics::Optics;
use weft_dataplane::{Network, PortIndex};
use weft_emulator::io::Control;
use weft_emulator::module::Measured;
use weft_fabric::PortRef;

use crate::agents::player::Player;

fn index(network: &Network, end: PortRef) -> Option<PortIndex> {
    network.device_at(end.node).port(end.port)
}

#[test]
fn only_cables_between_switches_measure_something() {
    let mut player = Player::new("fattree:4,radix=4");
    let topology = player.emulator.network().topology().clone();
    let network = player.emulator.network();
    let (a, b) = topology
        .links()
        .find(|(a, b)| {
            [a, b]
                .iter()
                .all(|end| topology.node(end.node).unwrap().is_switch())
        })
        .unwrap();
    let optics = network.optics(index(network, a).unwrap()).unwrap();
    assert_eq!(optics, Optics::default());
    let at = |end: PortRef| (topology.node(end.node).unwrap().guid(), end.port);
    let (node, port) = at(a);
    let measured = Measured {
        receive_power: Some(0.05),
        temperature: Some(-3.5),
        lane: Some(2),
        ..Measured::default()
    };
    let change = |node, port, measured| Control::Module {
        node,
        port,
        measured,
    };
    player.control(change(node, port, measured));
    let network = player.emulator.network();
    let optics = |end| network.optics(index(network, end).unwrap()).unwrap();
    assert_eq!(optics(a).receive_power, [8_000, 500, 8_000, 8_000]);
    assert_eq!(optics(a).temperature, -896);
    assert_eq!(
        optics(b),
        Optics::default(),
        "each end has a module of its own"
    );
    player.control(Control::LinkDown { node, port });
    let network = player.emulator.network();
    let dark = network.optics(index(network, b).unwrap()).unwrap();
    assert_eq!(dark.receive_power, [0; 4]);
}
