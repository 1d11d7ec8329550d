/** The path of the dashboard. */
export const BASE = "/dashboard";

/** The name of the product. */
export const PRODUCT = "Realtime Avatar";
