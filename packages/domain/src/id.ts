/**
 * Ids are TypeIDs (github.com/jetify-com/typeid, spec 0.3): a prefix, `_`, and a UUIDv7 (RFC 9562 §5.7) in 26 characters
 * of lower-case Crockford base32. Bytewise order is creation order. Request ids are plain UUIDv7 in the usual hexadecimal
 * form, which other tools recognize.
 */

/** `count` bytes from a cryptographically secure source. */
export type RandomBytes = (count: number) => Uint8Array;

/** Tenant, API key record, avatar, audit event, asset, usage session, credit entry, job, user, session of a user, passkey, invitation, identity of a user, ticket of a call that waits, webhook endpoint, delivery, event, video, turn, recording. */
export type IdPrefix =
  | "ten"
  | "key"
  | "ava"
  | "aud"
  | "ast"
  | "ses"
  | "ent"
  | "job"
  | "usr"
  | "uss"
  | "psk"
  | "inv"
  | "idn"
  | "tkt"
  | "whe"
  | "whd"
  | "evt"
  | "vid"
  | "trn"
  | "rec";
export type Id<Prefix extends IdPrefix> = `${Prefix}_${string}`;
export type TenantId = Id<"ten">;
export type ApiKeyId = Id<"key">;
export type AvatarId = Id<"ava">;
export type AuditEventId = Id<"aud">;
export type SessionId = Id<"ses">;
export type CreditEntryId = Id<"ent">;
export type AssetId = Id<"ast">;
export type JobId = Id<"job">;
export type UserId = Id<"usr">;
export type UserSessionId = Id<"uss">;
export type PasskeyId = Id<"psk">;
export type InvitationId = Id<"inv">;
export type IdentityId = Id<"idn">;
export type TicketId = Id<"tkt">;
export type WebhookEndpointId = Id<"whe">;
export type WebhookDeliveryId = Id<"whd">;
export type WebhookEventId = Id<"evt">;
export type VideoId = Id<"vid">;
export type TurnId = Id<"trn">;
export type RecordingId = Id<"rec">;

/** The digits of Crockford base32. */
export const ALPHABET = "0123456789abcdefghjkmnpqrstvwxyz";

/** Regular expressions for the suffix: its first character, which encodes only three bits, and each other character. */
export const ID_CHARACTERS = ["[0-7]", "[0-9a-hjkmnp-tv-z]"] as const;
export const ID_SUFFIX_LENGTH = 26;

/** Pairs of base32 characters, indexed by the ten bits that they encode. */
const PAIRS = Array.from({ length: 1024 }, (_, bits) => `${ALPHABET[bits >> 5]}${ALPHABET[bits & 31]}`);

/** Encodes a 16-byte UUID as a TypeID. */
export const typeId = <Prefix extends IdPrefix>(prefix: Prefix, uuid: Uint8Array): Id<Prefix> => {
  let suffix = "";
  let pending = 0;
  // Two leading zero bits pad the 128 bits to 26 characters of five bits.
  let pendingBits = 2;
  for (let index = 0; index < 16; index++) {
    pending = (pending << 8) | (uuid[index] as number);
    pendingBits += 8;
    if (pendingBits >= 10) {
      pendingBits -= 10;
      suffix += PAIRS[pending >> pendingBits];
      pending &= (1 << pendingBits) - 1;
    }
  }
  return `${prefix}_${suffix}`;
};

/** The newest UUID from one source of randomness: its time, and its random bits in three parts. */
type Newest = { milliseconds: number; high: number; middle: number; low: number };
const newest = new WeakMap<RandomBytes, Newest>();

/** Buffer for the UUID under construction; reused by every call. */
const view = new DataView(new ArrayBuffer(16));
const uuid = Buffer.from(view.buffer);

/**
 * A new UUIDv7 for `now`, 16 bytes, which the next call overwrites. UUIDs from one source of randomness sort in creation
 * order. Within one millisecond, the 74 random bits of the previous UUID are increased by a random amount (RFC 9562 §6.2,
 * method 2).
 */
const nextUuid = (now: Date, random: RandomBytes): Buffer => {
  uuid.set(random(10), 6);
  const milliseconds = now.getTime();
  let high = view.getUint16(6) & 0xfff;
  let middle = view.getUint32(8) & 0x3fffffff;
  let low = view.getUint32(12);
  const last = newest.get(random);
  if (last?.milliseconds === milliseconds) {
    const sum = last.low + low + 1;
    low = sum % 2 ** 32;
    middle = last.middle + Math.floor(sum / 2 ** 32);
    high = last.high + (middle >>> 30);
    middle &= 0x3fffffff;
  }
  newest.set(random, { milliseconds, high, middle, low });
  view.setUint16(0, Math.floor(milliseconds / 2 ** 32));
  view.setUint32(2, milliseconds % 2 ** 32);
  view.setUint16(6, 0x7000 | (high & 0xfff));
  view.setUint32(8, 0x80000000 | middle);
  view.setUint32(12, low);
  return uuid;
};

/** A new id for an object created at `now`. Ids from one source of randomness sort in creation order. */
export const newId = <Prefix extends IdPrefix>(prefix: Prefix, now: Date, random: RandomBytes): Id<Prefix> =>
  typeId(prefix, nextUuid(now, random));

/**
 * The least id of its prefix for an object created at `time`: every id of that millisecond or a later one is greater or
 * equal, and every id of an earlier one is less. Times before 1970 count as 1970.
 */
export const firstIdAt = <Prefix extends IdPrefix>(prefix: Prefix, time: Date): Id<Prefix> => {
  const bytes = new Uint8Array(16);
  new DataView(bytes.buffer).setBigUint64(0, BigInt(Math.max(0, time.getTime())) << 16n);
  return typeId(prefix, bytes);
};

/** The time in an id of `newId`, in milliseconds: the first 48 bits, which are the first ten characters. */
export const timeOfId = (id: Id<IdPrefix>): number => {
  const characters = id.slice(id.indexOf("_") + 1).slice(0, 10);
  return [...characters].reduce((time, character) => time * 32 + ALPHABET.indexOf(character), 0);
};

/** A new request id: a UUIDv7 such as `01890a5d-ac96-774b-bcce-b302099a8057`, sortable together with the ids of `newId`. */
export const newRequestId = (now: Date, random: RandomBytes): string => {
  const hex = nextUuid(now, random).toString("hex");
  return `${hex.slice(0, 8)}-${hex.slice(8, 12)}-${hex.slice(12, 16)}-${hex.slice(16, 20)}-${hex.slice(20)}`;
};

const SUFFIX = new RegExp(`^${ID_CHARACTERS[0]}${ID_CHARACTERS[1]}{${ID_SUFFIX_LENGTH - 1}}$`);

/** Whether `value` is a well-formed id with this prefix. */
export const isId = <Prefix extends IdPrefix>(prefix: Prefix, value: unknown): value is Id<Prefix> =>
  typeof value === "string" && value.startsWith(`${prefix}_`) && SUFFIX.test(value.slice(prefix.length + 1));
