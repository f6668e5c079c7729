// Made by crates/web/page/build.mjs.
[
    ("/chunk-F7HJPZKU.js", include_bytes!("chunk-F7HJPZKU.js")),
    ("/chunk-FI5RUWAY.js", include_bytes!("chunk-FI5RUWAY.js")),
    ("/chunk-VBQI6PDI.js", include_bytes!("chunk-VBQI6PDI.js")),
    ("/page.js", include_bytes!("page.js")),
    ("/view-CD6KD6F2.js", include_bytes!("view-CD6KD6F2.js")),
    ("/views-5V4A7NQN.js", include_bytes!("views-5V4A7NQN.js")),
]
