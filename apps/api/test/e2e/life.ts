/**
 * The whole life of a key and an avatar, over real HTTP: `bun run life`. Starts two processes of the service on a new
 * database, sends one request after another, and prints each step with its response. Exits with 1 at the first
 * unexpected response.
 */
import { chmod, mkdtemp, rm } from "node:fs/promises";
import { tmpdir } from "node:os";
import { join } from "node:path";

/** The overlap of the rotation, in seconds. The program waits for its end. */
const OVERLAP_SECONDS = 5;

// biome-ignore lint/suspicious/noExplicitAny: each step reads the members that it needs
type Answer = { status: number; etag: string | null; body: any };

const say = (text: string): void => {
  process.stdout.write(`${text}\n`);
};

const folder = await mkdtemp(join(tmpdir(), "realtime-avatar-life-"));
// PostgreSQL may run as another user.
await chmod(folder, 0o755);
const { PATH = "", HOME = "" } = process.env;

/** Starts a process of the service. Resolves when it listens, with the first key if it has created one. */
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

let steps = 0;
/** Runs a step: prints the request and the response. Throws if the response is not `expected`. */
type Step = (what: string, request: string, expected: (answer: Answer) => boolean, body?: object) => Promise<Answer>;

/** Returns steps with this key, at the process with this URL. */
const stepsOf =
  (url: string, key: string): Step =>
  async (what, request, expected, sent) => {
    const [method = "", path = ""] = request.split(" ");
    const headers = { authorization: `Bearer ${key}`, ...(sent && { "content-type": "application/json" }) };
    const init = { method, headers, ...(sent && { body: JSON.stringify(sent) }) };
    const response = await fetch(`${url}/api/v1${path}`, init);
    const answer: Answer = {
      status: response.status,
      etag: response.headers.get("etag"),
      body: await response.json(),
    };
    const { status, body } = answer;
    const shown = Array.isArray(body.data) ? `${body.data.length} in the list` : (body.code ?? body.status ?? "");
    steps++;
    say(`${String(steps).padStart(2)}. ${what.padEnd(62)} ${status} ${shown}`);
    if (!expected(answer)) throw new Error(`unexpected response: ${JSON.stringify(body)}`);
    return answer;
  };

/** Whether a response has this status and this problem. */
const status =
  (code: number, problem?: string) =>
  (answer: Answer): boolean =>
    answer.status === code && answer.body.code === problem;
/** Whether a list has this many items. */
const items =
  (count: number) =>
  ({ body }: Answer): boolean =>
    body.data.length === count;
const isDeleted = ({ body }: Answer): boolean => body.status === "deleted";

type Key = { id: string; secret: string };
const LIVE = { environment: "live", scopes: ["avatars:read"] };
const MANAGING = { environment: "live", scopes: ["api_keys:write", "avatars:read"] };

/** The life of a key. Returns the key. */
const liveKey = async (here: string, there: string, root: string): Promise<Key> => {
  say("A key");
  const [atHere, atThere] = [stepsOf(here, root), stepsOf(there, root)];
  const limits = { spendLimitCreditMicros: 5_000_000, expiresAt: "2090-01-01T00:00:00Z" };
  const parent = { ...MANAGING, scopes: [...MANAGING.scopes, "avatars:write"], name: "parent", ...limits };
  const made = await atHere("create a key with a cap and an expiry", "POST /api-keys", status(201), parent);
  const { id, apiKey: firstSecret } = made.body;
  const [own, ownThere] = [stepsOf(here, firstSecret), stepsOf(there, firstSecret)];
  await ownThere("it knows itself, on the other process", "GET /api-keys/self", ({ body }) => body.id === id);
  await atThere("it is in the list", "GET /api-keys?status=active", ({ body }) =>
    body.data.some((key: { id: string }) => key.id === id),
  );
  for (const name of ["child", "second child", "third child"])
    await own(`it creates a ${name}`, "POST /api-keys", status(201), { ...LIVE, name });
  const page = await atHere("the newest two keys", "GET /api-keys?limit=2", items(2));
  const isNext = ({ body }: Answer): boolean =>
    body.data.map((key: { name: string }) => key.name).join() === "child,parent";
  await atThere("the next two, by the cursor", `GET /api-keys?limit=2&cursor=${page.body.nextCursor}`, isNext);
  const path = `/api-keys/${id}`;
  await own("it cannot widen itself", `PATCH ${path}`, status(403, "grant_exceeds_caller"), {
    spendLimitCreditMicros: null,
  });
  const isRenamed = ({ body, etag }: Answer): boolean => body.name === "renamed" && etag === '"2"';
  await atHere("its name is changed", `PATCH ${path}`, isRenamed, { name: "renamed" });
  const overlap = { overlapSeconds: OVERLAP_SECONDS };
  const asked = `it is rotated, with an overlap of ${OVERLAP_SECONDS} seconds`;
  const secret = (await atHere(asked, `POST ${path}/rotate`, status(200), overlap)).body.apiKey;
  await ownThere("during the overlap the old secret works", "GET /api-keys/self", status(200));
  await stepsOf(there, secret)("and the new one too", "GET /api-keys/self", status(200));
  await Bun.sleep(OVERLAP_SECONDS * 1000);
  const isRefused = status(401, "revoked_api_key");
  await ownThere("after the overlap the old secret is refused", "GET /api-keys/self", isRefused);
  return { id, secret };
};

