//! Maps between service levels, service channels and virtual lanes: attributes 0x0017 and 0x0081 to
//! 0x0085, and 0x0094.

use crate::id::{Sc, Sl, Vl};
use crate::layout::layout;

layout! {
    /// One entry that names a service channel (`STL_SC`).
    pub struct ScEntry: 1, "STL_SC" {
        /// The service channel.
        sc: Sc = u8 @ 0 [4:0], "SC";
    }
}

layout! {
    /// One entry that names a service level (`STL_SL`).
    pub struct SlEntry: 1, "STL_SL" {
        /// The service level.
        sl: Sl = u8 @ 0 [4:0], "SL";
    }
}

layout! {
    /// One entry that names a virtual lane (`STL_VL`).
    pub struct VlEntry: 1, "STL_VL" {
        /// The virtual lane.
        vl: Vl = u8 @ 0 [4:0], "VL";
    }
}

layout! {
    /// The service channel of each service level (`STL_SLSCMAP`).
    pub struct SlScMap: 32, "STL_SLSCMAP" {
        /// One entry for each service level.
        slsc_map: [ScEntry; 32] = block @ 0, "SLSCMap";
    }
}

layout! {
    /// The service level of each service channel (`STL_SCSLMAP`).
    pub struct ScSlMap: 32, "STL_SCSLMAP" {
        /// One entry for each service channel.
        scsl_map: [SlEntry; 32] = block @ 0, "SCSLMap";
    }
}

layout! {
    /// The service channel on which a packet goes out, for each on which it came in
    /// (`STL_SCSCMAP`).
    pub struct ScScMap: 32, "STL_SCSCMAP" {
        /// One entry for each service channel.
        scsc_map: [ScEntry; 32] = block @ 0, "SCSCMap";
    }
}

layout! {
    /// The virtual lane of each service channel (`STL_SCVLMAP`): to receive, to send, or on which
    /// the neighbour returns credits.
    pub struct ScVlMap: 32, "STL_SCVLMAP" {
        /// One entry for each service channel.
        scvl_map: [VlEntry; 32] = block @ 0, "SCVLMap";
    }
}

layout! {
    /// One [`ScScMap`] for many pairs of ports (`STL_SCSC_MULTISET`). Set only.
    pub struct ScScMultiSet: 96, "STL_SCSC_MULTISET" {
        /// Ingress ports; the last word has ports 0 to 63.
        ingress_port_mask: [u64; 4] = block @ 0, "IngressPortMask";
        /// Egress ports; the last word has ports 0 to 63.
        egress_port_mask: [u64; 4] = block @ 32, "EgressPortMask";
        /// The map for all of them.
        scsc_map: ScScMap = block @ 64, "SCSCMap";
    }
}

macro_rules! map {
    ($name:ident, $field:ident, $from:ident -> $to:ident as $entry:ident . $value:ident) => {
        impl $name {
            /// A map with `value` of each of the 32 keys; values above 31 are truncated.
            pub fn from_fn(mut value: impl FnMut($from) -> $to) -> Self {
                let $field = std::array::from_fn(|key| $entry {
                    $value: $to(value($from(key as u8)).0 & 0x1F),
                });
                Self { $field }
            }

            /// The map of each key to its own number, as after power-on.
            pub fn identity() -> Self {
                Self::from_fn(|key| $to(key.0))
            }

            /// The value for `key`; 0 for keys above 31.
            #[inline]
            pub fn get(&self, key: $from) -> $to {
                self.$field
                    .get(usize::from(key.0))
                    .map_or($to(0), |entry| entry.$value)
            }

            /// Maps `key` to `value`; nothing happens above 31.
            #[inline]
            pub fn set(&mut self, key: $from, value: $to) {
                if let Some(entry) = self.$field.get_mut(usize::from(key.0)) {
                    entry.$value = $to(value.0 & 0x1F);
                }
            }
        }
    };
}
map!(SlScMap, slsc_map, Sl -> Sc as ScEntry.sc);
map!(ScSlMap, scsl_map, Sc -> Sl as SlEntry.sl);
map!(ScScMap, scsc_map, Sc -> Sc as ScEntry.sc);
map!(ScVlMap, scvl_map, Sc -> Vl as VlEntry.vl);

#[cfg(test)]
mod tests {
    use super::*;
    use crate::layout::Layout;

    #[test]
    fn maps_have_a_byte_an_entry_and_five_bits_in_it() {
        let mut map = SlScMap::identity();
        map.set(Sl(3), Sc(0xFF));
        map.set(Sl(32), Sc(1));
        assert_eq!(
            (map.get(Sl(3)), map.get(Sl(31)), map.get(Sl(32))),
            (Sc(31), Sc(31), Sc(0))
        );
        let bytes = map.to_bytes();
        assert_eq!(bytes[..5], [0, 1, 2, 31, 4]);
        assert_eq!(SlScMap::decode(&bytes), Ok(map));
        let vls = ScVlMap::from_fn(|sc| if sc.0 == 15 { Vl(15) } else { Vl(0) });
        assert_eq!((vls.get(Sc(15)), vls.get(Sc(14))), (Vl(15), Vl(0)));
    }
}
