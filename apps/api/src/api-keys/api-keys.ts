/** `/api/v1/api-keys` */

import {
  insertApiKey,
  type RevokeOutcome,
  type RotateOutcome,
  revokeApiKey,
  rotateApiKey,
  updateApiKey,
} from "@realtime-avatar/db/api-keys/api-keys";
import { findCreator } from "@realtime-avatar/db/api-keys/creator";
import { countApiKeys, listApiKeys } from "@realtime-avatar/db/api-keys/list";
import type { Claim } from "@realtime-avatar/db/idempotency/idempotency-keys";
import { presentApiKey, presentApiKeyWithSecret } from "@realtime-avatar/domain/api-keys/api-key";
import { issueApiKey } from "@realtime-avatar/domain/api-keys/create";
import { isWider, visibleApiKey } from "@realtime-avatar/domain/api-keys/reach";
import { revocableApiKey } from "@realtime-avatar/domain/api-keys/revoke";
import { rotatedApiKey } from "@realtime-avatar/domain/api-keys/rotate";
import {
  API_KEY_LIST,
  ApiKey,
  ApiKeyPage,
  ApiKeyWithCreator,
  ApiKeyWithSecret,
  CreateApiKey,
  RotateApiKey,
  UpdateApiKey,
} from "@realtime-avatar/domain/api-keys/schemas";
import { updatedApiKey } from "@realtime-avatar/domain/api-keys/update";
import { managedEnvironments } from "@realtime-avatar/domain/environment";
import { readSearch } from "@realtime-avatar/domain/lists/search";
import { Problem } from "@realtime-avatar/domain/problem";
import { Elysia } from "elysia";
import type { Dependencies } from "../dependencies.ts";
import { authentication } from "../http/authenticate.ts";
import { listHandler } from "../http/list.ts";
import { operations } from "../http/operation.ts";
import { isPerson, requireKey, requirePasskey, toGrantor } from "../http/person.ts";
import { NO_PARAMETERS, readQuery } from "../http/query.ts";
import { sendResource } from "../http/response.ts";
import { type Attempt, execute, type OutcomeOf, type Settled, writtenResource } from "../http/write.ts";

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
    description: "Returns a key and its creator, without its secret.",
    success: { status: 200, description: "The key.", schema: ApiKeyWithCreator },
  },
  updateApiKey: {
    summary: "Change an API key",
    description:
      "Changes the given fields. A key can widen only its descendants, and only up to its own permissions. It can narrow its descendants and any key that it could create, except its ancestors.",
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
      "Gives the calling key or one of its descendants a new secret. Only this response contains it. The old secret remains valid until the overlap ends. Until then, the key cannot rotate itself again. One exception: until the new secret is first used, the old secret can rotate the key again.",
    body: RotateApiKey,
    success: { status: 200, description: "The key, with its new secret.", schema: ApiKeyWithSecret },
    problems: ["grant_exceeds_caller", "invalid_transition", "rotation_in_progress"],
  },
});

const API_KEY = { schema: ApiKey, toText: JSON.stringify };
const WITH_CREATOR = { schema: ApiKeyWithCreator, toText: JSON.stringify };
const WITH_SECRET = { schema: ApiKeyWithSecret, toText: JSON.stringify };

const CREATE_API_KEY = {
  body: CreateApiKey,
  representation: WITH_SECRET,
  plan: ({ body, caller, origin, db, dependencies: { config } }: Attempt<CreateApiKey>) => {
    const { tenantId, checkedAt } = caller;
    const { now, random } = origin;
    const { record, secret } = issueApiKey(body, toGrantor(caller), {
      tenantId,
      checkedAt,
      now,
      random,
    });
    const by = record.environment === "live" ? requirePasskey(caller) : caller;
    const location = `/api/v1/api-keys/${record.id}`;
    return {
      response: { location, version: record.version, body: presentApiKeyWithSecret(record, secret) },
      write: (claim: Claim | null) =>
        insertApiKey(db, { record, secret, maxActiveKeys: config.maxActiveKeysPerTenant }, by, origin, claim),
    };
  },
  settle: (outcome: OutcomeOf<typeof insertApiKey>, { dependencies: { config } }: Attempt<CreateApiKey>) => {
    if (outcome.kind !== "over_quota") return outcome;
    const { maxActiveKeysPerTenant } = config;
    throw new Problem("quota_exceeded", `The tenant has ${maxActiveKeysPerTenant} active API keys, the maximum.`);
  },
};

