/** The problems of a node. `apps/cli/src/commands/shards-citus.test.ts` tests them on Citus. */
import { expect, test } from "bun:test";
import { functionsDigest } from "../functions/schema.ts";
import type { NodeState } from "./node-state.ts";
import { functionsInShard } from "./shard.ts";
import { verifyNode } from "./verify.ts";

const [zero, one] = [0, 1].map((shard) => functionsInShard(shard)) as [
  { name: string; create: string },
  { name: string; create: string },
];
const functions = { [zero.name]: functionsDigest(zero.create), [one.name]: functionsDigest(one.create) };
const fine = {
  functions,
  triggers: {},
  rows: {},
  isolation: "read committed",
  reportSeconds: 1,
  prepared: 0,
};
const problemsOf = (node: Partial<NodeState>): string[] =>
  verifyNode({ node: "a:1", isActive: true, state: fine, ...node }, 2).map(({ problem }) => problem);

test("a node without a problem: no report", () => expect(problemsOf({})).toEqual([]));

test.each<[string, Partial<NodeState>, RegExp]>([
  ["does not respond", { state: null }, /^it does not respond$/],
  ["not kept up to date", { isActive: false }, /keep it up to date/],
  ["reports every 10 seconds", { state: { ...fine, reportSeconds: 10 } }, /wal_receiver_status_interval is 10 s/],
  ["never reports", { state: { ...fine, reportSeconds: 0 } }, /wal_receiver_status_interval is 0 s/],
  [
    "another isolation",
    { state: { ...fine, isolation: "serializable" } },
    /default_transaction_isolation is serializable/,
  ],
  ["an old prepared transaction", { state: { ...fine, prepared: 2 } }, /^2 prepared transactions/],
  [
    "no functions",
    { state: { ...fine, functions: { [zero.name]: functionsDigest(zero.create) } } },
    /_s01 has 0 functions, not \d+: run `migrate`/,
  ],
  [
    "functions of another text",
    { state: { ...fine, functions: { ...functions, [one.name]: functionsDigest(zero.create) } } },
    /_s01 has functions with another text: run `migrate`/,
  ],
])("a node, %s: reported", (_, node, expected) => {
  const problems = problemsOf(node);
  expect(problems).toHaveLength(1);
  expect(problems[0]).toMatch(expected);
});
