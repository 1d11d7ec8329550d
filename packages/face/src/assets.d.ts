/** The weights, imported by path (`with { type: "file" }`). */
declare module "*/mouth.bin" {
  const path: string;
  export default path;
}
