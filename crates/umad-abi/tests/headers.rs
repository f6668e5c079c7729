//! Holds the structures against the installed headers (Debian: `libibumad-dev`, `libibverbs-dev`), by
//! a program that the C compiler builds from our declarations.
#![allow(clippy::unwrap_used)]

use std::fmt::Write as _;
use std::path::Path;
use std::process::Command;

use weft_umad_abi::{CONSTANTS, STRUCTURES};

/// The headers with the packages that they are in.
const HEADERS: [(&str, &str); 2] = [
    ("infiniband/umad.h", "libibumad-dev"),
    ("infiniband/verbs.h", "libibverbs-dev"),
];

/// C program for the comparison: each line shows one structure, field or number of the headers.
fn source() -> String {
    let mut source = String::from("#include <stdio.h>\n#include <stddef.h>\n");
    for (header, _) in HEADERS {
        writeln!(source, "#include <{header}>").unwrap();
    }
    source.push_str("int main(void) {\n");
    for structure in STRUCTURES {
        let c_type = structure.c_type;
        let size = format!("printf(\"{c_type}: %zu bytes\\n\", sizeof({c_type}));");
        writeln!(source, "\t{size}").unwrap();
        for field in structure.fields {
            let name = field.name;
            writeln!(
                source,
                "\tprintf(\"{c_type}.{name}: %zu bytes at %zu\\n\", \
                 sizeof((({c_type} *)0)->{name}), offsetof({c_type}, {name}));"
            )
            .unwrap();
        }
    }
    for constant in CONSTANTS.iter().copied().flatten() {
        let name = constant.name;
        writeln!(source, "\tprintf(\"{name}: %lld\\n\", (long long){name});").unwrap();
    }
    source.push_str("\treturn 0;\n}\n");
    source
}

/// Expected output of the program, from the declarations here.
fn declared() -> Vec<String> {
    let mut lines = Vec::new();
    for structure in STRUCTURES {
        let c_type = structure.c_type;
        lines.push(format!("{c_type}: {} bytes", structure.size));
        let fields = structure.fields.iter();
        lines.extend(fields.map(|field| {
            let (name, size, offset) = (field.name, field.size, field.offset);
            format!("{c_type}.{name}: {size} bytes at {offset}")
        }));
    }
    let constants = CONSTANTS.iter().copied().flatten();
    lines.extend(constants.map(|constant| format!("{}: {}", constant.name, constant.value)));
    lines
}

fn printed(source: &str) -> Vec<String> {
    let directory = Path::new(env!("CARGO_TARGET_TMPDIR"));
    let (input, program) = (directory.join("abi_probe.c"), directory.join("abi_probe"));
    std::fs::write(&input, source).unwrap();
    let compiler = Command::new("cc")
        .args(["-w", "-O0", "-o"])
        .args([&program, &input])
        .output()
        .unwrap();
    let errors = String::from_utf8_lossy(&compiler.stderr).into_owned();
    assert!(compiler.status.success(), "no probe:\n{errors}");
    let output = Command::new(&program).output().unwrap();
    assert!(output.status.success(), "the probe: {}", output.status);
    let text = String::from_utf8(output.stdout).unwrap();
    text.lines().map(str::to_owned).collect()
}

#[test]
fn structures_and_numbers_are_those_of_the_installed_headers() {
    let missing = HEADERS.iter().find(|(header, _)| {
        let place = Path::new("/usr/include").join(header);
        !place.exists()
    });
    if let Some((header, package)) = missing {
        weft_peers::not_run(format_args!("there is no {header}: install {package}"));
        return;
    }
    assert_eq!(printed(&source()), declared());
}

/// Checks that hold without the headers.
#[test]
fn sizes_are_those_of_64_bit_linux() {
    let sizes: Vec<usize> = STRUCTURES.iter().map(|structure| structure.size).collect();
    assert_eq!(sizes, [44, 64, 112, 208, 32, 16, 664, 328, 16]);
}
