// Made by crates/web/page/build.mjs.
[
    ("/chunk-5SIGEWSV.js", include_bytes!("chunk-5SIGEWSV.js")),
    ("/chunk-AUN5O7VW.js", include_bytes!("chunk-AUN5O7VW.js")),
    ("/chunk-T3M4WICI.js", include_bytes!("chunk-T3M4WICI.js")),
    ("/page.js", include_bytes!("page.js")),
    ("/view-MVWVOLS7.js", include_bytes!("view-MVWVOLS7.js")),
    ("/views-LSWK4LWZ.js", include_bytes!("views-LSWK4LWZ.js")),
]
