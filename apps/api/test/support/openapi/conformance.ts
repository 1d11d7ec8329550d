/**
 * Generates requests from the OpenAPI document, and compares responses with it: status, headers and body. The document
 * is generated from the current routes.
 */
import { expect } from "bun:test";
import { remoteUrlErrors } from "@realtime-avatar/domain/assets/remote-url";
import type { CreateUpload } from "@realtime-avatar/domain/assets/schemas";
import { uploadErrors } from "@realtime-avatar/domain/assets/upload";
import type { StartCall } from "@realtime-avatar/domain/calls/schemas";
import { recordingErrors } from "@realtime-avatar/domain/calls/start";
import { transcriptUrlErrors } from "@realtime-avatar/domain/calls/transcript";
import { type CreateTurn, turnErrors } from "@realtime-avatar/domain/calls/turns";
import type { ProblemCode } from "@realtime-avatar/domain/problem";
import type { CreateVideo } from "@realtime-avatar/domain/videos/schemas";
import { videoErrors } from "@realtime-avatar/domain/videos/video";
import { webhookUrlErrors } from "@realtime-avatar/domain/webhooks/url";
import { FLITE_SETTINGS } from "@realtime-avatar/speech/settings";
import { spokenText, voiceText } from "@realtime-avatar/speech/text";
import { defaultVoice, findVoice } from "@realtime-avatar/speech/voices";
import type { seedKey } from "@realtime-avatar/testing/seeds";
import fc from "fast-check";
import { EXAMPLES } from "../../../src/openapi/examples.ts";
import { describeApi } from "../../../src/openapi/write-file.ts";
import type { createTestApp } from "../api.ts";
import { createFile, encodeForm, fieldPart, filePart, formType, md5Base64, PNG } from "../forms.ts";
import {
  arbitraryValues,
  type Described,
  describedOperations,
  documentValidator,
  type OpenApi,
  type Parameter,
  resolved,
  type Schema,
  valuesAround,
} from "./openapi.ts";

export const document = JSON.parse(JSON.stringify(describeApi())) as OpenApi;
export const validator = documentValidator(document);
/** Operations of people have a separate test, because their requests need a browser's session. */
const OF_PEOPLE = /^\/api\/v1\/(users|user-sessions|invitations|passkeys|identities)(\/|$)/;
/** Operations of a provider need a provider, and redirect to its pages: see `people/oidc-flow.test.ts`. */
const OF_PROVIDER = /^\/api\/v1\/oidc\//;
const all = describedOperations(document).filter(({ path }) => !OF_PROVIDER.test(path));
export const operations = all.filter(({ path }) => !OF_PEOPLE.test(path));
export const operationsOfPeople = all.filter(({ path }) => OF_PEOPLE.test(path));

export type Sent = {
  key?: string | null;
  id?: string;
  query?: string;
  /** Sent as JSON, or unchanged if it is text or bytes. */
  body?: unknown;
  text?: string | Uint8Array;
  headers?: Record<string, string>;
};
export type Answer = { status: number; headers: Headers; text: string; code: ProblemCode | null };

/** The default form. */
const FORM = encodeForm([filePart(PNG)]);

let clients = 0;
/** Sends a request. Throws when the response differs from the document. */
export const sendTo = async (
  app: ReturnType<typeof createTestApp>,
  { method, path, operation }: Described,
  { key = null, id = "", query = "", body, text: raw, headers = {} }: Sent,
): Promise<Answer> => {
  clients++;
  const isForm = operation.requestBody?.content["multipart/form-data"] !== undefined;
  const json = body === undefined ? undefined : JSON.stringify(body);
  const sent = raw ?? (isForm ? FORM : json);
  const url = `http://localhost${path.replace(/\{\w+\}/, id)}${query === "" ? "" : `?${query}`}`;
  const response = await app.handle(
    new Request(url, {
      method,
      headers: {
        // Every request is from another client, so that limits by client are reached only on purpose.
        "x-forwarded-for": `10.${(clients >> 16) & 255}.${(clients >> 8) & 255}.${clients & 255}`,
        ...(key === null || operation.security.length === 0 ? {} : { authorization: `Bearer ${key}` }),
        ...(sent === undefined ? {} : { "content-type": isForm ? formType() : "application/json" }),
        ...headers,
      },
      ...(sent === undefined ? {} : { body: sent }),
    }),
  );
  const text = await response.text();
  const { status } = response;
  const differences = validator.differences(operation, { status, headers: response.headers, text });
  if (differences.length > 0) {
    throw new Error(
      `${operation.operationId} ${status} ${query} ${JSON.stringify(body)}\n${differences.join("\n")}\n${text}`,
    );
  }
  const code = status >= 400 ? ((JSON.parse(text).code as ProblemCode | undefined) ?? null) : null;
  return { status, headers: response.headers, text, code };
};

