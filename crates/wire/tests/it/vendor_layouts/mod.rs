//! Compares the size and the position of every field with the vendor's C headers (Debian:
//! `libopamgt-dev`), by a program that the C compiler builds from our declarations.
//!
//! The headers describe registers in the byte order of the host, so a bit range is found by setting
//! the member to all ones and looking which bits of the little-endian register changed.
#![allow(clippy::unwrap_used)]

mod numbers;

use std::collections::BTreeMap;
use std::fmt::Write as _;
use std::path::Path;
use std::process::Command;

use weft_wire::FieldLayout;
use weft_wire::registry::{ALL, Entry};
use weft_wire::sm::AttributeId;

use numbers::NUMBERS;

/// Directory of the headers in Debian.
const HEADERS: &str = "/usr/include/opamgt";

/// Structures that these headers do not have, with where they come from instead.
const NOT_IN_HEADERS: &[(&str, &str)] = &[
    (
        "RMPP_HEADER",
        "ib_generalServices.h, not installed by Debian",
    ),
    ("SA_HDR", "ib_generalServices.h, not installed by Debian"),
    ("STL_PORT_STATUS_REQ", "stl_pm.h, not installed by Debian"),
    ("STL_PORT_STATUS_RSP", "stl_pm.h, not installed by Debian"),
    ("STL_CLEAR_PORT_STATUS", "stl_pm.h, not installed by Debian"),
    (
        "STL_DATA_PORT_COUNTERS_REQ",
        "stl_pm.h, not installed by Debian",
    ),
    (
        "STL_DATA_PORT_COUNTERS_RSP",
        "stl_pm.h, not installed by Debian",
    ),
    (
        "STL_ERROR_PORT_COUNTERS_REQ",
        "stl_pm.h, not installed by Debian",
    ),
    (
        "STL_ERROR_PORT_COUNTERS_RSP",
        "stl_pm.h, not installed by Debian",
    ),
    ("STL_ERROR_INFO_REQ", "stl_pm.h, not installed by Debian"),
    ("STL_ERROR_INFO_RSP", "stl_pm.h, not installed by Debian"),
    ("SmSyncStat_t", "sm_dbsync.h, not installed by Debian"),
    ("SMDBSync_t", "ib_sm.h, not installed by Debian"),
    ("SMDBCCCSync_t", "ib_sm.h, not installed by Debian"),
    ("SMDBSyncFile_t", "ib_sm.h, not installed by Debian"),
    ("McGroupSync_t", "sm_dbsync.h, not installed by Debian"),
    (
        "STL_MCMEMBER_SYNCDB",
        "stl_sa_priv.h, not installed by Debian",
    ),
    ("SubscriberKey_t", "ib_sa.h, not installed by Debian"),
    (
        "attribute modifier",
        "only a comment in the headers, no structure",
    ),
];

/// Structures of which we declare only the part before an array of variable size, or the fixed
/// part of a union: their size differs on purpose.
const OTHER_SIZE: &[(&str, usize)] = &[("DRStlSmp_t", 2024)];

/// Members that newer headers have and Debian's lack.
const NOT_IN_THESE_HEADERS: &[(&str, &str)] = &[
    ("STL_MCMEMBER_RECORD", "JoinSendOnlyFullMember"),
    ("IB_MCMEMBER_RECORD", "JoinSendOnlyFullMember"),
];

/// Output of the probe: sizes by structure, then positions by structure and field.
#[derive(Default)]
struct Found {
    sizes: BTreeMap<usize, usize>,
    members: BTreeMap<(usize, usize), (usize, usize)>,
    bits: BTreeMap<(usize, usize), (u64, bool)>,
}

fn in_headers(entry: &Entry) -> bool {
    let known = |(name, _): &(&str, &str)| entry.vendor.starts_with(name);
    !NOT_IN_HEADERS.iter().any(known)
}

fn probed(entry: &Entry, field: &FieldLayout) -> bool {
    !NOT_IN_THESE_HEADERS.contains(&(entry.vendor, field.vendor))
}

