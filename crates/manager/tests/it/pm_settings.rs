//! Settings of the performance manager from opafm.xml.
#![allow(clippy::unwrap_used)]

use std::time::Duration;

use weft_manager::ManagerSettings;
use weft_manager::pm::settings::DiskSettings;
use weft_manager::pm::{Categories, PmSettings};
use weft_manager::sa::OwnService;

const HISTORY: (&str, &str) = ("<ShortTermHistory>", "</ShortTermHistory>");

/// The file that comes with this repository, with other words where its `<Pm>` begins.
fn managers(pm: &str) -> ManagerSettings {
    let mut shipped = include_str!("../../../../config/opafm.xml").to_owned();
    // A section stands once.
    if pm.contains(HISTORY.0) {
        let (from, to) = (shipped.find(HISTORY.0), shipped.find(HISTORY.1));
        shipped.replace_range(from.unwrap()..to.unwrap() + HISTORY.1.len(), "");
    }
    let text = shipped.replacen(
        "<Start>1</Start>\n      <SweepInterval>10</SweepInterval>",
        pm,
        1,
    );
    assert!(pm.is_empty() || text.contains(pm));
    let checked = weft_config::check(text, "opafm.xml");
    let errors: Vec<String> = checked.errors().map(ToString::to_string).collect();
    let config = checked.config.unwrap_or_else(|| panic!("{errors:?}"));
    ManagerSettings::from_config(&config.instances[0]).unwrap()
}

fn settings(pm: &str) -> PmSettings {
    managers(pm).pm.unwrap()
}

fn disk(settings: &PmSettings) -> &DiskSettings {
    settings.disk.as_ref().unwrap()
}

#[test]
fn the_lease_of_the_service_record_goes_to_subnet_administration() {
    let managers = managers("<ServiceLease>90</ServiceLease>");
    let expected = OwnService::performance(Duration::from_secs(90), 0);
    assert_eq!(managers.sa.own_services, [expected]);
}

