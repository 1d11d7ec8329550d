/**
 * A load of concurrent creates, and its history: requests, responses, and the final rows. It does not depend on the
 * implementation, and checks the promises of the documents.
 */
import { client } from "@realtime-avatar/testing/database";
import { checkCredits } from "./credit-check.ts";
import { CreditLane, CreditLoad, type Credits } from "./credits.ts";
import { holdsSecret, type RequestState, type Result, Sender } from "./sender.ts";

/** One avatar that the load has tried to create, with a unique name. */
type Create = {
  name: string;
  isRetried: boolean;
  known: RequestState;
  /** The id in the response. */
  id: string | null;
  /** Whether it was first sent after the response to the revocation of its key. */
  isLate: boolean;
};

export type Row = {
  fault: string;
  requests: number;
  acknowledged: number;
  /** Responses with 402 for lack of credits, or with 409 because the lease of the session has ended. */
  declined: number;
  /** Responses with 503 `unavailable`: certainly not executed. */
  refused: number;
  /** Responses with 503 `outcome_unknown`, and requests without a response, because the service was killed. */
  unknown: number;
  /** Usage sessions with a 201. */
  opened: number;
  /** Usage sessions that were closed by the end of their lease. */
  expired: number;
  lost: number;
  duplicated: number;
  /** The longest time without a success, in milliseconds. */
  outageMs: number;
  /** How long after the end of the fault the first request succeeded. */
  backMs: number | null;
  slowestMs: number;
};

export type Load = {
  /** Reports the end of the fault. From now on, the service must recover. */
  healed(): void;
  /** Number of successful requests so far. */
  successes(): number;
  /** Waits for this number of further successes. */
  untilSuccesses(count: number): Promise<void>;
  /** Waits until a request has failed. */
  untilFailure(): Promise<void>;
  /** Ends the load after all retried requests have succeeded, and compares the responses with the rows. */
  finish(databaseUrl: string, logs: string): Promise<{ row: Row; violations: string[] }>;
};

/** Keys and claims with a missing part. Keys of the load are never rotated, so each has one credential. */
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
    select attempt_id from idempotency_claims claims
    where not exists (select from audit_events where tenant_id = claims.tenant_id and id = claims.attempt_id)
      and not exists (select from credit_entries where tenant_id = claims.tenant_id and id = claims.attempt_id)
      and not exists (select from usage_sessions where tenant_id = claims.tenant_id and id = claims.attempt_id)`;
  return found.map(({ id }) => `${id} is half-written`);
};

/**
 * Compares the responses with the rows of the database. Adds to `violations`. Returns the numbers of lost and
 * duplicated creates.
 */
const compare = async (
  sql: ReturnType<typeof client>,
  { creates, secrets, logs }: { creates: readonly Create[]; secrets: ReadonlySet<string>; logs: string },
  violations: string[],
): Promise<{ lost: number; duplicated: number }> => {
  const rows = await sql<{ name: string; ids: string[]; events: number }[]>`
    select display_name as name, array_agg(id) as ids, sum((
      select count(*) from audit_events events
      where events.tenant_id = avatars.tenant_id and events.target_id = avatars.id and action = 'avatar.created'
    ))::int as events
    from avatars group by display_name`;
  violations.push(...(await halfWritten(sql)));
  const tables = await sql<{ name: string }[]>`
    select format('%I.%I', schemaname, tablename) as name from pg_tables
    where schemaname in ('public', 'drizzle', current_schema())`;
  for (const { name } of tables) {
    for (const { text } of await sql.unsafe<{ text: string }[]>(`select t::text as text from ${name} t`)) {
      if (holdsSecret(text)) violations.push(`${name} holds a secret`);
    }
  }
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
    if (known === "refused" && number > 0) violations.push(`${name} was refused, and has a row`);
    if (isLate && number > 0) violations.push(`${name} was written by a revoked key`);
  }
  return { lost, duplicated };
};

/** The part of the load that creates keys and avatars. */
class Creates {
  readonly creates: Create[] = [];
  /** The secrets of created keys. Only the response to the creation contains one. */
  readonly secrets: Set<string>;
  readonly #sender: Sender;
  readonly #rootKey: string;
  #names = 0;

  constructor(sender: Sender, rootKey: string) {
    this.#sender = sender;
    this.#rootKey = rootKey;
    this.secrets = new Set([rootKey]);
  }

  async turn(turn: number, lane: number): Promise<void> {
    if (turn % 12 === 0) await this.#liveAndRevoke(lane);
    else await this.#createAvatar(lane, this.#rootKey, turn % 2 === 0);
  }

  async #createAvatar(lane: number, key: string, isRetried: boolean, isLate = false): Promise<Result> {
    this.#names++;
    const create: Create = { name: `avatar-${this.#names}`, isRetried, known: "unknown", id: null, isLate };
    this.creates.push(create);
    const body = { displayName: create.name, sourceKind: "image" };
    const request = { lane, method: "POST", path: "/api/v1/avatars", key, body };
    const result = isRetried
      ? await this.#sender.sendUntilDone({ ...request, idempotencyKey: create.name })
      : await this.#sender.send({ ...request, expected: isLate ? [401] : [201] });
    create.known = result.status === 201 ? "acknowledged" : result.known === "unknown" ? "unknown" : "refused";
    create.id = result.status === 201 ? result.body.id : null;
    return result;
  }

  async #createKey(lane: number): Promise<{ id: string; apiKey: string }> {
    this.#names++;
    const name = `key-${this.#names}`;
    const body = { name, scopes: ["*"] };
    const request = { lane, method: "POST", path: "/api/v1/api-keys", key: this.#rootKey, body, idempotencyKey: name };
    const { body: made } = await this.#sender.sendUntilDone(request);
    const { body: replayed } = await this.#sender.sendUntilDone(request);
    if (made.apiKey !== replayed.apiKey || made.id !== replayed.id) {
      this.#sender.violations.push("a replay returned another key");
    }
    if (made.apiKey) this.secrets.add(made.apiKey);
    return made;
  }

  /**
   * The life of a key under faults: created, used and revoked. After the response to the revocation, it must not work.
   */
  async #liveAndRevoke(lane: number): Promise<void> {
    const { id, apiKey } = await this.#createKey(lane);
    await this.#createAvatar(lane, apiKey, true);
    const path = `/api/v1/api-keys/${id}`;
    await this.#sender.sendUntilDone({ lane, method: "DELETE", path, key: this.#rootKey, expected: [200] });
    const late = await this.#createAvatar(lane, apiKey, false, true);
    if (late.status === 201) this.#sender.violations.push("a key works after the response to its revocation");
  }
}

