// Made by crates/web/page/build.mjs.
[
    ("/chunk-OUIRP5UV.js", include_bytes!("chunk-OUIRP5UV.js")),
    ("/chunk-UJLXC4BF.js", include_bytes!("chunk-UJLXC4BF.js")),
    ("/chunk-VJ3N6NS4.js", include_bytes!("chunk-VJ3N6NS4.js")),
    ("/page.js", include_bytes!("page.js")),
    ("/view-4SLQB3XL.js", include_bytes!("view-4SLQB3XL.js")),
    ("/views-7QQBPZNX.js", include_bytes!("views-7QQBPZNX.js")),
]
