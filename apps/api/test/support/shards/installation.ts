/** Support for tests: three servers of Citus with shards, the API on them, and requests with recorded responses. */
import { moveShard } from "@realtime-avatar/db/shards/manage";
import { readPlacement } from "@realtime-avatar/db/shards/placement";
import { migrateShards } from "@realtime-avatar/db/shards/split";
import { client } from "@realtime-avatar/testing/database";
import { type CitusNode, startNodes } from "@realtime-avatar/testing/postgres/citus";
import { seedKey, seedTenant } from "@realtime-avatar/testing/seeds";
import type { Answer, TestApi } from "../api.ts";
import { startCallApi } from "../calls/calls.ts";
import { openDatabases, openShard } from "./open.ts";

const WHOLE = { environment: "live", scopes: ["*", "usage:write"] } as const;

/** Starts the servers, creates `count` shards, and starts two APIs. One of them checks for moves often. */
export const startInstallation = async (binaries: string, count: number) => {
  const { coordinator, nodes } = await startNodes(binaries);
  await migrateShards(coordinator, count);
  const databases = await openDatabases(coordinator, { refreshMs: 500 });
  const calls = await startCallApi({ databases }, {}, openShard(coordinator, databases, count - 1));
  const { api } = calls;

  /** The port of the node of each shard. */
  const placement = async (): Promise<number[]> => {
    const admin = client(coordinator);
    const places = await readPlacement((text) => admin.unsafe(text));
    await admin.end();
    return Array.from({ length: count }, (_, shard) => places.get(shard)?.port ?? 0);
  };
  const nodeAt = (port: number): CitusNode => nodes.find(({ server }) => server.port === port) as CitusNode;
  /** The port of the node that is neither this one nor the coordinator. */
  const otherPort = (port: number): number =>
    nodes.slice(1).find(({ server }) => server.port !== port)?.server.port ?? 0;
  const move = (shard: number, port: number): Promise<void> =>
    moveShard(coordinator, shard, { host: "127.0.0.1", port });

  /** A new key of a new tenant in a shard. */
  const keyIn = async (shard: number): Promise<string> => {
    const own = await openDatabases(coordinator);
    const db = own.ofShard(shard);
    const { secret } = await seedKey(db, await seedTenant(db, { live: 1e12 }), { ...WHOLE, scopes: [...WHOLE.scopes] });
    await own.close();
    return secret.reveal();
  };
  /** `name`: the name of the avatar, and its Idempotency-Key. */
  const create = (key: string, call: TestApi["call"] = api.call, name?: string): Promise<Answer> => {
    const headers: Record<string, string> = name === undefined ? {} : { "idempotency-key": name };
    return call("POST", "/api/v1/avatars", { key, body: { displayName: name ?? "Ada", sourceKind: "image" }, headers });
  };
  return { coordinator, nodes, calls, api, placement, nodeAt, otherPort, move, keyIn, create };
};

export type Installation = Awaited<ReturnType<typeof startInstallation>>;
