/** The request and response schemas of credits and of usage sessions. Amounts are in credit micros. */
import { type Static, Type } from "@sinclair/typebox";
import { MAX_CALL_SECONDS } from "../calls/limits.ts";
import { ENVIRONMENTS } from "../environment.ts";
import { ShownName } from "../lists/names.ts";
import { defineList, PAGE_LIMITS, Page, TOTAL_FIELD } from "../page.ts";
import { ClosedObject, Count, DateTime, Metadata, Nullable, OneOf, Text } from "../schema.ts";
import { ENTRY_KINDS } from "./entry.ts";
import { SessionLimit } from "./session-limit.ts";
import { SESSION_END_REASONS, SESSION_STATUSES } from "./status.ts";
import { DEFAULT_WINDOW_DAYS, MAX_WINDOW_DAYS } from "./window.ts";

/** The longest session, in seconds. */
export const MAX_SESSION_SECONDS = 1800;

/** The product that a session pays for: a call, or a video of the service. */
export const SESSION_KINDS = ["call", "video"] as const;
export type SessionKind = (typeof SESSION_KINDS)[number];

const id = (description?: string) => Text({ minLength: 1, maxLength: 64, ...(description && { description }) });
/** An indexed value: 500 characters of four bytes each fit into an entry of an index, which has at most 2,704 bytes. */
const MetadataValue = { minLength: 0, maxLength: 500 };
const SessionMetadata = (maxLength: number, description: string) =>
  Metadata({ maxProperties: 16, names: { minLength: 1, maxLength }, values: MetadataValue }, { description });
const Seconds = (description: string) => Count({ minimum: 1, maximum: MAX_SESSION_SECONDS, description });

export const CreateUsageSession = ClosedObject({
  avatarId: Type.Optional(id("The avatar of the call. It must be `ready`.")),
  maxSessionSeconds: Seconds("Credits are held for at most these seconds, as far as the balance and limits allow."),
  minSessionSeconds: Type.Optional(
    Seconds("Credits for at least this many seconds are held. Default: `maxSessionSeconds`."),
  ),
  metadata: Type.Optional(
    SessionMetadata(
      40,
      "Your own data: at most 16 strings of at most 500 characters, with names of 1 to 40 characters. `user_id` names the end user: the list of sessions filters by it.",
    ),
  ),
});
export type CreateUsageSession = Static<typeof CreateUsageSession>;

export const ReportUsage = ClosedObject({
  usedCreditMicros: Count({ description: "Usage since the start of the session. Cumulative." }),
});
export type ReportUsage = Static<typeof ReportUsage>;

export const ReleaseSession = ClosedObject({
  reason: Type.Optional(Text({ minLength: 1, maxLength: 160, description: "Why the call has ended." })),
  usedCreditMicros: Type.Optional(
    Count({ description: "Total usage of the session. Requires the scope `usage:write`." }),
  ),
});
export type ReleaseSession = Static<typeof ReleaseSession>;

const session = {
  sessionId: id(),
  environment: OneOf(ENVIRONMENTS),
  apiKeyId: id("The key that opened the session."),
  avatarId: Nullable(id()),
  avatarName: Nullable(Text({ minLength: 1, maxLength: 160 })),
  videoId: Nullable(id(), { description: "The video that the session pays for; null for calls." }),
  status: OneOf(SESSION_STATUSES),
  startedAt: Nullable(DateTime(), { description: "When usage was first reported." }),
  endedAt: Nullable(DateTime()),
  activeSeconds: Nullable(Count(), { description: "Seconds from `startedAt` to `endedAt`." }),
  billedCreditMicros: Nullable(Count(), { description: "The charge of the session; null while it is open." }),
  usedCreditMicros: Count({ description: "Usage reported so far; for a closed session, its charge." }),
  priceCreditMicrosPerSecond: Count(),
  // The `client_metadata` of a call has longer names.
  metadata: SessionMetadata(64, "Your own data."),
  createdAt: DateTime(),
  reservedCreditMicros: Count({
    description: "Credits that the session holds while it is open: the upper bound of its charge.",
  }),
  expiresAt: DateTime({ description: "An open session that is not reported before this moment ends by itself." }),
  mustEnd: Type.Boolean({
    description:
      "Whether the call of an open session must end: a key without `usage:write` has released the session, or it has used all that it holds.",
  }),
  reportedBy: Nullable(id(), { description: "The key that reported usage last; null before the first report." }),
  closedBy: Nullable(id(), {
    description:
      "The key that ended the session, or `sweep`: the service, at the end of its lease or of a call; null while it is open.",
  }),
  endReason: Nullable(OneOf(SESSION_END_REASONS), {
    description:
      "Why the session ended. `released`: by the key in `closedBy`. `not_started`: the person did not join in time, or no usage was reported in time. `lease_expired`: no usage was reported any more. `key_ended`: its key or an ancestor was revoked, has expired or is over its cap. `operator_ended`: by the operator. `failed`: the room of the call or its avatar failed. The others are those of the message `ended` of a call. Null while the session is open.",
  }),
  releaseReason: Nullable(Text({ minLength: 1, maxLength: 160 }), {
    description: "The `reason` of the release.",
  }),
};

