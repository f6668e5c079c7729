//! `Pm`: the performance manager and performance administration.

use super::case::Section::{Pm, Sm};
use super::case::{Case, Scene, Seen};
use Seen::{Answers, Images, Reads, Settings};

/// A tag of `Pm`, or of a section of it, with two values.
macro_rules! values {
    ($tag:literal, $seen:expr, $from:literal, $to:literal) => {
        Case::new(
            concat!("Pm/", $tag),
            $seen,
            (Pm, concat!("<", $tag, ">", $from, "</", $tag, ">")),
            concat!(">", $from, "<"),
            concat!(">", $to, "<"),
        )
    };
    ($section:literal, $tag:literal, $seen:expr, $from:literal, $to:literal) => {
        Case::new(
            concat!("Pm/", $section, "/", $tag),
            $seen,
            (
                Pm,
                concat!(
                    "<", $section, "><", $tag, ">", $from, "</", $tag, "></", $section, ">"
                ),
            ),
            concat!(">", $from, "<"),
            concat!(">", $to, "<"),
        )
    };
}

pub(super) fn cases() -> Vec<Case> {
    [readings(), clearing(), trouble()].concat()
}

fn readings() -> Vec<Case> {
    vec![
        values!("ServiceLease", Answers, "60", "90"),
        values!("SweepInterval", Reads, "10", "5"),
        values!("MaxClients", Settings, "3", "4")
            .with(Pm, "<FreezeFrameImages>7</FreezeFrameImages>"),
        values!("TotalImages", Images, "10", "8"),
        values!("FreezeFrameImages", Images, "5", "7"),
        values!("FreezeFrameLease", Images, "60", "7200"),
        values!("ProcessHFICounters", Reads, "1", "0"),
        values!("ProcessVLCounters", Reads, "1", "0"),
        values!("ProcessErrorInfo", Reads, "1", "0"),
        values!("PmaBatchSize", Reads, "1", "2"),
        values!("MaxParallelNodes", Reads, "10", "3"),
        values!("MaxAttempts", Reads, "3", "6").during(Scene::Lossy),
        values!("RespTimeout", Reads, "250", "500").during(Scene::Lossy),
        values!("MinRespTimeout", Reads, "35", "70").during(Scene::Lossy),
        values!("SweepErrorsLogThreshold", Images, "10", "1").during(Scene::HostsGoSilent),
    ]
}

fn clearing() -> Vec<Case> {
    vec![
        values!("ErrorClear", Reads, "7", "0"),
        values!("ClearDataXfer", Reads, "0", "1").with(Pm, "<ErrorClear>0</ErrorClear>"),
        values!("Clear64bit", Reads, "0", "1").with(Pm, "<ErrorClear>0</ErrorClear>"),
        values!("Clear32bit", Reads, "1", "0").with(Pm, "<ErrorClear>0</ErrorClear>"),
        values!("Clear8bit", Reads, "1", "0").with(Pm, "<ErrorClear>0</ErrorClear>"),
    ]
}

fn trouble() -> Vec<Case> {
    vec![
        values!("Thresholds", "Integrity", Images, "100", "0"),
        values!("Thresholds", "Congestion", Images, "100", "0").with(Pm, ALL_TOLD),
        values!("Thresholds", "SmaCongestion", Images, "100", "0").with(Pm, ALL_TOLD),
        values!("Thresholds", "Bubble", Images, "100", "0").with(Pm, ALL_TOLD),
        values!("Thresholds", "Security", Images, "10", "0"),
        values!("Thresholds", "Routing", Images, "100", "0"),
        values!("ThresholdsExceededMsgLimit", "Integrity", Images, "10", "1"),
        values!("ThresholdsExceededMsgLimit", "Congestion", Images, "0", "1"),
        values!(
            "ThresholdsExceededMsgLimit",
            "SmaCongestion",
            Images,
            "0",
            "1"
        ),
        values!("ThresholdsExceededMsgLimit", "Bubble", Images, "0", "1"),
        values!("ThresholdsExceededMsgLimit", "Security", Images, "10", "1"),
        values!("ThresholdsExceededMsgLimit", "Routing", Images, "10", "1"),
        values!(
            "IntegrityWeights",
            "LocalLinkIntegrityErrors",
            Images,
            "0",
            "9"
        ),
        values!("IntegrityWeights", "RcvErrors", Images, "100", "1"),
        values!(
            "IntegrityWeights",
            "ExcessiveBufferOverruns",
            Images,
            "100",
            "1"
        ),
        values!("IntegrityWeights", "LinkErrorRecovery", Images, "0", "9"),
        values!("IntegrityWeights", "LinkDowned", Images, "25", "1"),
        values!(
            "IntegrityWeights",
            "UncorrectableErrors",
            Images,
            "100",
            "1"
        ),
        values!("IntegrityWeights", "FMConfigErrors", Images, "100", "1"),
        values!(
            "IntegrityWeights",
            "LinkQualityIndicator",
            Images,
            "40",
            "1"
        ),
        values!("IntegrityWeights", "LinkWidthDowngrade", Images, "100", "1")
            .with(
                Sm,
                "<HFILinkPolicy><MaxDroppedLanes>3</MaxDroppedLanes></HFILinkPolicy>",
            )
            .during(Scene::HostLosesLanes),
        values!("CongestionWeights", "XmitWaitPct", Images, "10", "1"),
        values!("CongestionWeights", "CongDiscards", Images, "100", "1"),
        values!("CongestionWeights", "RcvFECNPct", Images, "5", "9").with(Pm, ALL_TOLD),
        values!("CongestionWeights", "RcvBECNPct", Images, "1", "9"),
        values!("CongestionWeights", "XmitTimeCongPct", Images, "25", "1"),
        values!("CongestionWeights", "MarkFECNPct", Images, "25", "1"),
        values!("Resolution", "LocalLinkIntegrity", Reads, "8000000", "1"),
        values!("Resolution", "LinkErrorRecovery", Reads, "100000", "1"),
    ]
}

/// Ports over any threshold are told.
const ALL_TOLD: &str =
    "<ThresholdsExceededMsgLimit><Congestion>9</Congestion><SmaCongestion>9</SmaCongestion>
    <Bubble>9</Bubble></ThresholdsExceededMsgLimit>";