export type LoadOptions = {
  /** The URLs of the service. */
  urls: readonly string[];
  /** The secret of a key with all scopes. */
  rootKey: string;
  credits: Credits;
  lanes?: number | undefined;
  /** Number of lanes that work with credits. The others create keys and avatars. */
  creditLanes?: number | undefined;
  /** Whether the service may end during a request. Otherwise each request gets a response. */
  isKilled?: boolean;
};

export const startLoad = (
  fault: string,
  { urls, rootKey, credits, lanes = 12, creditLanes = 6, isKilled = false }: LoadOptions,
): Load => {
  const sender = new Sender(urls, isKilled);
  const { violations } = sender;
  const creates = new Creates(sender, rootKey);
  const creditLoad = new CreditLoad(credits, sender, creates.secrets);
  let isOver = false;
  const running = Array.from({ length: lanes }, async (_, lane) => {
    const creditLane = lane < creditLanes ? new CreditLane(creditLoad, lane) : null;
    for (let turn = lane; !isOver; turn++) {
      await (creditLane ?? creates).turn(turn, lane);
      // Waits after a refusal, which comes at once: without a pause, the client would measure only itself.
      if (performance.now() - sender.lastSuccess > 50) await Bun.sleep(10);
    }
  });

  return {
    healed: () => sender.healed(),
    successes: () => sender.successes,
    untilSuccesses: (count) => sender.untilSuccesses(count),
    untilFailure: () => sender.untilFailure(),
    finish: async (databaseUrl, logs) => {
      isOver = true;
      await Promise.all(running);
      const sql = client(databaseUrl);
      const found = await compare(sql, { ...creates, logs }, violations);
      await sql.end();
      const { opened, expired, ...checked } = await checkCredits(databaseUrl, creditLoad);
      violations.push(...checked.violations);
      const [lost, duplicated] = [found.lost + checked.lost, found.duplicated + checked.duplicated];
      const { counts, outageMs, backMs, slowestMs } = sender;
      return { row: { fault, ...counts, opened, expired, lost, duplicated, outageMs, backMs, slowestMs }, violations };
    },
  };
};