export const UsageSession = ClosedObject(session);
export type UsageSession = Static<typeof UsageSession>;

/** A session in lists and reads. */
export const UsageSessionWithNames = ClosedObject({
  ...session,
  apiKeyName: ShownName("the key"),
  reportedByName: ShownName("the key of `reportedBy`"),
  closedByName: ShownName("the key of `closedBy`"),
});
export type UsageSessionWithNames = Static<typeof UsageSessionWithNames>;

const { avatarName: _, reservedCreditMicros: __, expiresAt: ___, ...known } = session;
/** A session that is about to be opened: `UsageSession` without the fields that only the write knows. */
export const OpenedSession = ClosedObject(known);
export type OpenedSession = Static<typeof OpenedSession>;

const window = {
  from: DateTime({
    description: `Start of the time window, inclusive; at most ${MAX_WINDOW_DAYS} days before \`to\`. Default: ${DEFAULT_WINDOW_DAYS} days before \`to\`.`,
  }),
  to: DateTime({ description: "End of the time window, exclusive. Default: the end of the present second." }),
};
const optionalWindow = { from: Type.Optional(window.from), to: Type.Optional(window.to) };
/** The window of a page, which a cursor keeps. */
const head = {
  from: DateTime({ description: "Start of the time window of the list, inclusive." }),
  to: DateTime({ description: "End of the time window of the list, exclusive." }),
};

const MAX_SESSIONS_OF_PAGE = 200;

/** `GET /api/v1/usage/sessions`: sessions that were created in a time window. */
export const USAGE_SESSION_LIST = defineList(
  "ses",
  {
    ...optionalWindow,
    endUserId: Type.Optional(
      Text({ ...MetadataValue, description: "Include only sessions whose `metadata` has this `user_id`." }),
    ),
    status: Type.Optional(OneOf(SESSION_STATUSES)),
    apiKeyId: Type.Optional(id("Include only sessions that this key opened.")),
    avatarId: Type.Optional(id("Include only sessions with this avatar.")),
    kind: Type.Optional(OneOf(SESSION_KINDS, { description: "Include only sessions of calls, or only of videos." })),
  },
  { minimum: 1, maximum: MAX_SESSIONS_OF_PAGE },
  { hasTotal: true },
);
/**
 * The filters of the operator. Additional ones: the environment, and the status `open`, which stands for each status of
 * an open session.
 */
export const OPERATOR_SESSION_LIST = defineList("ses", {
  ...USAGE_SESSION_LIST.filters.properties,
  environment: Type.Optional(OneOf(ENVIRONMENTS)),
  status: Type.Optional(OneOf(["open", ...SESSION_STATUSES])),
});
export const UsageSessionPage = Page(UsageSessionWithNames, {
  maximum: MAX_SESSIONS_OF_PAGE,
  head: { ...head, ...TOTAL_FIELD },
});

export const SUMMARY_GROUPS = ["apiKey", "avatar"] as const;
export type SummaryGroup = (typeof SUMMARY_GROUPS)[number];

/** Sums over the sessions of a day, with one key or avatar. */
export const UsageSum = ClosedObject({
  day: Type.Unsafe<string>({
    ...Text({ minLength: 10, maxLength: 10, description: "The day in UTC on which the sessions were created." }),
    pattern: "^\\d{4}-\\d{2}-\\d{2}$",
  }),
  apiKeyId: Nullable(id(), { description: "The key that opened the sessions; null when grouped by avatar." }),
  apiKeyName: ShownName("the key"),
  avatarId: Nullable(id(), { description: "The avatar; null for calls without one, and when grouped by key." }),
  avatarName: ShownName("the avatar"),
  sessions: Count({ description: "Number of sessions." }),
  activeSeconds: Count({ description: "Seconds from the start to the end of sessions that have ended." }),
  billedCreditMicros: Count({ description: "Charges of ended sessions, before refunds." }),
  reservedCreditMicros: Count({ description: "Credits held by open sessions." }),
});
export type UsageSum = Static<typeof UsageSum>;

/** Maximum number of sessions in the sums of one page. */
export const MAX_SESSIONS_OF_SUMMARY = 5000;

/** `GET /api/v1/usage/summary`: sums over sessions that were created in a time window. */
export const USAGE_SUMMARY = defineList(
  "ses",
  {
    ...optionalWindow,
    groupBy: Type.Optional(OneOf(SUMMARY_GROUPS, { description: "By key, which is the default, or by avatar." })),
  },
  null,
);

