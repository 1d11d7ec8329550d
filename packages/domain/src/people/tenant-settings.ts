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
export type SettingsRecord = { keepsTranscripts: boolean; updatedAt: Date };

/** `record`: null until a setting is set. */
export const presentSettings = (
  { tenantId, environment }: { tenantId: TenantId; environment: Environment },
  record: SettingsRecord | null,
): TenantSettings => ({
  tenantId,
  environment,
  keepTranscripts: record?.keepsTranscripts ?? false,
  updatedAt: record?.updatedAt.toISOString() ?? null,
});