export const one = (operationId: string): Described => {
  const found = all.find(({ operation }) => operation.operationId === operationId);
  if (!found) throw new Error(`no operation ${operationId}`);
  return found;
};

export const listParameters = ({ operation }: Described, where: Parameter["in"]): Parameter[] =>
  operation.parameters.map((given) => resolved<Parameter>(document, given)).filter((given) => given.in === where);

/** Converts a query parameter to the type in the schema: whole numbers become numbers. */
export const decoded = (schema: Schema, text: string): unknown =>
  schema["type"] === "integer" && /^(0|[1-9]\d{0,15})$/.test(text) ? Number(text) : text;

const TEXTS = [
  "",
  "0",
  "1",
  "50",
  "100",
  "101",
  "1.0",
  "+5",
  "x",
  "live",
  "ready",
  "image",
  "avatar.created",
  "0123456789ABCDEF",
  "x".repeat(64),
  "x".repeat(65),
];

/** Header values at the edge of well-formedness. */
export const HEADER_EDGES: readonly string[] = [
  "",
  "*",
  '"1"',
  'W/"1"',
  '"1", "2"',
  '"999"',
  "1",
  "x".repeat(255),
  "x".repeat(256),
  `"${"1".repeat(1022)}"`,
  `"${"1".repeat(1023)}"`,
  "a b",
];

/** Query parameters that meet the document, or almost do. A cursor is opaque: only a page returns one. */
export const arbitraryQueries = (described: Described): fc.Arbitrary<[name: string, value: string][]> => {
  const known = listParameters(described, "query").filter(({ name }) => name !== "cursor");
  const values = known.map(({ name, schema }) =>
    fc
      .oneof(arbitraryValues(document, schema).map(String), fc.constantFrom(...TEXTS))
      .map((value): [string, string] => [name, value]),
  );
  const unknown = fc.tuple(fc.constantFrom("unknown", "Limit", "__proto__"), fc.constantFrom(...TEXTS));
  return fc.array(
    fc.oneof(...values.map((arbitrary) => ({ arbitrary, weight: 3 })), { arbitrary: unknown, weight: 1 }),
    { maxLength: 3 },
  );
};

/** A video needs a text with a spoken part, and an existing voice. Audio is not available. */
const meetsVideoRules = (body: CreateVideo): boolean => {
  const spoken = typeof body.text === "string" ? voiceText(body.text, defaultVoice(FLITE_SETTINGS)) : "";
  const hasVoice = (id: string): boolean => findVoice(FLITE_SETTINGS, id) !== null;
  return !("audioAssetId" in body) && videoErrors(body, { spoken, hasVoice }).length === 0;
};

/** Rules about assets that the document has only in words: the asset must exist, a file must fit its kind. */
const meetsAssetRules = ({ operation: { operationId } }: Described, body: unknown): boolean => {
  const { sourceAssetId = null, remoteUrl } = Object(body);
  if (operationId === "createAvatar" || operationId === "updateAvatar") return sourceAssetId === null;
  if (operationId === "createVideo") return meetsVideoRules(body as CreateVideo);
  if (operationId === "createTurn") {
    return turnErrors(body as CreateTurn, spokenText(String(Object(body).text ?? ""))).length === 0;
  }
  if (/WebhookEndpoint$/.test(operationId))
    return !Object(body).url || webhookUrlErrors(Object(body).url, false).length === 0;
  if (operationId === "startCall") {
    const { transcript_webhook: webhook } = Object(body);
    if (recordingErrors(body as StartCall).length > 0) return false;
    return typeof webhook !== "object" || transcriptUrlErrors(webhook, false).length === 0;
  }
  if (operationId === "createRemoteAsset") return remoteUrlErrors(remoteUrl).length === 0;
  return operationId !== "createUpload" || uploadErrors(body as CreateUpload).length === 0;
};

/** Rules between fields that the document has only in words. */
export const meetsRules = (described: Described, body: unknown): boolean => {
  const { operationId } = described.operation;
  if (operationId === "releaseCall") return "session_id" in Object(body) !== "queue_ticket_id" in Object(body);
  if (operationId !== "openUsageSession") return meetsAssetRules(described, body);
  const { minSessionSeconds = 0, maxSessionSeconds } = body as Record<string, number>;
  return minSessionSeconds <= (maxSessionSeconds ?? 0);
};

