import { expect, test } from "bun:test";
import { BatchQueue } from "./queue.ts";

/** A queue whose items name their owner by the first letter. */
const queueOf = (...items: string[]): BatchQueue<string> => {
  const queue = new BatchQueue<string>();
  for (const item of items) queue.add(item.slice(0, 1), item);
  return queue;
};
const take = (queue: BatchQueue<string>, size: number, accept = (_: string) => true): string[] => {
  const batch: string[] = [];
  queue.moveInto(batch, size, accept);
  return batch;
};

test("owners in a queue: take turns, also across batches", () => {
  const queue = queueOf("a1", "a2", "a3", "a4", "b1", "c1", "c2");
  expect(take(queue, 4)).toEqual(["a1", "b1", "c1", "a2"]);
  expect(queue.count).toBe(3);
  expect(take(queue, 10)).toEqual(["c2", "a3", "a4"]);
  expect(queue.count).toBe(0);
});

test("items that are already in the batch: count towards its size", () => {
  const batch = ["x"];
  queueOf("a1", "b1", "c1").moveInto(batch, 3, () => true);
  expect(batch).toEqual(["x", "a1", "b1"]);
});

test("an item that the batch refuses: stays, is offered once, and does not delay other items of its owner", () => {
  const queue = queueOf("a1", "a2", "a3", "b1");
  const offered: string[] = [];
  const accept = (item: string): boolean => {
    offered.push(item);
    return item === "a2" || item === "a3";
  };
  expect(take(queue, 10, accept)).toEqual(["a2", "a3"]);
  expect(offered.toSorted()).toEqual(["a1", "a2", "a3", "b1"]);
  expect(queue.count).toBe(2);
  expect(take(queue, 10).toSorted()).toEqual(["a1", "b1"]);
});

test("an item, removed twice or unknown: removed once", () => {
  const queue = queueOf("a1", "b1");
  queue.remove("a", "a1");
  queue.remove("a", "a1");
  queue.remove("c", "c1");
  expect(queue.count).toBe(1);
  expect(take(queue, 10)).toEqual(["b1"]);
});

test.each([
  ["the latest item of the owner with the most items", ["a1", "b1", "b2", "b3"], "c", "b3"],
  ["nothing when each owner has one", ["a1", "b1"], "c", null],
  ["nothing when the owner would then have as many items as the owner with the most", ["a1", "b1", "b2"], "a", null],
  ["nothing of the owner itself", ["a1", "a2", "b1"], "a", null],
  ["nothing when the queue is empty", [], "a", null],
])("a full queue, evicting for an owner: removes %s", (_, items, owner, evicted) => {
  const queue = queueOf(...items);
  expect(queue.evictFor(owner)).toBe(evicted);
  expect(queue.count).toBe(items.length - (evicted === null ? 0 : 1));
});

test("an owner whose only item was removed: no longer counts as an owner, so another owner makes room", () => {
  const queue = queueOf("a1", "b1", "b2", "b3");
  queue.remove("a", "a1");
  queue.remove("b", "b3");
  expect(queue.evictFor("c")).toBe("b2");
  expect(queue.count).toBe(1);
});
