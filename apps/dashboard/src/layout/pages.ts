/** The pages in the navigation, in order. */
export const PAGES = [
  ["/", "Home"],
  ["/keys", "Keys"],
  ["/avatars", "Avatars"],
  ["/videos", "Videos"],
  ["/usage", "Usage"],
  ["/webhooks", "Webhooks"],
  ["/audit", "Audit"],
  ["/people", "People"],
] as const;
