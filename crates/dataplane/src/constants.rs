//! Measured or specified properties of components. None is fitted to a result that the model
//! should predict.

use crate::packets::{MICRO, MILLI, NANO, Picos};

/// `LinkQualityIndicator` of a link without errors.
pub const QUALITY_EXCELLENT: u8 = 5;

/// Bits of data in a flit; the 65th bit tells data from control (Omni-Path link layer).
pub const FLIT_BITS: u64 = 64;

/// Time of a flit on one lane of 25.78125 Gb/s, of which 1,024 of 1,056 bits of each link transfer
/// packet are flits' data: 64 bits at 25 Gb/s (Omni-Path link layer).
pub const FLIT_ONE_LANE: Picos = 2_560;

/// Bytes of a flit.
pub const FLIT_BYTES: u32 = FLIT_BITS as u32 / 8;

/// Switch, port to port, head to head, between blocks of ports: "less than 110 ns" (vendor's
/// product brief; latency budget of the 32-node evaluation, RACF 2016).
pub const SWITCH_LATENCY: Picos = 110 * NANO;

/// Latency inside a block of ports: the lower end of the vendor's 100 to 110 ns (Dell's paper on
/// Omni-Path, 2016). The 32-node evaluation says that it is lower, not by how much.
pub const BLOCK_LATENCY: Picos = 100 * NANO;

/// Ports of a block: 48 ports are 12 blocks of 4 (32-node evaluation).
pub const BLOCK_PORTS: u8 = 4;

/// A copper cable of 2 m: "about 10 ns" (32-node evaluation).
pub const CABLE: Picos = 10 * NANO;

/// Time of a credit on its way back, besides the cable: 2,304 bytes at 12.5 GB/s. A manager reserves
/// this much of a neighbour's buffer, beyond the wire's, for credits that return within link
/// transfer packets, as they do with the 14-bit CRC (`opa-fm`, `sm_buffer_control_tables.c`:
/// `CR_LATENCY_SIDEBAND`, "derived from tuning algorithms").
pub const CREDIT_RETURN: Picos = 2_304 / FLIT_BYTES as Picos * FLIT_ONE_LANE / 4;

/// HFI and software at each side of a message: "about 400 ns" (32-node evaluation).
pub const ENDPOINT: Picos = 400 * NANO;

/// A stalled lane drops what comes for this many head-of-line lifetimes (opafm.xml's comment on
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

/// Step that the firmware uses for Threshold 0. Not public: opafm.xml's default, 3.
pub const ADAPTIVE_THRESHOLD_DEFAULT: usize = 3;

/// Looks after which a switch is taken to have ended moving routes where only rates are computed:
/// about a second. Chosen: fluid flows can move in circles for ever.
pub const ADAPTIVE_LOOKS_MAX: u32 = 16;

/// Share of a link's rate from which on it is full where only rates are computed. Chosen, for
/// rounding.
pub const FULL_LINK: f64 = 0.999;

/// Bytes of a step of VLHighLimit (InfiniBand, 7.6.9).
pub const ARBITRATION_HIGH_UNIT: i32 = 4_096;

/// A VLHighLimit that never ends the turn of high priority (InfiniBand, 7.6.9).
pub const ARBITRATION_HIGH_UNLIMITED: u16 = 255;

/// Bytes of a step of an element's weight in VL arbitration (InfiniBand, 7.6.9).
pub const ARBITRATION_WEIGHT_UNIT: i32 = 64;

/// Bytes of a step of LargePktLimit, SmallPktLimit and PreemptionLimit (`opa-fm`: steps of LargePacket,
/// SmallPacket and PreemptLimit in opafm.xml).
pub const PREEMPTION_LARGE_UNIT: u32 = 512;
/// Unit of SmallPktLimit, bytes.
pub const PREEMPTION_SMALL_UNIT: u32 = 32;
/// Unit of PreemptionLimit, bytes.
pub const PREEMPTION_LIMIT_UNIT: u32 = 256;
/// A PreemptionLimit that is none (`opa-fm`: INF).
pub const PREEMPTION_UNLIMITED: u8 = 255;

/// The most eager threshold by which switches mark packets (InfiniBand, annex 10: 0 to 15).
pub const MARKING_THRESHOLD_MAX: u32 = 15;

/// Bytes of a step of the smallest packet that a switch marks (InfiniBand, annex 10: Packet_Size).
pub const MARKING_SIZE_UNIT: u32 = 64;

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

/// Bytes that a receiver requests at once in a rendezvous (`psm_config.h`: `MQ_HFI_WINDOW_RNDV`).
pub const PSM2_WINDOW: u64 = 131_072;

/// Windows that a receiving process has in flight at a time, of all its messages (`hfi1`, `chip.h`:
/// `RXE_NUM_TID_FLOWS`; `opa-psm2`, `ips_tid_pendtids_timer_callback`).
pub const TID_FLOWS: u32 = 32;

