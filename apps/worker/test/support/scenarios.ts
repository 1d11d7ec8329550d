/** The actions of callers on avatars while processes are killed, and the expected result of each. */
import { until } from "@realtime-avatar/testing/until";
import type { Answer } from "./calls.ts";
import { noise } from "./world.ts";

export type Call = (
  request: [method: string, path: string, body?: object | FormData],
  idempotencyKey?: string,
) => Promise<Answer>;

/** The expected avatar at the end. `failures` and `prepared`: how often each was the result of a preparation. */
export type Expected = {
  id: string;
  status: "ready" | "failed" | "deleted";
  prepared: readonly number[];
  failures: readonly number[];
  generations: readonly number[];
  error?: RegExp;
};

const created = ({ status, body }: Answer): string => {
  if (status !== 201) throw new Error(`a create was answered with ${status}: ${JSON.stringify(body)}`);
  return body["id"] as string;
};
const create = async (call: Call, name: string, sourceAssetId: string): Promise<string> =>
  created(await call(["POST", "/api/v1/avatars", { displayName: name, sourceKind: "image", sourceAssetId }], name));

/** Long enough for an avatar with thousands of jobs before its own. */
const SETTLED_MS = 600_000;
/** Waits until the avatar is no longer being prepared. */
const settled = async (call: Call, id: string): Promise<void> => {
  const read = async () => (await call(["GET", `/api/v1/avatars/${id}`])).body;
  await until(async () => (await read())["status"] !== "preprocessing", {
    limitMs: SETTLED_MS,
    pollMs: 50,
    state: read,
  });
};

const READY = { status: "ready", prepared: [1], failures: [0], generations: [1] } as const;
const FAILED = { status: "failed", prepared: [0], failures: [1], generations: [1] } as const;

/** Each scenario creates one avatar with a different `name`. `jobs`: the minimum number of its jobs. */
type Scenario = { share: number; jobs: number; run(call: Call, name: string): Promise<Expected> };
export const SCENARIOS: readonly Scenario[] = [
  {
    share: 50,
    jobs: 1,
    run: async (call, name) => ({ id: await create(call, name, "ast_test_ready"), ...READY }),
  },
  {
    share: 16,
    jobs: 1,
    run: async (call, name) => ({ id: await create(call, name, "ast_test_dark"), ...FAILED, error: /brightness/ }),
  },
  {
    share: 2,
    jobs: 1,
    run: async (call, name) => {
      const id = await create(call, name, "ast_test_internal");
      return { id, ...FAILED, error: /could not be prepared/ };
    },
  },
  // An avatar that is prepared again.
  {
    share: 14,
    jobs: 2,
    run: async (call, name) => {
      const id = await create(call, name, "ast_test_small_face");
      await settled(call, id);
      const { status, body } = await call(["POST", `/api/v1/avatars/${id}/prepare`], `${name}-again`);
      if (status !== 200) throw new Error(`an avatar was not prepared again: ${status} ${JSON.stringify(body)}`);
      return { id, status: "ready", prepared: [2], failures: [0], generations: [2] };
    },
  },
  // Sets another source, before or after the first one has failed.
  {
    share: 10,
    jobs: 2,
    run: async (call, name) => {
      const id = await create(call, name, "ast_test_no_face");
      const { status } = await call(["PATCH", `/api/v1/avatars/${id}`, { sourceAssetId: "ast_test_ready" }]);
      if (status !== 200) throw new Error(`a source was not changed: ${status}`);
      return { id, status: "ready", prepared: [1], failures: [0, 1], generations: [2] };
    },
  },
  // An avatar that is deleted while it is prepared.
  {
    share: 7,
    jobs: 1,
    run: async (call, name) => {
      const id = await create(call, name, "ast_test_ready");
      const { status } = await call(["DELETE", `/api/v1/avatars/${id}`]);
      if (status !== 200) throw new Error(`an avatar was not deleted: ${status}`);
      return { id, status: "deleted", prepared: [0, 1], failures: [0], generations: [1] };
    },
  },
  // An avatar that waits for the processing of its file.
  {
    share: 1,
    jobs: 2,
    run: async (call, name) => {
      const form = new FormData();
      form.set("kind", "image");
      form.set("file", new Blob([await noise()], { type: "image/png" }), "noise.png");
      const assetId = created(await call(["POST", "/api/v1/assets", form], `${name}-asset`));
      return { id: await create(call, name, assetId), ...READY };
    },
  },
];

/** The scenario of the avatar `index`. Each scenario has its share of any hundred. */
export const createScenario = (index: number): Scenario => {
  // 37 and 100 have no common factor, so any hundred has each number once, and no scenario comes twice in a row.
  let rest = (index * 37) % 100;
  for (const scenario of SCENARIOS) {
    if (rest < scenario.share) return scenario;
    rest -= scenario.share;
  }
  throw new Error("the shares do not add up to a hundred");
};
