// Made by crates/web/page/build.mjs.
[
    ("/chunk-5SIGEWSV.js", include_bytes!("chunk-5SIGEWSV.js")),
    ("/chunk-T3M4WICI.js", include_bytes!("chunk-T3M4WICI.js")),
    ("/chunk-YTWYTVGB.js", include_bytes!("chunk-YTWYTVGB.js")),
    ("/page.js", include_bytes!("page.js")),
    ("/view-MVWVOLS7.js", include_bytes!("view-MVWVOLS7.js")),
    ("/views-2TV2JO5S.js", include_bytes!("views-2TV2JO5S.js")),
]
