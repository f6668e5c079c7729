//! Scenarios: their syntax, refusals, and outcomes.
#![allow(clippy::unwrap_used)]

use std::collections::BTreeSet;

use weft_lab::experiment::scenario::{METRICS, Manager, Pairs, Traffic};
use weft_lab::experiment::{Outcome, Scenario, chart, perform, perform_all, report};
use weft_manager::sm::settings::Level;
use weft_routing::EngineKind;

const E1: &str = include_str!("../../../../examples/e1-adaptive-routing.scenario");
const E2: &str = include_str!("../../../../examples/e2-dispersive-routing.scenario");
const E3: &str = include_str!("../../../../examples/e3-one-switch.scenario");
const E4: &str = include_str!("../../../../examples/e4-congestion-discards.scenario");
const E5: &str = include_str!("../../../../examples/e5-transfer-methods.scenario");
const E6: &str = include_str!("../../../../examples/e6-bisection.scenario");
const E7: &str = include_str!("../../../../examples/e7-switch-buffer.scenario");
const PREEMPTION: &str = include_str!("../../../../examples/preemption.scenario");

#[test]
fn cases_inherit_what_stands_before_the_first() {
    let scenario: Scenario = E1.parse().unwrap();
    let [alone, fixed, adaptive] = &scenario.cases[..] else {
        panic!("{} cases", scenario.cases.len());
    };
    assert_eq!(alone.pairs, Pairs::SharedUplink(1));
    assert_eq!(fixed.pairs, Pairs::SharedUplink(2));
    assert_eq!(
        (alone.manager.adaptive, fixed.manager.adaptive),
        (None, None)
    );
    assert_eq!(adaptive.manager.adaptive.unwrap().threshold, 7);
    for case in &scenario.cases {
        let Traffic::Bandwidth { bytes, window, .. } = case.traffic else {
            panic!("{:?}", case.traffic);
        };
        assert_eq!((bytes, window), (4 << 20, 64));
    }
    for text in [E2, E3, E4, E5, E6, E7, PREEMPTION] {
        text.parse::<Scenario>().unwrap();
    }
}

#[test]
fn errors_name_the_line_and_what_is_allowed() {
    for (text, line, what) in [
        (
            "fabric one-switch:2\nspeed 9\ntraffic osu_bw",
            2,
            "unknown setting \"speed\"",
        ),
        ("fabric nothing", 1, "allowed: one-switch"),
        ("\n\n lmc 8", 3, "0 to 7"),
        (
            "# a\ntraffic osu_bw size=4M",
            2,
            "allowed: bytes, window, skip, iterations",
        ),
        (
            "traffic osu_bw bytes=4G",
            1,
            "bytes: \"4G\" is no whole number",
        ),
        ("traffic dance", 1, "osu_latency"),
        ("adaptive maybe", 1, "allowed: on, off"),
        ("pairs 1-2", 1, "FROM>TO"),
        ("limit 5", 1, "units: us, ms, s"),
        ("warm-up 5", 1, "units: us, ms, s"),
        ("limit 9999s", 1, "from 0 to 3600"),
        ("limit 0ms", 1, "allowed: more than 0s"),
        ("traffic uniform span=0s", 1, "allowed: more than 0s"),
        (
            "traffic uniform span=0.0000001us",
            1,
            "allowed: more than 0s",
        ),
        (
            "fabric one-switch:2\ntraffic uniform\nsweep bytes 64 20000",
            3,
            "\"20000\" is no whole number from 8 to 10368",
        ),
        (
            "fabric one-switch:2\ntraffic osu_bw\nsweep bytes 0 1",
            3,
            "from 1 to",
        ),
        ("published latency 1 2", 1, "percentage"),
        ("published latency", 1, "[at-least|above VALUE]"),
        ("published latency above 1 at", 1, "then at VALUE"),
        ("published latency above", 1, "not of the form METRIC VALUE"),
        (
            "published latency above 1 under 2",
            1,
            "unknown bound \"under\", allowed: at-least, above, at-most, below",
        ),
        (
            "published latency above 1 at-least 2",
            1,
            "such a bound already",
        ),
        (
            "published latency above 2 below 1",
            1,
            "nothing is > 2, < 1",
        ),
        (
            "published shorter above x",
            1,
            "\"x\" is no number from -10",
        ),
        (
            "fabric one-switch:2\ntraffic osu_bw\ncase a\npublished rate above 1 at 8\ncase b",
            4,
            "at 8: nothing is swept",
        ),
        (
            "fabric one-switch:2\ntraffic osu_bw\ncase a\nsweep bytes 1 2\npublished rate above 1 at 3",
            5,
            "bytes 3 is not swept, allowed: 1, 2",
        ),
        ("case a\nbaseline b", 2, "no case \"b\""),
        ("case", 1, "needs a name"),
        ("sweep speed 1 2", 1, "allowed: bytes, hoq-life"),
        ("sweep bytes", 1, "no values"),
        ("stack tcp", 1, "allowed: psm2, opx"),
        (
            "background noise",
            1,
            "allowed: off, bulk, rdma-read, uniform",
        ),
        (
            "fabric one-switch:2\nbackground bulk\ntraffic uniform\ncase a",
            2,
            "allowed: uniform, permutation",
        ),
        (
            "fabric one-switch:2\ntraffic mpi_nxnlatbw\nbackground uniform\ncase a",
            3,
            "allowed: nothing",
        ),
        ("background bulk sl=16", 1, "from 0 to 15"),
        ("background bulk pairs=1-2", 1, "FROM>TO"),
        ("background bulk size=1", 1, "allowed: sl, pairs, rate"),
        ("background rdma-read rate=1", 1, "allowed: sl, pairs"),
        (
            "background bulk rate=1",
            1,
            "rate: \"1\" is no rate from 1MB/s to 1000GB/s",
        ),
        (
            "traffic alltoall order=plum",
            1,
            "allowed: ring, xor, random",
        ),
        ("traffic alltoall overlap=0", 1, "from 1 to 1024"),
        ("host-rate 1", 1, "from 1MB/s to 1000GB/s"),
        ("receive-packets 31", 1, "from 32 to 16352"),
        ("receive-bytes 1K", 1, "from 65536 to 1073741824"),
        ("verbs-send 1us", 1, "from 0ns to 100000ns"),
        (
            "fabric one-switch:2\nlanes 2\nsl 2\ntraffic osu_latency\ncase a",
            3,
            "unknown service level \"2\", allowed: 0, 1",
        ),
        (
            "fabric one-switch:2\nqos-group base-sl=4\nsl 4\ntraffic osu_bw\nbackground bulk\ncase a",
            5,
            "unknown service level \"0\", allowed: 4",
        ),
        ("qos-group bandwidth=50%", 1, "needs base-sl"),
        (
            "qos-group base-sl=16",
            1,
            "base-sl: \"16\" is no whole number from 0 to 15",
        ),
        ("qos-group base-sl=0 preempt-rank=128", 1, "from 0 to 127"),
        ("qos-group base-sl=0 bandwidth=0%", 1, "from 1 to 100"),
        (
            "qos-group base-sl=0 bandwidth=50% high-priority=1",
            1,
            "high-priority has no bandwidth",
        ),
        (
            "qos-group base-sl=0 bandwidth=60%\nqos-group base-sl=1 bandwidth=60%",
            2,
            "120 %, allowed: 100 %",
        ),
        ("preemption maybe", 1, "allowed: on, off"),
        (
            "preemption on small-packet=100",
            1,
            "small-packet: 100 is no multiple of 32",
        ),
        ("preemption on large-packet=16K", 1, "from 512 to 8192"),
        (
            "preemption on tail=1",
            1,
            "allowed: small-packet, large-packet, preempt-limit",
        ),
        ("gone 101%", 1, "from 0 to 100"),
        ("buffer 16K", 1, "from 32768 to 524288"),
        ("queueing lifo", 1, "allowed: oldest, round-robin, fifo"),
        ("head-of-queue lane", 1, "allowed: egress-lane, input"),
        (
            "credit-return 1us",
            1,
            "\"1us\" is no time from 0ns to 2000ns",
        ),
        ("credit-return 2001ns", 1, "from 0ns to 2000ns"),
        ("buffer 50000", 1, "50000 is no multiple of 64"),
        (
            "fabric one-switch:2\ntraffic osu_bw\nsweep buffer 32K 1M",
            3,
            "from 32768 to 524288",
        ),
        (
            "traffic osu_latency window=2",
            1,
            "allowed: bytes, skip, iterations",
        ),
        ("traffic osu_bibw skip=2M", 1, "skip: \"2M\" is no whole"),
        (
            "published speed 1 2%",
            1,
            "unknown metric \"speed\", allowed: bandwidth, rate",
        ),
        ("plot speed Title", 1, "unknown metric \"speed\""),
        (
            "plot rate over speed Title",
            1,
            "unknown thing to sweep \"speed\"",
        ),
        (
            "plot bandwidth over bytes",
            1,
            "METRIC [over WORD] [log] TITLE",
        ),
        (
            "fabric one-switch:2\ntraffic bisection\nsweep bytes 1 2",
            3,
            "no bytes to sweep",
        ),
        ("fabric one-switch:2", 1, "the scenario has no traffic"),
        (
            "\nfabric a.ibnetdiscover\ntraffic osu_bw",
            2,
            "cannot be read from here",
        ),
        (
            "fabric one-switch:2\ncase a\ntraffic osu_bw\ncase b\nsweep bytes 1 2\ncase c",
            4,
            "case \"b\" has no traffic",
        ),
        (
            "traffic osu_bw\ncase a\nlmc 1\nsweep ranks 1 2",
            2,
            "case \"a\" has no fabric",
        ),
        (
            "fabric one-switch:2\ntraffic osu_bw\ncase a\nsweep ranks 1 2000\nlmc 0\ncase b",
            4,
            "from 1 to 1024",
        ),
    ] {
        let error = text.parse::<Scenario>().unwrap_err();
        assert_eq!(error.line, line, "{text:?}: {error}");
        assert!(error.what.contains(what), "{text:?}: {error}");
    }
}

