/** The requests of each operation of the API, and why some are not measured. */
import { AVATAR_ID } from "../calls/world.ts";
import { apiRequest } from "../contestants.ts";
import type { Request } from "../machine.ts";
import type { Kind, World } from "./world.ts";

/** A repeatable request; or the kind of rows that a load needs, and its request for these rows. */
type Load = (world: World) => Request | ((seconds: number) => Promise<Request>);

const AVATAR = { displayName: "Ada", sourceKind: "image", metadata: { team: "support" } };
const SESSION = { maxSessionSeconds: 1, metadata: { user_id: "u-17" } };
const USED = { usedCreditMicros: 1_000_000 };
const UPLOAD = { kind: "image", contentType: "image/png", sizeBytes: 1000, md5: "1B2M2Y8AsgTpgAmY7PhCfg==" };
const REMOTE = { kind: "image", remoteUrl: "https://files.example.com/ada.jpg" };
/** The multipart form of a file: the first bytes of a WebP, which are text, and 400 others. The escapes are those of Lua. */
const BOUNDARY = "boundary-of-the-benchmark";
const FORM = `--${BOUNDARY}\\r\\nContent-Disposition: form-data; name="file"; filename="ada.webp"\\r\\nContent-Type: image/webp\\r\\n\\r\\nRIFFaaaaWEBPVP8 ${"a".repeat(400)}\\r\\n--${BOUNDARY}--\\r\\n`;

const byKey =
  (method: string, path: string, body: object | null = null): Load =>
  ({ line }) =>
    apiRequest(line.apiKey, method, path, body);
const byReader =
  (path: string): Load =>
  ({ reader }) =>
    apiRequest(reader.apiKey, "GET", path);
const hooked =
  (method: string, path: string, body: object | null = null): Load =>
  ({ hooked: { apiKey, endpointId } }) =>
    apiRequest(apiKey, method, path.replace("{endpoint}", endpointId), body);
/** Headers that a page of the service sends. Its address is added when the service runs. */
const byPerson =
  (method: string, path: string, body: object | null = null): Load =>
  ({ person }) => {
    const { headers, ...request } = apiRequest("", method, path.replace("{user}", person.userId), body);
    const { authorization: _, ...rest } = headers;
    const page = { "realtime-avatar-environment": "live", "sec-fetch-site": "same-origin" };
    return { ...request, headers: { ...rest, ...page, cookie: person.cookie } };
  };
const pathsOf = ({ path }: Request, ids: readonly string[]): string[] => ids.map((id) => path.replace("{id}", id));
/** Requests that rotate over the rows of a list. */
const inTurns =
  (load: Load, kind: Kind | "session"): Load =>
  (world) => {
    const request = load(world) as Request;
    const [first = ""] = world.listed[kind];
    return { ...request, path: request.path.replace("{id}", first), paths: pathsOf(request, world.listed[kind]) };
  };
/** Requests for one row of a list. */
const ofOne =
  (load: Load, kind: Kind): Load =>
  (world) => {
    const request = load(world) as Request;
    return { ...request, path: request.path.replace("{id}", world.listed[kind][0] ?? "") };
  };
/** Requests that each need a new row. */
const once =
  (load: Load, kind: Kind | "session"): Load =>
  (world) =>
  async (seconds) => {
    const request = load(world) as Request;
    const ids = await (kind === "session" ? world.freshSessions(seconds) : world.fresh(kind, seconds));
    return { ...request, path: "", paths: pathsOf(request, ids), isEachPathOnce: true };
  };

