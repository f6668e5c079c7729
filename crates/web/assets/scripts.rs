// Made by crates/web/page/build.mjs.
[
    ("/chunk-QXFBGKKA.js", include_bytes!("chunk-QXFBGKKA.js")),
    ("/chunk-UH52NEXJ.js", include_bytes!("chunk-UH52NEXJ.js")),
    ("/chunk-VKPAPDXP.js", include_bytes!("chunk-VKPAPDXP.js")),
    ("/page.js", include_bytes!("page.js")),
    ("/view-PWKDCW3U.js", include_bytes!("view-PWKDCW3U.js")),
    ("/views-ZGGMM4UL.js", include_bytes!("views-ZGGMM4UL.js")),
]
