/** Writes values as PostgreSQL reads them from text. */
import { jsonText } from "@realtime-avatar/domain/json-text";

/** The encoder of the container writes null. */
export type Encode<Value> = (value: NonNullable<Value>) => string;

const SPECIAL = /["\\]/;
/** As an item of a list or of a composite value. Quoted, because it may contain anything. */
export const quoted = (text: string): string => `"${SPECIAL.test(text) ? text.replaceAll(/["\\]/g, "\\$&") : text}"`;

/** Writes a value of any supported type. Objects become JSON. */
export const encodeValue: Encode<unknown> = (value) => {
  if (typeof value === "string") return value;
  if (value instanceof Date) return value.toISOString();
  if (value instanceof Uint8Array)
    return `\\x${Buffer.from(value.buffer, value.byteOffset, value.length).toString("hex")}`;
  if (Array.isArray(value)) return encodeList(value);
  return typeof value === "object" && value !== null ? jsonText(value) : String(value);
};

export const encodeList = (values: readonly unknown[], encode: Encode<unknown> = encodeValue): string =>
  `{${values.map((value) => (value === null || value === undefined ? "NULL" : quoted(encode(value)))).join(",")}}`;
