/** The dependencies of the application and of its routes. Nothing is read or connected at import time. */

import type { Caller } from "@realtime-avatar/db/callers/callers";
import type { Databases } from "@realtime-avatar/db/databases/databases";
import type { RandomBytes, TenantId, UserId, UserSessionId } from "@realtime-avatar/domain/id";
import type { Logger } from "@realtime-avatar/runtime/log";
import type { Metrics } from "@realtime-avatar/runtime/metrics";
import type { Tracing } from "@realtime-avatar/runtime/tracing";
import type { Secret } from "@realtime-avatar/storage/secret";
import type { Storage } from "@realtime-avatar/storage/storage";
import type { RecentSecrets } from "./api-keys/recent-secrets.ts";
import type { Spool } from "./assets/spool.ts";
import type { UploadSlots } from "./assets/upload-slots.ts";
import type { Realtime } from "./calls/realtime.ts";
import type { ApiConfig } from "./config.ts";
import type { SweepOverdue } from "./credits/overdue-sessions.ts";
import type { FileSender } from "./http/files/send-file.ts";
import type { RequestLimit } from "./http/limits/rate-limit.ts";
import type { RedisStore } from "./http/limits/redis.ts";
import type { ResponseBytes } from "./http/limits/response-bytes.ts";
import type { OidcProvider } from "./people/oidc-provider.ts";
import type { PasskeyCeremonies } from "./people/webauthn.ts";
import type { TestSlots } from "./webhooks/test-slots.ts";

/** The dependencies that the process creates. */
export type AppOptions = {
  databases: Databases;
  clock: () => Date;
  random: RandomBytes;
  config: Pick<
    ApiConfig,
    | "agents"
    | "avatarWorkerSecret"
    | "callRetentionDays"
    | "conversationPriceMicrosPerSecond"
    | "creditPriceMicrosPerSecond"
    | "dailyTokens"
    | "defaultAvatarModelId"
    | "livekit"
    | "maxAssetBytesPerTenant"
    | "maxAssetsPerTenant"
    | "maxActiveKeysPerTenant"
    | "maxCallSeconds"
    | "maxRunningVideosPerTenant"
    | "oidc"
    | "rateLimit"
    | "sessionLeaseSeconds"
    | "sessionStartSeconds"
    | "speech"
    | "tenantRateLimit"
    | "trustedProxyHops"
    | "uploadOrigins"
  >;
  log: Logger;
  /** Called with each authenticated caller. */
  noteUse: (caller: Caller) => void;
  /** Called with the user and the session of each authenticated person. */
  noteSeen: (seen: { tenantId: TenantId; id: UserId | UserSessionId; checkedAt: Date }) => void;
  /** Scheme, host and port at which browsers reach the service. */
  publicUrl: () => string;
  /** Signs the challenges of passkeys, and seals OIDC attempts; the same in every replica. */
  sessionSecret: Secret;
  /** The address of the peer of a request's connection; null when it is unknown. */
  peerAddress: (request: Request) => string | null;
  webhooks: {
    /** Seals the secrets of endpoints; the same in every replica and worker. */
    sealingKey: Uint8Array;
    /** Whether http URLs of this machine are allowed. For development. */
    allowHttpLocalhost: boolean;
    /** How long a test of an endpoint waits for its first attempt, in milliseconds. */
    testWaitMs: number;
  };
  /** The store in which all replicas count rate limits; null when each process counts for itself. */
  redis: RedisStore | null;
  /** The responses that clients have not yet read. */
  responseBytes: ResponseBytes;
  /** The store of the files of assets. */
  storage: Storage;
  /** The folder of the files that are being uploaded. */
  spool: Spool;
  /** Scheme, host and port of the public URLs of assets and previews. */
  assetOrigin: () => string;
  /** Whether the process is shutting down. */
  isEnding: () => boolean;
  /** Metrics of requests; null when disabled. */
  metrics: Metrics | null;
  tracing: Tracing | null;
};

/** The dependencies of the routes: those of the application, and the state that all routes share. */
export type Dependencies = AppOptions & {
  /** Counts the requests of a caller over all routes; null without a limit. */
  limitRequests: RequestLimit | null;
  /** The operation id of a route; undefined for a route without an operation. */
  operationAt: (method: string, route: string) => string | undefined;
  /** Registration of passkeys and authentication with them. */
  passkeys: PasskeyCeremonies;
  /** The OpenID Connect provider for sign-in; null: passkeys only. */
  oidc: OidcProvider | null;
  /** The secrets that have authenticated recently: their look-ups have priority. */
  recentSecrets: RecentSecrets;
  /** The uploads in progress. */
  uploadSlots: UploadSlots;
  /** The public files that are being sent. */
  fileSender: FileSender;
  /** The lists that are being sent as files. */
  exportSender: FileSender;
  /** LiveKit and avatar workers; null when they are not configured. */
  realtime: Realtime | null;
  /** The tests of webhook endpoints in progress. */
  testSlots: TestSlots;
  /** Closes overdue sessions of a tenant before a request of it is refused for lack of credits. */
  sweepOverdue: SweepOverdue;
};
