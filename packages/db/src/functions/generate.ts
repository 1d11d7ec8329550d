/** The text of `generated/functions.ts`: a TypeScript function for each function that the service calls, from the catalog of a database. */
import { calledFunctions } from "./files.ts";
import { FUNCTIONS_SCHEMA } from "./schema.ts";

type RunQuery = <Row extends object>(text: string, parameters: readonly unknown[]) => Promise<readonly Row[]>;
type Attribute = { name: string; type: string };
type DatabaseFunction = { name: string; arguments: Attribute[]; columns: Attribute[]; result: string };

/** The TypeScript types of the SQL types that functions take and return. The driver reads a bigint as text. */
const SCALARS: Record<string, { input: string; output: string }> = {
  text: { input: "string", output: "string" },
  "text[]": { input: "readonly string[]", output: "string[]" },
  integer: { input: "number", output: "number" },
  "integer[]": { input: "readonly number[]", output: "number[]" },
  bigint: { input: "number", output: "string" },
  real: { input: "number", output: "number" },
  boolean: { input: "boolean", output: "boolean" },
  bytea: { input: "Uint8Array", output: "Uint8Array" },
  "bytea[]": { input: "readonly Uint8Array[]", output: "Uint8Array[]" },
  "timestamp with time zone": { input: "Date", output: "Date" },
  // The driver would write an array as a PostgreSQL array, so the value is sent as text.
  json: { input: "Record<string, unknown> | string", output: "object" },
};
/** The types that the driver encodes itself. */
const BY_DRIVER = new Set([
  "text",
  "text[]",
  "integer",
  "bigint",
  "real",
  "boolean",
  "bytea",
  "timestamp with time zone",
]);

const camel = (name: string): string =>
  name.replace(/^p_/, "").replaceAll(/_(\w)/g, (_, letter) => letter.toUpperCase());
const pascal = (name: string): string => camel(`_${name}`);

const SELECT_TYPES = `
  select c.relname as "typeName", a.attname as "name", format_type(a.atttypid, a.atttypmod) as "type"
  from pg_class c join pg_attribute a on a.attrelid = c.oid and a.attnum > 0
  where c.relnamespace = to_regnamespace($1) and c.relkind = 'c'
  order by c.relname, a.attnum`;

const SELECT_FUNCTIONS = `
  select p.proname as "functionName", a.mode, coalesce(a.name, '') as "name", format_type(a.type, null) as "type",
    format_type(p.prorettype, null) as "result"
  from pg_proc p
  cross join lateral unnest(
    coalesce(p.proallargtypes, p.proargtypes::oid[]), p.proargnames, p.proargmodes
  ) with ordinality a (type, name, mode, position)
  where p.pronamespace = to_regnamespace($1)
  order by p.proname, a.position`;

/** The name of a composite type of the schema of functions; null for another type. */
const compositeOf = (type: string): string | null => {
  const [schema, name = ""] = type.replace("[]", "").split(".");
  return schema === FUNCTIONS_SCHEMA ? name : null;
};

const scalar = (type: string) => {
  const known = SCALARS[type];
  if (!known) throw new Error(`the generator does not know the type ${type}`);
  return known;
};

const inputType = (type: string): string => {
  const composite = compositeOf(type);
  if (composite === null) return scalar(type).input;
  return type.endsWith("[]") ? `readonly (${pascal(composite)} | null)[]` : pascal(composite);
};

const encoder = (type: string): string => {
  const composite = compositeOf(type);
  if (composite === null) return BY_DRIVER.has(type) ? "null" : "list()";
  return type.endsWith("[]") ? `list(${camel(composite)})` : camel(composite);
};

/** The text of `generated/functions.ts`, before Biome formats it. */
export const generate = async (query: RunQuery): Promise<string> => {
  const called = await calledFunctions();
  const composites = new Map<string, Attribute[]>();
  for (const { typeName, ...attribute } of await query<Attribute & { typeName: string }>(SELECT_TYPES, [
    FUNCTIONS_SCHEMA,
  ])) {
    composites.set(typeName, [...(composites.get(typeName) ?? []), attribute]);
  }
  const functions = new Map<string, DatabaseFunction>();
  type Argument = Attribute & { functionName: string; mode: string | null; result: string };
  for (const { functionName, mode, result, ...argument } of await query<Argument>(SELECT_FUNCTIONS, [
    FUNCTIONS_SCHEMA,
  ])) {
    if (!called.has(functionName)) continue;
    const known = functions.get(functionName) ?? { name: functionName, arguments: [], columns: [], result };
    (mode === null || mode === "i" ? known.arguments : known.columns).push(argument);
    functions.set(functionName, known);
  }

  /** Each column of a result: its expression, its name and its type. */
  const resultColumns = ({
    name,
    columns,
    result,
  }: DatabaseFunction): [select: string, key: string, type: string][] => {
    const own = compositeOf(result.replace("SETOF ", ""));
    if (columns.length === 0 && own === null) return [[`${name} as "result"`, "result", scalar(result).output]];
    return (columns.length > 0 ? columns : (composites.get(own ?? "") ?? [])).flatMap(({ name, type }) => {
      const composite = compositeOf(type);
      const of =
        (prefix: string) =>
        (attribute: Attribute): [string, string, string] => [
          `${prefix}${attribute.name} as "${camel(attribute.name)}"`,
          camel(attribute.name),
          scalar(attribute.type).output,
        ];
      return composite === null ? [of("")({ name, type })] : (composites.get(composite) ?? []).map(of(`(${name}).`));
    });
  };

  const used = new Set([...functions.values()].flatMap((one) => one.arguments.map(({ type }) => compositeOf(type))));
  const types = [...composites]
    .filter(([name]) => used.has(name))
    .map(([name, attributes]) => {
      const fields = attributes.map(({ name, type }) => `  ${camel(name)}: ${scalar(type).input} | null;`);
      const keys = attributes.map(({ name }) => `"${camel(name)}"`);
      return `export type ${pascal(name)} = {\n${fields.join("\n")}\n};\nconst ${camel(name)} = composite<${pascal(name)}>(${keys.join(", ")});`;
    });
  const calls = [...functions.values()].map((one) => {
    const input = one.arguments.map(({ name, type }) => `  ${camel(name)}: ${inputType(type)} | null;`);
    const columns = resultColumns(one);
    const row = columns.map(([, key, type]) => `  ${key}: ${type} | null;`);
    const encoders = one.arguments.map(({ name, type }) => `${camel(name)}: ${encoder(type)}`);
    const type = pascal(one.name);
    return [
      `export type ${type}Input = ${input.length > 0 ? `{\n${input.join("\n")}\n}` : "Record<string, never>"};`,
      `export type ${type}Row = {\n${row.join("\n")}\n};`,
      `export const ${camel(one.name)} = databaseFunction<${type}Input, ${type}Row>(`,
      `  "${one.name}",\n  { ${encoders.join(", ")} },`,
      `  ${JSON.stringify(columns.map(([select]) => select).join(", "))
        .replaceAll('\\"', '"')
        .replace(/^"|"$/g, "'")},\n);`,
    ].join("\n");
  });
  return [
    "/** Generated from the catalog by `bun run functions`. Do not edit. */",
    'import { composite, databaseFunction, list } from "../src/functions/call.ts";',
    ...types,
    ...calls,
    "",
  ].join("\n\n");
};
