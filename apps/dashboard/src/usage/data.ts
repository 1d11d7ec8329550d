/** Credits and their use. */
import type { CreditBalance, CreditEntry, UsageSession, UsageSum } from "@realtime-avatar/client";
import { useInfiniteQuery, useQuery, useQueryClient } from "@tanstack/react-query";
import { useEffect, useRef } from "react";
import { takeFrom } from "../api/client.ts";
import { useAccount } from "../layout/context.tsx";
import { useTotal } from "../layout/use-list-search.ts";

const DAY_MS = 86_400_000;
/** Short, because the balance is only one row to read. */
const BALANCE_REFRESH_MS = 5000;
/** Enough for 90 days with 222 keys or avatars on each. The page says if sums are missing. */
const MAX_SUMS = 20_000;

export const useBalance = () => {
  const { client, environment } = useAccount();
  return useQuery({
    queryKey: ["balance", environment],
    queryFn: async () => (await client.GET("/api/v1/credits/balance")).data,
    refetchInterval: BALANCE_REFRESH_MS,
  });
};

/** The amounts of a balance as one text. Its time is ignored, because without an account it is the time of the read. */
const amountsOf = (balance: CreditBalance | undefined): string | undefined =>
  balance && [balance.reservedCreditMicros, balance.lifetimeUsedCreditMicros, balance.balanceCreditMicros].join(" ");

/** Reads sums, entries and calls again after each change of the balance, because they change only together with it. */
export const useUsageRefresh = (): void => {
  const { environment } = useAccount();
  const queries = useQueryClient();
  const amounts = amountsOf(useBalance().data);
  const before = useRef({ environment, amounts });
  useEffect(() => {
    const { current } = before;
    before.current = { environment, amounts };
    if (current.environment !== environment || current.amounts === undefined || current.amounts === amounts) return;
    for (const name of ["usage", "calls", "entries", "entries-of-call", "usage-session"])
      void queries.invalidateQueries({ queryKey: [name] });
  }, [environment, amounts, queries]);
};

/** The price of a second of the newest call, in credit micros; undefined before the first call. */
export const usePrice = () => {
  const { client, environment } = useAccount();
  return useQuery({
    queryKey: ["price", environment],
    queryFn: async () => {
      const { data } = (await client.GET("/api/v1/usage/sessions", { params: { query: { limit: 1 } } })).data;
      return data[0]?.priceCreditMicrosPerSecond ?? null;
    },
    select: (price) => price ?? undefined,
    staleTime: 60_000,
  });
};

/** The days up to and including `today`, oldest first, as `2026-11-20`. */
export const lastDays = (count: number, today: Date): string[] =>
  Array.from({ length: count }, (_, index) =>
    new Date(today.getTime() - (count - 1 - index) * DAY_MS).toISOString().slice(0, 10),
  );

export type Usage = { days: string[]; byKey: UsageSum[]; byAvatar: UsageSum[]; hasMore: boolean };

export const useUsage = (days: number) => {
  const { client, environment } = useAccount();
  return useQuery({
    queryKey: ["usage", environment, days],
    queryFn: async (): Promise<Usage> => {
      const all = lastDays(days, new Date());
      const from = `${all[0]}T00:00:00.000Z`;
      const sums = (groupBy: "apiKey" | "avatar") =>
        takeFrom(client.list("/api/v1/usage/summary", { groupBy, from }), MAX_SUMS);
      const [byKey, byAvatar] = await Promise.all([sums("apiKey"), sums("avatar")]);
      return { days: all, byKey: byKey.items, byAvatar: byAvatar.items, hasMore: byKey.hasMore || byAvatar.hasMore };
    },
  });
};

/** The usage of conversations on each of the days, newest first. */
export const useConversations = (days: number) => {
  const { client, environment } = useAccount();
  return useQuery({
    queryKey: ["usage", environment, days, "conversations"],
    queryFn: async () => {
      const query = { from: `${lastDays(days, new Date())[0]}T00:00:00.000Z` };
      return (await client.GET("/api/v1/usage/summary", { params: { query } })).data.conversations;
    },
  });
};

export type Bar = { id: string; label: string; billed: number; sessions: number; seconds: number };

const EMPTY = { billed: 0, sessions: 0, seconds: 0 };

/** The sums of each group. `idOf`: the group of a sum. Sums of one group can be on several pages. */
export const addUp = (
  sums: readonly UsageSum[],
  idOf: (sum: UsageSum) => string,
): Map<string, Omit<Bar, "id" | "label">> => {
  const groups = new Map<string, Omit<Bar, "id" | "label">>();
  for (const sum of sums) {
    const { billed, sessions, seconds } = groups.get(idOf(sum)) ?? EMPTY;
    groups.set(idOf(sum), {
      billed: billed + sum.billedCreditMicros,
      sessions: sessions + sum.sessions,
      seconds: seconds + sum.activeSeconds,
    });
  }
  return groups;
};

/** The groups by their charge, the largest first. */
export const largest = (
  groups: ReadonlyMap<string, Omit<Bar, "id" | "label">>,
  nameOf: (id: string) => string,
): Bar[] => [...groups].map(([id, sums]) => ({ id, label: nameOf(id), ...sums })).sort((a, b) => b.billed - a.billed);

