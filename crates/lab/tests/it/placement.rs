//! Placement of ranks on hosts.

use std::collections::BTreeSet;

use weft_lab::experiment::{Outcome, Scenario, perform_all};

const EXAMPLE: &str = include_str!("../../../../examples/placement.scenario");
/// Four hosts on each of four edge switches, two switches above.
const HEAD: &str = "fabric pgft:2;4,4;1,2;1,1\nlinks all\nmessages 64\n";

fn run(text: &str) -> Vec<Outcome> {
    let scenario: Scenario = text.parse().unwrap();
    perform_all(&scenario, 0, |_, _| {}).unwrap()
}

fn is_switch(end: &str) -> bool {
    !end.contains("hfi")
}

/// Share of the links between switches that carried something, and the hosts that sent.
fn carried(outcome: &Outcome) -> (usize, Vec<&str>) {
    let busy = || outcome.links.iter().filter(|link| link.percent > 0.0);
    let between = busy().filter(|link| is_switch(&link.from) && is_switch(&link.to));
    let hosts = busy().filter(|link| !is_switch(&link.from));
    let mut hosts: Vec<&str> = hosts
        .filter_map(|link| link.from.split_whitespace().next())
        .collect();
    hosts.sort_unstable();
    (between.count(), hosts)
}

/// In a block the four hosts are those of one switch, and nothing crosses a link between switches; dealt out over
/// switches they are on four, and all of it does.
#[test]
fn a_block_stays_inside_of_a_switch() {
    let text = format!(
        "{HEAD}traffic alltoall bytes=64K\ncase block\nplacement block hosts=4\n\
         case switches\nplacement switches hosts=4\ncase all\n"
    );
    let outcomes = run(&text);
    let (between, hosts) = carried(&outcomes[0]);
    assert_eq!(between, 0);
    assert_eq!(hosts, ["node1", "node2", "node3", "node4"]);
    let (between, hosts) = carried(&outcomes[1]);
    assert!(between >= 8, "{between}");
    assert_eq!(hosts, ["node1", "node13", "node5", "node9"]);
    assert_eq!(carried(&outcomes[2]).1.len(), 16);
    assert_eq!(outcomes[0].ranks.len(), 4);
}

/// Hosts drawn by a seed are the same again, and others by another seed; each one is there once.
#[test]
fn hosts_are_drawn_by_the_seed() {
    let text = format!("{HEAD}traffic alltoall bytes=8K\nplacement random hosts=6");
    let scenario: Scenario = text.parse().unwrap();
    let drawn = |seed: u64| {
        let outcomes = perform_all(&scenario, seed, |_, _| {}).unwrap();
        let (_, hosts) = carried(&outcomes[0]);
        hosts.into_iter().map(str::to_owned).collect::<Vec<_>>()
    };
    let (one, two) = (drawn(1), drawn(2));
    assert_eq!(one, drawn(1));
    assert_ne!(one, two);
    assert_eq!((one.len(), two.len()), (6, 6));
}

/// Jobs take what is left, in their order: two blocks of one switch each leave the third to the next one, and a job
/// without a placement has all hosts.
#[test]
fn jobs_have_hosts_of_their_own() {
    let text = format!(
        "{HEAD}traffic alltoall bytes=64K\nplacement block hosts=4\n\
         job next alltoall bytes=64K placement=block hosts=4 ranks=2\n\
         job rest alltoall bytes=64K placement=switches\n\
         job all osu_latency iterations=1 pairs=0>15\n"
    );
    let outcome = &run(&text)[0];
    let count = |job: Option<&str>| {
        let ranks = outcome.ranks.iter();
        ranks.filter(|one| one.job.as_deref() == job).count()
    };
    let counts = [None, Some("next"), Some("rest"), Some("all")].map(count);
    assert_eq!(counts, [4, 8, 8, 16]);
    // Only the rest is on more than one switch.
    let uplink = |switch: &str| {
        let up = outcome.links.iter();
        let up = up.filter(|link| link.from.starts_with(switch) && is_switch(&link.to));
        up.map(|link| link.percent).sum::<f64>()
    };
    let (first, third) = (uplink("edge1 "), uplink("edge3 "));
    assert!(third > 10.0 * first, "{first} and {third}");
}

/// Ranks stand on hosts in the order in which these are given out: of two switches in turns, each even rank is on the
/// first switch.
#[test]
fn ranks_follow_the_order_of_hosts() {
    let near = |pairs: &str| {
        let text = format!(
            "{HEAD}traffic osu_latency iterations=1\nplacement switches hosts=8\npairs {pairs}"
        );
        let (between, _) = carried(&run(&text)[0]);
        between == 0
    };
    assert!(near("0>4") && near("3>7"));
    assert!(!near("0>1") && !near("0>2"));
}

