/** Faults that the tests of calls must find, each a change of the text of the database functions: see `mutate`. */

export const CALL_MUTATIONS = {
  "a call that ends keeps its slot": [
    "update fleet.avatar_slots set tenant_id = null, session_id = null, has_news = true where session_id = any (v_calls);",
    "update fleet.avatar_slots set has_news = true where session_id = any (v_calls);",
  ],
  "a report of another generation": [
    "call.session_id = slot.session_id and call.generation = report.generation",
    "call.session_id = slot.session_id",
  ],
  "a call that ends keeps the token of its agent": [
    "where agent.tenant_id = session.tenant_id and agent.session_id = session.id;",
    "where agent.tenant_id = session.tenant_id and agent.session_id = session.id and false;",
  ],
  "a token that is sent again is another call": ["when same.session_id is not null then 'same'", ""],
  "an avatar that does not wait for its agent": ["and (not own.has_agent or own.url is not null)", ""],
  "a start that ignores the queue": [
    "if p_queue.free_slots - cardinality(v_aheads) <= v_ahead",
    "if p_queue.free_slots - cardinality(v_aheads) <= 0 * v_ahead",
  ],
} as const;
