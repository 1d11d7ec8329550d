/** The data of the home page: a few short lists and the balance, read at once. */
import type { ApiKeyWithCreator, Avatar, UsageSum } from "@realtime-avatar/client";
import { useQuery } from "@tanstack/react-query";
import { type PageOf, readUntilFound } from "../api/pages.ts";
import { isTrialKey } from "../call/trial.ts";
import { useAccount } from "../layout/context.tsx";
import { isFailure } from "../usage/outcome.ts";

/** The balance is read more often. A new balance reloads all data that depends on calls. */
const REFRESH_MS = 30_000;
/** The interval while a newcomer does the first steps. */
const STEP_REFRESH_MS = 3000;
/** Further failed calls and avatars are not counted. */
export const MAX_FAILED_CALLS = 20;
const MAX_CALLS_READ = 1000;
const MAX_FAILED_AVATARS = 5;
/** A newcomer has at most this many. */
const MAX_FIRST_USES = 50;
/** The size of a page of a list. */
const MAX_KEYS = 100;

/** The beginning of the day in UTC, like in charts. */
const today = (): string => `${new Date().toISOString().slice(0, 10)}T00:00:00.000Z`;

export type Today = {
  calls: number;
  seconds: number;
  billed: number;
  /** Whether more calls exist than a page of sums covers. */
  hasMore: boolean;
};

/** The sums of a page, added up. */
export const sumToday = ({ data, nextCursor }: PageOf<UsageSum>): Today => {
  const sum = (of: (each: UsageSum) => number) => data.reduce((total, each) => total + of(each), 0);
  return {
    calls: sum(({ sessions }) => sessions),
    seconds: sum(({ activeSeconds }) => activeSeconds),
    billed: sum(({ billedCreditMicros }) => billedCreditMicros),
    hasMore: nextCursor !== null,
  };
};

export const useToday = () => {
  const { client, environment } = useAccount();
  return useQuery({
    queryKey: ["usage", environment, "today"],
    queryFn: async () => {
      const query = { groupBy: "avatar" as const, from: today() };
      return sumToday((await client.GET("/api/v1/usage/summary", { params: { query } })).data);
    },
    refetchInterval: REFRESH_MS,
  });
};

/** The number of today's failed calls: at most `MAX_FAILED_CALLS`, out of the newest 1,000 that did not begin. */
export const countFailures = async (calls: AsyncIterable<Parameters<typeof isFailure>[0]>): Promise<number> => {
  let [read, failed] = [0, 0];
  for await (const call of calls) {
    if (isFailure(call)) failed++;
    if (++read === MAX_CALLS_READ || failed === MAX_FAILED_CALLS) break;
  }
  return failed;
};

export const useFailedCalls = () => {
  const { client, environment } = useAccount();
  return useQuery({
    queryKey: ["usage", environment, "failed-calls"],
    queryFn: () =>
      countFailures(
        client.list("/api/v1/usage/sessions", { kind: "call", status: "failed", from: today(), limit: 200 }),
      ),
    refetchInterval: REFRESH_MS,
  });
};

/** The data for the last of the first steps: the newest videos, and whether a call was made in the last month. */
export const useFirstUses = (isEnabled: boolean) => {
  const { client, environment } = useAccount();
  return useQuery({
    queryKey: ["usage", environment, "first-uses"],
    queryFn: async () => {
      const [calls, videos] = await Promise.all([
        client.GET("/api/v1/usage/sessions", { params: { query: { kind: "call", limit: 1 } } }),
        client.GET("/api/v1/videos", { params: { query: { limit: MAX_FIRST_USES } } }),
      ]);
      return { hasCall: calls.data.data.length > 0, videos: videos.data.data };
    },
    enabled: isEnabled,
    refetchInterval: STEP_REFRESH_MS,
  });
};

export const useActiveKeys = () => {
  const { client, environment } = useAccount();
  return useQuery({
    queryKey: ["keys", environment, "active"],
    queryFn: async ({ signal }) => {
      const read = async (cursor: string | undefined): Promise<PageOf<ApiKeyWithCreator>> => {
        const query = { status: "active" as const, environment, limit: MAX_KEYS, ...(cursor && { cursor }) };
        const page = (await client.GET("/api/v1/api-keys", { params: { query } })).data;
        return { ...page, data: page.data.filter((key) => !isTrialKey(key)) };
      };
      const { data, nextCursor } = await readUntilFound(read, undefined, signal);
      return { keys: data, hasMore: nextCursor !== null };
    },
    refetchInterval: REFRESH_MS,
  });
};

export const useFailedAvatars = () => {
  const { client, environment } = useAccount();
  return useQuery({
    queryKey: ["avatars", environment, "failed"],
    queryFn: async () => {
      const query = { status: "failed" as const, limit: MAX_FAILED_AVATARS };
      return (await client.GET("/api/v1/avatars", { params: { query } })).data.data;
    },
    refetchInterval: REFRESH_MS,
  });
};

/** The statuses of an avatar in the first steps, the most advanced first. */
const STEP_STATUSES = ["ready", "preprocessing", "failed"] as const;

/** The newest avatar of each of these statuses, even if many avatars in other statuses are newer. */
export const useStepAvatars = () => {
  const { client, environment } = useAccount();
  return useQuery({
    queryKey: ["avatars", environment, "steps"],
    queryFn: async ({ signal }) => {
      const newest = async (status: (typeof STEP_STATUSES)[number]): Promise<Avatar[]> => {
        const read = async (cursor: string | undefined): Promise<PageOf<Avatar>> =>
          (await client.GET("/api/v1/avatars", { params: { query: { status, limit: 1, ...(cursor && { cursor }) } } }))
            .data;
        return (await readUntilFound(read, undefined, signal)).data;
      };
      return (await Promise.all(STEP_STATUSES.map(newest))).flat();
    },
    refetchInterval: STEP_REFRESH_MS,
  });
};
