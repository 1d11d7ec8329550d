/** Revocations of API keys. */
import { describe, expect, test } from "bun:test";
import { type Answer, startApi } from "../support/api.ts";
import { apiKeyCalls, withoutSecret } from "../support/api-keys.ts";

const api = await startApi();
const root = await api.key();

const { make, get, patch, revoke, works, trail } = apiKeyCalls(api);

describe("the revocation of a key", () => {
  test("a key, revoked twice: it and its descendants end, and the response stays the same", async () => {
    const parent = await make(root);
    const child = await make(parent.apiKey);
    const grandchild = await make(child.apiKey);
    const sibling = await make(parent.apiKey);
    const first = await revoke(root, child.id);
    expect([first.status, first.headers.get("etag")]).toEqual([200, '"2"']);
    expect(first.body).toEqual({ ...withoutSecret(child), status: "revoked" });
    const versionOfRow = async () =>
      (await api.database.db.client`select xmin::text from api_keys where id = ${child.id}`)[0]?.["xmin"];
    const before = await versionOfRow();
    const second = await revoke(root, child.id);
    // It is confirmed by a write, which a synchronous replica has to have, and not by what could be read.
    expect(await versionOfRow()).not.toBe(before);
    expect([second.status, second.body, second.headers.get("etag")]).toEqual([200, first.body, '"2"']);
    expect(await Promise.all([parent, child, grandchild, sibling].map(({ apiKey }) => works(apiKey)))).toEqual([
      true,
      false,
      false,
      true,
    ]);
    expect((await get(root, grandchild.id)).body.status).toBe("revoked");
    expect(await trail(child.id)).toMatchObject([{ action: "api_key.revoked", changed_fields: ["status"] }]);
    // A descendant is revoked already: to say so changes nothing.
    expect((await revoke(root, grandchild.id)).body).toEqual({ ...withoutSecret(grandchild), status: "revoked" });
    expect(await trail(grandchild.id)).toHaveLength(0);
  });

  test("a key, changing itself without a pause: revoked all the same", async () => {
    for (const how of ["DELETE", "leaked-keys"]) {
      const made = await make(root);
      let stop = false;
      const lanes = Array.from({ length: 24 }, async () => {
        while (!stop) await patch(made.apiKey, made.id, { name: "busy" });
      });
      await Bun.sleep(50);
      let answer: Answer;
      try {
        answer =
          how === "DELETE"
            ? await revoke(root, made.id)
            : await api.call("POST", "/api/v1/leaked-keys", { body: { apiKey: made.apiKey } });
        expect([200, 202]).toContain(answer.status);
        expect(await works(made.apiKey)).toBe(false);
      } finally {
        stop = true;
        await Promise.all(lanes);
      }
      const { headers, body } = await get(root, made.id);
      // The answer shows the key as it came to be, whatever happened since its look-up.
      if (how === "DELETE")
        expect([answer.body.name, answer.headers.get("etag")]).toEqual([body.name, headers.get("etag")]);
    }
  });
});