const HEAD: &str = "fabric one-switch:2\ntraffic osu_bw\n";

#[test]
fn lines_without_effect_are_refused() {
    for (text, line, what) in [
        (
            "qos-group base-sl=0\nlanes 2",
            4,
            "lanes has no effect with qos-group",
        ),
        (
            "qos-group base-sl=0\ncase a\nsweep lanes 1 2",
            5,
            "lanes has no effect",
        ),
        (
            "sweep lanes 1 2\nqos-group base-sl=0",
            3,
            "lanes has no effect",
        ),
        (
            "lanes 2\nqos-group base-sl=0",
            4,
            "lanes, in line 3, exclude",
        ),
        (
            "qos-group base-sl=1\nqos-group base-sl=1",
            4,
            "qos-group base-sl=1 is in line 3",
        ),
        (
            "case a\ncase b\ncase a",
            5,
            "line 3 has a case \"a\" already",
        ),
        (
            "case a, ranks 1\ncase a\nsweep ranks 1 2",
            5,
            "two cases \"a, ranks 1\"",
        ),
        ("sweep ranks 2 1 2", 3, "2 is swept twice"),
        ("sweep bytes 1K 2 1024", 3, "1024 is swept twice"),
        (
            "background bulk\nbackground rdma-read",
            4,
            "background is in line 3 already",
        ),
        ("case a\nlmc 1\n\nlmc 1", 6, "lmc is in line 4 already"),
        (
            "published rate 1 1%\npublished rate 2 1%",
            4,
            "published rate is in line 3",
        ),
        (
            "published rate 1 1% at 4\npublished rate above 2 at 2 4",
            4,
            "published rate at 4 is in line 3",
        ),
        ("fabric one-switch:3", 3, "fabric is in line 1 already"),
        (
            "experiment A\nexperiment B",
            4,
            "experiment is in line 3 already",
        ),
        (
            "case a\ntraffic alltoall\npairs 0>1",
            5,
            "pairs have no effect on this traffic",
        ),
        (
            "pairs 0>1\ncase a\ntraffic uniform\ncase b\ntraffic bisection",
            3,
            "pairs have no effect",
        ),
        ("case a\nbaseline a", 4, "no case \"a\" before this one"),
        (
            "case a\nsweep ranks 1 2\ncase b\nbaseline a",
            6,
            "sweeps ranks: only",
        ),
        (
            "case a\nsweep ranks 1 2\ncase b\nbaseline a\nsweep lmc 1 2",
            6,
            "only a case that sweeps ranks can be compared",
        ),
        (
            "case a\nsweep ranks 1 2\ncase b\nsweep ranks 3 4\nbaseline a",
            7,
            "none of the same values",
        ),
        (
            "case a\ncase b\ntraffic osu_latency\nbaseline a",
            6,
            "case \"a\" has no latency to compare with",
        ),
        (
            "case a\ncase b\ntraffic bisection\nbaseline a",
            6,
            "case \"a\" has no bisection to compare with",
        ),
    ] {
        let text = format!("{HEAD}{text}");
        let error = text.parse::<Scenario>().unwrap_err();
        assert_eq!(error.line, line, "{text:?}: {error}");
        assert!(error.what.contains(what), "{text:?}: {error}");
    }
    // Common settings may have no effect on one case, and one case may override them.
    let text = format!(
        "{HEAD}pairs 0>1\nlanes 2\nbackground bulk\nlmc 1\nqos-group base-sl=0\n\
         qos-group base-sl=1\ncase a\nlmc 0\nbackground off\nsweep ranks 1 2\ncase b\ntraffic alltoall\nbackground bulk sl=1\n\
         case c\nbackground off\nranks 1\nqos-group base-sl=1"
    );
    text.replace("lanes 2\n", "").parse::<Scenario>().unwrap();
}

