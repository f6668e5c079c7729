// Made by crates/web/page/build.mjs.
[
    ("/chunk-CO757ZDR.js", include_bytes!("chunk-CO757ZDR.js")),
    ("/chunk-GC33T2G6.js", include_bytes!("chunk-GC33T2G6.js")),
    ("/chunk-IFDBMPDD.js", include_bytes!("chunk-IFDBMPDD.js")),
    ("/chunk-XI4DZ2RI.js", include_bytes!("chunk-XI4DZ2RI.js")),
    ("/page.js", include_bytes!("page.js")),
    ("/view-BQRR73C3.js", include_bytes!("view-BQRR73C3.js")),
    ("/views-L72ZWZHC.js", include_bytes!("views-L72ZWZHC.js")),
]
