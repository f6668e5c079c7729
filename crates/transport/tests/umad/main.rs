//! An HFI that disappears under an open port, as libibumad reports it.
#![allow(clippy::unwrap_used)]

mod fake;

use std::time::{Duration, Instant};

use fake::{Behaviour, Count, Device};
use tokio::time::{sleep, timeout};
use weft_transport::umad::{PortSpec, UmadError, open};
use weft_transport::{Connection, FromFabric, ToFabric};
use weft_wire::header::class;
use weft_wire::packet::Packet;

/// Within which a loss has to be noticed.
const NOTICED_WITHIN: Duration = Duration::from_secs(1);
/// Most looks at a port between its loss and its end: there is nothing to be had by more.
const LOOKS_MAX: i32 = 3;

fn attach(device: &str) -> Result<Connection, UmadError> {
    let spec = PortSpec::Name {
        device: device.to_owned(),
        port: 1,
    };
    open(&spec, &[class::SM_DIRECTED_ROUTE])
}

/// The end of a connection at which nothing is sent.
async fn wait_for_end(connection: &mut Connection) -> Duration {
    let start = Instant::now();
    let end = timeout(10 * NOTICED_WITHIN, connection.recv()).await;
    assert_eq!(end.expect("the loss is not noticed"), None);
    start.elapsed()
}

async fn wait_for_close(device: &Device, closes: i32) {
    let closed = async {
        while device.count(Count::Closes) < closes {
            sleep(Duration::from_millis(10)).await;
        }
    };
    timeout(NOTICED_WITHIN, closed).await.expect("not closed");
}

#[tokio::test]
async fn a_device_whose_port_reads_eio_is_gone_within_a_second_and_is_not_read_again() {
    let device = Device::new("hfi_read");
    let mut connection = attach("hfi_read").unwrap();
    sleep(Duration::from_millis(300)).await;
    device.set(Behaviour::ReadEio);
    let took = wait_for_end(&mut connection).await;
    assert!(took < NOTICED_WITHIN, "{took:?}");
    sleep(NOTICED_WITHIN).await;
    let looks = device.count(Count::Receives);
    assert!(looks <= LOOKS_MAX, "{looks} looks at a lost port");
    drop(connection);
    wait_for_close(&device, 1).await;
}

#[tokio::test]
async fn a_device_that_cannot_be_written_to_is_gone_within_a_second() {
    let device = Device::new("hfi_write");
    let mut connection = attach("hfi_write").unwrap();
    device.set(Behaviour::WriteEnxio);
    let mut mad = vec![0; 256];
    mad[..4].copy_from_slice(&[0x80, class::SM_DIRECTED_ROUTE, 0x80, 1]);
    let packet = Packet::directed(mad);
    connection.send(vec![packet]).await.unwrap();
    let took = wait_for_end(&mut connection).await;
    assert!(took < NOTICED_WITHIN, "{took:?}");
    assert_eq!(device.count(Count::Sends), 1);
}

#[tokio::test]
async fn a_wait_that_signals_interrupt_loses_neither_the_device_nor_a_datagram() {
    let device = Device::new("hfi_signal");
    let mut connection = attach("hfi_signal").unwrap();
    device.set(Behaviour::Interrupted);
    let received = timeout(NOTICED_WITHIN, connection.recv()).await.unwrap();
    let received = received.expect("the connection has ended");
    assert_eq!(received[0].mad[..4], [0x80, 0x01, 0x80, 0x05]);
    let more = timeout(NOTICED_WITHIN / 2, connection.recv()).await;
    assert!(
        more.is_err(),
        "the connection stays, and is quiet: {more:?}"
    );
    assert!(device.count(Count::Receives) < 20, "a busy loop");
}

#[tokio::test]
async fn a_port_that_cannot_be_read_for_another_reason_is_closed_too() {
    let device = Device::new("hfi_space");
    let mut connection = attach("hfi_space").unwrap();
    device.set(Behaviour::ReadEnospc);
    wait_for_end(&mut connection).await;
    let looks = device.count(Count::Receives);
    assert!(looks <= LOOKS_MAX, "{looks} looks at a broken port");
}

#[tokio::test]
async fn a_device_that_is_back_can_be_attached_again() {
    let device = Device::new("hfi_back");
    let mut first = attach("hfi_back").unwrap();
    device.set(Behaviour::ReadEio);
    wait_for_end(&mut first).await;
    device.set(Behaviour::Absent);
    let error = attach("hfi_back").unwrap_err().to_string();
    assert!(
        error.contains("hfi_back:1: no such HFI port here"),
        "{error}"
    );
    drop(first);
    wait_for_close(&device, 1).await;

    device.set(Behaviour::Interrupted);
    let second = attach("hfi_back").unwrap();
    assert_eq!(device.count(Count::Opens), 2);
    let (sender, mut receiver) = second.split();
    sender.tell(ToFabric::Watch).await.unwrap();
    let received = timeout(NOTICED_WITHIN, receiver.recv_any()).await.unwrap();
    assert!(matches!(received, Some(FromFabric::Packets(_))));
}
