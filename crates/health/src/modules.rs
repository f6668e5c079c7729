//! What modules of cables measure, against thresholds: the module's own ones (page 3 of its memory, SFF-8636), and
//! where it has none those of the standards that it is built to.

use weft_fabric::cables::{CableMemory, Limits, Module};

/// Byte of a cable's memory with how it transmits, in the high four bits: below 10 optical.
const TECHNOLOGY: usize = 147 - 128;
const COPPER: u8 = 0xA;
/// Transmitter of 850 nm.
const NM_850: u8 = 0;
/// Byte of a cable's memory with the highest case temperature, °C; 0 for [`CASE_MAX`] (SFF-8636).
const CASE: usize = 190 - 128;
const CASE_MAX: u8 = 70;
/// Bit of the byte that says that power sent is measured.
const DIAGNOSTICS: (usize, u8) = (220 - 128, 1 << 2);
/// Average power that a receiver of 25 Gb/s at 850 nm takes in a lane, mW: -10.3 to 2.4 dBm (IEEE 802.3, 100GBASE-SR4).
const RECEIVE_850: (f64, f64) = (0.0933, 1.738);

/// What is beyond a threshold.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord)]
pub(crate) enum Cause {
    /// Little light arrives.
    Dark,
    /// Other than usual in the laser of this end.
    Laser,
    /// Too hot or too cold.
    Temperature,
    /// The supply voltage.
    Supply,
    /// Too much light arrives.
    Glare,
}

/// Something that a module should not measure.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct ModuleFault {
    pub(crate) cause: Cause,
    /// Beyond the alarm, not only the warning.
    pub is_alarm: bool,
    /// In words.
    pub what: String,
}

/// One quantity: its values by lane, or one of the module.
struct Quantity<'a> {
    name: &'static str,
    unit: &'static str,
    values: &'a [f64],
    limits: Option<Limits>,
    low: Cause,
    high: Cause,
}

/// What is beyond thresholds in what a module measured, the worst first.
pub fn module_faults(module: &Module, memory: Option<&CableMemory>) -> Vec<ModuleFault> {
    let readings = module.readings();
    let own = module.thresholds();
    let technology = memory.map(|memory| memory[TECHNOLOGY] >> 4);
    let single = |value: f64| [value];
    let (temperature, voltage) = (single(readings.temperature), single(readings.voltage));
    let mut quantities = vec![
        Quantity {
            name: "its temperature is",
            unit: "°C",
            values: &temperature,
            limits: own.map(|own| own.temperature),
            low: Cause::Temperature,
            high: Cause::Temperature,
        },
        Quantity {
            name: "its supply is",
            unit: "V",
            values: &voltage,
            limits: own.map(|own| own.voltage),
            low: Cause::Supply,
            high: Cause::Supply,
        },
    ];
    let is_optical = technology.is_some_and(|technology| technology < COPPER);
    if let Some(lanes) = readings.lanes.as_ref().filter(|_| is_optical) {
        quantities.push(Quantity {
            name: "it receives",
            unit: "mW",
            values: &lanes.receive_power,
            limits: own.map(|own| own.receive_power),
            low: Cause::Dark,
            high: Cause::Glare,
        });
        quantities.push(Quantity {
            name: "its laser takes",
            unit: "mA",
            values: &lanes.bias,
            limits: own.map(|own| own.bias),
            low: Cause::Laser,
            high: Cause::Laser,
        });
        if memory.is_some_and(|memory| memory[DIAGNOSTICS.0] & DIAGNOSTICS.1 != 0) {
            quantities.push(Quantity {
                name: "it sends",
                unit: "mW",
                values: &lanes.transmit_power,
                limits: own.map(|own| own.transmit_power),
                low: Cause::Laser,
                high: Cause::Laser,
            });
        }
    }
    let mut faults: Vec<ModuleFault> = quantities.iter().filter_map(Quantity::judged).collect();
    if own.is_none() {
        faults.extend(by_standard(module, memory));
    }
    faults.sort_by_key(|fault| (!fault.is_alarm, fault.cause));
    faults
}

