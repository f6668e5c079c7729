//! The path of a directed-route packet from node to node.

use crate::bits::{load, store};
use crate::header::status;
use crate::id::{Lid, PortNum};
use crate::smp::{DIRECTED_HEADER_LEN, MAX_HOPS};

const STATUS_AT: usize = 4;
const HOP_POINTER_AT: usize = 6;
const HOP_COUNT_AT: usize = 7;
const DR_SLID_AT: usize = 32;
const DR_DLID_AT: usize = 36;
const INITIAL_PATH_AT: usize = 40;
const RETURN_PATH_AT: usize = 104;

/// Action of a node on a directed-route SMP.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Hop {
    /// It is for this node's agent or, on the return path, for the local manager.
    Deliver,
    /// Send it out of this port.
    Forward(PortNum),
    /// Its directed part is over: route it to this LID.
    LidRoute(Lid),
    /// It has no valid next hop.
    Discard,
}

/// Advances a directed-route SMP by one hop at a node and updates its hop pointer and return
/// path, in both directions.
///
/// `ingress` is the port of arrival, 0 at the sender. On the outbound path the receiver is
/// reached with the hop pointer one above the hop count; an answer starts from there.
pub fn advance(mad: &mut [u8], ingress: PortNum, is_switch: bool) -> Hop {
    if mad.len() < DIRECTED_HEADER_LEN {
        return Hop::Discard;
    }
    let pointer = load(mad, HOP_POINTER_AT, 1) as usize;
    let count = load(mad, HOP_COUNT_AT, 1) as usize;
    if count > MAX_HOPS || pointer > count + 1 {
        return Hop::Discard;
    }
    if load(mad, STATUS_AT, 2) as u16 & status::DIRECTION == 0 {
        advance_out(mad, ingress, is_switch, pointer, count)
    } else {
        advance_back(mad, is_switch, pointer, count)
    }
}

fn advance_out(
    mad: &mut [u8],
    ingress: PortNum,
    is_switch: bool,
    pointer: usize,
    count: usize,
) -> Hop {
    if pointer > count {
        return Hop::Deliver;
    }
    if pointer > 0 {
        store(mad, RETURN_PATH_AT + pointer, 1, u64::from(ingress.0));
    }
    store(mad, HOP_POINTER_AT, 1, pointer as u64 + 1);
    if pointer == count {
        let dr_dlid = Lid(load(mad, DR_DLID_AT, 4) as u32);
        return match dr_dlid {
            Lid::PERMISSIVE => Hop::Deliver,
            lid if is_switch || count == 0 => Hop::LidRoute(lid),
            _ => Hop::Discard,
        };
    }
    if pointer > 0 && !is_switch {
        return Hop::Discard;
    }
    Hop::Forward(PortNum(load(mad, INITIAL_PATH_AT + pointer + 1, 1) as u8))
}

fn advance_back(mad: &mut [u8], is_switch: bool, pointer: usize, count: usize) -> Hop {
    if pointer == 0 {
        return Hop::Deliver;
    }
    store(mad, HOP_POINTER_AT, 1, pointer as u64 - 1);
    if pointer == 1 {
        return match Lid(load(mad, DR_SLID_AT, 4) as u32) {
            Lid::PERMISSIVE => Hop::Deliver,
            lid => Hop::LidRoute(lid),
        };
    }
    if pointer <= count && !is_switch {
        return Hop::Discard;
    }
    Hop::Forward(PortNum(load(mad, RETURN_PATH_AT + pointer - 1, 1) as u8))
}
