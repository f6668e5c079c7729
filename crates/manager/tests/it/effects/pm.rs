//! `Pm`: the performance manager and performance administration.

use super::case::Section::{Pm, Sm};
use super::case::{Case, Scene, Seen};
use Seen::{Answers, Images, Reads, Settings};

pub(super) fn cases() -> Vec<Case> {
    [readings(), clearing(), trouble()].concat()
}

fn readings() -> Vec<Case> {
    vec![
        Case::value("Pm/ServiceLease", Answers, "60", "90"),
        Case::value("Pm/SweepInterval", Reads, "10", "5"),
        Case::value("Pm/MaxClients", Settings, "3", "4")
            .with(Pm, "<FreezeFrameImages>7</FreezeFrameImages>"),
        Case::value("Pm/TotalImages", Images, "10", "8"),
        Case::value("Pm/FreezeFrameImages", Images, "5", "7"),
        Case::value("Pm/FreezeFrameLease", Images, "60", "7200"),
        Case::value("Pm/ProcessHFICounters", Reads, "1", "0"),
        Case::value("Pm/ProcessVLCounters", Reads, "1", "0"),
        Case::value("Pm/ProcessErrorInfo", Reads, "1", "0"),
        Case::value("Pm/PmaBatchSize", Reads, "1", "2"),
        Case::value("Pm/MaxParallelNodes", Reads, "10", "3"),
        Case::value("Pm/MaxAttempts", Reads, "3", "6").during(Scene::Lossy),
        Case::value("Pm/RespTimeout", Reads, "250", "500").during(Scene::Lossy),
        Case::value("Pm/MinRespTimeout", Reads, "35", "70").during(Scene::Lossy),
        Case::value("Pm/SweepErrorsLogThreshold", Images, "10", "1").during(Scene::HostsGoSilent),
    ]
}

fn clearing() -> Vec<Case> {
    vec![
        Case::value("Pm/ErrorClear", Reads, "7", "0"),
        Case::value("Pm/ClearDataXfer", Reads, "0", "1").with(Pm, "<ErrorClear>0</ErrorClear>"),
        Case::value("Pm/Clear64bit", Reads, "0", "1").with(Pm, "<ErrorClear>0</ErrorClear>"),
        Case::value("Pm/Clear32bit", Reads, "1", "0").with(Pm, "<ErrorClear>0</ErrorClear>"),
        Case::value("Pm/Clear8bit", Reads, "1", "0").with(Pm, "<ErrorClear>0</ErrorClear>"),
    ]
}

fn trouble() -> Vec<Case> {
    vec![
        Case::value("Pm/Thresholds/Integrity", Images, "100", "0"),
        Case::value("Pm/Thresholds/Congestion", Images, "100", "0").with(Pm, ALL_TOLD),
        Case::value("Pm/Thresholds/SmaCongestion", Images, "100", "0").with(Pm, ALL_TOLD),
        Case::value("Pm/Thresholds/Bubble", Images, "100", "0").with(Pm, ALL_TOLD),
        Case::value("Pm/Thresholds/Security", Images, "10", "0"),
        Case::value("Pm/Thresholds/Routing", Images, "100", "0"),
        Case::value("Pm/ThresholdsExceededMsgLimit/Integrity", Images, "10", "1"),
        Case::value("Pm/ThresholdsExceededMsgLimit/Congestion", Images, "0", "1"),
        Case::value(
            "Pm/ThresholdsExceededMsgLimit/SmaCongestion",
            Images,
            "0",
            "1",
        ),
        Case::value("Pm/ThresholdsExceededMsgLimit/Bubble", Images, "0", "1"),
        Case::value("Pm/ThresholdsExceededMsgLimit/Security", Images, "10", "1"),
        Case::value("Pm/ThresholdsExceededMsgLimit/Routing", Images, "10", "1"),
        Case::value(
            "Pm/IntegrityWeights/LocalLinkIntegrityErrors",
            Images,
            "0",
            "9",
        ),
        Case::value("Pm/IntegrityWeights/RcvErrors", Images, "100", "1"),
        Case::value(
            "Pm/IntegrityWeights/ExcessiveBufferOverruns",
            Images,
            "100",
            "1",
        ),
        Case::value("Pm/IntegrityWeights/LinkErrorRecovery", Images, "0", "9"),
        Case::value("Pm/IntegrityWeights/LinkDowned", Images, "25", "1"),
        Case::value(
            "Pm/IntegrityWeights/UncorrectableErrors",
            Images,
            "100",
            "1",
        ),
        Case::value("Pm/IntegrityWeights/FMConfigErrors", Images, "100", "1"),
        Case::value(
            "Pm/IntegrityWeights/LinkQualityIndicator",
            Images,
            "40",
            "1",
        ),
        Case::value("Pm/IntegrityWeights/LinkWidthDowngrade", Images, "100", "1")
            .with(
                Sm,
                "<HFILinkPolicy><MaxDroppedLanes>3</MaxDroppedLanes></HFILinkPolicy>",
            )
            .during(Scene::HostLosesLanes),
        Case::value("Pm/CongestionWeights/XmitWaitPct", Images, "10", "1"),
        Case::value("Pm/CongestionWeights/CongDiscards", Images, "100", "1"),
        Case::value("Pm/CongestionWeights/RcvFECNPct", Images, "5", "9").with(Pm, ALL_TOLD),
        Case::value("Pm/CongestionWeights/RcvBECNPct", Images, "1", "9"),
        Case::value("Pm/CongestionWeights/XmitTimeCongPct", Images, "25", "1"),
        Case::value("Pm/CongestionWeights/MarkFECNPct", Images, "25", "1"),
        Case::value("Pm/Resolution/LocalLinkIntegrity", Reads, "8000000", "1"),
        Case::value("Pm/Resolution/LinkErrorRecovery", Reads, "100000", "1"),
    ]
}

/// Ports over any threshold are told.
const ALL_TOLD: &str =
    "<ThresholdsExceededMsgLimit><Congestion>9</Congestion><SmaCongestion>9</SmaCongestion>
    <Bubble>9</Bubble></ThresholdsExceededMsgLimit>";
