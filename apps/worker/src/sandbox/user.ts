/** The user of a child process. */

/**
 * The user and the group of a child of root: ids that no account has, so that its processes and files belong to it alone.
 * The ids of accounts and of dynamic users of systemd end at 65519.
 */
export const SANDBOX_ID = 65_531;

/** Gives up root for good, in all threads. Throws where that is not possible. */
export const leaveRoot = (): void => {
  if (process.getuid?.() !== 0) return;
  process.setgroups?.([]);
  process.setgid?.(SANDBOX_ID);
  process.setuid?.(SANDBOX_ID);
  if (process.getuid() !== SANDBOX_ID || process.getgid?.() !== SANDBOX_ID) throw new Error("Cannot leave root.");
};
