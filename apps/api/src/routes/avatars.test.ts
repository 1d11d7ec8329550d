import { afterAll, beforeAll, describe, expect, setDefaultTimeout, test } from "bun:test";
import { parseApiKey } from "@realtime-avatar/domain/api-key-secret";
import { Avatar } from "@realtime-avatar/domain/avatar";
import { isId } from "@realtime-avatar/domain/id";
import { validate } from "@realtime-avatar/domain/schema";
import { rowCounts, startApi, type TestApi } from "../../test/support/api.ts";

// No test asserts a time: a slow disk must not fail one.
setDefaultTimeout(60_000);

const PATH = "/api/v1/avatars";
let api: TestApi;
let live: string;
let inTest: string;

beforeAll(async () => {
  api = await startApi();
  live = await api.key({ environment: "live", scopes: ["avatars:write"] });
  inTest = await api.key({ environment: "test", scopes: ["avatars:write"] });
});
afterAll(() => api.close());

const create = (body: unknown, key = live) => api.call("POST", PATH, { key, body });

describe("creating an avatar", () => {
  test("answers 201 with the avatar, where it is and its version, and writes what it answers", async () => {
    const asked = {
      displayName: "Ada 👩‍🚀",
      sourceKind: "video",
      modelId: "m-2",
      sourceAssetId: "ast_01h455vb4pex5vsknk084sn02q",
      defaultVoiceId: "voice-12",
      settings: { speed: 1.5, nested: { deep: [1, null, true, "x"] } },
      metadata: { "": "", order: "ä" },
    };
    const { status, headers, body } = await create(asked);
    expect(status).toBe(201);
    expect(headers.get("content-type")).toStartWith("application/json");
    expect(headers.get("location")).toBe(`${PATH}/${body.id}`);
    expect(headers.get("etag")).toBe('"1"');
    expect(validate(Avatar, body)).toEqual([]);
    expect(isId("ava", body.id)).toBe(true);
    expect(body).toEqual({
      ...asked,
      id: body.id,
      tenantId: api.tenantId,
      environment: "live",
      status: "draft",
      cacheManifestId: null,
      cacheVersion: 0,
      createdAt: body.createdAt,
      updatedAt: body.createdAt,
    });

    expect(await api.database.db.client`select * from avatars where id = ${body.id}`).toMatchObject([
      {
        tenant_id: api.tenantId,
        environment: "live",
        display_name: asked.displayName,
        source_kind: "video",
        model_id: "m-2",
        status: "draft",
        source_asset_id: asked.sourceAssetId,
        default_voice_id: "voice-12",
        cache_manifest_id: null,
        cache_version: "0",
        settings: asked.settings,
        metadata: asked.metadata,
        version: 1,
        created_at: new Date(body.createdAt),
        updated_at: new Date(body.createdAt),
      },
    ]);
    expect(await api.database.db.client`select * from audit_events where target_id = ${body.id}`).toMatchObject([
      {
        tenant_id: api.tenantId,
        environment: "live",
        actor_key_id: parseApiKey(live)?.keyId,
        action: "avatar.created",
        request_id: headers.get("x-request-id"),
      },
    ]);
  });

  test("without more than it needs, it takes the configured model, and null and {} for the rest", async () => {
    const { status, body } = await create({ displayName: "x", sourceKind: "image" });
    expect(status).toBe(201);
    expect(body).toMatchObject({
      modelId: "model-of-the-test",
      sourceAssetId: null,
      defaultVoiceId: null,
      cacheManifestId: null,
      settings: {},
      metadata: {},
    });
  });

  test("belongs to the environment of the key", async () => {
    const { body } = await create({ displayName: "x", sourceKind: "image" }, inTest);
    expect(body.environment).toBe("test");
    const [row] = await api.database.db.client`select environment from avatars where id = ${body.id}`;
    expect(row?.["environment"]).toBe("test");
  });

  test("needs avatars:write: reading, or anything else, does not do", async () => {
    const others = await api.key({ scopes: ["avatars:read", "api_keys:write", "realtime:write"] });
    const before = await rowCounts(api.database);
    const { status, body } = await create({ displayName: "x", sourceKind: "image" }, others);
    expect([status, body.code, body.requiredScope]).toEqual([403, "insufficient_scope", "avatars:write"]);
    expect(body.grantedScopes).toEqual(["avatars:read", "api_keys:write", "realtime:write"]);
    expect(await rowCounts(api.database)).toEqual(before);
    const all = await api.key({ scopes: ["*"] });
    expect((await create({ displayName: "x", sourceKind: "image" }, all)).status).toBe(201);
  });

  test("tells everything that is wrong, repeats none of it, and writes nothing", async () => {
    const before = await rowCounts(api.database);
    const wrong = {
      displayName: "",
      sourceKind: "forbidden-kind",
      modelId: 7,
      defaultVoiceId: "short",
      settings: "forbidden-settings",
      metadata: { note: "forbidden\u0000note" },
      extra: "forbidden-extra",
    };
    const { status, body, text } = await create(wrong);
    expect([status, body.code]).toEqual([422, "validation_failed"]);
    expect(body.errors.map(({ pointer, code }: Record<string, string>) => `${pointer} ${code}`)).toEqual([
      "#/displayName too_short",
      "#/sourceKind not_allowed",
      "#/modelId wrong_type",
      "#/defaultVoiceId too_short",
      "#/settings wrong_type",
      "#/metadata/note invalid_text",
      "#/extra unknown_field",
    ]);
    expect(text).not.toContain("forbidden");
    expect(await rowCounts(api.database)).toEqual(before);
  });
});
