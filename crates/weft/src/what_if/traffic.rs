//! A file of traffic: lines `FROM,TO,GB/s`.

use std::path::Path;

use weft_api::v1::TrafficFlow;

use crate::error::CliError;
use crate::output;

/// Flows of a file: so many fit into a message.
const FLOWS_MAX: usize = 65_536;

/// Reads a file.
pub(super) fn read(file: &Path) -> Result<Vec<TrafficFlow>, CliError> {
    let wrong = |why: String| CliError::Content {
        file: file.to_owned(),
        why,
    };
    let text = String::from_utf8(output::read(file)?).map_err(|error| wrong(error.to_string()))?;
    flows(&text).map_err(wrong)
}

fn flows(text: &str) -> Result<Vec<TrafficFlow>, String> {
    let mut flows = Vec::new();
    for (number, line) in text.lines().enumerate() {
        let line = line.split('#').next().unwrap_or_default().trim();
        if line.is_empty() {
            continue;
        }
        let wrong = || {
            format!(
                "line {}: '{line}': expected FROM,TO,GB/s, such as node1,node2,2.5",
                number + 1
            )
        };
        let fields: Vec<&str> = line.split(',').map(str::trim).collect();
        let [from, to, rate] = fields[..] else {
            return Err(wrong());
        };
        let rate: f64 = rate.parse().map_err(|_| wrong())?;
        if from.is_empty() || to.is_empty() || !rate.is_finite() || rate <= 0.0 {
            return Err(wrong());
        }
        if flows.len() == FLOWS_MAX {
            return Err(format!("more than {FLOWS_MAX} lines of traffic"));
        }
        flows.push(TrafficFlow {
            from: from.to_owned(),
            to: to.to_owned(),
            bytes_per_second: rate * 1e9,
        });
    }
    match flows.is_empty() {
        true => Err("it has no traffic".to_owned()),
        false => Ok(flows),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn flows_are_read_and_what_is_none_is_told() {
        let read = flows("# a night\nnode1, node2 hfi1_0, 2.5\n\nnode2,node1,1 # back\n");
        let read = read.unwrap_or_default();
        assert_eq!(read.len(), 2);
        assert_eq!(read[0].to, "node2 hfi1_0");
        assert_eq!(read[0].bytes_per_second, 2.5e9);
        for (text, told) in [
            ("node1,node2", "line 1: "),
            ("\nnode1,node2,fast", "line 2: "),
            ("node1,node2,-1", "line 1: "),
            ("node1,node2,inf", "line 1: "),
            (",node2,1", "line 1: "),
            ("# nothing", "no traffic"),
        ] {
            let error = flows(text).err().unwrap_or_default();
            assert!(error.contains(told), "{text}: {error}");
        }
    }
}
