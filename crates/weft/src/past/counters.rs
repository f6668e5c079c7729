//! `weft counters --from`.

use std::process::ExitCode;

use serde_json::{Map, Value, json};
use tokio_stream::StreamExt;
use weft_api::time::{duration_ms, seconds, timestamp_ms, unix_ms};
use weft_api::{count_of, counter_name, rate_of, v1};
use weft_wire::pm::Counter;

use super::{Span, USUAL_MS, warn};
use crate::args::{Counters, Daemon};
use crate::connect::{Effort, Session, connect};
use crate::counters::{amount, bytes};
use crate::error::CliError;
use crate::moment::local;
use crate::output;
use crate::sparkline;
use crate::time::{utc, utc_of};

/// Bars of a line where there are many ports, and where there is one.
const NARROW: usize = 24;
const WIDE: usize = 60;
/// Points that a step is chosen for.
const POINTS: i64 = 60;
/// Steps that are chosen from, seconds.
const STEPS: [i64; 8] = [60, 300, 600, 1_800, 3_600, 10_800, 21_600, 86_400];

/// The past of one port.
struct Port {
    port: v1::PortId,
    name: String,
    samples: Vec<v1::CounterSample>,
}

pub(crate) async fn run(daemon: &Daemon, args: &Counters) -> Result<ExitCode, CliError> {
    let span = Span::new(args.from.as_deref(), args.to.as_deref(), USUAL_MS)?;
    let step_ms = match args.step {
        Some(step) => step.as_millis() as i64,
        None => usual_step(span),
    };
    let session = connect(daemon).await?;
    let ports = read(&session, args, span, step_ms).await?;
    if args.csv {
        output::text(csv(&ports))?;
    } else if args.json {
        output::json(&as_json(&ports, span))?;
    } else {
        output::text(table(&ports, span, step_ms))?;
    }
    Ok(ExitCode::SUCCESS)
}

/// A step that makes about as many points as a line has room for; 0 for every reading.
fn usual_step(span: Span) -> i64 {
    let wanted = (span.to_ms - span.from_ms) / POINTS / 1000;
    match wanted {
        ..60 => 0,
        _ => {
            1000 * STEPS
                .into_iter()
                .find(|step| *step >= wanted)
                .unwrap_or(86_400)
        }
    }
}

async fn read(
    session: &Session,
    args: &Counters,
    span: Span,
    step_ms: i64,
) -> Result<Vec<Port>, CliError> {
    let mut service = session.services(Effort::Work).history();
    let request = v1::ListCounterSamplesRequest {
        point: args.focus.clone().unwrap_or_default(),
        ports: Vec::new(),
        from: Some(timestamp_ms(span.from_ms)),
        to: Some(timestamp_ms(span.to_ms)),
        step: (step_ms > 0).then(|| duration_ms(step_ms)),
        counters: v1::CounterSelection::named(&args.counters, false, false).counters,
    };
    let parts = service.list_counter_samples(request);
    let mut parts = session.answer(Effort::Work, parts).await?;
    let mut ports: Vec<Port> = Vec::new();
    while let Some(part) = parts.next().await {
        let part = match part {
            Ok(part) => part,
            Err(status) => return Err(session.explain(Effort::Work, status).await),
        };
        warn(&part.warnings);
        let Some(id) = part.port else { continue };
        match ports.last_mut().filter(|last| last.port == id) {
            Some(last) => last.samples.extend(part.samples),
            None => ports.push(Port {
                port: id,
                name: part.node_name,
                samples: part.samples,
            }),
        }
    }
    Ok(ports)
}

impl Port {
    fn label(&self) -> String {
        match self.name.is_empty() {
            true => format!("{:#018x}:{}", self.port.node_guid, self.port.port),
            false => format!("{}:{}", self.name, self.port.port),
        }
    }

    fn rates(&self, counter: Counter) -> Vec<Option<f64>> {
        let rate = |sample: &v1::CounterSample| rate_of(sample.rates.as_ref()?, counter);
        self.samples.iter().map(rate).collect()
    }

