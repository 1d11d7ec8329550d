/** Avatars after their creation: listed, read, changed, deleted. */
import { afterAll, beforeAll, describe, expect, setDefaultTimeout, test } from "bun:test";
import { seedKey, seedTenant } from "@realtime-avatar/db/testing";
import { parseApiKey } from "@realtime-avatar/domain/api-key-secret";
import { Avatar, writableStatuses } from "@realtime-avatar/domain/avatar";
import { validate } from "@realtime-avatar/domain/schema";
import { AVATAR_STATUSES, type AvatarStatus } from "@realtime-avatar/domain/state";
import fc from "fast-check";
import {
  type Answer,
  createTestApp,
  readAnswer,
  requestInit,
  startApi,
  type TestApi,
  UUID_V7,
} from "../support/api.ts";

// No test asserts a time: a slow disk must not fail one.
setDefaultTimeout(60_000);

const PATH = "/api/v1/avatars";
let api: TestApi;
let key: string;

beforeAll(async () => {
  api = await startApi();
  key = await api.key();
});
afterAll(() => api.close());

const make = async (request: object = {}, by = key): Promise<Avatar> => {
  const body = { displayName: "x", sourceKind: "image", ...request };
  const answer = await api.call("POST", PATH, { key: by, body });
  if (answer.status !== 201) throw new Error(`an avatar was not created: ${answer.status}`);
  return answer.body;
};
/** What prepares avatars is not there yet: the database is told what it would have done. */
const put = (id: string, status: AvatarStatus) =>
  api.database.db.client`update avatars set status = ${status} where id = ${id}`;
const makeIn = async (status: AvatarStatus, request: object = {}): Promise<Avatar> => {
  const made = await make(request);
  await put(made.id, status);
  return { ...made, status };
};
const get = (id: string, headers = {}, by = key) => api.call("GET", `${PATH}/${id}`, { key: by, headers });
const patch = (id: string, body: unknown, headers = {}, by = key) =>
  api.call("PATCH", `${PATH}/${id}`, { key: by, body, headers });
const remove = (id: string, headers = {}, by = key) => api.call("DELETE", `${PATH}/${id}`, { key: by, headers });
const outcome = ({ status, body }: Answer) => [status, body?.code];
const trail = (id: string) => api.database.db.client`
  select action, actor_key_id, changed_fields, environment, request_id from audit_events
  where target_id = ${id} and action <> 'avatar.created' order by id`;

describe("reading one avatar", () => {
  test("shows it as its creation did, in whatever state it is", async () => {
    const made = await make({ metadata: { big: 1e308, text: "ä" }, settings: { a: [1, { b: null }] } });
    const { status, headers, body } = await get(made.id);
    expect([status, headers.get("etag"), body]).toEqual([200, '"1"', made]);
    expect(validate(Avatar, body)).toEqual([]);
    for (const state of AVATAR_STATUSES) {
      await put(made.id, state);
      expect((await get(made.id)).body).toEqual({ ...made, status: state });
    }
  });

  test.each([
    ['"1"', 304],
    ['W/"1"', 304],
    ["*", 304],
    ['"0", "1"', 304],
    ['"7" , W/"1"', 304],
    ['"1",', 304],
    [',, "1"', 304],
    ['"2"', 200],
    ['"11"', 200],
    ["1", 200],
    ["", 200],
  ])("If-None-Match: %s is %d", async (header, expected) => {
    const made = await make();
    const { status, headers, text } = await get(made.id, { "if-none-match": header });
    expect(status).toBe(expected);
    expect(headers.get("etag")).toBe('"1"');
    expect(headers.get("x-request-id")).toMatch(UUID_V7);
    expect(headers.get("cache-control")).toBe("no-store");
    if (expected === 304) expect([text, headers.get("content-type")]).toEqual(["", null]);
  });

  test("HEAD with If-None-Match is 304 as well, and what is not there is 404 all the same", async () => {
    const made = await make();
    const head = await api.call("HEAD", `${PATH}/${made.id}`, { key, headers: { "if-none-match": '"1"' } });
    expect([head.status, head.headers.get("etag")]).toEqual([304, '"1"']);
    expect((await get("ava_01h455vb4pex5vsknk084sn02q", { "if-none-match": "*" })).status).toBe(404);
  });
});

