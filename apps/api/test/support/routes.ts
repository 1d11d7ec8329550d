/** Every route under /api/v1, for tests that apply to all of them. */
import { expect } from "bun:test";
import type { Scope } from "@realtime-avatar/domain/api-keys/scope";
import { PROBLEMS } from "@realtime-avatar/domain/problem";
import type { Answer, TestApi } from "./api.ts";

export type RouteFacts = {
  scope: Scope | "any" | "none" | "person";
  body?: object;
  isBodyOptional?: true;
  /** The body is a form with a file. */
  isForm?: true;
  /** The URL is signed: the route needs no key, and accepts only the bytes for which the URL was signed. */
  isSigned?: true;
  /** A browser comes from another site, possibly with further parameters, and is always redirected to a page. */
  isRedirect?: true;
};

/** Every route, with its required scope and an example of its body. */
export const ROUTES: Record<string, RouteFacts> = {
  "GET /api/v1/api-keys": { scope: "api_keys:write" },
  "POST /api/v1/api-keys": { scope: "api_keys:write", body: { name: "x" } },
  "GET /api/v1/api-keys/self": { scope: "any" },
  "GET /api/v1/api-keys/:id": { scope: "api_keys:write" },
  "PATCH /api/v1/api-keys/:id": { scope: "api_keys:write", body: { name: "x" } },
  "DELETE /api/v1/api-keys/:id": { scope: "api_keys:write" },
  "POST /api/v1/api-keys/:id/rotate": { scope: "api_keys:write", body: {} },
  "GET /api/v1/assets": { scope: "avatars:read" },
  "POST /api/v1/assets": { scope: "avatars:write", isForm: true },
  "POST /api/v1/assets/remote": {
    scope: "avatars:write",
    body: { kind: "image", remoteUrl: "https://example.com/ada.jpg" },
  },
  "POST /api/v1/assets/uploads": {
    scope: "avatars:write",
    body: { kind: "image", contentType: "image/png", sizeBytes: 1, md5: "1B2M2Y8AsgTpgAmY7PhCfg==" },
  },
  "PUT /api/v1/assets/uploads/:token": { scope: "none", isSigned: true },
  "GET /api/v1/assets/:id": { scope: "avatars:read" },
  "DELETE /api/v1/assets/:id": { scope: "avatars:write" },
  "POST /api/v1/assets/:id/complete": { scope: "avatars:write", body: {}, isBodyOptional: true },
  "GET /api/v1/audit-events": { scope: "api_keys:write" },
  "GET /api/v1/audit-events.csv": { scope: "api_keys:write" },
  "GET /api/v1/avatars": { scope: "avatars:read" },
  "POST /api/v1/avatars": { scope: "avatars:write", body: { displayName: "x", sourceKind: "image" } },
  "GET /api/v1/avatars/:id": { scope: "avatars:read" },
  "PATCH /api/v1/avatars/:id": { scope: "avatars:write", body: { displayName: "x" } },
  "DELETE /api/v1/avatars/:id": { scope: "avatars:write" },
  "POST /api/v1/avatars/:id/prepare": { scope: "avatars:write", body: {}, isBodyOptional: true },
  "GET /api/v1/credits/balance": { scope: "credits:read" },
  "PATCH /api/v1/credits/balance": { scope: "*", body: { lowThresholdCreditMicros: null } },
  "GET /api/v1/credits/entries": { scope: "credits:read" },
  "GET /api/v1/credits/entries.csv": { scope: "credits:read" },
  "GET /api/v1/models": { scope: "avatars:read" },
  "GET /api/v1/voices": { scope: "avatars:read" },
  "GET /api/v1/voices/:id/sample": { scope: "avatars:read" },
  "GET /api/v1/usage/sessions": { scope: "usage:read" },
  "GET /api/v1/usage/sessions.csv": { scope: "usage:read" },
  "POST /api/v1/usage/sessions": { scope: "realtime:write", body: { maxSessionSeconds: 1 } },
  "GET /api/v1/usage/sessions/:id": { scope: "usage:read" },
  "POST /api/v1/usage/sessions/:id/usage": { scope: "usage:write", body: { usedCreditMicros: 0 } },
  // `usage:write` is also accepted.
  "POST /api/v1/usage/sessions/:id/release": { scope: "realtime:write", body: {}, isBodyOptional: true },
  "GET /api/v1/usage/sessions/:id/transcript": { scope: "usage:read" },
  "DELETE /api/v1/usage/sessions/:id/transcript": { scope: "usage:write" },
  "GET /api/v1/sessions/:id/connection-history": { scope: "usage:read" },
  "GET /api/v1/recordings": { scope: "usage:read" },
  "GET /api/v1/recordings/:id": { scope: "usage:read" },
  "GET /api/v1/recordings/:id/access": { scope: "usage:read" },
  "DELETE /api/v1/recordings/:id": { scope: "usage:write" },
  "GET /api/v1/settings": { scope: "usage:read" },
  "PATCH /api/v1/settings": { scope: "usage:write", body: { keepTranscripts: false } },
  "POST /api/v1/realtime/livekit/session": { scope: "realtime:write", body: { avatar_id: "x" } },
  "POST /api/v1/realtime/livekit/session/resume": { scope: "realtime:write", body: { session_id: "x" } },
  "POST /api/v1/realtime/livekit/session/release": { scope: "realtime:write", body: { session_id: "x" } },
  "GET /api/v1/videos": { scope: "avatars:read" },
  "POST /api/v1/videos": { scope: "realtime:write", body: { avatarId: "x", text: "x" } },
  "GET /api/v1/videos/:id": { scope: "avatars:read" },
  "DELETE /api/v1/videos/:id": { scope: "realtime:write" },
  "POST /api/v1/realtime/turns": { scope: "realtime:write", body: { session_id: "x", kind: "say", text: "x" } },
  "GET /api/v1/realtime/turns/:id": { scope: "realtime:write" },
  "POST /api/v1/realtime/interrupt": { scope: "realtime:write", body: { session_id: "x" } },
  "POST /api/v1/realtime/prepare": { scope: "realtime:write", body: { avatar_id: "x" } },
  "GET /api/v1/usage/summary": { scope: "usage:read" },
  "POST /api/v1/invitations/options": { scope: "none", body: { token: "x" } },
  "POST /api/v1/invitations/acceptance": { scope: "none", body: { token: "x", name: "x", credential: {} } },
  "GET /api/v1/invitations": { scope: "person" },
  "POST /api/v1/invitations": { scope: "person", body: { email: "new@example.com", role: "viewer" } },
  "DELETE /api/v1/invitations/:id": { scope: "person" },
  "POST /api/v1/user-sessions/options": { scope: "none", body: {}, isBodyOptional: true },
  "POST /api/v1/user-sessions": { scope: "none", body: { credential: {} } },
  "GET /api/v1/user-sessions/current": { scope: "person" },
  "DELETE /api/v1/user-sessions/current": { scope: "person" },
  "POST /api/v1/user-sessions/current/verification/options": { scope: "person", body: {}, isBodyOptional: true },
  "POST /api/v1/user-sessions/current/verification": { scope: "person", body: { credential: {} } },
  "GET /api/v1/user-sessions": { scope: "person" },
  "DELETE /api/v1/user-sessions/:id": { scope: "person" },
  "GET /api/v1/users": { scope: "person" },
  "GET /api/v1/users/:id": { scope: "person" },
  "PATCH /api/v1/users/:id": { scope: "person", body: { name: "x" } },
  "DELETE /api/v1/users/:id": { scope: "person" },
  "POST /api/v1/passkeys/invitations": { scope: "person", body: {}, isBodyOptional: true },
  "GET /api/v1/passkeys": { scope: "person" },
  "POST /api/v1/passkeys/options": { scope: "person", body: {}, isBodyOptional: true },
  "POST /api/v1/passkeys": { scope: "person", body: { credential: {}, name: "x" } },
  "PATCH /api/v1/passkeys/:id": { scope: "person", body: { name: "x" } },
  "DELETE /api/v1/passkeys/:id": { scope: "person" },
  "POST /api/v1/oidc/sign-in": { scope: "none", body: { tenantId: "ten_01h455vb4pex5vsknk084sn02q" } },
  "POST /api/v1/oidc/acceptance": { scope: "none", body: { token: "x", name: "x" } },
  "GET /api/v1/oidc/callback": { scope: "none", isRedirect: true },
  "POST /api/v1/oidc/identity": { scope: "person", body: {}, isBodyOptional: true },
  "POST /api/v1/oidc/verification": { scope: "person", body: { returnTo: "/keys" } },
  "GET /api/v1/identities": { scope: "person" },
  "DELETE /api/v1/identities/:id": { scope: "person" },
  "GET /api/v1/webhook-endpoints": { scope: "*" },
  "POST /api/v1/webhook-endpoints": { scope: "*", body: { url: "https://www.example.com/hooks" } },
  "GET /api/v1/webhook-endpoints/:id": { scope: "*" },
  "PATCH /api/v1/webhook-endpoints/:id": { scope: "*", body: { ordered: true } },
  "DELETE /api/v1/webhook-endpoints/:id": { scope: "*" },
  "POST /api/v1/webhook-endpoints/:id/rotate-secret": { scope: "*", body: {}, isBodyOptional: true },
  "POST /api/v1/webhook-endpoints/:id/test": { scope: "*", body: {}, isBodyOptional: true },
  "POST /api/v1/webhook-endpoints/:id/recover": { scope: "*", body: { since: new Date().toISOString() } },
  "GET /api/v1/webhook-deliveries": { scope: "*" },
  "GET /api/v1/webhook-deliveries/:id": { scope: "*" },
  "POST /api/v1/webhook-deliveries/:id/resend": { scope: "*", body: {}, isBodyOptional: true },
  "POST /api/v1/leaked-keys": { scope: "none", body: { apiKey: "x" } },
};

