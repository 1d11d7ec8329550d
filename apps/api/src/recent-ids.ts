/** Which of many ids were seen recently, in bounded memory. */

export type RecentIds = {
  has(id: string): boolean;
  add(id: string): void;
};

/**
 * Remembers ids, at most `maximum` of them and at least the latest half of that many. Ids are kept in two generations:
 * when the younger is full, the older is forgotten. So nothing has to be ordered or expired one by one.
 */
export const createRecentIds = (maximum: number): RecentIds => {
  let younger = new Set<string>();
  let older = new Set<string>();
  return {
    has: (id) => younger.has(id) || older.has(id),
    add: (id) => {
      if (younger.has(id)) return;
      if (younger.size >= Math.floor(maximum / 2)) {
        older = younger;
        younger = new Set();
      }
      younger.add(id);
    },
  };
};
