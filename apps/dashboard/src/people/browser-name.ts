const BROWSERS = [
  ["Edg/", "Edge"],
  ["OPR/", "Opera"],
  ["Firefox/", "Firefox"],
  ["Chrome/", "Chrome"],
  ["Safari/", "Safari"],
] as const;
const SYSTEMS = [
  ["iPhone", "iPhone"],
  ["iPad", "iPad"],
  ["Android", "Android"],
  ["Windows", "Windows"],
  ["Mac OS", "macOS"],
  ["Linux", "Linux"],
] as const;

/** The browser and its system, derived from a user agent: `Chrome on Linux`. */
export const browserName = (userAgent: string | null): string => {
  const find = (names: readonly (readonly [string, string])[]): string | undefined =>
    names.find(([part]) => userAgent?.includes(part))?.[1];
  return `${find(BROWSERS) ?? "A browser"} on ${find(SYSTEMS) ?? "a device"}`;
};
