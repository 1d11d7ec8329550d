/**
 * The names of objects, beside their ids in lists and reads. A field of ids `keyId` or `createdBy` has its names in
 * `keyName` or `createdByName`. Responses to writes have no names, because such a response is known before the write
 * and stored for replays.
 */
import { Nullable, Text } from "../schema.ts";

/** The longest name is that of the file of an asset. */
const MAX_LENGTH = 240;

export const ShownName = (what: string) =>
  Nullable(Text({ minLength: 1, maxLength: MAX_LENGTH }), {
    description: `The name that ${what} has now; null without one, or when the name cannot be shown.`,
  });
