/** The style sheet is bundled; its import has no value. */
declare module "*.css";
/** Pictures are imported as text. */
declare module "*.svg" {
  const text: string;
  export default text;
}
