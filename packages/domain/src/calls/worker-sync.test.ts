import { expect, test } from "bun:test";
import { validate } from "../schema.ts";
import { withoutUnknownFields } from "./known-fields.ts";
import { toEndReason } from "./lifecycle.ts";
import { INPUT_FIELDS, RELEASE_REASONS } from "./schemas.ts";
import {
  AssignedCall,
  callFilePath,
  isWorkerId,
  MAX_FIRST_FEATURES,
  readSyncResponse,
  SyncRequest,
  SyncResponse,
  syncPath,
  WIRE_2,
} from "./worker-sync.ts";

const call = { session_id: "ses_1", generation: 1 };

test("a sync of a worker: valid with a call in each state", () => {
  const calls = [
    { ...call, state: "joining", used_seconds: 0 },
    { ...call, state: "ended", used_seconds: 4, reason: "idle" },
  ];
  expect(validate(SyncRequest, { slots: 4, features: [], calls })).toEqual([]);
  expect(validate(SyncRequest, { slots: 0, features: [], calls: [] })).toEqual([]);
});

test.each([
  [{ slots: 1001, features: [], calls: [] }, "#/slots"],
  [
    { slots: 1, features: [], calls: [{ ...call, generation: 0, state: "joined", used_seconds: 0 }] },
    "#/calls/0/generation",
  ],
  [
    { slots: 1, features: [], calls: [{ ...call, generation: 2 ** 31, state: "joined", used_seconds: 0 }] },
    "#/calls/0/generation",
  ],
  [{ slots: 1, features: [], calls: [{ ...call, state: "gone", used_seconds: 0 }] }, "#/calls/0/state"],
  [{ slots: 1, features: [], calls: [{ ...call, state: "joined", used_seconds: -1 }] }, "#/calls/0/used_seconds"],
])("a sync, %j: refused at %s", (request, pointer) => {
  expect(validate(SyncRequest, request).map((error) => error.pointer)).toEqual([pointer]);
});

test("a response: starts a call, ends one with a reason, and removes one without a reason", () => {
  const start = {
    ...call,
    environment: "live",
    url: "wss://x",
    token: "t",
    agent_identity: null,
    mode: "avatar",
    avatar: { avatar_id: "ava_1", manifest: { pictures: null } },
    input: { stt_mode: "server" },
    max_seconds: 60,
    limit: "session_cap",
    used_seconds: 0,
    idle_seconds: 120,
    away_seconds: 10,
  };
  const end = [
    { ...call, reason: "user_ended" },
    { ...call, reason: null },
  ];
  expect(validate(SyncResponse, { lease_seconds: 15, start: [start], end })).toEqual([]);
});

test("a sync with features of a later release: valid, also beside those of a renderer", () => {
  const features = [WIRE_2, ...INPUT_FIELDS, "of-a-later-release"];
  expect(validate(SyncRequest, { slots: 1, features, calls: [] })).toEqual([]);
  // The limit of the previous release.
  expect(1 + INPUT_FIELDS.length).toBeLessThanOrEqual(MAX_FIRST_FEATURES);
});

test("fields that a reader does not know: dropped at any depth; known fields are validated", () => {
  const later = { later: { deep: [1] } };
  const sync = { slots: 1, features: [], calls: [{ ...call, state: "joined", used_seconds: 0, ...later }], ...later };
  expect(withoutUnknownFields(SyncRequest, sync)).toEqual({
    slots: 1,
    features: [],
    calls: [{ ...call, state: "joined", used_seconds: 0 }],
  });
  const response = { lease_seconds: 15, start: [], end: [{ ...call, reason: null, ...later }], ...later };
  expect(readSyncResponse(response) as unknown).toEqual({
    lease_seconds: 15,
    start: [],
    end: [{ ...call, reason: null }],
  });
  for (const invalid of [null, [], "x", { ...response, end: [{ ...call, reason: "later" }] }, { lease_seconds: 15 }]) {
    expect(readSyncResponse(invalid)).toBeNull();
  }
});

test("a manifest: keeps all its members, known or not", () => {
  const manifest = { pictures: null, later: { deep: [1] } };
  expect(withoutUnknownFields(AssignedCall, { avatar: { avatar_id: "ava_1", manifest, later: 1 }, later: 1 })).toEqual({
    avatar: { avatar_id: "ava_1", manifest },
  });
});

test("the id of a worker: contains no character that changes a path", () => {
  expect(isWorkerId("wrk_1-A")).toBe(true);
  for (const id of ["", "a/b", "..", "a?b", "a b", "x".repeat(65)]) expect(isWorkerId(id)).toBe(false);
  expect(syncPath("wrk_1")).toBe("/internal/avatar-workers/wrk_1/sync");
  expect(callFilePath("wrk_1", "ses_1", "1/ab-webp")).toBe(
    "/internal/avatar-workers/wrk_1/calls/ses_1/files/1/ab-webp",
  );
});

test("the reasons of a release, for the person: each has a text", () => {
  expect(RELEASE_REASONS.map(toEndReason)).toEqual([
    "user_ended",
    "disconnected",
    "user_ended",
    "user_ended",
    "user_ended",
    "idle",
  ]);
  expect(toEndReason(undefined)).toBe("user_ended");
});
