/** `/api/v1/videos` */

import type { Claim } from "@realtime-avatar/db/idempotency/idempotency-keys";
import { listVideos } from "@realtime-avatar/db/videos/list";
import {
  type CreateVideoOutcome,
  createVideo,
  type DeleteVideoOutcome,
  deleteVideo,
  findVideo,
} from "@realtime-avatar/db/videos/videos";
import { permits } from "@realtime-avatar/domain/api-keys/scope";
import { refuseHold } from "@realtime-avatar/domain/credits/open";
import { isId } from "@realtime-avatar/domain/id";
import { notFound, Problem, validationFailed } from "@realtime-avatar/domain/problem";
import { checkVersion } from "@realtime-avatar/domain/transitions";
import { MAX_AUDIO_SECONDS } from "@realtime-avatar/domain/videos/limits";
import { CreateVideo, NewVideo, VIDEO_LIST, Video, VideoPage } from "@realtime-avatar/domain/videos/schemas";
import {
  type PlannedVideo,
  plannedVideo,
  presentNewVideo,
  presentVideo,
  refusedAudio,
  videoErrors,
  videoText,
} from "@realtime-avatar/domain/videos/video";
import type { SpeechSettings } from "@realtime-avatar/speech/settings";
import { voiceText } from "@realtime-avatar/speech/text";
import { defaultVoice, findVoice, listVoices } from "@realtime-avatar/speech/voices";
import { Elysia } from "elysia";
import { removeAllFiles } from "../assets/stored-file.ts";
import { countRefusal, OPENING_PROBLEMS, openingRefused, openWithinLimits } from "../credits/opening.ts";
import type { Dependencies } from "../dependencies.ts";
import { authentication, checkScope } from "../http/authenticate.ts";
import { entityTag, isKnown } from "../http/conditional.ts";
import { listHandler } from "../http/list.ts";
import { operations } from "../http/operation.ts";
import { isPerson, requireKey } from "../http/person.ts";
import { NO_PARAMETERS, readQuery } from "../http/query.ts";
import { sendResource } from "../http/response.ts";
import { type Attempt, execute, type Settled, writtenResource } from "../http/write.ts";

const OPERATIONS = operations({
  createVideo: {
    summary: "Create a video",
    description: `Has an avatar say a text, or an audio asset of at most ${MAX_AUDIO_SECONDS} seconds, in a video. The video is \`queued\`, then \`rendering\`, and becomes \`ready\` with its \`assetId\`, or \`failed\` with its \`error\`. Until then it holds credits: a second for every eight spoken characters (digits, signs and some scripts count as more), or the seconds of the audio. It is charged for the seconds of its file, at most the held credits. A failed or canceled video costs nothing.`,
    body: CreateVideo,
    success: { status: 201, description: "The video.", schema: Video },
    problems: OPENING_PROBLEMS,
  },
  listVideos: {
    summary: "List videos",
    description:
      "Lists the videos in the environment of the calling key, newest first. Deleted videos are included only with `status=deleted`.",
    query: VIDEO_LIST.query,
    success: { status: 200, description: "A page of videos.", schema: VideoPage },
  },
  getVideo: {
    summary: "Read a video",
    description: "Returns a video in any status, including `deleted`.",
    isConditional: true,
    success: { status: 200, description: "The video.", schema: Video },
  },
  deleteVideo: {
    summary: "Cancel or delete a video",
    description:
      "Cancels a video that is `queued` or `rendering`: the worker stops within seconds, at no charge. A video in another status is deleted, with its text and its file. Deleting it again has no effect. A key without `avatars:write` cancels and deletes only its own videos and those of its descendants.",
    success: { status: 200, description: "The video after the request.", schema: Video },
    problems: ["asset_in_use"],
  },
});

const VIDEO = { schema: Video, toText: videoText };
/** The response of a creation. The write completes it. */
const NEW_VIDEO = { schema: NewVideo, toText: videoText };

/**
 * The spoken part of a text, for the voice that the request names, or else for the most capable voice. A provider's
 * voice speaks languages that Flite's voices cannot speak.
 */
const spokenBy = (speech: SpeechSettings, { text = "", voiceId }: CreateVideo): string => {
  const named = voiceId === undefined ? null : findVoice(speech, voiceId);
  return voiceText(text, named ?? speech.voices[0] ?? defaultVoice(speech));
};

type CreateAttempt = Attempt<CreateVideo, PlannedVideo, CreateVideoOutcome>;

/** The credits that a video holds: `seconds` at this price. */
const holdOf = (requiredCreditMicros: number, price: number) => ({ minSeconds: requiredCreditMicros / price, price });

const tooManyVideos = (limit: number): Problem =>
  new Problem(
    "concurrency_limit_reached",
    `The tenant has the maximum number of videos that are queued or rendered: ${limit}. Wait until one has ended, or cancel one.`,
    { limitedBy: "tenant", maxConcurrentSessions: limit, retryable: true },
  );

