/**
 * A model of the credits of one tenant: the response of each operation, and every counter after it. Pure: no database,
 * no clock. Amounts are in credit micros. A session is overdue when `expire` says so.
 */
import type { EntryKind } from "@realtime-avatar/domain/credits/entry";
import type { SessionStatus } from "@realtime-avatar/domain/credits/status";
import type { Environment } from "@realtime-avatar/domain/environment";

export type ModelKey = {
  id: string;
  environment: Environment;
  /** The ids of its ancestors. */
  lineage: readonly string[];
  cap: number | null;
  /** Maximum number of open sessions. */
  maxSessions: number | null;
  version: number;
  isRevoked: boolean;
  settled: number;
  reserved: number;
  openSessions: number;
};

export type ModelSession = {
  id: string;
  environment: Environment;
  keyId: string;
  /** The keys to which it is charged, in the order of their ids. */
  line: readonly ModelKey[];
  status: SessionStatus;
  reserved: number;
  used: number;
  price: number;
  isOverdue: boolean;
  /** Whether a caller without `usage:write` has released it. */
  mustEnd: boolean;
  /** The reported usage at its end. */
  reported: number;
  /** The key that reported last, and the key that ended it. */
  reportedBy: string | null;
  closedBy: string | null;
  refunded: number;
};

/** A caller as returned by its look-up: the version may be outdated. */
export type ModelCaller = { keyId: string; version: number };

export type ModelRequest = {
  id: string;
  caller: ModelCaller;
  /** The status of the avatar; "absent" when the caller has no such avatar, null when the request names none. */
  avatar: "ready" | "draft" | "deleted" | "absent" | null;
  maxSeconds: number;
  minSeconds: number;
  price: number;
  claim: string | null;
};

type Entry = { kind: EntryKind; environment: Environment; amount: number; sessionId: string | null };
type WrittenEntry = Entry & Pick<ModelSession, "reportedBy" | "closedBy">;
export type ModelOpened =
  | { kind: "written"; reserved: number }
  | { kind: "replayed"; reserved: number }
  | { kind: "spend_limit_exceeded"; limitedBy: "self" | "ancestor" }
  | { kind: "concurrency_limit_reached"; limitedBy: "self" | "ancestor" | "tenant" }
  | { kind: "stale" | "avatar_not_found" | "avatar_not_ready" | "insufficient_credits" };
export type ModelOutcome = "written" | "session_closed" | "not_found" | "stale";
export type ModelMoved = "written" | "repeated" | "reference_used" | "insufficient" | "too_large" | "not_found";

const account = () => ({ granted: 0, forfeited: 0, settled: 0, reserved: 0, openSessions: 0, maxSessions: 1000 });
const MOST = 2 ** 53 - 1;

export class CreditModel {
  readonly accounts = { live: account(), test: account() };
  readonly keys = new Map<string, ModelKey>();
  readonly sessions = new Map<string, ModelSession>();
  readonly entries: WrittenEntry[] = [];
  readonly #claims = new Map<string, number>();
  readonly #references = new Map<string, string>();

  addKey(key: Pick<ModelKey, "id" | "environment" | "lineage" | "cap" | "maxSessions" | "version">): void {
    this.keys.set(key.id, { ...key, isRevoked: false, settled: 0, reserved: 0, openSessions: 0 });
  }

  key(id: string): ModelKey {
    const key = this.keys.get(id);
    if (!key) throw new Error(`the model has no key ${id}`);
    return key;
  }

  available(environment: Environment): number {
    const { granted, forfeited, settled, reserved } = this.accounts[environment];
    return granted - forfeited - settled - reserved;
  }

  isValid({ keyId, version }: ModelCaller): boolean {
    const key = this.key(keyId);
    return key.version === version && [...key.lineage, keyId].every((id) => !this.key(id).isRevoked);
  }

  open({ id, caller, avatar, maxSeconds, minSeconds, price, claim }: ModelRequest): ModelOpened {
    if (!this.isValid(caller)) return { kind: "stale" };
    const key = this.key(caller.keyId);
    const claimed = claim === null ? undefined : this.#claims.get(`${key.id} ${claim}`);
    if (claimed !== undefined) return { kind: "replayed", reserved: claimed };
    if (avatar === "absent" || avatar === "deleted") return { kind: "avatar_not_found" };
    if (avatar === "draft") return { kind: "avatar_not_ready" };
    const line = [...key.lineage, key.id]
      .map((id) => this.key(id))
      .filter(({ environment }) => environment === key.environment)
      .sort((a, b) => (a.id < b.id ? -1 : 1));
    const reached = line.find(({ maxSessions, openSessions }) => maxSessions !== null && openSessions >= maxSessions);
    if (reached) return { kind: "concurrency_limit_reached", limitedBy: reached === key ? "self" : "ancestor" };
    const { openSessions, maxSessions } = this.accounts[key.environment];
    if (openSessions >= maxSessions) return { kind: "concurrency_limit_reached", limitedBy: "tenant" };
    let seconds = maxSeconds;
    for (const { id, cap, settled, reserved } of line) {
      if (cap === null) continue;
      seconds = Math.min(seconds, Math.floor((cap - settled - reserved) / price));
      if (seconds < minSeconds) return { kind: "spend_limit_exceeded", limitedBy: id === key.id ? "self" : "ancestor" };
    }
    seconds = Math.min(seconds, Math.floor(this.available(key.environment) / price));
    if (seconds < minSeconds) return { kind: "insufficient_credits" };

    const reserved = seconds * price;
    const { environment } = key;
    const unused = { used: 0, reported: 0, refunded: 0, isOverdue: false, mustEnd: false } as const;
    const state = { status: "reserved", reserved, price, ...unused, reportedBy: null, closedBy: null } as const;
    this.sessions.set(id, { id, environment, keyId: key.id, line, ...state });
    for (const counters of [this.accounts[environment], ...line]) {
      counters.reserved += reserved;
      counters.openSessions++;
    }
    this.#add("hold", environment, reserved, id);
    if (claim !== null) this.#claims.set(`${key.id} ${claim}`, reserved);
    return { kind: "written", reserved };
  }

