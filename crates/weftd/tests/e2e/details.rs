//! Every method of the API, called with arguments that make no sense: each refusal has details for programs.

use prost::Message;
use prost::bytes::{Buf, BufMut};
use prost_types::field_descriptor_proto::{Label, Type};
use prost_types::{DescriptorProto, FileDescriptorSet};
use tonic::client::Grpc;
use tonic::codec::{Codec, DecodeBuf, Decoder, EncodeBuf, Encoder};
use tonic::transport::Channel;
use tonic::{Code, Request, Status};
use tonic_types::StatusExt;

use crate::harness::Daemon;

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

    /// A message of this type in which every field is as wrong as its type permits.
    fn hostile(&self, name: &str, depth: u32) -> Vec<u8> {
        let mut bytes = Vec::new();
        let fields = self.message(name).map_or(&[][..], |message| &message.field);
        for field in fields {
            let number = field.number() as u64;
            let repeated = field.label() == Label::Repeated;
            let content = match field.r#type() {
                Type::String => Some(b"\x1bno such thing: [\xff".map(|byte| byte & 0x7f).to_vec()),
                Type::Bytes => Some(vec![0xff; 9]),
                Type::Message if depth > 0 => Some(self.hostile(field.type_name(), depth - 1)),
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

/// That a refusal has its details, with a reason that is documented.
fn has_details(path: &str, status: &Status) {
    let details = status.get_error_details();
    let info = details.error_info();
    let info = info.unwrap_or_else(|| panic!("{path}: {status:?}"));
    assert_eq!(info.domain, "weft.v1", "{path}");
    let documented = include_str!("../../../../docs/api.md");
    let row = format!("`{}`", info.reason);
    assert!(
        documented.contains(&row),
        "{path}: {row} is not in docs/api.md"
    );
    match status.code() {
        Code::InvalidArgument => {
            let bad = details.bad_request().unwrap();
            assert!(
                !bad.field_violations[0].field.is_empty(),
                "{path}: {status:?}"
            );
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
    let mut refused = Vec::new();
    let mut methods = 0;
    for file in &definition.0.file {
        for service in &file.service {
            for method in &service.method {
                let path = format!("/{}.{}/{}", file.package(), service.name(), method.name());
                let hostile = definition.hostile(method.input_type(), 4);
                methods += 1;
                // Bytes that are no message at all are refused by every method.
                let garbage = refusal(&channel, &path, vec![0xff; 5]).await;
                has_details(
                    &path,
                    &garbage.unwrap_or_else(|| panic!("{path} takes garbage")),
                );
                if let Some(status) = refusal(&channel, &path, hostile).await {
                    has_details(&path, &status);
                    refused.push((path, status.code()));
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
