/**
 * A load of concurrent creates, and the history of all of them: what was asked, what was answered, and what is there in
 * the end. Nothing here knows how the service works: it holds it to what its documents promise.
 */
import { client } from "@realtime-avatar/db/testing";
import { readAnswer, requestInit } from "../support/api.ts";

/** What is known of a create from its answer. */
type Known = "acknowledged" | "refused" | "unknown";

/** One avatar that somebody has tried to create, by its name, which no other has. */
type Create = {
  name: string;
  isRetried: boolean;
  known: Known;
  /** The id that was answered. */
  id: string | null;
  /** Whether it was first sent after the answer to the revocation of its key. */
  isLate: boolean;
};

export type Row = {
  fault: string;
  requests: number;
  acknowledged: number;
  /** Answered with 503 `unavailable`: certainly not executed. */
  refused: number;
  /** Answered with 503 `outcome_unknown`, or not at all, since the service was killed. */
  unknown: number;
  lost: number;
  duplicated: number;
  /** The longest time without a success, in milliseconds. */
  outageMs: number;
  /** How long after the end of the fault something succeeded again. */
  backMs: number | null;
  slowestMs: number;
};

/** A full secret, whoever's. */
const SECRET = /rta_(live|test)_[0-9A-Za-z]{16}_[0-9A-Za-z]{49}/;

/** Longer than any deadline: what is not answered by then hangs. */
const HANGS_MS = 20_000;

export type Load = {
  /** Says that the fault is over: from now on the service has to recover. */
  healed(): void;
  /** How many requests have succeeded so far. */
  successes(): number;
  /** Waits until so many more have. */
  untilSuccesses(count: number): Promise<void>;
  /** Waits until a request has failed. */
  untilFailure(): Promise<void>;
  /** Ends the load, when all that is retried has succeeded, and compares what was answered with what is there. */
  finish(databaseUrl: string, logs: string): Promise<{ row: Row; violations: string[] }>;
};

/** Keys and claims of which a part is missing. Keys of the load are never rotated, so each has one credential. */
const halfWritten = async (sql: ReturnType<typeof client>): Promise<string[]> => {
  const found = await sql<{ id: string }[]>`
    select id from api_keys keys
    where (select count(*) from api_key_credentials where tenant_id = keys.tenant_id and api_key_id = keys.id) <> 1
      or (select count(*) from audit_events
          where tenant_id = keys.tenant_id and target_id = keys.id and action = 'api_key.created') <> 1
      or (select count(*) from audit_events
          where tenant_id = keys.tenant_id and target_id = keys.id and action = 'api_key.revoked')
        <> case when revoked_at is null then 0 else 1 end
    union all
    select audit_event_id from idempotency_keys claims
    where not exists (select from audit_events where tenant_id = claims.tenant_id and id = claims.audit_event_id)`;
  return found.map(({ id }) => `${id} is half-written`);
};

