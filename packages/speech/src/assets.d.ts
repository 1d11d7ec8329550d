/** Files that are imported by their path (`with { type: "file" }`). */
declare module "*/flite.wasm" {
  const path: string;
  export default path;
}
declare module "*.wav" {
  const path: string;
  export default path;
}
