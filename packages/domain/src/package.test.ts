/** The package as its users have it: packed, installed into an empty folder, and run by Node. */
import { describe, expect, test } from "bun:test";
import { readdir, readFile, writeFile } from "node:fs/promises";
import { dirname, join } from "node:path";
import { installPacked, runIn } from "@realtime-avatar/testing/package";

const packageRoot = dirname(import.meta.dir);
const typebox = dirname(Bun.resolveSync("@sinclair/typebox/package.json", packageRoot));
const tsc = join(dirname(Bun.resolveSync("typescript/package.json", packageRoot)), "bin/tsc");

const CONSUMER = `
import type { CreateApiKey } from "@realtime-avatar/domain/api-keys/schemas";
import { OPERATOR, attenuate } from "@realtime-avatar/domain/api-keys/grant";
import { issueApiKey } from "@realtime-avatar/domain/api-keys/create";
import { digestApiKey, parseApiKey, verifyApiKey } from "@realtime-avatar/domain/api-keys/secret";
import { CreateAvatar } from "@realtime-avatar/domain/avatars/schemas";
import { newAvatar } from "@realtime-avatar/domain/avatars/avatar";
import { newId, type TenantId } from "@realtime-avatar/domain/id";
import { validate } from "@realtime-avatar/domain/schema";
import { permits, type Scope } from "@realtime-avatar/domain/api-keys/scope";
import { randomBytes } from "node:crypto";

const now = new Date();
const random = (count: number): Uint8Array => randomBytes(count);
const tenantId: TenantId = newId("ten", now, random);
const request: CreateApiKey = { name: "from node", scopes: ["avatars:read"] };
const { record, secret } = issueApiKey(request, OPERATOR, { tenantId, checkedAt: now, now, random });
const parsed = parseApiKey(secret.reveal());
if (!parsed || !verifyApiKey(parsed, digestApiKey(secret))) throw new Error("the key does not verify");
const held: readonly Scope[] = record.scopes;
const avatar = newAvatar({ displayName: "Ada", sourceKind: "image" }, { id: newId("ava", now, random), tenantId, environment: "test", defaultModelId: "m", now });
// @ts-expect-error: the types are there, and strict
newAvatar({ displayName: 5 }, avatar);
console.log(JSON.stringify({
  environment: secret.environment,
  reads: permits(held, "avatars:read"),
  writes: permits(held, "avatars:write"),
  refused: "refusals" in attenuate({ ...record }, { scopes: ["*"] }),
  errors: validate(CreateAvatar, {}).map(({ pointer }) => pointer),
  status: avatar.status,
}));
`;

/** With LONG=1, the package is packed and installed; the client's `package.test.ts` always does. */
const isLong = process.env["LONG"] === "1";
const folder = isLong ? await installPacked(packageRoot, typebox) : "";
const readme = await readFile(join(packageRoot, "README.md"), "utf8");
/** The program of the README, and its output according to the README. */
const [, program = "", printed = ""] =
  readme.match(/<!-- program -->\n```ts\n(.*?)```\n\nIt prints:\n\n```\n(.*?)```/s) ?? [];
if (isLong) {
  await writeFile(join(folder, "consumer.ts"), CONSUMER);
  await writeFile(join(folder, "readme.ts"), program);
}

test("the sources, read: no clock, no randomness", async () => {
  const sources = (await readdir(import.meta.dir, { recursive: true })).filter(
    (name) => name.endsWith(".ts") && !/test/.test(name),
  );
  expect(sources.length).toBeGreaterThan(20);
  for (const name of sources) {
    const text = await readFile(join(import.meta.dir, name), "utf8");
    const code = text.replace(/\/\*.*?\*\/|\/\/.*$/gms, "");
    expect(`${name}: ${code.match(/Math\.random|Date\.now|new Date\(\)|random(Bytes|UUID)/)}`).toBe(`${name}: null`);
  }
});

describe.skipIf(!isLong)("the packed package", () => {
  test("the files of the package: only TypeBox as a dependency, no tests", async () => {
    const installed = join(folder, "node_modules/@realtime-avatar/domain");
    const { dependencies } = JSON.parse(await readFile(join(installed, "package.json"), "utf8"));
    const { workspaces } = await Bun.file(join(packageRoot, "../../package.json")).json();
    expect(dependencies).toEqual({ "@sinclair/typebox": workspaces.catalog["@sinclair/typebox"] });
    const files = await readdir(installed, { recursive: true });
    expect(files.filter((name) => /\btest(ing)?\.\w+$/.test(name))).toEqual([]);
    expect(files).toContain(join("dist", "api-keys", "api-key.d.ts"));
    const packages = (await readdir(join(folder, "node_modules"))).filter((name) => !name.startsWith("."));
    expect(packages.sort()).toEqual(["@realtime-avatar", "@sinclair"]);
  });

  test.each(["nodenext", "bundler"])(
    "the package, under module resolution %s: has types, runs under Node as its README says",
    async (resolution) => {
      const module = resolution === "bundler" ? "esnext" : "nodenext";
      // One compiler for both programs. Only the libraries of TypeScript itself are not checked.
      await runIn(folder, [
        ...[process.execPath, tsc, "consumer.ts", "readme.ts", "--outDir", resolution],
        ...["--strict", "--exactOptionalPropertyTypes", "--target", "es2023", "--lib", "es2023"],
        ...["--module", module, "--moduleResolution", resolution, "--ignoreConfig", "--skipDefaultLibCheck"],
        ...["--types", "node", "--typeRoots", join(packageRoot, "../../node_modules/@types")],
      ]);
      const out = await runIn(folder, ["node", join(resolution, "consumer.js")]);
      expect(JSON.parse(out)).toEqual({
        environment: "test",
        reads: true,
        writes: false,
        refused: true,
        errors: ["#/displayName", "#/sourceKind"],
        status: "draft",
      });
      expect(printed).not.toBe("");
      expect(await runIn(folder, ["node", join(resolution, "readme.js")])).toBe(printed);
    },
  );

  test("the package, from its source: runs under Bun", async () => {
    const out = await runIn(folder, [process.execPath, "consumer.ts"]);
    expect(JSON.parse(out).status).toBe("draft");
  });
});
