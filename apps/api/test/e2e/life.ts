/**
 * The whole life of a key and an avatar, over real HTTP: `bun run life`. Starts two processes of the service on one
 * database of their own, asks for one thing after another, prints each step with its answer, and exits with 1 at the
 * first that is not as it should be.
 */
import { chmod, mkdtemp, rm } from "node:fs/promises";
import { tmpdir } from "node:os";
import { join } from "node:path";

/** The overlap of the rotation, in seconds: it is waited for. */
const OVERLAP_SECONDS = 5;

// biome-ignore lint/suspicious/noExplicitAny: each step looks at what it needs
type Answer = { status: number; etag: string | null; body: any };

const say = (text: string): void => {
  process.stdout.write(`${text}\n`);
};

const folder = await mkdtemp(join(tmpdir(), "realtime-avatar-life-"));
// PostgreSQL may run as another user.
await chmod(folder, 0o755);
const { PATH = "", HOME = "" } = process.env;

/** Starts a process of the service; answers when it listens, and with its first key when it has made one. */
const startService = async () => {
  const child = Bun.spawn([process.execPath, "--no-env-file", join(import.meta.dir, "../../src/main.ts")], {
    env: { PATH, HOME, PORT: "0", DATA_DIR: join(folder, "data") },
    stdout: "pipe",
    stderr: "pipe",
  });
  let output = "";
  const collect = async (stream: ReadableStream<Uint8Array>): Promise<void> => {
    const decoder = new TextDecoder();
    for await (const chunk of stream) output += decoder.decode(chunk, { stream: true });
  };
  const drained = Promise.all([collect(child.stdout), collect(child.stderr)]);
  const read = async (pattern: RegExp): Promise<string> => {
    for (let asked = 0; ; asked++) {
      const [, found] = pattern.exec(output) ?? [];
      if (found !== undefined) return found;
      if (child.exitCode !== null || asked > 6000) throw new Error(`the service did not start:\n${output}`);
      await Bun.sleep(10);
    }
  };
  const stop = async (): Promise<void> => {
    child.kill("SIGTERM");
    await child.exited;
    await drained;
  };
  return { url: await read(/"url":"(http:[^"]+)"/), firstKey: () => read(/export API_KEY=(\w+)/), stop };
};

const call = async (url: string, method: string, path: string, key: string, body?: object): Promise<Answer> => {
  const headers = { authorization: `Bearer ${key}`, ...(body ? { "content-type": "application/json" } : {}) };
  const response = await fetch(`${url}/api/v1${path}`, {
    method,
    headers,
    ...(body ? { body: JSON.stringify(body) } : {}),
  });
  return { status: response.status, etag: response.headers.get("etag"), body: await response.json() };
};

let steps = 0;
/** Takes a step: prints what was asked and answered, and fails unless the answer is as `expected`. */
const step = async (what: string, asked: Promise<Answer>, expected: (answer: Answer) => boolean): Promise<Answer> => {
  const answer = await asked;
  const { status, body } = answer;
  const shown = Array.isArray(body.data) ? `${body.data.length} in the list` : (body.code ?? body.status ?? "");
  steps++;
  say(`${String(steps).padStart(2)}. ${what.padEnd(62)} ${status} ${shown}`);
  if (!expected(answer)) throw new Error(`this is not as it should be: ${JSON.stringify(body)}`);
  return answer;
};

/** Whether a response has this status and this problem. */
const status =
  (code: number, problem?: string) =>
  (answer: Answer): boolean =>
    answer.status === code && answer.body.code === problem;

type Key = { id: string; secret: string };

/** The life of a key; returns it. */
const liveKey = async (here: string, there: string, root: string): Promise<Key> => {
  say("A key");
  const made = await step(
    "create a key with a cap and an expiry",
    call(here, "POST", "/api-keys", root, {
      name: "parent",
      environment: "live",
      scopes: ["api_keys:write", "avatars:read", "avatars:write"],
      spendLimitCreditMicros: 5_000_000,
      expiresAt: "2090-01-01T00:00:00Z",
    }),
    status(201),
  );
  const { id, apiKey: firstSecret } = made.body;
  await step(
    "it knows itself, on the other process",
    call(there, "GET", "/api-keys/self", firstSecret),
    ({ body }) => body.id === id,
  );
  await step("it is in the list", call(there, "GET", "/api-keys?status=active", root), ({ body }) =>
    body.data.some((key: { id: string }) => key.id === id),
  );
  for (const name of ["child", "second child", "third child"]) {
    await step(
      `it creates a ${name}`,
      call(here, "POST", "/api-keys", firstSecret, { name, environment: "live", scopes: ["avatars:read"] }),
      status(201),
    );
  }
  const page = await step(
    "the newest two keys",
    call(here, "GET", "/api-keys?limit=2", root),
    ({ body }) => body.data.length === 2,
  );
  await step(
    "the next two, by the cursor",
    call(there, "GET", `/api-keys?limit=2&cursor=${page.body.nextCursor}`, root),
    ({ body }) => body.data.map((key: { name: string }) => key.name).join() === "child,parent",
  );
  await step(
    "it cannot widen itself",
    call(here, "PATCH", `/api-keys/${id}`, firstSecret, { spendLimitCreditMicros: null }),
    status(403, "grant_exceeds_caller"),
  );
  await step(
    "its name is changed",
    call(here, "PATCH", `/api-keys/${id}`, root, { name: "renamed" }),
    ({ body, etag }) => body.name === "renamed" && etag === '"2"',
  );
  const rotated = await step(
    `it is rotated, with an overlap of ${OVERLAP_SECONDS} seconds`,
    call(here, "POST", `/api-keys/${id}/rotate`, root, { overlapSeconds: OVERLAP_SECONDS }),
    status(200),
  );
  const secret = rotated.body.apiKey;
  await step("during the overlap the old secret works", call(there, "GET", "/api-keys/self", firstSecret), status(200));
  await step("and the new one too", call(there, "GET", "/api-keys/self", secret), status(200));
  await Bun.sleep(OVERLAP_SECONDS * 1000);
  await step(
    "after the overlap the old secret is refused",
    call(there, "GET", "/api-keys/self", firstSecret),
    status(401, "revoked_api_key"),
  );
  return { id, secret };
};

