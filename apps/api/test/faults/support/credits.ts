/**
 * The part of the load with credits: opens usage sessions in a small tree of keys, reports their usage and releases
 * them. The caps and the balance are so small that sessions are refused. Some sessions are left to their lease.
 * `credit-check.ts` compares the records of this load with the tables.
 */
import type { Scope } from "@realtime-avatar/domain/api-keys/scope";
import type { TenantId } from "@realtime-avatar/domain/id";
import { seededNumbers } from "@realtime-avatar/testing/credits/load";
import { session as connection } from "@realtime-avatar/testing/database";
import { seedKey, seedTenant } from "@realtime-avatar/testing/seeds";
import type { LoadRequest, RequestState, Result, Sender } from "./sender.ts";

/** The default price of a second, in credit micros. */
const SECOND = 1_000_000;
const BALANCE_SECONDS = 70;
const MAX_SECONDS = 6;
/** For each key: the index of its parent, and its cap in seconds. The first key is the engine's. */
const TREE = [
  [null, null],
  [0, 40],
  [1, 25],
  // The sessions of this key are charged in full, so its cap is soon used up, and further sessions are refused.
  [0, 8],
] as const;
const SPENDER = 3;
const PATH = "/api/v1/usage/sessions";

/** Settings of the service: short leases, and overdue sessions are closed by the service itself. */
export const CREDIT_VARIABLES = { SWEEP_IN_API: "true", SESSION_START_SECONDS: "2", SESSION_LEASE_SECONDS: "2" };

type CreditKey = { id: string; secret: string; cap: number | null };
/** A tenant with live credits, and its keys in the order of `TREE`. */
export type Credits = { tenantId: TenantId; keys: readonly CreditKey[] };

/** Creates the tenant and its keys directly in the database. */
export const seedCredits = async (databaseUrl: string): Promise<Credits> => {
  const db = connection(databaseUrl);
  const tenantId = await seedTenant(db, { live: BALANCE_SECONDS * SECOND });
  const issued: Awaited<ReturnType<typeof seedKey>>[] = [];
  for (const [parent, seconds] of TREE) {
    const scopes: Scope[] = parent === null ? ["*", "usage:write"] : ["realtime:write"];
    const spendLimitCreditMicros = seconds === null ? null : seconds * SECOND;
    const request = { environment: "live" as const, scopes, spendLimitCreditMicros };
    issued.push(await seedKey(db, tenantId, request, parent === null ? undefined : issued[parent]?.record));
  }
  await db.close();
  const keys = issued.map(({ record, secret }) => ({
    id: record.id,
    secret: secret.reveal(),
    cap: record.spendLimitCreditMicros,
  }));
  return { tenantId, keys };
};

/** A session that the load has tried to open. Amounts are in credit micros. */
export type TriedSession = {
  /** Its unique `user_id` and, if it was sent until it succeeded, its Idempotency-Key. */
  name: string;
  apiKeyId: string;
  isRetried: boolean;
  /** `declined`: 402, or 401 after the revocation of its key. */
  known: RequestState | "declined";
  /** Whether the outcome of an attempt is unknown, so that it may have opened the session. */
  wasUnknown: boolean;
  /** The id in the response; null without one. */
  id: string | null;
  reserved: number;
  /** The highest report with a response, and the highest that may have been written. */
  reported: number;
  reportable: number;
  /** The response to its release. */
  released: { status: string; billedCreditMicros: number; endedAt: string } | null;
  /** Whether its release was declined with 409, because the end of its lease had closed it. */
  isReleaseDeclined: boolean;
  /** Whether it was first sent after the response to its key's revocation. */
  isLate: boolean;
};

/** The state that the lanes share. */
export class CreditLoad {
  readonly sessions: TriedSession[] = [];

  constructor(
    readonly credits: Credits,
    readonly sender: Sender,
    /** The secrets of keys. Only the response to the creation may contain one. */
    readonly secrets: Set<string>,
  ) {
    for (const { secret } of credits.keys) secrets.add(secret);
  }

  get engine(): CreditKey {
    return this.credits.keys[0] as CreditKey;
  }

  /** Adds a violation unless `isRight`. */
  expect(isRight: boolean, violation: string): void {
    if (!isRight) this.sender.violations.push(violation);
  }
}

/** One lane: runs one session after another. Its choices depend only on its number. */
export class CreditLane {
  readonly #load: CreditLoad;
  readonly #lane: number;
  readonly #number: () => number;

  constructor(load: CreditLoad, lane: number) {
    this.#load = load;
    this.#lane = lane;
    this.#number = seededNumbers(lane);
  }

  #below(limit: number): number {
    return Math.floor(this.#number() * limit);
  }

