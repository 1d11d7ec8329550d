/**
 * Whether the single-key shortcuts are on. The browser stores it, because another browser may have another keyboard.
 */
import { useSyncExternalStore } from "react";

const KEY = "realtime-avatar-shortcuts";
const OFF = "off";

const read = (): boolean => {
  try {
    return localStorage.getItem(KEY) !== OFF;
  } catch {
    return true;
  }
};

let isOn = read();
const listeners = new Set<() => void>();

export const setSingleKeys = (value: boolean): void => {
  isOn = value;
  try {
    if (value) localStorage.removeItem(KEY);
    else localStorage.setItem(KEY, OFF);
  } catch {
    // Storage is unavailable. The setting is kept until the page is left.
  }
  for (const notify of listeners) notify();
};

const watch = (notify: () => void): (() => void) => {
  listeners.add(notify);
  return () => listeners.delete(notify);
};

export const useSingleKeys = (): boolean => useSyncExternalStore(watch, () => isOn);
