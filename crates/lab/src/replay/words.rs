//! Inputs and outputs of the manager and of subnet administration in words.

use weft_manager::{Output, SaOutput};
use weft_replay::{SaWhat, What};
use weft_wire::Layout;
use weft_wire::header::MadHeader;
use weft_wire::packet::Packet;
use weft_wire::sa::attribute_name;
use weft_wire::smp::SmpView;

pub(super) fn input_words(what: &What) -> String {
    match what {
        What::Tick => "a deadline".to_owned(),
        What::Received(packet) => format!("received {}", datagram(&packet.mad)),
        What::Planned(id) => format!("plan {id} is ready"),
        What::Call(call) => call.name().replace('-', " "),
        What::Checkpoint(state) => {
            format!("goes on from a checkpoint of {} bytes", state.bytes().len())
        }
        What::Sa(what) => format!("subnet administration {}", sa_input_words(what)),
    }
}

fn sa_input_words(what: &SaWhat) -> String {
    match what {
        SaWhat::Tick => "has a deadline".to_owned(),
        SaWhat::Received(packet) => {
            format!("received {} from {}", query(&packet.mad), packet.slid)
        }
        SaWhat::Published(number) => format!("has generation {number}"),
        SaWhat::Call(call) => format!("has {}", call.name().trim_start_matches("sa-")),
        SaWhat::Checkpoint(state) => {
            format!("goes on from a state of {} bytes", state.bytes().len())
        }
        SaWhat::Rests(rest) => format!(
            "is not recorded from here on, until it goes on from a state: {}",
            rest.words()
        ),
    }
}

/// The kind of what subnet administration put out.
pub(super) fn answer_kind(answer: &SaOutput) -> &'static str {
    match answer {
        SaOutput::Send(_) => "sa_datagrams",
        SaOutput::Multicast(_) => "sa_members",
        SaOutput::Groups(_) => "sa_groups",
        SaOutput::Storm(_) => "sa_storms",
        SaOutput::Stale | SaOutput::Persist(_) => "sa_states",
    }
}

pub(super) fn answer_words(answer: &SaOutput) -> String {
    match answer {
        SaOutput::Send(packet) => sent_words(packet),
        SaOutput::Multicast(groups) => format!("tells members of {} multicast LIDs", groups.len()),
        SaOutput::Groups(groups) => format!("tells {} groups", groups.len()),
        SaOutput::Storm(storm) => format!("tells {storm:?}"),
        SaOutput::Stale => "marks what is stored as old".to_owned(),
        SaOutput::Persist(bytes) => format!("stores {} bytes", bytes.len()),
    }
}

/// A datagram that subnet administration sends.
pub(super) fn sent_words(packet: &Packet) -> String {
    format!("sends {} to {}", query(&packet.mad), packet.dlid)
}

/// A datagram of subnet administration in a few words.
fn query(mad: &[u8]) -> String {
    match MadHeader::decode(mad) {
        Ok(header) => {
            let name = attribute_name(header.attribute_id).unwrap_or("unknown attribute");
            format!(
                "{name} method {:#04x} transaction {:#x} status {:#06x}, {} bytes",
                header.method,
                header.transaction_id,
                header.status,
                mad.len()
            )
        }
        Err(error) => format!("{} bytes ({error})", mad.len()),
    }
}

pub(super) fn output_kind(output: &Output) -> &'static str {
    match output {
        Output::Send(_) => "datagrams",
        Output::Plan(_) => "plans",
        Output::Publish(_) => "snapshots",
        Output::Persist(_) => "states",
        Output::Event(_) => "events",
        Output::Notice(_) => "notices",
        Output::RegistrationsLost { .. } => "registrations_lost",
        Output::Reply { .. } => "replies",
    }
}

pub(super) fn output_words(output: &Output) -> String {
    match output {
        Output::Send(packet) => format!("sends {}", datagram(&packet.mad)),
        Output::Plan(input) => format!("asks for plan {}", input.id()),
        Output::Publish(snapshot) => format!("publishes generation {}", snapshot.generation),
        Output::Persist(bytes) => format!("stores {} bytes", bytes.len()),
        Output::Event(event) => format!("tells {event:?}"),
        Output::Notice(bytes) => format!("passes on a notice of {} bytes", bytes.len()),
        Output::RegistrationsLost { asked } => format!("asks {asked} ports to register"),
        Output::Reply { id, result } => format!("answers order {id}: {result:?}"),
    }
}

/// A datagram in a few words.
fn datagram(mad: &[u8]) -> String {
    match SmpView::parse(mad) {
        Ok(view) => {
            let route = view.directed.map(|route| {
                let hops = usize::from(view.header.hop_count);
                let path = route.initial_path.iter().skip(1).take(hops);
                let ports: Vec<String> = path.map(ToString::to_string).collect();
                format!(" by ports [{}]", ports.join(" "))
            });
            format!(
                "{:?} method {:#04x} modifier {:#010x} status {:#06x}{}",
                view.attribute(),
                view.header.method,
                view.header.attribute_modifier,
                view.status(),
                route.unwrap_or_default()
            )
        }
        Err(error) => format!("{} bytes ({error})", mad.len()),
    }
}