  #post(path: string, key: CreditKey, request: Partial<LoadRequest>): LoadRequest {
    return { lane: this.#lane, method: "POST", path, key: key.secret, expected: [200], ...request };
  }

  async turn(number: number): Promise<void> {
    if (number % 16 === 15) return this.#liveAndRevoke();
    if (number % 4 === 3) await this.#readCounters();
    const keyAt = this.#below(TREE.length);
    const key = this.#load.credits.keys[keyAt] as CreditKey;
    const session = await this.#open(key, this.#number() < 0.6);
    if (session.id === null) return;
    for (let reports = this.#below(4); reports > 0; reports--) await this.#report(session);
    // More than the session holds; the service charges at most the hold.
    const tooMuch = 2 * session.reserved;
    if (keyAt === SPENDER && this.#number() < 0.5) await this.#report(session, tooMuch);
    // One session of ten is not released, and ends with its lease.
    if (this.#number() < 0.9) await this.#release(session, key, keyAt === SPENDER ? tooMuch : this.#below(500));
  }

  /** Opens a session. With `isRetried`, repeats until there is a response, and then once more for the replay. */
  async #open(key: CreditKey, isRetried: boolean, isLate = false): Promise<TriedSession> {
    const { sender, sessions } = this.#load;
    const session: TriedSession = {
      ...{ name: `session-${sessions.length}`, apiKeyId: key.id, isRetried, known: "unknown", wasUnknown: false },
      ...{ id: null, reserved: 0, reported: 0, reportable: 0, released: null, isReleaseDeclined: false, isLate },
    };
    sessions.push(session);
    const maxSessionSeconds = 1 + this.#below(MAX_SECONDS);
    const minSessionSeconds = 1 + this.#below(maxSessionSeconds);
    const request = this.#post(PATH, key, {
      body: { maxSessionSeconds, minSessionSeconds, metadata: { user_id: session.name } },
      idempotencyKey: isRetried ? session.name : undefined,
      expected: [201],
      declined: isLate ? [401] : [402],
    });
    const result = isRetried ? await sender.sendUntilDone(request) : await sender.send(request);
    this.#noteOpened(session, result, maxSessionSeconds * SECOND, minSessionSeconds * SECOND);
    if (session.id !== null && isRetried && this.#number() < 0.3) {
      const { body } = await sender.sendUntilDone(request);
      this.#load.expect(Bun.deepEquals(body, result.body), `the replay of ${session.name} differs from the response`);
    }
    return session;
  }

