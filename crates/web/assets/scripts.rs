// Made by crates/web/page/build.mjs.
[
    ("/chunk-G6K2IUO3.js", include_bytes!("chunk-G6K2IUO3.js")),
    ("/chunk-GNNZKIWD.js", include_bytes!("chunk-GNNZKIWD.js")),
    ("/chunk-QHSNO6KH.js", include_bytes!("chunk-QHSNO6KH.js")),
    ("/page.js", include_bytes!("page.js")),
    ("/view-JA6LRN2D.js", include_bytes!("view-JA6LRN2D.js")),
    ("/views-O4OMT3WU.js", include_bytes!("views-O4OMT3WU.js")),
]
