//! Every tag of opafm.xml that has an effect according to its documentation has one that can be
//! observed: two files that differ in this tag alone make a fabric, or its management, differ.

mod case;
mod election;
mod fabric;
mod objects;
mod pm;
mod services;
mod sm;

use std::collections::BTreeSet;

use weft_config::reference;

use case::Case;

fn cases() -> Vec<Case> {
    [objects::cases(), sm::cases(), pm::cases()].concat()
}

/// Tags whose effect no emulated fabric can show: the tag, the reason.
const NOT_SHOWN: [(&str, &str); 7] = [
    ("Sm/HFILinkPolicy/WidthPolicy/Policy", FOUR_LANES),
    ("Sm/ISLLinkPolicy/WidthPolicy/Policy", FOUR_LANES),
    ("Sm/HFILinkPolicy/SpeedPolicy/Policy", ONE_VALUE),
    ("Sm/ISLLinkPolicy/SpeedPolicy/Policy", ONE_VALUE),
    ("Sm/HFILinkPolicy/SpeedPolicy/Enable", FULL_SPEED),
    ("Sm/ISLLinkPolicy/SpeedPolicy/Enable", FULL_SPEED),
    (
        "Sm/NeighborNormalRetries",
        "the other end of an emulated link is ready as soon as it is armed",
    ),
];
const FOUR_LANES: &str = "every policy asks for the widest width of both ends, and all emulated ports support four lanes";
const ONE_VALUE: &str = "only one value is allowed";
const FULL_SPEED: &str = "emulated links come up with the best speed of their ends";

