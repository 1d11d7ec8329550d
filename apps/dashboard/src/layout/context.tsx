/** The common context of all pages of a signed-in person: the session, the environment, and the client for it. */
import type { RealtimeAvatarClient } from "@realtime-avatar/client";
import { createContext, useContext } from "react";
import { clientFor, type Environment } from "../api/client.ts";
import type { CurrentSession, Role } from "../api/people.ts";

type Account = { session: CurrentSession; environment: Environment };

export const AccountContext = createContext<Account | null>(null);

export const useAccount = (): Account & { client: RealtimeAvatarClient } => {
  const account = useContext(AccountContext);
  if (account === null) throw new Error("there is no account outside of the pages");
  return { ...account, client: clientFor(account.environment) };
};

const RANKS: Record<Role, number> = { viewer: 0, developer: 1, owner: 2 };

/** Whether the role of the person includes `role`. The service decides; this only hides what it would refuse. */
export const useHasRole = (role: Role): boolean => RANKS[useAccount().session.user.role] >= RANKS[role];