const ROTATE_API_KEY = {
  body: RotateApiKey,
  representation: WITH_SECRET,
  plan: ({ body, caller, target, origin, db }: Attempt<RotateApiKey>) => {
    const rotated = rotatedApiKey(target, body, isPerson(caller) ? toGrantor(caller) : caller, origin.random);
    const { record, secret } = rotated;
    return {
      response: { version: record.version, body: presentApiKeyWithSecret(record, secret) },
      write: (claim: Claim | null) => rotateApiKey(db, rotated, requirePasskey(caller), origin, claim),
    };
  },
  settle: (outcome: RotateOutcome) => {
    if (outcome.kind !== "in_progress") return outcome;
    const detail = "The key was already rotated. Its older secret is valid until the overlap ends.";
    throw new Problem("rotation_in_progress", detail, { retryAfterSeconds: outcome.waitSeconds });
  },
};

const UPDATE_API_KEY = {
  body: UpdateApiKey,
  representation: API_KEY,
  plan: ({ db, body, caller, target, origin, expectation: { matches } }: Attempt<UpdateApiKey>) => {
    const updated = updatedApiKey(target, body, toGrantor(caller), { checkedAt: caller.checkedAt, matches });
    const { record } = updated;
    const by = isWider(updated.target, record) ? requirePasskey(caller) : caller;
    return {
      response: { version: record.version, body: presentApiKey(record) },
      write: () => updateApiKey(db, updated, by, origin),
    };
  },
  settle: (outcome: { kind: "written" | "stale" }) => outcome,
};

const REVOKE_API_KEY = {
  body: null,
  representation: API_KEY,
  plan: ({ db, caller, target, origin, expectation: { versions, matches } }: Attempt<unknown>) => {
    const key = revocableApiKey(target, toGrantor(caller), matches);
    const expected = { version: versions === null ? null : key.version };
    return { response: null, write: () => revokeApiKey(db, key, expected, caller, origin) };
  },
  settle: (outcome: RevokeOutcome): Settled<ApiKey> =>
    outcome.kind === "stale" ? outcome : writtenResource(outcome.key, presentApiKey(outcome.key)),
};
export const apiKeyRoutes = (dependencies: Dependencies) =>
  new Elysia({ name: "api-keys", prefix: "/api/v1/api-keys" })
    .use(authentication(dependencies))
    .post("", ({ write }) => execute(write, CREATE_API_KEY), {
      scope: "api_keys:write",
      detail: OPERATIONS.createApiKey,
    })
    .get(
      "",
      listHandler(
        dependencies,
        API_KEY_LIST,
        ({ caller, db }, page) => listApiKeys(db, caller.tenantId, managedEnvironments(caller.environment), page),
        readSearch,
        ({ caller, db }, filters) =>
          countApiKeys(db, caller.tenantId, managedEnvironments(caller.environment), filters),
      ),
      { scope: "api_keys:write", detail: OPERATIONS.listApiKeys },
    )
    .get(
      "/self",
      ({ caller, request, set }) => {
        readQuery(request, NO_PARAMETERS);
        const key = requireKey(caller);
        return sendResource(API_KEY, presentApiKey(key), key, set);
      },
      { scope: "any", detail: OPERATIONS.getCallingApiKey },
    )
    .get(
      "/:id",
      async ({ caller, db, target, request, set }) => {
        readQuery(request, NO_PARAMETERS);
        const key = visibleApiKey(toGrantor(caller), target);
        const body = { ...presentApiKey(key), ...(await findCreator(db, key, caller.environment)) };
        return sendResource(WITH_CREATOR, body, key, set);
      },
      { scope: "api_keys:write", detail: OPERATIONS.getApiKey },
    )
    .patch("/:id", ({ write }) => execute(write, UPDATE_API_KEY), {
      scope: "api_keys:write",
      detail: OPERATIONS.updateApiKey,
    })
    .delete("/:id", ({ write }) => execute(write, REVOKE_API_KEY), {
      scope: "api_keys:write",
      detail: OPERATIONS.revokeApiKey,
    })
    .post("/:id/rotate", ({ write }) => execute(write, ROTATE_API_KEY), {
      scope: "api_keys:write",
      detail: OPERATIONS.rotateApiKey,
    });
