//! Mastership by etcd, in `weft fabric show`.

use serde_json::{Value, json};
use weft_api::v1;

use crate::time::{utc_json, utc_of};

/// A line that says who holds the key, and one where something is wrong.
pub(crate) fn text(mandate: &v1::Mandate) -> String {
    let place = format!("Mandate {} in etcd: ", mandate.fabric);
    let trouble = match mandate.trouble.as_str() {
        "" => String::new(),
        trouble => format!("  {trouble}\n"),
    };
    let lacks = match mandate.behind_time {
        None => String::new(),
        Some(time) => format!(
            "  etcd has LACKED A CHANGE of the state for {} s\n",
            time.seconds
        ),
    };
    format!("{place}{}\n{trouble}{lacks}", words(mandate))
}

fn words(mandate: &v1::Mandate) -> String {
    match (mandate.answers, mandate.heard_time) {
        (false, None) => return "OUT OF REACH; datagrams decide".to_owned(),
        (false, heard) => return format!("OUT OF REACH since {}; datagrams decide", utc_of(heard)),
        (true, None) => return "not asked yet".to_owned(),
        (true, Some(_)) => {}
    }
    match (mandate.held, mandate.port_guid) {
        (true, _) => format!("held by this manager, term {}", mandate.term),
        (false, 0) if mandate.term == 0 => "held by nobody".to_owned(),
        (false, 0) => format!("its holder is not known, term {}", mandate.term),
        (false, port) => format!(
            "held by port {port:#018x} at {}, term {}",
            match mandate.host.as_str() {
                "" => "a host without a name",
                host => host,
            },
            mandate.term
        ),
    }
}

pub(crate) fn json(mandate: &v1::Mandate) -> Value {
    json!({
        "fabric": mandate.fabric,
        "server": mandate.server,
        "answers": mandate.answers,
        "heard": utc_json(mandate.heard_time),
        "held": mandate.held,
        "term": mandate.term,
        "port": match mandate.port_guid {
            0 => Value::Null,
            port => json!(format!("{port:#018x}")),
        },
        "host": mandate.host,
        "trouble": mandate.trouble,
        "behind_seconds": mandate.behind_time.map_or(0, |time| time.seconds),
    })
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn each_state_has_its_words() {
        let heard_time = Some(weft_api::time::timestamp(1));
        let held = v1::Mandate {
            fabric: "hall1".to_owned(),
            answers: true,
            heard_time,
            held: true,
            term: 12,
            ..v1::Mandate::default()
        };
        let not_held = v1::Mandate {
            held: false,
            ..held.clone()
        };
        let lost = v1::Mandate {
            answers: false,
            trouble: "no answer within 1250 ms".to_owned(),
            ..held.clone()
        };
        let other = v1::Mandate {
            port_guid: 0x11,
            host: "m2".to_owned(),
            ..not_held.clone()
        };
        let free = v1::Mandate {
            term: 0,
            ..not_held.clone()
        };
        for (mandate, words) in [
            (
                held,
                "Mandate hall1 in etcd: held by this manager, term 12\n",
            ),
            (lost, "OUT OF REACH since 1970"),
            (other, "held by port 0x0000000000000011 at m2, term 12\n"),
            (free, "held by nobody\n"),
            (not_held, "its holder is not known"),
        ] {
            let text = text(&mandate);
            assert!(text.contains(words), "{text}");
        }
    }
}
