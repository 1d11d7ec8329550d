import { useQuery } from "@tanstack/react-query";
import { endSession, listSessions, type UserSession } from "../api/people.ts";
import { Button } from "../components/button.tsx";
import { Failure, Loaded, Skeleton } from "../components/state.tsx";
import { Badge, Card, Time } from "../components/text.tsx";
import { useHasRole } from "../layout/context.tsx";
import { useNotify } from "../layout/notices.tsx";
import { useAction } from "../layout/use-action.ts";
import { browserName } from "./browser-name.ts";
import { useUsers } from "./members.tsx";
import { REFRESH_MS } from "./refresh.ts";

const SessionRow = ({ session, name }: { session: UserSession; name: string }) => {
  const notify = useNotify();
  const end = useAction(
    () => endSession(session.id),
    ["sessions", "session", "audit"],
    () => notify(`The session of ${name} has ended.`, { takesFocus: true }),
  );
  return (
    <li className="border-b border-line py-3 last:border-0">
      {end.error ? <Failure error={end.error} /> : null}
      <div className="flex flex-wrap items-center gap-x-4 gap-y-2">
        <div className="min-w-0 flex-1 basis-48">
          <p className="truncate font-medium">
            {name} {session.isCurrent && <Badge tone="good">this one</Badge>}{" "}
            {session.signInMethod === "oidc" && <Badge>by the provider</Badge>}
          </p>
          <p className="truncate text-sm text-muted">{browserName(session.userAgent)}</p>
        </div>
        <p className="text-sm text-muted">
          Signed in <Time at={session.createdAt} />, seen <Time at={session.lastSeenAt} />
        </p>
        {!session.isCurrent && (
          <Button
            isBusy={end.isBusy}
            onClick={() => end.run()}
            aria-label={`End the session of ${name}, ${browserName(session.userAgent)}`}
          >
            End
          </Button>
        )}
      </div>
    </li>
  );
};

export const Sessions = () => {
  const isOwner = useHasRole("owner");
  const users = useUsers().data ?? [];
  const query = useQuery({ queryKey: ["sessions"], queryFn: listSessions, refetchInterval: REFRESH_MS });
  const names = new Map(users.map(({ id, name }) => [id, name]));
  return (
    <Card title={isOwner ? "Open sessions of all members" : "Your open sessions"}>
      <Loaded query={query} skeleton={<Skeleton label="sessions" rows={2} />}>
        {(sessions) => (
          <ul aria-label="Open sessions">
            {sessions.map((session) => (
              <SessionRow key={session.id} session={session} name={names.get(session.userId) ?? "A member"} />
            ))}
          </ul>
        )}
      </Loaded>
    </Card>
  );
};
