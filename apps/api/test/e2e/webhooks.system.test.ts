/**
 * Webhooks from the change to the receiver: the service with its worker, and the unchanged receivers of
 * docs/webhooks.md.
 */
import { describe, expect, setDefaultTimeout, test } from "bun:test";
import { readFile, symlink, writeFile } from "node:fs/promises";
import { join } from "node:path";
import { validate } from "@realtime-avatar/domain/schema";
import {
  describeEvent,
  eventObject,
  WEBHOOK_EVENT_TYPES,
  type WebhookEventType,
} from "@realtime-avatar/domain/webhooks/events";
import { ATTEMPT_ERRORS, DISABLED_REASONS, WEBHOOK_EVENTS } from "@realtime-avatar/domain/webhooks/schemas";
import { preparedDataDirectory } from "@realtime-avatar/testing/database";
import { fileFolder, fixture } from "@realtime-avatar/testing/fixture";
import { freePorts } from "@realtime-avatar/testing/network/ports";
import {
  bun,
  REPOSITORY,
  type RunningProcess,
  release,
  runToEnd,
  startProcess,
} from "@realtime-avatar/testing/processes";
import { until } from "@realtime-avatar/testing/until";
import { Webhook } from "standardwebhooks";
import { fileService } from "../support/process.ts";

const folder = await fileFolder();
setDefaultTimeout(120_000);
await symlink(join(REPOSITORY, "node_modules"), join(folder, "node_modules"));
const document = await readFile(join(REPOSITORY, "docs/webhooks.md"), "utf8");
const receivers = [...document.matchAll(/<!-- receiver -->\n```(\w+)\n(.*?)```/gs)].map(([, language, text = ""]) => ({
  language,
  text,
}));
/** PYTHON names an interpreter with the package, for example in a virtual environment. */
const python = process.env["PYTHON"] ?? Bun.which("python3") ?? "";
const hasPackage = python !== "" && (await runToEnd([python, "-c", "import standardwebhooks"])).code === 0;

const service = await fileService(
  {
    DATA_DIR: await preparedDataDirectory(join(folder, "data")),
    WEBHOOK_ALLOW_HTTP_LOCALHOST: "true",
    LIVEKIT_EMBEDDED: "off",
    LOG_LEVEL: "trace",
  },
  release(),
);
const [, key = ""] = await service.waitFor(/export API_KEY=(\S+)/);
const ENDPOINTS = "/api/v1/webhook-endpoints";
const call = (method: string, path: string, body?: unknown, headers: Record<string, string> = {}) =>
  service.call(method, path, { key, body, headers });
const secrets: string[] = [];
const add = async (body: object, headers: Record<string, string> = {}) => {
  const created = await call("POST", ENDPOINTS, body, headers);
  expect(created.status).toBe(201);
  secrets.push(created.body.secret);
  return created.body;
};
const remove = (id: string) => call("DELETE", `${ENDPOINTS}/${id}`);

/** Runs a receiver of the document on `port`. */
const run = async ({ language, text }: (typeof receivers)[number], port: number, secret: string) => {
  const isPython = language === "python";
  const file = join(folder, `receiver.${isPython ? "py" : "ts"}`);
  await writeFile(file, text);
  const running: RunningProcess = startProcess(isPython ? [python, file] : bun(file), {
    PORT: String(port),
    WEBHOOK_SECRET: secret,
  });
  const isUp = () =>
    fetch(`http://127.0.0.1:${port}/`).then(
      () => true,
      () => false,
    );
  await until(isUp, { state: running.stderr });
  return running;
};

describe.each(receivers)("the receiver in $language", (receiver) => {
  const isSkipped = receiver.language === "python" && !hasPackage;

  test("the length of the receiver: 15 lines at most", () => {
    const lines = receiver.text.split("\n").filter((line) => line.trim() !== "");
    expect(lines.length).toBeLessThanOrEqual(15);
  });

  test.skipIf(isSkipped)(
    `an avatar, prepared by the worker: a verified event, and none for a wrong secret${isSkipped ? " (skipped: Python has no package standardwebhooks)" : ""}`,
    async () => {
      const [port = 0] = await freePorts(1);
      const test = await call("POST", "/api/v1/api-keys", { name: "test", environment: "test", scopes: ["*"] });
      const asTest = { key: test.body.apiKey as string };
      const body = { url: `http://127.0.0.1:${port}/hooks`, events: ["avatar.*", "webhook_endpoint.test"] };
      const { body: endpoint } = await service.call("POST", ENDPOINTS, { ...asTest, body });
      secrets.push(endpoint.secret);
      const running = await run(receiver, port, endpoint.secret);
      const avatar = { displayName: "Ada", sourceKind: "image", sourceAssetId: "ast_test_ready" };
      const { body: created } = await service.call("POST", "/api/v1/avatars", { ...asTest, body: avatar });
      await running.waitFor(new RegExp(`avatar.prepared ${created.id}`));
      const tested = await service.call("POST", `${ENDPOINTS}/${endpoint.id}/test`, asTest);
      expect(tested.body).toMatchObject({ status: "delivered", attempts: [{ status: 204, error: null }] });
      running.kill("SIGKILL");
      await running.exited;

      const wrong = await run(receiver, port, `whsec_${Buffer.alloc(32).toString("base64")}`);
      const refused = await service.call("POST", `${ENDPOINTS}/${endpoint.id}/test`, asTest);
      expect(refused.body).toMatchObject({ status: "pending", attempts: [{ status: 400 }] });
      wrong.kill("SIGKILL");
      await wrong.exited;
      await service.call("DELETE", `${ENDPOINTS}/${endpoint.id}`, asTest);
    },
  );
});

