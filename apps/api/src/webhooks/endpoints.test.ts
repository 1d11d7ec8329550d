/** Adding, reading, changing, rotating and deleting webhook endpoints. */
import { describe, expect, test } from "bun:test";
import { MAX_ENDPOINTS } from "@realtime-avatar/domain/webhooks/schemas";
import { openWebhookSecret } from "@realtime-avatar/domain/webhooks/secret";
import { seedKey, seedTenant } from "@realtime-avatar/testing/seeds";
import { type Answer, callAnew, startApi, TEST_WEBHOOKS } from "../../test/support/api.ts";
import { expireVerification, seedPerson } from "../../test/support/people/people.ts";
import { expectProblem } from "../../test/support/routes.ts";

const api = await startApi();
const { client } = api.database.db;
const key = await api.key();

const ENDPOINTS = "/api/v1/webhook-endpoints";
const URL_OF = "https://www.example.com/hooks";
const create = (body: object = {}, headers: Record<string, string> = {}, by = key): Promise<Answer> =>
  api.call("POST", ENDPOINTS, { key: by, body: { url: URL_OF, ...body }, headers });
const at = (method: string, id: string, body?: unknown, headers: Record<string, string> = {}): Promise<Answer> =>
  api.call(method, `${ENDPOINTS}/${id}`, { key, body, headers });
const rotate = (id: string, headers: Record<string, string> = {}) => at("POST", `${id}/rotate-secret`, {}, headers);
/** A key of a new tenant, because a tenant can have only few endpoints. */
const newTenant = async (): Promise<string> => {
  const tenantId = await seedTenant(api.database.db);
  return (await seedKey(api.database.db, tenantId, { environment: "live", scopes: ["*"] })).secret.reveal();
};
const removeAll = () => client`delete from webhook_endpoints where tenant_id = ${api.tenantId}`;

/** The secrets in the database, unsealed with the key of the service. */
const storedSecrets = async (id: string): Promise<(string | null)[]> => {
  const [row] = await client`select secret, previous_secret from webhook_endpoints where id = ${id}`;
  return [row?.["secret"], row?.["previous_secret"]].map((sealed) =>
    sealed ? openWebhookSecret(sealed, id as `whe_${string}`, TEST_WEBHOOKS.sealingKey) : null,
  );
};

