/** Schemas and tables as HTML. */
import { escapeHtml, textHtml } from "../html-page.ts";
import { refName, type Schema } from "./document.ts";

export const codeHtml = (value: unknown): string =>
  `<code>${escapeHtml(typeof value === "string" ? value : JSON.stringify(value))}</code>`;

/** Renders paragraphs and lists of Markdown. The descriptions of the document use only these. */
export const markdown = (text: string): string =>
  text
    .split("\n\n")
    .map((block) =>
      block.startsWith("- ")
        ? `<ul>${block
            .split("\n")
            .map((line) => `<li>${textHtml(line.slice(2))}</li>`)
            .join("")}</ul>`
        : `<p>${textHtml(block)}</p>`,
    )
    .join("");

/** The bounds of a schema, by their keywords. */
const BOUNDS: [low: string, high: string, unit: string][] = [
  ["minLength", "maxLength", " characters"],
  ["minimum", "maximum", ""],
  ["minItems", "maxItems", " elements"],
];
const boundsOf = (schema: Schema): string[] =>
  BOUNDS.flatMap(([low, high, unit]) => {
    const { [low]: least, [high]: most } = schema;
    if (most === undefined) return least === undefined ? [] : [`from ${least}${unit}`];
    return [`${least === most ? most : `${least ?? 0} to ${most}`}${unit}`];
  });

/** The description of a type with its bounds. */
export const renderType = (schema: Schema): string => {
  const { $ref, anyOf, oneOf, items, type, format } = schema;
  if ($ref) return `<a href="#schema-${refName($ref)}">${refName($ref)}</a>`;
  const variants = anyOf ?? oneOf;
  if (variants) return variants.map(renderType).join(" or ");
  if (schema.const !== undefined) return codeHtml(schema.const);
  if (schema.enum) return schema.enum.map(codeHtml).join(", ");
  const what =
    type === "array" && items ? `array of ${renderType(items)}` : format === "binary" ? "file" : (type ?? "any");
  return [format && format !== "binary" ? `${what} (${format})` : what, ...boundsOf(schema)].join(", ");
};

/** A row of a table of fields. `name` is HTML. */
export const fieldRow = (name: string, isRequired: boolean, { description, schema }: Described): string =>
  `<tr><td>${name}${isRequired ? " <em>required</em>" : ""}</td><td>${renderType(schema)}</td><td>${description?.includes("\n\n") ? markdown(description) : textHtml(description ?? "")}</td></tr>`;
type Described = { description: string | undefined; schema: Schema };

/** The members of a schema, with those of its nested objects. */
export const renderRows = (schema: Schema, prefix = ""): string[] =>
  Object.entries(schema.properties ?? {}).flatMap(([name, member]) => {
    const isRequired = schema.required?.includes(name) === true;
    const nested = [member, member.items, ...(member.anyOf ?? [])].find((inner) => inner?.properties);
    return [
      fieldRow(codeHtml(prefix + name), isRequired, { description: member.description, schema: member }),
      ...(nested ? renderRows(nested, `${prefix}${name}.`) : []),
    ];
  });

/** A table with a title; empty without rows. */
export const table = (label: string, heads: readonly string[], rows: readonly string[], level = "h4"): string =>
  rows.length === 0
    ? ""
    : `<${level}>${label}</${level}><table><thead><tr>${heads.map((head) => `<th scope="col">${head}</th>`).join("")}</tr></thead><tbody>${rows.join("")}</tbody></table>`;

export const FIELD_HEADS = ["Field", "Type", "Description"];