impl Quantity<'_> {
    /// The worst of its values, where that is beyond a threshold.
    fn judged(&self) -> Option<ModuleFault> {
        let limits = self.limits?;
        let alarm = ("alarm", limits.low_alarm, limits.high_alarm);
        let warning = ("warning", limits.low_warning, limits.high_warning);
        // A module that does not judge a quantity has zeros.
        let bounds = [alarm, warning]
            .into_iter()
            .filter(|(_, low, high)| low < high);
        for (word, low, high) in bounds {
            for (is_low, limit) in [(true, low), (false, high)] {
                let beyond = |value: f64| if is_low { value < limit } else { value > limit };
                if let Some(values) = self.beyond(is_low, beyond) {
                    let side = if is_low { "below" } else { "above" };
                    let limit = number(limit);
                    return Some(ModuleFault {
                        cause: if is_low { self.low } else { self.high },
                        is_alarm: word == "alarm",
                        what: format!(
                            "{} {values}, {side} the module's {word} of {limit} {}",
                            self.name, self.unit
                        ),
                    });
                }
            }
        }
        None
    }

    /// The worst value beyond a threshold with its unit, and the lanes where there are several.
    fn beyond(&self, is_low: bool, beyond: impl Fn(f64) -> bool) -> Option<String> {
        let lanes = (1..).zip(self.values).filter(|(_, value)| beyond(**value));
        let lanes: Vec<(usize, f64)> = lanes.map(|(lane, value)| (lane, *value)).collect();
        let values = lanes.iter().map(|(_, value)| *value);
        let worst = match is_low {
            true => values.reduce(f64::min)?,
            false => values.reduce(f64::max)?,
        };
        let mut text = format!("{} {}", number(worst), self.unit);
        if self.unit == "mW" && worst > 0.0 {
            text += &format!(" ({:.1} dBm)", 10.0 * worst.log10());
        }
        if self.values.len() > 1 {
            let numbers: Vec<String> = lanes.iter().map(|(lane, _)| lane.to_string()).collect();
            let word = if numbers.len() == 1 { "lane" } else { "lanes" };
            text += &format!(" on {word} {}", numbers.join(", "));
        }
        Some(text)
    }
}

/// What is beyond what the standards say, for a module without thresholds.
fn by_standard(module: &Module, memory: Option<&CableMemory>) -> Vec<ModuleFault> {
    let (readings, mut faults) = (module.readings(), Vec::new());
    let Some(memory) = memory else { return faults };
    let most = match memory[CASE] {
        0 => CASE_MAX,
        degrees => degrees,
    };
    // A module without a sensor reads 0.
    if readings.lanes.is_some() && readings.temperature > f64::from(most) {
        faults.push(ModuleFault {
            cause: Cause::Temperature,
            is_alarm: true,
            what: format!(
                "its temperature is {} °C, above the {most} °C that its case may have (SFF-8636)",
                number(readings.temperature)
            ),
        });
    }
    let lanes = readings.lanes.filter(|_| memory[TECHNOLOGY] >> 4 == NM_850);
    // Without light in any lane there would be no link: the module measures no power.
    let lanes = lanes.filter(|lanes| lanes.receive_power.iter().any(|power| *power > 0.0));
    if let Some(lanes) = lanes {
        let quantity = Quantity {
            name: "it receives",
            unit: "mW",
            values: &lanes.receive_power,
            limits: None,
            low: Cause::Dark,
            high: Cause::Glare,
        };
        let (low, high) = RECEIVE_850;
        let sides = [
            (
                true,
                quantity.beyond(true, |power| power < low),
                low,
                "less",
                Cause::Dark,
            ),
            (
                false,
                quantity.beyond(false, |power| power > high),
                high,
                "more",
                Cause::Glare,
            ),
        ];
        for (_, values, limit, word, cause) in sides {
            faults.extend(values.map(|values| ModuleFault {
                cause,
                is_alarm: true,
                what: format!(
                    "it receives {values}, {word} than the {limit} mW of a receiver at 850 nm (IEEE 802.3, 100GBASE-SR4)"
                ),
            }));
        }
    }
    faults
}

/// What to do about it.
pub(crate) fn advice(cause: Cause) -> &'static str {
    match cause {
        Cause::Dark => {
            "little light arrives: look for bends; where the cable has connectors, clean them at both ends; then replace it"
        }
        Cause::Laser => {
            "the laser of this end fails: replace the cable, or the module where it is one of its own"
        }
        Cause::Temperature => "look at the airflow of the device, then replace the cable",
        Cause::Supply => "look at the power supply of the device, then replace the cable",
        Cause::Glare => "the laser of the other end is too strong for this cable: replace it",
    }
}

