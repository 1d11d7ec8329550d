/** The sender against receivers that verify with the libraries of Standard Webhooks. */
import { describe, expect, test } from "bun:test";
import { updateAvatar } from "@realtime-avatar/db/avatars/avatars";
import { deleteEndpoint, rotateEndpointSecret, updateEndpoint } from "@realtime-avatar/db/webhooks/endpoints";
import { presentAvatar } from "@realtime-avatar/domain/avatars/avatar";
import { isValid } from "@realtime-avatar/domain/schema";
import { rotatedEndpoint } from "@realtime-avatar/domain/webhooks/endpoint";
import { WEBHOOK_EVENTS } from "@realtime-avatar/domain/webhooks/schemas";
import { sealWebhookSecret } from "@realtime-avatar/domain/webhooks/secret";
import { newWebhookSecret } from "@realtime-avatar/domain/webhooks/signature";
import { fileDatabase, fixture } from "@realtime-avatar/testing/fixture";
import { runToEnd } from "@realtime-avatar/testing/processes";
import { random } from "@realtime-avatar/testing/random-bytes";
import { inStatus, seedAvatar, seedCaller, seedOrigin } from "@realtime-avatar/testing/seeds";
import { until } from "@realtime-avatar/testing/until";
import { Webhook } from "standardwebhooks";
import {
  ASSET_ORIGIN,
  deliveriesTo,
  SEALING_KEY,
  seedSealedEndpoint,
  settled,
  startReceiver,
  startTestSender,
} from "./world.testing.ts";

const { db } = await fileDatabase();
/** The status of the responses of each path; 204 for others. */
const statuses = new Map<string, number>();
const receiver = await fixture(
  startReceiver(({ path }, response) => response.writeHead(statuses.get(path) ?? 204).end("a response")),
);
const spans: unknown[][] = [];
const tracing = { record: (...span: unknown[]) => void spans.push(span) };
const sender = startTestSender(db, { network: receiver.network }, { tracing });
await fixture({ close: () => sender.stop() });
const urlOf = (path: string): string => `https://hooks.example.com:${receiver.port}${path}`;

/** PYTHON names an interpreter with the package: a virtual environment, for example. */
const python = process.env["PYTHON"] ?? Bun.which("python3");
const hasPackage = python !== null && (await runToEnd([python, "-c", "import standardwebhooks"])).code === 0;
const missing = python === null ? "there is no python3" : "Python has no package standardwebhooks";
/** Verifies its argument: the secret, the headers and the body as JSON. */
const PROGRAM = `
import json, sys
from standardwebhooks import Webhook
secret, headers, body = json.loads(sys.argv[1])
print(json.dumps(Webhook(secret).verify(body, headers)))`;

/** Makes the pending deliveries of an endpoint due. */
const makeDue = (endpointId: string) =>
  db.client`update webhook_deliveries set next_attempt_at = now() where endpoint_id = ${endpointId} and status = 'pending'`;