/** By method and path, as in the OpenAPI document, without `/api/v1`. */
export const MEASURED: Record<string, Load> = {
  "POST /api-keys": byKey("POST", "/api-keys", { name: "x", scopes: ["*"] }),
  "GET /api-keys": byKey("GET", "/api-keys"),
  "GET /api-keys/self": byKey("GET", "/api-keys/self"),
  "GET /api-keys/{id}": ofOne(byKey("GET", "/api-keys/{id}"), "key"),
  "PATCH /api-keys/{id}": inTurns(byKey("PATCH", "/api-keys/{id}", { name: "y" }), "key"),
  "DELETE /api-keys/{id}": once(byKey("DELETE", "/api-keys/{id}"), "key"),
  "POST /api-keys/{id}/rotate": once(byKey("POST", "/api-keys/{id}/rotate", { overlapSeconds: 60 }), "key"),
  "POST /avatars": byKey("POST", "/avatars", AVATAR),
  "GET /avatars": byKey("GET", "/avatars"),
  "GET /avatars/{id}": ofOne(byKey("GET", "/avatars/{id}"), "avatar"),
  "PATCH /avatars/{id}": inTurns(byKey("PATCH", "/avatars/{id}", { displayName: "Eve" }), "avatar"),
  "DELETE /avatars/{id}": once(byKey("DELETE", "/avatars/{id}"), "avatar"),
  "POST /avatars/{id}/prepare": once(byKey("POST", "/avatars/{id}/prepare", {}), "source"),
  "GET /models": byKey("GET", "/models"),
  "POST /assets": ({ line: { apiKey } }) => {
    const headers = { authorization: `Bearer ${apiKey}`, "content-type": `multipart/form-data; boundary=${BOUNDARY}` };
    return { method: "POST", path: "/api/v1/assets", body: FORM, headers };
  },
  "POST /assets/remote": byKey("POST", "/assets/remote", REMOTE),
  "POST /assets/uploads": byKey("POST", "/assets/uploads", UPLOAD),
  "GET /assets": byKey("GET", "/assets"),
  "GET /assets/{id}": ofOne(byKey("GET", "/assets/{id}"), "asset"),
  "DELETE /assets/{id}": once(byKey("DELETE", "/assets/{id}"), "asset"),
  "GET /credits/balance": byReader("/credits/balance"),
  "PATCH /credits/balance": byKey("PATCH", "/credits/balance", { lowThresholdCreditMicros: 1 }),
  "GET /credits/entries": byReader("/credits/entries"),
  "GET /credits/entries.csv": byReader("/credits/entries.csv?limit=1000"),
  "POST /usage/sessions": byKey("POST", "/usage/sessions", SESSION),
  "GET /usage/sessions": byReader("/usage/sessions"),
  "GET /usage/sessions.csv": byReader("/usage/sessions.csv?limit=1000"),
  "GET /usage/sessions/{id}": ({ reader: { apiKey }, readSessions: [id] }) =>
    apiRequest(apiKey, "GET", `/usage/sessions/${id}`),
  "POST /usage/sessions/{id}/usage": inTurns(byKey("POST", "/usage/sessions/{id}/usage", USED), "session"),
  "POST /usage/sessions/{id}/release": once(byKey("POST", "/usage/sessions/{id}/release", USED), "session"),
  "GET /usage/summary": byReader("/usage/summary"),
  "POST /realtime/livekit/session":
    ({ line, freshSlots }) =>
    async (seconds) => {
      await freshSlots(seconds);
      const call = { avatar_id: AVATAR_ID, max_session_seconds: 1 };
      return apiRequest(line.apiKey, "POST", "/realtime/livekit/session", call);
    },
  "POST /realtime/livekit/session/release":
    ({ line, freshCalls }) =>
    async (seconds) => {
      const ids = await freshCalls(seconds);
      const request = apiRequest(line.apiKey, "POST", "/realtime/livekit/session/release", {});
      return { ...request, bodies: ids.map((session_id) => JSON.stringify({ session_id })) };
    },
  "GET /webhook-endpoints": hooked("GET", "/webhook-endpoints"),
  "GET /webhook-endpoints/{id}": hooked("GET", "/webhook-endpoints/{endpoint}"),
  "PATCH /webhook-endpoints/{id}": inTurns(byKey("PATCH", "/webhook-endpoints/{id}", { description: "x" }), "endpoint"),
  "DELETE /webhook-endpoints/{id}": once(byKey("DELETE", "/webhook-endpoints/{id}"), "endpoint"),
  "POST /webhook-endpoints/{id}/rotate-secret": once(
    byKey("POST", "/webhook-endpoints/{id}/rotate-secret", {}),
    "endpoint",
  ),
  "POST /webhook-endpoints/{id}/recover": hooked("POST", "/webhook-endpoints/{endpoint}/recover", {
    since: new Date(Date.now() - 3_600_000).toISOString(),
  }),
  "GET /webhook-deliveries": hooked("GET", "/webhook-deliveries"),
  "GET /webhook-deliveries/{id}": ofOne(hooked("GET", "/webhook-deliveries/{id}"), "delivery"),
  "POST /webhook-deliveries/{id}/resend": inTurns(hooked("POST", "/webhook-deliveries/{id}/resend", {}), "delivery"),
  "GET /audit-events": byReader("/audit-events"),
  "GET /audit-events.csv": byReader("/audit-events.csv?limit=1000"),
  "GET /users": byPerson("GET", "/users"),
  "GET /users/{id}": byPerson("GET", "/users/{user}"),
  "PATCH /users/{id}": inTurns(byPerson("PATCH", "/users/{id}", { name: "Ada" }), "user"),
  "DELETE /users/{id}": once(byPerson("DELETE", "/users/{id}"), "user"),
  "GET /invitations": byPerson("GET", "/invitations"),
  "POST /invitations": byPerson("POST", "/invitations", { email: "eve@example.com", role: "viewer" }),
  "DELETE /invitations/{id}": once(byPerson("DELETE", "/invitations/{id}"), "invitation"),
  "GET /passkeys": byPerson("GET", "/passkeys"),
  "PATCH /passkeys/{id}": inTurns(byPerson("PATCH", "/passkeys/{id}", { name: "Phone" }), "passkey"),
  "GET /identities": byPerson("GET", "/identities"),
  "GET /user-sessions": byPerson("GET", "/user-sessions"),
  "GET /user-sessions/current": byPerson("GET", "/user-sessions/current"),
  "DELETE /user-sessions/{id}": once(byPerson("DELETE", "/user-sessions/{id}"), "userSession"),
};