/// Each of these would take gigabytes if it was multiplied out.
#[test]
fn sizes_are_limited_before_anything_is_made() {
    let head = "fabric one-switch:2\ntraffic osu_bw bytes=1\n";
    let many = |what: &str, count: usize| what.repeat(count);
    let cases = |end: u32| {
        (1..=end)
            .map(|one| format!("case {one}\n"))
            .collect::<String>()
    };
    let numbers = |end: u32| (1..=end).map(|one| format!(" {one}")).collect::<String>();
    for (text, line, what) in [
        (
            many("# nothing\n", 120_000),
            1,
            "bytes in a scenario, allowed: 1048576",
        ),
        (
            format!("{head}pairs{}", many(" 0>1", 5_000)),
            3,
            "bytes in a line, allowed: 16384",
        ),
        (
            format!("{head}sweep bytes{}", numbers(1_001)),
            3,
            "1001 cases, allowed: 1000",
        ),
        (
            format!("{head}sweep ranks{}\n{}", numbers(900), cases(999)),
            3,
            "1800 cases, allowed: 1000",
        ),
        (
            format!("{head}{}", cases(1_001)),
            1_003,
            "1001 cases, allowed: 1000",
        ),
        (
            "fabric one-switch:2\nranks 1024\n\ntraffic osu_bw bytes=1 window=65536".to_owned(),
            4,
            "67108864 messages at once in the windows of all pairs, allowed: 1048576",
        ),
        (
            "fabric back-to-back\ntraffic osu_bibw window=65536\nsweep ranks 8 9".to_owned(),
            3,
            "1179648 messages at once",
        ),
        (
            "fabric swd24\nranks 1024\ntraffic alltoall".to_owned(),
            3,
            "786432 ranks on 768 hosts, allowed: 262144",
        ),
        (
            "fabric fattree:600000\nhosts 4097\ntraffic mpi_nxnlatbw".to_owned(),
            3,
            "4097 ranks on 4097 hosts, allowed in mpi_nxnlatbw: 4096",
        ),
        (
            "fabric swd24\nranks 8\ntraffic alltoall overlap=1024".to_owned(),
            3,
            "6291456 messages at once, allowed: 1048576",
        ),
        (
            "fabric fattree:600000\nhosts 4097\ntraffic alltoall order=random".to_owned(),
            3,
            "4097 ranks on 4097 hosts, allowed with order=random: 4096",
        ),
        (
            "fabric one-switch:4\nranks 1024\ntraffic osu_latency\njob a alltoall order=random ranks=1024\n\
             job b alltoall order=random"
                .to_owned(),
            3,
            "4100 ranks on 4 hosts, allowed with order=random: 4096",
        ),
    ] {
        let error = text.parse::<Scenario>().unwrap_err();
        assert_eq!(error.line, line, "{error}");
        assert!(error.what.contains(what), "{error}");
    }
    let largest = "fabric back-to-back\ntraffic osu_bibw window=65536\nranks 8";
    largest.parse::<Scenario>().unwrap();
}

fn run(text: &str) -> Vec<Outcome> {
    let scenario: Scenario = text.parse().unwrap();
    perform_all(&scenario, 0, |_, _| {}).unwrap()
}

fn value(outcome: &Outcome, metric: &str) -> f64 {
    outcome.get(metric).unwrap().value
}

/// The published experiment with fewer windows: one pair fills a core switch's link, two pairs
/// share it, and adaptive routing moves one route to the other core switch.
#[test]
fn adaptive_routing_doubles_what_two_pairs_get() {
    let short = E1.replace("skip=2 iterations=10", "skip=2 iterations=3");
    let outcomes = run(&short);
    let bandwidth: Vec<f64> = outcomes.iter().map(|one| value(one, "bandwidth")).collect();
    assert!((bandwidth[0] / 12.38 - 1.0).abs() < 0.01, "{bandwidth:?}");
    assert!(
        (bandwidth[1] / bandwidth[0] - 1.0).abs() < 0.05,
        "{bandwidth:?}"
    );
    assert!((bandwidth[2] / 24.7 - 1.0).abs() < 0.02, "{bandwidth:?}");
    let moved: Vec<u64> = outcomes.iter().map(|one| one.moved).collect();
    assert_eq!(moved, [0, 0, 1]);
    let shares = |outcome: &Outcome| -> Vec<f64> {
        outcome
            .links
            .iter()
            .map(|link| link.percent.round())
            .collect()
    };
    // One core switch's two links are full, the hosts' four are half full.
    assert_eq!(shares(&outcomes[1]), [100.0, 100.0, 50.0, 50.0, 50.0, 50.0]);
    let scenario: Scenario = short.parse().unwrap();
    assert!(report::holds(&scenario, &outcomes));
    let table = report::table(&scenario, &outcomes);
    assert!(table.contains("| 12.38 GB/s ± 1 % |"), "{table}");
    let csv = report::csv([(&scenario, &outcomes[..])]);
    assert_eq!(csv.lines().count(), 1 + 3 * 3);
    assert!(csv.contains("\"two pairs, static\",bandwidth,"), "{csv}");
}

