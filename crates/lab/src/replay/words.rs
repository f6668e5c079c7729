//! Inputs and outputs of the manager in words.

use weft_manager::Output;
use weft_replay::What;
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
