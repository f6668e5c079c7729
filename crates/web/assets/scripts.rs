// Made by crates/web/page/build.mjs.
[
    ("/chunk-3BGB7FLR.js", include_bytes!("chunk-3BGB7FLR.js")),
    ("/chunk-66RVQOVV.js", include_bytes!("chunk-66RVQOVV.js")),
    ("/chunk-YVQATUUD.js", include_bytes!("chunk-YVQATUUD.js")),
    ("/page.js", include_bytes!("page.js")),
    ("/view-HLEU3JRF.js", include_bytes!("view-HLEU3JRF.js")),
    ("/views-IN7WWQLU.js", include_bytes!("views-IN7WWQLU.js")),
]
