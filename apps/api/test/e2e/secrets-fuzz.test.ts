/**
 * Sends random requests to every route, with real secrets wherever a client could put one by mistake. The service is
 * healthy, or its database is unreachable or too slow. Then searches logs, responses and the database for the secrets.
 */

import { expect, test } from "bun:test";
import { connect } from "@realtime-avatar/db/connection/pool";
import { parseApiKey } from "@realtime-avatar/domain/api-keys/secret";
import { createLog } from "@realtime-avatar/runtime/log";
import { connectTo } from "@realtime-avatar/testing/database";
import fc from "fast-check";
import { type Answer, createTestApp, readAnswer, requestInit, startApi, testStorage } from "../support/api.ts";
import { dump } from "../support/dump.ts";

/** The full number of runs with LONG=1. */
const RUNS = process.env["LONG"] === "1" ? 2600 : 600;

/** All issued secrets, except `decoy`, which is sent in bodies and so stored for the client. */
const secrets: string[] = [];

const api = await startApi();
secrets.push(await api.key(), await api.key({ scopes: ["*"] }), await api.key({ scopes: ["usage:read"] }));
const decoy = await api.key();

type SentRequest = {
  route: number;
  id: number;
  secret: number;
  place: (typeof PLACES)[number];
  authorization: (typeof CREDENTIALS)[number];
  body: (typeof BODIES)[number];
  service: (typeof SERVICES)[number];
};
const PLACES = [
  "nowhere",
  "path",
  "query",
  "x-request-id",
  "if-match",
  "content-type",
  "cookie",
  "x-forwarded-for",
] as const;
const CREDENTIALS = [...Array<"valid">(8).fill("valid"), "basic", "junk behind", "cut", "bare", "none"] as const;
const BODIES = [...Array<"right">(6).fill("right"), "with decoy", "decoy alone", "broken", "none"] as const;
const SERVICES = [...Array<"well">(18).fill("well"), "no database", "slow database", "slow database"] as const;
const asked = fc.record<SentRequest>({
  // The choice has no bias, so that each route gets about the same number of requests, in any order.
  route: fc.noBias(fc.nat()),
  id: fc.nat(),
  secret: fc.nat(),
  place: fc.constantFrom(...PLACES),
  authorization: fc.constantFrom(...CREDENTIALS),
  body: fc.constantFrom(...BODIES),
  service: fc.constantFrom(...SERVICES),
});

const RIGHT: Record<string, object> = {
  "POST /api/v1/api-keys": { name: "fuzz", scopes: ["*"] },
  "POST /api/v1/api-keys/:id/rotate": { overlapSeconds: 60 },
  "POST /api/v1/avatars": { displayName: "fuzz", sourceKind: "image" },
  "PATCH /api/v1/avatars/:id": { displayName: "fuzz again" },
  "PATCH /api/v1/api-keys/:id": { name: "fuzz again" },
};

const credentials = (kind: SentRequest["authorization"], secret: string): Record<string, string> =>
  kind === "none"
    ? {}
    : {
        authorization: {
          valid: `Bearer ${secret}`,
          basic: `Basic ${secret}`,
          "junk behind": `Bearer ${secret} ${secret}`,
          cut: `Bearer ${secret.slice(0, -1)}`,
          bare: secret,
        }[kind],
      };

const bodyOf = (kind: SentRequest["body"], right: object): unknown =>
  ({
    right,
    "with decoy": { ...right, [decoy]: decoy },
    "decoy alone": decoy,
    broken: `{"name": "${decoy}`,
    none: undefined,
  })[kind];

test("secrets, sent anywhere at random: not in the log, other responses or the database", async () => {
  const lines: string[] = [];
  const log = createLog("trace", { write: (line) => void lines.push(line) });
  const gone = connect("postgres://postgres@127.0.0.1:1/postgres", { deadlineMs: 10 });
  const slow = connectTo(api.database, { deadlineMs: 3 });
  const files = await testStorage(() => api.url);
  const services = {
    well: createTestApp(api.database.db, { log, ...files }),
    "no database": createTestApp(gone, { log, ...files }),
    "slow database": createTestApp(slow, { log, ...files }),
  };
  const all = services.well.routes.filter(({ method, path }) => path.startsWith("/api/v1") && method !== "OPTIONS");
  // Routes that write keys and avatars get more requests.
  const writing = all.filter(({ method, path }) => `${method} ${path}` in RIGHT);
  const routes = [all, ...Array<typeof all>(8).fill(writing)].flat();
  const ids: string[] = [];
  const answers: Answer[] = [];

  for (const one of fc.sample(asked, { seed: 20_261_123, numRuns: RUNS })) {
    const { method, path } = routes[one.route % routes.length] ?? { method: "GET", path: "/" };
    const secret = secrets[one.secret % secrets.length] ?? "";
    const other = secrets[(one.secret + 1) % secrets.length] ?? "";
    const headers: Record<string, string> = credentials(one.authorization, secret);
    let url = path.replace(":id", one.place === "path" ? other : (ids[one.id % ids.length] ?? "none"));
    if (one.place === "query") url += `?${other}=${other}&cursor=${other}&status=${other}`;
    else if (one.place !== "path" && one.place !== "nowhere") headers[one.place] = other;
    if (one.id % 3 === 0) headers["idempotency-key"] = `fuzz-${one.id % 50}`;
    const body = method === "GET" ? undefined : bodyOf(one.body, RIGHT[`${method} ${path}`] ?? { apiKey: decoy });
    // A report would revoke the key of the next requests.
    if (path === "/api/v1/leaked-keys" && one.body === "right") continue;
    const init = requestInit(method, { body, headers });
    const answer = await readAnswer(await services[one.service].handle(new Request(`http://api${url}`, init)));
    answers.push(answer);
    // The first keys are not revoked, because later requests would all be refused.
    if (answer.status === 201) ids.push(answer.body.id);
    if (answer.body?.apiKey) secrets.push(answer.body.apiKey);
  }
  await Promise.all([gone.close(), slow.close()]);

  // The requests were refused for different reasons, and many were not refused.
  const kinds = new Set(answers.map(({ status, body }) => `${status} ${body?.code ?? ""}`.trim()));
  for (const kind of ["200", "201", "400 malformed_json", "401 invalid_api_key", "401 missing_api_key"]) {
    expect(kinds).toContain(kind);
  }
  for (const kind of ["403 insufficient_scope", "404 not_found", "422 validation_failed", "503 unavailable"]) {
    expect(kinds).toContain(kind);
  }
  expect(secrets.length).toBeGreaterThan(8);
  expect(answers.filter(({ status }) => status === 500)).toEqual([]);

  /** The secret part of an API key. The part before it is its public handle. */
  const hidden = (secret: string): string =>
    secret.slice(`rta_live_${parseApiKey(secret)?.keyId}_`.length).slice(0, 24);
  const logged = lines.join("");
  const shown = answers
    .map(({ text, headers, body }) => text.replaceAll(body?.apiKey ?? "-", "") + JSON.stringify([...headers]))
    .join("\n");
  const stored = await dump(api.database.db);
  expect(stored).toContain("fuzz");
  for (const secret of [...secrets, decoy]) expect(logged).not.toContain(hidden(secret));
  for (const secret of secrets) {
    expect(shown).not.toContain(hidden(secret));
    expect(stored).not.toContain(hidden(secret));
    expect(stored).not.toContain(Buffer.from(hidden(secret)).toString("hex"));
  }
  // The last defence, masking, had nothing to mask.
  expect(logged).not.toContain("_****");
});
