// esbuild gathers the styles that are imported.
declare module "*.css";
