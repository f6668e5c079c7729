// Made by crates/web/page/build.mjs.
[
    ("/chunk-BPKNMSDW.js", include_bytes!("chunk-BPKNMSDW.js")),
    ("/chunk-GTTSKCFZ.js", include_bytes!("chunk-GTTSKCFZ.js")),
    ("/chunk-KUNOXQ3Z.js", include_bytes!("chunk-KUNOXQ3Z.js")),
    ("/page.js", include_bytes!("page.js")),
    ("/view-M5TTJDQK.js", include_bytes!("view-M5TTJDQK.js")),
    ("/views-4L4O44BN.js", include_bytes!("views-4L4O44BN.js")),
]