const CREATE_VIDEO = {
  body: CreateVideo,
  representation: NEW_VIDEO,
  /** A video that cannot fit is refused before its response is made, so that refusals stay cheap. */
  lookUp: async ({ body, caller: anyCaller, origin, dependencies }: CreateAttempt): Promise<PlannedVideo> => {
    const { speech, creditPriceMicrosPerSecond: price } = dependencies.config;
    const caller = requireKey(anyCaller);
    const spoken = spokenBy(speech, body);
    const errors = videoErrors(body, { spoken, hasVoice: (id) => findVoice(speech, id) !== null });
    if (errors.length > 0) throw validationFailed(errors);
    const video = plannedVideo(body, { spoken, environment: caller.environment, ...origin });
    const { headroom } = caller;
    // Overdue sessions hold credits. The write closes them before it refuses the video, and announces a refusal.
    if (video.seconds === null || !headroom || headroom.hasOverdue) return video;
    const refusal = refuseHold({ minSeconds: video.seconds, price }, headroom);
    if (refusal && !(refusal.code === "insufficient_credits" && headroom.announcesExhaustion)) throw refusal;
    return video;
  },
  plan: ({ db, caller: anyCaller, origin, dependencies }: CreateAttempt, video: PlannedVideo) => {
    const { config, sweepOverdue } = dependencies;
    const caller = requireKey(anyCaller);
    const terms = {
      voiceIds: listVoices(config.speech).map(({ id }) => id),
      defaultVoiceId: config.speech.defaultVoiceId,
      price: config.creditPriceMicrosPerSecond,
      maxVideos: config.maxRunningVideosPerTenant,
    };
    return {
      response: { location: `/api/v1/videos/${video.id}`, version: 1, body: presentNewVideo(video, caller) },
      write: (claim: Claim | null) =>
        openWithinLimits(() => createVideo(db, video, terms, caller, origin, claim), {
          db,
          caller,
          origin,
          sweepOverdue,
        }),
    };
  },
  settle: async (
    outcome: CreateVideoOutcome,
    { db, caller, dependencies: { config, metrics } }: CreateAttempt,
  ): Promise<Settled<NewVideo>> => {
    const { creditPriceMicrosPerSecond: price, maxRunningVideosPerTenant } = config;
    switch (outcome.kind) {
      case "written":
        metrics?.sessionHeld();
        return outcome;
      case "replayed":
        return outcome;
      case "stale":
        return { kind: "stale" };
      case "asset_not_found":
        throw refusedAudio("asset_not_found");
      case "asset_kind_mismatch":
        throw refusedAudio("asset_kind_mismatch", "The kind of the asset is not `audio`. Upload a recording.");
      case "asset_not_usable":
        throw refusedAudio(
          "asset_not_usable",
          `The status of the asset is \`${outcome.assetStatus}\`. Use one that is \`ready\`.`,
        );
      case "audio_too_long":
        throw refusedAudio("too_long", `The audio lasts longer than ${MAX_AUDIO_SECONDS} seconds. Cut it.`);
      case "too_many_videos":
        throw tooManyVideos(maxRunningVideosPerTenant);
      case "avatar_not_found":
      case "avatar_not_ready":
        throw await openingRefused(outcome, holdOf(0, price), db, requireKey(caller));
      case "spend_limit_exceeded":
      case "insufficient_credits":
        throw await openingRefused(outcome, holdOf(outcome.requiredCreditMicros, price), db, requireKey(caller));
    }
  },
};

const FILE_IN_USE = "An avatar uses the file of the video. Delete the avatar, or give it another source, first.";

const DELETE_VIDEO = {
  body: null,
  representation: VIDEO,
  plan: ({ db, id, caller, origin, expectation: { versions } }: Attempt<unknown>) => {
    if (!isId("vid", id)) throw notFound();
    const managesFiles = isPerson(caller) || permits(caller.scopes, "avatars:write");
    return { response: null, write: () => deleteVideo(db, id, { versions, managesFiles }, caller, origin) };
  },
  settle: async (
    outcome: DeleteVideoOutcome,
    { caller, expectation: { matches }, dependencies: { storage } }: Attempt<unknown>,
  ): Promise<Settled<Video>> => {
    switch (outcome.kind) {
      case "not_own":
        checkScope(requireKey(caller), ["avatars:write"]);
        throw notFound();
      case "in_use":
        throw new Problem("asset_in_use", FILE_IN_USE);
      case "not_found":
        throw notFound();
      case "stale":
        return outcome;
      case "unchanged":
        // The video is already deleted, or has another version.
        checkVersion(outcome.video, matches);
        break;
      case "written":
        if (outcome.deletedAssetId !== null) {
          await removeAllFiles(storage, { tenantId: outcome.video.tenantId, id: outcome.deletedAssetId });
        }
    }
    return writtenResource(outcome.video, presentVideo(outcome.video));
  },
};

export const videoRoutes = (dependencies: Dependencies) => {
  const { assetOrigin } = dependencies;
  return new Elysia({ name: "videos", prefix: "/api/v1/videos" })
    .use(authentication(dependencies))
    .post("", ({ write }) => execute(write, CREATE_VIDEO).catch(countRefusal(dependencies.metrics)), {
      scope: { scopes: ["realtime:write"], including: "headroom" },
      detail: OPERATIONS.createVideo,
    })
    .get(
      "",
      listHandler(dependencies, VIDEO_LIST, ({ caller, db }, page) => listVideos(db, caller, page, assetOrigin())),
      { scope: "avatars:read", detail: OPERATIONS.listVideos },
    )
    .get(
      "/:id",
      async ({ caller, db, params: { id }, request, set, status }) => {
        readQuery(request, NO_PARAMETERS);
        const found = isId("vid", id) ? await findVideo(db, caller, id, assetOrigin()) : null;
        if (!found) throw notFound();
        // A deletion of only the file changes the response without changing the version.
        const hasLostFile = found.video.status === "ready" && found.video.assetId === null;
        if (hasLostFile || !isKnown(request, found)) return sendResource(VIDEO, found.video, found, set);
        set.headers.etag = entityTag(found);
        return status(304, undefined);
      },
      { scope: "avatars:read", detail: OPERATIONS.getVideo },
    )
    .delete("/:id", ({ write }) => execute(write, DELETE_VIDEO), {
      scope: "realtime:write",
      detail: OPERATIONS.deleteVideo,
    });
};
