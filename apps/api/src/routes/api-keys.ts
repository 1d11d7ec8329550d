/** `/api/v1/api-keys` */

import { insertApiKey, revokeApiKey, rotateApiKey, updateApiKey } from "@realtime-avatar/db/api-keys/api-keys";
import type { AnyCaller } from "@realtime-avatar/db/api-keys/callers";
import { listApiKeys } from "@realtime-avatar/db/api-keys/list";
import type { Origin } from "@realtime-avatar/db/audit/audit-events";
import type { Db } from "@realtime-avatar/db/connection/pool";
import { type ApiKeyRecord, presentApiKey, presentApiKeyWithSecret } from "@realtime-avatar/domain/api-keys/api-key";
import { issueApiKey } from "@realtime-avatar/domain/api-keys/create";
import { isWider, visibleApiKey } from "@realtime-avatar/domain/api-keys/reach";
import { revocableApiKey } from "@realtime-avatar/domain/api-keys/revoke";
import { rotatedApiKey } from "@realtime-avatar/domain/api-keys/rotate";
import {
  API_KEY_LIST,
  ApiKey,
  ApiKeyPage,
  ApiKeyWithSecret,
  CreateApiKey,
  RotateApiKey,
  UpdateApiKey,
} from "@realtime-avatar/domain/api-keys/schemas";
import { updatedApiKey } from "@realtime-avatar/domain/api-keys/update";
import { managedEnvironments } from "@realtime-avatar/domain/environment";
import { pageText, readPage } from "@realtime-avatar/domain/page";
import { Problem } from "@realtime-avatar/domain/problem";
import { Elysia } from "elysia";
import type { Dependencies } from "../dependencies.ts";
import { authentication } from "../http/authenticate.ts";
import { readBody } from "../http/body.ts";
import { type Expectation, entityTag, readIfMatch } from "../http/conditional.ts";
import { checkIdempotencyKey, executeIdempotently, type MakePlan } from "../http/idempotency.ts";
import { grantorOf, isPerson, keyOf, requirePasskey } from "../http/people/person.ts";
import { NO_PARAMETERS, readQuery } from "../http/query.ts";
import { type ResponseHead, sendResource } from "../http/response.ts";
import { operations } from "../openapi/operation.ts";

const OPERATIONS = operations({
  createApiKey: {
    summary: "Create an API key",
    description: "Creates a key that can do no more than the calling key. Only this response contains its secret.",
    body: CreateApiKey,
    success: { status: 201, description: "The key, with its secret.", schema: ApiKeyWithSecret },
    problems: ["grant_exceeds_caller", "quota_exceeded"],
  },
  listApiKeys: {
    summary: "List API keys",
    description: "Lists the keys that the calling key may see, newest first.",
    query: API_KEY_LIST.query,
    success: { status: 200, description: "A page of keys.", schema: ApiKeyPage },
  },
  getCallingApiKey: {
    summary: "Read the calling key",
    description: "Returns the calling key, with its scopes and limits. Useful as the first call of an integration.",
    success: { status: 200, description: "The calling key.", schema: ApiKey },
  },
  getApiKey: {
    summary: "Read an API key",
    description: "Returns a key without its secret.",
    success: { status: 200, description: "The key.", schema: ApiKey },
  },
  updateApiKey: {
    summary: "Change an API key",
    description:
      "Changes the given fields. A key can widen only its descendants, and only up to what it can do itself. It can narrow its descendants and any key that it could create, except its ancestors.",
    body: UpdateApiKey,
    success: { status: 200, description: "The key after the request.", schema: ApiKey },
    problems: ["grant_exceeds_caller", "invalid_transition"],
  },
  revokeApiKey: {
    summary: "Revoke an API key",
    description:
      "Revokes the key and its descendant keys permanently. Takes effect on every replica before the response is sent.",
    success: { status: 200, description: "The key after the request.", schema: ApiKey },
    problems: ["grant_exceeds_caller"],
  },
  rotateApiKey: {
    summary: "Rotate an API key",
    description:
      "Gives the calling key or one of its descendants a new secret. Only this response contains it. The old secret remains valid until the overlap ends. Until then the key cannot rotate itself again, except with the old secret while the new one has never been used.",
    body: RotateApiKey,
    success: { status: 200, description: "The key, with its new secret.", schema: ApiKeyWithSecret },
    problems: ["grant_exceeds_caller", "invalid_transition", "rotation_in_progress"],
  },
});

const API_KEY = { schema: ApiKey, toText: JSON.stringify };
const WITH_SECRET = { schema: ApiKeyWithSecret, toText: JSON.stringify };

const sendKey = (key: ApiKeyRecord, set: ResponseHead): string => sendResource(API_KEY, presentApiKey(key), key, set);