/// Without preemption a small packet that arrives at a random moment waits for the rest of the
/// current large one: half of one, for the fraction of time in which one is being sent. With preemption it
/// waits for ten flits if it arrives within the first or the last ten.
#[test]
fn preemption_saves_small_packets_the_rest_of_a_large_one() {
    let scenario: Scenario = PREEMPTION.parse().unwrap();
    let outcomes = run(PREEMPTION);
    let outcome = |name: &str| {
        let place = scenario.cases.iter().position(|case| case.name == name);
        &outcomes[place.unwrap()]
    };
    let latencies = |traffic: &str| {
        let cases = ["nothing beside", "preemption off", "preemption on"];
        cases.map(|case| value(outcome(&format!("{traffic}, {case}")), "latency"))
    };
    // Microseconds of a flit; flits of the packets.
    let flit = 0.000_64;
    let (small, large) = (8.0, f64::from(10_240 / 8));
    let [alone, off, on] = latencies("64 bytes");
    let (of_small, of_large) = (0.01, 0.8);
    let busy = (of_large * large + of_small * small) / 2.0 / (1.0 - of_small) * flit;
    let own = of_small * small / 2.0 / (1.0 - of_small) * flit;
    let wait = off - (alone - own);
    assert!((wait / busy - 1.0).abs() < 0.05, "{wait}, not {busy}");
    assert!((on - alone).abs() < flit, "{alone}, {on}");
    let longest = |case: &str| value(outcome(&format!("64 bytes, {case}")), "latency_max");
    assert!(longest("preemption off") > alone + 0.95 * large * flit);
    assert!(longest("preemption on") < alone + 5.0 * small * flit);
    let shorter = value(outcome("64 bytes, preemption on"), "shorter");
    assert!(
        (shorter - 100.0 * (1.0 - on / off)).abs() < 1e-9,
        "{shorter}"
    );

    // On any number of threads.
    let case = scenario
        .cases
        .iter()
        .find(|case| case.name == "64 bytes, preemption on");
    let on_threads = |threads| perform(case.unwrap(), 0, threads).unwrap().measurements;
    assert_eq!(on_threads(3), on_threads(1));

    let [alone, off, on] = latencies("osu_latency");
    // Reads take three eighths of the link.
    let large = f64::from((4_096 + 24) / 8) * flit;
    assert!(
        (0.1 * large..large).contains(&(off - alone)),
        "{alone}, {off}"
    );
    assert!((0.0..10.0 * flit).contains(&(on - alone)), "{alone}, {on}");
}

/// Each group has its share, those without one have the rest, and priority needs none.
#[test]
fn groups_are_told_to_the_manager_as_opafm_xml_would() {
    let text = "fabric one-switch:2\ntraffic osu_bw\nqos-group base-sl=3 bandwidth=40% preempt-rank=1\n\
                qos-group base-sl=0\nqos-group base-sl=1 high-priority=1 preempt-rank=7\n\
                qos-group base-sl=2\ncase stock\ncase other\nqos-group base-sl=0 bandwidth=10%\n\
                preemption on preempt-limit=INF";
    let scenario: Scenario = text.parse().unwrap();
    let levels = |case: usize| -> Vec<(u8, u8, bool, u8)> {
        let levels = scenario.cases[case].manager.levels();
        let of = |level: &Level| {
            (
                level.sl.0,
                level.bandwidth,
                level.high_priority,
                level.preempt_rank,
            )
        };
        levels.iter().map(of).collect()
    };
    assert_eq!(
        levels(0),
        [
            (3, 40, false, 1),
            (0, 30, false, 0),
            (1, 0, true, 7),
            (2, 30, false, 0)
        ]
    );
    assert_eq!(
        levels(1),
        [
            (3, 40, false, 1),
            (0, 10, false, 0),
            (1, 0, true, 7),
            (2, 50, false, 0)
        ]
    );
    assert_eq!(scenario.cases[0].manager.preemption, None);
    let preemption = scenario.cases[1].manager.preemption.unwrap();
    assert_eq!((preemption.small_packet, preemption.limit), (256, 65_280));
}

/// Two virtual fabrics, one of which may interrupt the other.
const RANKED: &str = "<Config>
  <Common>
    <Shared/><Fe/><Pm/>
    <Sm>
      <RoutingAlgorithm>dmodc</RoutingAlgorithm><Lmc>1</Lmc>
      <Preemption><SmallPacket>128</SmallPacket><PreemptLimit>512</PreemptLimit></Preemption>
    </Sm>
    <Applications>
      <Application><Name>One</Name><ServiceID>0x1</ServiceID></Application>
      <Application><Name>Others</Name>
        <Select>UnmatchedServiceID</Select><Select>UnmatchedMGID</Select></Application>
      <Application><Name>Managers</Name><Select>SA</Select><Select>PM</Select>
        <ServiceID>0x1100d03c34845555</ServiceID></Application>
    </Applications>
    <DeviceGroups>
      <DeviceGroup><Name>All</Name><Select>All</Select></DeviceGroup>
      <DeviceGroup><Name>Managers</Name>
        <Select>AllMgmtAllowed</Select><Select>SWE0</Select></DeviceGroup>
    </DeviceGroups>
    <VirtualFabrics>
      <VirtualFabric>
        <Name>Admin</Name><Enable>1</Enable><PKey>0x7fff</PKey><Security>1</Security><QOS>0</QOS>
        <Member>Managers</Member><LimitedMember>All</LimitedMember>
        <Application>Managers</Application>
      </VirtualFabric>
      <VirtualFabric>
        <Name>Bulk</Name><Enable>1</Enable><QOS>1</QOS><BaseSL>2</BaseSL><PreemptRank>1</PreemptRank>
        <Bandwidth>70%</Bandwidth><Member>All</Member><Application>Others</Application>
      </VirtualFabric>
      <VirtualFabric>
        <Name>Small</Name><Enable>1</Enable><QOS>1</QOS><BaseSL>3</BaseSL><PreemptRank>2</PreemptRank>
        <HighPriority>1</HighPriority><Member>All</Member><Application>One</Application>
      </VirtualFabric>
    </VirtualFabrics>
  </Common>
  <Fm><Shared/><Sm/><Fe/><Pm/></Fm>
