// Made by crates/web/page/build.mjs.
[
    ("/chunk-3ESIGC42.js", include_bytes!("chunk-3ESIGC42.js")),
    ("/chunk-3SHSJODP.js", include_bytes!("chunk-3SHSJODP.js")),
    ("/chunk-P2UN6EAK.js", include_bytes!("chunk-P2UN6EAK.js")),
    ("/page.js", include_bytes!("page.js")),
    ("/view-7NTISLYS.js", include_bytes!("view-7NTISLYS.js")),
    ("/views-SVXC4AWY.js", include_bytes!("views-SVXC4AWY.js")),
]