  #noteOpened(session: TriedSession, { known, status, body, wasUnknown }: Result, most: number, least: number): void {
    session.wasUnknown = wasUnknown;
    session.known = known === "acknowledged" && status !== 201 ? "declined" : known;
    if (status === 402) {
      const isPromised = ["spend_limit_exceeded", "insufficient_credits"].includes(body.code) && !body.retryable;
      this.#load.expect(isPromised, `${session.name} was declined with ${JSON.stringify(body)}`);
    }
    if (status !== 201) return;
    session.id = body.sessionId;
    session.reserved = body.reservedCreditMicros;
    const isWithin = session.reserved >= least && session.reserved <= most;
    this.#load.expect(isWithin, `${session.name} holds ${session.reserved}, of ${least} to ${most}`);
  }

  /** The usage of a session for the next report: mostly more than before, sometimes the same or less. */
  #usage({ reported, reportable }: TriedSession): number {
    return this.#number() < 0.3 ? this.#below(reported + 1) : reportable + this.#below(200);
  }

  /** Reports the usage of a session. Returns whether it must end; null without a response. */
  async #report(session: TriedSession, used = this.#usage(session)): Promise<boolean | null> {
    const { engine, sender } = this.#load;
    const isRetried = this.#number() < 0.5;
    const request = this.#post(`${PATH}/${session.id}/usage`, engine, {
      body: { usedCreditMicros: used },
      idempotencyKey: isRetried ? `report-${this.#lane}-${sender.counts.requests}` : undefined,
      declined: [409],
    });
    const { known, status, body } = isRetried ? await sender.sendUntilDone(request) : await sender.send(request);
    if (known !== "refused") session.reportable = Math.max(session.reportable, Math.min(used, session.reserved));
    if (status === 409) this.#expectClosed(session, body);
    if (status !== 200) return null;
    session.reported = Math.max(session.reported, Math.min(used, session.reserved));
    const shown = body.usedCreditMicros;
    this.#load.expect(
      shown >= session.reported && shown <= session.reportable,
      `${session.name} shows ${shown}, of ${session.reported} to ${session.reportable}`,
    );
    return body.mustEnd;
  }

  #expectClosed(session: TriedSession, body: Result["body"]): void {
    this.#load.expect(body.code === "session_closed", `${session.name} was declined with ${body.code}`);
  }

  /**
   * Releases a session with `figure`, with the reported usage, or by its own key. Its own key may not write usage, so a
   * started session continues until the engine releases it. Then repeats the request, which must get the same response,
   * and sends a higher figure, which must be declined.
   */
  async #release(session: TriedSession, key: CreditKey, figure: number): Promise<void> {
    const { engine, sender } = this.#load;
    const path = `${PATH}/${session.id}/release`;
    const way = this.#below(4);
    const hasFigure = way < 2 || figure > session.reserved;
    const by = way === 3 && !hasFigure ? key : engine;
    const request = this.#post(path, by, {
      body: hasFigure ? { usedCreditMicros: figure } : {},
      idempotencyKey: this.#number() < 0.5 ? `${session.name}-release` : undefined,
      declined: hasFigure ? [409] : [],
    });
    const { status, body } = await sender.sendUntilDone(request);
    if (status === 409) this.#expectClosed(session, body);
    session.isReleaseDeclined = status === 409;
    if (status !== 200) return;
    if (body.endedAt === null) {
      const isMarked = by !== engine && body.status === "started" && body.mustEnd;
      this.#load.expect(isMarked, `${session.name} was released, and is ${body.status}`);
      return this.#release(session, engine, figure);
    }
    session.released = body;
    const billed: number = body.billedCreditMicros;
    // At least the reported usage, at most the hold.
    const said = hasFigure ? Math.min(figure, session.reserved) : 0;
    const isRight = billed >= Math.max(said, session.reported) && billed <= Math.max(said, session.reportable);
    this.#load.expect(isRight, `${session.name} is charged ${billed}`);
    if (this.#number() < 0.3) {
      const again = await sender.sendUntilDone(request);
      this.#load.expect(Bun.deepEquals(again.body, body), `${session.name} got two different responses to one release`);
    }
    if (billed < session.reserved && this.#number() < 0.3) {
      const other = this.#post(path, engine, { body: { usedCreditMicros: billed + 1 } });
      await sender.sendUntilDone({ ...other, expected: [], declined: [409] });
    }
  }

  /** A key never spends and reserves more than its cap. The tenant's balance is never negative. */
  async #readCounters(): Promise<void> {
    const { credits, engine, sender } = this.#load;
    const key = credits.keys[1 + this.#below(TREE.length - 1)] as CreditKey;
    const read = { lane: this.#lane, method: "GET", expected: [200] };
    const { status, body: own } = await sender.send({ ...read, path: "/api/v1/api-keys/self", key: key.secret });
    const charged = own?.spentCreditMicros + own?.reservedCreditMicros;
    if (status === 200) this.#load.expect(charged <= (key.cap ?? 0), `${charged} is above the cap ${key.cap}`);
    const balance = await sender.send({ ...read, path: "/api/v1/credits/balance", key: engine.secret });
    const { availableCreditMicros: available = 0 } = balance.body ?? {};
    this.#load.expect(available >= 0 && available <= BALANCE_SECONDS * SECOND, `${available} is available`);
  }

  /** A key with a cap. Its session must end when the key is revoked. The key then opens no further session. */
  async #liveAndRevoke(): Promise<void> {
    const { engine, secrets, sender } = this.#load;
    const name = `credit-key-${this.#lane}-${sender.counts.requests}`;
    const create = this.#post("/api/v1/api-keys", engine, {
      body: { name, environment: "live", scopes: ["realtime:write"], spendLimitCreditMicros: MAX_SECONDS * SECOND },
      idempotencyKey: name,
      expected: [201],
    });
    const { body: made } = await sender.sendUntilDone(create);
    if (made.apiKey) secrets.add(made.apiKey);
    const key: CreditKey = { id: made.id, secret: made.apiKey, cap: MAX_SECONDS * SECOND };
    const session = await this.#open(key, true);
    if (session.id !== null) {
      const mustEnd = await this.#report(session);
      this.#load.expect(
        mustEnd !== true,
        `${session.name} must end, although its keys are valid and within their caps`,
      );
    }
    await sender.sendUntilDone({ ...this.#post(`/api/v1/api-keys/${key.id}`, engine, {}), method: "DELETE" });
    if (session.id !== null) {
      const mustEnd = await this.#report(session);
      this.#load.expect(mustEnd !== false, `${session.name} may continue, although its key is revoked`);
      await this.#release(session, engine, this.#below(500));
    }
    const late = await this.#open(key, false, true);
    this.#load.expect(late.id === null, "a key opens a session after the response to its revocation");
  }
}
