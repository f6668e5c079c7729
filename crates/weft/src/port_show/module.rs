//! What a cable says of itself, and what the module in the port measures.

use serde_json::{Value, json};
use weft_api::v1;
use weft_fabric::text::for_terminal;

/// Lines of at most 80 columns, but for what is wrong.
pub(super) fn lines(cable: &v1::GetCableResponse) -> Vec<String> {
    let names = [&cable.vendor, &cable.part_number, &cable.serial_number];
    let names: Vec<String> = names
        .into_iter()
        .map(|name| for_terminal(name).into_owned())
        .collect();
    let mut lines = vec![format!("  cable memory: {}", names.join(", "))];
    let Some(module) = &cable.module else {
        return lines;
    };
    lines.push(format!(
        "  module: {:.1} °C, {:.2} V",
        module.temperature_celsius, module.volts
    ));
    let rows = [
        ("receives", &module.receive_milliwatts, "mW"),
        ("sends", &module.transmit_milliwatts, "mW"),
        ("laser", &module.bias_milliamperes, "mA"),
    ];
    for (name, values, unit) in rows.into_iter().filter(|(_, values, _)| !values.is_empty()) {
        let values: Vec<String> = values.iter().map(|value| format!("{value:.3}")).collect();
        lines.push(format!("    {name:<8} {} {unit}", values.join(" ")));
    }
    lines.extend(
        module
            .faults
            .iter()
            .map(|fault| format!("    {}", for_terminal(fault))),
    );
    lines
}

pub(super) fn json(cable: &v1::GetCableResponse) -> Value {
    json!({
        "vendor": cable.vendor,
        "part_number": cable.part_number,
        "serial_number": cable.serial_number,
        "module": cable.module.as_ref().map(module_json),
    })
}

fn module_json(module: &v1::CableModule) -> Value {
    let limits = |limits: Option<v1::CableLimits>| {
        limits.map(|limits| {
            json!({
                "high_alarm": limits.high_alarm,
                "low_alarm": limits.low_alarm,
                "high_warning": limits.high_warning,
                "low_warning": limits.low_warning,
            })
        })
    };
    json!({
        "temperature_celsius": module.temperature_celsius,
        "volts": module.volts,
        "receive_milliwatts": module.receive_milliwatts,
        "bias_milliamperes": module.bias_milliamperes,
        "transmit_milliwatts": module.transmit_milliwatts,
        "thresholds": module.thresholds.as_ref().map(|own| json!({
            "temperature_celsius": limits(own.temperature_celsius),
            "volts": limits(own.volts),
            "receive_milliwatts": limits(own.receive_milliwatts),
            "bias_milliamperes": limits(own.bias_milliamperes),
            "transmit_milliwatts": limits(own.transmit_milliwatts),
        })),
        "faults": module.faults,
    })
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn lines_fit_a_terminal() {
        let name = "0123456789abcdef".to_owned();
        let cable = v1::GetCableResponse {
            vendor: name.clone(),
            part_number: name.clone(),
            serial_number: "\u{1b}[31m".to_owned(),
            module: Some(v1::CableModule {
                temperature_celsius: -40.04,
                volts: 3.3,
                receive_milliwatts: vec![0.8, 0.02, 0.8, 0.8],
                faults: vec!["it receives 0.020 mW".to_owned()],
                ..v1::CableModule::default()
            }),
        };
        let lines = lines(&cable);
        assert!(
            lines.iter().all(|line| line.chars().count() <= 80),
            "{lines:?}"
        );
        assert!(!lines.concat().contains('\u{1b}'), "{lines:?}");
        assert_eq!(lines[1], "  module: -40.0 °C, 3.30 V");
        assert_eq!(lines[2], "    receives 0.800 0.020 0.800 0.800 mW");
        assert_eq!(lines[3], "    it receives 0.020 mW");
    }
}
