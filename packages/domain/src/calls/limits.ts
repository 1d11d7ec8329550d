/** The times and numbers that bound calls. */

/** How long a call waits for the person, and how long the token for that is valid. Nothing is charged if nobody comes. */
export const JOIN_TIMEOUT_SECONDS = 120;
/** How long nobody speaks or sends anything until the call ends. */
export const IDLE_TIMEOUT_SECONDS = 120;
/** The least time that a call holds credits for, unless it asks for less. */
export const MIN_CALL_SECONDS = 60;
/** The longest call that an operator can allow a tenant. Without that, a call lasts `MAX_SESSION_SECONDS` at most. */
export const MAX_CALL_SECONDS = 24 * 3600;
/**
 * A call that asks for more than `MAX_SESSION_SECONDS` holds credits for that time at first. With fewer than `aheadSeconds` left, its
 * hold grows by `stepSeconds`, or by as many as fit: at least `leastSeconds`, or what the call still lacks. In its last
 * `lastSeconds` it grows no more, because the page is told then that the call ends (`ENDING_SECONDS`).
 */
export const HOLD_GROWTH = { aheadSeconds: 300, lastSeconds: 20, stepSeconds: 600, leastSeconds: 60 };
/** How long before its end the page of a call is told: that it may end, and that it ends. */
export const ENDING_SECONDS = { warning: 60, certain: 12 };
/** The longest call of a test key. */
export const MAX_TEST_CALL_SECONDS = 300;
/** How long the person may be away from a call that cannot be resumed, and the worker's connection to a room lost. */
export const AWAY_SECONDS = 10;
/** How long the person may be away from a call that can be resumed. */
export const RETURN_SECONDS = 60;
/** How often, and for how long together, the person may be away without being charged. */
export const FREE_GAPS = 3;
export const FREE_GAP_SECONDS = 120;
/** How long an agent may be away for which the avatar speaks. */
export const AGENT_AWAY_SECONDS = 15;
/**
 * How long the avatar waits in a room for the agent for which it speaks. It publishes nothing until then. An agent that asks for an
 * avatar is in the room already, or joins within seconds.
 */
export const AGENT_JOIN_SECONDS = 30;
/** How long a worker may be in its rooms after it has sent its last sync that was answered. */
export const LEASE_SECONDS = 15;
/** How long a started call lasts after a report, at least: reports are written every ten seconds, and a move takes a lease. */
export const MIN_CALL_LEASE_SECONDS = 60;
