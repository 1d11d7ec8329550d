/** The published SDK works unchanged with the service: its reads of credits and sessions, and its assets. */
import { expect, test } from "bun:test";
import { RealtimeAvatar, RealtimeAvatarHttpError } from "realtime-avatar";
import { startApi } from "../support/api.ts";
import { PNG } from "../support/forms.ts";

const PATH = "/api/v1/usage/sessions";
const openAndUse = async (seconds: number, metadata: object): Promise<string> => {
  const { body } = await api.call("POST", PATH, { key: apiKey, body: { maxSessionSeconds: seconds, metadata } });
  await api.call("POST", `${PATH}/${body.sessionId}/usage`, { key: apiKey, body: { usedCreditMicros: 1_000_000 } });
  return body.sessionId;
};

const api = await startApi();
const apiKey = await api.key({ environment: "test", scopes: ["*", "usage:write"] });
const sdk = new RealtimeAvatar({ apiKey, baseUrl: `${api.url}/api/v1` });

test("the SDK, reading credits and sessions: the service's figures and pages", async () => {
  expect(await sdk.creditBalance()).toMatchObject({ balanceCreditMicros: 3_600_000_000, reservedCreditMicros: 0 });
  const opened: string[] = [];
  for (let made = 0; made < 5; made++) opened.unshift(await openAndUse(10, { user_id: made % 2 ? "odd" : "even" }));
  const [newest = ""] = opened;
  await api.call("POST", `${PATH}/${newest}/release`, { key: apiKey, body: { usedCreditMicros: 2_000_000 } });
  expect(await sdk.creditBalance()).toMatchObject({
    balanceCreditMicros: 3_598_000_000,
    reservedCreditMicros: 40_000_000,
  });

  const page = await sdk.listSessions({ limit: 2 });
  expect(page.sessions.map(({ sessionId }) => sessionId)).toEqual(opened.slice(0, 2));
  expect(page.sessions).toMatchObject([
    { status: "released", billedCreditMicros: 2_000_000, metadata: { user_id: "even" }, avatarId: null },
    { status: "started", billedCreditMicros: null, endedAt: null, metadata: { user_id: "odd" } },
  ]);
  expect(Number.isInteger(page.sessions[0]?.activeSeconds)).toBe(true);
  expect(Date.parse(page.to) - Date.parse(page.from)).toBe(30 * 86_400_000);

  const idsOf = async (options: Parameters<RealtimeAvatar["iterateSessions"]>[0]) =>
    (await Array.fromAsync(sdk.iterateSessions(options))).map(({ sessionId }) => sessionId);
  expect(await idsOf({ limit: 2 })).toEqual(opened);
  expect(await idsOf({ limit: 200 })).toEqual(opened);
  // The SDK repeats all options with each cursor.
  const from = new Date(Date.now() - 3_600_000).toISOString();
  const to = new Date(Date.now() + 3_600_000).toISOString();
  expect(await idsOf({ limit: 1, endUserId: "even", from, to })).toEqual(opened.filter((_, at) => at % 2 === 0));
  expect(await idsOf({ limit: 1, to: from })).toEqual([]);
});

test("the SDK, refused: an error with the status", async () => {
  const poor = new RealtimeAvatar({
    apiKey: await api.key({ scopes: ["avatars:read"] }),
    baseUrl: `${api.url}/api/v1`,
    maxRetries: 0,
  });
  for (const work of [() => poor.creditBalance(), () => poor.listSessions()]) {
    const error = await work().then(
      () => null,
      (error: unknown) => error,
    );
    expect(error).toBeInstanceOf(RealtimeAvatarHttpError);
    expect((error as RealtimeAvatarHttpError).status).toBe(403);
  }
});

test("the SDK, uploading and importing assets, then building avatars: accepted", async () => {
  const uploaded = await sdk.uploadAsset(new Blob([PNG], { type: "image/png" }), {
    kind: "image",
    filename: "ada.png",
  });
  expect(uploaded).toMatchObject({
    kind: "image",
    contentType: "image/png",
    sizeBytes: PNG.length,
    status: "uploaded",
  });
  expect(uploaded.url).toStartWith(`${api.url}/public/assets/`);
  const withoutName = await sdk.uploadAsset(new Blob([PNG]));
  expect(withoutName).toMatchObject({ kind: "image", status: "uploaded" });
  const imported = await sdk.createRemoteAsset({ kind: "image", remoteUrl: "https://example.com/ada.jpg" });
  expect(imported).toMatchObject({ kind: "image", contentType: null, sizeBytes: null, status: "pending_upload" });

  for (const sourceAssetId of [uploaded.id, withoutName.id, imported.id]) {
    const avatar = await sdk.createAvatar({ displayName: "Ada", sourceKind: "image", sourceAssetId });
    expect(avatar).toMatchObject({ displayName: "Ada", sourceKind: "image", sourceAssetId });
  }
  // The SDK imports and creates in one step, before the file is available.
  const avatar = await sdk.createAvatarFromImage({ displayName: "Ada", imageUrl: "https://example.com/ada.jpg" });
  expect(avatar.sourceAssetId).toStartWith("ast_");

  const refused = await sdk.uploadAsset(new Blob(["hello"]), { kind: "image" }).catch((error: unknown) => error);
  expect(refused).toBeInstanceOf(RealtimeAvatarHttpError);
  expect((refused as RealtimeAvatarHttpError).status).toBe(422);
});
