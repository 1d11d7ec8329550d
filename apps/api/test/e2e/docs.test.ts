/** The documents tell the truth: their examples are run, and their bounds and vectors compared with the code. */
import { afterAll, beforeAll, describe, expect, setDefaultTimeout, test } from "bun:test";
import { readFile, rm, symlink, writeFile } from "node:fs/promises";
import { join } from "node:path";
import { temporaryFolder, testDatabase } from "@realtime-avatar/db/testing";
import {
  API_KEY_LIST,
  CreateApiKey,
  ReportLeakedKey,
  RotateApiKey,
  UpdateApiKey,
} from "@realtime-avatar/domain/api-key";
import { checksum, digestApiKey, parseApiKey } from "@realtime-avatar/domain/api-key-secret";
import { AUDIT_EVENT_LIST } from "@realtime-avatar/domain/audit";
import { CreateAvatar, UpdateAvatar } from "@realtime-avatar/domain/avatar";
import { PROBLEMS } from "@realtime-avatar/domain/problem";
import { AVATAR_TRANSITIONS } from "@realtime-avatar/domain/state";
import { bun, REPOSITORY, type RunningProcess, runToEnd, startProcess } from "@realtime-avatar/runtime/testing";
import { createApp } from "../../src/app.ts";
import { readConfig } from "../../src/config.ts";
import type { Dependencies } from "../../src/dependencies.ts";

// No test asserts a time: a slow disk must not fail one.
setDefaultTimeout(60_000);

/** A document, without the spaces that align the columns of its tables. */
const read = async (name: string): Promise<string> =>
  (await readFile(join(REPOSITORY, name), "utf8")).replace(/ +\|/g, " |");
const [readme, apiDocument, keysDocument, configuration, gettingStarted] = await Promise.all(
  ["README.md", "docs/api.md", "docs/keys.md", "docs/configuration.md", "docs/getting-started.md"].map(read),
);

/** A command, and the answer that the document gives. */
const examplesOf = (text = ""): [title: string, command: string, answer: string][] =>
  [...text.matchAll(/<!-- example -->\n```sh\n(.*?)```\n\n```json\n(.*?)```/gs)].map(
    ([, command = "", answer = ""]) => [command.replace(/\\\n\s*/g, "").split("\n")[0] ?? "", command, answer],
  );

/** What differs from run to run, made the same. */
const settled = (json: string): unknown =>
  JSON.parse(
    json
      .replace(/rta_(live|test)_[0-9A-Za-z]{16}_[0-9A-Za-z]{49}/g, "rta_$1_<keyId>_<secret>")
      .replace(/rta_(live|test)_[0-9A-Za-z]{16}_\*{4}/g, "rta_$1_<keyId>_****")
      .replace(/"(keyId|actorKeyId)": ?"[0-9A-Za-z]{16}"/g, '"$1":"<keyId>"')
      .replace(/"(ten|key|ava|aud)_[0-9a-z]{26}"/g, '"$1_<id>"')
      .replace(/"requestId": ?"[-0-9a-f]{36}"/g, '"requestId":"<uuid>"')
      .replace(/"(createdAt|updatedAt)": ?"[-0-9T:.Z]+"/g, '"$1":"<time>"')
      .replace(/"nextCursor": ?"[-_0-9A-Za-z]+"/g, '"nextCursor":"<cursor>"')
      // It is noted a moment after the use.
      .replace(/"lastUsedAt": ?(null|"[-0-9T:.Z]+")/g, '"lastUsedAt":"<time or null>"'),
  );

let folder = "";
let service: RunningProcess;
let variables: Record<string, string>;
let url = "";

