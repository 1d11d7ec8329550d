/** Where the dashboard is served. */
export const BASE = "/dashboard";

/** The name of the product. */
export const PRODUCT = "Realtime Avatar";
