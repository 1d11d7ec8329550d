/** `/api/v1/api-keys` */
import {
  insertApiKey,
  listApiKeys,
  revokeApiKey,
  rotateApiKey,
  updateApiKey,
} from "@realtime-avatar/db/statements/api-keys";
import {
  API_KEY_LIST,
  ApiKey,
  ApiKeyPage,
  ApiKeyWithSecret,
  CreateApiKey,
  issueApiKey,
  managedEnvironments,
  presentApiKey,
  presentApiKeyWithSecret,
  RotateApiKey,
  revocableApiKey,
  rotatedApiKey,
  UpdateApiKey,
  updatedApiKey,
  visibleApiKey,
} from "@realtime-avatar/domain/api-key";
import { pageText, readPage } from "@realtime-avatar/domain/page";
import { Problem } from "@realtime-avatar/domain/problem";
import { Elysia } from "elysia";
import type { Dependencies } from "../dependencies.ts";
import { authentication } from "../http/authenticate.ts";
import { readBody } from "../http/body.ts";
import { entityTag, readIfMatch } from "../http/conditional.ts";
import { checkIdempotencyKey, executeIdempotently } from "../http/idempotency.ts";
import { NO_PARAMETERS, readQuery } from "../http/query.ts";
import { originOf } from "../http/request-context.ts";
import { operation } from "../openapi/operation.ts";

const overQuota = (maximum: number) => ({
  kind: "refused" as const,
  problem: new Problem("quota_exceeded", `The tenant has ${maximum} active API keys, as many as it may have.`),
});

const rotationInProgress = (retryAfterSeconds: number) => ({
  kind: "refused" as const,
  problem: new Problem(
    "rotation_in_progress",
    "The key was rotated, and its older secret still works. A key rotates itself again when that has ended.",
    { retryAfterSeconds },
  ),
});

