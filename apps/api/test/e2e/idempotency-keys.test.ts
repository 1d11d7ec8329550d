/** One Idempotency-Key, used by two keys of the same tenant: two requests, on every route that accepts it. */
import { expect, test } from "bun:test";
import { readFile } from "node:fs/promises";
import { join } from "node:path";
import { REPOSITORY } from "@realtime-avatar/testing/processes";
import type { Answer } from "../support/api.ts";
import { RELEASE, START, startCallApi } from "../support/calls/calls.ts";
import { encodeForm, filePart, formType, md5Base64, PNG } from "../support/forms.ts";
import { seedPerson } from "../support/people/people.ts";

const { api, tenantWith, giveSlots } = await startCallApi();
await giveSlots(20);
// Each key descends from the previous one, so all may change resources of the last.
const { root: one, newKey, avatarId, tenantId } = await tenantWith(1_000_000);
const other = await newKey({}, one.record);
const last = await newKey({}, other.record);
const owners = [await seedPerson(api, "owner"), await seedPerson(api, "owner")] as const;

const create = async (path: string, body: object): Promise<string> => {
  const answer = await api.call("POST", `/api/v1/${path}`, { key: last.key, body });
  if (answer.status >= 300) throw new Error(`${path}: ${answer.text}`);
  return answer.body.id ?? answer.body.sessionId ?? answer.body.session_id;
};
const upload = { kind: "image", contentType: "image/png", sizeBytes: PNG.length, md5: md5Base64(PNG) };
const withSource = async (): Promise<string> => {
  const id = await create("avatars", { displayName: "Ada", sourceKind: "image" });
  const { client } = api.database.db;
  const [asset] = await client`select id from assets where tenant_id = ${tenantId} limit 1`;
  await client`update avatars set status = 'ready', source_asset_id = ${asset?.["id"]}, generation = 1 where id = ${id}`;
  return id;
};
const delivery = async (): Promise<string> =>
  (
    await api.call("POST", `/api/v1/webhook-endpoints/${await create("webhook-endpoints", { url: null })}/test`, {
      key: last.key,
    })
  ).body.id;
const call = () => create(START.slice(8), { avatar_id: avatarId });
const session = () => create("usage/sessions", { maxSessionSeconds: 60 });

type Sent = { path: string; body: object | string; headers?: Record<string, string> };
const json = (path: string, body: object = {}): Sent => ({ path: `/api/v1/${path}`, body });

/** For each route, a request that both keys may send. null: only a person may send it, or a comment has the reason. */
const REQUESTS: Record<string, (() => Promise<Sent> | Sent) | null> = {
  "/api/v1/api-keys": () => json("api-keys", { name: "x", environment: "live", scopes: ["avatars:read"] }),
  "/api/v1/api-keys/{id}/rotate": async () =>
    json(`api-keys/${(await newKey({}, other.record)).record.id}/rotate`, { overlapSeconds: 60 }),
  "/api/v1/assets": () => ({
    path: "/api/v1/assets",
    body: encodeForm([filePart(PNG)]) as unknown as string,
    headers: { "content-type": formType() },
  }),
  "/api/v1/assets/remote": () => json("assets/remote", { kind: "image", remoteUrl: "https://example.com/ada.jpg" }),
  "/api/v1/assets/uploads": () => json("assets/uploads", upload),
  // Completing it again has no effect, with or without an Idempotency-Key.
  "/api/v1/assets/{id}/complete": null,
  "/api/v1/avatars": () => json("avatars", { displayName: "Ada", sourceKind: "image" }),
  "/api/v1/avatars/{id}/prepare": async () => json(`avatars/${await withSource()}/prepare`),
  "/api/v1/usage/sessions": () => json("usage/sessions", { maxSessionSeconds: 60 }),
  "/api/v1/usage/sessions/{id}/usage": async () =>
    json(`usage/sessions/${await session()}/usage`, { usedCreditMicros: 1 }),
  "/api/v1/usage/sessions/{id}/release": async () => json(`usage/sessions/${await session()}/release`),
  "/api/v1/videos": () => json("videos", { avatarId, text: "Hello." }),
  "/api/v1/realtime/prepare": () => json("realtime/prepare", { avatar_id: avatarId }),
  "/api/v1/realtime/turns": async () =>
    json("realtime/turns", { session_id: await call(), kind: "say", text: "Hello." }),
  "/api/v1/realtime/interrupt": async () => json("realtime/interrupt", { session_id: await call() }),
  [START]: () => ({ path: START, body: { avatar_id: avatarId } }),
  // The request of the second key would move the call to another room: see resume.test.ts.
  [`${START}/resume`]: null,
  [RELEASE]: async () => ({
    path: RELEASE,
    body: { session_id: await call() },
  }),
  "/api/v1/webhook-endpoints": () => json("webhook-endpoints", { url: null }),
  "/api/v1/webhook-endpoints/{id}/rotate-secret": async () =>
    json(`webhook-endpoints/${await create("webhook-endpoints", { url: null })}/rotate-secret`),
  "/api/v1/webhook-endpoints/{id}/test": async () =>
    json(`webhook-endpoints/${await create("webhook-endpoints", { url: null })}/test`),
  "/api/v1/webhook-endpoints/{id}/recover": async () =>
    json(`webhook-endpoints/${await create("webhook-endpoints", { url: null })}/recover`, {
      since: new Date().toISOString(),
    }),
  "/api/v1/webhook-deliveries/{id}/resend": async () => json(`webhook-deliveries/${await delivery()}/resend`),
  "/api/v1/invitations": null,
  "/api/v1/passkeys/invitations": null,
  // A challenge belongs to one session, and is valid once.
  "/api/v1/passkeys": null,
  "/api/v1/passkeys/options": null,
  "/api/v1/user-sessions/current/verification": null,
  "/api/v1/user-sessions/current/verification/options": null,
  // Their redirects contain random texts.
  "/api/v1/oidc/identity": null,
  "/api/v1/oidc/verification": null,
};

