//! What components were measured or specified to do. None is fitted to a result that the model
//! should predict.

use crate::packets::{MILLI, NANO, Picos};

/// Bits of data in a flit; the 65th bit tells data from control (Omni-Path link layer).
pub const FLIT_BITS: u64 = 64;

/// Time of a flit on one lane of 25.78125 Gb/s, of which 1,024 of 1,056 bits of each link transfer
/// packet are flits' data: 64 bits at 25 Gb/s (Omni-Path link layer).
pub const FLIT_ONE_LANE: Picos = 2_560;

/// Switch, port to port, head to head, between blocks of ports: "less than 110 ns" (vendor's
/// product brief; latency budget of the 32-node evaluation, RACF 2016).
pub const SWITCH_LATENCY: Picos = 110 * NANO;

/// The same inside a block of ports: the lower end of the vendor's 100 to 110 ns (Dell's paper on
/// Omni-Path, 2016). The 32-node evaluation says that it is lower, not by how much.
pub const BLOCK_LATENCY: Picos = 100 * NANO;

/// Ports of a block: 48 ports are 12 blocks of 4 (32-node evaluation).
pub const BLOCK_PORTS: u8 = 4;

/// A copper cable of 2 m: "about 10 ns" (32-node evaluation).
pub const CABLE: Picos = 10 * NANO;

/// HFI and software at each side of a message: "about 400 ns" (32-node evaluation).
pub const ENDPOINT: Picos = 400 * NANO;

/// A stalled lane drops what comes for this many head-of-queue lifetimes (opafm.xml's comment on
/// VLStallCount).
pub const STALL_LIFETIMES: u64 = 8;

/// Unit of HOQLife and LifeTimeValue: 4.096 µs × 2^value. `opa-fm` turns its 8 ms into 11 and its
/// 33 ms into 13; InfiniBand, chapter 14, has the same unit.
pub const LIFETIME_UNIT: Picos = 4_096 * NANO;

/// From this value a lifetime never ends (`IB_LIFETIME_MAX` is 19).
pub const LIFETIME_FOREVER: u8 = 20;

/// Least time between two moves of routes by a switch, for ARFrequency 0 (opafm.xml).
pub const ADAPTIVE_PERIOD: Picos = 64 * MILLI;

/// Share of a lane's buffer, in percent, from which AdaptiveRouting.Threshold 1 to 7 takes a port
/// for congested (opafm.xml's comment).
pub const ADAPTIVE_THRESHOLDS: [u32; 7] = [100, 90, 80, 70, 65, 60, 55];

/// What the firmware takes for Threshold 0. Not public: opafm.xml's default, 3.
pub const ADAPTIVE_THRESHOLD_DEFAULT: usize = 3;

/// Bytes that a packet may have beyond its lane's MTU (`opa-fm`: headers in buffer control).
pub const HEADERS_MAX: u32 = 128;

/// Payload of a packet of PSM2 at the largest MTU that MPI uses (32-node evaluation: MTU 8,192;
/// `opa-psm2`, `PSM2_MTU`).
pub const PSM2_PAYLOAD: u32 = 8_192;

/// Bytes around the payload of PSM2's packets: local route header 8, base transport header 12,
/// PSM2's own with KDETH 36, CRC 4 (`opa-psm2`, `ips_message_header`).
pub const PSM2_HEADERS: u32 = 60;

/// Messages beyond this many bytes go by rendezvous (`opa-psm2`, `psm_config.h`:
/// `MQ_HFI_THRESH_RNDV`).
pub const PSM2_RENDEZVOUS: u64 = 64_000;

/// Bytes that a receiver asks for at once in a rendezvous (`psm_config.h`: `MQ_HFI_WINDOW_RNDV`).
pub const PSM2_WINDOW: u64 = 131_072;

/// Windows of one rendezvous on their way at a time: the next is asked for while one comes in.
/// Assumed; with one, each window would wait for a round trip.
pub const PSM2_WINDOWS: u64 = 2;

/// Payload of a packet of IP over the fabric in connected mode: the verbs' MTU.
pub const IPOIB_PAYLOAD: u32 = 8_192;

/// Bytes around it: local route header 8, base transport header 12, CRC 4 (InfiniBand, chapter 9).
pub const IPOIB_HEADERS: u32 = 24;

/// Bytes of an IP packet in connected mode (32-node evaluation: MTU 65,520).
pub const IPOIB_MTU: u64 = 65_520;

/// Bytes of it that are not the user's: IP 20, TCP with time stamps 32 (RFC 791, 9293, 7323).
pub const TCP_HEADERS: u64 = 52;

/// Bytes in front of an IP packet (RFC 4391, IP over InfiniBand).
pub const IPOIB_ENCAPSULATION: u64 = 4;
