//! Any bytes as an ibnetdiscover dump or an opareport snapshot.
#![no_main]

use libfuzzer_sys::fuzz_target;

fuzz_target!(|input: &[u8]| {
    if let Err(error) = weft_fabric::import::import_fabric(input) {
        assert!(!error.what.is_empty() && !error.allowed.is_empty());
    }
});
