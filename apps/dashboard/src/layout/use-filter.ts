/** The typed filter of a list. It is also part of the address, so that a link shows the same list. */
import { useState } from "react";
import { useNavigation, useParameters } from "./navigation.tsx";

/**
 * The text, and a function that changes it. The address is updated but not read back, because typed characters could be
 * lost.
 */
export const useFilter = (): [filter: string, setFilter: (filter: string) => void] => {
  const { change } = useNavigation();
  const { filter = "" } = useParameters();
  const [typed, setTyped] = useState(filter);
  return [
    typed,
    (value) => {
      setTyped(value);
      change({ filter: value || undefined }, true);
    },
  ];
};
