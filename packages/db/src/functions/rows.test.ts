/**
 * A row is built by position: `row(a, b)::rta.t`, `insert into t (a, b) select b, a`. PostgreSQL accepts two swapped columns of one type.
 * So each value has the name of its attribute: a column or a variable of this name, or else a label, a comment with this name before it.
 */
import { expect, test } from "bun:test";
import { join } from "node:path";
import { functionFiles, functionName } from "./files.ts";

const SRC = join(import.meta.dir, "..");
const LITERAL = /^(?:null(?:::\S+)?|true|false|-?\d+|'[^']*')$/;
const LABEL = /^\/\* (\w+) \*\//;

/** The text of a file, with spaces in place of its comments. */
const textOf = async (path: string): Promise<string> =>
  (await Bun.file(join(SRC, path)).text()).replaceAll(/--.*/g, (comment) => " ".repeat(comment.length));
const texts = await Promise.all(
  (await functionFiles()).map(async (path) => ({ name: functionName(path), path, text: await textOf(path) })),
);

/** The parts of a list, up to an unmatched closing bracket or `end`. */
const listIn = (text: string, end: RegExp = /^$/): string[] => {
  const parts = [""];
  let depth = 0;
  let isQuoted = false;
  for (let at = 0; at < text.length; at++) {
    const character = text.charAt(at);
    if (character === "'") isQuoted = !isQuoted;
    if (!isQuoted && "([".includes(character)) depth++;
    if (!isQuoted && ")]".includes(character)) depth--;
    if (depth < 0 || (depth === 0 && !isQuoted && end.test(text.slice(at, at + 8)))) break;
    if (character === "," && depth === 0 && !isQuoted) parts.push("");
    else parts[parts.length - 1] += character;
  }
  return parts.map((part) => part.trim().replaceAll(/\s+/g, " "));
};

/** The attributes of each type, in their order. */
const attributes = new Map(
  texts
    .filter(({ name }) => name === "types")
    .flatMap(({ text }) => [...text.matchAll(/create type rta\.(\w+) as \(/g)].map((match) => ({ match, text })))
    .map(({ match: { 0: start, 1: type = "", index }, text }) => [
      type,
      listIn(text.slice(index + start.length)).map((attribute) => attribute.split(" ")[0]?.replaceAll('"', "") ?? ""),
    ]),
);

/** The name of a value: its label, or the name of the column or variable. Null for an expression without a label. */
const nameIn = (value: string): string | null =>
  LABEL.exec(value)?.[1] ?? /(?:^|[.\])])([a-z]\w*)$/.exec(value)?.[1]?.replace(/^[pv]_/, "") ?? null;

type Row = { of: string; names: readonly string[]; values: readonly string[] };

/** The rows of a text: `row(…)::rta.type`. */
const rowsIn = (text: string, of: string): Row[] =>
  [...text.matchAll(/\brow\(/g)].map(({ 0: start, index }) => {
    const values = listIn(text.slice(index + start.length));
    const inner = text.slice(index + start.length);
    const type = /^\)::rta\.(\w+)/.exec(inner.slice(lengthOf(inner)))?.[1] ?? "";
    return { of: `${of}, a row of ${type}`, names: attributes.get(type) ?? [], values };
  });
const lengthOf = (text: string): number => {
  let depth = 0;
  for (let at = 0; at < text.length; at++) {
    if (text.charAt(at) === "(") depth++;
    if (text.charAt(at) === ")" && depth-- === 0) return at;
  }
  return text.length;
};

/** The rows that a text inserts. `p_x.*` stands for the attributes of its type. */
const insertsIn = (text: string, of: string): Row[] =>
  [...text.matchAll(/insert into (\S+)(?: as \w+)? \(([^)]*)\)\s*(?:select|values \()/g)].map((match) => {
    const values = listIn(text.slice(match.index + match[0].length), /^(?:\sfrom\b|\son\s|;)/);
    const [, type = ""] = new RegExp(`\\b(?:p_)?${values[0]?.split(".")[0]}s? rta\\.(\\w+)`).exec(text) ?? [];
    const all = values[0]?.endsWith(".*") ? (attributes.get(type) ?? []) : values;
    return { of: `${of}, an insert into ${match[1]}`, names: listIn(match[2] ?? ""), values: all };
  });

/** The rows that a text returns: `return query select …` in a function that `returns table (…)`. */
const returnsIn = (text: string, of: string): Row[] => {
  const [start = "", at = 0] = ((match) => (match ? [match[0], match.index] : []))(/\breturns table \(/.exec(text));
  const names = listIn(text.slice(at + start.length)).map((column) => column.split(" ")[0] ?? "");
  const queries = start === "" ? [] : [...text.matchAll(/\breturn query\s+select /g)];
  return queries.map((query) => ({
    of: `${of}, a row that it returns`,
    names,
    values: listIn(text.slice(query.index + query[0].length), /^(?:\sfrom\b|;)/),
  }));
};

/**
 * The fault of a row. `isNamed`: each value must have the name of its attribute; otherwise, no value may have the name
 * of another attribute.
 */
const faultsOf = ({ of, names, values }: Row, isNamed: boolean): string[] => {
  if (values.length !== names.length) return [`${of}: ${values.length} values, ${names.length} names`];
  return values.flatMap((value, at) => {
    const name = nameIn(value);
    const isWrong = isNamed
      ? !LITERAL.test(value) && name !== names[at]
      : name !== names[at] && names.includes(name ?? "");
    return isWrong ? [`${of}: ${value} in the place of ${names[at]}`] : [];
  });
};

test.each([
  ["row(v_at, tenant_id)::rta.seen", true],
  ["row(tenant_id, v_at)::rta.seen", false],
  ["row(/* tenant_id */ account.id, /* at */ now())::rta.seen", false],
  ["row(/* at */ account.id, now())::rta.seen", true],
  ["row(tenant_id, null)::rta.seen", false],
  ["row(tenant_id)::rta.seen", true],
])("the search in %p: a fault, %p", (text, isFault) => {
  attributes.set("seen", ["tenant_id", "at"]);
  expect(rowsIn(text, "f").flatMap((row) => faultsOf(row, true)).length > 0).toBe(isFault);
});

test("the rows of the functions: each value has the name of its attribute", () => {
  const rows = texts.flatMap(({ path, text }) => rowsIn(text, path));
  expect(rows.length).toBeGreaterThan(20);
  expect(rows.flatMap((row) => faultsOf(row, true))).toEqual([]);
});

test("the rows that functions return: no value has the name of another column", () => {
  const rows = texts.flatMap(({ path, text }) => returnsIn(text, path));
  expect(rows.length).toBeGreaterThan(30);
  expect(rows.flatMap((row) => faultsOf(row, false))).toEqual([]);
});

test("the inserts of the functions: no value has the name of another column", () => {
  const rows = texts.flatMap(({ path, text }) => insertsIn(text, path));
  expect(rows.length).toBeGreaterThan(30);
  expect(rows.flatMap((row) => faultsOf(row, false))).toEqual([]);
});
