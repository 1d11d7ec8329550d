/** The package in the form that users get: packed, installed into an empty folder, and run there. */
import { beforeEach, describe, expect, test } from "bun:test";
import { readdir, readFile, writeFile } from "node:fs/promises";
import { dirname, join } from "node:path";
import { BROWSER, launchBrowser } from "@realtime-avatar/testing/browser";
import { installPacked, runIn } from "@realtime-avatar/testing/package";
import { type CallOutcome, serviceOfFile } from "./testing.ts";

const isLong = process.env["LONG"] === "1";
const packageRoot = dirname(import.meta.dir);
const folderOf = (name: string): string => dirname(Bun.resolveSync(`${name}/package.json`, packageRoot));
/** The TypeScript compilers to test: the one of the workspace, and with LONG=1 the older one of this package. */
const COMPILERS = [join(packageRoot, "../../node_modules/typescript")];
if (isLong) COMPILERS.push(folderOf("typescript"));
const MAX_BYTES = 10 * 1024;

/** Plain JavaScript, so that it runs everywhere. `settings`: the address and the key. */
const PROGRAM = `
export const main = async ({ ApiProblem, createClient }, { baseUrl, apiKey }) => {
  const client = createClient({ baseUrl, apiKey });
  const { data } = await client.POST("/api/v1/avatars", { body: { displayName: "Ada", sourceKind: "image" } });
  const names = [];
  for await (const { displayName } of client.list("/api/v1/avatars", { limit: 1 })) names.push(displayName);
  const problem = await client.GET("/api/v1/avatars/{id}", { params: { path: { id: "none" } } }).catch((error) => error);
  return [data.displayName, names.includes("Ada"), problem instanceof ApiProblem, problem.code].join(" ");
};
`;
const EXPECTED = "Ada true true not_found";

const TYPED = `
import { ApiProblem, createClient, type Avatar, type ProblemCode } from "@realtime-avatar/client";
const client = createClient({ baseUrl: "http://127.0.0.1:3000", apiKey: "" });
const { data, response } = await client.POST("/api/v1/avatars", {
  body: { displayName: "Ada", sourceKind: "image", metadata: { team: "support", deep: [{ a: 1 }] } },
});
const avatar: Avatar = data;
const status: number = response.status;
for await (const key of client.list("/api/v1/api-keys", { status: "active" })) console.log(key.redactedKey, status);
await client.DELETE("/api/v1/avatars/{id}", { params: { path: { id: avatar.id }, header: { "If-Match": '"1"' } } });
await client.GET("/api/v1/api-keys/self");
const file: Blob = (await client.csv("/api/v1/audit-events.csv", { action: "avatar.created", limit: 5 })).data;
const sample: Blob = (await client.GET("/api/v1/voices/{id}/sample", { params: { path: { id: "flite-slt" } } })).data;
console.log(file.size, sample.size);
const session = { params: { path: { id: "ses_01h455vb4pex5vsknk084sn02q" } } };
if (avatar.id === "") await client.POST("/api/v1/usage/sessions/{id}/release", session);
if (avatar.id === "") await client.POST("/api/v1/usage/sessions/{id}/release", { ...session, body: { reason: "hung up" } });
try {
  // @ts-expect-error: it takes no body
  await client.GET("/api/v1/api-keys/self", { body: { reason: "hung up" } });
  // @ts-expect-error: a field is missing
  await client.POST("/api/v1/avatars", { body: { displayName: "Ada" } });
  // @ts-expect-error: no such source
  await client.POST("/api/v1/avatars", { body: { displayName: "Ada", sourceKind: "audio" } });
  // @ts-expect-error: no such path
  await client.GET("/api/v1/avatar");
  // @ts-expect-error: it has no such method
  await client.PATCH("/api/v1/audit-events");
  // @ts-expect-error: the parameters are missing
  await client.GET("/api/v1/avatars/{id}");
  // @ts-expect-error: a file
  await client.GET("/api/v1/audit-events.csv");
  // @ts-expect-error: no file
  await client.csv("/api/v1/audit-events");
  // @ts-expect-error: no list
  client.list("/api/v1/api-keys/self");
  // @ts-expect-error: no such filter
  client.list("/api/v1/avatars", { title: "x" });
} catch (error) {
  if (error instanceof ApiProblem) {
    const code: ProblemCode = error.code;
    if (error.code === "validation_failed") console.log(error.errors[0]?.pointer, code);
    // @ts-expect-error: only some problems have it
    else console.log(error.requiredScope);
    if (error.code === "insufficient_scope") console.log(error.requiredScope, error.message);
  }
}
`;

