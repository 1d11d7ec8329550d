/** Usage sessions as stored, and as the API shows them. */
import type { Environment } from "../environment.ts";
import type { ApiKeyId, AvatarId, SessionId } from "../id.ts";
import type { UsageSession } from "./schemas.ts";
import type { SessionStatus } from "./status.ts";

/** A session as stored. Amounts are in credit micros. */
export type SessionRecord = {
  id: SessionId;
  environment: Environment;
  apiKeyId: ApiKeyId;
  avatarId: AvatarId | null;
  avatarName: string | null;
  status: SessionStatus;
  /** What it holds while it is open: at most this is charged. */
  reserved: number;
  /** What was reported so far; of a closed session, what it was charged. */
  used: number;
  /** For each second. */
  price: number;
  metadata: Record<string, string>;
  /** Incremented by every change; the value of the ETag. */
  version: number;
  createdAt: Date;
  startedAt: Date | null;
  endedAt: Date | null;
  expiresAt: Date;
  /** Whether a caller that may not write usage has released it: it stays open until its engine's final figure. */
  mustEnd: boolean;
  /** The key that reported last. */
  reportedBy: ApiKeyId | null;
  /** The key that ended it, or `sweep`. */
  closedBy: ApiKeyId | "sweep" | null;
};

/** Seconds from the first report to the end, rounded up; null while the session has not ended, or when it was never started. */
const activeSeconds = ({ startedAt, endedAt }: Pick<SessionRecord, "startedAt" | "endedAt">): number | null =>
  startedAt === null || endedAt === null ? null : Math.ceil((endedAt.getTime() - startedAt.getTime()) / 1000);

/** A session as the API shows it. */
export const presentSession = (record: SessionRecord): UsageSession => ({
  sessionId: record.id,
  environment: record.environment,
  apiKeyId: record.apiKeyId,
  avatarId: record.avatarId,
  avatarName: record.avatarName,
  status: record.status,
  startedAt: record.startedAt?.toISOString() ?? null,
  endedAt: record.endedAt?.toISOString() ?? null,
  activeSeconds: activeSeconds(record),
  billedCreditMicros: record.endedAt === null ? null : record.used,
  usedCreditMicros: record.used,
  priceCreditMicrosPerSecond: record.price,
  metadata: record.metadata,
  createdAt: record.createdAt.toISOString(),
  reservedCreditMicros: record.reserved,
  expiresAt: record.expiresAt.toISOString(),
  mustEnd: record.endedAt === null && (record.mustEnd || record.used === record.reserved),
  reportedBy: record.reportedBy,
  closedBy: record.closedBy,
});