describe("a delivery", () => {
  test("an event of a new avatar, sent: once, with the headers of Standard Webhooks and the avatar as the API presents it", async () => {
    const caller = await seedCaller(db);
    const endpoint = await seedSealedEndpoint(db, caller, { url: urlOf("/first") });
    const avatar = await seedAvatar(db, caller, { metadata: { "1e2": [1e308, "é\u2028"] } });
    const [delivery] = await settled(db, endpoint.id);
    expect(delivery).toMatchObject({ status: "delivered", attempts: [{ status: 204, error: null, responseBody: "" }] });
    const attributes = { delivery_id: delivery?.id, endpoint_id: endpoint.id, outcome: "delivered" };
    expect(spans).toContainEqual(["webhook_attempt", expect.any(Number), attributes, false]);
    const [message, ...others] = receiver.at("/first");
    expect(others).toEqual([]);
    expect(message?.headers).toMatchObject({
      "webhook-id": delivery?.eventId,
      "content-type": "application/json",
      "user-agent": "realtime-avatar/test",
      "accept-encoding": "identity",
    });
    expect(Object.keys(message?.headers ?? {})).not.toContain("authorization");
    const event = JSON.parse(message?.body ?? "");
    expect(isValid(WEBHOOK_EVENTS.avatar, event)).toBe(true);
    expect(event).toEqual({
      id: delivery?.eventId,
      type: "avatar.created",
      timestamp: expect.stringMatching(/^\d{4}-.*Z$/),
      data: { id: avatar.id, object: "avatar", sequence: 1, resource: presentAvatar(avatar, ASSET_ORIGIN) },
    });
    const [stored] = await db.client`select body from webhook_events where id = ${delivery?.eventId ?? ""}`;
    expect(stored?.["body"]).toBe(message?.body);
  });

  test("a message, verified by the library of npm: accepted; changed, too old or with another secret: refused", async () => {
    const caller = await seedCaller(db);
    const endpoint = await seedSealedEndpoint(db, caller, { url: urlOf("/npm") });
    await seedAvatar(db, caller);
    await settled(db, endpoint.id);
    const [{ body, headers } = { body: "", headers: {} as Record<string, string> }] = receiver.at("/npm");
    const webhook = new Webhook(endpoint.signingSecret);
    expect(webhook.verify(body, headers)).toEqual(JSON.parse(body));
    expect(() => webhook.verify(`${body} `, headers)).toThrow("No matching signature");
    expect(() => webhook.verify(body, { ...headers, "webhook-id": "evt_other" })).toThrow("No matching signature");
    const old = String(Number(headers["webhook-timestamp"]) - 600);
    expect(() => webhook.verify(body, { ...headers, "webhook-timestamp": old })).toThrow("too old");
    expect(() => new Webhook(newWebhookSecret(random)).verify(body, headers)).toThrow("No matching signature");
  });

  test.skipIf(!hasPackage)(
    `a message, verified by the library of PyPI: accepted; changed: refused${hasPackage ? "" : ` (skipped: ${missing})`}`,
    async () => {
      const caller = await seedCaller(db);
      const endpoint = await seedSealedEndpoint(db, caller, { url: urlOf("/pypi") });
      await seedAvatar(db, caller, { displayName: "Zoë 🙂" });
      await settled(db, endpoint.id);
      const [{ body, headers } = { body: "", headers: {} as Record<string, string> }] = receiver.at("/pypi");
      const verify = (secret: string, of: Record<string, string>, text: string) =>
        runToEnd([python ?? "", "-c", PROGRAM, JSON.stringify([secret, of, text])]);
      const accepted = await verify(endpoint.signingSecret, headers, body);
      expect(JSON.parse(accepted.stdout)).toEqual(JSON.parse(body));
      const old = { ...headers, "webhook-timestamp": String(Number(headers["webhook-timestamp"]) - 600) };
      expect((await verify(endpoint.signingSecret, headers, `${body} `)).stderr).toContain("WebhookVerificationError");
      expect((await verify(endpoint.signingSecret, old, body)).stderr).toContain("WebhookVerificationError");
      expect((await verify(newWebhookSecret(random), headers, body)).stderr).toContain("WebhookVerificationError");
    },
  );

  test("a secret, rotated: both sign until the older one expires, then only the new one", async () => {
    const caller = await seedCaller(db);
    const endpoint = await seedSealedEndpoint(db, caller, { url: urlOf("/rotated") });
    const secret = newWebhookSecret(random);
    const sealed = sealWebhookSecret(secret, endpoint.id, SEALING_KEY, random);
    const now = new Date();
    const { kind } = await rotateEndpointSecret(
      db,
      rotatedEndpoint(endpoint, sealed, { now, checkedAt: now }),
      caller,
      seedOrigin(caller),
    );
    expect(kind).toBe("written");
    await seedAvatar(db, caller);
    await settled(db, endpoint.id);
    const [{ body, headers } = { body: "", headers: {} as Record<string, string> }] = receiver.at("/rotated");
    expect(headers["webhook-signature"]?.split(" ")).toHaveLength(2);
    for (const signing of [secret, endpoint.signingSecret]) new Webhook(signing).verify(body, headers);
    await db.client`
      update webhook_endpoints set previous_secret_expires_at = now() - interval '1 second' where id = ${endpoint.id}`;
    await seedAvatar(db, caller);
    await until(() => receiver.at("/rotated").length === 2);
    const [, { body: next, headers: nextHeaders } = { body: "", headers: {} }] = receiver.at("/rotated");
    new Webhook(secret).verify(next, nextHeaders);
    expect(() => new Webhook(endpoint.signingSecret).verify(next, nextHeaders)).toThrow();
  });

  test("an attempt that failed, then a change of the avatar, then the next attempt: the same id and bytes, signed anew", async () => {
    const caller = await seedCaller(db);
    statuses.set("/again", 500);
    const endpoint = await seedSealedEndpoint(db, caller, { url: urlOf("/again"), events: ["avatar.created"] });
    const avatar = await seedAvatar(db, caller);
    const [failed] = await settled(db, endpoint.id);
    expect(failed).toMatchObject({
      status: "pending",
      attemptCount: 1,
      attempts: [{ status: 500, responseBody: "a response" }],
    });
    // At least four seconds, minus the time that a busy machine took.
    expect(failed?.pause).toBeGreaterThan(0);
    expect(failed?.pause).toBeLessThan(6.1);
    await updateAvatar(db, avatar.id, { displayName: "y" }, inStatus("draft"), caller, seedOrigin(caller));
    statuses.delete("/again");
    await makeDue(endpoint.id);
    const [delivered] = await settled(db, endpoint.id, 2);
    expect(delivered).toMatchObject({ status: "delivered", attempts: [{ status: 500 }, { status: 204 }] });
    const [first, second] = receiver.at("/again");
    expect([second?.body, second?.headers["webhook-id"]]).toEqual([first?.body, first?.headers["webhook-id"]]);
    new Webhook(endpoint.signingSecret).verify(second?.body ?? "", second?.headers ?? {});
  });

  test("an event of two endpoints: one body and id, a signature for each", async () => {
    const caller = await seedCaller(db);
    const endpoints = await Promise.all(
      ["/one", "/two"].map((path) => seedSealedEndpoint(db, caller, { url: urlOf(path), events: ["avatar.*"] })),
    );
    await seedAvatar(db, caller);
    for (const { id } of endpoints) await settled(db, id);
    const [[one], [two]] = [receiver.at("/one"), receiver.at("/two")];
    expect([two?.body, two?.headers["webhook-id"]]).toEqual([one?.body, one?.headers["webhook-id"]]);
    for (const [index, message] of [one, two].entries()) {
      new Webhook(endpoints[index]?.signingSecret ?? "").verify(message?.body ?? "", message?.headers ?? {});
    }
  });

  test("an endpoint without a URL: its body is stored; the delivery needs no attempt", async () => {
    const caller = await seedCaller(db);
    const endpoint = await seedSealedEndpoint(db, caller, { url: null });
    const avatar = await seedAvatar(db, caller);
    const [delivery] = await settled(db, endpoint.id);
    expect(delivery).toMatchObject({ status: "delivered", attempts: [] });
    const [stored] = await db.client`select body from webhook_events where id = ${delivery?.eventId ?? ""}`;
    expect(JSON.parse(stored?.["body"])).toMatchObject({ type: "avatar.created", data: { id: avatar.id } });
  });
});