    /// Mean increase a second, over the time that is known.
    fn mean(&self, counter: Counter) -> Option<f64> {
        let (mut sum, mut known) = (0.0, 0.0);
        for (rate, sample) in self.rates(counter).into_iter().zip(&self.samples) {
            if let Some(rate) = rate {
                let span = seconds(sample.span);
                (sum, known) = (sum + rate * span, known + span);
            }
        }
        (known > 0.0).then(|| sum / known)
    }

    /// Errors that were counted in that time.
    fn errors(&self) -> f64 {
        let errors = Counter::ALL.into_iter().skip(Counter::DATA);
        let known: f64 = self
            .samples
            .iter()
            .filter(|one| one.rates.is_some())
            .map(|one| seconds(one.span))
            .sum();
        errors.filter_map(|counter| self.mean(counter)).sum::<f64>() * known
    }
}

/// A line of bars: the largest of the values in each; a space where nothing is known.
fn bars(values: &[Option<f64>], width: usize) -> String {
    let most = values
        .iter()
        .flatten()
        .fold(0.0, |most: f64, value| most.max(*value));
    let count = values.len().min(width);
    let bar = |place: usize| {
        let part = &values[place * values.len() / count..(place + 1) * values.len() / count];
        let value = part.iter().flatten().copied().reduce(f64::max);
        value.map_or(' ', |value| match most > 0.0 {
            true => sparkline::bar(value / most),
            false => sparkline::bar(0.0),
        })
    };
    (0..count).map(bar).collect()
}

fn table(ports: &[Port], span: Span, step_ms: i64) -> String {
    let step = match step_ms {
        0 => "each reading".to_owned(),
        _ => format!("steps of {} s", step_ms as f64 / 1000.0),
    };
    let mut out = format!("Counters from {}, {step}\n", span.words());
    let known: Vec<&Port> = ports
        .iter()
        .filter(|port| !port.samples.is_empty())
        .collect();
    if let [port] = known[..] {
        return out + &one(port);
    }
    if known.is_empty() {
        return out + "nothing is known of that time; 'weft history' tells what is kept\n";
    }
    out += &format!(
        "{:<24} {:>9} {:>9} {:>7}  BYTES SENT\n",
        "PORT", "SENT/S", "RCVD/S", "ERRORS"
    );
    for port in known {
        let name: String = port.label().chars().take(24).collect();
        let mean = |counter| port.mean(counter).map_or("-".to_owned(), bytes);
        out += &format!(
            "{name:<24} {:>9} {:>9} {:>7}  {}\n",
            mean(Counter::XmitData),
            mean(Counter::RcvData),
            amount(port.errors().round()),
            bars(&port.rates(Counter::XmitData), NARROW)
        );
    }
    out
}

/// All points of a port.
fn one(port: &Port) -> String {
    let mut out = format!("{}\n", port.label());
    for (what, counter) in [("sent", Counter::XmitData), ("rcvd", Counter::RcvData)] {
        let rates = port.rates(counter);
        let most = rates.iter().flatten().copied().reduce(f64::max);
        if let Some(most) = most {
            out += &format!("{what} {} most {}/s\n", bars(&rates, WIDE), bytes(most));
        }
    }
    out += &format!(
        "{:<19} {:>9} {:>9} {:>9} {:>9} {:>9} {:>7} {:>2}\n",
        "TIME", "SENT/S", "RCVD/S", "PKTS SENT", "PKTS RCVD", "WAIT/S", "ERRORS", "Q"
    );
    for sample in &port.samples {
        let rate = |counter| {
            sample
                .rates
                .as_ref()
                .and_then(|rates| rate_of(rates, counter))
        };
        let text = |value: Option<f64>, unit: fn(f64) -> String| value.map_or("-".to_owned(), unit);
        let errors = Counter::ALL
            .into_iter()
            .skip(Counter::DATA)
            .filter_map(rate);
        let errors = errors
            .reduce(|sum, one| sum + one)
            .map(|sum| (sum * seconds(sample.span)).round());
        out += &format!(
            "{:<19} {:>9} {:>9} {:>9} {:>9} {:>9} {:>7} {:>2}\n",
            local(unix_ms(sample.time)),
            text(rate(Counter::XmitData), bytes),
            text(rate(Counter::RcvData), bytes),
            text(rate(Counter::XmitPkts), amount),
            text(rate(Counter::RcvPkts), amount),
            text(rate(Counter::XmitWait), amount),
            text(errors, amount),
            (sample.link_quality).map_or("?".to_owned(), |quality| quality.to_string())
        );
    }
    out
}

