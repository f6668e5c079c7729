//! Calls by their names: which of them change something, and what their messages say to whoever records them.

use std::sync::OnceLock;

use prost_reflect::{DescriptorPool, DynamicMessage, MethodDescriptor, Value};
use prost_types::method_options::IdempotencyLevel;
use serde_json::json;

use crate::{DESCRIPTORS, event_json::as_json};

/// Longest text that is told as it is, bytes.
const TEXT_MAX: usize = 1_000;
/// Fields whose text may hold keys.
const SECRET: [&str; 1] = ["config"];

fn pool() -> Option<&'static DescriptorPool> {
    static FOUND: OnceLock<Option<DescriptorPool>> = OnceLock::new();
    let pool = FOUND.get_or_init(|| DescriptorPool::decode(DESCRIPTORS).ok());
    pool.as_ref()
}

/// Names of all services of the API, such as `weft.v1.FabricService`.
pub fn services() -> impl Iterator<Item = &'static str> {
    static FOUND: OnceLock<Vec<String>> = OnceLock::new();
    let all = FOUND.get_or_init(|| {
        let services = pool().into_iter().flat_map(DescriptorPool::services);
        services
            .map(|service| service.full_name().to_owned())
            .collect()
    });
    all.iter().map(String::as_str)
}

/// A call that may change something: one that `proto/weft` does not mark `NO_SIDE_EFFECTS`.
#[derive(Debug, Clone)]
pub struct ChangingCall {
    method: MethodDescriptor,
}

/// What a message says to whoever records it.
#[derive(Debug, Clone, Default, PartialEq)]
pub struct Said {
    /// Who asks, as he says.
    pub author: String,
    /// Why.
    pub reason: String,
    /// The plan that it is about; 0 for none.
    pub plan: u64,
    /// All of it as JSON with the names of fields as they are in the API. Texts that may hold keys, and long ones, are
    /// replaced by `{"sha256": …, "bytes": …}`.
    pub json: serde_json::Value,
}

impl ChangingCall {
    /// The call of this path, `/weft.v1.PortService/SetPortState`; none where it is not of Weft or only reads.
    pub fn of(path: &str) -> Option<Self> {
        let (service, name) = path.strip_prefix('/')?.split_once('/')?;
        let service = pool()?.get_service_by_name(service)?;
        let method = service.methods().find(|method| method.name() == name)?;
        let level = method.method_descriptor_proto().options.as_ref();
        let level = level.map(prost_types::MethodOptions::idempotency_level);
        (level != Some(IdempotencyLevel::NoSideEffects)).then_some(Self { method })
    }

    /// Whether a request has a place for a reason.
    pub fn takes_reason(&self) -> bool {
        let input = self.method.input();
        let label = input.get_field_by_name("label");
        let label = label.and_then(|field| field.kind().as_message().cloned());
        [Some(input), label]
            .iter()
            .flatten()
            .any(|message| message.get_field_by_name("reason").is_some())
    }

    /// Whether a request has a reason: one for all of it, or one for each of its ports. One that only asks what speaks
    /// against a change needs none.
    pub fn has_reason(&self, message: &[u8]) -> bool {
        let Ok(message) = DynamicMessage::decode(self.method.input(), message) else {
            return false;
        };
        let only_asks = message.get_field_by_name("validate_only");
        if only_asks.and_then(|field| field.as_bool()) == Some(true) {
            return true;
        }
        let has = |message: &DynamicMessage| {
            let reason = text(message, "reason");
            reason.is_some_and(|reason| !reason.trim().is_empty())
        };
        let label = message.get_field_by_name("label");
        let ports = message.get_field_by_name("ports");
        let ports = ports
            .as_deref()
            .and_then(Value::as_list)
            .unwrap_or_default();
        let each = ports.iter().all(|port| port.as_message().is_some_and(has));
        let of_label = label
            .as_deref()
            .and_then(Value::as_message)
            .is_some_and(has);
        has(&message) || of_label || (!ports.is_empty() && each)
    }

