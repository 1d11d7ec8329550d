/** Documents that are shipped unchanged: an import returns their text. */
declare module "*.md" {
  const text: string;
  export default text;
}
