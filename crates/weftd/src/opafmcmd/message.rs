//! Messages in the frames of `opafmcmd`: a header of 32 bytes, then the data of the command.
//!
//! Offsets in the header: 0 return code, 8 action, 16 kind of data, 24 length of the data. The answer is the same
//! message with the return code and other data of the same length.

use super::frame::word;
use super::loop_test::LoopCommand;

/// Bytes of a header.
const HEADER_LEN: usize = 32;

/// Return codes that the client explains to its user.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
#[repr(i32)]
pub(super) enum Return {
    Done = 0,
    /// "Data type not supported".
    NotSupported = 1,
    /// "Invalid".
    Invalid = 3,
    /// "Send data length invalid".
    BadLength = 4,
    /// "Busy".
    Busy = 5,
    /// "Unknown Datatype".
    Unknown = 6,
    /// "SM is not master".
    NotMaster = 9,
    /// "SNMP Err: Resource Unavailable".
    Unavailable = 26,
    /// "Internal Error".
    Internal = 32,
    /// "Connection Closed".
    Closed = 33,
    /// "SNMP Err: Timeout".
    Late = 34,
}

impl Return {
    /// The gRPC code of a refusal, in lower case.
    pub(super) fn grpc(self) -> &'static str {
        match self {
            Self::Done => "ok",
            Self::NotSupported | Self::Unknown => "unimplemented",
            Self::Invalid | Self::BadLength => "invalid_argument",
            Self::Busy | Self::NotMaster => "failed_precondition",
            Self::Unavailable | Self::Closed => "unavailable",
            Self::Internal => "internal",
            Self::Late => "deadline_exceeded",
        }
    }
}

/// What a client asks for, by the number of its kind of data.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum Asked {
    LogLevel,
    LogMode,
    LogMask,
    ForceSweep,
    /// Durations of sweeps in the log.
    PerfDebug,
    RestorePriority,
    ShowCounters,
    ResetCounters,
    StateDump,
    ShowPmCounters,
    ResetPmCounters,
    ShowAdaptiveRouting,
    SetAdaptiveRouting,
    ForceRebalance,
    /// `ForceAttributeRewrite`.
    ForceRewrite,
    /// `SkipAttributeWrite`.
    SkipWrites,
    PauseSweeps,
    ResumeSweeps,
    LoopTest(LoopCommand),
    /// A command of the vendor's client that this manager does not have; its name.
    Lacking(&'static str),
    /// A number that the vendor's client does not send.
    Unknown(u64),
}

impl Asked {
    fn of(number: u64) -> Self {
        match number {
            21 => Self::LogLevel,
            22 => Self::Lacking("pmDebug"),
            23 => Self::Lacking("saRmppDebug or pmRmppDebug"),
            24 => Self::ForceSweep,
            25 => Self::PerfDebug,
            26 => Self::Lacking("saPerfDebug"),
            27..=39 => LoopCommand::of(number - 27).map_or(Self::Unknown(number), Self::LoopTest),
            40 => Self::RestorePriority,
            41 => Self::ShowCounters,
            42 => Self::ResetCounters,
            43 => Self::StateDump,
            46 => Self::ForceRebalance,
            47 => Self::ShowPmCounters,
            48 => Self::ResetPmCounters,
            49 => Self::LogMode,
            50 => Self::LogMask,
            51 => Self::Lacking("smBroadcastConfig"),
            52 => Self::ShowAdaptiveRouting,
            53 => Self::SetAdaptiveRouting,
            54 => Self::ForceRewrite,
            55 => Self::SkipWrites,
            56 => Self::PauseSweeps,
            57 => Self::ResumeSweeps,
            other => Self::Unknown(other),
        }
    }
}

impl Asked {
    /// The vendor's name of a command that may change something; none for one that only shows.
    pub(super) fn change(self) -> Option<&'static str> {
        Some(match self {
            Self::LogLevel => "smLogLevel",
            Self::LogMode => "smLogMode",
            Self::LogMask => "smLogMask",
            Self::ForceSweep => "smForceSweep",
            Self::RestorePriority => "smRestorePriority",
            Self::ResetCounters => "smResetCounters",
            Self::ResetPmCounters => "pmResetCounters",
            Self::SetAdaptiveRouting => "smAdaptiveRouting",
            Self::ForceRewrite => "smForceAttributeRewrite",
            Self::SkipWrites => "smSkipAttrWrite",
            Self::PauseSweeps => "smPauseSweeps",
            Self::ResumeSweeps => "smResumeSweeps",
            Self::LoopTest(command) => command.change()?,
            // Routes are always balanced, and durations always shown.
            Self::ForceRebalance | Self::PerfDebug => return None,
            Self::ShowCounters | Self::ShowPmCounters | Self::ShowAdaptiveRouting => return None,
            Self::StateDump | Self::Lacking(_) | Self::Unknown(_) => return None,
        })
    }
}

/// A message, in place of its bytes.
#[derive(Debug)]
pub(super) struct Message<'a>(&'a mut [u8]);