    /// What a request says. `digest` makes the digest of a text, hexadecimal.
    pub fn request(&self, message: &[u8], digest: &dyn Fn(&[u8]) -> String) -> Option<Said> {
        let message = DynamicMessage::decode(self.method.input(), message).ok()?;
        let label = message.get_field_by_name("label");
        let label = label.as_deref().and_then(Value::as_message);
        let text =
            |name| text(&message, name).or_else(|| label.and_then(|one| self::text(one, name)));
        let mut json = as_json(&message)?;
        shorten("", &mut json, digest);
        Some(Said {
            author: text("author").unwrap_or_default(),
            reason: text("reason").unwrap_or_default(),
            plan: plan(&message),
            json,
        })
    }

    /// The plan that an answer names, or its operation; 0 for none.
    pub fn plan_of_answer(&self, message: &[u8]) -> u64 {
        let Ok(message) = DynamicMessage::decode(self.method.output(), message) else {
            return 0;
        };
        let operation = message.get_field_by_name("operation");
        let operation = operation.as_deref().and_then(Value::as_message);
        [Some(&message), operation]
            .into_iter()
            .flatten()
            .map(plan)
            .find(|plan| *plan > 0)
            .unwrap_or(0)
    }
}

fn text(message: &DynamicMessage, name: &str) -> Option<String> {
    let field = message.get_field_by_name(name)?;
    let text = field.as_str()?.to_owned();
    Some(text).filter(|text| !text.is_empty())
}

fn plan(message: &DynamicMessage) -> u64 {
    let named = ["plan_id", "expected_plan_id"].iter();
    let mut named = named.filter_map(|name| message.get_field_by_name(name)?.as_u64());
    named.next().unwrap_or(0)
}

fn shorten(name: &str, value: &mut serde_json::Value, digest: &dyn Fn(&[u8]) -> String) {
    match value {
        serde_json::Value::String(text) if SECRET.contains(&name) || text.len() > TEXT_MAX => {
            *value = json!({ "sha256": digest(text.as_bytes()), "bytes": text.len() });
        }
        serde_json::Value::Array(values) => {
            for value in values {
                shorten(name, value, digest);
            }
        }
        serde_json::Value::Object(fields) => {
            for (name, value) in fields {
                shorten(name, value, digest);
            }
        }
        _ => {}
    }
}

#[cfg(test)]
mod tests {
    use prost::Message;

    use super::*;
    use crate::v1;

    fn digest(text: &[u8]) -> String {
        format!("digest of {}", text.len())
    }

    #[test]
    fn a_reason_is_taken_by_itself_or_with_a_label() {
        for (path, expected) in [
            ("/weft.v1.PortService/SetPorts", true),
            ("/weft.v1.RouteService/ApplyRoutePlan", true),
            ("/weft.v1.ManagerService/SetLogLevel", false),
        ] {
            let call = ChangingCall::of(path).expect(path);
            assert_eq!(call.takes_reason(), expected, "{path}");
        }
    }

    #[test]
    fn a_list_of_ports_has_a_reason_where_each_of_them_has() {
        let call = ChangingCall::of("/weft.v1.PortService/SetPorts").expect("a call");
        let port = |reason: &str| v1::PortToSet {
            reason: reason.to_owned(),
            ..Default::default()
        };
        for (reason, ports, expected) in [
            ("", vec![], false),
            ("dust", vec![], true),
            ("dust", vec![port("")], true),
            ("", vec![port("dust"), port("worn")], true),
            ("", vec![port("dust"), port(" ")], false),
            (" ", vec![port("")], false),
        ] {
            let request = v1::SetPortsRequest {
                ports,
                reason: reason.to_owned(),
                ..Default::default()
            };
            let has = call.has_reason(&request.encode_to_vec());
            assert_eq!(has, expected, "{request:?}");
        }
        assert!(!call.has_reason(b"\xff"));
        let asks = v1::SetPortsRequest {
            validate_only: true,
            ..Default::default()
        };
        assert!(call.has_reason(&asks.encode_to_vec()));
        let label = Some(v1::OperationLabel {
            reason: "dust".to_owned(),
            ..Default::default()
        });
        let sweep = ChangingCall::of("/weft.v1.SweepService/StartSweep").expect("a call");
        let request = v1::StartSweepRequest { label };
        assert!(sweep.has_reason(&request.encode_to_vec()));
    }

