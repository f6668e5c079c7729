// Made by crates/web/page/build.mjs.
[
    ("/chunk-F7HJPZKU.js", include_bytes!("chunk-F7HJPZKU.js")),
    ("/chunk-SXEBRBKM.js", include_bytes!("chunk-SXEBRBKM.js")),
    ("/chunk-VBQI6PDI.js", include_bytes!("chunk-VBQI6PDI.js")),
    ("/page.js", include_bytes!("page.js")),
    ("/view-CD6KD6F2.js", include_bytes!("view-CD6KD6F2.js")),
    ("/views-CWABXQXX.js", include_bytes!("views-CWABXQXX.js")),
]
