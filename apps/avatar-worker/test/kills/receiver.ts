/** The server of the tenant that receives the transcripts of calls. */
import { verifyTranscript } from "realtime-avatar";

export const TRANSCRIPT_SECRET = "a secret about mistletoe";

type Transcript = Awaited<ReturnType<typeof verifyTranscript>>;
/** A received transcript. `at`: the time by `Date.now()`. */
export type ReceivedTranscript = { at: number; body: string; transcript: Transcript };

export const startReceiver = () => {
  const received = new Map<string, ReceivedTranscript[]>();
  const server = Bun.serve({
    hostname: "127.0.0.1",
    port: 0,
    fetch: async (request) => {
      const at = Date.now();
      const body = await request.text();
      const transcript = await verifyTranscript(body, request.headers, TRANSCRIPT_SECRET);
      const id = transcript.session_id;
      received.set(id, [...(received.get(id) ?? []), { at, body, transcript }]);
      return new Response(null, { status: 204 });
    },
  });
  return {
    url: `${server.url.origin}/transcripts`,
    of: (id: string): readonly ReceivedTranscript[] => received.get(id) ?? [],
    stop: () => server.stop(true),
  };
};