  report(id: string, used: number, caller: ModelCaller): ModelOutcome {
    if (!this.isValid(caller)) return "stale";
    const session = this.sessions.get(id);
    if (session?.environment !== this.key(caller.keyId).environment) return "not_found";
    if (!isOpen(session) || session.isOverdue) return "session_closed";
    session.status = "started";
    session.used = Math.min(session.reserved, Math.max(session.used, used));
    session.reportedBy = caller.keyId;
    return "written";
  }

  /** Whether an open session must end because of its usage or its release. */
  isMarked(id: string): boolean {
    const session = this.sessions.get(id);
    return session !== undefined && isOpen(session) && (session.mustEnd || session.used === session.reserved);
  }

  /** Whether the call of a session must end, which the response to a report states. */
  mustEnd(id: string): boolean {
    const session = this.sessions.get(id);
    if (!session) return true;
    const { lineage } = this.key(session.keyId);
    return (
      session.mustEnd ||
      session.used === session.reserved ||
      [...lineage, session.keyId].some((key) => this.key(key).isRevoked) ||
      session.line.some(({ cap, settled, reserved }) => cap !== null && settled + reserved > cap)
    );
  }

  release(
    id: string,
    { isEngine, used }: { isEngine: boolean; used: number | null },
    caller: ModelCaller,
  ): ModelOutcome {
    if (!this.isValid(caller)) return "stale";
    const session = this.sessions.get(id);
    if (session?.environment !== this.key(caller.keyId).environment) return "not_found";
    if (!isEngine && !session.line.some((key) => key.id === caller.keyId)) return "not_found";
    if (isOpen(session)) {
      if (session.isOverdue) this.#close(session, session.used, "expire", caller.keyId);
      else if (isEngine) this.#close(session, Math.max(session.used, used ?? 0), "release", caller.keyId);
      else if (session.status === "reserved") this.#close(session, 0, "release", caller.keyId);
      else session.mustEnd = true;
    }
    return isEngine && used !== null && Math.min(Math.max(session.reported, used), session.reserved) !== session.used
      ? "session_closed"
      : "written";
  }

  expire(id: string): void {
    const session = this.sessions.get(id);
    if (session && isOpen(session)) session.isOverdue = true;
  }

  /** Returns the number of closed sessions. */
  sweep(): number {
    const overdue = [...this.sessions.values()].filter((session) => isOpen(session) && session.isOverdue);
    for (const session of overdue) this.#close(session, session.used, "expire", "sweep");
    return overdue.length;
  }

  move(
    kind: "grant" | "void" | "adjust",
    { environment, amount, sessionId, reference }: Omit<Entry, "kind"> & { reference: string | null },
  ): ModelMoved {
    const counters = this.accounts[environment];
    const session = sessionId === null ? undefined : this.sessions.get(sessionId);
    if (kind === "adjust" && session?.environment !== environment) return "not_found";
    const earlier = reference === null ? undefined : this.#references.get(`${environment} ${reference}`);
    const same = `${kind} ${amount} ${sessionId}`;
    if (earlier !== undefined) return earlier === same ? "repeated" : "reference_used";
    if (kind === "grant" && amount > MOST - counters.granted) return "too_large";
    if (kind === "void" && amount > this.available(environment)) return "insufficient";
    if (kind === "adjust" && session) {
      if (amount > (isOpen(session) ? 0 : session.used - session.refunded)) return "insufficient";
      session.refunded += amount;
      for (const one of [counters, ...session.line]) one.settled -= amount;
    }
    if (kind === "grant") counters.granted += amount;
    if (kind === "void") counters.forfeited += amount;
    if (reference !== null) this.#references.set(`${environment} ${reference}`, same);
    this.#add(kind, environment, amount, sessionId);
    return "written";
  }

  #close(session: ModelSession, charge: number, rest: "release" | "expire", closedBy: string): void {
    const charged = Math.min(session.reserved, charge);
    for (const counters of [this.accounts[session.environment], ...session.line]) {
      counters.reserved -= session.reserved;
      counters.settled += charged;
      counters.openSessions--;
    }
    session.status = rest === "expire" && session.status === "reserved" ? "failed" : "released";
    session.reported = session.used;
    session.used = charged;
    session.closedBy = closedBy;
    const by = { reportedBy: session.reportedBy, closedBy };
    this.#add("settle", session.environment, charged, session.id, by);
    this.#add(rest, session.environment, session.reserved - charged, session.id, by);
  }

  #add(
    kind: EntryKind,
    environment: Environment,
    amount: number,
    sessionId: string | null,
    by: Pick<ModelSession, "reportedBy" | "closedBy"> = { reportedBy: null, closedBy: null },
  ): void {
    this.entries.push({ kind, environment, amount, sessionId, ...by });
  }
}

export const isOpen = ({ status }: Pick<ModelSession, "status">): boolean =>
  status === "reserved" || status === "started";
