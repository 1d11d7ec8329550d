/** Files that are shipped as they are: an import gives their text. */
declare module "*.css" {
  const text: string;
  export default text;
}
declare module "*.js" {
  const text: string;
  export default text;
}
