//! Back to a moment: previews, and the routes that follow when they are carried out.

use weft_fabric::{Guid, LinearTables, PortNum, PortRef};
use weft_manager::sm::back::Then;
use weft_manager::sm::drains::Drain;
use weft_manager::sm::reroute::{Change, Condition};
use weft_manager::{Command, Input, PortAction, PortOrder};
use weft_routing::EngineKind;

use crate::common::{World, far_link, settings};

/// Four edge switches with four hosts each under four cores.
const TREE: &str = "pgft:2;4,4;1,4;1,1;radix=8";

fn order(world: &mut World, at: (Guid, PortNum), action: PortAction) {
    let command = Command::Port(PortOrder::new(at, action));
    let now = world.now;
    world.manager.handle(now, Input::Command { id: 1, command });
    world.run_for(5.0);
    world.replies.pop().unwrap().1.unwrap();
    world.run_for(5.0);
}

fn adopt(world: &mut World, change: Change) {
    let basis = world.manager.basis(change).unwrap();
    let condition = Condition::Epoch(basis.epoch);
    let now = world.now;
    world.manager.adopt(now, &condition, basis.wanted).unwrap();
    world.run_for(3.0);
}

fn then(world: &World) -> Then {
    Then {
        state: world.manager.routing_state(),
        fabric: world.snapshot.clone().unwrap(),
    }
}

fn linear(world: &World) -> LinearTables {
    (*world.snapshot.as_ref().unwrap().linear).clone()
}

fn back(world: &World, then: &Then) -> Change {
    assert!(world.snapshot.is_some());
    Change::Back(Box::new(then.clone()))
}

fn far_end(world: &World, (guid, port): (Guid, PortNum)) -> (Guid, PortNum) {
    let node = world.topology.find(guid).unwrap();
    let far = world.topology.peer(PortRef { node, port }).unwrap();
    (world.topology.node(far.node).unwrap().guid(), far.port)
}

/// A link between the manager's own switch and another one.
fn near_link(world: &World) -> (Guid, PortNum) {
    let topology = &world.topology;
    let (own, _) = topology.hfis().next().unwrap();
    let port = PortNum(1);
    let leaf = topology.peer(PortRef { node: own, port }).unwrap().node;
    let mut links = topology.links();
    let is_switch = |end: PortRef| topology.node(end.node).unwrap().is_switch();
    let (a, _) = links
        .find(|(a, b)| a.node == leaf && is_switch(*b))
        .unwrap();
    (topology.node(a.node).unwrap().guid(), a.port)
}

#[test]
fn routes_are_announced_as_they_were_and_come_back() {
    for link in [far_link, near_link] {
        let mut world = World::new(TREE, settings());
        world.sweep();
        world.run_for(3.0);
        let link = link(&world);
        to_and_fro(&mut world, link);
    }
}

fn to_and_fro(world: &mut World, link: (Guid, PortNum)) {
    let (first, first_tables) = (then(world), linear(world));
    let core = world.topology.nodes().map(|(_, node)| node);
    let core = core.filter(|node| node.is_switch()).last().unwrap().guid();
    adopt(world, Change::Drain(Drain::Switch(core)));
    adopt(world, Change::Engine(EngineKind::ShortestPath));
    order(world, link, PortAction::Disable);
    let (second, second_tables) = (then(world), linear(world));
    assert_ne!(first_tables, second_tables);

    for (to, tables, action) in [
        (&first, &first_tables, PortAction::Enable),
        (&second, &second_tables, PortAction::Disable),
        (&first, &first_tables, PortAction::Enable),
    ] {
        let change = back(world, to);
        let basis = world.manager.basis(change.clone()).unwrap();
        let found = basis.back.clone().unwrap();
        assert_eq!(found.ports.len(), 1, "{found:?}");
        // At either end of the cable.
        let far = far_end(world, link);
        assert!([link, far].contains(&found.ports[0].port), "{found:?}");
        assert_eq!(found.ports[0].action, action);
        assert_eq!(
            (found.drained.len() + found.undrained.len()),
            1,
            "{found:?}"
        );
        let plan = basis.plan().unwrap();
        assert!(plan.routes > 0 && plan.certified_routes > 0, "{plan:?}");
        assert_eq!(plan.unlike_then, Some(0), "{plan:?}");
        adopt(world, change);
        order(world, link, action);
        assert_eq!(linear(world), *tables);
        assert!(world.manager.has_routing_state(&to.state));
    }
    let basis = world.manager.basis(back(world, &first)).unwrap();
    let plan = basis.plan().unwrap();
    assert_eq!((plan.routes, basis.back), (0, Some(Default::default())));
}

#[test]
fn ports_that_are_gone_are_told() {
    let mut world = World::new(TREE, settings());
    world.sweep();
    world.run_for(3.0);
    let mut then = then(&world);
    let gone = (Guid(77), PortNum(1));
    then.state.disabled = vec![weft_manager::sm::back::SwitchedOff {
        port: gone,
        note: Default::default(),
    }];
    let basis = world.manager.basis(back(&world, &then)).unwrap();
    let found = basis.back.unwrap();
    assert_eq!((found.ports_gone, found.ports), (vec![gone], Vec::new()));
}
