/** The weights, imported by path (`with { type: "file" }`). */
declare module "*/silero-vad.bin" {
  const path: string;
  export default path;
}
