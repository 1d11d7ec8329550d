/** The filter of a list, as it is typed. It is part of the address as well, so that a link shows the same. */
import { useState } from "react";
import { useNavigation, useParameters } from "./navigation.tsx";

/** The text, and a function that changes it. The address follows: it is not read back, or typed characters could be lost. */
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