impl<'a> Message<'a> {
    /// The message in a payload; none where it is too short for a header.
    pub(super) fn of(payload: &'a mut [u8]) -> Option<Self> {
        (payload.len() >= HEADER_LEN).then_some(Self(payload))
    }

    /// What it asks for.
    ///
    /// # Errors
    /// [`Return::BadLength`] where it says that it has other data than it has.
    pub(super) fn asked(&self) -> Result<Asked, Return> {
        let len = (self.0.len() - HEADER_LEN) as u64;
        match word(self.0, 24) == len {
            true => Ok(Asked::of(word(self.0, 16))),
            false => Err(Return::BadLength),
        }
    }

    /// The data.
    pub(super) fn data(&self) -> &[u8] {
        &self.0[HEADER_LEN..]
    }

    /// Its first four bytes as a number.
    ///
    /// # Errors
    /// [`Return::BadLength`] where there are fewer.
    pub(super) fn number(&self) -> Result<u32, Return> {
        let bytes = self.data().first_chunk().ok_or(Return::BadLength)?;
        Ok(u32::from_ne_bytes(*bytes))
    }

    /// Its first twelve bytes as three numbers.
    ///
    /// # Errors
    /// [`Return::BadLength`] where there are fewer.
    pub(super) fn three_numbers(&self) -> Result<[u32; 3], Return> {
        let bytes: &[u8; 12] = self.data().first_chunk().ok_or(Return::BadLength)?;
        Ok([0, 4, 8].map(|at| {
            let number = [bytes[at], bytes[at + 1], bytes[at + 2], bytes[at + 3]];
            u32::from_ne_bytes(number)
        }))
    }

    /// The data from an offset up to the next 0 as text.
    ///
    /// # Errors
    /// [`Return::Invalid`] where it is no UTF-8, or empty.
    pub(super) fn text(&self, at: usize) -> Result<&str, Return> {
        let data = self.data().get(at..).unwrap_or_default();
        let text = data.split(|byte| *byte == 0).next();
        let text = text.and_then(|bytes| std::str::from_utf8(bytes).ok());
        text.filter(|text| !text.is_empty()).ok_or(Return::Invalid)
    }

    /// The room for data of an answer, bytes.
    pub(super) fn room(&self) -> usize {
        self.data().len()
    }

    /// Makes it the answer.
    pub(super) fn answer(&mut self, code: Return, data: &[u8]) {
        self.0[..4].copy_from_slice(&(code as i32).to_ne_bytes());
        let room = &mut self.0[HEADER_LEN..];
        room.fill(0);
        let len = data.len().min(room.len());
        room[..len].copy_from_slice(&data[..len]);
    }
}

#[cfg(test)]
#[allow(clippy::unwrap_used)]
mod tests {
    use super::*;

    fn message(kind: u64, len: u64, data: &[u8]) -> Vec<u8> {
        let mut bytes = vec![0xAA; HEADER_LEN];
        bytes[16..24].copy_from_slice(&kind.to_ne_bytes());
        bytes[24..32].copy_from_slice(&len.to_ne_bytes());
        bytes.extend(data);
        bytes
    }

    #[test]
    fn messages_are_read_and_answered_in_place() {
        let mut bytes = message(43, 5, b"/tmp\0");
        let mut message = Message::of(&mut bytes).unwrap();
        assert_eq!(message.asked(), Ok(Asked::StateDump));
        assert_eq!(message.text(0), Ok("/tmp"));
        message.answer(Return::NotMaster, b"more than there is room for");
        assert_eq!(message.data(), b"more ");
        assert_eq!(bytes[..4], 9_i32.to_ne_bytes());
    }

    #[test]
    fn hostile_messages_are_refused() {
        assert!(Message::of(&mut [0; HEADER_LEN - 1]).is_none());
        for (mut bytes, asked) in [
            (message(21, 4, b"123"), Err(Return::BadLength)),
            (message(21, u64::MAX, b""), Err(Return::BadLength)),
            (message(u64::MAX, 0, b""), Ok(Asked::Unknown(u64::MAX))),
        ] {
            let message = Message::of(&mut bytes).unwrap();
            assert_eq!(message.asked(), asked);
            assert_eq!(message.number(), Err(Return::BadLength));
        }
        for text in [&b"\0/tmp\0"[..], b"\xff\0", b""] {
            let mut bytes = message(43, text.len() as u64, text);
            let message = Message::of(&mut bytes).unwrap();
            assert_eq!(message.text(0), Err(Return::Invalid));
            assert_eq!(message.text(usize::MAX), Err(Return::Invalid));
        }
    }

    #[test]
    fn an_answer_without_data_has_a_code() {
        let mut bytes = message(24, 0, b"");
        Message::of(&mut bytes)
            .unwrap()
            .answer(Return::Busy, b"text");
        assert_eq!((bytes.len(), bytes[0]), (HEADER_LEN, 5));
    }
}