/** Bodies that meet the schema, or almost do. Without bodies that only the rules about assets refuse. */
export const bodiesAround = (described: Described, schema: Schema): fc.Arbitrary<unknown> =>
  fc.oneof(
    {
      weight: 2,
      arbitrary: valuesAround(document, schema).filter(
        (body) => validator.errors(schema, body).length > 0 || meetsAssetRules(described, body),
      ),
    },
    { weight: 1, arbitrary: arbitraryValues(document, schema).filter((body) => meetsRules(described, body)) },
  );

/**
 * The rule between `from` and `to`: a window is not empty. A window of usage ends now by default, and is at most 90
 * days long.
 */
export const isWindow = ({ path }: Described, pairs: readonly [string, string][]): boolean => {
  const { from, to } = Object.fromEntries(pairs);
  if (!path.includes("/usage/")) return from === undefined || to === undefined || Date.parse(from) < Date.parse(to);
  if (from === undefined || (to === undefined && Date.parse(from) < Date.now())) return true;
  const days = ((to === undefined ? Date.now() : Date.parse(to)) - Date.parse(from)) / 86_400_000;
  return days > 0 && days <= 90;
};

type Send = (described: Described, sent: Sent) => Promise<Answer>;

type Makers = {
  send: Send;
  newKey: () => Promise<string>;
  giveSource: (avatarId: string) => Promise<unknown>;
  /** Writes a recording that is ready, because only a call can make one. */
  newRecording: () => Promise<string>;
  /** Makes room for new endpoints, because a tenant can have only a few. */
  removeEndpoints: () => Promise<unknown>;
};

/** The example of a body. If it names a running call, a new call is used. */
export const createBody = async ({ operation }: Described, send: Send): Promise<object | undefined> => {
  const body = operation.requestBody?.content["application/json"]?.example as object | undefined;
  if (!["createTurn", "interruptCall"].includes(operation.operationId)) return body;
  const { session_id } = JSON.parse((await send(one("startCall"), { body: EXAMPLES.StartCall })).text);
  return { ...body, session_id };
};

/** The id of a new resource that an operation can use; empty for a path without an id. */
export const createTarget = async (
  { path }: Described,
  { send, newKey, newRecording, giveSource, removeEndpoints }: Makers,
): Promise<string> => {
  if (path.startsWith("/api/v1/webhook-")) await removeEndpoints();
  if (path.startsWith("/problems/")) return "not_found";
  if (!path.includes("{id}")) return "";
  if (path.startsWith("/api/v1/voices")) return "flite-slt";
  if (path.startsWith("/api/v1/api-keys")) return newKey();
  if (path.startsWith("/api/v1/recordings")) return newRecording();
  if (path.endsWith("/transcript")) {
    await send(one("updateSettings"), { body: { keepTranscripts: true } });
    return JSON.parse((await send(one("startCall"), { body: EXAMPLES.StartCall })).text).session_id;
  }
  if (path.endsWith("/connection-history")) {
    const body = { ...EXAMPLES.StartCall, connection_history: true };
    return JSON.parse((await send(one("startCall"), { body })).text).session_id;
  }
  if (path.startsWith("/api/v1/usage/sessions")) {
    return JSON.parse((await send(one("openUsageSession"), { body: { maxSessionSeconds: 1800 } })).text).sessionId;
  }
  if (path.startsWith("/api/v1/webhook-")) {
    const { id } = JSON.parse((await send(one("createWebhookEndpoint"), { body: { url: null } })).text);
    if (!path.startsWith("/api/v1/webhook-deliveries")) return id;
    return JSON.parse((await send(one("testWebhookEndpoint"), { id })).text).id;
  }
  if (path.startsWith("/api/v1/realtime/turns")) {
    return JSON.parse((await send(one("createTurn"), { body: await createBody(one("createTurn"), send) })).text).id;
  }
  if (path.startsWith("/api/v1/videos")) {
    return JSON.parse((await send(one("createVideo"), { body: EXAMPLES.CreateVideo })).text).id;
  }
  if (path.startsWith("/api/v1/assets")) return JSON.parse((await send(one("uploadAsset"), {})).text).id;
  const made = await send(one("createAvatar"), { body: { displayName: "x", sourceKind: "image" } });
  const { id } = JSON.parse(made.text);
  if (path.endsWith("/prepare")) await giveSource(id);
  return id;
};