describe("an endpoint, between two attempts", () => {
  /** An endpoint whose first attempt failed. */
  const failing = async (path: string) => {
    const caller = await seedCaller(db);
    statuses.set(path, 500);
    const endpoint = await seedSealedEndpoint(db, caller, { url: urlOf(path), events: ["avatar.created"] });
    await seedAvatar(db, caller);
    await settled(db, endpoint.id);
    statuses.delete(path);
    return { caller, endpoint };
  };

  test("its URL changed: the next attempt goes to the new one", async () => {
    const { caller, endpoint } = await failing("/old");
    await updateEndpoint(db, endpoint.id, { url: urlOf("/new") }, { versions: null }, caller, seedOrigin(caller));
    await makeDue(endpoint.id);
    expect(await settled(db, endpoint.id, 2)).toMatchObject([{ status: "delivered" }]);
    expect([receiver.at("/old").length, receiver.at("/new").length]).toEqual([1, 1]);
  });

  test("its events changed: the delivery is canceled, and nothing is sent", async () => {
    const { caller, endpoint } = await failing("/deselected");
    await updateEndpoint(db, endpoint.id, { events: ["asset.*"] }, { versions: null }, caller, seedOrigin(caller));
    await makeDue(endpoint.id);
    expect(await settled(db, endpoint.id, 2)).toMatchObject([{ status: "canceled" }]);
    expect(receiver.at("/deselected")).toHaveLength(1);
  });

  test("disabled: the delivery is canceled, and nothing is sent", async () => {
    const { caller, endpoint } = await failing("/disabled");
    await updateEndpoint(db, endpoint.id, { status: "disabled" }, { versions: null }, caller, seedOrigin(caller));
    await makeDue(endpoint.id);
    expect(await settled(db, endpoint.id, 2)).toMatchObject([{ status: "canceled" }]);
    expect(receiver.at("/disabled")).toHaveLength(1);
  });

  test("deleted: the delivery is canceled, and nothing is sent", async () => {
    const { caller, endpoint } = await failing("/deleted");
    await deleteEndpoint(db, endpoint.id, { versions: null }, caller, seedOrigin(caller));
    await makeDue(endpoint.id);
    expect(await settled(db, endpoint.id, 2)).toMatchObject([{ status: "canceled" }]);
    expect(receiver.at("/deleted")).toHaveLength(1);
  });
});

test("a secret that was sealed with another key: nothing is sent; the operator is warned; sent when the key is right", async () => {
  const caller = await seedCaller(db);
  const endpoint = await seedSealedEndpoint(db, caller, { url: urlOf("/sealed"), events: ["avatar.created"] });
  const other = sealWebhookSecret(endpoint.signingSecret, endpoint.id, new Uint8Array(32), random);
  const sealed = await db.client`select secret from webhook_endpoints where id = ${endpoint.id}`;
  await db.client`update webhook_endpoints set secret = ${other as Buffer} where id = ${endpoint.id}`;
  await seedAvatar(db, caller);
  await until(() => sender.log.join().includes("cannot be opened"));
  await until(async () => ((await deliveriesTo(db, endpoint.id))[0]?.pause ?? 0) > 10);
  expect(await deliveriesTo(db, endpoint.id)).toMatchObject([{ status: "pending", attemptCount: 0, attempts: [] }]);
  expect(receiver.at("/sealed")).toEqual([]);
  await db.client`update webhook_endpoints set secret = ${sealed[0]?.["secret"]} where id = ${endpoint.id}`;
  await makeDue(endpoint.id);
  expect(await settled(db, endpoint.id)).toMatchObject([{ status: "delivered" }]);
  expect(sender.log.join()).not.toContain(endpoint.signingSecret);
});
