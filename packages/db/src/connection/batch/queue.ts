/**
 * A queue in which owners take turns: from each owner with waiting items, one item is taken at a time, so that one
 * owner's flood does not delay the others.
 */
export class BatchQueue<Item> {
  /** The owner whose turn is next comes first. An owner is here only while it has items. */
  readonly #owners = new Map<string, Set<Item>>();
  #count = 0;

  get count(): number {
    return this.#count;
  }

  add(owner: string, item: Item): void {
    const items = this.#owners.get(owner) ?? new Set();
    items.add(item);
    this.#owners.set(owner, items);
    this.#count++;
  }

  remove(owner: string, item: Item): void {
    const items = this.#owners.get(owner);
    if (!items?.delete(item)) return;
    this.#count--;
    if (items.size === 0) this.#owners.delete(owner);
  }

  /**
   * Makes room for one more item of `owner`: removes and returns the latest item of the owner with the most items.
   * `null` when no owner has more items than `owner` would have.
   */
  evictFor(owner: string): Item | null {
    // Each owner has one item: the common case in a flood of unknown keys, decided without a search.
    if (this.#owners.size === this.#count) return null;
    let most: { owner: string; items: Set<Item> } | null = null;
    for (const [candidate, items] of this.#owners) {
      if (!most || items.size > most.items.size) most = { owner: candidate, items };
    }
    const sizeWithNew = (this.#owners.get(owner)?.size ?? 0) + 1;
    if (!most || most.items.size <= sizeWithNew) return null;
    const latest = [...most.items].at(-1);
    if (latest === undefined) return null;
    this.remove(most.owner, latest);
    return latest;
  }

  /**
   * Moves items into `batch` until it has `size`, one of each owner in turn. An item that `accept` refuses stays in its
   * place. `accept` is called at most once for each item, so that a flood of refused items costs one pass.
   */
  moveInto(batch: Item[], size: number, accept: (item: Item) => boolean): void {
    const owners = this.#owners;
    /** Owners all of whose items are refused. */
    const refused: [string, Set<Item>][] = [];
    const cursors = new Map<Set<Item>, Iterator<Item>>();
    const nextOf = (items: Set<Item>): Item | undefined => {
      const cursor = cursors.get(items) ?? items.values();
      cursors.set(items, cursor);
      for (let { value: item, done } = cursor.next(); !done; { value: item, done } = cursor.next()) {
        if (accept(item)) return item;
      }
      return undefined;
    };
    for (const [owner, items] of owners) {
      if (batch.length >= size) break;
      const item = nextOf(items);
      owners.delete(owner);
      if (item === undefined) {
        refused.push([owner, items]);
        continue;
      }
      items.delete(item);
      this.#count--;
      batch.push(item);
      // The owner moves to the end of the map, where this loop reaches it again.
      if (items.size > 0) owners.set(owner, items);
    }
    for (const [owner, items] of refused) owners.set(owner, items);
  }
}
