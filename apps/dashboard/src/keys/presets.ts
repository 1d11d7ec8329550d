/** The usual purposes of keys. A preset fills in the form of a new key. All fields can still be changed. */
import type { Values } from "./fields.tsx";

export type Preset = "server" | "calls" | "engine" | "read";

const DAYS = (days: 7 | 30 | 90 | 365): Values["expiry"] => ({ choice: days, chosenAt: Date.now(), date: "" });

type Filled = Omit<Values, "name">;

/**
 * Every preset has an expiry. Only keys that may open calls spend credits. Such a key gets a cap if it leaves your
 * servers.
 */
export const PRESETS: Record<Preset, { title: string; text: string; values: () => Filled }> = {
  server: {
    title: "Server",
    text: "Your back end: creates avatars and opens calls.",
    values: () => ({
      scopes: ["credits:read", "avatars:read", "avatars:write", "realtime:write", "usage:read"],
      cap: "",
      calls: "",
      expiry: DAYS(365),
    }),
  },
  // No preset is for a page or an app, because people can read secrets there. The service allows no pages of other
  // origins.
  calls: {
    title: "Calls only",
    text: "Behind a page or an app: starts its calls, up to a cap. The page gets a grant, never the key.",
    values: () => ({ scopes: ["avatars:read", "realtime:write"], cap: "600", calls: "10", expiry: DAYS(90) }),
  },
  engine: {
    title: "Engine",
    text: "Runs calls. The operator gives it usage:write as well.",
    values: () => ({ scopes: ["avatars:read", "usage:read"], cap: "", calls: "", expiry: DAYS(365) }),
  },
  read: {
    title: "Read only",
    text: "Reports and monitoring: reads everything, and changes nothing.",
    values: () => ({ scopes: ["credits:read", "avatars:read", "usage:read"], cap: "", calls: "", expiry: DAYS(90) }),
  },
};