/** The life of an avatar of the key with this secret. */
const liveAvatar = async (here: string, there: string, secret: string): Promise<void> => {
  say("An avatar");
  const avatar = await step(
    "create an avatar",
    call(here, "POST", "/avatars", secret, { displayName: "Ada", sourceKind: "image" }),
    status(201),
  );
  const path = `/avatars/${avatar.body.id}`;
  await step(
    "read it on the other process",
    call(there, "GET", path, secret),
    ({ body }) => body.displayName === "Ada",
  );
  await step(
    "change it",
    call(there, "PATCH", path, secret, { displayName: "Grace", metadata: { team: "support" } }),
    ({ body, etag }) => body.displayName === "Grace" && etag === '"2"',
  );
  await step(
    "a draft cannot be disabled",
    call(here, "PATCH", path, secret, { status: "disabled" }),
    status(409, "invalid_transition"),
  );
  await step("it is in the list", call(here, "GET", "/avatars", secret), ({ body }) => body.data.length === 1);
  await step("delete it", call(here, "DELETE", path, secret), ({ body }) => body.status === "deleted");
  await step(
    "delete it again: the same answer",
    call(there, "DELETE", path, secret),
    ({ body }) => body.status === "deleted",
  );
  await step("it has left the list", call(there, "GET", "/avatars", secret), ({ body }) => body.data.length === 0);
  await step(
    "and can be found by its state",
    call(there, "GET", "/avatars?status=deleted", secret),
    ({ body }) => body.data.length === 1,
  );
};

/** The key's descendants, until it is revoked. */
const liveFamily = async (here: string, there: string, root: string, { id, secret }: Key): Promise<void> => {
  say("A family");
  const child = await step(
    "the key creates a child",
    call(here, "POST", "/api-keys", secret, {
      name: "child",
      environment: "live",
      scopes: ["api_keys:write", "avatars:read"],
    }),
    status(201),
  );
  const grandchild = await step(
    "the child creates a grandchild",
    call(here, "POST", "/api-keys", child.body.apiKey, {
      name: "grandchild",
      environment: "live",
      scopes: ["avatars:read"],
    }),
    status(201),
  );
  await step("which works on the other process", call(there, "GET", "/avatars", grandchild.body.apiKey), status(200));
  await step("revoke the key", call(here, "DELETE", `/api-keys/${id}`, root), ({ body }) => body.status === "revoked");
  await step(
    "the grandchild is refused on the other process",
    call(there, "GET", "/avatars", grandchild.body.apiKey),
    status(401, "revoked_api_key"),
  );
  await step(
    "a revoked key cannot be rotated",
    call(there, "POST", `/api-keys/${id}/rotate`, root, {}),
    status(409, "invalid_transition"),
  );
  await step(
    "what was done to the key",
    call(there, "GET", `/audit-events?targetId=${id}`, root),
    ({ body }) =>
      body.data.map(({ action }: { action: string }) => action).join() ===
      "api_key.revoked,api_key.rotated,api_key.updated,api_key.created",
  );
};

const services: Awaited<ReturnType<typeof startService>>[] = [];
try {
  const first = await startService();
  services.push(first);
  const second = await startService();
  services.push(second);
  const root = await first.firstKey();
  const key = await liveKey(first.url, second.url, root);
  await liveAvatar(first.url, second.url, key.secret);
  await liveFamily(first.url, second.url, root, key);
  say(`All ${steps} steps are as they should be.`);
} catch (error) {
  process.stderr.write(`${error instanceof Error ? error.message : error}\n`);
  process.exitCode = 1;
} finally {
  for (const service of services) await service.stop();
  await rm(folder, { recursive: true, force: true });
}