/// Payload of a packet of verbs programs such as ib_read_bw: the largest MTU that the enumeration of
/// InfiniBand's has, which `hfi1` reports for any larger one (`verbs.c`, `query_port`).
pub const VERBS_PAYLOAD: u32 = 4_096;

/// Packets that a context's receive queue holds (`hfi1`, `init.c`: `rcvhdrcnt`).
pub const RECEIVE_HEADERS: u64 = 2_048;

/// Bytes of data that it holds (`hfi1`, `init.c`: `eager_buffer_size`).
pub const RECEIVE_EAGER: u64 = 8 << 20;

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

/// Messages up to this many bytes travel inside the header: PSM2's tiny ones (`psm_config.h`).
pub const PSM2_TINY: u64 = 8;

/// Eager messages beyond this many bytes are sent by the DMA engines (`psm_config.h`: Xeon,
/// non-blocking).
pub const PSM2_PIO: u64 = 16_384;

/// Time of a packet at the receiving processor under PSM2. Its 3,064 instructions (slides on OPX,
/// MPICH BOF, SC22) are what software does in [`ENDPOINT`], and no more than that.
pub const PSM2_RECEIVE: Picos = ENDPOINT;

/// Time of a kernel's processor for a packet of verbs that it receives, besides the copy of its data: not
/// published, assumed to be PSM2's.
pub const VERBS_RECEIVE: Picos = PSM2_RECEIVE;

/// Time of a kernel's processor to make a packet that answers a read: not published, assumed to be that of
/// receiving one. It is another processor than the one that receives (`hfi1`, `hfi1_schedule_send`: that of
/// the DMA engine).
pub const VERBS_SEND: Picos = VERBS_RECEIVE;

/// Receive overhead under OPX: 1,170 instructions instead of 3,064.
pub const OPX_RECEIVE: Picos = PSM2_RECEIVE * 1_170 / 3_064;

/// Time without an answer after which PSM2 requests one, for each packet that a call to the DMA engines
/// sends, or for a packet that the processor writes (`ips_config.h`: `IPS_PROTO_ERRCHK_MS_MIN_DEFAULT`;
/// `ips_proto_flow_flush_dma`).
pub const PSM2_RESEND: Picos = 160 * MILLI;

/// A timeout without an answer makes the next one this many times as long, up to a longest (PSM2:
/// `IPS_PROTO_ERRCHK_FACTOR_DEFAULT`; TCP: RFC 6298).
pub const RESEND_FACTOR: u64 = 2;

/// PSM2's longest time between two questions (`IPS_PROTO_ERRCHK_MS_MAX_DEFAULT`).
pub const PSM2_RESEND_MAX: Picos = 640 * MILLI;

/// Bytes around the payload of OPX's packets: local route header 8, base transport header 12,
/// KDETH and OPX's own 40, CRC 4 (libfabric, `opx_hfi1_packet.h`: a header is one block of 64).
pub const OPX_HEADERS: u32 = 64;

/// Bytes that OPX sends inside a packet without payload (slides on OPX).
pub const OPX_INJECT: u64 = 16;

/// OPX sends by PIO and eagerly up to this size, by rendezvous beyond (slides on OPX).
pub const OPX_PIO: u64 = 16_384;

/// Unit of the send buffer that processors write into (`hfi1`, `PIO_BLOCK_SIZE`).
pub const PIO_BLOCK: u32 = 64;

/// Blocks of an HFI's send buffer: 1 MiB. Its size is a register, not public; assumed.
pub const PIO_BLOCKS: u32 = 16_384;

/// Most blocks of one process: its window of 64 KiB (`hfi1`, `PIO_MAX_BLOCKS`).
pub const PIO_BLOCKS_MAX: u32 = 1_024;

/// Time of a block from the processor to the HFI: 64 bytes and 24 around them on sixteen
/// PCIe lanes of 8 GT/s, of which 128 of 130 bits are data (PCI Express base specification 3.0).
pub const PIO_BLOCK_TIME: Picos = 5_586;

/// Least time between two packets that an HFI sends: 160 million messages a second (32-node
/// evaluation).
pub const MESSAGE_TIME: Picos = 6_250;

/// DMA engines of an HFI (`hfi1`, `chip.h`). All data of a process for one LID uses one engine, by
/// a number for each LID plus that of the process's context (`hfi1`, `user_sdma.c`).
pub const SDMA_ENGINES: usize = 16;

/// Cost of the system call that hands a message to the DMA engines: assumed, not published.
pub const SDMA_CALL: Picos = MICRO;

/// Bytes of a page of memory (x86).
pub const PAGE: u64 = 4_096;

