/** Places of slow clients: each is freed once, for every kind of end. Its holders can then take it again. */
import { expect, test } from "bun:test";
import type { TenantId } from "@realtime-avatar/domain/id";
import { createTestSlots } from "../../webhooks/test-slots.ts";
import { createPlaces, type Holder, type Place, type Places } from "./places.ts";

const HOUR_MS = 3_600_000;
const holder = (name: string, share = 4): Holder => ({ name, share });
const take = (places: Places, ...holders: Holder[]): Place => {
  const taken = places.take(holders);
  if (taken.kind !== "taken") throw new Error(taken.kind);
  return taken.place;
};
/** Resolves when the client of the place has stalled. */
const stall = (place: Place): Promise<void> => new Promise((resolve) => void place.watch(1, resolve));

test.each<[string, (place: Place) => unknown]>([
  ["freed", (place) => place.free()],
  ["freed twice", (place) => [place.free(), place.free()]],
  ["whose client stalls", (place) => stall(place)],
  ["freed after its client has stalled", (place) => stall(place).then(place.free)],
  ["freed before its client stalls", (place) => [place.free(), stall(place)][1]],
])("a place, %s: counted once for each of its holders", async (_, end) => {
  const places = createPlaces(16);
  const [tenant, client] = [holder("tenant", 2), holder("client", 3)];
  const other = take(places, tenant, client);
  for (let round = 0; round < 3; round++) {
    const place = take(places, tenant, client);
    // A refused request takes no place.
    expect([places.take([tenant, client]), places.count()]).toEqual([{ kind: "used_up", holder: tenant }, 2]);
    await end(place);
    expect(places.count()).toBe(1);
  }
  other.free();
  expect(places.count()).toBe(0);
});

test("shares: whole until half of the places are taken, a quarter until all are taken", () => {
  const places = createPlaces(8);
  const first = [1, 2, 3, 4].map(() => take(places, holder("a", 8)));
  expect(places.take([holder("a", 8)]).kind).toBe("used_up");
  take(places, holder("b", 5));
  take(places, holder("b", 5));
  expect(places.take([holder("b", 5)]).kind).toBe("used_up");
  take(places, holder("c", 4));
  expect(places.take([holder("c", 4)]).kind).toBe("used_up");
  take(places, holder("d"));
  expect([places.take([holder("e")]).kind, places.count()]).toEqual(["full", 8]);
  for (const place of first) place.free();
  // Four places are free: still scarce.
  expect(places.take([holder("c", 4)]).kind).toBe("used_up");
  expect([places.take([holder("e")]).kind, places.count()]).toEqual(["taken", 5]);
});

test("a client without progress: loses its place when places are scarce and requested; an unwatched client keeps it", async () => {
  const places = createPlaces(4, 20);
  const stalls: string[] = [];
  const watch = (name: string) => take(places, holder(name)).watch(HOUR_MS, () => stalls.push(name));
  watch("stalled");
  const [moving, suspended] = [watch("moving"), watch("suspended")];
  suspended.stop();
  await Bun.sleep(30);
  moving.progress();
  expect(stalls).toEqual([]);
  take(places, holder("other"));
  expect([stalls, places.count()]).toEqual([["stalled"], 3]);
});

test("tests of webhooks, with every kind of end: their places are free again", async () => {
  const slots = createTestSlots(2, 8);
  const codeOf = (run: Promise<unknown>) => run.catch(({ code, message }) => code ?? message);
  const tenant = "ten_x" as TenantId;
  for (let round = 0; round < 3; round++) {
    const end = Promise.withResolvers<string>();
    const failing = () => {
      throw new Error("failed");
    };
    const running = [slots.run(tenant, () => end.promise), codeOf(slots.run(tenant, () => end.promise.then(failing)))];
    expect(await codeOf(slots.run(tenant, async () => "third"))).toBe("rate_limited");
    end.resolve("done");
    expect(await Promise.all(running)).toEqual(["done", "failed"]);
  }
});
