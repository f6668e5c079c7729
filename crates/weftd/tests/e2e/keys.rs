//! Keys of the fabric are in no answer of the daemon, whatever their form.

use prost::Message;
use tokio_stream::StreamExt;
use weft_api::client::Client;
use weft_api::v1;

use crate::harness::{Daemon, Start};

pub(crate) const SM_KEY: u64 = 0x5EC2_E70D_DBA1_1001;
pub(crate) const M_KEY: u64 = 0xFEED_FACE_CAFE_BEE5;

/// A daemon whose fabric has keys.
fn keyed() -> Daemon {
    let start = Start::new("fattree:4");
    let file = start.dir.path().join("opafm.xml");
    let text = std::fs::read_to_string(&file).unwrap();
    let keys = format!("<Sm><SmKey>{SM_KEY:#x}</SmKey><MKey>{M_KEY:#x}</MKey>");
    assert_eq!(text.matches("<Sm>").count(), 1, "in Common");
    std::fs::write(&file, text.replacen("<Sm>", &keys, 1)).unwrap();
    start.up()
}

/// The key as numbers in messages and datagrams have it, and as people write it.
fn forms(key: u64) -> Vec<Vec<u8>> {
    let mut varint = Vec::new();
    prost::encoding::encode_varint(key, &mut varint);
    let hex = format!("{key:x}");
    vec![
        key.to_be_bytes().to_vec(),
        key.to_le_bytes().to_vec(),
        varint,
        hex.to_uppercase().into_bytes(),
        hex.into_bytes(),
        key.to_string().into_bytes(),
    ]
}

pub(crate) fn has_no_key(what: &str, bytes: &[u8]) {
    assert!(!bytes.is_empty(), "{what} is empty");
    for key in [SM_KEY, M_KEY] {
        for form in forms(key) {
            let found = bytes.windows(form.len()).any(|window| window == form);
            assert!(!found, "{what} has {key:#x} as {form:x?}");
        }
    }
}

async fn bytes<M: Message>(mut parts: tonic::Streaming<M>) -> Vec<u8> {
    let mut bytes = Vec::new();
    while let Some(part) = parts.next().await {
        bytes.extend(part.unwrap().encode_to_vec());
    }
    bytes
}

#[tokio::test]
async fn no_answer_has_a_key() {
    let daemon = keyed();
    let client = Client::connect(&daemon.api, None).await.unwrap();
    let (mut fabric, mut config) = (client.fabric(), client.config());

    let snapshot = fabric.get_snapshot(v1::GetSnapshotRequest::default()).await;
    has_no_key("GetSnapshot", &bytes(snapshot.unwrap().into_inner()).await);
    for format in [
        v1::ExportFormat::OpareportSnapshot,
        v1::ExportFormat::Ibnetdiscover,
        v1::ExportFormat::Dot,
    ] {
        let request = v1::ExportFabricRequest {
            format: format.into(),
            port_tables: true,
            at: None,
        };
        let export = fabric.export_fabric(request).await.unwrap().into_inner();
        has_no_key(format.as_str_name(), &bytes(export).await);
    }
    let shown = config.get_effective_config(v1::GetEffectiveConfigRequest {});
    let shown = shown.await.unwrap().into_inner();
    assert!(shown.text.contains("<!-- MKey: a key"), "{}", shown.text);
    has_no_key("GetEffectiveConfig", &shown.encode_to_vec());

    let counts = fabric
        .get_fabric(v1::GetFabricRequest::default())
        .await
        .unwrap();
    has_no_key("GetFabric", &counts.into_inner().encode_to_vec());
    let ports = fabric.list_ports(v1::ListPortsRequest::default()).await;
    has_no_key("ListPorts", &ports.unwrap().into_inner().encode_to_vec());
    has_no_key("the metrics", daemon.scrape().as_bytes());
    has_no_key("the log", daemon.log().as_bytes());
    let log = daemon.weft_ok(&["report", "nodes", "-d", "3"]);
    has_no_key("a report", log.as_bytes());
}

#[tokio::test]
async fn a_refused_key_is_not_told() {
    let daemon = keyed();
    let file = daemon.dir.path().join("opafm.xml");
    let text = std::fs::read_to_string(&file).unwrap();
    let wrong = text.replace(&format!("{M_KEY:#x}"), &format!("{M_KEY:#x}f"));
    std::fs::write(&file, wrong).unwrap();
    let client = Client::connect(&daemon.api, None).await.unwrap();
    let request = v1::ReloadConfigRequest::default();
    let answer = client.config().reload_config(request).await.unwrap();
    let answer = answer.into_inner();
    assert!(!answer.applied && !answer.findings.is_empty(), "{answer:?}");
    has_no_key("ReloadConfig", &answer.encode_to_vec());
    daemon.signal("HUP");
    crate::harness::wait_for(|| daemon.log().contains("is refused").then_some(()));
    has_no_key("the log", daemon.log().as_bytes());
}
