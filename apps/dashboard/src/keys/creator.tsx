/** The creator of a key: a person, another key, or the operator of the service. */
import type { ApiKeyWithCreator } from "@realtime-avatar/client";
import { ObjectName } from "../layout/object-name.tsx";

/** The creator in words, for a key that is not listed below its creator; null for a root key. */
export const creatorText = ({ parentId, createdByName, environment }: ApiKeyWithCreator): string | null => {
  if (parentId === null) return null;
  // In test, live keys are shown without names.
  return `Created by ${createdByName ?? (environment === "test" ? "a live key" : "a key")}`;
};

export const Creator = ({ apiKey: { createdBy, createdByName } }: { apiKey: ApiKeyWithCreator }) =>
  createdBy === null ? "the operator of the service" : <ObjectName id={createdBy} name={createdByName} />;
