/** The counted events of conversations, for metrics. */
export const COUNTED = ["turn", "interruption"] as const;
export type Counted = (typeof COUNTED)[number];
