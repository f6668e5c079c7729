//! Every method of the API, called with arguments that make no sense: each refusal has details for programs.

use std::collections::BTreeMap;

use prost::Message;
use prost::bytes::{Buf, BufMut};
use prost_types::field_descriptor_proto::{Label, Type};
use prost_types::{DescriptorProto, FileDescriptorSet};
use tonic::client::Grpc;
use tonic::codec::{Codec, DecodeBuf, Decoder, EncodeBuf, Encoder};
use tonic::transport::Channel;
use tonic::{Code, Request, Status};
use tonic_types::StatusExt;
use weft_api::client::Client;
use weft_api::v1;

use crate::harness::Daemon;

const DOCUMENT: &str = include_str!("../../../../docs/api.md");

/// Messages as bytes.
#[derive(Default)]
struct Raw;

impl Codec for Raw {
    type Encode = Vec<u8>;
    type Decode = Vec<u8>;
    type Encoder = Self;
    type Decoder = Self;

    fn encoder(&mut self) -> Self {
        Self
    }

    fn decoder(&mut self) -> Self {
        Self
    }
}

impl Encoder for Raw {
    type Item = Vec<u8>;
    type Error = Status;

    fn encode(&mut self, item: Vec<u8>, buffer: &mut EncodeBuf<'_>) -> Result<(), Status> {
        buffer.put_slice(&item);
        Ok(())
    }
}

impl Decoder for Raw {
    type Item = Vec<u8>;
    type Error = Status;

    fn decode(&mut self, buffer: &mut DecodeBuf<'_>) -> Result<Option<Vec<u8>>, Status> {
        Ok(Some(buffer.copy_to_bytes(buffer.remaining()).to_vec()))
    }
}

/// Longest message of a refusal, bytes: it and its details have to fit into headers.
const MESSAGE_MAX: usize = 2_000;

struct Definition(FileDescriptorSet);

impl Definition {
    fn message(&self, name: &str) -> Option<&DescriptorProto> {
        let mut files = self.0.file.iter();
        files.find_map(|file| {
            let local = name.strip_prefix(&format!(".{}.", file.package()))?;
            file.message_type
                .iter()
                .find(|message| message.name() == local)
        })
    }

    /// A message of this type in which every field is as wrong as its type permits, and each string is this one.
    fn hostile(&self, name: &str, text: &str, depth: u32) -> Vec<u8> {
        let mut bytes = Vec::new();
        let fields = self.message(name).map_or(&[][..], |message| &message.field);
        for field in fields {
            let number = field.number() as u64;
            let repeated = field.label() == Label::Repeated;
            let content = match field.r#type() {
                Type::String => Some(text.as_bytes().to_vec()),
                Type::Bytes => Some(vec![0xff; 9]),
                Type::Message if depth > 0 => {
                    Some(self.hostile(field.type_name(), text, depth - 1))
                }
                Type::Uint32 | Type::Enum | Type::Int32 if repeated => {
                    Some(vec![0xff, 0xff, 0xff, 0xff, 0x07])
                }
                _ => None,
            };
            match (content, field.r#type()) {
                (Some(content), _) => {
                    varint(&mut bytes, number << 3 | 2);
                    varint(&mut bytes, content.len() as u64);
                    bytes.extend(content);
                }
                (None, Type::Fixed64 | Type::Double) => {
                    varint(&mut bytes, number << 3 | 1);
                    bytes.extend([0xff; 8]);
                }
                (None, Type::Uint32 | Type::Enum | Type::Int32 | Type::Uint64 | Type::Int64) => {
                    varint(&mut bytes, number << 3);
                    varint(&mut bytes, 0x7fff_ffff);
                }
                _ => {}
            }
        }
        bytes
    }
}

fn varint(bytes: &mut Vec<u8>, mut value: u64) {
    while value >= 0x80 {
        bytes.push(value as u8 | 0x80);
        value >>= 7;
    }
    bytes.push(value as u8);
}

/// The refusal of a call, if it is one: at once, or in its stream.
async fn refusal(channel: &Channel, path: &str, message: Vec<u8>) -> Option<Status> {
    let mut client = Grpc::new(channel.clone());
    client.ready().await.unwrap();
    let messages = tokio_stream::iter([message]);
    let path = path.parse().unwrap();
    let answer = client.streaming(Request::new(messages), path, Raw).await;
    let mut stream = match answer {
        Ok(answer) => answer.into_inner(),
        Err(status) => return Some(status),
    };
    // The first message of a stream says that the call is accepted.
    stream.message().await.err()
}

