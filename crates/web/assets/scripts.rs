// Made by crates/web/page/build.mjs.
[
    ("/chunk-2VHFFPCT.js", include_bytes!("chunk-2VHFFPCT.js")),
    ("/chunk-OQPX6NV6.js", include_bytes!("chunk-OQPX6NV6.js")),
    ("/chunk-VFTVUWRU.js", include_bytes!("chunk-VFTVUWRU.js")),
    ("/page.js", include_bytes!("page.js")),
    ("/view-PPQIGNJ2.js", include_bytes!("view-PPQIGNJ2.js")),
    ("/views-LWGDXOA2.js", include_bytes!("views-LWGDXOA2.js")),
]
