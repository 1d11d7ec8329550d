/** A setting that the API has written into the page. */

const settingOf = (name: string): string =>
  document.querySelector<HTMLMetaElement>(`meta[name="${name}"]`)?.content ?? "";

/** The origin at which the dashboard must be used; empty if any origin is right. */
export const publicOrigin = (): string => settingOf("public-origin");

/** Whether the service can start calls, because it has LiveKit. */
export const hasCalls = (): boolean => settingOf("calls") === "on";