/// `STL_X.a.b[0]` as a C type.
fn c_type(vendor: &str) -> String {
    match vendor.split_once('.') {
        Some((outer, path)) => format!("__typeof__((({outer} *)0)->{path})"),
        None => vendor.to_owned(),
    }
}

fn probe_source() -> String {
    let mut source = String::from(
        "#include <stdio.h>\n#include <string.h>\n#include <stddef.h>\n\
         #include \"iba/stl_sm_types.h\"\n#include \"iba/stl_sa_types.h\"\n\
         #include \"iba/stl_pa_types.h\"\n#include \"iba/ib_sa_records.h\"\n\
         static int rest(const unsigned char *v, size_t n, size_t at, size_t w) {\n\
         \tfor (size_t i = 0; i < n; i++) if ((i < at || i >= at + w) && v[i]) return 1;\n\
         \treturn 0;\n}\nint main(void) {\n",
    );
    for (index, entry) in ALL.iter().enumerate().filter(|(_, e)| in_headers(e)) {
        let ty = c_type(entry.vendor);
        writeln!(source, "\t{{ typedef {ty} T; T v; unsigned long long r;").unwrap();
        writeln!(source, "\tprintf(\"S {index} %zu\\n\", sizeof(T));").unwrap();
        let fields = entry.fields.iter().enumerate();
        for (at, field) in fields.filter(|(_, field)| probed(entry, field)) {
            probe_field(&mut source, index, at, field);
        }
        writeln!(source, "\t(void)r; (void)v; }}").unwrap();
    }
    source.push_str("\treturn 0;\n}\n");
    source
}

fn probe_field(source: &mut String, index: usize, at: usize, field: &FieldLayout) {
    let FieldLayout {
        vendor,
        offset,
        width,
        ..
    } = field;
    if field.bits.is_none() {
        writeln!(
            source,
            "\tprintf(\"F {index} {at} %zu %zu\\n\", (size_t)((char *)&v.{vendor} - (char *)&v), sizeof(v.{vendor}));"
        )
        .unwrap();
        return;
    }
    writeln!(
        source,
        "\tmemset(&v, 0, sizeof v); v.{vendor} = -1; r = 0; memcpy(&r, (char *)&v + {offset}, {width});\n\
         \tprintf(\"B {index} {at} %llx %d\\n\", r, rest((unsigned char *)&v, sizeof v, {offset}, {width}));"
    )
    .unwrap();
}

/// The probe's output, or why there is none.
fn run_probe(source: &str, name: &str) -> Result<String, String> {
    if !Path::new(HEADERS).join("iba/stl_sm_types.h").exists() {
        return Err(format!("no headers in {HEADERS}: install libopamgt-dev"));
    }
    let directory = Path::new(env!("CARGO_TARGET_TMPDIR"));
    let (input, program) = (directory.join(format!("{name}.c")), directory.join(name));
    std::fs::write(&input, source).map_err(|error| error.to_string())?;
    let compile = Command::new("cc")
        .args(["-w", "-O0", "-DIB_STACK_OPENIB", "-I", HEADERS, "-o"])
        .args([&program, &input])
        .output()
        .map_err(|error| format!("no C compiler: {error}"))?;
    assert!(
        compile.status.success(),
        "the probe does not compile:\n{}",
        String::from_utf8_lossy(&compile.stderr)
    );
    let run = Command::new(&program).output().unwrap();
    assert!(run.status.success(), "the probe fails: {}", run.status);
    Ok(String::from_utf8(run.stdout).unwrap())
}

/// Runs `check` on the probe's output, where there are a compiler and the headers.
fn with_probe(source: &str, name: &str, check: impl FnOnce(&str)) {
    match run_probe(source, name) {
        Ok(output) => check(&output),
        Err(reason) => weft_peers::not_run(reason),
    }
}

