/**
 * Identifiers: TypeIDs (github.com/jetify-com/typeid, spec 0.3), that is a prefix, `_`, and a UUIDv7
 * (RFC 9562 §5.7) in 26 characters of lower-case Crockford base32. They sort by creation time, bytewise.
 */

/** `count` bytes from a cryptographically secure source. */
export type RandomBytes = (count: number) => Uint8Array;

/** Tenant, API key record, avatar, audit event, asset, request. */
export type IdPrefix = "ten" | "key" | "ava" | "aud" | "ast" | "req";
export type Id<Prefix extends IdPrefix> = `${Prefix}_${string}`;
export type TenantId = Id<"ten">;
export type ApiKeyId = Id<"key">;
export type AvatarId = Id<"ava">;
export type AuditEventId = Id<"aud">;

const ALPHABET = "0123456789abcdefghjkmnpqrstvwxyz";

/** The part after the prefix, as a regular expression: the first character holds the three top bits. */
export const ID_SUFFIX_PATTERN = "[0-7][0-9a-hjkmnp-tv-z]{25}";

/** Writes a 16-byte UUID as a TypeID. */
export const typeId = <Prefix extends IdPrefix>(prefix: Prefix, uuid: Uint8Array): Id<Prefix> => {
  let suffix = "";
  let pending = 0;
  // 128 bits are padded with two zero bits in front, to fill 26 characters of five bits.
  let pendingBits = 2;
  for (const byte of uuid) {
    pending = (pending << 8) | byte;
    pendingBits += 8;
    while (pendingBits >= 5) {
      pendingBits -= 5;
      suffix += ALPHABET[pending >> pendingBits];
      pending &= (1 << pendingBits) - 1;
    }
  }
  return `${prefix}_${suffix}`;
};

/** A new id for an object that comes into being at `now`. */
export const newId = <Prefix extends IdPrefix>(prefix: Prefix, now: Date, random: RandomBytes): Id<Prefix> => {
  const uuid = new Uint8Array(16);
  const milliseconds = now.getTime();
  uuid.set(random(10), 6);
  const view = new DataView(uuid.buffer);
  view.setUint16(0, Math.floor(milliseconds / 2 ** 32));
  view.setUint32(2, milliseconds % 2 ** 32);
  view.setUint8(6, 0x70 | (view.getUint8(6) & 0x0f));
  view.setUint8(8, 0x80 | (view.getUint8(8) & 0x3f));
  return typeId(prefix, uuid);
};

const SUFFIX = new RegExp(`^${ID_SUFFIX_PATTERN}$`);

/** Whether `value` is a well-formed id of this kind. */
export const isId = <Prefix extends IdPrefix>(prefix: Prefix, value: unknown): value is Id<Prefix> =>
  typeof value === "string" && value.startsWith(`${prefix}_`) && SUFFIX.test(value.slice(prefix.length + 1));
