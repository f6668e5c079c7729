//! Memory and time of processes.

/// Most memory that a process has had in MiB, 0 where the system does not tell; `self` is this one.
pub(crate) fn peak_mib(process: &str) -> u64 {
    let status = std::fs::read_to_string(format!("/proc/{process}/status")).unwrap_or_default();
    let line = status.lines().find(|line| line.starts_with("VmHWM:"));
    let kib = line.and_then(|line| line.split_whitespace().nth(1)?.parse::<u64>().ok());
    kib.unwrap_or(0) / 1024
}

/// Time that a process has had on the cores, seconds, 0 where the system does not tell; `self` is
/// this one.
pub(crate) fn cpu_seconds(process: &str) -> f64 {
    /// Ticks a second in `/proc`, the same on every Linux.
    const TICKS: f64 = 100.0;
    let stat = std::fs::read_to_string(format!("/proc/{process}/stat")).unwrap_or_default();
    // The name, in parentheses, may have spaces. User and system time are fields 14 and 15.
    let after_name = stat.rsplit_once(')').map_or("", |(_, rest)| rest);
    let fields = after_name.split_whitespace().skip(11).take(2);
    let ticks: f64 = fields.filter_map(|field| field.parse::<f64>().ok()).sum();
    ticks / TICKS
}