/** `isKilled` says that the service may go away under a request: otherwise each is answered. */
export const startLoad = (
  fault: string,
  urls: readonly string[],
  rootKey: string,
  { lanes = 12, isKilled = false }: { lanes?: number | undefined; isKilled?: boolean } = {},
): Load => {
  const creates: Create[] = [];
  const violations: string[] = [];
  const counts = { requests: 0, acknowledged: 0, refused: 0, unknown: 0 };
  let successes = 0;
  let failures = 0;
  let lastSuccess = performance.now();
  let outageMs = 0;
  let slowestMs = 0;
  let healedAt: number | null = null;
  let backMs: number | null = null;
  let isOver = false;

  // biome-ignore lint/suspicious/noExplicitAny: an answer is looked at where it is used
  type Result = { known: Known; status: number; body: any };

  /** The secret of each key that was made: nothing but the answer to its creation holds it. */
  const secrets = new Set([rootKey]);
  const holdsSecret = (text: string): boolean => SECRET.test(text);

  /** One request. An answer that is none of those that are promised is a violation. */
  const send = async (
    lane: number,
    method: string,
    path: string,
    key: string,
    body?: unknown,
    idempotencyKey?: string,
    expected: readonly number[] = [201],
  ): Promise<Result> => {
    counts.requests++;
    const startedAt = performance.now();
    const headers = idempotencyKey === undefined ? {} : { "idempotency-key": idempotencyKey };
    const url = urls[(lane + counts.requests) % urls.length] ?? "";
    const init = { ...requestInit(method, { key, body, headers }), signal: AbortSignal.timeout(HANGS_MS) };
    try {
      const answer = await readAnswer(await fetch(url + path, init));
      const now = performance.now();
      slowestMs = Math.max(slowestMs, now - startedAt);
      if (expected.includes(answer.status)) {
        successes++;
        counts.acknowledged++;
        outageMs = Math.max(outageMs, now - lastSuccess);
        lastSuccess = now;
        if (healedAt !== null) backMs ??= now - healedAt;
        return { known: "acknowledged", status: answer.status, body: answer.body };
      }
      failures++;
      if (holdsSecret(answer.text)) violations.push("an error holds a secret");
      if (answer.status === 503 && answer.body?.code === "outcome_unknown") {
        counts.unknown++;
        return { known: "unknown", status: 503, body: answer.body };
      }
      counts.refused++;
      if (answer.status !== 503 || answer.body?.code !== "unavailable") {
        violations.push(`${method} ${path} was answered with ${answer.status} ${answer.text.slice(0, 200)}`);
      }
      if (answer.status === 503 && !answer.headers.has("retry-after")) violations.push("a 503 without Retry-After");
      return { known: "refused", status: answer.status, body: answer.body };
    } catch (error) {
      failures++;
      counts.unknown++;
      if (performance.now() - startedAt >= HANGS_MS) violations.push(`${method} ${path} hangs`);
      else if (!isKilled) violations.push(`${method} ${path} was not answered: ${String(error)}`);
      return { known: "unknown", status: 0, body: null };
    }
  };
  /** Sends it again, with the same key, until it succeeds. */
  const sendUntilDone = async (...request: Parameters<typeof send>): Promise<Result> => {
    for (let attempt = 0; attempt < 400; attempt++) {
      const result = await send(...request);
      if (result.known === "acknowledged") return result;
      await Bun.sleep(20 + Math.random() * 80);
    }
    violations.push(`${request[1]} ${request[2]} never succeeded`);
    return { known: "unknown", status: 0, body: {} };
  };

  let names = 0;
  const createAvatar = async (lane: number, key: string, isRetried: boolean, isLate = false): Promise<Result> => {
    names++;
    const create: Create = { name: `avatar-${names}`, isRetried, known: "unknown", id: null, isLate };
    creates.push(create);
    const body = { displayName: create.name, sourceKind: "image" };
    const path = "/api/v1/avatars";
    const result = isRetried
      ? await sendUntilDone(lane, "POST", path, key, body, create.name)
      : await send(lane, "POST", path, key, body, undefined, isLate ? [401] : [201]);
    create.known = result.status === 201 ? "acknowledged" : result.known === "unknown" ? "unknown" : "refused";
    create.id = result.status === 201 ? result.body.id : null;
    return result;
  };

  const createKey = async (lane: number): Promise<{ id: string; apiKey: string }> => {
    names++;
    const request = [lane, "POST", "/api/v1/api-keys", rootKey, { name: `key-${names}`, scopes: ["*"] }] as const;
    const idempotencyKey = `key-${names}`;
    const { body } = await sendUntilDone(...request, idempotencyKey);
    const { body: replayed } = await sendUntilDone(...request, idempotencyKey);
    if (body.apiKey !== replayed.apiKey || body.id !== replayed.id) violations.push("a replay brought another key");
    if (body.apiKey) secrets.add(body.apiKey);
    return body;
  };

  /** The life of a key under faults: made once, used, revoked; and from the answer to that on, of no use. */
  const liveAndRevoke = async (lane: number): Promise<void> => {
    const { id, apiKey } = await createKey(lane);
    await createAvatar(lane, apiKey, true);
    await sendUntilDone(lane, "DELETE", `/api/v1/api-keys/${id}`, rootKey, undefined, undefined, [200]);
    const late = await createAvatar(lane, apiKey, false, true);
    if (late.status === 201) violations.push("a key works after the answer to its revocation");
  };

  const running = Array.from({ length: lanes }, async (_, lane) => {
    for (let turn = lane; !isOver; turn++) {
      if (turn % 12 === 0) await liveAndRevoke(lane);
      else await createAvatar(lane, rootKey, turn % 2 === 0);
      // A refusal comes at once: a client that hammers would only measure itself.
      if (performance.now() - lastSuccess > 50) await Bun.sleep(10);
    }
  });

  return {
    healed: () => {
      healedAt = performance.now();
      backMs = null;
    },
    successes: () => successes,
    untilSuccesses: async (count) => {
      const wanted = successes + count;
      const since = performance.now();
      while (successes < wanted) {
        if (performance.now() - since > 30_000) {
          throw new Error(`the service does not serve any more: ${violations.slice(0, 3).join("; ")}`);
        }
        await Bun.sleep(2);
      }
    },
    untilFailure: async () => {
      const before = failures;
      const since = performance.now();
      while (failures === before) {
        if (performance.now() - since > 30_000) throw new Error("nothing fails");
        await Bun.sleep(2);
      }
    },
    finish: async (databaseUrl, logs) => {
      isOver = true;
      await Promise.all(running);
      const sql = client(databaseUrl);
      const rows = await sql<{ name: string; ids: string[]; events: number }[]>`
        select display_name as name, array_agg(id) as ids, sum((
          select count(*) from audit_events events
          where events.tenant_id = avatars.tenant_id and events.target_id = avatars.id and action = 'avatar.created'
        ))::int as events
        from avatars group by display_name`;
      violations.push(...(await halfWritten(sql)));
      const tables = await sql<{ name: string }[]>`
        select format('%I.%I', schemaname, tablename) as name from pg_tables
        where schemaname in ('public', 'drizzle')`;
      for (const { name } of tables) {
        for (const { text } of await sql.unsafe<{ text: string }[]>(`select t::text as text from ${name} t`)) {
          if (holdsSecret(text)) violations.push(`${name} holds a secret`);
        }
      }
      await sql.end();
      if (holdsSecret(logs) || [...secrets].some((secret) => logs.includes(secret.slice(26)))) {
        violations.push("the log holds a secret");
      }
      const found = new Map(rows.map((row) => [row.name, row]));
      let lost = 0;
      let duplicated = 0;
      for (const { name, isRetried, known, id, isLate } of creates) {
        const row = found.get(name);
        const number = row?.ids.length ?? 0;
        if (number > 1) duplicated++;
        if (row && row.events !== number) violations.push(`${name} has ${row.events} events`);
        if (known === "acknowledged" && !(row?.ids.includes(id ?? "") ?? false)) lost++;
        if (isRetried && known !== "acknowledged") violations.push(`${name} was retried and never acknowledged`);
        if (known === "refused" && number > 0) violations.push(`${name} was refused, and is there`);
        if (isLate && number > 0) violations.push(`${name} was written by a revoked key`);
      }
      const row: Row = { fault, ...counts, lost, duplicated, outageMs, backMs, slowestMs };
      return { row, violations };
    },
  };
};