/**
 * Causes every problem of a session: for a key with a tiny cap, a tenant without credits, unready avatars, and an ended
 * session.
 */
export const expectSessionProblems = async (
  send: Send,
  newKey: (request: Parameters<typeof seedKey>[2]) => Promise<{ key: string }>,
  poor: string,
  openSession: () => Promise<string>,
): Promise<void> => {
  const open = one("openUsageSession");
  const body = { maxSessionSeconds: 1 };
  const { key: capped } = await newKey({ spendLimitCreditMicros: 1 });
  const { key: limited } = await newKey({ maxConcurrentSessions: 1 });
  expect((await send(open, { key: capped, body })).code).toBe("spend_limit_exceeded");
  expect((await send(open, { key: poor, body })).code).toBe("insufficient_credits");
  expect((await send(open, { key: limited, body })).status).toBe(201);
  expect((await send(open, { key: limited, body })).code).toBe("concurrency_limit_reached");
  const avatar = await send(one("createAvatar"), { body: { displayName: "x", sourceKind: "image" } });
  const { id: avatarId } = JSON.parse(avatar.text);
  expect((await send(open, { body: { ...body, avatarId } })).code).toBe("avatar_not_ready");
  expect((await send(open, { body: { ...body, avatarId: "ava_x" } })).code).toBe("not_found");
  const id = await openSession();
  for (const operationId of ["getTranscript", "deleteTranscript"]) {
    expect((await send(one(operationId), { id })).code).toBe("transcript_not_kept");
  }
  await send(one("releaseSession"), { id, body: { usedCreditMicros: 1 } });
  expect((await send(one("releaseSession"), { id, body: { usedCreditMicros: 2 } })).code).toBe("session_closed");
  expect((await send(one("reportUsage"), { id, body: { usedCreditMicros: 2 } })).code).toBe("session_closed");
};

/** Causes each documented response of assets that takes more than one request, or a form, and checks it. */
export const expectAssetResponses = async (send: Send, sendFull: Send): Promise<void> => {
  const upload = one("uploadAsset");
  const create = async (): Promise<string> => JSON.parse((await send(upload, {})).text).id;
  expect((await send(upload, { text: encodeForm([filePart("text")]) })).code).toBe("validation_failed");
  expect((await send(upload, { text: "nonsense" })).code).toBe("malformed_request");
  expect((await send(upload, { headers: { "content-type": "application/json" } })).status).toBe(415);
  const large = encodeForm([filePart(createFile("image", 16 * 1024 * 1024 + 1))]);
  expect((await send(upload, { text: large })).code).toBe("body_too_large");

  const remote = { kind: "image", remoteUrl: "https://example.com/a.jpg" };
  const signed = { kind: "image", contentType: "image/png", sizeBytes: PNG.length, md5: md5Base64(PNG) };
  const bodies = { createRemoteAsset: remote, createUpload: signed, uploadAsset: undefined };
  const headers = { "idempotency-key": "assets" };
  for (const [operationId, body] of Object.entries(bodies)) {
    expect((await sendFull(one(operationId), { body })).code).toBe("quota_exceeded");
    const first = await send(one(operationId), { body, headers });
    const again = await send(one(operationId), { body, headers });
    expect([again.text, again.headers.get("idempotent-replayed")]).toEqual([first.text, "true"]);
    const other = { ...body, originalFilename: "b" };
    const text = encodeForm([filePart(PNG), fieldPart("kind", "image")]);
    const reused = await send(one(operationId), { headers, ...(body === undefined ? { text } : { body: other }) });
    expect(reused.code).toBe("idempotency_key_reused");
  }

  const pending = JSON.parse((await send(one("createUpload"), { body: signed })).text).id;
  expect((await send(one("completeUpload"), { id: pending })).code).toBe("invalid_transition");
  expect((await send(one("deleteAsset"), { id: pending, headers: { "if-match": '"9"' } })).status).toBe(412);
  await send(one("deleteAsset"), { id: pending });
  expect((await send(one("completeUpload"), { id: pending })).code).toBe("invalid_transition");

  const id = await create();
  expect((await send(one("getAsset"), { id, headers: { "if-none-match": '"1"' } })).status).toBe(304);
  await send(one("createAvatar"), { body: { displayName: "x", sourceKind: "image", sourceAssetId: id } });
  expect((await send(one("deleteAsset"), { id })).code).toBe("asset_in_use");
};