beforeAll(async () => {
  folder = await temporaryFolder();
  const data = { DATA_DIR: join(folder, "data") };
  service = startProcess(bun("apps/api/src/main.ts"), { PORT: "0", ...data });
  const [, address = ""] = await service.waitFor(/"url":"(http:[^"]+)"/);
  url = address;
  const [, key = ""] = await service.waitFor(/export API_KEY=(\S+)/);
  variables = { API_KEY: key };
  const create = async (path: string, body: object): Promise<Record<string, string>> => {
    const headers = { authorization: `Bearer ${key}`, "content-type": "application/json" };
    const response = await fetch(`${url}/api/v1/${path}`, { method: "POST", headers, body: JSON.stringify(body) });
    return (await response.json()) as Record<string, string>;
  };
  const narrow = { name: "narrow", scopes: ["api_keys:write", "avatars:read"], spendLimitCreditMicros: 1_000_000 };
  variables["NARROW_KEY"] = (await create("api-keys", narrow))["apiKey"] ?? "";
  // What the document has created as well, for the examples that need its id.
  const bodyOf = (path: string): object => {
    const [, section = ""] =
      apiDocument?.split(`\n## ${path === "avatars" ? "Create an avatar" : "Create an API key"}\n`) ?? [];
    const command = examplesOf(section)[0]?.[1] ?? "";
    return JSON.parse(/-d '(.*)'/s.exec(command)?.[1] ?? "");
  };
  variables["KEY_ID"] = (await create("api-keys", bodyOf("api-keys")))["id"] ?? "";
  variables["AVATAR_ID"] = (await create("avatars", bodyOf("avatars")))["id"] ?? "";
});

afterAll(async () => {
  service.kill("SIGTERM");
  await service.exited;
  await rm(folder, { recursive: true });
});

describe.each([
  ["README.md", readme],
  ["docs/api.md", apiDocument],
] as const)("the examples of %s", (_, text = "") => {
  const examples = examplesOf(text);
  test("are found", () => {
    expect(examples.length).toBeGreaterThan(1);
    expect(examples.length).toBe(text.split("<!-- example -->").length - 1);
  });

  test.each([...examples])("%s", async (_title, command, answer) => {
    const { code, stdout } = await runToEnd(["sh", "-c", command.replaceAll("http://127.0.0.1:3000", url)], variables);
    expect(code).toBe(0);
    expect(settled(stdout)).toEqual(settled(answer));
  });
});

describe("the program of docs/keys.md", () => {
  test("prints what its comments say", async () => {
    const [, program = ""] = keysDocument?.match(/<!-- program -->\n```ts\n(.*?)```/s) ?? [];
    const file = join(folder, "program.ts");
    await writeFile(file, program);
    await symlink(join(REPOSITORY, "node_modules"), join(folder, "node_modules")).catch(() => {});
    const { code, stdout } = await runToEnd(bun(file));
    expect([code, stdout.trim().split("\n")]).toEqual([
      0,
      ["0123456789ABCDEF test", "true", "false", "rta_test_0123456789ABCDEF_****", "true"],
    ]);
  });
});

describe("the program of docs/getting-started.md", () => {
  test("creates an avatar", async () => {
    const [, program = ""] = gettingStarted?.match(/<!-- client -->\n```ts\n(.*?)```/s) ?? [];
    const file = join(folder, "first.ts");
    await writeFile(file, program.replace("http://127.0.0.1:3000", url));
    await symlink(join(REPOSITORY, "node_modules"), join(folder, "node_modules")).catch(() => {});
    const { code, stdout } = await runToEnd(bun(file), variables);
    expect([code, stdout.trim()]).toEqual([0, expect.stringMatching(/^ava_[0-9a-z]{26} draft$/)]);
  });
});

