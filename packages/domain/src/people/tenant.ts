/** Tenants: the owners of keys and avatars. Only the operator creates them. The API has no route for it. */

import type { Static } from "@sinclair/typebox";
import type { TenantId } from "../id.ts";
import { ClosedObject, Text } from "../schema.ts";
import { MAX_NAME_LENGTH } from "../text.ts";

export const CreateTenant = ClosedObject({ name: Text({ minLength: 1, maxLength: MAX_NAME_LENGTH }) });
export type CreateTenant = Static<typeof CreateTenant>;

export type TenantRecord = { tenantId: TenantId; name: string; createdAt: Date };