/** Numbers of connections other than 32: the number of files that a tenant may read or upload at once. */
export const CONNECTIONS: Record<string, number> = {
  "POST /assets": 8,
  "GET /credits/entries.csv": 2,
  "GET /usage/sessions.csv": 2,
  "GET /audit-events.csv": 2,
};

const CEREMONY = "each request has its own challenge, which an authenticator signs";
const PROVIDER = "needs an identity provider, and one attempt for each request";
const FEW = "a person has a few";
const LIMITED = "limited to a few requests of an address";

/** The operations that are not measured, and the reasons. */
export const NOT_MEASURED: Record<string, string> = {
  "POST /assets/{id}/complete": "needs an uploaded file for each request",
  "GET /voices": "as GET /models: a list in the memory of the process",
  "GET /voices/{id}/sample": "a file that is sent in pieces, as those of assets",
  "POST /videos": "a tenant has few that run at once; opens a session, as POST /usage/sessions does",
  "GET /videos": "as GET /assets: a list of rows of the tenant",
  "GET /videos/{id}": "as GET /assets/{id}",
  "DELETE /videos/{id}": "as DELETE /assets/{id}, and the release of a session",
  "GET /usage/sessions/{id}/transcript":
    "needs a call with words; as GET /usage/sessions/{id}, with the rows of what was said",
  "DELETE /usage/sessions/{id}/transcript": "needs a call with words",
  "GET /sessions/{id}/connection-history": "one row by its primary key, as GET /recordings/{id}",
  "GET /recordings": "as GET /videos",
  "GET /recordings/{id}": "one row by its primary key, as GET /videos/{id}",
  "GET /recordings/{id}/access": "as GET /recordings/{id}, and a signature",
  "DELETE /recordings/{id}": "needs a call that is recorded",
  "GET /settings": "one row by its primary key, as GET /credits/balance",
  "PATCH /settings": "as PATCH /credits/balance",
  "POST /webhook-endpoints": "a tenant has at most 16",
  "POST /realtime/turns": "needs a call, of which at most 8 turns wait: bench/turns measures the way into the room",
  "GET /realtime/turns/{id}": "needs a call: one row by its primary key, as GET /usage/sessions/{id}",
  "POST /realtime/interrupt": "as POST /realtime/turns",
  "POST /realtime/livekit/session/resume":
    "needs a call with a person in it; writes and creates a room, as a start does",
  "POST /realtime/prepare": "needs an avatar worker that loads avatars",
  "POST /webhook-endpoints/{id}/test": "waits for the receiver",
  "POST /leaked-keys": LIMITED,
  "POST /invitations/options": LIMITED,
  "POST /invitations/acceptance": CEREMONY,
  "POST /user-sessions/options": LIMITED,
  "POST /user-sessions": CEREMONY,
  "POST /user-sessions/current/verification/options": CEREMONY,
  "POST /user-sessions/current/verification": CEREMONY,
  "DELETE /user-sessions/current": "ends the session of the request itself; as DELETE /user-sessions/{id}",
  "POST /passkeys/invitations": "ends the link before it: one row",
  "POST /passkeys": CEREMONY,
  "POST /passkeys/options": CEREMONY,
  "DELETE /passkeys/{id}": FEW,
  "DELETE /identities/{id}": FEW,
  "POST /oidc/sign-in": PROVIDER,
  "POST /oidc/acceptance": PROVIDER,
  "GET /oidc/callback": PROVIDER,
  "POST /oidc/identity": PROVIDER,
  "POST /oidc/verification": PROVIDER,
  "GET /problems/{code}": "a document",
};