fn parse(output: &str) -> Found {
    let mut found = Found::default();
    for line in output.lines() {
        let words: Vec<&str> = line.split(' ').collect();
        let number = |at: usize| words[at].parse::<usize>().unwrap();
        match words[0] {
            "S" => drop(found.sizes.insert(number(1), number(2))),
            "F" => drop(
                found
                    .members
                    .insert((number(1), number(2)), (number(3), number(4))),
            ),
            "B" => {
                let bits = u64::from_str_radix(words[3], 16).unwrap();
                let outside = words[4] != "0";
                found.bits.insert((number(1), number(2)), (bits, outside));
            }
            other => panic!("unknown line {other}"),
        }
    }
    found
}

fn expected_size(entry: &Entry) -> usize {
    let other = OTHER_SIZE.iter().find(|(name, _)| *name == entry.vendor);
    other.map_or(entry.len, |(_, size)| *size)
}

/// Difference between `field` and the probe's result.
fn difference(found: &Found, key: (usize, usize), field: &FieldLayout) -> Option<String> {
    let Some((msb, lsb)) = field.bits else {
        let (offset, width) = *found.members.get(&key)?;
        let same = (offset, width) == (field.offset, field.width);
        return (!same).then(|| format!("header: {width} bytes at {offset}"));
    };
    let (bits, outside) = *found.bits.get(&key)?;
    let ours = weft_wire::bits::mask(msb, lsb);
    (bits != ours || outside).then(|| format!("header: bits {bits:#x}, ours {ours:#x}"))
}

#[test]
fn every_field_is_where_the_vendors_headers_have_it() {
    with_probe(&probe_source(), "vendor_layouts_probe", |output| {
        let found = parse(output);
        let mut wrong = Vec::new();
        let mut fields = 0;
        for (index, entry) in ALL.iter().enumerate().filter(|(_, e)| in_headers(e)) {
            let size = found.sizes[&index];
            if size != expected_size(entry) {
                wrong.push(format!(
                    "{}: header {size} bytes, ours {}",
                    entry.vendor, entry.len
                ));
            }
            for (at, field) in entry.fields.iter().enumerate() {
                fields += usize::from(probed(entry, field));
                if let Some(text) = difference(&found, (index, at), field) {
                    wrong.push(format!(
                        "{}.{}: {field:?}; {text}",
                        entry.vendor, field.vendor
                    ));
                }
            }
        }
        assert_eq!(wrong, Vec::<String>::new());
        assert_eq!(
            found.members.len() + found.bits.len(),
            fields,
            "fields probed"
        );
        println!("{} structures, {fields} fields compared", found.sizes.len());
    });
}

#[test]
fn exceptions_are_needed() {
    for (name, reason) in NOT_IN_HEADERS {
        assert!(
            ALL.iter().any(|entry| entry.vendor.starts_with(name)),
            "{name}: {reason}"
        );
    }
    for (vendor, member) in NOT_IN_THESE_HEADERS {
        let entry = ALL.iter().find(|entry| entry.vendor == *vendor).unwrap();
        assert!(entry.fields.iter().any(|field| field.vendor == *member));
    }
}

#[test]
fn attributes_have_the_vendors_numbers() {
    let mut source = String::from(
        "#include <stdio.h>\n#include \"iba/stl_sm_types.h\"\n#include \"iba/stl_sa_types.h\"\n\
         #include \"iba/stl_pa_types.h\"\nint main(void) {\n",
    );
    for (_, name) in NUMBERS {
        writeln!(source, "\tprintf(\"%d\\n\", (int){name});").unwrap();
    }
    source.push_str("\treturn 0;\n}\n");
    with_probe(&source, "vendor_numbers_probe", |output| {
        let theirs: Vec<u16> = output.lines().map(|line| line.parse().unwrap()).collect();
        let ours: Vec<u16> = NUMBERS.iter().map(|(number, _)| *number).collect();
        assert_eq!(ours, theirs);
    });
    for id in AttributeId::ALL {
        assert!(
            NUMBERS.iter().any(|(number, _)| *number == id.0),
            "{id} has no name in the table"
        );
    }
}
