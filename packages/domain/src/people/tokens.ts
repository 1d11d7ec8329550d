/**
 * The tokens of people: the cookie of a session, and the link of an invitation.
 *
 *     rta_session_<tenant>_<id>_<secret>        rta_invitation_<tenant>_<id>_<secret>
 *
 * `tenant` and `id` are the suffixes of their ids, so that the row is found by its primary key. `secret` has 43 base62
 * characters: 256 random bits. Only the SHA-256 digest of the whole token is stored (see `api-keys/secret.ts`).
 */
import { createHash, timingSafeEqual } from "node:crypto";
import { ID_CHARACTERS, ID_SUFFIX_LENGTH, type Id, type RandomBytes, type TenantId } from "../id.ts";
import { randomBase62 } from "../secrets/base62.ts";

/** The kinds of tokens, with the prefix of the id that each carries. */
const PREFIXES = { session: "uss", invitation: "inv" } as const;
export type TokenKind = keyof typeof PREFIXES;
type TokenId<Kind extends TokenKind> = Id<(typeof PREFIXES)[Kind]>;

const SECRET_LENGTH = 43;
const SUFFIX = `${ID_CHARACTERS[0]}${ID_CHARACTERS[1]}{${ID_SUFFIX_LENGTH - 1}}`;
const TOKEN = new RegExp(`^rta_(session|invitation)_(${SUFFIX})_(${SUFFIX})_[0-9A-Za-z]{${SECRET_LENGTH}}$`);

/** A token whose format is valid. Conversion to text or JSON and inspection show no secret; only `reveal` does. */
export class PersonToken<Kind extends TokenKind = TokenKind> {
  readonly kind: Kind;
  readonly tenantId: TenantId;
  readonly id: TokenId<Kind>;
  readonly #text: string;

  private constructor(text: string, kind: Kind, tenant: string, id: string) {
    this.kind = kind;
    this.tenantId = `ten_${tenant}`;
    this.id = `${PREFIXES[kind]}_${id}` as TokenId<Kind>;
    this.#text = text;
  }

  /** Parses a token of this kind; null when the format is wrong. No I/O. */
  static parse<Kind extends TokenKind>(kind: Kind, text: string): PersonToken<Kind> | null {
    const [, found, tenant = "", id = ""] = TOKEN.exec(text) ?? [];
    return found === kind ? new PersonToken(text, kind, tenant, id) : null;
  }

  /** The whole token. Only for the cookie or the link, for the digest, and to derive keys. */
  reveal(): string {
    return this.#text;
  }

  toString(): string {
    return `rta_${this.kind}_****`;
  }

  toJSON(): string {
    return this.toString();
  }

  [Symbol.for("nodejs.util.inspect.custom")](): string {
    return this.toString();
  }
}

export type SessionToken = PersonToken<"session">;
export type InvitationToken = PersonToken<"invitation">;

export const parseToken = PersonToken.parse;

/** A new token for a row with this id. */
export const generateToken = <Kind extends TokenKind>(
  kind: Kind,
  { tenantId, id }: { tenantId: TenantId; id: TokenId<Kind> },
  random: RandomBytes,
): PersonToken<Kind> => {
  const text = `rta_${kind}_${tenantId.slice(4)}_${id.slice(4)}_${randomBase62(SECRET_LENGTH, random)}`;
  return PersonToken.parse(kind, text) as PersonToken<Kind>;
};

/** SHA-256 of the whole token, 32 bytes: the form stored in the database. It also covers the kind, the tenant and the id. */
export const digestToken = (token: PersonToken): Uint8Array => createHash("sha256").update(token.reveal()).digest();

/** Whether `digest` is the digest of `token`. Compares in constant time. */
export const verifyToken = (token: PersonToken, digest: Uint8Array): boolean => {
  const expected = digestToken(token);
  return expected.length === digest.length && timingSafeEqual(expected, digest);
};
