import { useQuery } from "@tanstack/react-query";
import { useState } from "react";
import { changeUser, listUsers, ROLES, type Role, removeUser, type User } from "../api/people.ts";
import { EndDialog } from "../components/action-dialog.tsx";
import { Button } from "../components/button.tsx";
import { InlineSelect } from "../components/field.tsx";
import { Failure, Loaded, Skeleton } from "../components/state.tsx";
import { Badge, Card, Time } from "../components/text.tsx";
import { useAccount, useHasRole } from "../layout/context.tsx";
import { useAction } from "../layout/use-action.ts";
import { REFRESH_MS } from "./refresh.ts";

const REFRESHES = ["users", "sessions", "session", "audit"];

export const useUsers = () => useQuery({ queryKey: ["users"], queryFn: listUsers, refetchInterval: REFRESH_MS });

const RemoveDialog = ({ user, isLastOwner, onClose }: { user: User; isLastOwner: boolean; onClose: () => void }) => (
  <EndDialog
    title={`Remove ${user.name}`}
    confirm="Remove"
    keep="Keep"
    end={() => removeUser(user.id)}
    refreshes={REFRESHES}
    isDisabled={isLastOwner}
    notice={`${user.name} is removed, and signed out everywhere.`}
    onClose={onClose}
  >
    {isLastOwner && (
      <p className="mb-3 rounded-lg bg-warn-soft px-3 py-2 text-warn">
        {user.name} is the only owner, and cannot be removed. Make another member an owner first.
      </p>
    )}
    <p>
      All sessions and passkeys of {user.email} end at once. The keys that {user.name} created go on working. The audit
      trail says which these are.
    </p>
  </EndDialog>
);

const MemberRow = ({ user, onRemove }: { user: User; onRemove: () => void }) => {
  const isOwner = useHasRole("owner");
  const { session } = useAccount();
  const change = useAction((role: Role) => changeUser(user.id, { role }), REFRESHES);
  return (
    <li className="border-b border-line py-3 last:border-0">
      {change.error ? <Failure error={change.error} /> : null}
      <div className="flex flex-wrap items-center gap-x-4 gap-y-2">
        <div className="min-w-0 flex-1 basis-56">
          <p className="truncate font-medium">
            {user.name} {user.id === session.user.id && <Badge>you</Badge>}
          </p>
          <p className="truncate text-sm text-muted">{user.email}</p>
        </div>
        <p className="text-sm text-muted">
          {user.lastSeenAt === null ? "Not seen yet" : "Seen "}
          {user.lastSeenAt !== null && <Time at={user.lastSeenAt} />}
        </p>
        {isOwner ? (
          <span className="flex gap-2">
            <InlineSelect
              label={`Role of ${user.name}`}
              value={user.role}
              disabled={change.isBusy}
              onChange={({ target }) => change.run(target.value as Role)}
            >
              {ROLES.map((role) => (
                <option key={role}>{role}</option>
              ))}
            </InlineSelect>
            <Button onClick={onRemove} aria-label={`Remove ${user.name}`}>
              Remove
            </Button>
          </span>
        ) : (
          <Badge>{user.role}</Badge>
        )}
      </div>
    </li>
  );
};

export const Members = () => {
  const query = useUsers();
  const [removed, setRemoved] = useState<User | null>(null);
  return (
    <Card title="Members">
      <Loaded query={query} skeleton={<Skeleton label="members" rows={2} />}>
        {(users) => (
          <ul aria-label="Members">
            {users.map((user) => (
              <MemberRow key={user.id} user={user} onRemove={() => setRemoved(user)} />
            ))}
          </ul>
        )}
      </Loaded>
      {removed && (
        <RemoveDialog
          user={removed}
          isLastOwner={removed.role === "owner" && query.data?.filter(({ role }) => role === "owner").length === 1}
          onClose={() => setRemoved(null)}
        />
      )}
    </Card>
  );
};
