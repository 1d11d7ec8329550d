/**
 * The shard of an id. A large installation keeps its tenants in several shards, each with all tables. A tenant never
 * leaves its shard. Three things are looked up before their tenant is known: a tenant, the `keyId` of a credential, and
 * the token of a public URL. In such an installation these carry the number of their shard, so that no table of
 * locations is needed: a tenant id in its last two characters, the others in their first two.
 *
 * One database has no shards, and no number in any id. When it becomes the first shard of several, its tenants are
 * those whose id is older than that moment. Its key ids and tokens are unchanged: their first two characters are
 * random.
 */

import { ALPHABET, newId, type RandomBytes, type TenantId, timeOfId } from "./id.ts";
import { BASE62 } from "./secrets/base62.ts";

/**
 * The shards of an installation, numbered from 0. `splitAt`: when its one database became shard 0; null when it had
 * shards from the start.
 */
export type Shards = { count: number; splitAt: Date | null };

/** The number of values of the last two characters of a tenant id. */
export const MAX_SHARDS = 1024;

const BASE64URL = "ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz0123456789-_";

/** The number as the two digits with which a key id or a token begins. */
const digitsOf = (shard: number, digits: string): string =>
  `${digits[Math.floor(shard / digits.length)]}${digits[shard % digits.length]}`;

const numberOf = (text: string, digits: string): number =>
  digits.indexOf(text[0] as string) * digits.length + digits.indexOf(text[1] as string);

/** The shard to which a source of randomness is bound, and the sources made from each original source, by shard. */
const shardOfSource = new WeakMap<RandomBytes, number>();
const sourcesInShards = new WeakMap<RandomBytes, RandomBytes[]>();

/**
 * The source of randomness for objects that are stored in `shard`. Key ids and tokens from this source carry the
 * number. With null, for one database, returns `random` itself. Returns the same source each time, because ids from one
 * source sort in creation order.
 */
export const randomInShard = (random: RandomBytes, shard: number | null): RandomBytes => {
  if (shard === null) return random;
  const sources = sourcesInShards.get(random) ?? [];
  sourcesInShards.set(random, sources);
  const source = sources[shard] ?? ((count) => random(count));
  sources[shard] = source;
  shardOfSource.set(source, shard);
  return source;
};

const marked = (text: string, digits: string, source: RandomBytes): string => {
  const shard = shardOfSource.get(source);
  return shard === undefined ? text : digitsOf(shard, digits) + text.slice(2);
};

/** `keyId` with the number of the shard of `source` in its first two characters; unchanged when `source` is not bound to one. */
export const markedKeyId = (keyId: string, source: RandomBytes): string => marked(keyId, BASE62, source);

/** The same for the token of a public URL, in base64url. */
export const markedToken = (token: string, source: RandomBytes): string => marked(token, BASE64URL, source);

/**
 * The id of a new tenant in `shard`. It is never older than the split, even if this clock is behind, because older
 * tenants are in shard 0.
 */
export const newTenantId = (now: Date, random: RandomBytes, shards: Shards, shard: number): TenantId => {
  const time = shards.splitAt !== null && now < shards.splitAt ? shards.splitAt : now;
  return `${newId("ten", time, random).slice(0, -2)}${digitsOf(shard, ALPHABET)}` as TenantId;
};

/** The shard of a tenant; null when the shard, and so the tenant, does not exist. */
export const shardOfTenant = (tenantId: TenantId, { count, splitAt }: Shards): number | null => {
  if (splitAt !== null && timeOfId(tenantId) < splitAt.getTime()) return 0;
  const shard = numberOf(tenantId.slice(-2), ALPHABET);
  return shard < count ? shard : null;
};

/**
 * The shards that can have a key id or a token, the likely one first. A key id or token from before the split is in
 * shard 0 and begins with random characters. It may look like one of another shard, so shard 0 is searched when that
 * shard does not have it.
 */
const shardsOf = (text: string, digits: string, { count, splitAt }: Shards): readonly number[] => {
  const shard = numberOf(text, digits);
  if (shard === 0) return [0];
  return [...(shard < count ? [shard] : []), ...(splitAt === null ? [] : [0])];
};

/** Whether a key id names a shard that the installation does not have yet but can get. */
export const namesLaterShard = (keyId: string, { count }: Shards): boolean => {
  const shard = numberOf(keyId, BASE62);
  return count > 0 && shard >= count && shard < MAX_SHARDS;
};

export const shardsOfKeyId = (keyId: string, shards: Shards): readonly number[] => shardsOf(keyId, BASE62, shards);
export const shardsOfToken = (token: string, shards: Shards): readonly number[] => shardsOf(token, BASE64URL, shards);
