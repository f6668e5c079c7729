// Made by crates/web/page/build.mjs.
[
    ("/chunk-FGBLTLID.js", include_bytes!("chunk-FGBLTLID.js")),
    ("/chunk-GTTSKCFZ.js", include_bytes!("chunk-GTTSKCFZ.js")),
    ("/chunk-KUNOXQ3Z.js", include_bytes!("chunk-KUNOXQ3Z.js")),
    ("/page.js", include_bytes!("page.js")),
    ("/view-M5TTJDQK.js", include_bytes!("view-M5TTJDQK.js")),
    ("/views-JPQ37JZR.js", include_bytes!("views-JPQ37JZR.js")),
]