/** The names of the keys and avatars in sums, by id. */
export const usageNames = ({ byKey, byAvatar }: Usage): ReadonlyMap<string | null, string | null> =>
  new Map([
    ...byKey.map(({ apiKeyId, apiKeyName }) => [apiKeyId, apiKeyName] as const),
    ...byAvatar.map(({ avatarId, avatarName }) => [avatarId, avatarName] as const),
  ]);

export type EntryKind = CreditEntry["kind"];

export const useEntries = (kind: EntryKind | "") => {
  const { client, environment } = useAccount();
  const pages = useInfiniteQuery({
    queryKey: ["entries", environment, kind],
    initialPageParam: undefined as string | undefined,
    queryFn: async ({ pageParam }) => {
      const query = { limit: 25, ...(kind && { kind }), ...(pageParam !== undefined && { cursor: pageParam }) };
      return (await client.GET("/api/v1/credits/entries", { params: { query } })).data;
    },
    getNextPageParam: ({ nextCursor }) => nextCursor ?? undefined,
  });
  const total = useTotal(["entries", { kind }], pages.hasNextPage, async (first) => {
    return (await client.GET("/api/v1/credits/entries", { params: { query: { ...(kind && { kind }), ...first } } }))
      .data;
  });
  return { ...pages, total };
};

export const useUsageSession = (id: string) => {
  const { client, environment } = useAccount();
  return useQuery({
    queryKey: ["usage-session", environment, id],
    queryFn: async () => (await client.GET("/api/v1/usage/sessions/{id}", { params: { path: { id } } })).data,
  });
};

/** The transcript of an open call grows. */
const TRANSCRIPT_REFRESH_MS = 3000;

export const useTranscript = (id: string) => {
  const { client, environment } = useAccount();
  return useQuery({
    queryKey: ["transcript", environment, id],
    queryFn: async () =>
      (await client.GET("/api/v1/usage/sessions/{id}/transcript", { params: { path: { id } } })).data,
    refetchInterval: ({ state }) => state.data?.status === "open" && state.error === null && TRANSCRIPT_REFRESH_MS,
  });
};

/** A recording becomes ready some seconds after its call. */
const RECORDINGS_REFRESH_MS = 5000;
const UNFINISHED = ["pending", "recording", "processing"];

/** The recordings of a call: two at most. */
export const useRecordings = (sessionId: string) => {
  const { client, environment } = useAccount();
  return useQuery({
    queryKey: ["recordings", environment, sessionId],
    queryFn: async () => (await client.GET("/api/v1/recordings", { params: { query: { sessionId } } })).data.data,
    refetchInterval: ({ state }) =>
      state.error === null &&
      state.data?.some(({ status }) => UNFINISHED.includes(status)) === true &&
      RECORDINGS_REFRESH_MS,
  });
};

/** The URL of a file, which expires: it is read again for each player. */
export const useRecordingAccess = (id: string) => {
  const { client, environment } = useAccount();
  return useQuery({
    queryKey: ["recording-access", environment, id],
    queryFn: async () => (await client.GET("/api/v1/recordings/{id}/access", { params: { path: { id } } })).data,
    gcTime: 0,
    refetchOnWindowFocus: false,
    refetchOnReconnect: false,
  });
};

export const useSettings = () => {
  const { client, environment } = useAccount();
  return useQuery({
    queryKey: ["settings", environment],
    queryFn: async () => (await client.GET("/api/v1/settings")).data,
  });
};

export type CallStatus = UsageSession["status"];
export type CallFilters = { days: number; status?: CallStatus; apiKeyId?: string; avatarId?: string };

/** The query of the calls of the last days, without the parameters of a page. */
export const callsQuery = ({ days, ...filters }: CallFilters) => ({
  kind: "call" as const,
  from: `${lastDays(days, new Date())[0]}T00:00:00.000Z`,
  ...filters,
});

/** A call in progress changes without a change of the balance. */
const CALLS_REFRESH_MS = 5000;

export const useCalls = (filters: CallFilters) => {
  const { client, environment } = useAccount();
  const pages = useInfiniteQuery({
    queryKey: ["calls", environment, filters],
    initialPageParam: undefined as string | undefined,
    queryFn: async ({ pageParam }) => {
      // A cursor belongs to the window of the first page.
      const { from, ...others } = callsQuery(filters);
      const query = { limit: 25, ...others, ...(pageParam === undefined ? { from } : { cursor: pageParam }) };
      return (await client.GET("/api/v1/usage/sessions", { params: { query } })).data;
    },
    getNextPageParam: ({ nextCursor }) => nextCursor ?? undefined,
    refetchInterval: ({ state }) => {
      const pages = state.data?.pages ?? [];
      return pages.some(({ data }) => data.some(({ endedAt }) => endedAt === null)) && CALLS_REFRESH_MS * pages.length;
    },
  });
  const total = useTotal(["calls", filters], pages.hasNextPage, async (first) => {
    return (await client.GET("/api/v1/usage/sessions", { params: { query: { ...callsQuery(filters), ...first } } }))
      .data;
  });
  return { ...pages, total };
};

/** The entries of a call: holds, charges, releases and refunds. */
export const useSessionEntries = (sessionId: string) => {
  const { client, environment } = useAccount();
  return useQuery({
    queryKey: ["entries-of-call", environment, sessionId],
    queryFn: async () => {
      const query = { sessionId, limit: 100 };
      return (await client.GET("/api/v1/credits/entries", { params: { query } })).data.data;
    },
  });
};
