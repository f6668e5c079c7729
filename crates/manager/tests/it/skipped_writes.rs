//! Attributes that sweeps leave as they are (`<SkipAttributeWrite>`).

use weft_manager::{Settings, SkippedWrites};
use weft_wire::sm::AttributeId;

use crate::common::{World, settings};

/// Bits as in the vendor's `fm_xml.h`, each with attributes that stand for it.
const BITS: [(u32, &[AttributeId]); 8] = [
    (0x1, &[AttributeId::PORT_INFO]),
    (0x8, &[AttributeId::SWITCH_INFO]),
    (0x20, &[AttributeId::VL_ARBITRATION]),
    (
        0x40,
        &[
            AttributeId::SL_TO_SC,
            AttributeId::SC_TO_SL,
            AttributeId::SC_TO_VLT,
        ],
    ),
    (0x80, &[AttributeId::LINEAR_FDB, AttributeId::MULTICAST_FDB]),
    (0x200, &[AttributeId::P_KEY_TABLE]),
    (0x800, &[AttributeId::BUFFER_CONTROL_TABLE]),
    (0x2000, &[AttributeId::PORT_STATE_INFO]),
];

fn skipping(bits: u32) -> Settings {
    let mut settings = settings();
    settings.requests.skips = SkippedWrites(bits);
    settings
}

/// Sets that devices received of each of the attributes.
fn sets(world: &World, of: &[AttributeId]) -> Vec<u64> {
    let stats = world.emulator.stats();
    of.iter().map(|one| stats.total(*one).1).collect()
}

#[test]
fn sweeps_end_without_the_writes_and_make_up_for_them_later() {
    for (bit, attributes) in BITS {
        let mut world = World::new("fattree:16,radix=8", skipping(bit));
        world.sweep();
        // Each switch's first answer says that states of its ports have changed, which is cleared.
        let cleared = match attributes {
            [AttributeId::SWITCH_INFO] => world.topology.switches().len() as u64,
            _ => 0,
        };
        let none = vec![cleared; attributes.len()];
        assert_eq!(sets(&world, attributes), none, "bit {bit:#x}");
        world.forced_sweep();
        assert_eq!(sets(&world, attributes), none, "bit {bit:#x}, again");

        world.manager.reconfigure(world.now, settings());
        world.run_for(60.0);
        world.assert_all_active();
        world.walk_all();
        assert_eq!(world.forced_sweep().sets, 0, "bit {bit:#x}");
    }
}

#[test]
fn all_else_is_written() {
    for (bit, _) in BITS {
        let mut world = World::new("fattree:16,radix=8", skipping(bit));
        world.sweep();
        let others = BITS.iter().filter(|(other, _)| *other != bit);
        for (other, attributes) in others {
            // Without LIDs no port is armed, and without SwitchInfo no switch can be reached.
            let follows = bit == 0x1 && *other == 0x2000;
            let sets: u64 = sets(&world, attributes).iter().sum();
            assert!(sets > 0 || follows, "{other:#x} without {bit:#x}");
        }
    }
}
