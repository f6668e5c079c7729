//! Link loads.

use weft_fabric::enums::NodeType;
use weft_manager::pm::{LinkView, PortView, Sending};

use crate::v1;

impl From<Sending> for v1::LinkDirection {
    fn from(sending: Sending) -> Self {
        Self {
            bytes_per_second: sending.bytes_per_second,
            utilization: sending.share,
            packets_per_second: sending.packets_per_second,
            wait: sending.wait,
            discards: sending.discards,
            congestion: sending.congestion,
        }
    }
}

impl From<LinkView<'_>> for v1::LinkLoad {
    fn from(link: LinkView<'_>) -> Self {
        let [a, b] = &link.ends;
        let [a_to_b, b_to_a] = link.sending;
        Self {
            a: Some(end(a)),
            b: Some(end(b)),
            a_to_b: Some(a_to_b.into()),
            b_to_a: Some(b_to_a.into()),
        }
    }
}

fn end(view: &PortView<'_>) -> v1::LinkEnd {
    let kind = match view.is_switch {
        true => NodeType::SWITCH,
        false => NodeType::HFI,
    };
    v1::LinkEnd {
        port: Some(super::port((view.node, view.port))),
        node_type: i32::from(kind.0),
        node_name: view.name(),
    }
}