/// Tags of which a test of the daemon sees the effect: the tag, the test's file, its name.
const OF_THE_DAEMON: [(&str, &str, &str); 36] = [
    ("Shared/Start", "refusals", INSTANCE),
    ("Shared/Name", "refusals", INSTANCE),
    ("Sm/Start", "refusals", INSTANCE),
    (
        "Pm/Start",
        "live",
        "what_cannot_be_shown_or_started_is_said",
    ),
    (
        "Shared/ConfigConsistencyCheckLevel",
        "pair_settings",
        "a_standby_with_other_settings_is_none_until_they_are_the_same",
    ),
    ("Shared/Hfi", "refusals", PORT),
    ("Shared/Port", "refusals", PORT),
    ("Shared/PortGUID", "refusals", PORT),
    ("Shared/LogLevel", "logs", LEVELS),
    ("Shared/LogMode", "logs", LEVELS),
    ("Shared/LogFile", "logs", LOG_FILE),
    ("Shared/SyslogFacility", "logs", FACILITY),
    ("Shared/SM_LogMask", "logs", MASKS),
    ("Shared/SA_LogMask", "logs", MASKS),
    ("Shared/PM_LogMask", "logs", MASKS),
    ("Sm/LogLevel", "logs", LEVELS),
    ("Sm/LogMode", "logs", LEVELS),
    ("Sm/LogFile", "logs", LOG_FILE),
    ("Sm/SyslogFacility", "logs", FACILITY),
    ("Sm/SM_LogMask", "logs", MASKS),
    ("Sm/SA_LogMask", "logs", MASKS),
    ("Sm/PM_LogMask", "logs", MASKS),
    ("Sm/NodeAppearanceMsgThreshold", "logs", NODE_LINES),
    ("Sm/PortBounceLogLimit", "logs", LINK_LINES),
    ("Sm/TrapLogSuppressTriggerInterval", "logs", TRAP_LINES),
    (
        "Pm/SweepErrorInfoLogThresholds/Integrity",
        CAUSE_TESTS,
        CAUSES,
    ),
    (
        "Pm/SweepErrorInfoLogThresholds/Security",
        CAUSE_TESTS,
        CAUSES,
    ),
    (
        "Pm/SweepErrorInfoLogThresholds/Routing",
        CAUSE_TESTS,
        CAUSES,
    ),
    (
        "Sm/DbSyncInterval",
        "../../../manager/tests/it/dbsync",
        "everything_is_sent_again_at_the_interval_and_0_sends_nothing",
    ),
    (
        "Sm/MonitorStandby",
        "../../../testkit/tests/it/pair",
        "a_master_looks_for_a_standby_that_asks_no_more",
    ),
    ("Pm/ShortTermHistory/Enable", KEPT_IMAGES, TOGETHER),
    (
        "Pm/ShortTermHistory/StorageLocation",
        "../../../interop/tests/past_images",
        "tools_look_back_as_with_the_vendors_manager",
    ),
    ("Pm/ShortTermHistory/TotalHistory", KEPT_IMAGES, BOUNDS),
    (
        "Pm/ShortTermHistory/ImagesPerComposite",
        KEPT_IMAGES,
        "an_emulated_fabric_has_a_place_of_its_own_and_settings_can_change",
    ),
    ("Pm/ShortTermHistory/MaxDiskSpace", KEPT_IMAGES, BOUNDS),
    (
        "Pm/ShortTermHistory/CompressionDivisions",
        KEPT_IMAGES,
        "a_file_has_as_many_parts_as_are_asked_for",
    ),
];
/// The files of images, which a whole daemon would take an hour to fill.
const KEPT_IMAGES: &str = "../../src/kept_images/tests";
const TOGETHER: &str = "sweeps_are_put_together_and_the_last_ones_are_written_at_the_end";
const BOUNDS: &str = "no_more_is_kept_than_hours_and_bytes_allow";
const LEVELS: &str = "levels_and_modes_of_the_file_count_unless_the_command_line_has_one";
const LOG_FILE: &str = "the_log_goes_to_a_file_and_elsewhere_unless_the_mode_says_no";
const FACILITY: &str = "lines_in_the_journal_have_the_facility";
const MASKS: &str = "masks_set_the_levels_of_parts";
const NODE_LINES: &str = "lines_about_nodes_that_come_or_go_are_limited";
const LINK_LINES: &str = "lines_about_links_that_come_or_go_are_limited";
const TRAP_LINES: &str = "a_trap_soon_after_another_has_no_line";
/// Not at a whole daemon: an emulated fabric does not have so many causes at once.
const CAUSE_TESTS: &str = "../../src/event_log/causes";
const CAUSES: &str = "causes_are_limited_by_category";
const INSTANCE: &str = "an_instance_with_start_0_does_not_run";
const PORT: &str = "the_port_that_the_configuration_names_is_the_one_that_is_opened";

#[test]
fn every_tag_with_an_effect_has_one_that_is_observed() {
    let mut missing = Vec::new();
    let cases = cases();
    let observed: BTreeSet<&str> = cases.iter().map(|case| case.element).collect();
    let elsewhere = OF_THE_DAEMON.iter().map(|(element, ..)| *element);
    let not_shown = NOT_SHOWN.iter().map(|(element, _)| *element);
    let known: BTreeSet<&str> = elsewhere.chain(not_shown).chain(observed).collect();
    for row in reference() {
        let needed = row.no_effect.is_none() && row.alias_of.is_none();
        if needed && !known.contains(row.path.as_str()) {
            missing.push(row.path);
        } else if !needed && known.contains(row.path.as_str()) {
            missing.push(format!("{} has an effect", row.path));
        }
    }
    assert_eq!(missing, Vec::<String>::new());
}

#[test]
fn the_tests_of_the_daemon_are_there() {
    for (element, file, test) in OF_THE_DAEMON {
        let tests = concat!(env!("CARGO_MANIFEST_DIR"), "/../weftd/tests/e2e");
        let text = std::fs::read_to_string(format!("{tests}/{file}.rs")).unwrap();
        assert!(text.contains(&format!("fn {test}()")), "{element}: {test}");
    }
}

#[test]
fn each_effect_is_seen() {
    let failed: Vec<String> = cases()
        .iter()
        .filter_map(|case| case.check().err())
        .collect();
    assert_eq!(failed, Vec::<String>::new(), "{} fail", failed.len());
}