/// A number with two digits after the point, three where it is small.
fn number(value: f64) -> String {
    match value.abs() < 0.1 && value != 0.0 {
        true => format!("{value:.3}"),
        false => format!("{value:.2}"),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    /// An optical cable's memory that measures power sent.
    fn memory() -> CableMemory {
        let mut memory = [0; 128];
        memory[DIAGNOSTICS.0] = DIAGNOSTICS.1;
        memory
    }

    /// A module with these words in its registers and in its page of thresholds, at their addresses.
    fn module(registers: &[(usize, u16)], page: Option<&[(usize, u16)]>) -> Module {
        let fill = |bytes: &mut [u8], start: usize, words: &[(usize, u16)]| {
            for (place, word) in words {
                bytes[place - start..place - start + 2].copy_from_slice(&word.to_be_bytes());
            }
        };
        let mut monitors = [0; 64];
        fill(&mut monitors, 0, registers);
        let thresholds = page.map(|words| {
            let mut page = [0; 128];
            fill(&mut page, 128, words);
            page
        });
        Module {
            monitors,
            thresholds,
        }
    }

    fn words(faults: Vec<ModuleFault>) -> Vec<String> {
        faults.into_iter().map(|fault| fault.what).collect()
    }

    #[test]
    fn the_worst_lane_is_told_against_the_modules_own_thresholds() {
        // High and low alarm and warning of power received; other quantities are not judged.
        let page = [(176, 34_000), (178, 400), (180, 17_000), (182, 1_000)];
        let power = |lanes: [u16; 4]| {
            let places = [34, 36, 38, 40];
            let registers: Vec<(usize, u16)> = places.into_iter().zip(lanes).collect();
            words(module_faults(
                &module(&registers, Some(&page)),
                Some(&memory()),
            ))
        };
        assert_eq!(power([8_000; 4]), Vec::<String>::new());
        assert_eq!(power([1_000, 17_000, 8_000, 8_000]), Vec::<String>::new());
        assert_eq!(
            power([8_000, 300, 200, 900]),
            [
                "it receives 0.020 mW (-17.0 dBm) on lanes 2, 3, below the module's alarm of 0.040 mW"
            ]
        );
        assert_eq!(
            power([8_000, 8_000, 8_000, 900]),
            ["it receives 0.090 mW (-10.5 dBm) on lane 4, below the module's warning of 0.10 mW"]
        );
        assert_eq!(
            power([0, 8_000, 8_000, 8_000]),
            ["it receives 0.00 mW on lane 1, below the module's alarm of 0.040 mW"]
        );
    }

    #[test]
    fn alarms_come_before_warnings() {
        let limits = |at: usize| [(at, 100), (at + 2, 10), (at + 4, 80), (at + 6, 20)];
        let page = [limits(128), limits(144), limits(184), limits(192)].concat();
        let lanes = |at: usize, value: u16| [0, 2, 4, 6].map(|lane| (at + lane, value));
        let registers = [
            vec![(22, 90), (26, 5)],
            lanes(42, 50).to_vec(),
            lanes(50, 50).to_vec(),
        ];
        let faults = module_faults(&module(&registers.concat(), Some(&page)), Some(&memory()));
        let told: Vec<(Cause, bool)> = faults.iter().map(|one| (one.cause, one.is_alarm)).collect();
        assert_eq!(told, [(Cause::Supply, true), (Cause::Temperature, false)]);
        // Active copper has no light, and a module that does not measure power sent is not judged by it.
        let mut copper = memory();
        copper[TECHNOLOGY] = 0xC0;
        let registers = [vec![(22, 50), (26, 50)], lanes(42, 0).to_vec()].concat();
        assert_eq!(
            module_faults(&module(&registers, Some(&page)), Some(&copper)),
            []
        );
    }

    #[test]
    fn without_thresholds_the_standards_hold() {
        let lanes = [34, 36, 38, 40].map(|place| (place, 900_u16));
        let registers = [vec![(22, 71 << 8)], lanes.to_vec()].concat();
        let faults = words(module_faults(&module(&registers, None), Some(&memory())));
        assert_eq!(
            faults,
            [
                "it receives 0.090 mW (-10.5 dBm) on lanes 1, 2, 3, 4, less than the 0.0933 mW of a receiver at 850 nm \
                 (IEEE 802.3, 100GBASE-SR4)",
                "its temperature is 71.00 °C, above the 70 °C that its case may have (SFF-8636)",
            ]
        );
        let mut hardy = memory();
        hardy[CASE] = 85;
        assert_eq!(
            module_faults(&module(&registers, None), Some(&hardy)).len(),
            1
        );
        // A module that measures no power.
        assert_eq!(
            module_faults(&module(&[(22, 40 << 8)], None), Some(&memory())),
            []
        );
    }
}
