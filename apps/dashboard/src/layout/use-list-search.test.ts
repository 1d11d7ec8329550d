import { expect, test } from "bun:test";
import { searchedPages, shownBefore } from "./use-list-search.ts";

test("the list that is shown while another one is read: of the previous search, never of another environment", () => {
  const previous = ["key"];
  for (const environment of ["live", "test"] as const) {
    const { queryKey } = searchedPages(environment, ["api-keys", { filter: "a" }], async () => ({
      data: [],
      nextCursor: null,
    }));
    const before = { queryKey };
    expect(shownBefore(environment)(previous, before)).toBe(previous);
    expect(shownBefore(environment === "live" ? "test" : "live")(previous, before)).toBeUndefined();
    expect(shownBefore(environment)(previous, undefined)).toBeUndefined();
  }
});
