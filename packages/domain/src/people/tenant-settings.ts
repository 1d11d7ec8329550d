/** The settings of a tenant, in each environment. */
import { type Static, Type } from "@sinclair/typebox";
import { ENVIRONMENTS, type Environment } from "../environment.ts";
import type { TenantId } from "../id.ts";
import { ClosedObject, DateTime, Nullable, OneOf, Text } from "../schema.ts";

const keepTranscripts = Type.Boolean({
  description:
    "Whether the transcripts of calls that begin from now on are kept, to be read by `GET /usage/sessions/{id}/transcript`.",
});

export const UpdateTenantSettings = ClosedObject({ keepTranscripts });
export type UpdateTenantSettings = Static<typeof UpdateTenantSettings>;

export const TenantSettings = ClosedObject({
  tenantId: Text({ minLength: 1, maxLength: 64 }),
  environment: OneOf(ENVIRONMENTS),
  keepTranscripts,
  updatedAt: Nullable(DateTime(), { description: "The last change; null while nothing was ever set." }),
});
export type TenantSettings = Static<typeof TenantSettings>;

/** Settings as stored. */
export type SettingsRecord = { keepsTranscripts: boolean; version: number; updatedAt: Date | null };

/** The settings of a tenant that has set none. A stored record has the same version until a setting is set. */
export const UNSET_SETTINGS: SettingsRecord = { keepsTranscripts: false, version: 1, updatedAt: null };

export const presentSettings = (
  { tenantId, environment }: { tenantId: TenantId; environment: Environment },
  { keepsTranscripts, version, updatedAt }: SettingsRecord,
): TenantSettings => ({
  tenantId,
  environment,
  keepTranscripts: keepsTranscripts,
  updatedAt: version === UNSET_SETTINGS.version ? null : (updatedAt?.toISOString() ?? null),
});