const isReplay = ({ headers }: Answer): boolean => headers.get("idempotent-replayed") === "true";
/**
 * The parts that a replay has in common with the first response. A resent delivery has another time of its next
 * attempt.
 */
const lasting = ({ status, text, headers }: Answer) => [
  status,
  text.replace(/"nextAttemptAt":"[^"]*"/, ""),
  headers.get("location"),
  headers.get("etag"),
];

/** Two callers send the same request with one Idempotency-Key, and repeat it. */
const expectApart = async (send: readonly ((path: string) => Promise<Answer>)[], path: string): Promise<void> => {
  const firsts: Answer[] = [];
  for (const by of send) firsts.push(await by(path));
  expect([path, ...firsts.map(isReplay)]).toEqual([path, false, false]);
  expect(firsts[0]?.status).toBeLessThan(300);
  for (const [at, by] of send.entries()) {
    const first = firsts[at] as Answer;
    // Refusals and requests without an effect are not stored.
    if (first.status >= 300) continue;
    const again = await by(path);
    if (at > 0 && !isReplay(again)) continue;
    expect([path, isReplay(again)]).toEqual([path, true]);
    expect(lasting(again)).toEqual(lasting(first));
  }
};

test("the routes that take an Idempotency-Key, compared with the table: equal", async () => {
  const document = JSON.parse(await readFile(join(REPOSITORY, "docs/openapi.json"), "utf8"));
  const takes = ({ parameters = [] }: { parameters?: object[] }) =>
    JSON.stringify(parameters).includes("IdempotencyKey");
  type Paths = [path: string, operations: { post?: object }][];
  const paths = (Object.entries(document.paths) as Paths).filter(([, { post }]) => post && takes(post));
  expect(paths.map(([path]) => path).sort()).toEqual(Object.keys(REQUESTS).sort());
});

test("one Idempotency-Key, of two keys of a tenant: two requests, each with its own replay", async () => {
  for (const [route, request] of Object.entries(REQUESTS)) {
    if (request === null) continue;
    const { path, body, headers } = await request();
    const sent = { body, headers: { ...headers, "idempotency-key": "shared" } };
    const send = [one, other].map(
      ({ key }) =>
        (to: string) =>
          api.call("POST", to, { ...sent, key }),
    );
    await expectApart(send, path).catch((error: Error) => {
      throw new Error(`${route}: ${error.message}`, { cause: error });
    });
  }
});

test("one Idempotency-Key, of two people of a tenant: two requests, each with its own replay", async () => {
  for (const path of ["api-keys", "avatars", "invitations", "passkeys/invitations", "webhook-endpoints"]) {
    const bodies: Record<string, object> = {
      "api-keys": { name: "x", environment: "live" },
      avatars: { displayName: "Ada", sourceKind: "image" },
      invitations: { email: "new@example.com", role: "viewer" },
      "webhook-endpoints": { url: null },
    };
    const headers = { "idempotency-key": "shared" };
    const send = owners.map(
      ({ call }) =>
        (to: string) =>
          call("POST", to, bodies[path] ?? {}, headers),
    );
    await expectApart(send, `/api/v1/${path}`);
  }
});
