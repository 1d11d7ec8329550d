/** Where the dashboard is served. */
export const BASE = "/dashboard";
