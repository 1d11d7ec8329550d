/** Documents that are shipped as they are: an import gives their text. */
declare module "*.md" {
  const text: string;
  export default text;
}