describe("the tables of docs/api.md", () => {
  /** The row of a field, in the table of its endpoint. */
  const rowOf = (section: string, field: string): string => {
    const [, text = ""] = apiDocument?.split(`## ${section}\n`) ?? [];
    return text.split("\n").find((line) => line.startsWith(`| \`${field}\` |`)) ?? `no row for ${field}`;
  };
  const bounds = (schema: Record<string, unknown>): string[] => {
    const [inner] = (schema["anyOf"] as Record<string, unknown>[] | undefined) ?? [schema];
    const of = (low: string, high: string) => (inner?.[low] === undefined ? [] : [`${inner[low]} to ${inner[high]}`]);
    const listed = inner?.["enum"] as string[] | undefined;
    const maxBytes = inner?.["x-maxBytes"];
    return [
      ...(inner?.["minLength"] === inner?.["maxLength"] && inner?.["minLength"] !== undefined
        ? [`${inner["minLength"]} characters`]
        : of("minLength", "maxLength")),
      ...of("minItems", "maxItems"),
      ...of("minimum", "maximum"),
      ...(listed
        ? [
            listed
              .map((value) => `\`${value}\``)
              .join(", ")
              .replace(/, (?=[^,]+$)/, " or "),
          ]
        : []),
      ...(maxBytes === undefined ? [] : [`${maxBytes} bytes`]),
    ];
  };

  test.each([
    ["Create an API key", CreateApiKey],
    ["List API keys", API_KEY_LIST.filters],
    ["Change an API key", UpdateApiKey],
    ["Rotate an API key", RotateApiKey],
    ["Report a leaked key", ReportLeakedKey],
    ["Create an avatar", CreateAvatar],
    ["Change an avatar", UpdateAvatar],
    ["Read the audit trail", AUDIT_EVENT_LIST.filters],
  ] as const)("%s: have a row for each field, with its bounds", (section, schema) => {
    const required: readonly string[] = schema.required ?? [];
    for (const [field, property] of Object.entries(schema.properties)) {
      const row = rowOf(section, field);
      for (const bound of bounds(property)) expect(row).toContain(bound);
      expect(row.includes("required")).toBe(required.includes(field));
    }
  });

  test("name each error with its status, and none that does not exist", () => {
    const rows = [...(apiDocument ?? "").matchAll(/^\| (\d{3}) \| `(\w+)` \| (.+) \|$/gm)].map(
      ([, status, code, when]) => `${status} ${code} ${when}`,
    );
    const known = Object.entries(PROBLEMS).map(([code, { status, meaning }]) => `${status} ${code} ${meaning}`);
    expect(rows.sort()).toEqual(known.sort());
  });

  test("name each operation with its scope, and give each a section", () => {
    const app = createApp({ config: readConfig({}) } as unknown as Dependencies);
    const routes = app.routes.flatMap(({ method, path }) => (path.startsWith("/api/v1") ? [`${method} ${path}`] : []));
    const rows = [...(apiDocument ?? "").matchAll(/^\| \[(.+)\]\(#(.+)\) \| `(\w+ \S+)` \| (.+) \|$/gm)];
    expect(rows.map(([, , , route]) => route?.replace("{id}", ":id")).sort()).toEqual(routes.sort());
    for (const [, title = "", anchor, route = "", scope = ""] of rows) {
      expect(anchor).toBe(title.toLowerCase().replaceAll(" ", "-"));
      const [, section = ""] = apiDocument?.split(`\n## ${title}\n`) ?? [];
      const words = section.trim().split("\n## ")[0] ?? "";
      expect(words).toStartWith(`\`${route}\`, with`);
      if (scope.startsWith("`")) expect(words).toContain(`the scope ${scope}`);
      expect(words).toContain("<!-- example -->");
      expect(words).toContain("Errors beside those of [every request](#every-response): ");
    }
  });

  test("have the moves of an avatar", () => {
    for (const [from, to] of Object.entries(AVATAR_TRANSITIONS)) {
      const states = to.map((status) => `\`${status}\``).join(", ") || "none";
      expect(apiDocument).toContain(`| \`${from}\` | ${states} |`);
    }
  });
});

describe("docs/keys.md", () => {
  test("states the vectors", () => {
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
});

describe("the configuration", () => {
  test("is the same in docs/configuration.md and in .env.example, and is all that the code reads", async () => {
    const inDocument = [...(configuration ?? "").matchAll(/^\| `([A-Z_]+)` \|/gm)].map(([, name]) => name);
    const inExample = [...(await read(".env.example")).matchAll(/^([A-Z_]+)=/gm)].map(([, name]) => name);
    const sources = await Promise.all(
      ["packages/runtime/src/config.ts", "apps/api/src/config.ts", "apps/worker/src/main.ts"].map(read),
    );
    const inCode = sources.flatMap((text) =>
      [...text.matchAll(/(?:variables|env), "([A-Z_]+)"/g)].map(([, name]) => name),
    );
    const multiline = sources.flatMap((text) =>
      [...text.matchAll(/variables,\n\s+"([A-Z_]+)"/g)].map(([, name]) => name),
    );
    expect(inDocument.sort()).toEqual(inExample.sort());
    expect([...inCode, ...multiline].sort()).toEqual(inDocument.sort());
  });

  test("has the defaults that docs/configuration.md and .env.example say", async () => {
    const example = Object.fromEntries(
      [...(await read(".env.example")).matchAll(/^([A-Z_]+)=(.*)$/gm)].map(([, name, value]) => [name, value]),
    );
    expect(readConfig(example)).toEqual(readConfig({}));
    const rows = [...(configuration ?? "").matchAll(/^\| `([A-Z_]+)` \| `(.+?)` \|/gm)].map(([, name, value]) => [
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

  test("as .env.example has it, starts the service", async () => {
    const database = await testDatabase();
    const example = Object.fromEntries(
      [...(await read(".env.example")).matchAll(/^([A-Z_]+)=(.*)$/gm)].map(([, name, value]) => [name, value]),
    );
    const running = startProcess(bun("apps/api/src/main.ts"), { ...example, PORT: "0", DATABASE_URL: database.url });
    await running.waitFor(/listening/);
    running.kill("SIGTERM");
    expect(await running.exited).toBe(0);
    await database.close();
  });
});

describe("docs/security.md", () => {
  test("names tests and files that exist", async () => {
    const text = await read("docs/security.md");
    const folders: Record<string, string> = {
      api: "apps/api/src",
      worker: "apps/worker/src",
      faults: "apps/api/test/faults",
      domain: "packages/domain/src",
      db: "packages/db/src",
      runtime: "packages/runtime/src",
      client: "packages/client/src",
    };
    const source = async (name: string): Promise<string> => {
      const [folder = "", ...file] = name.split("/");
      const root = folder === "api" && file[0] === "test" ? "apps/api" : (folders[folder] ?? folder);
      return readFile(join(REPOSITORY, root, ...file), "utf8");
    };
    // `folder/file.test.ts` "a test", "another"
    const cited = [
      ...text.matchAll(/`((?:api|client|db|domain|faults|runtime|worker)\/[\w./-]+\.ts)`((?:,? "(?:[^"|]|\|)+?")*)/g),
    ];
    let tests = 0;
    for (const [, name = "", words = ""] of cited) {
      const code = (await source(name)).replaceAll('\\"', "'");
      for (const [, title = ""] of words.matchAll(/"([^"]+)"/g)) {
        tests++;
        if (!code.includes(title)) throw new Error(`${name} has no test "${title}"`);
      }
    }
    expect(tests).toBeGreaterThan(150);
  });
});

/** Every document of the repository. */
const documents = async (): Promise<string[]> => {
  const names: string[] = [];
  for (const pattern of ["*.md", "docs/*.md", "docs/decisions/*.md", "packages/*/README.md"]) {
    for await (const name of new Bun.Glob(pattern).scan({ cwd: REPOSITORY })) names.push(name);
  }
  expect(names.length).toBeGreaterThan(15);
  return names;
};

describe("commands", () => {
  test("that the documents name are there", async () => {
    const packages = await Promise.all(["package.json", "packages/db/package.json"].map(read));
    const scripts = Object.assign({}, ...packages.map((text) => JSON.parse(text).scripts));
    for (const name of await documents()) {
      for (const [, script = ""] of (await read(name)).matchAll(/`bun run ([a-z:]+)/g)) {
        if (!(script in scripts)) throw new Error(`${name} names bun run ${script}`);
      }
    }
  });
});

describe("links", () => {
  test("of the documents lead somewhere", async () => {
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
});