describe("the list", () => {
  const tenant = async (): Promise<string> => {
    const id = await seedTenant(api.database.db);
    return (await seedKey(api.database.db, id, { environment: "live", scopes: ["*"] })).secret.reveal();
  };
  const list = (by: string, query = "") => api.call("GET", `${PATH}${query}`, { key: by });
  const names = ({ body }: Answer): string[] => body.data.map(({ displayName }: Avatar) => displayName);

  test("has the avatars of the tenant and the environment, newest first, as reading one shows them", async () => {
    const by = await tenant();
    const first = await make({ displayName: "first", metadata: { a: 1 } }, by);
    const second = await make({ displayName: "second", sourceKind: "video" }, by);
    const { body: inTest } = await api.call("POST", "/api/v1/api-keys", {
      key: by,
      body: { name: "t", scopes: ["*"] },
    });
    await make({ displayName: "in test" }, inTest.apiKey);
    const { status, body } = await list(by);
    expect([status, body]).toEqual([200, { data: [second, first], nextCursor: null }]);
    expect(names(await list(inTest.apiKey))).toEqual(["in test"]);
  });

  test("shows deleted ones only when they are asked for", async () => {
    const by = await tenant();
    const gone = await make({ displayName: "gone" }, by);
    await make({ displayName: "there" }, by);
    await remove(gone.id, {}, by);
    expect(names(await list(by))).toEqual(["there"]);
    expect(names(await list(by, "?sourceKind=image"))).toEqual(["there"]);
    expect(names(await list(by, "?status=deleted"))).toEqual(["gone"]);
    expect((await get(gone.id, {}, by)).body.status).toBe("deleted");
  });

  test("is filtered, and paged, as one would filter and cut the whole", async () => {
    const by = await tenant();
    const all: Avatar[] = [];
    const random = [0, 3, 1, 4, 1, 5, 2, 0, 5, 3, 5, 2, 4, 1, 0, 3, 2, 4, 5, 0];
    for (const [index, state] of random.entries()) {
      const status = AVATAR_STATUSES[state] ?? "draft";
      const made = await make({ displayName: `n${index}`, sourceKind: index % 3 ? "image" : "video" }, by);
      await put(made.id, status);
      all.unshift({ ...made, status });
    }
    for (const status of [undefined, ...AVATAR_STATUSES]) {
      for (const sourceKind of [undefined, "image", "video"] as const) {
        const expected = all.filter(
          (avatar) =>
            (status === undefined ? avatar.status !== "deleted" : avatar.status === status) &&
            (sourceKind === undefined || avatar.sourceKind === sourceKind),
        );
        const filters = `${status ? `&status=${status}` : ""}${sourceKind ? `&sourceKind=${sourceKind}` : ""}`;
        for (const limit of [1, 3, 100]) {
          const seen: Avatar[] = [];
          let next = `?limit=${limit}${filters}`;
          for (let pages = 0; pages < 30; pages++) {
            const { status: code, body } = await list(by, next);
            expect(code).toBe(200);
            seen.push(...body.data);
            if (body.nextCursor === null) break;
            expect(body.data).toHaveLength(limit);
            next = `?limit=${limit}&cursor=${body.nextCursor}`;
          }
          expect(seen).toEqual(expected);
        }
      }
    }
  });

  test("stays put while avatars are added", async () => {
    const by = await tenant();
    for (let index = 0; index < 5; index++) await make({ displayName: `n${index}` }, by);
    const { body: first } = await list(by, "?limit=2");
    await Promise.all(Array.from({ length: 5 }, () => make({ displayName: "added" }, by)));
    const second = await list(by, `?limit=100&cursor=${first.nextCursor}`);
    expect([...names({ body: first } as Answer), ...names(second)]).toEqual(["n4", "n3", "n2", "n1", "n0"]);
  });

  test.each([
    ["limit=101", "limit", "out_of_range"],
    ["status=gone", "status", "not_allowed"],
    ["sourceKind=gif", "sourceKind", "not_allowed"],
    ["sourceKind=image&sourceKind=image", "sourceKind", "repeated_parameter"],
    ["environment=live", "environment", "unknown_parameter"],
    ["cursor=W10", "cursor", "invalid_cursor"],
  ])("refuses ?%s", async (query, parameter, code) => {
    const { status, body } = await list(key, `?${query}`);
    expect([status, body.code]).toEqual([422, "validation_failed"]);
    expect(body.errors).toMatchObject([{ parameter, code }]);
  });
});