const { service, gateway, apiKey } = await serviceOfFile();
const settings = { baseUrl: service.url, apiKey };
/** The settings of a client behind the gateway. */
const behindGateway = { baseUrl: gateway.url, apiKey };
const folder = await installPacked(packageRoot);
await writeFile(join(folder, "program.js"), PROGRAM);
await writeFile(join(folder, "typed.ts"), TYPED);
await writeFile(
  join(folder, "main.js"),
  `import * as client from "@realtime-avatar/client"; import { main } from "./program.js";
   console.log(await main(client, ${JSON.stringify(settings)}));`,
);
const run = (command: string[], env?: Record<string, string>): Promise<string> => runIn(folder, command, env);
beforeEach(() => {
  gateway.calls = [];
});

test("the files of the package: README, licence, types and code", async () => {
  const installed = join(folder, "node_modules/@realtime-avatar/client");
  expect((await readdir(installed)).sort()).toEqual(["LICENSE", "README.md", "dist", "package.json", "src"]);
  expect((await readdir(join(installed, "dist"))).sort()).toEqual([
    ...["api.d.ts", "api.js", "csv.d.ts", "csv.js", "index.d.ts", "index.js", "listen.d.ts", "listen.js"],
    ...["wait.d.ts", "wait.js", "webhooks.d.ts", "webhooks.js"],
  ]);
  const { dependencies } = JSON.parse(await readFile(join(installed, "package.json"), "utf8"));
  expect(dependencies).toBeUndefined();
});

test.each(["node", process.execPath])("the package, under %s: runs, and lets the process end", async (program) => {
  expect((await run([program, "main.js"])).trim()).toBe(EXPECTED);
});

test.skipIf(!isLong)("the package, under Node during garbage collection: timeouts and signals work", async () => {
  await writeFile(
    join(folder, "collected.js"),
    `import { createClient, NoResponse } from "@realtime-avatar/client";
     setInterval(() => gc(), 20).unref();
     const { baseUrl, apiKey } = ${JSON.stringify(behindGateway)};
     const client = createClient({ baseUrl, apiKey, timeoutMs: 750, attemptTimeoutMs: 250, maxAttempts: 2 });
     const outcome = (call) => call.then(() => "done", (error) => error instanceof NoResponse ? "no response" : String(error));
     const get = (signal) => outcome(client.GET("/api/v1/api-keys/self", signal && { signal }));
     const results = [await get(), await get()];
     const patient = createClient({ baseUrl, apiKey });
     for (let round = 0; round < 2; round++) {
       const controller = new AbortController();
       setTimeout(() => controller.abort("aborted"), 250);
       results.push(await outcome(patient.GET("/api/v1/api-keys/self", { signal: controller.signal })));
     }
     console.log(results.join());`,
  );
  gateway.outcomes = ["hang", "drip", "hang", "hang", "hang", "drip"];
  const out = await run(["node", "--expose-gc", "collected.js"]);
  expect(out.trim()).toBe("no response,no response,aborted,aborted");
});

test.skipIf(!isLong)("the package, under Node behind failures: each avatar is created once", async () => {
  const names = Array.from({ length: 30 }, (_, index) => `from the package ${index}`);
  await writeFile(
    join(folder, "faults.js"),
    `import { createClient } from "@realtime-avatar/client";
     const { baseUrl, apiKey, names } = ${JSON.stringify({ ...behindGateway, names })};
     const client = createClient({ baseUrl, apiKey, maxAttempts: 20, attemptTimeoutMs: 1000 });
     await Promise.all(names.map((displayName) => client.POST("/api/v1/avatars", { body: { displayName, sourceKind: "image" } })));`,
  );
  const wrong: CallOutcome[] = ["lost", "half", { status: 502 }, "drip", { status: 503 }, "hang"];
  gateway.outcomes = Array.from({ length: 36 }, (_, index) => wrong[index % wrong.length] as CallOutcome);
  await run(["node", "faults.js"]);
  // More on a busy machine, where an attempt can exceed its timeout.
  expect(gateway.calls.length).toBeGreaterThanOrEqual(66);
  expect(await Promise.all(names.map((name) => service.count(name)))).toEqual(names.map(() => 1));
});