/** The life of an avatar of the key with this secret. */
const liveAvatar = async (here: string, there: string, secret: string): Promise<void> => {
  say("An avatar");
  const [atHere, atThere] = [stepsOf(here, secret), stepsOf(there, secret)];
  const draft = { displayName: "Ada", sourceKind: "image" };
  const avatar = await atHere("create an avatar", "POST /avatars", status(201), draft);
  const path = `/avatars/${avatar.body.id}`;
  await atThere("read it on the other process", `GET ${path}`, ({ body }) => body.displayName === "Ada");
  const isChanged = ({ body, etag }: Answer): boolean => body.displayName === "Grace" && etag === '"2"';
  await atThere("change it", `PATCH ${path}`, isChanged, { displayName: "Grace", metadata: { team: "support" } });
  const isRefused = status(409, "invalid_transition");
  await atHere("a draft cannot be disabled", `PATCH ${path}`, isRefused, { status: "disabled" });
  await atHere("it is in the list", "GET /avatars", items(1));
  await atHere("delete it", `DELETE ${path}`, isDeleted);
  await atThere("delete it again: the same response", `DELETE ${path}`, isDeleted);
  await atThere("it has left the list", "GET /avatars", items(0));
  await atThere("and can be found by its state", "GET /avatars?status=deleted", items(1));
};

/** The key's descendants, until it is revoked. */
const liveFamily = async (here: string, there: string, root: string, { id, secret }: Key): Promise<void> => {
  say("A family");
  const [atHere, atThere] = [stepsOf(here, root), stepsOf(there, root)];
  const managing = { ...MANAGING, name: "child" };
  const child = await stepsOf(here, secret)("the key creates a child", "POST /api-keys", status(201), managing);
  const grandchild = await stepsOf(here, child.body.apiKey)(
    "the child creates a grandchild",
    "POST /api-keys",
    status(201),
    { ...LIVE, name: "grandchild" },
  );
  const youngest = stepsOf(there, grandchild.body.apiKey);
  await youngest("which works on the other process", "GET /avatars", status(200));
  await atHere("revoke the key", `DELETE /api-keys/${id}`, ({ body }) => body.status === "revoked");
  const isRevoked = status(401, "revoked_api_key");
  await youngest("the grandchild is refused on the other process", "GET /avatars", isRevoked);
  const isRefused = status(409, "invalid_transition");
  await atThere("a revoked key cannot be rotated", `POST /api-keys/${id}/rotate`, isRefused, {});
  const isTold = ({ body }: Answer): boolean =>
    body.data.map(({ action }: { action: string }) => action).join() ===
    "api_key.revoked,api_key.rotated,api_key.updated,api_key.created";
  await atThere("the audit trail of the key", `GET /audit-events?targetId=${id}`, isTold);
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
  say(`All ${steps} steps succeeded.`);
} catch (error) {
  process.stderr.write(`${error instanceof Error ? error.message : error}\n`);
  process.exitCode = 1;
} finally {
  for (const service of services) await service.stop();
  await rm(folder, { recursive: true, force: true });
}
