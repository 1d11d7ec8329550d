/**
 * Creates a video like a program, with a key that is limited to videos. The service charges videos to keys, so a person
 * needs a key. Its secret is dropped after the request. The key itself stays, because its end would end its videos, and
 * expires by itself.
 */
import { ApiProblem, type RealtimeAvatarClient } from "@realtime-avatar/client";
import { MAX_TEXT_LENGTH } from "@realtime-avatar/domain/videos/limits";
import type { Environment } from "../api/client.ts";
import { revokeKey } from "../call/call.ts";
import { TRIAL_MINUTES, VIDEO_KEY_NAME } from "../call/trial.ts";
import { maxCost, type Video } from "./data.ts";

/** The fields of the form. Without `voiceId`, the default voice of the avatar is used. */
export type VideoRequest = { avatarId: string; text: string; voiceId?: string };

/** A text with the highest cost. Only the service knows which part of a text is spoken. */
const LONGEST = "x".repeat(MAX_TEXT_LENGTH);

const send = async (secret: string, request: VideoRequest): Promise<Video> => {
  const response = await fetch("/api/v1/videos", {
    method: "POST",
    credentials: "omit",
    headers: { authorization: `Bearer ${secret}`, "content-type": "application/json" },
    body: JSON.stringify(request),
  });
  const body = await response.json();
  if (!response.ok) throw new ApiProblem(body);
  return body as Video;
};

/** `price`: the price of a second. Throws the problem of a refusal, after which no video and no key exist. */
export const createVideo = async (
  client: RealtimeAvatarClient,
  environment: Environment,
  request: VideoRequest,
  price: number | undefined,
): Promise<Video> => {
  // The clock of the service is used, because the clock of this device can be wrong.
  const { response } = await client.GET("/api/v1/user-sessions/current");
  const now = Date.parse(response.headers.get("date") ?? "") || Date.now();
  const { data } = await client.POST("/api/v1/api-keys", {
    body: {
      name: VIDEO_KEY_NAME,
      environment,
      scopes: ["realtime:write"],
      spendLimitCreditMicros: maxCost(LONGEST, price).creditMicros,
      maxConcurrentSessions: 1,
      expiresAt: new Date(now + TRIAL_MINUTES * 60_000).toISOString(),
    },
  });
  try {
    return await send(data.apiKey ?? "", request);
  } catch (error) {
    // A request without a response may have been executed. Its video then fails at no charge.
    void revokeKey({ id: data.id, environment, secret: "" });
    throw error;
  }
};
