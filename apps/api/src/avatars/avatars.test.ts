import { describe, expect, test } from "bun:test";
import { parseApiKey } from "@realtime-avatar/domain/api-keys/secret";
import { Avatar, type CreateAvatar, type UpdateAvatar } from "@realtime-avatar/domain/avatars/schemas";
import { isId } from "@realtime-avatar/domain/id";
import { validate } from "@realtime-avatar/domain/schema";
import { rowCounts, startApi } from "../../test/support/api.ts";
import { assetCalls } from "../../test/support/assets.ts";
import { createFile } from "../../test/support/forms.ts";

const PATH = "/api/v1/avatars";

const api = await startApi();
const live = await api.key({ environment: "live", scopes: ["avatars:write"] });
const reading = await api.key({ environment: "live", scopes: ["avatars:read", "avatars:write"] });
const inTest = await api.key({ environment: "test", scopes: ["avatars:write"] });

const { make: makeAsset } = assetCalls(api, live);
const create = (body: unknown, key = live) => api.call("POST", PATH, { key, body });

describe("the creation of an avatar", () => {
  test("a create, with a malformed If-Match: 201, because only changes read it", async () => {
    const body = { displayName: "Ada", sourceKind: "image" };
    expect((await api.call("POST", PATH, { key: live, body, headers: { "if-match": "?" } })).status).toBe(201);
  });

  test("a new avatar, all fields set: 201 with location and version, stored as sent", async () => {
    const fields = {
      displayName: "Ada 👩‍🚀",
      sourceKind: "video",
      modelId: "m-2",
      sourceAssetId: (await makeAsset({ by: live }, createFile("video", 100))).id,
      defaultVoiceId: "voice-12",
      settings: { speed: 1.5, nested: { deep: [1, null, true, "x"] } },
      metadata: { "": "", order: "ä" },
    } satisfies Required<CreateAvatar>;
    const { status, headers, body } = await create(fields);
    expect(status).toBe(201);
    expect(headers.get("content-type")).toStartWith("application/json");
    expect(headers.get("location")).toBe(`${PATH}/${body.id}`);
    expect(headers.get("etag")).toBe('"1"');
    expect(validate(Avatar, body)).toEqual([]);
    expect(isId("ava", body.id)).toBe(true);
    expect(body).toEqual({
      ...fields,
      id: body.id,
      tenantId: api.tenantId,
      environment: "live",
      status: "preprocessing",
      pendingSourceAssetId: null,
      error: null,
      checks: [],
      previewUrl: null,
      animatedPreviewUrl: null,
      cacheManifestId: null,
      cacheVersion: 0,
      createdAt: body.createdAt,
      updatedAt: body.createdAt,
    });

    expect(await api.database.db.client`select * from avatars where id = ${body.id}`).toMatchObject([
      {
        tenant_id: api.tenantId,
        environment: "live",
        display_name: fields.displayName,
        source_kind: "video",
        model_id: "m-2",
        status: "preprocessing",
        generation: 1,
        source_asset_id: fields.sourceAssetId,
        default_voice_id: "voice-12",
        cache_manifest_id: null,
        cache_version: "0",
        settings: fields.settings,
        metadata: fields.metadata,
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

  // Sources are prepared first, and have their own tests.
  test("every field, created and then changed: read and listed as written, and named in the audit event", async () => {
    const written = {
      displayName: "first",
      modelId: "m-1",
      defaultVoiceId: "voice-11",
      settings: { at: 1 },
      metadata: { at: 1 },
    } satisfies Required<Omit<UpdateAvatar, "status" | "sourceAssetId">>;
    const changed: typeof written = {
      displayName: "second",
      modelId: "m-2",
      defaultVoiceId: "voice-22",
      settings: { at: 2 },
      metadata: { at: 2 },
    };
    const { id } = (await create({ ...written, sourceKind: "image" }, reading)).body;
    const read = async () => (await api.call("GET", `${PATH}/${id}`, { key: reading })).body;
    expect(await read()).toMatchObject(written);
    for (const [name, value] of Object.entries(changed)) {
      const response = await api.call("PATCH", `${PATH}/${id}`, { key: reading, body: { [name]: value } });
      expect(response.body).toMatchObject({ [name]: value });
      const avatar = await read();
      expect(avatar).toEqual(response.body);
      const { data } = (await api.call("GET", `${PATH}?id=${id}`, { key: reading })).body;
      expect(data).toEqual([avatar]);
      const events = await api.database.db.client`
        select changed_fields from audit_events where target_id = ${id} order by id desc limit 1`;
      expect(events).toMatchObject([{ changed_fields: [name] }]);
    }
    expect(await read()).toMatchObject(changed);
  });

  test("a new avatar, only required fields: the configured model, null and {} elsewhere", async () => {
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

  test("the environment of a new avatar: the environment of the key", async () => {
    const { body } = await create({ displayName: "x", sourceKind: "image" }, inTest);
    expect(body.environment).toBe("test");
    const [row] = await api.database.db.client`select environment from avatars where id = ${body.id}`;
    expect(row?.["environment"]).toBe("test");
  });

  test("a new avatar, many fields wrong: every error listed, no value repeated, nothing written", async () => {
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

describe("metadata", () => {
  /** Returns where values with the member `marker` are serialized while `send` runs: the nearest callers. */
  const serializationsOf = async (send: () => Promise<Response>): Promise<string[]> => {
    const frames: string[] = [];
    // JSON.stringify and its native variants read `toJSON` of every object.
    Object.defineProperty(Object.prototype, "toJSON", {
      configurable: true,
      get(this: object) {
        if (Object.hasOwn(this, "marker")) frames.push(new Error().stack?.split("\n").slice(3, 5).join() ?? "");
      },
    });
    try {
      expect((await send()).status).toBeOneOf([200, 201]);
    } finally {
      Reflect.deleteProperty(Object.prototype, "toJSON");
    }
    return frames;
  };

  const requestOf = (method: string, path: string, text?: string, headers: Record<string, string> = {}) => {
    const authorization = { authorization: `Bearer ${reading}`, "content-type": "application/json" };
    return new Request(`http://localhost${path}`, {
      method,
      headers: { ...authorization, ...headers },
      ...(text === undefined ? {} : { body: text }),
    });
  };

  test("metadata, in each request: serialized once", async () => {
    const text = '{"displayName":"Ada","sourceKind":"image","metadata":{"marker":1,"team":"support"}}';
    const { id } = (await create(JSON.parse(text))).body;
    const requests = [
      requestOf("POST", PATH, text),
      requestOf("POST", PATH, text, { "idempotency-key": "serialized-once" }),
      requestOf("GET", `${PATH}/${id}`),
    ];
    for (const request of requests) {
      expect(await serializationsOf(async () => api.app.handle(request))).toEqual([
        expect.stringContaining("jsonText"),
      ]);
    }
    // The request and the stored avatar are two separate values.
    const update = requestOf("PATCH", `${PATH}/${id}`, '{"metadata":{"marker":2}}');
    expect(await serializationsOf(async () => api.app.handle(update))).toHaveLength(2);
  });
});
