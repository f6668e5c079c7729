// Made by crates/web/page/build.mjs.
[
    ("/chunk-6NFAQOOG.js", include_bytes!("chunk-6NFAQOOG.js")),
    ("/chunk-L377GC4B.js", include_bytes!("chunk-L377GC4B.js")),
    ("/chunk-SO3DS5BS.js", include_bytes!("chunk-SO3DS5BS.js")),
    ("/chunk-WEBXKYKT.js", include_bytes!("chunk-WEBXKYKT.js")),
    ("/page.js", include_bytes!("page.js")),
    ("/view-QJNAD3ZH.js", include_bytes!("view-QJNAD3ZH.js")),
    ("/views-YICSBMRQ.js", include_bytes!("views-YICSBMRQ.js")),
]