</Config>";

#[test]
fn a_config_says_what_the_scenario_does_not() {
    let read = |text: &str| {
        Scenario::read(text, |file| match file {
            "ranked.xml" => Ok(RANKED.to_owned().into_bytes()),
            "wrong.xml" => Ok(RANKED.replace("<Lmc>1<", "<Lmc>9<").into_bytes()),
            _ => Err(format!("{file}: not there")),
        })
    };
    let text = "fabric one-switch:2\ntraffic osu_bw\nconfig ranked.xml\nsl 3\ncase config\n\
                preemption on\ncase other\nlmc 2\nsl 0\npreemption on small-packet=64\nlanes 2";
    let scenario = read(text).unwrap();
    let [config, other] = [0, 1].map(|case| &scenario.cases[case].manager);
    assert_eq!((config.engine, config.lmc), (EngineKind::Dmodc, 1));
    let ranks = |manager: &Manager| -> Vec<(u8, u8, bool)> {
        let levels = manager.levels();
        let of = |level: &Level| (level.sl.0, level.preempt_rank, level.high_priority);
        levels.iter().map(of).collect()
    };
    let ranked = ranks(config);
    assert!(
        ranked.contains(&(2, 1, false)) && ranked.contains(&(3, 2, true)),
        "{ranked:?}"
    );
    let sizes = |manager: &Manager| {
        let sizes = manager.preemption.unwrap();
        (sizes.small_packet, sizes.large_packet, sizes.limit)
    };
    assert_eq!(sizes(config), (128, 4_096, 512));
    assert_eq!((other.lmc, sizes(other)), (2, (64, 4_096, 512)));
    assert_eq!(ranks(other), [(0, 0, false), (1, 0, false)]);
    for (text, line, what) in [
        ("\nconfig none.xml", 2, "none.xml: not there"),
        (
            "config wrong.xml",
            1,
            "wrong.xml:5: error: Config/Common/Sm/Lmc: 9",
        ),
        (
            "fabric one-switch:2\nconfig ranked.xml\ntraffic osu_bw\nsl 7\ncase a",
            4,
            "unknown service level \"7\"",
        ),
    ] {
        let error = read(text).unwrap_err();
        assert_eq!(error.line, line, "{text:?}: {error}");
        assert!(error.what.contains(what), "{text:?}: {error}");
    }
    let error = "config ranked.xml".parse::<Scenario>().unwrap_err();
    assert!(error.what.contains("cannot be read"), "{error}");
}

const FOUR_HOSTS: &[u8] = include_bytes!("../../../../examples/four-hosts.ibnetdiscover");

#[test]
fn a_fabric_can_be_read_from_a_file() {
    let mut opened = Vec::new();
    let mut read = |text: &str| {
        opened.clear();
        Scenario::read(text, |file| {
            opened.push(file.to_owned());
            match file {
                "four.ibnetdiscover" => Ok(FOUR_HOSTS.to_vec()),
                _ => Ok(b"nothing of the kind".to_vec()),
            }
        })
    };
    let text = "traffic osu_latency bytes=1 iterations=1\ncase a\nfabric four.ibnetdiscover\n\
                case b\nfabric file:four.ibnetdiscover\nhosts 2";
    let scenario = read(text).unwrap();
    let outcome = perform(&scenario.cases[0], 0, 1).unwrap();
    assert!(value(&outcome, "latency") > 0.5, "{outcome:?}");
    let error = read("\nfabric other.ibnetdiscover").unwrap_err();
    assert_eq!(error.line, 2);
    assert!(
        error.what.starts_with("other.ibnetdiscover: line 1: "),
        "{error}"
    );
    // Hosts are counted.
    let many = read("fabric four.ibnetdiscover\nranks 1024\ntraffic mpi_nxnlatbw").unwrap();
    assert_eq!(many.cases.len(), 1);
    let error =
        read("ranks 1024\nfabric four.ibnetdiscover\ntraffic osu_bw window=513").unwrap_err();
    assert_eq!(error.line, 3, "{error}");
    assert_eq!(opened, ["four.ibnetdiscover"]);
}

/// In tables, in curves and in CSV; and one of a case counts instead of the common one.
#[test]
fn a_published_figure_that_is_not_measured_is_marked() {
    let text = "fabric one-switch:2\ntraffic osu_latency bytes=1 iterations=1\npublished latency 99 1%\n\
                published rate 5 1%\ncase a\npublished latency 1 50%\ncase b\nsweep bytes 1 2";
    let scenario: Scenario = text.parse().unwrap();
    let figures = |case: usize| scenario.cases[case].published.len();
    assert_eq!([0, 1, 2].map(figures), [2, 2, 2]);
    let outcomes = run(text);
    assert!(!report::holds(&scenario, &outcomes));
    let table = report::table(&scenario, &outcomes);
    assert!(
        table.contains("| a | rate | not measured | 5 ± 1 % | ✗ |"),
        "{table}"
    );
    assert_eq!(table.matches("not measured ✗").count(), 2, "{table}");
    assert_eq!(table.matches('✗').count(), 5, "{table}");
    let csv = report::csv([(&scenario, &outcomes[..])]);
    assert!(
        csv.contains(",a,rate,,,5,1,,not measured ✗,,,,,\n"),
        "{csv}"
    );
    assert!(
        csv.contains(",us,1,50,,held,,,,,\n") && csv.contains(",us,99,1,,✗,b,bytes,2,,\n"),
        "{csv}"
    );
}