    #[test]
    fn calls_that_only_read_are_not_recorded() {
        for (path, expected) in [
            ("/weft.v1.PortService/SetPortState", true),
            ("/weft.v1.RouteService/ApplyRoutePlan", true),
            ("/weft.emulator.v1.EmulatorService/StartTraffic", true),
            ("/weft.v1.PortService/ListQuarantine", false),
            ("/weft.v1.WatchService/Watch", false),
            ("/weft.v1.PortService/Nothing", false),
            ("/grpc.health.v1.Health/Check", false),
            ("weft.v1.PortService/SetPortState", false),
            ("/", false),
        ] {
            assert_eq!(ChangingCall::of(path).is_some(), expected, "{path}");
        }
    }

    #[test]
    fn calls_named_as_reading_are_marked() {
        let reads = [
            "Get", "List", "Watch", "Check", "Validate", "Verify", "Export", "Draw", "Dump",
            "Explain",
        ];
        let pool = pool().expect("descriptors");
        let methods = pool.services().flatten_methods();
        assert!(methods.len() > 60, "{}", methods.len());
        for name in methods {
            let (_, method) = name.rsplit_once('/').expect("a path");
            let is_reading = reads.iter().any(|verb| method.starts_with(verb));
            let also = ["CompareTopology", "PlanVirtualFabrics", "WaitOperation"].contains(&method);
            let changes = ChangingCall::of(&name).is_some();
            assert_eq!(changes, !is_reading && !also, "{name}");
        }
    }

    trait Flatten {
        fn flatten_methods(self) -> Vec<String>;
    }

    impl<T: Iterator<Item = prost_reflect::ServiceDescriptor>> Flatten for T {
        fn flatten_methods(self) -> Vec<String> {
            let path = |method: MethodDescriptor| {
                format!("/{}/{}", method.parent_service().full_name(), method.name())
            };
            self.flat_map(|service| service.methods().map(path).collect::<Vec<_>>())
                .collect()
        }
    }

    #[test]
    fn a_request_tells_who_and_why_but_no_configuration() {
        let call = ChangingCall::of("/weft.v1.RouteService/PlanRoutes").expect("a call");
        let request = v1::PlanRoutesRequest {
            change: Some(v1::plan_routes_request::Change::Config(
                "<MKey>5</MKey>".to_owned(),
            )),
            label: Some(v1::OperationLabel {
                author: "alice".to_owned(),
                reason: "r".repeat(2_000),
                ..v1::OperationLabel::default()
            }),
        };
        let said = call
            .request(&request.encode_to_vec(), &digest)
            .expect("it is one");
        assert_eq!(said.author, "alice");
        assert_eq!(
            said.json["config"],
            json!({ "sha256": "digest of 14", "bytes": 14 })
        );
        assert_eq!(said.json["label"]["reason"]["bytes"], json!(2_000));
        assert!(!said.json.to_string().contains("MKey"));
        assert_eq!(call.request(&[0xff], &digest), None);
    }

    #[test]
    fn plans_are_found_in_requests_and_answers() {
        let call = ChangingCall::of("/weft.v1.RouteService/ApplyRoutePlan").expect("a call");
        let request = v1::ApplyRoutePlanRequest {
            plan_id: 7,
            ..v1::ApplyRoutePlanRequest::default()
        };
        let said = call.request(&request.encode_to_vec(), &digest);
        assert_eq!(said.map(|said| said.plan), Some(7));
        let call = ChangingCall::of("/weft.v1.RouteService/PlanRoutes").expect("a call");
        let answer = v1::PlanRoutesResponse {
            plan_id: Some(9),
            ..v1::PlanRoutesResponse::default()
        };
        assert_eq!(call.plan_of_answer(&answer.encode_to_vec()), 9);
        assert_eq!(call.plan_of_answer(&[0xff]), 0);
    }
}
