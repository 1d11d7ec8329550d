/**
 * `bun run security`: writes `docs/security/owasp.md` and `asvs.md` from the data beside them. A test compares them, and
 * `quoted-titles.ts` checks the files and the titles of tests that they name.
 */
import { join } from "node:path";

type Entry = {
  /** The number in the standard, and its level. */
  item: string;
  asks: string;
  /** `met`, `partly`, `gap`, `operator` or `not applicable`; several where parts differ. */
  verdict: string;
  how?: string;
  /** Tried on a running service; has no test yet. */
  byHand?: true;
  /** The titles of the tests that show it, by file. Without titles, the whole file does. */
  tests?: Record<string, string[]>;
  operator?: string;
};
type Comparison = {
  title: string;
  intro: string;
  chapters: { title: string; intro?: string; entries: Entry[] }[];
  outro?: string;
};

const FOLDER = join(import.meta.dir, "../docs/security");
const VERDICTS = ["met", "partly", "gap", "operator", "not applicable"];

const table = (rows: readonly (readonly string[])[]): string => {
  const [head = [], ...others] = rows.map((cells) => `| ${cells.join(" | ")} |`);
  return [head, `|${" --- |".repeat(rows[0]?.length ?? 0)}`, ...others].join("\n");
};

/** Lines of at most 120 characters. Code and quoted titles are not broken. */
const wrap = (text: string, indent = ""): string => {
  const lines: string[] = [""];
  for (const [word] of text.matchAll(/(?:`[^`]*`|"[^"]*"|[^\s`"])+/g)) {
    const line = lines.at(-1) ?? "";
    if (line !== "" && line.length + word.length >= 120) lines.push(indent + word);
    else lines[lines.length - 1] = line === "" ? word : `${line} ${word}`;
  }
  return lines.join("\n");
};

const presentEntry = ({ item, verdict, how, byHand, tests = {}, operator }: Entry): string => {
  if (!verdict.split(", ").every((one) => VERDICTS.includes(one)))
    throw new Error(`${item} has the verdict ${verdict}`);
  const shown = Object.entries(tests).map(
    ([file, titles]) => `\`${file}\` ${titles.map((title) => `"${title}"`).join(", ")}`,
  );
  const list = [...shown, ...(byHand ? ["By hand."] : []), ...(operator ? [`Operator: ${operator}`] : [])];
  const text = wrap([`**${item}**`, how].filter(Boolean).join(": "));
  return [text, list.map((line) => wrap(`- ${line.trim()}`, "  ")).join("\n")].filter(Boolean).join("\n\n");
};

/** Each document, as Markdown. */
export const securityDocuments = (): Promise<{ file: string; text: string }[]> =>
  Promise.all(
    ["owasp", "asvs"].map(async (name) => {
      const data = Bun.YAML.parse(await Bun.file(join(FOLDER, `${name}.yaml`)).text()) as Comparison;
      const chapters = data.chapters.flatMap(({ title, intro, entries }) => [
        `## ${title}`,
        ...(intro ? [intro] : []),
        table([
          ["Item", "What it asks", "Verdict"],
          ...entries.map(({ item, asks, verdict }) => [item, asks, verdict]),
        ]),
        ...entries.filter(({ how, tests, operator }) => how ?? tests ?? operator).map(presentEntry),
      ]);
      const head = [`# ${data.title}`, `<!-- Written by \`bun run security\` from ${name}.yaml. -->`, data.intro];
      return {
        file: join(FOLDER, `${name}.md`),
        text: `${[...head, ...chapters, ...(data.outro ? [data.outro] : [])].join("\n\n")}\n`,
      };
    }),
  );

if (import.meta.main) for (const { file, text } of await securityDocuments()) await Bun.write(file, text);
