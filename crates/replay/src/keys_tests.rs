use weft_manager::Settings;
use weft_wire::Layout;
use weft_wire::sm::{AttributeId, Notice, PortInfo, SmInfo, TrapBadMKey};
use weft_wire::smp::Smp;

use super::*;

const KEY: u64 = 0x1122_3344_5566_7788;
const OTHER: u64 = 0x99AA_BBCC_DDEE_FF00;

fn offset<T: Layout>(field: &str) -> usize {
    let field = T::FIELDS.iter().find(|entry| entry.name == field).unwrap();
    field.offset
}

#[test]
fn the_places_of_keys_are_those_of_the_structures() {
    assert_eq!(offset::<PortInfo>("m_key"), PORT_INFO_M_KEY);
    assert_eq!(offset::<SmInfo>("sm_key"), SM_INFO_SM_KEY);
    let data = offset::<Notice>("data");
    assert_eq!(data + offset::<TrapBadMKey>("m_key"), NOTICE_M_KEY);
}

#[test]
fn a_key_becomes_the_same_number_everywhere_and_stays_so() {
    let mut keys = Keys::default();
    let mut settings = Settings {
        m_key: KEY,
        ..Settings::default()
    };
    keys.in_settings(&mut settings);
    let masked = settings.m_key;
    assert_ne!(masked, KEY);
    assert_eq!(
        (keys.mask(KEY), keys.mask(masked), keys.mask(0)),
        (masked, masked, 0)
    );
    assert_ne!(keys.mask(OTHER), masked);
    assert_eq!(settings.election.sm_key, 0);
}

#[test]
fn no_key_stays_in_a_datagram() {
    let mut keys = Keys::default();
    for (attribute, at, len) in [
        (AttributeId::PORT_INFO, PORT_INFO_M_KEY, PortInfo::LEN),
        (AttributeId::SM_INFO, SM_INFO_SM_KEY, SmInfo::LEN),
    ] {
        let mut data = vec![0; len];
        data[at..at + 8].copy_from_slice(&OTHER.to_be_bytes());
        let smp = Smp::set(attribute, 1, 7, KEY);
        let mut mad = Vec::new();
        smp.write_lid_routed(&data, &mut mad);
        keys.in_datagram(&mut mad);
        for key in [KEY, OTHER] {
            let mut windows = mad.windows(8);
            assert!(
                !windows.any(|bytes| bytes == key.to_be_bytes()),
                "{attribute:?}"
            );
        }
        let mut again = mad.clone();
        keys.in_datagram(&mut again);
        assert_eq!(again, mad);
    }
}