fn csv(ports: &[Port]) -> String {
    let mut out = "time,guid,port,node,seconds,link_quality".to_owned();
    for counter in Counter::ALL {
        let name = counter_name(counter);
        out += &format!(",{name},{name}_per_second");
    }
    out.push('\n');
    for port in ports {
        for sample in &port.samples {
            let name = port.name.replace('"', "\"\"");
            out += &format!(
                "{},{:#018x},{},\"{name}\",{},{}",
                utc_of(sample.time),
                port.port.node_guid,
                port.port.port,
                seconds(sample.span),
                (sample.link_quality).map_or(String::new(), |quality| quality.to_string())
            );
            for counter in Counter::ALL {
                let total = sample
                    .totals
                    .as_ref()
                    .and_then(|totals| count_of(totals, counter));
                let rate = sample
                    .rates
                    .as_ref()
                    .and_then(|rates| rate_of(rates, counter));
                let text = |value: Option<String>| value.unwrap_or_default();
                out += &format!(
                    ",{},{}",
                    text(total.map(|total| total.to_string())),
                    text(rate.map(|rate| rate.to_string()))
                );
            }
            out.push('\n');
        }
    }
    out
}

fn as_json(ports: &[Port], span: Span) -> Value {
    let time = |ms: i64| utc(u64::try_from(ms).unwrap_or(0).saturating_mul(1_000_000));
    let sample = |sample: &v1::CounterSample| {
        let (mut totals, mut rates) = (Map::new(), Map::new());
        for counter in Counter::ALL {
            let name = counter_name(counter);
            if let Some(total) = sample
                .totals
                .as_ref()
                .and_then(|totals| count_of(totals, counter))
            {
                totals.insert(name.to_owned(), total.into());
            }
            if let Some(rate) = sample
                .rates
                .as_ref()
                .and_then(|rates| rate_of(rates, counter))
            {
                rates.insert(name.to_owned(), rate.into());
            }
        }
        json!({
            "time": utc_of(sample.time),
            "seconds": seconds(sample.span),
            "link_quality": sample.link_quality,
            "totals": totals,
            "per_second": match sample.rates.is_some() {
                true => Value::Object(rates),
                false => Value::Null,
            },
        })
    };
    let port = |port: &Port| {
        json!({
            "guid": format!("{:#018x}", port.port.node_guid),
            "port": port.port.port,
            "node": port.name,
            "samples": port.samples.iter().map(sample).collect::<Vec<Value>>(),
        })
    };
    json!({
        "from": time(span.from_ms),
        "to": time(span.to_ms),
        "ports": ports.iter().map(port).collect::<Vec<Value>>(),
    })
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn bars_show_the_largest_of_their_part() {
        let values: Vec<Option<f64>> = (0..8).map(|n| Some(f64::from(n))).collect();
        assert_eq!(bars(&values, 8), "▁▂▃▄▅▆▇█");
        assert_eq!(bars(&values, 2), "▄█");
        assert_eq!(bars(&[Some(0.0), None, Some(0.0)], 8), "▁ ▁");
        assert_eq!(bars(&[], 8), "");
    }

    #[test]
    fn steps_fit_a_line() {
        for (hours, step) in [(1, 60_000), (24, 1_800_000), (720, 86_400_000)] {
            let span = Span {
                from_ms: 0,
                to_ms: hours * 3_600_000,
            };
            assert_eq!(usual_step(span), step, "{hours} hours");
        }
    }
}
