// Made by crates/web/page/build.mjs.
[
    ("/chunk-4YFZIRSI.js", include_bytes!("chunk-4YFZIRSI.js")),
    ("/chunk-QCQV67SU.js", include_bytes!("chunk-QCQV67SU.js")),
    ("/chunk-R4KHXLGQ.js", include_bytes!("chunk-R4KHXLGQ.js")),
    ("/page.js", include_bytes!("page.js")),
    ("/view-GTXDLLEZ.js", include_bytes!("view-GTXDLLEZ.js")),
    ("/views-B4LFF5PI.js", include_bytes!("views-B4LFF5PI.js")),
]
