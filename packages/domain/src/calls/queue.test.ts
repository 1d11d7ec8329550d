import { expect, test } from "bun:test";
import type { ApiKeyId, AvatarId } from "../id.ts";
import { validate } from "../schema.ts";
import { presentQueued, ticketFingerprint } from "./queue.ts";
import { QueuedCall } from "./schemas.ts";

test("the fingerprint of a request: equal by key, avatar and metadata, in any order of members", () => {
  const base = { apiKeyId: "key_1" as ApiKeyId, avatarId: "ava_1" as AvatarId, metadata: { a: "1", b: "2" } };
  const fingerprint = ticketFingerprint(base);
  expect(ticketFingerprint({ ...base, metadata: { b: "2", a: "1" } })).toBe(fingerprint);
  for (const other of [
    { metadata: { a: "1" } },
    { apiKeyId: "key_2" as ApiKeyId },
    { avatarId: "ava_2" as AvatarId },
  ]) {
    expect(ticketFingerprint({ ...base, ...other })).not.toBe(fingerprint);
  }
});

test("the response to a queued request: valid, and without a code, because the SDK takes a code for an error", () => {
  const queued = presentQueued({ ticketId: "tkt_5", position: 3, size: 5 });
  expect(validate(QueuedCall, queued)).toEqual([]);
  expect(queued).toMatchObject({ queue_size: 5, queue_position: 3, recommended_retry_ms: 2000 });
  expect(Object.keys(queued)).not.toContain("code");
});