describe("adding an endpoint", () => {
  test("an endpoint with all fields: 201 with Location, its secret once, and an audit event", async () => {
    const body = { description: "Tells users", events: ["avatar.*", "credits.low", "avatar.*"], ordered: true };
    const created = await create(body);
    expect([created.status, created.headers.get("etag")]).toEqual([201, '"1"']);
    const { secret, ...shown } = created.body;
    expect(created.headers.get("location")).toBe(`${ENDPOINTS}/${shown.id}`);
    expect(secret).toMatch(/^whsec_[A-Za-z0-9+/]{43}=$/);
    expect(shown).toMatchObject({
      environment: "live",
      url: URL_OF,
      ...body,
      events: ["avatar.*", "credits.low"],
      status: "enabled",
      disabledReason: null,
      failingSince: null,
      previousSecretExpiresAt: null,
    });
    expect((await at("GET", shown.id)).body).toEqual(shown);
    const { data } = (await api.call("GET", ENDPOINTS, { key })).body;
    expect(data[0]).toEqual(shown);
    expect(await storedSecrets(shown.id)).toEqual([secret, null]);
    const { body: events } = await api.call("GET", `/api/v1/audit-events?targetId=${shown.id}`, { key });
    expect(events.data.map(({ action }: { action: string }) => action)).toEqual(["webhook_endpoint.created"]);
    expect(JSON.stringify(events)).not.toContain(secret);
  });

  test("an endpoint whose key is revoked: stays, and gets the events of other keys", async () => {
    const tenantId = await seedTenant(api.database.db);
    const [first, second] = [
      await seedKey(api.database.db, tenantId, { environment: "live", scopes: ["*"] }),
      await seedKey(api.database.db, tenantId, { environment: "live", scopes: ["*"] }),
    ];
    const by = second.secret.reveal();
    const { body: endpoint } = await create({ events: ["avatar.created"] }, {}, first.secret.reveal());
    expect((await api.call("DELETE", `/api/v1/api-keys/${first.record.id}`, { key: by })).status).toBe(200);
    const avatar = await api.call("POST", "/api/v1/avatars", {
      key: by,
      body: { displayName: "Ada", sourceKind: "image" },
    });
    const { body } = await api.call("GET", `/api/v1/webhook-deliveries?endpointId=${endpoint.id}`, {
      key: by,
    });
    expect(body.data).toMatchObject([{ eventType: "avatar.created", targetId: avatar.body.id, status: "pending" }]);
  });

  test("an endpoint with only a URL, or an empty list of events: all events, unordered", async () => {
    for (const url of [URL_OF, null]) {
      const { status, body } = await create({ url });
      expect([status, body.url, body.events, body.ordered, body.description]).toEqual([201, url, null, false, null]);
    }
    await removeAll();
  });

  test.each([
    "http://www.example.com/hooks",
    "http://localhost:4000/hooks",
    "https://user:secret@www.example.com/",
    "https://127.0.0.1/",
    "https://2130706433/",
    "https://0x7f.1/",
    "https://0177.0.0.1/",
    "https://10.0.0.1/",
    "https://192.168.1.1/",
    "https://169.254.169.254/latest/meta-data/",
    "https://[::1]/",
    "https://[::ffff:169.254.169.254]/",
    "https://[fd00:ec2::254]/",
    "https://１２７.0.0.1/",
    "https://localhost/",
    "https://metadata/",
    "https://www.example.com:22/",
    "https://www.example.com:8080/",
    "ftp://www.example.com/",
    "file:///etc/passwd",
    "www.example.com",
    "https://",
  ])("an endpoint with the URL %s: 422, when it is added and when it is changed", async (url) => {
    const refused = await create({ url });
    expectProblem(refused, "validation_failed");
    expect(refused.body.errors).toMatchObject([{ pointer: "#/url", code: "unsupported_url" }]);
    // The URL can contain a password.
    expect(refused.text).not.toContain(url);
    const { id } = (await create()).body;
    expectProblem(await at("PATCH", id, { url }), "validation_failed");
    expect((await at("GET", id)).body.url).toBe(URL_OF);
    await removeAll();
  });

  test("an endpoint on this machine, where that is allowed: 201", async () => {
    const webhooks = { ...TEST_WEBHOOKS, allowHttpLocalhost: true };
    const call = callAnew(api.database.db, { webhooks });
    for (const url of ["http://localhost:4000/hooks", "http://127.0.0.1:1/", "http://[::1]:4000/"]) {
      expect((await call("POST", ENDPOINTS, { key, body: { url } })).status).toBe(201);
    }
    for (const url of ["http://10.0.0.1/", "http://www.example.com/", "http://a.localhost/"]) {
      expectProblem(await call("POST", ENDPOINTS, { key, body: { url } }), "validation_failed");
    }
    await removeAll();
  });

  test.each([
    ["a URL of 3,000 characters", { url: `https://www.example.com/${"x".repeat(2976)}` }, "#/url"],
    ["no URL", { url: undefined }, "#/url"],
    ["a description of 3,000 characters", { description: "x".repeat(3000) }, "#/description"],
    ["no events", { events: [] }, "#/events"],
    ["an unknown type", { events: ["avatar.created", "avatar.exploded"] }, "#/events/1"],
    ["a star", { events: ["*"] }, "#/events/0"],
    ["a type that only the audit trail has", { events: ["user.created"] }, "#/events/0"],
    ["a text for ordered", { ordered: "true" }, "#/ordered"],
    ["a secret", { secret: "whsec_x" }, "#/secret"],
    ["a status", { status: "enabled" }, "#/status"],
  ])("an endpoint, %s: 422", async (_, body, pointer) => {
    const refused = await create(body);
    expectProblem(refused, "validation_failed");
    expect(refused.body.errors).toMatchObject([{ pointer }]);
  });

  test("more than 16 endpoints, also at once: 409, and 16 exist", async () => {
    const other = await newTenant();
    const answers = await Promise.all(Array.from({ length: MAX_ENDPOINTS + 4 }, () => create({}, {}, other)));
    const refused = answers.filter(({ status }) => status === 409);
    expect(refused).toHaveLength(4);
    for (const answer of refused) expectProblem(answer, "quota_exceeded");
    const { data } = (await api.call("GET", ENDPOINTS, { key: other })).body;
    expect(data).toHaveLength(MAX_ENDPOINTS);
    await api.call("DELETE", `${ENDPOINTS}/${data[0].id}`, { key: other });
    expect((await create({}, {}, other)).status).toBe(201);
  });
});