/** Fills the parameter of a path. */
export const withId = (path: string, id: string): string => path.replace(":id", id);
const KINDS = [
  ["assets", "ast"],
  ["avatars", "ava"],
  ["user-sessions", "uss"],
  ["users", "usr"],
  ["passkeys", "psk"],
  ["identities", "idn"],
  ["invitations", "inv"],
  ["sessions", "ses"],
  ["videos", "vid"],
  ["webhook-endpoints", "whe"],
  ["webhook-deliveries", "whd"],
] as const;
/** The kind of the ids in a path. */
export const resourceKind = (path: string): (typeof KINDS)[number][1] | "key" =>
  KINDS.find(([name]) => path.includes(name))?.[1] ?? "key";
/** An unknown id of the kind in a path. */
export const unknownId = (path: string): string => `${resourceKind(path)}_01h455vb4pex5vsknk084sn02q`;
/** Every route of the application, except the preflight of signed URLs, which has no credentials and no body. */
export const listRoutes = ({ app }: TestApi) =>
  app.routes
    .filter(({ method, path }) => path.startsWith("/api/v1") && method !== "OPTIONS")
    .map(({ method, path }) => {
      const facts: RouteFacts = ROUTES[`${method} ${path}`] ?? { scope: "any" };
      const { scope, body, isBodyOptional, isForm, isSigned, isRedirect } = facts;
      const url = withId(path, unknownId(path)).replace(":token", "x");
      return { method, path, url, scope, body, isBodyOptional, isForm, isSigned, isRedirect };
    });

/** A response without the parts that always differ. Two responses that a caller cannot distinguish become equal. */
export const bare = ({ status, body, headers }: Answer) => {
  const rest = Object.fromEntries([...headers].filter(([name]) => !["x-request-id", "date"].includes(name)));
  return { status, rest, body: { ...body, requestId: null } };
};

export const expectProblem = (answer: Answer, code: keyof typeof PROBLEMS): void => {
  const { status, title } = PROBLEMS[code];
  expect(answer.body).toMatchObject({ type: `/problems/${code}`, title, status, code });
  expect(answer.status).toBe(status);
  expect(answer.headers.get("content-type")).toBe("application/problem+json");
  expect(answer.body.requestId).toBe(answer.headers.get("x-request-id"));
  expect(typeof answer.body.detail).toBe("string");
  expect(typeof answer.body.retryable).toBe("boolean");
};
