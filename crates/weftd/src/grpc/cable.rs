//! CableService.

use tonic::{Request, Response, Status};
use weft_api::v1;
use weft_api::v1::cable_service_server::CableService;
use weft_fabric::cables::{CableMemory, Limits, Module, Thresholds};
use weft_fabric::{CableIdentity, CableText};
use weft_health::module_faults;

use super::Services;
use super::refusal::wrong_field;

#[tonic::async_trait]
impl CableService for Services {
    async fn get_cable(
        &self,
        request: Request<v1::GetCableRequest>,
    ) -> Result<Response<v1::GetCableResponse>, Status> {
        self.must_be_master()?;
        let id = request.into_inner().port.unwrap_or_default();
        let (node, port) = weft_api::point_of(&id)
            .ok_or_else(|| wrong_field("port.port", &format!("{}, allowed: 0 to 255", id.port)))?;
        let cables = self.cables.borrow().clone();
        let (memory, module) = (cables.get(node, port), cables.module(node, port));
        if memory.is_none() && module.is_none() {
            return Err(self.unread("the cable in", (node, port)));
        }
        let text = |field: CableText| {
            memory.map_or_else(String::new, |memory| CableIdentity::new(memory).text(field))
        };
        Ok(Response::new(v1::GetCableResponse {
            vendor: text(CableText::Vendor),
            part_number: text(CableText::PartNumber),
            serial_number: text(CableText::SerialNumber),
            module: module.map(|known| message(known, memory)),
        }))
    }
}

fn message(module: &Module, memory: Option<&CableMemory>) -> v1::CableModule {
    let readings = module.readings();
    let lanes = |of: fn(&weft_fabric::cables::LaneReadings) -> [f64; 4]| {
        readings
            .lanes
            .as_ref()
            .map_or_else(Vec::new, |lanes| of(lanes).to_vec())
    };
    v1::CableModule {
        temperature_celsius: readings.temperature,
        volts: readings.voltage,
        receive_milliwatts: lanes(|lanes| lanes.receive_power),
        bias_milliamperes: lanes(|lanes| lanes.bias),
        transmit_milliwatts: lanes(|lanes| lanes.transmit_power),
        thresholds: module.thresholds().as_ref().map(thresholds),
        faults: module_faults(module, memory)
            .into_iter()
            .map(|fault| fault.what)
            .collect(),
    }
}

fn thresholds(of: &Thresholds) -> v1::CableThresholds {
    let limits = |of: &Limits| {
        Some(v1::CableLimits {
            high_alarm: of.high_alarm,
            low_alarm: of.low_alarm,
            high_warning: of.high_warning,
            low_warning: of.low_warning,
        })
    };
    v1::CableThresholds {
        temperature_celsius: limits(&of.temperature),
        volts: limits(&of.voltage),
        receive_milliwatts: limits(&of.receive_power),
        bias_milliamperes: limits(&of.bias),
        transmit_milliwatts: limits(&of.transmit_power),
    }
}
