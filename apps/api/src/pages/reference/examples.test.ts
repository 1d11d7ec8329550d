/** Runs the examples of the reference. A server records their requests. */
import { beforeAll, describe, expect, test } from "bun:test";
import { openAsBlob } from "node:fs";
import { join } from "node:path";
import { createClient } from "@realtime-avatar/client";
import { fileFolder } from "@realtime-avatar/testing/fixture";
import { processEnvironment, REPOSITORY } from "@realtime-avatar/testing/processes";
import { describeApi } from "../../openapi/write-file.ts";
import { type ApiDocument, documentOperations, requiredCaller } from "./document.ts";
import { type Examples, renderExamples } from "./examples.ts";

const API_KEY = `rta_test_${"0".repeat(16)}_${"0".repeat(49)}`;
/** PYTHON names an interpreter with the package `requests`, for example in a virtual environment. */
const python = process.env["PYTHON"] ?? Bun.which("python3") ?? "";
const hasRequests = python !== "" && Bun.spawnSync([python, "-c", "import requests"]).exitCode === 0;

/**
 * A recorded request: the method, the path with the query, the key if the operation needs one, and the fields of the
 * body.
 */
type Sent = { line: string; key: string | null; body: unknown };
const sent: Sent[] = [];

const readBody = async (request: Request): Promise<unknown> => {
  const type = request.headers.get("content-type") ?? "";
  if (!type.startsWith("multipart/form-data")) return JSON.parse((await request.text()) || "null");
  const form = (await request.formData()) as unknown as Iterable<[string, File]>;
  return [...form].map(([name, file]) => [name, file.name, file.size]);
};

const server = Bun.serve({
  port: 0,
  fetch: async (request) => {
    const { pathname, search } = new URL(request.url);
    const key = request.headers.get("authorization");
    sent.push({ line: `${request.method} ${pathname}${search}`, key, body: await readBody(request) });
    if (pathname.endsWith("/callback")) return new Response(null, { status: 303, headers: { location: "/" } });
    if (pathname.endsWith(".csv")) return new Response("id\r\n", { headers: { "content-type": "text/csv" } });
    return Response.json({ data: [], nextCursor: null });
  },
});
const folder = await fileFolder();
await Bun.write(join(folder, "ada.jpg"), "a photo");

const operations = documentOperations(JSON.parse(JSON.stringify(describeApi())) as ApiDocument);
const site = { publicUrl: server.url.origin, cookie: "session" };
const examples: Examples[] = operations.map((operation) => renderExamples(operation, site));

/** Runs programs, and returns their requests. The key is included only for operations that need one. */
const sentBy = async (run: () => Promise<unknown>): Promise<Sent[]> => {
  sent.length = 0;
  await run();
  return operations.map((operation, index) => {
    const { line = "", key = null, body = null } = sent[index] ?? {};
    return { line, key: requiredCaller(operation) === "key" ? key : null, body };
  });
};

const runProgram = async (command: string[]): Promise<void> => {
  const env = processEnvironment({ API_KEY, SESSION: "0" });
  const child = Bun.spawn(command, { cwd: folder, env, stdout: "ignore", stderr: "pipe" });
  const [complaints, code] = await Promise.all([new Response(child.stderr).text(), child.exited]);
  expect([code, complaints]).toEqual([0, ""]);
};

const transpiler = new Bun.Transpiler({ loader: "ts", target: "bun" });
const AsyncFunction = (async () => {}).constructor as new (...code: string[]) => (...given: unknown[]) => Promise<void>;
/** Runs a program with its imports in a page of the service. */
const runTypescript = async (code: string): Promise<void> => {
  const given = {
    createClient,
    openAsBlob: (name: string) => openAsBlob(join(folder, name)),
    process: { env: { API_KEY } },
    location: { origin: site.publicUrl },
    console: { log: () => {} },
  };
  const body = transpiler.transformSync(code.replace(/^import .*$/gm, ""));
  await new AsyncFunction(...Object.keys(given), body)(...Object.values(given));
};

describe("the examples of all operations", () => {
  let expected: Sent[] = [];
  beforeAll(async () => {
    expected = await sentBy(() =>
      runProgram(["bash", "-ec", examples.map(({ curl }) => curl.replace("curl ", "curl --fail ")).join("\n")]),
    );
  });

  test("the examples in curl, executed: the methods, addresses and keys of the document", () => {
    expect(sent).toHaveLength(operations.length);
    for (const [index, operation] of operations.entries()) {
      const { line, key } = expected[index] as Sent;
      const address = operation.path.replace(/\{\w+\}/g, "[^/{}]+");
      expect(line).toMatch(new RegExp(`^${operation.method} ${address}(\\?limit=10)?$`));
      expect(key).toBe(requiredCaller(operation) === "key" ? `Bearer ${API_KEY}` : null);
    }
  });

  test("the examples in TypeScript, executed: the requests of curl", async () => {
    expect(
      await sentBy(async () => {
        for (const { typescript } of examples) await runTypescript(typescript);
      }),
    ).toEqual(expected);
  });

  test.skipIf(!hasRequests)("the examples in Python, executed: the requests of curl", async () => {
    const programs = JSON.stringify(examples.map((one) => one.python));
    await Bun.write(
      join(folder, "all.py"),
      `import json\nfor code in json.loads(${JSON.stringify(programs)}):\n    exec(code, {})\n`,
    );
    expect(await sentBy(() => runProgram([python, "-W", "ignore", "all.py"]))).toEqual(expected);
  });

  test("the examples in TypeScript, compiled: no errors", async () => {
    for (const [index, { typescript }] of examples.entries()) {
      await Bun.write(join(folder, `${operations[index]?.operationId}.ts`), `${typescript}\nexport {};\n`);
    }
    const options = {
      noPropertyAccessFromIndexSignature: false,
      lib: ["ES2024", "DOM"],
      typeRoots: [join(REPOSITORY, "node_modules/@types")],
      paths: { "@realtime-avatar/client": [join(REPOSITORY, "packages/client/src/index.ts")] },
    };
    const config = { extends: join(REPOSITORY, "tsconfig.json"), compilerOptions: options, include: ["*.ts"] };
    await Bun.write(join(folder, "tsconfig.json"), JSON.stringify(config));
    const tsc = Bun.spawn([join(REPOSITORY, "node_modules/.bin/tsc"), "-p", folder], { stdout: "pipe" });
    expect(await new Response(tsc.stdout).text()).toBe("");
  });
});