#[test]
fn every_element_has_its_setting() {
    type Holds = fn(&PmSettings) -> bool;
    let cases: &[(&str, Holds)] = &[
        ("<SweepInterval>77</SweepInterval>", |pm| {
            pm.interval == Duration::from_secs(77)
        }),
        (
            "<MaxClients>7</MaxClients><FreezeFrameImages>20</FreezeFrameImages>\
             <TotalImages>40</TotalImages>",
            |pm| pm.max_clients == 7,
        ),
        ("<TotalImages>33</TotalImages>", |pm| pm.total_images == 33),
        (
            "<FreezeFrameImages>9</FreezeFrameImages><TotalImages>11</TotalImages>",
            |pm| pm.frozen_images == 9,
        ),
        (
            "<ShortTermHistory><Enable>0</Enable></ShortTermHistory>",
            |pm| pm.disk.is_none(),
        ),
        (
            "<ShortTermHistory><StorageLocation>/else</StorageLocation></ShortTermHistory>",
            |pm| disk(pm).dir == "/else",
        ),
        // 24 hours at 10 seconds and 3 sweeps a file are 2,880 files.
        (
            "<ShortTermHistory><TotalHistory>1</TotalHistory></ShortTermHistory>",
            |pm| disk(pm).files_max == 120,
        ),
        (
            "<ShortTermHistory><ImagesPerComposite>6</ImagesPerComposite></ShortTermHistory>",
            |pm| (disk(pm).images, disk(pm).files_max) == (6, 1_440),
        ),
        (
            "<ShortTermHistory><MaxDiskSpace>7</MaxDiskSpace></ShortTermHistory>",
            |pm| disk(pm).bytes_max == 7 << 20,
        ),
        (
            "<ShortTermHistory><CompressionDivisions>5</CompressionDivisions></ShortTermHistory>",
            |pm| disk(pm).divisions == 5,
        ),
        ("<FreezeFrameLease>61</FreezeFrameLease>", |pm| {
            pm.lease == Duration::from_secs(61)
        }),
        (
            "<Thresholds><Integrity>1</Integrity><Congestion>2</Congestion>\
             <SmaCongestion>3</SmaCongestion><Bubble>4</Bubble><Security>5</Security>\
             <Routing>6</Routing></Thresholds>",
            |pm| pm.thresholds.values() == [1, 2, 3, 4, 5, 6],
        ),
        (
            "<ThresholdsExceededMsgLimit><Integrity>1</Integrity><Congestion>2</Congestion>\
             <SmaCongestion>3</SmaCongestion><Bubble>4</Bubble><Security>5</Security>\
             <Routing>6</Routing></ThresholdsExceededMsgLimit>",
            |pm| pm.threshold_messages.values() == [1, 2, 3, 4, 5, 6],
        ),
        (
            "<IntegrityWeights><LinkDowned>7</LinkDowned>\
             <LinkWidthDowngrade>8</LinkWidthDowngrade></IntegrityWeights>",
            |pm| (pm.integrity.link_downed, pm.integrity.lanes_down) == (7, 8),
        ),
        ("<ErrorClear>3</ErrorClear>", |pm| pm.clear.eighths == 3),
        ("<ClearDataXfer>1</ClearDataXfer>", |pm| pm.clear.data),
        ("<ProcessHFICounters>0</ProcessHFICounters>", |pm| {
            !pm.process.hfis
        }),
        ("<ProcessVLCounters>0</ProcessVLCounters>", |pm| {
            !pm.process.lanes
        }),
        ("<ProcessErrorInfo>0</ProcessErrorInfo>", |pm| {
            !pm.process.error_info
        }),
        ("<MaxParallelNodes>21</MaxParallelNodes>", |pm| {
            pm.requests.nodes == 21
        }),
        ("<PmaBatchSize>5</PmaBatchSize>", |pm| {
            pm.requests.per_node == 5
        }),
        ("<MaxAttempts>4</MaxAttempts>", |pm| {
            pm.requests.attempts == 4
        }),
        ("<RespTimeout>300</RespTimeout>", |pm| {
            pm.requests.timeout == Duration::from_millis(300)
        }),
        (
            "<SweepErrorsLogThreshold>2</SweepErrorsLogThreshold>",
            |pm| pm.failure_messages == 2,
        ),
    ];
    let shipped = settings("");
    for (element, holds) in cases {
        assert!(!holds(&shipped), "{element} is what it would be anyway");
        assert!(holds(&settings(element)), "{element}");
    }
}

#[test]
fn numbers_that_cannot_be_meant_are_bent() {
    assert_eq!(
        settings("<PmaBatchSize>500</PmaBatchSize>")
            .requests
            .per_node,
        16
    );
    let timeouts = |min: u32| {
        let element =
            format!("<RespTimeout>250</RespTimeout><MinRespTimeout>{min}</MinRespTimeout>");
        settings(&element).requests
    };
    assert_eq!(timeouts(0).first_timeout, Duration::from_millis(250));
    assert_eq!(timeouts(40).first_timeout, Duration::from_millis(40));
    assert!(timeouts(1).floor <= Duration::from_millis(1));
}

#[test]
fn virtual_fabrics_and_what_nobody_set_are_as_documented() {
    let shipped = settings("");
    let names: Vec<&str> = shipped
        .fabrics
        .iter()
        .map(|monitored| monitored.fabric.name.as_str())
        .collect();
    assert_eq!(names, ["Default", "Admin"]);
    assert!(shipped.fabrics.iter().all(|fabric| fabric.lanes != 0));
    assert_eq!(shipped.interval, Duration::from_secs(10));
    assert_eq!(shipped.thresholds, PmSettings::default().thresholds);
    assert_eq!(shipped.disk, PmSettings::default().disk);
    let messages = Categories {
        integrity: 10,
        security: 10,
        routing: 10,
        ..Categories::default()
    };
    assert_eq!(shipped.threshold_messages, messages);
    assert_eq!(shipped.subnet_prefix, 0xFE80_0000_0000_0000);
}
