//! Registrations that a program needs for the management classes that it serves or queries.

use weft_umad_abi::umad::{RegAttr, USER_RMPP};
use weft_wire::header::{class, method};

/// The OUI under which the vendor classes are registered (`OPA` management, 00:06:6A).
const OUI: u32 = 0x0000_066A;
const OPA: u8 = 0x80;

/// One registration.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) struct Registration {
    pub(super) class: u8,
    pub(super) version: u8,
    /// Methods whose requests and traps are for this program.
    methods: &'static [u8],
    /// The class carries tables in segments, which the program makes and takes itself.
    rmpp: bool,
    oui: u32,
}

const SM: &[u8] = &[method::GET, method::SET, method::TRAP];
const SA: &[u8] = &[
    method::GET,
    method::SET,
    method::GET_TABLE,
    method::GET_TRACE_TABLE,
    method::GET_MULTI,
    method::DELETE,
];
const PA: &[u8] = &[method::GET, method::SET, method::GET_TABLE];

const fn plain(class: u8, version: u8, methods: &'static [u8]) -> Registration {
    Registration {
        class,
        version,
        methods,
        rmpp: false,
        oui: 0,
    }
}

const fn tables(class: u8, version: u8, methods: &'static [u8], oui: u32) -> Registration {
    Registration {
        class,
        version,
        methods,
        rmpp: true,
        oui,
    }
}

/// All registrations that there may be. Clients speak InfiniBand's version of a class too.
const ALL: [Registration; 9] = [
    plain(class::SM_LID_ROUTED, OPA, SM),
    plain(class::SM_LID_ROUTED, 1, SM),
    plain(class::SM_DIRECTED_ROUTE, OPA, SM),
    plain(class::SM_DIRECTED_ROUTE, 1, SM),
    tables(class::SUBN_ADM, OPA, SA, 0),
    tables(class::SUBN_ADM, 2, SA, 0),
    // Counters are only read, from the local HFI.
    plain(class::PERF, OPA, &[]),
    tables(class::SM_DBSYNC, OPA, PA, OUI),
    tables(class::PA, OPA, PA, OUI),
];

/// The registrations for the classes that a program serves, and for those that it only queries;
/// unknown classes have none.
pub(super) fn registrations(classes: &[u8]) -> impl Iterator<Item = Registration> {
    let wanted = |registration: &Registration| {
        registration.methods.is_empty() || classes.contains(&registration.class)
    };
    ALL.into_iter().filter(wanted)
}

impl Registration {
    /// The registration in the library's format.
    pub(super) fn attr(&self) -> RegAttr {
        let mut method_mask = [0; 2];
        for method in self.methods {
            method_mask[usize::from(method / 64)] |= 1 << (method % 64);
        }
        RegAttr {
            mgmt_class: self.class,
            mgmt_class_version: self.version,
            flags: if self.rmpp { USER_RMPP } else { 0 },
            method_mask,
            oui: self.oui,
            rmpp_version: u8::from(self.rmpp),
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn each_class_has_its_versions_and_methods() {
        let made: Vec<(u8, u8, u32, u64, u32, u8)> = registrations(&[0x81, 0x03, 0x32, 0x77])
            .map(|registration| {
                let attr = registration.attr();
                let mask = attr.method_mask[0];
                (
                    attr.mgmt_class,
                    attr.mgmt_class_version,
                    attr.flags,
                    mask,
                    attr.oui,
                    attr.rmpp_version,
                )
            })
            .collect();
        let wanted = [
            (0x81, 0x80, 0, 0x26, 0, 0),
            (0x81, 1, 0, 0x26, 0, 0),
            (0x03, 0x80, 1, 0x3C_0006, 0, 1),
            (0x03, 2, 1, 0x3C_0006, 0, 1),
            (0x04, 0x80, 0, 0, 0, 0),
            (0x32, 0x80, 1, 0x04_0006, 0x66A, 1),
        ];
        assert_eq!(made, wanted);
    }
}