describe("a repeated request with its Idempotency-Key", () => {
  test("an endpoint, added twice: one endpoint, the same secret, stored sealed", async () => {
    const headers = { "idempotency-key": "add" };
    const first = await create({}, headers);
    const again = await create({}, headers);
    expect([again.status, again.text, again.headers.get("idempotent-replayed")]).toEqual([201, first.text, "true"]);
    expectProblem(await create({ ordered: true }, headers), "idempotency_key_reused");
    const [{ claims = "" } = {}] =
      await client`select string_agg(idempotency_claims::text, '') as claims from idempotency_claims`;
    expect(claims).toContain(first.body.id);
    expect(claims).not.toContain(Buffer.from(first.body.secret).toString("hex"));
    await removeAll();
  });

  test("a secret, rotated twice: one rotation, the same secret", async () => {
    const { id } = (await create()).body;
    const headers = { "idempotency-key": "rotate" };
    const first = await rotate(id, headers);
    const again = await rotate(id, headers);
    expect(first.status).toBe(200);
    expect([again.text, again.headers.get("idempotent-replayed")]).toEqual([first.text, "true"]);
    expect((await storedSecrets(id))[0]).toBe(first.body.secret);
    await removeAll();
  });

  test("a secret, after a rotation of the calling key: 409, with the path of the endpoint", async () => {
    const { record, secret } = await seedKey(api.database.db, api.tenantId, { environment: "live", scopes: ["*"] });
    const own = secret.reveal();
    const headers = { "idempotency-key": "lost" };
    const { id } = (await create({}, headers, own)).body;
    const path = `${ENDPOINTS}/${id}`;
    await api.call("POST", `${path}/rotate-secret`, { key: own, headers });
    const rotated = await api.call("POST", `/api/v1/api-keys/${record.id}/rotate`, {
      key: own,
      body: { overlapSeconds: 60 },
    });
    const newer = rotated.body.apiKey;
    for (const answer of [
      await create({}, headers, newer),
      await api.call("POST", `${path}/rotate-secret`, { key: newer, headers }),
    ]) {
      expectProblem(answer, "replay_unavailable");
      expect(answer.headers.get("location")).toBe(path);
    }
    await removeAll();
  });
});

describe("changing an endpoint", () => {
  test("an endpoint, each field changed: the next version, and an audit event that names the fields", async () => {
    const { id } = (await create()).body;
    const body = { url: "https://www.example.org:8443/", description: "y", events: ["asset.ready"], ordered: true };
    const changed = await at("PATCH", id, body, { "if-match": '"1"' });
    expect([changed.status, changed.headers.get("etag")]).toEqual([200, '"2"']);
    expect(changed.body).toMatchObject(body);
    expect((await at("GET", id)).body).toEqual(changed.body);
    expect((await at("PATCH", id, { events: null, description: null })).body).toMatchObject({
      events: null,
      description: null,
    });
    const { data } = (
      await api.call("GET", `/api/v1/audit-events?targetId=${id}&action=webhook_endpoint.updated`, { key })
    ).body;
    expect(data[1].changedFields.toSorted()).toEqual(["description", "events", "ordered", "url"]);
    await removeAll();
  });

  test("an endpoint, disabled and enabled: its status with the reason", async () => {
    const { id } = (await create()).body;
    const disabled = await at("PATCH", id, { status: "disabled" });
    expect(disabled.body).toMatchObject({ status: "disabled", disabledReason: "requested" });
    const enabled = await at("PATCH", id, { status: "enabled" });
    expect(enabled.body).toMatchObject({ status: "enabled", disabledReason: null, failingSince: null });
    await removeAll();
  });

  test("an endpoint, changed or deleted in another version: 412, and unchanged", async () => {
    const { id, secret: _, ...shown } = (await create()).body;
    const headers = { "if-match": '"2"' };
    expectProblem(await at("PATCH", id, { ordered: true }, headers), "precondition_failed");
    expectProblem(await at("DELETE", id, undefined, headers), "precondition_failed");
    expect((await at("GET", id)).body).toEqual({ id, ...shown });
    await removeAll();
  });

  test("an endpoint, deleted: its last state, then 404; its secret is gone", async () => {
    const { id, secret: _, ...shown } = (await create()).body;
    const deleted = await at("DELETE", id, undefined, { "if-match": '"1"' });
    expect([deleted.status, deleted.body]).toEqual([200, { id, ...shown }]);
    for (const [method, path] of [
      ["GET", id],
      ["PATCH", id],
      ["DELETE", id],
      ["POST", `${id}/rotate-secret`],
      ["POST", `${id}/test`],
    ] as const) {
      expectProblem(await at(method, path, method === "PATCH" ? { ordered: true } : undefined), "not_found");
    }
    expect(await client`select 1 from webhook_endpoints where id = ${id}`).toHaveLength(0);
  });
});

