/** Compares bounds, vectors and lists of the documents with the code. */
import { describe, expect, setDefaultTimeout, test } from "bun:test";
import { readFile } from "node:fs/promises";
import { join } from "node:path";
import { DEFAULT_SCOPES } from "@realtime-avatar/domain/api-keys/scope";
import { checksum, digestApiKey, parseApiKey } from "@realtime-avatar/domain/api-keys/secret";
import { AVATAR_TRANSITIONS } from "@realtime-avatar/domain/avatars/status";
import { END_REASONS } from "@realtime-avatar/domain/calls/end-reasons";
import { CREDIT_MOVES } from "@realtime-avatar/domain/credits/entry";
import { SESSION_END_REASONS, SESSION_STATUSES } from "@realtime-avatar/domain/credits/status";
import { MINIMUM_ROLES, ROLES } from "@realtime-avatar/domain/people/roles";
import { PROBLEMS } from "@realtime-avatar/domain/problem";
import { FIELD_ERROR_CODES } from "@realtime-avatar/domain/problems/field-error-codes";
import { WEBHOOK_EVENT_TYPES } from "@realtime-avatar/domain/webhooks/events";
import { SETTINGS } from "@realtime-avatar/runtime/config/settings";
import { UNAVAILABLE_REASONS } from "@realtime-avatar/runtime/health";
import { REPOSITORY } from "@realtime-avatar/testing/processes";
import { createApp } from "../../src/app.ts";
import { readLivekitProgram } from "../../src/children/livekit.ts";
import { readConfig } from "../../src/config.ts";
import type { Dependencies } from "../../src/dependencies.ts";
import { listOperations, type RouteDetail } from "../../src/http/operation.ts";
import { problemSchema } from "../../src/http/problem.ts";
import { API_FILE, writtenAnew } from "../../src/openapi/write-tables.ts";

// Tests do not assert times, so that a slow disk does not fail one.
setDefaultTimeout(60_000);

/** A document, without the spaces that align the columns of its tables. */
const read = async (name: string): Promise<string> =>
  (await readFile(join(REPOSITORY, name), "utf8")).replace(/ +\|/g, " |");
const [apiDocument, keysDocument, creditsDocument, configuration, peopleDocument] = await Promise.all(
  ["docs/api.md", "docs/keys.md", "docs/credits.md", "docs/configuration.md", "docs/people.md"].map(read),
);

/** Operations for people, which docs/people.md describes: they need a browser, so their examples cannot be run. */
const OF_PEOPLE = /^\/api\/v1\/(users|user-sessions|invitations|passkeys|identities|oidc)(\/|$)/;

/** A text without the spaces and dashes that align the columns of tables. */
const withoutPadding = (text: string): string => text.replace(/ +\|/g, " |").replace(/-{3,}/g, "---");

