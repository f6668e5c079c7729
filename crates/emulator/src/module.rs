//! Changes of what the module at an end of an optical cable measures.

use serde::{Deserialize, Serialize};
use weft_dataplane::optics::Optics;

/// What a module is to measure; what is omitted stays as it is.
#[derive(Debug, Clone, Copy, Default, PartialEq, Serialize, Deserialize)]
#[serde(default, deny_unknown_fields)]
pub struct Measured {
    /// Degrees Celsius, -128 to 127.
    pub temperature: Option<f64>,
    /// Supply voltage, 0 to 6.5535 V.
    pub voltage: Option<f64>,
    /// Power received, 0 to 6.5535 mW.
    pub receive_power: Option<f64>,
    /// Current of the lasers, 0 to 131.07 mA.
    pub bias: Option<f64>,
    /// Power sent, 0 to 6.5535 mW.
    pub transmit_power: Option<f64>,
    /// Lane for which power and current hold, 1 to 4; none for all of them.
    pub lane: Option<u8>,
}

/// A value outside its range: what, its value, what is allowed.
pub(crate) type OutOfRange = (&'static str, f64, &'static str);

impl Measured {
    /// The registers with the changes.
    pub(crate) fn apply(&self, mut optics: Optics) -> Result<Optics, OutOfRange> {
        let lanes = match self.lane {
            None => 0..4,
            Some(lane @ 1..=4) => usize::from(lane - 1)..usize::from(lane),
            Some(lane) => return Err(("lane", f64::from(lane), "1 to 4")),
        };
        if let Some(value) = self.temperature {
            if !(-128.0..=127.0).contains(&value) {
                return Err(("temperature", value, "-128 to 127"));
            }
            optics.temperature = (value * 256.0).round() as i16;
        }
        if let Some(value) = self.voltage {
            optics.voltage = register("voltage", value, 1e-4, "0 to 6.5535")?;
        }
        let of_lanes = [
            (
                "receive power",
                self.receive_power,
                &mut optics.receive_power,
            ),
            (
                "transmit power",
                self.transmit_power,
                &mut optics.transmit_power,
            ),
        ];
        for (what, value, registers) in of_lanes {
            if let Some(value) = value {
                registers[lanes.clone()].fill(register(what, value, 1e-4, "0 to 6.5535")?);
            }
        }
        if let Some(value) = self.bias {
            optics.bias[lanes].fill(register("bias", value, 2e-3, "0 to 131.07")?);
        }
        Ok(optics)
    }
}

fn register(
    what: &'static str,
    value: f64,
    unit: f64,
    allowed: &'static str,
) -> Result<u16, OutOfRange> {
    let units = (value / unit).round();
    match (0.0..=f64::from(u16::MAX)).contains(&units) {
        true => Ok(units as u16),
        false => Err((what, value, allowed)),
    }
}
