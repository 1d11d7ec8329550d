/** Writes api.ts, the types of the API, from docs/openapi.json. A test fails while the file is not what this would write. */
import { join } from "node:path";
import openapiTS, { astToString } from "openapi-typescript";

const DOCUMENT = join(import.meta.dir, "../../../docs/openapi.json");
export const TYPES_FILE = join(import.meta.dir, "api.ts");

export const generateTypes = async (): Promise<string> => {
  const types = astToString(await openapiTS(await Bun.file(DOCUMENT).json()));
  return `/* Made from docs/openapi.json by \`bun run openapi\`. Not to be changed by hand. */\n${types}`;
};

if (import.meta.main) await Bun.write(TYPES_FILE, await generateTypes());
