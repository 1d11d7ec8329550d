/** Webhook endpoints and their deliveries. */
import type { WebhookDelivery, WebhookEndpoint } from "@realtime-avatar/client";
import { useInfiniteQuery, useQuery } from "@tanstack/react-query";
import { takeFrom } from "../api/client.ts";
import type { Tone } from "../components/text.tsx";
import { useAccount } from "../layout/context.tsx";
import { useTotal } from "../layout/use-list-search.ts";

/** The interval while a shown delivery is due, and otherwise. */
const DUE_REFRESH_MS = 1500;
const REFRESH_MS = 5000;
const PAGE = 25;

/** The first parts of the keys of the queries that are outdated by a change of an endpoint or of a delivery. */
export const REFRESHES = ["webhook-endpoints", "webhook-deliveries", "audit"];

export type DeliveryStatus = WebhookDelivery["status"];
export type Attempt = WebhookDelivery["attempts"][number];
/** The filters of lists of deliveries; undefined for all. */
export type Filters = {
  status: DeliveryStatus | undefined;
  event: WebhookDelivery["eventType"] | undefined;
  target: string | undefined;
};

export const STATUS_TONES: Record<DeliveryStatus, Tone> = {
  pending: "warn",
  delivered: "good",
  failed: "bad",
  canceled: "plain",
};

/** The text for an attempt without a response, by the class of the error. */
const ERROR_TEXTS: Record<string, string> = {
  host_not_found: "the name of the host was not found",
  host_not_public: "the host has no public address",
  invalid_url: "the URL cannot be used",
  connection_failed: "no connection, or it was closed",
  certificate_not_valid: "the certificate is not valid",
  invalid_response: "the response was not valid HTTP",
  timed_out: "no response in time",
};

/** The outcome of an attempt: `200 in 34 ms`, `no response in time, after 15000 ms`. */
export const attemptText = ({ status, error, durationMs }: Attempt): string =>
  status === null
    ? `${ERROR_TEXTS[error ?? ""] ?? error ?? "no response"}, after ${durationMs} ms`
    : `${status} in ${durationMs} ms`;

export const isSuccess = ({ status }: Attempt): boolean => status !== null && status >= 200 && status < 300;

/** Why nothing is sent to a disabled endpoint. */
export const DISABLED_TEXTS: Record<NonNullable<WebhookEndpoint["disabledReason"]>, string> = {
  requested: "It was disabled by a person or a key.",
  gone: "It responded with 410 Gone, which asks for no more events.",
  failing: "No delivery to it has succeeded for five days.",
  operator: "The operator of the service has disabled it.",
};

/** The name of an endpoint on the pages. */
export const endpointName = ({ description, url }: WebhookEndpoint): string =>
  description ?? (url === null ? "webhooks listen" : new URL(url).host);

/** When the previous secret stops signing; null if it has already stopped. */
export const overlapEnd = ({ previousSecretExpiresAt: end }: WebhookEndpoint): string | null =>
  end !== null && Date.parse(end) > Date.now() ? end : null;

export const useEndpoints = () => {
  const { client, environment } = useAccount();
  return useQuery({
    queryKey: ["webhook-endpoints", environment],
    // A tenant has at most 16 endpoints.
    queryFn: async () => (await takeFrom(client.list("/api/v1/webhook-endpoints", { limit: 100 }), 100)).items,
    refetchInterval: REFRESH_MS,
  });
};

/** An endpoint with the version on which a change is based. It is read once, like a key. */
export const useEndpointVersion = (id: string) => {
  const { client, environment } = useAccount();
  return useQuery({
    queryKey: ["webhook-endpoint-version", environment, id],
    queryFn: async () => {
      const { data, response } = await client.GET("/api/v1/webhook-endpoints/{id}", { params: { path: { id } } });
      return { endpoint: data, etag: response.headers.get("etag") ?? "" };
    },
    staleTime: Number.POSITIVE_INFINITY,
    refetchOnWindowFocus: false,
    refetchOnReconnect: false,
    gcTime: 0,
  });
};

/**
 * How long a due attempt is expected at any moment. It can take longer if it waits for an earlier one, or for a worker.
 */
const SOON_MS = 30_000;

/** Whether an attempt is expected before the next read. */
export const isDue = ({ nextAttemptAt }: WebhookDelivery, now: number): boolean => {
  const waitMs = nextAttemptAt === null ? Number.NaN : Date.parse(nextAttemptAt) - now;
  return waitMs > -SOON_MS && waitMs < REFRESH_MS;
};

export const useDeliveries = (endpointId: string, { status, event, target }: Filters) => {
  const { client, environment } = useAccount();
  const filters = {
    endpointId,
    ...(status && { status }),
    ...(event && { eventType: event }),
    ...(target && { targetId: target }),
  };
  const pages = useInfiniteQuery({
    queryKey: ["webhook-deliveries", environment, filters],
    initialPageParam: undefined as string | undefined,
    queryFn: async ({ pageParam }) => {
      const query = { limit: PAGE, ...filters, ...(pageParam !== undefined && { cursor: pageParam }) };
      return (await client.GET("/api/v1/webhook-deliveries", { params: { query } })).data;
    },
    getNextPageParam: ({ nextCursor }) => nextCursor ?? undefined,
    refetchInterval: ({ state }) => {
      const pages = state.data?.pages ?? [];
      const isWaiting = pages.some(({ data }) => data.some((delivery) => isDue(delivery, Date.now())));
      return (isWaiting ? DUE_REFRESH_MS : REFRESH_MS) * Math.max(1, pages.length);
    },
  });
  const total = useTotal(["webhook-deliveries", filters], pages.hasNextPage, async (first) => {
    return (await client.GET("/api/v1/webhook-deliveries", { params: { query: { ...filters, ...first } } })).data;
  });
  return { ...pages, total };
};

export const useDelivery = (id: string) => {
  const { client, environment } = useAccount();
  return useQuery({
    queryKey: ["webhook-deliveries", environment, id],
    queryFn: async () => (await client.GET("/api/v1/webhook-deliveries/{id}", { params: { path: { id } } })).data,
    refetchInterval: ({ state }) => (state.data && isDue(state.data, Date.now()) ? DUE_REFRESH_MS : REFRESH_MS),
  });
};