/// Whether a row of docs/api.md says that refusals of this reason have this fact: `fact` | of `REASON`.
fn is_documented(fact: &str, reason: &str) -> bool {
    let rows = DOCUMENT.lines().filter(|line| line.starts_with("| `"));
    rows.map(|row| row.split('|').map(str::trim).collect::<Vec<_>>())
        .filter(|cells| cells.len() > 3 && cells[1].contains(&format!("`{fact}`")))
        .any(|cells| cells[2].contains(&format!("`{reason}`")))
}

/// That a refusal has its details, with a reason that is documented.
fn has_details(path: &str, status: &Status) {
    let details = status.get_error_details();
    let info = details.error_info();
    let info = info.unwrap_or_else(|| panic!("{path}: {status:?}"));
    assert_eq!(info.domain, "weft.v1", "{path}");
    let row = format!("`{}`", info.reason);
    assert!(
        DOCUMENT.contains(&row),
        "{path}: {row} is not in docs/api.md"
    );
    for fact in info.metadata.keys() {
        assert!(is_documented(fact, &info.reason), "{path}: {info:?}");
    }
    match status.code() {
        Code::InvalidArgument => {
            let bad = details.bad_request().unwrap();
            let field = &bad.field_violations[0].field;
            assert!(!field.is_empty(), "{path}: {status:?}");
            assert_eq!(info.metadata.get("field"), Some(field), "{path}");
        }
        Code::FailedPrecondition => {
            let state = details.precondition_failure().unwrap();
            assert_eq!(state.violations[0].r#type, info.reason, "{path}");
        }
        _ => {}
    }
}

#[tokio::test]
async fn every_method_refuses_with_details() {
    let daemon = Daemon::up("one-switch:2");
    let channel = Channel::from_shared(daemon.api.clone()).unwrap();
    let channel = channel.connect().await.unwrap();
    let definition = FileDescriptorSet::decode(weft_api::DESCRIPTORS).unwrap();
    let definition = Definition(definition);
    let nothing = "\u{1b}no such thing: [\u{7f}";
    let long = "\u{e9}ndless".repeat(10_000);
    let mut refused = Vec::new();
    let mut methods = 0;
    for file in &definition.0.file {
        for service in &file.service {
            for method in &service.method {
                let path = format!("/{}.{}/{}", file.package(), service.name(), method.name());
                methods += 1;
                // Bytes that are no message at all are refused by every method.
                let garbage = refusal(&channel, &path, vec![0xff; 5]).await;
                has_details(
                    &path,
                    &garbage.unwrap_or_else(|| panic!("{path} takes garbage")),
                );
                for text in [nothing, &long] {
                    let hostile = definition.hostile(method.input_type(), text, 4);
                    if let Some(status) = refusal(&channel, &path, hostile).await {
                        has_details(&path, &status);
                        let length = status.message().len();
                        assert!(length <= MESSAGE_MAX, "{path}: {length} bytes");
                        refused.push((path.clone(), status.code()));
                    }
                }
            }
        }
    }
    assert!(methods > 50, "{methods} methods");
    let arguments = refused
        .iter()
        .filter(|(_, code)| *code == Code::InvalidArgument);
    assert!(arguments.count() > 20, "{refused:#?}");
    let unknown = refusal(&channel, "/weft.v1.FabricService/Nothing", Vec::new()).await;
    let unknown = unknown.unwrap();
    assert_eq!(unknown.code(), Code::Unimplemented);
    has_details("an unknown method", &unknown);
}

/// That a refusal has this reason and these facts.
#[track_caller]
fn has_facts<T: std::fmt::Debug>(
    answer: Result<T, Status>,
    reason: &str,
    expected: &[(&str, &str)],
) {
    let status = answer.unwrap_err();
    has_details(reason, &status);
    let info = status.get_details_error_info().unwrap();
    assert_eq!(info.reason, reason, "{status:?}");
    let facts: BTreeMap<&str, &str> = info
        .metadata
        .iter()
        .map(|(name, value)| (&**name, &**value))
        .collect();
    assert_eq!(facts, expected.iter().copied().collect());
}

fn disable(node_guid: u64, port: u32) -> v1::SetPortStateRequest {
    v1::SetPortStateRequest {
        port: Some(v1::PortId { node_guid, port }),
        action: v1::PortAction::Disable.into(),
        validate_only: true,
        ..v1::SetPortStateRequest::default()
    }
}

#[tokio::test]
async fn a_refused_port_is_named_with_what_is_allowed() {
    let daemon = Daemon::up("one-switch:2");
    let client = Client::connect(&daemon.api, None).await.unwrap();
    let mut fabric = client.fabric();
    let nodes = fabric.list_nodes(v1::ListNodesRequest::default()).await;
    let nodes = nodes.unwrap().into_inner().nodes;
    let switch = nodes.iter().find(|node| node.num_ports > 1).unwrap();
    let (guid, most) = (
        format!("{:#018x}", switch.guid),
        switch.num_ports.to_string(),
    );
    let mut ports = client.ports();
    has_facts(
        ports.set_port_state(disable(1, 1)).await,
        "NO_NODE",
        &[("node_guid", "0x0000000000000001")],
    );
    has_facts(
        ports.set_port_state(disable(switch.guid, 99)).await,
        "NO_PORT",
        &[
            ("field", "port"),
            ("node_guid", &guid),
            ("port", "99"),
            ("least", "1"),
            ("most", &most),
        ],
    );
    let wordy = v1::SetPortStateRequest {
        reason: "x".repeat(201),
        ..disable(switch.guid, 1)
    };
    has_facts(
        ports.set_port_state(wordy).await,
        "REASON",
        &[("field", "reason"), ("limit", "200")],
    );
    let own = (1..=switch.num_ports).map(|port| disable(switch.guid, port));
    let own = v1::SetPortsRequest {
        ports: own
            .map(|one| v1::PortToSet {
                port: one.port,
                reason: String::new(),
            })
            .collect(),
        action: v1::PortAction::Disable.into(),
        ..v1::SetPortsRequest::default()
    };
    let refused = ports.set_ports(own).await.unwrap_err();
    let info = refused.get_details_error_info().unwrap();
    assert_eq!(info.metadata["node_guid"], guid, "{refused:?}");
    assert!(info.metadata["ports"].parse::<u32>().unwrap() >= 1);
    let none = v1::SetPortsRequest {
        action: v1::PortAction::Disable.into(),
        ..v1::SetPortsRequest::default()
    };
    has_facts(
        ports.set_ports(none).await,
        "WRONG_FIELD",
        &[("field", "ports"), ("limit", "4096")],
    );
}

#[tokio::test]
async fn what_is_not_there_and_what_is_allowed_are_named() {
    let daemon = Daemon::up("one-switch:2");
    let client = Client::connect(&daemon.api, None).await.unwrap();
    let id = "nothing".to_owned();
    has_facts(
        client
            .operations()
            .get_operation(v1::GetOperationRequest { id })
            .await,
        "NO_OPERATION",
        &[("operation_id", "nothing")],
    );
    let apply = v1::ApplyRoutePlanRequest {
        plan_id: 77,
        ..v1::ApplyRoutePlanRequest::default()
    };
    has_facts(
        client.routes().apply_route_plan(apply).await,
        "NO_PLAN",
        &[("plan_id", "77")],
    );
    has_facts(
        client
            .sweeps()
            .get_sweep(v1::GetSweepRequest { number: 0 })
            .await,
        "NOT_FOUND",
        &[("sweep", "0")],
    );
    let focus = v1::ListNodesRequest {
        focus: "node:nobody".to_owned(),
        ..v1::ListNodesRequest::default()
    };
    has_facts(
        client.fabric().list_nodes(focus).await,
        "NOT_FOUND",
        &[("field", "focus"), ("point", "node:nobody")],
    );
    let token = v1::ListNodesRequest {
        page_token: "nonsense".to_owned(),
        ..v1::ListNodesRequest::default()
    };
    has_facts(
        client.fabric().list_nodes(token).await,
        "WRONG_FIELD",
        &[("field", "page_token")],
    );
    let filter = "loud=soft".to_owned();
    has_facts(
        client
            .manager()
            .set_log_level(v1::SetLogLevelRequest { filter })
            .await,
        "WRONG_FIELD",
        &[
            ("field", "filter"),
            ("allowed", "error, warn, info, debug, trace"),
        ],
    );
    let start = v1::StartLoopTest {
        fast: false,
        packets: 11,
    };
    let order = Some(v1::control_loop_test_request::Order::Start(start));
    has_facts(
        client
            .manager()
            .control_loop_test(v1::ControlLoopTestRequest { order })
            .await,
        "WRONG_FIELD",
        &[
            ("field", "order"),
            ("value", "11"),
            ("least", "0"),
            ("most", "10"),
        ],
    );
    let engine = v1::PlanRoutesRequest {
        change: Some(v1::plan_routes_request::Change::Engine("magic".to_owned())),
        ..v1::PlanRoutesRequest::default()
    };
    let refused = client.routes().plan_routes(engine).await.unwrap_err();
    let info = refused.get_details_error_info().unwrap();
    let allowed = &info.metadata["allowed"];
    assert!(
        allowed.split(", ").any(|name| name == "fattree"),
        "{allowed}"
    );
}