/** A receiver that verifies with the library, and records its requests. */
const received: { id: string; type: WebhookEventType; text: string }[] = [];
let secret = "";
let status = 204;
const local = Bun.serve({
  port: 0,
  hostname: "127.0.0.1",
  fetch: async (request) => {
    const text = await request.text();
    const { id, type } = new Webhook(secret).verify(text, Object.fromEntries(request.headers)) as {
      id: string;
      type: WebhookEventType;
    };
    received.push({ id, type, text });
    return new Response(status === 204 ? null : "no", { status });
  },
});
await fixture({ close: () => local.stop(true) });
const url = `http://127.0.0.1:${local.port}/hooks`;
const typesFor = (id: string): string[] =>
  received.filter(({ text }) => JSON.parse(text).data.id === id).map(({ type }) => type);

describe("the actions of a tenant", () => {
  test("keys, avatars, assets and sessions, through their lives: each event as the document describes it", async () => {
    const endpoint = await add({ url, ordered: true });
    secret = endpoint.secret;
    const { body: child } = await call("POST", "/api/v1/api-keys", { name: "x", environment: "live" });
    await call("PATCH", `/api/v1/api-keys/${child.id}`, { name: "y" });
    await call("DELETE", `/api/v1/api-keys/${child.id}`);
    const { body: avatar } = await call("POST", "/api/v1/avatars", { displayName: "x", sourceKind: "image" });
    await call("DELETE", `/api/v1/avatars/${avatar.id}`);
    const { body: session } = await call("POST", "/api/v1/usage/sessions", { maxSessionSeconds: 5 });
    await call("POST", `/api/v1/usage/sessions/${session.sessionId}/usage`, { usedCreditMicros: 1 });
    await call("POST", `/api/v1/usage/sessions/${session.sessionId}/release`, {});
    await until(
      () =>
        typesFor(session.sessionId).length === 3 && typesFor(child.id).length === 3 && typesFor(avatar.id).length === 2,
    );
    expect(typesFor(child.id)).toEqual(["api_key.created", "api_key.updated", "api_key.revoked"]);
    expect(typesFor(avatar.id)).toEqual(["avatar.created", "avatar.deleted"]);
    expect(typesFor(session.sessionId)).toEqual([
      "usage_session.opened",
      "usage_session.started",
      "usage_session.ended",
    ]);
    for (const { type, text } of received) {
      expect(WEBHOOK_EVENT_TYPES).toContain(type);
      expect([type, validate(WEBHOOK_EVENTS[eventObject(type)], JSON.parse(text))]).toEqual([type, []]);
      expect(text).not.toContain(child.apiKey);
    }
    await remove(endpoint.id);
  });

  test("an endpoint that recovers after its receiver was down: all events in the order of the changes", async () => {
    const endpoint = await add({ url, events: ["avatar.*"], ordered: true });
    secret = endpoint.secret;
    status = 500;
    const { body: avatar } = await call("POST", "/api/v1/avatars", { displayName: "x", sourceKind: "image" });
    await call("PATCH", `/api/v1/avatars/${avatar.id}`, { displayName: "y" });
    await until(() => typesFor(avatar.id).length > 0);
    // Pending deliveries are canceled, and then recovered.
    await call("PATCH", `${ENDPOINTS}/${endpoint.id}`, { status: "disabled" });
    const list = async () =>
      (await call("GET", `/api/v1/webhook-deliveries?endpointId=${endpoint.id}`)).body.data as { status: string }[];
    await until(async () => !(await list()).some(({ status }) => status === "pending"), { state: list });
    const since = new Date(Date.now() - 3_600_000).toISOString();
    const path = `${ENDPOINTS}/${endpoint.id}/recover`;
    expect((await call("POST", path, { since })).body.code).toBe("invalid_transition");
    await call("PATCH", `${ENDPOINTS}/${endpoint.id}`, { status: "enabled" });
    status = 204;
    received.length = 0;
    const headers = { "idempotency-key": "recover" };
    const recovered = await call("POST", path, { since }, headers);
    expect(recovered.body).toMatchObject({ recovered: 2 });
    const again = await call("POST", path, { since }, headers);
    expect([again.text, again.headers.get("idempotent-replayed")]).toEqual([recovered.text, "true"]);
    await until(() => received.length === 2);
    expect(typesFor(avatar.id)).toEqual(["avatar.created", "avatar.updated"]);
    await remove(endpoint.id);
  });

  test("a delivery, sent again: the same id and the same bytes", async () => {
    const endpoint = await add({ url });
    secret = endpoint.secret;
    received.length = 0;
    const tested = await call("POST", `${ENDPOINTS}/${endpoint.id}/test`);
    await call("POST", `/api/v1/webhook-deliveries/${tested.body.id}/resend`);
    await until(() => received.length === 2);
    expect(received[1]).toEqual(received[0] as never);
    await remove(endpoint.id);
  });

  test("a test, repeated with its Idempotency-Key: one event, the same delivery", async () => {
    const endpoint = await add({ url });
    secret = endpoint.secret;
    received.length = 0;
    const headers = { "idempotency-key": "test" };
    const answers = await Promise.all(
      [1, 2, 3].map(() => call("POST", `${ENDPOINTS}/${endpoint.id}/test`, {}, headers)),
    );
    expect(new Set(answers.map(({ body }) => body.id)).size).toBe(1);
    expect(answers.filter(({ headers }) => headers.get("idempotent-replayed") === "true")).toHaveLength(2);
    expect(received).toHaveLength(1);
    await remove(endpoint.id);
  });

  test("a secret, rotated: each request verifies with both", async () => {
    const endpoint = await add({ url });
    const rotated = await call("POST", `${ENDPOINTS}/${endpoint.id}/rotate-secret`);
    secrets.push(rotated.body.secret);
    for (const one of [endpoint.secret, rotated.body.secret]) {
      secret = one;
      expect((await call("POST", `${ENDPOINTS}/${endpoint.id}/test`)).body.status).toBe("delivered");
    }
    await remove(endpoint.id);
  });
});

