/** Avatars under several concurrent callers, compared with a model. */
import { describe, expect, test } from "bun:test";
import { AVATAR_STATUSES, type AvatarStatus, writableStatuses } from "@realtime-avatar/domain/avatars/status";
import fc from "fast-check";
import { startApi } from "../support/api.ts";
import { avatarCalls, outcome } from "../support/avatars.ts";

/** The full number of runs with LONG=1. */
const RUNS = process.env["LONG"] === "1" ? 60 : 15;

const api = await startApi();
const key = await api.key();
const keys = await Promise.all([0, 1, 2].map(() => api.key()));

const { makeIn, get, patch, remove, trail } = avatarCalls(api, key);

describe("avatars under several concurrent callers", () => {
  /** The requests of a caller, and the transitions of the platform. */
  type Step = {
    caller: number;
    ask: "ready" | "disabled" | "delete" | "rename" | "preprocessing" | "prepared" | "failed";
  };
  const ASKS = ["ready", "disabled", "delete", "rename", "preprocessing", "prepared", "failed"] as const;
  const steps = (length: number): fc.Arbitrary<Step[]> =>
    fc.array(fc.record({ caller: fc.nat(2), ask: fc.constantFrom(...ASKS) }), { minLength: 1, maxLength: length });

  /** The platform's own transitions, like those of the worker: in one statement, from the allowed states. */
  const TRANSITIONS = {
    preprocessing: { to: "preprocessing", from: ["draft", "ready", "failed"] },
    prepared: { to: "ready", from: ["preprocessing"] },
    failed: { to: "failed", from: ["preprocessing"] },
  } as const;

  /** The model: the next state, or null when the step is refused. */
  const next = (state: AvatarStatus, ask: Step["ask"]): AvatarStatus | null => {
    if (ask === "rename") return state === "deleted" ? null : state;
    if (ask === "delete") return "deleted";
    if (ask === "ready") return state === "disabled" ? "ready" : null;
    if (ask === "disabled") return state === "ready" ? "disabled" : null;
    const { to, from } = TRANSITIONS[ask];
    return from.some((state_) => state_ === state) ? to : null;
  };

  /** Runs a step. Returns the version and the state after it, or null for a refusal that the model allows. */
  const take = async (id: string, { caller, ask }: Step) => {
    if (ask in TRANSITIONS) {
      const { to, from } = TRANSITIONS[ask as keyof typeof TRANSITIONS];
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

  test("random steps, one after the other: the results of the model", async () => {
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
      { seed: 21, numRuns: RUNS },
    );
  });

  test("random steps, at once: the results of some sequential order", async () => {
    await fc.assert(
      fc.asyncProperty(fc.constantFrom(...AVATAR_STATUSES), steps(10), async (start, sequence) => {
        const { id } = await makeIn(start);
        const results = await Promise.all(sequence.map(async (step) => ({ step, ...(await take(id, step)) })));
        // Each completed step raised the version by one, which gives their order.
        const made = results.flatMap((result) => ("version" in result && result.version ? [result] : []));
        const byVersion = Map.groupBy(made, ({ version }) => version);
        let state = start;
        const states = new Set([state]);
        const last = Math.max(1, ...byVersion.keys());
        for (let version = 2; version <= last; version++) {
          // A repeated deletion returns the version of the first one.
          const group = byVersion.get(version) ?? [];
          const [first, ...others] = group.sort((a) => (a.step.ask === "delete" ? 1 : -1));
          if (!first) throw new Error(`no step made version ${version}`);
          expect(others.every(({ step }) => step.ask === "delete" && first.step.ask === "delete")).toBe(true);
          expect(first.status).toBe(next(state, first.step.ask) ?? ("refused" as AvatarStatus));
          state = first.status ?? state;
          states.add(state);
        }
        // Each refusal names a state that the avatar has had.
        for (const { found } of results) if (found !== null) expect(states.has(found)).toBe(true);
        expect((await get(id)).body.status).toBe(state);
        // In this test, the platform's transitions write no audit event. Each other step wrote one.
        const transitions = made.filter(({ step }) => step.ask in TRANSITIONS);
        expect(await trail(id)).toHaveLength(last - 1 - transitions.length);
      }),
      { seed: 22, numRuns: RUNS },
    );
  });
});