test("the examples of its README, executed: the shown output", async () => {
  const [, program = ""] =
    /<!-- program -->\n```ts\n(.*?)```/s.exec(await readFile(join(packageRoot, "README.md"), "utf8")) ?? [];
  await writeFile(join(folder, "readme.ts"), program.replace("http://127.0.0.1:3000", service.url));
  const out = await run([process.execPath, "readme.ts"], { API_KEY: settings.apiKey });
  expect(out).toStartWith("Ada draft\nAda\n");
  expect(out).toEndWith("not_found 404\n");
});

test.each(COMPILERS)("the types of the package, compiled by %s: correct", async (compiler) => {
  const flags = [
    "--noEmit",
    // Only the libraries of TypeScript itself are not checked.
    "--skipDefaultLibCheck",
    "--strict",
    "--exactOptionalPropertyTypes",
    "--noUncheckedIndexedAccess",
    "--target",
    "es2022",
  ];
  const modules = ["--module", "nodenext", "--moduleResolution", "nodenext", "--lib", "es2022,dom,dom.iterable"];
  await run(["node", join(compiler, "bin/tsc"), ...flags, ...modules, "typed.ts"]);
});

const entry = join(folder, "node_modules/@realtime-avatar/client/dist/index.js");
const bundle = await run([process.execPath, "build", "--minify", "--target=browser", entry]);

test("the package, minified with its dependencies: under 10 KiB", async () => {
  expect(Buffer.byteLength(bundle)).toBeLessThan(MAX_BYTES);
});

/** The web APIs that the client uses. All are in the Minimum Common Web API. */
const WEB =
  "AbortController FormData Headers Request Response TextDecoder URL clearTimeout crypto fetch setTimeout".split(" ");

test("the package, with web APIs only: runs", async () => {
  const exported = bundle.replace(
    /export\{([^}]*)\};?\s*$/,
    (_, names: string) => `globalThis.client={${names.replace(/(\w+) as (\w+)/g, "$2:$1")}};`,
  );
  await writeFile(join(folder, "bundle.js"), exported);
  await writeFile(
    join(folder, "isolated.mjs"),
    `import { createContext, runInContext } from "node:vm"; import { readFileSync } from "node:fs";
     const context = createContext({ ${WEB.join(", ")} });
     runInContext(readFileSync("bundle.js", "utf8"), context);
     runInContext(readFileSync("program.js", "utf8").replace("export const main", "globalThis.main"), context);
     console.log(await context.main(context.client, ${JSON.stringify(settings)}));`,
  );
  expect((await run(["node", "isolated.mjs"])).trim()).toBe(EXPECTED);
});

describe.skipIf(!BROWSER)("the package in a browser", () => {
  test("a page and a web worker, with a live key: refused; with a test key: accepted", async () => {
    const code = bundle.replace(/export\{[^}]*\};?\s*$/, "");
    const [, local = ""] = /(\w+) as createClient/.exec(bundle) ?? [];
    const attempt = `${code}
      const outcome = (environment) => {
        try { ${local}({ baseUrl: "http://127.0.0.1", apiKey: "rta_" + environment + "_" + "0".repeat(16) + "_" + "0".repeat(49) }); return "created"; }
        catch (error) { return error.message; }
      };
      const outcomes = [outcome("live"), outcome("test")];`;
    const browser = await launchBrowser(folder);
    try {
      const page = await browser.newPage();
      const onPage = await page.evaluate(`(() => { ${attempt} return outcomes; })()`);
      const inWorker = await page.evaluate(`new Promise((resolve) => {
        const source = ${JSON.stringify(`(() => { ${attempt} postMessage(outcomes); })()`)};
        new Worker(URL.createObjectURL(new Blob([source]))).onmessage = ({ data }) => resolve(data);
      })`);
      const refused = "A live API key must not be used in a browser, where every visitor can read it.";
      expect(onPage).toEqual([refused, "created"]);
      expect(inWorker).toEqual([refused, "created"]);
    } finally {
      await browser.close();
    }
  });
});
