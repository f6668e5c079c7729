//! Fabric and host, from the environment.

use thiserror::Error;
use weft_transport::{Address, Attach};
use weft_wire::id::{Guid, PortNum};

/// Names the fabric's socket.
pub const EMULATOR: &str = "WEFT_EMULATOR";
/// Names the host, by name or GUID.
pub const HOST: &str = "WEFT_HOST";
/// Names the port of the host's HFI.
pub const PORT: &str = "WEFT_PORT";
/// Default address of the fabric.
pub const EMULATOR_DEFAULT: &str = "unix:/tmp/weft-emulator.sock";
/// The name under which the program sees its HFI.
pub const HFI_NAME: &str = "hfi1_0";

/// Position of a program in a fabric.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Settings {
    /// The fabric's socket.
    pub emulator: Address,
    /// The port of a host.
    pub attach: Attach,
}

/// A variable that makes no sense.
#[derive(Debug, Clone, PartialEq, Eq, Error)]
#[error("{variable}={value}: {what}")]
pub struct SettingsError {
    /// Which.
    pub variable: &'static str,
    /// Its value.
    pub value: String,
    /// The error and the allowed values.
    pub what: String,
}

impl Settings {
    /// The settings that `variable` gives. Without a host it is the first one; a host that looks
    /// like `0x0011750101000001` is a GUID.
    ///
    /// # Errors
    /// [`SettingsError`].
    pub fn read(variable: impl Fn(&str) -> Option<String>) -> Result<Self, SettingsError> {
        let emulator = variable(EMULATOR).unwrap_or(EMULATOR_DEFAULT.to_owned());
        let wrong = |variable, value: &str, what: String| SettingsError {
            variable,
            value: value.to_owned(),
            what,
        };
        let address = emulator
            .parse()
            .map_err(|error: weft_transport::AddressError| {
                wrong(EMULATOR, &emulator, error.what.to_owned())
            })?;
        let port = match variable(PORT) {
            None => PortNum(1),
            Some(text) => match text.parse() {
                Ok(number @ 1..=9) => PortNum(number),
                _ => return Err(wrong(PORT, &text, "no port, allowed: 1 to 9".to_owned())),
            },
        };
        Ok(Self {
            emulator: address,
            attach: attach(variable(HOST), port),
        })
    }
}

fn attach(host: Option<String>, port: PortNum) -> Attach {
    let Some(name) = host else {
        return Attach::FirstHost;
    };
    let digits = name.strip_prefix("0x");
    match digits.and_then(|digits| u64::from_str_radix(digits, 16).ok()) {
        Some(guid) => Attach::Node {
            guid: Guid(guid),
            port,
        },
        None => Attach::Name { name, port },
    }
}

#[cfg(test)]
mod tests {
    #![allow(clippy::unwrap_used)]
    use super::*;

    fn read(pairs: &[(&str, &str)]) -> Result<Settings, SettingsError> {
        let find = |name: &str| pairs.iter().find(|(own, _)| *own == name);
        Settings::read(|name| find(name).map(|(_, value)| (*value).to_owned()))
    }

    #[test]
    fn hosts_have_names_or_guids() {
        let port = PortNum(2);
        let cases = [
            (vec![], Attach::FirstHost),
            (
                vec![(HOST, "node07"), (PORT, "2")],
                Attach::Name {
                    name: "node07".to_owned(),
                    port,
                },
            ),
            (
                vec![(HOST, "0x1F"), (PORT, "2")],
                Attach::Node {
                    guid: Guid(0x1F),
                    port,
                },
            ),
        ];
        for (pairs, expected) in cases {
            let settings = read(&pairs).unwrap();
            assert_eq!(settings.attach, expected);
            assert_eq!(settings.emulator.to_string(), EMULATOR_DEFAULT);
        }
    }

    #[test]
    fn what_makes_no_sense_is_told() {
        for (name, value) in [(PORT, "0"), (PORT, "x"), (PORT, "10"), (EMULATOR, "fabric")] {
            let error = read(&[(name, value)]).unwrap_err();
            assert_eq!((error.variable, error.value.as_str()), (name, value));
        }
    }
}
