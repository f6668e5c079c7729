//! Frames: written frames are read back, and malformed input does no harm.
#![allow(clippy::unwrap_used)]

use weft_transport::frame::{FRAME_MAX, VERSION};
use weft_transport::{
    Attach, Decoder, Document, Frame, FrameError, Hello, PortStatus, Registration, Welcome,
};
use weft_wire::id::{Guid, Lid, PKey, PortNum, Sl};
use weft_wire::packet::Packet;

fn packet(mad: Vec<u8>) -> Packet {
    Packet {
        slid: Lid(0xFFFF_FFFF),
        dlid: Lid(7),
        sl: Sl(3),
        pkey: PKey(0x7FFF),
        dest_qp: 1,
        src_qp: 0xFF_FFFF,
        mad,
    }
}

fn frames() -> Vec<Frame> {
    let hello = |attach, classes: &[u8]| {
        Frame::Hello(Hello {
            version: 1,
            attach,
            classes: classes.to_vec(),
        })
    };
    let (guid, port) = (Guid(0x0011_7501_0101_0001), PortNum(2));
    let name = "node1 hfi1_0".to_owned();
    vec![
        hello(Attach::Node { guid, port }, &[1, 0x81, 3]),
        hello(Attach::Name { name, port }, &[]),
        hello(Attach::FirstHost, &[]),
        hello(Attach::ControlOnly, &[]),
        Frame::Welcome(Welcome {
            guid,
            port,
            client: 0xFFFF_FFFE,
        }),
        Frame::Refuse {
            reason: "voll — später".to_owned(),
        },
        Frame::Mad(packet(vec![0x80; 2048])),
        Frame::Mad(packet(vec![])),
        Frame::IsSm(true),
        Frame::Control(b"{}".to_vec()),
        Frame::ControlReply(vec![]),
        Frame::Watch,
        Frame::Port(PortStatus::default()),
        Frame::Port(PortStatus {
            base_lid: Lid(0x10_0000),
            sm_lid: Lid(1),
            rate: 100,
            reregistrations: 3,
            port_guid: guid,
            p_keys: vec![0x8001, 0x7FFF, 0],
            ..PortStatus::default()
        }),
        Frame::Register(Registration {
            token: 9,
            class: 0x32,
            version: 0x80,
            oui: 0x66A,
            methods: 1 << 127 | 6,
        }),
        Frame::Registered {
            token: 9,
            accepted: true,
        },
        Frame::Unregister { token: 9 },
    ]
}

fn read_all(decoder: &mut Decoder) -> Result<Vec<Frame>, FrameError> {
    std::iter::from_fn(|| decoder.next_frame().transpose()).collect()
}

#[test]
fn frames_survive_any_cut_of_the_stream() {
    let mut bytes = Vec::new();
    frames().iter().for_each(|frame| frame.encode(&mut bytes));
    for size in [1, 2, 3, 5, 100, bytes.len()] {
        let mut decoder = Decoder::new();
        let mut read = Vec::new();
        for chunk in bytes.chunks(size) {
            decoder.buffer().extend_from_slice(chunk);
            read.extend(read_all(&mut decoder).unwrap());
        }
        assert_eq!(read, frames(), "chunks of {size}");
    }
}

#[test]
fn what_is_no_frame_is_told_why() {
    let framed = |bytes: &[u8]| [&(bytes.len() as u32).to_be_bytes()[..], bytes].concat();
    let cases: Vec<(Vec<u8>, &str)> = vec![
        (vec![0; 4], "a frame of 0 bytes"),
        (vec![0xFF; 4], "a frame of 4294967295 bytes"),
        (
            (FRAME_MAX as u32 + 1).to_be_bytes().to_vec(),
            "a frame of 65537 bytes",
        ),
        (framed(&[0]), "unknown frame 0"),
        (framed(&[13]), "unknown frame 13"),
        (framed(&[1, b'W']), "Hello frame: too short"),
        (
            framed(&[[1].as_slice(), &[0; 17]].concat()),
            "Hello frame: does not begin",
        ),
        (framed(&[2, 0]), "Welcome frame: not 13 bytes"),
        (framed(&[4; 10]), "Mad frame: shorter"),
        (framed(&[4; 20 + 2049]), "Mad frame: a datagram of more"),
        (framed(&[5, 2]), "IsSm frame: neither"),
        (framed(&[8, 0]), "Watch frame: of another length"),
        (framed(&[9; 20]), "Port frame: too short"),
        (framed(&[9; 58]), "Port frame: the number of partition keys"),
        (framed(&[10, 0]), "Register frame: not 26 bytes"),
        (framed(&[11, 0, 0, 0, 0, 2]), "Registered frame: neither"),
        (framed(&[12]), "Unregister frame: of another length"),
    ];
    for (bytes, expected) in cases {
        let mut decoder = Decoder::new();
        decoder.buffer().extend_from_slice(&bytes);
        let error = read_all(&mut decoder).unwrap_err().to_string();
        assert!(error.starts_with(expected), "{error}");
    }
}

#[test]
fn what_is_too_long_is_cut_to_a_frame_that_can_be_read() {
    let reason = "ä".repeat(FRAME_MAX);
    let hello = Frame::Hello(Hello {
        version: VERSION,
        attach: Attach::Name {
            name: "node ä".repeat(20),
            port: PortNum(1),
        },
        classes: Vec::new(),
    });
    for frame in [
        hello,
        Frame::Refuse { reason },
        Frame::Mad(packet(vec![1; 3000])),
    ] {
        let mut bytes = Vec::new();
        frame.encode(&mut bytes);
        let mut decoder = Decoder::new();
        decoder.buffer().extend_from_slice(&bytes);
        assert_eq!(read_all(&mut decoder).unwrap().len(), 1);
    }
}

#[test]
fn a_document_that_is_longer_than_a_frame_arrives_whole() {
    for len in [
        0,
        1,
        FRAME_MAX - 2,
        FRAME_MAX - 1,
        FRAME_MAX,
        5 * FRAME_MAX - 5,
        1 << 20,
    ] {
        let sent: Vec<u8> = (0..len).map(|at| (at % 251) as u8).collect();
        let mut bytes = Vec::new();
        Frame::ControlReply(sent.clone()).encode(&mut bytes);
        let mut decoder = Decoder::new();
        decoder.buffer().extend_from_slice(&bytes);
        let (mut document, mut whole) = (Document::default(), Vec::new());
        for frame in read_all(&mut decoder).unwrap() {
            let Frame::ControlReply(part) = frame else {
                panic!("{frame:?}");
            };
            whole.extend(document.add(&part).unwrap());
        }
        assert_eq!(whole, [sent]);
    }
}

#[test]
fn a_document_without_an_end_is_refused() {
    let mut document = Document::default();
    let part = vec![b' '; FRAME_MAX - 1];
    let parts = (0..).map(|_| document.add(&part)).take(1000);
    let refused = parts.filter(|added| added.is_err()).count();
    assert!(refused > 700, "16 MiB are allowed, 64 came: {refused}");
}
