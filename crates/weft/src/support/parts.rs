//! What is collected: as the vendor's opacapture and fm_capture do, and what weftd tells.

use std::path::PathBuf;

/// Most files of a directory, and most of all.
const FILES_MAX: usize = 2_000;
/// Deepest directory that is entered.
const DEPTH_MAX: usize = 6;

/// Commands of this program.
pub(super) const OF_DAEMON: [(&str, &str); 18] = [
    ("daemon/fabric.txt", "fabric show"),
    ("daemon/manager.json", "fm show --json"),
    ("daemon/counters.txt", "fm counters"),
    ("daemon/loop-test.txt", "fm loop-test show"),
    ("daemon/state.json", "fm dump -"),
    ("daemon/effective.xml", "config show --effective"),
    ("daemon/sweeps.json", "sweep --list --json"),
    ("daemon/virtual-fabrics.json", "vf list --json"),
    ("daemon/quarantine.json", "quarantine list --json"),
    ("daemon/disabled-ports.json", "port list --disabled --json"),
    ("daemon/drains.json", "route drains --json"),
    ("daemon/replacements.json", "replace list --json"),
    ("daemon/baselines.json", "baseline list --json"),
    ("daemon/busiest-links.json", "top --once --json"),
    ("daemon/check-topology.txt", "check topology"),
    ("daemon/links.txt", "report links"),
    ("daemon/topology.xml", "fabric export --topology"),
    ("daemon/snapshot.xml", "fabric export --snapshot"),
];

/// Programs of the host.
pub(super) const PROGRAMS: [(&str, &str); 31] = [
    ("versions/weft", "weft --version"),
    ("versions/weftd", "weftd --version"),
    ("versions/rpm", "rpm -qa"),
    ("versions/dpkg", "dpkg-query -W"),
    ("host/uname", "uname -a"),
    ("host/uptime", "uptime"),
    (
        "host/journal-weftd.txt",
        "journalctl -u weftd* --no-pager -n 50000 -o short-iso",
    ),
    (
        "host/journal-opafm.txt",
        "journalctl -u opafm --no-pager -n 20000 -o short-iso",
    ),
    (
        "host/journal-kernel.txt",
        "journalctl -k --no-pager -n 20000 -o short-iso",
    ),
    ("host/systemd-weftd.txt", "systemctl show weftd --no-pager"),
    (
        "host/systemd-units.txt",
        "systemctl list-unit-files --no-pager",
    ),
    ("host/dmesg.txt", "dmesg -T"),
    (
        "host/processes.txt",
        "ps -eo pid,ppid,user,stat,psr,pcpu,pmem,etime,wchan:20,comm",
    ),
    ("host/modules.txt", "lsmod"),
    ("host/modinfo-hfi1.txt", "modinfo hfi1"),
    ("host/lspci.txt", "lspci -vvv -nn"),
    ("host/devices.txt", "ls -lR /dev/infiniband /dev/hfi1_0"),
    ("host/cpu.txt", "lscpu"),
    ("host/cpu-frequency.txt", "cpupower frequency-info"),
    ("host/numa.txt", "numactl --hardware"),
    ("host/network.txt", "ip -s addr show"),
    ("host/routes.txt", "ip route show table all"),
    ("host/sysctl.txt", "sysctl -a"),
    ("host/dmi.txt", "dmidecode"),
    ("host/disks.txt", "df -h"),
    ("vendor/opahfirev.txt", "opahfirev"),
    ("vendor/opainfo.txt", "opainfo -o info"),
    ("vendor/opainfo-stats.txt", "opainfo -o stats"),
    ("vendor/hfi1stats.txt", "hfi1stats"),
    ("vendor/opafabricinfo.txt", "opafabricinfo"),
    ("vendor/opareport-nodes.txt", "opareport -o nodes -d 1"),
];

/// What is not collected on purpose.
pub(super) const LEFT_OUT: [(&str, &str); 3] = [
    (
        "/var/lib/weft",
        "has a plan's configuration with its keys; its contents are in daemon/state.json",
    ),
    ("core dumps", "have the memory of a program, keys included"),
    ("environment", "may have passwords"),
];

/// Single files of the host.
const FILES: [&str; 18] = [
    "/etc/os-release",
    "/etc/hosts",
    "/etc/nsswitch.conf",
    "/proc/cmdline",
    "/proc/cpuinfo",
    "/proc/meminfo",
    "/proc/modules",
    "/proc/interrupts",
    "/proc/iomem",
    "/proc/net/dev",
    "/proc/net/arp",
    "/proc/uptime",
    "/proc/version",
    "/proc/mtrr",
    "/proc/slabinfo",
    "/proc/sys/kernel/core_pattern",
    "/sys/module/hfi1/version",
    "/sys/module/hfi1/srcversion",
];

/// Directories of the host, whose files are collected.
const DIRECTORIES: [&str; 8] = [
    "/etc/opa",
    "/etc/opa-fm",
    "/etc/rdma",
    "/etc/modprobe.d",
    "/etc/infiniband",
    "/sys/module/hfi1/parameters",
    "/sys/class/infiniband",
    "/sys/devices/system/cpu/vulnerabilities",
];

/// Beginnings of names of logs.
const LOGS: [&str; 4] = ["opa", "fm", "sm", "weft"];

/// The files to read, those that are there.
pub(super) fn files() -> Vec<PathBuf> {
    let mut found: Vec<PathBuf> = FILES.iter().map(PathBuf::from).collect();
    for directory in DIRECTORIES {
        enter(PathBuf::from(directory), 0, &mut found);
    }
    let logs = std::fs::read_dir("/var/log")
        .into_iter()
        .flatten()
        .flatten();
    let logs = logs.filter(|entry| {
        let name = entry.file_name();
        let name = name.to_string_lossy();
        LOGS.iter().any(|lead| name.starts_with(lead))
    });
    found.extend(logs.map(|entry| entry.path()).filter(|path| path.is_file()));
    found.truncate(FILES_MAX);
    found
}

/// Adds the files of a directory, in order of their names. Links to directories are followed only from the directory
/// itself, as those of `/sys/class`.
fn enter(directory: PathBuf, depth: usize, found: &mut Vec<PathBuf>) {
    let entries = std::fs::read_dir(&directory)
        .into_iter()
        .flatten()
        .flatten();
    let mut paths: Vec<PathBuf> = entries.map(|entry| entry.path()).collect();
    paths.sort();
    for path in paths {
        let Ok(meta) = path.symlink_metadata() else {
            continue;
        };
        let is_link = meta.is_symlink();
        if path.is_dir() && (!is_link || depth == 0) && depth < DEPTH_MAX {
            enter(path, depth + 1, found);
        } else if path.is_file() && !is_link && found.len() < FILES_MAX {
            found.push(path);
        }
    }
}