/// A bound that is inclusive holds at the bound itself; a figure for some swept values
/// applies there, and one of the case takes precedence over the common ones.
#[test]
fn published_bounds_are_checked() {
    let text = "fabric one-switch:2\ntraffic osu_bw window=2 skip=0 iterations=1\n\
                published rate 5 1%\npublished bandwidth above 0\ncase a\npublished rate at-least 1 below 101\n\
                case b\npublished rate above 200\ncase c\nsweep bytes 1 2 4\npublished rate at-least 0\n\
                published rate at-most -1 at 2 4\npublished step above 0 at 4";
    let scenario: Scenario = text.parse().unwrap();
    let outcomes = run(text);
    assert!(!report::holds(&scenario, &outcomes));
    let table = report::table(&scenario, &outcomes);
    for row in [
        "| ≥ 1 Gb/s, < 101 Gb/s |  |",
        "| > 200 Gb/s | ✗ |",
        "Published: bandwidth > 0 GB/s; rate ≥ 0 Gb/s at 1; rate ≤ -1 Gb/s at 2, 4; step > 0 % at 4.",
    ] {
        assert!(table.contains(row), "{row}: {table}");
    }
    assert_eq!(table.matches('✗').count(), 3 + 1, "{table}");
    let csv = report::csv([(&scenario, &outcomes[..])]);
    assert!(csv.contains(",,,\"≥ 1, < 101\",held,,,,,\n"), "{csv}");
    let messages: Vec<f64> = outcomes[2..]
        .iter()
        .map(|one| value(one, "messages"))
        .collect();
    let step = value(&outcomes[4], "step");
    assert!((step - 100.0 * (messages[2] / messages[1] - 1.0)).abs() < 1e-9);
    let at_bound = |figure: &str| {
        let text = format!("fabric one-switch:2\ntraffic osu_bw\npublished rate {figure}");
        let scenario: Scenario = text.parse().unwrap();
        scenario.cases[0].published[0].holds(3.0)
    };
    let figures = ["at-least 3", "at-most 3", "above 3", "below 3"];
    assert_eq!(figures.map(at_bound), [true, true, false, false]);
}

/// A figure that follows from an input is compared, but is no hit.
#[test]
fn what_cannot_fail_is_no_hit() {
    let text = "fabric one-switch:2\ntraffic osu_latency bytes=1 iterations=1\n\
                case a\npublished latency 0.93 5% given its parts are inputs\npublished latency_min above 0\n\
                case b\npublished latency 5 5% given nothing";
    let scenario: Scenario = text.parse().unwrap();
    let outcomes = run(text);
    let verdicts = report::verdicts(&scenario, &outcomes);
    assert_eq!((verdicts.held, verdicts.missed, verdicts.given), (1, 1, 1));
    assert!(!report::holds(&scenario, &outcomes));
    let table = report::table(&scenario, &outcomes);
    assert!(table.contains("% given: its parts are inputs |"), "{table}");
    let end = "1 of 2 published figures came out; 1 more follow from inputs and are no hits.";
    assert!(table.contains(end), "{table}");
    let csv = report::csv([(&scenario, &outcomes[..])]);
    assert_eq!(csv.matches(",given,").count(), 1, "{csv}");
    let swept = "fabric one-switch:2\ntraffic osu_latency iterations=1\nsweep bytes 1 2\n\
                 published latency at-least 0 at 2 given time goes on";
    let scenario: Scenario = swept.parse().unwrap();
    let table = report::table(&scenario, &run(swept));
    assert!(
        table.contains(
            "latency ≥ 0 us at 2 (given: time goes on).\n\n1 published figures follow from inputs"
        ),
        "{table}"
    );
    let text = "fabric one-switch:2\ntraffic osu_bw\npublished rate 1 5% given";
    let error = text.parse::<Scenario>().unwrap_err().to_string();
    assert!(error.contains("given says no reason"), "{error}");
}

/// Scenarios can name all that comes out, and nothing else.
#[test]
fn all_that_is_measured_has_a_known_name() {
    let text = "fabric mesh:2,hosts=2\nmay-not-end on\ncase bw\ntraffic osu_bw window=1 skip=0 iterations=1\n\
                case later\ntraffic osu_bw window=1 skip=0 iterations=1\nbaseline bw\n\
                case bytes\ntraffic osu_bw window=1 skip=0 iterations=1\nsweep bytes 8 9\npublished step above 0 at 9\n\
                case latency\ntraffic osu_latency iterations=1\nsweep bytes 8\n\
                case pairs\ntraffic mpi_nxnlatbw iterations=1 large=8K\ncase all\ntraffic alltoall bytes=8\n\
                case again\ntraffic alltoall bytes=8\nbaseline all\n\
                case stream\ntraffic uniform span=10us\nbackground uniform load=0.1\n\
                case rates\ntraffic bisection matchings=1\n\
                case fault\ntraffic uniform span=1ms load=0.01\nfault 1us link-lanes=1 100%";
    let mut scenario: Scenario = text.parse().unwrap();
    for case in &mut scenario.cases {
        case.manager.congestion.control.enable = true;
    }
    let outcomes = perform_all(&scenario, 0, |_, _| {}).unwrap();
    let found = outcomes.iter().flat_map(|outcome| &outcome.measurements);
    let found: BTreeSet<&str> = found.map(|one| one.metric.as_ref()).collect();
    assert_eq!(found, BTreeSet::from(METRICS));
}

#[test]
fn blocks_of_ports_show_in_the_latencies() {
    let outcomes = run("fabric one-switch:16,radix=48\n\
         traffic mpi_nxnlatbw bytes=1 iterations=2 sessions=1");
    let (near, far) = (
        value(&outcomes[0], "same_block"),
        value(&outcomes[0], "other_block"),
    );
    assert!((far - near - 0.010).abs() < 1e-6, "{near} and {far}");
    assert!((far / 0.93 - 1.0).abs() < 0.02, "{far}");
    assert!((value(&outcomes[0], "between_blocks") - 10.0).abs() < 1e-6);
    assert!(value(&outcomes[0], "asymmetry_time") < 10.0);
    // With as many blocks as this, hosts of one are further from the mean than the others.
    let mean = value(&outcomes[0], "latency");
    let jitter = value(&outcomes[0], "jitter");
    assert!(
        (jitter - 100.0 * (1.0 - near / mean)).abs() < 1e-9,
        "{jitter}"
    );
}

/// Nothing is faster than the links, and large messages come near to them.
#[test]
fn curves_over_the_size_stay_within_what_links_allow() {
    let text = "fabric one-switch:2\npairs halves\ncase late\ntraffic osu_latency bytes=1 iterations=2\n\
                sweep bytes 8 4K 4M\ncase wide\ntraffic osu_bibw bytes=8 window=16 iterations=2\n\
                sweep bytes 8 4K 4M";
    let outcomes = run(text);
    let of = |outcome: &Outcome, metric: &str| {
        value(outcome, &format!("{metric}_bound")) / value(outcome, metric)
    };
    let late: Vec<f64> = outcomes[..3].iter().map(|one| of(one, "latency")).collect();
    let wide: Vec<f64> = outcomes[3..]
        .iter()
        .map(|one| 1.0 / of(one, "bandwidth"))
        .collect();
    for near in [late, wide] {
        assert!(near.iter().all(|share| *share < 1.0), "{near:?}");
        assert!(near[0] < 0.01 && near[2] > 0.97, "{near:?}");
    }
}

