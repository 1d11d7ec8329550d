/** For tests: creates and revocations of one shard, whose answers are kept and compared with the rows. */
import { expect } from "bun:test";
import { randomBytes } from "node:crypto";
import { client } from "@realtime-avatar/testing/database";
import { until } from "@realtime-avatar/testing/until";
import type { Answer } from "../api.ts";
import type { Installation } from "./installation.ts";

/** Repeats a request until the shard answers: 503 says that it did not, and 429 that its queue was full. */
const untilAnswered = (statuses: Set<number>, send: () => Promise<Answer>): Promise<Answer> =>
  until(
    async () => {
      const answer = await send();
      statuses.add(answer.status);
      return ![429, 503].includes(answer.status) && answer;
    },
    // A shard can be moved or restored meanwhile.
    { limitMs: 300_000, pollMs: 50, state: () => statuses },
  );

/** Runs until it is stopped: six lanes of creates with Idempotency-Keys, and one that revokes keys which create at that time. */
export const startLoad = async ({ api, coordinator, create, keyIn }: Installation, shard: number) => {
  let isStopping = false;
  const statuses = new Set<number>();
  const run = randomBytes(6).toString("hex");
  /** The id of each avatar, by its name, which is its Idempotency-Key too. */
  const created = new Map<string, string>();
  const revoked: string[] = [];
  const accepted: string[] = [];

  const lane = async (number: number, key: string): Promise<void> => {
    for (let turn = 0; !isStopping; turn++) {
      const name = `${run}-${number}-${turn}`;
      const send = () => create(key, api.call, name);
      const answer = await untilAnswered(statuses, send);
      expect(answer.status).toBe(201);
      created.set(name, answer.body.id);
      if (turn % 5 === 0) expect((await untilAnswered(statuses, send)).text).toBe(answer.text);
    }
  };
  const expectRefused = async (key: string): Promise<void> => {
    const { status } = await untilAnswered(statuses, () => create(key));
    if (status !== 401) accepted.push(`${status} ${key.slice(0, 20)}`);
  };
  const revoke = async (manager: string): Promise<void> => {
    for (let turn = 0; !isStopping; turn++) {
      const body = { name: `short ${turn}`, environment: "live", scopes: ["avatars:write"] };
      const child = await untilAnswered(statuses, () => api.call("POST", "/api/v1/api-keys", { key: manager, body }));
      const writes = Array.from({ length: 4 }, () => create(child.body.apiKey));
      const path = `/api/v1/api-keys/${child.body.id}`;
      const answer = await untilAnswered(statuses, () => api.call("DELETE", path, { key: manager }));
      expect(answer.status).toBe(200);
      revoked.push(child.body.apiKey);
      await expectRefused(child.body.apiKey);
      await Promise.all(writes);
    }
  };
  const keys = [await keyIn(shard), await keyIn(shard)];
  const manager = await keyIn(shard);
  const running = [...Array.from({ length: 6 }, (_, at) => lane(at, keys[at % 2] as string)), revoke(manager)];

  return {
    /** Waits for so many further answers. */
    more: async (count: number): Promise<void> => {
      const before = created.size;
      await until(() => created.size >= before + count);
    },
    /** Ends it. The statuses of all answers but 401, and what is wrong: nothing. */
    stop: async () => {
      isStopping = true;
      await Promise.all(running);
      // Also much later, and on another node.
      for (const key of revoked) await expectRefused(key);
      const admin = client(coordinator);
      const rows = await admin.unsafe<{ id: string; name: string }[]>(
        `select id, display_name as name from s0${shard}.avatars where display_name like '${run}-%'`,
      );
      await admin.end();
      const written = new Set(rows.map(({ id }) => id));
      statuses.delete(401);
      return {
        statuses: [...statuses].toSorted(),
        lost: [...created.values()].filter((id) => !written.has(id)),
        // Each create was repeated until it was answered. So what is more than the answers was created twice.
        doubled: rows.filter(({ id, name }) => created.get(name) !== id),
        accepted,
      };
    },
  };
};
