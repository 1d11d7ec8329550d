/** The limits of calls. */

/**
 * How long a call waits for the person, and how long the person's token is valid. If the person does not come, the call
 * is not charged.
 */
export const JOIN_TIMEOUT_SECONDS = 120;
/** How long a call may be silent and without messages until it ends. */
export const IDLE_TIMEOUT_SECONDS = 120;
/** The minimum number of seconds that a call holds credits for, unless it asks for less. */
export const MIN_CALL_SECONDS = 60;
/** The longest call that an operator can allow a tenant. By default, a call lasts at most `MAX_SESSION_SECONDS`. */
export const MAX_CALL_SECONDS = 24 * 3600;
/**
 * A call that asks for more than `MAX_SESSION_SECONDS` holds credits for that time at first. When fewer than
 * `aheadSeconds` are left, its hold grows by `stepSeconds`, or by as many seconds as the credits allow: at least
 * `leastSeconds`, or the rest of the call. In its last `lastSeconds` it no longer grows, because then the page learns
 * that the call ends (`ENDING_SECONDS`).
 */
export const HOLD_GROWTH = { aheadSeconds: 300, lastSeconds: 20, stepSeconds: 600, leastSeconds: 60 };
/**
 * How long before the end the page of a call learns that the call may end (`warning`), and that it ends (`certain`).
 */
export const ENDING_SECONDS = { warning: 60, certain: 12 };
/** The longest call of a test key. */
export const MAX_TEST_CALL_SECONDS = 300;
/**
 * How long the person may be away from a call that cannot be resumed, and how long the worker's connection to a room
 * may be lost.
 */
export const AWAY_SECONDS = 10;
/** How long the person may be away from a call that can be resumed. */
export const RETURN_SECONDS = 60;
/** How often, and for how long in total, the person may be away without being charged. */
export const FREE_GAPS = 3;
export const FREE_GAP_SECONDS = 120;
/** How long the agent for which the avatar speaks may be away. */
export const AGENT_AWAY_SECONDS = 15;
/**
 * How long the avatar waits in a room for the agent for which it speaks. It publishes nothing until then. An agent that
 * asks for an avatar is already in the room, or joins within seconds.
 */
export const AGENT_JOIN_SECONDS = 30;
/** How long a worker may stay in its rooms after it has sent the last sync that got a response. */
export const LEASE_SECONDS = 15;
/**
 * The minimum lease of a started call after a report. Reports are written every ten seconds. A move to another worker
 * takes as long as a worker's lease.
 */
export const MIN_CALL_LEASE_SECONDS = 60;
