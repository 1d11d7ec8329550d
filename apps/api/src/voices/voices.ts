/** `/api/v1/voices` */
import { notFound } from "@realtime-avatar/domain/problem";
import { type Voice, VoicePage } from "@realtime-avatar/domain/voices/schemas";
import { findVoice, listVoices } from "@realtime-avatar/speech/voices";
import { Elysia } from "elysia";
import type { Dependencies } from "../dependencies.ts";
import { authentication } from "../http/authenticate.ts";
import { operations } from "../http/operation.ts";
import { NO_PARAMETERS, readQuery } from "../http/query.ts";
import { type ResponseHead, sendJson } from "../http/response.ts";
import { createVoiceSamples } from "./samples.ts";

const OPERATIONS = operations({
  listVoices: {
    summary: "List voices",
    description:
      "Lists the voices of avatars, the operator's first. If `defaultVoiceId` of an avatar names an unlisted voice, the default voice speaks.",
    success: { status: 200, description: "All voices, on one page.", schema: VoicePage },
  },
  getVoiceSample: {
    summary: "Hear a voice",
    description:
      "A short WAV file (16-bit PCM, mono) of this voice, in its language. The first request for a voice of a provider takes as long as the provider; 503 when it fails.",
    success: { status: 200, description: "The sound.", file: "wav" },
  },
});

const VOICES = { schema: VoicePage, toText: JSON.stringify };
const PREFIX = "/api/v1/voices";
const PIECE_BYTES = 64 * 1024;

/** Copies the parts of `bytes`, because a stream releases the parts that it has sent. */
const streamOf = (bytes: Uint8Array): ReadableStream<Uint8Array> => {
  let at = 0;
  return new ReadableStream({
    pull: (controller) => {
      if (at >= bytes.length) return controller.close();
      controller.enqueue(bytes.slice(at, at + PIECE_BYTES));
      at += PIECE_BYTES;
    },
  });
};

export const voiceRoutes = (dependencies: Dependencies) => {
  const { config, fileSender, publicUrl } = dependencies;
  const { speech } = config;
  const samples = createVoiceSamples(speech);
  const present = (): Voice[] =>
    listVoices(speech).map(({ id, name, language, provider }) => ({
      id,
      name,
      language,
      provider,
      isDefault: id === speech.defaultVoiceId,
      sampleUrl: `${publicUrl()}${PREFIX}/${id}/sample`,
    }));
  return new Elysia({ name: "voices", prefix: PREFIX })
    .use(authentication(dependencies))
    .get(
      "",
      ({ request, set }) => {
        readQuery(request, NO_PARAMETERS);
        return sendJson(VOICES, { data: present(), nextCursor: null }, set as ResponseHead);
      },
      { scope: "avatars:read", detail: OPERATIONS.listVoices },
    )
    .get(
      "/:id/sample",
      async ({ params: { id }, request, set, caller }) => {
        readQuery(request, NO_PARAMETERS);
        const voice = findVoice(speech, id);
        if (voice === null) throw notFound();
        const sample = await samples.read(voice);
        const file = { client: `tenant ${caller.tenantId}`, file: `voice ${id}` };
        const stream = await fileSender.open(file, async () => ({ stream: streamOf(sample) }));
        const headers = { ...(set.headers as Record<string, string>), "content-type": "audio/wav" };
        // Empty, because Elysia would copy the response header by header to add the headers of `set`.
        set.headers = {};
        return new Response(stream, { headers });
      },
      { scope: "avatars:read", detail: OPERATIONS.getVoiceSample },
    );
};
