/** Files that are shipped as they are: an import gives their path. */
declare module "swagger-ui-dist/*" {
  const path: string;
  export default path;
}

declare module "*/reference-init.js" {
  const path: string;
  export default path;
}