describe("rotating a secret", () => {
  test("a secret, rotated: both secrets sign for 24 hours", async () => {
    const { id, secret } = (await create()).body;
    const { status, body, headers } = await rotate(id);
    expect([status, headers.get("etag")]).toEqual([200, '"2"']);
    expect(body.secret).not.toBe(secret);
    const end = Date.parse(body.previousSecretExpiresAt) - Date.parse(body.updatedAt);
    expect(end).toBe(24 * 3_600_000);
    expect(await storedSecrets(id)).toEqual([body.secret, secret]);
    const { secret: _, ...shown } = body;
    expect((await at("GET", id)).body).toEqual(shown);
    await removeAll();
  });

  test("a secret, rotated again at once: 409 with Retry-After, and both secrets stay", async () => {
    const { id, secret } = (await create()).body;
    const first = await rotate(id);
    const again = await rotate(id);
    expectProblem(again, "rotation_in_progress");
    expect(Number(again.headers.get("retry-after"))).toBeGreaterThan(86_000);
    expect(await storedSecrets(id)).toEqual([first.body.secret, secret]);
    await removeAll();
  });

  test("a secret, rotated by several at once: one succeeds, and the previous secret still signs", async () => {
    const { id, secret } = (await create()).body;
    const answers = await Promise.all(Array.from({ length: 5 }, () => rotate(id)));
    const [rotated, ...more] = answers.filter(({ status }) => status === 200);
    expect(more).toEqual([]);
    expect(await storedSecrets(id)).toEqual([rotated?.body.secret, secret]);
    await removeAll();
  });
});

describe("people", () => {
  test("a viewer: reads; a developer: changes", async () => {
    const [viewer, developer] = [await seedPerson(api, "viewer"), await seedPerson(api, "developer")];
    const created = await developer.call("POST", ENDPOINTS, { url: URL_OF });
    expect(created.status).toBe(201);
    const path = `${ENDPOINTS}/${created.body.id}`;
    expect((await viewer.call("GET", path)).status).toBe(200);
    expect((await viewer.call("GET", ENDPOINTS)).body.data).toHaveLength(1);
    for (const [method, to, body] of [
      ["POST", ENDPOINTS, { url: URL_OF }],
      ["PATCH", path, { ordered: true }],
      ["POST", `${path}/rotate-secret`, {}],
      ["POST", `${path}/test`, {}],
      ["DELETE", path, undefined],
    ] as const) {
      expectProblem(await viewer.call(method, to, body), "insufficient_role");
    }
    expect((await developer.call("PATCH", path, { ordered: true })).status).toBe(200);
    expect((await developer.call("DELETE", path)).status).toBe(200);
  });

  test("a person without a recent passkey: no new live endpoint, URL or secret; other changes are allowed", async () => {
    const person = await seedPerson(api, "owner");
    const path = `${ENDPOINTS}/${(await person.call("POST", ENDPOINTS, { url: URL_OF })).body.id}`;
    await expireVerification(api.database, person);
    expectProblem(await person.call("POST", ENDPOINTS, { url: URL_OF }), "passkey_required");
    expectProblem(await person.call("PATCH", path, { url: "https://www.example.org/" }), "passkey_required");
    expectProblem(await person.call("POST", `${path}/rotate-secret`, {}), "passkey_required");
    expect((await person.call("POST", ENDPOINTS, { url: URL_OF }, {}, "test")).status).toBe(201);
    expect((await person.call("PATCH", path, { status: "disabled" })).status).toBe(200);
    expect((await person.call("DELETE", path)).status).toBe(200);
  });
});