describe("changing an avatar", () => {
  test("changes what is given, clears what is null, keeps the rest, and tells which fields changed", async () => {
    const made = await make({
      sourceAssetId: "asset",
      defaultVoiceId: "voice-12",
      settings: { a: 1, b: 2 },
      metadata: { "": "" },
    });
    const given = { displayName: "renamed 👩‍🚀", sourceAssetId: null, settings: { b: { c: [1e-7] } }, modelId: "m2" };
    const answer = await patch(made.id, given);
    expect([answer.status, answer.headers.get("etag")]).toEqual([200, '"2"']);
    expect(answer.body).toEqual({ ...made, ...given, updatedAt: answer.body.updatedAt });
    const [row] = await api.database.db.client`select updated_at, created_at from avatars where id = ${made.id}`;
    expect(row?.["updated_at"].toISOString()).toBe(answer.body.updatedAt);
    expect(row?.["created_at"].toISOString()).toBe(made.createdAt);
    expect((await get(made.id)).body).toEqual(answer.body);
    expect([...(await trail(made.id))]).toEqual([
      {
        action: "avatar.updated",
        actor_key_id: parseApiKey(key)?.keyId ?? "",
        changed_fields: ["displayName", "modelId", "sourceAssetId", "settings"],
        environment: "live",
        request_id: answer.headers.get("x-request-id"),
      },
    ]);
  });

  test("is dated by the clock of the service", async () => {
    const made = await make();
    const later = new Date(Date.parse(made.createdAt) + 3_600_000);
    const app = createTestApp(api.database.db, { clock: () => later });
    for (const [method, body] of [
      ["PATCH", { displayName: "later" }],
      ["DELETE", undefined],
    ] as const) {
      const request = new Request(`http://api${PATH}/${made.id}`, requestInit(method, { key, body }));
      expect((await readAnswer(await app.handle(request))).body.updatedAt).toBe(later.toISOString());
    }
  });

  test("each field by itself, to another value and to the same", async () => {
    const changes = {
      displayName: "y",
      modelId: "m2",
      sourceAssetId: "asset",
      defaultVoiceId: "voice-12",
      settings: { x: 1 },
      metadata: JSON.parse('{"__proto__":{"x":1},"y":[]}'),
    };
    for (const [field, value] of Object.entries(changes)) {
      const made = await make();
      for (const expected of [[field], []]) {
        const { status, body } = await patch(made.id, { [field]: value });
        expect([status, body]).toEqual([200, { ...made, [field]: value, updatedAt: body.updatedAt }]);
        expect((await trail(made.id)).at(-1)?.["changed_fields"]).toEqual(expected);
      }
    }
  });

  test("every state: switches between ready and disabled alone; what is deleted stays as it is", async () => {
    for (const state of AVATAR_STATUSES) {
      for (const status of ["ready", "disabled"] as const) {
        const made = await makeIn(state);
        const answer = await patch(made.id, { status, displayName: "y" });
        if ((state === "ready" && status === "disabled") || (state === "disabled" && status === "ready")) {
          expect([answer.status, answer.body.status, answer.body.displayName]).toEqual([200, status, "y"]);
          expect((await trail(made.id))[0]?.["changed_fields"]).toEqual(["displayName", "status"]);
        } else {
          expect(outcome(answer)).toEqual([409, "invalid_transition"]);
          expect(answer.body).toMatchObject({ currentStatus: state, allowedStatuses: writableStatuses(state) });
          expect((await get(made.id)).body).toEqual(made);
          expect(await trail(made.id)).toHaveLength(0);
        }
      }
      const made = await makeIn(state);
      expect((await patch(made.id, { displayName: "y" })).status).toBe(state === "deleted" ? 409 : 200);
    }
  });

  test("refuses what is wrong, all at once, and changes nothing", async () => {
    const made = await make();
    const wrong = { displayName: "", modelId: null, defaultVoiceId: "short", status: "deleted", sourceKind: "video" };
    const { status, body } = await patch(made.id, wrong, { "if-match": "1" });
    expect(status).toBe(422);
    expect(
      body.errors.map(({ pointer, header, code }: Record<string, string>) => `${pointer ?? header} ${code}`),
    ).toEqual([
      "If-Match malformed",
      "#/displayName too_short",
      "#/modelId wrong_type",
      "#/defaultVoiceId too_short",
      "#/status not_allowed",
      "#/sourceKind unknown_field",
    ]);
    expect((await patch(made.id, {})).body.errors).toMatchObject([{ pointer: "#", code: "too_few" }]);
    expect((await get(made.id)).body).toEqual(made);
  });

  test("the order is 404, 412, 409", async () => {
    const deleted = await makeIn("deleted");
    const unknown = "ava_01h455vb4pex5vsknk084sn02q";
    const stale = { "if-match": '"9"' };
    for (const answer of [await patch(unknown, { status: "ready" }, stale), await remove(unknown, stale)]) {
      expect(outcome(answer)).toEqual([404, "not_found"]);
    }
    expect(outcome(await patch(deleted.id, { displayName: "y" }, stale))).toEqual([412, "precondition_failed"]);
    expect(outcome(await patch(deleted.id, { displayName: "y" }, { "if-match": '"1"' }))).toEqual([
      409,
      "invalid_transition",
    ]);
  });

  test("If-Match keeps one change from undoing another", async () => {
    const made = await make();
    const answers = await Promise.all(
      Array.from({ length: 12 }, (_, index) => patch(made.id, { displayName: `n${index}` }, { "if-match": '"1"' })),
    );
    expect(answers.map(({ status }) => status).sort()).toEqual([200, ...Array(11).fill(412)]);
    const winner = answers.find(({ status }) => status === 200);
    expect((await get(made.id)).body).toEqual(winner?.body);
    expect((await patch(made.id, { displayName: "z" }, { "if-match": '"1", W/"2", "2"' })).status).toBe(200);
    expect((await patch(made.id, { displayName: "z" }, { "if-match": "*" })).status).toBe(200);
    expect((await patch(made.id, { displayName: "z" }, { "if-match": 'W/"4"' })).status).toBe(412);
    expect((await patch(made.id, { displayName: "z" }, { "if-match": `"${"9".repeat(400)}"` })).status).toBe(412);
    // A tag that is none of ours matches nothing, whatever it is made of.
    for (const tag of [
      '"{"',
      '"}"',
      '"a\\"',
      '"", ""',
      '"x,4"',
      '"4,5"',
      '"NULL"',
      '"04"',
      '" 4"'.replace(" ", "\t"),
    ]) {
      const status = tag.includes("\t") ? 422 : 412;
      expect((await patch(made.id, { displayName: "z" }, { "if-match": tag })).status).toBe(status);
      expect((await remove(made.id, { "if-match": tag })).status).toBe(status);
    }
    expect((await patch(made.id, { displayName: "z" }, { "if-match": ', "1",, "4" ,' })).status).toBe(200);
  });

  test("many at once without it are all made, one after the other", async () => {
    const made = await make();
    const answers = await Promise.all(
      Array.from({ length: 24 }, (_, index) => patch(made.id, { metadata: { index } })),
    );
    expect(answers.map(({ status }) => status)).toEqual(Array(24).fill(200));
    expect(new Set(answers.map(({ headers }) => headers.get("etag"))).size).toBe(24);
    const last = answers.find(({ headers }) => headers.get("etag") === '"25"');
    expect((await get(made.id)).body).toEqual(last?.body);
  });

  test("needs avatars:write, and the same environment", async () => {
    const made = await make();
    const reader = await api.key({ environment: "live", scopes: ["avatars:read"] });
    const inTest = await api.key({ scopes: ["*"] });
    expect((await get(made.id, {}, reader)).status).toBe(200);
    expect(outcome(await patch(made.id, { displayName: "y" }, {}, reader))).toEqual([403, "insufficient_scope"]);
    expect(outcome(await remove(made.id, {}, inTest))).toEqual([404, "not_found"]);
    expect((await get(made.id)).body).toEqual(made);
  });
});

