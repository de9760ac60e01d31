/** Places for what lasts long, such as live tails, counted by owner. */
export interface Places {
  /**
   * Takes a place, and returns the function that gives it back; undefined when no place is left.
   */
  enter(key: string): (() => void) | undefined;
}

export function createPlaces({ each, all = Infinity }: { each: number; all?: number }): Places {
  const taken = new Map<string, number>();
  let total = 0;

  return {
    enter(key) {
      const own = taken.get(key) ?? 0;
      if (own >= each || total >= all) return undefined;
      taken.set(key, own + 1);
      total++;
      let left = false;
      return () => {
        if (left) return;
        left = true;
        total--;
        const others = (taken.get(key) ?? 1) - 1;
        if (others > 0) taken.set(key, others);
        else taken.delete(key);
      };
    },
  };
}
