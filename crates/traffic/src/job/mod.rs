//! What the links of a job cost it, compared with usual times.
//!
//! | module | contents |
//! |---|---|
//! | `findings` | what is unusual, in order of what it costs |
//! | `waits` | what ports with data wait for |
//! | `words` | findings in words, with the command to run next |

mod findings;
mod waits;
mod words;

pub use findings::findings;

/// One end of a link.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub struct End {
    /// NodeGUID.
    pub guid: u64,
    /// Number of the port.
    pub port: u8,
    /// Name of the node.
    pub name: String,
    /// Whether it is a host's.
    pub is_host: bool,
}

/// What a direction of a link did in a time: parts of it.
#[derive(Debug, Clone, Copy, Default, PartialEq)]
pub struct Figures {
    /// Share of the link's rate that its data took, 0 to 1.
    pub used: f64,
    /// Share of the time in which the port had data to send and no credits (XmitWait), 0 to 1.
    pub wait: f64,
}

/// Errors of one kind in the time of the job.
#[derive(Debug, Clone, Copy, PartialEq)]
pub struct Errors {
    /// Name of the counter, as in the API.
    pub counter: &'static str,
    /// How many.
    pub count: u64,
    /// How many are usual in such a time.
    pub usual: f64,
}

/// A direction of a link that a job used.
#[derive(Debug, Clone, Default, PartialEq)]
pub struct JobLink {
    /// The port that sends.
    pub from: End,
    /// The port that receives.
    pub to: End,
    /// Ports of the job's hosts that packets over it go to.
    pub destinations: u32,
    /// Bytes a second that it carries; none where it is not known.
    pub capacity: Option<f64>,
    /// Bytes a second that it would carry at the best rate that both ends support.
    pub full_capacity: Option<f64>,
    /// In the time of the job; none where nothing was read.
    pub now: Option<Figures>,
    /// The part of that time in which it was busiest: its end, milliseconds since 1970.
    pub busiest: Option<(i64, Figures)>,
    /// In usual times.
    pub usual: Option<Figures>,
    /// Errors in the time of the job, of kinds that there are.
    pub errors: Vec<Errors>,
    /// How often it was lost in that time, and for how long, seconds.
    pub downs: u32,
    /// See `downs`.
    pub down_s: f64,
}

/// What is unusual.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Kind {
    /// A link carried all that it can, and hosts waited for it.
    Full,
    /// A host took data more slowly than its link brought it.
    SlowHost,
    /// Data waited for credits, and no link of the job's is known to be the cause.
    Waits,
    /// A link lost or repeated packets.
    Errors,
    /// A link was lost.
    Down,
    /// A link had less than the rate that its ends support.
    Slow,
}

/// Something that made the job slower.
#[derive(Debug, Clone, PartialEq)]
pub struct Finding {
    /// What.
    pub kind: Kind,
    /// The link, as its place in the list.
    pub link: usize,
    /// Links of the job's hosts that waited because of it, as places in the list.
    pub waiting: Vec<usize>,
    /// Seconds that it cost: of hosts that waited, the sum of all.
    pub cost_s: f64,
    /// In words.
    pub what: String,
    /// The command to run next.
    pub next: String,
}

impl JobLink {
    /// Whether it carried about all that it can, for a part of the time at least.
    pub fn is_full(&self) -> bool {
        let used = [self.now, self.busiest.map(|(_, figures)| figures)];
        used.into_iter()
            .flatten()
            .any(|figures| figures.used >= FULL)
    }

    /// Share of the time that it waited longer than usual.
    pub fn unusual_wait(&self) -> f64 {
        let wait = |figures: Option<Figures>| figures.map_or(0.0, |figures| figures.wait);
        (wait(self.now) - wait(self.usual)).max(0.0)
    }
}

/// Share of its rate from which on a link counts as full.
pub const FULL: f64 = 0.95;
/// Share of the time from which on waiting counts.
pub const WAITS: f64 = 0.01;