describe.each([
  ["bun run webhooks listen", bun("apps/cli/src/main.ts", "webhooks", "listen")],
  ["realtime-avatar-webhooks listen", bun("packages/client/src/webhooks.ts", "listen")],
])("%s", (_, command) => {
  test("an event of the tenant, on this machine: forwarded and verified; at the end of the command, the endpoint is deleted", async () => {
    const running = startProcess([...command, "--forward-to", url, "--url", service.url, "--events", "avatar.*"], {
      API_KEY: key,
    });
    [, secret = ""] = await running.waitFor(/export WEBHOOK_SECRET=(\S+)/);
    secrets.push(secret);
    received.length = 0;
    const { body: avatar } = await call("POST", "/api/v1/avatars", { displayName: "x", sourceKind: "image" });
    await running.waitFor(/evt_\w+ avatar\.created 204/);
    expect(typesFor(avatar.id)).toEqual(["avatar.created"]);
    running.kill("SIGINT");
    expect(await running.exited).toBe(0);
    expect((await call("GET", ENDPOINTS)).body.data).toEqual([]);
  });
});

describe("the secrets of endpoints", () => {
  test("the secrets, in the log of the API and the worker: none", () => {
    const output = service.stdout() + service.stderr();
    expect(output).toContain("webhook-endpoints");
    expect(secrets.length).toBeGreaterThan(8);
    for (const one of secrets) {
      expect(output).not.toContain(one);
      expect(output).not.toContain(one.slice("whsec_".length));
    }
  });

  test("the secrets, in lists, deliveries and the audit trail: none", async () => {
    for (const list of ["webhook-endpoints", "webhook-deliveries?limit=100", "audit-events?limit=100"]) {
      const { status, text } = await call("GET", `/api/v1/${list}`);
      expect([status, text.includes("whsec_")]).toEqual([200, false]);
    }
  });
});

describe("docs/webhooks.md", () => {
  test("the table of types in docs/webhooks.md: each type with when it is sent", () => {
    const [, types = ""] = document.split("<!-- types -->");
    const rows = [...types.replace(/ +\|/g, " |").matchAll(/^\| `(\w+\.\w+)` \| (.+) \|$/gm)].map(([, type, when]) => [
      type,
      when,
    ]);
    expect(rows).toEqual(WEBHOOK_EVENT_TYPES.map((type) => [type, describeEvent(type)]));
  });

  test("the errors and reasons in docs/webhooks.md: those of the code", () => {
    for (const word of [...ATTEMPT_ERRORS, ...DISABLED_REASONS])
      expect(document).toMatch(new RegExp(`^\\| \`${word}\` +\\|`, "m"));
  });
});