/** The usage of a tenant's conversations on one day. */
export const ConversationSum = ClosedObject({
  day: Type.Unsafe<string>({ ...UsageSum.properties.day, description: "The day in UTC on which it was reported." }),
  inputTokens: Count({ description: "Tokens that language models have read." }),
  outputTokens: Count({ description: "Tokens that they have written." }),
  estimatedTokens: Count({ description: "The part of both counts that a server did not report. It is estimated." }),
  heardSeconds: Count({ description: "Seconds of sound that were sent to recognizers." }),
  spokenCharacters: Count({ description: "Characters that were sent to voices." }),
});
export type ConversationSum = Static<typeof ConversationSum>;

export const UsageSummaryPage = Page(UsageSum, {
  maximum: MAX_SESSIONS_OF_SUMMARY,
  head: {
    ...head,
    conversations: Type.Array(ConversationSum, {
      minItems: 0,
      maxItems: MAX_WINDOW_DAYS + 1,
      description: "One entry for each day of the window, newest first; only on the first page.",
    }),
  },
});
export type UsageSummaryPage = Static<typeof UsageSummaryPage>;

/** A session, and whether its call must end. */
export const ReportedSession = ClosedObject({
  ...session,
  mustEnd: Type.Boolean({
    description:
      "Whether the call must end: a key without `usage:write` has released the session, it has used all that it holds, or its key or an ancestor is no longer valid or above its cap.",
  }),
});
export type ReportedSession = Static<typeof ReportedSession>;

const LowThreshold = Count({ minimum: 1 });

export const CreditBalance = ClosedObject({
  tenantId: id(),
  environment: OneOf(ENVIRONMENTS),
  balanceCreditMicros: Count({ description: "Available credits plus credits held by open sessions." }),
  reservedCreditMicros: Count({ description: "Credits held by open sessions." }),
  availableCreditMicros: Count({ description: "Credits that new sessions can hold." }),
  lifetimeGrantedCreditMicros: Count({ description: "All granted credits, less voided credits." }),
  lifetimeUsedCreditMicros: Count({ description: "Charges of sessions, less refunds." }),
  lowThresholdCreditMicros: Nullable(LowThreshold, {
    description: "The event `credits.low` is sent when less than this becomes available; null: never.",
  }),
  updatedAt: DateTime(),
});
export type CreditBalance = Static<typeof CreditBalance>;

export const UpdateCreditBalance = ClosedObject({
  lowThresholdCreditMicros: CreditBalance.properties.lowThresholdCreditMicros,
});
export type UpdateCreditBalance = Static<typeof UpdateCreditBalance>;

export const CreditEntry = ClosedObject({
  id: id(),
  environment: OneOf(ENVIRONMENTS),
  kind: OneOf(ENTRY_KINDS),
  amountCreditMicros: Count(),
  sessionId: Nullable(id()),
  apiKeyId: Nullable(id(), { description: "The key that opened the session." }),
  apiKeyName: ShownName("the key"),
  reportedBy: Nullable(id(), { description: "At the end of a session: the key that reported its usage last." }),
  reportedByName: ShownName("the key of `reportedBy`"),
  closedBy: Nullable(id(), {
    description: "At the end of a session: the key that ended it, or `sweep` for the service.",
  }),
  closedByName: ShownName("the key of `closedBy`"),
  reference: Nullable(Text({ minLength: 1, maxLength: 160 })),
  requestId: Text({ minLength: 1, maxLength: 128 }),
  createdAt: DateTime(),
});
export type CreditEntry = Static<typeof CreditEntry>;

/** A movement of credits by the operator: a grant, a void or a refund. */
export const MoveCredits = ClosedObject({
  environment: Type.Optional(OneOf(ENVIRONMENTS)),
  amountCreditMicros: Count({ minimum: 1 }),
  reference: Text({ minLength: 1, maxLength: 160 }),
});
export type MoveCredits = Static<typeof MoveCredits>;

/** The limit of open sessions of a tenant, which the operator changes. */
export const ChangeSessionLimit = ClosedObject({
  environment: OneOf(ENVIRONMENTS),
  maxConcurrentSessions: SessionLimit,
});

/** The longest call of a tenant with a live key, which the operator changes. null: the default of the service. */
export const ChangeCallLimit = ClosedObject({
  maxCallSeconds: Nullable(Count({ minimum: MAX_SESSION_SECONDS, maximum: MAX_CALL_SECONDS })),
});

/** The threshold of low credits of a tenant, as the operator changes it. */
export const ChangeLowThreshold = ClosedObject({
  environment: OneOf(ENVIRONMENTS),
  ...UpdateCreditBalance.properties,
});

/** `GET /api/v1/credits/entries` */
export const CREDIT_ENTRY_LIST = defineList(
  "ent",
  {
    kind: Type.Optional(OneOf(ENTRY_KINDS)),
    apiKeyId: Type.Optional(id()),
    sessionId: Type.Optional(id()),
  },
  PAGE_LIMITS,
  { hasTotal: true },
);
export const CreditEntryPage = Page(CreditEntry, { head: TOTAL_FIELD });
export type CreditEntryPage = Static<typeof CreditEntryPage>;