#[test]
fn placements_that_cannot_be_are_refused() {
    for (text, line, what) in [
        (
            "placement round",
            2,
            "unknown placement \"round\", allowed: block, random, switches, topology, off",
        ),
        (
            "traffic alltoall\njob a alltoall placement=off",
            3,
            "unknown placement \"off\", allowed: block, random, switches, topology",
        ),
        ("placement block 4", 2, "not of the form key=value"),
        ("placement block hosts=1", 2, "from 2 to"),
        ("placement off hosts=2", 2, "has no effect after off"),
        (
            "traffic osu_bw\njob a alltoall hosts=4",
            3,
            "hosts=4 of which? allowed with placement=block",
        ),
        (
            "traffic uniform\njob a uniform placement=block",
            3,
            "unknown key \"placement\"",
        ),
        (
            "traffic bisection\nplacement block",
            3,
            "no placement of this traffic, allowed with all but bisection",
        ),
        (
            "traffic uniform\nplacement block",
            3,
            "no placement of this traffic",
        ),
    ] {
        let error = format!("fabric one-switch:8\n{text}")
            .parse::<Scenario>()
            .unwrap_err();
        assert_eq!(error.line, line, "{text:?}: {error}");
        assert!(error.what.contains(what), "{text:?}: {error}");
    }
    let text = "fabric one-switch:8\ntraffic alltoall bytes=8\nplacement block hosts=6\n\
                job next alltoall bytes=8 placement=block hosts=3";
    let scenario: Scenario = text.parse().unwrap();
    let (_, error) = perform_all(&scenario, 0, |_, _| {}).unwrap_err();
    let wanted =
        "hosts: next is placed on 3 of 2 that are free, of 8; allowed: 2 to as many as are free";
    assert_eq!(error.to_string(), wanted);
    let text = "fabric one-switch:4\ntraffic alltoall bytes=8\nplacement block\n\
                job next alltoall bytes=8 placement=block";
    let scenario: Scenario = text.parse().unwrap();
    let (_, error) = perform_all(&scenario, 0, |_, _| {}).unwrap_err();
    let wanted = "allowed: hosts=N in the placements before it, so that 2 are left";
    assert!(error.to_string().ends_with(wanted), "{error}");
}

/// The job that is in the way is so only where both are dealt out over the switches.
#[test]
fn the_example_shows_jobs_apart_and_in_each_others_way() {
    let outcomes = run(EXAMPLE);
    let times: Vec<f64> = outcomes
        .iter()
        .map(|one| one.get("time").unwrap().value)
        .collect();
    let [alone, beside, dealt, dealt_beside] = times[..4] else {
        panic!("{times:?}");
    };
    assert!((beside / alone - 1.0).abs() < 0.01, "{times:?}");
    assert!(dealt_beside > 1.1 * dealt, "{times:?}");
}

/// Jobs get the nodes that Slurm would give them, whatever the fabric looks like: the leaf with the fewest that has enough.
#[test]
fn nodes_are_given_out_by_slurms_topology() {
    let conf = "SwitchName=x Nodes=node[1-3]\nSwitchName=y Nodes=node[4-5]\nSwitchName=z Nodes=node[6-8]\n\
                SwitchName=root Switches=x,y,z\n";
    let read = |text: &str| {
        Scenario::read(text, |file| match file {
            "t.conf" => Ok(conf.as_bytes().to_vec()),
            "tall" => Ok(format!("{conf}SwitchName=top Switches=root\n").into_bytes()),
            _ => Ok(b"BlockName=b Nodes=node[1-8]\n".to_vec()),
        })
    };
    let text = "fabric fattree:8,radix=4\nslurm-topology t.conf\ntraffic osu_bw iterations=4 skip=1\n\
                placement topology hosts=2\nlinks all";
    let scenario = read(text).unwrap();
    let outcomes = perform_all(&scenario, 0, |_, _| {}).unwrap();
    let busy = outcomes[0].links.iter().filter(|link| link.percent > 50.0);
    let hosts = busy.flat_map(|link| [&link.from, &link.to]);
    let hosts = hosts.filter_map(|end| end.split_whitespace().next());
    let hosts: BTreeSet<&str> = hosts.filter(|name| name.starts_with("node")).collect();
    assert_eq!(hosts, BTreeSet::from(["node4", "node5"]));
    for (text, told) in [
        (
            "placement topology",
            "line 3: placement by the topology of Slurm, of which there is none",
        ),
        (
            "job a alltoall placement=topology",
            "line 3: placement by the topology",
        ),
        (
            "slurm-topology tall",
            "line 3: tall: switches above switches that have no nodes, allowed: one tier",
        ),
        (
            "slurm-topology blocks",
            "line 3: blocks: blocks, allowed: switches",
        ),
    ] {
        let text = format!("fabric one-switch:8\ntraffic alltoall\n{text}");
        let error = read(&text).unwrap_err().to_string();
        assert!(error.contains(told), "{error}");
    }
}