describe("the generated parts of docs/api.md", () => {
  test("all parts, written anew: equal", async () => {
    const text = await Bun.file(API_FILE).text();
    expect(withoutPadding(writtenAnew(text))).toBe(withoutPadding(text));
  });

  test("a new field, without a line: gets its bounds and the description of its schema; existing meanings stay", () => {
    const text = (apiDocument ?? "")
      .replace(/^- `displayName` .*\n/m, "")
      .replace(/^(- `sourceKind` .*: ).*$/m, "$1my words");
    const [, section = ""] = writtenAnew(text).split("## Create an avatar\n");
    expect(section).toContain("- `displayName` (string, 1 to 160 characters, required): Human-readable name.\n");
    expect(section).toContain("- `sourceKind` (string, `image` or `video`, required): my words\n");
  });

  test("an operation, without a section: an error", () => {
    const text = (apiDocument ?? "").replace("<!-- operation: listModels -->", "");
    expect(() => writtenAnew(text)).toThrow("docs/api.md lacks listModels");
  });

  test("the list of errors, compared with the code: equal", () => {
    const text = (apiDocument ?? "").replaceAll("\n  ", " ");
    const rows = [...text.matchAll(/^- (\d{3}) `(\w+)`: (.+)$/gm)].map(
      ([, status, code, when]) => `${status} ${code} ${when}`,
    );
    const known = Object.entries(PROBLEMS).map(([code, { status, meaning }]) => `${status} ${code} ${meaning}`);
    expect(rows.sort()).toEqual(known.sort());
  });

  test("the codes of `errors`, compared with the OpenAPI document: equal", () => {
    const section = apiDocument?.split("The `code` of each of the `errors`")[1]?.split("A 401 has")[0];
    const rows = [...(section ?? "").replaceAll("\n  ", " ").matchAll(/^- .+?: (`.+`)$/gm)].map(([, codes]) => codes);
    expect(rows.join(", ")).toBe(
      Object.values(FIELD_ERROR_CODES)
        .flat()
        .map((code) => `\`${code}\``)
        .join(", "),
    );
    const { grant, ...others } = FIELD_ERROR_CODES;
    const described = (["validation_failed", "grant_exceeds_caller"] as const).map(
      (problem) => JSON.parse(JSON.stringify(problemSchema(problem))).properties.errors.items.properties.code.enum,
    );
    expect(described).toEqual([[...new Set(Object.values(others).flat())], grant]);
  });

  test("the list of operations, compared with the routes: each with a section that names its scope", () => {
    const app = createApp({ config: readConfig({}) } as unknown as Dependencies);
    const routes = app.routes.flatMap(({ method, path, hooks }) => {
      if (!path.startsWith("/api/v1") || method === "OPTIONS" || OF_PEOPLE.test(path)) return [];
      const { scope = "none" }: RouteDetail = hooks?.detail ?? {};
      const words = { none: "no key", any: "any valid key" }[scope as string];
      const scopes = scope.split(" ").map((one) => `\`${one}\``);
      return [[`${method} ${path}`, words ?? `scope ${scopes.join(" or ")}`]];
    });
    const rows = [...(apiDocument ?? "").matchAll(/^- \[(.+)\]\(#(.+)\): `(\w+ \S+)`$/gm)];
    const sections = rows.map(([, title = "", anchor, route = ""]) => {
      expect(anchor).toBe(title.toLowerCase().replaceAll(" ", "-"));
      const [, section = ""] = apiDocument?.split(`\n## ${title}\n`) ?? [];
      const words = section.trim().split("\n## ")[0] ?? "";
      expect(words).toMatch(/^<!-- operation: .+ -->\n\n/);
      expect(words).toContain("<!-- example -->");
      const [, scope] = words.split(`\n\`${route}\`, `)[1]?.match(/^(.+)\.\n/) ?? [];
      return [route.replace(/\{(\w+)\}/, ":$1"), scope];
    });
    expect(sections.sort()).toEqual(routes.sort());
  });

  test("the table of docs/people.md, compared with the routes: each operation with its role", () => {
    const app = createApp({ config: readConfig({}) } as unknown as Dependencies);
    const operations = listOperations(app.routes);
    const rows = [...(peopleDocument ?? "").matchAll(/^\| `(\w+ \/\S+)` \| (.+) \|$/gm)].map(([, route = "", role]) => [
      route.replace(/\{(\w+)\}/, ":$1"),
      role?.split(":")[0]?.replaceAll("`", ""),
    ]);
    const known = app.routes.flatMap(({ method, path }) => {
      const route = `${method} ${path}`;
      return OF_PEOPLE.test(path) ? [[route, MINIMUM_ROLES[operations.get(route) ?? ""] ?? "none"]] : [];
    });
    expect(rows.sort()).toEqual(known.sort());
  });

  test("the table of transitions, compared with the code: each status of an avatar", () => {
    for (const [from, to] of Object.entries(AVATAR_TRANSITIONS)) {
      const states = to.map((status) => `\`${status}\``).join(", ") || "none";
      expect(apiDocument).toContain(`| \`${from}\` | ${states} |`);
    }
  });
});

/** The values that a text names. In a table, these are the first cells. */
const valuesIn = (text: string): string[] => {
  const [, rows] = text.split(/^\| -+ \|.*\n/m);
  const found = rows === undefined ? text.matchAll(/`([^`]+)`/g) : rows.matchAll(/^\| `([^`]+)` \|/gm);
  return [...new Set([...found].map(([, value = ""]) => value))];
};

test.each<[what: string, document: string, list: RegExp, values: readonly string[]]>([
  ["scopes by default", "docs/api.md", /(?<=duplicates are stored once;)[\s\S]+?if omitted/, DEFAULT_SCOPES],
  ["scopes by default", "docs/keys.md", /`usage:write` \| [^\n]+/, ["usage:write", ...DEFAULT_SCOPES]],
  ["reasons of `/readyz`", "docs/operations.md", /^\| `\/readyz` says [\s\S]+?\n\n/m, UNAVAILABLE_REASONS],
  ["roles", "docs/people.md", /^\| Role [\s\S]+?\n\n/m, ROLES],
  ["ends of a session", "docs/credits.md", /^\| `endReason` [\s\S]+?\n\n/m, SESSION_END_REASONS],
  ["ends of a call", "docs/engines.md", /^ {2}reason is [\s\S]+?\.$/m, END_REASONS],
  ["events of webhooks", "docs/webhooks.md", /^<!-- types -->[\s\S]+?\n\n/m, WEBHOOK_EVENT_TYPES],
])("the %s, in %s: equal to the code", async (_, document, list, values) => {
  const [text = ""] = list.exec(await read(document)) ?? [];
  expect(valuesIn(text).sort()).toEqual([...values].sort());
});

test("a column of numbers, in each export: its name contains the unit", async () => {
  const { paths, components } = JSON.parse(await readFile(join(REPOSITORY, "docs/openapi.json"), "utf8"));
  const named = ({ $ref }: { $ref: string }) => components.schemas[$ref.split("/").at(-1) ?? ""];
  const columns = Object.keys(paths).flatMap((path) => {
    if (!path.endsWith(".csv")) return [];
    const { content } = paths[path.replace(".csv", "")].get.responses[200];
    const page = named(content["application/json"].schema);
    const fields: [string, object][] = Object.entries(named(page.properties.data.items).properties);
    return fields.filter(([, field]) => /"(integer|number)"/.test(JSON.stringify(field))).map(([name]) => name);
  });
  expect(columns).toContain("amountCreditMicros");
  expect(columns.filter((name) => !/(Seconds|Bytes|CreditMicros(PerSecond)?)$/.test(name))).toEqual([]);
});

describe("docs/credits.md", () => {
  test("the movements in docs/credits.md: each kind with both places", () => {
    for (const [kind, { from, to }] of Object.entries(CREDIT_MOVES)) {
      expect(creditsDocument).toContain(`| \`${kind}\` | \`${from}\` | \`${to}\` |`);
    }
  });

  test("the statuses of a session in docs/credits.md: all of them", () => {
    for (const status of SESSION_STATUSES) expect(creditsDocument).toContain(`\`${status}\``);
  });
});

test("the vectors in docs/keys.md: correct for the code", () => {
  const vectors = [...(keysDocument ?? "").matchAll(/^\| `(rta_\w+)` \| `([0-9a-f]{64})` \|$/gm)];
  expect(vectors).toHaveLength(2);
  for (const [, key = "", digest] of vectors) {
    const secret = parseApiKey(key);
    if (!secret) throw new Error("the key of the document does not parse");
    expect(Buffer.from(digestApiKey(secret)).toString("hex")).toBe(digest ?? "");
  }
  const checksums = [...(keysDocument ?? "").matchAll(/^\| (?:`(\w+)`|\(empty\)) \| `(\w{6})` \|$/gm)];
  expect(checksums).toHaveLength(3);
  for (const [, text = "", sum] of checksums) expect(checksum(text)).toBe(sum ?? "");
});

describe("the configuration", () => {
  test("the variables, in docs, .env.example and code: the same names", async () => {
    const inDocument = [...(configuration ?? "").matchAll(/^\| `([A-Z0-9_]+)` \|/gm)].map(([, name = ""]) => name);
    const inExample = [...(await read(".env.example")).matchAll(/^([A-Z0-9_]+)=/gm)].map(([, name = ""]) => name);
    const runtime = [
      "config",
      "config/asset-quota",
      "config/call-retention",
      "config/speech",
      "config/storage",
      "config/video-signer",
      "public-url",
      "webhook-config",
    ].map((name) => `packages/runtime/src/${name}.ts`);
    const api = ["config", "people/oidc-config", "children/livekit"].map((name) => `apps/api/src/${name}.ts`);
    const others = ["apps/worker", "apps/avatar-worker", "packages/livekit"].map((name) => `${name}/src/config.ts`);
    const conversation = "apps/avatar-worker/src/conversation/settings.ts";
    const sources = (await Promise.all([...runtime, ...api, ...others, conversation].map(read))).join("\n");
    const suffixes: Record<string, string[]> = {
      readRateLimit: ["_RPS", "_BURST"],
      readProviderEndpoint: ["_URL", "_API_KEY", "_MODEL"],
    };
    const inCode = [...sources.matchAll(/(read\w+)(?:<[^>]+>)?\(\s*(?:variables|env),\s+"([A-Z0-9_]+)"/g)].flatMap(
      ([, reader = "", name = ""]) => (suffixes[reader] ?? [""]).map((suffix) => `${name}${suffix}`),
    );
    expect(inDocument.sort()).toEqual(inExample.sort());
    // Both the API and an avatar worker read the secret that they share.
    expect([...new Set(inCode)].sort()).toEqual(inDocument.sort());
  });

  test("the variables, each with a bad value, and all at once: refused together", () => {
    const bad: Record<string, string> = Object.fromEntries(SETTINGS.map((name) => [name, "\0 bad"]));
    const base = { STORAGE_URL: "s3://bucket", AWS_ACCESS_KEY_ID: "id", AWS_SECRET_ACCESS_KEY: "key" };
    const refusedOf = (variables: Record<string, string>): string[] => {
      try {
        readConfig(variables);
        readLivekitProgram(variables);
        return [];
      } catch (error) {
        return (error as Error).message.split("\n").map((sentence) => sentence.split(" ")[0] ?? "");
      }
    };
    const alone = SETTINGS.filter((name) => refusedOf({ ...base, [name]: "\0 bad" }).includes(name));
    expect(alone.length).toBeGreaterThan(40);
    const together = refusedOf({ ...bad, STORAGE_URL: "s3://bucket" });
    expect([...together, "STORAGE_URL", "LIVEKIT_EMBEDDED", "LIVEKIT_SERVER_BIN"].sort()).toEqual([...alone].sort());
  });

  test("the defaults, in docs and .env.example: those of the code", async () => {
    const example = Object.fromEntries(
      [...(await read(".env.example")).matchAll(/^([A-Z0-9_]+)=(.*)$/gm)].map(([, name, value]) => [name, value]),
    );
    expect(readConfig(example)).toEqual(readConfig({}));
    const rows = [...(configuration ?? "").matchAll(/^\| `([A-Z0-9_]+)` \| `(.+?)` \|/gm)].map(([, name, value]) => [
      name,
      value,
    ]);
    expect(rows.length).toBeGreaterThan(6);
    expect(readConfig(Object.fromEntries(rows))).toEqual(readConfig({}));
    expect(readConfig({ ...example, TRUSTED_PROXY_HOPS: "9" }).trustedProxyHops).toBe(9);
    for (const wrong of ["10", "-1", "1.5", "x"]) {
      expect(() => readConfig({ TRUSTED_PROXY_HOPS: wrong })).toThrow("TRUSTED_PROXY_HOPS must be a number of proxies");
    }
  });
});

/** Every document of the repository. */
const documents = async (): Promise<string[]> => {
  const names: string[] = [];
  for (const pattern of ["*.md", "docs/**/*.md", "{packages,examples}/*/README.md"]) {
    for await (const name of new Bun.Glob(pattern).scan({ cwd: REPOSITORY })) names.push(name);
  }
  expect(names.length).toBeGreaterThan(15);
  return names;
};

test("a command, named in a document: a script of package.json", async () => {
  const packages = await Promise.all(["package.json", "packages/db/package.json"].map(read));
  const scripts = Object.assign({}, ...packages.map((text) => JSON.parse(text).scripts));
  for (const name of await documents()) {
    for (const [, script = ""] of (await read(name)).matchAll(/`bun run ([a-z:-]+)/g)) {
      if (!(script in scripts)) throw new Error(`${name} names bun run ${script}`);
    }
  }
});

test("a link, in a document: its file and its heading exist", async () => {
  for (const name of await documents()) {
    for (const [, target = "", anchor = ""] of (await read(name)).matchAll(/\]\((?!http)([^)#]*)(?:#([^)]*))?\)/g)) {
      const file = target === "" ? name : join(name, "..", target);
      if (!(await Bun.file(join(REPOSITORY, file)).exists())) throw new Error(`${name} links to ${target}`);
      const headings = [...(anchor === "" ? "" : await read(file)).matchAll(/^#+ (.+)$/gm)].map(([, words = ""]) =>
        words
          .toLowerCase()
          .replace(/[^\w\- ]/g, "")
          .replaceAll(" ", "-"),
      );
      if (anchor !== "" && !headings.includes(anchor)) throw new Error(`${name} links to ${target}#${anchor}`);
    }
  }
});

test("the README: at most 200 lines; its map names every document", async () => {
  const readme = await read("README.md");
  expect(readme.split("\n").length).toBeLessThanOrEqual(200);
  for await (const name of new Bun.Glob("docs/*.md").scan({ cwd: REPOSITORY })) {
    expect(readme).toMatch(new RegExp(`^- \\[.+\\]\\(${name}\\): \\S`, "m"));
  }
});
