/** Generates api.ts, the types of the API, from docs/openapi.json. A test fails when the file is out of date. */
import { join } from "node:path";
import openapiTS, { astToString, type OpenAPI3 } from "openapi-typescript";
import ts from "typescript";

export const DOCUMENT = join(import.meta.dir, "../../../docs/openapi.json");
export const TYPES_FILE = join(import.meta.dir, "api.ts");

export const isExample = (key: string): boolean => key === "example" || key === "examples";

/** The document without its examples, which would be a quarter of the types as comments. */
const documentWithoutExamples = async (): Promise<OpenAPI3> =>
  JSON.parse(await Bun.file(DOCUMENT).text(), (key, value) => (isExample(key) ? undefined : value));

/** The type of a file in a form. */
const blobOfBinary = ({ format }: { format?: string }): ts.TypeNode | undefined =>
  format === "binary" ? ts.factory.createTypeReferenceNode("Blob") : undefined;

export const generateTypes = async (): Promise<string> => {
  const types = astToString(await openapiTS(await documentWithoutExamples(), { transform: blobOfBinary }));
  return `/* Generated from docs/openapi.json by \`bun run openapi\`. Do not edit. */\n${types}`;
};

if (import.meta.main) await Bun.write(TYPES_FILE, await generateTypes());