export const apiKeyRoutes = (dependencies: Dependencies) => {
  const { config, random, responseBytes } = dependencies;
  return new Elysia({ name: "api-keys", prefix: "/api/v1/api-keys" })
    .use(authentication(dependencies))
    .post(
      "",
      async ({ writeAsCaller, db, path, request, secret, set, requestContext }) => {
        checkIdempotencyKey(request);
        const body = await readBody(request, requestContext, CreateApiKey);
        const context = { writeAsCaller, db, path, request, secret, set };
        return executeIdempotently(dependencies, context, ApiKeyWithSecret, body, (caller) => {
          const origin = originOf(dependencies, caller, requestContext);
          const { tenantId, judgedAt } = caller;
          const issued = issueApiKey(body, caller, { tenantId, judgedAt, now: origin.now, random });
          const { record } = issued;
          const location = `/api/v1/api-keys/${record.id}`;
          const shown = presentApiKeyWithSecret(record, issued.secret);
          return {
            response: { status: 201, location, etag: entityTag(record), body: shown },
            write: async (claim) => {
              const created = { ...issued, maxActiveKeys: config.maxActiveKeysPerTenant };
              const outcome = await insertApiKey(db, created, caller, origin, claim);
              return outcome.kind === "over_quota" ? overQuota(config.maxActiveKeysPerTenant) : outcome;
            },
          };
        });
      },
      {
        scope: "api_keys:write",
        detail: operation({
          operationId: "createApiKey",
          summary: "Create an API key",
          description:
            "Creates a key that can do no more than the calling key. Only this response contains its secret.",
          body: CreateApiKey,
          success: { status: 201, description: "The key, with its secret.", schema: ApiKeyWithSecret },
          problems: ["grant_exceeds_caller", "quota_exceeded"],
        }),
      },
    )
    .get(
      "",
      async ({ caller, db, request, set }) => {
        const page = readPage(API_KEY_LIST, readQuery(request, API_KEY_LIST.query));
        const keys = await listApiKeys(db, caller.tenantId, managedEnvironments(caller.environment), page);
        return responseBytes.send(pageText(API_KEY_LIST, page, keys), caller.tenantId, request, set);
      },
      {
        scope: "api_keys:write",
        detail: operation({
          operationId: "listApiKeys",
          summary: "List API keys",
          description: "Lists the keys that the calling key may see, newest first.",
          query: API_KEY_LIST.query,
          success: { status: 200, description: "A page of keys.", schema: ApiKeyPage },
        }),
      },
    )
    .get(
      "/self",
      ({ caller, request, set }) => {
        readQuery(request, NO_PARAMETERS);
        set.headers.etag = entityTag(caller);
        return presentApiKey(caller);
      },
      {
        scope: "any",
        response: { 200: ApiKey },
        detail: operation({
          operationId: "getCallingApiKey",
          summary: "Read the calling key",
          description:
            "Returns the calling key, with its scopes and limits. Useful as the first call of an integration.",
          success: { status: 200, description: "The calling key.", schema: ApiKey },
        }),
      },
    )
    .get(
      "/:id",
      ({ caller, target, request, set }) => {
        readQuery(request, NO_PARAMETERS);
        const key = visibleApiKey(caller, target);
        set.headers.etag = entityTag(key);
        return presentApiKey(key);
      },
      {
        scope: "api_keys:write",
        response: { 200: ApiKey },
        detail: operation({
          operationId: "getApiKey",
          summary: "Read an API key",
          description: "Returns a key without its secret.",
          success: { status: 200, description: "The key.", schema: ApiKey },
        }),
      },
    )
    .patch(
      "/:id",
      async ({ writeAsCaller, db, request, set, requestContext }) => {
        const { matches, errors } = readIfMatch(request);
        const body = await readBody(request, requestContext, UpdateApiKey, errors);
        const { key } = await writeAsCaller(async (caller, target) => {
          const updated = updatedApiKey(target, body, caller, { judgedAt: caller.judgedAt, matches });
          const outcome = await updateApiKey(db, updated, caller, originOf(dependencies, caller, requestContext));
          return { ...outcome, key: updated.record };
        });
        set.headers.etag = entityTag(key);
        return presentApiKey(key);
      },
      {
        scope: "api_keys:write",
        response: { 200: ApiKey },
        detail: operation({
          operationId: "updateApiKey",
          summary: "Change an API key",
          description:
            "Changes the given fields. A key can widen only its descendants, and only up to what it can do itself. It can narrow its descendants and any key that it could create, except its ancestors.",
          body: UpdateApiKey,
          success: { status: 200, description: "The key after the request.", schema: ApiKey },
          problems: ["grant_exceeds_caller", "invalid_transition"],
        }),
      },
    )
    .delete(
      "/:id",
      async ({ writeAsCaller, db, request, set, requestContext }) => {
        const { versions, matches, errors } = readIfMatch(request);
        readQuery(request, NO_PARAMETERS, errors);
        const { key } = await writeAsCaller(async (caller, found) => {
          const target = revocableApiKey(found, caller, matches);
          const expected = { version: versions === null ? null : target.version };
          return revokeApiKey(db, target, expected, caller, originOf(dependencies, caller, requestContext));
        });
        set.headers.etag = entityTag(key);
        return presentApiKey(key);
      },
      {
        scope: "api_keys:write",
        response: { 200: ApiKey },
        detail: operation({
          operationId: "revokeApiKey",
          summary: "Revoke an API key",
          description:
            "Revokes the key and its descendant keys permanently. Takes effect on every replica before the response is sent.",
          success: { status: 200, description: "The key after the request.", schema: ApiKey },
          problems: ["grant_exceeds_caller"],
        }),
      },
    )
    .post(
      "/:id/rotate",
      async ({ writeAsCaller, db, path, request, secret, set, requestContext }) => {
        checkIdempotencyKey(request);
        const body = await readBody(request, requestContext, RotateApiKey);
        const context = { writeAsCaller, db, path, request, secret, set };
        return executeIdempotently(dependencies, context, ApiKeyWithSecret, body, (caller, target) => {
          const rotated = rotatedApiKey(target, body, caller, random);
          const { record } = rotated;
          const shown = presentApiKeyWithSecret(record, rotated.secret);
          return {
            response: { status: 200, location: null, etag: entityTag(record), body: shown },
            write: async (claim) => {
              const origin = originOf(dependencies, caller, requestContext);
              const outcome = await rotateApiKey(db, rotated, caller, origin, claim);
              return outcome.kind === "in_progress" ? rotationInProgress(outcome.waitSeconds) : outcome;
            },
          };
        });
      },
      {
        scope: "api_keys:write",
        detail: operation({
          operationId: "rotateApiKey",
          summary: "Rotate an API key",
          description:
            "Gives the calling key or one of its descendants a new secret. Only this response contains it. The old secret remains valid until the overlap ends. Until then the key cannot rotate itself again, except with the old secret while the new one has never been used.",
          body: RotateApiKey,
          success: { status: 200, description: "The key, with its new secret.", schema: ApiKeyWithSecret },
          problems: ["grant_exceeds_caller", "invalid_transition", "rotation_in_progress"],
        }),
      },
    );
};