/// Time of a processor to have one page pinned and given to the card, where memory is not registered yet: what `hfi1` does
/// for each page (`pin_rcv_pages` and `program_rcvarray` in `user_exp_rcv.c`, `pin_vector_pages` in `user_sdma.c`).
/// Assumed, not published.
pub const PIN_PAGE: Picos = 200 * NANO;

/// Bytes a second that one processor copies: it reads and writes each byte, on one channel of
/// DDR4-2133 of 17.064 GB/s (JESD79-4; processors of the experiments: E5 v4).
pub const COPY_RATE: u64 = 8_532_000_000;

/// Copies of each byte on each side of a bulk copy over sockets: between the file's pages and the
/// program, and between the program and the socket.
pub const BULK_COPIES: u64 = 2;

/// Maximum bytes in flight of a TCP connection (Linux, third value of `tcp_wmem`).
pub const TCP_WINDOW: u64 = 4 << 20;

/// Maximum segments in flight of a TCP connection.
pub const TCP_SEGMENTS: u32 = (TCP_WINDOW / IPOIB_MTU) as u32;

/// Segments that it begins with (RFC 6928; Linux, `TCP_INIT_CWND`).
pub const TCP_INITIAL_WINDOW: u32 = 10;

/// Fraction of its window that remains after a loss: seven tenths (RFC 8312, `beta_cubic`).
pub const TCP_REDUCTION: (u32, u32) = (7, 10);

/// Segments that the window grows by in a round trip without a loss: 3 (1 - 0.7) / (1 + 0.7), nine
/// seventeenths (RFC 8312, 4.2).
pub const TCP_GROWTH: (u32, u32) = (9, 17);

/// Later segments that come before TCP takes one for lost and sends it at once (RFC 5681: three
/// duplicate acknowledgements).
pub const TCP_DUPLICATES: u32 = 3;

/// After this time without an answer TCP probes for a lost tail (Linux 3.10, `tcp_schedule_loss_probe`;
/// RFC 8985).
pub const TCP_PROBE: Picos = 10 * MILLI;

/// TCP's least timeout (Linux, `TCP_RTO_MIN`); each next one is twice as long (RFC 6298).
pub const TCP_RESEND: Picos = 200 * MILLI;

/// Its longest (Linux, `TCP_RTO_MAX`).
pub const TCP_RESEND_MAX: Picos = 120_000 * MILLI;

/// Bytes of a read by ib_read_bw, and reads that an HFI has open to another at a time (perftest:
/// default size; `rdmavt`: 16 outstanding reads).
pub const RDMA_READ: u64 = 65_536;
/// Reads open at a time.
pub const RDMA_READS: u32 = 16;

/// After this time without an answer a reliable connection sends again: 4.096 µs × 2^14 (perftest's
/// default timeout); the next timeout is as long (`rdmavt`, `rvt_mod_retry_timer`).
pub const VERBS_RESEND: Picos = (4_096 * NANO) << 14;

/// Messages in flight at a time where mpi_nxnlatbw measures bandwidths: chosen, not looked up.
pub const ALL_PAIRS_WINDOW: u32 = 8;

/// Most bytes for each rank, and fewest ranks, for which Alltoall takes Bruck's algorithm (MPICH,
/// `MPIR_CVAR_ALLTOALL_SHORT_MSG_SIZE`, `MPIR_Alltoall_intra_auto`).
pub const ALLTOALL_SHORT: u64 = 256;
/// Fewest ranks.
pub const ALLTOALL_SHORT_RANKS: u32 = 8;

/// Unit of CCTI_Timer: 1.024 µs (InfiniBand, annex 10; opafm.xml's comment on CCTI_Timer).
pub const CCTI_TIMER_UNIT: Picos = 1_024 * NANO;

/// Bytes of the packet by which a receiver tells a sender of marks: a header without payload
/// (`hfi1`, `return_cnp`: local route header 8, base transport header 12, 16 of zeros, CRC 4).
pub const NOTIFICATION_BYTES: u32 = 40;

/// Bytes by which the receiver of a window answers in osu_bw (OSU micro-benchmarks).
pub const WINDOW_ANSWER: u64 = 4;

/// Round trips before osu_latency takes time, up to [`LATENCY_LARGE`] bytes and beyond (OSU
/// micro-benchmarks 5: `LAT_SKIP_SMALL`, `LAT_SKIP_LARGE`).
pub const LATENCY_SKIP: (u32, u32) = (100, 10);

/// Messages beyond this many bytes are large to osu_latency (`LARGE_MESSAGE_SIZE`).
pub const LATENCY_LARGE: u64 = 8_192;

/// Skipped messages of mpi_nxnlatbw for each pair. Not known, chosen.
pub const ALL_PAIRS_SKIP: u32 = 2;

/// A benchmark with other traffic begins up to this long after the warm-up, drawn by the seed.
/// Chosen: longer than a message of the other traffic takes, so that runs differ.
pub const BENCHMARK_SPREAD: Picos = 200 * MICRO;
