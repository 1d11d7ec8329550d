/** Files that are imported by their path (`with { type: "file" }`). */
declare module "*.bin" {
  const path: string;
  export default path;
}
declare module "*.wasm" {
  const path: string;
  export default path;
}
