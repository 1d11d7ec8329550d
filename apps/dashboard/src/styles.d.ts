/** The style sheet is bundled; its import has no value. */
declare module "*.css";
