/** Videos in the conformance test: requests for each documented response that takes more than one request. */
import { expect } from "bun:test";
import type { CreateApiKey } from "@realtime-avatar/domain/api-keys/schemas";
import type { TestDatabase } from "@realtime-avatar/testing/database";
import { EXAMPLES } from "../../../src/openapi/examples.ts";
import { type Answer, one, type Sent } from "./conformance.ts";
import type { Described } from "./openapi.ts";

type Send = (described: Described, sent: Sent) => Promise<Answer>;
type Callers = {
  send: Send;
  /** Sends a request to a service that allows a tenant one running video. */
  sendLimited: Send;
  newKey: (request?: Partial<CreateApiKey>) => Promise<{ record: { id: string }; key: string }>;
  /** A key of a tenant without credits. */
  poor: string;
};

/** The ready avatar of the examples. */
const { avatarId } = EXAMPLES.CreateVideo;
const BODY = { avatarId, text: "Hello." };
const create = one("createVideo");

const expectRefusals = async ({ send, sendLimited, newKey, poor }: Callers): Promise<void> => {
  const { key: capped } = await newKey({ spendLimitCreditMicros: 1 });
  expect((await send(create, { key: capped, body: BODY })).code).toBe("spend_limit_exceeded");
  expect((await send(create, { key: poor, body: BODY })).code).toBe("insufficient_credits");
  expect((await send(create, { body: { ...BODY, avatarId: "x" } })).code).toBe("not_found");
  const made = await send(one("createAvatar"), { body: { displayName: "x", sourceKind: "image" } });
  const draft = { ...BODY, avatarId: JSON.parse(made.text).id };
  expect((await send(create, { body: draft })).code).toBe("avatar_not_ready");
  expect((await send(create, { body: BODY })).status).toBe(201);
  expect((await sendLimited(create, { body: BODY })).code).toBe("concurrency_limit_reached");
};

const expectReplays = async ({ send, newKey }: Callers): Promise<void> => {
  const headers = { "idempotency-key": "videos" };
  const { key } = await newKey();
  const first = await send(create, { key, headers, body: BODY });
  const again = await send(create, { key, headers, body: BODY });
  expect([again.text, again.headers.get("idempotent-replayed")]).toEqual([first.text, "true"]);
  const other = { ...BODY, text: "Bye." };
  expect((await send(create, { key, headers, body: other })).code).toBe("idempotency_key_reused");
};

const expectChanges = async ({ send, newKey }: Callers, { client }: TestDatabase["db"]): Promise<void> => {
  const { id } = JSON.parse((await send(create, { body: BODY })).text);
  expect((await send(one("getVideo"), { id, headers: { "if-none-match": '"1"' } })).status).toBe(304);
  const remove = one("deleteVideo");
  expect((await send(remove, { id, headers: { "if-match": '"9"' } })).code).toBe("precondition_failed");
  const { key: child } = await newKey({ scopes: ["realtime:write"] });
  expect((await send(remove, { id, key: child })).code).toBe("insufficient_scope");
  const { id: file } = JSON.parse((await send(one("uploadAsset"), {})).text);
  await client`update assets set status = 'ready', sha256 = ${"0".repeat(64)} where id = ${file}`;
  await client`
    update videos set status = 'ready', asset_id = ${file}, duration_ms = 1, billed_seconds = 0, billed_credit_micros = 0
    where id = ${id}`;
  await send(one("createAvatar"), { body: { displayName: "x", sourceKind: "image", sourceAssetId: file } });
  expect((await send(remove, { id })).code).toBe("asset_in_use");
};

/** Causes each documented response of videos that takes more than one request, and checks it. */
export const expectVideoResponses = async (callers: Callers, db: TestDatabase["db"]): Promise<void> => {
  await expectRefusals(callers);
  await expectReplays(callers);
  await expectChanges(callers, db);
};
