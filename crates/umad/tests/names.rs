//! Comparison with the installed libibumad (Debian: `libibumad3`): exported names, and texts
//! for values on the wire.
#![allow(unsafe_code, clippy::unwrap_used)]

use std::collections::BTreeSet;
use std::ffi::{CStr, c_char};
use std::path::{Path, PathBuf};
use std::process::Command;

use libloading::os::unix::Library;
use weft_umad::ffi::{
    umad_attribute_str, umad_class_str, umad_common_mad_status_str, umad_method_str,
    umad_sa_mad_status_str,
};

/// The installed library; none, said aloud, where it is missing and may be.
fn installed() -> Option<PathBuf> {
    let name = "libibumad.so.3";
    let asked = Command::new("cc")
        .arg(format!("-print-file-name={name}"))
        .output()
        .unwrap();
    let path = PathBuf::from(String::from_utf8(asked.stdout).unwrap().trim_end());
    if path.is_absolute() {
        return Some(path);
    }
    weft_peers::not_run(format_args!("there is no {name}: install libibumad3"));
    None
}

/// The functions that a library exports.
fn exported(library: &Path) -> BTreeSet<String> {
    let listed = Command::new("nm")
        .args(["-D", "--defined-only"])
        .arg(library)
        .output()
        .unwrap();
    assert!(listed.status.success(), "nm {}", library.display());
    let text = String::from_utf8(listed.stdout).unwrap();
    let functions = text.lines().filter(|line| line.contains(" T "));
    let names = functions.filter_map(|line| line.split_whitespace().last());
    names
        .map(|name| name.split('@').next().unwrap().to_owned())
        .collect()
}

#[test]
fn every_function_of_the_installed_library_is_here() {
    let Some(installed) = installed() else { return };
    let own = std::env::current_exe().unwrap();
    let own = exported(&own.with_file_name("libweft_umad.so"));
    let theirs = exported(&installed);
    assert!(theirs.contains("umad_init"), "{theirs:?}");
    let missing: Vec<&String> = theirs.difference(&own).collect();
    assert!(
        missing.is_empty(),
        "programs would get them from libibumad: {missing:?}"
    );
}

type ByClass = unsafe extern "C" fn(u8) -> *const c_char;
type ByMethod = unsafe extern "C" fn(u8, u8) -> *const c_char;
type ByAttribute = unsafe extern "C" fn(u8, u16) -> *const c_char;
type ByStatus = unsafe extern "C" fn(u16) -> *const c_char;

/// Numbers of 16 bits: all that a table names, and some that it does not.
fn numbers() -> impl Iterator<Item = u16> {
    (0..=0x0100).chain((0..=0xFF).map(|high| high << 8 | 0x1C))
}

#[test]
fn words_are_those_of_the_installed_library() {
    let Some(installed) = installed() else { return };
    // SAFETY: the library has no constructors, and the types are those of umad_str.h.
    unsafe {
        let library = Library::new(installed).unwrap();
        let text = |from: *const c_char| CStr::from_ptr(from).to_owned();
        let class_str = library.get::<ByClass>(b"umad_class_str\0").unwrap();
        let method_str = library.get::<ByMethod>(b"umad_method_str\0").unwrap();
        let attribute_str = library.get::<ByAttribute>(b"umad_attribute_str\0").unwrap();
        for class in 0..=u8::MAX {
            assert_eq!(
                text(umad_class_str(class)),
                text(class_str(class)),
                "{class:#x}"
            );
            for method in 0..=u8::MAX {
                let (own, theirs) = (umad_method_str(class, method), method_str(class, method));
                assert_eq!(text(own), text(theirs), "{class:#x} {method:#x}");
            }
            for number in numbers().map(u16::to_be) {
                let own = umad_attribute_str(class, number);
                let theirs = attribute_str(class, number);
                assert_eq!(text(own), text(theirs), "{class:#x} {number:#x}");
            }
        }
        type Own = extern "C" fn(u16) -> *const c_char;
        let statuses: [(Own, &[u8]); 2] = [
            (umad_common_mad_status_str, b"umad_common_mad_status_str\0"),
            (umad_sa_mad_status_str, b"umad_sa_mad_status_str\0"),
        ];
        for (own, name) in statuses {
            let theirs = library.get::<ByStatus>(name).unwrap();
            for status in 0..=u16::MAX {
                assert_eq!(text(own(status)), text(theirs(status)), "{status:#x}");
            }
        }
    }
}