const planCreate =
  (db: Db, { config, random }: Dependencies, body: CreateApiKey): MakePlan<ApiKeyWithSecret> =>
  (caller, origin) => {
    const { tenantId, checkedAt } = caller;
    const { record, secret } = issueApiKey(body, grantorOf(caller), { tenantId, checkedAt, now: origin.now, random });
    const by = record.environment === "live" ? requirePasskey(caller) : caller;
    const maxActiveKeys = config.maxActiveKeysPerTenant;
    const location = `/api/v1/api-keys/${record.id}`;
    return {
      response: { status: 201, location, etag: entityTag(record), body: presentApiKeyWithSecret(record, secret) },
      write: async (claim) => {
        const outcome = await insertApiKey(db, { record, secret, maxActiveKeys }, by, origin, claim);
        if (outcome.kind !== "over_quota") return outcome;
        throw new Problem("quota_exceeded", `The tenant has ${maxActiveKeys} active API keys, the maximum.`);
      },
    };
  };

const planRotate =
  (db: Db, { random }: Dependencies, body: RotateApiKey): MakePlan<ApiKeyWithSecret> =>
  (caller, origin, target) => {
    const rotated = rotatedApiKey(target, body, isPerson(caller) ? grantorOf(caller) : caller, random);
    const by = requirePasskey(caller);
    const { record, secret } = rotated;
    return {
      response: { status: 200, location: null, etag: entityTag(record), body: presentApiKeyWithSecret(record, secret) },
      write: async (claim) => {
        const outcome = await rotateApiKey(db, rotated, by, origin, claim);
        if (outcome.kind !== "in_progress") return outcome;
        const detail = "The key was rotated, and its older secret is valid until the overlap ends.";
        throw new Problem("rotation_in_progress", detail, { retryAfterSeconds: outcome.waitSeconds });
      },
    };
  };

const updateWith =
  (db: Db, body: UpdateApiKey, matches: Expectation["matches"]) =>
  async (caller: AnyCaller, origin: Origin, target: ApiKeyRecord | null) => {
    const updated = updatedApiKey(target, body, grantorOf(caller), { checkedAt: caller.checkedAt, matches });
    const by = isWider(updated.target, updated.record) ? requirePasskey(caller) : caller;
    const outcome = await updateApiKey(db, updated, by, origin);
    return { ...outcome, key: updated.record };
  };

const revokeWith =
  (db: Db, { versions, matches }: Expectation) =>
  async (caller: AnyCaller, origin: Origin, target: ApiKeyRecord | null) => {
    const key = revocableApiKey(target, grantorOf(caller), matches);
    return revokeApiKey(db, key, { version: versions === null ? null : key.version }, caller, origin);
  };

export const apiKeyRoutes = (dependencies: Dependencies) => {
  const { responseBytes } = dependencies;
  return new Elysia({ name: "api-keys", prefix: "/api/v1/api-keys" })
    .use(authentication(dependencies))
    .post(
      "",
      async ({ writeAsCaller, db, path, request, secret, set, requestContext }) => {
        checkIdempotencyKey(request);
        const body = await readBody(request, requestContext, CreateApiKey);
        const context = { writeAsCaller, db, path, request, secret, set };
        return executeIdempotently(dependencies, context, WITH_SECRET, body, planCreate(db, dependencies, body));
      },
      { scope: "api_keys:write", detail: OPERATIONS.createApiKey },
    )
    .get(
      "",
      async ({ caller, db, request, set }) => {
        const page = readPage(API_KEY_LIST, readQuery(request, API_KEY_LIST.query));
        const keys = await listApiKeys(db, caller.tenantId, managedEnvironments(caller.environment), page);
        return responseBytes.send(pageText(API_KEY_LIST, page, keys), caller.tenantId, request, set);
      },
      { scope: "api_keys:write", detail: OPERATIONS.listApiKeys },
    )
    .get(
      "/self",
      ({ caller, request, set }) => {
        readQuery(request, NO_PARAMETERS);
        return sendKey(keyOf(caller), set);
      },
      { scope: "any", detail: OPERATIONS.getCallingApiKey },
    )
    .get(
      "/:id",
      ({ caller, target, request, set }) => {
        readQuery(request, NO_PARAMETERS);
        return sendKey(visibleApiKey(grantorOf(caller), target), set);
      },
      { scope: "api_keys:write", detail: OPERATIONS.getApiKey },
    )
    .patch(
      "/:id",
      async ({ writeAsCaller, db, request, set, requestContext }) => {
        const { matches, errors } = readIfMatch(request);
        const body = await readBody(request, requestContext, UpdateApiKey, errors);
        const { key } = await writeAsCaller(updateWith(db, body, matches));
        return sendKey(key, set);
      },
      { scope: "api_keys:write", detail: OPERATIONS.updateApiKey },
    )
    .delete(
      "/:id",
      async ({ writeAsCaller, db, request, set }) => {
        const expectation = readIfMatch(request);
        readQuery(request, NO_PARAMETERS, expectation.errors);
        const { key } = await writeAsCaller(revokeWith(db, expectation));
        return sendKey(key, set);
      },
      { scope: "api_keys:write", detail: OPERATIONS.revokeApiKey },
    )
    .post(
      "/:id/rotate",
      async ({ writeAsCaller, db, path, request, secret, set, requestContext }) => {
        checkIdempotencyKey(request);
        const body = await readBody(request, requestContext, RotateApiKey);
        const context = { writeAsCaller, db, path, request, secret, set };
        return executeIdempotently(dependencies, context, WITH_SECRET, body, planRotate(db, dependencies, body));
      },
      { scope: "api_keys:write", detail: OPERATIONS.rotateApiKey },
    );
};
