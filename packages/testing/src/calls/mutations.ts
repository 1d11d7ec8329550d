/** Faults that the tests of calls must find, each a change of the text of the database functions: see `mutate`. */

export const CALL_MUTATIONS: Readonly<Record<string, readonly (readonly [original: string, faulty: string])[]>> = {
  "a call that ends keeps its slot": [
    [
      "update fleet.avatar_slots set tenant_id = null, session_id = null, has_news = true where session_id = any (v_calls);",
      "update fleet.avatar_slots set has_news = true where session_id = any (v_calls);",
    ],
  ],
  "a report of another generation": [
    ["call.session_id = slot.session_id and call.generation = report.generation", "call.session_id = slot.session_id"],
  ],
  "a start that ignores the queue": [
    [
      "if p_queue.free_slots - cardinality(v_aheads) <= v_ahead",
      "if p_queue.free_slots - cardinality(v_aheads) <= 0 * v_ahead",
    ],
  ],
};
