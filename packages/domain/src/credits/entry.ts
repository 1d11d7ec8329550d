import type { AuditAction } from "../audit.ts";

/**
 * Movements of credits, in double entry: each kind moves an amount from one place to another. Replaying the entries of a
 * tenant gives every counter.
 *
 * The places: `issued` is the source of all credits, `available` can be spent, `held` belongs to open sessions, `spent` has
 * been used, and `forfeited` has been voided.
 */
export const CREDIT_MOVES = {
  /** The operator gives credits to a tenant. */
  grant: { from: "issued", to: "available" },
  /** A session is opened. */
  hold: { from: "available", to: "held" },
  /** A session ends: the credits it used. */
  settle: { from: "held", to: "spent" },
  /** A session ends by a release: its unused credits. */
  release: { from: "held", to: "available" },
  /** A session ends because its lease has expired: its unused credits. */
  expire: { from: "held", to: "available" },
  /** The operator takes unspent credits back. */
  void: { from: "available", to: "forfeited" },
  /** The operator refunds what a session has spent. */
  adjust: { from: "spent", to: "available" },
} as const;

/** The kinds of the operator's movements, and the audit event that each has. */
export const OPERATOR_ACTIONS = {
  grant: "credits.granted",
  void: "credits.voided",
  adjust: "credits.adjusted",
} as const satisfies { [Kind in keyof typeof CREDIT_MOVES]?: AuditAction };
export type OperatorKind = keyof typeof OPERATOR_ACTIONS;

export type EntryKind = keyof typeof CREDIT_MOVES;
export const ENTRY_KINDS = Object.keys(CREDIT_MOVES) as EntryKind[];
