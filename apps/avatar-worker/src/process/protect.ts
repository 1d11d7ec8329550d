/** Protects the memory of the avatar worker and of its call processes, which run as one user, from each other. */

/**
 * Closes the memory and the environment of this process to other processes of its user. An attacker who has taken over
 * a call must find neither the secret of the worker nor the token of another call. Node has no such function.
 */
export const protectProcess = async (): Promise<void> => {
  if (process.versions["bun"]) (await import("@realtime-avatar/runtime/protect-memory")).protectMemory();
};
