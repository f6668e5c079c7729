//! Nothing that a program sends does harm.

use proptest::prelude::*;
use weft_emulator::fuzz::fuzz_agents;
use weft_wire::sm::AttributeId;

/// A header that agents look at, with everything else at random.
fn plausible() -> impl Strategy<Value = Vec<u8>> {
    let classes = prop_oneof![Just(0x01u8), Just(0x81), Just(0x04), Just(0x03)];
    let methods = prop_oneof![
        Just(1u8),
        Just(2),
        Just(5),
        Just(7),
        Just(0x81),
        any::<u8>()
    ];
    let attributes = prop_oneof![
        proptest::sample::select(AttributeId::ALL).prop_map(|attribute| attribute.0),
        0x40u16..0x45,
        any::<u16>(),
    ];
    let modifier = prop_oneof![
        any::<u32>(),
        (0u32..4, 0u32..16).prop_map(|(count, port)| count << 24 | port),
    ];
    let hops = (0u8..4, 0u8..4);
    let rest = proptest::collection::vec(any::<u8>(), 0..2100);
    (classes, methods, attributes, modifier, hops, rest).prop_map(
        |(class, method, attribute, modifier, hops, rest)| {
            let mut mad = vec![0x80, class, 0x80, method, 0, 0, hops.0, hops.1];
            mad.extend_from_slice(&[0; 8]);
            mad.extend_from_slice(&attribute.to_be_bytes());
            mad.extend_from_slice(&[0; 2]);
            mad.extend_from_slice(&modifier.to_be_bytes());
            mad.extend_from_slice(&rest);
            mad
        },
    )
}

/// The same as an SMP that comes to the switch, or to the player's own node.
fn arriving() -> impl Strategy<Value = Vec<u8>> {
    (plausible(), any::<bool>()).prop_map(|(mut mad, switch)| {
        mad[4..6].fill(0);
        mad[6] = 0;
        mad[7] = u8::from(switch);
        mad.resize(mad.len().max(180), 0);
        // No M_Key, permissive LIDs, and out of port 1.
        mad[24..32].fill(0);
        mad[32..40].fill(0xFF);
        mad[41] = 1;
        mad
    })
}

proptest! {
    #![proptest_config(ProptestConfig::with_cases(512))]

    #[test]
    fn any_bytes_do_no_harm(mad in proptest::collection::vec(any::<u8>(), 0..2200)) {
        fuzz_agents(&mad);
    }

    #[test]
    fn any_request_does_no_harm(mad in plausible()) {
        fuzz_agents(&mad);
    }

    #[test]
    fn any_content_does_no_harm(mads in proptest::collection::vec(arriving(), 1..8)) {
        let mut bytes = Vec::new();
        for mad in &mads {
            bytes.extend_from_slice(&(mad.len() as u16).to_be_bytes());
            bytes.extend_from_slice(mad);
        }
        weft_emulator::fuzz::fuzz_conversation(&bytes);
    }
}
