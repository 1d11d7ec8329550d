/** Files that are shipped unchanged: an import returns their text. */
declare module "*.css" {
  const text: string;
  export default text;
}

declare module "*/page/dom.js" {
  const text: string;
  export default text;
}

declare module "*/page/key.js" {
  const text: string;
  export default text;
}

declare module "*/page/main.js" {
  const text: string;
  export default text;
}

declare module "*/page/outcomes.js" {
  const text: string;
  export default text;
}

declare module "*/page/trial.js" {
  const text: string;
  export default text;
}