/// Fewer uplinks take longer, and a case can be compared with one before it.
#[test]
fn uplinks_can_be_taken_away_evenly() {
    let outcomes = run(
        "fabric pgft:2;4,2;1,2;1,2\nengine fattree\ntraffic alltoall bytes=64K\n\
         case all\ncase half\nuplinks 2\nbaseline all\ncase one\nuplinks 1\nbaseline all",
    );
    let times: Vec<f64> = outcomes.iter().map(|one| value(one, "time")).collect();
    assert!(times[0] < times[1] && times[1] < times[2], "{times:?}");
    let shorter = value(&outcomes[2], "shorter");
    assert!((shorter - 100.0 * (1.0 - times[2] / times[0])).abs() < 1e-9);
}

#[test]
fn a_seed_gives_the_same_result_again() {
    let text = "fabric fattree:32,radix=8\nlanes 4\ntraffic uniform bytes=2112 span=50us\nlinks on";
    let scenario: Scenario = text.parse().unwrap();
    let of = |seed, threads| {
        let outcome = perform(&scenario.cases[0], seed, threads).unwrap();
        (outcome.measurements, outcome.links, outcome.hops)
    };
    let one = of(1, 1);
    assert!(!one.1.is_empty() && one.2 > 1_000);
    assert_eq!(one, of(1, 1));
    assert_eq!(one, of(1, 2), "on two threads");
    assert_ne!(one, of(2, 1));
}

#[test]
fn what_does_not_end_says_why() {
    let text = "fabric one-switch:2\ntraffic osu_bw\nlimit 1ms";
    let scenario: Scenario = text.parse().unwrap();
    let error = perform(&scenario.cases[0], 0, 1).unwrap_err().to_string();
    assert!(error.contains("not ended after 1 ms"), "{error}");
}

/// The methods change at the published sizes, and each change affects a process's throughput.
#[test]
fn methods_of_sending_show_as_steps() {
    let text = "fabric one-switch:2\ntraffic osu_mbw_mr window=64 skip=1 iterations=4\n\
        plot messages over bytes log Rates\n\
        case psm2\nsweep bytes 8 9 8K 8193 16K 16385 64000 64001\n\
        case opx\nstack opx\nbaseline psm2\nsweep bytes 16 17 8K 8193 16K 16385";
    let scenario: Scenario = text.parse().unwrap();
    let outcomes = perform_all(&scenario, 0, |_, _| {}).unwrap();
    let methods: Vec<&str> = outcomes
        .iter()
        .map(|one| one.method.as_deref().unwrap())
        .collect();
    assert_eq!(
        methods[..8],
        [
            "inject",
            "eager",
            "eager",
            "multi-packet eager",
            "multi-packet eager",
            "eager by SDMA",
            "eager by SDMA",
            "rendezvous"
        ]
    );
    assert_eq!(
        methods[8..],
        [
            "inject",
            "eager",
            "eager",
            "multi-packet eager",
            "multi-packet eager",
            "rendezvous"
        ]
    );
    let bandwidth: Vec<f64> = outcomes.iter().map(|one| value(one, "bandwidth")).collect();
    // A second packet costs more than it brings, a third one a dip, rendezvous pays.
    assert!(bandwidth[3] < 0.85 * bandwidth[2], "{bandwidth:?}");
    assert!(bandwidth[5] < 0.92 * bandwidth[4], "{bandwidth:?}");
    assert!(bandwidth[7] > 1.5 * bandwidth[6], "{bandwidth:?}");
    assert!(bandwidth[13] > 1.3 * bandwidth[12], "{bandwidth:?}");
    // Each size of the second curve is compared with the same size of the first.
    let share = value(&outcomes[10], "of_baseline");
    assert!((share - 100.0 * bandwidth[10] / bandwidth[2]).abs() < 1e-9);
    let svg = chart::draw(&scenario, &outcomes, &scenario.plots[0]).unwrap();
    assert_eq!(svg.matches("<circle").count(), 14);
    assert_eq!(svg.matches("<polyline").count(), 2);
    let table = report::table(&scenario, &outcomes);
    assert!(table.contains("| 64001 | rendezvous |"), "{table}");
}

/// With copies over sockets a benchmark gets less, and with reads, both as fast as processors copy; a short
/// lifetime discards packets and changes little.
#[test]
fn other_traffic_takes_its_share_and_lifetimes_discard() {
    let outcomes = run(
        "fabric mesh:2,hosts=5\npairs 0>5\nmay-not-end on\nlimit 2s\n\
         traffic osu_bibw bytes=64K window=64 skip=1 iterations=2\n\
         case alone\ncase bulk\nbackground bulk\ncase read\nbackground rdma-read\n\
         case low\nbackground bulk\nswitch-lifetime 3",
    );
    let bandwidth: Vec<f64> = outcomes.iter().map(|one| value(one, "bandwidth")).collect();
    assert!(bandwidth[1] < 0.5 * bandwidth[0], "{bandwidth:?}");
    assert!(bandwidth[2] < 0.5 * bandwidth[0], "{bandwidth:?}");
    assert!(bandwidth[3] > 0.8 * bandwidth[1], "{bandwidth:?}");
    let discards: Vec<f64> = outcomes[1..]
        .iter()
        .map(|one| value(one, "discards"))
        .collect();
    assert_eq!(discards[..2], [0.0, 0.0]);
    assert!(discards[2] > 100.0, "{discards:?}");
}

