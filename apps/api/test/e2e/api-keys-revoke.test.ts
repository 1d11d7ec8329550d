/** Revocations of API keys. */
import { describe, expect, test } from "bun:test";
import { type Answer, startApi } from "../support/api.ts";
import { apiKeyCalls, outcome, withoutSecret } from "../support/api-keys.ts";

const api = await startApi();
const root = await api.key();

const { make, get, patch, revoke, rotate, works, trail, expire } = apiKeyCalls(api);

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

  test("an expired key, revoked: stays expired", async () => {
    const made = await make(root);
    await expire(made.id);
    const { status, body } = await revoke(root, made.id);
    expect([status, body.status]).toEqual([200, "expired"]);
    expect(await trail(made.id)).toHaveLength(0);
  });

  test("a key, revoking itself or keys in its reach: 200; others: 403", async () => {
    const own = await make(root);
    expect((await revoke(own.apiKey, own.id)).status).toBe(200);
    expect(await works(own.apiKey)).toBe(false);
    const narrow = await make(root, { scopes: ["api_keys:write"], spendLimitCreditMicros: 10 });
    const wide = await make(root);
    const capped = await make(root, { scopes: ["api_keys:write"], spendLimitCreditMicros: 10 });
    const answer = await revoke(narrow.apiKey, wide.id);
    expect(outcome(answer)).toEqual([403, "grant_exceeds_caller"]);
    expect(answer.body.errors.map(({ pointer }: { pointer: string }) => pointer)).toEqual([
      "#/scopes",
      "#/spendLimitCreditMicros",
    ]);
    expect((await revoke(narrow.apiKey, capped.id)).status).toBe(200);
  });

  test("an ancestor, changed, rotated or revoked by a descendant: 403", async () => {
    const parent = await make(root);
    const child = await make(parent.apiKey);
    const grandchild = await make(child.apiKey);
    await patch(root, parent.id, { scopes: ["avatars:read"] });
    for (const key of [child.apiKey, grandchild.apiKey]) {
      for (const answer of [
        await patch(key, parent.id, { scopes: ["*"] }),
        await rotate(key, parent.id),
        await revoke(key, parent.id),
      ]) {
        expect(outcome(answer)).toEqual([403, "grant_exceeds_caller"]);
        expect(answer.body.errors).toMatchObject([{ pointer: "#", code: "is_ancestor" }]);
      }
    }
    expect((await get(root, parent.id)).body).toMatchObject({ status: "active", scopes: ["avatars:read"] });
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

  test("two keys, revoking each other at once: one succeeds, no deadlock", async () => {
    for (let round = 0; round < 20; round++) {
      const [a, b] = await Promise.all([make(root), make(root)]);
      const answers = await Promise.all([revoke(a.apiKey, b.id), revoke(b.apiKey, a.id)]);
      expect(answers.map(({ status }) => status).sort()).toEqual([200, 401]);
    }
  });
});
