/** Bodies of `POST /avatars` as text, for end-to-end tests with hostile input. */
import { expect } from "bun:test";
import { type Answer, rowCounts, type TestApi } from "./api.ts";

export const avatar = (fields: string): string => `{"displayName":"Ada","sourceKind":"image",${fields}}`;
export const inMetadata = (value: string): string => avatar(`"metadata":{"v":${value}}`);

export const hostileCalls = (api: TestApi, key: string) => {
  const send = (body: string | Uint8Array): Promise<Answer> => api.call("POST", "/api/v1/avatars", { key: key, body });
  return {
    send,
    /** An avatar's metadata in the database, as JSON. */
    stored: async (id: string): Promise<unknown> => {
      const [row] = await api.database.db.client`select metadata::text as text from avatars where id = ${id}`;
      return JSON.parse(row?.["text"]);
    },
    /** Sends the body. Expects this refusal and no new row. */
    expectRefused: async (body: string | Uint8Array, status: number, code: string): Promise<void> => {
      const before = await rowCounts(api.database);
      const answer = await send(body);
      expect([answer.status, answer.body.code]).toEqual([status, code]);
      expect(await rowCounts(api.database)).toEqual(before);
    },
  };
};