/// Times of several runs are medians and counts are means; drops before the benchmark began
/// do not count.
#[test]
fn runs_are_summed_up() {
    let case = |runs: u32, warm_up: &str| {
        let text = format!(
            "fabric mesh:2,hosts=5\npairs 0>5\nmay-not-end on\nlimit 2s\nbackground bulk\nruns {runs}\n\
             warm-up {warm_up}\nhoq-life 2\nhead-of-queue input\ntraffic osu_bibw bytes=64K window=64 skip=0 iterations=4"
        );
        let scenario: Scenario = text.parse().unwrap();
        scenario.cases[0].clone()
    };
    let outcome = |runs, seed| perform(&case(runs, "200us"), seed, 1).unwrap();
    let all = outcome(3, 1);
    let each: Vec<Outcome> = (1..4).map(|seed| outcome(1, seed)).collect();
    let of = |metric| {
        let mut values: Vec<f64> = each.iter().map(|one| value(one, metric)).collect();
        values.sort_by(f64::total_cmp);
        values
    };
    assert_eq!(value(&all, "bandwidth"), of("bandwidth")[1]);
    let discards = of("discards");
    assert!(discards[0] < discards[2], "{discards:?}");
    assert_eq!(value(&all, "discards"), discards.iter().sum::<f64>() / 3.0);
    let spread = all.get("discards").unwrap().spread;
    assert_eq!(spread, Some((discards[0], discards[2])));
    assert_eq!(each[0].get("discards").unwrap().spread, None);
    let late = perform(&case(1, "10ms"), 1, 1).unwrap();
    assert!(late.lost as f64 > value(&late, "discards"), "{late:?}");
}

/// About what fair shares give on any two-level tree of 128 hosts under destination routing, 86 %
/// with one path and nearly all with eight, and what adaptive routes and lost links change.
#[test]
fn bisection_bandwidth_is_that_of_fair_shares() {
    let outcomes = run(
        "fabric fattree:128,radix=16\nengine dmodc\ntraffic bisection matchings=100\n\
         case one\ncase seven\nlmc 3\ncase adaptive\nadaptive on algorithm=2 threshold=7\n\
         case gone\ngone 20%",
    );
    let bisection: Vec<f64> = outcomes.iter().map(|one| value(one, "bisection")).collect();
    assert!((bisection[0] - 85.8).abs() < 3.0, "{bisection:?}");
    assert!(bisection[1] > 96.0, "{bisection:?}");
    assert!(bisection[2] > bisection[0] + 2.0, "{bisection:?}");
    assert!(bisection[3] < bisection[0] - 5.0, "{bisection:?}");
}

/// Why E6 does not list all engines: two of them produce the same on a tree as another.
#[test]
fn engines_without_a_way_of_their_own_do_as_others() {
    let outcome = |engine: &str| {
        let text = format!(
            "fabric fattree:128,radix=16\ntraffic bisection matchings=2\ngone 5%\nengine {engine}"
        );
        run(&text).remove(0).measurements
    };
    assert_eq!(outcome("auto"), outcome("dmodc"));
    assert_eq!(outcome("dor"), outcome("shortestpath"));
    let scenario: Scenario = E6.parse().unwrap();
    for (name, engine) in EngineKind::NAMED {
        let mut engines = scenario.cases.iter().map(|case| case.manager.engine);
        let is_listed = engines.any(|other| other == engine);
        assert_ne!(is_listed, ["auto", "dor"].contains(&name), "{name}");
    }
}

/// Room for two packets is not enough to keep a link busy until credits return; the HFI's buffer is.
#[test]
fn small_buffers_of_switches_slow_links_down() {
    let text = "fabric mesh:2,hosts=1\ntraffic osu_bw window=16 skip=1 iterations=2\n\
                case stock\ncase swept\nbaseline stock\nsweep buffer 32K 136K 512K";
    let outcomes = run(text);
    let share: Vec<f64> = outcomes[1..]
        .iter()
        .map(|one| value(one, "of_baseline"))
        .collect();
    assert!(share[0] < 95.0, "{share:?}");
    assert_eq!(share[1], 100.0, "{share:?}");
    assert!((share[2] - 100.0).abs() < 1.0, "{share:?}");
}

/// osu_latency takes no time before its pairs have met as often as the benchmark has it.
#[test]
fn latency_is_taken_after_the_benchmarks_own_round_trips() {
    let hops = |traffic: &str| {
        let text = format!("fabric one-switch:2\ntraffic osu_latency iterations=1 {traffic}");
        run(&text)[0].hops
    };
    // There and back over two links each, once while time is taken.
    for (traffic, skip) in [("bytes=8K", 100), ("bytes=8", 100), ("bytes=8 skip=7", 7)] {
        let packets = hops(traffic) / (skip + 1);
        assert!(packets >= 4 && hops(traffic) % (skip + 1) == 0, "{traffic}");
    }
    assert_eq!(hops("bytes=8193") % 11, 0);
}

/// Over sockets the headers of TCP are no bandwidth, whoever measures it.
#[test]
fn bandwidths_between_all_pairs_are_those_of_data() {
    let outcomes = run(
        "fabric one-switch:2\nstack sockets\ncase all\ntraffic mpi_nxnlatbw iterations=1 large=1M\n\
         case one\ntraffic osu_bw bytes=1M window=8 skip=1 iterations=1",
    );
    let [all, one] = [0, 1].map(|case| value(&outcomes[case], "bandwidth"));
    assert!((all / one - 1.0).abs() < 1e-3, "{all} and {one}");
}

/// On one switch each session has its host's link to itself, two of one host have half of it each.
#[test]
fn bandwidths_between_all_pairs_are_those_of_their_links() {
    let outcomes = run(
        "fabric one-switch:4\ntraffic mpi_nxnlatbw iterations=1 large=4M\n\
         case one\ncase two\nranks 2\ncase one at a time\nranks 2\ntraffic mpi_nxnlatbw iterations=1 large=4M sessions=1",
    );
    let of = |case: usize, metric: &str| value(&outcomes[case], metric);
    assert!((of(0, "bandwidth_min") / 12.4 - 1.0).abs() < 0.02);
    assert!(of(0, "bandwidth") >= of(0, "bandwidth_min"));
    assert!(
        (5.0..6.3).contains(&of(1, "bandwidth_min")),
        "{}",
        of(1, "bandwidth_min")
    );
    assert!((of(2, "bandwidth_min") / of(0, "bandwidth_min") - 1.0).abs() < 0.01);
    let error = "fabric one-switch:4\ntraffic osu_latency large=8".parse::<Scenario>();
    assert!(
        error
            .unwrap_err()
            .what
            .contains("allowed: bytes, skip, iterations")
    );
}