describe("deleting an avatar", () => {
  test("is soft, and twice gives the same answer", async () => {
    for (const state of AVATAR_STATUSES.filter((status) => status !== "deleted")) {
      const made = await makeIn(state);
      const first = await remove(made.id);
      expect([first.status, first.headers.get("etag")]).toEqual([200, '"2"']);
      expect(first.body).toEqual({ ...made, status: "deleted", updatedAt: first.body.updatedAt });
      const second = await remove(made.id);
      expect([second.status, second.headers.get("etag"), second.body]).toEqual([200, '"2"', first.body]);
      expect((await get(made.id)).body).toEqual(first.body);
      expect(await trail(made.id)).toMatchObject([{ action: "avatar.deleted", changed_fields: ["status"] }]);
    }
  });

  test("with If-Match only in that version", async () => {
    const made = await make();
    expect(outcome(await remove(made.id, { "if-match": '"2"' }))).toEqual([412, "precondition_failed"]);
    expect((await remove(made.id, { "if-match": '"1"' })).status).toBe(200);
    // The first one has raised the version: who repeats it with the old one is told so.
    expect(outcome(await remove(made.id, { "if-match": '"1"' }))).toEqual([412, "precondition_failed"]);
  });
});

describe("several callers", () => {
  /** What a caller may ask, and how the platform would move an avatar meanwhile. */
  type Step = {
    caller: number;
    ask: "ready" | "disabled" | "delete" | "rename" | "preprocessing" | "prepared" | "failed";
  };
  const ASKS = ["ready", "disabled", "delete", "rename", "preprocessing", "prepared", "failed"] as const;
  const steps = (length: number): fc.Arbitrary<Step[]> =>
    fc.array(fc.record({ caller: fc.nat(2), ask: fc.constantFrom(...ASKS) }), { minLength: 1, maxLength: length });

  /** The platform's own moves, as the worker will make them: in one statement, from the states that allow it. */
  const MOVES = {
    preprocessing: { to: "preprocessing", from: ["draft", "ready", "failed"] },
    prepared: { to: "ready", from: ["preprocessing"] },
    failed: { to: "failed", from: ["preprocessing"] },
  } as const;

  /** The model: the state that follows, or null when the step is refused. */
  const next = (state: AvatarStatus, ask: Step["ask"]): AvatarStatus | null => {
    if (ask === "rename") return state === "deleted" ? null : state;
    if (ask === "delete") return "deleted";
    if (ask === "ready") return state === "disabled" ? "ready" : null;
    if (ask === "disabled") return state === "ready" ? "disabled" : null;
    const { to, from } = MOVES[ask];
    return from.some((state_) => state_ === state) ? to : null;
  };

  let keys: string[] = [];
  beforeAll(async () => {
    keys = await Promise.all([0, 1, 2].map(() => api.key()));
  });

  /** Takes a step; the version and the state after it, or null when it was refused as the model may refuse it. */
  const take = async (id: string, { caller, ask }: Step) => {
    if (ask in MOVES) {
      const { to, from } = MOVES[ask as keyof typeof MOVES];
      const [row] = await api.database.db.client`
        update avatars set status = ${to}, version = version + 1 where id = ${id} and status in ${api.database.db.client([...from])}
        returning version, status`;
      return row
        ? { version: Number(row["version"]), status: row["status"] as AvatarStatus, found: null }
        : { found: null };
    }
    const by = keys[caller] ?? key;
    const answer =
      ask === "delete"
        ? await remove(id, {}, by)
        : await patch(id, ask === "rename" ? { displayName: "y" } : { status: ask }, {}, by);
    if (answer.status === 200) {
      return {
        version: Number(answer.headers.get("etag")?.slice(1, -1)),
        status: answer.body.status as AvatarStatus,
        found: null,
      };
    }
    expect(outcome(answer)).toEqual([409, "invalid_transition"]);
    const { currentStatus, allowedStatuses } = answer.body;
    expect(allowedStatuses).toEqual(writableStatuses(currentStatus as AvatarStatus));
    return { found: currentStatus as AvatarStatus };
  };

  test("one after the other, they get what the model says", async () => {
    await fc.assert(
      fc.asyncProperty(fc.constantFrom(...AVATAR_STATUSES), steps(8), async (start, sequence) => {
        const { id } = await makeIn(start);
        let state = start;
        let version = 1;
        for (const step of sequence) {
          const expected = next(state, step.ask);
          const result = await take(id, step);
          const isRepeat = step.ask === "delete" && state === "deleted";
          if (expected === null) {
            expect("version" in result).toBe(false);
            if (result.found !== null) expect(result.found).toBe(state);
            continue;
          }
          if (!isRepeat) version++;
          expect(result).toMatchObject({ version, status: expected });
          state = expected;
        }
      }),
      { seed: 21, numRuns: 60 },
    );
  });

  test("at once, two never win the same move: what they are told fits one order of the steps", async () => {
    await fc.assert(
      fc.asyncProperty(fc.constantFrom(...AVATAR_STATUSES), steps(10), async (start, sequence) => {
        const { id } = await makeIn(start);
        const results = await Promise.all(sequence.map(async (step) => ({ step, ...(await take(id, step)) })));
        // Each step that was made raised the version by one: this is their order.
        const made = results.flatMap((result) => ("version" in result && result.version ? [result] : []));
        const byVersion = Map.groupBy(made, ({ version }) => version);
        let state = start;
        const states = new Set([state]);
        const last = Math.max(1, ...byVersion.keys());
        for (let version = 2; version <= last; version++) {
          // Who deletes what is deleted is shown the version that it has.
          const group = byVersion.get(version) ?? [];
          const [first, ...others] = group.sort((a) => (a.step.ask === "delete" ? 1 : -1));
          if (!first) throw new Error(`nobody made version ${version}`);
          expect(others.every(({ step }) => step.ask === "delete" && first.step.ask === "delete")).toBe(true);
          expect(first.status).toBe(next(state, first.step.ask) ?? ("refused" as AvatarStatus));
          state = first.status ?? state;
          states.add(state);
        }
        // Who lost was told a state that the avatar was in.
        for (const { found } of results) if (found !== null) expect(states.has(found)).toBe(true);
        expect((await get(id)).body.status).toBe(state);
        // The platform's moves leave no event here; each of the others left one.
        const moves = made.filter(({ step }) => step.ask in MOVES);
        expect(await trail(id)).toHaveLength(last - 1 - moves.length);
      }),
      { seed: 22, numRuns: 60 },
    );
  });
});
