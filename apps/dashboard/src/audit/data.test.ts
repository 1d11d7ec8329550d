import { expect, test } from "bun:test";
import { readFile } from "node:fs/promises";
import { join } from "node:path";
import { UpdateApiKey } from "@realtime-avatar/domain/api-keys/schemas";
import { UpdateAvatar } from "@realtime-avatar/domain/avatars/schemas";
import { UpdateWebhookEndpoint } from "@realtime-avatar/domain/webhooks/schemas";
import { ACTION_TEXTS, auditQuery, fieldsText, serviceText } from "./data.ts";

/** The fields that the database names when an avatar changes. */
const AVATAR_FIELDS = join(import.meta.dir, "../../../../packages/db/src/audit/sql/changed_fields.sql");

test("each field that can change: shown in words", async () => {
  const sql = await readFile(AVATAR_FIELDS, "utf8");
  const ofAvatars = [...sql.matchAll(/then '(\w+)' end/g)].map(([, field = ""]) => field);
  expect(ofAvatars).toEqual(expect.arrayContaining(Object.keys(UpdateAvatar.properties)));
  const schemas = [UpdateApiKey, UpdateAvatar, UpdateWebhookEndpoint];
  const fields = [...ofAvatars, ...schemas.flatMap(({ properties }) => Object.keys(properties))];
  for (const field of fields) expect(fieldsText({ changedFields: [field] })).toMatch(/^([a-z ]+|URL)$/);
});

test("fields with the same word: shown once; a field of a later version: its name", () => {
  expect(fieldsText({ changedFields: ["keyId", "redactedKey", "newField"] })).toBe("secret, newField");
});

test("each action: different words, so that no filter lists a word twice", () => {
  const texts = Object.values(ACTION_TEXTS);
  expect(new Set(texts).size).toBe(texts.length);
});

test("the events of some days: from the midnight before the first day to the midnight after the last", () => {
  const midnight = (date: number): string => new Date(2026, 10, date).toISOString();
  expect(auditQuery({ since: "2026-11-20", until: "2026-11-21" })).toEqual({ from: midnight(20), to: midnight(22) });
});

test("the filters of events: parameters of the API; unset filters are omitted", () => {
  expect(auditQuery({})).toEqual({});
  const filters = { action: "api_key.revoked", target: "key_1", actor: "usr_1" };
  expect(auditQuery(filters)).toEqual({ action: "api_key.revoked", targetId: "key_1", actorId: "usr_1" });
});

test.each([
  ["api_key.reported_leaked", "a report of its secret"],
  ["api_key.revoked", "the service or its operator"],
  ["credits.granted", "the operator of the service"],
  ["avatar.prepared", "the service itself"],
  ["avatar.preparation_failed", "the service itself"],
  ["avatar.deleted", "the service or its operator"],
  ["asset.failed", "the service itself"],
  ["webhook_endpoint.disabled", "the service itself"],
  ["usage_session.ended", "the service or its operator"],
] as const)("the event %s without a key or a person: by %s", (action, text) => expect(serviceText(action)).toBe(text));
