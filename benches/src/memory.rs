//! Memory and processor time of processes.

/// Peak memory of a process in MiB, 0 if the system does not report it; `self` is this one.
pub(crate) fn peak_mib(process: &str) -> u64 {
    let status = std::fs::read_to_string(format!("/proc/{process}/status")).unwrap_or_default();
    let line = status.lines().find(|line| line.starts_with("VmHWM:"));
    let kib = line.and_then(|line| line.split_whitespace().nth(1)?.parse::<u64>().ok());
    kib.unwrap_or(0) / 1024
}

/// Milliseconds between two ticks of the clock that `/proc/PID/stat` counts: `USER_HZ` is 100.
const CLOCK_TICK_MS: u64 = 10;

/// Time that a process has had on processors in milliseconds, 0 where the system does not tell;
/// `self` is this one.
pub(crate) fn cpu_ms(process: &str) -> u64 {
    let stat = std::fs::read_to_string(format!("/proc/{process}/stat")).unwrap_or_default();
    // The name of the program, in parentheses, may have spaces in it.
    let fields = stat.rsplit_once(')').map_or("", |(_, fields)| fields);
    let ticks = fields.split_whitespace().skip(11).take(2);
    let ticks: u64 = ticks.filter_map(|field| field.parse::<u64>().ok()).sum();
    ticks * CLOCK_TICK_MS
}
