/** Keeps the avatar worker and the processes of its calls, which have one user, out of each other's memory. */

/**
 * Closes the memory and the environment of this process to others of its user: what a stranger has taken over in a call must find
 * neither the secret of the worker nor the token of another call. Node has no such call.
 */
export const protectProcess = async (): Promise<void> => {
  if (process.versions["bun"]) (await import("@realtime-avatar/runtime/protect-memory")).protectMemory();
};
